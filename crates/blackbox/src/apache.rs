//! Debian's apache2 beside trivet: both are started over one folder with one configuration, so that
//! a test can compare what they answer. What has to differ, the address and the places for a pid
//! and for logs, is written here; the rest comes from `configs/`.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};
use std::{fs, thread};

use crate::client::Client;
use crate::scratch::Scratch;
use crate::wait::{until, wait_for};
use crate::{Mpm, Server, Site, php, process, releases};

/// The modules that both load. A name is added when trivet has the module.
const MODULES: &[&str] = &[
    "access_compat",
    "actions",
    "alias",
    "asis",
    "auth_basic",
    "authn_core",
    "authn_file",
    "authz_core",
    "authz_groupfile",
    "authz_host",
    "authz_user",
    "autoindex",
    "deflate",
    "dir",
    "env",
    "expires",
    "filter",
    "headers",
    "include",
    "mime",
    "negotiation",
    "ratelimit",
    "remoteip",
    "reqtimeout",
    "setenvif",
    "speling",
    "status",
    "substitute",
    "userdir",
    "usertrack",
    "vhost_alias",
];
/// Where Debian puts their files. trivet looks at the names only.
pub(crate) const FOLDER: &str = "/usr/lib/apache2/modules";

/// Both servers over one folder.
#[derive(Debug)]
pub struct Pair {
    /// Debian's.
    pub apache: Apache,
    /// Ours.
    pub trivet: Server,
    /// The folder that the configuration knows as `${SITE}`.
    pub site: Scratch,
    /// The folder that is `ServerRoot` of ours.
    pub trivet_home: Scratch,
}

impl Pair {
    /// Starts both with `configs/NAME.conf` over a folder with these files; `None`, told and
    /// counted, where there is no apache2 to compare with.
    pub fn start(test: &str, mpm: Mpm, name: &str, files: &[(&str, &str)]) -> Option<Self> {
        Self::start_both([Mpm::Event, mpm], test, name, files, "")
    }

    /// The same, both under one MPM and with these lines behind the others.
    pub fn start_alike(
        test: &str,
        mpm: Mpm,
        name: &str,
        files: &[(&str, &str)],
        more: &str,
    ) -> Option<Self> {
        Self::start_both([mpm, mpm], test, name, files, more)
    }

    fn start_both(
        mpms: [Mpm; 2],
        test: &str,
        name: &str,
        files: &[(&str, &str)],
        more: &str,
    ) -> Option<Self> {
        let site = Scratch::new();
        for (path, content) in files {
            match path.strip_suffix('/') {
                Some(folder) => make_folder(&site.join(folder)),
                None => make_old(&site.write(path, content)),
            }
        }
        Self::start_over(mpms, test, name, site, more)
    }

    /// The same over a folder that is there already, theirs and ours each under an MPM.
    pub fn start_over(
        [theirs, ours]: [Mpm; 2],
        test: &str,
        name: &str,
        site: Scratch,
        more: &str,
    ) -> Option<Self> {
        let program = releases::httpd(test)?;
        let config = config(name, &site) + more;
        let apache = Apache::start(&program, theirs, &config);
        let (trivet, trivet_home) = start_trivet(ours, &config);
        Some(Self { apache, trivet, site, trivet_home })
    }
}

/// A file of this second has a weak entity tag, and a strong one in the next: both servers must see
/// the same.
pub(crate) fn make_old(path: &Path) {
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let file = fs::File::options().write(true).open(path).expect("it was written just now");
    file.set_modified(then).expect("it is our own");
}

fn make_folder(path: &Path) {
    fs::create_dir_all(path).expect("a folder can be made");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is our own");
}

