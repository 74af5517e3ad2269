//! The module file that runs PHP inside the server: missing, somebody else's, of another version;
//! and what a restart and an edited script change while requests come.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use blackbox::httpd::Root;
use blackbox::outside::{find, not_run, run_command};
use blackbox::scratch::Scratch;
use blackbox::{Client, Mpm, Server, SetAtEnd, Site, binary, php, process, wait_for};

const SCRIPT: &str = "<?php /* secret */ echo 'run';";

fn site() -> Site {
    Site::new(Mpm::Prefork).file("x.php", SCRIPT).file("x.phps", SCRIPT).directives(&[
        "<FilesMatch \\.php$>",
        "SetHandler application/x-httpd-php",
        "</FilesMatch>",
        "AddHandler application/x-httpd-php-source .phps",
    ])
}

fn assert_refused(line: &str, said: &[&str]) {
    let (code, text) = site().directive(line).start_fails();
    assert_ne!(code, 0, "{line}");
    assert!(said.iter().all(|part| text.contains(part)), "{line}: {text}");
}

#[test]
fn without_a_module_file_scripts_are_503() {
    let root = Root::under(
        Mpm::Prefork,
        "LoadModule php_module libphp.so\nLoadModule mime_module x\n\
         AddHandler application/x-httpd-php .php\n\
         AddHandler application/x-httpd-php-source .phps\n",
    );
    // A copy, beside which there is none.
    fs::copy(binary::trivet(), root.folder.join("apache2")).unwrap();
    for name in ["x.php", "x.phps"] {
        root.folder.write(format!("htdocs/{name}"), SCRIPT);
    }
    root.call(&["-k", "start"]);
    let answers = ["/x.php", "/x.phps", "/x.php/info", "/x.php?a"].map(|path| root.get(path));
    root.call(&["-k", "stop"]);
    wait_for("the end", 20, || root.pid().is_none_or(|pid| !process::alive(pid)));
    for answer in answers {
        assert_eq!(answer.status, 503);
        assert!(!answer.text().contains("secret"), "{}", answer.text());
    }
    let told = root.error_log();
    assert!(told.contains("there is no libtrivet_php.so beside the executable"), "{told}");
    assert!(told.contains("make php-module"), "{told}");
}

#[test]
fn a_module_file_that_is_named_has_to_be_there() {
    let path = "/nonexistent/libtrivet_php.so";
    assert_refused(&format!("PHPModuleFile {path}"), &["PHPModuleFile", path, "No such file"]);
}

#[test]
fn a_file_of_somebody_else_is_refused() {
    let folder = Scratch::new();
    let text = folder.write("text.so", "not a library");
    assert_refused(&format!("PHPModuleFile {}", text.display()), &["text.so", "PHPModuleFile"]);
    let test = "php_module_file: somebody else's";
    let Some(other) = compile(test, &folder, "other", "int other(void) { return 1; }") else {
        return;
    };
    let line = format!("PHPModuleFile {}", other.display());
    assert_refused(&line, &["is no PHP module of Trivet"]);
}

#[test]
fn a_module_file_of_another_version_is_refused() {
    let (test, folder) = ("php_module_file: versions", Scratch::new());
    for (name, code, said) in [
        ("newer", "static const unsigned table[64] = { 4711 };", "its interface is 4711"),
        (
            "sizes",
            "static const unsigned table[64] = { 1, 80200, 0, 0, 0, 1 };",
            "lays its data out",
        ),
        ("empty", "static const unsigned *const table = 0;", "was built without PHP"),
    ] {
        let code = format!("{code}\nconst void *trivet_php_module(void) {{ return table; }}\n");
        let Some(file) = compile(test, &folder, name, &code) else { return };
        assert_refused(&format!("PHPModuleFile {}", file.display()), &[said, "make php-module"]);
    }
}

/// A library made of this; `None`, told and counted, where there is no compiler.
fn compile(test: &str, folder: &Scratch, name: &str, code: &str) -> Option<PathBuf> {
    let Some(compiler) = find("cc") else {
        not_run(test, "there is no C compiler");
        return None;
    };
    let source = folder.write(format!("{name}.c"), code);
    let library = folder.join(format!("{name}.so"));
    let mut command = Command::new(compiler);
    command.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source);
    let output = run_command(&mut command, 60);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(library)
}

/// A server with a php.ini of its own.
fn serve_with_ini(test: &str, folder: &Scratch, script: &str) -> Option<Server> {
    php::module(test)?;
    let lines = [format!("PHPINIDir {}", folder.path().display())];
    let site = site().file("y.php", script).steady();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    Some(site.directive("LoadModule php_module x").directives(&lines).start())
}

/// Ask from several threads until `end` has run; gives how many answers came. Each has to be one of
/// a script.
fn load(server: &Server, path: &str, expected: &[&str], end: impl FnOnce(&AtomicUsize)) -> usize {
    let (is_over, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    let address = server.address();
    thread::scope(|scope| {
        let _at_end = SetAtEnd(&is_over);
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let mut client = Client::connect(address);
                    client.send(format!(
                        "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
                    ));
                    let answer = client.response();
                    assert_eq!(answer.status, 200, "{}", answer.text());
                    assert!(expected.contains(&&*answer.text()), "{}", answer.text());
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        end(&count);
    });
    count.load(Ordering::Relaxed)
}

#[test]
fn graceful_restarts_under_load_lose_no_request_and_read_php_ini_anew() {
    let folder = Scratch::new();
    folder.write("php.ini", "user_agent = first\n");
    let script = "<?php echo ini_get('user_agent'), ini_get('precision');";
    let Some(server) = serve_with_ini("php_module_file: restarts", &folder, script) else { return };
    assert_eq!(server.get("/y.php").text(), "first14");
    let names = ["first", "second", "third", "fourth"];
    let expected: Vec<String> = names.iter().map(|name| format!("{name}14")).collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    let answered = load(&server, "/y.php", &expected, |count| {
        for (name, expected) in names.iter().zip(&expected).skip(1) {
            folder.write("php.ini", format!("user_agent = {name}\n"));
            server.signal(libc::SIGUSR1);
            wait_for("the new php.ini", 20, || server.get("/y.php").text() == **expected);
            let before = count.load(Ordering::Relaxed);
            wait_for("requests", 20, || count.load(Ordering::Relaxed) > before + 100);
        }
    });
    assert!(answered > 300, "{answered}");
    assert_eq!(server.error_text().matches("exit signal").count(), 0, "{}", server.error_text());
}

#[test]
fn an_edited_script_is_seen_under_load() {
    let folder = Scratch::new();
    folder.write("php.ini", "opcache.revalidate_freq = 1\n");
    let script = |n: usize| format!("<?php echo 'version {n}';");
    let test = "php_module_file: edits";
    let Some(server) = serve_with_ini(test, &folder, &script(0)) else { return };
    let expected: Vec<String> = (0..4).map(|n| format!("version {n}")).collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    load(&server, "/y.php", &expected, |_| {
        for (n, expected) in expected.iter().enumerate().skip(1) {
            replace(server.root().path(), &script(n));
            wait_for("the edited script", 20, || server.get("/y.php").text() == **expected);
        }
    });
}

/// As editors do it: nobody sees half of a file.
fn replace(root: &Path, script: &str) {
    let new = root.join("y.php.new");
    fs::write(&new, script).unwrap();
    blackbox::scratch::set_mode(&new, 0o644);
    fs::rename(new, root.join("y.php")).unwrap();
}
