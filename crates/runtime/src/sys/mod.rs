//! The system calls that have no safe wrapper elsewhere: all `unsafe` of this crate is here.

mod either;
mod heap;
mod local_time;
mod place;
mod program;
mod stack;
mod usage;

pub(crate) use either::Either;
pub use heap::{
    give_back_large_pieces, grow_heap, heap_bytes_in_use, merge_small_pieces, shrink_heap,
};
pub use place::{Placed, placed};
pub(crate) use place::{keep_block, shrink_blocks};
pub(crate) use stack::{lowest as lowest_of_stack, shrink_stack};

pub use local_time::{LocalTime, local_time};
pub(crate) use program::{close_all_but, close_on_execute, execute};
pub use program::{ended, was_killed};
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
pub use usage::{backlog, cpu_ns, ended_cpu_us, thread_count};

/// The pages that memory is given back in.
const PAGE_BYTES: usize = 4096;

/// Whether pages of this size can be given back: where they are larger, the kernel rounds the
/// length up, and would take the neighbour's memory along.
fn has_small_pages() -> bool {
    rustix::param::page_size() == PAGE_BYTES
}

/// Which side of a [`fork`] this is.
pub enum Fork {
    /// The process that called, and the child's id.
    Parent(i32),
    /// The new process.
    Child,
}

/// Duplicate this process. The caller must be single-threaded, as the parent of the server is.
///
/// # Errors
/// `EAGAIN` or `ENOMEM` when the system has no room for another process.
///
/// # Panics
/// When the process has a second thread: its locks would stay held in the child for ever.
pub fn fork() -> io::Result<Fork> {
    assert_eq!(thread_count(), 1, "fork from a process with several threads");
    // SAFETY: the process has one thread, so the child's copy of every lock is free and the
    // child may go on to run ordinary code.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Fork::Child),
        pid => Ok(Fork::Parent(pid)),
    }
}

/// The value of a variable of the environment, which has it no more afterwards.
///
/// # Panics
/// When the process has a second thread, which might read the environment.
#[expect(clippy::disallowed_methods, reason = "there is one thread")]
pub fn take_variable(name: &str) -> Option<std::ffi::OsString> {
    assert_eq!(thread_count(), 1, "the environment is changed with several threads");
    let value = std::env::var_os(name)?;
    // SAFETY: no other thread exists that could look at the environment meanwhile.
    unsafe { std::env::remove_var(name) };
    Some(value)
}

/// The `count` descriptors behind the standard streams, which whoever started this process has
/// opened for it (SD_LISTEN_FDS_START of sd_listen_fds(3)), closed for programs that it starts.
/// Numbers that are not open are left out.
pub fn passed_descriptors(count: usize) -> Vec<OwnedFd> {
    let numbers = (3..).take(count);
    let is_open = |number: &i32| {
        // SAFETY: takes numbers, and fails for one that is no descriptor.
        unsafe { libc::fcntl(*number, libc::F_SETFD, libc::FD_CLOEXEC) == 0 }
    };
    // SAFETY: the descriptors are open. They were so before this process had opened any, because
    // the variables that speak of them can be taken only once, which is the first thing it does;
    // so nothing else owns them.
    numbers.filter(is_open).map(|number| unsafe { OwnedFd::from_raw_fd(number) }).collect()
}

/// End this process at once, without running destructors that belong to the parent.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` ends the process; nothing of it is used afterwards.
    unsafe { libc::_exit(code) }
}

/// Kill this process as a crash does (for the diagnostic handler).
pub fn crash() -> ! {
    default_signal(libc::SIGSEGV);
    // SAFETY: raises a signal in this thread; the default action ends the process.
    unsafe { libc::raise(libc::SIGSEGV) };
    exit_now(1)
}

fn signal_set(signals: &[i32]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initialises the whole set, `sigaddset` then gets a valid one; an
    // unknown signal number is refused by it and leaves the set as it is.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        set.assume_init()
    }
}

/// Replace the set of blocked signals of this thread.
pub fn set_blocked_signals(signals: &[i32]) {
    let set = signal_set(signals);
    // SAFETY: `set` is initialised; the old mask is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const set, ptr::null_mut()) };
}

