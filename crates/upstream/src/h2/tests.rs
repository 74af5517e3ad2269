//! Shares of connections against a server that refuses, resets, falls silent or goes away.

use super::{ConnectionShare, Connections, FoundShare, TranslatedRequests};
use crate::{Batch, ClientTransport, ErrorKind, Unprocessed, UpstreamError};
use bytes::Bytes;
use h2::Reason;
use h2::server::{Connection, SendResponse};
use http::Response;
use http1::AskedMethod;
use runtime::blocking::Blocking;
use runtime::net::{self, Queueing};
use runtime::{Dial, Listener, Stream, Thread, Timer, clock, thread};
use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;

/// What the server does with each request: its number, and the way to answer.
type Serve = fn(u32, SendResponse<Bytes>);

/// A server of HTTP/2 without TLS; counts its connections.
struct Server {
    address: SocketAddr,
    connections: Rc<Cell<u32>>,
}

impl Server {
    fn start(serve: Serve) -> Self {
        let queueing = Queueing { backlog: 16, ..Queueing::default() };
        let listener = net::bind("127.0.0.1:0".parse().unwrap(), queueing).unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Rc::new(Cell::new(0));
        let counted = connections.clone();
        thread::spawn(async move {
            let (listener, mut number) = (Listener::watch(listener).unwrap(), 0);
            while let Ok((stream, _)) = listener.accept().await {
                counted.set(counted.get() + 1);
                let connection = h2::server::handshake(stream).await.unwrap();
                number += 100;
                thread::spawn(answer(connection, serve, number));
            }
        });
        Self { address, connections }
    }

    async fn connect(&self) -> Result<ClientTransport, UpstreamError> {
        let stream = runtime::dial::connect(self.address, &Dial::default()).await;
        stream.map(ClientTransport::Plain).map_err(|error| UpstreamError::of_connect(&error))
    }

    async fn join(&self, connections: &Connections, streams: u32) -> ConnectionShare {
        match connections.join(0, streams, async || self.connect().await).await {
            Ok(FoundShare::Share(share, _)) => share,
            _ => panic!("there is a server of HTTP/2"),
        }
    }
}

async fn answer(mut connection: Connection<Stream, Bytes>, serve: Serve, mut number: u32) {
    while let Some(Ok((_, respond))) = connection.accept().await {
        number += 1;
        serve(number, respond);
    }
}

fn fine(mut respond: SendResponse<Bytes>) {
    let mut stream = respond.send_response(Response::new(()), false).unwrap();
    stream.send_data(Bytes::from_static(b"fine"), true).unwrap();
}

/// What a request came to: status and length, or why not.
async fn ask(
    share: &mut ConnectionShare,
    timeout_ms: u64,
) -> Result<(u16, u64), (ErrorKind, Unprocessed, bool)> {
    let bytes = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    let batch = Batch { bytes, count: 1, template: 0, asked: AskedMethod::Other };
    let mut timer = Timer::new();
    timer.set(clock::monotonic_ms(), timeout_ms);
    let translated = TranslatedRequests::default();
    let result = share.exchange(&batch, &translated, &mut timer, None).await;
    let (answer, sent_bytes) =
        result.map_err(|broken| (broken.kind, broken.unprocessed, broken.keeps_connection))?;
    assert!(sent_bytes > 0 && answer.received_bytes > answer.body_bytes, "{answer:?}");
    assert!(answer.first_byte_ns > 0 && answer.end_ns >= answer.first_byte_ns, "{answer:?}");
    Ok((answer.status, answer.body_bytes))
}

fn run(test: impl AsyncFnOnce()) {
    Thread::new(Blocking::Inline).unwrap().block_on(async { test().await });
}

/// Longer than any of this takes.
const PATIENT_MS: u64 = 20_000;

#[test]
fn users_share_connections_as_they_were_told() {
    run(async || {
        let server = Server::start(|_, respond| fine(respond));
        let connections = Connections::default();
        let mut users = Vec::new();
        for expected in [1, 1, 1, 2] {
            users.push(server.join(&connections, 3).await);
            assert_eq!(ask(users.last_mut().unwrap(), PATIENT_MS).await, Ok((200, 4)));
            assert_eq!(server.connections.get(), expected);
        }
        // A place that is given back is taken again; a connection without users is closed.
        users.remove(0);
        users.pop();
        users.push(server.join(&connections, 3).await);
        assert_eq!(ask(&mut users[2], PATIENT_MS).await, Ok((200, 4)));
        assert_eq!(server.connections.get(), 2);
        users.push(server.join(&connections, 3).await);
        assert_eq!(ask(&mut users[3], PATIENT_MS).await, Ok((200, 4)));
        assert_eq!(server.connections.get(), 3);
    });
}

