//! What processes and sockets have used, asked of the kernel.

use std::os::fd::AsRawFd;

/// Nanoseconds for which a process has had processors; `None` where it is gone. It costs less than
/// a microsecond, while its file in `/proc` takes five.
pub fn cpu_ns(pid: i32) -> Option<u64> {
    /// The clock of all threads of a process (posix-timers.h, CPUCLOCK_SCHED).
    const SCHEDULED: libc::clockid_t = 2;
    if pid <= 0 {
        return None;
    }
    let clock = (!pid << 3) | SCHEDULED;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes to a value of the right type, or refuses the clock.
    let is_known = unsafe { libc::clock_gettime(clock, &raw mut time) == 0 };
    is_known.then(|| {
        time.tv_sec.unsigned_abs().saturating_mul(1_000_000_000) + time.tv_nsec.unsigned_abs()
    })
}

/// User and system time of children that have ended, and of theirs, in microseconds.
pub fn ended_cpu_us() -> [u64; 2] {
    // SAFETY: zero bytes are a valid value, which the kernel overwrites; it has no other reader.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    [usage.ru_utime, usage.ru_stime].map(|time| {
        time.tv_sec.unsigned_abs().saturating_mul(1_000_000) + time.tv_usec.unsigned_abs()
    })
}

/// Connections that nobody has accepted yet; `None` where the kernel does not say. Of a socket that
/// listens it tells that in the field for unacknowledged segments (tcp_get_info of net/ipv4/tcp.c).
pub fn backlog(listener: &std::net::TcpListener) -> Option<u32> {
    let mut length = libc::socklen_t::try_from(size_of::<libc::tcp_info>()).ok()?;
    // SAFETY: zero bytes are a valid value of plain numbers; the descriptor is open for the call,
    // and the kernel writes no more than `length` bytes to the value.
    let (info, code) = unsafe {
        let mut info: libc::tcp_info = std::mem::zeroed();
        let code = libc::getsockopt(
            listener.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        );
        (info, code)
    };
    (code == 0).then_some(info.tcpi_unacked)
}

/// Threads of this process; 1 where /proc is not there to tell.
pub fn thread_count() -> usize {
    const TASKS: &str = "/proc/self/task";
    // Each is one more link. To read the folder takes 32 KB of the heap, before every fork, and
    // the child's own memory begins behind it.
    let links = rustix::fs::stat(TASKS).map_or(0, |status| status.st_nlink);
    match usize::try_from(links).unwrap_or(0).saturating_sub(FOLDER_LINKS) {
        0 => std::fs::read_dir(TASKS).map_or(1, Iterator::count),
        count => count,
    }
}

/// Links of every folder: its name, and `.` in it.
const FOLDER_LINKS: usize = 2;
