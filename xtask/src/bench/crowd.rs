//! The benchmark's own load client: as many connections as are wanted at this moment, on one
//! thread, and how many of their requests are answered in each second.
//!
//! wrk and ab tell one figure of a whole run, with one number of connections; a server that stands
//! still for a second does not show in it. Every answer is checked for its status and its length.
//! What level the crowd has and what its seconds mean is not known here.

use std::io::{ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};

use super::http;

/// A request that is not answered by then has failed, and so has its connection. Longer than
/// anything that a browser waits for, and longer than three attempts of the kernel to connect.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Connections whose news are taken at once.
const BATCH: usize = 512;

/// An answer is read in pieces of at most so many bytes.
const PIECE_BYTES: usize = 4096;

/// What each connection asks for, and what it has to get.
#[derive(Debug, Clone)]
pub(super) struct Errand {
    pub(super) port: u16,
    /// The connections are spread over 127.0.0.1 up to 127.0.0.this.
    pub(super) addresses: u8,
    pub(super) path: &'static str,
    pub(super) body_bytes: usize,
    /// Whether each request has a connection of its own, which the server has to close.
    pub(super) closing: bool,
}

/// What happened so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct CrowdCounts {
    pub(super) answers: u64,
    pub(super) failures: u64,
    /// What the first failure was.
    pub(super) reason: Option<String>,
}

/// See the module's text.
pub(super) struct Crowd {
    errand: Errand,
    request: Vec<u8>,
    epoll: OwnedFd,
    /// The first `wanted` are busy; one behind them ends when its answer is complete.
    seats: Vec<Option<CrowdVisit>>,
    wanted: usize,
    tally: CrowdCounts,
}

/// One connection.
struct CrowdVisit {
    stream: TcpStream,
    stage: Stage,
    /// The answer so far.
    bytes: Vec<u8>,
    /// When it began to connect, or to send this request.
    since: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    Connecting,
    Reading,
    /// The answer is complete; now the server has to close.
    Ending,
}

/// What became of a visit when nothing more can be done at once.
enum Step {
    Wait,
    /// It has its answer and is over.
    Ended,
}