#[test]
fn who_waits_for_a_connection_makes_it_when_the_maker_gives_up() {
    run(async || {
        let server = Rc::new(Server::start(|_, respond| fine(respond)));
        let connections = Rc::new(Connections::default());
        let made = connections.clone();
        let maker = thread::spawn(async move {
            let never =
                async || std::future::pending::<Result<ClientTransport, UpstreamError>>().await;
            let _ = made.join(0, 2, never).await;
        });
        thread::yield_now().await;
        let waits = Rc::new(Cell::new(true));
        let (flag, waiting, second) = (waits.clone(), connections.clone(), server.clone());
        thread::spawn(async move {
            let mut share = second.join(&waiting, 2).await;
            assert_eq!(ask(&mut share, PATIENT_MS).await, Ok((200, 4)));
            flag.set(false);
        });
        thread::yield_now().await;
        assert!(waits.get() && server.connections.get() == 0);
        maker.cancel();
        while waits.get() {
            thread::yield_now().await;
        }
        assert_eq!(server.connections.get(), 1);
    });
}

#[test]
fn streams_that_are_refused_or_reset_leave_the_connection() {
    run(async || {
        let server = Server::start(|number, mut respond| match number {
            101 => respond.send_reset(Reason::REFUSED_STREAM),
            102 => respond.send_reset(Reason::INTERNAL_ERROR),
            _ => fine(respond),
        });
        let mut share = server.join(&Connections::default(), 1).await;
        let refused = Err((ErrorKind::Reset, Unprocessed::Surely, true));
        assert_eq!(ask(&mut share, PATIENT_MS).await, refused);
        assert_eq!(
            ask(&mut share, PATIENT_MS).await,
            Err((ErrorKind::Reset, Unprocessed::No, true))
        );
        assert_eq!(ask(&mut share, PATIENT_MS).await, Ok((200, 4)));
    });
}

thread_local! {
    /// Keeps answers open that are never given.
    static HELD: Cell<Vec<SendResponse<Bytes>>> = const { Cell::new(Vec::new()) };
}

fn hold(respond: SendResponse<Bytes>) {
    let mut held = HELD.take();
    held.push(respond);
    HELD.set(held);
}

/// Answers all requests but the second.
fn all_but_the_second(number: u32, respond: SendResponse<Bytes>) {
    if number == 102 { hold(respond) } else { fine(respond) }
}

#[test]
fn a_connection_on_which_nothing_comes_any_more_is_given_up() {
    run(async || {
        let server = Server::start(all_but_the_second);
        let connections = Connections::default();
        let mut share = server.join(&connections, 1).await;
        assert_eq!(ask(&mut share, PATIENT_MS).await, Ok((200, 4)));
        assert_eq!(ask(&mut share, 50).await, Err((ErrorKind::Timeout, Unprocessed::No, false)));
        assert!(!share.is_open());
        let mut other = server.join(&connections, 1).await;
        assert_eq!(ask(&mut other, PATIENT_MS).await, Ok((200, 4)));
        assert_eq!(server.connections.get(), 2);
        HELD.take();
    });
}

#[test]
fn one_slow_answer_is_no_reason_to_give_a_connection_up() {
    run(async || {
        let server = Server::start(all_but_the_second);
        let connections = Connections::default();
        let mut slow = server.join(&connections, 2).await;
        let mut other = server.join(&connections, 2).await;
        assert_eq!(ask(&mut slow, PATIENT_MS).await, Ok((200, 4)));
        let ended = Rc::new(Cell::new(None));
        let flag = ended.clone();
        thread::spawn(async move {
            let result = ask(&mut slow, 50).await;
            flag.set(Some((result, slow.is_open())));
        });
        thread::yield_now().await;
        let result = loop {
            assert_eq!(ask(&mut other, PATIENT_MS).await, Ok((200, 4)));
            if let Some(result) = ended.take() {
                break result;
            }
        };
        assert_eq!(result, (Err((ErrorKind::Timeout, Unprocessed::No, true)), true));
        assert_eq!(server.connections.get(), 1);
        HELD.take();
    });
}
