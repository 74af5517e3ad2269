//! URLs that lead elsewhere: aliases, redirects, actions, folders of users and of names. What
//! httpd answers is compared in `differential.rs`; here is what must never happen, and what only
//! shows over several requests.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::scratch::Scratch;
use blackbox::{Mpm, Server, Site, each_mpm, plain_site};

/// A folder beside the document root, with a secret above what is public.
fn outside() -> Scratch {
    let folder = Scratch::new();
    folder.write("secret", "geheim");
    folder.write("pub/open.txt", "open");
    folder.write("pub/closed/x.txt", "closed");
    folder
}

/// A site in which the public part of `folder`, and its secret, may be seen by name.
fn site(mpm: Mpm, folder: &Scratch) -> Site {
    let path = folder.path().display();
    plain_site(mpm)
        .directive(format!("<Directory {path}/pub>"))
        .directives(&["Require all granted", "</Directory>"])
        .directive(format!("<Directory {path}/pub/closed>"))
        .directives(&["Require all denied", "</Directory>"])
}

/// None of the targets shows the secret, or anything of this machine.
fn keeps_its_secret(server: &Server, targets: &[&str]) {
    for target in targets {
        let response = server.get(target);
        let text = response.text();
        assert!([400, 403, 404].contains(&response.status), "{target}: {response:?}");
        assert!(!text.contains("geheim") && !text.contains("root:"), "{target}: {text}");
    }
}

fn what_a_group_holds_never_leads_upwards(mpm: Mpm) {
    let folder = outside();
    let path = folder.path().display();
    let server = site(mpm, &folder)
        .directive(format!("<Directory {path}>"))
        .directives(&["Require all granted", "</Directory>"])
        .directive(format!("AliasMatch ^/x(.*)$ {path}/pub/$1"))
        .directive(format!("AliasMatch ^/up/(.*)$ {path}/pub/closed/../$1"))
        .directive("<LocationMatch \"^/named(?<REST>.*)\">")
        .directive(format!("Alias {path}/pub/%{{env:MATCH_REST}}"))
        .directive("</LocationMatch>")
        .start();
    assert_eq!(server.get("/xopen.txt").text(), "open");
    assert_eq!(server.get("/up/open.txt").text(), "open", "the administrator may say ..");
    assert_eq!(server.get("/named/open.txt").text(), "open");
    let up = ["/x../secret", "/x..//secret", "/named../secret", "/x%2e%2e/secret"];
    keeps_its_secret(&server, &up);
    keeps_its_secret(&server, &["/xclosed/x.txt", "/up/closed/x.txt", "/named/closed/x.txt"]);
    keeps_its_secret(&server, &["/x%00", "/xopen.txt%00.html"]);
}

fn doubled_slashes_are_no_way_to_the_root(mpm: Mpm) {
    let folder = outside();
    let path = folder.path().display();
    let server = site(mpm, &folder)
        .directives(&["MergeSlashes Off", "UserDir disabled"])
        .directive(format!("Alias /i {path}/pub"))
        .directive(format!("Alias /s/ {path}/pub/"))
        .start();
    assert_eq!(server.get("/i//open.txt").text(), "open");
    assert_eq!(server.get("/s//open.txt").text(), "open");
    let root = ["//etc/passwd", "///etc/passwd", "/i//etc/passwd", "/s//etc/passwd", "/dir//etc"];
    keeps_its_secret(&server, &root);
}

fn a_script_is_never_sent_as_it_stands(mpm: Mpm) {
    let folder = outside();
    folder.write("pub/run.sh", "#!/bin/sh\necho geheim\n");
    folder.write("pub/run.html", "geheim");
    let path = folder.path().display();
    let server = site(mpm, &folder)
        .directive(format!("ScriptAlias /cgi-bin/ {path}/pub/"))
        .directive(format!("ScriptAliasMatch ^/run/(.*)$ {path}/pub/$1"))
        .directives(&["<Location /here>", "AliasPreservePath On"])
        .directive(format!("ScriptAlias {path}/pub"))
        .directives(&["</Location>", "ErrorDocument 500 /a.txt"])
        .start();
    for folder in ["/cgi-bin/", "/run/", "/here/"] {
        for name in ["run.sh", "run.html", "run.sh/more", "run.html?q"] {
            let response = server.get(&format!("{folder}{name}"));
            // Nobody may execute it.
            assert_eq!(response.status, 500, "{folder}{name}: {response:?}");
            // The document of an error is a plain file of its own.
            assert_eq!(response.text(), "0123456789abcdefghij", "{folder}{name}");
        }
        let listing = server.get(folder);
        assert!(listing.status >= 400 && !listing.text().contains("run"), "{listing:?}");
    }
}

