//! What the server remembers for a second of how it came to a script: it is used for requests that
//! are alike, and never for one that is not.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use blackbox::client::Client;
use blackbox::dice::{Dice, number};
use blackbox::fpm::Fpm;
use blackbox::{Mpm, Server, Site, each_mpm, wait_for};

const ENVIRONMENT: &str = "<?php header('Content-Type: text/plain'); \
    foreach ($_SERVER as $name => $value) if (is_string($value)) echo \"$name=$value\\n\"; \
    echo 'body=', file_get_contents('php://input'), \"\\n\";";

/// So many requests for one path let a plan be made and used.
const ENOUGH: usize = 4;

/// A site with `lines`, and PHP-FPM for its scripts.
fn start(test: &str, mpm: Mpm, lines: &[&str]) -> Option<(Server, Fpm)> {
    let site = Site::new(mpm).steady().file("env.php", ENVIRONMENT);
    let site = site.file("hello.php", "<?php echo \"Hello\\n\";");
    let socket = site.root().join("fpm.sock");
    let handler = format!("SetHandler \"proxy:unix:{}|fcgi://localhost\"", socket.display());
    let fpm = Fpm::start(test, &socket, 2)?;
    let site = site.directives(&["<FilesMatch \"\\.php$\">", &handler, "</FilesMatch>"]);
    Some((site.directives(lines).start(), fpm))
}

/// A moment after which most of a second is left.
fn early_in_a_second() {
    let is_early = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        now.subsec_millis() < 300
    };
    wait_for("the beginning of a second", 5, is_early);
}

/// A connection on which `target` was asked for often enough, early in a second.
fn acquainted(server: &Server, target: &str) -> Client {
    let mut client = server.connect();
    early_in_a_second();
    for _ in 0..ENOUGH {
        assert_eq!(client.get(target).status, 200, "{target}");
    }
    client
}

fn ask(client: &mut Client, line: &str, fields: &str) -> (u16, String) {
    client.send(format!("{line} HTTP/1.1\r\nHost: a\r\n{fields}\r\n"));
    let response = client.response();
    (response.status, response.text())
}

fn value<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
}

