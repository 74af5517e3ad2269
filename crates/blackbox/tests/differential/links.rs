//! Links under each of the policies of `Options`, and in listings.

use std::os::unix::fs::{lchown, symlink};

use blackbox::differential::{Set, compare_with};
use blackbox::scratch::Scratch;
use blackbox::{Mpm, each_mpm, process};

const LINKS: Set = Set {
    config: "links",
    files: &[
        ("own/open.txt", "own\n"),
        ("both/open.txt", "both\n"),
        ("added/open.txt", "added\n"),
        ("none/open.txt", "none\n"),
        ("closed/open.txt", "closed\n"),
        ("all/open.txt", "all\n"),
        ("folder/open.txt", "in a folder\n"),
    ],
    ignored: &[],
    requests: &[
        "GET /own/ HTTP/1.1",
        "GET /own/mine HTTP/1.1",
        "GET /own/other HTTP/1.1",
        "GET /own/other/ HTTP/1.1",
        "GET /own/other/more HTTP/1.1",
        "GET /own/mine/more HTTP/1.1",
        "GET /own/otherdir/open.txt HTTP/1.1",
        "GET /own/otherdir/none HTTP/1.1",
        "GET /own/nowhere HTTP/1.1",
        "GET /both/ HTTP/1.1",
        "GET /both/mine HTTP/1.1",
        "GET /both/other HTTP/1.1",
        "GET /both/other/more HTTP/1.1",
        "GET /both/otherdir/open.txt HTTP/1.1",
        "GET /added/ HTTP/1.1",
        "GET /added/other HTTP/1.1",
        "GET /added/other/more HTTP/1.1",
        "GET /added/mydir/open.txt HTTP/1.1",
        "GET /none/ HTTP/1.1",
        "GET /none/mine HTTP/1.1",
        "GET /none/mine/more HTTP/1.1",
        "GET /closed/ HTTP/1.1",
        "GET /closed/other HTTP/1.1",
        "GET /all/ HTTP/1.1",
        "GET /all/other HTTP/1.1",
        "GET /all/other/more HTTP/1.1",
        "GET /all/nowhere HTTP/1.1",
    ],
    different: &[],
};

/// In each folder: links of the server's user and of somebody else.
fn link(site: &Scratch) {
    const NOBODY: u32 = 65534;
    for folder in ["own", "both", "added", "none", "closed", "all"] {
        let links = [
            ("mine", "open.txt"),
            ("other", "open.txt"),
            ("mydir", "../folder"),
            ("otherdir", "../folder"),
            ("nowhere", "nothing"),
        ];
        for (name, target) in links {
            let path = site.join(folder).join(name);
            symlink(target, &path).expect("a link can be made");
            if name.starts_with("other") && process::am_root() {
                lchown(path, Some(NOBODY), Some(NOBODY)).expect("root may give files away");
            }
        }
    }
}

fn links_are_followed_and_listed_as_apache_does(mpm: Mpm) {
    let test = "links_are_followed_and_listed_as_apache_does";
    compare_with(test, mpm, &LINKS, |pair| {
        link(&pair.site);
        Some(())
    });
}

each_mpm! { links_are_followed_and_listed_as_apache_does }
