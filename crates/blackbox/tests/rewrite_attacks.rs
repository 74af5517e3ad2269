//! Attacks on rules: what a client writes never becomes a query, a host, another file or another
//! field, and holds for sections as it does for rules.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::net::TcpListener;

use blackbox::scratch::Scratch;
use blackbox::secret::{OPEN, SECRET, SOURCE, SecretSite, application};
use blackbox::{Mpm, each_mpm};

fn an_encoded_question_mark_never_becomes_a_query(mpm: Mpm) {
    let page = ("page.txt", "the page");
    for (place, rule) in [
        ("host", "RewriteRule ^/html/(.*)$ /$1.html"),
        ("folder", "RewriteRule ^html/(.*)$ /$1.html"),
        ("folder", "RewriteRule ^html/(.*)$ $1.html"),
    ] {
        let text = format!("RewriteEngine On\n{rule}\n");
        let (htaccess, lines) = if place == "host" { ("", &*text) } else { (&*text, "") };
        let ground = SecretSite::start(mpm, &[OPEN, page, (".htaccess", htaccess)], lines);
        ground.refuses(&["/html/page.txt%3F", "/html/page.txt%3f.x", "/html/%3F"], &[403]);
        let text = text.replace(".html\n", ".html [UnsafeAllow3F]\n");
        let (htaccess, lines) = if place == "host" { ("", &*text) } else { (&*text, "") };
        let ground = SecretSite::start(mpm, &[OPEN, page, (".htaccess", htaccess)], lines);
        assert_eq!(ground.ask("/html/page.txt%3F").text(), "the page", "{rule}");
    }
}

fn a_result_is_the_name_of_a_file_only_if_the_rule_says_so(mpm: Mpm) {
    // It may be read there, which is how it is shown what has been taken for what.
    let granted = "<Directory {O}>\nRequire all granted\n</Directory>\nRewriteEngine On\n";
    let target = "/html{O}/secret.txt";
    let rules = [
        "RewriteRule ^/html/(.*)$ /$1",
        "RewriteRule ^/html(/.*)$ $1",
        "RewriteRule ^/html(.*)\\.txt$ $1.txt",
        "RewriteCond %{REQUEST_URI} ^/html/(.*)\nRewriteRule . /%1",
        "RewriteCond %{REQUEST_URI} ^/html(.*)\nRewriteRule . %1",
        "RewriteMap same int:tolower\nRewriteRule ^/html/(.*)$ /${same:$1}",
        "RewriteRule ^/html/(.*)$ //$1",
        "RewriteRule ^/html/(.*)$ /$1 [PT]",
        "RewriteRule ^/html/(.*)$ /x/../$1",
    ];
    for rule in rules {
        let ground = SecretSite::start(mpm, &[OPEN], &format!("{granted}{rule}"));
        ground.refuses(&[target, "/html/{O}/secret.txt"], &[400, 403, 404]);
    }
    for rule in
        ["RewriteRule ^/html/(.*)$ /$1 [UnsafePrefixStat]", "RewriteRule ^/html/.* {O}/open"]
    {
        let ground = SecretSite::start(mpm, &[OPEN], &format!("{granted}{rule}"));
        ground.outside.write("open", "the rule says so");
        let target = format!("/html{}/open", ground.outside.path().display());
        assert_eq!(ground.server.get(&target).text(), "the rule says so", "{rule}");
    }
}

fn what_no_section_grants_is_out_of_reach_of_every_rule(mpm: Mpm) {
    for rule in [
        "RewriteRule ^/x/(.*)$ {O}/$1",
        "RewriteRule ^/x/(.*)$ {S}/../$1",
        "RewriteRule ^/x/(.*)$ {S}/$1",
        "RewriteRule ^/x(.*)$ {S}$1",
        "RewriteRule ^/x/(.*)$ %{DOCUMENT_ROOT}/$1",
        "RewriteRule ^/x(.*)$ %{DOCUMENT_ROOT}$1",
        "RewriteRule ^/x/(.*)$ /$1 [UnsafePrefixStat]",
        "RewriteRule ^/x/(.*)$ {O}/$1 [PT]",
    ] {
        let ground = SecretSite::start(mpm, &[OPEN], &format!("RewriteEngine On\n{rule}"));
        let beside = ground.outside.path().file_name().unwrap().to_str().unwrap().to_owned();
        for target in [
            "/x/secret.txt".to_owned(),
            "/x{O}/secret.txt".to_owned(),
            format!("/x/../{beside}/secret.txt"),
            format!("/x/%2e%2e/{beside}/secret.txt"),
            format!("/x/..%2f{beside}/secret.txt"),
            format!("/x/%252e%252e/{beside}/secret.txt"),
            format!("/x/.%2e%2f{beside}/secret.txt"),
            format!("/x..{beside}/secret.txt"),
            format!("/x/open.txt/../../{beside}/secret.txt"),
        ] {
            ground.refuses(&[&target], &[400, 403, 404]);
        }
    }
}

