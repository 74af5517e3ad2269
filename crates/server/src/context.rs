//! What all connections of one serving thread share: the site, caches, clocks and counters.

mod accounts;
mod log;

use crate::access_log;
use crate::accounting::Meter;
use crate::answers::AnswerCache;
use crate::cache::{self, ResponseCache};
use crate::cached_script::ScriptCache;
use crate::descriptors::Descriptors;
use crate::going_on::GoingOn;
use crate::htaccess_cache::HtaccessCache;
use crate::http_date::http_date;
use crate::seen_watch::SeenWatch;
use crate::server::Server;
use crate::site::Site;
use crate::site::host::Host;
use crate::site::locate::Merged;
use crate::slots::Slots;
use crate::steps::StepList;
use crate::thread_state::ThreadState;
use http1::HeadParser;
use logging::access::TimeCache;
use logging::level::Level;
use logging::sink::local_time;
use runtime::backend::Address;
use runtime::descriptors::HeldDescriptors;
use runtime::{clock, process};
use scoreboard::{Pressure, ProcessRow, RowState, Scoreboard, Writers};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use upstream::fastcgi::{Pool, PoolWatch};

/// Bytes taken from a socket in one read. Larger heads are put together from several.
pub(crate) const READ_BYTES: usize = 16 * 1024;

/// The same of a thread that carries one connection, until a longer head or body comes: there are
/// hundreds of these threads.
const READ_BYTES_OF_ONE: usize = 1024;

/// How long accepting waits until descriptors are looked at again: those that are held for files
/// become free on any thread of the process, and nobody is told.
const DESCRIPTOR_REST: Duration = Duration::from_millis(20);

/// How long accepting waits until the parent is asked again whether memory is short.
const MEMORY_REST: Duration = Duration::from_millis(50);

/// Connections that a thread carries even then.
const CONNECTIONS_IN_NEED: u32 = 16;

/// Descriptors that the one connection of a thread may need beside files that are kept.
const DESCRIPTORS_OF_ONE: u64 = 9;

/// How many connections a thread carries at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionsPerThread {
    /// One, from its beginning to its end: it occupies the thread's request slot all the time.
    One,
    /// Many: they occupy request slots only while requests are answered.
    Many,
}

/// The state of one serving thread.
pub struct Context {
    pub(crate) server: Arc<Server>,
    board: Arc<Scoreboard>,
    process: usize,
    /// The row that shows what the one connection does.
    only_row: Option<usize>,
    pub(crate) slots: Rc<Slots>,
    pub(crate) meter: Meter,
    pub(crate) cache: RefCell<ResponseCache>,
    pub(crate) merged: Merged,
    pub(crate) htaccess: HtaccessCache,
    seen_watch: SeenWatch,
    pub(crate) known: AnswerCache,
    /// What modules keep on this thread.
    pub modules: ThreadState,
    pub(crate) scratch: RefCell<ThreadBuffers>,
    /// Where keys of the cache are put together.
    pub(crate) key: RefCell<Vec<u8>>,
    pub(crate) access: RefCell<access_log::Writer>,
    pools: PoolWatch,
    /// What look-ups of scripts have come to.
    pub(crate) script_cache: RefCell<ScriptCache>,
    going_on: GoingOn,
    date: RefCell<(i64, String)>,
    draining: Cell<bool>,
    connections: Cell<u32>,
    connections_max: u32,
    descriptors: Descriptors,
    accept_complained_s: Cell<i64>,
    /// What is decided about a request that somebody has explained.
    pub(crate) steps: Option<StepList>,
}

/// Buffers that are only used between two waits, and therefore once per thread.
pub(crate) struct ThreadBuffers {
    pub(crate) input: Vec<u8>,
    pub(crate) output: Vec<u8>,
    pub(crate) parser: HeadParser,
}

/// What a thread with `share` of its process's slots may keep. A cgroup may leave less memory than
/// the machine has; the parent has looked.
fn cache_bounds(
    board: &Scoreboard,
    carries: ConnectionsPerThread,
    share: usize,
) -> cache::CacheBounds {
    let memory_bytes = match board.sizing().total_bytes {
        0 => process::memory_bytes(),
        bytes => bytes,
    };
    // Half of the board is for children that finish.
    let rows = board.processes().div_ceil(2) * board.rows_per_process();
    match carries {
        ConnectionsPerThread::One => cache::of_one(memory_bytes, rows),
        ConnectionsPerThread::Many => cache::of_many(memory_bytes, rows / share),
    }
}

