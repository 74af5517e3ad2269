//! Requests that go to a FastCGI application by their URL: `ProxyPass`, `ProxyPassMatch`,
//! `<Proxy>`. Beside Apache with the same PHP-FPM: scripts see the same variables, clients the same
//! answers.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use blackbox::apache::Pair;
use blackbox::application::{self, Act, Asked, end, stdout};
use blackbox::differential::{FRAMING, Set, compare_with};
use blackbox::fpm::Fpm;
use blackbox::{Client, Mpm, Server, Site, each_mpm};

/// What a script is told, but for what tells the servers and the connections apart.
const ENVIRONMENT: &str = "<?php
header('Content-Type: text/plain');
foreach (['REMOTE_PORT', 'REQUEST_TIME', 'REQUEST_TIME_FLOAT', 'SERVER_SOFTWARE', 'PATH',
          'SERVER_SIGNATURE', 'SERVER_PORT', 'proxy-nokeepalive'] as $name) {
    unset($_SERVER[$name]);
}
ksort($_SERVER);
foreach ($_SERVER as $name => $value) if (is_string($value)) echo \"$name=$value\\n\";
";

const STATUS: &str = "<?php http_response_code((int) $_GET['s']); setcookie('a', '1'); \
                      header('X-Own: 1'); echo \"body\\n\";";

const SCRIPTS: &[(&str, &str)] = &[
    ("index.php", "<?php echo \"index {$_SERVER['REQUEST_URI']}\\n\";"),
    ("index.html", "the index\n"),
    ("page404.txt", "our own 404\n"),
    ("plain.txt", "not a script\n"),
    ("env.php", ENVIRONMENT),
    ("env.phpx", ENVIRONMENT),
    ("a b.php", ENVIRONMENT),
    ("folder/env.php", ENVIRONMENT),
    ("folder/.htaccess", "Require all denied\nDeny from all\n"),
    ("kept/x.php", "<?php echo 'never';"),
    ("never/env.txt", "plain\n"),
    ("secret/env.php", ENVIRONMENT),
    ("private.php", "<?php echo 'never';"),
    ("denied/env.php", ENVIRONMENT),
    ("generic/env.php", ENVIRONMENT),
    ("override/status.php", STATUS),
    ("some/status.php", STATUS),
    (
        "post.php",
        "<?php header('Content-Type: text/plain'); \
      $body = file_get_contents('php://input'); echo strlen($body), ' ', md5($body), \"\\n\";",
    ),
    (
        "fields.php",
        "<?php header('Location: http://localhost/tree/elsewhere'); header('X-One: 1');",
    ),
    (
        "packed/post.php",
        "<?php header('Content-Type: text/plain'); $body = file_get_contents('php://input'); \
      echo strlen($body), ' ', md5($body), ' ', $_SERVER['HTTP_CONTENT_ENCODING'] ?? 'none';",
    ),
    ("method.php", "<?php echo $_SERVER['REQUEST_METHOD'], \"\\n\";"),
];

