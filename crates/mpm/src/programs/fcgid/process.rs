//! One FastCGI process: how it is reached, what it says, and how it ends.

use crate::programs::fcgid::process_manager::{ManagerOutcome, Why};
use gateway::fcgid::manage::{self as fcgid, ManagerSeverity};
use logging::ration::Ration;
use runtime::clock;
use runtime::process::{self, Ending};
use runtime::programs::{
    Launch, ProcessClass, ProgramReport, UnlinkedSocket, discard, end_group, say_no_more,
};
use server::Server;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

/// How long a process may take to end that was told to, as any other program.
const PATIENCE_MS: u64 = 3000;

/// Bytes of an answer that nobody wants which are taken before the connection is closed.
const UNWANTED_BYTES_MAX: usize = 1 << 20;

/// Bytes that are read at a time of what a process says.
const PIECE_BYTES: usize = 8192;

/// The most such pieces that are read when the process has ended: what a pipe holds.
const LAST_PIECES: usize = 16;

/// After so long a time there is room in the log again for what a process says.
const SAID_MS: u64 = 60_000;

/// What a watched descriptor of a process is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessEvent {
    /// Whether it could be started.
    Launched,
    /// It has written to its standard output or error.
    Speaks,
    /// It goes on with a request that nobody waits for.
    Finishes,
}

/// A FastCGI process that the script manager keeps.
pub(super) struct FcgidProcess {
    pub(super) pid: i32,
    pub(super) class: Rc<ProcessClass>,
    /// It has answered a request, and has shown what it takes.
    pub(super) has_served: bool,
    /// The pipe that reports whether exec succeeded, until that is known.
    launch: Option<OwnedFd>,
    socket: UnlinkedSocket,
    /// Its standard output and error; `line` has what came of a line that is not complete.
    said: Option<File>,
    line: Vec<u8>,
    speech: Speech,
    /// A duplicate of the connection that was leased to a request, to see when the process is done
    /// with it.
    connection: Option<OwnedFd>,
    /// Nobody uses it any more; so much of its answer was thrown away.
    unwanted: Option<usize>,
    kill_ms: Option<u64>,
    why: Option<&'static str>,
}

impl FcgidProcess {
    pub(super) fn new(
        pid: i32,
        class: Rc<ProcessClass>,
        (launch, socket, said): (OwnedFd, UnlinkedSocket, File),
    ) -> Self {
        Self {
            pid,
            class,
            has_served: false,
            launch: Some(launch),
            socket,
            said: Some(said),
            line: Vec::new(),
            speech: Speech::default(),
            connection: None,
            unwanted: None,
            kill_ms: None,
            why: None,
        }
    }

    pub(super) fn watched(&self) -> impl Iterator<Item = (ProcessEvent, BorrowedFd<'_>)> {
        let launch = self.launch.as_ref().map(|launch| (ProcessEvent::Launched, launch.as_fd()));
        let said = self.said.as_ref().map(|said| (ProcessEvent::Speaks, said.as_fd()));
        let connection = self.connection.as_ref().filter(|_| self.unwanted.is_some());
        let connection = connection.map(|connection| (ProcessEvent::Finishes, connection.as_fd()));
        launch.into_iter().chain(said).chain(connection)
    }

    /// The start is over: why it failed, if it did.
    pub(super) fn launched(&mut self) -> Option<ProgramReport> {
        let launch = self.launch.take()?;
        Launch::failure(&launch)
    }

    /// A connection for a request, which whoever serves that gets a copy of.
    pub(super) fn connect(&mut self) -> io::Result<&OwnedFd> {
        self.unwanted = None;
        let connection = self.socket.connect()?;
        Ok(self.connection.insert(connection))
    }

    /// Nobody uses it any more. If it still does something for whoever it was, it gets no more of
    /// the request, and shows by closing the connection when it has done with it.
    pub(super) fn is_left(&mut self, outcome: ManagerOutcome) {
        self.has_served |= outcome == ManagerOutcome::Answered;
        match (outcome, &self.connection) {
            (ManagerOutcome::Abandoned, Some(connection)) => {
                say_no_more(connection);
                self.unwanted = Some(0);
            }
            _ => self.connection = None,
        }
    }

