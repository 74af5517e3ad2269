//! The configuration language beyond plain lines: files, variables, conditions and macros, from
//! `-c` lines and from the file of `--config`.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use blackbox::outside::run_command;
use blackbox::scratch::Scratch;
use blackbox::{Client, Mpm, Server, SetAtEnd, Site, each_mpm, plain_site, process, wait_for};

/// A site whose `ServerRoot` is `folder`, with more lines.
fn site(mpm: Mpm, folder: &Scratch, lines: &[&str]) -> Site {
    let root = format!("ServerRoot {}", folder.path().display());
    plain_site(mpm).directive(root).directives(lines)
}

/// Starts such a site, which must fail; gives the message.
fn refused(mpm: Mpm, folder: &Scratch, lines: &[&str]) -> String {
    let (code, text) = site(mpm, folder, lines).start_fails();
    assert_eq!(code, 1, "{lines:?}: {text}");
    assert!(!text.contains("panicked"), "{lines:?}: {text}");
    text
}

/// The `Server` field, which shows what `ServerTokens` was last.
fn tokens(server: &Server) -> String {
    server.get("/a.txt").field("Server").unwrap().to_owned()
}

fn files_are_included_in_the_order_of_their_names(mpm: Mpm) {
    let folder = Scratch::new();
    folder.write("on/20-b.conf", "ServerTokens Major\n");
    folder.write("on/10-a.conf", "ServerTokens Prod\n");
    folder.write("on/30-c.off", "ServerTokens OS\n");
    folder.write("on/.hidden.conf", "Foo\n");
    let server = site(mpm, &folder, &["Include on/*.conf"]).start();
    assert_eq!(tokens(&server), "Apache/2");
    folder.write("deep/z/last.conf", "ServerTokens Minor\n");
    folder.write("deep/a/1.conf", "ServerTokens Prod\n");
    // A folder is read with all below it, and a pattern may stand in any component.
    for line in ["Include deep", "Include deep/", "IncludeOptional deep/*/*.conf", "Include d*p"] {
        let server = site(mpm, &folder, &[line]).start();
        assert_eq!(tokens(&server), "Apache/2.4", "{line}");
    }
}

fn what_is_not_there_is_an_error_unless_it_is_optional(mpm: Mpm) {
    let folder = Scratch::new();
    folder.write("on/a.conf", "");
    folder.write("two/a.conf", "");
    let here = folder.path().display();
    for (line, expected) in [
        (
            "Include nope.conf",
            format!("Could not open configuration file {here}/nope.conf: No such"),
        ),
        (
            "Include on/*.off",
            format!("No matches for the wildcard '*.off' in '{here}/on', failing"),
        ),
        ("Include no*/x", format!("No matches for the wildcard 'no*' in '{here}', failing")),
        ("Include nope/*", format!("Could not open directory {here}/nope: No such file")),
        (
            "Include o*/b.conf",
            format!("Could not open configuration file {here}/on/b.conf: No such"),
        ),
        ("Include /dev/zero", "/dev/zero: not a regular file".into()),
    ] {
        let text = refused(mpm, &folder, &[line]);
        assert!(
            text.contains("Syntax error in -C/-c directive: ") && text.contains(&expected),
            "{text}"
        );
    }
    let optional = [
        "IncludeOptional nope.conf",
        "IncludeOptional on/*.off",
        "IncludeOptional no*/x",
        "IncludeOptional nope/*",
        "IncludeOptional o*/b.conf",
        "Include /dev/null",
    ];
    assert_eq!(site(mpm, &folder, &optional).start().get("/a.txt").status, 200);
}

fn an_error_in_a_file_names_its_line(mpm: Mpm) {
    let folder = Scratch::new();
    folder.write("a.conf", "ServerTokens Prod\n\nKeepAlive perhaps\nFoo\n");
    folder.write("b.conf", "\nInclude c.conf\n");
    folder.write("c.conf", "\n\n</Directory>\n");
    let here = folder.path().display();
    let text = refused(mpm, &folder, &["Include a.conf"]);
    let expected =
        format!("AH00526: Syntax error on line 3 of {here}/a.conf:\nKeepAlive must be On or");
    assert!(text.contains(&expected), "{text}");
    assert!(text.contains(&format!("{here}/a.conf:4: Invalid command 'Foo'")), "{text}");
    let text = refused(mpm, &folder, &["Include b.conf"]);
    let expected = format!(
        "-C/-c directive: Syntax error on line 2 of {here}/b.conf: Syntax error on line 3 of \
         {here}/c.conf: </Directory> without matching <Directory> section"
    );
    assert!(text.contains(&expected), "{text}");
}

