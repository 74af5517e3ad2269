//! The accounts of URLs: every request is in exactly one of them, however many URLs there are,
//! whoever serves them, and whoever dies meanwhile.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::thread;

use blackbox::{Client, Mpm, Server, Site, each_mpm, process, until, wait_for};

/// The page itself is asked for while the others are counted.
const STATUS: &str = "/server-status";

fn site(mpm: Mpm) -> Site {
    let handlers = ["<Location /wait>", "SetHandler trivet-wait", "</Location>"];
    Site::new(mpm)
        .steady()
        .file("a.txt", "0123456789")
        .file("folder/b.txt", "0123456789")
        .access_log("\"%s %U\"")
        .directives(&handlers)
        .directive("ServerName localhost")
}

/// Requests by account, as the page says.
fn accounts(server: &Server) -> BTreeMap<String, u64> {
    let text = server.get(&format!("{STATUS}?metrics")).text();
    let samples = text.lines().filter_map(|line| {
        let rest = line.strip_prefix("trivet_url_requests_total{")?;
        let (labels, value) = rest.rsplit_once("} ")?;
        let name = labels.split("pattern=\"").nth(1)?.strip_suffix('"')?.to_owned();
        Some((name, value.parse().unwrap()))
    });
    samples.filter(|row: &(String, u64)| row.0 != STATUS).collect()
}

/// The same from the lines of the access log.
fn logged(server: &Server) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for line in server.log_lines() {
        let (status, path) = line.split_once(' ').unwrap();
        let name = match (status, path) {
            (_, STATUS) => continue,
            ("404", _) | ("400", _) => format!("({status})"),
            (_, "/a.txt") => "/*.txt".to_owned(),
            (_, "/folder/b.txt") => "/folder/*.txt".to_owned(),
            (_, path) => path.to_owned(),
        };
        *counts.entry(name).or_default() += 1;
    }
    counts
}

fn ask(server: &Server, client: &mut Client, number: usize) {
    match number % 6 {
        0 | 1 => assert_eq!(client.get("/a.txt").status, 200),
        2 => assert_eq!(client.get("/folder/b.txt?x=1").status, 200),
        3 => assert_eq!(client.get(&format!("/missing/{number}")).status, 404),
        4 => assert_eq!(client.get("/wait?ms=1").status, 200),
        _ => assert_eq!(server.exchange("GET / HTTP/1.1\r\n\r\n").status, 400),
    }
}

fn every_request_of_the_log_is_in_one_account(mpm: Mpm) {
    let server = site(mpm).start();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = server.connect();
                (0..150).for_each(|number| ask(&server, &mut client, number));
            });
        }
    });
    until("the accounts to be those of the log", 10, || {
        let (accounts, logged) = (accounts(&server), logged(&server));
        (accounts == logged && logged.values().sum::<u64>() == 600).then_some(())
    });
}

fn many_urls_make_few_accounts_and_none_is_forgotten(mpm: Mpm) {
    const URLS: u64 = 2000;
    let server = site(mpm).start();
    let mut client = server.connect();
    for number in 0..URLS {
        let letter = |at: u64| char::from(b'a' + u8::try_from(number / at % 26).unwrap());
        let name: String = [1, 26, 676].into_iter().map(letter).collect();
        assert_eq!(client.get(&format!("/wait/{name}?ms=0")).status, 200);
    }
    // With so many names that of the page itself may be one of the others.
    let mut pages = 0;
    until("the requests to be counted", 20, || {
        let accounts = accounts(&server);
        assert!(accounts.len() <= 300, "{} accounts", accounts.len());
        pages += 1;
        (URLS..URLS + pages).contains(&accounts.values().sum()).then_some(())
    });
}

fn a_child_that_is_killed_takes_no_account_with_it(mpm: Mpm) {
    let server = site(mpm).start();
    let count = |server: &Server| accounts(server).get("/*.txt").copied().unwrap_or(0);
    for round in 1..=5 {
        for _ in 0..20 {
            assert_eq!(server.get("/a.txt").status, 200);
        }
        wait_for("the requests to be counted", 10, || count(&server) == round * 20);
        let victims = server.children();
        for victim in &victims {
            process::signal(*victim, libc::SIGKILL);
        }
        wait_for("other children", 20, || {
            let children = server.children();
            !children.is_empty() && children.iter().all(|child| !victims.contains(child))
        });
        wait_for("an answer", 20, || {
            Client::try_connect(server.address()).is_ok() && count(&server) == round * 20
        });
    }
}

fn nothing_is_kept_where_extended_status_is_off(mpm: Mpm) {
    let server = site(mpm).directive("ExtendedStatus Off").start();
    for _ in 0..20 {
        assert_eq!(server.get("/a.txt").status, 200);
    }
    server.wait_log(20);
    assert_eq!(accounts(&server), BTreeMap::new());
}

each_mpm! {
    every_request_of_the_log_is_in_one_account,
    many_urls_make_few_accounts_and_none_is_forgotten,
    a_child_that_is_killed_takes_no_account_with_it,
    nothing_is_kept_where_extended_status_is_off,
}
