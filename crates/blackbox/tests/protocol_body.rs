//! Raw cases of body framing (RFC 9112 sections 6 and 7), one test per row, all variants. POST on
//! a static file answers as GET and drains the body, as httpd does.

use blackbox::cases::{answers_at, refuses_at, split_everywhere};
use blackbox::{Client, Mpm, accepts, each_mpm, plain_site, refuses};

const FILE: &str = "0123456789abcdefghij";

/// `POST /a.txt` with these field lines and this content.
fn post(fields: &str, content: &str) -> Vec<u8> {
    format!("POST /a.txt HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n{content}").into_bytes()
}

/// `POST /a.txt` with a chunked body of these bytes.
fn chunked(content: &str) -> Vec<u8> {
    post("Transfer-Encoding: chunked", content)
}

/// A variant for each value of Content-Length, with ten bytes that could be its content.
fn lengths(values: &[&str]) -> Vec<Vec<u8>> {
    values.iter().map(|it| post(&format!("Content-Length: {it}"), "0123456789")).collect()
}

fn b01_a_length_and_a_coding_together_are_400(mpm: Mpm) {
    refuses(
        mpm,
        400,
        &[
            post("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
            post("Transfer-Encoding: chunked\r\nContent-Length: 5", "0\r\n\r\n"),
        ],
    );
}

fn b02_an_unknown_coding_is_501(mpm: Mpm) {
    let codings = ["identity", "gzip", "blegh", "xchunked", "chunkedx"];
    let variants = codings.map(|it| post(&format!("Transfer-Encoding: {it}"), "0\r\n\r\n"));
    refuses(mpm, 501, &variants);
}

fn b03_a_known_coding_before_chunked_is_501(mpm: Mpm) {
    refuses(mpm, 501, &[post("Transfer-Encoding: gzip, chunked", "0\r\n\r\n")]);
}

fn b04_chunked_that_is_not_last_or_is_repeated_is_400(mpm: Mpm) {
    refuses(
        mpm,
        400,
        &[
            post("Transfer-Encoding: chunked, identity", "0\r\n\r\n"),
            post("Transfer-Encoding: chunked, chunked", "0\r\n\r\n"),
            post("Transfer-Encoding: chunked, gzip", "0\r\n\r\n"),
        ],
    );
}

fn b05_two_codings_lines_are_400(mpm: Mpm) {
    refuses(
        mpm,
        400,
        &[
            post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
            post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "0\r\n\r\n"),
        ],
    );
}

fn b06_a_coding_hidden_by_whitespace_is_400(mpm: Mpm) {
    refuses(
        mpm,
        400,
        &[
            post("Transfer-Encoding : chunked", "0\r\n\r\n"),
            post("Transfer-Encoding:\n chunked", "0\r\n\r\n"),
            post("Transfer-Encoding:\r\n chunked", "0\r\n\r\n"),
            post("Transfer-Encoding: \x0bchunked", "0\r\n\r\n"),
        ],
    );
}

fn b07_codings_are_case_insensitive(mpm: Mpm) {
    accepts(mpm, &[post("Transfer-Encoding: ChUnKeD", "5\r\nhello\r\n0\r\n\r\n")]);
}

fn b08_a_length_that_is_no_number_is_400(mpm: Mpm) {
    let forty = "1".repeat(40);
    refuses(
        mpm,
        400,
        &lengths(&[
            "+5",
            "-5",
            "-48",
            "0x5",
            "5 5",
            "5,6",
            "",
            " ",
            "1Z",
            "1_0",
            "5.0",
            "9223372036854775808",
            "18446744073709551616",
            &forty,
        ]),
    );
}

fn b09_leading_zeros_are_decimal(mpm: Mpm) {
    accepts(mpm, &lengths(&["010", "00000000000000000000010"]));
}

fn b10_two_equal_lengths_are_400(mpm: Mpm) {
    refuses(
        mpm,
        400,
        &[
            post("Content-Length: 5\r\nContent-Length: 5", "hello"),
            post("Content-Length: 5\r\nContent-Length: 6", "hello!"),
            post("Content-Length: 5, 5", "hello"),
        ],
    );
}

