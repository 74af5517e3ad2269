//! What the process that keeps FastCGI processes has to know of the configuration, and how it
//! speaks in the log.

pub use super::settings::{ClassTerms, Scores};
use super::{HOST_SETTINGS, SERVER_SETTINGS};
use logging::level::Level;
use server::Server;
use server::script::environment;
use server::{Machine, SHARE_PERCENT};
use std::ffi::CString;
use std::path::PathBuf;

/// What a process is taken to need where nobody says how many there may be: what PHP has with an
/// application of some size.
const PROCESS_BYTES: u64 = 64 << 20;

/// Processes for each core: more of them would mostly wait for each other.
const PROCESSES_PER_CORE: usize = 32;

/// Not fewer where nothing tells how much memory there is.
const PROCESSES_LEAST: usize = 4;

/// The name of the module in the log.
const NAME: &str = "fcgid";

/// How important a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagerSeverity {
    /// What happens as a rule.
    Info,
    /// What should be looked at.
    Warning,
    /// What is wrong.
    Error,
}

/// How many processes there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptMost {
    /// `FcgidMaxProcesses`.
    Given(usize),
    /// As many as memory is enough for.
    ByMemory(KeptByMemory),
}

/// What bounds them where nobody says how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptByMemory {
    /// However much memory there is.
    pub ceiling: usize,
    /// What one is taken to need before any was measured.
    pub guess_bytes: u64,
    /// Where memory cannot be measured.
    pub unmeasured: usize,
}

impl KeptByMemory {
    fn of(machine: &Machine) -> Self {
        let bytes = machine.available_bytes.saturating_mul(SHARE_PERCENT) / 100;
        let of_memory = usize::try_from(bytes / PROCESS_BYTES).unwrap_or(usize::MAX);
        let ceiling = machine.cores.saturating_mul(PROCESSES_PER_CORE).max(PROCESSES_LEAST);
        let unmeasured = of_memory.clamp(PROCESSES_LEAST, ceiling);
        Self { ceiling, guess_bytes: PROCESS_BYTES, unmeasured }
    }
}

/// `FcgidMaxProcesses`, or what this machine is good for.
pub fn most(server: &Server) -> KeptMost {
    match SERVER_SETTINGS.of(&server.site.modules).processes_max() {
        Some(most) => KeptMost::Given(most),
        None => KeptMost::ByMemory(KeptByMemory::of(&Machine::here())),
    }
}

/// What starting processes costs.
pub fn scores(server: &Server) -> Scores {
    SERVER_SETTINGS.of(&server.site.modules).scores()
}

/// Where the sockets of processes have a name for a moment.
pub fn folder(server: &Server) -> PathBuf {
    SERVER_SETTINGS
        .of(&server.site.modules)
        .socket_folder()
        .cloned()
        .unwrap_or_else(std::env::temp_dir)
}

/// What holds for processes of `program` on a host; `None` if there is no such host.
pub fn terms(server: &Server, host: u32, program: &str) -> Option<ClassTerms> {
    let host = server.site.hosts.get(usize::try_from(host).ok()?)?;
    Some(HOST_SETTINGS.of(&host.modules).terms(program))
}

/// The variables that such a process begins with, besides those of any process of another user
/// than the server's.
pub fn environment(server: &Server, host: u32, program: &str, of_server: bool) -> Vec<CString> {
    let inherited = environment::inherited_variables().filter(|_| of_server);
    let mut all: Vec<(Vec<u8>, Vec<u8>)> =
        inherited.map(|(name, value)| (name.as_bytes().to_vec(), value)).collect();
    let host = usize::try_from(host).ok().and_then(|host| server.site.hosts.get(host));
    for (name, value) in
        host.into_iter().flat_map(|it| HOST_SETTINGS.of(&it.modules).environment(program))
    {
        all.retain(|row| !row.0.eq_ignore_ascii_case(name.as_bytes()));
        all.push((name.into_bytes(), value.into_bytes()));
    }
    all.into_iter()
        .filter_map(|(name, value)| CString::new([name, value].join(&b'=')).ok())
        .collect()
}

/// The name of a host, for the log.
pub fn host_name(server: &Server, host: u32) -> &str {
    let host = usize::try_from(host).ok().and_then(|host| server.site.hosts.get(host));
    host.and_then(|host| host.name()).unwrap_or("(unknown)")
}

/// A line in the log about processes.
pub fn tell(server: &Server, severity: ManagerSeverity, text: &[u8]) {
    let level = match severity {
        ManagerSeverity::Info => Level::Info,
        ManagerSeverity::Warning => Level::Warn,
        ManagerSeverity::Error => Level::Error,
    };
    server.log(level, NAME, None, None, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_bound_the_number_of_processes() {
        const GB: u64 = 1 << 30;
        let of = |cores, available_bytes| {
            let machine = Machine { cores, total_bytes: available_bytes, available_bytes };
            let KeptByMemory { ceiling, unmeasured, .. } = KeptByMemory::of(&machine);
            (ceiling, unmeasured)
        };
        assert_eq!(of(2, 16 * GB), (64, 64));
        assert_eq!(of(64, 16 * GB), (2048, 204));
        assert_eq!(of(2, GB), (64, 12));
        assert_eq!(of(1, 0), (32, 4));
        assert_eq!(of(usize::MAX, u64::MAX).0, usize::MAX);
    }
}
