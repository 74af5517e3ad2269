//! `trivet bench --page` loads what a browser loads: chromium and the server's log are the
//! witnesses. Which MPM answers matters little, and is tried all the same.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use blackbox::bench::{bench, bench_within, measure, number};
use blackbox::outside::{program, run_command};
use blackbox::scratch::Scratch;
use blackbox::stub::Stub;
use blackbox::{Mpm, Server, Site, each_mpm, until};
use serde_json::Value;
use std::io::Write as _;

/// The page, its stylesheet, 240 images, one in the stylesheet, and that once more as the icon:
/// with `no-cache` it is asked about.
const GALLERY_REQUESTS: usize = 244;

/// Everything that a page can refer to, beside what must not be loaded.
const MIX: &str = r#"<!DOCTYPE html><html><head><title>mix</title>
<link rel="stylesheet" href="mix/a.css"><link rel="stylesheet" media="print" href="mix/print.css">
<link rel="preload" as="image" href="gallery/009.png">
<link rel="modulepreload" href="mix/m.js"><link rel="icon" href="favicon.svg">
<script src="mix/a.js"></script><script src="mix/no.js" nomodule></script>
<script type="text/template" src="mix/no-template.js"></script>
<script type="module" src="mix/module.js"></script>
<style>@import "mix/inline.css"; .q { background: url(gallery/010.png) }
@media print { .q { background: url(gallery/no-print.png) } }</style>
<noscript><img src="mix/no-script.png"></noscript></head><body background="gallery/011.png">
<!-- <img src="mix/no-comment.png"> --><div class=q>q</div><div class=r>r</div><i class=s>s</i>
<img src="gallery/001.png"><img src="gallery/001.png">
<img srcset="gallery/002.png 1x, gallery/no-2x.png 2x">
<img src="no-src.png" srcset="no-100.png 10w, gallery/005.png 2000w" sizes="(min-width: 1px) 80px">
<picture><source media="print" srcset="no-print.png"><source type="image/x-no" srcset="no-x.png">
<source srcset="gallery/006.png, no-3x.png 3x"><img src="no-img.png"></picture>
<template><img src="no-template.png"></template><p style="background: url('gallery/008.png')">p
<input type=image src="gallery/012.png">
<svg width=9 height=9><image href="gallery/013.png" width=9 height=9 /></svg>
<iframe src="mix/frame.html"></iframe><object data="gallery/014.png" type="image/png"></object>
<embed src="gallery/015.png" type="image/png"><video poster="gallery/016.png"></video>
<img src="mix/redirect.png"><table background="gallery/018.png"><tr><td>t</table>
<img src="a b&amp;c.png"></body></html>
"#;

const MIX_FILES: &[(&str, &str)] = &[
    ("mix.html", MIX),
    (
        "mix/a.css",
        "@import url('b.css'); @import 'print.css' print; .r { x: y; background: \
         url(../gallery/020.png) }",
    ),
    ("mix/b.css", ".s { background: image-set(url(../gallery/021.png) 1x, url(no.png) 2x) }"),
    ("mix/print.css", "@media print { p { background: url(../gallery/no-print.png) } }"),
    ("mix/inline.css", "/* url(no.png) */ i::after { content: 'url(no.png)' }"),
    ("mix/a.js", "1;"),
    ("mix/m.js", "1;"),
    ("mix/module.js", "1;"),
    ("mix/frame.html", "<body><img src='../gallery/024.png'>"),
];

/// The site that the project ships, and a page of everything. What is cached is said, so that no
/// clock decides it.
fn example(mpm: Mpm) -> Server {
    let site = Site::new(mpm).access_log("\"%>s %U\"");
    copy_folder(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/site"),
        site.root().path(),
    );
    let site = MIX_FILES.iter().fold(site, |site, (name, content)| site.file(name, content));
    let image = fs::read(site.root().join("gallery/025.png")).unwrap_or_default();
    site.file("a b&c.png", image)
        .directive("Redirect /mix/redirect.png /gallery/017.png")
        .directive("Header set Cache-Control no-cache")
        .directive("<FilesMatch \"01.\\.png$\">")
        .directive("Header set Cache-Control max-age=3600")
        .directive("</FilesMatch>")
        .start()
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("a folder can be read").map_while(Result::ok) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a file can be copied");
        }
    }
}

