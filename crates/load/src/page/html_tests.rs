//! Pages and what is found in them.

use super::*;
use proptest::prelude::*;

fn found(html: &str) -> Vec<String> {
    let references = references(html.as_bytes()).found.references;
    references.iter().map(|one| format!("{} {}", one.kind.name(), one.url)).collect()
}

#[test]
fn every_element_that_loads_something_is_known() {
    let rows: &[(&str, &[&str])] = &[
        ("<img src=a>", &["image a"]),
        ("<IMG\nSRC = 'a b' alt=x/>", &["image a b"]),
        ("<img src=\"a?b&amp;c&#38;d&#x26;e&f\">", &["image a?b&c&d&e&f"]),
        ("<img src=a srcset='b 1x, c 2x'>", &["image b"]),
        ("<img src=a srcset='b 400w, c 900w' sizes='(min-width: 1px) 500px'>", &["image c"]),
        ("<img src=a loading=lazy>", &["image a"]),
        ("<img src=a src=b>", &["image a"]),
        ("<img src=''><img><img src='#x'><img src='data:x'>", &[]),
        (
            "<picture><source srcset=a media=print><source srcset=b type=image/jxl>\
             <source srcset='c, d 2x' type=image/webp><source srcset=e><img src=f></picture>\
             <img src=g>",
            &["image c", "image g"],
        ),
        ("<picture><source media='(max-width: 9px)' srcset=a><img src=f></picture>", &["image f"]),
        ("<link rel=stylesheet href=a>", &["stylesheet a"]),
        ("<link rel='alternate STYLESHEET' href=a media=print>", &["stylesheet a"]),
        ("<link rel=stylesheet href=a type=text/less><link rel=canonical href=b>", &[]),
        ("<link rel=icon href=a><link rel='shortcut icon' href=b>", &["icon b"]),
        ("<link rel=preload as=font href=a><link rel=preload href=b>", &["font a"]),
        ("<link rel=preload as=image href=a imagesrcset='b 2x, c 1x'>", &["image c"]),
        ("<link rel=preload as=image href=a media=print>", &[]),
        ("<link rel=modulepreload href=a>", &["script a"]),
        ("<script src=a></script><script src=b nomodule></script>", &["script a"]),
        ("<script src=a type=module></script><script src=b type=text/x></script>", &["script a"]),
        ("<video src=a poster=b></video>", &["image b", "media a"]),
        ("<video preload=none src=a></video><audio src=c></audio>", &["media c"]),
        ("<video><source src=a><source src=b></video>", &["media a"]),
        ("<iframe src=a></iframe><iframe srcdoc=x src=b></iframe>", &["document a"]),
        ("<embed src=a><object data=b></object>", &["fetch a", "fetch b"]),
        ("<input type=image src=a><input src=b>", &["image a"]),
        ("<body background=a><td background=b>", &["image a", "image b"]),
        ("<svg><image xlink:href=a /></svg>", &["image a"]),
        ("<p style='x:url(a)'>", &["image a"]),
        ("<style>@import 'a'; b{c:url(d)}</style>", &["stylesheet a", "image d"]),
        ("<style media=print>b{c:url(d)}</style>", &[]),
    ];
    for (html, wanted) in rows {
        assert_eq!(found(html), *wanted, "{html}");
    }
}

#[test]
fn what_is_not_there_is_skipped() {
    let rows: &[(&str, &[&str])] = &[
        ("<!-- <img src=a> --><img src=b>", &["image b"]),
        ("<!--><img src=a><!---><img src=b>-->", &["image a", "image b"]),
        ("<!-- <img src=a>", &[]),
        ("<!doctype html><?x <img?><img src=b>", &["image b"]),
        ("<script>'<img src=a>'</script><img src=b>", &["image b"]),
        ("<script>'</scripts><img src=a>'</SCRIPT ><img src=b>", &["image b"]),
        ("<script>'<img src=a>", &[]),
        (
            "<template><img src=a><template></template><img src=c></template><img src=b>",
            &["image b"],
        ),
        ("<noscript><img src=a></noscript><img src=b>", &["image b"]),
        ("<textarea><img src=a></textarea><title><img src=c></title>", &[]),
        ("<plaintext><img src=a>", &[]),
        ("< img src=a><1 src=b>", &[]),
        ("<img src=a", &[]),
        ("<img src='a>", &[]),
        ("<p title='<img src=a>'>", &[]),
        ("</p <img src=a>", &[]),
    ];
    for (html, wanted) in rows {
        assert_eq!(found(html), *wanted, "{html}");
    }
}

#[test]
fn the_first_base_counts() {
    let page = references(b"<base target=x><base href='/a/'><base href=b><img src=c>");
    assert_eq!(page.base.as_deref(), Some("/a/"));
}

#[test]
fn the_hostile_is_read_in_one_pass() {
    let started = std::time::Instant::now();
    let pieces = [
        "<img ",
        "<!--",
        "<script>",
        "</",
        "<a b='",
        "<style>@import ",
        "<a b=&",
        "<template>",
        "<title></titl",
        "<a style='url(",
        "<img srcset='a ,",
        "<picture><source srcset=a>",
    ];
    for piece in pieces {
        references(piece.repeat(1_000_000 / piece.len()).as_bytes());
    }
    // A second pass for each piece would take hours, so the limit is far from both.
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

proptest! {
    #[test]
    fn pieces_of_the_language_in_any_order_are_read(
        pieces in proptest::collection::vec(
            proptest::sample::select(vec![
                "<", ">", "<!--", "-->", "<img ", "src=", "srcset=", "'", "\"", "a", "=", "&#", ";",
                "<script>", "</script>", "</", "<style>", "url(", "<template>", "/", "<picture>",
                "<source ", "style=", "\u{e9}", "<link rel=icon href=", "media=(",
            ]),
            0..60,
        ),
    ) {
        let html = pieces.concat();
        let page = references(html.as_bytes());
        prop_assert!(page.found.references.len() <= html.len());
    }

    #[test]
    fn an_image_is_found_in_any_company(before in "[a-z &;=\"'/]{0,30}", url in "[a-z]{1,9}") {
        let html = format!("{before}<i></i><img alt='{}' src=\"{url}\">x", "<b>");
        prop_assert_eq!(found(&html), [format!("image {url}")]);
    }
}

/// Seconds at the pace of a debug build; the square of it would be an hour.
#[test]
fn pages_and_stylesheets_are_read_in_time_that_grows_as_their_length() {
    let begun_ns = runtime::clock::thread_cpu_ns();
    for part in [
        "<",
        "</",
        "<a x=\">\" ",
        "<a x='\"",
        "<!--",
        "<!",
        "<script></",
        "<img x=& ",
        "&#",
        "<a ",
        "<img srcset=\"a (b, ",
        "<p style=\"x:url(",
        "\"",
        "'",
        "(",
        "a(",
        "url(",
        "url('",
        "{",
        "@",
        "/*",
        "\\",
        "@import ",
        "@media (",
        "@font-face{src:",
        "format(",
        "image-set(",
        "src:url(",
    ] {
        let text = part.repeat(500_000 / part.len());
        for page in [
            text.clone(),
            format!("<style>{text}"),
            format!("<img srcset='{text}' sizes='{text}'>"),
        ] {
            references(page.as_bytes());
        }
        for css in [text.clone(), format!("@font-face{{src:{text}"), format!("@media {text}")] {
            super::css::references(css.as_bytes());
        }
    }
    let took_s = (runtime::clock::thread_cpu_ns() - begun_ns) / 1_000_000_000;
    assert!(took_s < 30, "{took_s} s");
}