/// The lines that both servers read, without an address.
pub(crate) fn config(name: &str, site: &Scratch) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs").join(format!("{name}.conf"));
    let fixture = fs::read_to_string(&path).expect("the configuration is part of this crate");
    let mut lines: Vec<String> =
        MODULES.iter().map(|it| format!("LoadModule {it}_module {FOLDER}/mod_{it}.so")).collect();
    if process::am_root() {
        lines.extend(["User www-data".into(), "Group www-data".into()]);
    }
    if let Some(program) = php::newest("php-cgi") {
        lines.push(format!("Define PHP_CGI {}", program.display()));
    }
    if let Some(file) = php::module_of_apache() {
        lines.push(format!("Define PHP_MODULE {}", file.display()));
    }
    lines.push("ServerName localhost".into());
    lines.push(format!("Define SITE {}", site.path().display()));
    lines.join("\n") + "\n" + &fixture
}

/// Another trivet over a folder, with `configs/NAME.conf` and these lines behind it; with it, the
/// folder that is its `ServerRoot`.
pub fn start_ours(mpm: Mpm, name: &str, site: &Scratch, more: &str) -> (Server, Scratch) {
    start_trivet(mpm, &(config(name, site) + more))
}

fn start_trivet(mpm: Mpm, config: &str) -> (Server, Scratch) {
    let home = Scratch::new();
    let text = format!("ServerRoot {}\nListen 127.0.0.1:0\n{config}", home.path().display());
    let file = home.write("trivet.conf", text);
    (Site::new(mpm).config(file).start(), home)
}

/// A running apache2.
#[derive(Debug)]
pub struct Apache {
    child: Child,
    address: SocketAddr,
    home: Scratch,
}

impl Apache {
    /// Starts it in the foreground. It cannot be told to take a free port, so one is looked for;
    /// if another process was faster, another one.
    pub(crate) fn start(program: &Path, mpm: Mpm, config: &str) -> Self {
        for _ in 0..10 {
            let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
            let address = port.expect("there is a free port");
            let mut apache = Self::spawn(program, mpm, config, address);
            if apache.is_serving() {
                return apache;
            }
            let errors = apache.errors();
            assert!(errors.contains("could not bind"), "apache2 does not start: {errors}");
        }
        panic!("no port stays free for apache2");
    }

    fn spawn(program: &Path, mpm: Mpm, config: &str, address: SocketAddr) -> Self {
        let home = Scratch::new();
        let here = home.path().display();
        let mpm = mpm.name();
        let own = format!(
            "LoadModule mpm_{mpm}_module {FOLDER}/mod_mpm_{mpm}.so\nServerRoot {here}\n\
             DefaultRuntimeDir {here}\nPidFile {here}/pid\nErrorLog {here}/errors\n\
             Listen {address}\n"
        );
        let file = home.write("apache.conf", own + config);
        let errors = fs::File::create(home.join("stderr")).expect("a log can be made");
        let mut command = Command::new(program);
        command.args(["-D", "FOREGROUND", "-f"]).arg(file);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        let child = process::lead_group(&mut command).spawn().expect("apache2 can be started");
        Self { child, address, home }
    }

    /// Waits until it answers and has noted its start in its log, or has ended.
    fn is_serving(&mut self) -> bool {
        until("apache2 to serve", 20, || {
            if self.child.try_wait().expect("a child can be waited for").is_some() {
                return Some(false);
            }
            let has_noted = self.errors().contains("AH00094");
            (has_noted && Client::try_connect(self.address).is_ok()).then_some(true)
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The folder that is its `ServerRoot`.
    pub fn home(&self) -> &Scratch {
        &self.home
    }

    /// Its error log.
    pub fn error_file(&self) -> PathBuf {
        self.home.join("errors")
    }

    /// What it wrote to stderr and to its error log.
    pub fn errors(&self) -> String {
        let paths: [PathBuf; 2] = [self.home.join("stderr"), self.home.join("errors")];
        paths.iter().map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
    }
}

impl Drop for Apache {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).expect("a process id fits");
        if thread::panicking() {
            eprintln!("--- errors of apache2 ---\n{}", self.errors());
        }
        // Its parent ends its children; what is left of the group after that is killed.
        process::signal(pid, libc::SIGTERM);
        let _ = self.child.wait();
        process::signal(-pid, libc::SIGKILL);
        if !thread::panicking() {
            wait_for("the end of apache2", 10, || process::group_members(pid).is_empty());
        }
    }
}
