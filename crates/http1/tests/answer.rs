//! The client's end: heads of answers, what they mean, and templates learned from them. Every input
//! is also given in two pieces, cut at every place.

use http1::*;
use message::{Known, Version};

/// What is worth comparing of an answer.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    status: u16,
    reason: String,
    version: Version,
    fields: Vec<(String, String)>,
    body: Result<AnswerBody, AnswerFault>,
    keeps_alive: bool,
    len: usize,
}

fn see(answer: &AnswerHead<'_>, asked: AskedMethod) -> Seen {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let body = answer.body(asked);
    Seen {
        status: answer.status(),
        reason: text(answer.reason()),
        version: answer.version(),
        fields: answer.fields().map(|(name, value)| (text(name), text(value))).collect(),
        body,
        keeps_alive: answer.keeps_alive(body.unwrap_or(AnswerBody::None)),
        len: answer.len,
    }
}

/// The outcome, which no split may change; `None` when more is wanted.
fn outcome(input: &[u8], asked: AskedMethod) -> Result<Option<Seen>, AnswerFault> {
    let run = |ends: &[usize]| {
        let mut parser = AnswerParser::new();
        for end in ends {
            let buf = &input[..*end];
            if let HeadProgress::Complete { len } = parser.advance(buf, &HeadLimits::default())? {
                assert_eq!(parser.answer(buf).len, len);
                let seen = see(&parser.answer(buf), asked);
                let mut owned = OwnedAnswerHead::default();
                owned.set(404, [(&b"X-Before"[..], &b"1"[..])]);
                owned.copy_from(&parser.answer(buf));
                assert_eq!(owned.bytes(), &buf[..len]);
                assert_eq!(see(&owned.view(), asked), seen);
                return Ok(Some(seen));
            }
        }
        Ok(None)
    };
    let whole = run(&[input.len()]);
    for at in 0..input.len() {
        assert_eq!(run(&[at, input.len()]), whole, "split at {at}: {}", input.escape_ascii());
    }
    let every: Vec<usize> = (0..=input.len()).collect();
    assert_eq!(run(&every), whole, "byte by byte: {}", input.escape_ascii());
    whole
}

fn answer(input: &[u8]) -> Seen {
    match outcome(input, AskedMethod::Other) {
        Ok(Some(seen)) => seen,
        other => panic!("{other:?}: {}", input.escape_ascii()),
    }
}

/// `HTTP/1.1 200 OK`, the field lines, and an empty line.
fn ok_with(fields: &[&str]) -> Vec<u8> {
    let lines: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
    format!("HTTP/1.1 200 OK\r\n{lines}\r\n").into_bytes()
}

#[test]
fn status_lines_that_real_servers_send_are_read() {
    let rows: &[(&str, Version, u16, &str)] = &[
        ("HTTP/1.1 200 OK\r\n\r\n", Version::Http11, 200, "OK"),
        ("HTTP/1.0 404 Not Found\r\n\r\n", Version::Http10, 404, "Not Found"),
        ("HTTP/1.1 200 \r\n\r\n", Version::Http11, 200, ""),
        ("HTTP/1.1 200\r\n\r\n", Version::Http11, 200, ""),
        ("HTTP/1.1 200\n\n", Version::Http11, 200, ""),
        ("HTTP/1.1 500 a b  c \n\r\n", Version::Http11, 500, "a b  c"),
        ("HTTP/1.1  200  OK\r\n\r\n", Version::Http11, 200, "OK"),
        ("HTTP/1.7 999 x\r\n\r\n", Version::Http11, 999, "x"),
        ("HTTP/1.1 200 Gr\u{fc}n\r\n\r\n", Version::Http11, 200, "Gr\u{fc}n"),
    ];
    for (input, version, status, reason) in rows {
        let seen = answer(input.as_bytes());
        let got = (seen.version, seen.status, seen.reason.as_str());
        assert_eq!(got, (*version, *status, *reason), "{input:?}");
        assert_eq!(seen.len, input.len());
    }
}

