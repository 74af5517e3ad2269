//! Files and what Apache 2.4.71 made of them.

use super::*;

fn read(text: &str) -> Head {
    parse(text.as_bytes(), text.len())
}

fn shown(fields: &[Field]) -> String {
    let show = |field: &Field| {
        format!("{}: {}", String::from_utf8_lossy(&field.0), String::from_utf8_lossy(&field.1))
    };
    fields.iter().map(show).collect::<Vec<_>>().join(" | ")
}

#[test]
fn fields_come_before_the_body() {
    let text = "Content-Type: Text/HTML; Charset=X\r\nX-A: 1\nX-B:  two \nx-a: 3\n\
                Set-Cookie: a=1\nSet-Cookie: b=2\nETag: \"foo\"\nETag: \"bar\"\n\
                Last-Modified: Tue, 01 Jan 2019 00:00:00 GMT\n\nbody\n";
    let head = read(text);
    assert_eq!(head.content_type.as_deref(), Some(&b"text/html; Charset=X"[..]));
    assert_eq!(shown(&head.lasting), "X-A: 1, 3 | X-B: two  | Set-Cookie: a=1 | Set-Cookie: b=2");
    assert_eq!(shown(&head.fields), "ETag: \"bar\" | Last-Modified: ");
    let date = head.last_modified.map(httpdate::fmt_http_date);
    assert_eq!(date.as_deref(), Some("Tue, 01 Jan 2019 00:00:00 GMT"));
    assert_eq!((&text[head.body..], head.flaws.len()), ("body\n", 0));
}

#[test]
fn a_status_is_sent_as_it_stands_if_it_can_be() {
    for (value, code, line) in [
        ("404 Gone Fishing", 404, "404 Gone Fishing"),
        ("999 Foo", 999, "999 Foo"),
        ("203 -x", 203, "203 -x"),
        ("203 ", 203, "203 "),
        ("203", 203, "203 Non-Authoritative Information"),
        ("203ab", 203, "203 Non-Authoritative Information"),
        ("203\tab", 203, "203 Non-Authoritative Information"),
        ("+203 x", 203, "203 Non-Authoritative Information"),
        ("299", 299, "299 "),
        ("1203 x", 1203, "500 Internal Server Error"),
        ("099 x", 99, "500 Internal Server Error"),
        ("-5 x", -5, "500 Internal Server Error"),
        ("abc", 0, "500 Internal Server Error"),
        ("99999999999999 x", i32::MAX, "500 Internal Server Error"),
    ] {
        let head = read(&format!("Status: {value}\n\n"));
        let status = head.status.unwrap();
        assert_eq!((status.code, &*status.line()), (code, line.as_bytes()), "{value}");
        let is_bad = !(100..600).contains(&code);
        assert_eq!(head.flaws.len(), usize::from(is_bad), "{value}");
    }
}

#[test]
fn local_locations_are_followed_unless_the_status_is_an_error() {
    for (text, expected) in [
        ("Location: /as/st.asis\n\n", Some("/as/st.asis")),
        ("Status: 301 Moved\nLocation: /a\n\n", Some("/a")),
        ("Status: 404 No\nLocation: /a\n\n", None),
        ("Status: 201 Created\nLocation: /a\n\n", None),
        ("Location: http://foo.example/\n\n", None),
        ("Location: /a\nlocation: b\n\n", None),
        ("X: /a\n\n", None),
    ] {
        let head = read(text);
        assert_eq!(head.internal_redirect(), expected.map(str::as_bytes), "{text}");
    }
}

#[test]
fn what_is_broken_has_no_body() {
    for (text, expected) in [
        ("", Flaw::NoEnd { is_begun: false }),
        ("X-A: 1\nContent-Type: a/b\n", Flaw::NoEnd { is_begun: true }),
        ("X-A: 1\nContent-Type: a/b\nnope\n\nbody\n", Flaw::NoColon),
        ("X-A: 1\nContent-Type: a/b", Flaw::NoEnd { is_begun: true }),
    ] {
        let head = read(text);
        assert_eq!((head.body, head.flaws.as_slice()), (text.len(), &[expected][..]), "{text}");
        assert_eq!(head.content_type.is_some(), !text.is_empty());
        assert!(head.lasting.is_empty());
    }
    let head = read("Last-Modified: garbage\n\nbody");
    assert_eq!(head.flaws, [Flaw::BadDate(b"garbage".to_vec())]);
    assert_eq!((head.last_modified, head.body), (None, 24));
}

#[test]
fn hostile_files_have_an_end() {
    let long = ["X: ", &"a".repeat(3 * HEAD_BYTES_MAX)].concat();
    assert_eq!(read(&long).flaws, [Flaw::NoColon]);
    let many = "X:a\n".repeat(HEAD_BYTES_MAX);
    let head = read(&many);
    assert_eq!((head.flaws.len(), head.body), (1, many.len()));
    let text = b"Status: 200 OK\r\nLast-Modified: x\nLocation:\n\0\n\nbody";
    for at in 0..text.len() {
        for byte in [0, b'\n', b'\r', b':', 0xff] {
            let mut changed = text.to_vec();
            changed[at] = byte;
            assert!(parse(&changed, changed.len()).body <= changed.len());
        }
    }
}
