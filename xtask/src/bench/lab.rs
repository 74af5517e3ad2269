//! The place where the servers run: a folder with the files they serve, free ports, and their
//! start and stop. Dropping it leaves nothing behind.

use std::fs::{self, File, Permissions};
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::http;
use super::keeper::Keeper;
use super::mpm;
use super::peers::BenchServer;
use super::programs::{cores, find, is_root};
use super::site::{BenchSite, Mpm, RuledSite, WorkerPool};
use super::{php, procs, rules};

/// The served files and their sizes. The first is text, the rest is random, so that nothing can
/// be compressed on its way and a wrong byte shows.
const FILES: &[(&str, usize)] =
    &[("17k.bin", 17 << 10), ("100k.bin", 100 << 10), ("10m.bin", 10 << 20)];

/// The 44-byte page: the text of Apache's first page.
const INDEX: &str = "<html><body><h1>It works!</h1></body></html>";

/// The page of a gallery, and of how many images of how many bytes it is made.
pub(super) const GALLERY: &str = "/gallery/index.html";
const GALLERY_IMAGES: usize = 240;
const GALLERY_IMAGE_BYTES: usize = 2048;

/// Ports are taken from here on: below the range from which Linux gives clients theirs (32768).
const FIRST_PORT: u16 = 18_100;

/// A server that does not answer by then is given up.
const START_TIMEOUT: Duration = Duration::from_secs(15);

/// How often a server that starts is asked: its start is measured.
const POLL: Duration = Duration::from_micros(500);

/// How often a server is asked for its workers: that costs more, and nothing is measured by it.
const WORKERS_POLL: Duration = Duration::from_millis(50);

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
    /// How many requests at once, where the server is compared under an MPM.
    pub(super) pool: WorkerPool,
    /// Connections that wait in listen queues at once.
    pub(super) queued: u32,
    /// Paths at which trivet takes its time.
    pub(super) handlers: bool,
    /// A PHP-FPM for scripts.
    pub(super) php: bool,
    /// `.htaccess` files and rules.
    pub(super) rules: Option<RuledSite>,
}

/// See the module's text.
pub(super) struct BenchLab {
    keeper: Keeper,
    folder: PathBuf,
    trivet: PathBuf,
    next_port: u16,
    cores: usize,
    root: bool,
}

/// A started server that answers.
pub(super) struct RunningServer {
    pub(super) server: &'static BenchServer,
    pub(super) pid: u32,
    pub(super) port: u16,
    pub(super) log: Option<PathBuf>,
    /// Its PHP-FPM.
    pub(super) fpm: Option<u32>,
    /// It listens on 127.0.0.1 up to 127.0.0.this.
    pub(super) addresses: u8,
    /// From its start to its first answer.
    pub(super) ready_after: Duration,
}

impl BenchLab {
    /// The measured binary.
    pub(super) fn trivet(&self) -> &Path {
        &self.trivet
    }

    /// Makes the folder and the served files, readable by every user.
    pub(super) fn open(trivet: PathBuf) -> Result<Self, String> {
        let folder = std::env::temp_dir().join(format!("trivet-bench-{}", std::process::id()));
        make_folder(&folder)?;
        let keeper = Keeper::start(&folder)?; // from here on the folder is removed at the end
        let lab =
            Self { keeper, trivet, next_port: FIRST_PORT, cores: cores(), root: is_root(), folder };
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
        server: &'static BenchServer,
        needs: Needs,
    ) -> Result<RunningServer, String> {
        let Needs { logged, idle, sections, hosts, pool, queued, handlers, php, rules } = needs;
        rules.map_or(Ok(()), |rules| self.make_ruled(rules))?;
        let longest = longest_queue()?;
        let addresses = addresses(queued, longest).ok_or("net.core.somaxconn is too small")?;
        let port = self.free_port()?;
        let home = self.folder.join(format!("{}-{port}", server.name));
        make_folder(&home)?;
        let log = logged.then(|| home.join("access.log"));
        if let Some(log) = &log {
            write(log, b"")?; // some servers open it only after they have become www-data
            permit(log, 0o666)?;
        }
        let fpm = php.then(|| php::start(&mut self.keeper, &home)).transpose()?;
        let (docroot, cores, root) = (self.docroot(), self.cores, self.root);
        let (docroot, log_file) = (docroot.as_path(), log.as_deref());
        let home = home.as_path();
        let log = log_file;
        let site = BenchSite {
            port,
            docroot,
            home,
            log,
            idle,
            cores,
            sections,
            hosts,
            pool,
            addresses: u32::from(addresses),
            handlers,
            fpm: fpm.as_ref().map(|(_, socket)| socket.as_path()),
            rules,
            root,
        };
        let file = home.join("server.conf");
        write(&file, (server.config)(&site).as_bytes())?;
        let mut command = vec![self.program(server)];
        command.extend((server.args)(&site, &file.display().to_string()));
        let begin = Instant::now();
        let pid = self.keeper.spawn(&home.join("output"), &command)?;
        wait_until_ready(pid, port).map_err(|error| complaint(server, home, &error))?;
        let ready_after = begin.elapsed();
        if let (Some(mpm), WorkerPool::Standing) = (server.mpm, pool) {
            wait_for_workers(mpm, pid).map_err(|error| complaint(server, home, &error))?;
        }
        let (log, fpm) = (log.map(Path::to_owned), fpm.as_ref().map(|(pid, _)| *pid));
        Ok(RunningServer { server, pid, port, log, fpm, addresses, ready_after })
    }

