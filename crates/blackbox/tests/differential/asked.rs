//! Rows about requests that lead elsewhere on their way: which rules hold, and what they see.

use blackbox::differential::{Set, compare};
use blackbox::{Mpm, each_mpm};

const ASKED: Set = Set {
    config: "asked",
    files: &[
        ("index.html", "home\n"),
        ("page.html", "page\n"),
        ("private/index.html", "private\n"),
        ("hidden/a.txt", "a\n"),
        ("hidden/again/a.txt", "a\n"),
        ("some/a.txt", "a\n"),
        ("some/indexed/index.html", "indexed\n"),
        ("marked/a.txt", "a\n"),
        ("fallback/there.html", "there\n"),
        ("twice/page.html", "page\n"),
        ("less/page.html", "page\n"),
        ("again/page.html", "page\n"),
    ],
    ignored: &[],
    requests: &[
        // Sections for files hold for folders that they match.
        "GET /hidden/ HTTP/1.1",
        "GET /hidden/a.txt HTTP/1.1",
        "GET /hidden HTTP/1.1",
        "GET /hidden/again/ HTTP/1.1",
        "GET /some/ HTTP/1.1",
        "GET /some/a.txt HTTP/1.1",
        "GET /some/indexed/ HTTP/1.1",
        "GET /marked/ HTTP/1.1",
        "GET /marked/a.txt HTTP/1.1",
        // However many slashes a path begins with, rules see one.
        "GET /private/ HTTP/1.1",
        "GET //private/ HTTP/1.1",
        "GET ///private/ HTTP/1.1",
        "GET //page.html HTTP/1.1",
        "GET //fallback//there.html HTTP/1.1",
        "GET /// HTTP/1.1",
        // Fields of a request are changed once, whatever answers in the end.
        "GET / HTTP/1.1\nX-In: b",
        "GET /index.html HTTP/1.1\nX-In: b",
        "GET /page HTTP/1.1\nX-In: b",
        "GET /fallback/nothing HTTP/1.1\nX-In: b",
        "GET /nothing HTTP/1.1\nX-In: b",
        // A second line of `Options` goes on from the first.
        "GET /twice/ HTTP/1.1",
        "GET /twice/page HTTP/1.1",
        "GET /less/ HTTP/1.1",
        "GET /less/page HTTP/1.1",
        "GET /again/ HTTP/1.1",
        "GET /again/page HTTP/1.1",
        // The host of the target is the host.
        "GET http://one.example/page.html HTTP/1.1\nHost: two.example",
        "GET http://ONE.example:8080/page.html HTTP/1.1\nHost: two.example",
        "GET http://two.example/page.html HTTP/1.1\nHost: two.example",
        "GET http://[::1]:80/page.html HTTP/1.1\nHost: two.example",
        "GET http://one.example/page.html HTTP/1.0",
        "GET http://one.example/ HTTP/1.0\nHost: two.example",
    ],
    different: &[(
        "GET http://localhost//private/ HTTP/1.1",
        "the rule for /private holds for httpd's origin-form alone",
    )],
};

fn asked(mpm: Mpm) {
    compare("asked", mpm, &ASKED);
}

each_mpm!(asked);
