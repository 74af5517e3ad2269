//! Groups of FastCGI applications: who of them is asked, and what becomes of a request whose first
//! one is away. Beside Apache with the same groups: scripts see the same variables.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::HashMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use blackbox::differential::{FRAMING, Set, compare_with};
use blackbox::fpm::Fpm;
use blackbox::{Mpm, Server, Site, each_mpm, wait_for};

/// What a script is told, but for what tells the servers and the connections apart.
const ENVIRONMENT: &str = "<?php
header('Content-Type: text/plain');
foreach (['REMOTE_PORT', 'REQUEST_TIME', 'REQUEST_TIME_FLOAT', 'SERVER_SOFTWARE', 'PATH',
          'SERVER_SIGNATURE', 'SERVER_PORT', 'proxy-nokeepalive'] as $name) {
    unset($_SERVER[$name]);
}
ksort($_SERVER);
foreach ($_SERVER as $name => $value) if (is_string($value)) echo \"$name=$value\\n\";
";

const DIFFERENTIAL: Set = Set {
    config: "proxy_balancer",
    files: &[
        ("env.php", ENVIRONMENT),
        ("a b.php", ENVIRONMENT),
        ("handled/env.php", ENVIRONMENT),
        (
            "post.php",
            "<?php header('Content-Type: text/plain'); \
      $body = file_get_contents('php://input'); echo strlen($body), ' ', md5($body), \"\\n\";",
        ),
    ],
    ignored: FRAMING,
    requests: &[
        "GET /one/env.php HTTP/1.1",
        "GET /one/env.php/info?q HTTP/1.1",
        "GET /one/a%20b.php HTTP/1.1",
        "GET /by/env.php HTTP/1.1",
        "GET /based/env.php HTTP/1.1",
        "GET /handled/env.php HTTP/1.1",
        "GET /handled/env.php/info HTTP/1.1",
        "GET /sticky/env.php?sid=1.b HTTP/1.1",
        "GET /sticky/env.php HTTP/1.1\nCookie: SID=1.a",
        "GET /sticky/env.php HTTP/1.1\nCookie: x=1; SID=1.b; y=2",
        "GET /sticky/env.php HTTP/1.1\nCookie: SID=1.c",
        "GET /half/env.php HTTP/1.1",
        "GET /half/env.php HTTP/1.1",
        "POST /half/post.php HTTP/1.1\nContent-Length: 5\n\nhello",
        "GET /dead/env.php HTTP/1.1",
        "GET /dead/env.php HTTP/1.1",
        "GET /strict/env.php HTTP/1.1\nCookie: SID=1.a",
        "GET /strict/env.php HTTP/1.1\nCookie: SID=1.b",
        "GET /off/env.php HTTP/1.1",
        "GET /empty/env.php HTTP/1.1",
    ],
    different: &[("GET /handled/missing.php HTTP/1.1", "no handler runs what is not there")],
};

fn scripts_and_clients_see_what_they_see_with_apache(mpm: Mpm) {
    let test = "proxy_balancer: beside apache2";
    compare_with(test, mpm, &DIFFERENTIAL, |pair| Fpm::start(test, &pair.site.join("fpm.sock"), 4));
}

/// A script that says which of the groups' members it is run by.
const WHO: &str = "<?php usleep((int) ($_GET['ms'] ?? 0) * 1000);
if (isset($_GET['die'])) { posix_kill(getmypid(), 9); sleep(5); }
if (isset($_GET['s'])) http_response_code((int) $_GET['s']);
echo posix_getppid(), ' ', strlen(file_get_contents('php://input'));";

/// A group of applications that are there, and a site for it.
struct Group {
    server: Server,
    members: Vec<Option<Fpm>>,
}

/// As many members as there are parameters for; `group` is said about all of them. The state of
/// a group is that of a process: there is one.
fn start(test: &str, mpm: Mpm, members: &[&str], group: &str) -> Option<Group> {
    let site = Site::new(mpm).file("who.php", WHO);
    let mut lines = one_process(mpm);
    lines.push("<Proxy \"balancer://group\">".into());
    let mut fpms = Vec::new();
    for (nth, parameters) in members.iter().enumerate() {
        let socket = site.root().join(format!("fpm{nth}.sock"));
        fpms.push(Some(Fpm::start(test, &socket, 4)?));
        let socket = socket.display();
        lines.push(format!("BalancerMember unix:{socket}|fcgi://member{nth} {parameters}"));
    }
    if !group.is_empty() {
        lines.push(format!("ProxySet {group}"));
    }
    let folder = site.root().path().display().to_string();
    lines.extend(["</Proxy>".into(), format!("ProxyPass /app balancer://group{folder}")]);
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    Some(Group { server: site.directives(&lines).start(), members: fpms })
}

