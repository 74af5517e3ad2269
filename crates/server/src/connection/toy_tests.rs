//! Requests of a protocol with many at once on one connection, served by what serves those of
//! HTTP/1: slot, body, timer, log line and accounts of each.

use super::tests::{Site, THREADS, thread};
use super::toy::Toy;
use crate::context::Context;
use crate::site::settings::core::Signature;
use crate::transport::memory::{MemoryStream, pair};
use scoreboard::Snapshot;
use std::fmt::Write as _;
use std::future::poll_fn;
use std::rc::Rc;

/// A client of a connection on the present thread.
fn connect(context: &Rc<Context>) -> MemoryStream {
    let (near, far) = pair(2048);
    drop(runtime::thread::spawn(Toy::new(context, near).run()));
    far
}

/// Read until the answers to these requests are complete; the text of all that has come.
async fn read_until(far: &mut MemoryStream, text: &mut String, ends: &[&str]) {
    let mut buffer = [0; 512];
    while !ends.iter().all(|end| text.contains(end)) {
        let length = poll_fn(|task| far.poll_read(task, &mut buffer)).await.unwrap();
        assert!(length > 0, "the connection has ended after {text}");
        text.push_str(std::str::from_utf8(&buffer[..length]).unwrap());
    }
}

#[test]
fn requests_on_one_connection_have_slot_body_and_log_line_each() {
    let site = Site::new("toy");
    for (kind, carries, slots) in THREADS {
        let context = site.context(carries, slots);
        thread(&context).block_on(async {
            let mut far = connect(&context);
            let mut text = String::new();
            let asked = b">1 POST /diagnostic?echo 10\n>2 GET /page.html 0\n>3 HEAD /page.html 0\n";
            far.try_send(asked).unwrap();
            if slots > 1 {
                // The first one waits for its body, and holds nobody up.
                read_until(&mut far, &mut text, &[".2\n", ".3\n"]).await;
                assert!(!text.contains("<1"), "{kind}: {text}");
            }
            far.try_send(b"+1 4\n0123+1 6\n456789>4 GET /large.txt 0\n").unwrap();
            read_until(&mut far, &mut text, &[".1\n", ".2\n", ".3\n", ".4\n"]).await;
            assert!(text.contains("<2 200\n+2 6\na page.2\n<3 200\n.3\n"), "{kind}: {text}");
            let echoed: String = text.split("+1 ").skip(1).fold(String::new(), |mut all, part| {
                let (length, rest) = part.split_once('\n').unwrap();
                write!(all, "{}", &rest[..length.parse().unwrap()]).unwrap();
                all
            });
            assert_eq!(echoed, "0123456789", "{kind}");
            assert_eq!(text.matches('x').count(), 100_000, "{kind}");
            assert_eq!(context.slots.free(), slots, "{kind}: every slot was given back");
        });
        let mut lines = site.log();
        if slots == 1 {
            assert!(lines[0].contains("POST"), "{kind}: one after the other: {lines:?}");
        }
        lines.sort();
        let expected = [
            "192.0.2.7 GET /large.txt 200 100000 100000",
            "192.0.2.7 GET /page.html 200 6 6",
            "192.0.2.7 HEAD /page.html 200 0 6",
            "192.0.2.7 POST /diagnostic?echo 200 10 -",
        ];
        assert_eq!(lines, expected, "{kind}");
    }
}

#[test]
fn a_body_that_does_not_come_ends_its_request_alone() {
    let site = Site::new("toy-timer");
    for (kind, carries, slots) in THREADS {
        let context = site.context(carries, slots);
        thread(&context).block_on(async {
            let mut far = connect(&context);
            far.try_send(b">1 POST /diagnostic?echo 10\n>2 GET /page.html 0\n").unwrap();
            let mut text = String::new();
            read_until(&mut far, &mut text, &[".1\n", ".2\n"]).await;
            assert!(text.contains("<1 408\n") && text.contains("<2 200\n"), "{kind}: {text}");
            assert_eq!(context.slots.free(), slots, "{kind}");
        });
        assert_eq!(site.log().len(), 2, "{kind}");
    }
}

/// The words of the first line of the log with `text` in it.
fn line_with<'a>(lines: &'a [String], text: &str) -> Vec<&'a str> {
    let line = lines.iter().find(|line| line.contains(text));
    line.unwrap_or_else(|| panic!("{text}: {lines:?}")).split(' ').collect()
}

