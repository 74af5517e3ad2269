//! Attacks by whoever may write a `.htaccess` file: it reads nothing that its author may not read,
//! and what it costs is bounded.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::time::{Duration, Instant};

use blackbox::secret::{OPEN, SecretSite};
use blackbox::{Mpm, each_mpm, process};

fn no_expression_of_a_folder_reads_a_file(mpm: Mpm) {
    let secret = "{O}/secret.txt";
    let texts = [
        "Header set X-Read expr=%{file:{F}}",
        "Header set X-Size expr=%{filesize:{F}}",
        "ErrorDocument 404 \"%{file:{F}}\"",
        "RewriteEngine On\nRewriteCond expr \"file('{F}') =~ /(.*)/\"\nRewriteRule .* /%1 [R]",
        "RewriteEngine On\nRewriteCond expr \"filesize('{F}') -gt 0\"\nRewriteRule .* - [G]",
        "RewriteEngine On\nRewriteRule .* /%{file:{F}} [R]",
        "<If \"file('{F}') =~ /geheim/\">\nRedirect 410 /\n</If>",
        "Require expr \"file('{F}') =~ /geheim/\"",
        "SetEnvIfExpr \"file('{F}') =~ /(.*)/\" READ=$1\nHeader set X-Read %{READ}e",
        "SetHandler \"%{file:{F}}\"",
        "AuthName \"%{file:{F}}\"",
        "Options +Includes\nRewriteEngine On\nRewriteRule .* - [E=READ:%{file:{F}}]\n\
         Header set X-Read %{READ}e",
    ];
    for text in texts {
        let text = text.replace("{F}", secret);
        let ground =
            SecretSite::start(mpm, &[OPEN, ("in/a.txt", "a"), ("in/.htaccess", &text)], "");
        for target in ["/in/a.txt", "/in/missing", "/in/"] {
            let response = ground.ask(target);
            assert_ne!(response.status, 410, "{text}");
            assert!(!response.fields.iter().any(|(name, _)| name == "X-Size"), "{text}");
        }
        assert_eq!(ground.ask("/open.txt").text(), "open");
    }
}

fn a_link_to_somebody_elses_file_says_nothing_in_a_folder(mpm: Mpm) {
    if !process::am_root() {
        let name = "a_link_to_somebody_elses_file_says_nothing_in_a_folder";
        return blackbox::outside::not_run(name, "only root can give a file away");
    }
    let ground = SecretSite::start(mpm, &[OPEN, ("in/a.txt", "a"), ("in/.keep", "")], "");
    let secret = ground.outside.join("secret.txt");
    fs::write(&secret, "geheim:x:0:0\n").unwrap();
    chown(&secret, Some(0), Some(0)).unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&secret, ground.site.join("in/.htaccess")).unwrap();
    ground.refuses(&["/in/a.txt", "/in/"], &[403]);
    // One that may be read is no configuration, which its client is not told.
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o644)).unwrap();
    ground.refuses(&["/in/a.txt", "/in/"], &[403, 500]);
}

fn methods_that_nobody_has_are_refused_in_a_limit(mpm: Mpm) {
    let text = "<Limit INVALID_ONE another>\nRequire all denied\n</Limit>\n";
    let ground = SecretSite::start(mpm, &[OPEN, ("in/a.txt", "a"), ("in/.htaccess", text)], "");
    for _ in 0..20 {
        let response = ground.server.exchange("OPTIONS /in/ HTTP/1.1\r\nHost: a\r\n\r\n");
        let allow = response.field("Allow").unwrap_or_default();
        let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        assert!(allow.split(',').all(|name| is_name(name.trim())), "{response:?}");
    }
    assert_eq!(ground.ask("/open.txt").text(), "open");
}

