//! Totals of server-status over restarts: they never go back over graceful ones, and are exact as
//! soon as all is quiet.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::httpd::Root;
use blackbox::{Client, Mpm, Site, each_mpm, until};
use std::fs::File;

const MORE: &str = "LoadModule status_module modules/mod_status.so\n\
                    <Location /server-status>\nSetHandler server-status\n</Location>\n\
                    <Location /wait>\nSetHandler trivet-wait\n</Location>\n";

/// A server, how often it was asked, and what it has said at most.
struct Asked<'a> {
    root: &'a Root,
    count: u64,
    highest: [u64; 3],
}

impl Asked<'_> {
    fn get(&mut self, target: &str) -> String {
        let mut client = Client::connect(self.root.address);
        let request = format!("GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        let response = client.send(request).response();
        assert_eq!(response.status, 200, "{target}");
        client.read_to_end(); // now it is counted
        self.count += 1;
        response.text()
    }

    /// What `?auto` says behind these keys. Totals may not be less than they were.
    fn status(&mut self) -> (u64, String, u64) {
        let text = self.get("/server-status?auto");
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
            line.unwrap_or_else(|| panic!("no {key} in {text}")).to_owned()
        };
        let keys = ["Total Accesses", "Total kBytes", "Total Duration"];
        let totals = keys.map(|key| value(key).parse().unwrap());
        for (index, key) in keys.iter().enumerate() {
            assert!(totals[index] >= self.highest[index], "{key} was {:?}: {text}", self.highest);
        }
        self.highest = totals;
        (totals[0], value("RestartTime"), value("ParentServerMPMGeneration").parse().unwrap())
    }

    /// Waits until every request but the one that asks is counted, and none twice.
    fn assert_exact(&mut self) {
        until("an exact total", 10, || {
            let (total, ..) = self.status();
            assert!(total < self.count, "{total} counted of {}", self.count);
            (total + 1 == self.count).then_some(())
        });
    }
}

fn totals_survive_graceful_restarts(mpm: Mpm) {
    let root = Root::under(mpm, MORE);
    let parent = root.start();
    let mut asked = Asked { root: &root, count: 0, highest: [0; 3] };
    let (_, started, _) = asked.status();
    for generation in 1..=3 {
        asked.get("/a.txt");
        // Its child belongs to the generation before when it ends.
        let mut slow = Client::connect(root.address);
        slow.send("GET /wait?ms=1200 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        blackbox::process::signal(parent, libc::SIGUSR1);
        until("the next generation", 20, || {
            asked.get("/a.txt");
            (asked.status().2 == generation).then_some(())
        });
        assert_eq!(slow.response().status, 200);
        slow.read_to_end();
        asked.count += 1;
        asked.assert_exact();
    }
    assert_eq!(asked.status().1, started, "the server has not started anew");
    // As in httpd, a restart that ends all children ends the scoreboard.
    blackbox::process::signal(parent, libc::SIGHUP);
    asked.highest = [0; 3];
    let before = asked.count;
    until("totals that begin anew", 20, || {
        asked.highest = [0; 3];
        let (total, _, generation) = asked.status();
        (generation == 4 && total < before).then_some(())
    });
}

fn requests_of_a_generation_that_finishes_are_shown(mpm: Mpm) {
    let root = Root::under(mpm, MORE);
    let parent = root.start();
    let mut asked = Asked { root: &root, count: 0, highest: [0; 3] };
    let mut slow = Client::connect(root.address);
    slow.send("GET /wait?ms=4000 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    until("the slow request at work", 5, || {
        asked.get("/server-status?auto").contains("BusyWorkers: 2\n").then_some(())
    });
    blackbox::process::signal(parent, libc::SIGUSR1);
    until("a worker that finishes", 4, || {
        let text = asked.get("/server-status?auto");
        let is_next = text.contains("ParentServerMPMGeneration: 1\n");
        (is_next && text.contains("GracefulWorkers: 1\n")).then_some(())
    });
    assert_eq!(slow.response().status, 200);
    until("its end", 10, || {
        asked.get("/server-status?auto").contains("GracefulWorkers: 0\n").then_some(())
    });
}

/// A whole number behind a name, after `from`.
fn figure(text: &str, from: &str, name: &str) -> u64 {
    let (_, behind) = text.split_once(from).unwrap_or_else(|| panic!("no {from} in {text}"));
    let (_, value) = behind.split_once(&format!("\"{name}\":")).unwrap();
    value.split([',', '}']).next().unwrap().parse().unwrap()
}

fn what_was_never_sent_is_not_counted(mpm: Mpm) {
    const LARGE: u64 = 4 << 30;
    const CLIENTS: u64 = 3;
    for is_logged in [true, false] {
        let site = Site::new(mpm).file("large.bin", "");
        let site = if is_logged { site.access_log("\"%O %U\"") } else { site };
        File::options()
            .write(true)
            .open(site.root().join("large.bin"))
            .and_then(|file| file.set_len(LARGE))
            .unwrap();
        site.root().wait_until_at_rest();
        let server = site.start();
        for _ in 0..CLIENTS {
            let mut client = Client::connect(server.address());
            client.narrow();
            client.send("GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
            client.read_some(1000);
            client.reset_on_drop();
        }
        let of_urls = "\"pattern\":\"/*.bin\"";
        // The two are read one after the other.
        let (text, sent, total) = until("the end of them all", 20, || {
            let text = server.get("/server-status?json").text();
            if !text.contains(of_urls) || figure(&text, of_urls, "requests") < CLIENTS {
                return None;
            }
            let [sent, total] = [of_urls, "\"totals\":"].map(|of| figure(&text, of, "bytes"));
            (total >= sent).then_some((text, sent, total))
        });
        assert!(sent >= CLIENTS * 1000, "{sent}: {text}");
        assert!(total < CLIENTS * (32 << 20), "{total} bytes were never taken: {text}");
        if is_logged {
            let logged = server.log_lines();
            let sizes = logged.iter().filter_map(|line| line.strip_suffix(" /large.bin"));
            let logged: u64 = sizes.map(|size| size.parse::<u64>().unwrap()).sum();
            assert_eq!(sent, logged);
        }
    }
}

each_mpm! {
    what_was_never_sent_is_not_counted,
    totals_survive_graceful_restarts,
    requests_of_a_generation_that_finishes_are_shown,
}
