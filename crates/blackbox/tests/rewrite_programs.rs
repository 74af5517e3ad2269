//! Programs of maps (`RewriteMap name prg:`): that each answer belongs to its question whatever the
//! program, a child or a restart does, and that nobody waits for longer than the bound.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use blackbox::scratch::Scratch;
use blackbox::{Client, Mpm, Server, Site, each_mpm, process, until, wait_for};

/// How long a question may wait, and how much more a test allows.
const PATIENCE: Duration = Duration::from_secs(10);
const SLACK: Duration = Duration::from_secs(4);

/// Does what its key says. `slow` and `stuck` tell that they were asked, and wait for a file.
const PROGRAM: &str = r#"
while read -r key; do
    case $key in
    NULL) echo nuLL ;;
    nothing) echo ;;
    pid) echo $$ ;;
    who) id -un ;;
    environment) tr '\0' ' ' </proc/$$/environ | wc -c ;;
    says) echo "the map says so" >&2; echo said ;;
    dies) exit 3 ;;
    last) printf 'last'; exit 0 ;;
    answers-and-dies*) echo "<$key>"; exit 0 ;;
    two) printf 'one\ntwo\n' ;;
    endless) exec cat /dev/zero ;;
    hangs) exec sleep 1000 ;;
    slow | stuck)
        echo $$ >asked
        until [ -e go ]; do sleep 0.02; done
        echo "$key $$" ;;
    *) echo "<$key>" ;;
    esac
done
"#;

/// Two maps with programs of their own; `/m/KEY` asks the first, `/other/KEY` the second.
fn site(mpm: Mpm) -> Site {
    let site = Site::new(mpm).steady().file("map/program", PROGRAM);
    let program = site.root().join("map/program").display().to_string();
    let folder = site.root().join("map").display().to_string();
    site.directives(&[
        "RewriteEngine On",
        &format!("RewriteMap m \"prg:/bin/sh -c 'cd {folder} && . {program}'\""),
        &format!("RewriteMap other \"prg:/bin/sh {program}\""),
        "RewriteRule ^/m/(.*)$ http://x.test/${m:$1|default} [R,NE]",
        "RewriteRule ^/other/(.*)$ http://x.test/${other:$1|default} [R,NE]",
        "RewriteRule ^/twice/(.*)$ http://x.test/${m:$1|default}${m:$1|default} [R,NE]",
    ])
}

fn answer(response: &blackbox::Response) -> String {
    let location = response.field("Location").unwrap_or("none at all");
    location.strip_prefix("http://x.test/").unwrap_or(location).to_owned()
}

fn ask(server: &Server, map: &str, key: &str) -> String {
    answer(&server.get(&format!("/{map}/{key}")))
}

/// Sends a question, and waits until the program is at it.
fn begin(server: &Server, key: &str) -> (Client, i32) {
    let asked = server.root().join("map/asked");
    let _ = fs::remove_file(&asked);
    let mut client = server.connect();
    client.send(format!("GET /m/{key} HTTP/1.1\r\nHost: x.test\r\n\r\n"));
    let pid = until("the program to be asked", 10, || {
        fs::read_to_string(&asked).ok()?.trim().parse().ok()
    });
    (client, pid)
}

fn go_on(server: &Server) {
    fs::write(server.root().join("map/go"), "").unwrap();
}

fn each_answer_belongs_to_its_question(mpm: Mpm) {
    let server = site(mpm).start();
    for (key, expected) in [
        ("key", "<key>"),
        ("", "<>"),
        ("a%20b", "<a b>"),
        ("NULL", "default"),
        ("nothing", ""),
        ("a%0ab", "default"),
        ("key", "<key>"),
        ("environment", "0"),
        ("says", "said"),
        ("two", "one"),
        ("after-two", "<after-two>"),
        ("last", "last"),
        ("after-last", "<after-last>"),
        ("dies", "default"),
        ("after-dies", "<after-dies>"),
        ("endless", "default"),
        ("after-endless", "<after-endless>"),
    ] {
        assert_eq!(ask(&server, "m", key), expected, "{key}: {}", server.error_text());
    }
    let (one, other) = (ask(&server, "m", "pid"), ask(&server, "other", "pid"));
    assert_ne!(one, other);
    assert_eq!(ask(&server, "other", "pid"), other);
    for text in [
        "the map says so",
        "has said something without being asked",
        "has ended, and is started again",
        "has an answer of more than 65536 bytes",
    ] {
        wait_for(text, 5, || server.error_text().contains(text));
    }
}

fn a_program_that_ends_after_each_answer_is_there_for_the_next(mpm: Mpm) {
    let server = site(mpm).start();
    for number in 0..40 {
        let key = format!("answers-and-dies-{number}");
        assert_eq!(ask(&server, "m", &key), format!("<{key}>"), "{}", server.error_text());
    }
}