fn url(server: &Server, target: &str) -> String {
    format!("http://{}{target}", server.address())
}

/// What the server was asked for since it had `before` lines, sorted. The last of it is known by a
/// request for a mark.
fn asked_since(server: &Server, before: usize) -> (Vec<String>, usize) {
    let mark = format!("/mark-{before}");
    server.get(&mark);
    let wanted = format!("404 {mark}");
    let lines = until("the mark in the log", 10, || {
        Some(server.log_lines()).filter(|lines| lines.contains(&wanted))
    });
    let mut asked: Vec<String> =
        lines[before..].iter().filter(|line| **line != wanted).cloned().collect();
    asked.sort();
    (asked, lines.len())
}

fn browse(url: &str, profile: &Path) {
    let mut command = Command::new(program("chromium"));
    command.env("HOME", profile);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"]);
    command.args(["--no-first-run", "--disable-background-networking", "--disable-sync"]);
    command.args(["--disable-component-update", "--virtual-time-budget=60000", "--dump-dom"]);
    command.arg(format!("--user-data-dir={}", profile.display()));
    let output = run_command(command.arg(url), 120);
    assert!(output.status.success(), "{output:?}");
}

fn a_page_takes_what_chromium_takes_at_the_first_visit_and_the_next(mpm: Mpm) {
    let server = example(mpm);
    let mut before = 0;
    let mut since = |what: &mut dyn FnMut()| {
        what();
        let (mut asked, now) = asked_since(&server, before);
        before = now;
        // chromium takes the icon when it has nothing else to do, which may be never.
        asked.retain(|line| !line.contains("favicon"));
        asked
    };
    for (page, requests) in [("/mix.html", 29), ("/gallery.html", GALLERY_REQUESTS - 2)] {
        let (url, scratch) = (url(&server, page), Scratch::new());
        let profile = scratch.join("profile");
        let first = since(&mut || browse(&url, &profile));
        let next = since(&mut || browse(&url, &profile));
        let once = since(&mut || drop(measure(&["--page", "-n", "1", "-c", "1", &url])));
        assert_eq!(once, first, "{page}");
        let warm = ["--page", "--cache", "warm", "-n", "2", "-c", "1", &url];
        let mut figures = Value::Null;
        let both = since(&mut || figures = measure(&warm));
        let mut wanted = [first.clone(), next].concat();
        wanted.sort();
        assert_eq!(both, wanted, "{page}");
        assert!(number(&figures, "summary.pages.cached") > 0.0, "{figures}");
        assert!(number(&figures, "summary.pages.renewed") > 0.0, "{figures}");
        // Were it fewer, both would have missed the same.
        assert_eq!(first.len(), requests, "{first:#?}");
    }
}

fn each_page_is_counted_with_all_its_requests(mpm: Mpm) {
    let server = example(mpm);
    let gallery = url(&server, "/gallery.html");
    let figures = measure(&["--page", "-n", "6", "-c", "2", &gallery]);
    let (asked, before) = asked_since(&server, 0);
    assert_eq!(asked.len(), 6 * GALLERY_REQUESTS);
    assert_eq!(number(&figures, "summary.requests"), 6.0 * GALLERY_REQUESTS as f64);
    assert_eq!(number(&figures, "summary.pages.loaded"), 6.0);
    assert_eq!(number(&figures, "summary.pages.incomplete"), 0.0);
    assert_eq!(number(&figures, "summary.pages.requests_per_page"), GALLERY_REQUESTS as f64);
    assert_eq!(number(&figures, "summary.pages.time_us.count"), 6.0);
    let [first_byte, page] = ["first_byte_us", "time_us"]
        .map(|name| number(&figures, &format!("summary.pages.{name}.mean")));
    assert!(0.0 < first_byte && first_byte < page, "{figures}");
    // Six for each of two users, kept from page to page.
    assert_eq!(number(&figures, "summary.connect_us.count"), 12.0, "{figures}");
    // A rate is one of pages.
    let figures = measure(&["--page", "--rate", "20", "-n", "5", &gallery]);
    assert_eq!(number(&figures, "summary.pages.loaded"), 5.0);
    assert_eq!(asked_since(&server, before).0.len(), 5 * GALLERY_REQUESTS);
}

