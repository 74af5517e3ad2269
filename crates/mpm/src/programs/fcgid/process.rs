//! One FastCGI process: how it is reached, what it says, and how it ends.

use crate::programs::complaints::Complaints;
use crate::programs::fcgid::process_manager::{ManagerOutcome, Why};
use gateway::fcgid::manage::{self as fcgid, ManagerSeverity};
use runtime::process::{self, Ending};
use runtime::programs::{
    Launch, ProcessClass, ProgramReport, UnlinkedSocket, discard, end_group, say_no_more,
};
use server::Server;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

/// How long a process may take to end that was told to, as any other program.
const PATIENCE_MS: u64 = 3000;

/// Bytes of an answer that nobody wants which are taken before the connection is closed.
const UNWANTED_BYTES_MAX: usize = 1 << 20;

/// Bytes of such an answer that are taken at a time.
const PIECE_BYTES: usize = 8192;

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
    /// Its standard output and error.
    complaints: Complaints,
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
            complaints: Complaints::new(said),
            connection: None,
            unwanted: None,
            kill_ms: None,
            why: None,
        }
    }

    pub(super) fn watched(&self) -> impl Iterator<Item = (ProcessEvent, BorrowedFd<'_>)> {
        let launch = self.launch.as_ref().map(|launch| (ProcessEvent::Launched, launch.as_fd()));
        let said = self.complaints.watched().map(|said| (ProcessEvent::Speaks, said));
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
        self.complaints.log_last(&|line| tell(server, line));
    }

    /// Write the lines to the log that it has said; says whether there may be more.
    pub(super) fn log(&mut self, server: &Server) -> bool {
        self.complaints.log(&|line| tell(server, line))
    }

    /// When the log is to be told how much was left out.
    pub(super) fn silence_ms(&self) -> u64 {
        self.complaints.due_ms()
    }

    /// Say what was left out, if it is time.
    pub(super) fn tell_of_silence(&mut self, server: &Server, now_ms: u64) {
        self.complaints.tell_what_was_left_out(now_ms, &|line| tell(server, line));
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
