//! `?json`: every figure under a name that says its unit. Names are added, never changed.

use super::cpu::load_averages;
use super::everything::{Everything, name, readable, seconds_of};
use super::figures::{ChildFigures, STATES, StatusFigures, state_name};
use super::json::{JsonFields, object, string};
use super::minute::Minute;
use super::names::ServerNames;
use scoreboard::{
    AccountView, HistorySecond, ProcessView, Totals, WALL_BOUNDS_US, WaitCause, WorkerView,
};
use server::{IDENTITY, built};

/// The text.
pub(super) fn text(all: &Everything, names: &ServerNames<'_>) -> String {
    let mut out = String::with_capacity(16 * 1024);
    let figures = &all.figures;
    object(&mut out, |fields| {
        server(fields, figures, names);
        totals(fields, figures);
        workers(fields, all);
        fields.object("at_limit", |fields| {
            fields.number("total_ms", figures.at_limit.total_ms);
            fields.number("times", figures.at_limit.times);
            let since_s = all.at_limit_for_s();
            fields.maybe("now_for_s", since_s.map(|age_s| super::number::ratio(age_s, 1)));
        });
        match &all.minute {
            Some(minute) => fields.object("last_minute", |fields| last_minute(fields, minute)),
            None => fields.maybe("last_minute", None),
        }
        fields.list("seconds", &figures.seconds, second);
        fields.object("verdict", |fields| {
            fields.text("kind", all.verdict.name());
            fields.text("text", &all.verdict.text);
            fields.list("working", &all.verdict.working, |out, line| string(out, line));
        });
        fields.list("urls", &all.accounts, |out, row| url(out, row, all));
        fields.list("children", figures.shown_children().filter(|it| it.is_there()), child);
        fields.list("slots", slots(figures), |out, (child, row, letter)| {
            object(out, |fields| slot(fields, figures, names, child, row, letter));
        });
    });
    out.push('\n');
    out
}

fn server(fields: &mut JsonFields<'_>, figures: &StatusFigures, names: &ServerNames<'_>) {
    fields.object("server", |fields| {
        fields.text("name", &names.server);
        fields.text("version", IDENTITY);
        fields.text("mpm", figures.mpm.name());
        fields.text("built", &built());
    });
    fields.raw_time("now_unix_s", figures.now_s);
    fields.raw_time("started_unix_s", figures.started_s);
    fields.number("uptime_s", figures.uptime_s());
    fields.object("generation", |fields| {
        fields.raw_time("started_unix_s", figures.made_s);
        fields.number("config", u64::from(figures.generation) + 1);
        fields.number("mpm", u64::from(figures.generation));
    });
    fields.object("load", |fields| {
        for (name, load) in ["1min", "5min", "15min"].iter().zip(load_averages()) {
            fields.maybe(name, load.parse().ok());
        }
    });
}

impl JsonFields<'_> {
    /// Seconds since 1970; no server runs before that.
    fn raw_time(&mut self, name: &str, unix_s: i64) {
        self.number(name, u64::try_from(unix_s).unwrap_or(0));
    }
}

fn totals(fields: &mut JsonFields<'_>, figures: &StatusFigures) {
    let Totals { requests, bytes, busy_us } = figures.totals;
    fields.object("totals", |fields| {
        fields.number("requests", requests);
        fields.number("bytes", bytes);
        fields.number("busy_us", busy_us);
    });
    fields.object("cpu", |fields| {
        let names = ["user_s", "system_s", "children_user_s", "children_system_s"];
        for (name, seconds) in names.iter().zip(figures.cpu.seconds()) {
            fields.float(name, seconds);
        }
    });
}

fn workers(fields: &mut JsonFields<'_>, all: &Everything) {
    let figures = &all.figures;
    fields.object("workers", |fields| {
        fields.number("busy", figures.slots(ChildFigures::busy) as u64);
        fields.number("graceful", figures.graceful());
        fields.number("idle", figures.slots(ChildFigures::idle) as u64);
        fields.number("max", all.workers_max);
        fields.number("queued_requests", all.queued());
        fields.number("waiting_connections", all.waiting());
    });
    fields.object("processes", |fields| {
        fields.number("total", figures.processes());
        fields.number("stopping", figures.stopping());
    });
    fields.object("connections", |fields| {
        let sum = |count: fn(&ChildFigures) -> u32| figures.connections(count);
        let here = sum(|child| child.process.connections);
        fields.number("total", here.saturating_add(figures.older.connections));
        fields.number("writing", sum(|child| child.process.writing));
        fields.number("keep_alive", sum(ChildFigures::keep_alive));
        fields.number("closing", sum(|child| child.process.lingering));
    });
    let letters = figures.scoreboard();
    fields.text("scoreboard", &letters);
    fields.object("scoreboard_states", |fields| {
        for (letter, name) in STATES {
            fields.number(name, letters.bytes().filter(|it| it == letter).count() as u64);
        }
    });
}

fn last_minute(fields: &mut JsonFields<'_>, minute: &Minute) {
    fields.float("seconds", minute.seconds);
    fields.number("requests", minute.requests);
    fields.float("requests_per_s", minute.requests_per_s);
    fields.float("bytes_per_s", minute.bytes_per_s);
    fields.float("busy_workers_mean", minute.busy_mean);
    fields.number("busy_workers_max", minute.busy_max);
    fields.number("connections_max", minute.connections_max);
    fields.number("queued_requests_max", minute.queued_max);
    fields.number("waiting_connections_max", minute.waiting_max);
    fields.float("server_cpu_cores", minute.server_cores);
    let machine = |of: usize| minute.machine.map(|shares| shares[of]);
    fields.maybe("machine_cpu_busy_share", machine(0));
    fields.maybe("machine_cpu_iowait_share", machine(1));
    fields.maybe("machine_cpu_steal_share", machine(2));
    let available = minute.available_kib.map(|kib| super::number::ratio(kib, 1));
    fields.maybe("memory_available_kib", available);
    for (name, share) in ["cpu", "memory", "io"].iter().zip(minute.stalled) {
        fields.maybe(&format!("stalled_{name}_share"), share);
    }
    fields.float("at_limit_s", minute.at_limit_s);
}

