//! Connections in memory, with contexts as the three kinds of serving threads have them.

use super::{http1, test_module};
use crate::context::{ConnectionsPerThread, Context};
use crate::module_list::Modules;
use crate::prepared;
use crate::server::Server;
use crate::site::builder::Builder;
use crate::site::custom_log::LogDraft;
use crate::site::host::LAST_MADE;
use crate::site::settings::core::Signature;
use crate::transport::memory::{MemoryStream, pair};
use config::{DirectiveIndex, Guards};
use runtime::Thread;
use runtime::blocking::Blocking;
use scoreboard::{OTHER_ACCOUNT, Scoreboard};
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// The kinds of serving threads: how they carry connections, and how many slots each has.
pub(super) const THREADS: [(&str, ConnectionsPerThread, usize); 3] = [
    ("the only thread of a process", ConnectionsPerThread::One, 1),
    ("one of its threads", ConnectionsPerThread::One, 1),
    ("a thread of many connections", ConnectionsPerThread::Many, 8),
];

/// The only module of these sites.
static MODULES: Modules = Modules {
    all: &[&test_module::MODULE],
    shown: &[],
    guards: Guards { rows: &[], line_advice: "", section_advice: "" },
};

/// Where the client of a test seems to be.
pub(super) const PEER: &str = "192.0.2.7:4711";

/// A folder with a configuration of its own, removed at the end.
pub(super) struct Site {
    folder: PathBuf,
    document_root: PathBuf,
    /// Of the lines in its log.
    pub(super) format: &'static str,
    /// `ServerSignature`
    pub(super) signature: Signature,
}

impl Site {
    /// A site with a page of six bytes, a larger file, a handler that echoes, and a log.
    pub(super) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("trivet-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("files")).unwrap();
        fs::write(folder.join("files/page.html"), "a page").unwrap();
        fs::write(folder.join("files/large.txt"), [b'x'; 100_000]).unwrap();
        let format = "%a %m %U%q %>s %B %{Content-Length}o";
        let (document_root, signature) = (folder.join("files"), Signature::Off);
        Self { document_root, folder, format, signature }
    }

    /// The same with the sources of this folder: what has been changed just now is shared with
    /// nobody, and these have not.
    fn of_sources(name: &str) -> Self {
        let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/src/connection");
        let mut site = Self::new(name);
        site.document_root = sources.into();
        site
    }

    /// What the connections of a thread share.
    pub(super) fn context(&self, carries: ConnectionsPerThread, slots: usize) -> Rc<Context> {
        let mut builder = Builder::default();
        builder.server.listen.push("127.0.0.1:8080".parse().unwrap());
        builder.server.root = self.folder.clone();
        builder.settings().core.signature = Some(self.signature);
        let host = builder.host();
        host.document_root = Some(self.document_root.clone());
        host.error_log = Some(self.folder.join("error.log"));
        host.timing.timeout_ms = Some(1000);
        host.logs.push(LogDraft {
            path: self.folder.join("access.log"),
            format: Some(self.format.to_owned()),
            condition: None,
            is_global: false,
        });
        let index = DirectiveIndex::new(&[], &[]);
        let server = Server::open(&builder, Arc::new(index), &MODULES).unwrap();
        let board = Arc::new(Scoreboard::create(1, slots, 0).unwrap());
        Context::new(Arc::new(server), board, 0, 0..slots, carries).unwrap()
    }

    /// What the access log has now.
    pub(super) fn peek(&self) -> String {
        fs::read_to_string(self.folder.join("access.log")).unwrap()
    }