fn one_process(mpm: Mpm) -> Vec<String> {
    let lines: &[&str] = match mpm {
        Mpm::Prefork => &["StartServers 1", "MaxRequestWorkers 1", "MinSpareServers 1"],
        _ => &["ServerLimit 1", "StartServers 1", "ThreadsPerChild 8", "MaxRequestWorkers 8"],
    };
    lines.iter().map(ToString::to_string).collect()
}

impl Group {
    /// Who answers.
    fn who(&self, query: &str) -> usize {
        let response = self.server.get(&format!("/app/who.php{query}"));
        assert_eq!(response.status, 200, "{}", response.text());
        self.nth(&response.text())
    }

    fn nth(&self, text: &str) -> usize {
        let pid: i32 = text.split(' ').next().unwrap().parse().unwrap();
        let is_it = |fpm: &Option<Fpm>| fpm.as_ref().is_some_and(|fpm| fpm.pid() == pid);
        self.members.iter().position(is_it).expect("a member answers")
    }

    /// How many of so many requests each has answered.
    fn counts(&self, requests: usize) -> HashMap<usize, usize> {
        let mut counts = HashMap::new();
        for _ in 0..requests {
            *counts.entry(self.who("")).or_insert(0) += 1;
        }
        counts
    }
}

fn requests_are_shared_out_by_load_factor(mpm: Mpm) {
    let test = "requests_are_shared_out_by_load_factor";
    let Some(group) = start(test, mpm, &["", "loadfactor=2"], "") else { return };
    assert_eq!(group.counts(30), HashMap::from([(0, 10), (1, 20)]));
}

fn a_member_that_is_away_costs_nobody_anything(mpm: Mpm) {
    let test = "a_member_that_is_away_costs_nobody";
    let Some(mut group) = start(test, mpm, &["retry=1", "retry=1"], "") else { return };
    assert_eq!(group.counts(10), HashMap::from([(0, 5), (1, 5)]));
    group.members[0] = None;
    let begun = Instant::now();
    assert_eq!(group.counts(10), HashMap::from([(1, 10)]));
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    let log = group.server.error_text();
    let why = log.find("AH02454").filter(|at| log[*at..].contains("/fpm0.sock"));
    assert!(why.is_some() && why < log.find("AH00959"), "{log}");
    for length in [3, 200_000] {
        let body = "x".repeat(length);
        for framing in [
            format!("Content-Length: {length}\r\n\r\n{body}"),
            format!("Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n"),
        ] {
            let head = "POST /app/who.php HTTP/1.1\r\nHost: a\r\nConnection: close\r\n";
            let response = group.server.exchange(format!("{head}{framing}"));
            assert!(response.text().ends_with(&format!(" {length}")), "{}", response.text());
        }
    }
    // It is asked again when it is back.
    let socket = group.server.root().join("fpm0.sock");
    let _ = fs::remove_file(&socket);
    group.members[0] = Fpm::start(test, &socket, 4);
    wait_for("the member to be asked again", 10, || group.who("") == 0);
}

fn a_group_without_anybody_is_503_and_comes_back(mpm: Mpm) {
    let test = "a_group_without_anybody";
    let Some(mut group) = start(test, mpm, &["retry=60"], "") else { return };
    assert_eq!(group.who(""), 0);
    group.members[0] = None;
    for _ in 0..2 {
        assert_eq!(group.server.get("/app/who.php").status, 503);
    }
    assert!(group.server.error_text().contains("AH02454"), "{}", group.server.error_text());
    let socket = group.server.root().join("fpm0.sock");
    let _ = fs::remove_file(&socket);
    group.members[0] = Fpm::start(test, &socket, 4);
    // Where all have failed all are tried, whatever `retry` says.
    assert_eq!(group.who(""), 0);
}

