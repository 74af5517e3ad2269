//! CGI scripts: what they are told, and what becomes of what they say. Beside Apache
//! with mod_cgid: scripts see the same variables, clients the same answers.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use blackbox::apache::Pair;
use blackbox::cases::assert_answers_in_parts;
use blackbox::cgi::{open_folder, site, start, with_head};
use blackbox::differential::{FRAMING, Set, compare_with};
use blackbox::httpd::Root;
use blackbox::{Client, Mpm, Response, each_mpm, wait_for};

/// What a script is told, but for what tells the servers and the connections apart. It reads its
/// body, because mod_cgid gives up an answer whose script has not.
const ENVIRONMENT: &str = "#!/bin/sh
cat >/dev/null
printf 'Content-Type: text/plain\\n\\n'
env | grep -v -e REMOTE_PORT -e SERVER_SOFTWARE -e SERVER_PORT -e '^PATH=' -e SIGNATURE | sort
echo \"$# $*\"
pwd
";

const SCRIPTS: &[(&str, &str)] = &[
    ("bin/env.sh", ENVIRONMENT),
    ("exec/env.sh", ENVIRONMENT),
    ("set/env", ENVIRONMENT),
    ("closed/env.sh", ENVIRONMENT),
    ("bin/rejecting.sh", ENVIRONMENT),
    ("bin/hello", "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\nhello\\n'\n"),
    ("bin/typeless.sh", "#!/bin/sh\nprintf 'X-A: b\\n\\ntypeless\\n'\n"),
    (
        "bin/print.pl",
        "#!/usr/bin/perl\n1 while <STDIN>; $_ = $ENV{QUERY_STRING};\n\
         s/%(..)/chr hex $1/ge; print;\n",
    ),
    ("bin/cat.sh", "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\ncat\n"),
    ("bin/deaf.sh", "#!/bin/sh\nexec <&-\nprintf 'Content-Type: text/plain\\n\\ndeaf\\n'\n"),
    ("bin/silent.sh", "#!/bin/sh\n"),
    ("bin/nph-own.sh", "#!/bin/sh\nprintf 'HTTP/1.1 299 Own\\r\\nX-A: b\\r\\n\\r\\nown\\n'\n"),
    ("bin/nobody.sh", "#!/no/such/program\n"),
    ("bin/noformat.sh", "no format\n"),
    ("bin/notexecutable", "#!/bin/sh\n"),
    (
        "bin/complain.sh",
        "#!/bin/sh\necho one >&2; printf 'two\\r\\n' >&2\nprintf 'A: b\\n\\nx\\n'\n",
    ),
    ("bin/why.sh", "#!/bin/sh\necho why >&2; exit 1\n"),
    ("bin/sleep.sh", "#!/bin/sh\nexec sleep 3\n"),
    ("bin/folder/", ""),
    ("page.txt", "a page\n"),
    ("page.run", "what an Action is for\n"),
];

