//! A server that does what a test tells it, byte by byte: what no real one does.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A listening stub. Its threads end with the test.
pub struct Stub {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
}

/// One connection of a stub.
pub struct Visitor {
    /// To the client.
    pub stream: TcpStream,
    asked: Arc<AtomicUsize>,
    held: Vec<u8>,
}

impl Stub {
    /// Listens; `serve` has a thread for each connection.
    ///
    /// # Panics
    /// When no port is free.
    pub fn start(serve: impl Fn(&mut Visitor) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let (serve, asked) = (Arc::new(serve), Arc::new(AtomicUsize::new(0)));
        let counter = asked.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = stream.set_nodelay(true);
                let (serve, asked) = (serve.clone(), counter.clone());
                let held = Vec::new();
                thread::spawn(move || serve(&mut Visitor { stream, asked, held }));
            }
        });
        Self { address, asked }
    }

    /// Answers every request with the same bytes, on connections that stay.
    pub fn answering(answer: &'static [u8]) -> Self {
        Self::start(move |visitor| {
            while visitor.request().is_some() {
                if visitor.stream.write_all(answer).is_err() {
                    return;
                }
            }
        })
    }

    /// `http://127.0.0.1:PORT/`.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Requests that have come.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Visitor {
    /// Bytes that have come behind the last head.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// The body behind a head that says how long it is; `None` when it does not come.
    pub fn body(&mut self, head: &str) -> Option<String> {
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let length = length.map_or(Some(0), |length| length.trim().parse().ok())?;
        let mut bytes = [0; 4096];
        while self.held.len() < length {
            match self.stream.read(&mut bytes) {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.held.extend_from_slice(&bytes[..count]),
            }
        }
        String::from_utf8(self.held.drain(..length).collect()).ok()
    }

    /// The next head of a request; `None` at the end.
    pub fn request(&mut self) -> Option<String> {
        let mut bytes = [0; 4096];
        loop {
            if let Some(end) = self.held.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = self.held.drain(..end + 4).collect();
                self.asked.fetch_add(1, Ordering::Relaxed);
                return String::from_utf8(head).ok();
            }
            match self.stream.read(&mut bytes) {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.held.extend_from_slice(&bytes[..count]),
            }
        }
    }
}
