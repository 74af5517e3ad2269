//! mod_ratelimit: a response takes its time, all of it arrives, and waiting keeps nobody else from
//! being answered.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::{Mpm, Server, Site, each_mpm};
use std::time::{Duration, Instant};

/// Five intervals of 200 ms at 10 KB/s have two kilobytes each; the first needs no wait.
const KB_IN_A_SECOND: usize = 10;

fn site(mpm: Mpm) -> Site {
    Site::new(mpm)
        .file("slow/large.bin", content(9 * 1024))
        .file("slow/page.html", content(9 * 1024))
        .file("burst/large.bin", content(9 * 1024))
        .file("fast.txt", "fast\n")
        .directive("<Location /slow>")
        .directive("SetOutputFilter RATE_LIMIT")
        .directive(format!("SetEnv rate-limit {KB_IN_A_SECOND}"))
        .directive("</Location>")
        .directive("<Location /slow/page.html>")
        .directive("SetOutputFilter SUBSTITUTE;RATE_LIMIT")
        .directive("Substitute s/nothing/something/")
        .directive("</Location>")
        .directive("<Location /burst>")
        .directive("SetOutputFilter RATE_LIMIT")
        .directive("SetEnv rate-limit 1")
        .directive("SetEnv rate-initial-burst 100")
        .directive("</Location>")
}

fn content(length: usize) -> String {
    (0..length)
        .map(|at| if at % 64 == 63 { '\n' } else { char::from(b'a' + (at % 26) as u8) })
        .collect()
}

/// Asks and takes the time.
fn timed(server: &Server, target: &str) -> Duration {
    let begun = Instant::now();
    let response = server.get(target);
    assert_eq!((response.status, response.text()), (200, content(9 * 1024)), "{target}");
    begun.elapsed()
}

fn a_response_takes_as_long_as_its_rate_says(mpm: Mpm) {
    let server = site(mpm).start();
    for target in ["/slow/large.bin", "/slow/page.html"] {
        // Head and content have more than four intervals' bytes: four waits at least, of which the
        // coarse clock may cut a little each.
        let took = timed(&server, target);
        assert!(took >= Duration::from_millis(4 * 190), "{target}: {took:?}");
    }
    // A burst has all of it: this would take nine seconds else.
    let took = timed(&server, "/burst/large.bin");
    assert!(took < Duration::from_secs(5), "{took:?}");
    let length = server.get("/slow/large.bin").field("Content-Length").map(str::to_owned);
    assert_eq!(length.as_deref(), Some("9216"));
}

/// Under event: more slow responses than there are slots, and threads.
fn waiting_costs_no_slot(mpm: Mpm) {
    let lines = ["MaxRequestWorkers 2", "ThreadsPerChild 2", "ServerLimit 1"];
    let server = site(mpm).directives(&lines).start();
    let mut slow: Vec<_> = (0..8).map(|_| server.connect()).collect();
    for client in &mut slow {
        client.send("GET /slow/large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
        client.read_some(1);
    }
    let mut other = server.connect();
    for round in 0..20 {
        assert_eq!(other.get(&format!("/fast.txt?{round}")).text(), "fast\n");
    }
    let is_waiting = slow.iter().any(|client| !client.is_closed());
    assert!(is_waiting);
    for mut client in slow {
        client.finish();
        let rest = client.read_to_end();
        assert!(rest.ends_with(content(9 * 1024).as_bytes()), "{}", rest.len());
    }
}

/// A client that leaves in the middle of a wait is noticed, and the child lives.
fn a_client_that_leaves_is_let_go(mpm: Mpm) {
    let server = site(mpm).start();
    let children = server.children();
    for _ in 0..3 {
        let mut client = server.connect();
        client.send("GET /slow/large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
        client.read_some(1);
        client.reset_on_drop();
    }
    assert_eq!(server.get("/fast.txt").status, 200);
    server.assert_none_died(&children);
}

each_mpm! {
    a_response_takes_as_long_as_its_rate_says,
    a_client_that_leaves_is_let_go;
    event: waiting_costs_no_slot
}
