//! Listings of folders: what httpd does with them beyond a list of names. Order and names of a
//! list are in `static_files`.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::{self, File};
use std::time::UNIX_EPOCH;

use blackbox::{Mpm, Server, Site, each_mpm};

fn get_with(server: &Server, target: &str, fields: &str) -> blackbox::Response {
    server.exchange(format!("GET {target} HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n"))
}

/// Caches are told, but httpd answers conditions of listings with 200 all the same.
fn trackmodified_dates_a_listing(mpm: Mpm) {
    let lines = ["<Location /l>", "IndexOptions +TrackModified", "</Location>"];
    let site = Site::new(mpm).file("l/a.txt", "x").file("m/a.txt", "x").directives(&lines);
    let folder = site.root().join("l");
    File::open(&folder).unwrap().set_modified(UNIX_EPOCH).unwrap();
    let length = fs::metadata(&folder).unwrap().len();
    let server = site.start();
    let first = server.get("/l/");
    let tag = format!("\"{length:x}-0\"");
    assert_eq!(first.field("ETag"), Some(tag.as_str()));
    assert_eq!(first.field("Last-Modified"), Some("Thu, 01 Jan 1970 00:00:00 GMT"));
    for fields in [format!("If-None-Match: {tag}"), "If-Match: \"other\"".to_owned()] {
        assert_eq!(get_with(&server, "/l/", &fields).status, 200, "{fields}");
    }
    for (tag, status) in [(tag.as_str(), 206), ("\"other\"", 200)] {
        let fields = format!("Range: bytes=0-9\r\nIf-Range: {tag}");
        assert_eq!(get_with(&server, "/l/", &fields).status, status, "{fields}");
    }
    let plain = server.get("/m/");
    assert_eq!((plain.field("Last-Modified"), plain.field("ETag")), (None, None));
}

each_mpm! {
    trackmodified_dates_a_listing,
}
