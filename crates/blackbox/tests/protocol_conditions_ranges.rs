//! Raw cases of methods, conditional requests, ranges and responses (RFC 9110 sections 9, 13 and
//! 14), one test per row, all variants.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::File;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use blackbox::cases::is_imf_fixdate;
use blackbox::{Mpm, Response, Server, Site, accepts, answers, each_mpm, line, plain_site};

/// Rows of the case list that a static server cannot meet yet, and why.
const NOT_APPLICABLE: [(&str, &str); 3] = [
    ("M12", "no content is compressed yet"),
    ("M1 /x.php", "nothing runs PHP yet: 503 for GET and HEAD alike"),
    ("M3 204", "no handler answers 204 yet"),
];

const FILE: &str = "0123456789abcdefghij";
/// 784111777 s: Sun, 06 Nov 1994 08:49:37 GMT, the example date of RFC 9110.
const MTIME_S: u64 = 784_111_777;

/// A site whose `/a.txt` has a known modification time.
fn dated(mpm: Mpm) -> Server {
    let site = plain_site(mpm);
    set_mtime(&site, "a.txt", UNIX_EPOCH + Duration::from_secs(MTIME_S));
    site.start()
}

fn set_mtime(site: &Site, name: &str, time: SystemTime) {
    let file = File::options().write(true).open(site.root().join(name)).unwrap();
    file.set_modified(time).unwrap();
}

/// `METHOD /a.txt` with these field lines.
fn ask(server: &Server, method: &str, fields: &str) -> Response {
    let fields = if fields.is_empty() { String::new() } else { format!("{fields}\r\n") };
    server.exchange(format!("{method} /a.txt HTTP/1.1\r\nHost: a\r\n{fields}\r\n"))
}

/// The status of `GET /a.txt` with these field lines.
fn status(server: &Server, fields: &str) -> u16 {
    ask(server, "GET", fields).status
}

fn every_row_left_out_has_a_reason(_mpm: Mpm) {
    assert!(NOT_APPLICABLE.iter().all(|(row, reason)| row.starts_with('M') && reason.len() > 10));
}

fn m01_head_has_the_fields_of_get_and_no_body(mpm: Mpm) {
    let server = dated(mpm);
    let etag = ask(&server, "GET", "").field("ETag").unwrap().to_string();
    for target in ["/a.txt", "/", "/dir/", "/006/", "/missing", "/dir", "/.htaccess"] {
        for condition in [String::new(), format!("If-None-Match: {etag}\r\n")] {
            let rest =
                format!("{target} HTTP/1.1\r\nHost: a\r\n{condition}Connection: close\r\n\r\n");
            let get = server.exchange(format!("GET {rest}"));
            let mut client = server.connect();
            client.send(format!("HEAD {rest}"));
            let head = client.head_response();
            client.assert_closed();
            assert_eq!(head.status, get.status, "{rest}");
            let without_date = |response: &Response| {
                let fields = response.fields.iter().filter(|(name, _)| name != "Date");
                let mut fields: Vec<_> = fields.cloned().collect();
                fields.sort_unstable(); // the order of fields says nothing
                fields
            };
            assert_eq!(without_date(&head), without_date(&get), "{rest}");
        }
    }
}

fn m02_methods_that_change_a_file_are_405(mpm: Mpm) {
    let methods = ["PUT", "DELETE", "PATCH"];
    let variants = methods
        .map(|it| format!("{it} /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"));
    for response in answers(mpm, 405, &variants) {
        let allow = response.field("Allow").expect("a 405 names what is allowed");
        for method in ["GET", "HEAD", "OPTIONS", "POST"] {
            assert!(allow.split(',').any(|each| each.trim() == method), "Allow: {allow}");
        }
        assert!(!allow.contains("PUT"), "Allow: {allow}");
    }
}

fn m02_post_on_a_file_is_answered_as_get(mpm: Mpm) {
    let post = "POST /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(accepts(mpm, &[post])[0].text(), FILE);
}

fn m03_a_304_keeps_etag_and_date_and_has_no_body(mpm: Mpm) {
    let server = dated(mpm);
    let whole = ask(&server, "GET", "");
    let etag = whole.field("ETag").unwrap();
    let mut client = server.connect();
    client.send(format!("GET /a.txt HTTP/1.1\r\nHost: a\r\nIf-None-Match: {etag}\r\n\r\n"));
    let response = client.response();
    assert_eq!(response.status, 304);
    assert_eq!(response.field("ETag"), Some(etag));
    assert!(is_imf_fixdate(response.field("Date").unwrap()));
    assert_eq!(response.count("Content-Type"), 0, "no metadata of content in a 304");
    // No byte of content follows: the connection is at the next response.
    assert_eq!(client.get("/006/x.css").text(), "p { color: red }\n");
}