/// A request of `print.pl`, which says what is asked for.
const DIFFERENTIAL: Set = Set {
    config: "cgi",
    files: SCRIPTS,
    ignored: FRAMING,
    requests: &[
        "GET /cgi-bin/hello HTTP/1.1",
        "HEAD /cgi-bin/hello HTTP/1.1",
        "GET /cgi-bin/hello HTTP/1.0",
        "OPTIONS /cgi-bin/hello HTTP/1.1",
        "BREW /cgi-bin/hello HTTP/1.1",
        "GET /cgi-bin/env.sh HTTP/1.1",
        "GET /cgi-bin/env.sh?a=1&b=%20 HTTP/1.1",
        "GET /cgi-bin/env.sh?a+b%20c+d;e%00f HTTP/1.1",
        "GET /cgi-bin/env.sh?+ HTTP/1.1",
        "GET /cgi-bin/env.sh? HTTP/1.1",
        "GET /cgi-bin/env.sh/path/info HTTP/1.1",
        "GET /cgi-bin/env.sh//path//info?q HTTP/1.1",
        "GET /cgi-bin/rejecting.sh HTTP/1.1",
        "GET /cgi-bin/rejecting.sh/path HTTP/1.1",
        "GET /exec/env.sh HTTP/1.1",
        "GET /exec/env.sh/x HTTP/1.1",
        "GET /set/env HTTP/1.1",
        "GET /set/ HTTP/1.1",
        "GET /set/missing HTTP/1.1",
        "GET /match/env HTTP/1.1",
        "GET /match/env/x HTTP/1.1",
        "GET /closed/env.sh HTTP/1.1",
        "GET /page.run HTTP/1.1",
        "POST /page.run/x?y HTTP/1.1\nContent-Length: 3\n\nabc",
        "POST /cgi-bin/env.sh HTTP/1.1\nContent-Type: text/x\nContent-Length: 3\n\nabc",
        "GET /cgi-bin/env.sh HTTP/1.1\nAccept-Language: de\nX-Two: 1\nX-Two: 2",
        "GET /cgi-bin/env.sh HTTP/1.1\nProxy: http://evil/",
        "GET /cgi-bin/env.sh HTTP/1.1\nAuthorization: Basic dXNlcjpzZWNyZXQ=",
        "GET /cgi-bin/env.sh HTTP/1.1\nRemote_User: admin\nRemote.User: admin\nX_Y: 1",
        "POST /cgi-bin/cat.sh HTTP/1.1\nContent-Length: 5\n\nhello",
        "POST /cgi-bin/cat.sh HTTP/1.1\nContent-Length: 0",
        "POST /cgi-bin/cat.sh HTTP/1.1\nTransfer-Encoding: chunked\n\n5\r\nhello\r\n0\r\n\r\n",
        "PUT /cgi-bin/cat.sh HTTP/1.1\nContent-Length: 2\n\nab",
        "GET /cgi-bin/deaf.sh HTTP/1.1",
        "GET /cgi-bin/typeless.sh HTTP/1.1",
        "GET /cgi-bin/silent.sh HTTP/1.1",
        "GET /cgi-bin/nobody.sh HTTP/1.1",
        "GET /cgi-bin/noformat.sh HTTP/1.1",
        "GET /cgi-bin/notexecutable HTTP/1.1",
        "GET /cgi-bin/missing HTTP/1.1",
        "GET /cgi-bin/missing/x HTTP/1.1",
        "GET /cgi-bin/folder HTTP/1.1",
        "GET /cgi-bin/folder/ HTTP/1.1",
        "GET /cgi-bin/ HTTP/1.1",
        "GET /cgi-bin/print.pl?Status:%20404%20Gone%20Fishing%0a%0abody HTTP/1.1",
        "GET /cgi-bin/print.pl?Status:%20410%0a%0a HTTP/1.1",
        "GET /cgi-bin/print.pl?Status:%20299%20Odd%0aX:%20y%0a%0abody HTTP/1.1",
        "GET /cgi-bin/print.pl?Status:%20200%20OK%0aLocation:%20/page.txt%0a%0abody HTTP/1.1",
        "GET /cgi-bin/print.pl?Status:%20301%20Gone%0aLocation:%20http://x/%0a%0abody HTTP/1.1",
        "GET /cgi-bin/print.pl?Status:%20204%20No%0a%0a HTTP/1.1",
        "GET /cgi-bin/print.pl?Location:%20/page.txt%0a%0abody HTTP/1.1",
        "HEAD /cgi-bin/print.pl?Location:%20/page.txt%0a%0abody HTTP/1.1",
        "GET /cgi-bin/print.pl?Location:%20/cgi-bin/env.sh?x=1%0aX-A:%20b%0a%0abody HTTP/1.1",
        "POST /cgi-bin/print.pl?Location:%20/cgi-bin/cat.sh%0a%0a HTTP/1.1\n\
         Content-Length: 3\n\nabc",
        "GET /cgi-bin/print.pl?Location:%20/missing%0a%0abody HTTP/1.1",
        "GET /cgi-bin/print.pl?Location:%20http://example.com/%0aX-A:%20b%0a%0abody HTTP/1.1",
        "GET /cgi-bin/print.pl?Location:%20x%0a%0abody HTTP/1.1",
        "GET /cgi-bin/print.pl?ETag:%20%22x%22%0aX-A:%20b%0aContent-Type:%20a/b%0a%0abody \
         HTTP/1.1\n\
         If-None-Match: \"x\"",
        "GET /cgi-bin/print.pl?ETag:%20%22x%22%0a%0abody HTTP/1.1\nIf-Match: \"y\"",
        "GET /cgi-bin/print.pl?Last-Modified:%20Sun,%2006%20Nov%201994%2008:49:37%20GMT%0a%0abody \
         HTTP/1.1\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
        "GET /cgi-bin/print.pl?Status:%20200%20OK%0aETag:%20%22x%22%0a%0abody HTTP/1.1\n\
         If-None-Match: \"x\"",
        "GET /cgi-bin/print.pl?Set-Cookie:%20a%0aSet-Cookie:%20b%0aX:%201%0aX:%202%0a%0a HTTP/1.1",
        "GET /cgi-bin/print.pl?A:%20b HTTP/1.1",
        "GET /cgi-bin/print.pl?hello%0a%0abody HTTP/1.1",
        "GET /cgi-bin/print.pl?Content-Length:%202%0aContent-Type:%20a/b%0a%0abody HTTP/1.1",
        "GET /cgi-bin/nph-own.sh HTTP/1.1",
        "GET /page.txt HTTP/1.1",
    ],
    different: &[
        (
            "POST /cgi-bin/env.sh HTTP/1.1\nTransfer-Encoding: chunked\n\n1\r\nx\r\n0\r\n\r\n",
            "a script is told how long its body is, and need not guess where it ends",
        ),
        (
            "GET /cgi-bin/print.pl?Status:%20oh%0a%0abody HTTP/1.1",
            "what the script calls its status and is none makes no answer",
        ),
        (
            "GET /cgi-bin/print.pl?X-A:%20one%0dSet-Cookie:%20b=c%0a%0abody HTTP/1.1",
            "two fields are not made one",
        ),
    ],
};

