//! A connection against a server that sends, ends and renews its keys as a test wants it to.

use crate::{Agreed, Buffers, Connector, Secured, ServerName, TlsOptions, TlsRefused, TlsVersion};
use runtime::blocking::Blocking;
use runtime::{Dial, Thread};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};
use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// A certificate for localhost and its key, good for nothing but these tests.
const IDENTITY: &[u8] = include_bytes!("localhost.pem");

type Session<'a> = rustls::Stream<'a, ServerConnection, Crumbs>;

/// A socket that sends so many bytes at once at most.
struct Crumbs {
    socket: TcpStream,
    size: usize,
}

impl Read for Crumbs {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.read(buffer)
    }
}

impl Write for Crumbs {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(&bytes[..bytes.len().min(self.size)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A server for one connection, which sends pieces of at most `size` bytes.
fn serve(
    size: usize,
    serve: impl FnOnce(&mut Session<'_>) + Send + 'static,
) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let chain = vec![CertificateDer::from_pem_slice(IDENTITY).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(IDENTITY).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let mut config = builder.with_single_cert(chain, key).unwrap();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let server = std::thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut connection = ServerConnection::new(Arc::new(config)).unwrap();
        let mut socket = Crumbs { socket, size };
        serve(&mut rustls::Stream::new(&mut connection, &mut socket));
    });
    (address, server)
}

fn insecure() -> TlsOptions {
    TlsOptions { verifies: false, protocols: vec![b"http/1.1".to_vec()], ..TlsOptions::default() }
}

async fn connect(address: SocketAddr, options: &TlsOptions) -> io::Result<Secured> {
    let stream = runtime::dial::connect(address, &Dial::default()).await?;
    let name = ServerName::try_from("localhost").unwrap();
    Connector::new(options).unwrap().connect(stream, name, &Rc::new(Buffers::default())).await
}

/// Connects, lets `with` have the connection, and waits for the end of the server.
fn client<T>(
    (address, server): (SocketAddr, JoinHandle<()>),
    options: &TlsOptions,
    with: impl AsyncFnOnce(Secured) -> T,
) -> T {
    let executor = Thread::new(Blocking::Inline).unwrap();
    let came = executor.block_on(async { with(connect(address, options).await.unwrap()).await });
    server.join().unwrap();
    came
}

/// Everything until the end, read in pieces of at most `size` bytes.
async fn read_all(secured: &mut Secured, size: usize) -> (Vec<u8>, io::Result<()>) {
    let (mut all, mut piece) = (Vec::new(), vec![0; size]);
    loop {
        match poll_fn(|context| secured.poll_read(context, &mut piece)).await {
            Ok(0) => return (all, Ok(())),
            Ok(count) => all.extend_from_slice(&piece[..count]),
            Err(error) => return (all, Err(error)),
        }
    }
}

async fn send_all(secured: &mut Secured, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = poll_fn(|context| secured.poll_send(context, bytes)).await?;
        bytes = &bytes[count..];
    }
    poll_fn(|context| secured.poll_flush(context)).await
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 % 251) as u8).collect()
}

fn read_exactly(session: &mut Session<'_>, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    session.read_exact(&mut bytes).unwrap();
    bytes
}

#[test]
fn bytes_come_whole_however_they_are_split() {
    for (crumb, piece) in [(1, 7), (1000, 1), (usize::MAX, 100_000), (40_000, 5)] {
        let length = if crumb == 1 { 20_000 } else { 200_000 };
        let served = serve(crumb, move |session| {
            session.write_all(&pattern(length)).unwrap();
            session.conn.send_close_notify();
            session.flush().unwrap();
        });
        let (came, end) =
            client(served, &insecure(), async |mut secured| read_all(&mut secured, piece).await);
        assert!(came == pattern(length), "{crumb} and {piece}: {} bytes", came.len());
        end.unwrap();
    }
}

