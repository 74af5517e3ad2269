//! `trivet bench` over TLS and HTTP/2 against nginx: whom it believes, what it says about a server
//! that it does not, and that every request is counted that the server has logged.

use blackbox::bench::{Ran, bench, number};
use blackbox::certificates::{Authority, Certificate, JANUARY};
use blackbox::nginx::Nginx;
use blackbox::outside;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const PAGE: (&str, &[u8]) = ("index.html", b"<p>hello</p>\n");

/// A run and what came of it.
struct Run(Ran);

impl Run {
    fn with(url: &str, words: &str) -> Self {
        let words: Vec<&str> = words.split_whitespace().chain(["-q", "--json", url]).collect();
        Self(bench(&words))
    }

    /// A number of the summary.
    fn number(&self, name: &str) -> u64 {
        number(&self.0.figures(), &format!("summary.{name}")) as u64
    }

    /// So many requests, all answered as they should.
    fn is_flawless(&self, requests: u64) -> &Self {
        assert_eq!(self.0.code, 0, "{:?}", self.0);
        let counts = (self.number("requests"), self.number("errors"));
        assert_eq!(counts, (requests, 0), "{}", self.0.out);
        self
    }

    /// Every request failed for this reason.
    fn fails_for(&self, reason: &str) {
        self.ends(16, reason);
    }

    /// It ends with this code and says this.
    fn ends(&self, code: i32, text: &str) {
        assert_eq!(self.0.code, code, "{:?}", self.0);
        self.says(text);
    }

    fn says(&self, text: &str) -> &Self {
        let is_said = self.0.out.contains(text) || self.0.err.contains(text);
        assert!(is_said, "{text:?} in {}{}", self.0.out, self.0.err);
        self
    }
}

fn secured(certificate: &Certificate, more: &str) -> String {
    let (certificate, key) = (certificate.certificate.display(), certificate.key.display());
    format!(
        "listen PORT ssl http2; ssl_protocols TLSv1.2 TLSv1.3; ssl_certificate {certificate}; \
         ssl_certificate_key {key}; {more}"
    )
}

fn good(authority: &Authority) -> Certificate {
    authority.issue("good", "DNS:localhost,IP:127.0.0.1")
}

fn url(nginx: &Nginx, server: usize) -> String {
    format!("https://localhost:{}/", nginx.port(server))
}

fn trusting(authority: &Path) -> String {
    format!("--ca-file {}", authority.display())
}

#[test]
fn a_server_is_believed_only_with_a_valid_certificate_for_its_name() {
    let authority = Authority::new();
    let expired = authority.issue_expired("expired", "DNS:localhost");
    let other = authority.issue("other", "DNS:elsewhere.test,DNS:*.more.test");
    let servers = [good(&authority), expired, other].map(|each| secured(&each, ""));
    let nginx = Nginx::start(&[PAGE], &servers);
    let trust = trusting(&authority.path());
    let run = |server, words: &str| Run::with(&url(&nginx, server), &format!("-c 2 -n 4 {words}"));
    run(0, &trust).is_flawless(4);
    let by_address = format!("https://127.0.0.1:{}/", nginx.port(0));
    Run::with(&by_address, &format!("-c 2 -n 4 {trust}")).is_flawless(4);
    run(0, "").fails_for("is from an issuer that is not trusted here; --insecure (-k)");
    run(1, &trust).fails_for(" days ago; --insecure (-k) does without");
    run(2, &trust).fails_for("not valid for localhost: it is for elsewhere.test, *.more.test");
    for server in 0..3 {
        run(server, "-k").is_flawless(4);
    }
}

/// Whether curl believes a server, with the certificates of this file.
fn curl_believes(url: &str, file: &Path) -> bool {
    let mut command = Command::new(outside::program("curl"));
    command.args(["-s", "--noproxy", "*", "--cacert"]).arg(file).arg(url);
    outside::run_command(&mut command, 60).status.success()
}

