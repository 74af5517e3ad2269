//! `trivet explain` beside the server that it speaks of: of hundreds of requests it says the
//! status, the redirect, the file and the handler that the running server then has.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::httpd::Answer;
use blackbox::outside::run_command;
use blackbox::rewrite::explained;
use blackbox::scratch::{Scratch, set_mode};
use blackbox::{Mpm, binary, process};
use std::net::TcpListener;
use std::process::Command;

#[test]
fn what_is_explained_for_the_rules_of_applications_is_what_the_server_does() {
    explained::compare(Mpm::Event, "sites", 6);
}

#[test]
fn what_is_explained_for_rules_in_all_contexts_is_what_the_server_does() {
    explained::compare(Mpm::Event, "contexts", 1);
}

/// A folder with a configuration: `{}` in the lines is the folder.
struct Explained {
    folder: Scratch,
}

impl Explained {
    fn new(lines: &str) -> Self {
        let folder = Scratch::new();
        let user = if process::am_root() { "User www-data\nGroup www-data\n" } else { "\n\n" };
        let lines = lines.replace("{}", &folder.path().display().to_string());
        folder.write("site.conf", format!("{user}Listen 127.0.0.1:80\n{lines}"));
        Self { folder }
    }

    /// `trivet explain` with this configuration; the folder is `/srv` in what it says.
    fn call(&self, words: &[&str]) -> Answer {
        let mut command = Command::new(binary::trivet());
        command.arg("explain").arg("--config").arg(self.folder.join("site.conf")).args(words);
        let mut answer = Answer::of(&run_command(&mut command, 30));
        let here = self.folder.path().display().to_string();
        answer.out = answer.out.replace(&here, "/srv").replace(", as user www-data", "");
        answer
    }

    fn text(&self, words: &[&str]) -> String {
        let answer = self.call(words);
        assert_eq!((answer.code, answer.err.as_str()), (0, ""), "{words:?} {answer:?}");
        answer.out
    }

    /// Whether what is said has these parts, in this order.
    #[track_caller]
    fn says(&self, words: &[&str], parts: &[&str]) {
        let text = self.text(words);
        let mut rest = text.as_str();
        for part in parts {
            let (_, behind) =
                rest.split_once(part).unwrap_or_else(|| panic!("no {part:?} there in\n{text}"));
            rest = behind;
        }
    }
}

const WORDPRESS: &str = "RewriteEngine On
RewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]
RewriteBase /
RewriteRule ^index\\.php$ - [L]
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_FILENAME} !-d
RewriteRule . /index.php [L]
";

fn blog() -> Explained {
    let blog = Explained::new(
        "<VirtualHost *:80>\nServerName blog.example\nDocumentRoot {}/blog\n</VirtualHost>\n\
         DirectoryIndex index.php\n\
         <Directory {}/blog>\nAllowOverride All\nOptions FollowSymLinks\nRequire all granted\n\
         </Directory>\n\
         <FilesMatch \"\\.php$\">\n\
         SetHandler \"proxy:unix:/run/php/php8.2-fpm.sock|fcgi://localhost\"\n</FilesMatch>\n",
    );
    for file in ["index.php", "readme.html", "wp-admin/index.php", "pic.jpg"] {
        blog.folder.write(format!("blog/{file}"), file);
    }
    blog.folder.write("blog/.htaccess", WORDPRESS);
    blog
}

