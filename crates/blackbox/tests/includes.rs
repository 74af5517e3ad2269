//! Pages with server-side includes: trivet and apache2 make the same of them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "includes/pages.rs"]
mod pages;

use blackbox::apache::Pair;
use blackbox::differential::{FRAMING, describe};
use blackbox::fpm::Fpm;
use blackbox::{Client, Mpm, Response, Site, each_mpm};
use pages::{EXECUTABLE, ROWS};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn ask(server: SocketAddr, row: &str) -> Response {
    let (head, body) = row.split_once("\n\n").unwrap_or((row, ""));
    let head = head.replace('\n', "\r\n");
    let mut client = Client::connect(server);
    client.send(format!("{head}\r\nHost: localhost\r\nConnection: close\r\n\r\n{body}"));
    if row.starts_with("HEAD") { client.head_response() } else { client.response() }
}

fn start(test: &str, mpm: Mpm) -> Option<Pair> {
    let mut files = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/includes/site"), "", &mut files);
    files.push(("large.bin".to_owned(), "0123456789".repeat(1234)));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
    let pair = Pair::start(test, mpm, "include", &files)?;
    for (name, mode) in EXECUTABLE {
        let path = pair.site.join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(*mode)).unwrap();
    }
    Some(pair)
}

/// The files of a folder, by their names below it.
fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        match path.is_dir() {
            true => collect(&path, &format!("{name}/"), files),
            false => files.push((name, fs::read_to_string(path).unwrap())),
        }
    }
}