    /// Whether it has done with a request that nobody waits for. One that writes much of an answer
    /// finds out that nobody reads.
    pub(super) fn has_finished(&mut self) -> bool {
        let (Some(connection), Some(before)) = (&self.connection, self.unwanted) else {
            return false;
        };
        let (bytes, is_over) = discard(connection, PIECE_BYTES);
        let sum = before + bytes;
        self.unwanted = Some(sum);
        if !is_over && sum < UNWANTED_BYTES_MAX {
            return false;
        }
        (self.connection, self.unwanted) = (None, None);
        true
    }

    /// Write to the log what it has said to the last, as far as that is there now: whatever it has
    /// started may go on.
    pub(super) fn log_last_words(&mut self, server: &Server) {
        for _ in 0..LAST_PIECES {
            if !self.log(server) {
                break;
            }
        }
        let line = std::mem::take(&mut self.line);
        self.tell(server, &line);
        self.tell_of_silence(server, u64::MAX);
    }

    /// Write the lines to the log that it has said; says whether there may be more.
    pub(super) fn log(&mut self, server: &Server) -> bool {
        let Some(said) = &mut self.said else { return false };
        let mut piece = [0; PIECE_BYTES];
        match said.read(&mut piece) {
            Ok(0) => self.said = None,
            Ok(length) => self.line.extend_from_slice(&piece[..length]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Err(_) => self.said = None,
        }
        let is_over = self.said.is_none() || self.line.len() >= 2 * PIECE_BYTES;
        while let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
            let rest = self.line.split_off(end + 1);
            let line = std::mem::replace(&mut self.line, rest);
            self.tell(server, &line[..end]);
        }
        if is_over {
            let line = std::mem::take(&mut self.line);
            self.tell(server, &line);
        }
        self.said.is_some()
    }

    /// Log a line of it, while there is room.
    fn tell(&mut self, server: &Server, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        let now_ms = clock::monotonic_ms();
        self.tell_of_silence(server, now_ms);
        if self.speech.takes(line.len(), now_ms) {
            tell(server, line);
        }
    }

    /// When the log is to be told how much was left out.
    pub(super) fn silence_ms(&self) -> u64 {
        self.speech.due_ms()
    }

    /// Say what was left out, if it is time.
    pub(super) fn tell_of_silence(&mut self, server: &Server, now_ms: u64) {
        if let Some(bytes) = self.speech.left_out(now_ms) {
            let (most, seconds) = (Ration::MEBIBYTES, SAID_MS / 1000);
            let text =
                format!("more than {most} MiB in {seconds} s: {bytes} bytes were not logged");
            tell(server, text.as_bytes());
        }
    }

    /// Tell it to end, if nobody has. It is killed after a while.
    pub(super) fn end(&mut self, why: Option<Why>, now_ms: u64) {
        if self.kill_ms.is_none() {
            end_group(self.pid, false);
            self.kill_ms = Some(now_ms + PATIENCE_MS);
            self.why = Some(why.unwrap_or(Why::ShuttingDown).words());
        }
    }

    /// When it is to be killed.
    pub(super) fn kill_ms(&self) -> u64 {
        self.kill_ms.unwrap_or(u64::MAX)
    }

    pub(super) fn kill_if_overdue(&mut self, now_ms: u64) {
        if self.kill_ms.is_some_and(|kill_ms| now_ms >= kill_ms) {
            end_group(self.pid, true);
            self.kill_ms = Some(now_ms + PATIENCE_MS);
        }
    }

    /// Why it was told to end.
    pub(super) fn why(&self) -> Option<&'static str> {
        self.why
    }

    /// It has ended, and has not been waited for: whatever it has started goes with it.
    pub(super) fn bury(&self) -> Option<Ending> {
        end_group(self.pid, true);
        process::wait_for(self.pid)
    }
}

