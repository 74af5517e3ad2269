//! Listings under each keyword and directive. The renderer was compared with Apache 2.4.71 over
//! random configurations; these tests hold what that comparison showed.

use super::options::By;
use super::options::IndexOptions;
use super::{IndexEntry, IndexPage, Insert, render};
use logging::time::CalendarSecond;

/// 1 March 2024 00:03:04.
const MTIME_US: i64 = 1_709_251_384_000_000;

fn file(name: &'static [u8], size: u64) -> IndexEntry<'static> {
    IndexEntry {
        name,
        is_dir: false,
        size,
        mtime_us: MTIME_US,
        content_type: None,
        encoding: None,
        title: None,
        is_forbidden: false,
    }
}

fn directory(name: &'static [u8]) -> IndexEntry<'static> {
    IndexEntry { is_dir: true, ..file(name, 4096) }
}

fn page() -> IndexPage<'static> {
    IndexPage {
        uri: b"/d/",
        directory: b"/srv/d/",
        query: None,
        header: Insert::None,
        readme: Insert::None,
        signature: b"",
        local_time: CalendarSecond::utc,
    }
}

/// Settings of one section, `keywords` being the arguments of IndexOptions.
fn options(keywords: &str) -> IndexOptions {
    let mut options = IndexOptions::default();
    let arguments: Vec<&str> = keywords.split_whitespace().collect();
    options.index_options(&arguments).unwrap();
    options
}

fn text(options: &IndexOptions, entries: &[IndexEntry<'_>], page: &IndexPage<'_>) -> String {
    String::from_utf8_lossy(&render(options, entries, page)).into_owned()
}

/// The page between the preamble and the end.
fn body(options: &IndexOptions, entries: &[IndexEntry<'_>], page: &IndexPage<'_>) -> String {
    let text = text(options, entries, page);
    let (_, rest) = text.split_once("<h1>Index of /d</h1>\n").unwrap();
    rest.strip_suffix("</body></html>\n").unwrap().to_owned()
}

/// The names in the order of a listing.
fn order(keywords: &str, query: &'static str, names: &[&'static str]) -> Vec<String> {
    let entries: Vec<_> = names.iter().map(|name| file(name.as_bytes(), 1)).collect();
    let query = (!query.is_empty()).then_some(query.as_bytes());
    let text = text(&options(keywords), &entries, &IndexPage { query, uri: b"/", ..page() });
    let links = text.split("<li><a href=\"").skip(1);
    links.map(|link| link.split('"').next().unwrap().to_owned()).collect()
}

#[test]
fn plain_list() {
    let entries = [file(b"b.txt", 1), directory(b"a"), file(b"<i>&\"\n:.x", 1), file(b"\xff", 1)];
    assert_eq!(
        text(&IndexOptions::default(), &entries, &page()),
        "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\" \
         \"http://www.w3.org/TR/html4/strict.dtd\">\n\
         <html>\n <head>\n  <title>Index of /d</title>\n </head>\n <body>\n\
         <h1>Index of /d</h1>\n\
         <ul><li><a href=\"/\"> Parent Directory</a></li>\n\
         <li><a href=\"./%3ci%3e&amp;%22%0a:.x\"> &lt;i&gt;&amp;&quot;\n:.x</a></li>\n\
         <li><a href=\"a/\"> a/</a></li>\n\
         <li><a href=\"b.txt\"> b.txt</a></li>\n\
         <li><a href=\"%ff\"> \u{fffd}</a></li>\n\
         </ul>\n</body></html>\n"
    );
}

#[test]
fn fancy_list() {
    let mut options = options("FancyIndexing");
    options.add_icon(By::Path, &["/i/blank.gif", "^^BLANKICON^^"], "").unwrap();
    options.add_icon(By::Path, &["/i/dir.gif", "^^DIRECTORY^^"], "").unwrap();
    options.add_icon(By::Path, &["(TXT,/i/t.gif)", ".txt"], "").unwrap();
    options.add_description(&["a <b>fine</b> text of more than the room", "b.txt"]).unwrap();
    let entries = [file(b"b.txt", 1500), directory(b"a"), file(b"exactly-24-bytes-longg.x", 9)];
    assert_eq!(
        body(&options, &entries, &page()),
        "<pre><img src=\"/i/blank.gif\" alt=\"Icon \"> <a href=\"?C=N;O=D\">Name</a>\
         \u{20}                   <a href=\"?C=M;O=A\">Last modified</a>      \
         <a href=\"?C=S;O=A\">Size</a>  <a href=\"?C=D;O=A\">Description</a><hr>\
         <img src=\"/i/dir.gif\" alt=\"[PARENTDIR]\"> <a href=\"/\">Parent Directory</a>\
         \u{20}                            -   \n\
         <img src=\"/i/dir.gif\" alt=\"[DIR]\"> <a href=\"a/\">a/</a>\
         \u{20}                     2024-03-01 00:03    -   \n\
         <img src=\"/i/t.gif\" alt=\"[TXT]\"> <a href=\"b.txt\">b.txt</a>\
         \u{20}                  2024-03-01 00:03  1.5K  a <b>fine</b> text of more th>\n\
         \u{20}     <a href=\"exactly-24-bytes-longg.x\">exactly-24-bytes-lon..&gt;</a>\
         \u{20}2024-03-01 00:03    9   \n\
         <hr></pre>\n"
    );
}

#[test]
fn table() {
    let mut options = options("FancyIndexing HTMLTable IconWidth=7 IconHeight IconsAreLinks");
    options.default_icon = Some("/i/?a&b.gif".to_owned());
    assert_eq!(
        body(&options, &[file(b"b.txt", 1)], &page()),
        "  <table>\n   <tr><th valign=\"top\">&nbsp;</th><th><a href=\"?C=N;O=D\">Name</a></th>\
         <th><a href=\"?C=M;O=A\">Last modified</a></th><th><a href=\"?C=S;O=A\">Size</a></th>\
         <th><a href=\"?C=D;O=A\">Description</a></th></tr>\n\
         \u{20}  <tr><th colspan=\"5\"><hr></th></tr>\n\
         <tr><td valign=\"top\"><a href=\"/\"><img src=\"/i/?a&amp;b.gif\" alt=\"[PARENTDIR]\" \
         width=\"7\" height=\"22\"></a></td><td><a href=\"/\">Parent Directory</a>       </td>\
         <td>&nbsp;</td><td align=\"right\">  - </td><td>&nbsp;</td></tr>\n\
         <tr><td valign=\"top\"><a href=\"b.txt\"><img src=\"/i/?a&amp;b.gif\" alt=\"[   ]\" \
         width=\"7\" height=\"22\"></a></td><td><a href=\"b.txt\">b.txt</a>                  </td>\
         <td align=\"right\">2024-03-01 00:03  </td><td align=\"right\">  1 </td>\
         <td>&nbsp;</td></tr>\n\
         \u{20}  <tr><th colspan=\"5\"><hr></th></tr>\n</table>\n"
    );
}

#[test]
fn keywords_that_take_something_away() {
    let entries = [file(b"b", 1)];
    let root = IndexPage { uri: b"/", ..page() };
    for (keywords, header, row) in [
        ("SuppressIcon", "<pre><a href=\"?C=N;O=D\">Name</a>", "<hr><a href=\"b\">b</a>"),
        ("SuppressLastModified", "Name</a>                    <a href=\"?C=S", "      1   \n"),
        ("SuppressSize", "modified</a>      <a href=\"?C=D", "2024-03-01 00:03  \n"),
        ("SuppressDescription", ">Size</a>  <hr>", "    1   \n"),
        ("SuppressRules", "Description</a>\n", "    1   \n</pre>"),
        ("SuppressColumnSorting", "<pre>      Name                    Last modified  ", "1   \n"),
        ("XHTML", "xmlns=\"http://www.w3.org/1999/xhtml\"", "<hr /></pre>"),
        ("UseOldDateFormat", "", "01-Mar-2024 00:03    1   \n"),
    ] {
        let text = text(&options(&format!("FancyIndexing {keywords}")), &entries, &root);
        assert!(text.contains(header), "{keywords}: {text}");
        assert!(text.contains(row), "{keywords}: {text}");
    }
}

#[test]
fn style_sheets_name_rows_and_columns() {
    let mut options = options("FancyIndexing HTMLTable AddAltClass");
    options.style_sheet = Some("/s.css".to_owned());
    options.head_insert = Some("  <meta name=x>\n".to_owned());
    let text = text(&options, &[directory(b"a"), file(b"b", 1)], &page());
    for part in [
        "  <link rel=\"stylesheet\" href=\"/s.css\" type=\"text/css\">\n  <meta name=x>\n",
        "  <h1 id=\"indextitle\">Index of /d</h1>\n  <table id=\"indexlist\">\n   \
         <tr class=\"indexhead\"><th class=\"indexcolicon\">&nbsp;</th><th class=\"indexcolname\">",
        "   <tr class=\"indexbreakrow\"><th colspan=\"5\"><hr></th></tr>\n",
        "   <tr class=\"even-parentdir\">",
        "   <tr class=\"odd-dir\">",
        "   <tr class=\"even\"><td class=\"indexcolicon\">",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn header_and_readme() {
    let insert = |keywords, header, readme| {
        let page = IndexPage { header, readme, signature: b"<address>s</address>\n", ..page() };
        text(&options(keywords), &[], &page)
    };
    let html = insert("FancyIndexing", Insert::Html(b"<p>h\n"), Insert::Html(b"<p>r\n"));
    assert!(html.contains(" <body>\n<p>h\n<pre>") && html.ends_with("<p>r\n</body></html>\n"));
    let bare = "FancyIndexing SuppressHTMLPreamble";
    let html = insert(bare, Insert::Html(b"<p>h\n"), Insert::Html(b"<p>r\n"));
    assert!(html.starts_with("<p>h\n<pre>") && html.ends_with("<p>r\n"));
    let plain = insert(bare, Insert::Text(b"<&\"\n"), Insert::Text(b">"));
    assert!(plain.contains(" <body>\n<pre>\n&lt;&amp;\"\n</pre>\n<pre>"), "{plain}");
    assert!(plain.ends_with("<pre>\n&gt;</pre>\n</body></html>\n"), "{plain}");
    let none = insert("None", Insert::None, Insert::None);
    assert!(none.ends_with("</ul>\n<address>s</address>\n</body></html>\n"));
}

#[test]
fn the_parent_is_where_the_path_says() {
    for (uri, expected) in [
        (&b"/"[..], None),
        (b"/d/", Some("<a href=\"/\">")),
        (b"/a b/<c>/", Some("<a href=\"/a%20b/\">")),
    ] {
        let text = text(&IndexOptions::default(), &[], &IndexPage { uri, ..page() });
        assert_eq!(text.contains("Parent"), expected.is_some());
        assert!(text.contains(expected.unwrap_or("")), "{text}");
    }
}

#[test]
fn names_sort_by_bytes_unless_told_otherwise() {
    let names = ["b", "B", "a10", "a9", "A1", "a09"];
    for (keywords, query, expected) in [
        ("", "", ["A1", "B", "a09", "a10", "a9", "b"]),
        ("", "C=N;O=D", ["b", "a9", "a10", "a09", "B", "A1"]),
        ("IgnoreCase", "", ["a09", "A1", "a10", "a9", "B", "b"]),
        ("VersionSort", "", ["A1", "B", "a09", "a9", "a10", "b"]),
        ("VersionSort IgnoreCase", "", ["a09", "A1", "a9", "a10", "B", "b"]),
        ("", "V=1", ["A1", "B", "a09", "a9", "a10", "b"]),
        ("VersionSort", "V=0", ["A1", "B", "a09", "a10", "a9", "b"]),
        ("IgnoreClient", "O=D", ["A1", "B", "a09", "a10", "a9", "b"]),
    ] {
        assert_eq!(order(keywords, query, &names), expected, "{keywords} {query}");
    }
}

#[test]
fn columns_sort_and_names_break_ties() {
    let entries = [
        IndexEntry { mtime_us: 5, ..file(b"c", 2) },
        IndexEntry { mtime_us: 4, ..file(b"a", 2) },
        IndexEntry { mtime_us: 9, ..file(b"b", 1) },
        IndexEntry { mtime_us: 7, ..directory(b"z") },
    ];
    let mut folders_first = options("FancyIndexing FoldersFirst");
    folders_first.add_description(&["first", "c"]).unwrap();
    let plain = options("FancyIndexing");
    for (options, query, expected) in [
        (&plain, "C=S", "z/ b a c"),
        (&plain, "C=S&O=D", "c a b z/"),
        (&plain, "C=M", "a c z/ b"),
        (&folders_first, "C=M&O=D", "z/ b c a"),
        (&folders_first, "C=D", "z/ a b c"),
        (&folders_first, "C=D;O=D", "z/ c b a"),
    ] {
        let page = IndexPage { query: Some(query.as_bytes()), uri: b"/", ..page() };
        let text = text(options, &entries, &page);
        let links = text.split("<a href=\"").skip(1).map(|link| link.split('"').next().unwrap());
        let names: Vec<_> = links.filter(|link| !link.starts_with('?')).collect();
        assert_eq!(names.join(" "), expected, "{query}");
    }
}

#[test]
fn queries_choose_styles_and_are_repeated_in_links() {
    for (query, expected) in [
        ("F=0", "<ul>"),
        ("F=1", "?C=N;O=D;F=1\""),
        ("F=2&V=1", "<table>\n   <tr><th valign=\"top\">&nbsp;</th><th><a href=\"?C=N;O=D;F=2;V=1"),
        ("C=S;O=A", "?C=S;O=D\""),
        ("C=N&O=D", "?C=N;O=A\""),
        ("P=%3c*%22&C=M", "?C=M;O=D;P=%3c*%22\""),
        ("P=x*;P=%2f", "?C=N;O=D;P=x*\""),
        ("bogus&F=0", "?C=N;O=D\""),
        ("C=X", "?C=N;O=D\""),
        ("F=3;O=D", "?C=N;O=D\""),
    ] {
        let page = IndexPage { query: Some(query.as_bytes()), ..page() };
        let text = text(&options("FancyIndexing"), &[], &page);
        assert!(text.contains(expected), "{query}\n{text}");
    }
}

#[test]
fn patterns_filter_names() {
    let names = ["a.txt", "b.html", ".c.txt"];
    assert_eq!(order("", "P=*.txt", &names), ["a.txt"]);
    assert_eq!(order("", "P=[b-z]*", &names), ["b.html"]);
    assert_eq!(order("", "P=", &names), [".c.txt", "a.txt", "b.html"]);
    assert_eq!(order("", "P=%zz", &names), [".c.txt", "a.txt", "b.html"]);
}

#[test]
fn hidden_entries() {
    let mut options = options("None");
    options.index_ignore(&["*~", ".??*", "README", ".."], "/srv/").unwrap();
    let entries = [file(b"a~", 1), file(b".ab", 1), file(b".b", 1), file(b"README", 1)];
    let entries = [&entries[..], &[file(b"xREADME", 1), file(b".", 1), file(b"..", 1)]].concat();
    assert_eq!(
        body(&options, &entries, &page()),
        "<ul><li><a href=\".b\"> .b</a></li>\n<li><a href=\"xREADME\"> xREADME</a></li>\n</ul>\n"
    );
    let elsewhere = IndexPage { directory: b"/other/d/", ..page() };
    assert!(body(&options, &entries, &elsewhere).contains("a~"));
    let mut inner = IndexOptions { ignore_reset: true, ..IndexOptions::default() };
    inner.index_ignore(&["a~"], "").unwrap();
    let text = body(&IndexOptions::merge(&options, &inner), &entries, &page());
    assert!(text.contains("Parent") && text.contains("> .ab"), "{text}");
    assert!(!text.contains("a~"));
}

#[test]
fn forbidden_entries_are_shown_on_demand() {
    let entries = [IndexEntry { is_forbidden: true, ..file(b"x", 1) }];
    assert!(!body(&options("FancyIndexing"), &entries, &page()).contains("\"x\""));
    assert!(body(&options("FancyIndexing ShowForbidden"), &entries, &page()).contains("\"x\""));
}

#[test]
fn icons_are_chosen_by_path_type_or_encoding() {
    let mut options = options("FancyIndexing");
    options.add_icon(By::Encoding, &["(CMP,/gz)", "X-GZIP"], "").unwrap();
    options.add_icon(By::Type, &["(IMG,/img)", "image/*"], "").unwrap();
    options.add_icon(By::Path, &["/core", "/core"], "").unwrap();
    options.add_icon(By::Path, &["/star", "a*b"], "").unwrap();
    options.add_alt(By::Type, &["T", "text/plain"], "").unwrap();
    options.add_icon(By::Path, &["/d2", "**DIRECTORY**"], "").unwrap();
    let image = IndexEntry { content_type: Some("IMAGE/png; x=1"), ..file(b"p", 1) };
    for (entry, expected) in [
        (image, "<img src=\"/img\" alt=\"[IMG]\">"),
        (IndexEntry { encoding: Some("x-gzip"), ..image }, "<img src=\"/gz\" alt=\"[CMP]\">"),
        (IndexEntry { encoding: Some("br"), ..image }, "\n      <a href=\"p\">"),
        (file(b"core", 1), "<img src=\"/core\" alt=\"[   ]\">"),
        (file(b"xcore", 1), "\n      <a href=\"xcore\">"),
        (directory(b"dir"), "<img src=\"/d2\" alt=\"[DIR]\">"),
        (
            IndexEntry { content_type: Some("text/plain"), ..file(b"t", 1) },
            "\n      <a href=\"t\">",
        ),
    ] {
        let text = body(&options, &[entry], &page());
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    options.default_icon = Some("/def".to_owned());
    let plain = IndexEntry { content_type: Some("text/plain"), ..file(b"t", 1) };
    assert!(body(&options, &[plain], &page()).contains("<img src=\"/def\" alt=\"[T]\">"));
}

#[test]
fn descriptions_match_parts_patterns_and_paths() {
    let mut options = options("FancyIndexing DescriptionWidth=*");
    options.add_description(&["path", "srv/d/b"]).unwrap();
    options.add_description(&["set", "[xy]1"]).unwrap();
    options.add_description(&["part", "le-"]).unwrap();
    for (name, expected) in
        [(&b"bcd"[..], "path"), (b"ax12", "set"), (b"file-1", "part"), (b"none", "")]
    {
        let text = body(&options, &[file(name, 1)], &page());
        assert!(text.contains(&format!("    1   {expected}\n")), "{text}");
    }
}

#[test]
fn titles_are_the_last_resort_for_descriptions() {
    let entries = [IndexEntry { title: Some(b"Title"), ..file(b"a.html", 1) }];
    let mut options = options("FancyIndexing ScanHTMLTitles");
    assert!(body(&options, &entries, &page()).contains("    1   Title\n"));
    options.add_description(&["given", "a"]).unwrap();
    assert!(body(&options, &entries, &page()).contains("    1   given\n"));
}

#[test]
fn descriptions_are_cut_around_tags_and_entities() {
    for (width, text, expected) in [
        ("12", "123456789012", "123456789012"),
        ("12", "1234567890123", "12345678901>"),
        ("12", "<b>123456789012</b>3", "<b>123456789012</b>"),
        ("12", "&amp;23456789012", "&amp;23456789012"),
        ("12", "&amp;234567890123", "&amp;2345678901>"),
        ("12", "a & b and more of it", "a & b and more of it"),
        ("12", "a <b and more of it", "a <b and more of it"),
        ("12", "12345678901 & more", "12345678901>"),
        ("*", "<i>a</i> & b", "<i>a</i> & b"),
        ("0", "x", ""),
        ("*", "1234567890123456789012345", "1234567890123456789012345"),
    ] {
        let mut options = options(&format!("FancyIndexing DescriptionWidth={width}"));
        options.add_description(&[text, "a"]).unwrap();
        let page = body(&options, &[file(b"a", 1)], &page());
        let cut = page.split("    1   ").nth(1).unwrap().split('\n').next().unwrap();
        // After "</b>" the cut's ">" is written over one that is there already.
        assert_eq!(cut, expected, "{text}");
    }
}

#[test]
fn name_widths() {
    let entries = [file(b"twelve-bytes", 1)];
    for (keyword, expected) in [
        ("NameWidth=5", ">tw..&gt;</a> 2024"),
        ("NameWidth=12", ">twelve-bytes</a> 2024"),
        ("NameWidth=14", ">twelve-bytes</a>   2024"),
        ("NameWidth=*", ">twelve-bytes</a>            2024"),
        ("NameWidth=12 -NameWidth", ">twelve-bytes</a>            2024"),
        ("NameWidth=0", ">twelve-bytes</a> 2024"),
        ("HTMLTable NameWidth=*", ">twelve-bytes</a></td>"),
    ] {
        let text = body(&options(&format!("FancyIndexing {keyword}")), &entries, &page());
        assert!(text.contains(expected), "{keyword}\n{text}");
    }
}

#[test]
fn inner_rules_come_first() {
    let (mut outer, mut inner) = (options("FancyIndexing"), IndexOptions::default());
    outer.add_icon(By::Path, &["/outer", ".a", ".b"], "").unwrap();
    inner.add_icon(By::Path, &["/inner", ".a"], "").unwrap();
    let merged = IndexOptions::merge(&outer, &inner);
    let text = body(&merged, &[file(b"x.a", 1), file(b"x.b", 1)], &page());
    assert!(text.contains("/inner\" alt=\"[   ]\"> <a href=\"x.a\""), "{text}");
    assert!(text.contains("/outer\" alt=\"[   ]\"> <a href=\"x.b\""), "{text}");
}

#[test]
fn any_name_is_safe_in_any_style() {
    let names: Vec<Vec<u8>> = (1..=255u8)
        .filter(|&byte| byte != b'/')
        .map(|byte| vec![byte, b'<', byte, b'"', b'&', byte])
        .collect();
    let entries: Vec<IndexEntry<'_>> =
        names.iter().map(|name| IndexEntry { name, ..file(b"", 1) }).collect();
    for keywords in ["None", "FancyIndexing NameWidth=5", "FancyIndexing HTMLTable NameWidth=*"] {
        let html = render(&options(keywords), &entries, &page());
        let rows = html.windows(9).filter(|window| window.starts_with(b"<a href=\"")).count();
        let sort_links = if keywords == "None" { 0 } else { 4 };
        assert_eq!(rows, names.len() + 1 + sort_links);
        // Every "<" opens a tag of the page: none stands before a byte of a name.
        let tags = html.windows(2).filter(|pair| pair[0] == b'<');
        assert!(tags.clone().all(|pair| pair[1].is_ascii_alphabetic() || b"/!".contains(&pair[1])));
    }
}