fn m04_single_ranges_are_206(mpm: Mpm) {
    let server = dated(mpm);
    for (range, content, shown) in [
        ("0-0", "0", "0-0"),
        ("-1", "j", "19-19"),
        ("5-", "56789abcdefghij", "5-19"),
        ("0-10001", FILE, "0-19"),
        ("19-19", "j", "19-19"),
        ("-10001", FILE, "0-19"),
        ("3-6", "3456", "3-6"),
    ] {
        let response = ask(&server, "GET", &format!("Range: bytes={range}"));
        assert_eq!((response.status, response.text().as_str()), (206, content), "{range}");
        assert_eq!(response.field("Content-Range"), Some(format!("bytes {shown}/20").as_str()));
        assert_eq!(response.field("Content-Length"), Some(content.len().to_string().as_str()));
    }
}

fn m05_a_malformed_range_is_ignored(mpm: Mpm) {
    let server = dated(mpm);
    for range in ["bytes=5-2", "bytes=alpha", "lines=0-1", "bytes=", "bytes", "0-1", "bytes=1-x"] {
        let response = ask(&server, "GET", &format!("Range: {range}"));
        assert_eq!((response.status, response.text().as_str()), (200, FILE), "{range}");
        assert_eq!(response.count("Content-Range"), 0, "{range}");
    }
}

fn m06_a_range_beyond_the_end_is_416(mpm: Mpm) {
    let server = dated(mpm);
    for range in ["100000-", "20-", "-0", "20-30"] {
        let response = ask(&server, "GET", &format!("Range: bytes={range}"));
        assert_eq!(response.status, 416, "{range}");
        assert_eq!(response.field("Content-Range"), Some("bytes */20"), "{range}");
    }
}

fn m07_a_range_on_head_or_post_is_ignored(mpm: Mpm) {
    let server = dated(mpm);
    let head = ask(&server, "HEAD", "Range: bytes=0-0");
    assert_eq!((head.status, head.field("Content-Length")), (200, Some("20")));
    let post = ask(&server, "POST", "Range: bytes=0-0\r\nContent-Length: 0");
    assert_eq!((post.status, post.text().as_str()), (200, FILE));
}

fn m08_if_range_needs_the_same_strong_validator(mpm: Mpm) {
    let server = dated(mpm);
    let etag = ask(&server, "GET", "").field("ETag").unwrap().to_string();
    let with = |value: &str| status(&server, &format!("Range: bytes=0-0\r\nIf-Range: {value}"));
    assert_eq!(with(&etag), 206);
    assert_eq!(with(&format!("W/{etag}")), 200);
    assert_eq!(with("\"other\""), 200);
    assert_eq!(with("Sun, 06 Nov 1994 08:49:37 GMT"), 206);
    assert_eq!(with("Sun, 06 Nov 1994 08:49:38 GMT"), 200);
    assert_eq!(with("Sun, 06 Nov 1994 08:49:36 GMT"), 200);
    assert_eq!(with("garbage"), 200);
}

fn m09_if_none_match_that_matches_is_304(mpm: Mpm) {
    let server = dated(mpm);
    let etag = ask(&server, "GET", "").field("ETag").unwrap().to_string();
    for list in [
        "*".to_string(),
        etag.clone(),
        format!("W/{etag}"),
        format!("\"x\", {etag}"),
        format!("\"x\"\t,\t {etag} ,\"y\""),
        format!("\"a,b\", W/\"z\", {etag}"),
    ] {
        assert_eq!(status(&server, &format!("If-None-Match: {list}")), 304, "{list}");
    }
    assert_eq!(status(&server, "If-None-Match: \"x\""), 200);
    assert_eq!(status(&server, &format!("If-None-Match: \"x{}", &etag[1..])), 200);
    // It rules over If-Modified-Since (RFC 9110 section 13.2.2).
    let both = "If-None-Match: \"x\"\r\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT";
    assert_eq!(status(&server, both), 200);
}

fn m10_if_match_that_does_not_match_is_412(mpm: Mpm) {
    let server = dated(mpm);
    let etag = ask(&server, "GET", "").field("ETag").unwrap().to_string();
    assert_eq!(status(&server, "If-Match: \"x\""), 412);
    assert_eq!(status(&server, "If-Match: *"), 200);
    assert_eq!(status(&server, &format!("If-Match: {etag}")), 200);
    assert_eq!(status(&server, &format!("If-Match: \"x\", {etag}")), 200);
    assert_eq!(status(&server, &format!("If-Match: W/{etag}")), 412);
    let missing = "GET /missing HTTP/1.1\r\nHost: a\r\nIf-Match: *\r\n\r\n";
    assert_eq!(server.exchange(missing).status, 404);
}

