//! Raw cases of field syntax (RFC 9112 section 5), one test per row, all variants.

use blackbox::cases::split_everywhere;
use blackbox::{Mpm, Site, accepts, each_mpm, field, plain_site, refuses};

/// `GET /` with Host, then these bytes, then the empty line.
fn raw_field(bytes: &[u8]) -> Vec<u8> {
    [b"GET / HTTP/1.1\r\nHost: a\r\n", bytes, b"\r\n\r\n"].concat()
}

/// So many fields after Host.
fn many_fields(count: usize) -> Vec<u8> {
    let fields: String = (0..count).map(|number| format!("X-{number}: y\r\n")).collect();
    format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n").into_bytes()
}

fn f01_whitespace_before_the_colon_is_400(mpm: Mpm) {
    refuses(mpm, 400, &[field("Foo : b"), field("Foo\t: b"), field("Content-Length : 0")]);
}

fn f02_whitespace_before_the_first_name_is_400(mpm: Mpm) {
    refuses(
        mpm,
        400,
        &[
            "GET / HTTP/1.1\r\n Foo: b\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\n\tContent-Length: 1\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
        ],
    );
}

fn f03_a_folded_line_is_400(mpm: Mpm) {
    refuses(mpm, 400, &[field("Foo: a\r\n b"), field("Foo: a\r\n\tb"), field("Foo: a\r\n ")]);
}

fn f04_a_line_without_a_colon_is_400(mpm: Mpm) {
    refuses(mpm, 400, &[field("Foo"), field("Foo bar"), field("Content-Length 10"), field(": b")]);
}

fn f05_a_name_that_is_no_token_is_400(mpm: Mpm) {
    let names: [&[u8]; 8] = [
        b"F\x01o: b",
        b"F\to: b",
        b"F\ro: b",
        b"Fo\xefo: b",
        b"F(o: b",
        b"F\0o: b",
        b"F\x7fo: b",
        b"F\"o: b",
    ];
    refuses(mpm, 400, &names.map(raw_field));
}

fn f06_nul_in_a_value_is_400(mpm: Mpm) {
    refuses(mpm, 400, &[field("Foo: a\0b"), field("Foo: \0"), field("Foo: a\0")]);
}

fn f07_a_control_in_a_value_is_400(mpm: Mpm) {
    refuses(mpm, 400, &[field("Foo: a\x01b"), field("Foo: a\x7fb"), field("Foo: \x1b[31m")]);
}

fn f08_a_bare_cr_in_a_value_is_400(mpm: Mpm) {
    refuses(
        mpm,
        400,
        &[
            field("Foo: va\rlue"),
            field("Foo:/\rSmuggled: x"),
            field("Foo: a\r"),
            field("Foo: \r\ra"),
        ],
    );
}

fn f09_tab_and_bytes_above_ascii_are_kept(mpm: Mpm) {
    let values: [&[u8]; 2] = [b"Fo: b\tar", b"Fo: caf\xe9"];
    accepts(mpm, &values.map(raw_field));
    let server = Site::new(mpm).file("index.html", "x").access_log("\"%{Fo}i\"").start();
    server.exchange(raw_field(values[0]));
    server.wait_log(1);
    server.exchange(raw_field(values[1]));
    assert_eq!(server.wait_log(2), [r"b\tar", r"caf\xe9"]);
}

fn f10_a_line_break_inside_a_name_is_400(mpm: Mpm) {
    refuses(mpm, 400, &[field("Te\r\nst: x"), field("Transfer-\r\nEncoding: chunked")]);
}

fn f11_more_than_100_fields_are_400(mpm: Mpm) {
    accepts(mpm, &[many_fields(99)]);
    refuses(mpm, 400, &[many_fields(100), many_fields(300)]);
}

fn f11_the_number_of_fields_can_be_configured(mpm: Mpm) {
    let server = plain_site(mpm).directive("LimitRequestFields 5").start();
    assert_eq!(server.exchange(many_fields(4)).status, 200);
    assert_eq!(server.exchange(many_fields(5)).status, 400);
}

