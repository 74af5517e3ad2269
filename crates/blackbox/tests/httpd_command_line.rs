//! The command line of httpd: options, texts, exit codes. What is expected is written out here;
//! where httpd itself is installed its answers are compared, too.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use blackbox::httpd::{Answer, Root};
use blackbox::outside::run_command;
use blackbox::process;
use blackbox::releases::{Program, as_of_today, httpd};

#[test]
fn answers_that_need_no_configuration() {
    let root = Root::new("");
    let usage = root.call(&["-h"]);
    assert_eq!((usage.code, usage.out.as_str()), (1, ""));
    assert!(usage.err.starts_with(&root.usage_head("apache2")));
    assert_eq!(usage.err.lines().count(), 26);
    root.call(&["-t", "extra"]).is(1, "", &usage.err);
    root.call(&["-?"]).is(1, "", &usage.err);
    root.call(&["-e", "loud"]).is(1, "", &usage.err);
    for (words, said) in [
        (&["-Z"] as &[&str], "illegal option -- Z"),
        (&["-k", "bogus"], "illegal option -- k"),
        (&["-k"], "illegal option -- k"),
        (&["-f"], "option requires an argument -- f"),
    ] {
        root.call(words).is(1, "", &format!("apache2: {said}\n{}", usage.err));
    }
    root.call(&["-l"]).is(
        0,
        "Compiled in modules:\n  core.c\n  mod_so.c\n  mod_watchdog.c\n  http_core.c\n  \
         mod_log_config.c\n  mod_logio.c\n  mod_version.c\n  mod_unixd.c\n",
        "",
    );
    let version = root.call(&["-v", "-Z"]).out;
    assert!(version.starts_with("Server version: Apache/2.4.71 (Trivet/0.1)\nServer built:   "));
}

#[test]
fn a_file_for_errors_that_cannot_be_opened_is_told_and_no_more() {
    let root = Root::new("ServerName localhost\n");
    let answer = root.call(&["-E", "/nonexistent/x", "-t"]);
    let expected = "(2)No such file or directory: AH00086: apache2: could not open error log file \
                    /nonexistent/x.\n";
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(answer.err.starts_with(expected) && answer.err.ends_with("Syntax OK\n"), "{answer:?}");
}

#[test]
fn what_is_included_is_shown_although_a_line_is_wrong() {
    let root = Root::new("Include other.conf\nBogus\nInclude other.conf\n");
    root.folder.write("other.conf", "Timeout 5\n");
    let answer = root.call(&["-t", "-D", "DUMP_INCLUDES"]);
    let tree = root.plain(&answer.out);
    assert!(tree.starts_with("Included configuration files:\n  (*) ROOT/"), "{answer:?}");
    assert_eq!(tree.matches(") ROOT/other.conf\n").count(), 2, "{answer:?}");
    assert_eq!(answer.code, 1);
    assert!(answer.err.contains("Invalid command 'Bogus'"), "{answer:?}");
}

#[test]
fn messages_carry_the_name_that_the_program_was_called_by() {
    let root = Root::new("");
    for name in ["apache2", "httpd", "trivet", "other"] {
        let answer = root.call_as(name, &["-t", "-f", "nope.conf"]);
        let expected = format!(
            "{name}: Could not open configuration file ROOT/nope.conf: No such file or directory\n"
        );
        assert_eq!((answer.code, root.plain(&answer.err)), (1, expected));
    }
    // Under another name than httpd's a word is a command of trivet.
    let mut command = Command::new(root.program("other"));
    let answer = Answer::of(&run_command(command.arg("--version"), 60));
    assert!(answer.out.starts_with("Server version: "), "{answer:?}");
    let mut command = Command::new(root.program("httpd"));
    let answer = Answer::of(&run_command(command.arg("--help"), 60));
    let expected = format!("httpd: illegal option -- -\n{}", root.usage_head("httpd"));
    assert!(answer.err.starts_with(&expected), "{answer:?}");
}