impl Crowd {
    /// Nobody yet.
    pub(super) fn new(errand: Errand) -> Result<Self, String> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC);
        let epoll = epoll.map_err(|error| format!("cannot wait for connections: {error}"))?;
        let request = request(&errand).into_bytes();
        let (seats, tally) = (Vec::new(), CrowdCounts::default());
        Ok(Self { errand, request, epoll, seats, wanted: 0, tally })
    }

    /// From now on so many connections. New ones begin at once, those that are too many end with
    /// their next answer.
    pub(super) fn resize(&mut self, wanted: usize) {
        self.wanted = wanted;
        if self.seats.len() < wanted {
            self.seats.resize_with(wanted, || None);
        }
        for at in 0..wanted {
            if self.seats[at].is_none() {
                self.begin(at);
            }
        }
    }

    /// Goes on until the given moment; gives what happened since the last call.
    pub(super) fn run_until(&mut self, end: Instant) -> Result<CrowdCounts, String> {
        let mut events = [MaybeUninit::uninit(); BATCH];
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let ready: Vec<usize> = match epoll::wait(&self.epoll, &mut events, Some(&time(left))) {
                Ok((ready, _)) => ready.iter().map(|event| event.data.u64() as usize).collect(),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(format!("cannot wait for connections: {error}")),
            };
            ready.into_iter().for_each(|at| self.attend(at));
        }
        // Once for each call and not for each event: with ten thousand connections to look through
        // them all would cost this thread more than the answers do.
        self.give_up_old_ones();
        Ok(std::mem::take(&mut self.tally))
    }

    /// A connection has news.
    fn attend(&mut self, at: usize) {
        let Some(mut visit) = self.seats[at].take() else { return };
        match self.advance(&mut visit, at) {
            Ok(Step::Wait) => self.seats[at] = Some(visit),
            Ok(Step::Ended) => self.begin(at),
            Err(reason) => {
                self.fail(reason);
                self.begin(at);
            }
        }
    }

    /// Does what can be done without waiting. Readiness is told once (edge-triggered), so that
    /// there is no call per answer to ask for it again.
    fn advance(&mut self, visit: &mut CrowdVisit, at: usize) -> Result<Step, String> {
        if visit.stage == Stage::Connecting && !visit.is_connected()? {
            return Ok(Step::Wait);
        }
        if visit.stage == Stage::Connecting {
            visit.send(&self.request)?;
        }
        loop {
            match visit.read()? {
                None => return Ok(Step::Wait),
                Some(0) if visit.stage == Stage::Ending => {
                    self.tally.answers += 1;
                    return Ok(Step::Ended);
                }
                Some(0) => return Err("closed before the answer was complete".into()),
                Some(_) if visit.stage == Stage::Ending => return Err("too many bytes".into()),
                Some(_) if !is_complete(&visit.bytes, self.errand.body_bytes)? => {}
                Some(_) if self.errand.closing => visit.stage = Stage::Ending,
                Some(_) => {
                    self.tally.answers += 1;
                    if self.wanted <= at {
                        return Ok(Step::Ended);
                    }
                    visit.bytes.clear();
                    visit.since = Instant::now();
                    visit.send(&self.request)?;
                }
            }
        }
    }

    /// A new connection, where one is wanted.
    fn begin(&mut self, at: usize) {
        self.seats[at] = None;
        if self.wanted <= at {
            return;
        }
        // One that fails at once is tried again when this second is over: a server that is gone
        // must not keep the loop from seeing the time.
        match self.connect(at) {
            Ok(visit) => self.seats[at] = Some(visit),
            Err(error) => self.fail(format!("cannot connect: {error}")),
        }
    }

    fn connect(&self, at: usize) -> rustix::io::Result<CrowdVisit> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        let host = 1 + (at % usize::from(self.errand.addresses)) as u8;
        let address = SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, host), self.errand.port);
        match net::connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error),
        }
        let news = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
        epoll::add(&self.epoll, &socket, epoll::EventData::new_u64(at as u64), news)?;
        let (stream, stage) = (TcpStream::from(socket), Stage::Connecting);
        Ok(CrowdVisit { stream, stage, bytes: Vec::new(), since: Instant::now() })
    }

    /// Those that wait for too long have failed; seats that are empty get another try.
    fn give_up_old_ones(&mut self) {
        for at in 0..self.seats.len() {
            match &self.seats[at] {
                Some(visit) if visit.since.elapsed() < TIMEOUT => {}
                Some(visit) => {
                    self.fail(format!("nothing after {} s ({:?})", TIMEOUT.as_secs(), visit.stage));
                    self.begin(at);
                }
                None => self.begin(at),
            }
        }
    }

    fn fail(&mut self, reason: String) {
        self.tally.failures += 1;
        self.tally.reason.get_or_insert(reason);
    }
}

impl CrowdVisit {
    /// A connection that could not be made says so by the error of its socket.
    fn is_connected(&self) -> Result<bool, String> {
        if let Ok(Some(error)) = self.stream.take_error() {
            return Err(format!("cannot connect: {error}"));
        }
        match self.stream.peer_addr() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(format!("cannot connect: {error}")),
        }
    }

    /// A request is far smaller than the buffer of a socket that has nothing else to send.
    fn send(&mut self, request: &[u8]) -> Result<(), String> {
        self.stage = Stage::Reading;
        match self.stream.write(request) {
            Ok(sent) if sent == request.len() => Ok(()),
            Ok(_) => Err("only part of the request was sent".into()),
            Err(error) => Err(format!("cannot send: {error}")),
        }
    }

    /// Appends what there is: none, when there is nothing yet, and zero at the end.
    fn read(&mut self) -> Result<Option<usize>, String> {
        let mut piece = [0; PIECE_BYTES];
        match self.stream.read(&mut piece) {
            Ok(count) => {
                self.bytes.extend_from_slice(&piece[..count]);
                Ok(Some(count))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(format!("cannot read: {error}")),
        }
    }
}

/// Whether this is a whole answer; one that is not the wanted one is an error.
fn is_complete(bytes: &[u8], body_bytes: usize) -> Result<bool, String> {
    let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(false) };
    let head = str::from_utf8(&bytes[..at + 4]).map_err(|_| "the response is not text")?;
    let (status, length) = http::parse_head(head).ok_or("a response without a status or length")?;
    if status != 200 || length != body_bytes {
        return Err(format!("status {status} with {length} bytes"));
    }
    match bytes.len() - (at + 4) {
        count if count > length => Err("too many bytes".into()),
        count => Ok(count == length),
    }
}