fn make_executable(folder: &Path) {
    for (name, _) in SCRIPTS.iter().filter(|row| row.1.starts_with("#!") || row.0.contains(".sh")) {
        if *name != "bin/notexecutable" {
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(folder.join(name), mode).unwrap();
        }
    }
}

fn scripts_and_clients_see_what_they_see_with_apache(mpm: Mpm) {
    compare_with("cgi: beside apache2", mpm, &DIFFERENTIAL, |pair| {
        make_executable(pair.site.path());
        Some(())
    });
}

/// Requests whose script, or the lack of it, is told to the error log.
const TOLD: &[&str] = &[
    "/cgi-bin/complain.sh",
    "/cgi-bin/why.sh",
    "/cgi-bin/silent.sh",
    "/cgi-bin/nobody.sh",
    "/cgi-bin/noformat.sh",
    "/cgi-bin/notexecutable",
    "/cgi-bin/missing",
    "/cgi-bin/missing/x",
    "/cgi-bin/folder/",
    "/cgi-bin/",
    "/closed/env.sh",
    "/cgi-bin/rejecting.sh/path",
    "/cgi-bin/print.pl?A:%20b%0a",
    "/cgi-bin/print.pl?hello%0a%0abody",
    "/cgi-bin/print.pl?Status:%20oh%0a%0a",
    "/cgi-bin/sleep.sh",
];

