//! The verdict of the status page on a server that computes, and on one that waits.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::{Client, LOAD_HANDLERS, Mpm, Server, SetAtEnd, each_mpm, plain_site, until};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Does `act` while eight clients ask for `target` again and again.
fn under_load<T>(server: &Server, target: &str, act: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    let ask = || {
        while !is_over.load(Ordering::Relaxed) {
            let mut client = Client::connect(server.address());
            for _ in 0..10 {
                assert_eq!(client.get(target).status, 200);
            }
        }
    };
    thread::scope(|scope| {
        let _at_end = SetAtEnd(&is_over);
        (0..8).for_each(|_| drop(scope.spawn(ask)));
        act()
    })
}

/// Waits for a verdict that begins so.
fn verdict(server: &Server, start: &str) -> String {
    until("the verdict", 60, || {
        let page = server.get("/server-status").text();
        let (_, behind) = page.split_once("<dt>Verdict: ")?;
        let text = behind.split("</dt>").next()?;
        text.starts_with(start).then(|| text.to_owned())
    })
}

fn a_server_that_computes_is_bound_by_processors(mpm: Mpm) {
    let server = plain_site(mpm).steady().directives(LOAD_HANDLERS).start();
    let (text, page) = under_load(&server, "/cpu?ms=20", || {
        let text = verdict(&server, "CPU-bound");
        (text, server.get("/server-status").text())
    });
    assert!(text.contains("processors are busy for "), "{text}");
    let (_, section) = page.split_once("<h2>Where the time goes</h2>").unwrap();
    // The first row is that of the URL that takes the most time.
    let (_, rows) = section.split_once("</th></tr>\n").unwrap();
    let first = rows.split("</tr>").next().unwrap();
    assert!(first.contains("<td nowrap>/cpu</td>"), "{first}");
}

fn a_server_that_waits_is_bound_by_what_it_waits_for(mpm: Mpm) {
    let server = plain_site(mpm).steady().directives(LOAD_HANDLERS).start();
    let (text, page) = under_load(&server, "/wait?ms=50", || {
        let text = verdict(&server, "Wait-bound");
        (text, server.get("/server-status").text())
    });
    assert!(text.contains("waiting in a handler"), "{text}");
    let (_, section) = page.split_once("<h2>Where the time goes</h2>").unwrap();
    for part in ["<td nowrap>/wait</td>", "<td nowrap>handler ", "W = ", "C = "] {
        assert!(section.contains(part), "no {part} in {section}");
    }
}

each_mpm! {
    a_server_that_computes_is_bound_by_processors,
    a_server_that_waits_is_bound_by_what_it_waits_for,
}
