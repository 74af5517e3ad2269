//! What the script manager says about a program, on its control socket.

use crate::process::Ending;

/// Bytes of a report.
pub(super) const REPORT_BYTES: usize = 12;

/// Where the start of a program has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum LaunchStep {
    /// The command cannot be read.
    Command = 1,
    /// Another process.
    Fork = 2,
    /// A process group of its own.
    Group = 3,
    /// What it may use.
    Limits = 4,
    /// Its user.
    User = 5,
    /// Its folder.
    Folder = 6,
    /// Its standard streams.
    Streams = 7,
    /// The program itself.
    Execute = 8,
}

/// All of them.
const STEPS: [LaunchStep; 8] = [
    LaunchStep::Command,
    LaunchStep::Fork,
    LaunchStep::Group,
    LaunchStep::Limits,
    LaunchStep::User,
    LaunchStep::Folder,
    LaunchStep::Streams,
    LaunchStep::Execute,
];

impl LaunchStep {
    pub(super) fn of(number: i32) -> Option<Self> {
        STEPS.into_iter().find(|step| *step as i32 == number)
    }
}

/// Why a program is not run as another user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum IdentityRefusal {
    /// There is no such row, or no such user.
    UnknownUser = 1,
    /// His number is too small.
    UserTooSmall = 2,
    /// That of his group is.
    GroupTooSmall = 3,
    /// The program is not in its folder.
    NotInFolder = 4,
    /// The folder is not below the one that is allowed.
    OutsideOfRoot = 5,
    /// The folder belongs to others, too.
    FolderWritable = 6,
    /// The program can be changed by others.
    ProgramWritable = 7,
    /// The program would change its user by itself.
    SetUser = 8,
    /// Folder or program belong to somebody else.
    Owner = 9,
    /// The program may not be run.
    NotExecutable = 10,
    /// There is no such program or folder.
    Missing = 11,
}

/// All of them, with the words for the log.
const REFUSALS: [(IdentityRefusal, &str); 11] = [
    (IdentityRefusal::UnknownUser, "invalid target user"),
    (IdentityRefusal::UserTooSmall, "cannot run as forbidden uid"),
    (IdentityRefusal::GroupTooSmall, "cannot run as forbidden gid"),
    (IdentityRefusal::NotInFolder, "invalid command"),
    (IdentityRefusal::OutsideOfRoot, "command not in docroot"),
    (IdentityRefusal::FolderWritable, "directory is writable by others"),
    (IdentityRefusal::ProgramWritable, "file is writable by others"),
    (IdentityRefusal::SetUser, "file is either setuid or setgid"),
    (IdentityRefusal::Owner, "target uid/gid mismatch with directory or program"),
    (IdentityRefusal::NotExecutable, "file has no execute permission"),
    (IdentityRefusal::Missing, "cannot stat program"),
];

impl IdentityRefusal {
    /// In the words of suEXEC.
    pub fn text(self) -> &'static str {
        REFUSALS.iter().find(|row| row.0 == self).map_or("refused", |row| row.1)
    }

    pub(super) fn of(number: i32) -> Option<Self> {
        REFUSALS.iter().map(|row| row.0).find(|refusal| *refusal as i32 == number)
    }
}

/// How it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramReport {
    /// It runs as this process.
    Started(i32),
    /// It could not be started.
    Failed {
        /// Where it failed.
        step: LaunchStep,
        /// What the system said: a number of errno(3).
        errno: i32,
    },
    /// It may not be started in this way.
    Refused(IdentityRefusal),
    /// As many run as may, and others wait: it was not started.
    Busy,
    /// It has ended.
    Ended(Ending),
}

impl ProgramReport {
    /// The report as bytes.
    pub fn encode(self) -> [u8; REPORT_BYTES] {
        let numbers = match self {
            Self::Started(pid) => [1, pid, 0],
            Self::Failed { step, errno } => [2, step as i32, errno],
            Self::Refused(refusal) => [3, refusal as i32, 0],
            Self::Busy => [5, 0, 0],
            Self::Ended(Ending::Exit(code)) => [4, 0, code],
            Self::Ended(Ending::Signal(number)) => [4, 1, number],
        };
        let mut out = [0; REPORT_BYTES];
        for (chunk, number) in out.chunks_exact_mut(4).zip(numbers) {
            chunk.copy_from_slice(&number.to_le_bytes());
        }
        out
    }

    /// Read a report; `None` if it is none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (numbers, []) = bytes.as_chunks::<4>() else { return None };
        match numbers.iter().map(|it| i32::from_le_bytes(*it)).collect::<Vec<_>>()[..] {
            [1, pid, 0] => Some(Self::Started(pid)),
            [2, step, errno] => Some(Self::Failed { step: LaunchStep::of(step)?, errno }),
            [3, refusal, 0] => Some(Self::Refused(IdentityRefusal::of(refusal)?)),
            [5, 0, 0] => Some(Self::Busy),
            [4, 0, code] => Some(Self::Ended(Ending::Exit(code))),
            [4, 1, number] => Some(Self::Ended(Ending::Signal(number))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reported_is_read() {
        let steps = STEPS.map(|step| ProgramReport::Failed { step, errno: 13 });
        let refusals = REFUSALS.map(|row| ProgramReport::Refused(row.0));
        let others = [
            ProgramReport::Started(7),
            ProgramReport::Busy,
            ProgramReport::Ended(Ending::Exit(-1)),
            ProgramReport::Ended(Ending::Signal(15)),
        ];
        for report in steps.into_iter().chain(refusals).chain(others) {
            assert_eq!(ProgramReport::decode(&report.encode()), Some(report));
        }
    }

    #[test]
    fn other_bytes_are_no_report() {
        for bytes in [&b""[..], b"abc", &[0; 12], &[9; 12], &[1; 16], &[1; 11]] {
            assert_eq!(ProgramReport::decode(bytes), None, "{bytes:?}");
        }
    }
}
