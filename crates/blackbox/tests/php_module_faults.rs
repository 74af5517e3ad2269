//! PHP inside of the server's only process, and scripts that do what they should not: each costs
//! its own request, at most its process, and the next request sees nothing of it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::time::Duration;

use blackbox::{Client, Mpm, Response, Server, Site, php, process, until, wait_for};

/// The body of the request is what is to be done.
const DO: &str = "<?php eval(file_get_contents('php://input'));";

/// One process that runs scripts; `None`, told and counted, where no module file was built.
fn serve(test: &str, files: &[(&str, &str)]) -> Option<Server> {
    php::module(test)?;
    let mut site = Site::new(Mpm::Prefork).file("do.php", DO);
    for (name, content) in files {
        site = site.file(name, content);
    }
    Some(site.directives(LINES).directives(ONE_PROCESS).start())
}

const LINES: &[&str] = &[
    "LoadModule php_module modules/libphp.so",
    "<FilesMatch \\.php$>",
    "SetHandler application/x-httpd-php",
    "</FilesMatch>",
    "php_flag html_errors off",
    "php_flag display_errors on",
    "LogLevel php:notice",
];

const ONE_PROCESS: &[&str] =
    &["StartServers 1", "MinSpareServers 1", "MaxSpareServers 1", "MaxRequestWorkers 1"];

fn request(code: &str) -> String {
    format!(
        "POST /do.php HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{code}",
        code.len()
    )
}

fn run(server: &Server, code: &str) -> Response {
    server.exchange(request(code))
}

fn run_text(server: &Server, code: &str) -> String {
    let response = run(server, code);
    assert_eq!(response.status, 200, "{code}: {}", response.text());
    response.text()
}

/// A script that may end its process: whether it has answered.
fn try_run(server: &Server, code: &str) -> bool {
    let mut client = server.connect();
    client.send(request(code));
    client.try_response(false).is_ok()
}

#[test]
fn a_process_that_dies_costs_one_request() {
    let Some(server) = serve("php_module_faults: deaths", &[]) else { return };
    for signal in [libc::SIGABRT, libc::SIGSEGV, libc::SIGKILL, libc::SIGBUS] {
        let before = run_text(&server, "echo getmypid();");
        let answered = try_run(&server, &format!("posix_kill(getmypid(), {signal}); sleep(5);"));
        assert!(!answered, "signal {signal}");
        let after = run_text(&server, "echo getmypid();");
        assert_ne!(before, after, "signal {signal}");
    }
}

#[test]
fn a_recursion_without_end_costs_one_request_at_most() {
    let Some(server) = serve("php_module_faults: recursion", &[]) else { return };
    for code in [
        "function f() { return f() + 1; } f();",
        "function f($x) { return array_map('f', [$x]); } f(1);",
        "class A { function __toString() { return (string) new A; } } echo new A;",
        "class A { function __get($n) { return (new A)->$n; } } usort($GLOBALS, fn() => 1); \
         function g() { usort_(); } function usort_() { $a = [1, 2]; usort($a, fn() => g()); }
         g();",
        "$a = []; for ($i = 0; $i < 1000000; $i++) $a = [$a]; echo strlen(serialize($a));",
        "$a = []; for ($i = 0; $i < 1000000; $i++) $a = [$a]; echo strlen(json_encode($a, 0, \
         9999999));",
        "$a = []; for ($i = 0; $i < 1000000; $i++) $a = [$a]; var_export($a);",
        "$o = null; for ($i = 0; $i < 1000000; $i++) { $p = new stdClass; $p->o = $o; $o = $p; }",
        "unserialize(str_repeat('a:1:{i:0;', 1000000) . 'i:0;' . str_repeat('}', 1000000));",
        "ini_set('pcre.jit', '0'); var_dump(preg_match('/^(?:a|b(?R)*)*$/', str_repeat('ab', \
         1000000)));",
        "eval('return ' . str_repeat('(', 100000) . '1' . str_repeat(')', 100000) . ';');",
        "eval('return ' . str_repeat('[', 100000) . str_repeat(']', 100000) . ';');",
        "eval('return ' . str_repeat('!', 1000000) . '1;');",
    ] {
        try_run(&server, &format!("ini_set('memory_limit', '400M'); {code}"));
        assert_eq!(run_text(&server, "echo 'well';"), "well", "{code}");
    }
}

