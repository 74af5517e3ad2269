//! What a program says besides its answers, on its standard error: it goes to the log by lines, as
//! long as there is room for it.

use logging::ration::Ration;
use runtime::clock;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};

/// Bytes that are read at a time of what a program says.
const PIECE_BYTES: usize = 8192;

/// The most such pieces that are read when the program has ended: what a pipe holds.
const LAST_PIECES: usize = 16;

/// After so long a time there is room in the log again for what a program says.
const SAID_MS: u64 = 60_000;

/// What one program says, until it says no more.
pub(super) struct Complaints {
    said: Option<File>,
    /// What came of a line that is not complete.
    line: Vec<u8>,
    speech: Speech,
}

impl Complaints {
    /// What comes out of a pipe that never waits.
    pub(super) fn new(said: File) -> Self {
        Self { said: Some(said), line: Vec::new(), speech: Speech::default() }
    }

    /// What to watch.
    pub(super) fn watched(&self) -> Option<BorrowedFd<'_>> {
        self.said.as_ref().map(AsFd::as_fd)
    }

    /// Tell what it has said to the last, as far as that is there now: whatever it has started may
    /// go on.
    pub(super) fn log_last(&mut self, tell: &dyn Fn(&[u8])) {
        for _ in 0..LAST_PIECES {
            if !self.log(tell) {
                break;
            }
        }
        let line = std::mem::take(&mut self.line);
        self.tell(&line, tell);
        self.tell_what_was_left_out(u64::MAX, tell);
    }

    /// Tell the lines that it has said; says whether there may be more.
    pub(super) fn log(&mut self, tell: &dyn Fn(&[u8])) -> bool {
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
            self.tell(&line[..end], tell);
        }
        if is_over {
            let line = std::mem::take(&mut self.line);
            self.tell(&line, tell);
        }
        self.said.is_some()
    }

    /// Tell a line of it, while there is room.
    fn tell(&mut self, line: &[u8], tell: &dyn Fn(&[u8])) {
        if line.is_empty() {
            return;
        }
        let now_ms = clock::monotonic_ms();
        self.tell_what_was_left_out(now_ms, tell);
        if self.speech.takes(line.len(), now_ms) {
            tell(line);
        }
    }

    /// When it is to be told how much was left out.
    pub(super) fn due_ms(&self) -> u64 {
        self.speech.due_ms()
    }

    /// Tell what was left out, if it is time.
    pub(super) fn tell_what_was_left_out(&mut self, now_ms: u64, tell: &dyn Fn(&[u8])) {
        if let Some(bytes) = self.speech.left_out(now_ms) {
            let (most, seconds) = (Ration::MEBIBYTES, SAID_MS / 1000);
            let text =
                format!("more than {most} MiB in {seconds} s: {bytes} bytes were not logged");
            tell(text.as_bytes());
        }
    }
}

/// The room in the log that a program has from a moment on.
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
}