fn looking_ahead_ends(mpm: Mpm) {
    for test in [
        "RewriteCond %{LA-U:REQUEST_FILENAME} x",
        "RewriteCond %{LA-U:LA-U:REMOTE_USER} x",
        "RewriteCond %{LA-F:REQUEST_FILENAME} x",
        "RewriteCond %{REQUEST_URI} -U",
        "RewriteCond %{REQUEST_FILENAME} -F",
        "RewriteCond /x%{REQUEST_URI} -U",
        "RewriteCond %{LA-U:ENV:A}%{LA-U:ENV:B}%{LA-U:ENV:C} ^$",
    ] {
        let rules = format!("{test}\nRewriteRule ^/?(.*)$ /x/$1\n").repeat(3);
        let rules = format!("RewriteEngine On\n{rules}");
        for (htaccess, lines) in [("", &*rules), (&*rules, "")] {
            let ground =
                SecretSite::start(mpm, &[("in/.htaccess", htaccess), ("in/a.txt", "a")], lines);
            let begun = Instant::now();
            let _ = ground.server.get("/in/a.txt");
            assert!(begun.elapsed() < Duration::from_secs(10), "{test}: {:?}", begun.elapsed());
        }
    }
}

fn no_rules_of_a_folder_hold_the_server_up(mpm: Mpm) {
    let nested =
        format!("{}Redirect 410 /\n{}", "<If \"true\">\n".repeat(1000), "</If>\n".repeat(1000));
    let rules = |text: &str| format!("RewriteEngine On\n{text}\n");
    let texts = [
        nested,
        rules("RewriteRule ^(.*)$ $1$1 [N]"),
        rules("RewriteRule ^(.*)$ $1x [N=100000]"),
        rules("RewriteRule . - [N]"),
        rules("RewriteRule ^(a+)+$ /x"),
        rules("RewriteRule (.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)z$ /x"),
        rules("RewriteCond %{HTTP:X-Long} ^(a|a)*$\nRewriteRule . /x"),
        rules("RewriteRule ^(.*)$ /in/x$1"),
        rules(&"RewriteRule ^(.*)(.*)$ - [E=A:$1$2$1$2]\n".repeat(5000)),
        rules(&format!("RewriteRule . - [E=A:{}]", "%{REQUEST_URI}".repeat(500))),
        rules("RewriteRule ^(.*)$ - [E=A:%{ENV:A}%{ENV:A}%{ENV:A}%{ENV:A}x,N=1000]"),
        rules(&"RewriteRule . - [E=A:x%{ENV:A}%{ENV:A}]\n".repeat(60)),
        rules(&format!("{}RewriteRule . - [N]", "RewriteRule ^none - \n".repeat(50_000))),
        format!("SetEnvIf Host . A=abc\n{}", "SetEnvIf A (.*) A=$1$1$1$1\n".repeat(40)),
        "<If \"-U '/in/x%{REQUEST_URI}'\">\nSetEnv A B\n</If>\n".repeat(3),
    ];
    let names: Vec<String> = (0..texts.len()).map(|nth| format!("in{nth}/.htaccess")).collect();
    let mut files = vec![OPEN];
    files.extend(names.iter().zip(&texts).map(|(name, text)| (&**name, &**text)));
    let ground = SecretSite::start(mpm, &files, "");
    let children = ground.server.children();
    for (nth, text) in texts.iter().enumerate() {
        ground.site.write(format!("in{nth}/a.txt"), "a");
        for name in ["a.txt", &format!("{}b", "a".repeat(200))] {
            let begun = Instant::now();
            let field = format!("X-Long: {}b", "a".repeat(4000));
            let target = format!("/in{nth}/{name}");
            let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n{field}\r\n\r\n");
            ground.server.exchange(request);
            let took = begun.elapsed();
            assert!(took < Duration::from_secs(10), "{:.60}: {took:?}", text);
        }
        assert_eq!(ground.ask("/open.txt").text(), "open");
    }
    ground.server.assert_none_died(&children);
    for pid in ground.server.children() {
        let used = process::anonymous_bytes(pid).unwrap_or_default();
        assert!(used < 200 << 20, "{used} bytes");
    }
}

each_mpm! {
    no_expression_of_a_folder_reads_a_file,
    a_link_to_somebody_elses_file_says_nothing_in_a_folder,
    methods_that_nobody_has_are_refused_in_a_limit,
    looking_ahead_ends,
    no_rules_of_a_folder_hold_the_server_up,
}
