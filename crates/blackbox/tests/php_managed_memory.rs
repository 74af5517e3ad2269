//! How many processes the server keeps for scripts where nobody says it: as many as memory is
//! enough for, so that the kernel neither kills nor has to look for memory all the time.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;

use blackbox::group::Group;
use blackbox::kept::{php_cgi, processes, start_with};
use blackbox::{Mpm, Server, Site, each_mpm, wait_for};

const MB: u64 = 1 << 20;

/// A request that takes 40 MB for a tenth of a second, and says which process had it.
const LARGE: &str = "<?php $large = str_repeat('x', 40 << 20); usleep(100000); echo getmypid();";

/// A server with scripts in a cgroup of so many megabytes.
fn small(test: &str, mpm: Mpm, limit_mb: u64, lines: &[&str]) -> Option<(Server, Arc<Group>)> {
    let program = php_cgi(test)?;
    let group = Group::make(&format!("{}::{test}", mpm.name()), limit_mb * MB).map(Arc::new)?;
    let site = Site::new(mpm).file("forty.php", LARGE).within(&group);
    let wrapper = format!("FcgidWrapper \"{program} -n\"");
    let lines = [&["FcgidConnectTimeout 60"], lines].concat();
    Some((start_with(site, &wrapper, &lines), group))
}

/// So many clients at once, some requests each: all are answered. Gives the processes that did it.
fn ask_at_once(server: &Server, clients: usize) -> BTreeSet<String> {
    thread::scope(|scope| {
        let ask = || {
            let mut pids = BTreeSet::new();
            for _ in 0..4 {
                let response = server.get("/forty.php");
                assert_eq!(response.status, 200, "{}\n{}", response.text(), server.error_text());
                pids.insert(response.text());
            }
            pids
        };
        let clients: Vec<_> = (0..clients).map(|_| scope.spawn(ask)).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    })
}

fn a_small_cgroup_has_few_processes_and_nobody_is_killed(mpm: Mpm) {
    let Some((server, group)) = small("a_small_cgroup", mpm, 128, &[]) else { return };
    let pids = ask_at_once(&server, 8);
    assert!(pids.len() <= 2, "{pids:?} of 40 MB each in 128 MB");
    assert_eq!(group.kills(), 0, "{}", server.error_text());
    wait_for("the log to say why", 10, || {
        server.error_text().contains("memory suffices for only 1 process")
    });
}

fn where_there_is_memory_there_are_more(mpm: Mpm) {
    let Some((server, group)) = small("where_there_is_memory", mpm, 768, &[]) else { return };
    let pids = ask_at_once(&server, 6);
    assert!(pids.len() >= 4, "{pids:?}: {}", server.error_text());
    assert_eq!(group.kills(), 0, "{}", server.error_text());
}

fn a_number_that_is_given_is_that_number(mpm: Mpm) {
    let lines = ["FcgidMaxProcesses 3"];
    let Some((server, _group)) = small("a_number_that_is_given", mpm, 256, &lines) else { return };
    ask_at_once(&server, 6);
    assert_eq!(processes(&server).len(), 3);
}

each_mpm! {
    a_small_cgroup_has_few_processes_and_nobody_is_killed,
    where_there_is_memory_there_are_more,
    a_number_that_is_given_is_that_number,
}