#[test]
fn a_certificate_of_the_file_is_believed_as_curl_does() {
    let authority = Authority::new();
    let names = "DNS:localhost,IP:127.0.0.1";
    let certificates = [
        authority.issue_alone("own-ca", names, true, "-days 20"),
        authority.issue_alone("own-leaf", names, false, "-days 20"),
        authority.issue("issued", names),
        authority.issue_alone("elsewhere-ca", "DNS:elsewhere.test", true, "-days 20"),
        authority.issue_alone("elsewhere-leaf", "DNS:elsewhere.test", false, "-days 20"),
        authority.issue_alone("old-ca", names, true, JANUARY),
        authority.issue_alone("old-leaf", names, false, JANUARY),
    ];
    let servers: Vec<String> = certificates.iter().map(|each| secured(each, "")).collect();
    let nginx = Nginx::start(&[PAGE], &servers);
    for (server, own) in certificates.iter().enumerate() {
        for file in &certificates {
            let (url, path) = (url(&nginx, server), &file.certificate);
            let run = Run::with(&url, &format!("-c 1 -n 2 {}", trusting(path)));
            let what = format!("{} shown, {} trusted", own.key.display(), path.display());
            let is_believed = curl_believes(&url, path);
            assert_eq!(run.0.code, if is_believed { 0 } else { 16 }, "{what}: {:?}", run.0);
            let shall = server < 3 && own.certificate == file.certificate;
            assert_eq!(is_believed, shall, "{what}");
        }
    }
    let reason = |server: usize| {
        let trust = trusting(&certificates[server].certificate);
        Run::with(&url(&nginx, server), &format!("-c 1 -n 2 {trust}"))
    };
    (3..5)
        .for_each(|place| reason(place).fails_for("not valid for localhost: it is for elsewhere"));
    (5..7).for_each(|place| reason(place).fails_for("the certificate expired "));
}

#[test]
fn the_first_connection_is_as_fast_as_the_others() {
    let certificate = good(&Authority::new());
    let nginx = Nginx::start(&[PAGE], &[secured(&certificate, "")]);
    // Of a few runs one finds the machine at rest; each of them was slow when its first connection
    // had to wait for the randomness of the process.
    let is_even = || {
        let run = Run::with(&url(&nginx, 0), "-k -t 1 -c 1 -n 40 --close");
        run.is_flawless(40);
        let of = |name| number(&run.0.figures(), &format!("summary.connect_us.{name}"));
        of("max") < 5.0 * of("p50")
    };
    assert!((0..10).any(|_| is_even()), "the slowest connection takes five times the usual");
}

#[test]
fn versions_and_ciphers_are_those_that_were_asked_for() {
    let certificate = good(&Authority::new());
    let of = |version| secured(&certificate, "").replace("TLSv1.2 TLSv1.3", version);
    let nginx = Nginx::start(&[PAGE], &[of("TLSv1.2"), of("TLSv1.3")]);
    let run = |server, words: &str| Run::with(&url(&nginx, server), &format!("-k -n 4 {words}"));
    run(0, "").is_flawless(4).says("\"version\": \"TLSv1.2\"").says("\"key_bits\": 2048");
    run(1, "").is_flawless(4).says("\"version\": \"TLSv1.3\"");
    run(0, "--tls 1.3").fails_for("no common version of TLS");
    run(1, "--tls 1.2").fails_for("no common version of TLS");
    let suite = "ECDHE-RSA-AES128-GCM-SHA256";
    let chosen = run(0, &format!("--tls 1.2 --ciphers {suite}"));
    chosen.is_flawless(4).says(&format!("\"suite\": \"{suite}\""));
    run(0, "--ciphers RC4-MD5").ends(2, "there is no cipher suite \"RC4-MD5\" here");
}

#[test]
fn a_port_without_tls_and_a_file_without_a_certificate_are_named() {
    let authority = Authority::new();
    let nginx = Nginx::start(&[PAGE], &["listen PORT;".to_owned()]);
    Run::with(&url(&nginx, 0), "-k -n 2").fails_for("what the server says is not TLS");
    let wrong = Run::with(&url(&nginx, 0), "-n 2 --ca-file /nowhere/ca.pem");
    wrong.ends(4, "/nowhere/ca.pem: No such file or directory");
    let key = good(&authority).key;
    let wrong = Run::with(&url(&nginx, 0), &format!("-n 2 --ca-file {}", key.display()));
    wrong.ends(4, "holds no certificate (PEM)");
}

#[test]
fn a_client_shows_its_certificate_to_a_server_that_wants_one() {
    let authority = Authority::new();
    let client = authority.issue("client", "DNS:client.test");
    let wants =
        format!("ssl_verify_client on; ssl_client_certificate {};", authority.path().display());
    let nginx = Nginx::start(&[PAGE], &[secured(&good(&authority), &wants)]);
    let shown = format!("-k -n 4 -E {}", client.both.display());
    Run::with(&url(&nginx, 0), &shown).is_flawless(4);
    // nginx completes the handshake and says so by HTTP.
    let without = Run::with(&url(&nginx, 0), "-k -n 4");
    without.says("status 400");
    assert_eq!(without.number("errors"), 4);
}

/// Connections that the lines of a log name, and requests in them.
fn connections(log: &[String]) -> (usize, usize) {
    let named: BTreeSet<&str> = log.iter().filter_map(|line| line.split(' ').next()).collect();
    (named.len(), log.len())
}

