//! `?metrics`: OpenMetrics text (version 1.0.0). What the widely used exporter for Apache
//! (Lusitaniae/apache_exporter) has is there under its names and labels; what is ours begins with
//! `trivet_`.

use super::cpu::load_averages;
use super::everything::{Everything, name, seconds_of};
use super::figures::{ChildFigures, STATES, StatusFigures};
use super::minute::Minute;
use super::number::ratio;
use super::verdict::KINDS;
use scoreboard::{AccountView, Totals, WALL_BOUNDS_US, WaitCause};
use server::IDENTITY;
use std::fmt::{Display, Write as _};

pub(super) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The text.
pub(super) fn text(all: &Everything) -> String {
    let mut out = MetricsText(String::with_capacity(16 * 1024));
    apache(&mut out, &all.figures);
    apache_states(&mut out, &all.figures);
    limits(&mut out, all);
    if let Some(minute) = &all.minute {
        machine(&mut out, all, minute);
    }
    urls(&mut out, all);
    out.0.push_str("# EOF\n");
    out.0
}

/// The text so far.
struct MetricsText(String);

type Labels<'l> = &'l [(&'l str, &'l str)];

impl MetricsText {
    /// A family of metrics begins.
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a String cannot fail, here and below.
        let _ = write!(self.0, "# TYPE {name} {kind}\n# HELP {name} {help}\n");
    }

    fn sample(&mut self, name: &str, labels: Labels<'_>, value: impl Display) {
        self.0.push_str(name);
        for (index, (label, value)) in labels.iter().enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"");
            self.label(value);
            self.0.push('"');
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    /// The value of a label: `\\`, `"` and line feeds are escaped; other controls have no place in
    /// it, and are written as `\u0085`, which nobody else can write (`readable`).
    fn label(&mut self, value: &str) {
        for letter in value.chars() {
            match letter {
                '\\' => self.0.push_str("\\\\"),
                '"' => self.0.push_str("\\\""),
                '\n' => self.0.push_str("\\n"),
                letter if letter.is_control() => {
                    let _ = write!(self.0, "\\\\u{:04x}", u32::from(letter));
                }
                plain => self.0.push(plain),
            }
        }
    }

    /// A family of one metric.
    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "gauge", help);
        self.sample(name, &[], value);
    }

    fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "counter", help);
        self.sample(&format!("{name}_total"), &[], value);
    }

    /// A family with one label.
    fn gauges<V: Display>(&mut self, name: &str, help: &str, label: &str, rows: &[(&str, V)]) {
        self.family(name, "gauge", help);
        for (of, value) in rows {
            self.sample(name, &[(label, of)], value);
        }
    }

    fn counters<V: Display>(&mut self, name: &str, help: &str, label: &str, rows: &[(&str, V)]) {
        self.family(name, "counter", help);
        for (of, value) in rows {
            self.sample(&format!("{name}_total"), &[(label, of)], value);
        }
    }
}

/// `2.04071`: the version as the exporter makes a number of it.
fn version() -> String {
    let text = IDENTITY.split_once('/').map_or("", |row| row.1);
    let text = text.split(' ').next().unwrap_or_default();
    let mut parts = text.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    let (major, minor, patch) = (next(), next(), next());
    format!("{major}.{minor:02}{patch:03}")
}