#[test]
fn memory_and_time_end_a_script_and_not_its_process() {
    let Some(server) = serve("php_module_faults: limits", &[]) else { return };
    let before = run_text(&server, "echo getmypid();");
    for (code, said) in [
        (
            "ini_set('memory_limit', '8M'); $a = ''; for (;;) $a .= 'xxxxxxxx';",
            "Allowed memory size",
        ),
        ("ini_set('memory_limit', '8M'); for (;;) $a[] = 1;", "Allowed memory size"),
        ("set_time_limit(1); for (;;);", "Maximum execution time"),
        ("set_time_limit(1); for (;;) try { for (;;); } finally {}", "Maximum execution time"),
    ] {
        let mut client = server.connect();
        client.send(request(code));
        let answer = client.response();
        assert!(answer.text().contains(said), "{code}");
        assert_eq!(run_text(&server, "echo getmypid();"), before, "{code}");
    }
}

/// What a script may leave behind.
const STATE: &str = "
echo getcwd(), ' ', umask(), ' ', setlocale(LC_ALL, 0), ' ', getenv('LEFT'), ' ', error_reporting();
echo ' ', ini_get('precision'), ini_get('display_errors'), ini_get('memory_limit'), ' ';
echo ini_get('max_execution_time'), date_default_timezone_get(), mb_internal_encoding(), ' ';
echo ob_get_level(), ignore_user_abort(), gc_enabled(), session_status(), ' ', $left ?? 'none', ' ';
echo defined('LEFT'), function_exists('left'), class_exists('Left', false), ' ';
echo set_error_handler(null) === null, set_exception_handler(null) === null, ' ';
echo count(spl_autoload_functions()), in_array('file', stream_get_wrappers()), ' ',
$_SERVER['LEFT'] ?? 'none';
echo ' ', libxml_use_internal_errors(), bcscale_(), ' ', connection_status(), count(headers_list());
echo ' ', count(get_included_files()), http_response_code(), error_get_last() === null;
function bcscale_() { return 0; }
";

#[test]
fn what_a_script_changes_is_gone_with_it() {
    let Some(server) = serve("php_module_faults: changes", &[]) else { return };
    let (before, process) = (run_text(&server, STATE), run_text(&server, "echo getmypid();"));
    for code in [
        "chdir('/');",
        "umask(0777);",
        "setlocale(LC_ALL, 'C.UTF-8');",
        "putenv('LEFT=1'); $_ENV['LEFT'] = $_SERVER['LEFT'] = 1; apache_setenv('LEFT', '1');",
        "error_reporting(0); ini_set('precision', 3); ini_set('display_errors', 0);",
        "ini_set('memory_limit', '1G'); set_time_limit(7); \
         date_default_timezone_set('Asia/Tokyo');",
        "mb_internal_encoding('ISO-8859-1'); gc_disable(); ignore_user_abort(true);",
        "ob_start(); ob_start('strtolower_'); function strtolower_($x) { return $x; }",
        "$left = 1; define('LEFT', 1); function left() {} class Left { static $x = 1; }",
        "set_error_handler('print_r'); set_exception_handler('print_r');",
        "spl_autoload_register(fn() => 1); stream_wrapper_unregister('file');",
        "libxml_use_internal_errors(true); session_id('abc'); session_start();",
        "for ($i = 0; $i < 64; $i++) { $f = @fopen(\"php://fd/$i\", 'r+'); $f && fclose($f); }",
        "foreach (['STDIN', 'STDOUT', 'STDERR'] as $n) defined($n) && fclose(constant($n));",
        "pcntl_();  function pcntl_() { register_shutdown_function('pcntl_'); static $n = 0; \
         if ($n++ < 3) throw new Exception('left'); }",
        "register_shutdown_function(function () { echo 'late'; exit(1); });",
        "header('X-Left: 1'); http_response_code(404); setcookie('left', '1');",
        "exit(255);",
        "die('left');",
        "undefined();",
        "throw new Exception('left');",
        "function gen() { try { yield 1; } finally { echo 'left'; } } foreach (gen() as $x) exit;",
        "class D { function __destruct() { throw new Exception('left'); } } $d = new D; exit;",
        "$f = new Fiber(function () { Fiber::suspend(); }); $f->start();",
        "$f = new Fiber(function () { exit('inside'); }); $f->start();",
        "virtual('/do.php'); exit;",
        "virtual('/nowhere.php'); exit;",
        "posix_setpgid(0, 0); cli_set_process_title_(); function cli_set_process_title_() {}",
        "@posix_setrlimit(POSIX_RLIMIT_CORE, 0, 0); posix_times();",
    ] {
        run(&server, code);
        let after = run(&server, STATE);
        assert_eq!((after.status, after.text()), (200, before.clone()), "{code}");
        assert_eq!(after.field("X-Left"), None, "{code}");
        assert_eq!(run_text(&server, "echo getmypid();"), process, "{code}");
    }
}

