//! Tests of URLs: what users write, and the examples of RFC 3986.

use super::*;
use proptest::prelude::*;

#[test]
fn urls_are_read_as_other_tools_do() {
    let rows: &[(&str, &str, &str, u16, &str)] = &[
        ("http://a/", "http", "a", 80, "/"),
        ("a", "http", "a", 80, "/"),
        ("//a/b", "http", "a", 80, "/b"),
        ("a:8080", "http", "a", 8080, "/"),
        ("localhost:8080/x?y=http://z", "http", "localhost", 8080, "/x?y=http://z"),
        ("HTTPS://Example.ORG", "https", "example.org", 443, "/"),
        ("https://a:8443?q#f", "https", "a", 8443, "/?q"),
        ("http://a:/b", "http", "a", 80, "/b"),
        ("http://a#f/g", "http", "a", 80, "/"),
        ("http://[::1]:81/x", "http", "::1", 81, "/x"),
        ("[2001:DB8::1]", "http", "2001:db8::1", 80, "/"),
        ("  http://a/b \t", "http", "a", 80, "/b"),
        ("http://a/b c/\u{e9}?\u{20ac}=%41%zz", "http", "a", 80, "/b%20c/%C3%A9?%E2%82%AC=%41%zz"),
        ("http://a/../b/./c//d", "http", "a", 80, "/../b/./c//d"),
        ("http://a/{x}|\"<>'", "http", "a", 80, "/{x}|\"<>'"),
        ("http://u:p@w@a/b@c", "http", "a", 80, "/b@c"),
    ];
    for (text, scheme, host, port, target) in rows {
        let url = Url::parse(text).unwrap_or_else(|fault| panic!("{fault}"));
        let got = (url.scheme.as_str(), url.host.as_str(), url.port, url.target.as_str());
        assert_eq!(got, (*scheme, *host, *port, *target), "{text}");
        let again = Url::parse(&url.to_string()).unwrap();
        assert_eq!(again, Url { userinfo: None, ..url }, "what is shown means the same");
    }
}

#[test]
fn user_information_is_kept_and_not_shown() {
    let url = Url::parse("http://me:p%40ss%2@a/b").unwrap();
    assert_eq!(url.userinfo.as_deref(), Some("me:p%40ss%2"));
    assert_eq!(url.credentials().as_deref(), Some(&b"me:p@ss%2"[..]));
    assert_eq!(url.to_string(), "http://a/b");
    assert_eq!(url.join("c").unwrap().userinfo, url.userinfo);
    assert_eq!(url.join("//other/c").unwrap().userinfo, None, "it is for this host only");
    assert_eq!(Url::parse("a").unwrap().credentials(), None);
}

#[test]
fn the_usual_port_is_not_part_of_the_authority() {
    let rows = [
        ("http://a:80", "a"),
        ("https://a:443", "a"),
        ("http://a:443", "a:443"),
        ("https://[::1]:80", "[::1]:80"),
        ("http://[::1]", "[::1]"),
    ];
    for (text, authority) in rows {
        assert_eq!(Url::parse(text).unwrap().authority(), authority, "{text}");
    }
}

#[test]
fn faults_say_what_and_where() {
    let rows: &[(&str, usize, &str)] = &[
        ("", 0, "expected a URL"),
        ("  ", 0, "expected a URL"),
        ("ftp://a/", 0, "only http and https"),
        ("http://", 7, "host is empty"),
        ("http:///a", 7, "host is empty"),
        ("http://a b/", 7, "not allowed"),
        ("http://a:x/", 7, "port"),
        ("http://a:70000/", 7, "port"),
        ("http://a:0/", 7, "port"),
        ("http://u@[::1/", 9, "IPv6"),
        ("http://m\u{fc}nchen.de/", 7, "xn--"),
        ("http://a/b\r\nX: y", 10, "control"),
        ("http://a/\0", 9, "control"),
        ("mailto:me", 0, "port"),
    ];
    for (text, at, what) in rows {
        let fault = Url::parse(text).expect_err(text);
        assert!(fault.at == *at && fault.what.contains(what), "{text:?}: {} {fault}", fault.at);
    }
    assert!(Url::parse(&format!("http://a/{}", "x".repeat(20_000))).is_err());
}

