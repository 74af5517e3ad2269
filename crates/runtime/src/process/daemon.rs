//! Leaving the terminal: a process that goes on in the background, and the one that was started,
//! which waits until it is known whether that worked.

use crate::process::{self, Fork};
use crate::sys;
use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::path::Path;

/// Which side of [`detach`] this is.
pub enum DetachSide {
    /// The process that was started from the shell.
    Launcher(Launcher),
    /// The one in the background.
    Daemon(StartReport),
}

/// Waits for the daemon.
pub struct Launcher {
    pipe: PipeReader,
}

/// Tells the launcher how the start went.
pub struct StartReport {
    pipe: PipeWriter,
}

/// Fork, and make the child a session of its own without a terminal. Its standard streams lead
/// nowhere: what its children inherit must not keep a shell's pipe open.
///
/// # Errors
/// When there is no room for another process or descriptor.
pub fn detach() -> io::Result<DetachSide> {
    let (reader, writer) = io::pipe()?;
    match process::fork()? {
        Fork::Parent(_) => Ok(DetachSide::Launcher(Launcher { pipe: reader })),
        Fork::Child => {
            drop(reader);
            // It fails only for a leader of a process group, which a new process is not.
            let _ = rustix::process::setsid();
            // No folder may be kept from being unmounted (apr_proc_detach).
            std::env::set_current_dir("/")?;
            let nowhere = OpenOptions::new().read(true).write(true).open("/dev/null")?;
            for descriptor in 0..=2 {
                sys::duplicate_to(&nowhere, descriptor)?;
            }
            Ok(DetachSide::Daemon(StartReport { pipe: writer }))
        }
    }
}

impl Launcher {
    /// Wait until the daemon serves.
    ///
    /// # Errors
    /// Its reason if it cannot; an empty text if it ended without a word.
    pub fn wait(mut self) -> Result<(), String> {
        let mut said = Vec::new();
        // Children may hold the other end, too: the last byte ends the text, not the pipe.
        let mut byte = [0];
        while matches!(self.pipe.read(&mut byte), Ok(1)) {
            if byte == [END] {
                return match said.is_empty() {
                    true => Ok(()),
                    false => Err(String::from_utf8_lossy(&said).into_owned()),
                };
            }
            said.extend(byte);
        }
        Err(String::from_utf8_lossy(&said).into_owned())
    }
}

/// Ends what a daemon reports.
const END: u8 = 0;

impl StartReport {
    /// The server serves.
    pub fn serves(self) {
        self.fails("");
    }

    /// The server cannot start, for this reason.
    pub fn fails(mut self, reason: &str) {
        let text: Vec<u8> = reason.bytes().filter(|byte| *byte != END).chain([END]).collect();
        // A launcher that was killed has nobody to tell.
        let _ = self.pipe.write_all(&text);
    }
}

/// Append what goes to standard error to the file at `path` from now on, as httpd does: what a
/// child process or a library complains about shall not be lost.
///
/// # Errors
/// When the file cannot be opened.
pub fn standard_error_to(path: &Path) -> io::Result<()> {
    let file: File = OpenOptions::new().append(true).create(true).open(path)?;
    sys::duplicate_to(&file, 2)
}
