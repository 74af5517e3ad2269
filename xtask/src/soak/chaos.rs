//! The faults: children that die, restarts, files that change, and a log that is moved away.
//!
//! They come in turns. In a storm everything happens; in a calm no child is killed, so that every
//! broken connection is a fault of the server, restarts or not.

use super::ledger::SoakLedger;
use super::procs;
use super::random::SoakRandom;
use super::server::{self, SoakServer};
use super::site::SoakSite;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A storm and the calm after it.
const STORM: Duration = Duration::from_secs(14);
const CALM: Duration = Duration::from_secs(8);
/// How long a child may take to die of SIGKILL.
const DEATH_PATIENCE: Duration = Duration::from_secs(5);
/// How long a graceful restart may take until the new log is there.
const LOG_PATIENCE: Duration = Duration::from_secs(10);

/// A kind of fault: how far apart in milliseconds, whether in storms only, and what it does.
struct ChaosFault {
    apart_ms: (usize, usize),
    stormy: bool,
    run: fn(&mut Chaos<'_>),
}

const FAULTS: &[ChaosFault] = &[
    ChaosFault { apart_ms: (200, 1000), stormy: true, run: |chaos| chaos.kill() },
    ChaosFault { apart_ms: (2500, 6000), stormy: false, run: |chaos| chaos.restart() },
    ChaosFault { apart_ms: (50, 400), stormy: false, run: |chaos| chaos.replace() },
    ChaosFault { apart_ms: (7000, 12_000), stormy: false, run: |chaos| chaos.move_log() },
];

/// See the module's text.
pub(super) struct Chaos<'a> {
    pub(super) server: &'a SoakServer,
    pub(super) site: &'a SoakSite,
    pub(super) ledger: &'a SoakLedger,
    pub(super) random: SoakRandom,
}

impl Chaos<'_> {
    /// Injects faults until `stop`.
    pub(super) fn run(&mut self, stop: &AtomicBool) {
        let start = Instant::now();
        let mut due: Vec<Instant> = FAULTS.iter().map(|_| start).collect();
        while !stop.load(Relaxed) {
            let now = Instant::now();
            for (fault, due) in FAULTS.iter().zip(&mut due) {
                if now < *due || (fault.stormy && !is_storm(now - start)) {
                    continue;
                }
                (fault.run)(self);
                let wait = self.random.within(fault.apart_ms.0, fault.apart_ms.1);
                *due = Instant::now() + Duration::from_millis(wait as u64);
            }
            sleep(Duration::from_millis(10));
        }
    }

    /// Kills one child, of whatever generation, and waits until it is gone.
    fn kill(&mut self) {
        let children = procs::children(self.server.pid());
        if children.is_empty() {
            return; // the parent is just replacing them; the next turn looks again
        }
        let victim = *self.random.pick(&children);
        let signal = *self.random.pick(&["KILL", "SEGV"]);
        let kill = self.ledger.killing();
        let deadline = Instant::now() + DEATH_PATIENCE;
        let alive = || procs::children(self.server.pid()).contains(&victim);
        while alive() && Instant::now() < deadline {
            // Again and again: the handler of Rust's runtime takes the first SIGSEGV for a fault of
            // this thread, makes way for the next one and returns, as if that came by itself.
            server::signal(signal, victim);
            sleep(Duration::from_millis(10));
        }
        self.ledger.dead(kill);
        if alive() {
            self.ledger.find(format!("child {victim} survives SIG{signal}"));
        }
    }

    fn restart(&mut self) {
        self.ledger.restarting();
        server::signal("USR1", self.server.pid());
    }

    fn replace(&mut self) {
        let version = self.random.below(self.site.versions.len());
        match self.site.replace(version) {
            Ok(()) => _ = self.ledger.replaced.fetch_add(1, Relaxed),
            Err(error) => self.ledger.find(format!("cannot replace a file: {error}")),
        }
    }

    /// What logrotate does: move the log away, then restart gracefully, which opens a new one.
    fn move_log(&mut self) {
        let number = self.ledger.moved_logs.fetch_add(1, Relaxed);
        let log = self.server.access_log();
        if let Err(error) = fs::rename(&log, log.with_extension(format!("log.{number}"))) {
            return self.ledger.find(format!("cannot move the log: {error}"));
        }
        self.restart();
        if !appears(&log) {
            let what = format!("no new access log {} s after SIGUSR1", LOG_PATIENCE.as_secs());
            self.ledger.find(what);
        }
    }
}

fn is_storm(since_start: Duration) -> bool {
    since_start.as_millis() % (STORM + CALM).as_millis() < STORM.as_millis()
}

fn appears(file: &Path) -> bool {
    let deadline = Instant::now() + LOG_PATIENCE;
    while !file.exists() {
        if Instant::now() > deadline {
            return false;
        }
        sleep(Duration::from_millis(5));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storm_and_calm_take_turns() {
        let at = |seconds| is_storm(Duration::from_secs(seconds));
        assert!(at(0) && at(13) && !at(14) && !at(21) && at(22) && !at(36));
    }
}
