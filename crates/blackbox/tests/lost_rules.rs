//! Lines of a configuration that have no effect here: every one is told, and what would be open
//! without one refuses the start, unless nobody can ask for it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::httpd::{Answer, Root};

const MODULES: &str = "LoadModule session_module x\nLoadModule ssl_module x\n\
                       LoadModule lua_module x\nLoadModule mime_module x\n";

/// What `-t` says about these lines.
fn check(lines: &str) -> (Answer, String) {
    let root = Root::new("");
    root.folder.write("mime.types", "");
    let file = root.folder.write("lines.conf", format!("Include apache2.conf\n{MODULES}{lines}\n"));
    let answer = root.call(&["-t", "-f", "lines.conf"]);
    (answer, file.display().to_string())
}

/// The line of the file that stands before what was written to `check`.
const BEFORE: usize = 5;

#[test]
fn every_line_without_effect_is_told_with_its_place() {
    let host = "<VirtualHost *:8099>\nSession On\nSessionEnv On\n</VirtualHost>\n";
    let (answer, file) = check(&format!("Session On\n{host}{host}SessionEnv Off\n"));
    assert_eq!(answer.code, 0, "{answer:?}");
    for said in [
        format!("warning: {file}:{}: Session is not supported yet", BEFORE + 1),
        format!("also lines {}, {} of {file}", BEFORE + 3, BEFORE + 7),
        format!("also lines {}, {} of {file}", BEFORE + 8, BEFORE + 10),
    ] {
        assert!(answer.err.contains(&said), "{said}: {}", answer.err);
    }
}

#[test]
fn a_summary_says_what_this_server_does_not_do() {
    let host = |port: u16| format!("<VirtualHost *:{port}>\nSessionEnv On\n</VirtualHost>\n");
    let lines = format!("{}{}Session On\n", host(8443), host(8444));
    let (answer, _) = check(&lines);
    let told: Vec<&str> =
        answer.err.lines().filter(|line| line.starts_with("warning: in short: ")).collect();
    let [told] = told[..] else { panic!("{}", answer.err) };
    for part in [
        "not served: 2 virtual hosts, because no Listen opens ports 8443, 8444; ",
        "without effect: 3 lines of mod_session in 1 file; ",
        "; not implemented yet: mod_ssl, mod_lua; see the guide",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(answer.err.ends_with("Syntax OK\n"), "{}", answer.err);
    let root = Root::new("");
    assert_eq!(root.call(&["-t"]).err, "Syntax OK\n");
}

#[test]
fn a_graceful_restart_does_not_tell_every_line_again() {
    let lines = "LoadModule session_module x\nSession On\nSessionEnv On\n";
    let root = Root::new(lines);
    root.start();
    let told = root.call(&["-t"]).err;
    let again = root.call(&["-k", "graceful"]).err;
    root.call(&["-k", "stop"]);
    assert!(told.contains("SessionEnv is not supported yet"), "{told}");
    let summary = told.lines().find(|line| line.starts_with("warning: in short")).unwrap();
    assert_eq!(again, format!("{summary}\n"));
}

#[test]
fn values_for_php_need_its_module() {
    let told = |lines: &str| Root::new(lines).call(&["-t"]).err;
    let section = |file: &str, line: &str| format!("<IfModule {file}>\n{line}\n</IfModule>\n");
    for (name, file) in
        [("php_module", "mod_php.c"), ("php7_module", "mod_php7.c"), ("php5_module", "mod_php5.c")]
    {
        let mut lines = format!("LoadModule {name} x\nphp_value memory_limit 64M\n");
        for other in ["mod_php.c", "mod_php7.c", "mod_php5.c"] {
            let line = if other == file { "php_flag engine on" } else { "Nonsense" };
            lines += &section(other, line);
        }
        assert_eq!(told(&lines), "Syntax OK\n", "{lines}");
        let wrong = told(&format!("LoadModule {name} x\n{}", section(file, "Nonsense")));
        assert!(wrong.contains("Invalid command 'Nonsense'"), "{wrong}");
    }
    let wrong = told("php_value memory_limit 64M\n");
    assert!(wrong.contains("Invalid command 'php_value'"), "{wrong}");
}

#[test]
fn an_output_filter_that_is_not_there_is_told() {
    let lines = "AddOutputFilter INCLUDES .shtml\nSetOutputFilter SUBSTITUTE;DEFLATE;RATE_LIMIT\n";
    let (answer, file) = check(lines);
    assert_eq!(answer.code, 0, "{answer:?}");
    for (line, name) in [(BEFORE + 1, "INCLUDES"), (BEFORE + 2, "SUBSTITUTE")] {
        let said = format!("{file}:{line}: there is no output filter {name} ");
        assert!(answer.err.contains(&said), "{said}: {}", answer.err);
    }
    assert_eq!(answer.err.matches("there is no output filter").count(), 2, "{}", answer.err);
}

#[test]
fn a_rule_that_forbids_is_not_lost() {
    for (rule, name) in [
        ("LuaHookAccessChecker /x.lua check", "LuaHookAccessChecker"),
        ("LuaHookFixups /x.lua check", "LuaHookFixups"),
        ("SSLRequireSSL", "SSLRequireSSL"),
    ] {
        for (text, line) in [
            (format!("SessionEnv On\n{rule}"), BEFORE + 2),
            (format!("<Directory />\n<IfModule ssl_module>\n{rule}\n</IfModule>\n</Directory>"), 8),
        ] {
            let (answer, file) = check(&text);
            assert_eq!(answer.code, 1, "{text}: {answer:?}");
            let place = format!("line {line} of {file}");
            assert!(answer.err.contains(&place), "{text}: {place}: {}", answer.err);
            assert!(
                answer.err.contains(name) && answer.err.contains("would be open"),
                "{answer:?}"
            );
        }
    }
}

#[test]
fn a_section_that_protects_nothing_refuses_no_start() {
    for text in [
        "<IfModule ssl_module>\n<Directory /x>\nRequire all granted\n</Directory>\n</IfModule>",
        "<IfModule ssl_module>\n<FilesMatch \"\\.php$\">\n\
         SetHandler \"proxy:unix:/run/php.sock|fcgi://localhost\"\n</FilesMatch>\n</IfModule>",
        // certbot and default-ssl.conf: nobody listens at this port.
        "<IfModule mod_ssl.c>\n<VirtualHost *:443>\nSSLEngine on\n<Directory /x>\n\
         Require ip 10.0.0.0/8\n</Directory>\n</VirtualHost>\n</IfModule>",
        "<VirtualHost *:443>\nSSLEngine on\nSSLVerifyClient require\n</VirtualHost>",
    ] {
        let (answer, _) = check(text);
        assert_eq!(answer.code, 0, "{text}: {answer:?}");
    }
}

#[test]
fn a_port_for_https_is_not_served_in_clear_text() {
    let host = "<VirtualHost *:8443>\nSSLEngine on\n</VirtualHost>";
    let guarded = format!("<IfModule ssl_module>\n{host}\n</IfModule>");
    for text in [format!("Listen 127.0.0.1:8443\n{host}"), format!("Listen 8443\n{guarded}")] {
        let (answer, _) = check(&text);
        assert_eq!(answer.code, 1, "{text}: {answer:?}");
        let said = "would be answered in clear text";
        assert!(answer.err.contains(said), "{text}: {}", answer.err);
    }
    let unserved = format!("<IfModule ssl_module>\nListen 8443\n{host}\n</IfModule>");
    for text in [unserved.as_str(), host] {
        assert_eq!(check(text).0.code, 0, "{text}");
    }
}