#[test]
fn over_http2_the_server_has_logged_what_is_counted() {
    let certificate = good(&Authority::new());
    let servers = [secured(&certificate, ""), "listen PORT http2;".to_owned()];
    let nginx = Nginx::start(&[PAGE], &servers);
    let plain = format!("http://localhost:{}/", nginx.port(1));
    let mut logged = [0, 0];
    for (users, streams, lines) in [(8, 1, 8), (100, 100, 1), (25, 10, 3)] {
        for (server, url) in [(0, &url(&nginx, 0)), (1, &plain)] {
            let words = format!("-k -t 1 -n 900 -c {users} --http2 --streams {streams}");
            let run = Run::with(url, &words);
            run.is_flawless(900);
            assert_eq!(run.number("body_bytes"), 900 * PAGE.1.len() as u64);
            let log = nginx.log(server, logged[server] + 900);
            let new = &log[logged[server]..];
            assert_eq!(connections(new), (lines, 900), "{words}");
            let other = new.iter().find(|line| !line.contains(" HTTP/2.0 GET / 200"));
            assert_eq!(other, None, "{words}");
            logged[server] += 900;
        }
    }
}

#[test]
fn a_server_that_ends_its_connections_of_http2_costs_no_request() {
    let certificate = good(&Authority::new());
    // After so many requests nginx sends GOAWAY, and processes none of those beyond them.
    let nginx = Nginx::start(&[PAGE], &[secured(&certificate, "keepalive_requests 50;")]);
    let words = "-k -t 1 -n 1000 -c 20 --http2 --streams 10";
    Run::with(&url(&nginx, 0), words).is_flawless(1000);
    let (lines, requests) = connections(&nginx.log(0, 1000));
    assert_eq!(requests, 1000);
    assert!(lines >= 20, "{lines} connections of 50 requests");
    let close = Run::with(&url(&nginx, 0), "-k -n 30 -c 3 --http2 --streams 3 --close");
    close.is_flawless(30);
    assert_eq!(connections(&nginx.log(0, 1030)[1000..]), (30, 30));
}

#[test]
fn large_bodies_pass_both_ways_over_http2_and_tls() {
    let certificate = good(&Authority::new());
    let large = vec![b'x'; 3_000_000];
    // nginx reads a body to its end before it passes a request on, here to itself.
    let puts = "location = /put { client_max_body_size 10m; proxy_pass https://PORT/sink; } \
        location = /sink { client_max_body_size 10m; return 204; }";
    let nginx = Nginx::start(&[PAGE, ("large", &large)], &[secured(&certificate, puts)]);
    let base = url(&nginx, 0);
    for words in ["-k -c 6 -n 30 --http2 --streams 3", "-k -c 6 -n 30"] {
        let run = Run::with(&format!("{base}large"), words);
        run.is_flawless(30);
        assert_eq!(run.number("body_bytes"), 30 * 3_000_000, "{words}");
        assert!(run.number("received_bytes") > 30 * 3_000_000, "{words}");
        let folder = blackbox::scratch::Scratch::new();
        let body = folder.write("body", &large[..1_000_000]);
        let words = format!("{words} -m PUT --expect 204 -b @{}", body.display());
        let run = Run::with(&format!("{base}put"), &words);
        run.is_flawless(30);
        assert!(run.number("sent_bytes") > 30_000_000, "{words}");
    }
    let log = nginx.log(0, 180);
    let puts = log.iter().filter(|line| line.ends_with(" PUT /put 204 1000000"));
    assert_eq!(puts.count(), 60);
}

#[test]
fn without_http2_at_the_server_http1_is_spoken_and_that_is_said() {
    let certificate = good(&Authority::new());
    let http1 = secured(&certificate, "").replace(" http2", "");
    let nginx = Nginx::start(&[PAGE], &[http1, "listen PORT;".to_owned()]);
    let run = Run::with(&url(&nginx, 0), "-k -t 1 -n 60 -c 6 --http2 --streams 3");
    run.is_flawless(60).says("the server did not choose HTTP/2: these figures are for HTTP/1.1");
    let log = nginx.log(0, 60);
    assert_eq!(connections(&log), (6, 60));
    assert_eq!(log.iter().find(|line| !line.contains(" HTTP/1.1 GET / 200")), None);
    // Without TLS there is nobody to ask, and what comes is no HTTP/2.
    let plain = Run::with(&format!("http://localhost:{}/", nginx.port(1)), "-n 6 --http2");
    assert_eq!((plain.0.code, plain.number("errors")), (15, 6), "{}", plain.0.out);
}
