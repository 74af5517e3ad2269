//! What programs answer, and what becomes of it. The rows are what Apache 2.4.71 does with a CGI
//! script that prints them, measured, but for those under a heading that says otherwise.

use fastcgi::*;
use message::limits;

/// What the answer begins with, as far as the program has a say in it: the status line, then the
/// fields in httpd's order.
fn answer(output: &[u8]) -> Result<String, ScriptFault> {
    let Complete { head, .. } = parse(output)?;
    let line = head.status.as_ref().map(|status| status.line().into_owned());
    let mut text = line.unwrap_or(b"200 OK".to_vec());
    let content_type = head.content_type.map(|value| (b"Content-Type".to_vec(), value));
    for (name, value) in head.lasting.iter().chain(&head.fields).chain(&content_type) {
        text.extend([b" / ", &name[..], b": ", value].concat());
    }
    Ok(text.escape_ascii().to_string())
}

/// The head, which no split may change.
fn parse(output: &[u8]) -> Result<Complete, ScriptFault> {
    let whole = in_pieces(output, output.len().max(1));
    for size in [1, 2, 3, 7] {
        assert_eq!(in_pieces(output, size), whole, "{size}: {}", output.escape_ascii());
    }
    whole
}

fn in_pieces(output: &[u8], size: usize) -> Result<Complete, ScriptFault> {
    let (mut parser, mut before) = (ScriptHeadParser::new(), 0);
    for piece in output.chunks(size) {
        if let Some(Complete { head, used }) = parser.advance(piece)? {
            return Ok(Complete { head, used: before + used });
        }
        before += piece.len();
    }
    Err(parser.end_of_output())
}

fn with_body(head: &str) -> Vec<u8> {
    // Bytes above 0x7f stand for themselves, not for UTF-8.
    let bytes = head.chars().map(|c| c as u8);
    bytes.chain(*b"\nbody\n").collect()
}

/// Rows of what stands before the empty line, and of what is sent.
fn check_answers(rows: &[(&str, &str)]) {
    for (head, wanted) in rows {
        assert_eq!(answer(&with_body(head)).as_deref(), Ok(*wanted), "{head:?}");
    }
}

/// Rows of what stands before the empty line, and of status and message.
fn check_faults(rows: &[(&str, u16, Option<u32>, &str)]) {
    for (head, status, id, message) in rows {
        let fault = parse(&with_body(head)).expect_err(head);
        assert_eq!((fault.status().code(), fault.id()), (*status, *id), "{head:?}");
        let text = fault.message(b"s.cgi").escape_ascii().to_string();
        assert_eq!(text.replace("\\'", "'"), *message, "{head:?}");
    }
}

#[test]
fn lines_may_end_in_any_number_of_cr() {
    check_answers(&[
        ("Content-Type: text/plain\n", "200 OK / Content-Type: text/plain"),
        ("X: 1\r\nY: 2\r\n\r", "200 OK / X: 1 / Y: 2"),
        ("X: 1\r\nY: 2\n", "200 OK / X: 1 / Y: 2"),
        ("X: a\r\r\n\r", "200 OK / X: a"),
        ("X: a\n\r\r\r\n", "200 OK / X: a"),
    ]);
}

#[test]
fn the_body_begins_behind_the_first_empty_line() {
    let rows: &[(&[u8], &[u8])] = &[
        (b"X: 1\n\nbody", b"body"),
        (b"X: 1\r\n\r\nbody\r\n", b"body\r\n"),
        (b"X: 1\n\n\rbody", b"\rbody"),
        (b"X: 1\n\r\r\r\n\nbody", b"\nbody"),
        (b"\nbody", b"body"),
        (b"\n", b""),
        (b"X: 1\n\n\n", b"\n"),
    ];
    for (output, body) in rows {
        let used = parse(output).map(|complete| complete.used);
        assert_eq!(used, Ok(output.len() - body.len()), "{}", output.escape_ascii());
    }
}

