//! Logs of virtual hosts, conditions of logs, and formats and levels of the error log.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write as _;
use std::fs;

use blackbox::scratch::Scratch;
use blackbox::{Mpm, Server, Site, each_mpm, process, until};

/// A server with these lines beside an access log in this format.
fn server(mpm: Mpm, format: &str, lines: &[&str]) -> Server {
    let site = Site::new(mpm).file("a.txt", "x").file("b/c.txt", "x").file(".htaccess", "");
    site.access_log(&format!("\"{format}\"")).directives(lines).start()
}

/// The connection is closed after the request was logged.
fn ask(server: &Server, host: &str, target: &str) {
    let head = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    server.connect().send(head).read_to_end();
}

fn a_thousand_hosts_have_logs_of_their_own(mpm: Mpm) {
    const HOSTS: usize = 1000;
    let folder = Scratch::new();
    let mut text = String::from("LogFormat \"%v %U\" short\n");
    for number in 0..HOSTS {
        write!(
            text,
            "<VirtualHost *>\nServerName h{number}\nCustomLog {0}/{number}.log short\n\
             CustomLog {0}/all.log short\nErrorLog {0}/errors.log\n</VirtualHost>\n",
            folder.path().display()
        )
        .unwrap();
    }
    let file = folder.write("hosts.conf", text);
    let include = format!("Include {}", file.display());
    let server = server(mpm, "main %U", &[&include]);
    for number in [0, 1, 500, HOSTS - 1] {
        ask(&server, &format!("h{number}"), "/a.txt");
        let path = folder.join(format!("{number}.log"));
        let line = until("the line", 5, || {
            fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n'))
        });
        assert_eq!(line, format!("h{number} /a.txt\n"));
    }
    let all = fs::read_to_string(folder.join("all.log")).unwrap();
    assert_eq!(all.lines().count(), 4);
    assert!(server.log_lines().is_empty(), "hosts with logs of their own leave that of the server");
    // One descriptor for each file, whatever number of hosts writes to it.
    let open = process::descriptors(server.pid());
    assert!((HOSTS..HOSTS + 100).contains(&open), "{open}");
}

fn a_request_of_no_host_is_logged_where_the_first_one_logs(mpm: Mpm) {
    let folder = Scratch::new();
    let log = folder.join("first.log");
    let line = format!("CustomLog {} \"%v %V %p %U\"", log.display());
    let lines = [
        "<VirtualHost *>",
        "ServerName first.example:444",
        &line,
        "</VirtualHost>",
        "<VirtualHost *>",
        "ServerName second.example",
        "UseCanonicalName On",
        "</VirtualHost>",
    ];
    let server = server(mpm, "%v %V %p %U", &lines);
    ask(&server, "Nobody.Example:99", "/a.txt");
    ask(&server, "first.example", "/a.txt");
    ask(&server, "SECOND.example", "/a.txt");
    assert_eq!(server.wait_log(1), ["second.example second.example 80 /a.txt"]);
    let text = fs::read_to_string(log).unwrap();
    let wanted =
        "first.example nobody.example 444 /a.txt\nfirst.example first.example 444 /a.txt\n";
    assert_eq!(text, wanted);
}

fn a_name_that_another_client_asked_for_is_not_logged(mpm: Mpm) {
    let server = server(mpm, "%V%q %{Range}i", &[]);
    server.root().wait_until_at_rest();
    // The second and third request are answered by what was prepared for the first.
    ask(&server, "one.example", "/a.txt?1");
    ask(&server, "two.example", "/a.txt?2");
    ask(&server, "three.example", "/a.txt");
    server.exchange("GET /a.txt HTTP/1.1\r\nHost: four.example\r\nRange: bytes=0-0\r\n\r\n");
    let mut lines = server.wait_log(4);
    lines.sort();
    let wanted =
        ["four.example bytes=0-0", "one.example?1 -", "three.example -", "two.example?2 -"];
    assert_eq!(lines, wanted);
}