/// Let the program of `command` receive signals again, which this process has blocked to read them
/// from a descriptor: an inherited mask would keep it from being stopped.
pub fn unblock_signals_of(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    let unblock = || {
        let none = signal_set(&[]);
        // SAFETY: `none` is an initialised set, and the old one is not asked for.
        match unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec only functions are called that signal-safety(7) allows:
    // `sigemptyset` and `sigprocmask`. Nothing is allocated and no lock is taken.
    unsafe { command.pre_exec(unblock) };
}

/// Ignore `signal` in this process.
pub fn ignore_signal(signal: i32) {
    // SAFETY: SIG_IGN is a valid disposition and installs no code.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

/// Set `signal` back to what it does by default.
pub fn default_signal(signal: i32) {
    // SAFETY: SIG_DFL is a valid disposition and installs no code.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Let all signals reach this process again and do what they do by default, as a program expects
/// that is about to be executed: what is ignored or blocked would stay so.
pub(crate) fn restore_signals() {
    for signal in [libc::SIGPIPE, libc::SIGXFSZ, libc::SIGCHLD] {
        default_signal(signal);
    }
    set_blocked_signals(&[]);
}

/// A descriptor that becomes readable when one of the (blocked) `signals` arrives.
///
/// # Errors
/// When descriptors are used up.
pub fn signal_descriptor(signals: &[i32]) -> io::Result<File> {
    let set = signal_set(signals);
    // SAFETY: `set` is initialised; -1 asks for a new descriptor.
    let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call above made `fd`, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) }.into())
}

/// The next signal of a [`signal_descriptor`]; `None` when none waits.
pub fn next_signal(descriptor: &mut File) -> Option<i32> {
    let mut record = [0_u8; size_of::<libc::signalfd_siginfo>()];
    let read = descriptor.read(&mut record).ok()?;
    // ssi_signo is the first field of the record, 32 bits in native order (signalfd(2)).
    let number = record.first_chunk::<4>().filter(|_| read == record.len())?;
    i32::try_from(u32::from_ne_bytes(*number)).ok()
}

/// Watch the owner of a descriptor (a signalfd, a listener) from the calling thread's executor.
///
/// # Errors
/// When the executor's epoll refuses it.
pub(crate) fn watch<T: AsRawFd + Into<OwnedFd>>(owner: T) -> io::Result<AsyncFd<T>> {
    watch_for(owner, Interest::READABLE)
}

/// The same for what it is to tell.
///
/// # Errors
/// As above.
pub(crate) fn watch_for<T: AsRawFd + Into<OwnedFd>>(
    owner: T,
    interest: Interest,
) -> io::Result<AsyncFd<T>> {
    // SAFETY: what can turn into an `OwnedFd` keeps its one descriptor open until it is dropped,
    // and the `AsyncFd` owns it until then.
    let registered = unsafe { AsyncFd::register_with_interest(owner, interest) };
    registered.map_err(|refused| refused.into_parts().1)
}

/// Let the kernel hold a new connection back until its first data is there, or for about
/// `seconds`; 0 switches it off.
///
/// # Errors
/// When the descriptor is no TCP socket.
pub fn set_defer_accept(listener: &std::net::TcpListener, seconds: i32) -> io::Result<()> {
    set_option(listener, libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, seconds)
}

/// Let the system choose the port of a bound socket only when it connects (ip(7),
/// `IP_BIND_ADDRESS_NO_PORT`).
pub(crate) fn set_bind_address_no_port(socket: &OwnedFd) -> io::Result<()> {
    set_option(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)
}

/// Set an option of a socket whose value is a number.
fn set_option(socket: &impl AsRawFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<i32>()).unwrap_or(4);
    // SAFETY: the descriptor is open for the call, the pointer is to an `i32` of that length.
    let code = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), length)
    };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A user of the system, as far as a server needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Login name.
    pub name: String,
    /// Numeric id.
    pub uid: u32,
    /// Primary group.
    pub gid: u32,
    /// All groups, as far as they were asked for ([`groups_of`]).
    pub groups: Vec<u32>,
    /// Home folder; may be empty.
    pub home: PathBuf,
}

const LOOKUP_BUFFER_BYTES: usize = 16 * 1024;

/// Look a user up by name.
pub fn user_by_name(name: &str) -> Option<User> {
    let c_name = CString::new(name).ok()?;
    // SAFETY: all pointers are valid for the call and the length is that of the buffer.
    look_up_user(|record, buffer, length, found| unsafe {
        libc::getpwnam_r(c_name.as_ptr(), record, buffer, length, found)
    })
}