/// As mod_fcgid writes what comes in a stream of errors.
fn tell(server: &Server, line: &[u8]) {
    fcgid::tell(server, ManagerSeverity::Warning, &[b"mod_fcgid: stderr: ", line].concat());
}

/// The room in the log that a process has from a moment on.
#[derive(Default)]
struct Speech {
    since_ms: u64,
    ration: Ration,
}

impl Speech {
    /// Whether there is room for a line.
    fn takes(&mut self, length: usize, now_ms: u64) -> bool {
        if self.ration.is_whole() || now_ms >= self.since_ms.saturating_add(SAID_MS) {
            self.since_ms = now_ms;
            self.ration.renew();
        }
        self.ration.takes(length)
    }

    fn due_ms(&self) -> u64 {
        if self.ration.owes() { self.since_ms.saturating_add(SAID_MS) } else { u64::MAX }
    }

    /// Bytes that were left out, once the time has passed.
    fn left_out(&mut self, now_ms: u64) -> Option<usize> {
        if now_ms < self.due_ms() {
            return None;
        }
        self.ration.settle()
    }
}

/// What the log says about the end of a process (fcgid_proc_unix.c, proc_print_exit_info).
pub(super) fn exit_line(
    program: &CStr,
    pid: i32,
    why: Option<&str>,
    ending: Ending,
) -> (ManagerSeverity, String) {
    /// SIGTERM, SIGHUP, SIGUSR1 and SIGKILL.
    const STOPS: [i32; 4] = [15, 1, 10, 9];
    let (severity, how) = match ending {
        Ending::Exit(code) => {
            let how = format!("terminated by calling exit(), return code: {code}");
            (ManagerSeverity::Info, how)
        }
        Ending::Signal(number) if STOPS.contains(&number) => {
            (ManagerSeverity::Info, format!("get stop signal {number}"))
        }
        Ending::Signal(number) => {
            (ManagerSeverity::Error, format!("get unexpected signal {number}"))
        }
    };
    let why = match (why, ending) {
        (Some("connect error"), Ending::Exit(_)) => "server exited",
        (why, _) => why.unwrap_or("normal exit"),
    };
    let program = program.to_string_lossy();
    (severity, format!("mod_fcgid: process {program}({pid}) exit({why}), {how}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_says_has_room_for_a_while() {
        let (mut ration, line) = (Speech::default(), 8000);
        let fit =
            |ration: &mut Speech, now_ms| (0..200).filter(|_| ration.takes(line, now_ms)).count();
        let most = (Ration::MEBIBYTES << 20) / (line + 100);
        assert_eq!((ration.due_ms(), fit(&mut ration, 5)), (u64::MAX, most));
        assert_eq!((ration.due_ms(), ration.left_out(4 + SAID_MS)), (5 + SAID_MS, None));
        assert_eq!(ration.left_out(5 + SAID_MS), Some((200 - most) * line));
        assert_eq!((ration.due_ms(), ration.left_out(u64::MAX)), (u64::MAX, None));
        assert_eq!(fit(&mut ration, 4 + SAID_MS), 0);
        assert_eq!(fit(&mut ration, 5 + SAID_MS), most);
    }

    #[test]
    fn the_end_of_a_process_is_told_in_mod_fcgids_words() {
        for (why, ending, severity, text) in [
            (
                None,
                Ending::Exit(3),
                ManagerSeverity::Info,
                "exit(normal exit), terminated by calling exit(), return code: 3",
            ),
            (
                Some("idle timeout"),
                Ending::Signal(15),
                ManagerSeverity::Info,
                "exit(idle timeout), get stop signal 15",
            ),
            (
                Some("connect error"),
                Ending::Exit(0),
                ManagerSeverity::Info,
                "exit(server exited), terminated by calling exit(), return code: 0",
            ),
            (
                None,
                Ending::Signal(11),
                ManagerSeverity::Error,
                "exit(normal exit), get unexpected signal 11",
            ),
        ] {
            let (level, line) = exit_line(c"/bin/x", 7, why, ending);
            assert_eq!(line, format!("mod_fcgid: process /bin/x(7) {text}"));
            assert_eq!(level, severity);
        }
    }
}
