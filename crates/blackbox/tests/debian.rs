//! Debian's own /etc/apache2, unmodified but for addresses and the places of logs: with the modules
//! that an installation enables, compared with apache2, and with 40 more.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use blackbox::scratch::Scratch;
use blackbox::{Client, binary, outside, php, process, wait_for};

const SOURCE: &str = "/etc/apache2";

/// What the package enables (its postinst), with the event MPM.
const DEFAULT_MODULES: &str = "access_compat alias auth_basic authn_core authn_file authz_core \
     authz_host authz_user autoindex deflate dir env filter mime mpm_event negotiation reqtimeout \
     setenvif status";
const DEFAULT_CONFS: &str =
    "charset localized-error-pages other-vhosts-access-log security serve-cgi-bin";

/// Modules that need no further configuration; many of them trivet does not have.
const MORE_MODULES: &str = "actions allowmethods asis authn_anon authn_dbm authn_socache authz_dbm \
     authz_groupfile authz_owner brotli buffer cache cache_disk cern_meta cgid charset_lite data \
     dump_io echo expires ext_filter file_cache headers include info log_debug macro mime_magic \
     proxy proxy_http ratelimit reflector remoteip request rewrite sed session slotmem_shm speling \
     substitute unique_id userdir usertrack vhost_alias";

/// A copy of the tree with another address and other places for what a server writes.
struct Tree {
    folder: Scratch,
    address: SocketAddr,
}

impl Tree {
    /// `None`, told and counted, where the package is not installed.
    fn new(test: &str, modules: &str) -> Option<Self> {
        if !Path::new(SOURCE).join("mods-available/alias.load").exists() {
            outside::not_run(test, "the package apache2 is not installed");
            return None;
        }
        let folder = Scratch::new();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        for name in ["apache2.conf", "magic"] {
            folder.write(name, fs::read(Path::new(SOURCE).join(name)).unwrap());
        }
        for part in ["mods-available", "conf-available"] {
            symlink(Path::new(SOURCE).join(part), folder.join(part)).unwrap();
        }
        let tree = Self { folder, address };
        tree.adapt("ports.conf", &[("Listen 80\n", &format!("Listen {address}\n"))]);
        let port = format!("*:{}", address.port());
        tree.adapt("sites-available/000-default.conf", &[("*:80", &port)]);
        let place = |name: &str| tree.folder.join(name).display().to_string();
        tree.adapt(
            "envvars",
            &[("/var/run/apache2", &place("run")), ("/var/log/apache2", &place("log"))],
        );
        for name in ["run", "log"] {
            fs::create_dir(tree.folder.join(name)).unwrap();
        }
        tree.enable("sites", "000-default", &["conf"]);
        tree.enable("conf", DEFAULT_CONFS, &["conf"]);
        tree.enable("mods", modules, &["load", "conf"]);
        Some(tree)
    }

    /// Copy a file with some texts replaced.
    fn adapt(&self, name: &str, changes: &[(&str, &str)]) {
        let mut text = fs::read_to_string(Path::new(SOURCE).join(name)).unwrap();
        for (from, to) in changes {
            assert!(text.contains(from), "no {from:?} in {name}");
            text = text.replace(from, to);
        }
        self.folder.write(name, text);
    }

    /// As a2enmod does it. What this Debian does not have is left out.
    fn enable(&self, kind: &str, names: &str, endings: &[&str]) {
        fs::create_dir_all(self.folder.join(format!("{kind}-enabled"))).unwrap();
        for name in names.split_whitespace() {
            for ending in endings {
                let file = format!("{name}.{ending}");
                let target = self.folder.join(format!("{kind}-available/{file}"));
                if target.exists() {
                    symlink(target, self.folder.join(format!("{kind}-enabled/{file}"))).unwrap();
                }
            }
        }
    }

    fn loaded(&self) -> usize {
        let files = fs::read_dir(self.folder.join("mods-enabled")).unwrap();
        let is_load = |name: &str| name.ends_with(".load");
        files.filter(|file| is_load(&file.as_ref().unwrap().file_name().to_string_lossy())).count()
    }

    /// Start a server in the foreground; gives it with its messages.
    fn start(&self, command: &mut Command) -> Running {
        let errors = self.folder.join("stderr");
        command.arg("-d").arg(self.folder.path()).args(["-D", "FOREGROUND"]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(fs::File::create(&errors).unwrap());
        let child = process::lead_group(command).spawn().unwrap();
        wait_for("the server", 20, || Client::try_connect(self.address).is_ok());
        Running { child, messages: fs::read_to_string(errors).unwrap() }
    }

    fn answer(&self, request: &str) -> String {
        let mut client = Client::connect(self.address);
        client.send(
            request.replace('\n', "\r\n") + "\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        );
        let is_head = request.starts_with("HEAD ");
        let response = if is_head { client.head_response() } else { client.response() };
        let is_own = |name: &str| matches!(name, "Date" | "Server");
        let mut fields: Vec<String> = response
            .fields
            .iter()
            .filter(|field| !is_own(&field.0))
            .map(|field| format!("{}: {}", field.0, String::from_utf8_lossy(&field.1)))
            .collect();
        fields.sort_unstable();
        format!("{}\n{}\n\n{}", response.status, fields.join("\n"), response.body.escape_ascii())
    }
}

/// A server that ends with this value.
struct Running {
    child: Child,
    messages: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).unwrap();
        process::signal(pid, libc::SIGTERM);
        let _ = self.child.wait();
        process::signal(-pid, libc::SIGKILL);
    }
}