fn apache(out: &mut MetricsText, figures: &StatusFigures) {
    let Totals { requests, bytes, busy_us } = figures.totals;
    let mpm = figures.mpm.name();
    out.gauge("apache_up", "Could the apache server be reached", 1);
    out.gauge("apache_version", "Apache server version", version());
    out.family("apache", "info", "Apache version information");
    out.sample("apache_info", &[("version", IDENTITY), ("mpm", mpm)], 1);
    let generation = u64::from(figures.generation);
    let rows = [("config", generation + 1), ("mpm", generation)];
    out.gauges("apache_generation", "Apache restart generation", "type", &rows);
    let loads = load_averages();
    let known = loads.iter().filter(|load| load.parse::<f64>().is_ok()).map(String::as_str);
    let rows: Vec<(&str, &str)> = ["1min", "5min", "15min"].into_iter().zip(known).collect();
    out.gauges("apache_load", "Apache server load", "interval", &rows);
    out.counter("apache_accesses", "Current total apache accesses", requests);
    out.counter("apache_sent_kilobytes", "Current total kbytes sent", bytes / 1024);
    out.counter(
        "apache_duration_ms",
        "Total duration of all registered requests in ms",
        busy_us / 1000,
    );
    let [user, system, children_user, children_system] = figures.cpu.seconds();
    let ms = |seconds: f64| (seconds * 1000.0).round();
    let rows = [("user", ms(user + children_user)), ("system", ms(system + children_system))];
    out.counters("apache_cpu_time_ms", "Apache CPU time", "type", &rows);
    let load = figures.cpu_load().unwrap_or(0.0);
    out.gauge("apache_cpuload", "The current percentage CPU used by all workers combined", load);
    out.counter("apache_uptime_seconds", "Current uptime in seconds", figures.uptime_s());
}

fn apache_states(out: &mut MetricsText, figures: &StatusFigures) {
    let (busy, idle) = (figures.slots(ChildFigures::busy), figures.slots(ChildFigures::idle));
    let rows = [("busy", busy), ("idle", idle)];
    out.gauges("apache_workers", "Apache worker statuses", "state", &rows);
    let rows = [("all", figures.processes()), ("stopping", figures.stopping())];
    out.gauges("apache_processes", "Apache process count", "state", &rows);
    let sum = |count: fn(&ChildFigures) -> u32| figures.connections(count);
    let here = sum(|child| child.process.connections);
    let rows = [
        ("total", here.saturating_add(figures.older.connections)),
        ("writing", sum(|child| child.process.writing)),
        ("keepalive", sum(ChildFigures::keep_alive)),
        ("closing", sum(|child| child.process.lingering)),
    ];
    out.gauges("apache_connections", "Apache connection statuses", "state", &rows);
    let letters = figures.scoreboard();
    let count = |letter: u8| letters.bytes().filter(|it| *it == letter).count();
    let rows: Vec<(&str, usize)> = STATES.iter().map(|row| (row.1, count(row.0))).collect();
    out.gauges("apache_scoreboard", "Apache scoreboard statuses", "state", &rows);
}

fn limits(out: &mut MetricsText, all: &Everything) {
    let figures = &all.figures;
    let Totals { bytes, busy_us, .. } = figures.totals;
    out.counter("trivet_sent_bytes", "Bytes sent to clients, response heads included.", bytes);
    let busy_s = ratio(busy_us, 1_000_000);
    out.counter(
        "trivet_request_seconds",
        "Time spent on requests, summed over all requests.",
        busy_s,
    );
    out.gauge(
        "trivet_workers_max",
        "MaxRequestWorkers as it is now, whether configured or automatic.",
        all.workers_max,
    );
    out.gauge(
        "trivet_workers_graceful",
        "Workers of children that answer their last requests and then exit.",
        figures.graceful(),
    );
    out.gauge(
        "trivet_requests_queued",
        "Requests waiting for a free worker (event).",
        all.queued(),
    );
    let help = "Connections in the listen queue that no child has accepted yet.";
    out.gauge("trivet_connections_waiting", help, all.waiting());
    let limit_s = ratio(figures.at_limit.total_ms, 1000);
    out.counter("trivet_at_limit_seconds", "Time for which all workers were busy.", limit_s);
    let times = figures.at_limit.times;
    out.counter("trivet_at_limit_events", "Number of times that all workers became busy.", times);
    let found = all.verdict.name();
    let rows = KINDS.map(|(_, name)| (name, u8::from(name == found)));
    out.gauges(
        "trivet_limited_by",
        "What limits the server: 1 for the present verdict, 0 for all others.",
        "what",
        &rows,
    );
}

