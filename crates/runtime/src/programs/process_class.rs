//! What kind of kept process is asked for.

use super::command::{Malformed, ProgramCommand};

/// What stands before the command: the host, and which file the program was.
const HEAD_BYTES: usize = 4 + 8 + 8;

/// Bytes of what is wanted at most: the manager keeps it for as long as it knows of such processes.
const CLASS_BYTES_MAX: usize = 64 << 10;

/// What kind of process is needed. Those of the same kind are as good as one another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProcessClass {
    /// The number of the host.
    pub host: u32,
    /// Device and inode of the program, or zeros: another file is another program.
    pub file: (u64, u64),
    /// How it is started. What it is told about the server is the manager's to say, so that there
    /// are no variables.
    pub command: ProgramCommand,
}

impl ProcessClass {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD_BYTES + 256);
        out.extend_from_slice(&self.host.to_le_bytes());
        out.extend_from_slice(&self.file.0.to_le_bytes());
        out.extend_from_slice(&self.file.1.to_le_bytes());
        out.extend_from_slice(&self.command.encode());
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.len() > CLASS_BYTES_MAX {
            return Err(Malformed);
        }
        let (host, rest) = bytes.split_first_chunk().ok_or(Malformed)?;
        let (device, rest) = rest.split_first_chunk().ok_or(Malformed)?;
        let (inode, rest) = rest.split_first_chunk().ok_or(Malformed)?;
        let command = ProgramCommand::decode(rest)?;
        if !command.environment.is_empty() {
            return Err(Malformed);
        }
        let file = (u64::from_le_bytes(*device), u64::from_le_bytes(*inode));
        Ok(Self { host: u32::from_le_bytes(*host), file, command })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class() -> ProcessClass {
        let path = c"/bin/true".to_owned();
        let (folder, arguments) = (c"/".to_owned(), vec![path.clone()]);
        let command =
            ProgramCommand { folder, program: path, arguments, ..ProgramCommand::default() };
        ProcessClass { host: 3, file: (1, u64::MAX), command }
    }

    #[test]
    fn what_is_cut_short_is_no_request() {
        let bytes = class().encode();
        assert_eq!(ProcessClass::decode(&bytes), Ok(class()));
        for length in 0..bytes.len() {
            assert_eq!(ProcessClass::decode(&bytes[..length]), Err(Malformed), "{length}");
        }
    }

    #[test]
    fn what_says_more_than_is_kept_is_no_request() {
        let with = |change: fn(&mut ProgramCommand)| {
            let mut class = class();
            change(&mut class.command);
            ProcessClass::decode(&class.encode())
        };
        assert_eq!(with(|command| command.environment.push(c"A=B".into())), Err(Malformed));
        let long =
            |command: &mut ProgramCommand| command.arguments = vec![c"0123456789".into(); 10_000];
        assert_eq!(with(long), Err(Malformed));
    }
}
