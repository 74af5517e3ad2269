//! Negotiation over several requests, and what must never happen by way of it. What httpd answers
//! is compared in `differential.rs`.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::{Mpm, Response, Server, Site, each_mpm, plain_site};

/// A site with variants, MultiViews and type maps.
fn site(mpm: Mpm) -> Site {
    plain_site(mpm)
        .file("page.html.en", "page\n")
        .file("page.html.de", "Seite\n")
        .file("closed/x.html", "geheim\n")
        .file("x.css.gz", "packed\n")
        .directives(&["Options +MultiViews", "AddLanguage en .en", "AddLanguage de .de"])
        .directives(&["AddEncoding x-gzip .gz", "AddHandler type-map .var"])
        .directives(&["<Location /closed>", "Require all denied", "</Location>"])
}

fn ask(server: &Server, target: &str, field: &str) -> Response {
    server.exchange(format!("GET {target} HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n"))
}

fn each_client_gets_its_own_variant(mpm: Mpm) {
    let server = site(mpm).start();
    // Often enough for an answer to be kept, if somebody kept it.
    for _ in 0..5 {
        assert_eq!(ask(&server, "/page", "Accept-Language: de").text(), "Seite\n");
        assert_eq!(ask(&server, "/page", "Accept-Language: en").text(), "page\n");
        let packed = |field| {
            let response = ask(&server, "/x.css.gz", field);
            response.field("Content-Encoding").map(str::to_owned)
        };
        assert_eq!(packed("Accept-Encoding: gzip").as_deref(), Some("gzip"));
        assert_eq!(packed("Accept: */*").as_deref(), Some("x-gzip"));
    }
    let response = ask(&server, "/page", "Accept-Language: de");
    let tag = response.field("ETag").unwrap().to_owned();
    assert_eq!(
        ask(&server, "/page", &format!("If-None-Match: {tag}\r\nAccept-Language: de")).status,
        304
    );
}

fn lists_of_variants_are_pages(mpm: Mpm) {
    let server = site(mpm).start();
    let response = ask(&server, "/page", "Accept: image/png");
    assert_eq!(response.status, 406);
    let text = response.text();
    assert!(text.contains("<li><a href=\"page.html.de\">page.html.de</a>"), "{text}");
    assert!(text.ends_with("</body></html>\n"), "{text}");
    let response = ask(&server, "/page", "Negotiate: vlist");
    assert_eq!((response.status, response.field("TCN")), (300, Some("list")));
    // The page of a configuration takes the place of the list.
    let server = site(mpm).directive("ErrorDocument 406 nothing").start();
    let response = ask(&server, "/page", "Accept: image/png");
    assert_eq!((response.status, response.text().as_str()), (406, "nothing"));
}

fn a_type_map_leads_nowhere_that_a_request_does_not(mpm: Mpm) {
    let map = |uri: &str| format!("URI: {uri}\nContent-type: text/html\n");
    let targets = [
        "../../../../../../etc/passwd",
        "/etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "closed/x.html",
        "/closed/x.html",
        "nothing%00.html",
        "closed/../../x",
        "http://example.com/",
    ];
    let mut site = site(mpm);
    for (nth, target) in targets.iter().enumerate() {
        site = site.file(format!("map{nth}.var"), map(target));
    }
    let server = site.start();
    for (nth, target) in targets.iter().enumerate() {
        for url in [format!("/map{nth}.var"), format!("/map{nth}")] {
            let response = server.get(&url);
            let text = response.text();
            assert!([400, 403, 404].contains(&response.status), "{target}: {response:?}");
            assert!(!text.contains("geheim") && !text.contains("root:"), "{target}: {text}");
        }
    }
}

fn maps_that_lead_to_each_other_end(mpm: Mpm) {
    let map = |uri: &str| format!("URI: {uri}\nContent-type: text/html\n");
    let site = site(mpm).file("a.var", map("sub/b.var")).file("sub/b.var", map("../a.var"));
    let site = site.directive("MultiviewsMatch Handlers");
    let server =
        site.file("self.var", map("self.var")).file("own.html.var", map("own.html.var")).start();
    for target in ["/a.var", "/sub/b.var", "/self.var", "/own.html.var", "/own"] {
        let status = server.get(target).status;
        assert!([500, 506].contains(&status), "{target}: {status}");
    }
    assert_eq!(server.get("/a.txt").status, 200);
}

fn what_is_denied_is_no_variant(mpm: Mpm) {
    let server = site(mpm)
        .file("other.html.en", "geheim\n")
        .file("other.html.de", "offen\n")
        .directives(&["<Files *.en>", "Require all denied", "</Files>"])
        .start();
    let response = ask(&server, "/other", "Accept-Language: en, de;q=0.1");
    assert_eq!(response.text(), "offen\n");
    assert_eq!(server.get("/closed/x").status, 403);
}

fn odd_fields_are_no_trouble(mpm: Mpm) {
    let server = site(mpm).start();
    let many = format!("Accept: {}", "a/b;q=0.1,".repeat(700));
    for field in [
        "Accept: ,;=;q,q=,,\r\nAccept-Language: ;;q=x",
        "Accept-Language: *;q=0, -, en-\r\nNegotiate: ,,*",
        "Accept-Encoding: gzip;q=99999999999999999999",
        "Accept: \"unclosed",
        many.as_str(),
    ] {
        let status = ask(&server, "/page", field).status;
        assert!(matches!(status, 200 | 300 | 406), "{field}: {status}");
    }
}

fn a_default_charset_is_the_same_by_every_way(mpm: Mpm) {
    let server = plain_site(mpm).directive("AddDefaultCharset utf-8").start();
    for _ in 0..5 {
        let whole = server.get("/a.txt");
        assert_eq!(whole.field("Content-Type"), Some("text/plain; charset=utf-8"));
        let part = ask(&server, "/a.txt", "Range: bytes=0-1");
        assert_eq!(part.status, 206);
        assert_eq!(part.field("Content-Type"), Some("text/plain; charset=utf-8"));
        let parts = ask(&server, "/a.txt", "Range: bytes=0-1,4-5").text();
        assert_eq!(parts.matches("Content-type: text/plain; charset=utf-8\r\n").count(), 2);
        assert_eq!(server.get("/006/x.css").field("Content-Type"), Some("text/css"));
    }
}

fn a_digest_is_that_of_the_content(mpm: Mpm) {
    let server = plain_site(mpm)
        .file("abc.txt", "abc")
        .directives(&["ContentDigest On", "FileETag Digest"])
        .start();
    for _ in 0..3 {
        let response = server.get("/abc.txt");
        assert_eq!(response.field("Content-MD5"), Some("kAFQmDzST7DWlj99KOF/cg=="));
        assert_eq!(response.field("ETag"), Some("\"qZk+NkcGgWq6PiVxeFDCbJzQ2J0=\""));
    }
    let known = "If-None-Match: \"qZk+NkcGgWq6PiVxeFDCbJzQ2J0=\"";
    assert_eq!(ask(&server, "/abc.txt", known).status, 304);
}

each_mpm!(
    each_client_gets_its_own_variant,
    lists_of_variants_are_pages,
    a_type_map_leads_nowhere_that_a_request_does_not,
    maps_that_lead_to_each_other_end,
    what_is_denied_is_no_variant,
    odd_fields_are_no_trouble,
    a_default_charset_is_the_same_by_every_way,
    a_digest_is_that_of_the_content,
);
