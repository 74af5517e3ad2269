//! How many CGI scripts run at once: as many as may, others wait for a moment, and who would have
//! to wait for longer is told so at once.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::time::{Duration, Instant};

use blackbox::cgi::{managers, open_folder, site, with_head};
use blackbox::{Client, Mpm, Server, each_mpm, process, wait_for};

/// Others are served at once: this only allows for a loaded machine.
const PROMPT: Duration = Duration::from_secs(4);

/// A site where two scripts may run, and a script that runs until there is a file `go`.
fn start(mpm: Mpm, folder: &Path, lines: &[&str]) -> Server {
    let wait = format!(
        "echo x >> {folder}/begun\nuntil [ -e {folder}/go ]; do sleep 0.05; done\n{}",
        with_head("echo done"),
        folder = folder.display()
    );
    let hello = with_head("echo hello");
    let site = site(mpm, &[("wait", &wait), ("hello", &hello)]);
    site.directive("CGIMaxProcesses 2").directives(lines).start()
}

fn running(server: &Server) -> usize {
    managers(server).into_iter().map(|pid| process::children(pid).len()).sum()
}

fn ask(server: &Server) -> Client {
    let mut client = server.connect();
    client.send("GET /cgi-bin/wait HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    client
}

fn begun(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("begun")).unwrap_or_default().lines().count()
}

fn two_run_two_wait_and_the_others_are_turned_away(mpm: Mpm) {
    let folder = open_folder();
    let server = start(mpm, folder.path(), &[]);
    let mut clients: Vec<Client> = (0..6).map(|_| ask(&server)).collect();
    wait_for("two to be turned away", 5, || {
        clients.iter().filter(|client| client.has_input()).count() >= 2
    });
    assert_eq!(running(&server), 2);
    let asked = Instant::now();
    assert_eq!(server.get("/page.txt").status, 200);
    assert!(asked.elapsed() < PROMPT);
    let (mut answered, mut waiting): (Vec<_>, Vec<_>) =
        clients.drain(..).partition(Client::has_input);
    assert_eq!((answered.len(), waiting.len()), (2, 4));
    for client in &mut answered {
        let response = client.response();
        assert_eq!((response.status, response.field("retry-after")), (503, Some("5")));
    }
    folder.write("go", "");
    for client in &mut waiting {
        assert_eq!(client.response().text(), "done\n");
    }
    assert_eq!(begun(folder.path()), 4);
    assert!(server.error_text().contains("CGIMaxProcesses"), "{}", server.error_text());
    assert_eq!(server.get("/cgi-bin/hello").text(), "hello\n");
}

fn nobody_waits_for_long(mpm: Mpm) {
    let folder = open_folder();
    let server = start(mpm, folder.path(), &[]);
    let mut running: Vec<Client> = (0..2).map(|_| ask(&server)).collect();
    wait_for("both scripts to run", 10, || begun(folder.path()) == 2);
    let mut late = ask(&server);
    let response = late.response();
    assert_eq!((response.status, begun(folder.path())), (503, 2));
    folder.write("go", "");
    for client in &mut running {
        assert_eq!(client.response().text(), "done\n");
    }
}

fn who_has_left_is_not_waited_for(mpm: Mpm) {
    let folder = open_folder();
    let server = start(mpm, folder.path(), &[]);
    let mut running: Vec<Client> = (0..2).map(|_| ask(&server)).collect();
    wait_for("both scripts to run", 10, || begun(folder.path()) == 2);
    let left: Vec<Client> = (0..2).map(|_| ask(&server)).collect();
    // They wait as soon as a third one is turned away.
    wait_for("the queue to be full", 4, || ask(&server).try_response(false).is_ok());
    left.iter().for_each(Client::reset_on_drop);
    drop(left);
    folder.write("go", "");
    for client in &mut running {
        assert_eq!(client.response().text(), "done\n");
    }
    assert_eq!(server.get("/cgi-bin/hello").text(), "hello\n");
    assert_eq!(begun(folder.path()), 2);
}

fn a_flood_of_scripts_leaves_slots_to_others(mpm: Mpm) {
    let folder = open_folder();
    let lines = ["ThreadsPerChild 8", "MaxRequestWorkers 8", "StartServers 1"];
    let server = start(mpm, folder.path(), &lines);
    let _clients: Vec<Client> = (0..100).map(|_| ask(&server)).collect();
    for _ in 0..3 {
        let asked = Instant::now();
        assert_eq!(server.get("/page.txt").status, 200);
        assert!(asked.elapsed() < PROMPT, "{:?}", asked.elapsed());
    }
    folder.write("go", "");
}

each_mpm! {
    two_run_two_wait_and_the_others_are_turned_away,
    nobody_waits_for_long,
    who_has_left_is_not_waited_for;
    event:
    a_flood_of_scripts_leaves_slots_to_others,
}