fn many_ask_at_once_and_each_gets_his_answer(mpm: Mpm) {
    let server = site(mpm).start();
    thread::scope(|scope| {
        for client in 0..8 {
            let server = &server;
            scope.spawn(move || {
                for number in 0..50 {
                    let key = format!("{client}-{number}");
                    assert_eq!(ask(server, "m", &key), format!("<{key}>"));
                }
            });
        }
    });
}

fn a_program_that_hangs_costs_who_asks_it_a_bounded_time_and_nobody_else(mpm: Mpm) {
    let server = site(mpm).start();
    let before = ask(&server, "m", "pid");
    let begun = Instant::now();
    // A request asks twice, and waits once; what waits for its turn meanwhile is answered then.
    let mut hanging = server.connect();
    hanging.send("GET /twice/hangs HTTP/1.1\r\nHost: x.test\r\n\r\n");
    assert_eq!(ask(&server, "other", "key"), "<key>");
    assert!(begun.elapsed() < SLACK, "another map waits: {:?}", begun.elapsed());
    assert_eq!(answer(&hanging.response()), "defaultdefault");
    assert!(begun.elapsed() < PATIENCE + SLACK, "{:?}", begun.elapsed());
    assert_eq!(ask(&server, "m", "key"), "<key>");
    assert_ne!(ask(&server, "m", "pid"), before);
    let text = "has not answered for 10 s: it is ended and started again";
    assert!(server.error_text().contains(text), "{}", server.error_text());
    let before: i32 = before.parse().unwrap();
    wait_for("the end of the program that hangs", 10, || !process::alive(before));
}

fn an_answer_that_comes_too_late_is_not_the_next_ones(mpm: Mpm) {
    let server = site(mpm).start();
    let (mut late, _) = begin(&server, "stuck");
    // This one waits behind it.
    let mut next = server.connect();
    next.send("GET /m/next HTTP/1.1\r\nHost: x.test\r\n\r\n");
    assert_eq!(answer(&late.response()), "default");
    go_on(&server);
    let next = answer(&next.response());
    assert!(["<next>", "default"].contains(&&*next), "{next}");
    for key in ["one", "two-more", "three"] {
        assert_eq!(ask(&server, "m", key), format!("<{key}>"), "{}", server.error_text());
    }
}

fn a_client_that_leaves_takes_no_answer_with_it(mpm: Mpm) {
    let server = site(mpm).start();
    let (client, _) = begin(&server, "slow");
    drop(client);
    let mut next = server.connect();
    next.send("GET /m/next HTTP/1.1\r\nHost: x.test\r\n\r\n");
    go_on(&server);
    assert_eq!(answer(&next.response()), "<next>");
}

/// The processes that serve, of all that the parent has.
fn serving(server: &Server) -> Vec<i32> {
    let comm = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let mut all = server.children();
    all.retain(|pid| !comm(pid).starts_with("trivet: "));
    all
}

fn a_child_that_is_killed_in_the_middle_of_a_question_disturbs_nobody(mpm: Mpm) {
    let server = site(mpm).start();
    let (_client, pid) = begin(&server, "slow");
    for child in serving(&server) {
        process::signal(child, libc::SIGKILL);
    }
    go_on(&server);
    let answered = |key: &str| {
        let mut client = Client::try_connect(server.address()).ok()?;
        client.send(format!("GET /m/{key} HTTP/1.1\r\nHost: x.test\r\n\r\n"));
        client.try_response(false).ok().map(|response| answer(&response))
    };
    // The new children may not be there yet.
    assert_eq!(until("a new child", 10, || answered("first")), "<first>");
    for key in ["one", "other", "third"] {
        assert_eq!(ask(&server, "m", key), format!("<{key}>"));
    }
    assert_eq!(ask(&server, "m", "pid"), pid.to_string(), "{}", server.error_text());
}

fn a_program_or_its_manager_that_is_killed_is_replaced(mpm: Mpm) {
    let server = site(mpm).start();
    let before: i32 = ask(&server, "m", "pid").parse().unwrap();
    process::signal(before, libc::SIGKILL);
    wait_for("its end", 10, || !process::alive(before));
    let after: i32 = ask(&server, "m", "pid").parse().unwrap();
    assert_ne!(after, before);
    let manager = process::stat(after).unwrap().parent;
    process::signal(manager, libc::SIGKILL);
    wait_for("the end of its program", 10, || !process::alive(after));
    assert_eq!(ask(&server, "m", "key"), "<key>", "{}", server.error_text());
    let text = "the process that keeps the RewriteMap program /bin/sh has died";
    assert!(server.error_text().contains(text), "{}", server.error_text());
}

