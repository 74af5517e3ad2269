//! Choices that Apache 2.4.71 made from one folder, one type map and many requests, made again.

use super::choose::{NegotiatedRequest, NegotiationOutcome, VariantChoice, choose};
use super::response::variant_list;
use super::settings::Settings;
use super::type_map::{self, BadMap, LINE_BYTES_MAX, TypeMapStop};
use super::variant::{FoundVariants, VARIANTS_MAX, Variant, VariantBody, VariantFile, variants};
use super::*;
use crate::mime::{self, MimeAttribute};
use server::description::joined_tag;

/// Names and sizes of the folder.
const FILES: &[(&str, u64)] = &[
    ("page.html.en", 30),
    ("page.html.de", 20),
    ("page.html.fr", 40),
    ("page.html.en.gz", 15),
    ("page.html.pt-br", 20),
    ("page.pdf.en", 300),
    ("page.txt", 10),
    ("page.html.ja.jis", 22),
    ("page.html.foo", 3),
    ("page.html.ru.koi8-r", 25),
    ("page.html.ru.utf8", 27),
    ("img.png", 100),
    ("img.gif", 90),
    ("img.jpg", 90),
    ("enc.html", 100),
    ("enc.html.gz", 60),
    ("enc.html.Z", 70),
    ("one.html", 10),
    ("noid.foo", 10),
    ("lang.html.en-gb", 5),
    ("lang.html.en-us", 6),
    ("lang.html.de", 7),
    ("lang.html.de.en-us", 17),
    ("lev.html", 10),
    ("lev.html3", 10),
    ("lev.qhtml", 9),
    ("lev.phtml", 4),
    ("sp a;c&.html.en", 4),
    ("sp a;c&.html.de", 4),
    ("scr.hnd", 4),
    ("scr.html", 5),
    ("map.html", 5),
    ("map.var", 5),
];

fn mime_settings() -> mime::Settings {
    let mut settings = mime::Settings::default();
    for language in ["en", "de", "fr", "ja", "ru", "pt-br", "en-gb", "en-us"] {
        settings.add(MimeAttribute::Language, &[language, language]).unwrap();
    }
    for (attribute, arguments) in [
        (MimeAttribute::Charset, &["ISO-2022-JP", ".jis"]),
        (MimeAttribute::Charset, &["KOI8-R", ".koi8-r"]),
        (MimeAttribute::Charset, &["UTF-8", ".utf8"]),
        (MimeAttribute::Encoding, &["x-gzip", ".gz"]),
        (MimeAttribute::Encoding, &["x-compress", ".Z"]),
        (MimeAttribute::Type, &["text/html;level=3", ".html3"]),
        (MimeAttribute::Type, &["text/html;qs=0.4", ".qhtml"]),
        (MimeAttribute::Type, &["text/x-server-parsed-html", ".phtml"]),
        (MimeAttribute::Handler, &["type-map", ".var"]),
        (MimeAttribute::Handler, &["foo", ".hnd"]),
    ] {
        settings.add(attribute, arguments).unwrap();
    }
    settings.add_multiviews_match("NegotiatedOnly").unwrap();
    settings
}

fn types() -> mime::Types {
    mime::Types::parse(
        "text/html html\ntext/plain txt\napplication/pdf pdf\n\
         image/png png\nimage/gif gif\nimage/jpeg jpg\n",
    )
}

/// What MultiViews finds in the folder.
fn find(settings: &mime::Settings, base: &str, accept_encoding: Option<&[u8]>) -> FoundVariants {
    let types = types();
    let candidates: Vec<VariantFile<'_>> = FILES
        .iter()
        .map(|&(name, length)| VariantFile {
            name: name.as_bytes(),
            mime: settings.mime(&types, name.as_bytes()),
            unclaimed: settings.unclaimed(&types, name.as_bytes()),
            handler: None,
            length,
            is_servable: true,
        })
        .collect();
    variants(base.as_bytes(), &candidates, accept_encoding)
}

/// A request from its fields, with variables of the environment among them.
fn request(lines: &str) -> NegotiatedRequest<'_> {
    let mut request = NegotiatedRequest { is_get: true, ..NegotiatedRequest::default() };
    for (name, value) in lines.lines().filter_map(|line| line.split_once(':')) {
        let value = Some(value.trim().as_bytes());
        match name {
            "Accept" => request.accept = value,
            "Accept-Language" => request.accept_language = value,
            "Accept-Charset" => request.accept_charset = value,
            "Accept-Encoding" => request.accept_encoding = value,
            "Negotiate" => request.negotiate = value,
            "User-Agent" => request.user_agent = value,
            "prefer-language" => request.prefer_language = value,
            "no-gzip" => request.no_gzip = true,
            "gzip-only-text/html" => request.gzip_only_html = true,
            other => panic!("no field {other}"),
        }
    }
    request
}