fn m11_if_modified_since_takes_three_date_forms_and_ignores_garbage(mpm: Mpm) {
    let server = dated(mpm);
    let since = |date: &str| status(&server, &format!("If-Modified-Since: {date}"));
    assert_eq!(since("Sun, 06 Nov 1994 08:49:37 GMT"), 304);
    assert_eq!(since("Sunday, 06-Nov-94 08:49:37 GMT"), 304);
    assert_eq!(since("Sun Nov  6 08:49:37 1994"), 304);
    assert_eq!(since("Sun, 06 Nov 1994 08:49:38 GMT"), 304);
    assert_eq!(since("Sun, 06 Nov 1994 08:49:36 GMT"), 200);
    // A time that is yet to come counts as none (ap_condition_if_modified_since).
    assert_eq!(since("Tue, 19 Jan 2038 03:14:08 GMT"), 200);
    assert_eq!(since("Fri, 31 Dec 9999 23:59:59 GMT"), 200);
    for garbage in ["garbage", "0", "-1", "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994"] {
        assert_eq!(since(garbage), 200, "{garbage}");
    }
}

fn m11_if_unmodified_since_an_earlier_date_is_412(mpm: Mpm) {
    let server = dated(mpm);
    let since = |date: &str| status(&server, &format!("If-Unmodified-Since: {date}"));
    assert_eq!(since("Sun, 06 Nov 1994 08:49:37 GMT"), 200);
    assert_eq!(since("Sun, 06 Nov 1994 08:49:36 GMT"), 412);
    assert_eq!(since("garbage"), 200);
}

fn m13_a_1_0_client_never_gets_chunks(mpm: Mpm) {
    let server = plain_site(mpm).start();
    for target in ["/006/", "/missing", "/dir", "/a.txt"] {
        for option in ["close", "keep-alive"] {
            let request = format!("GET {target} HTTP/1.0\r\nConnection: {option}\r\n\r\n");
            let response = server.exchange(request);
            assert_eq!(response.count("Transfer-Encoding"), 0, "{target}: {response:?}");
        }
    }
}

fn m14_a_1_0_client_keeps_its_connection_when_it_asks(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let mut client = server.connect();
    for _ in 0..3 {
        client.send("GET /a.txt HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
        let response = client.response();
        assert_eq!(response.text(), FILE);
        let option = response.field("Connection").expect("a 1.0 client must be told");
        assert!(option.eq_ignore_ascii_case("keep-alive"), "Connection: {option}");
    }
}

fn m15_a_directory_without_its_slash_is_redirected_with_the_query(mpm: Mpm) {
    let response = &answers(mpm, 301, &[line("GET /dir?a=b&c=%20d HTTP/1.1")])[0];
    let location = response.field("Location").expect("a redirect says where");
    assert!(location.ends_with("/dir/?a=b&c=%20d"), "Location: {location}");
    assert!(location.starts_with("http://a"), "Location: {location}");
}

fn m16_a_modification_time_in_the_future_is_not_told(mpm: Mpm) {
    let site = plain_site(mpm);
    set_mtime(&site, "a.txt", SystemTime::now() + Duration::from_secs(48 * 3600));
    let server = site.start();
    let response = ask(&server, "GET", "");
    assert_eq!(response.field("Accept-Ranges"), Some("bytes"));
    assert_eq!(response.field("Last-Modified"), response.field("Date"));
}

fn several_ranges_are_one_multipart_response(mpm: Mpm) {
    let server = dated(mpm);
    let response = ask(&server, "GET", "Range: bytes=0-1,-2");
    assert_eq!(response.status, 206);
    let kind = response.field("Content-Type").unwrap();
    let boundary = kind.strip_prefix("multipart/byteranges; boundary=").expect(kind);
    let part = |range: &str, content: &str| {
        format!(
            "\r\n--{boundary}\r\nContent-type: text/plain\r\n\
             Content-range: bytes {range}/20\r\n\r\n{content}"
        )
    };
    let wanted = format!("{}{}\r\n--{boundary}--\r\n", part("0-1", "01"), part("18-19", "ij"));
    assert_eq!(response.text().to_lowercase(), wanted.to_lowercase());
    assert_eq!(response.count("Content-Range"), 0);
}

each_mpm! {
    every_row_left_out_has_a_reason,
    m01_head_has_the_fields_of_get_and_no_body,
    m02_methods_that_change_a_file_are_405,
    m02_post_on_a_file_is_answered_as_get,
    m03_a_304_keeps_etag_and_date_and_has_no_body,
    m04_single_ranges_are_206,
    m05_a_malformed_range_is_ignored,
    m06_a_range_beyond_the_end_is_416,
    m07_a_range_on_head_or_post_is_ignored,
    m08_if_range_needs_the_same_strong_validator,
    m09_if_none_match_that_matches_is_304,
    m10_if_match_that_does_not_match_is_412,
    m11_if_modified_since_takes_three_date_forms_and_ignores_garbage,
    m11_if_unmodified_since_an_earlier_date_is_412,
    m13_a_1_0_client_never_gets_chunks,
    m14_a_1_0_client_keeps_its_connection_when_it_asks,
    m15_a_directory_without_its_slash_is_redirected_with_the_query,
    m16_a_modification_time_in_the_future_is_not_told,
    several_ranges_are_one_multipart_response,
}
