//! A FastCGI application that says what a test wants it to say, right or wrong.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// What it does with a request.
#[derive(Clone, Debug)]
pub enum Act {
    /// Send these bytes.
    Send(Vec<u8>),
    /// Be silent for so many milliseconds.
    Pause(u64),
    /// Send these bytes again and again, so many of them in all or until nobody takes them.
    Flood(Vec<u8>, usize),
    /// End the connection.
    Close,
    /// Break it: what listens at a port resets it.
    Reset,
}

/// A connection to the server.
trait Stream: Read + Write {
    /// Has the kernel reset it in the end.
    fn reset_in_the_end(&self) {}
}

impl Stream for UnixStream {}

impl Stream for TcpStream {
    fn reset_in_the_end(&self) {
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        let (value, length) = ((&raw const linger).cast(), size_of_val(&linger));
        let (fd, length) = (self.as_raw_fd(), u32::try_from(length).expect("a few bytes"));
        // SAFETY: `linger` lives through the call and its true length is given.
        unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_LINGER, value, length) };
    }
}

/// A request as the application sees it.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// How many there were on this connection before.
    pub nth: usize,
    /// The connection, counted from 0.
    pub connection: usize,
    /// Its variables.
    pub variables: HashMap<String, String>,
}

/// Listens at `socket` until the test ends; `answer` says what becomes of each request. A
/// connection is kept until the server or an [`Act::Close`] ends it.
pub fn listen(socket: &Path, answer: impl Fn(&Asked) -> Vec<Act> + Send + Sync + 'static) {
    let listener = UnixListener::bind(socket).expect("the socket can be made");
    crate::scratch::set_mode(socket, 0o666);
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for (connection, stream) in listener.incoming().enumerate() {
            let (Ok(stream), answer) = (stream, answer.clone()) else { return };
            thread::spawn(move || serve(stream, connection, &*answer));
        }
    });
}

/// The same at a free port.
pub fn listen_at_port(answer: impl Fn(&Asked) -> Vec<Act> + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("a bound socket has an address");
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for (connection, stream) in listener.incoming().enumerate() {
            let (Ok(stream), answer) = (stream, answer.clone()) else { return };
            let _ = stream.set_nodelay(true);
            thread::spawn(move || serve(stream, connection, &*answer));
        }
    });
    address
}

fn serve(mut stream: impl Stream, connection: usize, answer: &dyn Fn(&Asked) -> Vec<Act>) {
    for nth in 0.. {
        let Some(variables) = receive(&mut stream) else { return };
        for act in answer(&Asked { nth, connection, variables }) {
            let is_taken = match act {
                Act::Send(bytes) => stream.write_all(&bytes).is_ok(),
                Act::Pause(ms) => {
                    thread::sleep(Duration::from_millis(ms));
                    true
                }
                Act::Flood(bytes, total) => {
                    let times = total.div_ceil(bytes.len());
                    (0..times).all(|_| stream.write_all(&bytes).is_ok())
                }
                Act::Close => false,
                Act::Reset => {
                    stream.reset_in_the_end();
                    false
                }
            };
            if !is_taken {
                return;
            }
        }
    }
}

/// One request, to the end of its body.
fn receive(stream: &mut impl Read) -> Option<HashMap<String, String>> {
    let mut params = Vec::new();
    loop {
        let mut header = [0; 8];
        stream.read_exact(&mut header).ok()?;
        let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let mut content = vec![0; length + usize::from(header[6])];
        stream.read_exact(&mut content).ok()?;
        content.truncate(length);
        match header[1] {
            4 => params.extend(content),
            5 if length == 0 => return Some(pairs(&params)),
            _ => {}
        }
    }
}

fn pairs(mut bytes: &[u8]) -> HashMap<String, String> {
    let mut found = HashMap::new();
    while !bytes.is_empty() {
        let (name, value) = (length(&mut bytes), length(&mut bytes));
        let (pair, rest) = bytes.split_at(name + value);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        found.insert(text(&pair[..name]), text(&pair[name..]));
        bytes = rest;
    }
    found
}

fn length(bytes: &mut &[u8]) -> usize {
    let (length, used) = match bytes {
        [short, ..] if *short < 0x80 => (u32::from(*short), 1),
        [a, b, c, d, ..] => (u32::from_be_bytes([a & 0x7F, *b, *c, *d]), 4),
        _ => panic!("half a length"),
    };
    *bytes = &bytes[used..];
    length as usize
}

/// A record of request 1, of any kind.
pub fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(content.len()).expect("a short record").to_be_bytes();
    [&[1, kind, 0, 1, high, low, 0, 0], content].concat()
}

/// A piece of an answer.
pub fn stdout(text: impl AsRef<[u8]>) -> Vec<u8> {
    record(6, text.as_ref())
}

/// The end of a request.
pub fn end() -> Vec<u8> {
    record(3, &[0; 8])
}