fn the_error_log_says_what_apaches_says(mpm: Mpm) {
    let Some(pair) = Pair::start("cgi: error logs", mpm, "cgi_log", SCRIPTS) else { return };
    make_executable(pair.site.path());
    // The other one of the pair does not ask which modules are loaded.
    let modules = ["alias", "mime"].map(|name| format!("LoadModule {name}_module mod_{name}.so\n"));
    let site = format!("Define SITE {}\n", pair.site.path().display());
    let lines = include_str!("../configs/cgi_log.conf");
    let root = Root::under(mpm, &[&modules.concat(), &site, lines].map(String::from).concat());
    root.start();
    let sides = [
        (pair.apache.home().join("errors"), pair.apache.address()),
        (root.folder.join("errors"), root.address),
    ];
    let mut wrong = String::new();
    for target in TOLD {
        let [theirs, ours] = sides.each_ref().map(|(log, address)| told(log, *address, target));
        assert!(!theirs.is_empty(), "{target}");
        if theirs != ours {
            wrong += &format!("\n== {target}\n-- apache2\n{theirs}\n-- trivet\n{ours}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What a log is told about a request, sorted: what a script says itself may come before or behind
/// what is said of it.
fn told(log: &Path, address: SocketAddr, target: &str) -> String {
    let text = || fs::read_to_string(log).unwrap_or_default();
    let before = text().len();
    let request = format!("GET {target} HTTP/1.0\r\n\r\n");
    Client::connect(address).send(request).read_to_end();
    wait_for("a line", 10, || text().len() > before && text().ends_with('\n'));
    let text = text()[before..].to_owned();
    let about_it = text.lines().filter(|line| line.starts_with("[cgi:"));
    let mut lines: Vec<String> = about_it
        .map(|line| {
            let (start, rest) = line.split_once("127.0.0.1:").unwrap_or((line, ""));
            format!("{start}{}", rest.trim_start_matches(|letter: char| letter.is_ascii_digit()))
        })
        .collect();
    lines.sort();
    lines.join("\n")
}

fn a_script_answers_while_it_runs(mpm: Mpm) {
    let body = with_head("echo first; sleep 1; echo last");
    let server = start(mpm, &[("slow", &body)]);
    assert_answers_in_parts(&server, "/cgi-bin/slow", Duration::from_millis(900));
}

fn a_long_body_goes_in_while_the_answer_comes_out(mpm: Mpm) {
    const BYTES: usize = 8 << 20;
    let server = start(mpm, &[("cat", &with_head("cat"))]);
    let client = server.connect();
    let mut writer = client.stream().try_clone().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || {
            use std::io::Write;
            let head = format!(
                "POST /cgi-bin/cat HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
                 Content-Length: {BYTES}\r\n\r\n"
            );
            writer.write_all(head.as_bytes()).unwrap();
            let piece = vec![b'x'; 1 << 16];
            for _ in 0..BYTES >> 16 {
                writer.write_all(&piece).unwrap();
            }
        });
        let mut client = client;
        assert_eq!(client.response().body.len(), BYTES);
    });
}

fn a_body_without_a_length_is_measured_before_the_script_is_told(mpm: Mpm) {
    let body = with_head("echo $CONTENT_LENGTH; wc -c");
    let server = start(mpm, &[("count", &body)]);
    for length in [0, 1, 70_000, 3_000_000] {
        let mut client = server.connect();
        client
            .send("POST /cgi-bin/count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        if length > 0 {
            client.send(format!("{length:x}\r\n{}\r\n", "x".repeat(length)));
        }
        client.send("0\r\n\r\n");
        assert_eq!(client.response().text(), format!("{length}\n{length}\n"));
    }
}

fn a_script_need_not_read_its_body(mpm: Mpm) {
    let body = with_head("exec <&-; echo deaf");
    let server = start(mpm, &[("deaf", &body)]);
    let mut client = server.connect();
    let bytes = 300_000;
    client
        .send(format!("POST /cgi-bin/deaf HTTP/1.1\r\nHost: a\r\nContent-Length: {bytes}\r\n\r\n"));
    client.send(vec![b'x'; bytes]);
    assert_eq!(client.response().text(), "deaf\n");
    wait_for("the line", 10, || server.error_text().contains("AH02651"));
}

fn what_a_script_complains_about_is_logged_with_its_client(mpm: Mpm) {
    let body = with_head("echo one >&2; printf 'two\\r\\nthree' >&2; echo done");
    let server = start(mpm, &[("complain", &body), ("die", "echo why >&2; exit 1")]);
    assert_eq!(server.get("/cgi-bin/complain").text(), "done\n");
    assert_eq!(server.get("/cgi-bin/die").status, 500);
    let log = server.error_text();
    for line in ["complain: one", "complain: two", "complain: three", "die: why"] {
        let found = log.lines().find(|text| text.ends_with(&format!("/bin/{line}")));
        let found = found.unwrap_or_else(|| panic!("{line} in {log}"));
        assert!(found.contains("[client 127.0.0.1:") && found.contains("AH01215: stderr from /"));
    }
    assert!(log.contains("End of script output before headers: die"), "{log}");
}

fn a_flood_of_complaints_neither_fills_the_log_nor_stops_the_clock(mpm: Mpm) {
    let flood = with_head("yes $(printf %090d 0) complaint | head -c 5000000 >&2; echo done");
    let scripts = [("flood", flood.as_str()), ("endless", "exec yes complaint >&2")];
    let server = site(mpm, &scripts).directive("Timeout 2").start();
    assert_eq!(server.get("/cgi-bin/flood").text(), "done\n");
    let log = server.error_text();
    assert!(log.contains("the rest is not logged"), "{} bytes", log.len());
    let lines = log.lines().filter(|line| line.ends_with("complaint")).count();
    assert!(lines < 11_000, "{lines}");
    assert_eq!(server.get("/cgi-bin/endless").status, 504);
}

fn a_script_writes_its_own_head(mpm: Mpm) {
    let own = "printf 'HTTP/1.1 299 Own\\r\\nX: y\\r\\n\\r\\n'; echo $REQUEST_METHOD";
    let server = start(mpm, &[("nph-own", own)]);
    for method in ["GET", "HEAD", "POST"] {
        let mut client = server.connect();
        client.send(format!("{method} /cgi-bin/nph-own HTTP/1.1\r\nHost: a\r\n\r\n"));
        let answer = client.read_to_end();
        let expected = format!("HTTP/1.1 299 Own\r\nX: y\r\n\r\n{method}\n");
        assert_eq!(
            answer.escape_ascii().to_string(),
            expected.as_bytes().escape_ascii().to_string()
        );
    }
}

fn a_redirect_within_the_server_is_no_way_to_run_a_page(mpm: Mpm) {
    let redirect = "printf 'Location: /page.txt\\n\\n'";
    let site = site(mpm, &[("redirect", redirect)]);
    fs::set_permissions(site.root().join("page.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    let server = site.start();
    assert_eq!(server.get("/cgi-bin/redirect").text(), "a page\n");
    let mut client = server.connect();
    client.send("POST /cgi-bin/redirect HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab");
    assert_eq!(client.response().text(), "a page\n");
    // The body is not taken for a request.
    assert_eq!(client.get("/page.txt").text(), "a page\n");
}

fn scripts_that_redirect_to_themselves_end(mpm: Mpm) {
    let server = start(mpm, &[("round", "printf 'Location: /cgi-bin/round\\n\\n'")]);
    assert_eq!(server.get("/cgi-bin/round").status, 500);
    assert!(server.error_text().contains("AH00124"), "{}", server.error_text());
}

fn answers_that_are_none_are_an_error_and_no_more(mpm: Mpm) {
    let scripts = [
        ("empty", "", 500, "End of script output before headers: empty"),
        ("cut", "printf 'A: b\\n'", 500, "Premature end of script headers: cut"),
        ("none", "echo hello", 500, "malformed header from script 'none': Bad header: hello"),
        ("control", "printf 'A: \\001\\n\\n'", 502, "AH02430"),
        ("nul", "printf 'A: \\000\\n\\n'", 502, "NUL within the headers"),
        ("early", "printf 'Status: 100\\n\\n'", 502, "status 100"),
        ("endless", "exec yes 'A: b'", 502, "headers"),
    ];
    let bodies: Vec<(&str, &str)> = scripts.iter().map(|row| (row.0, row.1)).collect();
    let server = start(mpm, &bodies);
    for (name, _, status, line) in scripts {
        assert_eq!(server.get(&format!("/cgi-bin/{name}")).status, status, "{name}");
        assert!(server.error_text().contains(line), "{name}: {}", server.error_text());
    }
}

fn a_program_that_cannot_be_run_is_500_with_the_reason(mpm: Mpm) {
    let site = site(mpm, &[("fine", &with_head("echo fine"))]);
    for (name, text, mode) in
        [("plain", "#!/bin/sh\n", 0o644), ("format", "x\n", 0o755), ("gone", "#!/no/such\n", 0o755)]
    {
        let path = site.root().join("bin").join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let server = site.start();
    for (name, reason) in [
        ("plain", "(13)Permission denied: "),
        ("format", "(8)Exec format error: "),
        ("gone", "(2)No such file or directory: "),
    ] {
        assert_eq!(server.get(&format!("/cgi-bin/{name}")).status, 500, "{name}");
        let log = server.error_text();
        let line = log.lines().find(|line| line.ends_with(&format!("/bin/{name}' failed")));
        assert!(line.is_some_and(|line| line.contains(reason)), "{name}: {log}");
        assert!(log.contains(&format!("End of script output before headers: {name}")), "{log}");
    }
    assert_eq!(server.get("/cgi-bin/fine").text(), "fine\n");
}

fn the_log_of_scripts_shows_what_was_asked_and_answered(mpm: Mpm) {
    let site = site(mpm, &[("bad", "cat >/dev/null; printf 'hello\\nworld\\n'")]);
    let folder = open_folder();
    let log = folder.join("script.log");
    let line = format!("ScriptLog {}", log.display());
    let server = site.directives(&[&line, "ScriptLogBuffer 3"]).start();
    let request = "POST /cgi-bin/bad?q HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\
                   Connection: close\r\n\r\n12345";
    assert_eq!(server.exchange(request).status, 500);
    wait_for("the entry", 10, || fs::read_to_string(&log).is_ok_and(|text| !text.is_empty()));
    let text = fs::read_to_string(&log).unwrap();
    for part in [
        "] POST /cgi-bin/bad?q HTTP/1.1\n%% 500 /",
        "%request\nHost: a\nContent-Length: 5\nConnection: close\n\n123\n%response\n",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(server.get("/cgi-bin/missing").status, 404);
    wait_for("the entry", 10, || {
        let text = fs::read_to_string(&log).unwrap();
        text.contains("%error\nscript not found or unable to stat\n")
    });
}

fn without_exec_cgi_nothing_runs(mpm: Mpm) {
    let site = site(mpm, &[("x.sh", &with_head("echo ran"))]);
    let server = site.directives(&["AddHandler cgi-script .sh"]).start();
    let refused: Response = server.get("/bin/x.sh");
    assert_eq!(refused.status, 403);
    assert!(server.error_text().contains("Options ExecCGI is off in this directory"));
    assert_eq!(server.get("/cgi-bin/x.sh").text(), "ran\n");
}

each_mpm! {
    scripts_and_clients_see_what_they_see_with_apache,
    the_error_log_says_what_apaches_says,
    a_script_answers_while_it_runs,
    a_long_body_goes_in_while_the_answer_comes_out,
    a_body_without_a_length_is_measured_before_the_script_is_told,
    a_script_need_not_read_its_body,
    what_a_script_complains_about_is_logged_with_its_client,
    a_flood_of_complaints_neither_fills_the_log_nor_stops_the_clock,
    a_script_writes_its_own_head,
    a_redirect_within_the_server_is_no_way_to_run_a_page,
    scripts_that_redirect_to_themselves_end,
    answers_that_are_none_are_an_error_and_no_more,
    a_program_that_cannot_be_run_is_500_with_the_reason,
    the_log_of_scripts_shows_what_was_asked_and_answered,
    without_exec_cgi_nothing_runs,
}