fn pages_are_those_of_httpd(mpm: Mpm) {
    let Some(pair) = start("includes", mpm) else { return };
    let mut wrong = String::new();
    for row in ROWS {
        let [theirs, ours] = [pair.apache.address(), pair.trivet.address()]
            .map(|server| describe(&ask(server, row), server, FRAMING));
        if theirs != ours {
            wrong += &format!("\n== {row}\n-- apache2\n{theirs}\n-- trivet\n{ours}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Pages of many sizes: elements lie across the pieces in which a file is read and a script is
/// heard.
fn elements_are_found_wherever_they_stand(mpm: Mpm) {
    let Some(pair) = start("includes", mpm) else { return };
    let element = "<!--#echo var=\"HERE\" -->";
    for length in [65_500, 65_530, 65_536, 131_060, 300_000] {
        let page = format!("{}{element}{}{element}", "x".repeat(length), "y".repeat(length));
        pair.site.write("large.shtml", &page);
        let script = "#!/bin/sh\nprintf 'Content-Type: text/html\\n\\n'; cat ${0%.cgi}.shtml\n";
        let path = pair.site.write("large.cgi", script);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        pair.site.write(".htaccess", "<Files large.cgi>\nSetOutputFilter INCLUDES\n</Files>\n");
        for target in ["/large.shtml", "/large.cgi"] {
            let [theirs, ours] = [pair.apache.address(), pair.trivet.address()]
                .map(|server| ask(server, &format!("GET {target} HTTP/1.1")));
            assert_eq!((ours.status, theirs.status), (200, 200), "{target} {length}");
            assert!(ours.body == theirs.body, "{target} {length}: {}", ours.body.len());
            assert!(ours.text().contains("&lt;b&gt;"), "{target} {length}");
        }
    }
}

/// A page of ours alone: what costs httpd a thread or its memory.
fn pages_without_end_cost_one_request(mpm: Mpm) {
    let twice = "x<!--#include virtual=\"twice.shtml\" --><!--#include virtual=\"twice.shtml\" -->";
    let double = "<!--#set var=\"a\" value=\"$a$a$a$a$a$a$a$a\" -->".repeat(40);
    let echoes = "<!--#echo var=\"a\" -->".repeat(64);
    let loops = "<!--#include virtual=\"loop.shtml\" -->";
    let server = Site::new(mpm)
        .file("twice.shtml", twice)
        .file("double.shtml", format!("<!--#set var=\"a\" value=\"12345678\" -->{double}{echoes}"))
        .file("loop.shtml", loops)
        .file("nested.shtml", format!("<!--#if expr=\"{}\" -->", "(".repeat(100_000)))
        .file("plain.txt", "plain\n")
        .directives(&["AddOutputFilter INCLUDES .shtml", "Options +Includes"])
        .directives(&["LimitInternalRecursion 1000", "AddType text/html .shtml"])
        .start();
    let children = server.children();
    for (target, status) in [
        ("/twice.shtml", 200),
        ("/double.shtml", 500),
        ("/loop.shtml", 200),
        ("/nested.shtml", 200),
    ] {
        let response = server.get(target);
        assert_eq!(response.status, status, "{target}: {}", server.error_text().len());
        assert_eq!(server.get("/plain.txt").text(), "plain\n", "after {target}");
    }
    server.assert_none_died(&children);
}

/// What is personal in one part makes the page personal: nobody gets that of another.
fn a_page_is_for_its_own_client(mpm: Mpm) {
    let Some(pair) = start("includes", mpm) else { return };
    pair.site.write("outer.shtml", "<!--#include virtual=\"personal.shtml\" -->");
    pair.site.write("personal.shtml", "<!--#echo var=\"HTTP_COOKIE\" -->");
    for round in 0..20 {
        let row = format!("GET /outer.shtml HTTP/1.1\nCookie: me={round}");
        assert_eq!(ask(pair.trivet.address(), &row).text(), format!("me={round}"));
    }
}

/// PHP-FPM with one child: what one part says is taken in before the next is asked for. A body of
/// the request is for none of them.
fn parts_may_be_of_php(mpm: Mpm) {
    let large = "<?php echo str_repeat('0123456789', 40000), \"\\n\";";
    let page = "<!--#set var=\"v\" value=\"known\" --><!--#include virtual=\"a.php?x=1\" -->|\
                <!--#include virtual=\"large.php\" -->|<!--#include virtual=\"a.php\" -->\n";
    let a = "<?php echo $_SERVER['REQUEST_METHOD'], $_SERVER['QUERY_STRING'], $_SERVER['v'], \
             strlen(file_get_contents('php://input'));";
    let site = Site::new(mpm)
        .file("page.shtml", page)
        .file("a.php", a)
        .file("large.php", large)
        .directives(&["AddOutputFilter INCLUDES .shtml", "Options +Includes"])
        .directive("AddType text/html .shtml");
    let socket = site.root().join("fpm.sock");
    let handler = format!("SetHandler \"proxy:unix:{}|fcgi://localhost\"", socket.display());
    let Some(_fpm) = Fpm::start("parts_may_be_of_php", &socket, 1) else { return };
    let server = site.directives(&["<FilesMatch \"\\.php$\">", &handler, "</FilesMatch>"]).start();
    let expected = format!("GETx=1known0|{}\n|GETknown0\n", "0123456789".repeat(40_000));
    for round in 0..4 {
        let mut client = server.connect();
        match round % 2 {
            0 => client.send("GET /page.shtml HTTP/1.1\r\nHost: a\r\n\r\n"),
            _ => {
                client.send("POST /page.shtml HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
            }
        };
        assert_eq!(client.response().text(), expected, "{}", server.error_text());
    }
}

/// What a program says beyond a mebibyte is sent as it comes, in its place.
fn long_output_of_a_program_stays_in_its_place(mpm: Mpm) {
    let Some(pair) = start("includes", mpm) else { return };
    let script = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'; \
                  head -c 3000000 /dev/zero | tr '\\0' x; echo end\n";
    let path = pair.site.write("long.cgi", script);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    pair.site.write(
        "long.shtml",
        "a<!--#include virtual=\"long.cgi\" -->b<!--#exec cmd=\"echo c\" -->d\n",
    );
    let [theirs, ours] = [pair.apache.address(), pair.trivet.address()]
        .map(|server| ask(server, "GET /long.shtml HTTP/1.1"));
    assert!(ours.body == theirs.body, "{} {}", ours.body.len(), theirs.body.len());
    assert!(ours.text().ends_with("xend\nbc\nd\n"));
}

each_mpm! {
    parts_may_be_of_php,
    long_output_of_a_program_stays_in_its_place,
    pages_are_those_of_httpd,
    elements_are_found_wherever_they_stand,
    pages_without_end_cost_one_request,
    a_page_is_for_its_own_client,
}
