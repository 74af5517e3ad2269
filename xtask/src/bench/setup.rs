//! What a run needs before it starts: packages, trivet's release build, limits, and a note of the
//! machine it runs on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::options::BenchOptions;
use super::peers::BenchServer;
use super::php;
use super::programs::{build_trivet, cores, find, install, project, target_folder};

/// The load generators, what runs scripts, and their packages.
const TOOLS: &[(&str, &str)] =
    &[("wrk", "wrk"), ("ab", "apache2-utils"), ("siege", "siege"), php::FPM];

/// What the report says about where the figures come from.
#[derive(Debug)]
pub(super) struct BenchMachine {
    pub(super) date: String,
    pub(super) cpu: String,
    pub(super) cores: usize,
    pub(super) kernel: String,
    /// Load average of the last minute before the run: a busy machine spoils the figures.
    pub(super) load_before: String,
    /// Name and version, in the order of the servers.
    pub(super) versions: Vec<(&'static str, String)>,
}

/// Installs what is missing of the servers and the load generators.
pub(super) fn install_missing(servers: &[&BenchServer]) -> Result<(), String> {
    let peers = servers.iter().filter_map(|server| Some((server.program, server.package?)));
    let needed = TOOLS.iter().copied().chain(peers);
    let missing: Vec<&str> =
        needed.filter(|(program, _)| find(program).is_none()).map(|(_, package)| package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    eprintln!("bench: installing {}", missing.join(" "));
    if install(&missing) {
        return Ok(());
    }
    Err(format!("please install as root: apt-get install {}", missing.join(" ")))
}

/// The trivet to be measured: the one that is named, else a fresh release build.
pub(super) fn trivet_binary(options: &BenchOptions) -> Result<PathBuf, String> {
    if let Some(binary) = &options.binary {
        let absolute = fs::canonicalize(binary);
        return absolute.map_err(|error| format!("{}: {error}", binary.display()));
    }
    let target = target_folder()?;
    if options.servers.iter().any(|server| server.package.is_none()) {
        build_trivet(&target)?;
    }
    Ok(target.join("release/trivet"))
}

/// Raises the limit of open files of this process and so of all that it starts. The standard
/// library cannot; prlimit(1), which every Debian has, does it to a running process.
pub(super) fn allow_open_files(needed: u64) -> Result<(), String> {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let (soft, hard) = parse_open_files(&limits).ok_or("cannot read /proc/self/limits")?;
    if needed <= soft {
        return Ok(());
    }
    // Beyond the hard limit only root can go.
    let limit = format!("--nofile={needed}:{}", needed.max(hard));
    let pid = std::process::id().to_string();
    let raised = Command::new("prlimit").args(["--pid", &pid, &limit]).output();
    if raised.is_ok_and(|done| done.status.success()) {
        return Ok(());
    }
    Err(format!("{needed} open files are needed but {hard} allowed; see ulimit -n, or --only"))
}

/// Soft and hard limit of open files.
fn parse_open_files(limits: &str) -> Option<(u64, u64)> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let mut numbers = line.split_whitespace().map(|word| word.parse().unwrap_or(u64::MAX));
    Some((numbers.next()?, numbers.next()?))
}

/// Notes what the figures depend on. Servers that are not measured are not asked.
pub(super) fn machine(options: &BenchOptions, trivet: &Path) -> Result<BenchMachine, String> {
    let noted = |server: &&'static BenchServer| (server.name, version(server, trivet, options));
    let read = |file| fs::read_to_string(file).unwrap_or_default().trim().to_owned();
    let load = read("/proc/loadavg");
    Ok(BenchMachine {
        date: output("date", &["-u", "+%F"]).ok_or("cannot run date")?,
        cpu: parse_cpu(&read("/proc/cpuinfo")).unwrap_or("unknown").to_owned(),
        cores: cores(),
        kernel: read("/proc/sys/kernel/osrelease"),
        load_before: load.split(' ').next().unwrap_or_default().to_owned(),
        versions: options.servers.iter().map(noted).collect(),
    })
}

/// What a server says its version is; that of a fresh trivet has the commit too.
fn version(server: &BenchServer, trivet: &Path, options: &BenchOptions) -> String {
    let peer = server.package.and_then(|_| find(server.program));
    let program = peer.as_deref().unwrap_or(trivet).display().to_string();
    let text = output(&program, &[server.version_flag]).unwrap_or_default();
    let name = if server.package.is_none() { server.program } else { server.name };
    let version = parse_version(&text, name).unwrap_or("of unknown version").to_owned();
    let commit = || output("git", &["describe", "--always", "--dirty", "--exclude=*"]);
    match (server.package, &options.binary) {
        (Some(_), _) => version,
        (None, Some(_)) => format!("{version} (built elsewhere)"),
        (None, None) => format!("{version} ({})", commit().unwrap_or("no commit".into())),
    }
}

/// What a program prints, on whichever stream; None when it cannot be run or fails.
fn output(program: &str, args: &[&str]) -> Option<String> {
    let done = Command::new(program).args(args).current_dir(project()).output().ok()?;
    let text = String::from_utf8([done.stdout, done.stderr].concat()).ok()?;
    done.status.success().then(|| text.trim().to_owned())
}

/// The word that begins with the server's name and a slash, else the first that looks like a
/// version: trivet names Apache before itself, and h2o puts a blank where others put a slash.
fn parse_version<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let looks_right =
        |word: &&str| word.contains('.') && word.contains(|c: char| c.is_ascii_digit());
    let words = || text.split_whitespace().map(|word| word.trim_matches(['(', ')']));
    let named = format!("{name}/");
    let own = words().find(|word| word.to_ascii_lowercase().starts_with(&named));
    let word = own.or_else(|| words().find(looks_right))?;
    Some(word.rsplit('/').next().unwrap_or(word))
}

/// The model of the first CPU; not every architecture names one.
fn parse_cpu(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_in_every_manner() {
        for (name, text, version) in [
            ("nginx", "nginx version: nginx/1.22.1", "1.22.1"),
            ("apache", "Server version: Apache/2.4.71 (Debian)\nServer built: 2026", "2.4.71"),
            ("lighttpd", "lighttpd/1.4.69 (ssl) - a light and fast webserver", "1.4.69"),
            ("h2o", "h2o version 2.2.5\nOpenSSL: OpenSSL 3.0.19", "2.2.5"),
            ("trivet", "Server version: Apache/2.4.71 (Trivet/0.1)", "0.1"),
        ] {
            assert_eq!(parse_version(text, name), Some(version));
        }
        assert_eq!(parse_version("no such option.", "h2o"), None);
    }

    #[test]
    fn limits_may_be_unlimited() {
        let limits = "Max processes 1 2 x\nMax open files            1024      unlimited   files\n";
        assert_eq!(parse_open_files(limits), Some((1024, u64::MAX)));
    }

    #[test]
    fn the_cpu_may_have_no_name() {
        assert_eq!(parse_cpu("processor\t: 0\nmodel name\t: Xeon(R) 3\n"), Some("Xeon(R) 3"));
        assert_eq!(parse_cpu("processor : 0"), None);
    }
}
