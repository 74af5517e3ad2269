//! Compressed responses: their heads are those that Apache 2.4.71 sent for the same files and
//! lines, whatever the way to the answer; sizes differ where another library compresses.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::{Mpm, Server, Site, each_mpm};

const LINES: &[&str] = &[
    "AddOutputFilterByType DEFLATE text/html",
    "<Location /br/>",
    "SetOutputFilter BROTLI_COMPRESS",
    "</Location>",
    "<Location /both/>",
    "SetOutputFilter BROTLI_COMPRESS;DEFLATE",
    "</Location>",
    "AddEncoding x-gzip .gz",
    "AddOutputFilter DEFLATE .txt .gz",
];

fn serve(mpm: Mpm) -> Server {
    let text = "lorem ipsum ".repeat(50);
    let mut site = Site::new(mpm).directives(LINES);
    for folder in ["", "br/", "both/"] {
        for (name, text) in [("page.html", &text), ("a.txt", &text), ("empty.html", &String::new())]
        {
            site = site.file(format!("{folder}{name}"), text);
        }
    }
    let site = site.file("big.html", text.repeat(500)).file("packed.css.gz", &text);
    let server = site.start();
    server.root().wait_until_at_rest();
    server
}

/// The head without what differs each time. `{}` stands for the file's entity tag.
fn head(server: &Server, request: &str, fields: &str) -> String {
    let text = format!("{request} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{fields}\r\n");
    let answer = server.connect().send(text).read_to_end();
    let end = answer.windows(4).position(|part| part == b"\r\n\r\n").unwrap();
    let head = std::str::from_utf8(&answer[..end]).unwrap();
    let varying = ["Date: ", "Server: ", "Last-Modified: ", "Connection: "];
    let lines = head.split("\r\n").filter(|line| !varying.iter().any(|v| line.starts_with(v)));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The entity tag of a file as it is, without its quotes.
fn tag(server: &Server, path: &str) -> String {
    let response = server.get(path);
    response.field("ETag").unwrap().trim_matches('"').to_owned()
}

const GZIP: &str = "Accept-Encoding: gzip\r\n";
const BR: &str = "Accept-Encoding: br\r\n";

fn heads_are_those_of_httpd(mpm: Mpm) {
    let server = serve(mpm);
    for (request, fields, wanted) in [
        (
            "/page.html",
            "",
            "200 OK|ETag: \"{}\"|Accept-Ranges: bytes|Content-Length: 600|\
             Vary: Accept-Encoding|Content-Type: text/html",
        ),
        (
            "/page.html",
            GZIP,
            "200 OK|ETag: \"{}-gzip\"|Accept-Ranges: bytes|Vary: Accept-Encoding|\
             Content-Encoding: gzip|Content-Length: N|Content-Type: text/html",
        ),
        (
            "/empty.html",
            GZIP,
            "200 OK|ETag: \"{}\"|Accept-Ranges: bytes|Content-Length: 0|\
             Content-Type: text/html",
        ),
        (
            "/a.txt",
            GZIP,
            "200 OK|ETag: \"{}-gzip\"|Accept-Ranges: bytes|Vary: Accept-Encoding|\
             Content-Encoding: gzip|Content-Length: N|Content-Type: text/plain",
        ),
        (
            "/br/a.txt",
            BR,
            "200 OK|ETag: \"{}-br\"|Accept-Ranges: bytes|Vary: Accept-Encoding|\
             Content-Encoding: br|Content-Length: N|Content-Type: text/plain",
        ),
        (
            "/br/empty.html",
            BR,
            "200 OK|ETag: \"{}-br\"|Accept-Ranges: bytes|Vary: Accept-Encoding|\
             Content-Encoding: br|Content-Length: 1|Content-Type: text/html",
        ),
        (
            "/page.html",
            "Range: bytes=0-9\r\n",
            "206 Partial Content|ETag: \"{}\"|Accept-Ranges: bytes|Content-Length: 10|\
             Vary: Accept-Encoding|Content-Range: bytes 0-9/600|Content-Type: text/html",
        ),
    ] {
        let etag = tag(&server, request);
        let wanted = format!("HTTP/1.1 {}\n", wanted.replace('|', "\n").replace("{}", &etag));
        let mut found = head(&server, &format!("GET {request}"), fields);
        if wanted.contains(": N\n") {
            let at = found.find("Content-Length: ").unwrap() + "Content-Length: ".len();
            let end = at + found[at..].find('\n').unwrap();
            assert!(found[at..end].parse::<usize>().unwrap() < 100, "{found}");
            found.replace_range(at..end, "N");
        }
        assert_eq!(found, wanted, "GET {request} {fields:?}");
    }
    assert!(!head(&server, "GET /packed.css.gz", GZIP).contains("Vary"), "it is packed already");
    assert!(!head(&server, "GET /missing", GZIP).contains("Vary"), "the server's own page");
}

fn head_says_what_get_would_say(mpm: Mpm) {
    let server = serve(mpm);
    for path in ["/page.html", "/br/a.txt"] {
        let fields = "Accept-Encoding: gzip, br\r\n";
        let get = head(&server, &format!("GET {path}"), fields);
        assert_eq!(head(&server, &format!("HEAD {path}"), fields), get);
    }
    let large = head(&server, "HEAD /big.html", GZIP);
    assert!(large.contains("-gzip\"\n") && !large.contains("Content-Length"), "{large}");
}

fn a_large_file_is_compressed_while_it_is_sent(mpm: Mpm) {
    let server = serve(mpm);
    let mut client = server.connect();
    client.send(format!("GET /big.html HTTP/1.1\r\nHost: a\r\n{GZIP}\r\n"));
    let response = client.response();
    assert_eq!(response.field("Transfer-Encoding"), Some("chunked"));
    assert_eq!(&response.body[..4], b"\x1f\x8b\x08\0");
    let length = response.body[response.body.len() - 4..].try_into().unwrap();
    assert_eq!(u32::from_le_bytes(length), 300_000, "gzip ends with the length");
    assert_eq!(client.get("/a.txt").status, 200, "the connection goes on");
}

fn ranges_and_conditions_are_about_what_is_sent(mpm: Mpm) {
    let server = serve(mpm);
    let etag = tag(&server, "/page.html");
    let part = format!("{GZIP}Range: bytes=0-9\r\n");
    let found = head(&server, "GET /page.html", &part);
    assert!(found.starts_with("HTTP/1.1 206 ") && found.contains("Content-Range: bytes 0-9/"));
    assert!(!found.contains("0-9/600") && found.contains("Content-Length: 10\n"), "{found}");
    for (tag, status) in [(format!("{etag}-gzip"), "206"), (etag.clone(), "200")] {
        let fields = format!("{part}If-Range: \"{tag}\"\r\n");
        let found = head(&server, "GET /page.html", &fields);
        assert!(found.starts_with(&format!("HTTP/1.1 {status} ")), "{tag}: {found}");
    }
    // httpd compares with the tag of the file, before its filters add to it.
    for (tag, status) in [(format!("{etag}-gzip"), "200"), (etag.clone(), "304")] {
        let fields = format!("{GZIP}If-None-Match: \"{tag}\"\r\n");
        let found = head(&server, "GET /page.html", &fields);
        assert!(found.starts_with(&format!("HTTP/1.1 {status} ")), "{tag}: {found}");
    }
}

fn sizes_are_logged_whether_or_not_they_were_known_before(mpm: Mpm) {
    let names = ["Input in", "Output out", "Ratio ratio"];
    let mut site = Site::new(mpm).directive("SetOutputFilter DEFLATE");
    for name in names {
        site = site.directive(format!("DeflateFilterNote {name}"));
    }
    let site = site.file("a.txt", "lorem ipsum ".repeat(50));
    let site = site.file("big.txt", "lorem ipsum ".repeat(25_000));
    let server = site.access_log("\"%B %{in}n %{out}n %{ratio}n\"").start();
    for (nth, (path, size)) in [("/a.txt", 600), ("/big.txt", 300_000)].iter().enumerate() {
        server.exchange(format!("GET {path} HTTP/1.1\r\nHost: a\r\n{GZIP}\r\n"));
        let lines = server.wait_log(nth + 1);
        let numbers = lines[nth].split(' ').map(|number| number.parse().unwrap());
        let [sent, input, output, ratio] = numbers.collect::<Vec<usize>>()[..] else {
            panic!("{lines:?}")
        };
        assert_eq!((input, sent), (*size, output + 18), "18 bytes around what was compressed");
        assert_eq!(ratio, output * 100 / input);
    }
}

each_mpm! {
    heads_are_those_of_httpd,
    head_says_what_get_would_say,
    a_large_file_is_compressed_while_it_is_sent,
    ranges_and_conditions_are_about_what_is_sent,
    sizes_are_logged_whether_or_not_they_were_known_before,
}
