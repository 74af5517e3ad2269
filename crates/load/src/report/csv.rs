//! The seconds of a run as comma-separated values. Columns may be added at the right; none changes
//! its name, unit or meaning.

use super::record::{PerSecond, Record, ServerSecond};

/// A column: its name, and its value; empty where nobody knows it.
type Column = (&'static str, fn(&PerSecond) -> String);

const COLUMNS: &[Column] = &[
    ("until_s", |second| exact(second.until_s)),
    ("length_s", |second| exact(second.length_s)),
    ("users", |second| second.users.to_string()),
    ("requests", |second| second.requests.to_string()),
    ("errors", |second| second.errors.to_string()),
    ("timeouts", |second| second.timeouts.to_string()),
    ("rate", |second| exact(second.rate)),
    ("received_bytes", |second| second.received_bytes.to_string()),
    ("p50_us", |second| measured(second.p50_us)),
    ("p90_us", |second| measured(second.p90_us)),
    ("p99_us", |second| measured(second.p99_us)),
    ("max_us", |second| measured(second.max_us)),
    ("generator_cpu_percent", |second| exact(second.generator_cpu_percent)),
    ("server_cpu_us_per_request", |second| of(second, |it| Some(exact(it.cpu_us_per_request)))),
    ("server_cpu_percent", |second| of(second, |it| Some(exact(it.cpu_percent)))),
    ("server_run_queue_ms_per_s", |second| of(second, |it| Some(exact(it.run_queue_ms_per_s)))),
    ("server_pss_bytes", |second| of(second, |it| Some(it.pss_bytes.to_string()))),
    ("server_processes", |second| of(second, |it| Some(it.processes.to_string()))),
    ("server_busy", |second| of(second, |it| it.busy.map(|busy| busy.to_string()))),
];

/// One line for each second, the names of the columns first (RFC 4180, with line feeds alone as
/// every tool here writes them). Until 0 the seconds are those of the warm-up.
pub fn csv(record: &Record) -> String {
    let names: Vec<&str> = COLUMNS.iter().map(|column| column.0).collect();
    let mut out = names.join(",");
    out.push('\n');
    for second in &record.seconds {
        let values: Vec<String> = COLUMNS.iter().map(|column| column.1(second)).collect();
        out.push_str(&values.join(","));
        out.push('\n');
    }
    out
}

/// To a thousandth, without needless zeros; nothing where nobody has measured it.
fn exact(value: f64) -> String {
    if value.is_nan() {
        return String::new();
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A time, or nothing where nothing was answered.
fn measured(us: f64) -> String {
    if us > 0.0 { exact(us) } else { String::new() }
}

fn of(second: &PerSecond, value: fn(&ServerSecond) -> Option<String>) -> String {
    second.server.as_ref().and_then(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_is_a_line_and_what_is_unknown_is_empty() {
        let plain = PerSecond { until_s: 1.0, length_s: 1.0, rate: 10.25, ..PerSecond::default() };
        let server = ServerSecond { pss_bytes: 4096, ..ServerSecond::default() };
        let seen = PerSecond { server: Some(server), ..plain.clone() };
        let text = csv(&Record { seconds: vec![plain, seen], ..Record::default() });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "1,1,0,0,0,0,10.25,0,,,,,0,,,,,,");
        assert_eq!(lines[2], "1,1,0,0,0,0,10.25,0,,,,,0,0,0,0,4096,0,");
        assert_eq!(lines.len(), 3);
        let columns = |line: &str| line.matches(',').count();
        assert!(lines.iter().all(|line| columns(line) == columns(lines[0])), "{text}");
    }
}