/// Without the variables of `envvars`, which trivet reads itself.
fn trivet() -> Command {
    let mut command = Command::new(binary::trivet());
    command.env_remove("APACHE_RUN_USER").env_remove("APACHE_LOG_DIR");
    command
}

const REQUESTS: &[&str] = &[
    "GET / HTTP/1.1",
    "HEAD / HTTP/1.1",
    "GET /index.html HTTP/1.1",
    "GET /index.html HTTP/1.1\nRange: bytes=0-99",
    "GET /index.html HTTP/1.1\nIf-Modified-Since: Fri, 01 Jan 2016 00:00:00 GMT",
    "GET /icons/blank.gif HTTP/1.1",
];

#[test]
fn the_default_site_is_served_as_apache_serves_it() {
    let test = "the_default_site_is_served_as_apache_serves_it";
    let Some(tree) = Tree::new(test, DEFAULT_MODULES) else { return };
    let served = |running: Running| {
        let answers: Vec<String> = REQUESTS.iter().map(|request| tree.answer(request)).collect();
        drop(running);
        wait_for("the port to be free", 20, || TcpListener::bind(tree.address).is_ok());
        answers
    };
    let trivet_starts = tree.start(&mut trivet());
    let missing = trivet_starts.messages.matches("Trivet has no ").count();
    assert_eq!(missing, 0, "{}", trivet_starts.messages);
    let ours = served(trivet_starts);
    let mut apache = Command::new("/bin/sh");
    apache.args(["-c", ". \"$0/envvars\"; exec apache2 \"$@\""]).arg(tree.folder.path());
    let theirs = served(tree.start(&mut apache));
    for ((request, ours), theirs) in REQUESTS.iter().zip(ours).zip(theirs) {
        assert_eq!(ours, theirs, "{request}");
    }
}

#[test]
fn forty_more_modules_start_with_a_warning_for_each_that_is_missing() {
    let test = "forty_more_modules_start_with_a_warning_for_each_that_is_missing";
    let modules = format!("{DEFAULT_MODULES} {MORE_MODULES}");
    let Some(tree) = Tree::new(test, &modules) else { return };
    let wanted = tree.loaded();
    assert!(wanted >= DEFAULT_MODULES.split_whitespace().count() + 40, "only {wanted} modules");
    let listed = trivet().arg("-d").arg(tree.folder.path()).arg("-M").output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let shared = listed.lines().filter(|line| line.ends_with("(shared)")).count();
    let running = tree.start(&mut trivet());
    let warned = running.messages.matches("Trivet has no ").count();
    assert_eq!(shared + warned, wanted, "{listed}\n{}", running.messages);
    assert!(tree.answer("GET / HTTP/1.1").starts_with("200\n"));
}

/// `a2enmod php8.2 mpm_prefork`, and `a2dismod mpm_event`.
#[test]
fn debians_mod_php_is_enabled_as_it_comes() {
    let test = "debians_mod_php_is_enabled_as_it_comes";
    if php::module(test).is_none() {
        return;
    }
    let Some(module) = php::module_of_apache() else {
        return outside::not_run(test, "libapache2-mod-php is not installed");
    };
    let version = module.file_stem().unwrap().to_str().unwrap().replace("lib", "");
    let modules = DEFAULT_MODULES.replace("mpm_event", "mpm_prefork") + " userdir " + &version;
    let Some(tree) = Tree::new(test, &modules) else { return };
    tree.adapt(
        "sites-available/000-default.conf",
        &[
            ("/var/www/html", &tree.folder.join("html").display().to_string()),
            ("*:80", &format!("*:{}", tree.address.port())),
        ],
    );
    let root = tree.folder.join("html");
    let granted = format!("<Directory {}>\nRequire all granted\n</Directory>\n", root.display());
    tree.folder.write("conf-enabled/html.conf", granted);
    let script = "<?php echo 'run by ', PHP_SAPI; // secret";
    for name in ["index.php", "a.phar", "a.phtml", "a.phps", ".php"] {
        tree.folder.write(format!("html/{name}"), script);
    }
    let running = tree.start(&mut trivet());
    assert!(!running.messages.contains("Trivet has no "), "{}", running.messages);
    for (path, status) in
        [("index.php", 200), ("a.phar", 200), ("a.phtml", 200), ("a.phps", 403), (".php", 403)]
    {
        let answer = tree.answer(&format!("GET /{path} HTTP/1.1"));
        assert!(answer.starts_with(&format!("{status}\n")), "{path}: {answer}");
        assert_eq!(answer.contains("run by apache2handler"), status == 200, "{path}: {answer}");
        assert!(!answer.contains("secret"), "{path}: {answer}");
    }
}
