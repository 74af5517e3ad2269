//! The verdict of the status page on a server that computes, and on one that waits.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::{
    Client, LOAD_HANDLERS, Mpm, Server, SetAtEnd, Site, cgi, each_mpm, kept, plain_site, until,
};
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

/// Processor time of the children's children in seconds, and of the server with all of them.
fn cpu_s(server: &Server) -> [f64; 2] {
    let value = |text: &str, key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        line.unwrap_or_else(|| panic!("no {key} in {text}")).parse::<f64>().unwrap()
    };
    let auto = server.get("/server-status?auto").text();
    let children = value(&auto, "CPUChildrenUser: ") + value(&auto, "CPUChildrenSystem: ");
    let metrics = until("a beat", 10, || {
        let text = server.get("/server-status?metrics").text();
        text.contains("\ntrivet_cpu_seconds_total ").then_some(text)
    });
    [children, value(&metrics, "trivet_cpu_seconds_total ")]
}

/// Asks for a URL whose program burns half a second, and waits until that is told.
fn assert_told(server: &Server, target: &str) {
    const LEAST_S: f64 = 0.3;
    let before = cpu_s(server);
    let response = server.get(target);
    assert_eq!(response.status, 200, "{}", server.error_text());
    until("the time of the program", 10, || {
        let now = cpu_s(server);
        (0..2).all(|of| now[of] >= before[of] + LEAST_S).then_some(())
    });
}

fn what_programs_use_is_told(mpm: Mpm) {
    // Ticks of its own, of which there are 100 in a second (proc(5)).
    let burn = cgi::with_head(
        "while :; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done\n\
         read line < /proc/$$/stat; set -- ${line##*)}\n\
         [ $((${12} + ${13})) -lt 50 ] || break; done",
    );
    let server = cgi::start(mpm, &[("burn", &burn)]);
    assert_told(&server, "/cgi-bin/burn");
}

fn what_kept_processes_use_is_told_while_they_live(mpm: Mpm) {
    let Some(program) = kept::php_cgi("time of kept processes") else { return };
    let burn = "<?php do { for ($i = 0; $i < 100000; $i++); $used = getrusage(); } while \
                ($used['ru_utime.tv_sec'] * 1000000 + $used['ru_utime.tv_usec'] < 500000);";
    let site = Site::new(mpm).steady().file("burn.php", burn);
    let server = kept::start_with(site, &format!("FcgidWrapper \"{program} -n\""), &[]);
    assert_told(&server, "/burn.php");
    assert_eq!(kept::processes(&server).len(), 1, "it lives on");
}

each_mpm! {
    what_programs_use_is_told,
    what_kept_processes_use_is_told_while_they_live,
    a_server_that_computes_is_bound_by_processors,
    a_server_that_waits_is_bound_by_what_it_waits_for,
}