fn f12_a_field_over_the_limit_is_400(mpm: Mpm) {
    accepts(mpm, &[field(&format!("Foo: {}", "x".repeat(8000)))]);
    refuses(
        mpm,
        400,
        &[
            field(&format!("Foo: {}", "x".repeat(8300))),
            field(&format!("{}: x", "x".repeat(8300))),
            format!("GET / HTTP/1.1\r\nHost: a\r\nFoo: {}", "x".repeat(200_000)).into_bytes(),
        ],
    );
}

fn f13_connection_cannot_take_content_length_away(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let mut client = server.connect();
    client.send(
        "POST /a.txt HTTP/1.1\r\nHost: a\r\nConnection: Content-Length, keep-alive\r\n\
         Content-Length: 5\r\n\r\nhelloGET /006/x.css HTTP/1.1\r\nHost: a\r\n\r\n",
    );
    assert_eq!(client.response().text(), "0123456789abcdefghij");
    assert_eq!(client.response().text(), "p { color: red }\n");
    accepts(
        mpm,
        &["POST / HTTP/1.1\r\nHost: a\r\nConnection: close, Content-Length\r\n\
           Content-Length: 5\r\n\r\nhello"],
    );
}

fn f14_close_on_the_first_of_two_gives_one_response(mpm: Mpm) {
    let server = plain_site(mpm).start();
    for option in ["close", "Close", "foo, close", "keep-alive, close"] {
        let mut client = server.connect();
        client.send(format!(
            "GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: {option}\r\n\r\n\
             GET /006/x.css HTTP/1.1\r\nHost: a\r\n\r\n"
        ));
        let response = client.response();
        assert_eq!(response.text(), "0123456789abcdefghij");
        assert!(response.says_close(), "{response:?}");
        client.assert_closed();
    }
    assert_eq!(server.wait_log(4).len(), 4);
}

fn f15_only_space_and_tab_are_trimmed(mpm: Mpm) {
    let server = Site::new(mpm).file("index.html", "x").access_log("\"%{Fo}i\"").start();
    server.exchange(raw_field(b"Fo: \t\x85admin\xa0 \t"));
    assert_eq!(server.wait_log(1), [r"\x85admin\xa0"]);
    let variants: [&[u8]; 3] =
        [b"Content-Length\x85: 10", b"Content-Length: \x8510", b"Content-Length: 10\xa0"];
    refuses(mpm, 400, &variants.map(raw_field));
}

fn a_field_line_ended_by_lf_alone_is_400(mpm: Mpm) {
    refuses(
        mpm,
        400,
        &[
            "GET / HTTP/1.1\r\nHost: a\nFoo: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nFoo: b\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n\n",
        ],
    );
}

fn b26_split_at_every_byte_the_fields_are_read_the_same(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let page: &[u8] = b"<p>front page</p>\n";
    split_everywhere(&server, &field("Foo: b\r\nBar:\tc \r\nEmpty:"), 200, Some(page));
    split_everywhere(&server, &field("Foo : b"), 400, None);
    split_everywhere(&server, &field("Foo: a\r\n b"), 400, None);
    split_everywhere(&server, &field("Foo: va\rlue"), 400, None);
}

each_mpm! {
    f01_whitespace_before_the_colon_is_400,
    f02_whitespace_before_the_first_name_is_400,
    f03_a_folded_line_is_400,
    f04_a_line_without_a_colon_is_400,
    f05_a_name_that_is_no_token_is_400,
    f06_nul_in_a_value_is_400,
    f07_a_control_in_a_value_is_400,
    f08_a_bare_cr_in_a_value_is_400,
    f09_tab_and_bytes_above_ascii_are_kept,
    f10_a_line_break_inside_a_name_is_400,
    f11_more_than_100_fields_are_400,
    f11_the_number_of_fields_can_be_configured,
    f12_a_field_over_the_limit_is_400,
    f13_connection_cannot_take_content_length_away,
    f14_close_on_the_first_of_two_gives_one_response,
    f15_only_space_and_tab_are_trimmed,
    a_field_line_ended_by_lf_alone_is_400,
    b26_split_at_every_byte_the_fields_are_read_the_same,
}