    /// Stops a server; its files stay until the end.
    pub(super) fn stop(&mut self, running: &RunningServer) -> Result<(), String> {
        self.keeper.stop(running.pid)?;
        running.fpm.map_or(Ok(()), |fpm| self.keeper.stop(fpm))
    }

    fn program(&self, server: &BenchServer) -> String {
        match server.package {
            Some(_) => find(server.program)
                .map_or(server.program.into(), |file| file.display().to_string()),
            None => self.trivet.display().to_string(),
        }
    }

    /// The folder of all files, for those of a load generator.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn docroot(&self) -> PathBuf {
        self.folder.join("www")
    }

    fn make_files(&self) -> Result<(), String> {
        let docroot = self.docroot();
        make_folder(&docroot)?;
        write(&docroot.join("index.html"), INDEX.as_bytes())?;
        write(&docroot.join(php::HELLO.0), php::HELLO.1.as_bytes())?;
        for (name, size) in FILES {
            write(&docroot.join(name), &random(*size)?)?;
        }
        make_gallery(&docroot.join("gallery"))
    }

    /// The files of a site with rules, unless a server before had them made.
    fn make_ruled(&self, site: RuledSite) -> Result<(), String> {
        for (path, text) in rules::files(site) {
            let file = self.docroot().join(path.trim_start_matches('/'));
            if !file.exists() {
                file.parent().map_or(Ok(()), make_folders)?;
                write(&file, text.as_bytes())?;
            }
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

/// The workers that a server starts beforehand are all there before it is measured.
fn wait_for_workers(mpm: Mpm, pid: u32) -> Result<(), String> {
    let deadline = Instant::now() + START_TIMEOUT;
    while !mpm::has_its_workers(mpm, pid) {
        if deadline < Instant::now() || !procs::is_alive(pid) {
            let (processes, threads) = (procs::children(pid), procs::threads_of_children(pid));
            return Err(format!("{processes} processes and {threads} threads after a while"));
        }
        sleep(WORKERS_POLL);
    }
    Ok(())
}

/// The longest listen queue that this machine allows: net.core.somaxconn cuts ListenBacklog down.
fn longest_queue() -> Result<u32, String> {
    let text = fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap_or_default();
    let most: u32 = text.trim().parse().map_err(|_| "cannot read net.core.somaxconn")?;
    Ok(most.clamp(1, mpm::BACKLOG))
}

/// How many addresses it takes until so many connections fit into their listen queues; each has
/// one of its own. None when a byte cannot number them.
fn addresses(queued: u32, longest: u32) -> Option<u8> {
    u8::try_from(queued.div_ceil(longest).max(1)).ok().filter(|count| *count < u8::MAX)
}

/// A page with images, which are random bytes as well.
fn make_gallery(folder: &Path) -> Result<(), String> {
    make_folder(folder)?;
    let mut page = String::from("<!DOCTYPE html>\n<title>Gallery</title>\n");
    for nth in 0..GALLERY_IMAGES {
        let name = format!("{nth:03}.png");
        write(&folder.join(&name), &random(GALLERY_IMAGE_BYTES)?)?;
        page.push_str(&format!("<img src=\"{name}\" alt=\"\">\n"));
    }
    write(&folder.join("index.html"), page.as_bytes())
}

fn random(size: usize) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; size];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| format!("cannot read /dev/urandom: {error}"))?;
    Ok(bytes)
}

/// What a server said before it failed, from its output and its error log.
fn complaint(server: &BenchServer, home: &Path, error: &str) -> String {
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

/// The same with the folders above it, as far as they are not there.
fn make_folders(folder: &Path) -> Result<(), String> {
    if folder.exists() {
        return Ok(());
    }
    folder.parent().map_or(Ok(()), make_folders)?;
    make_folder(folder)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connection_finds_room_in_a_queue() {
        for (queued, longest, count) in
            [(0, 4096, Some(1)), (4096, 4096, Some(1)), (10_000, 4096, Some(3)), (900, 1, None)]
        {
            assert_eq!(addresses(queued, longest), count, "{queued} in queues of {longest}");
        }
    }
}