fn b11_a_chunk_size_that_is_no_hexadecimal_number_is_400(mpm: Mpm) {
    let sizes = ["0x5", "+5", "-0", "5_0", "g", "", "10000000000000005", "fffffffffffffffff"];
    let variants = sizes.map(|it| chunked(&format!("{it}\r\nhello\r\n0\r\n\r\n")));
    refuses(mpm, 400, &variants);
}

fn b12_a_space_before_the_chunk_size_is_400(mpm: Mpm) {
    refuses(mpm, 400, &[chunked(" 5\r\nhello\r\n0\r\n\r\n"), chunked("\t5\r\nhello\r\n0\r\n\r\n")]);
}

fn b13_up_to_ten_spaces_after_the_chunk_size_are_read(mpm: Mpm) {
    let spaced =
        |count: usize| chunked(&format!("A{}\r\n0123456789\r\n0\r\n\r\n", " ".repeat(count)));
    accepts(mpm, &[spaced(4), spaced(10)]);
    refuses(mpm, 400, &[spaced(11), spaced(100)]);
}

fn b14_a_chunk_extension_with_controls_is_400(mpm: Mpm) {
    refuses(
        mpm,
        400,
        &[
            chunked("5;a\x7f\r\nhello\r\n0\r\n\r\n"),
            chunked("5;a\rb\r\nhello\r\n0\r\n\r\n"),
            chunked("5;\nhello\r\n0\r\n\r\n"),
            chunked("5\r\r;ABCD\r\nhello\r\n0\r\n\r\n"),
            chunked("5;a\0\r\nhello\r\n0\r\n\r\n"),
        ],
    );
}

fn b14_a_plain_chunk_extension_is_ignored(mpm: Mpm) {
    accepts(mpm, &[chunked("5;a=b\r\nhello\r\n0;last\r\n\r\n")]);
    accepts(mpm, &[chunked("5;a=\"b c\"\r\nhello\r\n0\r\n\r\n")]);
}

fn b15_a_chunk_not_followed_by_crlf_is_400(mpm: Mpm) {
    refuses(
        mpm,
        400,
        &[
            chunked("5\r\nhelloX\r\n0\r\n\r\n"),
            chunked("5\r\nhello0\r\n\r\n"),
            chunked("5\r\nhello\rX0\r\n\r\n"),
        ],
    );
}

fn b16_chunk_lines_ended_by_lf_alone_are_400(mpm: Mpm) {
    refuses(
        mpm,
        400,
        &[
            chunked("5\nhello\r\n0\r\n\r\n"),
            chunked("5\r\nhello\n0\r\n\r\n"),
            chunked("5\r\nhello\r\n0\n\r\n"),
            chunked("5\r\nhello\r\n0\r\n\n"),
        ],
    );
}

fn b17_trailers_are_read_and_not_merged(mpm: Mpm) {
    accepts(mpm, &[chunked("5\r\nhello\r\n0\r\nX-T: 1\r\nY: 2\r\n\r\n")]);
    let server = plain_site(mpm).start();
    // A trailer that would end the connection, were it a field.
    let mut client = server.connect();
    client.send(chunked("0\r\nConnection: close\r\n\r\n"));
    assert_eq!(client.response().text(), FILE);
    assert_eq!(client.get("/a.txt").text(), FILE);
}

fn b17_a_bad_trailer_is_400(mpm: Mpm) {
    refuses(mpm, 400, &[chunked("0\r\nX T: 1\r\n\r\n"), chunked("0\r\nX-T : 1\r\n\r\n")]);
}