#[test]
fn a_configuration_is_tested() {
    let root = Root::new("");
    root.call(&["-t"]).is(0, "", "Syntax OK\n");
    let not_there = "DocumentRoot /not/there";
    root.call(&["-t", "-T", "-c", not_there]).is(0, "", "Syntax OK\n");
    assert!(!root.folder.join("logs/access.log").exists(), "a test opens no log");
    let bad = "Syntax error on line 1 of -c/-C directives:";
    let command_line = "apache2: Syntax error in -C/-c directive:";
    let invalid = "perhaps misspelled or defined by a module not included in the server \
                   configuration";
    for (line, expected) in [
        (
            not_there,
            format!(
                "AH00526: {bad}\nDocumentRoot '/not/there' is not a directory, or is not readable"
            ),
        ),
        ("KeepAlive x", format!("AH00526: {bad}\nKeepAlive must be On or Off")),
        ("Foo", format!("AH00526: {bad}\nInvalid command 'Foo', {invalid}")),
        ("Alias /a /b", format!("AH00526: {bad}\nInvalid command 'Alias', {invalid}")),
        ("User nobody-of-this-name", "AH00543: apache2: bad user name nobody-of-this-name".into()),
        ("Group none-of-this-name", "AH00544: apache2: bad group name none-of-this-name".into()),
        (
            "ErrorLog nope/x.log",
            "(2)No such file or directory: AH02291: Cannot access directory \
             'ROOT/nope/' for main error log\nAH00014: Configuration check failed"
                .into(),
        ),
        (
            "LoadModule so_module x",
            format!("{command_line} module so_module is built-in and can't be loaded"),
        ),
        (
            "LoadModule foo_module modules/mod_foo.so",
            format!(
                "{command_line} Cannot load modules/mod_foo.so into server: \
                 ROOT/modules/mod_foo.so: cannot open shared object file: No such file or directory"
            ),
        ),
        (
            "DefaultRuntimeDir nope",
            format!(
                "{command_line} DefaultRuntimeDir must be a valid directory, absolute or \
                 relative to ServerRoot"
            ),
        ),
    ] {
        let answer = root.call(&["-t", "-c", line]);
        let err = root.plain(&answer.err);
        assert_eq!((answer.code, answer.out.as_str()), (1, ""), "{line}: {err}");
        assert!(err.starts_with(&format!("{expected}\n")), "{line}: {err}");
    }
    let all = root.call(&["-t", "-C", "Bar", "-c", "Foo", "-c", "Alias /a /b"]).err;
    assert!(all.starts_with(&format!("AH00526: {bad}\nInvalid command 'Bar', ")), "{all}");
    assert!(all.contains("Invalid command 'Foo'"), "{all}");
    assert!(all.contains("did you mean to load alias_module?"), "{all}");
}

#[test]
fn modules_are_there_when_they_are_loaded() {
    let root = Root::new("LoadModule alias_module x\nAlias /b /c\nLoadModule dir_module y\n");
    root.call(&["-M"]).is(
        0,
        "Loaded Modules:\n core_module (static)\n so_module (static)\n watchdog_module (static)\n \
         http_module (static)\n log_config_module (static)\n logio_module (static)\n \
         version_module (static)\n unixd_module (static)\n mpm_event_module (shared)\n \
         authz_core_module (shared)\n alias_module (shared)\n dir_module (shared)\n",
        "",
    );
    let twice = root.call(&["-t", "-c", "LoadModule alias_module x"]).err;
    let expected = "AH01574: module alias_module is already loaded, skipping\nSyntax OK\n";
    assert!(twice.contains("] [so:warn] [pid ") && twice.ends_with(expected), "{twice}");
    let quiet = root.call(&["-t", "-e", "error", "-c", "LoadModule alias_module x"]).err;
    assert_eq!(quiet, "Syntax OK\n");
    let debug = root.call(&["-t", "-e", "debug"]).err;
    let expected = "AH01575: loaded module dir_module from ROOT/y";
    assert!(root.plain(&debug).contains(expected), "{debug}");
    // What httpd has and this server lacks is said once, and its directives as well.
    let sizes = ["-t", "-c", "MaxRequestWorkers 410", "-c", "ThreadsPerChild 25"];
    let sizes = root.call(&sizes).err;
    assert!(sizes.starts_with("AH00513: WARNING: MaxRequestWorkers of 410 is not "), "{sizes}");
    let absent = ["-t", "-c", "LoadModule lua_module z", "-c", "LuaRoot /x", "-c", "LuaRoot /y"];
    let absent = root.call(&absent);
    assert_eq!((absent.code, absent.err.matches("Trivet has no lua_module").count()), (0, 1));
    assert_eq!(absent.err.matches("LuaRoot is not supported yet").count(), 1, "{absent:?}");
    let prefork = root.call(&["-t", "-c", "LoadModule mpm_prefork_module z"]);
    assert_eq!(prefork.code, 0, "{prefork:?}");
    let expected = "More than one MPM is loaded: the last, mpm_prefork_module";
    assert!(prefork.err.contains(expected), "{prefork:?}");
}

