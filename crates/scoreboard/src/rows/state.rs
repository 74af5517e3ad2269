//! What a request slot and a process do, as one byte of shared memory.

/// What a request slot does, with httpd's letters (mod_status.c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RowState {
    /// `.` no process behind it.
    Dead = 0,
    /// `S` its process is starting.
    Starting = 1,
    /// `_` free.
    Ready = 2,
    /// `R` reading a request.
    Reading = 3,
    /// `W` answering.
    Writing = 4,
    /// `K` idle between two requests of a connection.
    KeepAlive = 5,
    /// `L` logging.
    Logging = 6,
    /// `C` closing.
    Closing = 8,
    /// `G` finishing in a process that is to end.
    Graceful = 9,
}

/// State, value and letter.
const STATES: &[(RowState, u8)] = &[
    (RowState::Dead, b'.'),
    (RowState::Starting, b'S'),
    (RowState::Ready, b'_'),
    (RowState::Reading, b'R'),
    (RowState::Writing, b'W'),
    (RowState::KeepAlive, b'K'),
    (RowState::Logging, b'L'),
    (RowState::Closing, b'C'),
    (RowState::Graceful, b'G'),
];

impl RowState {
    /// The state of a value read from shared memory; nonsense counts as dead.
    pub fn from_raw(raw: u8) -> Self {
        STATES.iter().find(|row| row.0 as u8 == raw).map_or(Self::Dead, |row| row.0)
    }

    /// Whether somebody is served.
    pub fn is_busy(self) -> bool {
        !matches!(self, Self::Dead | Self::Starting | Self::Ready)
    }

    /// The letter that server-status shows.
    pub fn letter(self) -> u8 {
        STATES.iter().find(|row| row.0 == self).map_or(b'.', |row| row.1)
    }
}

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ProcessState {
    /// No process.
    Dead = 0,
    /// Forked, not serving yet.
    Starting = 1,
    /// Serving.
    Serving = 2,
    /// Finishing what it has, accepting nothing.
    Draining = 3,
    /// Serving, and asking to be replaced.
    Retiring = 4,
}
