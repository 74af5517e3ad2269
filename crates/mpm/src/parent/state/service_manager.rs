//! What the parent tells the service manager that started it, if one did: when it serves, that it
//! restarts, that it stops, and how it does, as httpd's mod_systemd does. The words are those of
//! sd_notify(3); how they are sent is not known here.

use runtime::clock;
use runtime::process;
use runtime::service_manager::Notifier;
use scoreboard::{Scoreboard, Snapshot};

/// How often the status is told (httpd: the parent's monitor hook, INTERVAL_OF_WRITABLE_PROBES).
const STATUS_INTERVAL_MS: u64 = 10_000;

/// The state of the server that the service manager was told last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Believes {
    /// The server starts.
    Starting,
    Serves,
    Restarts,
}

/// The connection to the service manager, and what it was told.
pub(crate) struct Reports {
    notifier: Option<Notifier>,
    believes: Believes,
    status_due_ms: u64,
}

impl Reports {
    pub(crate) fn new(notifier: Option<Notifier>) -> Self {
        Self { notifier, believes: Believes::Starting, status_due_ms: 0 }
    }

    /// Say no more: this process is not the one that was started.
    pub(crate) fn leave_to_parent(&mut self) {
        self.notifier = None;
    }

    /// A restart was asked for. The time lets the manager tell this message from an earlier one.
    pub(crate) fn restarts(&mut self) {
        if self.believes != Believes::Serves {
            return;
        }
        self.believes = Believes::Restarts;
        let now_us = clock::monotonic_ns() / 1000;
        self.send(&format!(
            "RELOADING=1\nMONOTONIC_USEC={now_us}\nSTATUS=Reading configuration..."
        ));
    }

    /// The server stops.
    pub(crate) fn stops(&mut self) {
        self.send("STOPPING=1\nSTATUS=Shutting down.");
    }

    /// Tell the manager what has changed since it was told last, or how the server does.
    pub(crate) fn tell(&mut self, board: &Scoreboard) {
        if self.notifier.is_none() {
            return;
        }
        let now_ms = clock::monotonic_ms();
        if self.believes != Believes::Serves {
            self.serves(now_ms);
        } else if now_ms >= self.status_due_ms {
            self.status_due_ms = now_ms.saturating_add(STATUS_INTERVAL_MS);
            let line = status::status_line(&Snapshot::take(board), clock::unix_s());
            self.send(&format!("STATUS={line}"));
        }
    }

    /// All children serve, or those before still do.
    fn serves(&mut self, now_ms: u64) {
        self.believes = Believes::Serves;
        self.status_due_ms = now_ms.saturating_add(STATUS_INTERVAL_MS);
        let pid = process::id();
        self.send(&format!("READY=1\nSTATUS=Processing requests...\nMAINPID={pid}"));
    }

    fn send(&mut self, lines: &str) {
        if let Some(notifier) = &self.notifier {
            // A manager that is gone or does not read misses it: that is no reason not to serve.
            let _ = notifier.send(lines);
        }
    }
}
