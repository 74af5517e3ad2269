//! status: what the scoreboard shows, as a page for people and as `?auto` for machines
//! (mod_status; keys, letters and titles are its own).

use crate::context::Context;
use crate::failure::Failure;
use crate::identity::IDENTITY;
use crate::log::sink::local_time;
use crate::log::time::TimeFormat;
use crate::modules::files;
use crate::request::Request;
use crate::response::Response;
use crate::site::builder::Builder;
use config::{Args, Call, Directive, Error, Module, Scope};
use message::Target;
use message::escape::html_escape;
use runtime::clock;
use scoreboard::{ProcessState, RowState, Snapshot, WorkerView};
use std::fmt::Write as _;

/// The module and its table.
pub(crate) static MODULE: Module<Builder> =
    Module { name: "status_module", file: "mod_status.c", directives: DIRECTIVES };

static DIRECTIVES: &[Directive<Builder>] = &[Directive {
    name: "ExtendedStatus",
    args: Args::Flag,
    scope: Scope::SERVER,
    default: "On",
    help: "\"On\" to track extended status information, \"Off\" to disable",
    apply: extended_status,
}];

/// The figures cost nothing to keep, so they are always kept.
fn extended_status(_: &mut Builder, _: &Call<'_>) -> Result<(), Error> {
    Ok(())
}

/// The page or the list that the query asks for.
pub(crate) fn respond(context: &Context, request: &Request) -> Result<Response, Failure> {
    files::method_for_file(request.method())?;
    let framing = request.framing(u64::MAX)?;
    let query = match framing.target {
        Target::Origin { query, .. } | Target::Absolute { query, .. } => query.unwrap_or_default(),
        Target::Asterisk | Target::Authority(_) => b"",
    };
    let name = framing
        .host
        .map_or_else(String::new, |host| String::from_utf8_lossy(host.name).into_owned());
    let figures = Figures::new(Snapshot::take(context.board()), name);
    if query.split(|byte| *byte == b'&').any(|part| part == b"auto") {
        let text = figures.auto();
        return Ok(Response::page("text/plain; charset=ISO-8859-1", text.into_bytes()));
    }
    let local = request.local.ip();
    let page = figures.page(&local.to_string());
    let mut response = Response::page("text/html; charset=ISO-8859-1", page);
    if let Some(seconds) = refresh(query) {
        response = response.field("Refresh", seconds.to_string());
    }
    Ok(response)
}

/// `?refresh=N`; without a number httpd takes 10 seconds.
fn refresh(query: &[u8]) -> Option<u32> {
    let query = std::str::from_utf8(query).ok()?;
    let part = query.split('&').find_map(|part| part.strip_prefix("refresh"))?;
    Some(part.strip_prefix('=').and_then(|number| number.parse().ok()).unwrap_or(10))
}

/// Sums over a snapshot.
struct Figures {
    snapshot: Snapshot,
    name: String,
    now_s: i64,
    now_ms: u64,
    requests: u64,
    bytes: u64,
    busy_us: u64,
    busy: usize,
    idle: usize,
}

impl Figures {
    fn new(snapshot: Snapshot, name: String) -> Self {
        let sum = |value: fn(&WorkerView) -> u64| {
            snapshot.workers.iter().map(value).fold(0, u64::wrapping_add)
        };
        let count = |state| snapshot.workers.iter().filter(|row| row.state == state).count();
        Self {
            now_s: clock::unix_s(),
            now_ms: clock::monotonic_ms(),
            requests: sum(|row| row.requests),
            bytes: sum(|row| row.bytes),
            busy_us: sum(|row| row.busy_us),
            busy: count(RowState::Writing) + count(RowState::Reading),
            idle: count(RowState::Ready),
            snapshot,
            name,
        }
    }

    fn uptime_s(&self) -> i64 {
        (self.now_s - self.snapshot.started_unix_s).max(0)
    }

