//! Errors and PHP: what scripts are told that answer for an error, and what becomes of errors that
//! scripts make themselves, beside Apache with the same PHP-FPM.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use blackbox::differential::{FRAMING, Set, compare_with};
use blackbox::fpm::Fpm;
use blackbox::{Mpm, Site, each_mpm};

/// What a script is told, but for what tells the servers and the connections apart.
const ENVIRONMENT: &str = "<?php
header('Content-Type: text/plain');
foreach (['PORT', 'TIME', 'TIME_FLOAT', 'SOFTWARE', 'SIGNATURE', 'HOST', 'PATH',
          'proxy-nokeepalive'] as $end)
    foreach (array_keys($_SERVER) as $name) if (str_ends_with($name, $end)) unset($_SERVER[$name]);
ksort($_SERVER);
foreach ($_SERVER as $name => $value) if (is_string($value)) echo \"$name=$value\\n\";
echo 'body: ', file_get_contents('php://input'), \"\\n\";
";

const LINE: &str = "<?php header(urldecode($_SERVER['QUERY_STRING'])); echo \"a body\\n\";";

const FILES: &[(&str, &str)] = &[
    ("mute.cgi", "#!/bin/sh\n"),
    ("close.cgi", "#!/bin/sh\necho 'Connection: close'\necho 'X-A: b'\necho\n"),
    ("bad.cgi", "#!/bin/sh\necho '<bad>'\necho"),
    ("env.php", ENVIRONMENT),
    ("line.php", LINE),
    ("front/env.php", ENVIRONMENT),
    ("front/sub/x", "x"),
    ("other/sub/x", "x"),
    ("indexed/x", "x"),
    ("note.txt", "too long\n"),
    ("text/a.txt", "a text\n"),
];

const DIFFERENTIAL: Set = Set {
    config: "php_errors",
    files: FILES,
    ignored: FRAMING,
    requests: &[
        "POST /text/a.txt HTTP/1.1\nContent-Length: 12\n\n0123456789ab",
        "POST /text/missing HTTP/1.1\nContent-Length: 3\n\nabc",
        "POST /env.php HTTP/1.1\nTransfer-Encoding: chunked\n\n3\r\nabc\r\n0\r\n\r\n",
        "POST /missing HTTP/1.1\nTransfer-Encoding: chunked\n\n3\r\nabc\r\n0\r\n\r\n",
        "GET /missing HTTP/1.1\nContent-Length: 3\n\nabc",
        "GET /missing HTTP/1.1",
        "GET /text/ HTTP/1.1",
        "GET /closed HTTP/1.1",
        "GET /mute.cgi HTTP/1.1",
        "GET /bad.cgi HTTP/1.1",
        "GET /line.php?Connection:%20close HTTP/1.1\nConnection: keep-alive",
        "GET /close.cgi HTTP/1.1\nConnection: keep-alive",
        "GET /line.php?HTTP/1.1%20404%20Not%20Found HTTP/1.1\nConnection: keep-alive",
        "GET /front/sub/ HTTP/1.1",
        "GET /front/ HTTP/1.1",
        "GET /front/a/b?c HTTP/1.1",
        "POST /front/a HTTP/1.1\nContent-Length: 3\n\nabc",
        "GET /other/x HTTP/1.1",
        "GET /aliased/x HTTP/1.1",
        "GET /aliased/sub/ HTTP/1.1",
        "GET /indexed/ HTTP/1.1",
        "GET /over/line.php?HTTP/1.1%20418%20Teapot HTTP/1.1",
        "GET /over/line.php?Status:%20499 HTTP/1.1",
        "GET /over/line.php?Status:%20520%20Odd HTTP/1.1",
        "GET /over/line.php?Status:%20404%20Nope HTTP/1.1",
        "GET /over/line.php?Status:%20503%20Busy HTTP/1.1",
        "GET /over/line.php?Status:%20599%20%22odd%22 HTTP/1.1",
        "GET /page/line.php?HTTP/1.1%20418%20Teapot HTTP/1.1",
        "GET /page/line.php?Status:%20499 HTTP/1.1",
        "GET /page/line.php?Status:%20520%20Odd HTTP/1.1",
        "GET /page/line.php?Status:%20404%20Nope HTTP/1.1",
        "GET /page/line.php?Status:%20503%20Busy HTTP/1.1",
        "GET /page/line.php?Status:%20599%20%22odd%22 HTTP/1.1",
        "GET /said/line.php?HTTP/1.1%20418%20Teapot HTTP/1.1",
        "GET /said/line.php?Status:%20499 HTTP/1.1",
        "GET /said/line.php?Status:%20520%20Odd HTTP/1.1",
        "GET /said/line.php?Status:%20404%20Nope HTTP/1.1",
        "GET /said/line.php?Status:%20503%20Busy HTTP/1.1",
        "GET /said/line.php?Status:%20599%20%22odd%22 HTTP/1.1",
    ],
    different: &[
        (
            "GET /page/line.php?HTTP/1.1%20404%20 HTTP/1.1",
            "a status without a reason keeps the one that everybody knows",
        ),
        (
            "POST /env.php HTTP/1.1\nContent-Length: 12\n\n0123456789ab",
            "LimitRequestBody holds for bodies that are handed on, too",
        ),
    ],
};

fn scripts_and_clients_see_what_they_see_with_apache(mpm: Mpm) {
    let test = "php_errors: beside apache2";
    compare_with(test, mpm, &DIFFERENTIAL, |pair| {
        for (name, _) in FILES.iter().filter(|file| file.0.ends_with(".cgi")) {
            fs::set_permissions(pair.site.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        Fpm::start(test, &pair.site.join("fpm.sock"), 4)
    });
}

fn a_script_may_end_the_connection(mpm: Mpm) {
    let site = Site::new(mpm).file("line.php", LINE);
    let socket = site.root().join("fpm.sock");
    let handler = format!("SetHandler \"proxy:unix:{}|fcgi://localhost\"", socket.display());
    let Some(_fpm) = Fpm::start("a_script_may_end", &socket, 2) else { return };
    let server = site.directives(&["<Files *.php>", &handler, "</Files>"]).start();
    let mut client = server.connect();
    // What else it says of the connection is for the server to say.
    for line in ["Connection:%20X-A", "Keep-Alive:%20timeout=99", "Connection:%20keep-alive"] {
        let response = client.get(&format!("/line.php?{line}"));
        let of_script = ["X-A", "timeout=99"]
            .iter()
            .any(|text| response.fields.iter().any(|field| field.1 == text.as_bytes()));
        assert!(response.status == 200 && !response.says_close() && !of_script, "{response:?}");
    }
    let response = client.get("/line.php?Connection:%20X-A,%20close");
    assert_eq!(response.field("Connection"), Some("close"), "{response:?}");
    client.assert_closed();
}

each_mpm! {
    a_script_may_end_the_connection,
    scripts_and_clients_see_what_they_see_with_apache,
}
