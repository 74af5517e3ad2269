//! Files that log lines are appended to: one write per line, so that lines of several processes
//! never mix, and a full disk costs lines but never service.

use super::error_log::{Line, Peer};
use super::level::{Level, Levels};
use super::time::{LocalTime, ZoneName};
use runtime::{clock, process};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A complaint about a log that cannot be written is repeated after this long.
const COMPLAINT_INTERVAL_MS: u64 = 60_000;

/// An access log.
pub(crate) struct Sink {
    file: File,
    path: PathBuf,
    /// A pipe or a terminal, whose reader may stop reading.
    may_block: bool,
    complained_ms: AtomicU64,
}

impl Sink {
    /// Open `path` for appending. `-` is standard output.
    pub(crate) fn open(path: &Path) -> std::io::Result<Self> {
        let mut options = OpenOptions::new();
        // Where a reader may stop reading (a pipe, a terminal with Ctrl-S), a write must fail
        // rather than wait.
        options.append(true).custom_flags(runtime::file::NONBLOCK);
        let file = if path.as_os_str() == "-" {
            // A description of its own: the flag must not reach others who share the output.
            options.open("/proc/self/fd/1").or_else(|_| duplicate_of_stdout())?
        } else {
            options.create(true).open(path)?
        };
        let may_block = !file.metadata()?.is_file();
        Ok(Self { file, path: path.to_owned(), may_block, complained_ms: AtomicU64::new(0) })
    }

    /// Append one line, newline included. The result says whether all of it is there.
    pub(crate) fn write(&self, line: &[u8]) -> std::io::Result<()> {
        // One system call: O_APPEND makes it atomic among processes. A short write (disk nearly
        // full) is not continued, because its rest could land behind another process's line.
        if self.may_block && !runtime::file::takes_bytes(&self.file) {
            // A reader that has stopped (Ctrl-S, a stuck pipe) must not stop service.
            return Err(std::io::ErrorKind::WouldBlock.into());
        }
        loop {
            match (&self.file).write(line) {
                Ok(written) if written == line.len() => return Ok(()),
                Ok(_) => return Err(std::io::ErrorKind::WriteZero.into()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether a complaint about this log is due, and note that it was made.
    pub(crate) fn complaint_is_due(&self) -> bool {
        let now_ms = clock::monotonic_ms();
        let last_ms = self.complained_ms.load(Relaxed);
        let due = last_ms == 0 || now_ms.saturating_sub(last_ms) >= COMPLAINT_INTERVAL_MS;
        if due {
            self.complained_ms.store(now_ms, Relaxed);
        }
        due
    }

    /// Its name, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

fn duplicate_of_stdout() -> std::io::Result<File> {
    Ok(File::from(std::os::fd::AsFd::as_fd(&std::io::stdout()).try_clone_to_owned()?))
}

/// The error log: a file, or standard error.
pub(crate) struct ErrorLog {
    file: Option<File>,
    levels: Levels,
}

impl ErrorLog {
    /// Open `path`, or use standard error.
    pub(crate) fn open(path: Option<&Path>, levels: Levels) -> std::io::Result<Self> {
        let file = match path {
            Some(path) => Some(OpenOptions::new().append(true).create(true).open(path)?),
            None => None,
        };
        Ok(Self { file, levels })
    }

    /// Whether a message of this kind is wanted.
    pub(crate) fn allows(&self, module: &str, level: Level) -> bool {
        // httpd logs notices to a regular file whatever LogLevel says (core.c, ErrorLog).
        match level {
            Level::Notice => self.file.is_some() || self.levels.of(module) >= Level::Notice,
            _ => self.levels.allows(module, level),
        }
    }

    /// Write a message. What cannot be written is lost: there is nowhere left to say so.
    pub(crate) fn write(
        &self,
        module: &str,
        level: Level,
        id: Option<u32>,
        client: Option<std::net::SocketAddr>,
        message: &[u8],
    ) {
        if !self.allows(module, level) {
            return;
        }
        let line = Line {
            time_us: clock::unix_us(),
            module,
            level,
            pid: std::process::id(),
            tid: u64::from(process::thread_id().cast_unsigned()),
            source: None,
            os_error: None,
            peer: client.map(Peer::Client),
            id,
            message,
            referer: None,
        };
        let mut text = Vec::with_capacity(128 + message.len());
        line.write(local_time, &mut text);
        text.push(b'\n');
        let _ = match &self.file {
            Some(file) => { file }.write_all(&text),
            None => std::io::stderr().write_all(&text),
        };
    }
}

/// The local time zone, for all logs and pages.
pub(crate) fn local_time(unix_s: i64) -> LocalTime {
    let time = runtime::sys::local_time(unix_s);
    let zone_bytes = time.zone.iter().position(|byte| *byte == 0).unwrap_or(time.zone.len());
    LocalTime {
        year: time.year,
        month: time.month,
        day: time.day,
        hour: time.hour,
        min: time.minute,
        sec: time.second,
        weekday: time.weekday,
        yday: time.year_day,
        offset_s: time.offset_s,
        zone: ZoneName::new(&time.zone[..zone_bytes]),
    }
}
