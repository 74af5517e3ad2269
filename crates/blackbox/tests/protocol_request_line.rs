//! Raw cases of the request line (RFC 9112 section 3), one test per row, all variants.

use blackbox::cases::{refuses_at, split_everywhere};
use blackbox::{Mpm, accepts, answers, each_mpm, line, plain_site, refuses};

fn l01_a_plain_request_is_200(mpm: Mpm) {
    let responses = accepts(mpm, &[line("GET / HTTP/1.1")]);
    assert_eq!(responses[0].text(), "<p>front page</p>\n");
}

fn l02_http_1_0_gets_a_1_1_status_line_and_a_close(mpm: Mpm) {
    let responses =
        accepts(mpm, &["GET /a.txt HTTP/1.0\r\n\r\n", "GET /a.txt HTTP/1.0\r\nHost: a\r\n\r\n"]);
    for response in responses {
        assert_eq!(response.version, "HTTP/1.1");
        assert_eq!(response.count("Transfer-Encoding"), 0);
        assert_eq!(response.field("Content-Length"), Some("20"));
    }
}

fn l03_an_empty_line_before_the_request_is_skipped(mpm: Mpm) {
    accepts(mpm, &["\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"]);
}

fn l04_an_empty_line_and_then_the_end_is_closed_silently(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let mut client = server.connect();
    client.send("\r\n").finish();
    assert_eq!(client.read_to_end(), b"");
    assert_eq!(server.get("/").status, 200);
}

fn l05_methods_are_case_sensitive(mpm: Mpm) {
    answers(mpm, 501, &[line("get / HTTP/1.1"), line("Get / HTTP/1.1")]);
}

fn l06_an_unknown_method_is_501(mpm: Mpm) {
    answers(mpm, 501, &[line("FOO / HTTP/1.1")]);
}

fn l07_a_method_that_is_no_token_is_400(mpm: Mpm) {
    refuses(mpm, 400, &[line("G/T / HTTP/1.1"), line("G(T / HTTP/1.1"), line("G:T / HTTP/1.1")]);
}

fn l08_nul_in_the_method_is_400(mpm: Mpm) {
    refuses(mpm, 400, &[line("G\0ET / HTTP/1.1"), line("\0GET / HTTP/1.1")]);
}

fn l09_tab_cr_or_ff_between_method_and_target_is_400(mpm: Mpm) {
    refuses(
        mpm,
        400,
        &[
            line("GET\t/ HTTP/1.1"),
            line("GET\r/ HTTP/1.1"),
            line("GET\x0c/ HTTP/1.1"),
            line("GET\x0b/ HTTP/1.1"),
        ],
    );
}

fn l10_two_spaces_between_method_and_target_are_400(mpm: Mpm) {
    refuses(mpm, 400, &[line("GET  / HTTP/1.1"), line("GET /  HTTP/1.1"), line(" GET / HTTP/1.1")]);
}

fn l11_a_space_after_the_version_is_400(mpm: Mpm) {
    refuses(mpm, 400, &[line("GET / HTTP/1.1 "), line("GET / HTTP/1.1\t")]);
}

fn l12_a_word_after_the_version_is_400(mpm: Mpm) {
    refuses(mpm, 400, &[line("GET / HTTP/1.1 x"), line("GET /a b HTTP/1.1")]);
}

fn l13_a_missing_target_is_400(mpm: Mpm) {
    refuses(mpm, 400, &[line("GET  HTTP/1.1"), line("GET HTTP/1.1"), line("GET"), line("GET ")]);
}

fn l14_another_protocol_name_is_400(mpm: Mpm) {
    refuses(
        mpm,
        400,
        &[
            line("GET / HTT/1.1"),
            line("GET / http/1.1"),
            line("GET / HTTP/\r\r1.1"),
            line("GET / HTTPS/1.1"),
            line("GET / HTTP1.1"),
        ],
    );
}

fn l15_a_version_of_more_digits_is_400(mpm: Mpm) {
    refuses(
        mpm,
        400,
        &[
            line("GET / HTTP/1.11"),
            line("GET / HTTP/10.0"),
            line("GET / HTTP/4294967295.255"),
            line("GET / HTTP/1."),
            line("GET / HTTP/.1"),
            line("GET / HTTP/1.x"),
            line("GET / HTTP/01.1"),
        ],
    );
}