const DIFFERENTIAL: Set = Set {
    config: "proxy_pass",
    files: SCRIPTS,
    ignored: FRAMING,
    requests: &[
        "GET /tree/env.php HTTP/1.1",
        "GET /tree/env.php?a=1&b=%20 HTTP/1.1",
        "GET /tree/env.php/path/info HTTP/1.1",
        "GET /tree//env.php HTTP/1.1",
        "GET /treeenv.php HTTP/1.1",
        "GET /tree/a%20b.php HTTP/1.1",
        "GET /tree/env.php/%41%3f%2Fb%25 HTTP/1.1",
        "GET /tree/missing.php HTTP/1.1",
        "GET /tree/denied/env.php HTTP/1.1",
        "GET /tree/folder/env.php HTTP/1.1",
        "GET /tree/folder/../env.php HTTP/1.1",
        "GET /tree/secret/env.php HTTP/1.1",
        "GET /tree/generic/env.php HTTP/1.1",
        "GET /tree/generic/env.php?x HTTP/1.1",
        "GET /tree/override/status.php?s=200 HTTP/1.1",
        "GET /tree/override/status.php?s=404 HTTP/1.1",
        "GET /tree/override/status.php?s=410 HTTP/1.1",
        "GET /tree/override/status.php?s=503 HTTP/1.1",
        "GET /tree/override/status.php?s=302 HTTP/1.1",
        "GET /tree/some/status.php?s=404 HTTP/1.1",
        "GET /tree/some/status.php?s=410 HTTP/1.1",
        "GET /tree/fields.php HTTP/1.1",
        "HEAD /tree/env.php HTTP/1.1",
        "OPTIONS /tree/method.php HTTP/1.1",
        "OPTIONS /env.phpx HTTP/1.1",
        "DELETE /tree/method.php HTTP/1.1",
        "POST /tree/post.php HTTP/1.1\nContent-Length: 5\n\nhello",
        "POST /tree/post.php HTTP/1.1\nTransfer-Encoding: chunked\n\n5\r\nhello\r\n0\r\n\r\n",
        "GET /tree/env.php HTTP/1.1\nMax-Forwards: 5",
        "GET /raw/env.php HTTP/1.1",
        "GET /raw/a%20b.php HTTP/1.1",
        "GET /raw/env.php/a%2Fb HTTP/1.1",
        "GET /raw/env.php?x HTTP/1.1",
        "GET /named/env.php HTTP/1.1",
        "GET /filled/env.php HTTP/1.1",
        "GET /whole/env.php HTTP/1.1",
        "GET /whole/a%20b.php HTTP/1.1",
        "GET /first-dot/env.php/a.b/c HTTP/1.1",
        "GET /first-dot/env.php HTTP/1.1",
        "GET /last-dot/env.php/a/b HTTP/1.1",
        "GET /full-dot/env.php/a/b HTTP/1.1",
        "GET /full-dot/missing.php/a/b HTTP/1.1",
        "GET /other-dot/env.php/a%20b HTTP/1.1",
        "GET /raw2-dot/env.php/a%20b HTTP/1.1",
        "GET /env.php HTTP/1.1",
        "GET /env.php/path/info?q HTTP/1.1",
        "GET /env.php/path%20info HTTP/1.1",
        "GET /folder/env.php HTTP/1.1",
        "GET /missing.php HTTP/1.1",
        "GET / HTTP/1.1",
        "GET /never/env.txt HTTP/1.1",
        "GET /never/missing.php HTTP/1.1",
        "GET /section/env.php HTTP/1.1",
        "GET /section HTTP/1.1",
        "GET /matched/env.php HTTP/1.1",
        "GET /matched/env.txt HTTP/1.1",
        "GET /tree/env.php?switched-off HTTP/1.1",
        "GET /tree/switched-off/env.php HTTP/1.1",
        "GET /env.phpx/info HTTP/1.1",
        "GET /gone HTTP/1.1",
        "GET /plain.txt HTTP/1.1",
        "GET /http/x HTTP/1.1",
        "GET http://localhost/tree/env.php HTTP/1.1",
    ],
    different: &[
        ("GET /private.php HTTP/1.1", "the source of a script that nothing runs is not sent"),
        ("GET /kept/x.php HTTP/1.1", "the source of a script that nothing runs is not sent"),
    ],
};

fn scripts_and_clients_see_what_they_see_with_apache(mpm: Mpm) {
    let test = "proxy_pass: beside apache2";
    compare_with(test, mpm, &DIFFERENTIAL, |pair| Fpm::start(test, &pair.site.join("fpm.sock"), 4));
}

/// What gzip makes of it.
fn packed(content: &[u8]) -> Vec<u8> {
    let mut gzip = Command::new("gzip");
    let mut gzip = gzip.arg("-9c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = gzip.stdin.take().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || input.write_all(content).unwrap());
        let mut output = Vec::new();
        gzip.stdout.take().unwrap().read_to_end(&mut output).unwrap();
        gzip.wait().unwrap();
        output
    })
}

