//! Rows of section "Field syntax", and the limits on heads.

mod common;
use common::{check, request, verdict};
use http1::{HeadLimits, HeadParser, HeadProgress};
use message::{Known, KnownSet};

fn with_fields(fields: &[u8]) -> Vec<u8> {
    [b"GET / HTTP/1.1\r\nHost: a\r\n", fields, b"\r\n"].concat()
}

#[test]
fn rows() {
    let rows: &[(&str, &[u8], Result<(), u16>)] = &[
        ("F1", b"Foo : b\r\n", Err(400)),
        ("F1", b"Foo\t: b\r\n", Err(400)),
        ("F3", b"Foo: a\r\n b\r\n", Err(400)),
        ("F3", b"Foo: a\r\n\tb\r\n", Err(400)),
        ("F4", b"Foo\r\n", Err(400)),
        ("F4", b"Foo bar\r\n", Err(400)),
        ("F4", b"Content-Length 10\r\n", Err(400)),
        ("F4", b": b\r\n", Err(400)),
        ("F5", b"F\x01o: b\r\n", Err(400)),
        ("F5", b"F\to: b\r\n", Err(400)),
        ("F5", b"F\ro: b\r\n", Err(400)),
        ("F5", b"Fo\xefo: b\r\n", Err(400)),
        ("F5", b"F(o: b\r\n", Err(400)),
        ("F6", b"Foo: a\0b\r\n", Err(400)),
        ("F7", b"Foo: a\x01b\r\n", Err(400)),
        ("F7", b"Foo: a\x7fb\r\n", Err(400)),
        ("F8", b"Foo: va\rlue\r\n", Err(400)),
        ("F8", b"Foo:\rSmuggled: x\r\n", Err(400)),
        ("F8", b"Foo: a\r\r\n", Err(400)),
        ("F9", b"Fo: b\tar\r\n", Ok(())),
        ("F9", b"Fo: \xe9\r\n", Ok(())),
        ("F10", b"Te\r\nst: x\r\n", Err(400)),
        ("F10", b"Transfer-\r\nEncoding: chunked\r\n", Err(400)),
        ("F15", b"Content-Length\x85: 10\r\n", Err(400)),
        ("own: empty value", b"Foo:\r\n", Ok(())),
    ];
    for (id, fields, expect) in rows {
        check(&[(id, &with_fields(fields), *expect)]);
    }
    check(&[
        ("F2", b"GET / HTTP/1.1\r\n Foo: b\r\nHost: a\r\n\r\n", Err(400)),
        ("F2", b"GET / HTTP/1.1\r\n\tContent-Length: 1\r\nHost: a\r\n\r\n", Err(400)),
    ]);
}

#[test]
fn every_control_byte_but_tab_is_refused_in_names_and_values() {
    for byte in (0..0x20u8).chain([0x7f]) {
        let value = [b"Foo: long enough for a word ", &[byte][..], b" more of it\r\n"].concat();
        let expect = if byte == b'\t' { Ok(()) } else { Err(400) };
        assert_eq!(verdict(&with_fields(&value)), expect, "value {byte:#x}");
        let name = [b"F", &[byte][..], b"o: b\r\n"].concat();
        assert_eq!(verdict(&with_fields(&name)), Err(400), "name {byte:#x}");
    }
}

#[test]
fn values_are_preserved_and_only_space_and_tab_are_trimmed() {
    let seen = request(&with_fields(b"A:\t b\tar \t\r\nB: \x85admin\xa0\r\nC: \xe9\r\nC:\r\n"));
    let values: Vec<&[u8]> = seen.fields[1..].iter().map(|field| &field.1[..]).collect();
    assert_eq!(values, [&b"b\tar"[..], b"\x85admin\xa0", b"\xe9", b""]);
}

#[test]
fn f11_number_of_fields() {
    let fields = |count: usize| with_fields(&b"a: b\r\n".repeat(count - 1));
    assert_eq!(verdict(&fields(100)), Ok(()));
    assert_eq!(verdict(&fields(101)), Err(400));
    // The 101st line is refused before it is complete.
    let mut cut = fields(100);
    cut.truncate(cut.len() - 2);
    cut.push(b'a');
    assert_eq!(verdict(&cut), Err(400));
}

/// Sizes measured on httpd: the limit and one byte more pass.
#[test]
fn f12_length_of_lines() {
    let field =
        |bytes: usize| with_fields(&[b"a: ", &b"x".repeat(bytes - 3)[..], b"\r\n"].concat());
    let line = |bytes: usize| {
        let path = b"x".repeat(bytes - "GET / HTTP/1.0".len());
        [b"GET /", &path[..], b" HTTP/1.0\r\n\r\n"].concat()
    };
    for (id, input, expect) in [
        ("field", field(8191), Ok(())),
        ("F12", field(8192), Err(400)),
        ("line", line(8191), Ok(())),
        ("own", line(8192), Err(414)),
    ] {
        assert_eq!(advance_in_steps(&input, 1), expect, "{id} byte by byte");
        assert_eq!(advance_in_steps(&input, 1000), expect, "{id}");
        assert_eq!(advance_in_steps(&input, input.len()), expect, "{id} whole");
    }
}