#[test]
fn an_end_that_nobody_announced_is_an_error() {
    let served = serve(usize::MAX, |session| session.write_all(b"half an answ").unwrap());
    let (came, end) =
        client(served, &insecure(), async |mut secured| read_all(&mut secured, 1000).await);
    assert_eq!(came, b"half an answ");
    assert_eq!(end.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn what_is_sent_arrives_though_the_server_reads_late() {
    let length = 6_000_000;
    let served = serve(usize::MAX, move |session| {
        // The client cannot finish before this side reads: more is sent than sockets hold.
        assert_eq!(read_exactly(session, 5), b"begin");
        session.write_all(b"go on").unwrap();
        assert!(read_exactly(session, length) == pattern(length));
        session.write_all(b"thanks").unwrap();
        session.conn.send_close_notify();
        session.flush().unwrap();
    });
    let came = client(served, &insecure(), async move |mut secured| {
        send_all(&mut secured, b"begin").await.unwrap();
        let mut piece = [0; 5];
        poll_fn(|context| secured.poll_read(context, &mut piece)).await.unwrap();
        send_all(&mut secured, &pattern(length)).await.unwrap();
        read_all(&mut secured, 1000).await.0
    });
    assert_eq!(came, b"thanks");
}

#[test]
fn keys_are_renewed_when_the_server_wants_that() {
    let served = serve(usize::MAX, |session| {
        assert_eq!(read_exactly(session, 3), b"one");
        session.conn.refresh_traffic_keys().unwrap();
        session.write_all(b"renewed").unwrap();
        assert_eq!(read_exactly(session, 3), b"two");
        session.conn.send_close_notify();
        session.flush().unwrap();
    });
    let options = TlsOptions { versions: (TlsVersion::Tls13, TlsVersion::Tls13), ..insecure() };
    client(served, &options, async |mut secured| {
        send_all(&mut secured, b"one").await.unwrap();
        let mut piece = [0; 7];
        let count = poll_fn(|context| secured.poll_read(context, &mut piece)).await.unwrap();
        assert_eq!(&piece[..count], b"renewed");
        send_all(&mut secured, b"two").await.unwrap();
        read_all(&mut secured, 10).await.1.unwrap();
    });
}

#[test]
fn what_was_agreed_on_is_told_in_the_words_of_openssl() {
    let answer = |session: &mut Session<'_>| drop(read_exactly(session, 1));
    let agreed = |options: &TlsOptions| {
        client(serve(usize::MAX, answer), options, async |mut secured| {
            send_all(&mut secured, b"x").await.unwrap();
            secured.agreed()
        })
    };
    let expected = Agreed {
        version: "TLSv1.3",
        suite: "TLS_AES_256_GCM_SHA384",
        suite_bits: 256,
        key_bits: 256,
        temporary_key: "X25519 253 bits",
        protocol: Some(b"http/1.1".to_vec()),
    };
    assert_eq!(agreed(&insecure()), expected);
    let ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256".to_owned();
    let versions = (TlsVersion::Tls12, TlsVersion::Tls12);
    let older = agreed(&TlsOptions { ciphers, versions, protocols: Vec::new(), ..insecure() });
    assert_eq!(older.version, "TLSv1.2");
    assert_eq!((older.suite, older.suite_bits), ("ECDHE-ECDSA-AES128-GCM-SHA256", 128));
    assert_eq!(older.protocol, None);
}

/// What connecting to a server comes to that answers with these bytes, whatever it is told.
fn refusal(answer: &'static [u8]) -> io::Error {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let _ = socket.read(&mut [0; 4096]);
        socket.write_all(answer).unwrap();
        let _ = socket.shutdown(std::net::Shutdown::Write);
        let _ = socket.read_to_end(&mut Vec::new());
    });
    let executor = Thread::new(Blocking::Inline).unwrap();
    let error = executor.block_on(async { connect(address, &insecure()).await.err().unwrap() });
    server.join().unwrap();
    error
}

#[test]
fn what_is_no_tls_is_refused_with_a_reason() {
    let text = |answer| TlsRefused::of(&refusal(answer)).unwrap().text.clone();
    assert_eq!(text(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "what the server says is not TLS");
    // An alert: handshake_failure.
    let alert = b"\x15\x03\x03\x00\x02\x02\x28";
    assert_eq!(text(alert), "the server refuses: no common cipher suite or version");
    assert_eq!(refusal(b"").kind(), io::ErrorKind::UnexpectedEof);
    assert_eq!(refusal(b"\x16\x03\x03\x40").kind(), io::ErrorKind::UnexpectedEof);
}
