//! Raw cases of the request target's authority and the Host field (RFC 9112 section 3.2), one
//! test per row, all variants.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::net::TcpListener;
use std::sync::Arc;

use blackbox::cases::split_everywhere;
use blackbox::{Mpm, accepts, each_mpm, line, plain_site, refuses};

/// `GET /` with this Host value and nothing else.
fn host(value: &str) -> Vec<u8> {
    format!("GET / HTTP/1.1\r\nHost: {value}\r\n\r\n").into_bytes()
}

/// `GET /` with each of these Host values.
fn hosts(values: &[&str]) -> Vec<Vec<u8>> {
    values.iter().map(|value| host(value)).collect()
}

fn t01_two_host_lines_are_400_even_when_equal(mpm: Mpm) {
    refuses(
        mpm,
        400,
        &[
            "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nhost: a\r\n\r\n",
            "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n",
        ],
    );
}

fn t01_no_host_line_is_400_in_1_1_only(mpm: Mpm) {
    refuses(mpm, 400, &["GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nX-Host: a\r\n\r\n"]);
    accepts(mpm, &["GET / HTTP/1.0\r\n\r\n"]);
}

fn t02_an_empty_host_is_400(mpm: Mpm) {
    refuses(mpm, 400, &["GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET / HTTP/1.1\r\nHost: \t \r\n\r\n"]);
}

fn t03_whitespace_inside_the_host_is_400(mpm: Mpm) {
    refuses(mpm, 400, &hosts(&["a b", "a\tb", "localhost:80 x"]));
}

fn t04_a_host_with_other_parts_of_a_uri_is_400(mpm: Mpm) {
    refuses(mpm, 400, &hosts(&["a@b", "a/b", "../x", "[::1]/../", "a?b", "a#b", "http://a"]));
}

fn t05_an_underscore_in_the_host_is_served(mpm: Mpm) {
    accepts(mpm, &hosts(&["foo_bar.example.com", "foo.example.com."]));
}

fn t06_an_ipv6_address_in_brackets_is_served(mpm: Mpm) {
    accepts(mpm, &hosts(&["[::1]", "[4711::abcd]:8000"]));
}

fn t07_an_ipv6_address_without_brackets_is_400(mpm: Mpm) {
    refuses(mpm, 400, &hosts(&["4714::abcd:8001", "::1", "[::1", "::1]", "[::g]", "[]"]));
}

fn t08_a_port_that_is_none_is_400(mpm: Mpm) {
    refuses(mpm, 400, &hosts(&["a:99999", "a:asd", "a:-1", ":80", "a:80:80", "[::1]:x"]));
}

fn t09_an_absolute_target_wins_over_the_host_field(mpm: Mpm) {
    accepts(mpm, &["GET http://foo/ HTTP/1.1\r\nHost: bar\r\n\r\n"]);
    // Which name won shows in a redirect.
    let server = plain_site(mpm).start();
    let response = server.exchange("GET http://foo/dir HTTP/1.1\r\nHost: bar\r\n\r\n");
    let location = response.field("Location").expect("a redirect").to_string();
    assert!(location.starts_with("http://foo"), "Location: {location}");
}

fn t10_a_bad_authority_in_an_absolute_target_is_400(mpm: Mpm) {
    refuses(
        mpm,
        400,
        &[
            line("GET http://foo@localhost/ HTTP/1.1"),
            line("GET http://localhost:80x/ HTTP/1.1"),
            line("GET http://localhost:80:80/ HTTP/1.1"),
            line("GET http://localhost::80/ HTTP/1.1"),
            line("GET http:/// HTTP/1.1"),
            line("GET http:// HTTP/1.1"),
        ],
    );
}

fn t11_an_ipv4_address_in_an_odd_notation_is_400(mpm: Mpm) {
    refuses(
        mpm,
        400,
        &[
            line("GET http://0x7f.1/ HTTP/1.1"),
            line("GET http://017700000001/ HTTP/1.1"),
            line("GET http://127.01.0.1/ HTTP/1.1"),
            line("GET http://%3127.0.0.1/ HTTP/1.1"),
        ],
    );
}

fn t12_another_scheme_is_400(mpm: Mpm) {
    refuses(mpm, 400, &[line("GET ftp://a/ HTTP/1.1"), line("GET https://a/ HTTP/1.1")]);
}

fn b26_split_at_every_byte_the_host_is_read_the_same(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let page: &[u8] = b"<p>front page</p>\n";
    split_everywhere(&server, &host("[::1]:8000"), 200, Some(page));
    split_everywhere(&server, &host("a b"), 400, None);
    split_everywhere(&server, b"GET http://foo/ HTTP/1.1\r\nHost: bar\r\n\r\n", 200, Some(page));
    split_everywhere(&server, b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400, None);
}

fn a_server_name_without_a_port_is_at_port_80_whatever_the_address_says(mpm: Mpm) {
    let socket = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
    let address = socket.local_addr().unwrap();
    let server = plain_site(mpm)
        .file("folder/a.txt", "")
        .pass(&socket)
        .listen(address.to_string())
        .directive(format!("<VirtualHost *:{}>", address.port()))
        .directives(&["ServerName named.example", "</VirtualHost>"])
        .start();
    for fields in ["Host: named.example", "Host: other.example"] {
        let response = server.exchange(format!("GET /folder HTTP/1.1\r\n{fields}\r\n\r\n"));
        let host = fields.trim_start_matches("Host: ");
        assert_eq!(response.field("Location"), Some(&*format!("http://{host}/folder/")));
    }
    let response = server.exchange("GET /folder HTTP/1.1\r\nHost: named.example:81\r\n\r\n");
    assert_eq!(response.field("Location"), Some("http://named.example:81/folder/"));
}

each_mpm! {
    a_server_name_without_a_port_is_at_port_80_whatever_the_address_says,
    t01_two_host_lines_are_400_even_when_equal,
    t01_no_host_line_is_400_in_1_1_only,
    t02_an_empty_host_is_400,
    t03_whitespace_inside_the_host_is_400,
    t04_a_host_with_other_parts_of_a_uri_is_400,
    t05_an_underscore_in_the_host_is_served,
    t06_an_ipv6_address_in_brackets_is_served,
    t07_an_ipv6_address_without_brackets_is_400,
    t08_a_port_that_is_none_is_400,
    t09_an_absolute_target_wins_over_the_host_field,
    t10_a_bad_authority_in_an_absolute_target_is_400,
    t11_an_ipv4_address_in_an_odd_notation_is_400,
    t12_another_scheme_is_400,
    b26_split_at_every_byte_the_host_is_read_the_same,
}