fn settings(folder: &str) -> Settings {
    let force: &[&str] = match folder {
        "fb" => &["Prefer", "Fallback"],
        "nn" => &["None"],
        _ => &[],
    };
    Settings::of(&["de", "en", "fr"], force)
}

/// The name of the chosen variant, or the status.
fn shown(outcome: &NegotiationOutcome, variants: &[Variant]) -> String {
    match outcome.choice {
        VariantChoice::Variant(index) => String::from_utf8(variants[index].name.clone()).unwrap(),
        VariantChoice::List => "300".to_owned(),
        VariantChoice::NotAcceptable => "406".to_owned(),
    }
}

fn page() -> Vec<Variant> {
    let FoundVariants::Variants(found) = find(&mime_settings(), "page", None) else {
        panic!("nothing")
    };
    found
}

#[test]
fn httpd_chooses_the_same() {
    let blocks = include_str!("choices.txt").split("\n\n").skip(1);
    let mut count = 0;
    for block in blocks {
        let (resource, rest) = block.split_once('\n').unwrap();
        let (fields, expected) = rest.split_once("=> ").unwrap();
        let (folder, resource) = resource.split_once('/').unwrap();
        let (base, query) = resource.split_once('?').unwrap_or((resource, ""));
        let request = NegotiatedRequest { prefers_scripts: !query.is_empty(), ..request(fields) };
        let chosen = match find(&mime_settings(), base, request.accept_encoding) {
            FoundVariants::Variants(variants) => {
                let outcome = choose(&request, &settings(folder), &variants);
                let location = outcome.fields.content_location.clone();
                let location = location.map(|name| String::from_utf8(name).unwrap());
                location.unwrap_or_else(|| shown(&outcome, &variants))
            }
            _ => "404".to_owned(),
        };
        assert_eq!(chosen, expected.trim_end(), "{block}");
        count += 1;
    }
    assert_eq!(count, 100);
}

#[test]
fn multiviews_finds_what_it_knows() {
    let settings = mime_settings();
    assert_eq!(find(&settings, "nothing", None), FoundVariants::Nothing);
    assert_eq!(find(&settings, "noid", None), FoundVariants::NoneFits);
    assert_eq!(find(&settings, "page.ru", None), FoundVariants::Nothing);
}

#[test]
fn handlers_are_variants_if_the_configuration_says_so() {
    let mut settings = mime::Settings::default();
    settings.add(MimeAttribute::Handler, &["foo", "hnd"]).unwrap();
    settings.add(MimeAttribute::Handler, &["type-map", "var"]).unwrap();
    let FoundVariants::Variants(found) = find(&settings, "scr", None) else { panic!("nothing") };
    assert_eq!((found.len(), found[0].name.as_slice()), (1, &b"scr.html"[..]));
    settings.add_multiviews_match("Handlers").unwrap();
    let FoundVariants::Variants(found) = find(&settings, "scr", None) else { panic!("nothing") };
    assert_eq!(found[0].media_type, b"application/x-httpd-cgi");
    assert!(found[0].has_handler && !found[1].has_handler);
    assert_eq!(find(&settings, "map", None), FoundVariants::Map(b"map.var".to_vec()));
}

#[test]
fn fields_of_an_answer_say_what_was_chosen() {
    let variants = page();
    let outcome = choose(&request("Accept-Language: de"), &settings("mv"), &variants);
    let fields: Vec<(&str, &[u8])> = outcome.fields.iter().collect();
    let vary = b"negotiate, accept, accept-language, accept-charset, accept-encoding";
    assert_eq!(
        fields,
        [("Content-Location", &b"page.html.de"[..]), ("Vary", vary), ("TCN", b"choice"),]
    );
    let post = NegotiatedRequest { is_get: false, ..request("Accept-Language: de") };
    let outcome = choose(&post, &settings("mv"), &variants);
    let names: Vec<&str> = outcome.fields.iter().map(|field| field.0).collect();
    assert_eq!(names, ["Vary"]);
    assert_eq!(shown(&outcome, &variants), "page.html.de");
}