fn sessions_stay_where_they_are(mpm: Mpm) {
    let members = ["route=a", "route=b"];
    let test = "sessions_stay_where_they_are";
    let Some(mut group) = start(test, mpm, &members, "stickysession=SID|sid") else { return };
    for _ in 0..3 {
        assert_eq!(group.who("?sid=x.b"), 1);
        assert_eq!(group.who("?sid=x.a"), 0);
    }
    group.members[1] = None;
    assert_eq!(group.who("?sid=x.b"), 0);
}

fn a_standby_and_a_higher_set_wait_until_they_are_needed(mpm: Mpm) {
    let members = ["status=+H", "lbset=1", ""];
    let test = "a_standby_and_a_higher_set";
    let Some(mut group) = start(test, mpm, &members, "") else { return };
    assert_eq!(group.counts(4), HashMap::from([(2, 4)]));
    group.members[2] = None;
    assert_eq!(group.counts(4), HashMap::from([(0, 4)]));
    group.members[0] = None;
    assert_eq!(group.counts(4), HashMap::from([(1, 4)]));
}

fn the_least_busy_is_next(mpm: Mpm) {
    if mpm == Mpm::Prefork {
        return; // a process has one request at a time
    }
    let test = "the_least_busy_is_next";
    let Some(group) = start(test, mpm, &["", ""], "lbmethod=bybusyness") else { return };
    let slow = {
        let mut client = group.server.connect();
        client.send("GET /app/who.php?ms=1500 HTTP/1.1\r\nHost: a\r\n\r\n");
        client
    };
    // Who has it is not known before it answers: the others are told by not being it.
    wait_for("the slow request to be in work", 10, || {
        let counts = group.counts(4);
        counts.len() == 1
    });
    let others = group.counts(4);
    let mut slow = slow;
    let busy = group.nth(&slow.response().text());
    assert!(!others.contains_key(&busy), "{others:?} beside {busy}");
}

fn statuses_and_timeouts_take_a_member_out_where_it_is_said(mpm: Mpm) {
    let test = "statuses_and_timeouts_take_a_member_out";
    let said = "failonstatus=500 failontimeout=On";
    let members = ["retry=60 timeout=1", "retry=60 timeout=1", "retry=60 timeout=1"];
    let Some(group) = start(test, mpm, &members, said) else { return };
    assert_eq!(group.server.get("/app/who.php?s=500").status, 500);
    assert_eq!(group.counts(8).len(), 2);
    assert_eq!(group.server.get("/app/who.php?ms=3000").status, 504);
    assert_eq!(group.counts(8).len(), 1);
    let log = group.server.error_text();
    assert!(log.contains("AH01174") && log.contains("AH02460"), "{log}");
}

fn what_may_have_had_an_effect_is_not_done_twice(mpm: Mpm) {
    let test = "what_may_have_had_an_effect";
    let Some(group) = start(test, mpm, &["", ""], "") else { return };
    let request = "POST /app/who.php?die HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
                   Content-Length: 1\r\n\r\nx";
    assert_eq!(group.server.exchange(request).status, 503);
    // A child that died says nothing about the others of the member.
    wait_for("both to answer", 10, || group.counts(4).len() == 2);
    assert_eq!(group.server.error_text().matches("AH01067").count(), 1);
}

fn a_member_is_waited_for_as_long_as_it_is_said(mpm: Mpm) {
    let test = "a_member_is_waited_for";
    let said = "timeout=5 forcerecovery=Off";
    let Some(mut group) = start(test, mpm, &["retry=1"], said) else { return };
    group.members[0] = None;
    assert_eq!(group.server.get("/app/who.php").status, 503);
    let socket = group.server.root().join("fpm0.sock");
    let _ = fs::remove_file(&socket);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| group.server.get("/app/who.php"));
        let fpm = Fpm::start(test, &socket, 4);
        assert_eq!(waiting.join().unwrap().status, 200);
        drop(fpm);
    });
}

each_mpm! {
    scripts_and_clients_see_what_they_see_with_apache,
    requests_are_shared_out_by_load_factor,
    a_member_that_is_away_costs_nobody_anything,
    a_group_without_anybody_is_503_and_comes_back,
    sessions_stay_where_they_are,
    a_standby_and_a_higher_set_wait_until_they_are_needed,
    the_least_busy_is_next,
    statuses_and_timeouts_take_a_member_out_where_it_is_said,
    what_may_have_had_an_effect_is_not_done_twice,
    a_member_is_waited_for_as_long_as_it_is_said,
}
