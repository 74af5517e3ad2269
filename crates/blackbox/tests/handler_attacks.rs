//! Attacks on the choice of what answers: a name that is one file to the rules and another to a
//! handler, a source that is shown instead of run, a type that a client names.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::net::TcpListener;
use std::os::unix::fs::symlink;

use blackbox::fpm::Fpm;
use blackbox::scratch::Scratch;
use blackbox::secret::{OPEN, SOURCE, SecretSite, application};
use blackbox::{Mpm, each_mpm};

fn files_sections_hold_for_what_is_behind_a_question_mark(mpm: Mpm) {
    let folder = Scratch::new();
    let (handler, ran) = application(folder.path());
    let lines = format!(
        "<FilesMatch \"\\.php$\">\nSetHandler \"{handler}\"\n</FilesMatch>\n\
         <Files admin.php>\nRequire all denied\n</Files>\n\
         RewriteEngine On\nRewriteRule ^/way/(.*)$ /$1\nRewriteRule ^/to/(.*)$ {{S}}/$1"
    );
    let ground =
        SecretSite::start(mpm, &[OPEN, ("admin.php", SOURCE), ("ooo.php", SOURCE)], &lines);
    for before in ["", "/way", "/to"] {
        for name in [
            "admin.php",
            "admin.php%3Fooo.php",
            "admin.php%3F/ooo.php",
            "admin.php/ooo.php",
            "admin%2ephp%3fa=b.php",
            "admin.php?ooo.php",
            "admin.php%00.php",
            "./admin.php",
        ] {
            let statuses = [400, 403, 404];
            ground.refuses(&[&format!("{before}/{name}")], &statuses);
        }
        assert_eq!(ran.take(), [""; 0], "{before}");
        assert_eq!(ground.ask(&format!("{before}/ooo.php?admin.php")).status, 200);
        assert_eq!(ran.take(), vec![ground.site.join("ooo.php").display().to_string(); 2]);
    }
}

fn what_lies_behind_a_file_is_never_what_runs(mpm: Mpm) {
    let folder = Scratch::new();
    let (handler, ran) = application(folder.path());
    let lines = format!(
        "<FilesMatch \"\\.php$\">\nSetHandler \"{handler}\"\n</FilesMatch>\nRewriteEngine On\n\
         RewriteRule ^/h/(.*)$ /$1 [H={handler}]\n\
         RewriteRule ^/way/(.*)$ /$1 [PT]"
    );
    let name = "\u{23a}\u{23a}\u{23a}\u{23a}shell.php.txt.php";
    let picture = "up/a.jpg";
    let ground = SecretSite::start(mpm, &[OPEN, (picture, SOURCE), ("n.php\n", SOURCE)], &lines);
    let odd: String = name.bytes().map(|byte| format!("%{byte:02x}")).collect();
    for before in ["", "/way", "/h"] {
        for target in ["/up/a.jpg/x.php", "/up/a.jpg/.php", "/up/a.jpg%00.php", "/n.php%0a/x", &odd]
        {
            ground.ask(&format!("{before}/{}", target.trim_start_matches('/')));
            // A file that is there runs if rules say so; one that is not never does.
            let whole = ground.site.join(picture).display().to_string();
            let others: Vec<String> =
                ran.take().into_iter().filter(|it| before != "/h" || *it != whole).collect();
            assert_eq!(others, [""; 0], "{before}{target}");
        }
    }
}

fn the_source_of_a_script_is_shown_by_no_way(mpm: Mpm) {
    let rules = "RewriteEngine On\nRewriteRule ^a$ s.php [L]\n\
                 RewriteRule ^b$ s.php [T=text/plain]\n\
                 RewriteRule ^c$ s.php [H=default-handler]\nRewriteRule ^d$ s.php [END]\n\
                 RewriteRule ^s\\.php$ - [T=text/plain]\nRewriteRule ^e(.*)$ s$1 [L]\n\
                 RewriteRule ^f$ /{S}/s.php [L]\nRewriteRule ^g$ s.PHP [L]\n\
                 RewriteRule ^h$ /dir/ [L]\nFallbackResource /s.php\nDirectoryIndex s.php\n\
                 ErrorDocument 404 /s.php\nErrorDocument 403 /s.php\nRewriteRule ^i$ - [F]\n";
    for lines in [
        "AddType application/x-httpd-php .php",
        "",
        "AddHandler application/x-httpd-php .php\nRewriteEngine On\nRewriteRule ^/j$ /s.php\n\
         RewriteRule ^/k$ /s.php [H=default-handler]",
        "<FilesMatch \"\\.php$\">\nSetHandler application/x-httpd-php\n</FilesMatch>",
    ] {
        let files = [OPEN, ("s.php", SOURCE), ("dir/s.php", SOURCE), (".htaccess", rules)];
        let ground = SecretSite::start(mpm, &files, lines);
        symlink("s.php", ground.site.join("link.txt")).unwrap();
        for target in [
            "/s.php",
            "/a",
            "/b",
            "/c",
            "/d",
            "/e.php",
            "/e%2ephp",
            "/f",
            "/g",
            "/h",
            "/i",
            "/j",
            "/k",
            "/",
            "/dir/",
            "/missing",
            "/s.php/more",
            "/a/more",
            "/s.php%00",
            "/s.php%3f",
        ] {
            let response = ground.ask(target);
            assert!(!response.text().contains("ran "), "{target} with {lines}: {response:?}");
        }
        assert_eq!(ground.ask("/open.txt").text(), "open");
    }
}