#[test]
fn programs_that_a_script_starts_get_none_of_the_servers_descriptors() {
    let Some(server) = serve("php_module_faults: programs", &[]) else { return };
    let listed = run_text(&server, "passthru('ls -l /proc/self/fd');");
    assert!(listed.lines().filter(|line| line.contains(" -> ")).count() > 3, "{listed}");
    for own in ["socket:", "anon_inode:", "memfd:", "access.log", "/dev/shm"] {
        assert!(!listed.contains(own), "{own}: {listed}");
    }
    // One that goes on holds nobody up, and is nobody's any more.
    let text =
        run_text(&server, "exec('sleep 1000 >/dev/null 2>&1 & echo $!', $out); echo $out[0];");
    let pid: i32 = text.trim().parse().unwrap();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    assert!(status.contains("SigBlk:\t0000000000000000\n"), "{status}");
    assert_eq!(run_text(&server, "echo 'well';"), "well");
    assert!(process::alive(pid));
    assert!(process::signal(pid, libc::SIGTERM), "a program can be ended");
    wait_for("the end of a program", 10, || !process::alive(pid));
}

#[test]
fn a_client_that_leaves_ends_the_script() {
    let Some(server) = serve("php_module_faults: leaving", &[]) else { return };
    let note = server.root().join("note");
    fs::write(&note, "").unwrap();
    blackbox::scratch::set_mode(&note, 0o666);
    let end = format!(
        "register_shutdown_function(function () {{ error_log('the end'); \
         file_put_contents('{}', connection_status() . connection_aborted()); }});",
        note.display()
    );
    let noted = || fs::read_to_string(&note).unwrap();
    for (before, expected) in [("", "11"), ("ignore_user_abort(true); ", "11")] {
        fs::write(&note, "").unwrap();
        let mut client = server.connect();
        let code = "$x = str_repeat('x', 1 << 20); for ($i = 0; $i < 1024; $i++) echo $x;";
        client.send(request(&format!("{before}{end}{code}")));
        assert_eq!(client.read_some(100_000).len(), 100_000);
        client.reset_on_drop();
        drop(client);
        let seen = until("the end of the script", 20, || Some(noted()).filter(|it| !it.is_empty()));
        assert_eq!(seen, expected, "{before}");
        assert_eq!(run_text(&server, "echo connection_status();"), "0");
    }
    assert_eq!(server.error_text().matches("the end").count(), 2);
}