fn machine(out: &mut MetricsText, all: &Everything, minute: &Minute) {
    let Some(last) = all.figures.seconds.last() else { return };
    let cpu_s = ratio(last.cpu_us, 1_000_000);
    out.counter(
        "trivet_cpu_seconds",
        "CPU time of the server, its children and the programs that it manages.",
        cpu_s,
    );
    if minute.machine.is_some() {
        let [_, busy, disk, stolen] = last.machine_ticks.map(|ticks| ratio(ticks, 100));
        let rows = [("busy", busy), ("iowait", disk), ("steal", stolen)];
        out.counters(
            "trivet_machine_cpu_seconds",
            "CPU time of the whole machine by mode, summed over its processors.",
            "mode",
            &rows,
        );
    }
    out.gauge("trivet_machine_cores", "Number of processors that the server may use.", all.cores);
    if let Some(kib) = minute.available_kib {
        let bytes = kib.saturating_mul(1024);
        out.gauge(
            "trivet_machine_memory_available_bytes",
            "Memory that programs on this machine can still allocate (MemAvailable).",
            bytes,
        );
    }
    let names = ["cpu", "memory", "io"].into_iter().zip(last.stalled_us);
    let rows: Vec<(&str, f64)> =
        names.filter_map(|(name, us)| Some((name, ratio(us?, 1_000_000)))).collect();
    if !rows.is_empty() {
        let help = "Time for which some task was stalled by a lack of the resource (PSI, some).";
        out.counters("trivet_machine_stalled_seconds", help, "resource", &rows);
    }
}

/// One figure of an account.
type Value = fn(&AccountView) -> f64;

fn urls(out: &mut MetricsText, all: &Everything) {
    let rows: Vec<(&str, String, &AccountView)> =
        all.accounts.iter().map(|row| (all.host(row), name(row), row)).collect();
    let families: [(&str, &str, Value); 4] = [
        ("trivet_url_requests", "Requests by host and URL pattern.", |row| ratio(row.requests, 1)),
        ("trivet_url_sent_bytes", "Bytes sent by host and URL pattern.", |row| ratio(row.bytes, 1)),
        ("trivet_url_cpu_seconds", "CPU time by host and URL pattern (estimate).", |row| {
            seconds_of(row.times.cpu_ns)
        }),
        (
            "trivet_url_run_queue_seconds",
            "Time ready to run without a processor, by host and URL pattern (estimate).",
            |row| seconds_of(row.times.run_queue_ns),
        ),
    ];
    for (family, help, value) in families {
        out.family(family, "counter", help);
        for (host, pattern, row) in &rows {
            let labels = [("host", *host), ("pattern", pattern)];
            out.sample(&format!("{family}_total"), &labels, value(row));
        }
    }
    out.family(
        "trivet_url_responses",
        "counter",
        "Responses by host, URL pattern and class of status.",
    );
    for (host, pattern, row) in &rows {
        for (class, count) in ["1xx", "2xx", "3xx", "4xx", "5xx"].iter().zip(row.statuses) {
            let labels = [("host", *host), ("pattern", pattern), ("class", class)];
            out.sample("trivet_url_responses_total", &labels, count);
        }
    }
    out.family(
        "trivet_url_wait_seconds",
        "counter",
        "Time for which requests waited, by host, URL pattern and cause (estimate).",
    );
    for (host, pattern, row) in &rows {
        let waits = WaitCause::all().zip(row.times.waits_ns);
        for (cause, wait_ns) in waits.filter(|wait| wait.1 > 0) {
            let labels = [("host", *host), ("pattern", pattern), ("cause", cause.name())];
            out.sample("trivet_url_wait_seconds_total", &labels, seconds_of(wait_ns));
        }
    }
    out.family(
        "trivet_url_duration_seconds",
        "histogram",
        "Time from the first byte of a request to the last of its response.",
    );
    for (host, pattern, row) in &rows {
        histogram(out, host, pattern, row);
    }
}