fn old_children_ask_the_old_program_until_they_have_ended(mpm: Mpm) {
    let server = site(mpm).start();
    let other: i32 = ask(&server, "other", "pid").parse().unwrap();
    let (mut client, pid) = begin(&server, "slow");
    server.signal(libc::SIGUSR1);
    let manager_of = |pid: i32| process::stat(pid).map(|stat| stat.parent);
    let new = until("the new program", 15, || {
        let new: i32 = ask(&server, "other", "pid").parse().ok()?;
        (manager_of(new) != manager_of(other)).then_some(new)
    });
    assert!(process::alive(pid));
    go_on(&server);
    assert_eq!(answer(&client.response()), format!("slow {pid}"), "{}", server.error_text());
    drop(client);
    wait_for("the end of the old program", 10, || !process::alive(pid));
    assert_eq!(ask(&server, "m", "key"), "<key>");
    assert!(process::alive(new) && !process::alive(other));
}

fn what_a_program_says_goes_to_the_log_that_was_opened_again(mpm: Mpm) {
    let logs = Scratch::new();
    let log = |name: &str| fs::read_to_string(logs.join(name)).unwrap_or_default();
    let path = logs.join("errors");
    let site = site(mpm).directive(format!("ErrorLog {}", path.display()));
    let server = site.start();
    assert_eq!(ask(&server, "m", "says"), "said");
    wait_for("its words", 5, || log("errors").contains("the map says so"));
    let pid = ask(&server, "m", "pid");
    fs::rename(&path, logs.join("errors.1")).unwrap();
    server.signal(libc::SIGUSR2);
    wait_for("a new log", 10, || path.exists());
    // The manager hears of it by a signal of its own.
    wait_for("its words in the new log", 10, || {
        assert_eq!(ask(&server, "m", "says"), "said");
        log("errors").contains("the map says so")
    });
    assert_eq!(ask(&server, "m", "pid"), pid);
}

fn nothing_is_left_when_the_server_stops(mpm: Mpm) {
    let mut server = site(mpm).start();
    let pids = [ask(&server, "m", "pid"), ask(&server, "other", "pid")];
    let (client, _) = begin(&server, "slow");
    server.stop(libc::SIGTERM);
    drop(client);
    for pid in pids {
        let pid = pid.parse().unwrap();
        wait_for("the end of the programs", 10, || !process::alive(pid));
    }
}

fn a_program_that_cannot_be_started_is_no_server(mpm: Mpm) {
    let (site, logs) = (Site::new(mpm).file("program", "not to be run"), Scratch::new());
    let path = site.root().join("program").display().to_string();
    let log = logs.join("error_log");
    let lines = [
        "RewriteEngine On".to_owned(),
        format!("RewriteMap m prg:{path}"),
        format!("ErrorLog {}", log.display()),
    ];
    let (code, said) = site.directives(&lines.each_ref().map(String::as_str)).start_fails();
    let text = format!("mod_rewrite: could not start RewriteMap program {path}");
    assert!(code != 0 && said.contains(&text), "{code} {said}");
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains(&format!("(13)Permission denied: AH00654: {text}")), "{log}");
    assert_eq!(log.lines().count(), 1, "{log}");
}

fn nobody_starts_a_program_that_no_engine_needs(mpm: Mpm) {
    let site = Site::new(mpm).file("program", "not to be run");
    let path = site.root().join("program").display().to_string();
    let server = site.directives(&[&format!("RewriteMap m prg:{path}")]).start();
    assert_eq!(server.children().len(), serving(&server).len());
}

fn a_program_runs_as_its_user(mpm: Mpm) {
    if !process::am_root() {
        return blackbox::outside::not_run(
            "rewrite_programs: users",
            "the tests do not run as root",
        );
    }
    let site = Site::new(mpm).file("program", PROGRAM);
    let program = site.root().join("program").display().to_string();
    let server = site
        .directives(&[
            "RewriteEngine On",
            &format!("RewriteMap m \"prg:/bin/sh -c '. {program}'\" nobody:daemon"),
            &format!("RewriteMap root \"prg:/bin/sh {program}\""),
            "RewriteRule ^/m/(.*)$ http://x.test/${m:$1|default} [R,NE]",
            "RewriteRule ^/root/(.*)$ http://x.test/${root:$1|default} [R,NE]",
        ])
        .start();
    assert_eq!(ask(&server, "m", "who"), "nobody", "{}", server.error_text());
    assert_eq!(ask(&server, "root", "who"), "root");
}

each_mpm! {
    each_answer_belongs_to_its_question,
    a_program_that_ends_after_each_answer_is_there_for_the_next,
    many_ask_at_once_and_each_gets_his_answer,
    a_program_that_hangs_costs_who_asks_it_a_bounded_time_and_nobody_else,
    an_answer_that_comes_too_late_is_not_the_next_ones,
    a_client_that_leaves_takes_no_answer_with_it,
    a_child_that_is_killed_in_the_middle_of_a_question_disturbs_nobody,
    a_program_or_its_manager_that_is_killed_is_replaced,
    old_children_ask_the_old_program_until_they_have_ended,
    what_a_program_says_goes_to_the_log_that_was_opened_again,
    nothing_is_left_when_the_server_stops,
    a_program_that_cannot_be_started_is_no_server,
    nobody_starts_a_program_that_no_engine_needs,
    a_program_runs_as_its_user,
}
