//! Access logs in every format and the error log: one line per request, escaped, never torn.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::thread;

use blackbox::httpd::Root;
use blackbox::wait::wait_for;
use blackbox::{Mpm, Server, each_mpm, plain_site, until};

/// A site whose access log has this format only.
fn logging(mpm: Mpm, format: &str) -> Server {
    let site = blackbox::Site::new(mpm).file("a.txt", "0123456789abcdefghij");
    let site = site.file("index.html", "x").file("dir/index.html", "x");
    site.access_log(&format!("\"{}\"", format.replace('"', "\\\""))).diagnostics().start()
}

/// Letters and digits replaced by `A`, `a` and `9`: the shape of a line.
fn shape(text: &str) -> String {
    let kind = |each: char| match each {
        '0'..='9' => '9',
        'A'..='Z' => 'A',
        'a'..='z' => 'a',
        other => other,
    };
    text.chars().map(kind).collect()
}

fn common_and_combined_are_as_httpd_writes_them(mpm: Mpm) {
    let server = plain_site(mpm).start();
    server.exchange(
        "GET /a.txt?x=y HTTP/1.1\r\nHost: a\r\nReferer: http://b/\r\nUser-Agent: me/1\r\n\r\n",
    );
    server.wait_log(1); // two children may log in either order
    server.exchange("GET /missing HTTP/1.0\r\n\r\n");
    let lines = server.wait_log(2);
    let (date, rest) = lines[0].strip_prefix("127.0.0.1 - - [").unwrap().split_once(']').unwrap();
    let zone = shape(date).replace('-', "+");
    assert_eq!(zone, "99/Aaa/9999:99:99:99 +9999", "{date}");
    assert_eq!(rest, " \"GET /a.txt?x=y HTTP/1.1\" 200 20 \"http://b/\" \"me/1\"");
    assert!(lines[1].contains("] \"GET /missing HTTP/1.0\" 404 "), "{}", lines[1]);
    assert!(lines[1].ends_with(" \"-\" \"-\""), "{}", lines[1]);
    let site = blackbox::Site::new(mpm).file("a.txt", "x").access_log("common");
    let server = site.start();
    server.get("/a.txt");
    let line = server.wait_log(1).remove(0);
    assert!(line.ends_with("] \"GET /a.txt HTTP/1.1\" 200 1"), "{line}");
}

fn a_named_logformat_is_used(mpm: Mpm) {
    let site = blackbox::Site::new(mpm).file("a.txt", "x");
    let site = site.directive("LogFormat \"mine %m %>s\" mine").access_log("mine");
    let server = site.start();
    server.get("/a.txt");
    assert_eq!(server.wait_log(1), ["mine GET 200"]);
}

fn the_parts_of_a_request_are_logged(mpm: Mpm) {
    let server = logging(mpm, "%h %a %A %l %u %m %U %q %H %>s %s %% %{Foo}i %{None}i \"%r\"");
    server.exchange(
        "POST /a.txt?x=%20y HTTP/1.1\r\nHost: a\r\nFoo: bar\r\nContent-Length: 0\r\n\r\n",
    );
    server.wait_log(1);
    server.exchange("GET /%61.txt HTTP/1.0\r\n\r\n");
    let lines = server.wait_log(2);
    let wanted = "127.0.0.1 127.0.0.1 127.0.0.1 - - POST /a.txt ?x=%20y HTTP/1.1 200 200 % bar - \
                  \"POST /a.txt?x=%20y HTTP/1.1\"";
    assert_eq!(lines[0], wanted);
    let wanted = "127.0.0.1 127.0.0.1 127.0.0.1 - - GET /a.txt  HTTP/1.0 200 200 % - - \
                  \"GET /%61.txt HTTP/1.0\"";
    assert_eq!(lines[1], wanted);
}

