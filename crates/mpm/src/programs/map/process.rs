//! The program of a map as a process: its pipes, and what comes through them.

use crate::programs::complaints::Complaints;
use runtime::programs::{
    AnswerLine, Launch, MapAnswer, ProgramReport, ResourceLimits, Whom, input_pipe, launch,
    log_pipe,
};
use runtime::{event_fd, programs};
use server::map_program::{MapProgram, MapUser};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// What the system says of a user that it does not know (apr_uid_get): there is no such entry.
pub(super) const NO_SUCH_USER: i32 = 2;

/// Bytes that are read at a time of an answer.
const PIECE_BYTES: usize = 16 * 1024;

/// The program.
pub(super) struct MapProcess {
    pub(super) pid: i32,
    /// It has answered a question.
    pub(super) has_answered: bool,
    pub(super) complaints: Complaints,
    /// The pipe that reports whether exec succeeded, until that is known.
    launch: Option<OwnedFd>,
    input: File,
    output: File,
    /// What is left of a question.
    unwritten: Vec<u8>,
    line: AnswerLine,
}

/// What came of reading what it says.
pub(super) enum Heard {
    /// No whole line.
    Nothing,
    /// An answer.
    Answer(MapAnswer),
    /// A line that is too long.
    TooLong,
    /// The end, and the answer before it that has none itself.
    Over(Option<MapAnswer>),
}

impl MapProcess {
    pub(super) fn start(program: &MapProgram) -> io::Result<Self> {
        let ((stdin, input), (output, stdout)) = (input_pipe()?, log_pipe()?);
        let (said, stderr) = log_pipe()?;
        let user = match &program.user {
            MapUser::Starter => None,
            MapUser::Of(user) => Some(user),
            MapUser::Nobody => return Err(io::Error::from_raw_os_error(NO_SUCH_USER)),
        };
        let (pid, launch) = launch(&Launch {
            program: &program.program,
            arguments: &program.arguments,
            // As in httpd (apr_proc_create without an environment).
            environment: &[],
            folder: &program.folder,
            limits: ResourceLimits::default(),
            whom: Whom::Server(user),
            streams: [&stdin, &stdout, &stderr],
        })?;
        Ok(Self {
            pid,
            has_answered: false,
            complaints: Complaints::new(said),
            launch: Some(launch),
            input,
            output,
            unwritten: Vec::new(),
            line: AnswerLine::default(),
        })
    }

    /// Whether it runs, rather than starts.
    pub(super) fn runs(&self) -> bool {
        self.launch.is_none()
    }

    pub(super) fn watched(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let launch = self.launch.as_ref().map(AsFd::as_fd);
        let more = [Some(self.output.as_fd()), self.complaints.watched()];
        launch.into_iter().chain(more.into_iter().flatten())
    }

    /// What came of the start, when that is known and was not told before: why it has failed.
    pub(super) fn launched(&mut self) -> Option<Option<ProgramReport>> {
        let is_known = |launch: &mut OwnedFd| {
            !event_fd::readable(&[launch.as_fd()], Duration::ZERO).is_empty()
        };
        let launch = self.launch.take_if(is_known)?;
        Some(programs::Launch::failure(&launch))
    }

    /// Ask it something: a line.
    pub(super) fn ask(&mut self, line: Vec<u8>) {
        self.unwritten = line;
        self.write();
    }

    pub(super) fn has_more_to_write(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// Write as much of the question as it takes.
    pub(super) fn write(&mut self) {
        while !self.unwritten.is_empty() {
            match self.input.write(&self.unwritten) {
                Ok(length) => drop(self.unwritten.drain(..length)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // It reads no more: that it ends is seen elsewhere, or that it hangs.
                Err(_) => self.unwritten.clear(),
            }
        }
    }

    /// Read what it says, up to the end of an answer.
    pub(super) fn hear(&mut self) -> Heard {
        let mut piece = [0; PIECE_BYTES];
        loop {
            match self.line.take() {
                Ok(Some(answer)) => return Heard::Answer(answer),
                Ok(None) => {}
                Err(_) => return Heard::TooLong,
            }
            match self.output.read(&mut piece) {
                Ok(0) => return Heard::Over(self.line.end()),
                Ok(length) => self.line.add(&piece[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Heard::Nothing,
                Err(_) => return Heard::Over(None),
            }
        }
    }

    /// Whether it has said something that belongs to no answer so far.
    pub(super) fn says_more(&self) -> bool {
        !self.line.is_empty()
    }
}