    /// The lines of the access log since it was asked last.
    pub(super) fn log(&self) -> Vec<String> {
        let text = self.peek();
        fs::write(self.folder.join("access.log"), "").unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The executor that such a thread has.
pub(super) fn thread(context: &Context) -> Thread {
    let blocking = match context.carries_one() {
        true => Blocking::Inline,
        false => Blocking::Pool { threads: 1 },
    };
    Thread::new(blocking).unwrap()
}

/// What comes back on a connection of HTTP/1 that was sent `input` and no more.
fn answered(context: &Rc<Context>, input: &[u8]) -> String {
    thread(context).block_on(async {
        let (near, mut far): (_, MemoryStream) = pair(16 * 1024);
        let peer: SocketAddr = PEER.parse().unwrap();
        drop(runtime::thread::spawn(http1::serve(context.clone(), near, peer)));
        assert_eq!(far.try_send(input).unwrap(), input.len());
        far.shutdown_write();
        String::from_utf8(far.read_to_end().await).unwrap()
    })
}

#[test]
fn a_transport_without_descriptor_is_served_as_a_socket_is() {
    let site = Site::new("memory");
    for (kind, carries, slots) in THREADS {
        let context = site.context(carries, slots);
        for _ in 0..3 {
            let text = answered(&context, b"GET /page.html HTTP/1.1\r\nHost: localhost\r\n\r\n");
            assert!(text.starts_with("HTTP/1.1 200 OK\r\nDate: "), "{kind}: {text}");
            assert!(text.ends_with("\r\n\r\na page"), "{kind}: {text}");
        }
        let input = b"GET /large.txt HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let lengths =
            [(); 3].map(|()| answered(&context, input).split("\r\n\r\n").nth(1).unwrap().len());
        assert_eq!(lengths, [100_000; 3], "{kind}: no sendfile is needed");
        let page = "192.0.2.7 GET /page.html 200 6 6";
        let large = "192.0.2.7 GET /large.txt 200 100000 100000";
        assert_eq!(site.log(), [page, page, page, large, large, large], "{kind}");
    }
}

#[test]
fn a_prepared_response_goes_to_a_transport_without_descriptor() {
    let mut site = Site::of_sources("memory-fast");
    site.format = "%U %>s";
    for (kind, carries, slots) in THREADS {
        let context = site.context(carries, slots);
        for nth in 1..=3 {
            let text = answered(&context, b"GET /unread.rs HTTP/1.1\r\nHost: localhost\r\n\r\n");
            let (head, content) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("HTTP/1.1 200 OK\r\nDate: "), "{kind}: {head}");
            assert_eq!(content, include_str!("unread.rs"), "{kind}");
            // Only the fast path notes where requests for a prepared response are counted.
            let prepared = prepared::current(&context, context.host(0), b"/unread.rs", LAST_MADE);
            let was_fast = prepared.is_some_and(|it| it.account.get().row != OTHER_ACCOUNT);
            assert_eq!(was_fast, nth > 1, "{kind}: {nth}");
        }
        assert_eq!(site.log(), ["/unread.rs 200"; 3], "{kind}");
    }
}

#[test]
fn a_handler_takes_the_stream_over() {
    let site = Site::new("upgrade");
    for (kind, carries, slots) in THREADS {
        let context = site.context(carries, slots);
        let input = b"GET /diagnostic?upgrade HTTP/1.1\r\nHost: localhost\r\n\r\nGET is no request";
        let text = answered(&context, input);
        let (head, rest) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 101 Switching Protocols\r\n"), "{kind}: {head}");
        assert!(head.ends_with("Upgrade: echo\r\nConnection: Upgrade"), "{kind}: {head}");
        assert_eq!(rest, "GET is no request", "{kind}");
        assert_eq!(site.log(), ["192.0.2.7 GET /diagnostic?upgrade 101 17 -"], "{kind}");
    }
}

#[test]
fn a_stream_is_taken_over_only_where_the_client_expects_it() {
    let site = Site::new("no-upgrade");
    for (kind, carries, slots) in THREADS {
        let context = site.context(carries, slots);
        let old = b"GET /diagnostic?upgrade HTTP/1.0\r\nHost: localhost\r\n\r\nGET is no request";
        let text = answered(&context, old);
        assert!(text.starts_with("HTTP/1.1 500 Internal Server Error\r\n"), "{kind}: {text}");
        assert!(!text.contains("GET is no request") && !text.contains("Upgrade"), "{kind}: {text}");
        assert_eq!(site.log()[0].split(' ').nth(3), Some("500"), "{kind}");
    }
}

#[test]
fn the_body_of_a_request_is_read_before_its_stream_is_taken_over() {
    let site = Site::new("upgrade-body");
    for (kind, carries, slots) in THREADS {
        let context = site.context(carries, slots);
        let head = "POST /diagnostic?upgrade HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4";
        let text = answered(&context, format!("{head}\r\n\r\nbodyrest").as_bytes());
        assert!(text.starts_with("HTTP/1.1 101 Switching Protocols\r\n"), "{kind}: {text}");
        assert!(text.ends_with("\r\n\r\nrest"), "{kind}: {text}");
    }
}

#[test]
fn what_a_module_asks_of_the_client_decides_about_no_other_request() {
    let site = Site::of_sources("asks");
    for (kind, carries, slots) in THREADS {
        let context = site.context(carries, slots);
        let said = |asked: &str| {
            let input = format!("{asked}\r\nHost: localhost\r\n\r\n");
            let text = answered(&context, input.as_bytes());
            let line = text.lines().find_map(|line| line.strip_prefix("X-Said: "));
            line.unwrap_or_else(|| panic!("{kind}: {text}")).to_owned()
        };
        let is_shared = |path: &str| {
            prepared::current(&context, context.host(0), path.as_bytes(), LAST_MADE).is_some()
        };
        for [asked, expected] in [
            ["GET /mod.rs?a HTTP/1.1", "Some(Get)"],
            ["HEAD /mod.rs?b HTTP/1.1", "Some(Get)"],
            ["GET /tests.rs?a HTTP/1.1", "a"],
            ["GET /tests.rs?b HTTP/1.1", "b"],
            ["GET /toy_tests.rs HTTP/1.1", "Some(Get)"],
            ["HEAD /toy_tests.rs HTTP/1.1", "Some(Head)"],
            ["GET /http1/mod.rs HTTP/1.1\r\nX-Ask: a", "a"],
            ["GET /http1/mod.rs HTTP/1.1\r\nX-Ask: b", "b"],
        ] {
            // What is shared is kept at the second time and given to the third.
            assert_eq!([(); 3].map(|()| said(asked)), [expected; 3], "{kind}: {asked}");
        }
        assert!(is_shared("/mod.rs"), "{kind}: nothing was asked that is another's");
        assert!(is_shared("/toy_tests.rs"), "{kind}: those with the same method get the same");
        assert!(!["/tests.rs", "/http1/mod.rs"].into_iter().any(is_shared), "{kind}");
    }
}
