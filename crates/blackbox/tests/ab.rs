//! `trivet ab` beside ab from httpd, at one real server: the same lines with the same blanks in
//! the same order, the same counts, and what its files hold.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::io::Write as _;
use std::net::{Shutdown, TcpStream};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread;

use blackbox::ab::{Said, assert_alike, original, our_command, ours};
use blackbox::certificates::Authority;
use blackbox::nginx::Nginx;
use blackbox::outside::run_command;
use blackbox::scratch::Scratch;
use blackbox::stub::Stub;
use blackbox::{Mpm, Server, Site, each_mpm, process, wait_for};

const LOG_FORMAT: &str = "\"%r %>s\"";

fn site(mpm: Mpm) -> Server {
    let site = Site::new(mpm).file("index.html", "hello").file("big.txt", "x".repeat(50_000));
    // Entity tags of files that have just changed are longer.
    site.directive("FileETag None").access_log(LOG_FORMAT).start()
}

fn url(server: &Server, path: &str) -> String {
    format!("http://{}{path}", server.address())
}

/// Words, and the path asked for.
type Words = (&'static [&'static str], &'static str);

fn reports_are_the_same_line_by_line(mpm: Mpm) {
    let server = site(mpm);
    const ROWS: [Words; 18] = [
        (&[], "/"),
        (&["-n", "10"], "/"),
        (&["-n10", "-c", "3"], "/big.txt"),
        (&["-n", "20", "-k"], "/"),
        (&["-n", "200", "-c", "2"], "/"),
        (&["-n", "200", "-q"], "/"),
        (&["-n", "1100", "-k"], "/"),
        (&["-n", "5", "-i"], "/"),
        (&["-n", "5", "-l"], "/"),
        (&["-n", "5", "-S"], "/"),
        (&["-n", "5", "-d"], "/"),
        (&["-n", "5"], "/missing"),
        (&["-n", "5", "-w"], "/"),
        (&["-n", "200", "-kx", "border=1", "-y", "class=a", "-z", "id=b"], "/missing"),
        (&["-n", "3", "-k", "-A", "me:secret", "-C", "a=b"], "/"),
        (&["-n", "3", "-m", "OPTIONS", "-s", "5", "-r"], "/"),
        (&["-n", "3", "-b", "8192", "-B", "127.0.0.1", "-P", "me:secret"], "/"),
        (&["-t", "20", "-n", "300", "-c", "4"], "/"),
    ];
    for (words, path) in ROWS {
        let url = url(&server, path);
        assert_alike(&[words, &[url.as_str()]].concat());
    }
}

fn bodies_are_sent_and_counted_as_ab_does(mpm: Mpm) {
    let server = site(mpm);
    let scratch = Scratch::new();
    let body = scratch.write("body", "a=1&b=2").display().to_string();
    let url = url(&server, "/");
    for letter in ["-p", "-u"] {
        for more in [&["-T", "application/x-www-form-urlencoded"][..], &["-w"], &["-k"]] {
            assert_alike(&[&["-n", "4", letter, &body], more, &[url.as_str()]].concat());
        }
    }
}

fn a_proxy_is_asked_for_the_whole_url(mpm: Mpm) {
    let server = site(mpm);
    let proxy = server.address().to_string();
    assert_alike(&["-n", "3", "-X", &proxy, "http://example.org/index.html"]);
    // Three from each of the two.
    let lines = server.wait_log(6);
    assert!(lines.iter().all(|line| line.contains("GET http://example.org/index.html HTTP/1.0")));
}

fn the_server_has_seen_as_many_requests_as_were_asked(mpm: Mpm) {
    let server = site(mpm);
    let url = url(&server, "/");
    let mut total = 0;
    for (words, count) in [
        (&["-n", "57", "-c", "5"][..], 57),
        (&["-n", "301", "-c", "7", "-k"], 301),
        (&["-n", "90", "-c", "4", "-k", "-W", "2"], 90),
    ] {
        let said = ours(&[words, &["-q", &url]].concat());
        assert_eq!((said.number("Complete requests") as u64, said.status), (count, 0), "{said:?}");
        assert_eq!(said.number("Failed requests") as u64, 0, "{said:?}");
        total += usize::try_from(count).unwrap();
        server.wait_log(total);
    }
}

