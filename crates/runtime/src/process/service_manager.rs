//! The service manager that started this process, systemd as a rule: the sockets that it has opened
//! (sd_listen_fds(3)) and where it wants to hear how the service does (sd_notify(3)). The protocol
//! is a few variables and datagrams, so that no library is needed. What is said is not known here.

use crate::{process, sys};
use rustix::net::{SocketType, sockopt};
use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// Sockets that are taken at most: more than any server listens at, and few enough to look at.
const SOCKETS_MAX: usize = 1024;

/// How long a message may wait for a manager that does not read.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a service manager has given to this process; nothing, if none has started it.
#[derive(Default)]
pub struct ServiceManager {
    /// Where to say how the service does.
    pub notifier: Option<Notifier>,
    /// TCP sockets that listen already.
    pub sockets: Vec<TcpListener>,
    /// Descriptors that are something else; they have been closed.
    pub unfit: usize,
}

impl ServiceManager {
    /// Take what the environment speaks of, and take it out of there: it is for this process, not
    /// for the programs that it starts.
    ///
    /// To be called first of all, while there is one thread and no descriptor of one's own.
    ///
    /// # Panics
    /// When the process has a second thread.
    pub fn of_environment() -> Self {
        let [socket, pid, count, _] =
            ["NOTIFY_SOCKET", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"].map(sys::take_variable);
        let notifier = socket.and_then(|name| Notifier::new(&name).ok());
        let passed = sys::passed_descriptors(passed(pid, count, process::id()));
        let given = passed.len();
        let sockets: Vec<_> = passed.into_iter().filter_map(|one| listener(one).ok()).collect();
        let unfit = given - sockets.len();
        Self { notifier, sockets, unfit }
    }
}

/// How many descriptors were passed to the process `own`, and not to one that passed its
/// environment on.
fn passed(pid: Option<OsString>, count: Option<OsString>, own: i32) -> usize {
    let number = |text: Option<OsString>| text?.to_str()?.parse::<i32>().ok();
    if number(pid) != Some(own) {
        return 0;
    }
    number(count).and_then(|count| usize::try_from(count).ok()).unwrap_or(0).min(SOCKETS_MAX)
}

/// The same descriptor, if it is a TCP socket that listens.
fn listener(descriptor: OwnedFd) -> io::Result<TcpListener> {
    let is_stream = sockopt::socket_type(&descriptor)? == SocketType::STREAM;
    if !is_stream || !sockopt::socket_acceptconn(&descriptor)? {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let listener = TcpListener::from(descriptor);
    // A socket of another family has no address of this kind.
    listener.local_addr().map(|_| listener)
}

/// Tells the service manager how the service does.
pub struct Notifier {
    socket: UnixDatagram,
    address: SocketAddr,
}

impl Notifier {
    /// For the value of `NOTIFY_SOCKET`: a path, or an abstract name after an `@`.
    ///
    /// # Errors
    /// When it is neither, or descriptors are used up.
    fn new(name: &OsString) -> io::Result<Self> {
        let address = match name.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
            [b'/', ..] => SocketAddr::from_pathname(name)?,
            _ => return Err(io::ErrorKind::Unsupported.into()),
        };
        let socket = UnixDatagram::unbound()?;
        socket.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { socket, address })
    }

    /// Send assignments, one per line.
    ///
    /// # Errors
    /// When the manager is gone, or does not read.
    pub fn send(&self, lines: &str) -> io::Result<()> {
        self.socket.send_to_addr(lines.as_bytes(), &self.address).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_taken_by_whom_they_were_passed_to_only() {
        let count = |pid: &str, count: &str| passed(Some(pid.into()), Some(count.into()), 77);
        assert_eq!(count("77", "2"), 2);
        assert_eq!(count("77", "999999"), SOCKETS_MAX);
        for (pid, number) in [("78", "2"), ("", "2"), ("x", "2"), ("77", "-1"), ("77", "two")] {
            assert_eq!(count(pid, number), 0, "{pid} {number}");
        }
        assert_eq!(passed(None, Some("2".into()), 77), 0);
        assert_eq!(passed(Some("77".into()), None, 77), 0);
    }

    #[test]
    fn only_a_tcp_socket_that_listens_is_a_listener() {
        let good = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = good.local_addr().unwrap();
        assert!(listener(std::net::TcpStream::connect(address).unwrap().into()).is_err());
        assert!(listener(std::net::UdpSocket::bind("127.0.0.1:0").unwrap().into()).is_err());
        let (reader, _writer) = io::pipe().unwrap();
        assert!(listener(reader.into()).is_err());
        let address = SocketAddr::from_abstract_name(b"trivet-test-listener").unwrap();
        let unix = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
        assert!(listener(unix.into()).is_err());
        assert!(listener(good.into()).is_ok());
    }

    #[test]
    fn messages_arrive_at_paths_and_abstract_names() {
        let name = format!("trivet-test-{}", process::id());
        let path = std::env::temp_dir().join(&name);
        let bound = [
            (UnixDatagram::bind(&path).unwrap(), path.clone().into_os_string()),
            (
                UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap(),
                format!("@{name}").into(),
            ),
        ];
        for (socket, name) in bound {
            Notifier::new(&name).unwrap().send("READY=1\nSTATUS=x").unwrap();
            let mut message = [0; 100];
            let length = socket.recv(&mut message).unwrap();
            assert_eq!(&message[..length], b"READY=1\nSTATUS=x");
        }
        std::fs::remove_file(path).unwrap();
        for name in ["", "relative", "vsock:2:1234"] {
            assert!(Notifier::new(&name.into()).is_err(), "{name}");
        }
        assert!(Notifier::new(&"/nobody/listens".into()).unwrap().send("x").is_err());
    }
}
