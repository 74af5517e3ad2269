//! `make install` and the units of systemd: what was installed can be started as the unit says, and
//! goes away again.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use blackbox::outside::{find, not_run, run_command};
use blackbox::scratch::{Scratch, set_mode};
use blackbox::{Client, binary, php, process, until};

/// The repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn make(words: &[&str]) {
    let mut command = Command::new("make");
    command.arg("-s").arg("-C").arg(repository()).args(words);
    command.arg(format!("BINARY={}", binary::trivet().display()));
    // These tests may run under make.
    command.env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
    let output = run_command(&mut command, 60);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "make {words:?}: {said}");
}

/// All files below a folder, sorted.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(folder).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

/// The value of the one line `NAME=` of a unit.
fn setting(unit: &str, name: &str) -> String {
    let lines: Vec<&str> = unit.lines().filter_map(|it| it.strip_prefix(name)).collect();
    assert_eq!(lines.len(), 1, "{name} {lines:?}");
    lines[0].strip_prefix('=').unwrap().to_owned()
}

/// What `make install DESTDIR=... prefix=/usr` has put below a folder, moved there: where a package
/// would put it in the root of the system.
struct Installed {
    root: Scratch,
    unit: String,
    address: SocketAddr,
    notify: UnixDatagram,
}

impl Installed {
    fn new() -> Self {
        let root = Scratch::new();
        let destination = format!("DESTDIR={}", root.path().display());
        make(&["install", &destination, "prefix=/usr"]);
        let unit = fs::read_to_string(root.join("usr/lib/systemd/system/trivet.service")).unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let path = root.join("notify");
        let notify = UnixDatagram::bind(&path).unwrap();
        set_mode(&path, 0o777);
        notify.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let new = Self { root, unit, address, notify };
        let text = fs::read_to_string(new.config()).unwrap();
        assert!(text.contains("\nListen 80\n"), "{text}");
        let text = text.replace("\nListen 80\n", &format!("\nListen {address}\n"));
        fs::write(new.config(), new.moved(&text)).unwrap();
        // What the unit asks systemd to make.
        assert_eq!(setting(&new.unit, "RuntimeDirectory"), "trivet");
        assert_eq!(setting(&new.unit, "LogsDirectory"), "trivet");
        for folder in ["run/trivet", "var/log/trivet"] {
            fs::create_dir_all(new.root.join(folder)).unwrap();
        }
        new
    }

    fn config(&self) -> PathBuf {
        self.root.join("etc/trivet/trivet.conf")
    }

    /// With the paths of the system below the folder.
    fn moved(&self, text: &str) -> String {
        let root = self.root.path().display();
        let paths =
            ["/usr/bin/trivet", "/etc/trivet", "/run/trivet", "/var/log/", "/usr/share/trivet"];
        paths.iter().fold(text.to_owned(), |text, path| {
            text.replace(&format!(" {path}"), &format!(" {root}{path}"))
        })
    }

    /// A command of the unit, with the rights that the unit leaves.
    fn command(&self, name: &str) -> Command {
        let line = self.moved(&format!(" {}", setting(&self.unit, name)));
        let mut words: Vec<String> = line.split_whitespace().map(Into::into).collect();
        if process::am_root() && find("setpriv").is_some() {
            let rights = setting(&self.unit, "CapabilityBoundingSet").to_lowercase();
            let rights = rights.replace("cap_", "+").replace(' ', ",");
            let wrapper =
                ["setpriv", "--no-new-privs", "--bounding-set", &format!("-all,{rights}")];
            words.splice(0..0, wrapper.map(Into::into));
        }
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null());
        command.env("NOTIFY_SOCKET", self.root.join("notify"));
        command
    }

    fn start(&self) -> Child {
        let mut command = self.command("ExecStart");
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        process::lead_group(&mut command).spawn().unwrap()
    }

    fn hear(&self) -> String {
        let mut message = [0; 4096];
        let length = self.notify.recv(&mut message).expect("the server says something");
        String::from_utf8_lossy(&message[..length]).lines().next().unwrap().to_owned()
    }
}

