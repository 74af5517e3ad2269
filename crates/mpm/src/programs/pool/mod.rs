//! The manager of a pool: a process that makes ready for all processes of the pool and forks them.
//!
//! A module says what they do (`server::process_pool`); they accept connections at one socket, so
//! that nobody has to be asked for one of them. As long as connections wait there, all are busy and
//! another one is forked, one after the other; one that has had nothing to do for a while says so,
//! and is asked to leave if there are enough without it. Nothing is read here that comes from the
//! network. What the parent does about this process is in `parent::managers`.

mod process;

use crate::Generation;
use crate::generation::managers::ManagerRole;
use crate::programs::{ManagerEnds, become_manager};
use logging::level::Level;
use runtime::process::{ChildOrder, Ending, Fork};
use runtime::programs::{LinkMessage, ManagerLink, log_pipe};
use runtime::signals::{Signal, Signals};
use runtime::{Channel, clock, event_fd, process as processes};
use server::Server;
use server::process_pool::ProcessPool;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

/// The name of the process in `ps`.
const NAME: &std::ffi::CStr = c"trivet: pool";

/// The name of the module in the log.
const MODULE: &str = "core";

/// How long a connection may wait before another process is forked: one that is idle takes it at
/// once.
const WAIT_MS: u64 = 5;

/// How long forking rests when processes end before they have lived for [`GOOD_LIFE_MS`]: at first,
/// and at most. A script that crashes shall not keep others waiting for long.
const REST_MS: [u64; 2] = [20, 500];
const GOOD_LIFE_MS: u64 = 1000;

/// How long processes may take to end when the server stops, and when nobody is left who could ask:
/// then a script may go on whose answer is complete.
const PATIENCE_MS: u64 = 3000;
const LEAVE_PATIENCE_MS: u64 = 300_000;

/// The longest sleep while nothing is due.
const TICK: Duration = Duration::from_secs(1);

/// The exit code of a manager whose generation cannot begin without it.
const FAILED: i32 = 1;

/// Keep the pool of this number until nobody needs it; the result is the exit code.
pub(crate) fn serve(
    generation: &Generation,
    parent: i32,
    ManagerEnds { link, logs }: ManagerEnds,
    (number, is_first): (usize, bool),
) -> i32 {
    let server = &*generation.server;
    let role = ManagerRole::Pool(number);
    let begun = become_manager(generation, parent, NAME, role);
    let (Some((_sockets, signals)), Some(pool)) = (begun, server.process_pools().get(number))
    else {
        return FAILED;
    };
    let Ok((idle, says_idle)) = log_pipe() else { return FAILED };
    let said = pool.work.prepare().unwrap_or_else(|text| {
        server.log(Level::Error, MODULE, None, None, text.as_bytes());
        processes::exit_now(FAILED)
    });
    for (level, text) in said {
        server.log(level, MODULE, None, None, text.as_bytes());
    }
    let manager = PoolManager {
        server,
        pool,
        link,
        logs,
        signals,
        idle,
        says_idle,
        live: Vec::new(),
        look_ms: 0,
        rest_ms: 0,
        early_ends: 0,
        has_complained: false,
        is_first,
        serves: true,
        kill_ms: u64::MAX,
    };
    manager.run()
}

/// A process of the pool.
struct PoolProcess {
    pid: i32,
    since_ms: u64,
    /// It was asked to leave.
    is_leaving: bool,
}

struct PoolManager<'a> {
    server: &'a Server,
    pool: &'a ProcessPool,
    /// The link to the parent.
    link: ManagerLink,
    logs: Channel,
    signals: Signals,
    /// Where processes say that they have nothing to do, and the end of it that they have.
    idle: File,
    says_idle: File,
    live: Vec<PoolProcess>,
    /// When the listening socket is looked at again.
    look_ms: u64,
    /// When processes may be forked again, after some have ended early.
    rest_ms: u64,
    early_ends: u32,
    /// The log knows that there may be no more processes.
    has_complained: bool,
    /// The parent has not heard yet that the pool serves.
    is_first: bool,
    serves: bool,
    /// When those are killed that have not ended.
    kill_ms: u64,
}