#[test]
fn a_list_names_all_variants() {
    let variants = page();
    let outcome = choose(&request("Negotiate: vlist"), &settings("mv"), &variants);
    assert_eq!((outcome.choice, outcome.fields.tcn), (VariantChoice::List, Some("list")));
    assert_eq!(
        String::from_utf8(outcome.fields.alternates.unwrap()).unwrap(),
        "{\"page.html.de\" 1 {type text/html} {language de} {length 20}}, \
         {\"page.html.en\" 1 {type text/html} {language en} {length 30}}, \
         {\"page.html.en.gz\" 1 {type text/html} {language en} {encoding x-gzip} {length 15}}, \
         {\"page.html.fr\" 1 {type text/html} {language fr} {length 40}}, \
         {\"page.html.ja.jis\" 1 {type text/html} {charset iso-2022-jp} {language ja} \
         {length 22}}, \
         {\"page.html.pt-br\" 1 {type text/html} {language pt-br} {length 20}}, \
         {\"page.html.ru.koi8-r\" 1 {type text/html} {charset koi8-r} {language ru} \
         {length 25}}, \
         {\"page.html.ru.utf8\" 1 {type text/html} {charset utf-8} {language ru} {length 27}}, \
         {\"page.pdf.en\" 1 {type application/pdf} {language en} {length 300}}, \
         {\"page.txt\" 1 {type text/plain} {length 10}}"
    );
}

const MAP: &str = "# comment
URI: doc

URI: doc.en.html
Content-Type: text/html; qs=0.8; charset=UTF-8
Content-Language: en
Description: <b>English</b>
  and more

uri: doc.de.html
content-type: text/html;qs=0.9;level=3 (a comment)
content-language: de, de-at
content-length: 77

URI: doc.fr.txt
Content-type: text/plain; qs=0.555
Content-language: fr
# comment
Content-Encoding: x-gzip

URI: onlylang
Content-Language: xx
";

#[test]
fn a_type_map_lists_variants() {
    let map = type_map::parse(MAP.as_bytes(), b"doc.var").unwrap();
    assert_eq!((map.stopped, map.variants.len()), (None, 4));
    let outcome = choose(&request("Accept: a/b"), &settings("map"), &map.variants);
    assert_eq!(shown(&outcome, &map.variants), "406");
    assert_eq!(
        String::from_utf8(outcome.fields.alternates.unwrap()).unwrap(),
        "{\"doc.en.html\" 0.8 {type text/html} {charset utf-8} {language en}}, \
         {\"doc.de.html\" 0.9 {type text/html} {language de,de-at} {length 77}}, \
         {\"doc.fr.txt\" 0.555 {type text/plain} {language fr} {encoding x-gzip}}, \
         {\"onlylang\" 0 {language xx}}"
    );
    assert_eq!(
        String::from_utf8(variant_list(&map.variants)).unwrap(),
        "Available variants:\n<ul>\n\
         <li><a href=\"doc.en.html\">doc.en.html</a> <b>English</b> and more, type text/html, \
         language en, charset utf-8</li>\n\
         <li><a href=\"doc.de.html\">doc.de.html</a> , type text/html, language de,de-at</li>\n\
         <li><a href=\"doc.fr.txt\">doc.fr.txt</a> , type text/plain, language fr, \
         encoding x-gzip</li>\n\
         <li><a href=\"onlylang\">onlylang</a> , language xx</li>\n</ul>\n"
    );
}

#[test]
fn a_type_map_may_hold_the_texts_themselves() {
    let text = "Content-Language: en\nContent-Type: text/html\nBody:--x--\none\n--x-- rest\n\n\
                Content-Language: de\nContent-Type: text/html; charset=utf-8\nBody: E\nzweiE";
    let map = type_map::parse(text.as_bytes(), b"b.var").unwrap();
    let body = |variant: &Variant| {
        let VariantBody { start, length } = variant.body.unwrap();
        &text[usize::try_from(start).unwrap()..][..usize::try_from(length).unwrap()]
    };
    assert_eq!(map.variants.iter().map(body).collect::<Vec<_>>(), ["one\n", "zwei"]);
    let outcome = choose(&request("Accept-Language: de"), &settings("map"), &map.variants);
    assert_eq!(outcome.choice, VariantChoice::Variant(1));
    assert!(!outcome.is_transparent && outcome.fields.content_location.is_none());
    assert_eq!(outcome.fields.vary.as_deref(), Some("accept-language, accept-charset"));
    let content_type = response::content_type(&map.variants[1]);
    assert_eq!(content_type.as_deref(), Some(&b"text/html; charset=utf-8"[..]));
}