fn bodies_are_unpacked_for_scripts(mpm: Mpm) {
    let test = "bodies_are_unpacked_for_scripts";
    let Some(pair) = Pair::start(test, mpm, "proxy_pass", SCRIPTS) else { return };
    let Some(_fpm) = Fpm::start(test, &pair.site.join("fpm.sock"), 4) else { return };
    let text: String = (0..20_000).map(|number| format!("{number} ")).collect();
    let good = packed(text.as_bytes());
    let mut wrong = good.clone();
    let end = wrong.len();
    wrong[end - 5] ^= 1;
    for (what, coding, body) in [
        ("gzip", "gzip", good.clone()),
        ("its old name", "X-Gzip", good.clone()),
        ("one of two", "br, gzip", good.clone()),
        ("one that does not count", "gzip, identity", good.clone()),
        ("little", "gzip", packed(b"x")),
        ("nothing", "gzip", Vec::new()),
        ("plain text", "identity", text.clone().into_bytes()),
        ("no coding", "br", b"abc".to_vec()),
        ("a part", "gzip", good[..end - 100].to_vec()),
        ("a wrong sum", "gzip", wrong),
        ("no gzip", "gzip", b"this is no gzip, whatever it says".to_vec()),
        ("very much of little", "gzip", packed(&vec![0; 2_000_000])),
        ("too much", "gzip", packed(&(0..3_500_000_u32).map(noise).collect::<Vec<u8>>())),
    ] {
        let head = format!(
            "POST /tree/packed/post.php HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let ask = |address| {
            let mut client = Client::connect(address);
            client.send([head.as_bytes(), &body].concat());
            let response = client.response();
            let text = response.text();
            (response.status, if response.status == 200 { text } else { String::new() })
        };
        let (theirs, ours) = (ask(pair.apache.address()), ask(pair.trivet.address()));
        assert_eq!(theirs, ours, "{what}");
    }
}

/// Bytes that are packed to about half of their length.
fn noise(number: u32) -> u8 {
    let mixed = number.wrapping_mul(2_654_435_761);
    (mixed >> 24) as u8 & 0x0f
}

/// A site with a script, and PHP-FPM for it; `{}` in the lines is the URL of its folder.
fn start(test: &str, mpm: Mpm, script: &str, lines: &[&str]) -> Option<(Server, Fpm)> {
    let site = Site::new(mpm).file("x.php", script);
    let socket = site.root().join("fpm.sock");
    let fpm = Fpm::start(test, &socket, 4)?;
    let folder = site.root().path().display();
    let url = format!("unix:{}|fcgi://localhost{folder}", socket.display());
    let lines: Vec<String> = lines.iter().map(|line| line.replace("{}", &url)).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    Some((site.directives(&lines).start(), fpm))
}

const SLEEP: &str = "<?php usleep((int) ($_GET['ms'] ?? 0) * 1000); echo \"slept\\n\";";

fn a_backend_has_a_timeout_of_its_own(mpm: Mpm) {
    let lines = ["ProxyTimeout 20", "ProxyPass /app {} timeout=1", "ProxyPass /slow {}"];
    let test = "a_backend_has_a_timeout_of_its_own";
    let Some((server, _fpm)) = start(test, mpm, SLEEP, &lines) else { return };
    assert_eq!(server.get("/app/x.php?ms=300").text(), "slept\n");
    let begun = Instant::now();
    assert_eq!(server.get("/app/x.php?ms=4000").status, 504);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert!(server.error_text().contains("AH01075"));
}