fn conditions_choose_requests(mpm: Mpm) {
    let folder = Scratch::new();
    let log = |name: &str, format: &str, clause: &str| {
        format!("CustomLog {} \"{format}\" {clause}", folder.join(name).display())
    };
    let lines = [
        log("log", "without %U", "env=!no"),
        log("log", "with %U", "ENV=no"),
        log("log", "failed %U", "\"expr=%{REQUEST_STATUS} -ge 400\""),
        log("log", "short %U", "\"expr=%{REQUEST_URI} == '/a.txt'\""),
    ];
    let server = server(mpm, "%U", &lines.each_ref().map(String::as_str));
    for target in ["/a.txt", "/missing", "/a.txt"] {
        ask(&server, "a", target);
    }
    server.wait_log(3);
    let mut wanted = vec!["without /a.txt", "short /a.txt", "without /missing", "failed /missing"];
    wanted.extend_from_within(..2);
    let text = fs::read_to_string(folder.join("log")).unwrap();
    assert_eq!(text.lines().collect::<Vec<_>>(), wanted);
    for (clause, expected) in [
        ("env=", "missing environment variable name"),
        ("env=!", "missing environment variable name"),
        ("expr=", "missing condition"),
        ("if=x", "error in condition clause"),
    ] {
        let site = Site::new(mpm).directive(log("log", "%U", clause));
        let (code, text) = site.start_fails();
        assert!(code == 1 && text.contains(expected), "{clause}: {text}");
    }
}

fn the_error_log_may_have_another_form_for_each_folder_and_request(mpm: Mpm) {
    let lines = [
        "LogLevel crit",
        "<Location /b>",
        "LogLevel core:info",
        "</Location>",
        "<Location /b/quiet>",
        "LogLevel core:crit",
        "</Location>",
        "ErrorLogFormat \"%m:%l [%v] {%L} %M% ,\\ from\\ %{Referer}i\"",
        "ErrorLogFormat request \"first of {%L} %{Host}i\"",
        "ErrorLogFormat connection \"connection {%{c}L}\"",
        "ServerName named.example",
    ];
    let server = server(mpm, "%U %L %{c}L", &lines);
    let mut client = server.connect();
    for target in ["/missing", "/b/missing", "/b/quiet", "/b/none"] {
        client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\nReferer: r\"\\\r\n\r\n"));
        assert_eq!(client.response().status, 404);
    }
    let lines = server.wait_log(4);
    let ids: Vec<Vec<&str>> = lines.iter().map(|line| line.split(' ').collect()).collect();
    assert_eq!((ids[0][1], ids[0][2], ids[2][1]), ("-", "-", "-"));
    assert_ne!(ids[1][1], ids[3][1]);
    assert_eq!((ids[1][2], ids[2][2]), (ids[3][2], ids[3][2]));
    let root = server.root().path().display();
    let wanted = format!(
        "connection {{{0}}}\nfirst of {{{1}}} a\ncore:info [named.example] {{{1}}} AH00128: File \
         does not exist: {root}/b/missing, from r\"\\\\\nfirst of {{{2}}} a\ncore:info \
         [named.example] {{{2}}} AH00128: File does not exist: {root}/b/none, from r\"\\\\\n",
        ids[1][2], ids[1][1], ids[3][1]
    );
    let text = server.error_text();
    assert!(text.ends_with(&wanted), "{text}\n--\n{wanted}");
}

fn a_system_without_a_logger_is_served_all_the_same(mpm: Mpm) {
    let server = server(mpm, "%U", &["ErrorLog syslog:local3:web"]);
    ask(&server, "a", "/.htaccess");
    assert_eq!(server.wait_log(1), ["/.htaccess"]);
    let (code, text) = Site::new(mpm).directive("ErrorLog syslog:nothing").start_fails();
    assert_eq!(code, 1);
    assert!(text.contains("AH10036: could not open syslog error log nothing."), "{text}");
}

fn the_time_to_the_first_byte_is_logged_where_it_is_asked_for(mpm: Mpm) {
    let lines = ["<Location /b>", "LogIOTrackTTFB On", "</Location>"];
    let server = server(mpm, "%U %^FB %D", &lines);
    server.root().wait_until_at_rest();
    for target in ["/a.txt", "/b/c.txt", "/b/c.txt", "/b/none"] {
        ask(&server, "a", target);
    }
    for line in server.wait_log(4) {
        let words: Vec<&str> = line.split(' ').collect();
        if words[0] == "/a.txt" {
            assert_eq!(words[1], "-", "{line}");
        } else {
            let [first, all] = [1, 2].map(|nth| words[nth].parse::<u64>().unwrap());
            assert!(first <= all, "{line}");
        }
    }
}

each_mpm! {
    a_thousand_hosts_have_logs_of_their_own,
    a_request_of_no_host_is_logged_where_the_first_one_logs,
    a_name_that_another_client_asked_for_is_not_logged,
    conditions_choose_requests,
    the_error_log_may_have_another_form_for_each_folder_and_request,
    a_system_without_a_logger_is_served_all_the_same,
    the_time_to_the_first_byte_is_logged_where_it_is_asked_for,
}