fn b18_stray_bytes_after_the_last_chunk_fail_the_next_request_only(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let mut client = server.connect();
    client.send(chunked("5\r\nhello\r\n0\r\n\r\n\0"));
    assert_eq!(client.response().text(), FILE);
    client.send(" / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.response().status, 400);
    client.assert_closed();
    assert_eq!(server.get("/").status, 200);
}

fn b19_a_body_of_get_is_read_before_the_next_request(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let mut client = server.connect();
    client.send(
        "GET /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nGET / HTTP\
         GET /006/x.css HTTP/1.1\r\nHost: a\r\n\r\n",
    );
    assert_eq!(client.response().text(), FILE);
    assert_eq!(client.response().text(), "p { color: red }\n");
    assert_eq!(server.wait_log(2).len(), 2);
}

fn b20_a_body_that_breaks_off_is_never_200(mpm: Mpm) {
    let server = plain_site(mpm).start();
    for bytes in [
        post("Content-Length: 10", "01234"),
        chunked("5\r\nhel"),
        chunked("5\r\nhello\r\n"),
        chunked("5\r\nhello\r\n0\r\n"),
    ] {
        let mut client = server.connect();
        client.send(&bytes).finish();
        match client.try_response(false) {
            Ok(response) => assert_eq!(response.status, 400, "{response:?}"),
            Err(failure) => assert_eq!(failure, blackbox::Failure::Closed),
        }
    }
    assert_eq!(server.get("/").status, 200);
}

fn b21_a_body_over_the_limit_is_413_and_the_client_reads_it(mpm: Mpm) {
    let server = plain_site(mpm).directive("LimitRequestBody 10").start();
    answers_at(&server, 200, &[post("Content-Length: 10", "0123456789")]);
    let mut server = plain_site(mpm).directive("LimitRequestBody 10").start();
    refuses_at(
        &server,
        413,
        &[
            post("Content-Length: 11", "0123456789X"),
            post("Content-Length: 11", ""),
            post("Content-Length: 1000000", &"x".repeat(1_000_000)),
            chunked("5\r\nhello\r\n6\r\nworld!\r\n0\r\n\r\n"),
        ],
    );
    server.stop(libc::SIGTERM);
}

/// Sends the head, expects 100, then sends the content and reads the response.
fn after_100(client: &mut Client, head: &str, content: &str) -> blackbox::Response {
    client.send(head);
    assert_eq!(client.read_some(25), b"HTTP/1.1 100 Continue\r\n\r\n");
    client.send(content).response()
}

fn b22_expect_100_gives_100_and_then_the_response(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let mut client = server.connect();
    let head = post("Expect: 100-continue\r\nContent-Length: 5", "");
    let head = String::from_utf8(head).expect("ASCII");
    assert_eq!(after_100(&mut client, &head, "hello").text(), FILE);
    let head = head.replace("100-continue", "100-Continue");
    assert_eq!(after_100(&mut client, &head, "hello").text(), FILE);
}

fn b22_no_100_when_the_body_is_there_or_the_answer_is_an_error(mpm: Mpm) {
    let server = plain_site(mpm).directive("LimitRequestBody 10").start();
    let there = server.exchange(post("Expect: 100-continue\r\nContent-Length: 5", "hello"));
    assert_eq!((there.status, there.interim), (200, vec![]));
    let large = server.exchange(post("Expect: 100-continue\r\nContent-Length: 11", ""));
    assert_eq!((large.status, large.interim), (413, vec![]));
    let missing =
        "POST /no HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
    let missing = server.exchange(missing);
    assert_eq!((missing.status, missing.interim), (404, vec![]));
}

fn b23_expect_in_1_0_is_ignored_and_an_unknown_one_is_417(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let old = server
        .exchange("POST /a.txt HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello");
    assert_eq!((old.status, old.interim), (200, vec![]));
    let unknown = server.exchange(post("Expect: foo\r\nContent-Length: 0", ""));
    assert_eq!((unknown.status, unknown.interim), (417, vec![]));
}

fn b24_an_unread_body_never_becomes_the_next_request(mpm: Mpm) {
    let server = plain_site(mpm).file(".htsecret", "x").start();
    for (target, status) in [("/missing", 404), ("/dir", 301), ("/.htsecret", 403)] {
        for size in [20, 100_000, 3_000_000] {
            let mut client = server.connect();
            let fill = "GET /006/x.css HTTP/1.1\r\nHost: a\r\n\r\n";
            let content: String = fill.chars().cycle().take(size).collect();
            client.send(format!(
                "POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n{content}\
                 GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n"
            ));
            let response = client.response();
            assert_eq!(response.status, status, "{target} with {size} bytes");
            if response.says_close() {
                client.assert_closed();
            } else {
                assert_eq!(client.response().text(), FILE, "after {target} with {size} bytes");
            }
        }
    }
}

fn b25_an_upgrade_is_not_followed(mpm: Mpm) {
    let server = plain_site(mpm).start();
    for fields in ["Upgrade: websocket", "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__"] {
        let mut client = server.connect();
        client.send(format!(
            "POST /a.txt HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\n{fields}\r\n\
             Content-Length: 5\r\n\r\nhelloGET /006/x.css HTTP/1.1\r\nHost: a\r\n\r\n"
        ));
        let first = client.response();
        assert_eq!((first.status, first.interim.as_slice()), (200, [].as_slice()));
        assert_eq!(first.text(), FILE);
        assert_eq!(client.response().text(), "p { color: red }\n");
    }
}

fn b26_split_at_every_byte_the_body_is_read_the_same(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let file = Some(FILE.as_bytes());
    split_everywhere(&server, &post("Content-Length: 5", "hello"), 200, file);
    split_everywhere(&server, &chunked("5;x=y\r\nhello\r\n0\r\nX-T: 1\r\n\r\n"), 200, file);
    split_everywhere(&server, &chunked("5\r\nhelloX\r\n0\r\n\r\n"), 400, None);
    split_everywhere(&server, &post("Content-Length: 5\r\nContent-Length: 5", "hello"), 400, None);
}

fn b27_a_half_close_after_the_request_gets_the_full_response(mpm: Mpm) {
    let large = "0123456789".repeat(300_000);
    let server = plain_site(mpm).file("large.bin", &large).start();
    for (target, content) in [("/a.txt", FILE), ("/large.bin", &large)] {
        let mut client = server.connect();
        client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")).finish();
        assert_eq!(client.response().text(), content);
        client.assert_closed();
    }
}

each_mpm! {
    b01_a_length_and_a_coding_together_are_400,
    b02_an_unknown_coding_is_501,
    b03_a_known_coding_before_chunked_is_501,
    b04_chunked_that_is_not_last_or_is_repeated_is_400,
    b05_two_codings_lines_are_400,
    b06_a_coding_hidden_by_whitespace_is_400,
    b07_codings_are_case_insensitive,
    b08_a_length_that_is_no_number_is_400,
    b09_leading_zeros_are_decimal,
    b10_two_equal_lengths_are_400,
    b11_a_chunk_size_that_is_no_hexadecimal_number_is_400,
    b12_a_space_before_the_chunk_size_is_400,
    b13_up_to_ten_spaces_after_the_chunk_size_are_read,
    b14_a_chunk_extension_with_controls_is_400,
    b14_a_plain_chunk_extension_is_ignored,
    b15_a_chunk_not_followed_by_crlf_is_400,
    b16_chunk_lines_ended_by_lf_alone_are_400,
    b17_trailers_are_read_and_not_merged,
    b17_a_bad_trailer_is_400,
    b18_stray_bytes_after_the_last_chunk_fail_the_next_request_only,
    b19_a_body_of_get_is_read_before_the_next_request,
    b20_a_body_that_breaks_off_is_never_200,
    b21_a_body_over_the_limit_is_413_and_the_client_reads_it,
    b22_expect_100_gives_100_and_then_the_response,
    b22_no_100_when_the_body_is_there_or_the_answer_is_an_error,
    b23_expect_in_1_0_is_ignored_and_an_unknown_one_is_417,
    b24_an_unread_body_never_becomes_the_next_request,
    b25_an_upgrade_is_not_followed,
    b26_split_at_every_byte_the_body_is_read_the_same,
    b27_a_half_close_after_the_request_gets_the_full_response,
}
