//! What a process of a pool does with its listening socket: it waits for a connection, or for the
//! word that it may go.

use crate::event_fd;
use crate::signals::LeaveSignal;
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use std::fs::File;
use std::os::fd::AsFd;
use std::time::Duration;

/// What has come.
pub enum PoolTurn {
    /// A connection, which waits when it is read.
    Connection(File),
    /// The process may go.
    Leave,
    /// Another process of the pool was faster.
    Taken,
    /// Nothing, for the whole time.
    Nothing,
}

/// Wait for a connection at `listener`, which never waits itself, for at most so long.
pub fn next_connection(listener: &File, leave: &LeaveSignal, limit: Duration) -> PoolTurn {
    let readable = event_fd::readable(&[leave.as_fd(), listener.as_fd()], limit);
    if readable.contains(&0) {
        return PoolTurn::Leave;
    }
    if readable.is_empty() {
        return PoolTurn::Nothing;
    }
    match accept_with(listener, SocketFlags::CLOEXEC) {
        Ok(connection) => PoolTurn::Connection(File::from(connection)),
        Err(Errno::AGAIN | Errno::CONNABORTED | Errno::INTR) => PoolTurn::Taken,
        // It has run out of descriptors, say: another one takes its place.
        Err(_) => PoolTurn::Leave,
    }
}