fn an_encoded_slash_is_the_same_for_rules_and_for_sections(mpm: Mpm) {
    let closed = [
        "<Location /private>\nRequire all denied\n</Location>",
        "<Directory {S}/private>\nRequire all denied\n</Directory>",
        "<LocationMatch ^/private/>\nRequire all denied\n</LocationMatch>",
        "RewriteEngine On\nRewriteRule ^/private/ - [F]",
        "RewriteEngine On\nRewriteRule ^/way/(.*)$ /$1 [PT]\n<Location /private/>\n\
         Require all denied\n</Location>",
    ];
    for word in ["Off", "On", "NoDecode"] {
        for section in closed {
            let lines = format!("AllowEncodedSlashes {word}\n{section}");
            let ground = SecretSite::start(mpm, &[OPEN, ("private/key.txt", SECRET)], &lines);
            ground.refuses(
                &[
                    "/private/key.txt",
                    "/private%2fkey.txt",
                    "/private%2Fkey.txt",
                    "/%2fprivate/key.txt",
                    "/%2fprivate%2fkey.txt",
                    "/x%2f..%2fprivate%2fkey.txt",
                    "/x/..%2fprivate/key.txt",
                    "/way/private/key.txt",
                    "/way/private%2fkey.txt",
                    "/way%2fprivate%2fkey.txt",
                    "/private%252fkey.txt",
                ],
                &[400, 403, 404],
            );
        }
    }
}

fn a_line_break_behind_a_name_ends_no_pattern(mpm: Mpm) {
    let folder = Scratch::new();
    let (handler, ran) = application(folder.path());
    let rules = format!(
        "RewriteEngine On\nRewriteRule \\.php$ - [H={handler}]\n\
         RewriteRule ^old$ /open.txt\nRewriteRule ^gone\\.(a|b)$ - [G]"
    );
    let files = [OPEN, ("x.php\n", "text"), ("x.php", SOURCE), (".htaccess", &*rules)];
    let ground = SecretSite::start(mpm, &files, "");
    ground.refuses(&["/old%0a", "/gone.a%0a", "/old%0d%0a"], &[403, 404]);
    ground.ask("/x.php%0a");
    assert_eq!(ran.take(), [""; 0]);
    assert_eq!(ground.ask("/x.php").status, 200);
    assert_eq!(ran.take().len(), 2);
}

fn hidden_files_are_hidden_from_rules_as_well(mpm: Mpm) {
    let rules = "RewriteEngine On\nRewriteRule ^h/(.*)$ $1\nRewriteRule ^i/(.*)$ .$1 [L]\n\
                 RewriteRule ^j/(.*)$ {S}/$1 [END]\nRewriteRule ^k$ .htpasswd [T=text/html]\n";
    let lines = "RewriteEngine On\nRewriteRule ^/l/(.*)$ {S}/$1\nRewriteRule ^/m/(.*)$ /.$1\n\
                 RewriteRule ^/n/(.*)$ /sub/$1 [H=default-handler]";
    let files = [OPEN, (".htpasswd", SECRET), ("sub/.htpasswd", SECRET), (".htaccess", rules)];
    let ground = SecretSite::start(mpm, &files, lines);
    ground.refuses(
        &[
            "/h/.htpasswd",
            "/h/.ht%70asswd",
            "/h/%2ehtpasswd",
            "/h/sub/.htpasswd",
            "/h/.htaccess",
            "/i/htpasswd",
            "/i/htaccess",
            "/j/.htpasswd",
            "/k",
            "/l/.htpasswd",
            "/l/sub/.htpasswd",
            "/m/htpasswd",
            "/n/.htpasswd",
            "/n/.htpasswd/",
            "/n/.htpasswd%20",
        ],
        &[403, 404],
    );
}