fn what_is_denied_stays_so_by_every_way(mpm: Mpm) {
    let folder = outside();
    let path = folder.path().display();
    let server = site(mpm, &folder)
        .file("go.way", "")
        .directive(format!("Alias /a {path}/pub"))
        .directive(format!("Alias /file {path}/pub/closed/x.txt"))
        .directives(&["AddHandler away .way", "Action away /a/closed/x.txt", "CheckSpelling On"])
        .directives(&["Redirect /known /a/closed/x.txt", "DirectoryIndex /a/closed/x.txt"])
        .start();
    keeps_its_secret(&server, &["/a/closed/x.txt", "/file", "/file/more", "/go.way", "/006/"]);
    // A redirect says nothing about what is there.
    assert_eq!(server.get("/known").status, 302);
}

fn each_name_has_its_own_folder(mpm: Mpm) {
    let folder = outside();
    folder.write("pub/one.example/index.html", "one");
    folder.write("pub/two.example/index.html", "two");
    folder.write("pub/index.html", "all");
    let path = folder.path().display();
    let server = site(mpm, &folder).directive(format!("VirtualDocumentRoot {path}/pub/%0")).start();
    let ask = |host: &str| server.exchange(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    // Often enough for an answer to be kept, if somebody kept it.
    for _ in 0..5 {
        assert_eq!(ask("one.example").text(), "one");
        assert_eq!(ask("Two.Example").text(), "two");
    }
    for host in ["..", ".", "../pub", "one.example/..", "%2e%2e", "_", "...", "closed/.."] {
        let response = ask(host);
        assert!(response.status >= 400, "{host}: {response:?}");
        assert!(!response.text().contains("all"), "{host}");
    }
}

fn a_home_folder_comes_from_the_database_of_users(mpm: Mpm) {
    let folder = outside();
    let below = folder.path().strip_prefix("/").unwrap().display();
    let up = "../".repeat(8);
    let server = site(mpm, &folder)
        .directive(format!("UserDir {up}{below}/pub"))
        .directive("UserDir disabled root")
        .start();
    // Everybody's home is somewhere, and from there the line leads back.
    assert_eq!(server.get("/~daemon/open.txt").text(), "open");
    assert_eq!(server.get("/~daemon/open.txt").text(), "open");
    keeps_its_secret(
        &server,
        &["/~root/open.txt", "/~no-such-user/open.txt", "/~daemon/../secret"],
    );
    keeps_its_secret(&server, &["/~daemon/closed/x.txt", "/~../secret", "/~%00/x"]);
}

fn users_without_a_folder_have_none_in_virtual_hosts_either(mpm: Mpm) {
    let folder = outside();
    let path = folder.path().display();
    let line = format!("UserDir {path}/*");
    let of_host = |names: &'static [&'static str]| {
        let host = ["<VirtualHost *>", "ServerName v.example"];
        let site = site(mpm, &folder).directive(&line).directive("UserDir disabled pub");
        site.directives(&host).directives(names).directive("</VirtualHost>").start()
    };
    assert_eq!(of_host(&[]).get("/~pub/open.txt").status, 404);
    // One that says anything has lists of its own (mod_userdir.c, merge_userdir_config).
    assert_eq!(of_host(&["UserDir disabled root"]).get("/~pub/open.txt").text(), "open");
}

fn a_redirect_cannot_split_a_response(mpm: Mpm) {
    let server = plain_site(mpm)
        .directives(&["Redirect /r http://example.com", "RedirectMatch ^/m(.*)$ http://x/$1"])
        .directive("UserDir http://users.example/*")
        .start();
    for target in ["/r/%0d%0aX-Bad:%201", "/m/%0d%0aX-Bad:%201", "/~x/%0d%0aX-Bad:%201"] {
        let response = server.get(target);
        assert_eq!(response.field("X-Bad"), None, "{target}");
        assert!(matches!(response.status, 302 | 500), "{target}: {response:?}");
    }
}

fn a_host_is_asked_before_the_main_server(mpm: Mpm) {
    let folder = outside();
    let path = folder.path().display();
    let server = site(mpm, &folder)
        .directive(format!("Alias /x {path}/pub/closed"))
        .directives(&["Redirect /r http://main/", "<VirtualHost *>", "ServerName v.example"])
        .directive(format!("Alias /x {path}/pub"))
        .directives(&["Redirect /r http://virtual/", "</VirtualHost>"])
        .start();
    assert_eq!(server.get("/x/open.txt").text(), "open");
    assert_eq!(server.get("/r").field("Location"), Some("http://virtual/"));
}

fn endless_actions_end(mpm: Mpm) {
    let server = plain_site(mpm)
        .directives(&["<Location />", "SetHandler again", "Action again /x virtual", "</Location>"])
        .start();
    assert_eq!(server.get("/a.txt").status, 500);
    assert!(server.error_text().contains("AH00124"));
}

each_mpm!(
    what_a_group_holds_never_leads_upwards,
    doubled_slashes_are_no_way_to_the_root,
    a_script_is_never_sent_as_it_stands,
    what_is_denied_stays_so_by_every_way,
    each_name_has_its_own_folder,
    a_home_folder_comes_from_the_database_of_users,
    users_without_a_folder_have_none_in_virtual_hosts_either,
    a_redirect_cannot_split_a_response,
    a_host_is_asked_before_the_main_server,
    endless_actions_end,
);
