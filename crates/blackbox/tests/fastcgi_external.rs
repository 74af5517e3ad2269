//! The old way to PHP-FPM: `FastCgiExternalServer` of mod_fastcgi, with `Action` and `Alias`.
//! Debian has that module no more, so what scripts see is compared with what the recipe is known
//! for.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::HashMap;
use std::time::{Duration, Instant};

use blackbox::fpm::Fpm;
use blackbox::{Mpm, Server, Site, each_mpm};

const SCRIPT: &str = "<?php header('Content-Type: text/plain');
usleep((int) ($_GET['ms'] ?? 0) * 1000);
ksort($_SERVER);
foreach ($_SERVER as $name => $value) if (is_string($value)) echo \"$name=$value\\n\";
echo 'BODY=', file_get_contents('php://input');";

/// A site with the recipe, and PHP-FPM for it.
fn start(test: &str, mpm: Mpm, options: &str) -> Option<(Server, Fpm)> {
    let site = Site::new(mpm).file("env.php", SCRIPT).file("folder/env.php", SCRIPT);
    let site = site.file("plain.fcgi", "#!/bin/sh\n").file("app.fcgi", "");
    let socket = site.root().join("fpm.sock");
    let fpm = Fpm::start(test, &socket, 4)?;
    let server = format!("FastCgiExternalServer /nowhere/php-fcgi -socket {}", socket.display());
    let lines = [
        "AddHandler php-fcgi .php",
        "AddHandler fastcgi-script .fcgi",
        "Action php-fcgi /php-fcgi",
        "Alias /php-fcgi /nowhere/php-fcgi",
        &format!("{server} {options}"),
    ];
    Some((site.directives(&lines).start(), fpm))
}

/// What a script sees.
fn variables(server: &Server, request: &str) -> HashMap<String, String> {
    let response = server.exchange(format!("{request}\r\nHost: a\r\nConnection: close\r\n\r\n"));
    assert_eq!(response.status, 200, "{}", response.text());
    let text = response.text();
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn the_classic_recipe_runs_scripts_where_they_are(mpm: Mpm) {
    let test = "the_classic_recipe";
    let Some((server, _fpm)) = start(test, mpm, "-pass-header Authorization -flush") else {
        return;
    };
    let root = server.root().path().display().to_string();
    for (target, script, info) in [
        ("/env.php?a=1", "/env.php", ""),
        ("/folder/env.php/path/info", "/folder/env.php", "/path/info"),
    ] {
        let found = variables(&server, &format!("GET {target} HTTP/1.1\r\nAuthorization: x y"));
        let is = |name: &str| found.get(name).map_or("", String::as_str);
        assert_eq!(is("SCRIPT_FILENAME"), format!("{root}{script}"), "{target}");
        assert_eq!(is("SCRIPT_NAME"), script, "{target}");
        assert_eq!(is("PATH_INFO"), info, "{target}");
        assert_eq!(is("PHP_SELF"), format!("{script}{info}"), "{target}");
        assert_eq!(is("REQUEST_URI"), target, "{target}");
        assert_eq!(is("REDIRECT_STATUS"), "200", "{target}");
        assert_eq!(is("HTTP_AUTHORIZATION"), "x y", "{target}");
        if !info.is_empty() {
            assert_eq!(is("PATH_TRANSLATED"), format!("{root}{info}"), "{target}");
        }
    }
    let body =
        "POST /env.php HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc";
    assert!(server.exchange(body).text().ends_with("BODY=abc"));
}

fn only_scripts_that_are_there_are_run(mpm: Mpm) {
    let test = "only_scripts_that_are_there_are_run";
    let Some((server, _fpm)) = start(test, mpm, "") else { return };
    assert_eq!(server.get("/missing.php").status, 404);
    // What would have to be started is not sent as it stands.
    let response = server.get("/plain.fcgi");
    assert_eq!(response.status, 500);
    assert!(!response.text().contains("/bin/sh"), "{}", response.text());
    assert!(server.error_text().contains("FastCgiExternalServer"), "{}", server.error_text());
    assert_eq!(server.get("/php-fcgi/etc/passwd").status, 404);
}

fn an_application_that_is_silent_for_too_long_is_504(mpm: Mpm) {
    let test = "an_application_that_is_silent";
    let Some((server, fpm)) = start(test, mpm, "-idle-timeout 1 -appConnTimeout 1") else { return };
    let begun = Instant::now();
    assert_eq!(server.get("/env.php?ms=4000").status, 504);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    drop(fpm);
    assert_eq!(server.get("/env.php").status, 503);
}

fn wrong_lines_are_told(mpm: Mpm) {
    for (line, said) in [
        ("FastCgiExternalServer", "FastCgiExternalServer requires a pathname or filename"),
        ("FastCgiExternalServer /x", "\"-socket\" or \"-host\" option missing"),
        ("FastCgiExternalServer /x -socket a -host b:1", "mutually exclusive options"),
        ("FastCgiExternalServer /x -host b", "missing port specification"),
        ("FastCgiExternalServer /x -host b:x", "invalid value for -host"),
        ("FastCgiExternalServer /x -host b:1 -what 1", "invalid option: -what"),
        ("FastCgiExternalServer /x -host b:1 -idle-timeout x", "invalid value for -idle-timeout"),
    ] {
        let (_, text) = Site::new(mpm).directives(&[line]).start_fails();
        assert!(text.contains(said), "{line}: {text}");
    }
    let line = "FastCgiExternalServer /x -host b:1";
    let (_, text) = Site::new(mpm).directives(&[line, line]).start_fails();
    assert!(text.contains("redefinition of previously defined FastCGI server"), "{text}");
}

each_mpm! {
    the_classic_recipe_runs_scripts_where_they_are,
    only_scripts_that_are_there_are_run,
    an_application_that_is_silent_for_too_long_is_504,
    wrong_lines_are_told,
}