fn an_include_of_itself_ends_with_one_message(mpm: Mpm) {
    let folder = Scratch::new();
    folder.write("loop.conf", "Include loop.conf\nInclude loop.conf\n");
    let text = refused(mpm, &folder, &["Include loop.conf"]);
    assert!(text.contains("Exceeded maximum include depth of 128"), "{text}");
    let mut bomb = String::from("<Macro m30>\nServerTokens Prod\n</Macro>\n");
    for at in (0..30).rev() {
        let next = at + 1;
        bomb.push_str(&format!("<Macro m{at}>\nUse m{next}\nUse m{next}\n</Macro>\n"));
    }
    folder.write("bomb.conf", bomb + "Use m0\n");
    let text = refused(mpm, &folder, &["Include bomb.conf"]);
    assert!(text.contains("grow without end"), "{text}");
}

fn variables_come_from_define_and_the_environment(mpm: Mpm) {
    let folder = Scratch::new();
    let lines = ["Define kind Prod", "ServerTokens ${kind}", "Define name ServerTokens"];
    assert_eq!(tokens(&site(mpm, &folder, &lines).start()), "Apache");
    let lines = ["Define line \"ServerTokens Major\"", "${line}"];
    assert_eq!(tokens(&site(mpm, &folder, &lines).start()), "Apache/2");
    let path = std::env::var("PATH").unwrap();
    let text = refused(mpm, &folder, &["Error ${PATH}"]);
    assert!(text.contains(&path), "{text}");
    let text = refused(mpm, &folder, &["KeepAlive ${NOT_THERE}"]);
    assert!(text.contains("AH00111: Config variable ${NOT_THERE} is not defined"), "{text}");
}

fn conditions_decide_what_is_read(mpm: Mpm) {
    let folder = Scratch::new();
    folder.write("here", "");
    let prod = "ServerTokens Prod";
    let own = format!("<IfModule mpm_{}_module>", mpm.name());
    let another = match mpm {
        Mpm::Event => "<IfModule mpm_prefork_module>",
        _ => "<IfModule mpm_event_module>",
    };
    for (opens, closes, holds) in [
        ("<IfDefine NOPE>", "</IfDefine>", false),
        ("<IfDefine !NOPE>", "</IfDefine>", true),
        ("<IfModule mod_alias.c>", "</IfModule>", true),
        ("<IfModule session_module>", "</IfModule>", false),
        (&*own, "</IfModule>", true),
        (another, "</IfModule>", false),
        ("<IfFile here>", "</IfFile>", true),
        ("<IfFile there>", "</IfFile>", false),
        ("<IfDirective HiddenNames>", "</IfDirective>", true),
        ("<IfDirective SessionEnv>", "</IfDirective>", false),
        ("<IfSection Location>", "</IfSection>", true),
        ("<IfVersion >= 2.4>", "</IfVersion>", true),
        ("<IfVersion >= 2.5>", "</IfVersion>", false),
    ] {
        let server = site(mpm, &folder, &[opens, prod, closes]).start();
        assert_eq!(tokens(&server) == "Apache", holds, "{opens}");
    }
}

fn macros_are_used_with_their_values(mpm: Mpm) {
    let folder = Scratch::new();
    folder.write(
        "m.conf",
        "<Macro shut $path>\n<Location $path>\nRequire all denied\n</Location>\n</Macro>",
    );
    let lines = ["Include m.conf", "Use shut /a.txt", "Use Shut /dir"];
    let server = site(mpm, &folder, &lines).start();
    let status = |path| server.get(path).status;
    assert_eq!([status("/a.txt"), status("/dir/"), status("/")], [403, 403, 200]);
    let text = refused(mpm, &folder, &["Include m.conf", "Use shut"]);
    let here = folder.path().display();
    let expected = format!(
        "macro 'shut' (defined on line 1 of \"{here}/m.conf\") used with 0 arguments instead of 1"
    );
    assert!(text.contains(&expected), "{text}");
}

