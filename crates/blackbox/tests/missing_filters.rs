//! Output filters that there are not: what needs one is never sent as it lies in its file.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::httpd::Root;
use blackbox::{Client, Mpm, Server, Site, each_mpm};

const SECRET: &str = "<!--#exec cmd=\"id\" --> password";

fn start(mpm: Mpm, lines: &[&str]) -> Server {
    Site::new(mpm)
        .file("page.shtml", SECRET)
        .file("page.txt", SECRET)
        .file("folder/index.shtml", SECRET)
        .file("own/.htaccess", "SetOutputFilter EXT_FILTER\n")
        .file("own/page.txt", SECRET)
        .directives(lines)
        .start()
}

/// Whether a request is refused, under each method that would show the content.
fn is_refused(server: &Server, target: &str) -> bool {
    let answers = ["GET", "HEAD", "POST"].map(|method| {
        let mut client = server.connect();
        let head = format!("{method} {target} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
        client.send(&head);
        let answer = if method == "HEAD" { client.head_response() } else { client.response() };
        assert!(matches!(answer.status, 200 | 503), "{method} {target}: {}", answer.status);
        assert!(answer.status == 200 || !answer.text().contains("password"), "{answer:?}");
        answer.status == 503
    });
    assert!(answers.iter().all(|it| *it == answers[0]), "{target}: {answers:?}");
    answers[0]
}

fn what_needs_a_filter_that_is_not_there_is_503(mpm: Mpm) {
    let all = ["/page.shtml", "/page.txt", "/folder/"];
    for (lines, refused) in [
        (&["AddOutputFilter EXT_FILTER .shtml"][..], &["/page.shtml", "/folder/"][..]),
        (&["AddOutputFilter DEFLATE;EXT_FILTER .shtml"], &["/page.shtml", "/folder/"]),
        (&["SetOutputFilter EXT_FILTER;DEFLATE"], &all),
        (&["<Files \"*.txt\">", "SetOutputFilter sed", "</Files>"], &["/page.txt"]),
        (&["SetOutputFilter RATE_LIMIT"], &[]),
        (&["SetOutputFilter NONE"], &[]),
        (&["Options +Indexes"], &[]),
    ] {
        let index = "DirectoryIndex index.shtml";
        let server = start(mpm, &[&[index], lines].concat());
        // Cold and warm: answers are prepared once they have been asked for.
        for _ in 0..3 {
            let found: Vec<_> = all.iter().copied().filter(|it| is_refused(&server, it)).collect();
            assert_eq!(found, refused, "{lines:?}");
        }
    }
}

fn what_has_no_content_is_answered_as_ever(mpm: Mpm) {
    let lines = ["Options +Includes +Indexes", "DirectoryIndex none", "SetOutputFilter EXT_FILTER"];
    let server = start(mpm, &lines);
    for (request, status) in [
        ("GET /nothing.shtml", 404),
        ("GET /nothing/", 404),
        ("GET /page.shtml/x", 404),
        ("OPTIONS /page.shtml", 200),
        ("OPTIONS /folder/", 200),
        ("PUT /page.shtml", 405),
        ("FOO /page.shtml", 501),
        ("GET /folder/", 200),
        ("GET /server-status", 200),
        ("GET /page.shtml", 503),
    ] {
        let head = format!("{request} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
        let answer = server.exchange(head);
        assert_eq!(answer.status, status, "{request}: {}", answer.text());
        assert!(!answer.text().contains("password"), "{request}");
    }
}

fn a_htaccess_file_may_ask_for_such_a_filter(mpm: Mpm) {
    let lines = ["<Directory />", "AllowOverride All", "</Directory>"];
    let server = start(mpm, &lines);
    assert!(is_refused(&server, "/own/page.txt"));
    assert!(!is_refused(&server, "/page.txt"));
    let log = server.error_text();
    assert!(log.contains("there is no output filter EXT_FILTER, which "), "{log}");
}

/// Pages whose module is not loaded are as good as pages without one.
fn a_page_whose_module_is_not_loaded_is_503(mpm: Mpm) {
    for lines in [
        "AddOutputFilter INCLUDES .shtml",
        "AddOutputFilter INCLUDES .shtml\nOptions +Includes",
        "Options +Includes",
        "Options +IncludesNOEXEC",
        "SetOutputFilter SUBSTITUTE",
    ] {
        let mime = "LoadModule mime_module modules/mod_mime.so\nTypesConfig mime.types\n";
        let root = Root::under(mpm, &format!("{mime}<Location />\n{lines}\n</Location>\n"));
        root.folder.write("mime.types", "");
        root.folder.write("htdocs/page.shtml", SECRET);
        root.start();
        let mut client = Client::connect(root.address);
        client.send("GET /page.shtml HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        assert_eq!(client.response().status, 503, "{lines}");
    }
}

each_mpm! {
    a_page_whose_module_is_not_loaded_is_503,
    what_needs_a_filter_that_is_not_there_is_503,
    what_has_no_content_is_answered_as_ever,
    a_htaccess_file_may_ask_for_such_a_filter,
}