#[test]
fn a_permalink_of_wordpress_is_followed_to_its_script() {
    blog().says(
        &["http://blog.example/2024/hello/?x=1"],
        &[
            "> GET /2024/hello/?x=1 HTTP/1.1\n> Host: blog.example\n",
            "host     blog.example, by ServerName  (/srv/site.conf:",
            "request  GET /2024/hello/?x=1\n",
            "section  <Directory \"/srv/blog\">  (/srv/site.conf:",
            "         /srv/blog/.htaccess\n",
            "place    /srv/blog/2024 (not there), behind it /hello/\n",
            "access   Require all granted: granted  (/srv/site.conf:12)\n",
            "         allowed\n",
            "rule     rules of /srv/blog/, which see the path below that\n",
            "RewriteRule ^index\\.php$ - [L]  (/srv/blog/.htaccess:4)\n",
            "'2024/hello/' does not match\n",
            "RewriteRule . /index.php [L]  (/srv/blog/.htaccess:7)\n",
            "'2024/hello/' matches\n",
            "input='/srv/blog/2024' pattern='!-f' => matched  (/srv/blog/.htaccess:5)\n",
            "pattern='!-d' => matched  (/srv/blog/.htaccess:6)\n",
            "request  GET /index.php?x=1, by internal redirect 1\n",
            "section  <Directory",
            "<FilesMatch \"\\.php$\">",
            "place    /srv/blog/index.php (a file)\n",
            "'index.php' matches\n",
            "answer   handler proxy-server\n",
            "the FastCGI application at /run/php/php8.2-fpm.sock would be asked\n",
            "result   what the script says, 200 OK if it names no status\n",
            "file     /srv/blog/index.php\n",
            "REDIRECT_URL=/2024/hello/\n",
            "QUERY_STRING=x=1\n",
            "SCRIPT_FILENAME=proxy:fcgi://localhost/srv/blog/index.php\n",
        ],
    );
}

#[test]
fn a_file_and_a_folder_of_wordpress_are_left_alone() {
    let blog = blog();
    blog.says(
        &["http://blog.example/readme.html"],
        &["pattern='!-f' => not-matched", "pass through /srv/blog/readme.html", "result   200 OK"],
    );
    blog.says(
        &["http://blog.example/wp-admin"],
        &[
            "pattern='!-d' => not-matched",
            "DirectorySlash: the URL of a directory ends with a slash",
            "result   301 Moved Permanently\n",
            "Location: http://blog.example/wp-admin/\n",
        ],
    );
    blog.says(
        &["http://blog.example/wp-admin/"],
        &[
            "look-up    GET /wp-admin/index.php",
            "DirectoryIndex: index.php answers  (/srv/site.conf:8)",
        ],
    );
}

#[test]
fn what_answers_for_what_is_not_there_is_named() {
    let site = Explained::new(
        "DocumentRoot {}/www\nFallbackResource /index.html\nErrorDocument 403 /no.html\n\
         <Location /shut>\nRequire all denied\n</Location>\nAlias /pics {}/pictures\n",
    );
    for name in ["www/index.html", "www/no.html", "pictures/a.gif"] {
        site.folder.write(name, "x");
    }
    site.says(
        &["/none"],
        &["FallbackResource: /index.html answers  (/srv/site.conf:5)", "file     /srv/www/index"],
    );
    site.says(
        &["/shut"],
        &[
            "<Location \"/shut\">  (/srv/site.conf:7)",
            "Require all denied: denied  (/srv/site.conf:8)",
            "refused with 403",
            "GET /no.html, the error document",
            "result   403 Forbidden\nfile     /srv/www/no.html",
        ],
    );
    let alias = "Alias /pics /srv/pictures  (/srv/site.conf:10)";
    site.says(&["/pics/a.gif"], &[alias, "file     /srv/pictures/a.gif"]);
}

#[test]
fn the_host_that_answers_is_named_with_the_reason() {
    let hosts = Explained::new(
        "<VirtualHost *:80>\nServerName a.test\nDocumentRoot {}/a\n</VirtualHost>\n\
         <VirtualHost *:80>\nServerName b.test\nServerAlias *.b.test\nDocumentRoot {}/b\n\
         </VirtualHost>\nListen 127.0.0.1:81\n",
    );
    for (url, reason) in [
        ("http://a.test/", "a.test, by ServerName  (/srv/site.conf:"),
        ("http://www.b.test/", "b.test, as www.b.test is one of its aliases (*.b.test)"),
        ("http://c.test/", "a.test, the first for 127.0.0.1:80: no host there is called 'c.test'"),
        ("http://b.test:81/", "the main server: no <VirtualHost> is for 127.0.0.1:81"),
    ] {
        hosts.says(&[url], &["host     ", reason]);
    }
    hosts.says(&["-H", "Host: www.b.test", "/"], &["b.test, as www.b.test is one"]);
    hosts.says(&["http://b.test:82/"], &["(nobody listens at the port of the URL)"]);
    blog().says(&["-H", "Host: .", "/"], &["result   400 Bad Request"]);
}

