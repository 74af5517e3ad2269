//! Error documents and the conditions of a request: those are about what was asked for and is not
//! there, so that the page in its place comes whole, as it does from httpd.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::{Mpm, Server, Site, each_mpm};
use std::os::unix::fs::PermissionsExt;

const PAGE: &str = "<p>a page in its place</p>\n";

/// Whatever a client may say of what it has, and of how much it wants.
const CONDITIONS: [&str; 11] = [
    "If-None-Match: *",
    "If-None-Match: ETAG",
    "If-Match: \"x\"",
    "If-Modified-Since: MODIFIED",
    "If-Modified-Since: Sun, 06 Nov 2033 08:49:37 GMT",
    "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
    "Range: bytes=0-3",
    "Range: bytes=900-",
    "If-Range: ETAG\r\nRange: bytes=0-3",
    "If-None-Match: ETAG\r\nIf-Modified-Since: MODIFIED",
    "If-Match: \"x\"\r\nRange: bytes=0-1,3-4",
];

const SCRIPT: &str = "#!/bin/sh\nprintf 'Content-Type: text/html\\r\\nETag: \"cgi\"\\r\\n\
                      Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\\r\\n\\r\\n\
                      <p>a page in its place</p>\\n'\n";

/// Where each of the errors comes from.
const ERRORS: [(&str, u16); 5] = [
    ("/missing", 404),
    ("/denied/x", 403),
    ("/private/x", 401),
    ("/broken/x", 500),
    ("/file/x.txt/more", 404),
];

/// A site with the document `document` for all errors.
fn start(mpm: Mpm, document: &str) -> Server {
    let site = Site::new(mpm)
        .steady()
        .file("page.html", PAGE)
        .file("page.cgi", SCRIPT)
        .file("denied/x", "secret")
        .file("private/x", "secret")
        .file("broken/x", "")
        .file("broken/.htaccess", "NoSuchDirective\n")
        .file("file/x.txt", "a file")
        .file("index/index.html", "an index")
        .file("fallback/page.html", "a fallback");
    let script = site.root().join("page.cgi");
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let users = site.root().join("users").display().to_string();
    let root = site.root().path().display().to_string();
    let site = [404, 403, 401, 500]
        .iter()
        .fold(site, |site, status| site.directive(format!("ErrorDocument {status} {document}")));
    site.directives(&["<Location /denied>", "Require all denied", "</Location>"])
        .directives(&["<Location /private>", "AuthType Basic", "AuthName x"])
        .directives(&[&format!("AuthUserFile {users}"), "Require valid-user", "</Location>"])
        .directives(&["<Location /fallback>", "FallbackResource /fallback/page.html"])
        .directives(&["</Location>", "<Files page.cgi>", "SetHandler cgi-script", "</Files>"])
        .directives(&[&format!("<Directory {root}>"), "AllowOverride All", "Options +ExecCGI"])
        .directives(&["</Directory>"])
        .start()
}

/// A field `name` of the answer to GET.
fn field(server: &Server, target: &str, name: &str) -> String {
    server.get(target).field(name).unwrap_or_default().to_owned()
}

fn ask(server: &Server, method: &str, target: &str, fields: &str) -> blackbox::response::Response {
    let mut client = server.connect();
    let line = format!("{method} {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n");
    client.send(format!("{line}Content-Length: 0\r\n{fields}\r\n\r\n"));
    if method == "HEAD" { client.head_response() } else { client.response() }
}

fn pages_of_errors_come_whole_whatever_the_conditions(mpm: Mpm) {
    for document in ["/page.html", "/page.cgi"] {
        let server = start(mpm, document);
        let page = field(&server, document, "ETag");
        let modified = field(&server, document, "Last-Modified");
        for (target, status) in ERRORS {
            for condition in CONDITIONS {
                let fields = condition.replace("ETAG", &page).replace("MODIFIED", &modified);
                let what = format!("{document} for {target}: {fields}");
                // Once more: now what may be kept is kept.
                for method in ["GET", "GET", "POST"] {
                    let response = ask(&server, method, target, &fields);
                    assert_eq!(
                        (response.status, response.text().as_str()),
                        (status, PAGE),
                        "{what}"
                    );
                }
                let response = ask(&server, "HEAD", target, &fields);
                assert_eq!(response.status, status, "{what}");
                if document == "/page.html" {
                    let length = PAGE.len().to_string();
                    assert_eq!(response.field("Content-Length"), Some(length.as_str()), "{what}");
                }
            }
        }
    }
}

fn what_takes_the_place_of_a_folder_is_what_was_asked_for(mpm: Mpm) {
    let server = start(mpm, "/page.html");
    for target in ["/index/", "/fallback/anything"] {
        let etag = field(&server, target, "ETag");
        for _ in 0..2 {
            let none = format!("If-None-Match: {etag}");
            assert_eq!(ask(&server, "GET", target, &none).status, 304, "{target}");
            assert_eq!(ask(&server, "HEAD", target, &none).status, 304, "{target}");
            assert_eq!(ask(&server, "GET", target, "If-Match: \"x\"").status, 412, "{target}");
            let part = ask(&server, "GET", target, "Range: bytes=0-3");
            assert_eq!((part.status, part.body.len()), (206, 4), "{target}");
        }
    }
}

each_mpm! {
    pages_of_errors_come_whole_whatever_the_conditions,
    what_takes_the_place_of_a_folder_is_what_was_asked_for,
}