/// RFC 3986 sections 5.4.1 and 5.4.2, in order; fragments are not kept, an empty path is `/`.
#[test]
fn references_mean_what_the_standard_says() {
    let base = Url::parse("http://a/b/c/d;p?q").unwrap();
    let rows = [
        ("g:h", None),
        ("g", Some("http://a/b/c/g")),
        ("./g", Some("http://a/b/c/g")),
        ("g/", Some("http://a/b/c/g/")),
        ("/g", Some("http://a/g")),
        ("//g", Some("http://g/")),
        ("?y", Some("http://a/b/c/d;p?y")),
        ("g?y", Some("http://a/b/c/g?y")),
        ("#s", Some("http://a/b/c/d;p?q")),
        ("g#s", Some("http://a/b/c/g")),
        ("g?y#s", Some("http://a/b/c/g?y")),
        (";x", Some("http://a/b/c/;x")),
        ("g;x", Some("http://a/b/c/g;x")),
        ("g;x?y#s", Some("http://a/b/c/g;x?y")),
        ("", Some("http://a/b/c/d;p?q")),
        (".", Some("http://a/b/c/")),
        ("./", Some("http://a/b/c/")),
        ("..", Some("http://a/b/")),
        ("../", Some("http://a/b/")),
        ("../g", Some("http://a/b/g")),
        ("../..", Some("http://a/")),
        ("../../", Some("http://a/")),
        ("../../g", Some("http://a/g")),
        ("../../../g", Some("http://a/g")),
        ("../../../../g", Some("http://a/g")),
        ("/./g", Some("http://a/g")),
        ("/../g", Some("http://a/g")),
        ("g.", Some("http://a/b/c/g.")),
        (".g", Some("http://a/b/c/.g")),
        ("g..", Some("http://a/b/c/g..")),
        ("..g", Some("http://a/b/c/..g")),
        ("./../g", Some("http://a/b/g")),
        ("./g/.", Some("http://a/b/c/g/")),
        ("g/./h", Some("http://a/b/c/g/h")),
        ("g/../h", Some("http://a/b/c/h")),
        ("g;x=1/./y", Some("http://a/b/c/g;x=1/y")),
        ("g;x=1/../y", Some("http://a/b/c/y")),
        ("g?y/./x", Some("http://a/b/c/g?y/./x")),
        ("g?y/../x", Some("http://a/b/c/g?y/../x")),
        ("g#s/./x", Some("http://a/b/c/g")),
        ("g#s/../x", Some("http://a/b/c/g")),
        ("http:g", Some("http://a/b/c/g")),
        // Not of the RFC: what pages have.
        ("https://x:1/y/../z", Some("https://x:1/z")),
        ("https:g", None),
        ("javascript:void(0)", None),
        ("data:image/png;base64,AA==", None),
        (" /a\n b ", Some("http://a/a%20b")),
        ("/a//../b", Some("http://a/a/b")),
        ("//[::1]:8/x", Some("http://[::1]:8/x")),
        ("//", None),
        ("a:b", None),
        ("./a:b", Some("http://a/b/c/a:b")),
        ("/\u{e9}", Some("http://a/%C3%A9")),
        ("x\0y", None),
    ];
    for (reference, expect) in rows {
        let got = base.join(reference).map(|url| url.to_string());
        assert_eq!(got.as_deref(), expect, "{reference:?}");
    }
}

proptest! {
    #[test]
    fn no_text_panics_and_every_target_fits_the_wire(text: String, reference: String) {
        let urls = [Url::parse(&text).ok(), Url::parse(&format!("http://a/{text}")).ok()];
        for url in urls.into_iter().flatten() {
            for one in [url.join(&reference), Some(url)].into_iter().flatten() {
                prop_assert!(one.target.starts_with('/'));
                prop_assert!(one.target.bytes().all(|byte| byte.is_ascii_graphic()));
                prop_assert!(!one.target.contains('#'));
                prop_assert_eq!(Url::parse(&one.to_string()).unwrap().target, one.target);
            }
        }
    }

    #[test]
    fn joined_paths_have_no_dots(reference in "[./a?]{0,20}") {
        let base = Url::parse("http://a/b/c/d").unwrap();
        if let Some(url) = base.join(&reference) {
            let path = url.path_and_query().0;
            prop_assert!(!path.split('/').any(|part| part == "." || part == ".."), "{}", path);
        }
    }
}
