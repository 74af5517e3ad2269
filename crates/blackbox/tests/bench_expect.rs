//! What `trivet bench` expects of answers beyond their status, and what it takes from them for
//! later requests: a page that says "error" with status 200 is found, and users log in.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::bench::{bench, measure, number};
use blackbox::scratch::Scratch;
use blackbox::stub::{Stub, Visitor};
use blackbox::{Mpm, Site, each_mpm};
use std::collections::HashSet;
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn errors(condition: &str, url: &str) -> (f64, f64, f64) {
    let figures = measure(&["-c", "2", "-n", "40", "--expect", condition, url]);
    let content = figures["summary"]["errors_by_kind"].get("content");
    let content = content.and_then(serde_json::Value::as_f64).unwrap_or(0.0);
    (number(&figures, "summary.answers"), number(&figures, "summary.errors"), content)
}

fn contents_are_looked_at(mpm: Mpm) {
    let server = Site::new(mpm)
        .file("welcome.html", "<h1>Welcome</h1>")
        .file("error.html", "<h1>Error establishing a database connection</h1>")
        .start();
    let url = |name: &str| format!("http://{}/{name}.html", server.address());
    let condition = "status==200 && body!~\"Error establishing\"";
    assert_eq!(errors(condition, &url("welcome")), (40.0, 0.0, 0.0));
    assert_eq!(errors(condition, &url("error")), (40.0, 40.0, 40.0));
    let field = "header(Content-Type)~\"^text/html\" && bytes==16";
    assert_eq!(errors(field, &url("welcome")), (40.0, 0.0, 0.0));
    assert_eq!(errors(field, &url("error")), (40.0, 40.0, 40.0));
    // A wrong status is that, whatever else is wrong.
    assert_eq!(errors(condition, &url("missing")), (40.0, 40.0, 0.0));
    let text = bench(&["-n", "2", "--expect", "body~Hello", &url("welcome")]).out;
    assert!(text.contains("content") && text.contains("users: body~Hello"), "{text}");
}

each_mpm! {
    contents_are_looked_at,
}

/// A shop: `/login` gives a token, in a page and in a field, and `/cart` wants it back.
struct Shop {
    stub: Stub,
    sold: Arc<AtomicUsize>,
}

fn token_of(request: &str) -> Option<String> {
    let (_, rest) = request.split_once("token=")?;
    Some(rest.split([' ', '&', '\r', '\n']).next()?.to_owned())
}

fn shop() -> Shop {
    let (sold, next) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
    let (known, counter) = (Mutex::new(HashSet::new()), sold.clone());
    let serve = move |visitor: &mut Visitor| {
        while let Some(head) = visitor.request() {
            let Some(body) = visitor.body(&head) else { return };
            let request = head + &body;
            let path = request.split(' ').nth(1).unwrap_or_default();
            let (status, body) = if path.starts_with("/login") {
                let number = next.fetch_add(1, Ordering::Relaxed);
                known.lock().unwrap().insert(format!("a%2Bb%2F{number}%3D"));
                ("200 OK", format!("<input name=\"token\" value=\"a+b/{number}=\">"))
            } else if token_of(&request).is_some_and(|it| known.lock().unwrap().remove(&it)) {
                counter.fetch_add(1, Ordering::Relaxed);
                ("200 OK", "sold".to_owned())
            } else {
                ("403 Forbidden", format!("no such token: {request}"))
            };
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
            if visitor.stream.write_all((head + &body).as_bytes()).is_err() {
                return;
            }
        }
    };
    Shop { stub: Stub::start(serve), sold }
}

const TAKE: &str = "  take TOKEN=body~\"name=\\\"token\\\" value=\\\"([^\\\"]*)\\\"\"\n";

#[test]
fn every_user_has_what_was_taken_from_its_own_answers() {
    for cart in ["/cart?token=$(TOKEN)", "/cart POST token=$(TOKEN)"] {
        let shop = shop();
        let base = shop.stub.url();
        let base = base.trim_end_matches('/');
        let files = Scratch::new();
        let text =
            format!("{base}/login\n{TAKE}{base}{cart}\n  expect status==200 && body==sold\n");
        files.write("urls.txt", text);
        let urls = files.join("urls.txt").display().to_string();
        let figures = measure(&["-c", "5", "-n", "100", "-f", &urls]);
        assert_eq!(number(&figures, "summary.errors"), 0.0, "{figures}");
        // Tickets of the five users may end between the two requests of a round.
        let sold = shop.sold.load(Ordering::Relaxed);
        assert!((48..=50).contains(&sold), "{sold} sold: {figures}");
    }
}

#[test]
fn an_answer_without_the_value_is_a_failure() {
    let stub = Stub::answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let files = Scratch::new();
    let base = stub.url();
    files.write("urls.txt", format!("{base}\n{TAKE}"));
    let urls = files.join("urls.txt").display().to_string();
    let figures = measure(&["-n", "5", "-f", &urls]);
    assert_eq!(number(&figures, "summary.errors_by_kind.content"), 5.0, "{figures}");
    assert!(figures.to_string().contains("the answer has no value for TOKEN"), "{figures}");
}

#[test]
fn an_answer_fails_once_whatever_is_wrong_with_it() {
    let stub = Stub::answering(b"HTTP/1.1 500 Broken\r\nContent-Length: 2\r\n\r\nno");
    for condition in ["body~\"Welcome\"", "bytes>100", "status==200 && body~x"] {
        let figures = measure(&["-n", "10", "--expect", condition, &stub.url()]);
        let of = |name: &str| number(&figures, name);
        assert_eq!((of("summary.errors"), of("summary.errors_by_kind.status")), (10.0, 10.0));
        assert_eq!(of("summary.rate"), 0.0, "{condition}: {figures}");
    }
}

#[test]
fn behind_redirects_the_last_answer_is_judged() {
    let stub = Stub::start(|visitor| {
        while let Some(head) = visitor.request() {
            let answer: &[u8] = match head.starts_with("GET /end") {
                true => b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nWelcome",
                false => b"HTTP/1.1 302 Found\r\nLocation: /end\r\nContent-Length: 0\r\n\r\n",
            };
            if visitor.stream.write_all(answer).is_err() {
                return;
            }
        }
    });
    for (condition, errors) in [
        ("200", 0.0),
        ("status==200 && body~Welcome", 0.0),
        ("status==200 && body~Goodbye", 5.0),
        ("404", 5.0),
    ] {
        let figures = measure(&["-c", "1", "-n", "5", "-L", "--expect", condition, &stub.url()]);
        assert_eq!(number(&figures, "summary.errors"), errors, "{condition}: {figures}");
    }
}

#[test]
fn what_does_not_go_together_is_said() {
    for (words, part) in [
        (&["--expect", "body~a", "--page"][..], "--pipeline and --page look at statuses only"),
        (&["--expect", "bytes>1", "--pipeline", "4"], "look at statuses only"),
        (&["--expect", "body=a"], "expected one of ~ !~ == !="),
        (&["--expect", "body~\"(\""], "missing closing parenthesis"),
    ] {
        let ran = bench(&[&["-n", "1", "http://127.0.0.1:1/"], words].concat());
        assert_eq!(ran.code, 2, "{words:?}: {}", ran.err);
        assert!(ran.err.contains(part), "{words:?}: {}", ran.err);
    }
}