/// Look a user up by number.
pub fn user_by_id(uid: u32) -> Option<User> {
    // SAFETY: all pointers are valid for the call and the length is that of the buffer.
    look_up_user(|record, buffer, length, found| unsafe {
        libc::getpwuid_r(uid, record, buffer, length, found)
    })
}

/// The part that both look-ups share: buffers, and reading the record.
fn look_up_user(
    mut ask: impl FnMut(*mut libc::passwd, *mut libc::c_char, usize, *mut *mut libc::passwd) -> i32,
) -> Option<User> {
    let mut record = MaybeUninit::<libc::passwd>::uninit();
    let mut buffer = vec![0; LOOKUP_BUFFER_BYTES];
    let mut found = ptr::null_mut();
    let code = uninterrupted(|| {
        ask(record.as_mut_ptr(), buffer.as_mut_ptr(), buffer.len(), &raw mut found)
    });
    if code != 0 || found.is_null() {
        return None;
    }
    // SAFETY: a non-null `found` points to `record`, which the call has filled.
    let record = unsafe { record.assume_init() };
    // SAFETY: the name is a string inside `buffer`, which is still alive.
    let name = unsafe { CStr::from_ptr(record.pw_name) }.to_string_lossy().into_owned();
    let home = if record.pw_dir.is_null() {
        PathBuf::new()
    } else {
        // SAFETY: as the name, the folder is a string inside `buffer`.
        let folder = unsafe { CStr::from_ptr(record.pw_dir) };
        PathBuf::from(OsStr::from_bytes(folder.to_bytes()))
    };
    Some(User { name, uid: record.pw_uid, gid: record.pw_gid, groups: Vec::new(), home })
}

/// Asks again where a signal came between: an interrupted look-up does not say that nobody has the
/// name (getpwnam_r(3), EINTR).
fn uninterrupted(mut look: impl FnMut() -> i32) -> i32 {
    loop {
        match look() {
            libc::EINTR => {}
            code => return code,
        }
    }
}

/// Look a group up by name.
pub fn group_by_name(name: &str) -> Option<u32> {
    let c_name = CString::new(name).ok()?;
    let mut record = MaybeUninit::<libc::group>::uninit();
    let mut buffer = vec![0; LOOKUP_BUFFER_BYTES];
    let mut found = ptr::null_mut();
    // SAFETY: all pointers are valid for the call and the length is that of `buffer`.
    let code = uninterrupted(|| unsafe {
        libc::getgrnam_r(
            c_name.as_ptr(),
            record.as_mut_ptr(),
            buffer.as_mut_ptr(),
            buffer.len(),
            &raw mut found,
        )
    });
    if code != 0 || found.is_null() {
        return None;
    }
    // SAFETY: a non-null `found` points to `record`, which the call has filled.
    Some(unsafe { record.assume_init() }.gr_gid)
}

/// Look a group up by number.
pub fn group_by_id(gid: u32) -> Option<String> {
    let mut record = MaybeUninit::<libc::group>::uninit();
    let mut buffer = vec![0; LOOKUP_BUFFER_BYTES];
    let mut found = ptr::null_mut();
    // SAFETY: all pointers are valid for the call and the length is that of `buffer`.
    let code = uninterrupted(|| unsafe {
        libc::getgrgid_r(
            gid,
            record.as_mut_ptr(),
            buffer.as_mut_ptr(),
            buffer.len(),
            &raw mut found,
        )
    });
    if code != 0 || found.is_null() {
        return None;
    }
    // SAFETY: a non-null `found` points to `record`, which the call has filled.
    let record = unsafe { record.assume_init() };
    // SAFETY: the name is a string inside `buffer`, which is still alive.
    Some(unsafe { CStr::from_ptr(record.gr_name) }.to_string_lossy().into_owned())
}

/// The groups of a user besides `gid`, which is one of them. Asked once by the parent: what the
/// system reads and loads to know it would be in the memory of each child.
///
/// # Errors
/// When the name holds a zero byte, or the system's list of groups cannot be read.
pub fn groups_of(user: &str, gid: u32) -> io::Result<Vec<u32>> {
    let name = CString::new(user)?;
    let mut groups = vec![0; GROUPS_FIRST];
    loop {
        let mut count = libc::c_int::try_from(groups.len()).unwrap_or(libc::c_int::MAX);
        // SAFETY: `name` is a valid string, and `count` the length of the vector before the call.
        let done =
            unsafe { libc::getgrouplist(name.as_ptr(), gid, groups.as_mut_ptr(), &raw mut count) };
        let found = usize::try_from(count).unwrap_or(0);
        if done >= 0 && found <= groups.len() {
            groups.truncate(found);
            return Ok(groups);
        }
        if groups.len() >= GROUPS_MAX {
            return Err(io::Error::other("the user is in too many groups"));
        }
        groups.resize(found.clamp(groups.len() * 2, GROUPS_MAX), 0);
    }
}