fn what_is_missing_is_said(mpm: Mpm) {
    let server = Site::new(mpm)
        .file("lacks.html", "<img src=no.png><img src=a.txt>")
        .file("loop.html", "<img src=/loop>")
        .file("a.txt", "a")
        .directive("Redirect /old.html /lacks.html")
        .directive("Redirect /loop /loop")
        .start();
    let pages = |page: &str| {
        let figures = measure(&["--page", "-n", "3", "-c", "1", &url(&server, page)]);
        ["loaded", "incomplete", "failed"]
            .map(|name| number(&figures, &format!("summary.pages.{name}")))
    };
    assert_eq!(pages("/lacks.html"), [3.0, 3.0, 0.0]);
    assert_eq!(pages("/old.html"), [3.0, 3.0, 0.0]);
    assert_eq!(pages("/no.html"), [0.0, 0.0, 3.0]);
    assert_eq!(pages("/loop.html"), [3.0, 3.0, 0.0]);
    assert_eq!(pages("/loop"), [0.0, 0.0, 3.0]);
    let ran = bench(&["--page", "--json", "-q", "-n", "1", "-c", "1", &url(&server, "/loop")]);
    let figures = ran.figures();
    assert_eq!(number(&figures, "summary.requests"), 21.0, "twenty are followed");
    assert_eq!(number(&figures, "summary.errors_by_kind.redirects"), 1.0);
}

fn compressed_pages_are_looked_into(mpm: Mpm) {
    let server = Site::new(mpm)
        .file("a.html", format!("{}<img src=a.png>", "<p>text</p>".repeat(500)))
        .file("a.png", "a")
        .directive("AddOutputFilterByType DEFLATE text/html")
        .start();
    let figures = measure(&["--page", "-n", "1", "-c", "1", &url(&server, "/a.html")]);
    assert_eq!(number(&figures, "summary.requests"), 2.0);
    let bytes = number(&figures, "summary.body_bytes");
    assert!(bytes < 1000.0, "{bytes} bytes");
    let plain = ["-H", "Accept-Encoding:", "--page", "-n", "1", "-c", "1"];
    let figures = measure(&[&plain[..], &[&url(&server, "/a.html")]].concat());
    assert_eq!(number(&figures, "summary.requests"), 2.0);
    assert!(number(&figures, "summary.body_bytes") > 5000.0, "{figures}");
}

fn other_hosts_are_left_alone_unless_it_is_said(mpm: Mpm) {
    let stub = Stub::answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let elsewhere = stub.url().replace("127.0.0.1", "localhost");
    let page = format!("<img src=a.png><img src={elsewhere}b.png>");
    let server = Site::new(mpm).file("a.html", page).file("a.png", "a").start();
    let page = url(&server, "/a.html");
    let figures = measure(&["--page", "-n", "2", "-c", "1", &page]);
    assert_eq!((number(&figures, "summary.requests"), stub.asked()), (4.0, 0));
    assert_eq!(number(&figures, "summary.pages.elsewhere"), 2.0);
    let figures = measure(&["--page", "--elsewhere", "-n", "2", "-c", "1", &page]);
    assert_eq!((number(&figures, "summary.requests"), stub.asked()), (6.0, 2));
}