#[test]
fn dumps_are_httpds() {
    let root = Root::new("Include more.conf\nDefine SITE \"a b\"\n");
    root.folder.write("more.conf", "# nothing\nInclude deeper.conf\n");
    root.folder.write("deeper.conf", "");
    let end = if process::am_root() { "" } else { " not_used" };
    let run = root.call(&["-S", "-D", "X=1"]);
    assert_eq!(
        (run.code, root.plain(&run.out)),
        (
            0,
            format!(
                "VirtualHost configuration:\nServerRoot: \"ROOT\"\n\
                 Main DocumentRoot: \"ROOT/htdocs\"\nMain ErrorLog: \"ROOT/logs/error_log\"\n\
                 Mutex default: dir=\"/var/run/apache2/\" mechanism=default \n\
                 Mutex watchdog-callback: using_defaults\nPidFile: \"ROOT/logs/pid\"\n\
                 Define: DUMP_VHOSTS\nDefine: DUMP_RUN_CFG\nDefine: X=1\nDefine: SITE=a b\n\
                 User: name=\"#65534\" id=65534{end}\nGroup: name=\"#65534\" id=65534{end}\n"
            )
        )
    );
    let included = root.call(&["-t", "-D", "DUMP_INCLUDES"]);
    let expected = "Included configuration files:\n  (*) ROOT/apache2.conf\n    \
                    (13) ROOT/more.conf\n      (2) ROOT/deeper.conf\n";
    assert_eq!((included.code, root.plain(&included.out).as_str()), (0, expected));
    assert_eq!(included.err, "", "a dump is no test");
    let version = root.call(&["-V"]).out;
    assert!(version.contains(
        "\nServer MPM:     event\n  threaded:     yes (fixed thread count)\n    forked:     yes \
         (variable process count)\nServer compiled with....\n -D APR_HAS_SENDFILE\n"
    ));
    assert!(version.contains("\n -D SERVER_CONFIG_FILE=\"apache2.conf\"\n"), "{version}");
    assert_eq!(root.call(&["-V", "-c", "Foo"]).code, 0, "what directives say is no matter");
    let broken = root.call(&["-V", "-c", "</Foo>"]);
    assert!(broken.code == 1 && broken.out.contains("\nServer built: "), "{broken:?}");
    let directives = root.call(&["-L"]).out;
    for expected in [
        "\nPidFile (core.c)\n\tA file for logging the server process ID\n\tAllowed in *.conf only \
         outside <Directory>, <Files>, <Location>, or <If>\n",
        "\nListen (event.c)\n",
        "\nKeepAlive (http_core.c)\n",
        "\n<Directory (core.c)\n",
    ] {
        assert!(directives.contains(expected), "no {expected} in {directives}");
    }
    assert!(!directives.contains("\nAlias (") && !directives.contains("\nHiddenNames ("));
}

#[test]
fn a_server_without_a_name_says_so() {
    let root = Root::new("");
    let text = fs::read_to_string(root.folder.join("apache2.conf")).unwrap();
    root.folder.write("nameless.conf", text.replace("ServerName test.example\n", ""));
    let said = root.call(&["-t", "-f", "nameless.conf"]).err;
    // A machine with a full name of its own has nothing to say.
    let warned = said.contains("AH00558: apache2: Could not reliably determine the server's fully");
    assert!(warned || said == "Syntax OK\n", "{said}");
    assert!(said.ends_with("Syntax OK\n"), "{said}");
}

#[test]
fn errors_of_the_start_go_to_a_file_if_asked() {
    let root = Root::new("");
    let file = root.folder.join("errors");
    let words = ["-t", "-E", file.to_str().unwrap(), "-c", "Foo"];
    root.call(&words).is(1, "", "");
    let said = fs::read_to_string(file).unwrap();
    assert!(said.starts_with("AH00526: Syntax error on line 1 of -c/-C directives:\n"), "{said}");
}

/// What may differ between two programs or two runs: time, process, version, and the order of the
/// mutexes, which httpd keeps in a hash table.
fn comparable(text: &str) -> Vec<String> {
    let logged = |line: &str| {
        let (before, after) = line.split_once("] [pid ")?;
        let (_, module) = before.split_once("] [")?;
        let (_, message) = after.split_once("] ")?;
        Some(format!("[{module}] {message}"))
    };
    let plain = |line: &str| match logged(line) {
        Some(text) => text,
        None if line.starts_with("Server built:") => "Server built:".into(),
        None => as_of_today(Program::Apache, line),
    };
    let mut lines: Vec<String> = text.lines().map(plain).collect();
    let (Some(first), Some(last)) = (
        lines.iter().position(|line| line.starts_with("Mutex ")),
        lines.iter().rposition(|line| line.starts_with("Mutex ")),
    ) else {
        return lines;
    };
    lines[first..=last].sort();
    lines
}