#[test]
fn who_asks_decides_as_it_does_in_the_server() {
    let site = Explained::new(
        "DocumentRoot {}/www\n<Location /near>\nRequire ip 192.0.2.7\n</Location>\n\
         <Location /mine>\nAuthType Basic\nAuthName x\nAuthUserFile {}/users\n\
         Require valid-user\n</Location>\n",
    );
    site.folder.write("users", "ann:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n");
    for name in ["near", "mine"] {
        site.folder.write(format!("www/{name}"), name);
    }
    site.says(
        &["/near"],
        &["Require ip 192.0.2.7: denied  (/srv/site.conf:6)", "refused with 403", "result   403"],
    );
    site.says(&["/near", "--from", "192.0.2.7"], &["allowed", "result   200 OK"]);
    site.says(&["/mine"], &["refused with 401", "result   401 Unauthorized"]);
    site.says(&["/mine", "-u", "ann:secret"], &["allowed", "result   200 OK", "user     ann"]);
    site.says(&["/mine", "-u", "ann:wrong"], &["result   401 Unauthorized"]);
    site.says(&["/near", "-X", "OPTIONS", "--from", "192.0.2.7"], &["result   200 OK"]);
}

#[test]
fn nothing_is_run_asked_logged_or_listened_at() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let site = Explained::new(&format!(
        "DocumentRoot {{}}/www\nErrorLog {{}}/error.log\nLogLevel trace8\n\
         ScriptLog {{}}/script.log\nCustomLog {{}}/access.log common\n\
         CustomLog \"|touch {{}}/log-program\" common\n\
         <Directory {{}}/www>\nOptions ExecCGI\nAddHandler cgi-script .cgi\n</Directory>\n\
         RewriteEngine On\nRewriteMap m \"prg:{{}}/map\"\n\
         RewriteRule ^/mapped/(.*)$ /${{m:$1|none}}\n\
         <Location /app>\nSetHandler proxy:fcgi://{address}\n</Location>\n"
    ));
    let here = site.folder.path().display().to_string();
    for name in ["www/run.cgi", "map"] {
        let file = site.folder.write(name, format!("#!/bin/sh\ntouch {here}/ran\n"));
        set_mode(&file, 0o755);
    }
    set_mode(site.folder.path(), 0o777);
    site.says(&["/run.cgi/more?x"], &["the program /srv/www/run.cgi would run", "PATH_INFO=/more"]);
    site.says(&["/none.cgi"], &["script not found or unable to stat", "result   404"]);
    site.says(&["/mapped/a"], &["/srv/map would be asked for 'a'", "result   404 Not Found"]);
    let application = format!("the FastCGI application at {address} would be asked");
    site.says(&["/app/x"], &[&application, "result   what the script says"]);
    site.says(&["/none"], &["result   404 Not Found"]);
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "somebody has connected");
    for name in ["error.log", "access.log", "script.log", "log-program", "ran"] {
        assert!(!site.folder.join(name).exists(), "{name} is there");
    }
}