fn modules_that_are_not_there_warn_and_unknown_ones_are_refused(mpm: Mpm) {
    let folder = Scratch::new();
    let own = format!("LoadModule mpm_{0}_module modules/mod_mpm_{0}.so", mpm.name());
    let lines = [
        "LoadModule alias_module modules/mod_alias.so",
        &own,
        "LoadModule session_module modules/mod_session.so",
        "<IfModule mod_session.c>",
        "Foo",
        "</IfModule>",
    ];
    let server = site(mpm, &folder, &lines).start();
    let text = server.error_text();
    let count = |what| text.matches(what).count();
    assert_eq!(count("warning: "), 1, "{text}");
    assert_eq!((count("alias_module"), count("mpm_")), (0, 0), "{text}");
    assert!(text.contains("Trivet has no session_module yet"), "{text}");
    let text = refused(mpm, &folder, &["LoadModule sesion_module modules/mod_session.so"]);
    assert!(text.contains("Cannot load modules/mod_session.so into server: "), "{text}");
    assert!(text.contains("did you mean session_module?"), "{text}");
}

fn logs_lie_below_server_root(mpm: Mpm) {
    let folder = Scratch::new();
    let lines = ["ErrorLog errors", "CustomLog requests common"];
    let server = site(mpm, &folder, &lines).start();
    assert_eq!(server.get("/a.txt").status, 200);
    let requests = || fs::read_to_string(folder.join("requests")).unwrap_or_default();
    wait_for("a line of the log", 5, || requests().contains("GET /a.txt"));
    assert!(folder.join("errors").is_file());
}

fn a_listen_of_a_file_counts(mpm: Mpm) {
    let folder = Scratch::new();
    folder.write("listen.conf", "Listen 127.0.0.1:0\n");
    let server = site(mpm, &folder, &["Include listen.conf"]).start();
    // Beside `--listen`, which all sites of these tests have.
    wait_for("two addresses", 5, || server.banner().matches("http://").count() == 2);
}

/// Lines that a whole configuration needs, for a site in `www` beside the file.
fn whole(folder: &Scratch, listen: &str, more: &str) -> String {
    // Once only: to write is to empty first, which a request may see.
    if !folder.join("www/a.txt").exists() {
        folder.write("www/a.txt", "0123456789");
    }
    let www = folder.join("www");
    let user = if process::am_root() { "User nobody\nGroup nogroup\n" } else { "" };
    format!("Listen {listen}\n{user}DocumentRoot {}\n{more}\n", www.display())
}

/// A port of 127.0.0.1 that is free now.
fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn restart(server: &Server) {
    let old = server.children();
    server.signal(libc::SIGUSR1);
    wait_for("a new generation alone", 15, || {
        let now = server.children();
        !now.is_empty() && now.iter().all(|pid| !old.contains(pid))
    });
}

fn a_file_is_the_whole_configuration(mpm: Mpm) {
    let folder = Scratch::new();
    let text = whole(&folder, "127.0.0.1:0", "Include more.conf\nServerTokens Prod");
    folder.write("more.conf", "CustomLog requests common\n");
    let file = folder.write("site.conf", text);
    folder.write("www/.git", "not hidden without HiddenNames");
    let server = Site::new(mpm).config(&file).start();
    assert_eq!(tokens(&server), "Apache");
    // None of the defaults of a folder.
    assert_eq!(server.get("/.git").status, 200);
    assert_eq!(server.get("/server-status").status, 404);
    wait_for("a log beside the file", 5, || {
        fs::read_to_string(folder.join("requests")).is_ok_and(|log| log.contains("GET /a.txt"))
    });
    // Lines of the command line come last.
    let server = Site::new(mpm).config(&file).directive("ServerTokens Major").start();
    assert_eq!(tokens(&server), "Apache/2");
}

