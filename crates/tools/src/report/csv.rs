//! The seconds of a run, and its loads, as comma-separated values (RFC 4180, with line feeds alone
//! as every tool here writes them). Columns may be added at the right; none changes its name, unit
//! or meaning.

use super::capacity::CapacityRun;
use super::level::{HeldLevel, LevelServer, LoadLevel};
use super::record::{PerSecond, RunRecord, ServerSecond};

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

/// A load of a run: its unit, when it was held, whether a condition did.
struct CsvLoad<'a> {
    unit: &'a str,
    span: Option<(f64, f64)>,
    figures: &'a LoadLevel,
    holds: Option<bool>,
}

/// A column of loads.
type LoadColumn = (&'static str, fn(&CsvLoad<'_>) -> String);

const LOADS: &[LoadColumn] = &[
    ("level", |load| exact(load.figures.level)),
    ("unit", |load| load.unit.to_owned()),
    ("from_s", |load| load.span.map_or_else(String::new, |span| exact(span.0))),
    ("to_s", |load| load.span.map_or_else(String::new, |span| exact(span.1))),
    ("counted_s", |load| exact(load.figures.counted_s)),
    ("requests", |load| load.figures.requests.to_string()),
    ("errors", |load| load.figures.errors.to_string()),
    ("rate", |load| exact(load.figures.rate)),
    ("p50_us", |load| measured(load.figures.p50_us)),
    ("p95_us", |load| measured(load.figures.p95_us)),
    ("p99_us", |load| measured(load.figures.p99_us)),
    ("server_cpu_us_per_request", |load| taken(load, |it| it.cpu_us_per_request.map(exact))),
    ("server_cpu_percent", |load| taken(load, |it| it.cpu_percent.map(exact))),
    ("server_pss_bytes_max", |load| taken(load, |it| Some(it.pss_bytes_max.to_string()))),
    ("holds", |load| load.holds.map_or_else(String::new, |holds| holds.to_string())),
];

/// One line for each level of a run, each run of a search, or, where a pattern holds no level, for
/// all seconds of about the same load.
pub fn levels_csv(record: &RunRecord) -> String {
    let loads: Vec<CsvLoad<'_>> = match (&record.capacity, record.levels.as_slice()) {
        (Some(capacity), _) => {
            capacity.tries.iter().map(|one| CsvLoad::tried(one, &capacity.unit)).collect()
        }
        (None, []) => {
            let load = |figures| CsvLoad::of(figures, &record.figures.unit);
            record.ramp.iter().map(load).collect()
        }
        (None, held) => held.iter().map(|row| CsvLoad::held(row, &record.figures.unit)).collect(),
    };
    let names: Vec<&str> = LOADS.iter().map(|column| column.0).collect();
    let mut out = names.join(",") + "\n";
    for load in &loads {
        let values: Vec<String> = LOADS.iter().map(|column| column.1(load)).collect();
        out.push_str(&(values.join(",") + "\n"));
    }
    out
}

impl<'a> CsvLoad<'a> {
    const fn of(figures: &'a LoadLevel, unit: &'a str) -> Self {
        Self { unit, span: None, figures, holds: None }
    }

    const fn held(row: &'a HeldLevel, unit: &'a str) -> Self {
        Self { span: Some((row.from_s, row.to_s)), ..Self::of(&row.figures, unit) }
    }

    const fn tried(one: &'a CapacityRun, unit: &'a str) -> Self {
        Self { holds: Some(one.holds), ..Self::of(&one.figures, unit) }
    }
}

fn taken(load: &CsvLoad<'_>, value: fn(&LevelServer) -> Option<String>) -> String {
    load.figures.server.as_ref().and_then(value).unwrap_or_default()
}

/// One line for each second, the names of the columns first. Until 0 the seconds are those of the
/// warm-up.
pub fn csv(record: &RunRecord) -> String {
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
        let text = csv(&RunRecord { seconds: vec![plain, seen], ..RunRecord::default() });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "1,1,0,0,0,0,10.25,0,,,,,0,,,,,,");
        assert_eq!(lines[2], "1,1,0,0,0,0,10.25,0,,,,,0,0,0,0,4096,0,");
        assert_eq!(lines.len(), 3);
        let columns = |line: &str| line.matches(',').count();
        assert!(lines.iter().all(|line| columns(line) == columns(lines[0])), "{text}");
    }
    #[test]
    fn each_load_is_a_line_whatever_it_is_one_of() {
        let server =
            LevelServer { cpu_percent: Some(75.5), pss_bytes_max: 4096, ..LevelServer::default() };
        let figures = LoadLevel {
            level: 25.0,
            counted_s: 9.0,
            requests: 90,
            rate: 10.0,
            p50_us: 1.5,
            server: Some(server),
            ..LoadLevel::default()
        };
        let mut record = RunRecord { ramp: vec![figures.clone()], ..RunRecord::default() };
        record.figures.unit = "users".to_owned();
        let second_line = |record: &RunRecord| {
            let text = levels_csv(record);
            assert_eq!(text.lines().count(), 2, "{text}");
            let names = "level,unit,from_s,to_s,counted_s,requests,errors,rate,p50_us,p95_us,\
                         p99_us,server_cpu_us_per_request,server_cpu_percent,\
                         server_pss_bytes_max,holds\n";
            text.strip_prefix(names).unwrap_or_else(|| panic!("{text}")).to_owned()
        };
        assert_eq!(second_line(&record), "25,users,,,9,90,0,10,1.5,,,,75.5,4096,\n");
        record.levels = vec![HeldLevel { from_s: 10.0, to_s: 20.5, figures: figures.clone() }];
        assert_eq!(second_line(&record), "25,users,10,20.5,9,90,0,10,1.5,,,,75.5,4096,\n");
        let figures = LoadLevel { server: None, ..figures };
        let tries = vec![CapacityRun { figures, holds: true, ..CapacityRun::default() }];
        record.capacity =
            Some(super::super::CapacitySearch { unit: "pages/s".into(), tries, ..<_>::default() });
        assert_eq!(second_line(&record), "25,pages/s,,,9,90,0,10,1.5,,,,,,true\n");
    }
}