fn l15_a_major_version_above_1_is_505(mpm: Mpm) {
    refuses(mpm, 505, &[line("GET / HTTP/2.0"), line("GET / HTTP/3.0"), line("GET / HTTP/9.9")]);
    refuses(mpm, 505, &["GET / HTTP/2.0\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]);
}

fn l16_a_higher_minor_version_is_served_as_1_1(mpm: Mpm) {
    accepts(mpm, &[line("GET / HTTP/1.2"), line("GET / HTTP/1.9")]);
}

fn l17_http_0_9_by_name_is_400(mpm: Mpm) {
    refuses(mpm, 400, &["GET / HTTP/0.9\r\n\r\n", "GET / HTTP/0.0\r\nHost: a\r\n\r\n"]);
}

fn l18_a_line_without_a_version_is_400(mpm: Mpm) {
    refuses(mpm, 400, &["GET /\r\n", "GET /\r\n\r\n", "GET /\r\nHost: a\r\n\r\n"]);
}

fn l19_a_line_that_never_ends_is_closed_without_a_byte(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let mut client = server.connect();
    client.send("GET / HTTP/1.0\r\r").finish();
    let bytes = client.read_to_end();
    assert!(bytes.is_empty(), "{:?}", String::from_utf8_lossy(&bytes));
    assert_eq!(server.get("/").status, 200);
}

fn l20_a_fragment_is_400(mpm: Mpm) {
    refuses(mpm, 400, &[line("GET /#f HTTP/1.1"), line("GET /?a#f HTTP/1.1")]);
}

fn l21_a_target_of_no_known_form_is_400(mpm: Mpm) {
    refuses(mpm, 400, &[line("GET foo HTTP/1.1"), line("GET * HTTP/1.1"), line("GET ?a HTTP/1.1")]);
}

fn l22_options_asterisk_is_answered_for_the_server(mpm: Mpm) {
    let responses = accepts(mpm, &[line("OPTIONS * HTTP/1.1")]);
    // What is allowed depends on the resource, and there is none (ap_send_http_options).
    assert_eq!(responses[0].field("Allow"), None);
    assert_eq!(responses[0].field("Content-Length"), Some("0"));
    assert_eq!(responses[0].body, b"");
}

fn l23_connect_is_not_served(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let response = server.exchange("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n");
    assert_eq!(response.status, 405);
    assert!(response.count("Allow") == 1, "a 405 names what is allowed");
    let mut clean = plain_site(mpm).start();
    refuses_at(&clean, 400, &[line("CONNECT / HTTP/1.1"), line("CONNECT http://a/ HTTP/1.1")]);
    clean.stop(libc::SIGTERM);
}

fn l24_trace_is_405(mpm: Mpm) {
    let response = &answers(mpm, 405, &[line("TRACE / HTTP/1.1")])[0];
    let allow = response.field("Allow").expect("a 405 names what is allowed");
    assert!(allow.contains("GET") && !allow.contains("TRACE"), "Allow: {allow}");
}

fn l25_a_bad_percent_escape_is_400(mpm: Mpm) {
    answers(
        mpm,
        400,
        &[line("GET /x% HTTP/1.1"), line("GET /%1 HTTP/1.1"), line("GET /%zz HTTP/1.1")],
    );
}

fn l26_nul_and_slash_by_escape_name_no_file(mpm: Mpm) {
    let server = plain_site(mpm).start();
    for target in ["/%00", "/a.txt%00", "/a.txt%00.css", "/%00a.txt"] {
        let status = server.get(target).status;
        assert!(matches!(status, 400 | 404), "{target}: {status}");
    }
    for target in ["/a%2fb", "/dir%2findex.html", "/dir%2Findex.html", "/%2fa.txt"] {
        assert_eq!(server.get(target).status, 404, "{target}");
    }
}

fn l27_dot_segments_above_the_root_are_400(mpm: Mpm) {
    answers(
        mpm,
        400,
        &[
            line("GET /../x HTTP/1.1"),
            line("GET /%2e%2e/x HTTP/1.1"),
            line("GET /a/../../x HTTP/1.1"),
            line("GET /.. HTTP/1.1"),
            line("GET /dir/../../a.txt HTTP/1.1"),
        ],
    );
}

fn l28_dot_segments_and_double_slashes_within_the_root_are_resolved(mpm: Mpm) {
    let responses = accepts(
        mpm,
        &[
            line("GET /n/../006/x.css HTTP/1.1"),
            line("GET /n/%2e/%2e%2e/006/x.css HTTP/1.1"),
            line("GET /006//.//x.css HTTP/1.1"),
            line("GET //006/x.css HTTP/1.1"),
        ],
    );
    for response in responses {
        assert_eq!(response.text(), "p { color: red }\n");
    }
}

fn a_line_ended_by_lf_alone_is_400(mpm: Mpm) {
    refuses(mpm, 400, &["GET / HTTP/1.1\nHost: a\r\n\r\n", "GET / HTTP/1.1\nHost: a\n\n"]);
}

fn a_request_line_over_the_limit_is_414(mpm: Mpm) {
    let long = format!("GET /{} HTTP/1.1", "x".repeat(9000));
    let endless = format!("GET /{}", "x".repeat(20_000));
    refuses(mpm, 414, &[line(&long), endless.into_bytes()]);
}

fn a_request_line_at_the_limit_is_served(mpm: Mpm) {
    // httpd's LimitRequestLine 8190 lets one byte more pass; CRLF is not counted.
    let room = 8191 - "GET /a.txt? HTTP/1.1".len();
    accepts(mpm, &[line(&format!("GET /a.txt?{} HTTP/1.1", "q".repeat(room)))]);
    refuses(mpm, 414, &[line(&format!("GET /a.txt?{} HTTP/1.1", "q".repeat(room + 1)))]);
}

fn b26_split_at_every_byte_the_request_line_is_read_the_same(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let page: &[u8] = b"<p>front page</p>\n";
    split_everywhere(&server, &line("GET / HTTP/1.1"), 200, Some(page));
    split_everywhere(&server, b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 200, Some(page));
    split_everywhere(&server, b"GET / HTTP/1.0\r\n\r\n", 200, Some(page));
    split_everywhere(&server, &line("GET / HTTP/1.1 "), 400, None);
    split_everywhere(&server, &line("GET / HTTP/2.0"), 505, None);
    split_everywhere(&server, &line("OPTIONS * HTTP/1.1"), 200, Some(b""));
}

each_mpm! {
    l01_a_plain_request_is_200,
    l02_http_1_0_gets_a_1_1_status_line_and_a_close,
    l03_an_empty_line_before_the_request_is_skipped,
    l04_an_empty_line_and_then_the_end_is_closed_silently,
    l05_methods_are_case_sensitive,
    l06_an_unknown_method_is_501,
    l07_a_method_that_is_no_token_is_400,
    l08_nul_in_the_method_is_400,
    l09_tab_cr_or_ff_between_method_and_target_is_400,
    l10_two_spaces_between_method_and_target_are_400,
    l11_a_space_after_the_version_is_400,
    l12_a_word_after_the_version_is_400,
    l13_a_missing_target_is_400,
    l14_another_protocol_name_is_400,
    l15_a_version_of_more_digits_is_400,
    l15_a_major_version_above_1_is_505,
    l16_a_higher_minor_version_is_served_as_1_1,
    l17_http_0_9_by_name_is_400,
    l18_a_line_without_a_version_is_400,
    l19_a_line_that_never_ends_is_closed_without_a_byte,
    l20_a_fragment_is_400,
    l21_a_target_of_no_known_form_is_400,
    l22_options_asterisk_is_answered_for_the_server,
    l23_connect_is_not_served,
    l24_trace_is_405,
    l25_a_bad_percent_escape_is_400,
    l26_nul_and_slash_by_escape_name_no_file,
    l27_dot_segments_above_the_root_are_400,
    l28_dot_segments_and_double_slashes_within_the_root_are_resolved,
    a_line_ended_by_lf_alone_is_400,
    a_request_line_over_the_limit_is_414,
    a_request_line_at_the_limit_is_served,
    b26_split_at_every_byte_the_request_line_is_read_the_same,
}