/// Room for groups at first, and the most that Linux lets a process have (NGROUPS_MAX).
const GROUPS_FIRST: usize = 32;
const GROUPS_MAX: usize = 65_536;

/// Become `user` for good: groups first, because afterwards the right to change them is gone.
///
/// # Errors
/// When the process has no privilege to change, or (never seen) the change did not last.
pub fn become_user(user: &User) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of a vector; the other calls take numbers. Only
    // one thread runs.
    let done = unsafe {
        libc::setgroups(user.groups.len(), user.groups.as_ptr()) == 0
            && libc::setgid(user.gid) == 0
            && libc::setuid(user.uid) == 0
    };
    if !done {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: takes a number. That it fails is the proof that root cannot be had back.
    if user.uid != 0 && unsafe { libc::setuid(0) } == 0 {
        return Err(io::Error::other("privileges came back after they were dropped"));
    }
    Ok(())
}

/// Let the descriptor number `to` (0, 1 or 2) lead where `from` leads.
///
/// # Errors
/// When `to` is no such number, or `from` is closed.
pub fn duplicate_to(from: &File, to: i32) -> io::Result<()> {
    if !(0..=2).contains(&to) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: takes two numbers. The standard streams have no owner that would be surprised.
    match unsafe { libc::dup2(from.as_raw_fd(), to) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Let the descriptor of `open` lead where `other` leads, at once and for everybody who uses it.
///
/// # Errors
/// Never seen: both are open.
pub fn lead_to(open: &File, other: &File) -> io::Result<()> {
    // SAFETY: takes numbers; `open` stays the only owner of its own, which stays open all the time.
    match unsafe { libc::dup3(other.as_raw_fd(), open.as_raw_fd(), libc::O_CLOEXEC) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The name that belongs to an address, or what getnameinfo(3) gives instead.
pub fn name_of(address: std::net::IpAddr) -> Result<String, i32> {
    let mut name = [0; 1025]; // NI_MAXHOST
    let flags = libc::NI_NAMEREQD;
    let code = match address {
        std::net::IpAddr::V4(address) => {
            // SAFETY: all-zero is a valid sockaddr_in.
            let mut socket: libc::sockaddr_in = unsafe { MaybeUninit::zeroed().assume_init() };
            socket.sin_family = libc::AF_INET as libc::sa_family_t;
            socket.sin_addr.s_addr = u32::from_ne_bytes(address.octets());
            look_up_name(&socket, &mut name, flags)
        }
        std::net::IpAddr::V6(address) => {
            // SAFETY: all-zero is a valid sockaddr_in6.
            let mut socket: libc::sockaddr_in6 = unsafe { MaybeUninit::zeroed().assume_init() };
            socket.sin6_family = libc::AF_INET6 as libc::sa_family_t;
            socket.sin6_addr.s6_addr = address.octets();
            look_up_name(&socket, &mut name, flags)
        }
    };
    if code != 0 {
        return Err(code);
    }
    // SAFETY: the call has put a string into `name`, which has room for its end.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) };
    Ok(name.to_string_lossy().into_owned())
}

/// `socket` is a `sockaddr_in` or a `sockaddr_in6`.
fn look_up_name<T>(socket: &T, name: &mut [libc::c_char], flags: i32) -> i32 {
    let length = |bytes: usize| libc::socklen_t::try_from(bytes).unwrap_or(0);
    // SAFETY: both pointers are valid with the lengths that go with them; no service is asked for.
    unsafe {
        libc::getnameinfo(
            ptr::from_ref(socket).cast(),
            length(size_of::<T>()),
            name.as_mut_ptr(),
            length(name.len()),
            ptr::null_mut(),
            0,
            flags,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_known_by_name_and_nonsense_is_not() {
        assert_eq!(user_by_name("root").map(|user| user.uid), Some(0));
        assert_eq!(user_by_name("no such user"), None);
        assert_eq!(user_by_name("nul\0byte"), None);
    }
}