    /// `?auto`: one key a line, in mod_status's order.
    fn auto(&self) -> String {
        let mut out = String::with_capacity(2048);
        let uptime = self.uptime_s();
        let started = self.snapshot.started_unix_s;
        let generation = self.snapshot.generation;
        let _ = writeln!(out, "{}", self.name);
        let _ = writeln!(out, "ServerVersion: {IDENTITY}");
        let _ = writeln!(out, "ServerMPM: event");
        let _ = writeln!(out, "Server Built: {}", env!("CARGO_PKG_VERSION"));
        let _ = writeln!(out, "CurrentTime: {}", long_time(self.now_s));
        let _ = writeln!(out, "RestartTime: {}", long_time(started));
        let _ = writeln!(out, "ParentServerConfigGeneration: {}", generation + 1);
        let _ = writeln!(out, "ParentServerMPMGeneration: {generation}");
        let _ = writeln!(out, "ServerUptimeSeconds: {uptime}");
        let _ = writeln!(out, "ServerUptime:{}", in_words(uptime));
        for (name, load) in ["Load1", "Load5", "Load15"].iter().zip(load_averages()) {
            let _ = writeln!(out, "{name}: {load}");
        }
        let _ = writeln!(out, "Total Accesses: {}", self.requests);
        let _ = writeln!(out, "Total kBytes: {}", self.bytes / 1024);
        let _ = writeln!(out, "Total Duration: {}", self.busy_us / 1000);
        let _ = writeln!(out, "Uptime: {uptime}");
        let _ = writeln!(out, "ReqPerSec: {}", ratio(self.requests, uptime.unsigned_abs()));
        let _ = writeln!(out, "BytesPerSec: {}", ratio(self.bytes, uptime.unsigned_abs()));
        let _ = writeln!(out, "BytesPerReq: {}", ratio(self.bytes, self.requests));
        let _ = writeln!(out, "DurationPerReq: {}", ratio(self.busy_us / 1000, self.requests));
        let _ = writeln!(out, "BusyWorkers: {}", self.busy);
        let _ = writeln!(out, "GracefulWorkers: 0");
        let _ = writeln!(out, "IdleWorkers: {}", self.idle);
        self.auto_connections(&mut out);
        let _ = writeln!(out, "Scoreboard: {}", self.letters());
        out
    }

    fn auto_connections(&self, out: &mut String) {
        let processes = &self.snapshot.processes;
        let alive = processes.iter().filter(|row| row.state != ProcessState::Dead);
        let stopping = processes.iter().filter(|row| row.state == ProcessState::Draining).count();
        let _ = writeln!(out, "Processes: {}", alive.count());
        let _ = writeln!(out, "Stopping: {stopping}");
        let _ = writeln!(out, "ConnsTotal: {}", self.total(|row| row.connections));
        let _ = writeln!(out, "ConnsAsyncWaitIO: 0");
        let _ = writeln!(out, "ConnsAsyncWriting: {}", self.total(|row| row.writing));
        let _ = writeln!(out, "ConnsAsyncKeepAlive: {}", self.keep_alive());
        let _ = writeln!(out, "ConnsAsyncClosing: {}", self.total(|row| row.lingering));
    }

    fn total(&self, value: fn(&scoreboard::ProcessView) -> u32) -> u64 {
        self.snapshot.processes.iter().map(|row| u64::from(value(row))).sum()
    }

    /// Connections that neither hold a slot nor send nor close.
    fn keep_alive(&self) -> u64 {
        let others = self.total(|row| row.writing) + self.total(|row| row.lingering);
        self.total(|row| row.connections).saturating_sub(others + self.busy as u64)
    }

    fn letters(&self) -> String {
        self.snapshot.workers.iter().map(|row| char::from(row.state.letter())).collect()
    }

