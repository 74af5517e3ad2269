//! `.htaccess` files: changes hold with the next request, mistakes shut the folder, and nothing in
//! one can hurt the rest of the server.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::scratch::Scratch;
use blackbox::{Mpm, Server, Site, each_mpm};
use std::fs;

/// A server over a folder whose files may say everything, with `more` lines of configuration.
fn server(mpm: Mpm, more: &str) -> (Server, Scratch) {
    let site = Scratch::new();
    site.write("index.html", "home");
    let home = Scratch::new();
    let root = site.path().display();
    let user = match blackbox::process::am_root() {
        true => "User www-data\nGroup www-data\n",
        false => "",
    };
    let text = format!(
        "Listen 127.0.0.1:0\nServerName localhost\n{user}{more}\nDocumentRoot {root}\n\
         <Directory {root}>\nAllowOverride All\nRequire all granted\n</Directory>\n"
    );
    let file = home.write("httpd.conf", text);
    (Site::new(mpm).config(file).start(), site)
}

fn a_change_holds_with_the_next_request(mpm: Mpm) {
    let (server, site) = server(mpm, "");
    let mut client = server.connect();
    for round in 0..3 {
        for (text, status) in [("Require all denied", 403), ("Require all granted", 200)] {
            site.write(".htaccess", format!("{text}\n{}", "# x\n".repeat(round)));
            assert_eq!(client.get("/").status, status, "{text}");
        }
        fs::remove_file(site.join(".htaccess")).unwrap();
        assert_eq!(client.get("/").status, 200);
    }
}

/// The times of a file move on with the kernel's tick: a change within one shows in none of them.
fn a_change_of_the_same_length_within_a_tick_holds_as_well(mpm: Mpm) {
    let (server, site) = server(mpm, "");
    let mut client = server.connect();
    let file = site.join(".htaccess");
    // A short one, and one that another thread reads.
    for comments in ["", &"# a comment\n".repeat(2000)] {
        for round in 0..20 {
            for (text, status) in [("Require all denied \n", 403), ("Require all granted\n", 200)] {
                fs::write(&file, [text, comments].concat()).unwrap();
                assert_eq!(client.get("/").status, status, "{text} in round {round}");
            }
        }
    }
}

fn a_mistake_shuts_the_folder_and_is_told(mpm: Mpm) {
    let (server, site) = server(mpm, "");
    site.write("in/a.txt", "a");
    site.write("in/.htaccess", "Requir all denied\n");
    for target in ["/in/a.txt", "/in/", "/in/nothing"] {
        assert_eq!(server.get(target).status, 500, "{target}");
    }
    assert_eq!(server.get("/").status, 200);
    let text = server.error_text();
    let path = site.join("in/.htaccess").display().to_string();
    for part in ["core:alert", &path, "Invalid command 'Requir'"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
}

fn what_is_not_there_yet_is_told_with_its_line(mpm: Mpm) {
    let (server, site) = server(mpm, "");
    site.write("in/a.txt", "a");
    site.write("in/.htaccess", "# x\nSession On\n");
    assert_eq!(server.get("/in/a.txt").status, 500);
    let (told, text) =
        ("(line 2: Trivet has no mod_session.c yet: remove its lines", server.error_text());
    assert!(text.contains(told), "no {told} in {text}");
    site.write("in/.htaccess", "<IfModule mod_session.c>\nSession On\n</IfModule>\n");
    assert_eq!(server.get("/in/a.txt").status, 200);
}

fn what_is_odd_is_told_but_not_for_ever(mpm: Mpm) {
    let (server, site) = server(mpm, "");
    site.write("in/a.txt", "a");
    site.write("in/.htaccess", "DefaultType text/x\n".repeat(500));
    assert_eq!(server.get("/in/a.txt").status, 200);
    let path = site.join("in/.htaccess").display().to_string();
    let first = format!("AH00117: Ignoring deprecated use of DefaultType in line 1 of {path}.");
    let text = server.error_text();
    assert!(text.contains("[core:warn] ") && text.contains(&first), "no {first} in {text}");
    assert_eq!(text.matches("AH00117").count(), 20);
}

fn a_rule_that_a_missing_module_would_lose_shuts_the_folder(mpm: Mpm) {
    let (server, site) = server(mpm, "LoadModule session_module x.so");
    let guarded = "<IfModule mod_session.c>\nRequire all denied\n</IfModule>\n";
    site.write("in/a.txt", "a");
    site.write("in/.htaccess", guarded);
    assert_eq!(server.get("/in/a.txt").status, 500);
    // What guards nothing may be passed over.
    site.write("in/.htaccess", "<IfModule mod_session.c>\nSession On\n</IfModule>\n");
    assert_eq!(server.get("/in/a.txt").status, 200);
}

fn a_hostile_file_costs_its_folder_only(mpm: Mpm) {
    let (server, site) = server(mpm, "");
    site.write("in/a.txt", "a");
    for text in [
        format!("ErrorDocument 404 {}\n", "x".repeat(5 << 20)),
        "<IfModule mod_dir.c>\n".repeat(5000),
        "<Macro m>\nUse m\n</Macro>\nUse m\n".to_owned(),
        "SetHandler \0\n".to_owned(),
        "<FilesMatch \"(\">\n</FilesMatch>\n".to_owned(),
    ] {
        site.write("in/.htaccess", &text);
        let status = server.get("/in/a.txt").status;
        assert!(status >= 400, "{status}: {:.60}", text);
        assert_eq!(server.get("/").status, 200);
    }
}

fn an_endless_expression_is_an_error_and_a_log_line(mpm: Mpm) {
    let (server, site) = server(mpm, "");
    let name = "a".repeat(200) + "b";
    site.write(format!("in/{name}"), "a");
    site.write("in/.htaccess", "<FilesMatch \"^(a+)+$\">\nRequire all denied\n</FilesMatch>\n");
    let response = server.get(&format!("/in/{name}"));
    assert_eq!(response.status, 500);
    assert!(server.error_text().contains("too many steps"), "{}", server.error_text());
    assert_eq!(server.get("/").status, 200);
}

each_mpm!(
    a_change_holds_with_the_next_request,
    a_change_of_the_same_length_within_a_tick_holds_as_well,
    a_mistake_shuts_the_folder_and_is_told,
    what_is_not_there_yet_is_told_with_its_line,
    what_is_odd_is_told_but_not_for_ever,
    a_rule_that_a_missing_module_would_lose_shuts_the_folder,
    a_hostile_file_costs_its_folder_only,
    an_endless_expression_is_an_error_and_a_log_line,
);