fn the_waterfall_is_a_har(mpm: Mpm) {
    let server = example(mpm);
    let scratch = Scratch::new();
    let file = scratch.join("page.har");
    let gallery = url(&server, "/gallery.html");
    let words = ["--page", "-n", "2", "-c", "1", "--har", file.to_str().unwrap_or_default()];
    measure(&[&words[..], &[&gallery]].concat());
    let text = fs::read_to_string(&file).unwrap_or_default();
    let har: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let log = &har["log"];
    assert_eq!((&log["version"], &log["pages"][0]["title"]), (&"1.2".into(), &gallery.into()));
    let entries = log["entries"].as_array().map_or(&[][..], Vec::as_slice);
    assert_eq!(entries.len(), GALLERY_REQUESTS);
    let mut last_end = 0.0_f64;
    for entry in entries {
        let is_icon = entry["_resourceType"] == "icon";
        assert_eq!(entry["response"]["status"], if is_icon { 304 } else { 200 }, "{entry}");
        let time = number(entry, "time");
        let parts = ["blocked", "connect", "send", "wait", "receive"];
        let sum: f64 = parts
            .iter()
            .map(|part| number(entry, &format!("timings.{part}")))
            .filter(|ms| *ms >= 0.0)
            .sum();
        // Each of the parts was cut to microseconds.
        assert!((sum - time).abs() < 0.01, "{sum} ms: {entry}");
        if !is_icon {
            last_end = last_end.max(time);
        }
    }
    let mut connections: Vec<&str> =
        entries.iter().filter_map(|entry| entry["connection"].as_str()).collect();
    connections.sort_unstable();
    connections.dedup();
    assert_eq!(connections.len(), 6);
    assert!(number(log, "pages.0.pageTimings.onLoad") >= last_end);
}

fn a_file_that_cannot_be_written_is_said_before_the_load(mpm: Mpm) {
    let server = example(mpm);
    let ran = bench(&["--page", "--har", "/no/such/folder/a.har", &url(&server, "/")]);
    assert_eq!((ran.code, ran.out.as_str()), (4, ""));
    assert!(ran.err.contains("/no/such/folder/a.har: No such file"), "{}", ran.err);
    assert_eq!(asked_since(&server, 0).0, Vec::<String>::new());
    let ran = bench(&["--cache", "warm", &url(&server, "/")]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("need --page"), "{}", ran.err);
}