/// Sizes measured on httpd: the values of a name, joined by `, `, may be as long as the limit.
#[test]
fn f12_length_of_fields_of_one_name() {
    let fields = |names: [&[u8]; 3], last: usize| {
        let mut lines = Vec::new();
        for (name, len) in names.iter().zip([4000, 100, last]) {
            lines.extend([name, &b": "[..], &b"x".repeat(len), b"\r\n"].concat());
        }
        with_fields(&lines)
    };
    for (id, names, last, expect) in [
        ("two of three", [b"a", b"b", b"A"], 4188, Ok(())),
        ("two of three", [b"a", b"b", b"A"], 4189, Err(400)),
        ("three", [b"a", b"A", b"a"], 4086, Ok(())),
        ("three", [b"a", b"A", b"a"], 4087, Err(400)),
        ("none of three", [b"a", b"b", b"c"], 8180, Ok(())),
    ] {
        let input = fields(names.map(|name| &name[..]), last);
        assert_eq!(advance_in_steps(&input, 999), expect, "{id}, {last} bytes");
        assert_eq!(advance_in_steps(&input, input.len()), expect, "{id}, {last} bytes, whole");
    }
}

#[test]
fn lines_over_their_limit_are_refused_without_their_end() {
    assert_eq!(advance_in_steps(&b"G".repeat(8192), 100), Err(414));
    assert_eq!(advance_in_steps(&with_fields(b"")[..25], 100), Err(0));
    let field = [b"GET / HTTP/1.0\r\na: ", &b"x".repeat(8192)[..]].concat();
    assert_eq!(advance_in_steps(&field, 100), Err(400));
    // Length is judged first, so a fault early in the line changes nothing.
    let both = [b"GET\t", &b"x".repeat(9000)[..], b"\r\n"].concat();
    assert_eq!(advance_in_steps(&both, 1), Err(414));
    assert_eq!(advance_in_steps(&both, both.len()), Err(414));
}

/// `Err(0)` stands for incomplete.
fn advance_in_steps(input: &[u8], step: usize) -> Result<(), u16> {
    let mut parser = HeadParser::new();
    let mut end = 0;
    while end < input.len() {
        end = input.len().min(end + step);
        match parser.advance(&input[..end], &HeadLimits::default()) {
            Ok(HeadProgress::Partial) => {}
            Ok(HeadProgress::Complete { len }) => {
                assert_eq!(len, input.len());
                return Ok(());
            }
            Err(refusal) => return Err(refusal.status.code()),
        }
    }
    Err(0)
}

#[test]
fn lookups() {
    let input = with_fields(b"COOKIE: a\r\nX-Own: 1\r\ncookie: b\r\nx-own: 2\r\nAge: 3\r\n");
    let mut parser = HeadParser::new();
    parser.advance(&input, &HeadLimits::default()).unwrap();
    let request = parser.request(&input);
    assert_eq!(request.get(Known::Cookie), Some(&b"a"[..]));
    assert_eq!(request.get_all(Known::Cookie).collect::<Vec<_>>(), [b"a", b"b"]);
    assert!(request.duplicated(Known::Cookie) && !request.duplicated(Known::Host));
    assert!(request.has(Known::Host) && !request.has(Known::Range));
    assert_eq!(request.get(Known::Range), None);
    assert_eq!(request.get_all(Known::Range).count(), 0);
    assert_eq!(request.get_name(b"X-OWN"), Some(&b"1"[..]));
    assert_eq!(request.get_name(b"cookie"), Some(&b"a"[..]));
    assert_eq!(request.get_name(b"nothing"), None);
    assert!(request.seen().intersects(KnownSet::of(&[Known::Range, Known::Cookie])));
    assert!(!request.seen().intersects(KnownSet::of(&[Known::Range, Known::IfRange])));
    assert_eq!(request.field_count(), 6);
}

#[test]
fn a_reset_parser_forgets_the_last_request() {
    let mut parser = HeadParser::new();
    let first = with_fields(b"Range: x\r\nRange: y\r\n");
    parser.advance(&first, &HeadLimits::default()).unwrap();
    assert!(parser.request(&first).duplicated(Known::Range));
    parser.reset();
    assert!(parser.is_blank());
    let second = with_fields(b"");
    let progress = parser.advance(&second, &HeadLimits::default());
    assert_eq!(progress, Ok(HeadProgress::Complete { len: second.len() }));
    let request = parser.request(&second);
    assert!(!request.has(Known::Range) && request.field_count() == 1);
    // A head that was taken out stays whole.
    let head = parser.take();
    parser.reset();
    parser.advance(&first, &HeadLimits::default()).unwrap();
    assert_eq!(head.view(&second).get(Known::Host), Some(&b"a"[..]));
    parser.reuse(head);
    assert!(!parser.head().view(&second).has(Known::Host));
}