/// Virtual hosts of every kind.
const HOSTS: &str = "Include apache2.conf\n\
    <VirtualHost 127.0.0.1:8001>\nServerName one.example\n</VirtualHost>\n\
    <VirtualHost 192.0.2.7:80 10.1.2.3:* 127.0.0.9:80>\nServerName two.example\n</VirtualHost>\n\
    <VirtualHost *:8002>\nServerName a.example\nServerAlias www.a.example *.a.example z.example\n\
    </VirtualHost>\n<VirtualHost *:8002>\nServerName b.example:88\n</VirtualHost>\n\
    <VirtualHost *>\n</VirtualHost>\n\
    <VirtualHost *:8003 *:8004>\nServerName c.example\nServerAlias alone.example\n</VirtualHost>\n\
    <VirtualHost [2001:db8::5]:80 _default_:8003>\nServerName d.example\n</VirtualHost>\n";

/// Calls that start nothing.
const CALLS: &[&[&str]] = &[
    &["-t"],
    &["-l"],
    &["-v"],
    &["-V"],
    &["-h"],
    &["-Z"],
    &["-?"],
    &["-v", "-Z"],
    &["-Z", "-v"],
    &["-k", "bogus"],
    &["-f"],
    &["-e", "loud", "-t"],
    &["-t", "extra"],
    &["-S"],
    &["-S", "-f", "hosts.conf"],
    &["-S", "-D", "X=1", "-DFOO"],
    &["-t", "-S"],
    &["-M"],
    &["-t", "-D", "DUMP_MODULES", "-D", "DUMP_RUN_CFG"],
    &["-D", "DUMP_INCLUDES"],
    &["-t", "-D", "DUMP_INCLUDES", "-c", "Include deeper.conf"],
    &["-S", "-c", "DefaultRuntimeDir logs", "-c", "PidFile p", "-c", "User #33"],
    &["-S", "-c", "Mutex sem"],
    &["-S", "-c", "Mutex fcntl:logs default omitpid", "-c", "Mutex pthread watchdog-callback"],
    &["-S", "-c", "Mutex file:/tmp watchdog-callback default", "-c", "Mutex yes"],
    &["-t", "-f", "nope.conf"],
    &["-t", "-d", "/nonexistent"],
    &["-t", "-e", "debug"],
    &["-t", "-c", "LoadModule so_module x.so"],
    &["-t", "-c", "LoadModule mpm_event_module y"],
    &["-t", "-c", "LoadModule foo_module modules/mod_foo.so"],
    &["-t", "-c", "LoadModule foo_module modules/mod_alias.so"],
    &["-t", "-c", "RewriteEngine On"],
    &["-t", "-c", "DocumentRoot /nope"],
    &["-t", "-T", "-c", "DocumentRoot /nope"],
    &["-t", "-c", "User nobodyx"],
    &["-t", "-c", "Group nobodyx"],
    &["-t", "-c", "Foo", "-C", "Bar"],
    &["-t", "-c", "ErrorLog nope/x.log"],
    &["-t", "-c", "CustomLog nope/x %h"],
    &["-t", "-c", "CustomLog syslog:x %h"],
    &["-t", "-c", "<VirtualHost *:3>", "-c", "ErrorLog nope/x", "-c", "</VirtualHost>"],
    &["-t", "-c", "<VirtualHost *:3>", "-c", "CustomLog nope/x %h", "-c", "</VirtualHost>"],
    &["-t", "-c", "KeepAlive ${NOPE}"],
    &["-t", "-c", "DefaultRuntimeDir nope"],
    &["-t", "-c", "ServerRoot nope"],
    &["-k", "stop"],
    &["-k", "graceful-stop"],
    &["-k", "stop", "-c", "PidFile logs/stale"],
];

/// Every call is made of httpd itself, too: exit codes and standard output must be the same; on
/// standard error httpd's text comes first, with help for the reader behind it.
#[test]
fn httpd_itself_says_the_same() {
    let Some(httpd) = httpd("httpd_itself_says_the_same") else { return };
    let modules = Path::new("/usr/lib/apache2/modules");
    let root = Root::new("Include more.conf\nDefine SITE \"a b\"\n");
    symlink(modules, root.folder.join("modules")).unwrap();
    root.folder.write("more.conf", "#\nInclude deeper.conf\n");
    root.folder.write("deeper.conf", "Define DEEP\n");
    root.folder.write("hosts.conf", HOSTS);
    root.folder.write("logs/stale", "99999999\n");
    // Its usage text begins with the path by which it was called.
    for &words in CALLS {
        let mut command = Command::new(&httpd);
        std::os::unix::process::CommandExt::arg0(&mut command, root.program("apache2"));
        command.arg("-d").arg(root.folder.path()).args(words);
        let theirs = Answer::of(&run_command(&mut command, 30));
        let ours = root.call(words);
        let (expected, found) = (comparable(&theirs.err), comparable(&ours.err));
        assert_eq!(ours.code, theirs.code, "{words:?}: {ours:?}");
        assert_eq!(comparable(&ours.out), comparable(&theirs.out), "{words:?}");
        assert!(found.starts_with(&expected), "{words:?}: {found:#?}, not {expected:#?}");
    }
}