impl Context {
    /// The context of a thread that owns the request slots `rows` of process `process`: one that
    /// carries one connection has one of them.
    ///
    /// # Errors
    /// When the scoreboard has no such process.
    pub fn new(
        server: Arc<Server>,
        board: Arc<Scoreboard>,
        process: usize,
        rows: Range<usize>,
        carries: ConnectionsPerThread,
    ) -> io::Result<Rc<Self>> {
        if board.process(process).is_none() {
            return Err(io::Error::other("the scoreboard has no row for this process"));
        }
        let pid = process::id().cast_unsigned();
        let only_row = (carries == ConnectionsPerThread::One).then_some(rows.start);
        // The one connection occupies its row until it ends.
        let after = if only_row.is_some() { RowState::Writing } else { RowState::Ready };
        let sees_tail = server.site.sees_request_tail;
        let slots = Rc::new(Slots::new(board.clone(), process, rows, pid, (after, sees_tail)));
        let writers = match slots.total() as usize == board.rows_per_process() {
            true => Writers::One,
            false => Writers::Several,
        };
        let site = &server.site;
        let meter = Meter::new(site.extended_status, site.logs_times, writers);
        // Threads of a process share its descriptors as they share its request slots.
        let share = slots.total().max(1);
        let whole = u32::try_from(board.rows_per_process()).unwrap_or(u32::MAX).max(1);
        let descriptors = server.descriptors();
        let of_thread = |all: u64| all.saturating_mul(u64::from(share)) / u64::from(whole);
        let connections_max = of_thread(descriptors.connections).max(1);
        let connections_max = u32::try_from(connections_max).unwrap_or(u32::MAX);
        let files = match carries {
            ConnectionsPerThread::One => {
                of_thread(descriptors.all).saturating_sub(DESCRIPTORS_OF_ONE)
            }
            ConnectionsPerThread::Many => of_thread(descriptors.all - descriptors.connections),
        };
        let bounds = cache_bounds(&board, carries, share as usize);
        Ok(Rc::new(Self {
            access: RefCell::new(access_log::Writer::new(TimeCache::new(local_time))),
            cache: RefCell::new(ResponseCache::new(bounds, files)),
            merged: Merged::default(),
            htaccess: HtaccessCache::default(),
            seen_watch: SeenWatch::new(server.folder_watch.clone(), board.clone()),
            known: AnswerCache::default(),
            modules: ThreadState::default(),
            scratch: RefCell::new(ThreadBuffers {
                input: vec![0; if only_row.is_some() { READ_BYTES_OF_ONE } else { READ_BYTES }],
                output: Vec::new(),
                parser: HeadParser::new(),
            }),
            key: RefCell::default(),
            pools: PoolWatch::new(server.pools.clone(), server.held.clone()),
            script_cache: RefCell::default(),
            going_on: GoingOn::default(),
            date: RefCell::new((0, http_date(0))),
            draining: Cell::new(false),
            connections: Cell::new(0),
            connections_max,
            descriptors,
            accept_complained_s: Cell::new(0),
            steps: None,
            server,
            board,
            process,
            only_row,
            slots,
            meter,
        }))
    }

    /// What tells whether `.htaccess` files may have changed, and the second of the question.
    pub(crate) fn watch(&self) -> (&SeenWatch, i64) {
        (&self.seen_watch, self.now_s())
    }

    /// The site, for work on another thread.
    pub fn server(&self) -> Arc<Server> {
        self.server.clone()
    }

    /// What this process has to do with the application that listens there.
    pub fn pool(&self, address: &Address) -> Arc<Pool> {
        self.server.pools.of(address, &self.board, self.process)
    }

    /// This thread's part in looking after the connections to applications that are kept for the
    /// next request.
    pub fn pools(&self) -> &PoolWatch {
        &self.pools
    }

    /// How long a thread may sleep at most, outside of its executor, until it calls [`Self::look`].
    pub fn rest(&self) -> Option<Duration> {
        self.pools.rest().or_else(|| self.going_on.rest())
    }

    /// Whether tasks go on that need the executor, although no connection is served.
    pub fn goes_on(&self) -> bool {
        self.going_on.rest().is_some()
    }

    /// The tasks of this thread whose requests are over.
    pub fn going_on(&self) -> &GoingOn {
        &self.going_on
    }

    /// Look after what is kept for the next request.
    pub fn look(&self) {
        if self.pools.rest().is_some() {
            self.pools.look();
        }
    }

    pub(crate) fn site(&self) -> &Site {
        &self.server.site
    }

    /// A (virtual) host.
    pub(crate) fn host(&self, index: usize) -> &Host {
        &self.server.site.hosts[index]
    }

    /// The scoreboard.
    pub fn board(&self) -> &Scoreboard {
        &self.board
    }

