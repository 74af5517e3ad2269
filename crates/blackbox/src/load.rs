//! Load with checked answers, for tests that do something to a server meanwhile: some clients keep
//! their connections, the others open one for each request. Nothing is forgiven and nothing asked
//! twice: an answer that is wrong, cut short or missing is a loss.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crate::client::Client;
use crate::wait::{SetAtEnd, wait_for};

/// Requests of a client that keeps its connection, before it opens another.
const KEPT_REQUESTS: usize = 25;

/// How often a test repeats what it does `few` times in `make test`: `TRIVET_ROUNDS` multiplies it.
pub fn rounds(few: usize) -> usize {
    let factor = std::env::var("TRIVET_ROUNDS").ok();
    few * factor.map_or(1, |text| text.parse::<usize>().expect("TRIVET_ROUNDS is a number"))
}

/// A request that was not answered as it should have been.
#[derive(Clone, Debug)]
pub struct Loss {
    /// When it was noticed.
    pub at: Instant,
    /// What happened.
    pub what: String,
}

/// What became of the requests so far.
#[derive(Debug, Default)]
pub struct Tally {
    served: AtomicUsize,
    lost: Mutex<Vec<Loss>>,
}

impl Tally {
    /// Requests with the right answer.
    pub fn served(&self) -> usize {
        self.served.load(Ordering::Relaxed)
    }

    /// The others.
    pub fn lost(&self) -> Vec<Loss> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until so many more requests have been served.
    pub fn wait_more(&self, count: usize) {
        let before = self.served();
        wait_for("more requests to be served", 15, || self.served() >= before + count);
    }

    /// Asserts that nothing was lost, and that there was something to lose.
    pub fn assert_nothing_lost(&self, at_least: usize) {
        let lost = self.lost();
        assert!(lost.is_empty(), "{} lost of {}: {lost:#?}", lost.len(), self.served());
        assert!(self.served() >= at_least, "only {} requests were served", self.served());
    }

    fn lose(&self, what: String) {
        let loss = Loss { at: Instant::now(), what };
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).push(loss);
    }
}

/// Has `clients` clients ask for `files`, targets with their contents, while `act` runs.
pub fn under_load<R>(
    address: SocketAddr,
    files: &[(&str, &[u8])],
    clients: usize,
    act: impl FnOnce(&Tally) -> R,
) -> (R, Tally) {
    let (tally, stop) = (Tally::default(), AtomicBool::new(false));
    let result = thread::scope(|scope| {
        let _end = SetAtEnd(&stop);
        for number in 0..clients {
            let (tally, stop) = (&tally, &stop);
            let requests = if number % 2 == 0 { KEPT_REQUESTS } else { 1 };
            scope.spawn(move || ask(address, files, requests, tally, stop));
        }
        act(&tally)
    });
    (result, tally)
}

/// Connections with `requests` requests each, one after the other.
fn ask(
    address: SocketAddr,
    files: &[(&str, &[u8])],
    requests: usize,
    tally: &Tally,
    stop: &AtomicBool,
) {
    while !stop.load(Ordering::Relaxed) {
        let mut client = match Client::try_connect(address) {
            Ok(client) => client,
            Err(error) => {
                tally.lose(format!("connect: {error}"));
                continue;
            }
        };
        for (number, (target, content)) in files.iter().cycle().take(requests).enumerate() {
            let option = if number + 1 == requests { "Connection: close\r\n" } else { "" };
            client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n{option}\r\n"));
            match client.try_response(false) {
                Ok(response) if response.status == 200 && response.body == *content => {
                    tally.served.fetch_add(1, Ordering::Relaxed);
                    if response.says_close() {
                        break;
                    }
                }
                Ok(response) => {
                    let length = response.body.len();
                    tally.lose(format!("{target}: {} with {length} bytes", response.status));
                    break;
                }
                Err(failure) => {
                    tally.lose(format!("request {number} of {requests}, {target}: {failure}"));
                    break;
                }
            }
        }
    }
}
