//! What a process needs for a moment goes back to the system when it is at rest again.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use blackbox::{Mpm, Server, Site, each_mpm, process, wait_for};

/// As many as a listing shows.
const NAMES: usize = 50_000;

/// What one process may keep: less is used again by the next request.
const KEPT_BYTES: u64 = 6 << 20;

fn largest_child(server: &Server) -> u64 {
    server.children().into_iter().filter_map(process::anonymous_bytes).max().unwrap_or(0)
}

fn the_memory_of_large_listings_goes_back(mpm: Mpm) {
    let site = Site::new(mpm).steady();
    let folder = site.root().join("many");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    for number in 0..NAMES {
        fs::write(folder.join(format!("a-file-with-a-name-{number:06}")), "").unwrap();
    }
    let server = site.start();
    assert_eq!(server.get("/").status, 200);
    let before = largest_child(&server);
    for _ in 0..2 {
        let page = server.get("/many/");
        assert!(page.status == 200 && page.body.len() > 1 << 20, "{}", page.body.len());
    }
    wait_for("the memory to go back", 60, || largest_child(&server) < before + KEPT_BYTES);
}

each_mpm! {
    the_memory_of_large_listings_goes_back,
}