/// Classes are cumulative here.
fn histogram(out: &mut MetricsText, host: &str, pattern: &str, row: &AccountView) {
    const NAME: &str = "trivet_url_duration_seconds";
    let bounds = WALL_BOUNDS_US.map(|us| number(ratio(us, 1_000_000)));
    let bounds = bounds.iter().map(String::as_str).chain(["+Inf"]);
    let mut sum = 0_u64;
    for (bound, count) in bounds.zip(row.histogram) {
        sum = sum.saturating_add(count);
        let labels = [("host", host), ("pattern", pattern), ("le", bound)];
        out.sample(&format!("{NAME}_bucket"), &labels, sum);
    }
    let labels = [("host", host), ("pattern", pattern)];
    out.sample(&format!("{NAME}_count"), &labels, sum);
    out.sample(&format!("{NAME}_sum"), &labels, seconds_of(row.times.wall_ns));
}

/// A number as OpenMetrics wants bounds to be written: `1e-06`, `0.0001`, `2.5`.
fn number(value: f64) -> String {
    let text = format!("{value:?}");
    match text.split_once("e-") {
        Some((digits, exponent)) => format!("{digits}e-{exponent:0>2}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::super::everything::readable;
    use super::*;

    #[test]
    fn the_version_is_a_number_as_dashboards_know_it() {
        assert_eq!(version(), "2.04071");
    }

    #[test]
    fn hostile_text_stays_within_its_label() {
        let mut out = MetricsText(String::new());
        out.sample("x", &[("a", "q\"\\\n{}\r\u{0}<script>"), ("b", "")], 1.5);
        let expected = "x{a=\"q\\\"\\\\\\n{}\\\\u000d\\\\u0000<script>\",b=\"\"} 1.5\n";
        assert_eq!(out.0, expected);
    }

    #[test]
    fn different_names_are_different_labels() {
        let alphabet: [&[u8]; 9] =
            [b"\\", b"x", b"u", b"0", b"n", b"\n", b"\r", b"\xff", b"\xc2\x85"];
        let mut names: Vec<Vec<u8>> = vec![Vec::new()];
        let mut last = names.clone();
        for _ in 0..4 {
            let longer = last.iter().flat_map(|name| {
                alphabet.iter().map(move |letter| [name.as_slice(), letter].concat())
            });
            last = longer.collect();
            names.extend_from_slice(&last);
        }
        // What stands for a byte and for a control at full length.
        names.extend([b"\\xff".to_vec(), b"\\u0085".to_vec(), b"\\x85".to_vec(), b"\x85".to_vec()]);
        let mut seen = std::collections::HashSet::new();
        for name in names {
            let mut out = MetricsText(String::new());
            out.label(&readable(&name));
            assert!(!out.0.contains(char::is_control), "{}", name.escape_ascii());
            assert!(seen.insert(out.0), "{} is not alone", name.escape_ascii());
        }
    }

    #[test]
    fn classes_of_a_histogram_are_added_up() {
        let mut row = AccountView::default();
        row.histogram[0] = 2;
        row.histogram[22] = 1;
        row.histogram[23] = u64::MAX;
        let mut out = MetricsText(String::new());
        histogram(&mut out, "h", "/p", &row);
        let lines: Vec<&str> = out.0.lines().collect();
        let head = "trivet_url_duration_seconds_bucket{host=\"h\",pattern=\"/p\",le=";
        assert_eq!(lines[0], format!("{head}\"1e-06\"}} 2"));
        assert_eq!(lines[4], format!("{head}\"2.5e-05\"}} 2"));
        assert_eq!(lines[6], format!("{head}\"0.0001\"}} 2"));
        assert_eq!(lines[22], format!("{head}\"30.0\"}} 3"));
        assert_eq!(lines[23], format!("{head}\"+Inf\"}} {}", u64::MAX));
        assert!(lines[24].ends_with(&format!("_count{{host=\"h\",pattern=\"/p\"}} {}", u64::MAX)));
    }
}