fn a_file_stays_as_it_is_without_a_page(_: Mpm) {
    let scratch = Scratch::new();
    let (earlier, fresh) = (scratch.write("earlier.har", "of a run that was"), scratch.join("a"));
    let stub = Stub::answering(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno");
    for (url, part) in [
        ("http://no-such-host.invalid/", "no-such-host.invalid: "),
        (stub.url().as_str(), " was not written: no page was loaded completely"),
    ] {
        for file in [&earlier, &fresh] {
            let words = ["--page", "-q", "-n", "1", "-c", "1", "--har"];
            let ran = bench(&[&words[..], &[&file.display().to_string(), url]].concat());
            assert!(ran.err.contains(part), "{ran:?}");
        }
        assert_eq!(fs::read_to_string(&earlier).unwrap_or_default(), "of a run that was");
        assert!(!fresh.exists());
    }
}

/// Each page refers to other things, none of which is asked for.
fn pages_that_differ_each_time_take_bounded_memory(_: Mpm) {
    let pages = AtomicUsize::new(0);
    let stub = Stub::start(move |visitor| {
        while visitor.request().is_some() {
            let page = pages.fetch_add(1, Ordering::Relaxed);
            let image = |image| format!("<img src=http://elsewhere.invalid/{page}/{image}>");
            let text: String = (0..3000).map(image).collect();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: \"x\"";
            let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{text}", text.len());
            if visitor.stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    });
    let words = ["--json", "-q", "--page", "--cache", "warm", "-n", "250", "-c", "2"];
    let ran = bench_within(800, &[&words[..], &[&stub.url()]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(number(&ran.figures(), "summary.pages.loaded"), 250.0);
}

fn a_page_whose_server_breaks_off_ends(_: Mpm) {
    let stub = Stub::start(|visitor| {
        while let Some(request) = visitor.request() {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 90\r\n\r\n";
            let text = "<img src=1><img src=2><img src=3>";
            let is_page = request.starts_with("GET / ");
            let answer = match is_page {
                true => format!("{head}{text:90}"),
                false => format!("{head}half"),
            };
            if visitor.stream.write_all(answer.as_bytes()).is_err() || !is_page {
                return;
            }
        }
    });
    let figures = measure(&["--page", "-n", "4", "-c", "2", &stub.url()]);
    assert_eq!(number(&figures, "summary.pages.loaded"), 4.0);
    assert_eq!(number(&figures, "summary.pages.incomplete"), 4.0);
    assert_eq!(number(&figures, "summary.errors_by_kind.truncated"), 12.0, "{figures}");
    // Where nothing answers, pages fail and the run ends.
    let silent = Stub::start(|visitor| while visitor.request().is_some() {});
    let ran = bench(&["--page", "-n", "2", "-c", "1", "-q", "--timeout", "200ms", &silent.url()]);
    assert_eq!(ran.code, 12, "{ran:?}");
}

/// What a cache has all of is no work of the server's, and takes no time.
fn pages_that_nothing_was_asked_for_are_counted_apart(_: Mpm) {
    let stub = Stub::start(|visitor| {
        while let Some(request) = visitor.request() {
            let age = if request.starts_with("GET /half ") { "no-cache" } else { "max-age=3600" };
            let text = "<img src=/a.png>";
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nCache-Control: {age}\r\n\
                 Content-Length: {}\r\n\r\n{text}",
                text.len()
            );
            if visitor.stream.write_all(head.as_bytes()).is_err() {
                return;
            }
        }
    });
    let (whole, half) = (stub.url(), stub.url() + "half");
    let scratch = Scratch::new();
    let page = scratch.join("page.html").display().to_string();
    let words = ["--page", "--cache", "warm", "-c", "2"];
    let of = |figures: &Value, name: &str| number(figures, &format!("summary.pages.{name}"));
    let run = [&words[..], &["-n", "40", "--html", &page, &whole]].concat();
    let figures = measure(&run);
    // A page, its image and an icon that the browser looks for.
    assert_eq!([of(&figures, "loaded"), of(&figures, "unasked")], [2.0, 38.0], "{figures}");
    assert_eq!(of(&figures, "time_us.count"), 2.0, "{figures}");
    assert_eq!(of(&figures, "requests_per_page"), stub.asked() as f64 / 2.0, "{figures}");
    let elapsed_s = number(&figures, "summary.elapsed_s");
    assert!((of(&figures, "rate") - 2.0 / elapsed_s).abs() < 0.01, "{figures}");
    let html = fs::read_to_string(&page).unwrap_or_default();
    assert!(html.contains("<th>unasked</th><td>38</td>"), "{html}");
    let ran = bench(&[&words[..], &["-q", "-n", "40", &whole]].concat());
    let line = "  unasked                 38   the cache had all of the page: in no other line\n";
    assert!(ran.out.contains(line), "{}", ran.out);
    // One of two pages is asked for each time.
    let figures = measure(&[&words[..], &["-n", "40", &whole, &half]].concat());
    assert_eq!(of(&figures, "loaded") + of(&figures, "unasked"), 40.0, "{figures}");
    assert!((18.0..=20.0).contains(&of(&figures, "unasked")), "{figures}");
    // Nobody turns pages for nothing as fast as the processor can.
    let figures = measure(&[&words[..], &["-d", "500ms", &whole]].concat());
    assert!((1.0..=1200.0).contains(&of(&figures, "unasked")), "{figures}");
    assert_eq!(of(&figures, "failed"), 0.0, "{figures}");
}

each_mpm! {
    a_page_takes_what_chromium_takes_at_the_first_visit_and_the_next,
    each_page_is_counted_with_all_its_requests,
    what_is_missing_is_said,
    compressed_pages_are_looked_into,
    other_hosts_are_left_alone_unless_it_is_said,
    the_waterfall_is_a_har,
    a_file_that_cannot_be_written_is_said_before_the_load,
    a_page_whose_server_breaks_off_ends;
    event: pages_that_nothing_was_asked_for_are_counted_apart,
    a_file_stays_as_it_is_without_a_page, pages_that_differ_each_time_take_bounded_memory
}
