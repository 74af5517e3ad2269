//! Heads of answers that no server may pass on, by each way in which scripts run: what httpd mends
//! or takes as it comes is 502 here, with a line that says why.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use blackbox::application::{self, Act, end, stdout};
use blackbox::cgi;
use blackbox::{Mpm, Server, Site, each_mpm};

/// Heads, each with what the log says. `\n` and `\r` are what `printf` makes of them.
const HEADS: &[(&str, &str, &str)] = &[
    ("cr", r"X-A: one\rSet-Cookie: b=c\n\ntext", "'x': CR behind: X-A: one"),
    ("name", r"X-A\rB: one\n\ntext", "'x': CR behind: X-A"),
    ("word", r"Status: abc\n\ntext", "Invalid status line from script 'x': abc"),
    ("low", r"Status: 99 Low\n\ntext", "Invalid status line from script 'x': 99 Low"),
    ("high", r"Status: 1000\n\ntext", "Invalid status line from script 'x': 1000"),
];

/// What may be told by CR is the end of a line.
const FINE: (&str, &str) = ("fine", r"X-A: one\r\r\nStatus: 201 Made\r\n\r\ntext");

fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    HEADS.iter().map(|row| (row.0, row.1)).chain([FINE])
}

/// `url` makes the URL for a head.
fn check(server: &Server, url: impl Fn(&str) -> String) {
    for (name, _, text) in HEADS {
        let response = server.get(&url(name));
        let log = server.error_text();
        assert_eq!(response.status, 502, "{name}: {log}");
        assert!(!response.text().contains("text"), "{name}: {}", response.text());
        assert_eq!(response.field("set-cookie"), None, "{name}");
        let text = text.replace("'x'", &format!("'{}'", file_of(&url(name))));
        assert!(log.contains(&text), "{text}: {log}");
    }
    let response = server.get(&url(FINE.0));
    assert_eq!((response.status, response.field("x-a")), (201, Some("one")));
    assert_eq!(response.text(), "text");
}

/// The last part of the path of the script, as messages have it.
fn file_of(url: &str) -> String {
    let path = url.split('?').next().unwrap_or_default();
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

fn heads_of_programs_are_checked(mpm: Mpm) {
    let scripts: Vec<(&str, String)> =
        all().map(|(name, head)| (name, format!("printf '{head}'"))).collect();
    let scripts: Vec<(&str, &str)> = scripts.iter().map(|row| (row.0, row.1.as_str())).collect();
    check(&cgi::start(mpm, &scripts), |name| format!("/cgi-bin/{name}"));
}

fn heads_of_applications_are_checked(mpm: Mpm) {
    let site = all().fold(Site::new(mpm).steady(), |site, row| site.file(row.0, ""));
    let socket = site.root().join("application.sock");
    application::listen(&socket, |asked| {
        let script = &asked.variables["SCRIPT_NAME"];
        let (_, head) = all().find(|row| script.ends_with(row.0)).unwrap();
        let head = head.replace("\\n", "\n").replace("\\r", "\r");
        vec![Act::Send([stdout(head), stdout(""), end()].concat())]
    });
    let handler = format!("SetHandler \"proxy:unix:{}|fcgi://localhost\"", socket.display());
    let server = site.directives(&["<FilesMatch .>", &handler, "</FilesMatch>"]).start();
    check(&server, |name| format!("/{name}"));
}

/// A FastCGI application that answers with the head that it is called with.
const APPLICATION: &str = r#"#!/usr/bin/perl
use strict;
my $head = eval qq("$ARGV[0]");
sub get { my ($from, $length) = @_; my $all = '';
    while (length $all < $length) {
        sysread($from, $all, $length - length $all, length $all) or return; }
    return $all; }
open(my $door, '+<&=', 0) or die;
while (accept(my $client, $door)) {
    while (defined(my $record = get($client, 8))) {
        my (undef, $kind, undef, $length, $padding) = unpack('CCnnC', $record);
        get($client, $length + $padding) if $length + $padding;
        last if $kind == 5 && $length == 0;
    }
    syswrite $client, pack('CCnnCC', 1, 6, 1, length $head, 0, 0) . $head;
    syswrite $client, pack('CCnnCC', 1, 3, 1, 8, 0, 0) . "\0" x 8;
    close $client;
}
"#;

fn heads_of_managed_processes_are_checked(mpm: Mpm) {
    let site = Site::new(mpm).steady().file("bin/answer", APPLICATION);
    let program = site.root().join("bin/answer");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let section = |(name, head): (&str, &str)| {
        let head = head.replace('\\', "\\\\");
        format!(
            "<Location /{name}>\nSetHandler fcgid-script\nOptions +ExecCGI\n\
             FcgidWrapper \"{} '{head}'\"\n</Location>",
            program.display()
        )
    };
    let lines: String = all().map(|row| section(row) + "\n").collect();
    let file = blackbox::scratch::Scratch::new();
    let include = format!("Include {}", file.write("lines.conf", lines).display());
    let site = all().fold(site, |site, row| site.file(row.0, ""));
    check(&site.directive(include).start(), |name| format!("/{name}"));
}

/// Of an application, as of any other server that is asked, but not of a program.
fn an_application_may_say_who_has_made_its_answer_and_when(mpm: Mpm) {
    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    let head = format!("Content-Type: text/plain\ndate: {DATE}\nServer: a server\nX-A: b\n\n");
    let print = format!("printf '{head}'", head = head.replace('\n', "\\n"));
    let site = cgi::site(mpm, &[("own", &print)]).file("own.php", "");
    let socket = site.root().join("application.sock");
    application::listen(&socket, move |_| {
        vec![Act::Send([stdout(&head), stdout(""), end()].concat())]
    });
    let handler = format!("SetHandler \"proxy:unix:{}|fcgi://localhost\"", socket.display());
    let site = site.directives(&["<FilesMatch \\.php$>", &handler, "</FilesMatch>"]);
    let server = site.directive("<Location /own.php>\nHeader set X-C d\n</Location>").start();
    for (target, is_kept) in [("/own.php", true), ("/cgi-bin/own", false)] {
        for method in ["GET", "HEAD"] {
            let request = format!("{method} {target} HTTP/1.1\r\nHost: a\r\n\r\n");
            let response = server.exchange(request);
            assert_eq!((response.status, response.field("X-A")), (200, Some("b")));
            let date = response.fields.iter().find(|field| field.0 == "Date").unwrap();
            assert_eq!(date.1 == DATE.as_bytes(), is_kept, "{target}: {response:?}");
            assert_eq!(response.field("Server") == Some("a server"), is_kept, "{target}");
        }
    }
}

each_mpm! {
    an_application_may_say_who_has_made_its_answer_and_when,
    heads_of_programs_are_checked,
    heads_of_applications_are_checked,
    heads_of_managed_processes_are_checked,
}