#[test]
fn two_users_of_one_process_see_nothing_of_each_other() {
    let script = "<?php
        echo $left ?? '', $GLOBALS['left'] ?? '', class_exists('Left', false) ? Left::$user :
        '', ' ';
        echo $_COOKIE['user'], ' ', $_SERVER['PHP_AUTH_USER'], ' ', $_GET['user'], ' ',
        $_POST['user'], ' ';
        echo file_get_contents($_FILES['file']['tmp_name']), ' ', implode(',',
        array_keys($_COOKIE)), ' ';
        echo getenv('USER_OF') ?: '-', ' ', apache_note('user') ?: '-', ' ', ini_get('user_agent');
        $left = $_GET['user'];
        class Left { static $user; }
        Left::$user = $left;
        putenv(\"USER_OF=$left\"); apache_note('user', $left); ini_set('user_agent', $left);
        setcookie('of', $left); define('LEFT', $left);
        if ($_GET['n'] % 7 == 0) exit;
        if ($_GET['n'] % 11 == 0) throw new Exception('after all');";
    let Some(server) = serve("php_module_faults: users", &[("who.php", script)]) else { return };
    let form = |user: &str| {
        format!(
            "--x\r\nContent-Disposition: form-data; name=\"user\"\r\n\r\n{user}\r\n--x\r\n\
             Content-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\nfile-{user}\r\n\
             --x--\r\n"
        )
    };
    let users = [("alice", "YWxpY2U6YQ==", "a"), ("bob", "Ym9iOmI=", "b")];
    let process = run_text(&server, "echo getmypid();");
    for n in 0..10_000 {
        let (user, basic, cookie) = users[usize::from(n % 3 == 0)];
        let body = form(user);
        let length = body.len();
        let answer = server.exchange(format!(
            "POST /who.php?user={user}&n={n} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
             Cookie: user={user}; {cookie}=1\r\nAuthorization: Basic {basic}\r\n\
             Content-Type: multipart/form-data; boundary=x\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        ));
        let text = answer.text();
        let expected = format!(" {user} {user} {user} {user} file-{user} user,{cookie} - - ");
        let first = text.split("\nFatal").next().unwrap().split("PHP Fatal").next().unwrap();
        assert_eq!(first.trim_end_matches('\n'), expected, "request {n}");
        assert_eq!(answer.field("Set-Cookie"), Some(&*format!("of={user}")), "request {n}");
    }
    assert_eq!(run_text(&server, "echo getmypid();"), process);
}

#[test]
fn sessions_belong_to_their_cookie() {
    let script = "<?php session_save_path(sys_get_temp_dir()); session_start();
        echo $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
        if (isset($_GET['end'])) session_destroy();";
    let files = &[("count.php", script)];
    let Some(server) = serve("php_module_faults: sessions", files) else { return };
    let ask = |query: &str, cookie: &str| {
        server.exchange(format!(
            "GET /count.php{query} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{cookie}\r\n"
        ))
    };
    let cookies = [(); 2].map(|()| {
        let first = ask("", "");
        let cookie = first.field("Set-Cookie").unwrap().split(';').next().unwrap();
        format!("Cookie: {cookie}\r\n")
    });
    assert_ne!(cookies[0], cookies[1]);
    for (cookie, query, expected) in [
        (&cookies[0], "", "2"),
        (&cookies[0], "", "3"),
        (&cookies[1], "", "2"),
        (&cookies[0], "?end", "4"),
        (&cookies[1], "?end", "3"),
    ] {
        let answer = ask(query, cookie);
        assert_eq!((answer.text().as_str(), answer.field("Set-Cookie")), (expected, None));
    }
}

#[test]
fn an_interrupted_upload_is_the_end_of_its_script() {
    let Some(server) = serve("php_module_faults: uploads", &[]) else { return };
    let process = run_text(&server, "echo getmypid();");
    let mut client = Client::connect(server.address());
    client.send("POST /do.php HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\necho 1;");
    client.finish();
    drop(client);
    assert_eq!(run_text(&server, "echo getmypid();"), process);
    let mut slow = Client::connect(server.address());
    slow.stream().set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let (head, code) = ("POST /do.php HTTP/1.1\r\nHost: a\r\n", "echo 'slow';");
    slow.send_pieces([
        head.as_bytes(),
        b"Connection: close\r\nContent-Length: 12\r\n\r\n",
        &code.as_bytes()[..5],
        &code.as_bytes()[5..],
    ]);
    assert_eq!(slow.response().text(), "slow");
}