fn a_run_that_takes_its_time_ends_at_its_limit(mpm: Mpm) {
    let server = site(mpm);
    let said = ours(&["-t", "1", "-n", "100000000", "-c", "2", "-k", &url(&server, "/")]);
    assert_eq!(said.status, 0, "{said:?}");
    assert_eq!(said.value("Time taken for tests"), Some("1.000 seconds"));
    assert!(said.number("Complete requests") > 0.0, "{said:?}");
    assert!(said.err.ends_with("requests\n"), "{said:?}");
    let implied = ours(&["--ab-style=trunk", "-t", "20", "-c", "2", "-k", &url(&server, "/")]);
    assert_eq!(implied.value("Number of requests"), Some("50000 (window)"));
}

fn interrupted_it_says_what_it_has(mpm: Mpm) {
    let server = site(mpm);
    let url = url(&server, "/");
    let mut command = our_command(&["-n", "100000000", "-c", "2", "-k", &url]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    wait_for("some requests", 20, || server.log_lines().len() > 50);
    process::signal(i32::try_from(child.id()).unwrap(), libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = Said { out, err: String::new(), status: output.status.code().unwrap() };
    assert_eq!(said.status, 1);
    assert!(said.number("Complete requests") >= 50.0, "{said:?}");
}

fn its_files_are_those_of_ab(mpm: Mpm) {
    let server = site(mpm);
    let scratch = Scratch::new();
    let mut heads = Vec::new();
    for (name, run) in [("a", original as fn(&[&str]) -> Said), ("b", ours)] {
        let [csv, tsv] = ["csv", "tsv"].map(|end| scratch.join(format!("{name}.{end}")));
        let files = [csv.display().to_string(), tsv.display().to_string()];
        let url = url(&server, "/");
        let said = run(&["-n", "40", "-c", "3", "-e", &files[0], "-g", &files[1], &url]);
        assert_eq!(said.status, 0, "{said:?}");
        let [csv, tsv] = [csv, tsv].map(|path| fs::read_to_string(path).unwrap());
        // ab's row for 99 % of up to 50 requests is what lies behind its array.
        check_percentiles(&csv, name == "b");
        check_rows(&tsv);
        heads.push([csv, tsv].map(|text| text.lines().next().unwrap().to_owned()));
    }
    assert_eq!(heads[0], heads[1]);
}

/// A line for each percentage from 0 to 100, with times that never fall.
fn check_percentiles(csv: &str, is_ours: bool) {
    let rows: Vec<(&str, &str)> =
        csv.lines().skip(1).map(|line| line.split_once(',').unwrap()).collect();
    let percents: Vec<String> = (0..=100).map(|percent: u32| percent.to_string()).collect();
    assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), percents);
    let times: Vec<f64> = rows.iter().map(|row| row.1.parse().unwrap()).collect();
    assert!(times.is_sorted() || !is_ours, "{csv}");
    assert!(rows.iter().all(|row| row.1.split_once('.').unwrap().1.len() == 3), "{csv}");
}

/// A line for each request, the quickest first.
fn check_rows(tsv: &str) {
    let rows: Vec<Vec<&str>> = tsv.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows.len(), 40, "{tsv}");
    let numbers = |row: &Vec<&str>| -> Vec<i64> {
        row[1..].iter().map(|word| word.parse().unwrap()).collect()
    };
    let totals: Vec<i64> = rows.iter().map(|row| numbers(row)[3]).collect();
    assert!(totals.is_sorted(), "{tsv}");
    for row in &rows {
        // Sun Sep  6 01:03:52 1973
        assert_eq!((row[0].len(), row[0].split(' ').count()), (24, 5), "{row:?}");
        let [_, connect, processing, total, wait] = numbers(row)[..] else { panic!("{row:?}") };
        assert!((connect + processing - total).abs() <= 1 && wait <= processing + 1, "{row:?}");
    }
}

