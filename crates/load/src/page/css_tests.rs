//! Stylesheets and what is found in them.

use super::*;
use proptest::prelude::*;

fn found(css: &str) -> Vec<String> {
    let letter = |kind: ResourceKind| match kind {
        ResourceKind::Style => "s",
        ResourceKind::Font => "f",
        _ => "i",
    };
    let references = references(css.as_bytes()).references;
    references.iter().map(|one| format!("{} {}", letter(one.kind), one.url)).collect()
}

#[test]
fn urls_are_found_however_they_are_written() {
    let rows: &[(&str, &[&str])] = &[
        ("a{b:url(c.png)}", &["i c.png"]),
        ("a{b:URL( 'c d.png' )}", &["i c d.png"]),
        ("a{b:url(\"c).png\") x, url(d.png)}", &["i c).png", "i d.png"]),
        ("a{b:url(c\\29 .png)}", &["i c).png"]),
        ("a{b:url('c\\'d.png')}", &["i c'd.png"]),
        ("/* url(x) */ a{b:/*url(y)*/url(c)/* */}", &["i c"]),
        ("a::before{content:'url(x)'} b{c:url(d)}", &["i d"]),
        ("a{b:url(data:image/png;base64,AA==)}", &[]),
        ("a{b:url(#gradient)}", &[]),
        ("a{b:url()}", &[]),
        ("a{b:url(c", &["i c"]),
        ("a{b:url(  c \n ) d:url(e\t)}", &["i c", "i e"]),
        ("a{b:url(c d)} e{f:url(g)}", &["i g"]),
        ("a{b:url(c\nd)} e{f:url(g)}", &["i g"]),
        ("a{b:url(c 'd)} e{f:url(g)} h{i:url('j')}", &["i g", "i j"]),
        ("a{b:url(c\"d)} e{f:url(g(h)}", &[]),
        ("a{b:url(c d\\) url(e)} f{g:url(h)}", &["i h"]),
        ("a{b:url(c\\ d)}", &["i c d"]),
        ("a{b:image-set(url(c d) 1x, url(e) 2x)}", &[]),
        ("a{b:image-set('c.png' 1x, 'd.png' 2x)}", &["i c.png"]),
        ("a{b:-webkit-image-set(url(c) 1x, url(d) 2x) , url(e)}", &["i c", "i e"]),
        ("a{b:curl(c)}", &[]),
        ("@namespace svg url(http://x/y); a{b:url(c)}", &["i c"]),
        ("a{&:hover{b:url(c)} d:url(e)}", &["i c", "i e"]),
    ];
    for (css, wanted) in rows {
        assert_eq!(found(css), *wanted, "{css}");
    }
}

#[test]
fn imports_come_before_rules() {
    let rows: &[(&str, &[&str])] = &[
        ("@import 'a.css';", &["s a.css"]),
        ("@import url(a.css);@IMPORT url('b.css') screen;", &["s a.css", "s b.css"]),
        ("@import 'a.css' print;", &["s a.css"]),
        ("@import 'a.css' layer(x) supports(display: grid) screen;", &["s a.css"]),
        ("@charset \"utf-8\"; @layer a, b; @import 'a.css'", &["s a.css"]),
        ("p{} @import 'a.css';", &[]),
        ("@media screen { @import 'a.css'; }", &[]),
    ];
    for (css, wanted) in rows {
        assert_eq!(found(css), *wanted, "{css}");
    }
}

#[test]
fn rules_for_other_media_are_left_out() {
    let css = "@media print { a { b: url(x) } @supports (c: d) { e { f: url(y) } } }
        @media (min-width: 10px) { a { b: url(c) } } @supports (x: y) { a { b: url(d) } }
        @media (max-width: 10px) { a { b: url(z) } } a { b: url(e) }";
    assert_eq!(found(css), ["i c", "i d", "i e"]);
}

#[test]
fn of_a_font_one_file_is_loaded() {
    let rows: &[(&str, &[&str])] = &[
        (
            "@font-face{font-family:x;src:url(a.eot);src:local('y'),url(a.eot?#) \
             format('embedded-opentype'),url(a.woff2) format('woff2'),url(a.woff)} p{q:url(r)}",
            &["f a.woff2", "i r"],
        ),
        ("@font-face{src:url(a.ttf);unicode-range:U+0400-045F}", &[]),
        ("@font-face{src:url(a.ttf);unicode-range:U+0000-00FF, U+0131}", &["f a.ttf"]),
        ("@media print{@font-face{src:url(a.ttf)}}", &[]),
    ];
    for (css, wanted) in rows {
        assert_eq!(found(css), *wanted, "{css}");
    }
}

#[test]
fn the_hostile_is_read_in_one_pass() {
    let started = std::time::Instant::now();
    for piece in ["url(", "@import url(", "@font-face{src:", "{", "/*", "'", "\\", "image-set(("] {
        references(piece.repeat(1_000_000 / piece.len()).as_bytes());
    }
    // A second pass for each piece would take hours, so the limit is far from both.
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(css in "[a-c@{}()'\";:,/*\\\\ \n]{0,200}") {
        references(css.as_bytes());
    }

    #[test]
    fn pieces_of_the_language_in_any_order_are_read(
        pieces in proptest::collection::vec(
            proptest::sample::select(vec![
                "@import ", "@media ", "print", "@font-face", "{", "}", "src:", "url(", ")", "'",
                "\"", ";", "image-set(", "format(", "\\", "/*", "*/", "a", "unicode-range:",
            ]),
            0..60,
        ),
    ) {
        let css = pieces.concat();
        let found = references(css.as_bytes());
        prop_assert!(found.references.iter().all(|one| css.len() >= one.url.len()));
    }
}
