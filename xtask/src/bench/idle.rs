//! Memory of a server that holds many idle connections, each after one answered request.
//!
//! The server is fresh: memory that an earlier burst left behind would hide the growth. Its port
//! is fresh too, so one source address has ports enough; 28,000 is the kernel's default range.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::thread::sleep;
use std::time::Duration;

use super::{http, procs};

/// Time for the server to come to rest before its memory is read.
const SETTLE: Duration = Duration::from_secs(1);

/// The outcome for one server.
#[derive(Debug)]
pub(super) struct HeldConnections {
    /// Connections whose request got a complete answer 200.
    pub(super) answered: u32,
    /// Of these, connections that the server still kept open at the end.
    pub(super) open: u32,
    /// Growth of the server's memory divided by the open connections.
    pub(super) bytes_each: f64,
}

/// Opens the connections, lets them rest, and compares the server's memory.
pub(super) fn hold(pid: u32, port: u16, connections: u32) -> Result<HeldConnections, String> {
    let before = procs::pss_bytes(pid);
    let mut streams = Vec::new();
    for _ in 0..connections {
        // All requests are on their way before the first answer is read, so that the server has
        // them all at once.
        let mut stream = http::connect(port)?;
        http::send(&mut stream, "/index.html")?;
        streams.push(stream);
    }
    streams.retain_mut(|stream| http::read(stream).is_ok_and(|answer| answer.status == 200));
    let answered = count(&streams);
    // What an answer took (buffers, a request's state) is given back a moment after it; it is the
    // cost of waiting that is measured.
    sleep(SETTLE);
    let after = procs::pss_bytes(pid);
    streams.retain_mut(is_open);
    let open = count(&streams);
    if before == 0 || open == 0 {
        return Err(format!("nothing to compare: {before} bytes before, {open} connections after"));
    }
    let bytes_each = after.saturating_sub(before) as f64 / f64::from(open);
    Ok(HeldConnections { answered, open, bytes_each })
}

/// An open and idle connection has nothing to read, not even its end.
fn is_open(stream: &mut TcpStream) -> bool {
    let waits = |error: std::io::Error| error.kind() == ErrorKind::WouldBlock;
    stream.set_nonblocking(true).is_ok() && stream.read(&mut [0]).is_err_and(waits)
}

fn count(streams: &[TcpStream]) -> u32 {
    u32::try_from(streams.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    #[test]
    fn a_closed_connection_is_not_open() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut client = http::connect(listener.local_addr().unwrap().port()).unwrap();
        let (peer, _) = listener.accept().unwrap();
        assert!(is_open(&mut client));
        drop(peer);
        client.set_nonblocking(false).unwrap();
        // The end arrives at once on loopback; a blocking look makes it certain.
        assert_eq!(client.peek(&mut [0]).unwrap(), 0);
        assert!(!is_open(&mut client));
    }
}
