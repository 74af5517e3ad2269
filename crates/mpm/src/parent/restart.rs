//! Restarts: the new generation starts beside the old one, which is told to go only when every
//! new child serves. If one fails the old generation stays. One restart at a time; however many
//! signals come meanwhile, one more follows.

use super::state::child_pool::ChildPool;
use super::state::child_pool::idle_maintenance::SpawnRate;
use super::state::children::{ChildRecord, STOP_PATIENCE_MS};
use super::state::{Parent, Starting, WantedRestart};
use crate::generation::{Generation, Reload, StartFailure};
use runtime::clock;
use runtime::process::ChildOrder;
use server::MpmMessage;
use std::sync::Arc;

/// Generations that may drain at once: each keeps its children, its site and its scoreboard until
/// its last connection ends, and a download may take hours.
const DRAINING_MAX: usize = 4;

/// How long a restart waits for one of them to end before the oldest is stopped. Restarts in quick
/// succession do no harm to a download that way.
const DRAINING_PATIENCE_MS: u64 = 1000;

impl Parent<'_> {
    /// A signal asks for a restart. Of two the harder one counts.
    pub(crate) fn want_restart(&mut self, order: ChildOrder, reload: Reload) {
        let latest_ms = clock::monotonic_ms() + DRAINING_PATIENCE_MS;
        let wanted = self.wanted.get_or_insert(WantedRestart { order, reload, latest_ms });
        if order == ChildOrder::Stop {
            wanted.order = order;
        }
        if reload == Reload::Configuration {
            wanted.reload = reload;
            self.reports.restarts();
        }
    }

    /// When a restart that was asked for is carried out at the latest. The end of the children
    /// that it waits for is a signal.
    pub(crate) fn restart_due_ms(&self) -> u64 {
        match self.wanted {
            None => u64::MAX,
            Some(wanted) if self.is_crowded() => wanted.latest_ms,
            Some(_) => 0,
        }
    }

    fn is_crowded(&self) -> bool {
        self.children.generations_before(self.current.number()).len() >= DRAINING_MAX
    }

    /// Start the children of `generation`. At the start of the server it is the current one.
    pub(crate) fn begin(&mut self, generation: &Arc<Generation>, order: ChildOrder) {
        let is_first = generation.number == self.current.number();
        let (count, rate) = match order {
            ChildOrder::Drain if !is_first => {
                (self.children_needed(generation), SpawnRate::after_graceful_restart())
            }
            _ => (generation.layout.start, SpawnRate::new()),
        };
        let child_pool = ChildPool::new(generation.clone(), count, rate);
        self.starting = Some(Starting { child_pool, order, failed: None, lost: 0 });
        self.start_first_managers(generation);
        self.fill_up();
    }

    /// Take a start or restart a step further.
    ///
    /// # Errors
    /// When the first start failed.
    pub(crate) fn advance(&mut self) -> Result<(), String> {
        let Some(starting) = self.starting.take() else {
            self.restart_if_wanted();
            return Ok(());
        };
        let is_first = starting.child_pool.number() == self.current.number();
        let serving = self.children.serving(starting.child_pool.number());
        let runs_managers = self.runs_managers_of(&starting.child_pool.generation);
        match &starting.failed {
            Some(failed) if is_first => return Err(failed.clone()),
            Some(failed) => self.abandon(&starting, failed),
            None if serving < starting.child_pool.target() || !runs_managers => {
                self.starting = Some(starting);
            }
            None if is_first => {}
            None => self.switch(starting),
        }
        Ok(())
    }

    fn restart_if_wanted(&mut self) {
        let Some(wanted) = self.wanted else { return };
        let now_ms = clock::monotonic_ms();
        let next = self.current.number() + 1;
        // Children of a restart that failed must be gone before their number is used again.
        let is_held_up = self.children.of(next).next().is_some();
        if is_held_up || (self.is_crowded() && now_ms < wanted.latest_ms) {
            return;
        }
        self.wanted = None;
        match wanted.order {
            // Children that run as another user cannot open root's logs: new ones inherit them.
            ChildOrder::Drain if wanted.reload == Reload::Logs => {
                self.current.generation.server.say("SIGUSR2 received.  Opening the logs again");
            }
            ChildOrder::Drain => self.tell(MpmMessage::GracefulRestart),
            _ => self.tell(MpmMessage::Restart),
        }
        let loaded = (self.loader)(wanted.reload).map_err(StartFailure::from);
        let kept = &self.current.generation.listeners;
        match loaded.and_then(|server| Generation::new(server, next, kept)) {
            Ok(mut generation) => {
                self.hand_history_to(&mut generation, wanted.order);
                self.begin(&Arc::new(generation), wanted.order);
            }
            Err(message) => {
                self.complain(20, &format!("{message}; the old configuration stays in force"));
            }
        }
    }

    /// All new children serve: the old ones may go.
    fn switch(&mut self, starting: Starting) {
        // From here on the new generation is the one that serves. Its children do already, so that
        // no connection finds nobody while the old ones are told to go.
        let before = std::mem::replace(&mut self.current, starting.child_pool);
        self.history_of_other(before.number(), before.generation.board.clone(), starting.order);
        self.keep_managers_of(&before.generation);
        drop(before);
        self.auto_size.follow(&self.current);
        if let Err(message) = self.write_pid_file() {
            self.complain(100, &message);
        }
        // GracefulShutdownTimeout is that of the new configuration, which an administrator may have
        // changed to get rid of the old children.
        let patience_ms = match starting.order {
            ChildOrder::Drain => self.graceful_patience_ms(),
            _ => STOP_PATIENCE_MS,
        };
        let (number, now_ms) = (self.current.number(), clock::monotonic_ms());
        self.children
            .order(starting.order, now_ms, patience_ms, |record| record.generation != number);
        let old = self.children.generations_before(number);
        if old.len() > DRAINING_MAX {
            self.children.order(ChildOrder::Stop, now_ms, STOP_PATIENCE_MS, |record| {
                record.generation == old[0]
            });
        }
        self.announce();
    }

    /// A new child could not start: the old generation goes on, which nobody has told to go.
    fn abandon(&mut self, starting: &Starting, failed: &str) {
        let (number, now_ms) = (starting.child_pool.number(), clock::monotonic_ms());
        // Those that serve may have clients already.
        let of_it = |record: &ChildRecord| record.generation == number;
        self.children.order(ChildOrder::Kill, now_ms, STOP_PATIENCE_MS, |record| {
            of_it(record) && !record.has_served
        });
        let patience_ms = self.graceful_patience_ms();
        self.children.order(ChildOrder::Drain, now_ms, patience_ms, |record| {
            of_it(record) && record.has_served
        });
        let board = starting.child_pool.generation.board.clone();
        self.history_of_other(number, board, ChildOrder::Drain);
        self.keep_managers_of(&starting.child_pool.generation);
        // It may be a manager that has failed: its children may be gone before there is another.
        self.managers.rest(clock::monotonic_ms());
        self.complain(20, &format!("{failed}; the old configuration stays in force"));
    }
}
