//! An answer that was prepared for one request is given only to others that would get the same one,
//! and only as long as they would.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::{Client, Mpm, Site, each_mpm, process};
use std::fs;
use std::io::Write as _;
use std::path::Path;

/// A request without a body; gives the status.
fn status(client: &mut Client, method: &str, target: &str, host: &str) -> u16 {
    client.send(format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    match method {
        "HEAD" => client.head_response().status,
        _ => client.response().status,
    }
}

fn what_post_gets_is_not_given_to_get(mpm: Mpm) {
    let site = Site::new(mpm).file("a.txt", "a");
    let lines = ["<Files a.txt>", "<Limit GET>", "Require all denied", "</Limit>", "</Files>"];
    let server = site.directives(&lines).start();
    server.root().wait_until_at_rest();
    let mut client = server.connect();
    for round in 0..3 {
        assert_eq!(status(&mut client, "POST", "/a.txt", "a"), 200, "round {round}");
        assert_eq!(status(&mut client, "GET", "/a.txt", "a"), 403, "round {round}");
        assert_eq!(status(&mut client, "HEAD", "/a.txt", "a"), 403, "round {round}");
    }
}

fn a_name_that_nobody_has_gets_nothing_prepared(mpm: Mpm) {
    let site = Site::new(mpm).file("a.txt", "a");
    let server = site.directives(&["ServerName own.example", "StrictHostCheck On"]).start();
    server.root().wait_until_at_rest();
    for round in 0..3 {
        let mut client = server.connect();
        assert_eq!(status(&mut client, "GET", "/a.txt", "own.example"), 200, "round {round}");
        assert_eq!(status(&mut client, "GET", "/a.txt", "other.example"), 400, "round {round}");
    }
}

fn fields_that_are_taken_away_are_in_no_log(mpm: Mpm) {
    let site = Site::new(mpm).file("a.txt", "a");
    let site = site.directive("RequestHeader unset X-Secret");
    let server = site.access_log("%{X-Secret}i:%{X-Other}i").start();
    server.root().wait_until_at_rest();
    let mut client = server.connect();
    for field in ["X-Other: 1", "X-Other: 2", "X-Secret: 1", "X-Other: 3"] {
        client.send(format!("GET /a.txt HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n"));
        assert_eq!(client.response().text(), "a");
    }
    assert_eq!(server.wait_log(4), ["-:1", "-:2", "-:-", "-:3"]);
}

fn a_fallback_ends_when_something_is_there(mpm: Mpm) {
    let site = Site::new(mpm).file("front.txt", "front").file("x.txt", "");
    let lines = ["DirectoryIndex disabled", "FallbackResource /front.txt", "Options -Indexes"];
    let server = site.directives(&lines).start();
    server.root().wait_until_at_rest();
    let mut client = server.connect();
    for _ in 0..3 {
        assert_eq!(client.get("/new/").text(), "front");
    }
    server.root().write("new/a.txt", "");
    assert_eq!(status(&mut client, "GET", "/new/", "a"), 403);
}

fn without_sharing_each_request_sees_the_file_as_it_is(mpm: Mpm) {
    let site = Site::new(mpm).file("a.txt", "old");
    let server = site.directive("ResponseSharing Off").start();
    server.root().wait_until_at_rest();
    let mut client = server.connect();
    for _ in 0..3 {
        assert_eq!(client.get("/a.txt").text(), "old");
    }
    // What is kept is compared with the file system once a second: it would be the old one.
    server.root().write("a.txt", "new");
    assert_eq!(client.get("/a.txt").text(), "new");
}

fn a_line_of_the_error_log_does_not_take_an_answer_from_others(mpm: Mpm) {
    let site = Site::new(mpm).file("a.txt", "0");
    let lines = ["ErrorLogFormat \"%V %M\"", "UseCanonicalName Off", "LogLevel debug"];
    let server = site.directives(&lines).start();
    let mut client = server.connect();
    let is_kept = |round: &u32| {
        server.root().wait_until_at_rest();
        let before = [(); 3].map(|()| client.get("/a.txt").text())[2].clone();
        server.root().write("a.txt", round.to_string());
        // What is kept is looked at again when a second begins: that may be now, but not always.
        client.get("/a.txt").text() == before
    };
    assert!((1..10_u32).collect::<Vec<_>>().iter().any(is_kept));
    assert!(server.error_text().contains("authorization result"), "there is such a line");
}

fn doubled_slashes_open_nothing(mpm: Mpm) {
    let site = Site::new(mpm).file("p/q/a.txt", "secret").file("o/a.txt", "open");
    let root = site.root().path().display().to_string();
    let lines = [
        "MergeSlashes Off".to_owned(),
        "AllowEncodedSlashes On".to_owned(),
        format!("<Directory {root}/p/q>"),
        "Require all denied".to_owned(),
        "</Directory>".to_owned(),
    ];
    let server = lines.into_iter().fold(site, Site::directive).start();
    let mut client = server.connect();
    for target in ["/o/a.txt", "//o//a.txt"] {
        assert_eq!(client.get(target).text(), "open", "{target}");
    }
    for target in ["/p/q/a.txt", "/p//q/a.txt", "/p/%2fq//a.txt", "//p/.//q/a.txt", "/p///q//"] {
        assert_eq!(client.get(target).status, 403, "{target}");
    }
}

/// A rule, a request that it is about, another one, and what each gets: `a.txt` or `b.txt` whole.
type RuleRow = (&'static str, [&'static str; 2], [&'static str; 2]);

/// Rules of a `.htaccess` file; a request is its method, its target, and fields.
const RULES: &[RuleRow] = &[
    (
        "RewriteCond %{HTTP_COOKIE} in=1\nRewriteRule ^a\\.txt$ b.txt",
        ["GET /a.txt", "GET /a.txt|Cookie: in=1"],
        ["a", "b"],
    ),
    (
        "RewriteCond %{HTTP:Authorization} .\nRewriteRule ^a\\.txt$ b.txt",
        ["GET /a.txt", "GET /a.txt|Authorization: Basic YTpi"],
        ["a", "b"],
    ),
    (
        "RewriteCond %{HTTP:X-None} ^$\nRewriteRule ^a\\.txt$ b.txt",
        ["GET /a.txt", "GET /a.txt|X-None: 1"],
        ["b", "a"],
    ),
    (
        "RewriteCond %{HTTP_HOST} ^other\nRewriteRule ^a\\.txt$ b.txt",
        ["GET /a.txt", "GET /a.txt|Host: other"],
        ["a", "b"],
    ),
    (
        "RewriteCond %{QUERY_STRING} .\nRewriteRule ^a\\.txt$ b.txt",
        ["GET /a.txt", "GET /a.txt?x"],
        ["a", "b"],
    ),
    (
        "RewriteCond %{REQUEST_METHOD} =HEAD\nRewriteRule ^a\\.txt$ - [G]",
        ["GET /a.txt", "HEAD /a.txt"],
        ["a", "410"],
    ),
    (
        "RewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{HTTP_REFERER} evil\n\
         RewriteRule ^new/.*$ b.txt",
        ["GET /new/x", "GET /new/x|Referer: evil"],
        ["404", "b"],
    ),
    (
        "RewriteCond expr \"%{HTTP_USER_AGENT} =~ /bot/\"\nRewriteRule ^a\\.txt$ b.txt",
        ["GET /a.txt|User-Agent: a", "GET /a.txt|User-Agent: bot"],
        ["a", "b"],
    ),
];

/// The text of a response, or its status if it is none of 200.
fn ask(client: &mut Client, asked: &str) -> String {
    let mut parts = asked.split('|');
    let line = parts.next().unwrap();
    let fields: Vec<&str> = parts.collect();
    let host = if asked.contains("Host:") { "" } else { "Host: first\r\n" };
    let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
    client.send(format!("{line} HTTP/1.1\r\n{host}{fields}\r\n"));
    let response =
        if line.starts_with("HEAD") { client.head_response() } else { client.response() };
    if response.status == 200 { response.text() } else { response.status.to_string() }
}

fn what_a_rule_looked_for_and_did_not_find_is_asked_of_others(mpm: Mpm) {
    let with_rules = |site: Site, nth: usize| {
        let site = site.file(format!("{nth}/a.txt"), "a").file(format!("{nth}/b.txt"), "b");
        site.file(format!("{nth}/.htaccess"), format!("RewriteEngine On\n{}\n", RULES[nth].0))
    };
    let site = (0..RULES.len()).fold(Site::new(mpm), with_rules);
    let folder = format!("<Directory {}>", site.root().path().display());
    let server = site.directives(&[&folder, "AllowOverride All", "</Directory>"]).start();
    server.root().wait_until_at_rest();
    let mut client = server.connect();
    for (number, (rule, asked, expected)) in RULES.iter().enumerate() {
        for nth in [0, 0, 0, 1, 0, 1, 1, 1, 0] {
            let asked = asked[nth].replacen('/', &format!("/{number}/"), 1);
            assert_eq!(ask(&mut client, &asked), expected[nth], "{rule}: {asked}");
        }
    }
}

fn what_appears_where_a_rule_found_nothing_counts_at_once(mpm: Mpm) {
    let rules = "RewriteEngine On\nRewriteCond %{REQUEST_FILENAME} !-f\n\
                 RewriteCond %{DOCUMENT_ROOT}/stop !-d\nRewriteRule ^ /front.txt [L]\n";
    let site = Site::new(mpm).file("front.txt", "front").file("here/.htaccess", rules);
    let folder = format!("<Directory {}>", site.root().path().display());
    let server = site.directives(&[&folder, "AllowOverride All", "</Directory>"]).start();
    server.root().wait_until_at_rest();
    let mut client = server.connect();
    let root = server.root().path().join("here");
    for target in ["/here/a.txt", "/here/new/a.txt", "/here/a.txt/more"] {
        let ask = |client: &mut Client| ask(client, &format!("GET {target}"));
        assert_eq!([(); 3].map(|()| ask(&mut client)), ["front"; 3], "{target}");
        fs::create_dir_all(root.join("new")).unwrap();
        for name in ["a.txt", "new/a.txt"] {
            fs::write(root.join(name), "own").unwrap();
        }
        let expected = if target.ends_with("more") { "404" } else { "own" };
        assert_eq!(ask(&mut client), expected, "{target}");
        for name in ["new/a.txt", "a.txt"] {
            fs::remove_file(root.join(name)).unwrap();
        }
        fs::remove_dir(root.join("new")).unwrap();
    }
    assert_eq!([(); 3].map(|()| ask(&mut client, "GET /here/b")), ["front"; 3]);
    fs::create_dir(server.root().join("stop")).unwrap();
    assert_eq!(ask(&mut client, "GET /here/b"), "404");
    fs::remove_dir(server.root().join("stop")).unwrap();
    assert_eq!(ask(&mut client, "GET /here/b"), "front");
}

fn a_look_ahead_counts_anew_each_second(mpm: Mpm) {
    let rules = "RewriteEngine On\nRewriteCond /u/sec/x -U\nRewriteRule ^a\\.txt$ b.txt\n";
    let site = Site::new(mpm).file("u/a.txt", "a").file("u/b.txt", "b");
    let site = site.file("u/.htaccess", rules).file("u/sec/.htaccess", "Require all denied\n");
    let site = site.file("u/sec/x", "");
    let folder = format!("<Directory {}>", site.root().path().display());
    let server = site.directives(&[&folder, "AllowOverride All", "</Directory>"]).start();
    server.root().wait_until_at_rest();
    let mut client = server.connect();
    assert_eq!([(); 3].map(|()| ask(&mut client, "GET /u/a.txt")), ["a"; 3]);
    fs::remove_file(server.root().join("u/sec/.htaccess")).unwrap();
    assert_eq!([(); 3].map(|()| ask(&mut client, "GET /u/a.txt")), ["b"; 3]);
}

fn a_file_that_a_htaccess_file_asks_for_counts_when_it_comes(mpm: Mpm) {
    let site = Site::new(mpm).file("a.txt", "a");
    let root = site.root().path().display().to_string();
    let text = format!("<IfFile {root}/flag>\nRequire all denied\n</IfFile>\n");
    let site = site.file(".htaccess", text);
    let folder = format!("<Directory {root}>");
    let server = site.directives(&[&folder, "AllowOverride All", "</Directory>"]).start();
    server.root().wait_until_at_rest();
    let mut client = server.connect();
    for _ in 0..2 {
        assert_eq!([(); 3].map(|()| ask(&mut client, "GET /a.txt")), ["a"; 3]);
        server.root().write("flag", "");
        assert_eq!([(); 3].map(|()| ask(&mut client, "GET /a.txt")), ["403"; 3]);
        fs::remove_file(server.root().join("flag")).unwrap();
    }
}

fn a_host_of_any_length_fills_no_memory(mpm: Mpm) {
    let site = Site::new(mpm).file("a.txt", "a");
    let server = site.directives(&["RewriteEngine On"]).start();
    server.root().wait_until_at_rest();
    let mut client = server.connect();
    let memory =
        || -> u64 { server.children().into_iter().filter_map(process::anonymous_bytes).sum() };
    let name = |nth: usize, length: usize| format!("h{nth}.{}", "a.".repeat(length / 2));
    let mut ask_all = |length: usize, count: usize| {
        for nth in 0..count {
            let asked = format!("GET /a.txt|Host: {}", name(nth, length));
            assert_eq!(ask(&mut client, &asked), "a");
        }
    };
    ask_all(4000, 200);
    let before = memory();
    ask_all(4000, 3000);
    let grown = memory().saturating_sub(before);
    // 3,000 names of 4 KB would be 24 MB.
    assert!(grown < 12 << 20, "{grown} bytes more");
}

/// Ways to give a file another content, or none.
fn put(file: &Path, way: usize, content: &str) {
    let fresh = file.with_file_name("fresh");
    match way {
        0 => fs::write(file, content).unwrap(),
        1 => {
            fs::write(&fresh, content).unwrap();
            fs::rename(&fresh, file).unwrap();
        }
        2 => {
            let opened = fs::File::options().append(true).create(true).open(file);
            opened.unwrap().write_all(content.as_bytes()).unwrap();
        }
        _ => {
            let _ = fs::remove_file(file);
        }
    }
}

fn a_htaccess_file_counts_at_the_next_request(mpm: Mpm) {
    let site = Site::new(mpm).file("1/2/3/a.txt", "a").file("1/2/3/b.txt", "b");
    let root = site.root().path().display().to_string();
    let folder = format!("<Directory {root}>");
    let server = site.directives(&[&folder, "AllowOverride All", "</Directory>"]).start();
    server.root().wait_until_at_rest();
    let mut client = server.connect();
    for folder in ["", "1/", "1/2/", "1/2/3/"] {
        let name = format!("{folder}.htaccess");
        let file = server.root().join(&name);
        for (closes, opens) in [(0, 3), (1, 3), (2, 0), (0, 1), (2, 1), (1, 0), (0, 3)] {
            for _ in 0..3 {
                assert_eq!(ask(&mut client, "GET /1/2/3/a.txt"), "a", "{name} {closes} {opens}");
            }
            put(&file, closes, "\nRequire all denied\n");
            let closed = ask(&mut client, "GET /1/2/3/a.txt");
            assert_eq!(closed, "403", "{name} {closes} {opens}");
            put(&file, opens, "# nothing\n");
        }
    }
}

fn a_folder_that_takes_the_place_of_another_brings_its_own_htaccess(mpm: Mpm) {
    let site = Site::new(mpm).file("1/2/a.txt", "a").file("other/2/a.txt", "a");
    let site = site.file("other/2/.htaccess", "Require all denied\n");
    let root = site.root().path().to_owned();
    let folder = format!("<Directory {}>", root.display());
    let server = site.directives(&[&folder, "AllowOverride All", "</Directory>"]).start();
    server.root().wait_until_at_rest();
    let mut client = server.connect();
    let swap = |one: &str, other: &str| {
        let [one, other, aside] = [one, other, "aside"].map(|name| root.join(name));
        fs::rename(&one, &aside).unwrap();
        fs::rename(&other, &one).unwrap();
        fs::rename(&aside, &other).unwrap();
    };
    for [one, other] in [["1", "other"], ["1/2", "other/2"]] {
        for round in 0..3 {
            for expected in ["a", "403"] {
                for _ in 0..3 {
                    let got = ask(&mut client, "GET /1/2/a.txt");
                    assert_eq!(got, expected, "{one} {round}");
                }
                swap(one, other);
            }
        }
    }
}

each_mpm! {
    what_a_rule_looked_for_and_did_not_find_is_asked_of_others,
    a_host_of_any_length_fills_no_memory,
    a_look_ahead_counts_anew_each_second,
    a_file_that_a_htaccess_file_asks_for_counts_when_it_comes,
    what_appears_where_a_rule_found_nothing_counts_at_once,
    a_htaccess_file_counts_at_the_next_request,
    a_folder_that_takes_the_place_of_another_brings_its_own_htaccess,
    what_post_gets_is_not_given_to_get,
    a_name_that_nobody_has_gets_nothing_prepared,
    a_fallback_ends_when_something_is_there,
    doubled_slashes_open_nothing,
    without_sharing_each_request_sees_the_file_as_it_is,
    a_line_of_the_error_log_does_not_take_an_answer_from_others,
    fields_that_are_taken_away_are_in_no_log,
}
