//! Fork and exec as the script manager does it: with a process group, limits and a user of its own.

use super::command::{ResourceLimit, ResourceLimits};
use super::report::{IdentityRefusal, LaunchStep, ProgramReport};
use super::trust::{check_ids, trust};
use crate::process::{self, Fork, User};
use crate::sys;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process_group, setrlimit};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

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
    /// What it may use.
    pub limits: ResourceLimits,
    /// Whom it becomes.
    pub whom: Whom<'a>,
    /// Its standard input, output and error.
    pub streams: [&'a File; 3],
}

/// Whom a program runs as.
pub enum Whom<'a> {
    /// The user of the server; `None` to stay who the manager is.
    Server(Option<&'a User>),
    /// Somebody else, and the folders that his programs are in. He is looked up, and what suEXEC
    /// asks for is checked, in the new process: both may take as long as they like. The program is
    /// a name within its folder.
    Other(&'a dyn Fn() -> Option<(User, Vec<PathBuf>)>),
}

/// Why there is no program, as it is said through the pipe: a step and what the system said, or
/// this instead of a step and a refusal.
const REFUSED: i32 = 0;

enum LaunchFailure {
    At(LaunchStep, io::Error),
    Refused(IdentityRefusal),
}

impl LaunchFailure {
    fn numbers(&self) -> [i32; 2] {
        match self {
            Self::At(step, error) => [*step as i32, error.raw_os_error().unwrap_or(libc::EINVAL)],
            Self::Refused(refusal) => [REFUSED, *refusal as i32],
        }
    }
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
            let failure = launch.become_program(parent, &writer);
            let mut said = [0; 8];
            for (chunk, number) in said.chunks_exact_mut(4).zip(failure.numbers()) {
                chunk.copy_from_slice(&number.to_le_bytes());
            }
            // Nobody is left to be told if this fails.
            let _ = rustix::io::write(&writer, &said);
            process::exit_now(127)
        }
    }
}

impl Launch<'_> {
    /// What a program that was launched says through its pipe, once that can be read: `None` that
    /// it runs.
    pub fn failure(pipe: &OwnedFd) -> Option<ProgramReport> {
        let mut said = [0; 8];
        let length = rustix::io::read(pipe, &mut said).unwrap_or(0);
        let (numbers, _) = said.as_chunks::<4>();
        let mut numbers = numbers.iter().map(|number| i32::from_le_bytes(*number));
        let (step, number) = (numbers.next()?, numbers.next()?);
        let report = match (step, IdentityRefusal::of(number)) {
            (REFUSED, Some(refusal)) => ProgramReport::Refused(refusal),
            _ => ProgramReport::Failed {
                step: LaunchStep::of(step).unwrap_or(LaunchStep::Execute),
                errno: number,
            },
        };
        (length == said.len()).then_some(report)
    }

    /// All that happens in the new process. It returns only if something fails.
    fn become_program(&self, parent: i32, pipe: &OwnedFd) -> LaunchFailure {
        match self.prepare(parent, pipe) {
            Err(failed) => failed,
            Ok(()) => {
                sys::close_on_execute();
                sys::restore_signals();
                let error = sys::execute(self.program, self.arguments, self.environment);
                LaunchFailure::At(LaunchStep::Execute, error)
            }
        }
    }

    fn prepare(&self, parent: i32, pipe: &OwnedFd) -> Result<(), LaunchFailure> {
        let at = |step| move |error: rustix::io::Errno| LaunchFailure::At(step, error.into());
        rustix::process::setpgid(None, None).map_err(at(LaunchStep::Group))?;
        self.limits.apply().map_err(at(LaunchStep::Limits))?;
        for (stream, number) in self.streams.iter().zip(0..) {
            sys::duplicate_to(stream, number)
                .map_err(|error| LaunchFailure::At(LaunchStep::Streams, error))?;
        }
        match self.whom {
            Whom::Server(user) => {
                become_user(user, parent)?;
                rustix::process::chdir(self.folder)
            }
            Whom::Other(find) => {
                // Nobody is to wait for the end of what this process holds meanwhile.
                sys::close_all_but(pipe.as_raw_fd());
                let (user, roots) =
                    find().ok_or(LaunchFailure::Refused(IdentityRefusal::UnknownUser))?;
                check_ids(&user).map_err(LaunchFailure::Refused)?;
                become_user(Some(&user), parent)?;
                // suexec.c changes the user before it looks, for the sake of NFS.
                let folder = trust(self.folder, self.program, &user, &roots);
                rustix::process::fchdir(folder.map_err(LaunchFailure::Refused)?)
            }
        }
        .map_err(at(LaunchStep::Folder))
    }
}

fn become_user(user: Option<&User>, parent: i32) -> Result<(), LaunchFailure> {
    if let Some(user) = user {
        process::become_user(user).map_err(|error| LaunchFailure::At(LaunchStep::User, error))?;
    }
    process::die_with_parent(parent);
    Ok(())
}

impl ResourceLimits {
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
            let Some(ResourceLimit { soft, hard }) = limit else { continue };
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
