//! Fields and variables that the configuration sets: headers, expires, env, setenvif, remoteip,
//! unique_id and info. What single directives do is compared with apache2 in `differential.rs`;
//! here is what must stay true beside that: prepared responses never carry what belongs to another
//! request or another second, and no field changes how a connection is read.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::httpd::Root;
use blackbox::{Client, Mpm, Response, Server, Site, each_mpm, plain_site, until};

/// A site with one file and these lines.
fn site(mpm: Mpm, lines: &[&str]) -> Site {
    Site::new(mpm).file("a.txt", "hello\n").directives(lines)
}

fn get(server: &Server, fields: &str) -> Response {
    server.exchange(format!("GET /a.txt HTTP/1.1\r\nHost: a\r\n{fields}\r\n"))
}

/// Seconds of the day in a date such as `Sun, 06 Nov 1994 08:49:37 GMT`.
fn seconds(date: &str) -> i64 {
    let time = date.split(' ').nth(4).unwrap();
    time.split(':').fold(0, |sum, part| sum * 60 + part.parse::<i64>().unwrap())
}

fn date(response: &Response) -> i64 {
    seconds(response.field("Date").unwrap())
}

/// Waits, by the server's clock, until a file that was written at the start may be prepared, and
/// has it prepared in every child. Gives the number of requests that this took.
fn settle(server: &Server) -> usize {
    let mut requests = 21;
    let start = date(&get(server, ""));
    until("the file to be old enough", 20, || {
        requests += 1;
        let age = (date(&get(server, "")) - start).rem_euclid(86_400);
        (age >= 4).then_some(())
    });
    for _ in 0..20 {
        get(server, "");
    }
    requests
}

fn constant_fields_are_in_every_response(mpm: Mpm) {
    let server = site(mpm, &["Header set X-A one", "Header always set X-B two"]).start();
    settle(&server);
    for _ in 0..20 {
        let response = get(&server, "");
        assert_eq!((response.field("X-A"), response.field("X-B")), (Some("one"), Some("two")));
        let etag = response.field("ETag").unwrap().to_owned();
        let same = get(&server, &format!("If-None-Match: {etag}\r\n"));
        assert_eq!((same.status, same.field("X-A")), (304, Some("one")));
    }
    let missing = server.get("/missing");
    assert_eq!((missing.field("X-A"), missing.field("X-B")), (None, Some("two")));
}

fn expires_goes_with_the_time(mpm: Mpm) {
    let lines = ["ExpiresActive On", "ExpiresDefault \"access plus 1 minute\""];
    let server = site(mpm, &lines).start();
    settle(&server);
    let first = date(&get(&server, ""));
    until("three more seconds", 20, || {
        let response = get(&server, "");
        let expires = seconds(response.field("Expires").unwrap());
        let ahead = (expires - date(&response)).rem_euclid(86_400);
        // The head may be written in the second after the request.
        assert!((59..=60).contains(&ahead), "{response:?}");
        assert_eq!(response.field("Cache-Control"), Some("max-age=60"));
        ((date(&response) - first).rem_euclid(86_400) >= 3).then_some(())
    });
}

fn variables_belong_to_one_request(mpm: Mpm) {
    let lines = ["BrowserMatch Mozilla/2 nokeepalive old", "SetEnvIf X-Who (.+) who=$1"];
    let log = "\"%{old}e %{who}e\"";
    let server = site(mpm, &lines).access_log(log).start();
    let before = settle(&server);
    server.wait_log(before);
    for round in 0..10 {
        let nth = before + round * 3;
        assert!(!get(&server, "User-Agent: Mozilla/5.0\r\n").says_close());
        server.wait_log(nth + 1);
        assert!(get(&server, "User-Agent: Mozilla/2.0\r\n").says_close());
        server.wait_log(nth + 2);
        assert!(!get(&server, &format!("X-Who: n{round}\r\n")).says_close());
        let lines = server.wait_log(nth + 3);
        let expected = ["- -".to_owned(), "1 -".to_owned(), format!("- n{round}")];
        assert_eq!(lines[nth..], expected);
    }
}

fn many_kinds_of_clients_are_told_apart(mpm: Mpm) {
    let lines = ["SetEnvIf User-Agent (.*) agent=$1", "Header set X-Agent %{agent}e"];
    let server = site(mpm, &lines).start();
    for round in 0..2 {
        for nth in 0..700 {
            let name = format!("agent {nth}");
            let response = get(&server, &format!("User-Agent: {name}\r\n"));
            assert_eq!(response.field("X-Agent"), Some(name.as_str()), "{round}");
        }
    }
}