fn the_development_branch_prints_a_few_lines_more(mpm: Mpm) {
    let server = site(mpm);
    let url = url(&server, "/");
    let words = ["-n", "40", "-c", "2", "-k", "-q", "-W", "2", "-R", "20"];
    let trunk = ours(&[&["--ab-style=trunk"], &words[..], &[&url]].concat());
    for (label, value) in [
        ("Number of workers", "2"),
        ("Concurrency Level", "2"),
        ("Rampup delay", "20 [ms]"),
        ("Number of requests", "40"),
        ("Complete requests", "40"),
    ] {
        assert_eq!(trunk.value(label), Some(value), "{trunk:?}");
    }
    assert!(trunk.out.contains("web.archive.org"), "{trunk:?}");
    let released = ours(&[&words[..], &[&url]].concat());
    assert_eq!(released.value("Number of workers"), None);
    let silent = ours(&["--ab-style=trunk", "-Q", &url]);
    assert!(silent.out.starts_with("Benchmarking 127.0.0.1 (be patient)..."), "{silent:?}");
}

fn details_come_after_everything_that_ab_says(mpm: Mpm) {
    let server = site(mpm);
    let said = ours(&["--details", "-n", "50", "-c", "2", &url(&server, "/")]);
    let (report, details) = said.out.split_once("\nDetails of trivet ab:\n").unwrap();
    assert!(report.ends_with(" (longest request)\n"), "{report}");
    assert!(details.contains("p99.9 "), "{details}");
    assert!(details.contains("the server (trivet): "), "{details}");
    assert!(details.contains("doubtful: with 50 requests, p90"), "{details}");
}

/// Once: it is no server of ours.
fn a_real_nginx_gives_the_same_counts_to_both(_: Mpm) {
    let nginx = Nginx::start(&[("index.html", b"hello")], &["listen PORT;".to_owned()]);
    let url = format!("http://127.0.0.1:{}/", nginx.port(0));
    assert_alike(&["-n", "30", "-c", "3", &url]);
    assert_alike(&["-n", "30", "-c", "3", "-k", &url]);
    assert_alike(&["-n", "5", &format!("{url}missing")]);
    nginx.log(0, 130);
}

fn over_tls_the_same_is_agreed_on_and_printed(_: Mpm) {
    let authority = Authority::new();
    let made = authority.issue("localhost", "DNS:localhost,IP:127.0.0.1");
    let server = format!(
        "listen PORT ssl; ssl_protocols TLSv1.2 TLSv1.3; ssl_certificate {}; \
         ssl_certificate_key {};",
        made.certificate.display(),
        made.key.display()
    );
    let nginx = Nginx::start(&[("index.html", b"hello")], &[server]);
    let [name, address] =
        ["localhost", "127.0.0.1"].map(|host| format!("https://{host}:{}/", nginx.port(0)));
    for words in [&["-n", "4"][..], &["-n", "4", "-k", "-I"], &["-n", "4", "-w"]] {
        assert_alike(&[words, &[&name]].concat());
    }
    const SUITE: &str = "ECDHE-RSA-AES128-GCM-SHA256";
    for words in [&["-f", "TLS1.2", "-Z", SUITE][..], &["-f", "tls1.3"], &["-f", "ALL"]] {
        let said = assert_alike(&[words, &[&address]].concat());
        assert!(said.value("SSL/TLS Protocol").is_some(), "{said:?}");
        assert_eq!(said.value("TLS Server Name"), None, "{said:?}");
    }
    let plain = Nginx::start(&[("index.html", b"hello")], &["listen PORT;".to_owned()]);
    let said = ours(&["-n", "3", &format!("https://127.0.0.1:{}/", plain.port(0))]);
    assert!(said.err.starts_with("SSL handshake failed (1).\n"), "{said:?}");
    assert_eq!(said.number("Failed requests") as u32, 3, "{said:?}");
}

