//! Lines about the configuration or the machine, which any client could have written as often as it
//! asks: the first comes at once, those like it are counted, and the count is told.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::{Mpm, Server, Site, each_mpm, wait_for};

const REQUESTS: usize = 300;

/// How often something was said, and how often it was counted instead.
fn said_and_counted(server: &Server, what: &str) -> (usize, usize) {
    let text = server.error_text();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(what)).collect();
    let more = |line: &&str| {
        let (before, _) = line.split_once(" more like this in the last ")?;
        before.rsplit('(').next()?.parse::<usize>().ok()
    };
    let counts: Vec<usize> = lines.iter().filter_map(more).collect();
    // A line that only tells a count repeats the last of those that it counts.
    (lines.len() - counts.len(), counts.iter().sum())
}

/// `target` says `what` each time; `N` in it is the number of the request.
fn is_counted(server: &Server, target: &str, status: u16, what: &str) {
    let children = server.children().len();
    assert_eq!(server.get(&target.replace('N', "0")).status, status);
    assert_eq!(said_and_counted(server, what), (1, 0), "the first is said at once");
    for number in 1..REQUESTS {
        assert_eq!(server.get(&target.replace('N', &number.to_string())).status, status);
    }
    let (said, _) = said_and_counted(server, what);
    assert!(said <= 2 * children, "{said} lines of {children} children");
    wait_for("all to be told", 40, || {
        let (said, counted) = said_and_counted(server, what);
        said + counted == REQUESTS
    });
}

fn patterns_that_take_too_long_do_not_fill_the_log(mpm: Mpm) {
    let site = Site::new(mpm).steady().directives(&[
        "<LocationMatch \"^/(a|aa|aaa)+$\">",
        "Require all granted",
        "</LocationMatch>",
    ]);
    let target = format!("/{}N", "a".repeat(100));
    is_counted(&site.start(), &target, 500, "too many steps");
}

fn nor_do_mistakes_of_the_configuration(mpm: Mpm) {
    let site = Site::new(mpm).steady().file("wrong/.htaccess", "NoSuchDirective\n");
    let site = site.file("wrong/x.txt", "x").file("x.php", "");
    let folder = site.root().path().display().to_string();
    let server = site
        .directives(&[&format!("<Directory {folder}>"), "AllowOverride All", "</Directory>"])
        .start();
    is_counted(&server, "/wrong/x.txt?N", 500, "NoSuchDirective");
}

fn nor_does_an_application_that_is_away(mpm: Mpm) {
    let site = Site::new(mpm).steady().file("x.php", "");
    let server = site
        .directives(&["<FilesMatch \"\\.php$\">", "SetHandler proxy:fcgi://127.0.0.1:1"])
        .directive("</FilesMatch>")
        .start();
    // A request that does no harm waits a moment for it.
    let children = server.children().len();
    let ask = |number: usize| {
        let line = format!("POST /x.php?{number} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n");
        server.exchange(format!("{line}Content-Length: 1\r\n\r\nx")).status
    };
    assert!((0..40).all(|number| ask(number) == 503));
    let (said, _) = said_and_counted(&server, "AH00957");
    assert!((1..=2 * children).contains(&said), "{said} lines of {children} children");
}

each_mpm! {
    patterns_that_take_too_long_do_not_fill_the_log,
    nor_do_mistakes_of_the_configuration,
    nor_does_an_application_that_is_away,
}