#[test]
fn figures_of_each_request_are_its_own() {
    let mut site = Site::new("toy-figures");
    site.format = "%U%q %>s %b %O %X %k %D";
    for (kind, carries, slots) in THREADS {
        let context = site.context(carries, slots);
        let mut text = String::new();
        thread(&context).block_on(async {
            let mut far = connect(&context);
            // One has to wait for its body until it is too late, the other has none.
            far.try_send(b">1 POST /diagnostic?slow 10\n+1 3\nabc>2 GET /page.html 0\n").unwrap();
            read_until(&mut far, &mut text, &["!1\n", ".2\n"]).await;
        });
        let lines = site.log();
        let (slow, quick) = (line_with(&lines, "?slow"), line_with(&lines, "/page"));
        assert_eq!(quick[..5], ["/page.html", "200", "6", "21", "+"], "{kind}: {lines:?}");
        let sent: String = text.lines().filter(|line| line.contains("1 ")).collect();
        assert!(sent.starts_with("<1 200"), "{kind}: {text}");
        assert_eq!(slow[1..5], ["200", "3", "15", "X"], "{kind}: {lines:?} {text}");
        let us = |line: &[&str]| line[6].parse::<u64>().unwrap();
        assert!(us(&slow) >= 990_000, "{kind}: {lines:?}");
        assert!(slots == 1 || us(&quick) < us(&slow), "{kind}: {lines:?}");
        let order = if slots == 1 { ["0", "1"] } else { ["1", "0"] };
        assert_eq!([slow[5], quick[5]], order, "{kind}: {lines:?}");
    }
}

#[test]
fn a_client_may_leave_one_request_alone() {
    let mut site = Site::new("toy-leave");
    site.format = "%U%q %>s %b %O %X";
    for (kind, carries, slots) in THREADS {
        let context = site.context(carries, slots);
        thread(&context).block_on(async {
            let mut far = connect(&context);
            let mut text = String::new();
            let asked =
                b">1 POST /diagnostic?a 10\n>2 POST /diagnostic?b 10\n>3 GET /page.html 0\n!2\n";
            far.try_send(asked).unwrap();
            // With one slot the second waits for that, with many for its body.
            read_until(&mut far, &mut text, &["!2\n"]).await;
            far.try_send(b"!1\n").unwrap();
            read_until(&mut far, &mut text, &["!1\n", ".3\n"]).await;
            assert!(!text.contains("<1") && !text.contains("<2"), "{kind}: {text}");
            assert_eq!(context.slots.free(), slots, "{kind}");
        });
        let mut lines = site.log();
        lines.sort();
        let expected =
            ["/diagnostic?a 499 - 0 X", "/diagnostic?b 499 - 0 X", "/page.html 200 6 21 +"];
        assert_eq!(lines, expected, "{kind}");
    }
}

#[test]
fn a_client_that_is_gone_ends_all_its_requests() {
    let mut site = Site::new("toy-gone");
    site.format = "%U%q %>s %X";
    for (kind, carries, slots) in THREADS {
        let context = site.context(carries, slots);
        thread(&context).block_on(async {
            let mut far = connect(&context);
            far.try_send(b">1 GET /large.txt 0\n>2 POST /diagnostic 10\n").unwrap();
            let mut text = String::new();
            read_until(&mut far, &mut text, &["<1 200\n"]).await;
            drop(far);
            while context.slots.free() < slots || site.peek().lines().count() < 2 {
                runtime::thread::yield_now().await;
            }
        });
        let mut lines = site.log();
        lines.sort();
        assert_eq!(lines, ["/diagnostic 499 X", "/large.txt 200 X"], "{kind}");
    }
}

#[test]
fn what_is_refused_is_logged_and_ends_no_other_request() {
    let mut site = Site::new("toy-refused");
    site.format = "%m %U%q %>s %O %X";
    for (kind, carries, slots) in THREADS {
        let context = site.context(carries, slots);
        let mut text = String::new();
        thread(&context).block_on(async {
            let mut far = connect(&context);
            far.try_send(b">1 GET nonsense 0\n").unwrap();
            far.try_send(b">3 POST /missing 9999999\n>4 GET /page.html 0\n").unwrap();
            read_until(&mut far, &mut text, &[".1\n", "!3\n", ".4\n"]).await;
        });
        for answer in ["<1 400\n", "<3 404\n", "<4 200\n"] {
            assert!(text.contains(answer), "{kind}: {text}");
        }
        let lines = site.log();
        let of = |text| line_with(&lines, text)[2].to_owned();
        let statuses = ["nonsense", "/missing", "/page.html"].map(of);
        assert_eq!(statuses, ["400", "404", "200"], "{kind}: {lines:?}");
        assert_eq!(lines.len(), 3, "{kind}: {lines:?}");
    }
}

#[test]
fn a_refusal_whose_page_is_made_for_it_takes_its_turn() {
    let mut site = Site::new("toy-made");
    site.format = "%U%q %>s %X";
    site.signature = Signature::On;
    for (kind, carries, slots) in THREADS {
        let context = site.context(carries, slots);
        let mut text = String::new();
        thread(&context).block_on(async {
            let mut far = connect(&context);
            far.try_send(b">1 POST /diagnostic?echo 4\n>2 GET nonsense 0\n").unwrap();
            if slots > 1 {
                read_until(&mut far, &mut text, &[".2\n"]).await;
            }
            far.try_send(b"+1 4\nbody").unwrap();
            read_until(&mut far, &mut text, &[".1\n", ".2\n"]).await;
            // One that is left while it waits for its turn is refused all the same, unheard.
            far.try_send(b">3 POST /diagnostic?last 4\n>4 GET nonsense/4 0\n!4\n").unwrap();
            far.try_send(b"+3 4\nbody").unwrap();
            read_until(&mut far, &mut text, &[".3\n"]).await;
            assert_eq!(context.slots.free(), slots, "{kind}");
        });
        assert!(text.contains("<2 400\n"), "{kind}: {text}");
        assert!(text.contains("<address>"), "{kind}: a page is made: {text}");
        let mut lines = site.log();
        lines[2..].sort();
        let (echo, refused) = ("/diagnostic?echo 200 +", "nonsense 400 +");
        let first = if slots == 1 { [echo, refused] } else { [refused, echo] };
        assert_eq!(lines[..2], first, "{kind}");
        assert_eq!(lines[2..], ["/diagnostic?last 200 +", "nonsense/4 400 X"], "{kind}");
        let totals = Snapshot::take(context.board()).totals();
        assert_eq!(totals.requests, 4, "{kind}: each is counted once");
    }
}

