//! Where log lines are appended: files, pipes to programs and syslog. One write per line, so that
//! lines of several processes never mix; a full disk or a reader that has stopped costs lines but
//! never service.

use super::level::Level;
use super::program::LogProgram;
use super::syslog::Syslog;
use super::target::LogTarget;
use super::time::{CalendarSecond, ZoneName};
use runtime::clock;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// A complaint about a log that cannot be written is repeated after this long.
const COMPLAINT_INTERVAL_MS: u64 = 60_000;

/// How long a line waits for a reader that is behind, once: after that lines are lost at once until
/// one gets through again. httpd would wait for ever, and so would all of its clients.
const GRACE_MS: u32 = 100;

/// `BufferedLogs`: what is collected before it is written, as in httpd (LOG_BUFSIZE). It is what
/// the kernel writes to a pipe in one piece.
const BUFFER_BYTES: usize = 4096;

/// Where the lines of one log go.
#[derive(Debug)]
pub struct Sink {
    output: SinkOutput,
    name: String,
    /// The file, if it is one that can be opened again.
    path: Option<PathBuf>,
    /// Lines that are not written yet, with `BufferedLogs`. All threads share it, so that a child
    /// that ends has one place to empty.
    buffer: Option<Mutex<Vec<u8>>>,
    /// The last line waited in vain.
    is_stalled: AtomicBool,
    /// When that was last said on the monotonic clock, 0 if never. Of two threads at once both may
    /// say it: once a minute is a figure for people.
    complained_ms: AtomicU64,
}

#[derive(Debug)]
enum SinkOutput {
    /// Takes everything, as long as the disk has room.
    File(File),
    /// A terminal, a named pipe or whatever else was given to us, whose reader may stop.
    Stream(File),
    /// Our own pipe; writing to it never waits.
    Program(LogProgram, File),
    Syslog(Syslog),
}

impl Sink {
    /// Open `target`; programs run in `folder`. With `is_buffered` lines are collected.
    pub fn open(target: &LogTarget, folder: &Path, is_buffered: bool) -> io::Result<Self> {
        let (output, name) = match target {
            LogTarget::StandardOutput => (standard(1, &io::stdout())?, "-".to_owned()),
            LogTarget::StandardError => (standard(2, &io::stderr())?, "stderr".to_owned()),
            LogTarget::File(path) => {
                let file = append_options().create(true).open(path)?;
                (SinkOutput::of(file)?, path.display().to_string())
            }
            LogTarget::Program(command) => {
                let (program, writer) = LogProgram::start(command, folder.to_owned())?;
                (SinkOutput::Program(program, writer), format!("|{}", command.text))
            }
            LogTarget::Syslog { facility, tag } => {
                (SinkOutput::Syslog(Syslog::new(*facility, tag.as_deref())), "syslog".to_owned())
            }
        };
        Ok(Self {
            output,
            name,
            path: match target {
                LogTarget::File(path) => Some(path.clone()),
                _ => None,
            },
            buffer: is_buffered.then(|| Mutex::new(Vec::with_capacity(BUFFER_BYTES))),
            is_stalled: AtomicBool::new(false),
            complained_ms: AtomicU64::new(0),
        })
    }

    /// Append one line, its end included. The result says whether all of it is there, or will be.
    pub fn write(&self, line: &[u8]) -> io::Result<()> {
        let Some(buffer) = &self.buffer else { return self.put(line) };
        let mut buffer = buffer.lock().unwrap_or_else(PoisonError::into_inner);
        collect(&mut buffer, line, |bytes| self.put(bytes))
    }

    /// Write what was collected.
    pub fn flush(&self) -> io::Result<()> {
        let Some(buffer) = &self.buffer else { return Ok(()) };
        let mut buffer = buffer.lock().unwrap_or_else(PoisonError::into_inner);
        let result = if buffer.is_empty() { Ok(()) } else { self.put(&buffer) };
        buffer.clear();
        result
    }