#[test]
fn what_is_no_answer_is_a_fault_with_a_reason() {
    let long = format!("HTTP/1.1 200 {}\r\n", "x".repeat(9000));
    let long_field = format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(9000));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(101));
    let rows: &[(&str, AnswerFault)] = &[
        ("<", AnswerFault::NotHttp),
        ("HTTX", AnswerFault::NotHttp),
        ("ICY 200 OK\r\n\r\n", AnswerFault::NotHttp),
        ("http/1.1 200 OK\r\n\r\n", AnswerFault::NotHttp),
        ("HTTP/2 200\r\n\r\n", AnswerFault::NotHttp),
        ("HTTP/1.\r\n", AnswerFault::NotHttp),
        ("HTTP/1.1\r\n", AnswerFault::NotHttp),
        ("HTTP/1.1200 OK\r\n", AnswerFault::NotHttp),
        ("HTTP/1.10 200 OK\r\n", AnswerFault::NotHttp),
        ("\r\nHTTP/1.1 200 OK\r\n\r\n", AnswerFault::NotHttp),
        ("HTTP/1.1 20 OK\r\n", AnswerFault::BadStatus),
        ("HTTP/1.1 2000\r\n", AnswerFault::BadStatus),
        ("HTTP/1.1 099 x\r\n", AnswerFault::BadStatus),
        ("HTTP/1.1 +20 x\r\n", AnswerFault::BadStatus),
        ("HTTP/1.1 \r\n", AnswerFault::BadStatus),
        ("HTTP/1.1 200 a\rb\r\n", AnswerFault::ControlByte),
        ("HTTP/1.1 200 OK\r\nA\r\n", AnswerFault::NoColon),
        ("HTTP/1.1 200 OK\r\nA b\r\n", AnswerFault::NoColon),
        ("HTTP/1.1 200 OK\r\nA b: c\r\n", AnswerFault::BadName),
        ("HTTP/1.1 200 OK\r\n: c\r\n", AnswerFault::BadName),
        ("HTTP/1.1 200 OK\r\n\u{e9}: c\r\n", AnswerFault::BadName),
        ("HTTP/1.1 200 OK\r\n A: b\r\n", AnswerFault::NothingToFold),
        ("HTTP/1.1 200 OK\r\nA: b\0\r\n", AnswerFault::ControlByte),
        ("HTTP/1.1 200 OK\r\nA: b\r\r\n", AnswerFault::ControlByte),
        ("HTTP/1.1 200 OK\r\nA: b\r\n c\0\r\n", AnswerFault::ControlByte),
        (&long, AnswerFault::StatusLineTooLong),
        (&long_field, AnswerFault::FieldTooLong),
        (&many, AnswerFault::TooManyFields),
    ];
    for (input, fault) in rows {
        let short = &input[..input.len().min(60)];
        if input.len() < 1000 {
            assert_eq!(outcome(input.as_bytes(), AskedMethod::Other), Err(*fault), "{short:?}");
        }
        let mut parser = AnswerParser::new();
        let got = parser.advance(input.as_bytes(), &HeadLimits::default());
        assert_eq!(got, Err(*fault), "{short:?}");
        assert!(!fault.to_string().is_empty());
    }
}

#[test]
fn a_head_that_never_ends_is_given_up() {
    let limits = HeadLimits { field_bytes: usize::MAX, fields: 0, ..HeadLimits::default() };
    let mut input = b"HTTP/1.1 200 OK\r\n".to_vec();
    let mut parser = AnswerParser::new();
    while input.len() <= message::limits::ANSWER_HEAD_BYTES {
        assert_eq!(parser.advance(&input, &limits), Ok(HeadProgress::Partial));
        input.extend(b"A: 0123456789012345678901234567890123456789\r\n");
    }
    assert_eq!(parser.advance(&input, &limits), Err(AnswerFault::HeadTooLong));
    assert_eq!(AnswerParser::new().advance(&input, &limits), Err(AnswerFault::HeadTooLong));
}

#[test]
fn folded_values_are_joined_by_one_space() {
    let input = b"HTTP/1.1 200 OK\r\nA: one\r\n  two \r\n\tthree\r\nConnection: x,\n close\r\n\
        B:\r\n b\r\n \r\n\r\n";
    let seen = answer(input);
    let fields: Vec<_> = seen.fields.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    assert_eq!(fields, [("A", "one two three"), ("Connection", "x, close"), ("B", "b")]);
    assert!(!seen.keeps_alive, "the folded part counts");
}

#[test]
fn fields_are_found_by_either_name() {
    let input = ok_with(&["Set-Cookie : a", "SET-COOKIE: b", "server:\tx\t", "Date: y", "E:"]);
    let mut parser = AnswerParser::new();
    parser.advance(&input, &HeadLimits::default()).unwrap();
    let answer = parser.answer(&input);
    assert_eq!(answer.get_by_name(b"set-cookie"), Some(&b"a"[..]));
    assert_eq!(answer.get_by_name(b"Server"), Some(&b"x"[..]));
    assert_eq!(answer.get(Known::Date), Some(&b"y"[..]));
    assert_eq!(answer.get_by_name(b"e"), Some(&b""[..]));
    assert_eq!(answer.get(Known::Host), None);
    assert_eq!(
        answer.fields().filter(|field| field.0.eq_ignore_ascii_case(b"set-cookie")).count(),
        2
    );
}