#[test]
fn broken_type_maps_are_broken() {
    let parse = |text: &str| type_map::parse(text.as_bytes(), b"x.var");
    assert_eq!(parse("nothing here\n"), Err(BadMap::NoColon(b"nothing here\n".to_vec())));
    assert_eq!(parse("URI:\n"), Err(BadMap::NoValue(b"uri:\n".to_vec())));
    let good = "URI: a\nContent-Type: a/b\n\n";
    for (bad, expected) in [
        (
            "URI: b\nContent-Type: a/b\nContent-Length: 12x\n",
            TypeMapStop::BadLength(b"12x".to_vec()),
        ),
        ("Content-Type: a/b\nBody: end \nno\n", TypeMapStop::NoEndTag(b"end".to_vec())),
        ("Content-Type: a/b\nBody: end", TypeMapStop::NoEndTag(b"end".to_vec())),
    ] {
        let map = parse(&format!("{good}{bad}")).unwrap();
        assert_eq!((map.variants.len(), map.stopped), (1, Some(expected)), "{bad}");
    }
}

#[test]
fn hostile_type_maps_have_an_end() {
    let many = "URI: a\nContent-Type: a/b\n\n".repeat(VARIANTS_MAX + 10);
    assert_eq!(type_map::parse(many.as_bytes(), b"x").unwrap().variants.len(), VARIANTS_MAX);
    let long = [b"URI: a\nContent-Type: a/b".as_slice(), &b" x".repeat(LINE_BYTES_MAX)].concat();
    assert!(type_map::parse(&long, b"x").is_err());
    let continued = ["URI: a\nDescription: a\n", &"  b\n".repeat(100_000)].concat();
    // What does not fit is read as a line of its own, as in httpd.
    assert!(type_map::parse(continued.as_bytes(), b"x").is_err());
    // Every prefix and every byte changed: nothing panics, nothing hangs.
    for at in 0..MAP.len() {
        let _ = type_map::parse(&MAP.as_bytes()[..at], b"x");
        for byte in [0, b'\n', b'"', b'(', b':', b' ', 0xff] {
            let mut changed = MAP.as_bytes().to_vec();
            changed[at] = byte;
            if let Ok(map) = type_map::parse(&changed, b"x") {
                assert!(map.variants.len() <= 5);
            }
        }
    }
}

#[test]
fn an_empty_type_map_accepts_nobody() {
    let outcome = choose(&request(""), &settings("map"), &[]);
    let fields: Vec<(&str, &[u8])> = outcome.fields.iter().collect();
    assert_eq!(outcome.choice, VariantChoice::NotAcceptable);
    assert_eq!(fields, [("Vary", &b"negotiate"[..]), ("TCN", b"list")]);
    assert_eq!(variant_list(&[]), b"Available variants:\n<ul>\n</ul>\n");
}

#[test]
fn map_targets_are_urls() {
    let variant = Variant { name: b"a b.html".to_vec(), ..Variant::default() };
    for (path_info, query, expected) in
        [("", None, "/d%20e/a b.html"), ("/x", Some("q=1"), "/d%20e/a b.html/x?q=1")]
    {
        let query = query.map(str::as_bytes);
        let target = response::map_target(b"/d e/", &variant, path_info.as_bytes(), query);
        assert_eq!(String::from_utf8(target).unwrap(), expected);
    }
}

#[test]
fn only_caches_that_know_no_vary_are_told_to_expire() {
    assert!(response::expires_at_once(true, false, 0));
    assert!(response::expires_at_once(true, false, 2));
    assert!(!response::expires_at_once(true, false, 1));
    assert!(!response::expires_at_once(true, true, 2));
    assert!(!response::expires_at_once(false, false, 2));
}

#[test]
fn tags_of_file_and_list_are_joined() {
    for (file, list, expected) in [
        ("\"14-1\"", "\"2\"", "\"14-1;2"),
        ("W/\"14-1\"", "\"2\"", "W/\"14-1;2"),
        ("\"14-1\"", "W/\"2\"", "W/\"14-1;2"),
    ] {
        let tag = joined_tag(file.as_bytes(), list.as_bytes());
        assert_eq!(String::from_utf8(tag).unwrap(), expected);
    }
}