fn a_changed_request_does_not_change_the_connection(mpm: Mpm) {
    let lines = [
        "RequestHeader set Content-Length 5",
        "RequestHeader set Transfer-Encoding chunked",
        "RequestHeader unset Host early",
        "RequestHeader set Connection close",
        "RequestHeader set Expect 100-continue",
        "RequestHeader set X-New \"a\\r\\nEvil: 1\"",
        "Header set X-Length \"expr=%{HTTP:Content-Length}\"",
        "Header set X-Evil \"expr=%{HTTP:Evil}\"",
    ];
    let server = site(mpm, &lines).start();
    let mut client = server.connect();
    client.send("POST /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    client.send("GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n".repeat(3));
    for _ in 0..4 {
        let response = client.response();
        assert_eq!((response.status, response.text().as_str()), (200, "hello\n"));
        assert_eq!(response.field("X-Length"), Some("5"));
        assert_eq!(response.field("X-Evil"), Some(""));
    }
}

fn what_is_unset_of_a_request_has_no_effect(mpm: Mpm) {
    let lines = ["RequestHeader unset Range", "RequestHeader unset If-None-Match"];
    let server = site(mpm, &lines).start();
    settle(&server);
    for _ in 0..10 {
        let etag = get(&server, "").field("ETag").unwrap().to_owned();
        assert_eq!(get(&server, &format!("If-None-Match: {etag}\r\n")).status, 200);
        assert_eq!(get(&server, "Range: bytes=0-1\r\n").status, 200);
    }
}

fn fields_about_the_message_are_the_servers(mpm: Mpm) {
    let lines = [
        "Header set Content-Length 1",
        "Header set Transfer-Encoding chunked",
        "Header set Date never",
        "Header set Server other",
        "Header set X-A 1",
    ];
    let server = site(mpm, &lines).start();
    let response = get(&server, "");
    assert_eq!((response.text().as_str(), response.field("X-A")), ("hello\n", Some("1")));
    assert_eq!(response.field("Content-Length"), Some("6"));
    assert_eq!(response.count("Transfer-Encoding"), 0);
    assert!(response.field("Server").unwrap().starts_with("Apache/2"));
    date(&response);
    let server = site(mpm, &["Header set Connection close"]).start();
    let mut client = server.connect();
    assert!(client.get("/a.txt").says_close());
    client.assert_closed();
}

fn what_no_client_can_read_is_an_error(mpm: Mpm) {
    let server = site(mpm, &["Header set X-A \"a\\nb: c\""]).start();
    let response = get(&server, "");
    assert_eq!((response.status, response.field("X-A")), (500, None));
    assert!(server.error_text().contains("AH02430"), "{}", server.error_text());
}

fn empty_matches_and_long_replacements_end(mpm: Mpm) {
    let lines = [
        "Header set X-A abc",
        "Header edit* X-A \"\" x",
        "Header set X-B aaa",
        "Header edit* X-B ^a \"$0$0\"",
    ];
    let server = site(mpm, &lines).start();
    let response = get(&server, "");
    assert_eq!(response.field("X-A"), Some("xabc"));
    assert_eq!(response.field("X-B"), Some("aaaaaa"));
    let doubling = vec!["Header edit X-A .* \"$0$0$0$0$0$0$0$0$0$0\""; 8];
    let server = site(mpm, &["Header set X-A 0123456789"]).directives(&doubling).start();
    assert_eq!(get(&server, "").status, 200);
}

fn the_client_is_who_trusted_proxies_say(mpm: Mpm) {
    let lines = ["RemoteIPHeader X-Forwarded-For", "RemoteIPInternalProxy 127.0.0.1"];
    let log = "\"%a %{c}a %{X-Forwarded-For}i\"";
    let server = site(mpm, &lines).access_log(log).start();
    let before = settle(&server);
    server.wait_log(before);
    get(&server, "X-Forwarded-For: 7.7.7.7, 8.8.8.8\r\n");
    server.wait_log(before + 1);
    get(&server, "");
    let lines = server.wait_log(before + 2);
    assert_eq!(lines[before..], ["8.8.8.8 127.0.0.1 7.7.7.7", "127.0.0.1 127.0.0.1 -"]);
}

fn mistakes_are_told_at_the_start(mpm: Mpm) {
    for (line, text) in [
        ("Header set X", "Header requires three arguments"),
        ("Header edit X ( y", "Header edit regex could not be compiled"),
        ("Header set X %q", "Unrecognized header format %q"),
        ("RequestHeader echo X", "Header echo only valid on Header directives"),
        ("SetEnvIf User-Agent", "Missing regular expression for SetEnvIf"),
        ("SetEnvIf User-Agent x", "Missing envariable expression for SetEnvIf"),
        ("BrowserMatch ( x", "BrowserMatch regex could not be compiled."),
        ("SetEnvIfExpr \"a ==\" x", "Could not parse expression \"a ==\": "),
        ("ExpiresDefault soon", "'ExpiresDefault soon': bad expires code, unrecognised <base>"),
        ("ExpiresByType text A1", "Invalid mimetype: should contain a slash"),
        ("RemoteIPInternalProxy 1.2.3.4/99", "RemoteIP: Error parsing IP 1.2.3.4/99"),
        ("RemoteIPInternalProxyList nope", "Could not open file"),
    ] {
        let (code, said) = plain_site(mpm).directive(line).start_fails();
        assert!(code == 1 && said.contains(text), "{line}: {said}");
    }
}

fn htaccess_files_set_fields_and_variables(mpm: Mpm) {
    let text = "Header set X-A %{WHO}e\nSetEnvIf X-Who (.*) WHO=$1\n";
    let lines = ["<Directory />", "AllowOverride FileInfo", "</Directory>"];
    let server = site(mpm, &lines).file(".htaccess", text).start();
    assert_eq!(get(&server, "X-Who: me\r\n").field("X-A"), Some("me"));
    assert_eq!(get(&server, "X-Who: you\r\n").field("X-A"), Some("you"));
}

each_mpm!(
    constant_fields_are_in_every_response,
    expires_goes_with_the_time,
    variables_belong_to_one_request,
    many_kinds_of_clients_are_told_apart,
    a_changed_request_does_not_change_the_connection,
    what_is_unset_of_a_request_has_no_effect,
    fields_about_the_message_are_the_servers,
    what_no_client_can_read_is_an_error,
    empty_matches_and_long_replacements_end,
    the_client_is_who_trusted_proxies_say,
    mistakes_are_told_at_the_start,
    htaccess_files_set_fields_and_variables,
);

/// A response of a server that was started as `apache2`.
fn ask(root: &Root, target: &str) -> Response {
    let mut client = Client::connect(root.address);
    client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
    client.response()
}

#[test]
fn a_loaded_unique_id_module_names_each_request() {
    let root = Root::new(
        "LoadModule unique_id_module modules/mod_unique_id.so\n\
         LoadModule headers_module modules/mod_headers.so\nHeader set X-Id %{UNIQUE_ID}e\n",
    );
    root.start();
    let id = || ask(&root, "/a.txt").field("X-Id").unwrap().to_owned();
    let (first, second) = (id(), id());
    assert!(first != second && first.len() == 27, "{first} {second}");
}

#[test]
fn server_info_lists_modules_and_the_configuration() {
    let root = Root::new(
        "LoadModule info_module modules/mod_info.so\n\
         LoadModule env_module modules/mod_env.so\nAddModuleInfo mod_env.c more\n\
         <Location /info>\nSetHandler server-info\nSetEnv A \"<b>\"\n</Location>\n",
    );
    root.start();
    let page = ask(&root, "/info").text();
    let anchors: Vec<&str> = page
        .split('\n')
        .filter_map(|line| line.split_once("<a name=\"")?.1.split_once(".c\">"))
        .map(|found| found.0)
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
        .collect();
    for name in ["core", "mod_so", "http_core", "mod_info", "mod_env", "event"] {
        assert!(anchors.contains(&name), "{name}: {anchors:?}");
    }
    assert!(!anchors.contains(&"mod_headers"), "{anchors:?}");
    let list = ask(&root, "/info?list").text();
    let listed = list.matches("<dd>").count();
    assert_eq!(listed, anchors.len(), "{list}");
    let one = ask(&root, "/info?mod_env.c").text();
    assert!(one.contains("SetEnv <i>A &quot;&lt;b&gt;&quot;</i></tt></dd>"), "{one}");
    assert!(one.contains("&lt;Location /info&gt;</tt></dd>"), "{one}");
    assert!(one.contains("<dd>more</dd>") && !one.contains("mod_so.c"), "{one}");
    let config = ask(&root, "/info?config").text();
    assert!(config.contains("SetHandler <i>server-info</i>"), "{config}");
    assert!(ask(&root, "/info?nope.c").text().contains("No such module"));
}
