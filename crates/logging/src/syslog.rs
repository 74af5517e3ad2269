//! Messages to the system's log: datagrams to /dev/log (RFC 3164, as syslog(3) of glibc writes
//! them). A system without it costs lines, never service.

use super::level::Level;
use super::time::{CalendarSecond, TimeFormat};
use crate::number::decimal;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::sync::{Mutex, PoisonError};

/// Where the system's logger listens.
const ADDRESS: &str = "/dev/log";

/// A connection to the system's logger.
#[derive(Debug)]
pub struct Syslog {
    facility: u8,
    tag: String,
    /// Connected as soon as there is somebody; a logger that was restarted is found again.
    socket: Mutex<Option<UnixDatagram>>,
}

impl Syslog {
    /// A logger that calls itself `tag`, or as this program is called.
    pub(crate) fn new(facility: u8, tag: Option<&str>) -> Self {
        let own = || {
            let program = std::env::args_os().next().unwrap_or_default();
            let name = std::path::Path::new(&program).file_name().unwrap_or_default();
            name.to_string_lossy().into_owned()
        };
        let tag = tag.map_or_else(own, str::to_owned);
        Self { facility, tag, socket: Mutex::new(connect().ok()) }
    }

    /// Send one message, a line without its end.
    pub(crate) fn send(&self, level: Level, now: &CalendarSecond, line: &[u8]) -> io::Result<()> {
        let message = self.message(level, now, line);
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connected) = socket.as_ref()
            && connected.send(&message).is_ok()
        {
            return Ok(());
        }
        let connected = connect()?;
        let sent = connected.send(&message).map(|_| ());
        *socket = Some(connected);
        sent
    }

    /// `<191>Jan 13 10:15:28 apache2[28991]: message`
    fn message(&self, level: Level, now: &CalendarSecond, line: &[u8]) -> Vec<u8> {
        let mut message = Vec::with_capacity(64 + line.len());
        message.push(b'<');
        // From debug on there is one severity only (log.c, write_logline).
        let severity = level.min(Level::Debug) as u8;
        decimal(u64::from(self.facility | severity), &mut message);
        message.push(b'>');
        TimeFormat::new(b"%b %e %H:%M:%S ").write(now, &mut message);
        message.extend_from_slice(self.tag.as_bytes());
        message.push(b'[');
        decimal(u64::from(std::process::id()), &mut message);
        message.extend_from_slice(b"]: ");
        message.extend_from_slice(line);
        message
    }
}

/// A logger that has stopped reading must not stop service.
fn connect() -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.connect(ADDRESS)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_priority_time_tag_and_process() {
        let syslog = Syslog { facility: 23 << 3, tag: "web".into(), socket: Mutex::new(None) };
        let pid = std::process::id();
        for (level, priority) in
            [(Level::Emerg, 184), (Level::Error, 187), (Level::Debug, 191), (Level::Trace5, 191)]
        {
            let message = syslog.message(level, &CalendarSecond::utc(1_767_225_600), b"[core] x");
            let text = format!("<{priority}>Jan  1 00:00:00 web[{pid}]: [core] x");
            assert_eq!(String::from_utf8(message).unwrap(), text);
        }
    }
}
