//! A site whose PHP scripts are run by processes of php-cgi that the server keeps.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::{Mpm, Server, Site, php, process};

/// What a script is told, but for what tells the servers and the connections apart.
const ENVIRONMENT: &str = "<?php
header('Content-Type: text/plain');
foreach (['REMOTE_PORT', 'REQUEST_TIME', 'REQUEST_TIME_FLOAT', 'SERVER_SOFTWARE', 'PATH',
          'SERVER_SIGNATURE', 'SERVER_PORT', 'PHP_FCGI_CHILDREN', 'PHP_FCGI_MAX_REQUESTS']
         as $name) {
    unset($_SERVER[$name], $_SERVER[\"REDIRECT_$name\"]);
}
ksort($_SERVER);
foreach ($_SERVER as $name => $value) if (is_string($value)) echo \"$name=$value\\n\";
";

/// Scripts for all occasions.
pub const SCRIPTS: &[(&str, &str)] = &[
    ("index.php", "<?php echo \"index {$_SERVER['REQUEST_URI']}\\n\";"),
    ("hello.php", "<?php echo \"Hello\\n\";"),
    ("pid.php", "<?php echo getmypid();"),
    ("env.php", ENVIRONMENT),
    ("folder/env.php", ENVIRONMENT),
    ("passing/env.php", ENVIRONMENT),
    ("strict/env.php", ENVIRONMENT),
    ("shut/env.php", ENVIRONMENT),
    ("virtual/x.txt", "x"),
    ("error.php", "<?php echo \"error page for {$_SERVER['REDIRECT_STATUS']}\\n\";"),
    (
        "post.php",
        "<?php header('Content-Type: text/plain'); \
      $body = file_get_contents('php://input'); echo strlen($body), ' ', md5($body), \"\\n\";",
    ),
    ("status.php", "<?php http_response_code((int) $_GET['s']); echo \"body\\n\";"),
    ("line.php", "<?php header($_GET['line']); echo \"body\\n\";"),
    (
        "local.php",
        "<?php header('Location: /env.php?from=local'); header('Status: 200'); echo 'x';",
    ),
    (
        "fields.php",
        "<?php setcookie('a', '1'); setcookie('b', '2'); header('X-One: 1'); \
      header('X-One: 2', false); header('Location: /elsewhere'); header('ETag: \"x\"'); \
      header('Cache-Control: no-cache'); header('Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT');",
    ),
    ("tag.php", "<?php header('ETag: \"x\"'); echo 'tagged';"),
    (
        "large.php",
        "<?php header('Content-Type: text/plain'); \
      for ($i = 0; $i < (int) $_GET['kb']; $i++) \
      echo str_repeat(chr(97 + $i % 26), 1023), \"\\n\";",
    ),
    (
        "sleep.php",
        "<?php $end = microtime(true) + (int) $_GET['ms'] / 1000; \
      while (microtime(true) < $end) usleep(1000); echo getmypid();",
    ),
    (
        "gate.php",
        "<?php touch($_GET['in']); while (!file_exists($_GET['until'])) { usleep(1000); \
      clearstatcache(); } echo \"through\\n\";",
    ),
    ("log.php", "<?php error_log(\"something went wrong\\nand more\"); echo \"done\\n\";"),
    (
        "die.php",
        "<?php if (!file_exists($_GET['once'])) { touch($_GET['once']); \
      posix_kill(getmypid(), 9); sleep(5); } echo \"alive\\n\";",
    ),
    ("plain.txt", "not a script\n"),
    ("program.fcgi", "no program\n"),
];

/// The program that runs scripts; `None`, told and counted, where it is not installed.
pub fn php_cgi(test: &str) -> Option<String> {
    php::cgi(test).map(|path| path.display().to_string())
}

/// A site with the scripts, run by kept processes.
pub fn start(test: &str, mpm: Mpm, lines: &[&str]) -> Option<Server> {
    let program = php_cgi(test)?;
    let wrapper = format!("FcgidWrapper \"{program} -n -d extension=posix -d post_max_size=0\"");
    Some(start_with(Site::new(mpm).steady(), &wrapper, lines))
}

/// The same with this line for the wrapper.
pub fn start_with(mut site: Site, wrapper: &str, lines: &[&str]) -> Server {
    for (name, content) in SCRIPTS {
        site = site.file(name, content);
    }
    let section = ["<FilesMatch \"\\.php$\">", "SetHandler fcgid-script", "Options +ExecCGI"];
    let end = [wrapper, "</FilesMatch>", "LogLevel notice fcgid:info"];
    let server = site.directives(&section).directives(&end).directives(lines).start();
    fs::set_permissions(server.logs().path(), fs::Permissions::from_mode(0o777))
        .expect("it is our own");
    server
}

fn is_php(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with("php-cgi"))
}

/// The processes that run scripts at present.
pub fn processes(server: &Server) -> Vec<i32> {
    let managers = process::children(server.pid());
    let programs = managers.into_iter().flat_map(process::children);
    programs.filter(|pid| is_php(*pid)).collect()
}

/// The process that runs a script now.
pub fn pid(server: &Server) -> i32 {
    let response = server.get("/pid.php");
    assert_eq!(response.status, 200, "{}", server.error_text());
    response.text().parse().expect("it is our own")
}

/// The status of a POST request.
pub fn post(server: &Server, target: &str, body: &str) -> u16 {
    let length = body.len();
    let request = format!(
        "POST {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n\
         {body}"
    );
    server.exchange(request).status
}