impl PoolManager<'_> {
    /// See to everything until the end; the result is the exit code.
    fn run(mut self) -> i32 {
        while self.serves || !self.live.is_empty() {
            self.fill_up();
            if std::mem::take(&mut self.is_first) {
                self.link.answer();
            }
            let has_waiting = self.wait();
            self.obey();
            self.listen();
            self.see_who_has_ended();
            self.hear_who_is_idle();
            if has_waiting {
                self.grow();
            }
            if clock::monotonic_ms() >= self.kill_ms {
                self.order(ChildOrder::Kill);
            }
        }
        0
    }

    /// As many processes as there are at the beginning, or without need.
    fn fill_up(&mut self) {
        let limits = self.pool.limits;
        let least = if self.is_first { limits.start } else { limits.spare_min };
        while self.serves
            && self.live.len() < least.min(limits.most)
            && clock::monotonic_ms() >= self.rest_ms
        {
            if !self.fork() {
                return;
            }
        }
    }

    /// Sleep until there is something to do; says whether a connection waits for a process.
    fn wait(&mut self) -> bool {
        let now_ms = clock::monotonic_ms();
        let due_ms = self.look_ms.max(self.rest_ms).min(self.kill_ms);
        let limit = match due_ms.saturating_sub(now_ms) {
            0 => TICK,
            ms => Duration::from_millis(ms).min(TICK),
        };
        let mut watched = vec![self.signals.as_fd(), self.idle.as_fd()];
        let looks = self.serves && now_ms >= self.look_ms.max(self.rest_ms);
        if looks {
            watched.push(self.pool.listener.as_fd());
        }
        if self.serves {
            watched.push(self.link.as_fd());
        }
        let readable = event_fd::readable(&watched, limit);
        looks && readable.contains(&2)
    }

    /// A connection waits: if it does so for longer than an idle process needs, all are busy.
    fn grow(&mut self) {
        let patience = Duration::from_millis(WAIT_MS);
        self.look_ms = clock::monotonic_ms() + WAIT_MS;
        let at = [self.signals.as_fd()];
        event_fd::readable(&at, patience);
        if event_fd::readable(&[self.pool.listener.as_fd()], Duration::ZERO).is_empty() {
            return;
        }
        if self.live.len() < self.pool.limits.most {
            self.fork();
            return;
        }
        self.look_ms = clock::monotonic_ms() + 1000;
        if !std::mem::replace(&mut self.has_complained, true) {
            let text = format!(
                "all {} {} processes are busy and requests wait: consider raising \
                 {}MaxRequestWorkers",
                self.live.len(),
                self.pool.name,
                self.pool.name
            );
            self.server.log(Level::Error, MODULE, None, None, text.as_bytes());
        }
    }

    fn fork(&mut self) -> bool {
        let manager = processes::id();
        match processes::fork() {
            Ok(Fork::Child) => {
                // A panic goes no further: what lies behind it is the manager's.
                let serve = || process::serve(self.server, self.pool, manager, &self.says_idle);
                let code = std::panic::catch_unwind(AssertUnwindSafe(serve));
                processes::exit_now(code.unwrap_or(FAILED))
            }
            Ok(Fork::Parent(pid)) => {
                let since_ms = clock::monotonic_ms();
                self.live.push(PoolProcess { pid, since_ms, is_leaving: false });
                true
            }
            Err(error) => {
                let text = format!("cannot fork a {} process: {error}", self.pool.name);
                self.server.log(Level::Error, MODULE, None, None, text.as_bytes());
                self.rest_ms = clock::monotonic_ms() + REST_MS[1];
                false
            }
        }
    }

    /// The terminal sends its signals to all processes of the group: the parent decides.
    fn obey(&mut self) {
        while let Some(signal) = self.signals.pending() {
            match signal {
                Signal::Term => self.stop(ChildOrder::Stop),
                Signal::Usr2 => self.server.follow_logs(&self.logs.receive()),
                _ => {}
            }
        }
    }

    /// Nobody asks any more, or the server stops.
    fn stop(&mut self, order: ChildOrder) {
        self.serves = false;
        let patience_ms = if order == ChildOrder::Drain { LEAVE_PATIENCE_MS } else { PATIENCE_MS };
        self.kill_ms = self.kill_ms.min(clock::monotonic_ms() + patience_ms);
        self.order(order);
    }

    fn order(&self, order: ChildOrder) {
        self.live.iter().for_each(|process| processes::order(process.pid, order));
    }

    /// What the parent says.
    fn listen(&mut self) {
        while self.serves {
            match self.link.next() {
                // Who serves clients connects to the processes, and asks nothing here.
                LinkMessage::ClientSocket(..) | LinkMessage::Lost(_) => {}
                LinkMessage::Question => self.link.answer(),
                LinkMessage::Nothing => return,
                LinkMessage::Over => self.stop(ChildOrder::Drain),
            }
        }
    }

    /// Ask those to leave that have nothing to do, as long as enough are left.
    fn hear_who_is_idle(&mut self) {
        let mut pids = [0; 64 * size_of::<i32>()];
        let Ok(length) = self.idle.read(&mut pids) else { return };
        for pid in pids[..length].chunks_exact(size_of::<i32>()) {
            let pid = pid.try_into().map_or(0, i32::from_ne_bytes);
            let staying = self.live.iter().filter(|process| !process.is_leaving).count();
            let process = self.live.iter_mut().find(|process| process.pid == pid);
            let Some(process) = process.filter(|_| staying > self.pool.limits.spare_max) else {
                continue;
            };
            process.is_leaving = true;
            processes::order(pid, ChildOrder::Drain);
        }
    }

    fn see_who_has_ended(&mut self) {
        while let Some((pid, ending)) = processes::reap() {
            let Some(index) = self.live.iter().position(|process| process.pid == pid) else {
                continue;
            };
            let process = self.live.swap_remove(index);
            if self.serves && ending != Ending::Exit(0) {
                self.has_died(&process, ending);
            }
        }
    }

    /// One is gone that nobody has asked to leave. Where they die at once, others wait.
    fn has_died(&mut self, process: &PoolProcess, ending: Ending) {
        let text = format!("{} process pid {} {ending}", self.pool.name, process.pid);
        self.server.log(Level::Error, MODULE, None, None, text.as_bytes());
        let now_ms = clock::monotonic_ms();
        if now_ms.saturating_sub(process.since_ms) >= GOOD_LIFE_MS {
            self.early_ends = 0;
            return;
        }
        let pause_ms = REST_MS[0].saturating_mul(1 << self.early_ends.min(16)).min(REST_MS[1]);
        self.rest_ms = now_ms + pause_ms;
        self.early_ends = self.early_ends.saturating_add(1);
    }
}
