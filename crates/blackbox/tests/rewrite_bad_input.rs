//! What must not happen to rules happens: loops, maps that are not there, patterns that are none or
//! have no end, files that were saved half-way. Status and log line are apache2's beside it, and
//! the next request is answered.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use blackbox::rewrite::{Beside, Row, Set, Sheet, traces};
use blackbox::{Mpm, each_mpm, outside, process};

/// A set whose `.htaccess` is this.
fn file(text: &str) -> Set {
    Set { title: text.into(), files: vec![(".htaccess".into(), text.into())], ..Set::default() }
}

/// A set whose host has these lines.
fn host(text: &str) -> Set {
    Set { title: text.into(), host: format!("{text}\n"), ..Set::default() }
}

/// Asks both for these URLs of each set, and then for a page of another set.
fn compare(test: &str, mpm: Mpm, sets: Vec<Set>, urls: &[&str]) {
    compare_changed(test, mpm, sets, urls, |_| {});
}

fn compare_changed(
    test: &str,
    mpm: Mpm,
    mut sets: Vec<Set>,
    urls: &[&str],
    change: impl FnOnce(&Beside),
) {
    for set in &mut sets {
        set.rows.extend(urls.iter().map(|url| Row::new(*url)));
    }
    let next = sets.len();
    sets.push(Set { title: "the next request".into(), ..Set::default() });
    let sheet = Sheet { main: String::new(), sets };
    let Some(mut beside) = Beside::start(test, mpm, &sheet) else { return };
    change(&beside);
    let mut log = traces::BothLogs::new(&beside);
    let mut told = String::new();
    for (number, set) in sheet.sets.iter().enumerate() {
        // What would be said at each request is said once by trivet.
        let mut said = BTreeSet::new();
        for row in &set.rows {
            let [theirs, ours] = beside
                .ask(number, row)
                .map(|answer| answer.lines().next().unwrap_or_default().to_owned());
            let [mut their_lines, mut our_lines] = log.new_errors(&beside);
            our_lines.retain(|line| !said.contains(line));
            their_lines.retain(|line| said.insert(line.clone()));
            if theirs != ours || their_lines != our_lines {
                told += &format!(
                    "{}\n> {}\n- {theirs} {their_lines:#?}\n+ {ours} {our_lines:#?}\n",
                    set.title, row.text
                );
            }
            let page = beside.ask(next, &Row::new("/a.txt"));
            assert!(page[1].starts_with("HTTP/1.1 200"), "{}: {page:?}", set.title);
            log.new_errors(&beside);
        }
    }
    assert!(told.is_empty(), "{told}");
}

fn a_loop_within_the_server_ends(mpm: Mpm) {
    let rules = "RewriteEngine On\nRewriteRule ^(.*)$ x/$1\n";
    let few = Set { host: "LimitInternalRecursion 3 3\n".into(), ..file(rules) };
    let sets = vec![
        file(rules),
        file("RewriteEngine On\nRewriteRule ^a$ b\nRewriteRule ^b$ a\n"),
        file("RewriteEngine On\nRewriteRule ^(.*)$ $1x [N=20]\n"),
        host("RewriteEngine On\nRewriteRule ^(.*)$ $1x [N=20]"),
        host("ErrorDocument 404 /none\nRewriteEngine On\nRewriteRule ^/none - [R=404]"),
        few,
    ];
    compare("a_loop_within_the_server_ends", mpm, sets, &["/a", "/a.txt"]);
}

fn a_loop_by_way_of_the_client_is_the_clients(mpm: Mpm) {
    let sets = vec![
        file("RewriteEngine On\nRewriteRule ^(.*)$ /$1 [R]\n"),
        host("RewriteEngine On\nRewriteRule ^(.*)$ $1 [R=301,L]"),
        host("RewriteEngine On\nRewriteRule ^/(.*)$ http://{H}/$1"),
    ];
    compare("a_loop_by_way_of_the_client_is_the_clients", mpm, sets, &["/a", "/a.txt?b"]);
}

