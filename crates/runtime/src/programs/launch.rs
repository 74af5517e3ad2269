//! Fork and exec as the script manager does it: with a process group, limits and a user of its own.

use super::order::{Limit, Limits};
use super::report::Step;
use crate::process::{self, Fork, User};
use crate::sys;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process_group, setrlimit};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

/// Descriptors that a program may open without asking for more. The server itself may open as many
/// as there are; programs that use select(2) or close all numbers would suffer (Debian's apache2ctl
/// gives as many).
const DESCRIPTORS: u64 = 8192;

/// A program about to be started.
pub struct Launch<'a> {
    /// The program.
    pub program: &'a CStr,
    /// Its arguments.
    pub arguments: &'a [CString],
    /// Its environment.
    pub environment: &'a [CString],
    /// Where it starts.
    pub folder: &'a CStr,
    /// The same, open: the program is a name within it then.
    pub open_folder: Option<&'a OwnedFd>,
    /// What it may use.
    pub limits: Limits,
    /// Whom it becomes; `None` to stay who the manager is.
    pub user: Option<&'a User>,
    /// Its standard input, output and error.
    pub streams: [&'a File; 3],
}

/// Start a program in a process group of its own, which is killed when this process dies. The
/// result is its process id, and what to hand to [`failure`](Self) when it can be read: it ends
/// without a word when the program runs.
///
/// The caller has one thread only.
///
/// # Errors
/// When the system has no room for another process.
pub fn launch(launch: &Launch<'_>) -> io::Result<(i32, OwnedFd)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    let parent = process::id();
    match process::fork()? {
        Fork::Parent(pid) => Ok((pid, reader)),
        Fork::Child => {
            drop(reader);
            let (step, error) = launch.become_program(parent);
            let errno = error.raw_os_error().unwrap_or(libc::EINVAL);
            let mut said = [0; 8];
            said[..4].copy_from_slice(&(step as i32).to_le_bytes());
            said[4..].copy_from_slice(&errno.to_le_bytes());
            // Nobody is left to be told if this fails.
            let _ = rustix::io::write(&writer, &said);
            process::exit_now(127)
        }
    }
}

impl Launch<'_> {
    /// What a program that was launched says through its pipe, once that can be read: `None` that
    /// it runs.
    pub fn failure(pipe: &OwnedFd) -> Option<(Step, i32)> {
        let mut said = [0; 8];
        let length = rustix::io::read(pipe, &mut said).unwrap_or(0);
        let (numbers, _) = said.as_chunks::<4>();
        let mut numbers = numbers.iter().map(|number| i32::from_le_bytes(*number));
        let (step, errno) = (numbers.next()?, numbers.next()?);
        (length == said.len()).then_some((Step::of(step).unwrap_or(Step::Execute), errno))
    }

    /// All that happens in the new process. It returns only if something fails.
    fn become_program(&self, parent: i32) -> (Step, io::Error) {
        match self.prepare(parent) {
            Err(failed) => failed,
            Ok(()) => {
                sys::close_on_execute();
                sys::restore_signals();
                (Step::Execute, sys::execute(self.program, self.arguments, self.environment))
            }
        }
    }

    fn prepare(&self, parent: i32) -> Result<(), (Step, io::Error)> {
        let at = |step: Step| move |error: rustix::io::Errno| (step, io::Error::from(error));
        rustix::process::setpgid(None, None).map_err(at(Step::Group))?;
        self.limits.apply().map_err(at(Step::Limits))?;
        for (stream, number) in self.streams.iter().zip(0..) {
            sys::duplicate_to(stream, number).map_err(|error| (Step::Streams, error))?;
        }
        if let Some(user) = self.user {
            process::become_user(user).map_err(|error| (Step::User, error))?;
        }
        process::die_with_parent(parent);
        match self.open_folder {
            Some(folder) => rustix::process::fchdir(folder),
            None => rustix::process::chdir(self.folder),
        }
        .map_err(at(Step::Folder))
    }
}

impl Limits {
    fn apply(&self) -> rustix::io::Result<()> {
        let descriptors = getrlimit(Resource::Nofile);
        let few = descriptors.current.unwrap_or(u64::MAX).min(DESCRIPTORS);
        setrlimit(Resource::Nofile, Rlimit { current: Some(few), ..descriptors })?;
        let rows = [
            (Resource::Cpu, self.cpu),
            (Resource::As, self.memory),
            (Resource::Nproc, self.processes),
        ];
        for (resource, limit) in rows {
            let Some(Limit { soft, hard }) = limit else { continue };
            let most = getrlimit(resource).maximum.unwrap_or(u64::MAX).min(hard);
            let number = |value: u64| (value != u64::MAX).then_some(value);
            let limit = Rlimit { current: number(soft.min(most)), maximum: number(most) };
            setrlimit(resource, limit)?;
        }
        Ok(())
    }
}

/// Send a signal to all processes of a program's group: SIGTERM, or SIGKILL if it `must` end. The
/// program itself has not been waited for, so that its number is nobody else's.
pub fn end_group(pid: i32, must: bool) {
    let signal = if must { Signal::KILL } else { Signal::TERM };
    if let Some(group) = Pid::from_raw(pid).filter(|_| pid > 1) {
        // It may not have made its group yet: then it is told itself.
        if kill_process_group(group, signal).is_err() {
            let _ = rustix::process::kill_process(group, signal);
        }
    }
}