fn what_a_client_asks_for_never_names_a_host(mpm: Mpm) {
    let inside = TcpListener::bind("127.0.0.1:0").unwrap();
    inside.set_nonblocking(true).unwrap();
    let host = inside.local_addr().unwrap().to_string();
    for rules in [
        "RewriteRule ^(.*)$ $1",
        "RewriteRule ^(.*)$ $1 [P]",
        "RewriteRule ^/?(.*)$ $1 [P]",
        "RewriteRule ^(.*)$ http://127.0.0.1$1 [P]",
        "RewriteRule ^(.*)$ fcgi://127.0.0.1$1 [P]",
        "RewriteRule ^/?(.*)$ fcgi://127.0.0.1:1/$1 [P]",
        "RewriteOptions AllowAnyURI\nRewriteRule ^(.*)$ $1",
    ] {
        let ground = SecretSite::start(mpm, &[OPEN], &format!("RewriteEngine On\n{rules}"));
        for target in [
            format!("http://{host}/open.txt"),
            format!("http://localhost/http://{host}/"),
            format!("fcgi://{host}/"),
            format!("@{host}/"),
            format!(":@{host}/"),
            format!("//{host}/"),
            format!("/@{host}/"),
            format!("/http://{host}/"),
            format!("/fcgi://{host}/"),
            format!("/http:/{host}/"),
            format!("/%68ttp://{host}/"),
            format!("/unix:/run/x|fcgi://{host}/"),
            format!("/proxy:fcgi://{host}/"),
        ] {
            // What is no path is refused; by what has one, nobody beside this server is asked but
            // whom the rule names.
            let names_it = rules.contains("/?(.*)$ $1 [P]") && target.starts_with('/');
            let response = ground.ask(&target);
            if !target.starts_with('/') && !target.starts_with("http") {
                assert_eq!(response.status, 400, "{rules}: {target}");
            }
            let asked = inside.accept().is_ok();
            assert!(!asked || names_it, "{rules}: {target}");
        }
    }
}

fn a_client_is_not_sent_where_a_rule_does_not_send_it(mpm: Mpm) {
    let lines = "RewriteEngine On\nRewriteRule ^/r/(.*)$ /x/$1 [R]\nRewriteRule ^/o(/.*)$ $1 [R]\n\
                 RewriteRule ^/s/(.*)$ /$1 [R]\nRewriteRule ^/n/(.*)$ /x/$1 [R,NE]\n\
                 RewriteRule ^/c/(.*)$ - [CO=name:$1:localhost]\n\
                 RewriteRule ^/q/(.*)$ /x?a=$1 [R,UnsafeAllow3F]";
    let ground = SecretSite::start(mpm, &[OPEN], lines);
    for before in ["r", "o", "s", "n", "c", "q"] {
        for rest in [
            "a%0d%0aX-Evil:%20y",
            "a%0aX-Evil:%20y",
            "/evil.example/",
            "//evil.example/",
            "%2f%2fevil.example/",
            "@evil.example/",
            "%5cevil.example/",
            "/%5cevil.example/",
            "http://evil.example/",
            "%09/evil.example/",
            "a%20b",
            "a%00b",
        ] {
            let target = format!("/{before}/{rest}");
            let response = ground.ask(&target);
            assert_eq!(response.count("X-Evil"), 0, "{target}: {response:?}");
            let Some(location) = response.field("Location") else { continue };
            let rest = location.strip_prefix("http://localhost").unwrap_or(location);
            let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
            assert!(rest.starts_with('/') && !rest.starts_with("//"), "{target}: {location}");
            assert!(!rest.starts_with("/\\"), "{target}: {location}");
        }
    }
}