fn a_host_has_a_timeout_for_all_backends(mpm: Mpm) {
    let lines = ["Timeout 20", "ProxyTimeout 1", "ProxyPass /app {}"];
    let test = "a_host_has_a_timeout_for_all_backends";
    let Some((server, _fpm)) = start(test, mpm, SLEEP, &lines) else { return };
    let begun = Instant::now();
    assert_eq!(server.get("/app/x.php?ms=4000").status, 504);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

/// An address at which nobody listens.
fn nowhere() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn a_backend_that_is_away_is_asked_every_time_unless_it_may_be_left_alone(mpm: Mpm) {
    if mpm == Mpm::Prefork {
        return; // each process finds out for itself
    }
    let (plain, marked, patient) = (nowhere(), nowhere(), nowhere());
    let lines = [
        format!("ProxyPass /plain fcgi://{plain}/"),
        format!("ProxyPass /marked fcgi://{marked}/ status=-I"),
        format!("ProxyPass /patient fcgi://{patient}/ retry=30"),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let server = Site::new(mpm).directives(&lines).directives(&["ServerLimit 1"]).start();
    for _ in 0..3 {
        assert_eq!(server.get("/plain/x.php").status, 503);
        assert_eq!(server.get("/marked/x.php").status, 503);
        assert_eq!(server.get("/patient/x.php").status, 503);
    }
    let log = server.error_text();
    let count = |text: &str| log.matches(text).count();
    // The first of each: those like it are counted.
    assert_eq!(count("AH00957"), 3, "{log}");
    assert_eq!(count("AH00959"), 2, "{log}");
    assert_eq!(count("AH00940"), 2, "{log}");
}

fn what_cannot_be_spoken_is_said_once_and_for_each_request(mpm: Mpm) {
    let lines = ["ProxyPass /http http://127.0.0.1:1/", "ProxyPass /group balancer://nobody/"];
    let server = Site::new(mpm).directives(&lines).start();
    for target in ["/http/x", "/group/x"] {
        assert_eq!(server.get(target).status, if target == "/http/x" { 500 } else { 503 });
    }
    let log = server.error_text();
    assert!(log.contains("AH01144") && log.contains("AH01171"), "{log}");
}

fn nothing_that_a_client_sends_leads_out_of_its_folder(mpm: Mpm) {
    let lines = ["ProxyPass /app {}", "ProxyPass /raw {} nocanon"];
    let test = "nothing_that_a_client_sends";
    let script = "<?php echo $_SERVER['SCRIPT_FILENAME'];";
    let Some((server, _fpm)) = start(test, mpm, script, &lines) else { return };
    assert!(server.get("/app/x.php").text().ends_with("/x.php"));
    // Steps are gone before it is handed on, even where it is handed on as it came.
    for target in ["/raw/../raw/x.php", "/raw/y/%2e%2e/x.php", "/raw/./x.php"] {
        let text = server.get(target).text();
        assert!(text.ends_with("/x.php") && !text.contains("/."), "{target}: {text}");
    }
    for (target, status) in [
        ("/app/x.php%00", 404),
        ("/app/x.php%3fy", 404),
        ("/raw/x.php%0a", 404),
        ("/raw/x.php?y", 403),
        ("/app/../../etc/passwd", 400),
        ("/app/%2e%2e/etc/passwd", 404),
    ] {
        let response = server.get(target);
        assert_eq!(response.status, status, "{target}: {}", response.text());
        assert!(!response.text().contains("/etc"), "{target}: {}", response.text());
    }
}

fn several_clients_are_served_at_a_time(mpm: Mpm) {
    let test = "several_clients_are_served_at_a_time";
    let Some((server, _fpm)) = start(test, mpm, SLEEP, &["ProxyPass /app {}"]) else { return };
    let begun = Instant::now();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(server.get("/app/x.php?ms=500").text(), "slept\n"));
        }
    });
    assert!(begun.elapsed() < Duration::from_millis(1900), "{:?}", begun.elapsed());
}

fn another_handler_ends_what_an_outer_section_names(mpm: Mpm) {
    let answers =
        |_: &Asked| vec![Act::Send([stdout("Content-Type: text/plain\r\n\r\nx"), end()].concat())];
    let backend = format!("proxy:fcgi://127.0.0.1:{}", application::listen_at_port(answers).port());
    let server = Site::new(mpm)
        .file("a/b/here.php", "")
        .directives(&["<Location /a>", &format!("SetHandler {backend}"), "</Location>"])
        .directives(&["<Location /a/b>", "SetHandler none"])
        .directives(&[&format!("AddHandler {backend} .php"), "</Location>"])
        .start();
    assert_eq!(server.get("/a/missing.php").status, 200, "the URLs are the backend's");
    assert_eq!(server.get("/a/b/missing.php").status, 404, "those of files are not");
    assert_eq!(server.get("/a/b/here.php").text(), "x");
}

each_mpm! {
    scripts_and_clients_see_what_they_see_with_apache,
    a_backend_has_a_timeout_of_its_own,
    a_host_has_a_timeout_for_all_backends,
    a_backend_that_is_away_is_asked_every_time_unless_it_may_be_left_alone,
    what_cannot_be_spoken_is_said_once_and_for_each_request,
    nothing_that_a_client_sends_leads_out_of_its_folder,
    several_clients_are_served_at_a_time,
    bodies_are_unpacked_for_scripts,
    another_handler_ends_what_an_outer_section_names,
}