fn a_file_that_cannot_be_used_is_refused(mpm: Mpm) {
    let folder = Scratch::new();
    let refused = |file: &std::path::Path| {
        let (code, text) = Site::new(mpm).config(file).start_fails();
        assert_eq!(code, 1, "{text}");
        text
    };
    let missing = folder.join("nope.conf");
    let text = refused(&missing);
    let expected = format!("Could not open configuration file {}: No such", missing.display());
    assert!(text.contains(&expected), "{text}");
    assert!(refused(folder.path()).contains("not a regular file"));

    let file = folder.write("bad.conf", whole(&folder, "127.0.0.1:0", "KeepAlive perhaps"));
    let line = fs::read_to_string(&file).unwrap().lines().count();
    let path = fs::canonicalize(&file).unwrap();
    let expected = format!("AH00526: Syntax error on line {line} of {}:", path.display());
    assert!(refused(&file).contains(&expected));

    if process::am_root() {
        let text = format!("Listen 127.0.0.1:0\nDocumentRoot {}\n", folder.path().display());
        let text = refused(&folder.write("root.conf", text));
        assert!(text.contains("AH02155") && text.trim().lines().count() == 1, "{text}");
    }
    let words = ["serve", ".", "--config", file.to_str().unwrap(), "--mpm", mpm.name()];
    let output = run_command(Command::new(blackbox::binary::trivet()).args(words), 60);
    assert_eq!(output.status.code(), Some(2));
}

/// Requests on new connections until `stop`; counts them. None may be lost.
fn load(address: SocketAddr, stop: &AtomicBool, served: &AtomicUsize) {
    while !stop.load(Ordering::Relaxed) {
        assert_eq!(Client::connect(address).get("/a.txt").text(), "0123456789");
        served.fetch_add(1, Ordering::Relaxed);
    }
}

fn a_restart_reads_the_file_again(mpm: Mpm) {
    let folder = Scratch::new();
    let listen = free_port();
    let write = |more: &str| folder.write("site.conf", whole(&folder, &listen, more));
    let server = Site::new(mpm).config(write("ServerTokens Prod")).start();
    let (stop, served) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let _end = SetAtEnd(&stop);
        scope.spawn(|| load(server.address(), &stop, &served));
        assert_eq!(tokens(&server), "Apache");
        write("ServerTokens Major");
        restart(&server);
        assert_eq!(tokens(&server), "Apache/2");

        // A broken file leaves everything as it is.
        let old = server.children();
        write("ServerTokens Minor\nKeepAlive perhaps");
        server.signal(libc::SIGUSR1);
        wait_for("the reason in the log", 10, || {
            let text = server.error_text();
            text.contains("site.conf")
                && text.contains("KeepAlive must be On or Off")
                && text.contains("the old configuration stays")
        });
        assert_eq!(tokens(&server), "Apache/2");
        server.assert_none_died(&old);

        write("ServerTokens Minor");
        restart(&server);
        assert_eq!(tokens(&server), "Apache/2.4");
    });
    assert!(served.load(Ordering::Relaxed) > 0);
}

fn a_restart_changes_ports(mpm: Mpm) {
    let folder = Scratch::new();
    let (first, second) = (free_port(), free_port());
    let file = folder.write("site.conf", whole(&folder, &first, ""));
    let server = Site::new(mpm).config(&file).start();
    assert_eq!(server.get("/a.txt").status, 200);
    folder.write("site.conf", whole(&folder, &second, ""));
    restart(&server);
    let second: SocketAddr = second.parse().unwrap();
    assert_eq!(Client::connect(second).get("/a.txt").text(), "0123456789");
    wait_for("the end of the old port", 10, || TcpStream::connect(&first).is_err());
}

each_mpm! {
    files_are_included_in_the_order_of_their_names,
    what_is_not_there_is_an_error_unless_it_is_optional,
    an_error_in_a_file_names_its_line,
    an_include_of_itself_ends_with_one_message,
    variables_come_from_define_and_the_environment,
    conditions_decide_what_is_read,
    macros_are_used_with_their_values,
    modules_that_are_not_there_warn_and_unknown_ones_are_refused,
    logs_lie_below_server_root,
    a_listen_of_a_file_counts,
    a_file_is_the_whole_configuration,
    a_file_that_cannot_be_used_is_refused,
    a_restart_reads_the_file_again,
    a_restart_changes_ports,
}