fn second(out: &mut String, second: &HistorySecond) {
    object(out, |fields| {
        fields.number("at_ms", second.at_ms);
        fields.number("requests", second.totals.requests);
        fields.number("bytes", second.totals.bytes);
        fields.number("busy_workers", second.busy);
        fields.number("idle_workers", second.idle);
        fields.number("connections", second.connections);
        fields.number("queued_requests", second.queued);
        fields.number("waiting_connections", second.waiting);
        fields.number("server_cpu_us", second.cpu_us);
        let names = ["all", "busy", "iowait", "steal"];
        for (name, ticks) in names.iter().zip(second.machine_ticks) {
            // Ticks of /proc/stat are hundredths of a second, whatever the kernel's own rate
            // (USER_HZ).
            fields.number(&format!("machine_cpu_{name}_ms"), ticks.saturating_mul(10));
        }
    });
}

/// What one kind of URL has come to.
fn url(out: &mut String, row: &AccountView, all: &Everything) {
    let times = &row.times;
    let per_request = |time_ns| seconds_of(time_ns) / super::number::ratio(row.requests, 1);
    let share = |part, sum| super::number::ratio(part, sum);
    object(out, |fields| {
        fields.text("host", all.host(row));
        fields.text("pattern", &name(row));
        fields.flag("is_other", row.is_other);
        fields.number("requests", row.requests);
        fields.float("requests_per_s", share(row.requests, all.figures.generation_age_s()));
        fields.number("bytes", row.bytes);
        fields.object("statuses", |fields| {
            for (class, count) in ["1xx", "2xx", "3xx", "4xx", "5xx"].iter().zip(row.statuses) {
                fields.number(class, count);
            }
        });
        fields.float("wall_s", seconds_of(times.wall_ns));
        fields.float("wall_mean_s", per_request(times.wall_ns));
        for (name, part) in [("wall_p50_s", 0.5), ("wall_p95_s", 0.95), ("wall_p99_s", 0.99)] {
            let us = row.wall_quantile_us(part);
            fields.maybe(name, us.map(|us| super::number::ratio(us, 1_000_000)));
        }
        fields.float("cpu_s", seconds_of(times.cpu_ns));
        fields.float("run_queue_s", seconds_of(times.run_queue_ns));
        fields.object("waits_s", |fields| {
            for (cause, wait_ns) in WaitCause::all().zip(times.waits_ns) {
                fields.float(cause.name(), seconds_of(wait_ns));
            }
        });
        fields.float("other_s", seconds_of(times.unexplained_ns()));
        fields.float("cpu_share", share(times.cpu_ns, all.sum.times.cpu_ns));
        fields.float("worker_time_share", share(times.wall_ns, all.sum.times.wall_ns));
        let bounds = WALL_BOUNDS_US.map(Some).into_iter().chain([None]);
        fields.list("histogram", bounds.zip(row.histogram), |out, (bound, count)| {
            object(out, |fields| {
                fields.maybe("up_to_s", bound.map(|us| super::number::ratio(us, 1_000_000)));
                fields.number("requests", count);
            });
        });
    });
}

fn child(out: &mut String, child: &ChildFigures) {
    let ProcessView { pid, generation, connections, writing, lingering, queued, .. } =
        child.process;
    object(out, |fields| {
        fields.number("pid", u64::from(pid));
        fields.number("generation", u64::from(generation));
        fields.flag("stopping", child.is_stopping());
        fields.number("connections", u64::from(connections));
        fields.number("writing", u64::from(writing));
        fields.number("closing", u64::from(lingering));
        fields.number("queued_requests", u64::from(queued));
        fields.number("busy", child.busy() as u64);
        fields.number("idle", child.idle() as u64);
        fields.float("cpu_s", child.cpu.total_s());
        fields.number("log_lines_lost", child.process.log_lines_lost);
    });
}

/// Slots that answer something or have done so.
fn slots(figures: &StatusFigures) -> impl Iterator<Item = (&ChildFigures, &WorkerView, u8)> {
    figures.shown_children().flat_map(|child| {
        let rows = child.workers.iter().zip(child.letters());
        let shown = rows.filter(|row| row.0.requests > 0 || !matches!(row.1, b'_' | b'.' | b'I'));
        shown.map(move |(row, letter)| (child, row, letter))
    })
}

fn slot(
    fields: &mut JsonFields<'_>,
    figures: &StatusFigures,
    names: &ServerNames<'_>,
    child: &ChildFigures,
    row: &WorkerView,
    letter: u8,
) {
    fields.number("pid", u64::from(if child.is_there() { row.pid } else { 0 }));
    fields.text("state", state_name(letter));
    fields.text("waits_for", row.waits_for.map_or("", WaitCause::name));
    let age_ms =
        if row.started_ms == 0 { 0 } else { figures.now_ms.saturating_sub(row.started_ms) };
    fields.number("age_ms", age_ms);
    fields.number("requests", row.requests);
    fields.number("bytes", row.bytes);
    fields.number("busy_us", row.busy_us);
    fields.number("last_us", row.counts.last_us);
    fields.text("client", &row.client.to_canonical().to_string());
    fields.text("host", &names.of_host(&row.counts));
    fields.text("request", &readable(&row.request));
}
