//! The place where the servers run: a folder with the files they serve, free ports, and their
//! start and stop. Dropping it leaves nothing behind.

use std::fs::{self, File, Permissions};
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread::{available_parallelism, sleep};
use std::time::{Duration, Instant};

use super::http;
use super::keeper::Keeper;
use super::peers::{Server, Site};
use super::{procs, setup};

/// The served files and their sizes. The first is text, the rest is random, so that nothing can
/// be compressed on its way and a wrong byte shows.
const FILES: &[(&str, usize)] =
    &[("17k.bin", 17 << 10), ("100k.bin", 100 << 10), ("10m.bin", 10 << 20)];

/// The 44-byte page: the text of Apache's first page.
const INDEX: &str = "<html><body><h1>It works!</h1></body></html>";

/// Ports are taken from here on: below the range from which Linux gives clients theirs (32768).
const FIRST_PORT: u16 = 18_100;

/// A server that does not answer by then is given up.
const START_TIMEOUT: Duration = Duration::from_secs(15);

/// How often a server that starts is asked: its start is measured.
const POLL: Duration = Duration::from_micros(500);

/// What a scenario asks of a server beyond the files.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Needs {
    /// An access log.
    pub(super) logged: bool,
    /// Connections that stay open for long without a request.
    pub(super) idle: bool,
    /// Sections that hold for other requests.
    pub(super) sections: u32,
    /// Virtual hosts.
    pub(super) hosts: u32,
}

/// See the module's text.
pub(super) struct Lab {
    keeper: Keeper,
    folder: PathBuf,
    trivet: PathBuf,
    next_port: u16,
    cores: usize,
    root: bool,
}

/// A started server that answers.
pub(super) struct Running {
    pub(super) server: &'static Server,
    pub(super) pid: u32,
    pub(super) port: u16,
    pub(super) log: Option<PathBuf>,
    /// From its start to its first answer.
    pub(super) ready_after: Duration,
}

impl Lab {
    /// Makes the folder and the served files, readable by every user.
    pub(super) fn open(trivet: PathBuf) -> Result<Self, String> {
        let folder = std::env::temp_dir().join(format!("trivet-bench-{}", std::process::id()));
        make_folder(&folder)?;
        let keeper = Keeper::start(&folder)?; // from here on the folder is removed at the end
        let lab = Self {
            keeper,
            trivet,
            next_port: FIRST_PORT,
            cores: cores(),
            root: setup::is_root(),
            folder,
        };
        lab.make_files()?;
        Ok(lab)
    }

    /// The bytes that every server has to send for a path.
    pub(super) fn file(&self, path: &str) -> Result<Vec<u8>, String> {
        read(&self.docroot().join(path.trim_start_matches('/')))
    }

    /// Starts a server and waits until it answers.
    pub(super) fn start(
        &mut self,
        server: &'static Server,
        needs: Needs,
    ) -> Result<Running, String> {
        let Needs { logged, idle, sections, hosts } = needs;
        let port = self.free_port()?;
        let home = self.folder.join(format!("{}-{port}", server.name));
        make_folder(&home)?;
        let log = logged.then(|| home.join("access.log"));
        if let Some(log) = &log {
            write(log, b"")?; // some servers open it only after they have become www-data
            permit(log, 0o666)?;
        }
        let (docroot, cores, root) = (self.docroot(), self.cores, self.root);
        let (docroot, log_file) = (docroot.as_path(), log.as_deref());
        let home = home.as_path();
        let log = log_file;
        let site = Site { port, docroot, home, log, idle, cores, sections, hosts, root };
        let file = home.join("server.conf");
        write(&file, (server.config)(&site).as_bytes())?;
        let mut command = vec![self.program(server)];
        command.extend((server.args)(&site, &file.display().to_string()));
        let begin = Instant::now();
        let pid = self.keeper.spawn(&home.join("output"), &command)?;
        wait_until_ready(pid, port).map_err(|error| complaint(server, home, &error))?;
        let ready_after = begin.elapsed();
        Ok(Running { server, pid, port, log: log.map(Path::to_owned), ready_after })
    }

    /// Stops a server; its files stay until the end.
    pub(super) fn stop(&mut self, running: &Running) -> Result<(), String> {
        self.keeper.stop(running.pid)
    }

    fn program(&self, server: &Server) -> String {
        match server.package {
            Some(_) => setup::find(server.program)
                .map_or(server.program.into(), |file| file.display().to_string()),
            None => self.trivet.display().to_string(),
        }
    }

    fn docroot(&self) -> PathBuf {
        self.folder.join("www")
    }

    fn make_files(&self) -> Result<(), String> {
        let docroot = self.docroot();
        make_folder(&docroot)?;
        write(&docroot.join("index.html"), INDEX.as_bytes())?;
        for (name, size) in FILES {
            let mut bytes = vec![0; *size];
            let random =
                File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
            random.map_err(|error| format!("cannot read /dev/urandom: {error}"))?;
            write(&docroot.join(name), &bytes)?;
        }
        Ok(())
    }

    /// Every server gets a port that none had before it: connections to the one before, which
    /// linger for a minute, then never stand in the way.
    fn free_port(&mut self) -> Result<u16, String> {
        let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
        let port = (self.next_port..32_768).find(is_free).ok_or("no free port below 32768")?;
        self.next_port = port + 1;
        Ok(port)
    }
}

/// Cores this process may use.
pub(super) fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// Ready means that a request is answered, whatever the answer; it is checked later.
fn wait_until_ready(pid: u32, port: u16) -> Result<(), String> {
    let deadline = Instant::now() + START_TIMEOUT;
    loop {
        match http::get(port, "/index.html") {
            Ok(_) => return Ok(()),
            Err(_) if !procs::is_alive(pid) => return Err("it ended at once".into()),
            Err(error) if deadline < Instant::now() => return Err(error),
            Err(_) => sleep(POLL),
        }
    }
}

/// What a server said before it failed, from its output and its error log.
fn complaint(server: &Server, home: &Path, error: &str) -> String {
    let said = |name: &str| fs::read_to_string(home.join(name)).unwrap_or_default();
    let text = format!("{}{}", said("output"), said("error.log"));
    format!("{} does not serve: {error}\n{}", server.name, text.trim_end())
}

/// A folder that servers which gave up their rights can still enter, whatever the umask.
fn make_folder(folder: &Path) -> Result<(), String> {
    let made = fs::create_dir(folder);
    made.map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    permit(folder, 0o755)
}

fn write(file: &Path, bytes: &[u8]) -> Result<(), String> {
    let written = fs::write(file, bytes);
    written.map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    permit(file, 0o644)
}

fn permit(path: &Path, mode: u32) -> Result<(), String> {
    let changed = fs::set_permissions(path, Permissions::from_mode(mode));
    changed.map_err(|error| format!("cannot set the mode of {}: {error}", path.display()))
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))
}