    /// The page for people. Everything that a client sent is escaped.
    fn page(&self, local: &str) -> Vec<u8> {
        let mut out = b"<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 3.2 Final//EN\">\n<html><head>\n\
            <title>Apache Status</title>\n</head><body>\n<h1>Apache Server Status for "
            .to_vec();
        html_escape(self.name.as_bytes(), &mut out);
        let mut text = format!(" (via {local})</h1>\n\n<dl><dt>Server Version: {IDENTITY}</dt>\n");
        let uptime = self.uptime_s();
        let _ = write!(
            text,
            "<dt>Server MPM: event</dt>\n</dl><hr /><dl>\n<dt>Current Time: {}</dt>\n\
             <dt>Restart Time: {}</dt>\n<dt>Server uptime: {}</dt>\n\
             <dt>Total accesses: {} - Total Traffic: {} kB</dt>\n\
             <dt>{} requests currently being processed, 0 workers gracefully restarting, {} idle \
             workers</dt>\n</dl>\n<pre>",
            long_time(self.now_s),
            long_time(self.snapshot.started_unix_s),
            in_words(uptime),
            self.requests,
            self.bytes / 1024,
            self.busy,
            self.idle,
        );
        out.extend_from_slice(text.as_bytes());
        for line in self.letters().as_bytes().chunks(64) {
            out.extend_from_slice(line);
            out.push(b'\n');
        }
        out.extend_from_slice(KEY.as_bytes());
        self.table(&mut out);
        out.extend_from_slice(b"</body></html>\n");
        out
    }

    fn table(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(
            b"\n<table border=\"0\"><tr><th>Srv</th><th>PID</th><th>Acc</th><th>M</th>\
              <th>SS</th><th>Slot</th><th>Client</th><th>Request</th></tr>\n\n",
        );
        let used = self.snapshot.workers.iter().enumerate().filter(|(_, row)| row.requests > 0);
        for (index, row) in used {
            let process = index / self.snapshot.rows_per_process.max(1);
            let line = format!(
                "<tr><td><b>{process}-{}</b></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
                 <td>{:.2}</td><td>{}</td><td nowrap>",
                self.snapshot.generation,
                row.pid,
                row.requests,
                char::from(row.state.letter()),
                self.now_ms.saturating_sub(row.started_ms) / 1000,
                ratio(row.bytes, 1 << 20),
                row.client,
            );
            out.extend_from_slice(line.as_bytes());
            html_escape(&row.request, out);
            out.extend_from_slice(b"</td></tr>\n");
        }
        out.extend_from_slice(b"</table>\n");
    }
}

const KEY: &str = "</pre>\n<p>Scoreboard Key:<br />\n\"<b><code>_</code></b>\" Waiting for \
    Connection, \n\"<b><code>S</code></b>\" Starting up, \n\"<b><code>R</code></b>\" Reading \
    Request,<br />\n\"<b><code>W</code></b>\" Sending Reply, \n\"<b><code>K</code></b>\" \
    Keepalive (read), \n\"<b><code>D</code></b>\" DNS Lookup,<br />\n\"<b><code>C</code></b>\" \
    Closing connection, \n\"<b><code>L</code></b>\" Logging, \n\"<b><code>G</code></b>\" \
    Gracefully finishing,<br /> \n\"<b><code>I</code></b>\" Idle cleanup of worker, \n\
    \"<b><code>.</code></b>\" Open slot with no current process<br />\n</p>\n";

/// A quotient as C's `%g` prints it; 0 for a division by nothing.
#[expect(clippy::cast_precision_loss, reason = "a rate is read by people")]
fn ratio(value: u64, by: u64) -> f64 {
    if by == 0 { 0.0 } else { value as f64 / by as f64 }
}

fn long_time(unix_s: i64) -> String {
    let mut text = Vec::new();
    TimeFormat::new(b"%A, %d-%b-%Y %H:%M:%S %Z").write(&local_time(unix_s), &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// ` 2 minutes 3 seconds`: units that are zero are left out (show_time of mod_status.c).
fn in_words(seconds: i64) -> String {
    let units = [
        (seconds / 86_400, "day"),
        (seconds / 3600 % 24, "hour"),
        (seconds / 60 % 60, "minute"),
        (seconds % 60, "second"),
    ];
    let shown = units.iter().filter(|unit| unit.0 > 0);
    shown.map(|(n, unit)| format!(" {n} {unit}{}", if *n == 1 { "" } else { "s" })).collect()
}

/// The three load averages, as the kernel prints them.
fn load_averages() -> Vec<String> {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).map(str::to_owned).collect()
}