#[test]
fn rules_without_end_are_explained_to_their_end() {
    let site = Explained::new(
        "DocumentRoot {}/www\n<Directory {}/www>\nOptions FollowSymLinks\nRewriteEngine On\n\
         RewriteRule ^on/(.*)$ on/x$1 [N]\nRewriteRule ^(.*)$ app/$1 [L]\n</Directory>\n",
    );
    site.folder.write("www/index.html", "x");
    for url in ["/a", "/on/a"] {
        let answer = site.call(&[url]);
        assert!(answer.err.contains("goes round in circles"), "{}", answer.err);
        assert!(answer.out.contains("result   500"), "{url} {} bytes", answer.out.len());
        assert!(answer.out.len() < 16 << 20, "{url} {} bytes", answer.out.len());
    }
}

#[test]
fn mistakes_are_told_as_the_server_tells_them() {
    let broken = Explained::new("KeepAlive maybe\n");
    let answer = broken.call(&["/"]);
    assert_eq!((answer.code, answer.out.as_str()), (1, ""));
    assert!(answer.err.contains("KeepAlive must be On or Off"), "{answer:?}");
    let blog = blog();
    for (words, code, said) in [
        (&["blog.example/x"][..], 2, "'blog.example/x' is no URL: write http://HOST/PATH"),
        (&["/a b"], 2, "a blank in it is written %20"),
        (&[], 2, "trivet explain needs a URL"),
        (&["/x", "-H", "nonsense"], 2, "--header 'nonsense' is none"),
        (&["/x", "-H", "A: b\r\nC: d"], 2, "a method, a URL or a header is one line"),
        (&["/x", "--from", "me"], 2, "--from me is no IP address"),
        (&["/x", "/y"], 2, "a folder and --config exclude each other"),
        (&["/x", "-f", "y"], 2, "not both"),
    ] {
        let answer = blog.call(words);
        assert_eq!((answer.code, answer.out.as_str()), (code, ""), "{words:?} {answer:?}");
        assert!(answer.err.contains(said), "{words:?} {answer:?}");
    }
    for (words, said) in [
        (["explain", "/", "/none/such"], "cannot serve /none/such: there is no such folder"),
        (["explain", "--config=/none/such", "/"], "Could not open configuration file /none/such"),
        (["explain", "-f/none/such", "/"], "/none/such"),
    ] {
        let answer = Answer::of(&run_command(Command::new(binary::trivet()).args(words), 30));
        assert_eq!((answer.code, answer.out.as_str()), (1, ""), "{words:?} {answer:?}");
        assert!(answer.err.contains(said), "{words:?} {answer:?}");
    }
    // A request that the server refuses is no mistake.
    blog.says(&["/%zz"], &["invalid URI path (/%zz)", "result   400 Bad Request"]);
}

#[test]
fn a_folder_is_explained_as_trivet_serve_has_it() {
    let folder = Scratch::new();
    folder.write("site/index.html", "x");
    let site = folder.join("site").display().to_string();
    let lines = ["explain", "/", site.as_str(), "-c", "RedirectMatch ^/old /new"];
    let call = |words: &[&str]| {
        let answer = Answer::of(&run_command(Command::new(binary::trivet()).args(words), 30));
        assert_eq!((answer.code, answer.err.as_str()), (0, ""), "{answer:?}");
        answer.out
    };
    let text = call(&lines);
    assert!(text.contains("127.0.0.1:8080") && text.contains("result   200 OK"), "{text}");
    let text = call(&["explain", "/old?x", lines[2], lines[3], lines[4]]);
    let place = "RedirectMatch ^/old with 302: /new  (-c/-C directives:1)";
    assert!(text.contains(place) && text.contains("Location: http://localhost/new?x"), "{text}");
}

/// The guide shows what is really printed.
#[test]
fn the_guide_shows_what_is_printed() {
    let guide = include_str!("../../../docs/guide/rewrite.md");
    let (_, block) = guide.split_once("```text\n$ trivet explain ").unwrap();
    let (line, rest) = block.split_once('\n').unwrap();
    let expected = rest.split_once("```").unwrap().0;
    let words: Vec<&str> = line.split(' ').filter(|word| !word.contains("site.conf")).collect();
    assert_eq!(words[0], "--config", "{line}");
    assert_eq!(blog().text(&words[1..]), expected);
}