#[test]
fn output_that_ends_too_early_is_named_by_how_much_there_was() {
    let rows: &[(&[u8], &str)] = &[
        (b"", "End of script output before headers: s.cgi"),
        (b"X: 1", "End of script output before headers: s.cgi"),
        (b"Hello world", "End of script output before headers: s.cgi"),
        (b"X: a\r\r", "End of script output before headers: s.cgi"),
        (b"X: 1\n", "Premature end of script headers: s.cgi"),
        (b"X: 1\nY: 2", "Premature end of script headers: s.cgi"),
    ];
    for (output, message) in rows {
        let fault = parse(output).unwrap_err();
        assert_eq!(fault.status().code(), 500);
        assert_eq!(fault.message(b"s.cgi"), message.as_bytes(), "{}", output.escape_ascii());
    }
    let late = ScriptFault::TimedOut;
    let message = "Script timed out before returning headers: s.cgi";
    assert_eq!((late.status().code(), late.message(b"s.cgi")), (504, message.into()));
}

#[test]
fn lines_without_a_colon_are_quoted() {
    let message = |line: &str| format!("malformed header from script 's.cgi': Bad header: {line}");
    for (head, quoted) in [
        ("Hello world\n", "Hello world"),
        ("HTTP/1.0 200 OK\nContent-Type: text/plain\n", "HTTP/1.0 200 OK"),
        (
            "X: 1\nno colon here and this one is a rather long line\n",
            "no colon here and this one is ",
        ),
        ("X: a\n b\n", " b"),
        // What is wrong with the name before it would only be seen when it is sent.
        ("X@: 1\nno colon\n", "no colon"),
    ] {
        check_faults(&[(head, 500, None, &message(quoted))]);
    }
}

#[test]
fn names_are_tokens() {
    let message = |name: &str| {
        format!("Response header name '{name}' contains invalid characters, aborting request")
    };
    for (head, name) in [
        ("X Y: a\n", "X Y"),
        ("X : a\n", "X "),
        (" X: a\n", " X"),
        ("X: a\n b: c\n", " b"),
        ("X@: a\n", "X@"),
        ("X\u{e9}: a\n", "X\\xe9"),
        ("Status : 404 Foo\n", "Status "),
    ] {
        check_faults(&[(head, 500, Some(2429), &message(name))]);
    }
    let message = "Empty response header name, aborting request";
    check_faults(&[(": a\n", 500, Some(2428), message)]);
}

/// httpd says 500 where this says 502, with the same words.
#[test]
fn control_bytes_in_fields_are_refused() {
    let message = |name: &str, value: &str| {
        format!(
            "Response header '{name}' value of '{value}' contains invalid characters, \
             aborting request"
        )
    };
    for (head, name, value) in [
        ("X: a\x01b\n", "X", "a\\x01b"),
        ("X: a\x7fb\n", "X", "a\\x7fb"),
        ("Content-Type: a\x01b\n", "Content-Type", "a\\x01b"),
        ("Location: http://a/\x01\n", "Location", "http://a/\\x01"),
        ("Set-Cookie: a=\x01\n", "Set-Cookie", "a=\\x01"),
        ("Connection: a\x1bb\n", "Connection", "a\\x1bb"),
    ] {
        check_faults(&[(head, 502, Some(2430), &message(name, value))]);
    }
    let message = "Response header name 'X\\x01' contains invalid characters, aborting request";
    check_faults(&[("X\x01: a\n", 502, Some(2429), message)]);
}

/// httpd cuts the line there, or even ends the head.
#[test]
fn nul_is_refused() {
    let message = "NUL within the headers of script: s.cgi";
    for head in ["\0X: a\n", "X\0Y: a\n", "X: a\0b\n", "X: a\n\0\nY: b\n", "X: a\n\0Y: b\n"] {
        check_faults(&[(head, 502, None, message)]);
    }
}

/// httpd leaves it out, and so makes one field of two.
#[test]
fn cr_within_a_line_is_refused() {
    for (head, line) in [
        ("X: a\rb\n", "X: a"),
        ("X\rY: a\n", "X"),
        ("\rX: a\n", ""),
        ("X: 1\nY: a\r\r b\n", "Y: a"),
        ("X: a\rSet-Cookie: b=c\n", "X: a"),
        ("X: a\rY: b\r\rbody", "X: a"),
    ] {
        let message = format!("malformed header from script 's.cgi': CR behind: {line}");
        check_faults(&[(head, 502, None, &message)]);
    }
}

