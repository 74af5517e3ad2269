//! The command line: what it prints, what it refuses, and that a refusal is one clear message on
//! stderr, exit 1 and nothing left running.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::process::{Command, Output};

use blackbox::outside::{not_run, run_command};
use blackbox::scratch::{Scratch, set_mode};
use blackbox::{Mpm, Site, each_mpm, plain_site, process};

/// Runs the binary with these words to its end.
fn trivet(words: &[&str]) -> Output {
    run_command(Command::new(blackbox::binary::trivet()).args(words), 60)
}

/// Runs the binary, which must refuse a command line that it cannot understand.
fn misunderstood(words: &[&str]) -> String {
    refused_with(2, words)
}

/// Runs the binary, which must refuse what it cannot do.
fn refused(words: &[&str]) -> String {
    refused_with(1, words)
}

/// Runs the binary to an exit with `code`; gives what it wrote to stderr.
fn refused_with(code: i32, words: &[&str]) -> String {
    let output = trivet(words);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{words:?}: {text}");
    assert!(!text.trim().is_empty(), "{words:?}: no message");
    assert!(!text.contains("panicked"), "{words:?}: {text}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("http://"), "{words:?} served");
    text
}

/// Starts a site with these directives, which must fail; gives the message.
fn refuses_directives(mpm: Mpm, lines: &[&str]) -> String {
    let (code, text) = plain_site(mpm).directives(lines).start_fails();
    assert_eq!(code, 1, "{lines:?}: {text}");
    assert!(!text.contains("panicked"), "{lines:?}: {text}");
    text
}

fn help_fits_one_screen_and_names_what_there_is(_mpm: Mpm) {
    let serve: [&[&str]; 4] =
        [&["serve", "--help"], &["serve", "-h"], &["help", "serve"], &["serve", ".", "--help"]];
    let overview: [&[&str]; 3] = [&["--help"], &[], &["help"]];
    for words in overview.into_iter().chain(serve) {
        let output = trivet(words);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{words:?}: {}", output.status);
        for word in ["trivet serve", "--listen", "-c", "8080"] {
            assert!(text.contains(word), "{words:?}: no {word} in {text}");
        }
        assert!(text.lines().count() <= 60, "{} lines are no screen", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}

fn the_help_of_serve_names_options_and_directives(_mpm: Mpm) {
    let told = |words: &[&str]| {
        let output = trivet(words);
        assert!(output.status.success(), "{words:?}: {}", output.status);
        String::from_utf8(output.stdout).unwrap()
    };
    let overview = told(&["--help"]);
    assert!(overview.contains("serve --help directives"), "{overview}");
    let help = told(&["serve", "--help"]);
    for words in [["serve", "-h"], ["help", "serve"]] {
        assert_eq!(told(&words), help, "{words:?}");
    }
    let all = told(&["serve", "--help", "directives"]);
    for name in ["KeepAliveTimeout", "<Directory>", "CustomLog", "Require", "HiddenNames"] {
        assert!(all.contains(name), "no {name}");
    }
    assert!(help.contains("core ") && help.contains(" autoindex"), "{help}");
    let of_module = told(&["serve", "--help", "dir"]);
    assert!(of_module.contains("DirectorySlash") && !of_module.contains("Require"), "{of_module}");
    assert!(all.contains("Sets how long a connection may wait for its next request"), "{all}");
    assert!(all.contains("(default: 5)"), "{all}");
    let one = told(&["serve", "--help", "keepalivetimeout"]);
    assert!(one.contains("\nDefault: 5\n") && one.contains("\n    KeepAliveTimeout 15\n"), "{one}");
    assert_eq!(told(&["help", "serve", "KeepAliveTimeout"]), one);
    let text = misunderstood(&["serve", "--help", "KeepAlve"]);
    assert!(text.contains("KeepAlve") && text.contains("KeepAlive?"), "{text}");
    assert!(misunderstood(&["help", "nonsense"]).contains("nonsense"));
}

fn the_version_is_told_as_httpd_tells_it(_mpm: Mpm) {
    for word in ["--version", "-v"] {
        let text = String::from_utf8(trivet(&[word]).stdout).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("Server version: Apache/2.4.71 (Trivet/"), "{text}");
        assert!(lines[1].starts_with("Server built:   20"), "{text}");
        assert_eq!(lines.len(), 2, "{text}");
    }
}

fn unknown_words_are_named(_mpm: Mpm) {
    assert!(misunderstood(&["serve", "--nonsense"]).contains("--nonsense"));
    assert!(misunderstood(&["nonsense"]).contains("nonsense"));
    assert!(misunderstood(&["serve", ".", "--mpm", "nonsense"]).contains("nonsense"));
    misunderstood(&["serve", ".", "--listen"]);
    misunderstood(&["serve", ".", "-c"]);
}

fn words_of_other_servers_lead_to_the_right_ones(_mpm: Mpm) {
    let scratch = Scratch::new();
    let folder = scratch.path().to_str().unwrap();
    for (words, hint) in [
        (&["serve", "-p", "8400"][..], "write --listen ADDR:PORT"),
        (&["serve", "--port", "8400"], "write --listen ADDR:PORT"),
        (&["serve", "--port=8400"], "write --listen ADDR:PORT"),
        (&["serve", "--root", folder], "write trivet serve DIR"),
        (&["serve", "--lisen", "8400"], "did you mean --listen?"),
        (&["serve", folder, "8400"], "'8400' is one too many"),
        (&[folder], "write trivet serve /"),
        (&["http://127.0.0.1/"], "write trivet bench http://127.0.0.1/"),
        (&["--listen", "8400"], "write trivet serve [DIR] --listen"),
        (&["--mpm", "worker"], "write trivet serve [DIR] --mpm"),
        (&["sreve"], "did you mean serve?"),
    ] {
        let text = misunderstood(words);
        assert!(text.contains(hint), "{words:?}: {text}");
    }
}

fn a_module_is_explained_under_each_of_its_names(_mpm: Mpm) {
    let explained = |topic: &str| trivet(&["serve", "--help", topic]);
    let expected = explained("dir");
    assert!(String::from_utf8_lossy(&expected.stdout).contains("DirectoryIndex"));
    for topic in ["mod_dir", "mod_dir.c", "dir_module"] {
        assert_eq!(explained(topic), expected, "{topic}");
    }
}

fn a_listen_address_that_is_none_is_refused(_mpm: Mpm) {
    for address in ["nonsense", "127.0.0.1:99999", "127.0.0.1", "1.2.3.4.5:80", ":"] {
        let text = misunderstood(&["serve", ".", "--listen", address]);
        assert!(text.contains(address), "{address}: {text}");
    }
}

fn an_address_of_another_machine_is_refused(_mpm: Mpm) {
    let text = refused(&["serve", ".", "--listen", "192.0.2.1:8080"]);
    assert!(text.contains("192.0.2.1:8080"), "{text}");
}

fn a_missing_folder_is_one_message(_mpm: Mpm) {
    let scratch = Scratch::new();
    let missing = scratch.join("missing").to_str().unwrap().to_string();
    let text = refused(&["serve", &missing, "--listen", "127.0.0.1:0"]);
    assert!(text.contains(&missing) && !text.contains("os error"), "{text}");
    assert_eq!(text.trim().lines().count(), 1, "{text}");
    let file = scratch.write("file", "x").to_str().unwrap().to_string();
    let text = refused(&["serve", &file, "--listen", "127.0.0.1:0"]);
    assert!(text.contains(&file), "{text}");
}

fn a_misspelled_directive_is_refused_with_a_suggestion(mpm: Mpm) {
    let text = refuses_directives(mpm, &["KeepAlve On"]);
    assert!(text.contains("KeepAlve") && text.contains("KeepAlive?"), "{text}");
    let text = refuses_directives(mpm, &["TimeOuts 3"]);
    assert!(text.to_lowercase().contains("timeout?"), "{text}");
}

fn every_error_is_told_not_only_the_first(mpm: Mpm) {
    let text = refuses_directives(mpm, &["KeepAlve On", "Timeout never", "KeepAlive maybe"]);
    for word in ["KeepAlve", "never", "KeepAlive must be On or Off"] {
        assert!(text.contains(word), "no {word} in {text}");
    }
}

fn messages_tell_which_directive_is_meant(mpm: Mpm) {
    // The harness itself gives the first.
    let lines = ["KeepAlive On", "KeepAlve On", "Session On", "Timeout never"];
    let text = refuses_directives(mpm, &lines);
    for part in [
        "warning: -c number 4: Session is not supported yet",
        "AH00526: Syntax error on line 3 of -c/-C directives:\nInvalid command 'KeepAlve'",
        "-c number 5: Timeout ",
        "\n  5 | Timeout never\n    |         ^^^^^\n",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
}

/// Sections that Trivet does not have, around a line.
const MISSING_SECTIONS: [(&str, &str); 2] =
    [("<LuaHookFixups x>", "</LuaHookFixups>"), ("<MDomainSet x>", "</MDomainSet>")];

fn an_access_rule_that_would_be_lost_is_refused(mpm: Mpm) {
    for (open, close) in MISSING_SECTIONS {
        for rule in ["Require all denied", "Deny from all", "SetHandler cgi-script"] {
            let text =
                refuses_directives(mpm, &["<Location /x>", open, rule, close, "</Location>"]);
            let name = open.split([' ', '>']).next().unwrap();
            let rule = rule.split(' ').next().unwrap();
            for part in [name, rule, "use <Directory>, <Files> or <Location>"] {
                assert!(text.contains(part), "{open} {rule}: no {part} in {text}");
            }
        }
    }
}

fn a_missing_section_that_protects_nothing_is_a_warning(mpm: Mpm) {
    let lines = ["<MDomainSet x>", "AddType text/x-new .txt", "</MDomainSet>"];
    let server = plain_site(mpm).directives(&lines).start();
    let text = server.error_text();
    assert!(text.contains("warning: -c number 2: <MDomainSet> is not supported yet"), "{text}");
    assert_eq!(server.get("/a.txt").field("Content-Type"), Some("text/plain"));
}

fn numbers_out_of_range_are_refused(mpm: Mpm) {
    for line in [
        "Timeout -1",
        "Timeout abc",
        "KeepAliveTimeout x",
        "LimitRequestLine -1",
        "LimitRequestBody many",
        "MaxRanges -1",
        "Listen 99999",
        "LogLevel loud",
        "RequestReadTimeout header=x",
    ] {
        let text = refuses_directives(mpm, &[line]);
        let name = line.split(' ').next().unwrap();
        assert!(text.contains(name), "{line}: {text}");
    }
}

fn sizes_below_one_are_raised_with_a_warning(mpm: Mpm) {
    // As httpd does (AH00516 and its neighbours): the server starts and says what it made of it.
    for line in ["MaxRequestWorkers 0", "MaxRequestWorkers -5", "StartServers 0"] {
        let server = plain_site(mpm).directive(line).start();
        assert_eq!(server.get("/").status, 200, "{line}");
        let name = line.split(' ').next().unwrap();
        let told = server.error_text().lines().any(|it| it.contains(name) && it.contains("WARN"));
        assert!(told, "{line}: {}", server.error_text());
    }
}

fn sections_that_do_not_match_are_refused(mpm: Mpm) {
    for lines in [
        ["<Location /x>", "KeepAlive On"].as_slice(),
        &["</Location>"],
        &["<Location /x>", "</Directory>"],
        &["<Nonsense x>", "</Nonsense>"],
        &["<Location", "</Location>"],
    ] {
        assert!(!refuses_directives(mpm, lines).trim().is_empty());
    }
}

fn a_log_that_cannot_be_opened_is_refused(mpm: Mpm) {
    let path = "/nonexistent/folder/x.log";
    for line in [format!("CustomLog {path} combined"), format!("ErrorLog {path}")] {
        let text = refuses_directives(mpm, &[&line]);
        assert!(text.contains(path), "{text}");
    }
}

fn the_banner_tells_what_is_served_and_by_whom(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let banner = server.banner();
    let address = format!("http://{}/", server.address());
    let lines = banner.lines().filter(|line| line.contains("http://")).count();
    assert!(banner.contains(&address) && lines == 1, "{banner}");
    assert!(banner.contains(mpm.name()), "{banner}");
    let folder = server.root().path().to_str().unwrap();
    let pid = server.pid().to_string();
    blackbox::wait_for("the folder and the process id", 5, || {
        let banner = server.banner();
        banner.contains(folder) && banner.contains(&pid)
    });
    assert_eq!(server.get("/").status, 200);
}

fn the_banner_shows_an_address_that_can_be_opened(mpm: Mpm) {
    let server = plain_site(mpm).listen("0.0.0.0:0").start();
    let banner = server.banner();
    assert!(banner.contains(" at http://127.0.0.1:") && !banner.contains("0.0.0.0"), "{banner}");
    assert!(banner.contains("and at every other address of this machine"), "{banner}");
    assert_eq!(server.get("/").status, 200);
}

fn a_folder_below_one_that_only_root_may_enter_is_served(mpm: Mpm) {
    let scratch = Scratch::new();
    scratch.write("shut/site/index.html", "inside");
    scratch.write("shut/site/deep/er/a.txt", "deep");
    set_mode(&scratch.join("shut"), 0o700);
    let server = Site::new(mpm).folder(scratch.join("shut/site")).start();
    assert_eq!(server.get("/").text(), "inside");
    assert_eq!(server.get("/deep/er/a.txt").text(), "deep");
    assert_eq!(server.get("/deep/er/").status, 200);
    assert_eq!(server.get("/deep").status, 301);
}

fn a_folder_that_children_may_not_read_is_one_message(mpm: Mpm) {
    let scratch = Scratch::new();
    scratch.write("shut/index.html", "inside");
    let mode = if process::am_root() { 0o700 } else { 0o000 };
    set_mode(&scratch.join("shut"), mode);
    let (code, text) = Site::new(mpm).folder(scratch.join("shut")).start_fails();
    set_mode(&scratch.join("shut"), 0o755);
    assert_eq!(code, 1, "{text}");
    assert_eq!(text.trim().lines().count(), 1, "{text}");
    assert!(text.contains(scratch.join("shut").to_str().unwrap()), "{text}");
}

fn a_privileged_port_without_the_right_is_one_message(mpm: Mpm) {
    let name = "a_privileged_port_without_the_right_is_one_message";
    let limit = fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start").unwrap();
    if process::am_root() || limit.trim() == "0" {
        return not_run(name, "this user may listen at every port");
    }
    let (code, text) = plain_site(mpm).listen("127.0.0.1:81").start_fails();
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("127.0.0.1:81"), "{text}");
}

fn an_ipv6_address_can_be_listened_at(mpm: Mpm) {
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        return not_run("an_ipv6_address_can_be_listened_at", "this machine has no IPv6");
    }
    let server = plain_site(mpm).listen("[::1]:0").start();
    assert!(server.address().is_ipv6());
    assert_eq!(server.get("/a.txt").text(), "0123456789abcdefghij");
    assert!(server.wait_log(1)[0].starts_with("::1 - - ["));
}

fn the_last_of_several_lines_wins(mpm: Mpm) {
    let site = plain_site(mpm).directives(&["KeepAlive Off", "keepalive on", "ServerTokens Prod"]);
    let server = site.start();
    let mut client = server.connect();
    let response = client.get("/a.txt");
    assert!(!response.says_close());
    assert_eq!(response.field("Server"), Some("Apache"));
    assert_eq!(client.get("/a.txt").status, 200);
}

each_mpm! {
    help_fits_one_screen_and_names_what_there_is,
    the_help_of_serve_names_options_and_directives,
    the_version_is_told_as_httpd_tells_it,
    unknown_words_are_named,
    words_of_other_servers_lead_to_the_right_ones,
    a_module_is_explained_under_each_of_its_names,
    a_listen_address_that_is_none_is_refused,
    an_address_of_another_machine_is_refused,
    a_missing_folder_is_one_message,
    a_misspelled_directive_is_refused_with_a_suggestion,
    every_error_is_told_not_only_the_first,
    messages_tell_which_directive_is_meant,
    an_access_rule_that_would_be_lost_is_refused,
    a_missing_section_that_protects_nothing_is_a_warning,
    numbers_out_of_range_are_refused,
    sizes_below_one_are_raised_with_a_warning,
    sections_that_do_not_match_are_refused,
    a_log_that_cannot_be_opened_is_refused,
    the_banner_tells_what_is_served_and_by_whom,
    the_banner_shows_an_address_that_can_be_opened,
    a_folder_below_one_that_only_root_may_enter_is_served,
    a_folder_that_children_may_not_read_is_one_message,
    a_privileged_port_without_the_right_is_one_message,
    an_ipv6_address_can_be_listened_at,
    the_last_of_several_lines_wins,
}