/// A proxy of a few lines that leads on to whoever is named, if it is told the password.
fn proxy() -> (Stub, Arc<Mutex<Vec<String>>>) {
    let heads: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = heads.clone();
    let stub = Stub::start(move |visitor| {
        let Some(head) = visitor.request() else { return };
        heard.lock().unwrap().push(head.clone());
        if !head.contains("\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n") {
            let _ = visitor.stream.write_all(b"HTTP/1.1 407 Who are you\r\n\r\n");
            return;
        }
        // The client has nothing to say before it is connected.
        assert_eq!(visitor.held(), 0, "{head}");
        let server = TcpStream::connect(head.split(' ').nth(1).unwrap()).unwrap();
        visitor.stream.write_all(b"HTTP/1.1 200 Connected\r\nVia: a\r\n\r\n").unwrap();
        let (mut from, mut to) = (server.try_clone().unwrap(), visitor.stream.try_clone().unwrap());
        thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            to.shutdown(Shutdown::Write)
        });
        let _ = std::io::copy(&mut visitor.stream, &mut &server);
        let _ = server.shutdown(Shutdown::Write);
    });
    (stub, heads)
}

fn a_proxy_leads_on_to_a_server_of_https(_: Mpm) {
    let made = Authority::new().issue("localhost", "DNS:localhost,IP:127.0.0.1");
    let server = format!(
        "listen PORT ssl; ssl_certificate {}; ssl_certificate_key {};",
        made.certificate.display(),
        made.key.display()
    );
    let nginx = Nginx::start(&[("index.html", b"hello")], &[server]);
    let (proxy, heads) = proxy();
    let through = proxy.url().replace("http://", "").replace('/', "");
    let port = nginx.port(0);
    let url = format!("https://localhost:{port}/");
    let said = ours(&["-n", "6", "-c", "2", "-X", &through, "-P", "me:secret", &url]);
    assert_eq!((said.status, said.number("Complete requests") as u32), (0, 6), "{said:?}");
    assert_eq!(said.number("Failed requests") as u32, 0, "{said:?}");
    assert_eq!(said.value("Server Hostname"), Some("localhost"), "{said:?}");
    assert!(said.value("SSL/TLS Protocol").is_some(), "{said:?}");
    assert!(said.out.contains(&format!("localhost [through {through}] (be patient)")), "{said:?}");
    let log = nginx.log(0, 6);
    assert!(log.iter().all(|line| line.contains(" HTTP/1.0 GET / 200 ")), "{log:?}");
    let heads = heads.lock().unwrap().clone();
    assert_eq!(heads.len(), 6, "{heads:?}");
    let begin = format!("CONNECT localhost:{port} HTTP/1.1\r\nHost: localhost:{port}\r\n");
    assert!(heads.iter().all(|head| head.starts_with(&begin)), "{heads:?}");
    let refused = ours(&["-n", "6", "-X", &through, &url]);
    assert_eq!(refused.status, 1, "{refused:?}");
    assert!(refused.err.contains("the proxy answers CONNECT with 407 Who are you"), "{refused:?}");
}

fn it_is_a_command_as_well_as_a_name(mpm: Mpm) {
    let server = site(mpm);
    let url = url(&server, "/");
    let mut command = std::process::Command::new(blackbox::binary::trivet());
    let output = run_command(command.args(["ab", "-n", "3", &url]), 60);
    assert!(output.status.success());
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(out.contains("\nComplete requests:      3\n"), "{out}");
    let mut command = std::process::Command::new(blackbox::binary::trivet());
    let help = run_command(command.args(["ab", "--help"]), 60);
    let text = String::from_utf8_lossy(&help.stdout);
    assert!(help.status.success() && text.starts_with("Usage: trivet ab [options]"), "{text}");
    assert!(text.contains("--ab-style=trunk"), "{text}");
}

each_mpm! {
    reports_are_the_same_line_by_line,
    bodies_are_sent_and_counted_as_ab_does,
    a_proxy_is_asked_for_the_whole_url,
    the_server_has_seen_as_many_requests_as_were_asked,
    a_run_that_takes_its_time_ends_at_its_limit,
    interrupted_it_says_what_it_has,
    its_files_are_those_of_ab,
    the_development_branch_prints_a_few_lines_more,
    details_come_after_everything_that_ab_says,
    it_is_a_command_as_well_as_a_name;
    event: a_real_nginx_gives_the_same_counts_to_both, over_tls_the_same_is_agreed_on_and_printed,
    a_proxy_leads_on_to_a_server_of_https
}