#[test]
fn values_lose_the_blanks_before_them_only() {
    check_answers(&[
        ("X: a\tb\n", "200 OK / X: a\\tb"),
        ("X: a\u{e9}\n", "200 OK / X: a\\xe9"),
        ("X: \x0b\x0ca\n", "200 OK / X: a"),
        ("X: a  \t\n", "200 OK / X: a  \\t"),
        ("X:\n", "200 OK / X: "),
        ("X:   \n", "200 OK / X: "),
        ("X::a:b\n", "200 OK / X: :a:b"),
    ]);
}

#[test]
fn types_are_in_lower_case_and_without_blanks_behind() {
    check_answers(&[
        (
            "Content-Type: Text/PLAIN; Charset=UTF-8 \t \n",
            "200 OK / Content-Type: text/plain; Charset=UTF-8",
        ),
        ("Content-Type: TEXT/html ; Charset=X\n", "200 OK / Content-Type: text/html ; Charset=X"),
        ("Content-Type: text/plain\nContent-Type: text/html\n", "200 OK / Content-Type: text/html"),
        ("Content-Type:\n", "200 OK"),
        ("Content-Type:   \n", "200 OK"),
    ]);
}

#[test]
fn a_status_has_the_words_of_the_program_if_they_can_be_sent() {
    check_answers(&[
        ("Status: 200\n", "200 OK"),
        ("Status: 404 Nothing Here\n", "404 Nothing Here"),
        ("sTaTus: 404 lower\n", "404 lower"),
        ("Status:404 Foo\n", "404 Foo"),
        ("Status: \t 404 Foo\n", "404 Foo"),
        ("Status: 404  Two\n", "404  Two"),
        ("Status: 404 \n", "404 "),
        ("Status: 404 caf\u{e9}\n", "404 caf\\xe9"),
        ("Status: 299 Custom\n", "299 Custom"),
        ("Status: 299\n", "299 "),
        ("Status: 418\n", "418 "),
        ("Status: 418 I am\n", "418 I am"),
        ("Status: 599 Hi\n", "599 Hi"),
        // Not said in a way that can be sent.
        ("Status: 404 a\x01b\n", "404 Not Found"),
        ("Status: 404 a\x7fb\n", "404 Not Found"),
        ("Status: 404\tTab\n", "404 Not Found"),
        ("Status: 404\x0bVT\n", "404 Not Found"),
        ("Status: 404x\n", "404 Not Found"),
        ("Status: 404.5 foo\n", "404 Not Found"),
        ("Status: 0404 foo\n", "404 Not Found"),
        ("Status: +404 x\n", "404 Not Found"),
        ("Status: 299x\n", "500 Internal Server Error"),
        ("Status: 299.5 Foo\n", "500 Internal Server Error"),
        // The last one counts.
        ("Status: 404 A\nStatus: 201 B\n", "201 B"),
        ("Status: 204\n", "204 No Content"),
        ("Status: 304\nX: 1\n", "304 Not Modified / X: 1"),
        ("Status: 401 No\nWWW-Authenticate: Basic\n", "401 No / WWW-Authenticate: Basic"),
    ]);
}

/// httpd sends 500 with its own words, and the body of the script.
#[test]
fn a_status_that_no_status_line_can_show_is_refused() {
    for value in [
        "99",
        "99 Low",
        "1000 Hi",
        "0",
        "abc",
        "-5",
        "-200",
        "99999999999999999999 x",
        "",
        // httpd takes it modulo 2^32, and answers 200.
        "4294967496 x",
    ] {
        let head = format!("Status: 200 OK\nStatus: {value}\n");
        let message = format!("Invalid status line from script 's.cgi': {value}");
        check_faults(&[(&head, 502, None, &message)]);
    }
}

