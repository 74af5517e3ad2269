//! Names that Apache 2.4.71 corrected, and the pages it sent.

use super::*;

/// The folder, in the order in which its file system gives the names.
const NAMES: &[&str] = &[
    "foo.txt",
    "foo.html",
    "CAPS.txt",
    "abd",
    "abc",
    "Index.html",
    "inxed.html",
    "index.htm",
    "a b.html",
    "c<d.html",
    "caps.TXT",
    "foo.gif",
    "q;x",
    "z:1",
];

fn settings(case_only: bool, basename: bool) -> Settings {
    Settings { own: Some(Checks { is_on: true, case_only, basename }) }
}

fn names() -> impl Iterator<Item = &'static [u8]> {
    NAMES.iter().map(|name| name.as_bytes())
}

fn asked<'a>(path: &'a str, wrong: &'a str, path_info: &'a str) -> MissingName<'a> {
    MissingName {
        path: path.as_bytes(),
        path_info: path_info.as_bytes(),
        wrong: wrong.as_bytes(),
        query: None,
        referer: None,
    }
}

/// The URL, or the candidates with their reasons.
fn corrected(settings: &Settings, wrong: &str) -> String {
    let found = candidates(settings, wrong.as_bytes(), names());
    let path = format!("/sp/{wrong}");
    match answer(&asked(&path, wrong, ""), &found) {
        None => String::new(),
        Some(SpelingAnswer::Moved(url)) => String::from_utf8(url).unwrap(),
        Some(SpelingAnswer::Choices { .. }) => {
            let show = |candidate: &SpelingCandidate<'_>| {
                let name = String::from_utf8_lossy(candidate.name);
                format!("{name} ({})", candidate.reason.text())
            };
            found.iter().map(show).collect::<Vec<_>>().join(", ")
        }
    }
}

#[test]
fn one_letter_and_capitals_are_corrected() {
    for (wrong, expected) in [
        ("INDEX.html", "/sp/Index.html"),
        ("inde.html", "/sp/Index.html"),
        ("idnex.html", "/sp/Index.html"),
        ("indexx.html", "/sp/Index.html"),
        ("abx", "abd (mistyped character), abc (mistyped character)"),
        ("ab", "abd (character missing), abc (character missing)"),
        ("A b.html", "/sp/a%20b.html"),
        ("caps.txt", "CAPS.txt (miscapitalized), caps.TXT (miscapitalized)"),
        ("c<d.htm", "/sp/c%3cd.html"),
        ("FOO.gif", "/sp/foo.gif"),
        ("Q;x", "/sp/q;x"),
        ("Z:1", "/sp/z:1"),
        (
            "foo.png",
            "foo.txt (common basename), foo.html (common basename), foo.gif (common basename)",
        ),
        ("abc", ""),
        ("nothing", ""),
    ] {
        assert_eq!(corrected(&settings(false, true), wrong), expected, "{wrong}");
    }
}

#[test]
fn settings_limit_what_is_corrected() {
    for (case_only, basename, wrong, expected) in [
        (true, false, "INDEX.html", "/sp/Index.html"),
        (true, false, "inde.html", ""),
        (false, false, "foo.png", ""),
        (false, false, "abx", "abd (mistyped character), abc (mistyped character)"),
        (true, true, "ABX", ""),
    ] {
        assert_eq!(corrected(&settings(case_only, basename), wrong), expected, "{wrong}");
    }
}

#[test]
fn distances_are_one_letter() {
    for (wrong, name, expected) in [
        ("abc", "ABC", Some(Reason::Miscapitalized)),
        ("abc", "acb", Some(Reason::Transposed)),
        ("abc", "abcd", Some(Reason::Missing)),
        ("bc", "abc", Some(Reason::Missing)),
        ("abcd", "abc", Some(Reason::Extra)),
        ("xabc", "abc", Some(Reason::Extra)),
        ("axc", "abc", Some(Reason::Mistyped)),
        ("x", ".", Some(Reason::Mistyped)),
        ("ab", "ba", Some(Reason::Transposed)),
        ("abc", "cba", None),
        ("abc", "abcde", None),
        ("", "ab", None),
        ("", "", Some(Reason::Miscapitalized)),
    ] {
        assert_eq!(distance(wrong.as_bytes(), name.as_bytes()), expected, "{wrong} {name}");
    }
}

