//! Tests of path decoding: rows of the reference tables by id, then properties.

use super::*;
use proptest::prelude::*;
use std::vec::Vec;

fn decoded(raw: &[u8]) -> Result<Vec<u8>, BadPath> {
    let mut out = b"kept".to_vec();
    decode(raw, &mut out, true)?;
    assert_eq!(&out[..4], b"kept", "decode appends");
    Ok(out.split_off(4))
}

#[test]
fn good_paths() {
    let rows: &[(&str, &[u8], &[u8])] = &[
        ("own", b"/", b"/"),
        ("own", b"/a/b.html", b"/a/b.html"),
        ("own", b"/a%20b%e9", b"/a b\xe9"),
        ("L28", b"/n/../006/x.css", b"/006/x.css"),
        ("L28", b"/n/%2e/%2e%2e/006/x.css", b"/006/x.css"),
        ("L28", b"/006//.//x.css", b"/006/x.css"),
        ("own", b"//", b"/"),
        ("own", b"/.", b"/"),
        ("own", b"/a/.", b"/a/"),
        ("own", b"/a/b/..", b"/a/"),
        ("own", b"/a/b/../", b"/a/"),
        ("own", b"/a/%2E%2e", b"/"),
        ("own", b"/.../..a/a../.b", b"/.../..a/a../.b"),
        ("CVE 2: one round only", b"/%252e%252e/x", b"/%2e%2e/x"),
        ("CVE 4: backslash is a byte", b"/..%5c", b"/..\\"),
        ("CVE 4: parameters stay", b"/..;/a;b/", b"/..;/a;b/"),
        ("CVE 6: control is a byte", b"/a%0a.php", b"/a\n.php"),
    ];
    for (id, raw, expect) in rows {
        assert_eq!(decoded(raw).as_deref(), Ok(*expect), "{id} {}", raw.escape_ascii());
    }
}

#[test]
fn bad_paths() {
    use BadPath::*;
    let rows: &[(&str, &[u8], BadPath)] = &[
        ("L25", b"/x%", BadEscape),
        ("L25", b"/%1", BadEscape),
        ("L25", b"/%zz", BadEscape),
        ("L25", b"/%+1", BadEscape),
        ("L26", b"/%00", Nul),
        ("L26", b"/a%00.php", Nul),
        ("L26", b"/a%2fb", EncodedSlash),
        ("L26", b"/a%2Fb", EncodedSlash),
        ("L27", b"/../x", AboveRoot),
        ("L27", b"/%2e%2e/x", AboveRoot),
        ("L27", b"/a/../../x", AboveRoot),
        ("L27", b"/..", AboveRoot),
        ("L27", b"/.%2e", AboveRoot),
        ("CVE 1", b"/cgi-bin/.%2e/.%2e/etc/passwd", AboveRoot),
        ("CVE 2", b"/cgi-bin/%%32%65%%32%65/%%32%65%%32%65/etc/passwd", BadEscape),
        ("own", b"", NotAbsolute),
        ("own", b"a/b", NotAbsolute),
        ("own", b"/a\0b", Nul),
    ];
    for (id, raw, expect) in rows {
        assert_eq!(decoded(raw), Err(*expect), "{id} {}", raw.escape_ascii());
    }
}

#[test]
fn statuses_are_those_of_httpd() {
    assert_eq!(BadPath::AboveRoot.status().code(), 400);
    assert_eq!(BadPath::BadEscape.status().code(), 400);
    assert_eq!(BadPath::Nul.status().code(), 404);
    assert_eq!(BadPath::EncodedSlash.status().code(), 404);
}

#[test]
fn slashes_kept_apart() {
    let rows: &[(&[u8], &[u8])] = &[
        (b"//a//b//", b"//a//b//"),
        (b"/a//../b", b"/a/b"),
        (b"/a/.//b", b"/a//b"),
        (b"//..", b"/"),
    ];
    for (raw, expect) in rows {
        let mut out = Vec::new();
        decode(raw, &mut out, false).unwrap();
        assert_eq!(&out, expect, "{}", raw.escape_ascii());
    }
}

#[test]
fn encoded_slashes_allowed() {
    let with = |raw: &[u8], encoded| {
        let mut out = Vec::new();
        decode_with(raw, &mut out, true, encoded).map(|()| out)
    };
    assert_eq!(with(b"/a%2fb", EncodedSlashes::On).unwrap(), b"/a/b");
    assert_eq!(with(b"/a%2Fb%20", EncodedSlashes::NoDecode).unwrap(), b"/a%2Fb ");
    // A decoded slash may complete a dot segment; that must not slip through.
    assert_eq!(with(b"/a/..%2f..%2fb", EncodedSlashes::On), Err(BadPath::AboveRoot));
    assert_eq!(with(b"/a%2f..%2fb", EncodedSlashes::On).unwrap(), b"/b");
    // Until it is decoded, it is part of the segment that `..` takes away.
    assert_eq!(with(b"/a%2fb/..", EncodedSlashes::On).unwrap(), b"/");
    assert_eq!(with(b"/a%2fb/../..", EncodedSlashes::On), Err(BadPath::AboveRoot));
    assert_eq!(with(b"/x//%2e%2E/./a%2Fb/c", EncodedSlashes::On).unwrap(), b"/a/b/c");
    assert_eq!(with(b"/a%2fb/c/.", EncodedSlashes::On).unwrap(), b"/a/b/c/");
}

#[test]
fn encoding() {
    let mut out = Vec::new();
    encode(b"/a b?#\"<\xe9~;%", &mut out);
    assert_eq!(out, b"/a%20b%3f%23%22%3c%e9~;%25");
}

/// Paths out of the bytes that matter, which random bytes rarely hit.
fn tricky() -> impl Strategy<Value = Vec<u8>> {
    let piece =
        proptest::sample::select(&["/", ".", "..", "%2e", "%25", "%41", "a", ";", "%", "%2f"][..]);
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| {
        let mut path = b"/".to_vec();
        pieces.iter().for_each(|piece| path.extend(piece.as_bytes()));
        path
    })
}

fn is_normal(path: &[u8]) -> bool {
    path.first() == Some(&b'/')
        && !path.windows(2).any(|pair| pair == b"//")
        && !path.split(|&b| b == b'/').any(|segment| matches!(segment, b"." | b".."))
}

proptest! {
    #[test]
    fn results_are_normal_and_decoding_them_again_changes_nothing(raw in tricky()) {
        if let Ok(once) = decoded(&raw) {
            prop_assert!(is_normal(&once), "{}", once.escape_ascii());
            if !once.contains(&b'%') {
                prop_assert_eq!(decoded(&once), Ok(once));
            }
        }
    }

    #[test]
    fn plain_paths_decode_to_themselves(raw in tricky()) {
        if is_plain(&raw) {
            prop_assert_eq!(decoded(&raw), Ok(raw));
        }
    }

    #[test]
    fn decoding_undoes_encoding(raw in tricky()) {
        if let Ok(path) = decoded(&raw) {
            let mut encoded = Vec::new();
            encode(&path, &mut encoded);
            prop_assert_eq!(decoded(&encoded), Ok(path));
        }
    }

    #[test]
    fn no_input_panics(raw: Vec<u8>, merge: bool) {
        let mut out = Vec::new();
        let _ = decode(&raw, &mut out, merge);
        if is_plain(&raw) {
            prop_assert_eq!(out, raw);
        }
    }
}