    /// The scoreboard, and the number of this process on it.
    pub(crate) fn place_on_board(&self) -> (Arc<Scoreboard>, usize) {
        (self.board.clone(), self.process)
    }

    /// Processes that serve at the same time, at most: half of the board is for those that finish.
    pub fn processes_max(&self) -> usize {
        self.board.processes().div_ceil(2)
    }

    /// The scoreboard row of this process.
    pub(crate) fn process_row(&self) -> Option<&ProcessRow> {
        self.board.process(self.process)
    }

    /// Now, in whole seconds since 1970.
    pub fn now_s(&self) -> i64 {
        clock::unix_s()
    }

    /// The value of `Date`, made once a second.
    pub(crate) fn with_date<T>(&self, now_s: i64, use_it: impl FnOnce(&str) -> T) -> T {
        let mut date = self.date.borrow_mut();
        if std::mem::replace(&mut date.0, now_s) != now_s {
            date.1.clone_from(&http_date(now_s)); // in place: elsewhere it would hold a page
        }
        use_it(&date.1)
    }

    /// The process is to end: responses say so from now on.
    pub fn start_draining(&self) {
        self.draining.set(true);
    }

    pub(crate) fn is_draining(&self) -> bool {
        let is_told = || self.process_row().is_some_and(ProcessRow::is_told_to_drain);
        self.draining.get() || self.carries_one() && is_told()
    }

    /// Connections of this thread now.
    pub fn connections(&self) -> u32 {
        self.connections.get()
    }

    /// Whether this thread carries one connection, which may hold it up.
    pub fn carries_one(&self) -> bool {
        self.only_row.is_some()
    }

    /// Wait until another connection may be accepted.
    pub async fn room_for_connection(&self) {
        loop {
            // A connection that is not accepted waits in the kernel, and takes memory there only.
            // Some are: nobody knows whether memory will ever be there again.
            while self.board.pressure() == Pressure::Critical
                && self.connections.get() >= CONNECTIONS_IN_NEED
            {
                runtime::timer::sleep(MEMORY_REST).await;
            }
            poll_fn(|context| {
                if self.connections.get() < self.connection_limit() {
                    return Poll::Ready(());
                }
                self.slots.watch(context.waker());
                Poll::Pending
            })
            .await;
            let (connections, held) = self.in_use();
            if self.descriptors.takes_connection(connections, held) {
                return;
            }
            runtime::timer::sleep(DESCRIPTOR_REST).await;
        }
    }

    /// Request slots of this thread.
    pub fn slots(&self) -> usize {
        self.slots.total() as usize
    }

    /// Whether a request on another connection would have to wait, as far as can be foreseen: all
    /// slots are taken, or they were a moment ago and each has a connection that may want it again.
    /// Beside what is known there are `unseen` new connections.
    pub fn is_crowded(&self, unseen: usize) -> bool {
        let were_full = || self.slots.were_full(clock::monotonic_ms());
        let connections = self.connections.get() as usize + unseen;
        self.slots.free() <= unseen || (connections >= self.slots() && were_full())
    }

    /// Wait until a slot becomes free or a connection ends, at most for `limit`.
    pub async fn crowd_changed(&self, limit: Duration) {
        let mut is_watched = false;
        let changed = poll_fn(|context| {
            if std::mem::replace(&mut is_watched, true) {
                return Poll::Ready(());
            }
            self.slots.watch(context.waker());
            Poll::Pending
        });
        runtime::timer::timeout(limit, changed).await;
    }

    /// Connections of this process, and files that it holds for them.
    fn in_use(&self) -> (u64, u64) {
        let connections = self.process_row().map_or(0, ProcessRow::connections);
        (u64::from(connections), self.server.held.get())
    }

    /// Count a file for a response; `None` if it must be closed so that others are accepted.
    pub(crate) fn hold_file(&self) -> Option<HeldDescriptors> {
        let (connections, held) = self.in_use();
        let has_room = self.descriptors.takes_file(connections, held);
        has_room.then(|| self.server.held.hold(1))
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

    /// Show on the scoreboard what the one connection of this thread does. Where a thread has many
    /// a row shows requests only.
    pub(crate) fn show(&self, state: RowState) {
        if let Some(row) = self.only_row {
            self.board.worker(self.process, row).inspect(|row| row.set_state(state));
        }
    }

    /// The one connection of this thread begins or ends.
    fn connection_changed(&self) {
        if let Some(row) = self.only_row {
            self.board.worker(self.process, row).inspect(|row| row.connection_changed());
        }
    }

    pub(crate) fn connection_opened(&self) {
        self.connection_changed();
        self.show(RowState::Reading);
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
        self.connection_changed();
        self.show(RowState::Ready);
        // Last: who waits for room looks at what was counted above.
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
}