fn a_map_that_is_not_there_has_no_value(mpm: Mpm) {
    let gone = "RewriteMap m txt:{S}/map.txt\nRewriteEngine On\n\
                RewriteRule ^/m/(.*)$ /${m:$1|b.txt}";
    let mut with_file = host(gone);
    with_file.files.push(("map.txt".into(), "a a.txt\n".into()));
    let sets = vec![
        file("RewriteEngine On\nRewriteRule ^m/(.*)$ ${none:$1|b.txt}\n"),
        file("RewriteEngine On\nRewriteCond ${none:a} ^$\nRewriteRule ^m/ b.txt\n"),
        with_file,
    ];
    let test = "a_map_that_is_not_there_has_no_value";
    compare_changed(test, mpm, sets, &["/m/a", "/m/b"], |beside| {
        fs::remove_file(beside.site().join("www/2/map.txt")).unwrap();
    });
}

fn a_file_that_was_saved_half_way_is_taken_as_by_apache(mpm: Mpm) {
    let sets = [
        "RewriteEngine On\nRewriteRule ^b$ a.txt\n<IfModule mod_rewrite.c>\nRewriteRule ^c$ b.txt",
        "<IfModule mod_none.c>\nRewriteRule ^c$ a.txt\n",
        "<IfModule mod_rewrite.c>\n<IfModule mod_dir.c>\nRewriteEngine On\n</IfModule>\n",
        "<IfModule mod_rewrite.c",
        "<Files b.txt>\nRequire all denied\n",
        "<If true>\nRewriteEngine On\n",
        "</IfModule>\n",
        "</Files>\n",
        "RewriteEngine On\nRewriteRu",
        "RewriteEngine On\nRewriteRule ^b$ a.txt [R,",
        "RewriteEngine On\nRewriteRule ^b$",
        "RewriteEngine On\nRewriteCond %{REQUEST_URI}",
        "RewriteEngine On\nRewriteCond %{REQUEST_URI} x",
        "RewriteEngine On\nRewriteRule ^b$ \"a.txt",
        "RewriteEngine On\nRewriteRule ^b$ a.txt \\",
        "RewriteEngine O",
    ];
    let sets = sets.map(file).into();
    compare("a_file_that_was_saved_half_way_is_taken_as_by_apache", mpm, sets, &["/a.txt", "/b"]);
}

fn a_line_that_is_wrong_shuts_its_folder(mpm: Mpm) {
    let sets = [
        "RewriteEngine x",
        "RewriteOptions x",
        "RewriteOptions",
        "RewriteBase x",
        "RewriteBase",
        "RewriteMap m int:tolower",
        "RewriteCond x y [z]",
        "RewriteCond x (",
        "RewriteCond expr \"(\"",
        "RewriteCond expr \"file('/etc/passwd')\"",
        "RewriteRule x y [z]",
        "RewriteRule ( y",
        "RewriteRule x y [R=999]",
        "RewriteRule x y [L",
        "RewriteRule",
        "RewriteLog x",
        "RewriteOptions MaxRedirects=3",
        "RewriteCond x -f [NC]",
    ];
    let sets = sets.map(file).into();
    compare("a_line_that_is_wrong_shuts_its_folder", mpm, sets, &["/a.txt"]);
}

fn a_file_that_may_not_be_read_shuts_its_folder(mpm: Mpm) {
    let test = "a_file_that_may_not_be_read_shuts_its_folder";
    if !process::am_root() {
        return outside::not_run(test, "the servers run as who owns the file");
    }
    let sets = vec![file("RewriteEngine On\n"), host("")];
    compare_changed(test, mpm, sets, &["/a.txt", "/none", "/dir/"], |beside| {
        let path = beside.site().join("www/0/.htaccess");
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    });
}

each_mpm! {
    a_loop_within_the_server_ends,
    a_loop_by_way_of_the_client_is_the_clients,
    a_map_that_is_not_there_has_no_value,
    a_file_that_was_saved_half_way_is_taken_as_by_apache,
    a_line_that_is_wrong_shuts_its_folder,
    a_file_that_may_not_be_read_shuts_its_folder,
}