#[test]
fn requests_under_way_are_answered_when_the_process_is_to_end() {
    let mut site = Site::new("toy-drain");
    site.format = "%U%q %>s %X";
    for (kind, carries, slots) in THREADS {
        let context = site.context(carries, slots);
        thread(&context).block_on(async {
            let mut far = connect(&context);
            let mut text = String::new();
            far.try_send(b">1 GET /page.html 0\n>2 POST /diagnostic?echo 4\n").unwrap();
            read_until(&mut far, &mut text, &[".1\n"]).await;
            context.start_draining();
            far.try_send(b">3 GET /page.html 0\n+2 4\nbody").unwrap();
            text.push_str(std::str::from_utf8(&far.read_to_end().await).unwrap());
            assert!(text.contains("~\n") && text.contains("!3\n"), "{kind}: {text}");
            assert!(text.contains("+2 4\nbody.2\n") && !text.contains("<3"), "{kind}: {text}");
        });
        assert_eq!(site.log(), ["/page.html 200 +", "/diagnostic?echo 200 -"], "{kind}");
    }
}

#[test]
fn accounts_and_rows_add_up_to_the_log() {
    let mut site = Site::new("toy-sums");
    site.format = "%>s %O";
    for (kind, carries, slots) in THREADS {
        let context = site.context(carries, slots);
        let mut text = String::new();
        thread(&context).block_on(async {
            let mut far = connect(&context);
            far.try_send(b">1 GET nonsense 0\n>2 GET /page.html 0\n>3 HEAD /large.txt 0\n")
                .unwrap();
            far.try_send(b">4 GET /missing 0\n>5 POST /diagnostic?echo 4\n+5 4\nbody").unwrap();
            far.try_send(b">6 GET /large.txt 0\n>7 GET /page.html 0\n").unwrap();
            let ends = [1, 2, 3, 4, 5, 6, 7].map(|id| format!(".{id}\n"));
            read_until(&mut far, &mut text, &ends.each_ref().map(String::as_str)).await;
            text.push_str(&left(context.clone(), &mut far).await);
        });
        let lines = site.log();
        let logged: u64 =
            lines.iter().map(|line| line.split(' ').nth(1).unwrap().parse::<u64>().unwrap()).sum();
        let totals = Snapshot::take(context.board()).totals();
        let accounts = scoreboard::accounts(context.board(), |view| Some(view.host));
        let sums = accounts
            .iter()
            .fold((0, 0), |sums, account| (sums.0 + account.requests, sums.1 + account.bytes));
        assert_eq!((totals.requests, totals.bytes), (8, logged), "{kind}: {lines:?}");
        assert_eq!(sums, (8, logged), "{kind}: {accounts:?}");
        assert_eq!(text.len() as u64, logged + "!8\n".len() as u64, "{kind}");
        let status = |class: usize| accounts.iter().map(|it| it.statuses[class]).sum::<u64>();
        assert_eq!([0, 1, 2, 3, 4].map(status).iter().sum::<u64>(), 8, "{kind}: {accounts:?}");
    }
}

/// A request whose client leaves it while it has its slot.
async fn left(context: Rc<Context>, far: &mut MemoryStream) -> String {
    let mut text = String::new();
    let free = context.slots.free();
    far.try_send(b">8 POST /diagnostic?left 4\n").unwrap();
    while context.slots.free() == free {
        runtime::thread::yield_now().await;
    }
    far.try_send(b"!8\n").unwrap();
    read_until(far, &mut text, &["!8\n"]).await;
    text
}

#[test]
fn a_stream_among_others_is_never_handed_over() {
    let mut site = Site::new("toy-upgrade");
    site.format = "%U%q %>s";
    for (kind, carries, slots) in THREADS {
        let context = site.context(carries, slots);
        thread(&context).block_on(async {
            let (mut far, mut text) = (connect(&context), String::new());
            far.try_send(b">1 GET /diagnostic?upgrade 0\n>2 GET /page.html 0\n").unwrap();
            read_until(&mut far, &mut text, &[".1\n", ".2\n"]).await;
            assert!(text.contains("<1 500\n") && text.contains("<2 200\n"), "{kind}: {text}");
        });
        let mut lines = site.log();
        lines.sort();
        assert_eq!(lines, ["/diagnostic?upgrade 500", "/page.html 200"], "{kind}");
    }
}
