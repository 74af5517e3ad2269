//! What all connections of one serving thread share: the site, caches, clocks and counters.

use crate::access_log;
use crate::cache::Cache;
use crate::failure::Failure;
use crate::log::level::Level;
use crate::log::sink::local_time;
use crate::modules::log_config::TimeCache;
use crate::representation::http_date;
use crate::request::Request;
use crate::server::Server;
use crate::site::{Host, Site, locate::Merged};
use crate::slots::Slots;
use http1::HeadParser;
use runtime::{clock, process};
use scoreboard::{Board, ProcessRow};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

/// Bytes taken from a socket in one read. Larger heads are put together from several.
const READ_BYTES: usize = 16 * 1024;

/// Descriptors kept free for files, logs and the executor, so that a connection that was accepted
/// can also be served.
const SPARE_DESCRIPTORS: u64 = 64;

/// The state of one serving thread.
pub struct Context {
    server: Arc<Server>,
    board: Arc<Board>,
    process: usize,
    pub(crate) slots: Rc<Slots>,
    pub(crate) cache: RefCell<Cache>,
    pub(crate) merged: Merged,
    pub(crate) scratch: RefCell<Scratch>,
    pub(crate) access: RefCell<access_log::Writer>,
    date: RefCell<(i64, String)>,
    draining: Cell<bool>,
    connections: Cell<u32>,
    connections_max: u32,
    accept_complained_s: Cell<i64>,
}

/// Buffers that are only used between two waits, and therefore once per thread.
pub(crate) struct Scratch {
    pub(crate) input: Vec<u8>,
    pub(crate) output: Vec<u8>,
    pub(crate) parser: HeadParser,
}

impl Context {
    /// The context of a thread that owns the request slots `rows` of process `process`.
    ///
    /// # Errors
    /// When the scoreboard has no such process.
    pub fn new(
        server: Arc<Server>,
        board: Arc<Board>,
        process: usize,
        rows: Range<usize>,
    ) -> io::Result<Rc<Self>> {
        if board.process(process).is_none() {
            return Err(io::Error::other("no such process on the scoreboard"));
        }
        let pid = process::id().cast_unsigned();
        let slots = Rc::new(Slots::new(board.clone(), process, rows, pid));
        // Threads of a process share its descriptors as they share its request slots.
        let share = slots.total().max(1);
        let whole = u32::try_from(board.rows_per_process()).unwrap_or(u32::MAX).max(1);
        let spare = process::raise_descriptor_limit().saturating_sub(SPARE_DESCRIPTORS);
        let descriptors = spare.saturating_mul(u64::from(share)) / u64::from(whole);
        let for_connections = descriptors - descriptors / crate::cache::DESCRIPTOR_SHARE;
        let connections_max = u32::try_from(for_connections.max(1)).unwrap_or(u32::MAX);
        Ok(Rc::new(Self {
            access: RefCell::new(access_log::Writer::new(TimeCache::new(local_time))),
            cache: RefCell::new(Cache::new(descriptors)),
            merged: Merged::default(),
            scratch: RefCell::new(Scratch {
                input: vec![0; READ_BYTES],
                output: Vec::new(),
                parser: HeadParser::new(),
            }),
            date: RefCell::new((0, String::new())),
            draining: Cell::new(false),
            connections: Cell::new(0),
            connections_max,
            accept_complained_s: Cell::new(0),
            server,
            board,
            process,
            slots,
        }))
    }

    pub(crate) fn site(&self) -> &Site {
        &self.server.site
    }

    pub(crate) fn host(&self) -> &Host {
        &self.server.site.host
    }

    /// The server itself, for work that is done on another thread.
    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    pub(crate) fn board(&self) -> &Board {
        &self.board
    }

    /// The scoreboard row of this process.
    pub(crate) fn process_row(&self) -> Option<&ProcessRow> {
        self.board.process(self.process)
    }