#[test]
fn interim_answers_are_heads_of_their_own() {
    let input = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n";
    let mut parser = AnswerParser::new();
    let progress = parser.advance(input, &HeadLimits::default());
    let Ok(HeadProgress::Complete { len }) = progress else { panic!("{progress:?}") };
    assert!(parser.answer(input).is_interim());
    assert_eq!(parser.answer(input).body(AskedMethod::Other), Ok(AnswerBody::None));
    assert!(AnswerTemplate::learn(&parser.answer(input), AskedMethod::Other).is_none());
    parser.reset();
    let rest = &input[len..];
    parser.advance(rest, &HeadLimits::default()).unwrap();
    assert!(!parser.answer(rest).is_interim());
    assert_eq!(parser.answer(rest).fields().count(), 0, "nothing is left of the first");
    assert_eq!(answer(b"HTTP/1.1 101 Switching\r\n\r\n").body, Ok(AnswerBody::None));
}

/// RFC 9112 section 6.3, item by item.
#[test]
fn the_body_follows_the_rules_for_answers() {
    use AnswerBody::{Chunked, Length, None, UntilClose};
    let rows: &[(&str, &[&str], AskedMethod, AnswerBody)] = &[
        ("200", &["Content-Length: 5"], AskedMethod::Head, None),
        ("200", &["Transfer-Encoding: chunked"], AskedMethod::Head, None),
        ("204", &["Content-Length: 5"], AskedMethod::Other, None),
        ("304", &["Content-Length: 5"], AskedMethod::Other, None),
        ("304", &["Transfer-Encoding: chunked"], AskedMethod::Other, None),
        ("200", &["Content-Length: 5"], AskedMethod::Connect, None),
        ("407", &["Content-Length: 5"], AskedMethod::Connect, Length(5)),
        ("200", &["Transfer-Encoding: chunked"], AskedMethod::Other, Chunked),
        ("200", &["Transfer-Encoding: gzip , Chunked"], AskedMethod::Other, Chunked),
        (
            "200",
            &["Transfer-Encoding: gzip", "Transfer-Encoding: chunked"],
            AskedMethod::Other,
            Chunked,
        ),
        ("200", &["Transfer-Encoding: chunked", "Content-Length: 5"], AskedMethod::Other, Chunked),
        ("200", &["Transfer-Encoding: gzip"], AskedMethod::Other, UntilClose),
        ("200", &["Transfer-Encoding: gzip", "Content-Length: 5"], AskedMethod::Other, UntilClose),
        (
            "200",
            &["Transfer-Encoding: identity", "Content-Length: 5"],
            AskedMethod::Other,
            Length(5),
        ),
        ("200", &["Content-Length: 5"], AskedMethod::Other, Length(5)),
        ("200", &["Content-Length: 0"], AskedMethod::Other, Length(0)),
        ("200", &["Content-Length: 5, 5"], AskedMethod::Other, Length(5)),
        ("200", &["Content-Length: 5", "Content-Length: 05"], AskedMethod::Other, Length(5)),
        ("404", &[], AskedMethod::Other, UntilClose),
    ];
    for (status, fields, asked, body) in rows {
        let lines = fields.join("\r\n");
        let end = if fields.is_empty() { "\r\n" } else { "\r\n\r\n" };
        let input = format!("HTTP/1.1 {status} x\r\n{lines}{end}");
        let seen = outcome(input.as_bytes(), *asked).unwrap().unwrap();
        assert_eq!(seen.body, Ok(*body), "{input:?} {asked:?}");
    }
}

#[test]
fn lengths_that_cannot_be_are_faults() {
    let rows: &[(&[&str], AnswerFault)] = &[
        (&["Content-Length: 5, 6"], AnswerFault::ContradictoryLengths),
        (&["Content-Length: 5", "Content-Length: 6"], AnswerFault::ContradictoryLengths),
        (&["Content-Length: "], AnswerFault::BadLength),
        (&["Content-Length: -1"], AnswerFault::BadLength),
        (&["Content-Length: +1"], AnswerFault::BadLength),
        (&["Content-Length: 5,"], AnswerFault::BadLength),
        (&["Content-Length: 1\r\n 2"], AnswerFault::BadLength),
        (&["Content-Length: 9223372036854775808"], AnswerFault::BadLength),
        (&["Transfer-Encoding: chunked, gzip"], AnswerFault::BadCoding),
        (&["Transfer-Encoding: chunked, chunked"], AnswerFault::BadCoding),
    ];
    for (fields, fault) in rows {
        assert_eq!(answer(&ok_with(fields)).body, Err(*fault), "{fields:?}");
    }
    let greatest = ok_with(&["Content-Length: 9223372036854775807"]);
    assert_eq!(answer(&greatest).body, Ok(AnswerBody::Length(i64::MAX.unsigned_abs())));
}

