//! Sockets at which kept programs listen: without a name, so that nobody connects to them but
//! whoever made them.

use crate::sys;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

/// Connections that may wait: there is one at a time, and those that were given up.
const QUEUE: i32 = 16;

/// Bytes of the name of the folder that are drawn: nobody can have taken it before.
const NAME_BYTES: usize = 16;

/// Where a program can be reached.
#[derive(Debug)]
pub struct UnlinkedSocket {
    /// The socket in the file system. Its name is gone.
    inode: File,
}

impl UnlinkedSocket {
    /// One, and the listening socket itself, which is to be the standard input of a
    /// program. `folder` holds its name for a moment, in a folder that nobody else may enter.
    ///
    /// # Errors
    /// When the folder cannot be used, or descriptors are used up.
    pub fn open(folder: &Path) -> io::Result<(Self, File)> {
        Self::open_for(folder, QUEUE)
    }

    /// The same, at which so many connections may wait. Whoever has the descriptor may connect, as
    /// whichever user: nobody else knows a way to it.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_for(folder: &Path, queue: i32) -> io::Result<(Self, File)> {
        let (path, private) = private_folder(folder)?;
        let opened = Self::open_in(&private, queue);
        // The folder is empty again, unless something went wrong before.
        let _ = rustix::fs::unlinkat(&private, c"socket", AtFlags::empty());
        let _ = rustix::fs::unlinkat(CWD, path.as_path(), AtFlags::REMOVEDIR);
        opened
    }

    fn open_in(private: &OwnedFd, queue: i32) -> io::Result<(Self, File)> {
        // Not blocking would be seen by the program, which shares the state of the socket.
        let socket =
            socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        // Names of sockets are short; that of a folder need not be.
        let name = format!("/proc/self/fd/{}/socket", private.as_raw_fd());
        bind(&socket, &SocketAddrUnix::new(name.as_str())?)?;
        rustix::fs::chmodat(private, c"socket", Mode::from_raw_mode(0o666), AtFlags::empty())?;
        listen(&socket, queue)?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let inode = rustix::fs::openat(private, c"socket", flags, Mode::empty())?;
        Ok((Self { inode: File::from(inode) }, File::from(socket)))
    }

    /// A name by which this process, and each that is forked from it, can connect as long as this
    /// lives.
    pub fn path(&self) -> std::path::PathBuf {
        format!("/proc/self/fd/{}", self.inode.as_raw_fd()).into()
    }

    /// Take the way to it from this process, and from all that are forked from it: others keep it.
    ///
    /// # Errors
    /// When descriptors are used up.
    pub fn close_here(&self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let nothing = rustix::fs::open(c"/dev/null", flags, Mode::empty())?;
        sys::lead_to(&self.inode, &File::from(nothing))
    }

    /// Connect. The connection never waits, and neither does this.
    ///
    /// # Errors
    /// When the program listens no more, or has not accepted many connections.
    pub fn connect(&self) -> io::Result<OwnedFd> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let name = format!("/proc/self/fd/{}", self.inode.as_raw_fd());
        connect(&socket, &SocketAddrUnix::new(name.as_str())?)?;
        Ok(socket)
    }
}

/// A new folder below `folder` that nobody else may enter, and is this user's own.
fn private_folder(folder: &Path) -> io::Result<(std::path::PathBuf, OwnedFd)> {
    let mut drawn = [0; NAME_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut drawn)?;
    let path = folder.join(format!(".trivet-{:032x}", u128::from_be_bytes(drawn)));
    rustix::fs::mkdirat(CWD, path.as_path(), Mode::RWXU)?;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(CWD, path.as_path(), flags, Mode::empty())?;
    let status = rustix::fs::fstat(&opened)?;
    let is_ours = status.st_uid == rustix::process::geteuid().as_raw();
    match is_ours && status.st_mode & 0o077 == 0 {
        true => Ok((path, opened)),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// A pipe for what a program says: the end that is read never waits.
///
/// # Errors
/// When descriptors are used up.
pub fn log_pipe() -> io::Result<(File, File)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    never_wait(&reader)?;
    Ok((File::from(reader), File::from(writer)))
}

/// A pipe for what a program is told: the end that is written never waits, and comes last.
///
/// # Errors
/// When descriptors are used up.
pub fn input_pipe() -> io::Result<(File, File)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    never_wait(&writer)?;
    Ok((File::from(reader), File::from(writer)))
}

/// Have a descriptor never wait: only this end of a pipe, whose other end the program expects to.
///
/// # Errors
/// When the kernel refuses.
pub fn never_wait(end: impl AsFd) -> io::Result<()> {
    let end = end.as_fd();
    let flags = rustix::fs::fcntl_getfl(end)? | OFlags::NONBLOCK;
    Ok(rustix::fs::fcntl_setfl(end, flags)?)
}

/// Send no more over a connection: whoever reads at its other end comes to the end.
pub fn say_no_more(connection: impl AsFd) {
    // One that has broken has no other end.
    let _ = rustix::net::shutdown(connection, rustix::net::Shutdown::Write);
}

/// Read what has come and throw it away, up to `most` bytes: how many there were, and whether that
/// was all there will ever be.
pub fn discard(connection: impl AsFd, most: usize) -> (usize, bool) {
    let (mut sum, mut buffer) = (0, [0; 16 * 1024]);
    while sum < most {
        match rustix::io::read(&connection, &mut buffer[..]) {
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return (sum, false),
            Ok(0) | Err(_) => return (sum, true),
            Ok(length) => sum += length,
        }
    }
    (sum, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::{UnixListener, UnixStream};

    #[test]
    fn a_program_is_reached_without_a_name() {
        let deep = std::env::temp_dir().join(format!("trivet-doorway-{}", std::process::id()));
        let folder = deep.join("x".repeat(120));
        std::fs::create_dir_all(&folder).unwrap();
        let (unlinked, socket) = UnlinkedSocket::open(&folder).unwrap();
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        let listener = UnixListener::from(OwnedFd::from(socket));
        let mut ours = UnixStream::from(unlinked.connect().unwrap());
        let (mut theirs, _) = listener.accept().unwrap();
        ours.write_all(b"hello").unwrap();
        say_no_more(&ours);
        let mut said = String::new();
        theirs.read_to_string(&mut said).unwrap();
        assert_eq!(said, "hello");
        assert_eq!(discard(&ours, 100), (0, false));
        theirs.write_all(b"answer").unwrap();
        assert_eq!(discard(&ours, 100), (6, false));
        drop(theirs);
        assert_eq!(discard(&ours, 100), (0, true));
        drop(listener);
        let error = unlinked.connect().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        std::fs::remove_dir_all(&deep).unwrap();
    }

    #[test]
    fn a_queue_that_is_full_keeps_nobody_waiting() {
        let (unlinked, _socket) = UnlinkedSocket::open(&std::env::temp_dir()).unwrap();
        let mut connections = Vec::new();
        let error = loop {
            match unlinked.connect() {
                Ok(connection) => connections.push(connection),
                Err(error) => break error,
            }
            assert!(connections.len() < 100);
        };
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert!(UnlinkedSocket::open(Path::new("/nonexistent")).is_err());
    }
}