    /// Now, in whole seconds since 1970.
    pub(crate) fn now_s(&self) -> i64 {
        clock::unix_s()
    }

    /// The value of `Date`, made once a second.
    pub(crate) fn with_date<T>(&self, now_s: i64, use_it: impl FnOnce(&str) -> T) -> T {
        let mut date = self.date.borrow_mut();
        if date.0 != now_s {
            *date = (now_s, http_date(now_s));
        }
        use_it(&date.1)
    }

    /// The process is to end: responses say so from now on.
    pub fn start_draining(&self) {
        self.draining.set(true);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get()
    }

    /// Connections of this thread now.
    pub fn connections(&self) -> u32 {
        self.connections.get()
    }

    /// Wait until another connection may be accepted.
    pub async fn room_for_connection(&self) {
        poll_fn(|context| {
            if self.connections.get() < self.connection_limit() {
                return Poll::Ready(());
            }
            self.slots.watch(context.waker());
            Poll::Pending
        })
        .await;
    }

    /// Descriptors bound connections; a number for AsyncRequestWorkerFactor bounds them as in
    /// httpd (event.c): request slots plus factor times the free ones.
    fn connection_limit(&self) -> u32 {
        let Some(factor) = self.server.mpm().async_request_worker_factor else {
            return self.connections_max;
        };
        let rows = self.slots.total();
        let free = u32::try_from(self.slots.free()).unwrap_or(u32::MAX);
        let extra = (f64::from(free) * factor).min(f64::from(u32::MAX / 2));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bounded above"
        )]
        let limit = rows.saturating_add(extra as u32);
        limit.clamp(1, self.connections_max)
    }

    pub(crate) fn connection_opened(&self) {
        self.connections.set(self.connections.get() + 1);
        if let Some(row) = self.process_row() {
            row.connection_opened();
        }
    }

    pub(crate) fn connection_closed(&self) {
        self.connections.set(self.connections.get().saturating_sub(1));
        if let Some(row) = self.process_row() {
            row.connection_closed();
        }
        self.slots.wake_watchers();
    }

    /// `accept` failed for want of descriptors or memory: say so, at most once a second.
    pub fn accept_failed(&self, error: &io::Error) {
        let now_s = self.now_s();
        if self.accept_complained_s.replace(now_s) != now_s {
            let text = format!("accept: {error}; connections wait in the listen queue");
            self.server.log(Level::Error, "core", Some(2014), None, text.as_bytes());
        }
    }

    /// Log why a request failed.
    pub(crate) fn log_failure(&self, failure: &Failure, client: SocketAddr) {
        let text = failure.text.as_bytes();
        self.server.log(failure.level, failure.module, failure.id, Some(client), text);
    }

    /// Log something about a connection.
    pub(crate) fn log(&self, level: Level, id: Option<u32>, client: SocketAddr, text: &str) {
        self.server.log(level, "core", id, Some(client), text.as_bytes());
    }

    /// Log something that concerns no client.
    pub(crate) fn log_line(&self, level: Level, module: &str, text: &str) {
        self.server.log(level, module, None, None, text.as_bytes());
    }

    /// `http://host` for absolute URLs, from what the client sent (UseCanonicalName Off).
    pub(crate) fn base_url(&self, request: &Request) -> Vec<u8> {
        let mut url = b"http://".to_vec();
        let host = request.framing().ok().and_then(|framing| framing.host);
        let local = request.local;
        match (host, &self.host().name) {
            (Some(host), _) => {
                url.extend_from_slice(host.name);
                if let Some(port) = host.port.filter(|port| *port != 80) {
                    url.extend_from_slice(format!(":{port}").as_bytes());
                }
            }
            (None, Some(name)) => {
                url.extend_from_slice(name.as_bytes());
                if !name.contains(':') && local.port() != 80 {
                    url.extend_from_slice(format!(":{}", local.port()).as_bytes());
                }
            }
            (None, None) => url.extend_from_slice(local.to_string().as_bytes()),
        }
        url
    }
}
