//! Processes: starting, ending and reaping them, and what they may do.

pub mod channel;
pub mod cpu_time;
pub mod daemon;
pub mod descriptors;
pub mod service_manager;
pub mod signals;

pub use crate::sys::{
    Fork, User, cpu_ns, ended, ended_cpu_us, exit_now, fork, give_back_large_pieces, group_by_id,
    group_by_name, groups_of, grow_heap, heap_bytes_in_use, merge_small_pieces, shrink_heap,
    user_by_id, user_by_name, was_killed,
};
use rustix::fs::{Mode, OFlags, RawDir};
use rustix::process::{
    Pid, Resource, Rlimit, WaitOptions, getppid, getrlimit, kill_process, setrlimit, wait, waitpid,
};
use std::mem::MaybeUninit;
use std::{fmt, io};

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It exited with this code.
    Exit(i32),
    /// This signal killed it.
    Signal(i32),
}

/// Signals that end a child, with the names that httpd's log lines carry (strsignal(3)).
const SIGNAL_NAMES: &[(i32, &str)] = &[
    (4, "Illegal instruction"),
    (6, "Aborted"),
    (7, "Bus error"),
    (8, "Floating point exception"),
    (9, "Killed"),
    (11, "Segmentation fault"),
    (15, "Terminated"),
    (24, "CPU time limit exceeded"),
    (25, "File size limit exceeded"),
    (31, "Bad system call"),
];

/// In the words of httpd's log.
impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exit code {code}"),
            Self::Signal(number) => {
                let row = SIGNAL_NAMES.iter().find(|row| row.0 == *number);
                write!(f, "exit signal {} ({number})", row.map_or("signal", |row| row.1))
            }
        }
    }
}

/// What a parent sends to a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildOrder {
    /// Finish what is under way, then exit (SIGUSR1).
    Drain,
    /// Take over the logs that were opened again (SIGUSR2).
    FollowLogs,
    /// Exit now (SIGTERM).
    Stop,
    /// The kernel ends it (SIGKILL).
    Kill,
}

/// Send `order` to `pid`; a process that is gone already is no error.
pub fn order(pid: i32, order: ChildOrder) {
    let signal = match order {
        ChildOrder::Drain => rustix::process::Signal::USR1,
        ChildOrder::FollowLogs => rustix::process::Signal::USR2,
        ChildOrder::Stop => rustix::process::Signal::TERM,
        ChildOrder::Kill => rustix::process::Signal::KILL,
    };
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// What the command line may ask of a running server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlRequest {
    /// Stop now (SIGTERM).
    Stop,
    /// Stop when all work is done (SIGWINCH).
    GracefulStop,
    /// Restart (SIGHUP).
    Restart,
    /// Restart when all work is done (SIGUSR1).
    Graceful,
    /// Open the logs again (SIGUSR2).
    Reopen,
}

/// Send `request` to another server.
///
/// # Errors
/// When it is gone, or belongs to somebody else.
pub fn ask(pid: i32, request: ControlRequest) -> io::Result<()> {
    use rustix::process::Signal;
    let signal = match request {
        ControlRequest::Stop => Signal::TERM,
        ControlRequest::GracefulStop => Signal::WINCH,
        ControlRequest::Restart => Signal::HUP,
        ControlRequest::Graceful => Signal::USR1,
        ControlRequest::Reopen => Signal::USR2,
    };
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(kill_process(pid, signal)?)
}

/// Whether a process lives and may be sent signals.
pub fn may_ask(pid: i32) -> bool {
    let found = Pid::from_raw(pid).filter(|_| pid > 0);
    found.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

/// A child that has ended, if there is one.
pub fn reap() -> Option<(i32, Ending)> {
    let (pid, status) = wait(WaitOptions::NOHANG).ok()??;
    let ending = match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ending::Exit(code),
        (None, Some(signal)) => Ending::Signal(signal),
        (None, None) => return None, // stopped or continued: it lives
    };
    Some((pid.as_raw_nonzero().get(), ending))
}

/// Wait for one child to end.
pub fn wait_for(pid: i32) -> Option<Ending> {
    let (_, status) = waitpid(Pid::from_raw(pid), WaitOptions::empty()).ok()??;
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Some(Ending::Exit(code)),
        (None, Some(signal)) => Some(Ending::Signal(signal)),
        (None, None) => None,
    }
}

/// This process.
pub fn id() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

/// The calling thread, as /proc names it.
pub fn thread_id() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Whether this process runs as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Give this process a name of its own for those who list processes; its command line stays what
/// it is. The kernel keeps 15 bytes of it.
pub fn set_name(name: &std::ffi::CStr) {
    let _ = rustix::thread::set_name(name);
}

/// Ask the kernel to end this process when `parent` dies. Call it after the change of user, which
/// clears the request; the second look finds a parent that died in between.
pub fn die_with_parent(parent: i32) {
    // A kernel that refuses leaves the check below, which is the best that remains.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    if getppid().is_none_or(|pid| pid.as_raw_nonzero().get() != parent) {
        exit_now(0);
    }
}

/// Drop root's rights for those of `user`.
///
/// # Errors
/// When this process may not change its user.
pub fn become_user(user: &User) -> io::Result<()> {
    crate::sys::become_user(user)
}

/// Neither this process nor a program that it starts can gain rights any more
/// (PR_SET_NO_NEW_PRIVS).
pub fn forbid_new_privileges() {
    // Only a kernel older than 3.5 refuses.
    let _ = rustix::thread::set_no_new_privs(true);
}

/// Let this process leave its memory in `folder` when it crashes, although it has changed its user.
///
/// # Errors
/// When it may not enter the folder.
pub fn dump_core_in(folder: &std::path::Path) -> io::Result<()> {
    std::env::set_current_dir(folder)?;
    Ok(rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable)?)
}

/// Raise the limit of open descriptors as far as this process may; returns the limit in force.
pub fn raise_descriptor_limit() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: maximum, maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => maximum.unwrap_or(u64::MAX),
        Err(_) => current.unwrap_or(u64::MAX),
    }
}

/// How many descriptors this process may have open.
pub fn descriptor_limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// How many descriptors this process has open; `None` without a /proc to look at.
pub fn open_descriptors() -> Option<u64> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open("/proc/self/fd", flags, Mode::empty()).ok()?;
    // A small buffer: each child process asks this, and its memory is its own from then on.
    let mut buffer = [MaybeUninit::uninit(); 1024];
    let mut entries = RawDir::new(folder, &mut buffer);
    let mut count = 0_u64;
    while entries.next().is_some() {
        count += 1;
    }
    // Two are the folders `.` and `..`, and one is the descriptor that reads.
    Some(count.saturating_sub(3))
}

/// Memory of this machine.
pub fn memory_bytes() -> u64 {
    let system = rustix::system::sysinfo();
    system.totalram * u64::from(system.mem_unit)
}

/// Memory in use that is this process's own and not that of files: what a leak makes grow. `None`
/// where /proc is not there to tell.
pub fn own_memory_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split(' ').skip(1).map(|number| number.parse::<u64>().ok());
    let (resident, shared) = (pages.next()??, pages.next()??);
    Some(resident.saturating_sub(shared) * rustix::param::page_size() as u64)
}

/// Processors this process may run on.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