#[test]
fn persistence_follows_version_and_connection_field() {
    let rows: &[(&str, &[&str], bool)] = &[
        ("1.1", &["Content-Length: 0"], true),
        ("1.1", &["Content-Length: 0", "Connection: Close"], false),
        ("1.1", &["Content-Length: 0", "Connection: keep-alive, close"], false),
        ("1.1", &["Content-Length: 0", "Connection: upgrade", "Connection: close"], false),
        ("1.1", &["Connection: keep-alive"], false),
        ("1.0", &["Content-Length: 0"], false),
        ("1.0", &["Content-Length: 0", "Connection: Keep-Alive"], true),
        ("1.0", &["Content-Length: 0", "Connection: Keep-Alive", "Connection: close"], false),
        ("1.0", &["Transfer-Encoding: chunked", "Connection: Keep-Alive"], false),
        ("1.1", &["Transfer-Encoding: chunked"], true),
        ("1.1", &["Transfer-Encoding: chunked", "Content-Length: 3"], false),
    ];
    for (version, fields, keeps_alive) in rows {
        let input = format!("HTTP/{version} 200 OK\r\n{}\r\n\r\n", fields.join("\r\n"));
        assert_eq!(answer(input.as_bytes()).keeps_alive, *keeps_alive, "{input:?}");
    }
}

fn learn(input: &[u8], asked: AskedMethod) -> Option<AnswerTemplate> {
    let mut parser = AnswerParser::new();
    let progress = parser.advance(input, &HeadLimits::default());
    assert!(matches!(progress, Ok(HeadProgress::Complete { .. })), "{progress:?}");
    AnswerTemplate::learn(&parser.answer(input), asked)
}

#[test]
fn a_template_matches_the_same_head_at_another_time_only() {
    let first = ok_with(&["Date: Sun, 06 Nov 1994 08:49:37 GMT", "Content-Length: 5", "A: b"]);
    let template = learn(&first, AskedMethod::Other).unwrap();
    let expect = Repeat {
        head_len: first.len(),
        status: 200,
        body: AnswerBody::Length(5),
        keeps_alive: true,
    };
    assert_eq!(template.matches(&first), Some(expect));
    let text = String::from_utf8(first.clone()).unwrap();
    let later = text.replace("Sun, 06 Nov 1994 08:49:37", "Mon, 07 Nov 1994 00:00:00");
    assert_eq!(template.matches(format!("{later}hello").as_bytes()), Some(expect));
    for other in [
        text.replace("200", "404"),
        text.replace(": 5", ": 6"),
        text.replace("A: b", "a: b"),
        text.replace("GMT\r\n", "GM\r\n\r"),
        text.replace("Sun,", "Su\r\n"),
        text.replace("Sun,", "Su\0,"),
        text.replace("Content-Length: 5", "Content-Length: 50"),
        text[..text.len() - 1].to_owned(),
        String::new(),
    ] {
        assert_eq!(template.matches(other.as_bytes()), None, "{other:?}");
    }
}

#[test]
fn a_template_without_one_usual_date_is_compared_as_a_whole() {
    for fields in [
        &["Content-Length: 5"][..],
        &["Date: yesterday", "Content-Length: 5"],
        &["Date: Sun, \u{e9} Nov 1994 08:49:37 GMT", "Content-Length: 5"],
        &["Date: Sun, 06 Nov 1994 08:49:37 GMT", "Date: Sun, 06 Nov 1994 08:49:37 GMT"],
    ] {
        let head = ok_with(fields);
        let template = learn(&head, AskedMethod::Other).unwrap();
        assert!(template.matches(&head).is_some());
        for at in 0..head.len() {
            let mut other = head.clone();
            other[at] ^= 1;
            assert_eq!(template.matches(&other), None, "byte {at}");
        }
    }
}

#[test]
fn heads_that_cannot_be_read_again_alike_are_not_learned() {
    let long = format!("A: {}", "x".repeat(8000));
    let longer = ["B: b", &long, &long];
    for fields in [
        &["A: b\r\n c"][..],
        &["Content-Length: 5", "Content-Length: 6"],
        &["Transfer-Encoding: chunked, gzip"],
        &longer,
    ] {
        assert!(learn(&ok_with(fields), AskedMethod::Other).is_none(), "{fields:?}");
    }
    let none = learn(&ok_with(&["Content-Length: 5"]), AskedMethod::Head).unwrap();
    let repeat = none.matches(&ok_with(&["Content-Length: 5"])).unwrap();
    assert_eq!(repeat.body, AnswerBody::None, "the question is part of what was learned");
}