fn a_condition_that_is_false_never_holds(mpm: Mpm) {
    let tests = [
        ("expr \"false\"", false),
        ("expr \"true\"", true),
        ("expr \"!true\"", false),
        ("expr \"!false\"", true),
        ("expr \"false || true\"", true),
        ("expr \"true && false\"", false),
        ("{S}/open.txt -f", true),
        ("{S}/none -f", false),
        ("{S} -d", true),
        ("{S}/open.txt -d", false),
        ("{S}/open.txt -s", true),
        ("{S}/empty -s", false),
        ("{S}/open.txt -x", false),
        ("{S}/open.txt -l", false),
        ("/open.txt -U", true),
        ("/none -U", true),
        ("{S}/open.txt -F", true),
        ("{S}/none -F", false),
        ("{O}/secret.txt -F", false),
        ("abc =abc", true),
        ("abc =abd", false),
        ("abc <abd", true),
        ("abc >abd", false),
        ("abc <=abc", true),
        ("abc >=abd", false),
        ("5 -eq5", true),
        ("5 -ne5", false),
        ("5 -gt4", true),
        ("5 -lt5", false),
        ("5 -ge5", true),
        ("5 -le4", false),
        ("abc ^a", true),
        ("abc ^b", false),
        ("ABC ^a [NC]", true),
    ];
    let host: String = tests
        .iter()
        .enumerate()
        .map(|(nth, (test, _))| {
            let (text, pattern) = test.split_once(' ').unwrap();
            let no = if text == "expr" { String::new() } else { no_form(nth, text, pattern) };
            format!("RewriteCond {test}\nRewriteRule ^/{nth}$ - [R=410]\n{no}")
        })
        .collect();
    let ground =
        SecretSite::start(mpm, &[OPEN, ("empty", "")], &format!("RewriteEngine On\n{host}"));
    for (nth, (test, holds)) in tests.iter().enumerate() {
        assert_eq!(ground.ask(&format!("/{nth}")).status == 410, *holds, "{test}");
        if !test.starts_with("expr") {
            assert_eq!(ground.ask(&format!("/not{nth}")).status == 410, !holds, "!{test}");
        }
    }
}

fn no_form(nth: usize, text: &str, pattern: &str) -> String {
    format!("RewriteCond {text} !{pattern}\nRewriteRule ^/not{nth}$ - [R=410]\n")
}

fn groups_are_those_of_their_own_match(mpm: Mpm) {
    let lines = "RewriteEngine On\nRewriteMap low int:tolower\n\
        RewriteRule ^/nested/((a)(b(c)?))?$ /x-$1-$2-$3-$4- [R]\n\
        RewriteRule ^/many/(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)$ /x-$9-$10-$0 [R]\n\
        RewriteCond %{LA-U:REQUEST_URI} ^(.*)$\nRewriteRule ^/ahead/(.+)$ /x-$1-%1 [R]\n\
        RewriteCond ${low:%{REQUEST_URI}} ^/map/(.)(.)\nRewriteRule ^/map/(.+)$ /x-$1-%1-%2 [R]\n\
        RewriteCond first ^(f)\nRewriteCond $1 ^(.)\nRewriteCond %1 ^(.)\n\
        RewriteRule ^/chain/(.+)$ /x-$1-%1-%2 [R]\n\
        RewriteCond no ^(y)\nRewriteRule ^/kept/(.+)$ - [F]\n\
        RewriteRule ^/kept/(.+)$ /x-$1-%1 [R]\n\
        RewriteCond expr \"'abc' =~ /(.)(.)(.)/\"\nRewriteRule ^/expr/(.+)$ /x-$1-%3-%2 [R]\n\
        RewriteCond ab ^(a)(b)|(c)$\nRewriteRule ^/either/(x)|(y)$ /x-$1-$2-%1-%3- [R]";
    let ground = SecretSite::start(mpm, &[OPEN], lines);
    for (target, location) in [
        ("/nested/abc", "/x-abc-a-bc-c-"),
        ("/nested/ab", "/x-ab-a-b--"),
        ("/nested/", "/x-----"),
        ("/many/abcdefghijk", "/x-i-a0-/many/abcdefghijk"),
        ("/ahead/a", "/x-a-/ahead/a"),
        ("/map/ABC", "/x-ABC-a-b"),
        ("/chain/zy", "/x-zy-z-"),
        ("/kept/a", "/x-a-"),
        ("/expr/a", "/x-a-c-b"),
        ("/either/x", "/x-x--a--"),
    ] {
        let response = ground.ask(target);
        let expected = format!("http://localhost{location}");
        assert_eq!(response.field("Location"), Some(&*expected), "{target}: {response:?}");
    }
}

each_mpm! {
    an_encoded_question_mark_never_becomes_a_query,
    a_result_is_the_name_of_a_file_only_if_the_rule_says_so,
    what_no_section_grants_is_out_of_reach_of_every_rule,
    an_encoded_slash_is_the_same_for_rules_and_for_sections,
    a_line_break_behind_a_name_ends_no_pattern,
    hidden_files_are_hidden_from_rules_as_well,
    what_a_client_asks_for_never_names_a_host,
    a_client_is_not_sent_where_a_rule_does_not_send_it,
    a_condition_that_is_false_never_holds,
    groups_are_those_of_their_own_match,
}
