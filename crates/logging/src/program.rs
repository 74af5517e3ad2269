//! Programs that read logs (`CustomLog "|program"`): the parent starts them as itself and starts
//! them again when they die; every child writes to the same pipe. Closing the pipe ends them.

use super::target::LogCommand;
use runtime::clock;
use std::fs::File;
use std::io::{self, PipeReader};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{self, Stdio};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// A program that dies as soon as it starts is started again only this often; httpd would do it
/// without pause.
const RESTART_INTERVAL_MS: u64 = 1000;

/// The bytes that a pipe holds, so that a short stop of the reader costs nothing. What the kernel
/// refuses leaves the 64 KiB that a pipe has anyway.
const PIPE_BYTES: usize = 1 << 20;

/// A running program and our end of its pipe.
#[derive(Debug)]
pub struct LogProgram {
    command: LogCommand,
    /// `ServerRoot`, where it runs.
    folder: PathBuf,
    /// The other end of the pipe, which the parent keeps for the next start: while nobody reads,
    /// lines wait in the pipe. Children do not keep it.
    reader: Mutex<Option<PipeReader>>,
    /// 0 while it does not run.
    pid: AtomicI32,
    started_ms: AtomicU64,
}

impl LogProgram {
    /// Start `command` in `folder`; the file is what lines are written to.
    pub(crate) fn start(command: &LogCommand, folder: PathBuf) -> io::Result<(Self, File)> {
        let (reader, writer) = io::pipe()?;
        let writer = File::from(OwnedFd::from(writer));
        runtime::file::prepare_log_pipe(&writer, PIPE_BYTES)?;
        let program = Self {
            command: command.clone(),
            folder,
            reader: Mutex::new(Some(reader)),
            pid: AtomicI32::new(0),
            started_ms: AtomicU64::new(0),
        };
        program.spawn()?;
        Ok((program, writer))
    }

    /// The program as it was configured.
    pub fn text(&self) -> &str {
        &self.command.text
    }

    /// The process that runs the program, 0 for none.
    pub fn pid(&self) -> i32 {
        self.pid.load(Relaxed)
    }

    /// Note that the program has ended: it is due for another start.
    pub fn ended(&self) {
        self.pid.store(0, Relaxed);
    }

    /// Start it again, if it does not run and that is due. `None` if there was nothing to do.
    pub fn restart(&self) -> Option<io::Result<()>> {
        let due_ms = self.started_ms.load(Relaxed) + RESTART_INTERVAL_MS;
        (self.pid() == 0 && clock::monotonic_ms() >= due_ms).then(|| self.spawn())
    }

    /// A child keeps its end of the pipe only, so that it notices when nobody can read any more.
    pub fn leave_to_parent(&self) {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn spawn(&self) -> io::Result<()> {
        self.started_ms.store(clock::monotonic_ms(), Relaxed);
        let words = self.command.words();
        let Some((name, arguments)) = words.split_first() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(reader) = reader.as_ref() else { return Err(io::ErrorKind::BrokenPipe.into()) };
        // As execv does, and unlike a shell: a bare name is one in the folder (APR_PROGRAM_ENV).
        let path = if name.contains('/') { name.clone() } else { format!("./{name}") };
        let mut command = process::Command::new(path);
        command.args(arguments).stdin(Stdio::from(reader.try_clone()?));
        // Ctrl-C in a terminal is for the parent: the last lines come while it stops.
        command.process_group(0);
        runtime::sys::unblock_signals_of(&mut command);
        if !self.folder.as_os_str().is_empty() {
            command.current_dir(&self.folder);
        }
        let child = command.spawn()?;
        // The parent reaps all its children in one place, by number.
        self.pid.store(i32::try_from(child.id()).unwrap_or(0), Relaxed);
        Ok(())
    }
}