fn the_parts_of_a_response_are_logged(mpm: Mpm) {
    let server = logging(mpm, "%b %B %{Content-Type}o %{ETag}o %{Location}o");
    let etag = server.get("/a.txt").field("ETag").unwrap().to_string();
    server.wait_log(1);
    server.exchange(format!("GET /a.txt HTTP/1.1\r\nHost: a\r\nIf-None-Match: {etag}\r\n\r\n"));
    server.wait_log(2);
    server.exchange("HEAD /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    server.wait_log(3);
    let length = server.get("/dir").body.len();
    let lines = server.wait_log(4);
    let escaped = etag.replace('"', "\\\"");
    assert_eq!(lines[0], format!("20 20 text/plain {escaped} -"));
    assert_eq!(lines[1], format!("- 0 - {escaped} -"));
    assert_eq!(lines[2], format!("- 0 text/plain {escaped} -"));
    let start = format!("{length} {length} text/html");
    assert!(lines[3].starts_with(&start) && lines[3].ends_with(" - http://a/dir/"), "{}", lines[3]);
}

fn bytes_in_and_out_are_those_on_the_wire(mpm: Mpm) {
    let server = logging(mpm, "%I %O");
    for request in [
        "GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "POST /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
        "GET /missing HTTP/1.0\r\n\r\n",
        "HEAD /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    ] {
        let before = server.log_lines().len();
        let received = server.connect().send(request).read_to_end().len();
        let line = server.wait_log(before + 1).pop().unwrap();
        assert_eq!(line, format!("{} {received}", request.len()), "{request:?}");
    }
}

fn times_are_measured(mpm: Mpm) {
    let server = logging(mpm, "%D %T %{ms}T %{us}T %{sec}t %{%Y}t");
    server.get("/diag?wait=1100");
    let line = server.wait_log(1).remove(0);
    let words: Vec<u64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
    assert!((1_100_000..9_000_000).contains(&words[0]), "%D: {line}");
    assert!((1..9).contains(&words[1]), "%T: {line}");
    assert!((1_100..9_000).contains(&words[2]), "%{{ms}}T: {line}");
    assert!((1_100_000..9_000_000).contains(&words[3]), "%{{us}}T: {line}");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    assert!(now.as_secs().abs_diff(words[4]) < 60, "%{{sec}}t: {line}");
    assert!((2024..2100).contains(&words[5]), "%{{%Y}}t: {line}");
}

fn the_connection_and_its_process_are_logged(mpm: Mpm) {
    let server = logging(mpm, "%p %{local}p %{remote}p %P %k %X %v");
    let port = server.address().port();
    let mut client = server.connect();
    let own = client.stream().local_addr().unwrap().port();
    for close in ["", "", "Connection: close\r\n"] {
        client.send(format!("GET /a.txt HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{close}\r\n"));
        client.response();
    }
    let children = server.children();
    for (number, line) in server.wait_log(3).iter().enumerate() {
        let words: Vec<&str> = line.split(' ').collect();
        // The port of ServerName, which is that of the scheme where it has none (ap_default_port).
        assert_eq!(words[..3], ["80".into(), port.to_string(), own.to_string()], "{line}");
        assert!(children.contains(&words[3].parse().unwrap()), "%P: {line}");
        // A response that closes counts no request (ap_set_keepalive).
        assert_eq!(words[4], number.min(1).to_string(), "%k: {line}");
        assert_eq!(words[5], if number == 2 { "-" } else { "+" }, "%X: {line}");
        assert!(!words[6].is_empty(), "%v: {line}");
    }
}

fn an_aborted_response_is_marked(mpm: Mpm) {
    let site = blackbox::Site::new(mpm).file("large.bin", vec![b'x'; 64 << 20]);
    let server = site.access_log("\"%X\"").start();
    let mut client = server.connect();
    client.send("GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_some(1000);
    client.reset_on_drop();
    drop(client);
    assert_eq!(server.wait_log(1), ["X"]);
}

fn conditions_choose_by_status(mpm: Mpm) {
    let server = logging(mpm, "%200,301{Foo}i %!200{Foo}i");
    for target in ["/a.txt", "/missing", "/dir"] {
        let before = server.log_lines().len();
        server.exchange(format!("GET {target} HTTP/1.1\r\nHost: a\r\nFoo: bar\r\n\r\n"));
        server.wait_log(before + 1); // two children may log in either order
    }
    assert_eq!(server.wait_log(3), ["bar -", "- bar", "bar bar"]);
}

/// As in httpd; what the lines themselves show of a redirected request is told by each directive.
fn conditions_look_at_the_request_that_was_sent(mpm: Mpm) {
    let site = plain_site(mpm).file("e/gone.txt", "gone");
    let logs = site.root().path().display().to_string();
    let log = |name: &str, when: &str| format!("CustomLog {logs}/{name} \"%r %>U\" \"{when}\"");
    let names = ["env", "no-env", "path", "status", "type", "all"];
    let server = site
        .directives(&["SetEnvIf Request_URI ^/e Foo", "ErrorDocument 404 /e/gone.txt"])
        .directive(log("env", "env=Foo"))
        .directive(log("no-env", "env=!Foo"))
        .directive(log("path", "expr=%{REQUEST_URI} =~ m#^/e#"))
        .directive(log("status", "expr=%{REQUEST_STATUS} == 404"))
        .directive(log("type", "expr=resp('Content-Type') =~ /plain/"))
        .directive(format!("CustomLog {logs}/all \"%r %>U\""))
        .start();
    // One connection, so that one process writes the lines.
    let mut client = server.connect();
    assert_eq!(client.get("/none").text(), "gone");
    assert_eq!(client.get("/e/gone.txt").text(), "gone");
    let read = |name: &str| fs::read_to_string(server.root().join(name)).unwrap_or_default();
    wait_for("both lines", 5, || read("all").lines().count() == 2);
    let (none, gone) =
        ("GET /none HTTP/1.1 /e/gone.txt\n", "GET /e/gone.txt HTTP/1.1 /e/gone.txt\n");
    let both = format!("{none}{gone}");
    for (name, expected) in names.iter().zip([gone, none, gone, none, gone, &both]) {
        assert_eq!(read(name), *expected, "{name}");
    }
}

fn the_error_log_calls_a_request_what_mod_unique_id_calls_it(mpm: Mpm) {
    let root = Root::under(
        mpm,
        "LoadModule unique_id_module modules/mod_unique_id.so\n\
         CustomLog logs/ids \"%{UNIQUE_ID}e %L %s\"\nErrorLog logs/errors\n\
         ErrorLogFormat \"%L %M\"\nErrorDocument 403 /a.txt\n\
         <Location /no>\nRequire all denied\n</Location>\n",
    );
    root.start();
    let read = |name: &str| fs::read_to_string(root.folder.join("logs").join(name)).unwrap();
    assert_eq!(root.get("/no").text(), "hello\n");
    wait_for("its line", 5, || read("ids").ends_with(" 403\n"));
    let line = read("ids");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!((words[0], words[0].len()), (words[1], 27), "{line}");
    let said = format!("{} AH01630: client denied", words[0]);
    assert!(read("errors").contains(&said), "{}", read("errors"));
    assert_eq!(root.get("/a.txt").status, 200);
    wait_for("the second line", 5, || read("ids").ends_with(" - 200\n"));
}

fn input_is_escaped_in_every_field(mpm: Mpm) {
    let server = logging(mpm, "\"%r\" \"%{Foo}i\" \"%U\" \"%q\"");
    server.exchange(
        [b"GET /\"\\%0a%1b\xff?\"\\\xfe HTTP/1.1\r\nHost: a\r\nFoo: \"\\\t\xe9\r\n\r\n".as_slice()]
            .concat(),
    );
    server.exchange(b"G\x01ET / HTTP/1.1\r\nHost: a\r\n\r\n");
    for line in server.wait_log(2) {
        let plain = line.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        assert!(plain, "{line:?}");
        // Each quote inside a field is behind a backslash, so that eight delimiters are left.
        let quotes = line.replace("\\\\", "").replace("\\\"", "").matches('"').count();
        assert_eq!(quotes, 8, "{line}");
    }
}

fn lines_equal_requests_under_load_and_are_never_torn(mpm: Mpm) {
    let server = logging(mpm, "%{Foo}i|%>s");
    thread::scope(|scope| {
        for worker in 0..6 {
            let server = &server;
            scope.spawn(move || {
                let mut client = server.connect();
                let letter = char::from(b'a' + worker);
                let value: String =
                    std::iter::repeat_n(letter, 500 + usize::from(worker) * 500).collect();
                for _ in 0..300 {
                    client.send(format!("GET /a.txt HTTP/1.1\r\nHost: a\r\nFoo: {value}\r\n\r\n"));
                    assert_eq!(client.response().status, 200);
                }
            });
        }
    });
    for line in server.wait_log(1800) {
        let (value, status) = line.split_once('|').unwrap();
        let letter = value.bytes().next().unwrap();
        assert_eq!(status, "200");
        assert_eq!(value.len(), 500 + usize::from(letter - b'a') * 500, "torn: {line}");
        assert!(value.bytes().all(|byte| byte == letter), "torn: {line}");
    }
}

fn several_logs_are_written(mpm: Mpm) {
    let other = blackbox::scratch::Scratch::new();
    let path = other.join("other.log");
    let site = plain_site(mpm).directive(format!("CustomLog {} \"%m %U\"", path.display()));
    let server = site.start();
    server.get("/a.txt");
    server.wait_log(1);
    let text = until("a line in the other log", 5, || {
        fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n'))
    });
    assert_eq!(text, "GET /a.txt\n");
}

fn no_access_log_is_written_unless_configured(mpm: Mpm) {
    let server = blackbox::Site::new(mpm).file("a.txt", "x").start();
    for _ in 0..5 {
        server.get("/a.txt");
    }
    assert!(!server.banner().contains("a.txt"), "{}", server.banner());
    assert!(!server.error_text().contains("GET /a.txt"), "{}", server.error_text());
}

/// Asserts that a line of the error log is of httpd's form.
fn assert_error_line(line: &str) {
    let date = "[Aaa Aaa 99 99:99:99.999999 9999] [";
    assert!(shape(line).starts_with(date), "{line}");
    let rest = &line[date.len()..];
    let (source, rest) = rest.split_once("] [pid ").unwrap_or_else(|| panic!("{line}"));
    let (module, level) = source.split_once(':').unwrap_or_else(|| panic!("{line}"));
    assert!(!module.is_empty() && level.bytes().all(|byte| byte.is_ascii_lowercase()), "{line}");
    let (pid, rest) = rest.split_once(":tid ").unwrap_or_else(|| panic!("{line}"));
    let (tid, message) = rest.split_once("] ").unwrap_or_else(|| panic!("{line}"));
    for number in [pid, tid] {
        assert!(number.parse::<u32>().is_ok(), "{line}");
    }
    assert!(!message.is_empty(), "{line}");
}

fn the_error_log_has_httpds_form(mpm: Mpm) {
    let server = plain_site(mpm).file(".htaccess", "x").start();
    let mut client = server.connect();
    let port = client.stream().local_addr().unwrap().port();
    assert_eq!(client.get("/.htaccess").status, 403);
    let text = until("the refusal", 5, || {
        Some(server.error_text()).filter(|text| text.contains("[client "))
    });
    text.lines().for_each(assert_error_line);
    let refusal = text.lines().find(|line| line.contains("[client ")).unwrap();
    assert!(refusal.contains(&format!("] [client 127.0.0.1:{port}] AH")), "{refusal}");
    assert!(refusal.contains(":error]"), "{refusal}");
}

fn start_and_stop_are_logged(mpm: Mpm) {
    let log = blackbox::scratch::Scratch::new();
    let path = log.join("error.log");
    let site = plain_site(mpm).directive(format!("ErrorLog {}", path.display()));
    let mut server = site.start();
    server.get("/.htaccess");
    server.stop(libc::SIGTERM);
    let text = fs::read_to_string(&path).unwrap();
    text.lines().for_each(assert_error_line);
    assert!(text.contains("configured -- resuming normal operations"), "{text}");
    assert!(text.contains("caught SIGTERM, shutting down"), "{text}");
    assert!(text.contains("[client 127.0.0.1:"), "{text}");
}

fn loglevel_hides_what_is_below_it(mpm: Mpm) {
    let server = plain_site(mpm).directive("LogLevel crit").start();
    assert_eq!(server.get("/.htaccess").status, 403);
    assert_eq!(server.get("/missing").status, 404);
    // As in httpd, notices of start and stop cannot be hidden.
    assert!(server.error_text().lines().all(|line| line.contains(":notice]")));
    let server = plain_site(mpm).directive("LogLevel debug").start();
    assert_eq!(server.get("/.htaccess").status, 403);
    until("lines", 5, || server.error_text().contains(".htaccess").then_some(()));
}

each_mpm! {
    common_and_combined_are_as_httpd_writes_them,
    a_named_logformat_is_used,
    the_parts_of_a_request_are_logged,
    the_parts_of_a_response_are_logged,
    bytes_in_and_out_are_those_on_the_wire,
    times_are_measured,
    the_connection_and_its_process_are_logged,
    an_aborted_response_is_marked,
    conditions_choose_by_status,
    conditions_look_at_the_request_that_was_sent,
    the_error_log_calls_a_request_what_mod_unique_id_calls_it,
    input_is_escaped_in_every_field,
    lines_equal_requests_under_load_and_are_never_torn,
    several_logs_are_written,
    no_access_log_is_written_unless_configured,
    the_error_log_has_httpds_form,
    start_and_stop_are_logged,
    loglevel_hides_what_is_below_it,
}