fn a_type_that_a_client_names_is_no_handler(mpm: Mpm) {
    let inside = TcpListener::bind("127.0.0.1:0").unwrap();
    inside.set_nonblocking(true).unwrap();
    let port = inside.local_addr().unwrap().port();
    let rules = "RewriteEngine On\nHeader set Content-Type %{HTTP:X-Type}e\n\
                 Header set X-Type \"expr=%{HTTP:X-Type}\"\n\
                 Header set Content-Type \"expr=%{HTTP:X-Type}\"\n";
    let ground = SecretSite::start(mpm, &[OPEN, ("s.php", SOURCE), (".htaccess", rules)], "");
    for kind in [
        format!("proxy:http://127.0.0.1:{port}/"),
        format!("proxy:fcgi://127.0.0.1:{port}/"),
        "cgi-script".to_owned(),
        "application/x-httpd-php".to_owned(),
        "server-status".to_owned(),
    ] {
        let request = format!("GET /open.txt HTTP/1.1\r\nHost: a\r\nX-Type: {kind}\r\n\r\n");
        let response = ground.server.exchange(request);
        assert_eq!((response.status, response.text().as_str()), (200, "open"), "{kind}");
        assert_eq!(response.field("Content-Type"), Some(&*kind));
    }
    assert!(inside.accept().is_err(), "somebody has connected");
}

fn variables_of_rules_do_not_replace_what_the_server_says(mpm: Mpm) {
    let folder = Scratch::new();
    let (handler, _) = application(folder.path());
    let rules = "RewriteEngine On\nRewriteRule .* - [E=REQUEST_METHOD:FORGED,\
                 E=SCRIPT_FILENAME:/etc/passwd,E=DOCUMENT_ROOT:/,E=PATH_INFO:/forged]\n";
    let lines = format!("<FilesMatch \"\\.php$\">\nSetHandler \"{handler}\"\n</FilesMatch>");
    let ground = SecretSite::start(mpm, &[OPEN, ("s.php", SOURCE), (".htaccess", rules)], &lines);
    let request = "GET /s.php/info HTTP/1.1\r\nHost: a\r\nProxy: http://evil.example/\r\n\r\n";
    let text = ground.server.exchange(request).text();
    let root = ground.site.path().display();
    let expected = format!(
        "SCRIPT_FILENAME={root}/s.php\nPATH_INFO=/info\nREQUEST_METHOD=GET\n\
         DOCUMENT_ROOT={root}\nHTTP_PROXY=\n"
    );
    assert_eq!(text, expected);
}

fn a_long_query_and_a_line_break_do_not_mislead_php_fpm(mpm: Mpm) {
    let test = "a_long_query_and_a_line_break_do_not_mislead_php_fpm";
    let folder = Scratch::new();
    let socket = folder.join("fpm.sock");
    let Some(fpm) = Fpm::start(test, &socket, 1) else { return };
    let lines = format!(
        "<FilesMatch \"\\.php$\">\nSetHandler \"proxy:unix:{}|fcgi://localhost\"\n</FilesMatch>\n\
         RewriteEngine On\nRewriteRule ^/way/(.*)$ /index.php/$1 [PT]",
        socket.display()
    );
    let source = "<?php echo 'info ', $_SERVER['PATH_INFO'] ?? '-', ' ', $_SERVER['SCRIPT_NAME'];";
    let ground = SecretSite::start(mpm, &[OPEN, ("index.php", source)], &lines);
    let children = fpm.children();
    for before in ["/index.php", "/way"] {
        for length in (1500..2000).step_by(50) {
            let target = format!("{before}/PHP%0Ais_the.php?{}", "Q".repeat(length));
            let response = ground.server.get(&target);
            let expected = (200, "info /PHP\nis_the.php /index.php".to_owned());
            assert_eq!((response.status, response.text()), expected, "{target}");
        }
    }
    assert_eq!(fpm.children(), children, "a child has died");
}

each_mpm! {
    files_sections_hold_for_what_is_behind_a_question_mark,
    what_lies_behind_a_file_is_never_what_runs,
    the_source_of_a_script_is_shown_by_no_way,
    a_type_that_a_client_names_is_no_handler,
    variables_of_rules_do_not_replace_what_the_server_says,
    a_long_query_and_a_line_break_do_not_mislead_php_fpm,
}