    /// Open the file again, which somebody may have moved away, and write there from now on. The
    /// result is for other processes to [`Self::follow`]; `None` for what is no file.
    pub fn reopen(&self) -> io::Result<Option<File>> {
        let (Some(path), SinkOutput::File(_)) = (&self.path, &self.output) else { return Ok(None) };
        let file = append_options().create(true).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no longer a regular file"));
        }
        self.follow(&file)?;
        Ok(Some(file))
    }

    /// Write to `file` from now on, which is this log opened again. Standard error goes along if it
    /// led to the same file.
    pub fn follow(&self, file: &File) -> io::Result<()> {
        let SinkOutput::File(own) = &self.output else { return Ok(()) };
        // What was collected belongs to the time before.
        let flushed = self.flush();
        if is_same(own, &io::stderr()) {
            runtime::sys::duplicate_to(file, 2)?;
        }
        runtime::sys::lead_to(own, file)?;
        flushed
    }

    /// A message for the system's log, if that is where this leads.
    pub fn syslog(&self) -> Option<&Syslog> {
        match &self.output {
            SinkOutput::Syslog(syslog) => Some(syslog),
            _ => None,
        }
    }

    /// The program that reads this.
    pub fn program(&self) -> Option<&LogProgram> {
        match &self.output {
            SinkOutput::Program(program, _) => Some(program),
            _ => None,
        }
    }

    fn put(&self, line: &[u8]) -> io::Result<()> {
        match &self.output {
            SinkOutput::File(file) => put_whole(file, line),
            SinkOutput::Stream(file) => {
                if !runtime::file::takes_bytes(file, self.grace_ms()) {
                    return self.stalled();
                }
                self.is_stalled.store(false, Relaxed);
                put_whole(file, line)
            }
            SinkOutput::Program(_, writer) => self.put_to_pipe(writer, line),
            SinkOutput::Syslog(syslog) => {
                syslog.send(Level::Info, &local_time(clock::unix_s()), line.trim_ascii_end())
            }
        }
    }

    /// The kernel takes lines of up to 4096 bytes whole or not at all. Of a longer one the rest is
    /// sent after the first part, and may land behind another process's line.
    fn put_to_pipe(&self, writer: &File, line: &[u8]) -> io::Result<()> {
        let mut rest = line;
        while !rest.is_empty() {
            let mut writer: &File = writer;
            match writer.write(rest) {
                Ok(written) => {
                    rest = &rest[written..];
                    if self.is_stalled.load(Relaxed) {
                        self.is_stalled.store(false, Relaxed);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !runtime::file::takes_bytes(writer, self.grace_ms()) {
                        return self.stalled();
                    }
                    // Room for some bytes only: the next try must not go round and round.
                    self.is_stalled.store(true, Relaxed);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn grace_ms(&self) -> u32 {
        if self.is_stalled.load(Relaxed) { 0 } else { GRACE_MS }
    }

    fn stalled(&self) -> io::Result<()> {
        self.is_stalled.store(true, Relaxed);
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Whether a complaint about this log is due, and note that it was made.
    pub fn complaint_is_due(&self) -> bool {
        let now_ms = clock::monotonic_ms();
        let last_ms = self.complained_ms.load(Relaxed);
        let due = last_ms == 0 || now_ms.saturating_sub(last_ms) >= COMPLAINT_INTERVAL_MS;
        if due {
            self.complained_ms.store(now_ms, Relaxed);
        }
        due
    }

    /// What messages call the log: its path, `|` and its command, or `syslog`.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl SinkOutput {
    fn of(file: File) -> io::Result<Self> {
        let is_file = file.metadata()?.is_file();
        Ok(if is_file { Self::File(file) } else { Self::Stream(file) })
    }
}

/// Add a line to those in `buffer`. What that has no room for is given to `put`, the lines before
/// first; the error tells of whichever is lost.
fn collect(
    buffer: &mut Vec<u8>,
    line: &[u8],
    mut put: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut before = Ok(());
    if !buffer.is_empty() && buffer.len() + line.len() > BUFFER_BYTES {
        before = put(buffer);
        buffer.clear();
    }
    if line.len() < BUFFER_BYTES {
        buffer.extend_from_slice(line);
        return before;
    }
    let own = put(line);
    before.and(own)
}

/// One system call: O_APPEND makes it atomic among processes. A short write (disk nearly full) is
/// not continued, because its rest could land behind another process's line.
fn put_whole(mut file: &File, line: &[u8]) -> io::Result<()> {
    loop {
        match file.write(line) {
            Ok(written) if written == line.len() => return Ok(()),
            Ok(_) => return Err(io::ErrorKind::WriteZero.into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether two descriptors lead to the same file.
fn is_same(one: &File, other: &impl AsFd) -> bool {
    let identity = |file: &File| file.metadata().map(|data| (data.dev(), data.ino())).ok();
    let other = other.as_fd().try_clone_to_owned().ok().map(File::from);
    other.is_some_and(|other| identity(one).is_some() && identity(one) == identity(&other))
}

/// A description of its own, where that can be had: its flags must not reach others who share the
/// output.
fn standard(number: u8, shared: &impl AsFd) -> io::Result<SinkOutput> {
    let own = append_options().open(format!("/proc/self/fd/{number}"));
    let duplicate = |_| shared.as_fd().try_clone_to_owned().map(File::from);
    SinkOutput::of(own.or_else(duplicate)?)
}

/// Where a reader may stop reading (a pipe, a terminal with Ctrl-S), a write must fail rather than
/// wait: `O_NONBLOCK`, which files do not mind.
fn append_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.append(true).custom_flags(runtime::file::NONBLOCK);
    options
}

/// The local time zone, for all logs and pages.
pub fn local_time(unix_s: i64) -> CalendarSecond {
    let time = runtime::sys::local_time(unix_s);
    let zone_bytes = time.zone.iter().position(|byte| *byte == 0).unwrap_or(time.zone.len());
    CalendarSecond {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_lost_with_those_collected_before_are_told() {
        let (short, long) = (&[b'a'; 3000][..], &[b'b'; BUFFER_BYTES][..]);
        for (lines, fails_at, written, told) in [
            (&[short, long][..], 0, &[3000, 4096][..], [true, false]),
            (&[short, long], 1, &[3000, 4096], [true, false]),
            (&[short, long], 2, &[3000, 4096], [true, true]),
            (&[short, short], 0, &[3000], [true, false]),
            (&[long, short], 1, &[4096], [true, true]),
        ] {
            let (mut buffer, mut lengths) = (Vec::new(), Vec::new());
            let results = [0, 1].map(|nth: usize| {
                let put = |bytes: &[u8]| {
                    let fails = lengths.len() == fails_at;
                    lengths.push(bytes.len());
                    if fails { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
                };
                collect(&mut buffer, lines[nth], put).is_ok()
            });
            assert_eq!((&lengths[..], results), (written, told), "{fails_at} of {}", lines.len());
        }
    }
}