#[test]
fn an_installed_server_starts_reloads_and_stops_as_its_unit_says() {
    let installed = Installed::new();
    let mut child = installed.start();
    let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| installed.hear()));
    if told.as_deref().ok() != Some("READY=1") {
        let mut said = String::new();
        let _ = child.kill();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        panic!("{said}");
    }
    let page = fs::read_to_string(repository().join("examples/site/index.html")).unwrap();
    let get = || Client::connect(installed.address).get("/").text();
    assert_eq!(get(), page);

    let output = run_command(&mut installed.command("ExecReload"), 30);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!([installed.hear(), installed.hear()], ["RELOADING=1", "READY=1"]);
    assert_eq!(get(), page);
    let good = fs::read_to_string(installed.config()).unwrap();
    fs::write(installed.config(), format!("{good}Nonsense On\n")).unwrap();
    let output = run_command(&mut installed.command("ExecReload"), 30);
    assert!(!output.status.success(), "a mistake is seen before anybody is told");
    assert_eq!(get(), page);

    assert_eq!(setting(&installed.unit, "KillSignal"), "SIGWINCH");
    let pid = i32::try_from(child.id()).unwrap();
    process::signal(pid, libc::SIGWINCH);
    assert_eq!(installed.hear(), "STOPPING=1");
    let status = until("the end of the server", 20, || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
    assert_eq!(process::group_members(pid), [] as [i32; 0]);
    let log = fs::read_to_string(installed.root.join("var/log/trivet/access.log")).unwrap();
    assert_eq!(log.lines().count(), 3, "{log}");
}

#[test]
fn the_module_file_of_php_is_installed_where_it_was_built() {
    let Some(module) = php::module("install: the module file of PHP") else { return };
    let root = Scratch::new();
    let destination = format!("DESTDIR={}", root.path().display());
    let module = format!("PHP_MODULE={}", module.display());
    let file = root.join("usr/lib/trivet/libtrivet_php.so");
    make(&["install", &destination, "prefix=/usr", &module]);
    assert!(file.is_file());
    make(&["uninstall", &destination, "prefix=/usr"]);
    assert!(!file.parent().unwrap().exists());
}

#[test]
fn a_changed_configuration_survives_and_the_rest_goes_away() {
    let root = Scratch::new();
    let destination = format!("DESTDIR={}", root.path().display());
    let words = |target| [target, destination.as_str(), "prefix=/usr"];
    make(&words("install"));
    for file in [
        "usr/bin/trivet",
        "usr/lib/systemd/system/trivet.service",
        "usr/lib/systemd/system/trivet.socket",
        "usr/share/man/man8/trivet.8",
        "usr/share/doc/trivet/LICENSE",
        "usr/share/doc/trivet/docs/guide/serve.md",
        "usr/share/trivet/site/index.html",
        "etc/trivet/trivet.conf",
    ] {
        assert!(root.join(file).is_file(), "{file}");
    }
    for file in files(root.path()).iter().filter(|file| !file.ends_with(".md")) {
        if let Ok(text) = fs::read_to_string(root.join(file)) {
            assert!(!text.contains("/usr/local"), "{file} names a path of another prefix");
        }
    }
    root.write("etc/trivet/trivet.conf", "Listen 8080\n");
    root.write("usr/share/trivet/site/own.html", "mine");
    make(&words("install"));
    make(&words("uninstall"));
    assert_eq!(files(root.path()), ["etc/trivet/trivet.conf", "usr/share/trivet/site/own.html"]);
    assert_eq!(fs::read_to_string(root.join("etc/trivet/trivet.conf")).unwrap(), "Listen 8080\n");
    fs::remove_file(root.join("etc/trivet/trivet.conf")).unwrap();
    fs::remove_file(root.join("usr/share/trivet/site/own.html")).unwrap();
    make(&words("install"));
    make(&words("uninstall"));
    assert_eq!(files(root.path()), [] as [String; 0]);
}

#[test]
fn systemd_finds_no_fault_with_the_units() {
    let name = "systemd_finds_no_fault_with_the_units";
    if find("systemd-analyze").is_none() {
        return not_run(name, "systemd-analyze is not installed");
    }
    let root = Scratch::new();
    make(&["install", &format!("prefix={}", root.path().display())]);
    let mut command = Command::new("systemd-analyze");
    command.args(["verify", "--man=no"]);
    command.args(
        ["trivet.service", "trivet.socket"].map(|it| root.join("lib/systemd/system").join(it)),
    );
    let output = run_command(&mut command, 60);
    let said = String::from_utf8_lossy(&output.stderr);
    // Other units of the machine are looked at as well.
    let ours: Vec<&str> = said.lines().filter(|line| line.contains("trivet")).collect();
    assert!(output.status.success() && ours.is_empty(), "{said}");
}
