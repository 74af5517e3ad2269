//! What a serving process asks the script manager to start, as bytes: written by the one and read
//! by the other, who trusts nothing of it.

use std::ffi::CString;

/// Bytes of a command at most: what Linux passes to a program at all (a quarter of 8 MiB of stack).
pub const COMMAND_BYTES_MAX: usize = 2 << 20;

/// Arguments and variables at most: more than the fields that a request may have.
const STRINGS_MAX: u32 = 65_536;

/// What `u32` stands for nobody but the user of the server.
const SERVER: u32 = 0;
const ROW: u32 = 1;
const HOME: u32 = 2;

/// Whom a program is to run as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProgramIdentity {
    /// The user of the server.
    #[default]
    Server,
    /// A row of the manager's own table.
    Row(u32),
    /// The user of this number, for a program in the folder of his home that is for the web.
    Home(u32),
}

/// A soft and a hard limit; `u64::MAX` is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceLimit {
    /// What holds at first.
    pub soft: u64,
    /// As far as the program itself may raise it.
    pub hard: u64,
}

/// What a program may use. Nothing can be raised above what the manager has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceLimits {
    /// Seconds of processor time.
    pub cpu: Option<ResourceLimit>,
    /// Bytes of address space.
    pub memory: Option<ResourceLimit>,
    /// Processes of its user.
    pub processes: Option<ResourceLimit>,
}

impl ResourceLimits {
    fn rows(&self) -> [Option<ResourceLimit>; 3] {
        [self.cpu, self.memory, self.processes]
    }
}

/// A program to be started. No string may hold a zero byte.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProgramCommand {
    /// Whom it runs as.
    pub identity: ProgramIdentity,
    /// What it may use.
    pub limits: ResourceLimits,
    /// Where it starts: an absolute path.
    pub folder: CString,
    /// The program: an absolute path.
    pub program: CString,
    /// Its arguments, the first of which is its own name.
    pub arguments: Vec<CString>,
    /// Its whole environment, as `NAME=value`.
    pub environment: Vec<CString>,
}

/// The bytes are no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl ProgramCommand {
    /// The command as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(4096);
        let (kind, number) = match self.identity {
            ProgramIdentity::Server => (SERVER, 0),
            ProgramIdentity::Row(row) => (ROW, row),
            ProgramIdentity::Home(uid) => (HOME, uid),
        };
        put_u32(&mut out, kind);
        put_u32(&mut out, number);
        for limit in self.limits.rows() {
            put_u32(&mut out, u32::from(limit.is_some()));
            let ResourceLimit { soft, hard } = limit.unwrap_or(ResourceLimit { soft: 0, hard: 0 });
            out.extend_from_slice(&soft.to_le_bytes());
            out.extend_from_slice(&hard.to_le_bytes());
        }
        put_string(&mut out, &self.folder);
        put_string(&mut out, &self.program);
        for strings in [&self.arguments, &self.environment] {
            put_u32(&mut out, u32::try_from(strings.len()).unwrap_or(u32::MAX));
            strings.iter().for_each(|string| put_string(&mut out, string));
        }
        out
    }

    /// Read a command.
    ///
    /// # Errors
    /// When it is cut short, has more than a command can have, or says what no command says.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.len() > COMMAND_BYTES_MAX {
            return Err(Malformed);
        }
        let mut rest = Rest(bytes);
        let identity = match (rest.u32()?, rest.u32()?) {
            (SERVER, 0) => ProgramIdentity::Server,
            (ROW, row) => ProgramIdentity::Row(row),
            (HOME, uid) => ProgramIdentity::Home(uid),
            _ => return Err(Malformed),
        };
        let limits =
            ResourceLimits { cpu: rest.limit()?, memory: rest.limit()?, processes: rest.limit()? };
        let (folder, program) = (rest.path()?, rest.path()?);
        let (arguments, environment) = (rest.strings()?, rest.strings()?);
        match rest.0.is_empty() && !arguments.is_empty() {
            true => Ok(Self { identity, limits, folder, program, arguments, environment }),
            false => Err(Malformed),
        }
    }
}

fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_string(out: &mut Vec<u8>, string: &CString) {
    put_u32(out, u32::try_from(string.as_bytes().len()).unwrap_or(u32::MAX));
    out.extend_from_slice(string.as_bytes());
}

/// What is left to be read.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn u32(&mut self) -> Result<u32, Malformed> {
        let (number, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(u32::from_le_bytes(*number))
    }

    fn u64(&mut self) -> Result<u64, Malformed> {
        let (number, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*number))
    }

    fn limit(&mut self) -> Result<Option<ResourceLimit>, Malformed> {
        let there = self.u32()?;
        let limit = ResourceLimit { soft: self.u64()?, hard: self.u64()? };
        match (there, limit) {
            (0, ResourceLimit { soft: 0, hard: 0 }) => Ok(None),
            (1, limit) => Ok(Some(limit)),
            _ => Err(Malformed),
        }
    }

    fn string(&mut self) -> Result<CString, Malformed> {
        let length = usize::try_from(self.u32()?).map_err(|_| Malformed)?;
        let (string, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        CString::new(string).map_err(|_| Malformed)
    }

    fn path(&mut self) -> Result<CString, Malformed> {
        self.string().and_then(|path| match path.as_bytes().first() {
            Some(b'/') => Ok(path),
            _ => Err(Malformed),
        })
    }

    fn strings(&mut self) -> Result<Vec<CString>, Malformed> {
        let count = self.u32()?;
        // Each takes four bytes at least, so that a number alone reserves nothing.
        if count > STRINGS_MAX || count as usize > self.0.len() / 4 {
            return Err(Malformed);
        }
        (0..count).map(|_| self.string()).collect()
    }
}

/// What holds for any bytes: they are no command, or one that is written in just this way.
///
/// # Panics
/// When that does not hold.
pub fn fuzz_command(bytes: &[u8]) {
    let Ok(command) = ProgramCommand::decode(bytes) else { return };
    assert_eq!(command.encode(), bytes, "an order has one form");
    assert!(command.program.as_bytes().starts_with(b"/") && !command.arguments.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> CString {
        CString::new(text).unwrap()
    }

    fn command() -> ProgramCommand {
        ProgramCommand {
            identity: ProgramIdentity::Row(3),
            limits: ResourceLimits {
                cpu: Some(ResourceLimit { soft: 5, hard: u64::MAX }),
                memory: None,
                processes: Some(ResourceLimit { soft: 0, hard: 0 }),
            },
            folder: text("/srv/cgi"),
            program: text("/srv/cgi/x.sh"),
            arguments: vec![text("x.sh"), text(""), text("a b")],
            environment: vec![text("A=b"), text("LONG=")],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for identity in
            [ProgramIdentity::Server, ProgramIdentity::Row(0), ProgramIdentity::Home(1000)]
        {
            let command = ProgramCommand { identity, ..command() };
            assert_eq!(ProgramCommand::decode(&command.encode()), Ok(command));
        }
    }

    #[test]
    fn an_order_that_is_cut_short_or_too_long_is_none() {
        let bytes = command().encode();
        for length in 0..bytes.len() {
            assert_eq!(ProgramCommand::decode(&bytes[..length]), Err(Malformed), "{length}");
        }
        assert_eq!(ProgramCommand::decode(&[&bytes[..], b"x"].concat()), Err(Malformed));
        assert_eq!(ProgramCommand::decode(&vec![0; COMMAND_BYTES_MAX + 1]), Err(Malformed));
    }

    #[test]
    fn every_single_byte_may_be_wrong() {
        let bytes = command().encode();
        for at in 0..bytes.len() {
            for value in [0, 1, 2, 0x2f, 0x7f, 0x80, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] = value;
                fuzz_command(&bytes);
            }
        }
    }

    #[test]
    fn paths_are_absolute_and_a_program_has_a_name() {
        let relative = ProgramCommand { program: text("x.sh"), ..command() };
        let elsewhere = ProgramCommand { folder: text(""), ..command() };
        let nameless = ProgramCommand { arguments: Vec::new(), ..command() };
        for command in [relative, elsewhere, nameless] {
            assert_eq!(ProgramCommand::decode(&command.encode()), Err(Malformed));
        }
    }
}