#[test]
fn the_page_is_that_of_httpd() {
    let found = candidates(&settings(false, true), b"foo.png", names());
    let query = Some(&b"x=1&y"[..]);
    let referer = Some(&b"http://ref/\"x\"<y>"[..]);
    let asked = MissingName { query, referer, ..asked("/sp/foo.png/more", "foo.png", "/more") };
    let Some(SpelingAnswer::Choices { list, variants }) = answer(&asked, &found) else { panic!() };
    assert_eq!(
        String::from_utf8(list).unwrap(),
        "The document name you requested (<code>/sp/foo.png/more</code>) could not be found on \
         this server.\nHowever, we found documents with names similar to the one you requested.\
         <p>Available documents:\n<ul>\n\
         <li><a href=\"/sp/foo.txt/more%3fx=1&y\">/sp/foo.txt/more?x=1&amp;y</a> \
         (common basename)\n\
         <li><a href=\"/sp/foo.html/more%3fx=1&y\">/sp/foo.html/more?x=1&amp;y</a> \
         (common basename)\n\
         <li><a href=\"/sp/foo.gif/more%3fx=1&y\">/sp/foo.gif/more?x=1&amp;y</a> \
         (common basename)\n</ul>\n\
         Please consider informing the owner of the referring page \
         <tt>http://ref/&quot;x&quot;&lt;y&gt;</tt> about the broken link.\n"
    );
    assert!(variants.starts_with(b"\",/sp/foo.txt/more%3fx=1&y,\";\",common basename,\",\","));
}

#[test]
fn close_names_stand_before_related_ones() {
    let names: [&[u8]; 4] = [b"ab.x", b"abc.y", b"abd.y", b"abe.x"];
    let found = candidates(&settings(false, true), b"abe.y", names);
    let reasons: Vec<Reason> = found.iter().map(|candidate| candidate.reason).collect();
    assert_eq!(reasons, [Reason::Mistyped, Reason::Mistyped, Reason::Mistyped]);
    let names: [&[u8]; 4] = [b"abe.zip", b"abc.y", b"abd.y", b"abe.tar"];
    let found = candidates(&settings(false, true), b"abe.y", names);
    let Some(SpelingAnswer::Choices { list, .. }) = answer(&asked("/abe.y", "abe.y", ""), &found)
    else {
        panic!()
    };
    assert_eq!(
        String::from_utf8(list).unwrap().split_once("<ul>\n").unwrap().1,
        "<li><a href=\"/abc.y\">/abc.y</a> (mistyped character)\n\
         <li><a href=\"/abd.y\">/abd.y</a> (mistyped character)\n</ul>\n\
         Furthermore, the following related documents were found:\n<ul>\n\
         <li><a href=\"/abe.zip\">/abe.zip</a> (common basename)\n\
         <li><a href=\"/abe.tar\">/abe.tar</a> (common basename)\n</ul>\n"
    );
}

#[test]
fn redirects_keep_path_info_and_query() {
    let found = candidates(&settings(false, true), b"FOO.gif", names());
    let asked =
        MissingName { query: Some(b"x=%201"), ..asked("/sp/FOO.gif/m re", "FOO.gif", "/m re") };
    let url = b"/sp/foo.gif/m%20re?x=%201".to_vec();
    assert_eq!(answer(&asked, &found), Some(SpelingAnswer::Moved(url)));
}

#[test]
fn what_does_not_fit_together_is_left_alone() {
    let found = candidates(&settings(false, true), b"FOO.gif", names());
    for (path, wrong, path_info) in
        [("/sp/alias", "FOO.gif", ""), ("/sp/FOO.gif/x", "FOO.gif", "/y"), ("/", "", "")]
    {
        assert_eq!(answer(&asked(path, wrong, path_info), &found), None, "{path}");
    }
}

#[test]
fn the_innermost_section_decides_all() {
    let outer = settings(true, false);
    assert!(Settings::default().over(&outer).is_on());
    let mut inner = Settings::default();
    inner.change().case_only = true;
    assert!(!inner.over(&outer).is_on());
    assert!(!Settings::default().is_on());
}

#[test]
fn large_folders_have_an_end() {
    let many: Vec<Vec<u8>> = (0..5000).map(|number| format!("a.{number}").into_bytes()).collect();
    let found = candidates(&settings(false, true), b"a.html", many.iter().map(Vec::as_slice));
    assert_eq!(found.len(), CANDIDATES_MAX);
}