#[test]
fn a_status_that_httpd_does_not_know_is_said() {
    for (value, line) in
        [("600 Hi", "600 Hi"), ("600x", "500 Internal Server Error"), ("999 Hi", "999 Hi")]
    {
        let head = format!("Status: {value}\n");
        check_answers(&[(&head, line)]);
        let Complete { head, .. } = parse(&with_body(&head)).unwrap();
        assert_eq!(head.invalid_statuses, [value.as_bytes().to_vec()], "{value}");
        assert!(head.status().code() >= 500, "{value}");
    }
    let Complete { head, .. } = parse(&with_body("Status: abc\nStatus: 201 B\n")).unwrap();
    assert_eq!((head.status().code(), head.invalid_statuses), (201, vec![b"abc".to_vec()]));
}

/// httpd sends these as they are, and then a body that no client expects.
#[test]
fn an_informational_status_is_no_answer() {
    for code in [100, 101, 103, 199] {
        let head = format!("Status: {code} Continue\n");
        let message = format!("status {code} is not an answer's, from script: s.cgi");
        check_faults(&[(&head, 502, None, &message)]);
    }
}

#[test]
fn a_location_without_a_status_is_a_redirect() {
    let local = |path| Some(ScriptRedirect::Local(path));
    let client = |url| Some(ScriptRedirect::Client(url));
    let rows: &[(&str, Option<ScriptRedirect<'_>>)] = &[
        ("Location: http://example.com/\n", client(b"http://example.com/")),
        ("Location: /t.txt\n", local(b"/t.txt")),
        ("Location: t.txt\n", client(b"t.txt")),
        ("Location: //example.com/\n", local(b"//example.com/")),
        ("Location:\n", client(b"")),
        ("Location: http://a/\nLocation: http://b/\n", client(b"http://b/")),
        ("Status: 200 OK\nLocation: /t.txt\n", local(b"/t.txt")),
        ("Status: 302 F\nLocation: /t.txt\n", None),
        ("Status: 201 Made\nLocation: /t.txt\n", None),
        ("Status: 500\nLocation: http://a/\n", None),
        ("X: 1\n", None),
    ];
    for (head, wanted) in rows {
        let complete = parse(&with_body(head)).unwrap();
        assert_eq!(complete.head.redirect(), *wanted, "{head}");
    }
}

#[test]
fn fields_of_one_name_are_one_but_for_cookies() {
    check_answers(&[
        ("X-A: 1\nX-B: 2\nx-a: 3\n", "200 OK / X-A: 1, 3 / X-B: 2"),
        ("x-a: 1\nX-A: 2\n", "200 OK / x-a: 1, 2"),
        ("ETag: \"a\"\netag: \"b\"\n", "200 OK / ETag: \\\"b\\\""),
        ("Content-Range: a\nContent-Range: b\n", "200 OK / Content-Range: b"),
        (
            "Set-Cookie: a=1\nSet-Cookie: b=2\nset-cookie: c=3\n",
            "200 OK / Set-Cookie: a=1 / Set-Cookie: b=2 / set-cookie: c=3",
        ),
        (
            "X-A: 1\nETag: e\nX-B: 2\nLocation: http://x/\nSet-Cookie: c\nContent-Type: a/b\n\
             Status: 201 X\nContent-Range: r\nX-C: 3\n",
            "201 X / X-A: 1 / X-B: 2 / X-C: 3 / Set-Cookie: c / ETag: e / Location: http://x/ / \
             Content-Range: r / Content-Type: a/b",
        ),
    ]);
}

#[test]
fn framing_is_not_the_programs() {
    let head = |text: &str| parse(&with_body(text)).unwrap().head;
    for coding in ["chunked", "x", "gzip", "\x01"] {
        let head = head(&format!("transfer-ENCODING: {coding}\nX: 1\n"));
        assert!(head.has_transfer_encoding, "{coding}");
        assert_eq!(head.lasting, [(b"X".to_vec(), b"1".to_vec())]);
    }
    let rows = [("2", Some(2)), (" 2 ", Some(2)), ("abc", None), ("-1", None), ("", None)];
    let more = [("5\x01", None), ("+5", None), ("99999999999999999999", None)];
    for (length, wanted) in rows.into_iter().chain(more) {
        let head = head(&format!("Content-Length: {length}\n"));
        assert_eq!(head.content_length, wanted, "{length}");
        assert!(head.lasting.is_empty() && head.fields.is_empty());
    }
    assert_eq!(head("Content-Length: 1\nContent-Length: 2\n").content_length, Some(2));
}

/// httpd passes these on.
#[test]
fn fields_about_the_connection_stand_apart() {
    let text = "Connection: close\nKeep-Alive: x\nUpgrade: y\nTrailer: z\nTE: t\nX: 1\n\
                Proxy-Connection: p\n";
    let head = parse(&with_body(text)).unwrap().head;
    let names: Vec<_> =
        head.hop_by_hop.iter().map(|field| field.0.escape_ascii().to_string()).collect();
    assert_eq!(names, ["Connection", "Keep-Alive", "Upgrade", "Trailer", "TE", "Proxy-Connection"]);
    assert_eq!(head.lasting, [(b"X".to_vec(), b"1".to_vec())]);
}

#[test]
fn a_script_may_ask_for_the_end_of_the_connection() {
    for (text, wanted) in [
        ("Connection: close\n", true),
        ("connection: X, Close\n", true),
        ("Connection: keep-alive\nConnection: close\n", true),
        ("Connection: closed\nUpgrade: close\n", false),
    ] {
        let head = parse(&with_body(text)).unwrap().head;
        assert_eq!(head.closes(), wanted, "{text}");
    }
}

#[test]
fn dates_are_kept_for_whoever_has_a_clock() {
    let text = "Last-Modified: yesterday\nLast-Modified: Thu, 01 Jan 2015 00:00:00 GMT\n";
    let head = parse(&with_body(text)).unwrap().head;
    let wanted = ["yesterday", "Thu, 01 Jan 2015 00:00:00 GMT"];
    assert_eq!(head.last_modified, wanted.map(|date| date.as_bytes().to_vec()));
    assert!(head.lasting.is_empty() && head.fields.is_empty());
}

#[test]
fn a_line_is_as_long_as_with_httpd() {
    let line = |bytes: usize, end: &str| format!("X: {}{end}", "a".repeat(bytes - 3));
    for end in ["\n", "\r\n", "\r\r\r\n"] {
        assert!(parse(&with_body(&line(8189, end))).is_ok());
        let message = "End of script output before headers: s.cgi";
        check_faults(&[(&line(8190, end), 500, None, message)]);
        let message = "Premature end of script headers: s.cgi";
        check_faults(&[(&format!("Y: 1\n{}", line(9000, end)), 500, None, message)]);
    }
}

/// httpd has no such bounds.
#[test]
fn a_head_has_bounds() {
    // Few lines, so that only one bound is reached.
    let wide = |bytes: usize| {
        let mut head = [b"X:", &[b'x'; 1000][..], b"\n"].concat().repeat(60);
        let left = bytes - head.len() - 4;
        head.extend([b"Y:", &vec![b'y'; left][..], b"\n\n"].concat());
        head
    };
    let most = limits::SCRIPT_HEAD_BYTES;
    assert_eq!(parse(&wide(most)).map(|complete| complete.used), Ok(most));
    assert_eq!(parse(&wide(most + 1)), Err(ScriptFault::TooLong));
    assert_eq!(ScriptFault::TooLong.status().code(), 502);
    let lines = |count: usize| [&b"X: 1\n".repeat(count)[..], b"\n"].concat();
    assert!(parse(&lines(limits::SCRIPT_HEAD_LINES)).is_ok());
    assert_eq!(parse(&lines(limits::SCRIPT_HEAD_LINES + 1)), Err(ScriptFault::TooManyLines));
    assert_eq!(ScriptFault::TooManyLines.status().code(), 502);
}

#[test]
fn an_endless_head_is_given_up_at_its_bound() {
    let endless: [&[u8]; 4] =
        [b"X: 1\n", b"\r", b"x", b"X-Long: 0123456789012345678901234567890\n"];
    for piece in endless {
        let (mut parser, mut sent) = (ScriptHeadParser::new(), 0);
        while parser.advance(piece).is_ok() {
            sent += piece.len();
            assert!(sent <= limits::SCRIPT_HEAD_BYTES, "{}", piece.escape_ascii());
        }
    }
}