fn every_request_is_told_as_it_is(mpm: Mpm) {
    let test = "every_request_is_told_as_it_is";
    let Some((server, _fpm)) = start(test, mpm, &["SetEnv SET always"]) else { return };
    let mut client = acquainted(&server, "/env.php");
    let port = client.stream().local_addr().unwrap().port().to_string();
    for nth in 0..3 * ENOUGH {
        let line = format!("GET /env.php?n={nth}");
        let own = format!("X-N: {nth}\r\nCookie: c={nth}\r\n");
        let (status, text) = ask(&mut client, &line, if nth % 2 == 0 { &own } else { "" });
        let number = nth.to_string();
        let expected = (nth % 2 == 0).then_some(number.as_str());
        assert_eq!((status, value(&text, "HTTP_X_N")), (200, expected), "{text}");
        assert_eq!(value(&text, "HTTP_COOKIE").is_some(), nth % 2 == 0, "{text}");
        assert_eq!(value(&text, "QUERY_STRING"), Some(&*format!("n={nth}")));
        assert_eq!(value(&text, "REQUEST_URI"), Some(&*format!("/env.php?n={nth}")));
        assert_eq!(
            (value(&text, "REMOTE_PORT"), value(&text, "SET")),
            (Some(&*port), Some("always"))
        );
        assert!(value(&text, "PATH_INFO").is_none() && value(&text, "CONTENT_LENGTH").is_none());
    }
    let (_, text) = ask(&mut client, "GET /env.php", "X-Two: 1\r\nx-two: 2\r\n");
    assert_eq!(value(&text, "HTTP_X_TWO"), Some("1, 2"));
    let (_, text) =
        ask(&mut client, "GET /env.php", "Proxy: evil\r\nAuthorization: Basic eA==\r\n");
    assert!(value(&text, "HTTP_PROXY").is_none() && value(&text, "HTTP_AUTHORIZATION").is_none());
    for nth in 0..ENOUGH {
        let fields = "Content-Length: 3\r\nContent-Type: text/x\r\n\r\nab";
        client.send(format!("POST /env.php HTTP/1.1\r\nHost: a\r\n{fields}{nth}"));
        let text = client.response().text();
        assert_eq!(value(&text, "body"), Some(&*format!("ab{nth}")), "{text}");
        assert_eq!(value(&text, "CONTENT_TYPE"), Some("text/x"));
        let (_, text) = ask(&mut client, "GET /env.php/in/fo", "");
        assert_eq!(value(&text, "PATH_INFO"), Some("/in/fo"));
        client.send("HEAD /env.php HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(client.head_response().status, 200);
        let (_, text) = ask(&mut client, "GET /env.php", "");
        assert_eq!((value(&text, "REQUEST_METHOD"), value(&text, "body")), (Some("GET"), Some("")));
    }
}

fn every_host_is_called_by_its_name(mpm: Mpm) {
    let test = "every_host_is_called_by_its_name";
    let Some((server, _fpm)) = start(test, mpm, &[]) else { return };
    let mut client = acquainted(&server, "/env.php");
    for nth in 0..3 * ENOUGH {
        let (name, port) = [("one", 80), ("two", 80), ("two", 8080)][nth % 3];
        client.send(format!("GET /env.php HTTP/1.1\r\nHost: {name}:{port}\r\n\r\n"));
        let text = client.response().text();
        assert_eq!(value(&text, "SERVER_NAME"), Some(name), "{text}");
        assert_eq!(value(&text, "SERVER_PORT"), Some(&*port.to_string()), "{text}");
        assert_eq!(value(&text, "HTTP_HOST"), Some(&*format!("{name}:{port}")), "{text}");
    }
}

fn two_hosts_with_the_same_path_have_a_script_each(mpm: Mpm) {
    let test = "two_hosts_with_the_same_path";
    let other = blackbox::scratch::Scratch::new();
    other.write("env.php", "<?php echo \"other\\n\";");
    let lines = format!(
        "<VirtualHost *>\nServerName one\n</VirtualHost>\n\
         <VirtualHost *>\nServerName two\nDocumentRoot {}\n</VirtualHost>",
        other.path().display()
    );
    let lines: Vec<&str> = lines.lines().collect();
    let Some((server, _fpm)) = start(test, mpm, &lines) else { return };
    let mut client = server.connect();
    early_in_a_second();
    for nth in 0..4 * ENOUGH {
        client.send(format!("GET /env.php HTTP/1.1\r\nHost: {}\r\n\r\n", ["one", "two"][nth % 2]));
        let text = client.response().text();
        assert_eq!(text == "other\n", nth % 2 == 1, "{nth}: {text}");
    }
}

fn rules_about_requests_are_asked_for_each(mpm: Mpm) {
    let lines = [
        "SetEnvIf X-Flag (.+) FLAG=$1",
        "SetEnvIf User-Agent ^evil banned",
        "RequestHeader set X-Seen yes",
        "RequestHeader unset X-Gone",
        "<Location /env.php>",
        "<RequireAll>\nRequire all granted\nRequire not env banned\n</RequireAll>",
        "<If \"%{QUERY_STRING} == 'no'\">\nRequire all denied\n</If>",
        "</Location>",
        "<Location /hello.php>",
        "<Limit POST>\nRequire env may-post\n</Limit>",
        "RequestHeader unset X-Gone",
        "</Location>",
        "SetEnvIf X-May . may-post",
    ];
    let lines: Vec<&str> = lines.iter().flat_map(|line| line.lines()).collect();
    let test = "rules_about_requests";
    let Some((server, _fpm)) = start(test, mpm, &lines) else { return };
    let mut client = acquainted(&server, "/env.php");
    for nth in 0..ENOUGH {
        let (status, text) = ask(&mut client, "GET /env.php", "X-Flag: red\r\nX-Gone: 1\r\n");
        assert_eq!((status, value(&text, "FLAG")), (200, Some("red")), "{text}");
        assert_eq!((value(&text, "HTTP_X_SEEN"), value(&text, "HTTP_X_GONE")), (Some("yes"), None));
        let (status, text) = ask(&mut client, "GET /env.php", "");
        assert_eq!((status, value(&text, "FLAG")), (200, None), "{nth}: {text}");
        assert_eq!(ask(&mut client, "GET /env.php", "User-Agent: evil\r\n").0, 403);
        assert_eq!(ask(&mut client, "GET /env.php?no", "").0, 403);
    }
    assert_eq!(ask(&mut client, "GET /env.php?no=", "").0, 200);
    let mut client = acquainted(&server, "/hello.php");
    for _ in 0..ENOUGH {
        let post = |length: usize, may: &str| {
            let body = "x".repeat(length);
            format!(
                "POST /hello.php HTTP/1.1\r\nHost: a\r\n{may}Content-Length: {length}\r\n\r\n{body}"
            )
        };
        client.send(post(3, "X-May: 1\r\n"));
        assert_eq!(client.response().status, 200);
        client.send(post(3, ""));
        assert_eq!(client.response().status, 403);
        assert_eq!(client.get("/hello.php").status, 200);
    }
}

fn a_condition_holds_behind_any_number_of_requests_without_it(mpm: Mpm) {
    let lines = ["<If \"%{QUERY_STRING} == 'no'\">", "Require all denied", "</If>"];
    let test = "a_condition_holds_behind";
    let Some((server, _fpm)) = start(test, mpm, &lines) else { return };
    let mut client = acquainted(&server, "/hello.php");
    for _ in 0..ENOUGH {
        assert_eq!(client.get("/hello.php?no").status, 403);
        assert_eq!(client.get("/hello.php?yes").status, 200);
    }
}

fn a_body_has_its_limit_behind_any_number_of_short_ones(mpm: Mpm) {
    let test = "a_body_has_its_limit";
    let Some((server, _fpm)) = start(test, mpm, &["LimitRequestBody 10"]) else { return };
    let mut client = server.connect();
    early_in_a_second();
    for length in [1, 2, 3, 4, 10, 11] {
        let body = "x".repeat(length);
        client.send(format!(
            "POST /env.php HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}"
        ));
        let response = client.response();
        assert_eq!(response.status, if length > 10 { 413 } else { 200 }, "{length}");
    }
}

fn what_htaccess_files_say_counts_at_once(mpm: Mpm) {
    let lines = ["<Directory />", "AllowOverride All", "</Directory>"];
    let test = "what_htaccess_files_say";
    let Some((server, _fpm)) = start(test, mpm, &lines) else { return };
    let mut client = acquainted(&server, "/env.php");
    let file = server.root().join(".htaccess");
    for nth in 0..ENOUGH {
        fs::write(&file, "Require all denied\n").unwrap();
        assert_eq!(client.get("/env.php").status, 403, "{nth}");
        fs::write(&file, format!("SetEnv NTH {nth}\n")).unwrap();
        assert_eq!(value(&client.get("/env.php").text(), "NTH"), Some(&*nth.to_string()));
        fs::remove_file(&file).unwrap();
        for _ in 0..ENOUGH {
            assert_eq!(value(&client.get("/env.php").text(), "NTH"), None);
        }
    }
}

/// What a `.htaccess` file may say; an empty text stands for no file. Some are of one length.
const ACCESS_FILES: &[&str] = &[
    "",
    "",
    "SetEnv V one\n",
    "SetEnv V two\n",
    "SetEnv V four\n",
    "UnsetEnv V\n",
    "Require all denied\n",
    "Require all granted\n",
    "SetEnvIf X-Flag (.+) V=$1\n",
    "<If \"%{HTTP:X-Flag} == 'blue'\">\nRequire all denied\n</If>\n",
    "<Files env.php>\nSetEnv V files\n</Files>\n",
    "SetHandler none\n",
    "AddType text/x-own .php\n",
    "DirectoryIndex hello.php\n",
    "Bad line\n",
];

/// Files come, change and go in the folders of a script that is asked for again and again. What is
/// remembered of a look-up answers as if nobody had asked before: a path with slashes in a number
/// of its own has not been asked for.
fn what_is_remembered_beside_htaccess_files_is_what_they_say_now(mpm: Mpm) {
    let lines = ["<Directory />", "AllowOverride All", "</Directory>"];
    let test = "what_is_remembered_beside_htaccess";
    let Some((server, _fpm)) = start(test, mpm, &lines) else { return };
    let folders = ["", "sub/", "sub/deep/"];
    for folder in &folders[1..] {
        fs::create_dir(server.root().join(folder)).unwrap();
        fs::write(server.root().join(folder).join("env.php"), ENVIRONMENT).unwrap();
    }
    let seed = number("TRIVET_SEED").unwrap_or(1);
    let (mut dice, mut client) = (Dice::new(seed), server.connect());
    let mut slashes = 1;
    for step in 0..80 {
        let file = server.root().join(dice.one_of(&folders)).join(".htaccess");
        let says = *dice.one_of(ACCESS_FILES);
        match (says, dice.once_in(2)) {
            ("", _) => drop(fs::remove_file(&file)),
            (_, true) => fs::write(&file, says).unwrap(),
            (_, false) => {
                let new = file.with_extension("new");
                fs::write(&new, says).unwrap();
                fs::rename(&new, &file).unwrap();
            }
        }
        for nth in 0..ENOUGH {
            let folder = dice.one_of(&folders);
            let flag = *dice.one_of(&["", "X-Flag: red\r\n", "X-Flag: blue\r\n"]);
            let mut said = |line: &str| {
                let (status, text) = ask(&mut client, line, flag);
                let told = ["V", "SCRIPT_NAME", "HTTP_X_FLAG"]
                    .map(|name| value(&text, name).unwrap_or_default().to_owned());
                if status == 500 {
                    client = server.connect(); // it ends the connection
                }
                (status, told, text.starts_with("<?php"))
            };
            let warm = said(&format!("GET /{folder}env.php"));
            slashes += 1;
            let cold = said(&format!("GET {}{folder}env.php", "/".repeat(slashes)));
            assert_eq!(warm, cold, "seed {seed}, step {step}, {nth}: {folder} {flag:?} {says:?}");
        }
    }
}

/// Within the second PHP-FPM says that there is no such script, and then the server does.
fn a_script_that_is_gone_is_not_found(mpm: Mpm) {
    let test = "a_script_that_is_gone";
    let Some((server, _fpm)) = start(test, mpm, &[]) else { return };
    let (here, aside) = (server.root().join("hello.php"), server.root().join("aside"));
    // It has two ways to say so.
    let said = ["File not found.\n", "No input file specified.\n"];
    let is_ours = |text: &str| text.contains("The requested URL was not found");
    let mut client = server.connect();
    // Where the machine is busy the second may be over before the script is asked for.
    wait_for("the word of PHP-FPM", 20, || {
        client = acquainted(&server, "/hello.php");
        fs::rename(&here, &aside).unwrap();
        let response = client.get("/hello.php");
        let text = response.text();
        let is_fpms = said.contains(&&*text);
        assert!(response.status == 404 && (is_fpms || is_ours(&text)), "{text}");
        if !is_fpms {
            fs::rename(&aside, &here).unwrap();
        }
        is_fpms
    });
    let log = server.error_text();
    assert!(log.to_ascii_lowercase().contains("primary script"), "{log}");
    wait_for("our own page", 5, || is_ours(&client.get("/hello.php").text()));
    fs::rename(&aside, &here).unwrap();
    assert_eq!(client.get("/hello.php").text(), "Hello\n");
    // What has taken the place of a script is no script within a second, too.
    let mut client = acquainted(&server, "/hello.php");
    fs::remove_file(&here).unwrap();
    fs::create_dir(&here).unwrap();
    assert!(matches!(client.get("/hello.php").status, 301 | 403 | 404));
    wait_for("the folder", 5, || client.get("/hello.php").status == 301);
}

fn an_index_that_appears_is_found_at_once(mpm: Mpm) {
    let lines = ["DirectoryIndex better.php hello.php"];
    let test = "an_index_that_appears";
    let Some((server, _fpm)) = start(test, mpm, &lines) else { return };
    let mut client = acquainted(&server, "/");
    fs::write(server.root().join("better.php"), "<?php echo \"better\\n\";").unwrap();
    assert_eq!(client.get("/").text(), "better\n");
}

/// The rules that WordPress writes.
const PERMALINKS: &str = "RewriteEngine On\nRewriteRule .* - \
    [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]\nRewriteBase /\nRewriteRule ^env\\.php$ - [L]\n\
    RewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\n\
    RewriteRule . /env.php [L]\n";

/// What a script was told, but for what is another's on each connection and each server.
fn told(client: &mut Client, server: &Server, request: &str) -> String {
    client.send(request);
    let is_head = request.starts_with("HEAD");
    let response = if is_head { client.head_response() } else { client.response() };
    let root = server.root().path().display().to_string();
    let port = server.address().port().to_string();
    let text = response.text().replace(&root, "ROOT").replace(&port, "PORT");
    let is_own =
        |line: &&str| !["REMOTE_PORT", "REQUEST_TIME"].iter().any(|it| line.starts_with(it));
    let lines: Vec<&str> = text.lines().filter(is_own).collect();
    format!("{}\n{}", response.status, lines.join("\n"))
}

fn a_rewritten_request_is_told_as_without_anything_remembered(mpm: Mpm) {
    let test = "a_rewritten_request_is_told_as_without_anything_remembered";
    let folder = ["<Directory />", "AllowOverride All", "Options FollowSymLinks", "</Directory>"];
    let shared = start(test, mpm, &folder);
    let apart = start(test, mpm, &[&folder[..], &["ResponseSharing Off"]].concat());
    let (Some((shared, _fpm)), Some((apart, _other))) = (shared, apart) else { return };
    for server in [&shared, &apart] {
        server.root().write(".htaccess", PERMALINKS);
    }
    let dice = &mut Dice::new(number("TRIVET_SEED").unwrap_or(1));
    let [mut warm, mut cold] = [&shared, &apart].map(Server::connect);
    early_in_a_second();
    let fields = ["Authorization: Basic eA==", "Cookie: a=1", "X-Two: 2", "Host: b:81"];
    for _ in 0..number("TRIVET_REQUESTS").unwrap_or(300) {
        let method = *dice.one_of(&["GET", "GET", "GET", "HEAD", "POST", "PUT"]);
        let path = *dice.one_of(&["/a/b/", "/a/b/", "/c", "/env.php", "/env.php/x", "/hello.php"]);
        let query = *dice.one_of(&["", "", "", "?q=1", "?"]);
        let field = dice.once_in(3).then(|| *dice.one_of(&fields));
        let host = if field.is_some_and(|it| it.starts_with("Host")) { "" } else { "Host: a\r\n" };
        let field = field.map(|field| format!("{field}\r\n")).unwrap_or_default();
        let body = if method == "POST" { "Content-Length: 0\r\n" } else { "" };
        let request = format!("{method} {path}{query} HTTP/1.1\r\n{host}{field}{body}\r\n");
        let expected = told(&mut cold, &apart, &request);
        assert_eq!(told(&mut warm, &shared, &request), expected, "{request}");
    }
}

each_mpm! {
    a_rewritten_request_is_told_as_without_anything_remembered,
    every_request_is_told_as_it_is,
    every_host_is_called_by_its_name,
    two_hosts_with_the_same_path_have_a_script_each,
    rules_about_requests_are_asked_for_each,
    a_condition_holds_behind_any_number_of_requests_without_it,
    a_body_has_its_limit_behind_any_number_of_short_ones,
    what_htaccess_files_say_counts_at_once,
    what_is_remembered_beside_htaccess_files_is_what_they_say_now,
    a_script_that_is_gone_is_not_found,
    an_index_that_appears_is_found_at_once,
}
