//! `.htaccess` files that are no plain files, that may not be read, that are very long, or that are
//! replaced while requests run: the folder is shut or served as with apache2, nobody waits, and the
//! next request is unharmed.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use blackbox::apache::Pair;
use blackbox::scratch::{Scratch, set_mode};
use blackbox::secret::{OPEN, SecretSite};
use blackbox::{Client, Mpm, SetAtEnd, each_mpm, outside, process, until};

/// Folders with a file of some kind, and the status of what lies in them.
const KINDS: &[(&str, u16)] = &[
    ("plain", 410),
    ("none", 200),
    ("unreadable", 403),
    ("folder", 403),
    ("link", 410),
    ("link-to-unreadable", 403),
    ("link-to-folder", 403),
    ("link-to-nothing", 200),
    ("link-to-itself", 403),
    ("link-to-device", 403),
    ("link-below-a-file", 200),
    ("shut", 403),
];

const RULES: &str = "RewriteEngine On\nRewriteRule ^a\\.txt$ - [G]\n";

fn make_kinds(site: &Scratch) {
    for (name, _) in KINDS {
        site.write(format!("{name}/a.txt"), "a");
        let file = site.join(name).join(".htaccess");
        let link = |target: &str| symlink(target, &file).unwrap();
        match *name {
            "plain" | "unreadable" => drop(site.write(&file, RULES)),
            "folder" => fs::create_dir(&file).unwrap(),
            "link" => link("../plain/.htaccess"),
            "link-to-unreadable" => link("../unreadable/.htaccess"),
            "link-to-folder" => link("../plain"),
            "link-to-nothing" => link("nothing"),
            "link-to-itself" => link(".htaccess"),
            "link-to-device" => link("/dev/zero"),
            "link-below-a-file" => link("a.txt/more"),
            _ => {}
        }
    }
    set_mode(&site.join("unreadable/.htaccess"), 0o600);
    set_mode(&site.join("shut"), 0o700);
}

fn a_file_of_any_kind_counts_as_with_apache(mpm: Mpm) {
    let test = "a_file_of_any_kind_counts_as_with_apache";
    if !process::am_root() {
        return outside::not_run(test, "the tests do not run as root");
    }
    let site = Scratch::new();
    make_kinds(&site);
    let lines = "LoadModule rewrite_module /usr/lib/apache2/modules/mod_rewrite.so\n";
    let Some(pair) = Pair::start_over([Mpm::Event, mpm], test, "htaccess", site, lines) else {
        return;
    };
    for (name, status) in KINDS {
        let target = format!("/{name}/a.txt");
        let ours = [(); 3].map(|()| pair.trivet.get(&target));
        let theirs = Client::connect(pair.apache.address()).get(&target);
        assert_eq!(theirs.status, *status, "apache2, {name}: {}", pair.apache.errors());
        for ours in ours {
            assert_eq!(ours.status, *status, "{name}: {}", pair.trivet.error_text());
            assert_eq!(ours.field("Content-Type"), theirs.field("Content-Type"), "{name}");
            let told = |text: String| text.lines().take(9).collect::<Vec<_>>().join("\n");
            assert_eq!(told(ours.text()), told(theirs.text()), "{name}");
        }
        // What they say of it, up to the reason, begins alike.
        let said = format!("{}/.htaccess pcfg_openfile: unable", pair.site.join(name).display());
        let errors = [pair.apache.errors(), pair.trivet.error_text()];
        let [theirs, ours] = errors.map(|text| text.contains(&format!("AH00529: {said}")));
        assert_eq!(ours, theirs, "{name}: {}", pair.trivet.error_text());
    }
}

