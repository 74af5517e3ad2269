//! How many connections wait at a listening socket of this machine to be accepted, whoever made
//! them: the kernel tells by `sock_diag(7)`. Of a socket elsewhere, in another network namespace
//! or under a kernel that does not tell, nothing is known.

use crate::net::address::Address;
use crate::net::sock_diag::{
    DUMP, INET, INET6, Kernel, SHOW_NAME_AND_FILE, SHOW_QUEUE, TCP_QUEUE_AT, UNIX, attribute,
    message, number, port_body, unix_body,
};
use std::ffi::OsStr;
use std::io;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Attributes of a socket in the file system (linux/unix_diag.h).
const NAME: u16 = 0;
const FILE: u16 = 1;
const QUEUE: u16 = 4;

/// `TCP_LISTEN`, which is the state of a listening socket of either family.
const LISTENING: u8 = 10;

/// Connections that wait to be accepted, and how many may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceptQueue {
    /// So many wait.
    pub waiting: u32,
    /// The next one behind these is told to come again later, or not told anything.
    pub most: u32,
}

/// The queue of one listening socket, to be asked for.
#[derive(Debug)]
pub struct Backlog {
    kernel: Kernel,
    question: Vec<u8>,
}

impl Backlog {
    /// Look for the socket that listens there. It may take a millisecond where there are thousands
    /// of sockets; `None` if there is no such socket to be seen.
    ///
    /// # Errors
    /// When the kernel does not tell of sockets.
    pub fn find(address: &Address) -> io::Result<Option<Self>> {
        let kernel = Kernel::connect()?;
        let question = match address {
            Address::Tcp(address) => {
                let nobody = SocketAddr::new([0; 4].into(), 0);
                message(0, &port_body(LISTENING, address, &nobody))
            }
            Address::Unix(path) => match inode(&kernel, path)? {
                Some(inode) => message(0, &unix_body(LISTENING, inode, SHOW_QUEUE)),
                None => return Ok(None),
            },
        };
        let mut found = Self { kernel, question };
        Ok(found.queue().is_some().then_some(found))
    }

    /// The queue now; `None` when nobody listens any more.
    pub fn queue(&mut self) -> Option<AcceptQueue> {
        self.kernel.ask(&self.question, queue_in)
    }
}

/// The number that the kernel gives the socket that listens at `path`, which is not that of the
/// file.
fn inode(kernel: &Kernel, path: &Path) -> io::Result<Option<u32>> {
    #[expect(clippy::disallowed_methods, reason = "the kernel is asked for the file of this name")]
    let Ok(file) = std::fs::metadata(path) else { return Ok(None) };
    let mut found = None;
    kernel.ask_all(&message(DUMP, &unix_body(LISTENING, 0, SHOW_NAME_AND_FILE)), |body| {
        found = found.or_else(|| listens_at(body, path, file.ino()));
    })?;
    Ok(found)
}

/// The number of the socket in `body`, if it is the one that listens there: its file has the
/// number, and since each file system numbers its own, its name ends as the path does. (It may
/// have been given by a relative path, or by another one to the same folder.)
fn listens_at(body: &[u8], path: &Path, file: u64) -> Option<u32> {
    if body.get(2) != Some(&LISTENING) {
        return None;
    }
    let inode = number(body, 4)?;
    let name = attribute(body, NAME)?;
    let name = OsStr::from_bytes(name.strip_suffix(&[0]).unwrap_or(name));
    // The kernel keeps 32 bits of it.
    let is_file = u64::from(number(attribute(body, FILE)?, 0)?) == file & u64::from(u32::MAX);
    (is_file && Path::new(name).file_name() == path.file_name()).then_some(inode)
}

/// The queue of the socket in `body`.
fn queue_in(body: &[u8]) -> Option<AcceptQueue> {
    let numbers = match *body.first()? {
        UNIX => attribute(body, QUEUE)?,
        INET | INET6 if body.get(1) == Some(&LISTENING) => body.get(TCP_QUEUE_AT..)?,
        _ => return None,
    };
    Some(AcceptQueue { waiting: number(numbers, 0)?, most: number(numbers, 4)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::time::{Duration, Instant};

    fn waits_for(backlog: &mut Backlog, count: u32) {
        let deadline = Instant::now() + Duration::from_secs(5);
        while backlog.queue().map(|queue| queue.waiting) != Some(count) {
            assert!(Instant::now() < deadline, "{:?}, not {count}", backlog.queue());
        }
        assert!(backlog.queue().unwrap().most >= 100, "{:?}", backlog.queue());
    }

    #[test]
    fn connections_to_a_socket_in_the_file_system_are_counted_until_they_are_accepted() {
        let path = std::env::temp_dir().join(format!("trivet-backlog-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let address = Address::Unix(path.clone());
        assert!(Backlog::find(&address).unwrap().is_none());
        let listener = UnixListener::bind(&path).unwrap();
        let mut backlog = Backlog::find(&address).unwrap().unwrap();
        waits_for(&mut backlog, 0);
        let clients = [(); 3].map(|()| UnixStream::connect(&path).unwrap());
        waits_for(&mut backlog, 3);
        let accepted = listener.accept().unwrap();
        waits_for(&mut backlog, 2);
        drop((listener, clients, accepted));
        assert_eq!(backlog.queue(), None);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn those_to_a_port_too() {
        for host in ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0"] {
            let Ok(listener) = TcpListener::bind(host) else { continue };
            let mut address = listener.local_addr().unwrap();
            if address.ip().is_unspecified() {
                address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
            }
            let mut backlog = Backlog::find(&Address::Tcp(address)).unwrap().unwrap();
            waits_for(&mut backlog, 0);
            let client = TcpStream::connect(address).unwrap();
            waits_for(&mut backlog, 1);
            drop((listener, client));
            assert_eq!(backlog.queue(), None);
        }
    }

    #[test]
    fn half_an_answer_is_none() {
        for body in [&[][..], &[UNIX], &[UNIX; 16], &[0xFF; 40], &[INET, LISTENING, 0, 0]] {
            assert_eq!(queue_in(body), None, "{body:?}");
        }
    }
}