fn request(errand: &Errand) -> String {
    let close = if errand.closing { "Connection: close\r\n" } else { "" };
    format!("GET {} HTTP/1.1\r\nHost: localhost\r\n{close}\r\n", errand.path)
}

fn time(duration: Duration) -> Timespec {
    let seconds = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    Timespec { tv_sec: seconds, tv_nsec: duration.subsec_nanos().into() }
}

#[cfg(test)]
mod tests {
    use std::net::{Shutdown, TcpListener};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::*;

    const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

    /// A server that gives the same answer to everyone, and closes where it is told to.
    fn server(answer: &'static str, closes: bool) -> u16 {
        counting_server(answer, closes, Arc::default())
    }

    /// The same, which counts its answers.
    fn counting_server(answer: &'static str, closes: bool, answers: Arc<AtomicU64>) -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, answers) = (stream.unwrap(), Arc::clone(&answers));
                thread::spawn(move || {
                    while stream.read(&mut [0; 512]).is_ok_and(|count| 0 < count) {
                        answers.fetch_add(1, Ordering::SeqCst);
                        stream.write_all(answer.as_bytes()).unwrap();
                        if closes {
                            stream.shutdown(Shutdown::Write).unwrap();
                        }
                    }
                });
            }
        });
        port
    }

    fn crowd(port: u16, closing: bool) -> Crowd {
        let errand = Errand { port, addresses: 1, path: "/", body_bytes: 5, closing };
        Crowd::new(errand).unwrap()
    }

    /// What happened until there were so many answers and failures together.
    fn until(crowd: &mut Crowd, events: u64) -> CrowdCounts {
        let (mut sum, deadline) = (CrowdCounts::default(), Instant::now() + TIMEOUT);
        while sum.answers + sum.failures < events && Instant::now() < deadline {
            let more = crowd.run_until(Instant::now() + Duration::from_millis(5)).unwrap();
            sum.answers += more.answers;
            sum.failures += more.failures;
            sum.reason = sum.reason.or(more.reason);
        }
        sum
    }

    #[test]
    fn answers_are_counted_with_and_without_persistence() {
        for closing in [false, true] {
            let given = Arc::new(AtomicU64::new(0));
            let port = counting_server(OK, closing, Arc::clone(&given));
            let mut crowd = crowd(port, closing);
            crowd.resize(3);
            let tally = until(&mut crowd, 50);
            let given = given.load(Ordering::SeqCst);
            // Each of the three may have an answer under way.
            assert!((given - 3..=given).contains(&tally.answers), "{given} given, {tally:?}");
            assert!(50 <= tally.answers, "{tally:?}");
            assert_eq!((tally.failures, tally.reason), (0, None));
        }
    }

    #[test]
    fn whoever_is_too_many_leaves_after_an_answer() {
        let mut crowd = crowd(server(OK, false), false);
        crowd.resize(4);
        until(&mut crowd, 20);
        crowd.resize(1);
        let deadline = Instant::now() + TIMEOUT;
        while 1 < crowd.seats.iter().flatten().count() && Instant::now() < deadline {
            assert_eq!(until(&mut crowd, 1).failures, 0);
        }
        assert_eq!(crowd.seats.iter().flatten().count(), 1);
        crowd.resize(0);
        assert!(until(&mut crowd, 1).failures == 0);
    }

    #[test]
    fn wrong_answers_are_failures_and_are_named() {
        for (answer, closes, closing, reason) in [
            ("HTTP/1.1 503 No\r\nContent-Length: 5\r\n\r\nhello", false, false, "status 503"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell", false, false, "with 4 bytes"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello!", false, false, "too many"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", true, false, "closed before"),
            ("HTTP/1.1 200 OK\r\n\r\nhello", true, true, "without a status or length"),
        ] {
            let mut crowd = crowd(server(answer, closes), closing);
            crowd.resize(1);
            let tally = until(&mut crowd, 1);
            assert_eq!(tally.answers, 0, "{reason}");
            let said = tally.reason.unwrap_or_default();
            assert!(said.contains(reason), "{said} is not {reason}");
        }
    }

    #[test]
    fn a_server_that_is_gone_is_a_failure() {
        let port =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let mut crowd = crowd(port, true);
        crowd.resize(1);
        let tally = until(&mut crowd, 1);
        assert!(tally.reason.is_some_and(|reason| reason.contains("cannot connect")));
    }
}