/// apache2 waits until somebody writes to it.
fn nobody_waits_for_a_pipe(mpm: Mpm) {
    let ground = SecretSite::start(mpm, &[OPEN, ("in/a.txt", "a")], "");
    let pipe = ground.site.join("in/pipe");
    outside::succeed("mkfifo", &[pipe.to_str().unwrap()], 10);
    set_mode(&pipe, 0o644);
    let file = ground.site.write("in/other", RULES);
    fs::rename(&pipe, ground.site.join("in/.htaccess")).unwrap();
    let begun = Instant::now();
    ground.refuses(&["/in/a.txt", "/in/"], &[403]);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    // It comes and goes between the look at the file and its opening.
    let htaccess = ground.site.join("in/.htaccess");
    let begun = Instant::now();
    while_renamed([&htaccess, &file], 300, || {
        let begun = Instant::now();
        let status = ground.server.get("/in/a.txt").status;
        assert!(matches!(status, 200 | 403 | 410), "{status}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    });
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert_eq!(ground.ask("/open.txt").text(), "open");
}

/// Has two names change places while something is done so many times.
fn while_renamed(names: [&Path; 2], times: usize, what: impl Fn()) {
    let stop = AtomicBool::new(false);
    let spare = names[0].with_extension("spare");
    thread::scope(|scope| {
        let _end = SetAtEnd(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                fs::rename(names[0], &spare).unwrap();
                fs::rename(names[1], names[0]).unwrap();
                fs::rename(&spare, names[1]).unwrap();
            }
        });
        (0..times).for_each(|_| what());
    });
}

fn a_million_lines_cost_their_folder_only(mpm: Mpm) {
    let ground = SecretSite::start(mpm, &[OPEN, ("in/a.txt", "a"), ("long/a.txt", "a")], "");
    let children = ground.server.children();
    let texts = [
        ("#\n".repeat(1_000_000), 200),
        (format!("{}{RULES}", "#\n".repeat(1_000_000)), 410),
        (format!("{}Nonsense\n", "#\n".repeat(1_000_000)), 500),
        (format!("RewriteEngine On\n{}", "RewriteRule ^x$ y\n".repeat(1_000_000)), 403),
        ("Require all granted\n".repeat(1_000_000), 403),
    ];
    for (text, status) in texts {
        ground.site.write("long/.htaccess", &text);
        let begun = Instant::now();
        thread::scope(|scope| {
            // Others are answered meanwhile.
            let long = scope.spawn(|| ground.server.get("/long/a.txt"));
            let mut answered = 0;
            while !long.is_finished() || answered < 10 {
                assert_eq!(ground.server.get("/open.txt").text(), "open");
                answered += 1;
            }
            let response = long.join().unwrap();
            assert_eq!(response.status, status, "{}", ground.server.error_text());
        });
        assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
        assert_eq!(ground.server.get("/long/a.txt").status, status, "the same again");
    }
    let told = "long/.htaccess pcfg_openfile: unable to check htaccess file";
    until("the reason in the error log", 5, || {
        Some(()).filter(|()| ground.server.error_text().contains(told))
    });
    ground.site.write("long/.htaccess", "# short\n");
    assert_eq!(ground.server.get("/long/a.txt").status, 200, "mended");
    ground.server.assert_none_died(&children);
    for pid in ground.server.children() {
        let used = process::anonymous_bytes(pid).unwrap_or_default();
        assert!(used < 150 << 20, "{used} bytes");
    }
}

/// Each answer is by all of the old rules or by all of the new ones.
fn no_request_sees_half_a_set_of_rules(mpm: Mpm) {
    const TIMES: usize = 500;
    const CLIENTS: usize = 3;
    let rules = |number: usize| {
        let mut text = format!("Header set X-Before {number}\nRewriteEngine On\n");
        text += &format!("# {number}\n").repeat(1 + 400 * (number % 7));
        text += &format!("RewriteRule ^a\\.txt$ {number}.txt\nHeader set X-Behind {number}\n");
        text
    };
    let files: Vec<(String, String)> =
        (0..10).map(|number| (format!("in/{number}.txt"), number.to_string())).collect();
    let mut all: Vec<(&str, &str)> = files.iter().map(|file| (&*file.0, &*file.1)).collect();
    let first = rules(0);
    all.extend([OPEN, ("in/.htaccess", &*first)]);
    let ground = SecretSite::start(mpm, &all, "");
    let (stop, seen) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let _end = SetAtEnd(&stop);
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = ground.server.connect();
                while !stop.load(Ordering::Relaxed) {
                    let response = client.get("/in/a.txt");
                    let text = response.text();
                    let fields = ["X-Before", "X-Behind"].map(|name| response.field(name));
                    assert_eq!(fields, [Some(&*text); 2], "{response:?}");
                    seen.fetch_add(1, Ordering::Relaxed);
                    if response.says_close() {
                        client = ground.server.connect();
                    }
                }
            });
        }
        for nth in 1..=TIMES {
            let before = seen.load(Ordering::Relaxed);
            let new = ground.site.write("in/new", rules(nth % 10));
            fs::rename(new, ground.site.join("in/.htaccess")).unwrap();
            // The next request is by the new ones.
            assert_eq!(ground.server.get("/in/a.txt").text(), (nth % 10).to_string());
            until("requests between two changes", 10, || {
                Some(()).filter(|()| seen.load(Ordering::Relaxed) > before)
            });
        }
    });
}

each_mpm! {
    a_file_of_any_kind_counts_as_with_apache,
    nobody_waits_for_a_pipe,
    a_million_lines_cost_their_folder_only,
    no_request_sees_half_a_set_of_rules,
}
