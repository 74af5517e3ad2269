//! The options of `trivet bench`.

use super::super::option::{Group, Row};
use super::draft::Draft;
use crate::text::duration;

/// Every option, in the order of the help.
pub(super) const GROUPS: &[Group<Draft>] = &[
    Group {
        heading: "when",
        rows: &[
            Row {
                short: Some('c'),
                long: "users",
                value: "N",
                help: "users who wait for their answers; connections at most with --rate",
                apply: |draft, value| set(&mut draft.users, value),
            },
            Row {
                short: Some('n'),
                long: "requests",
                value: "COUNT",
                help: "end after so many",
                apply: |draft, value| set(&mut draft.options.requests, value),
            },
            Row {
                short: Some('d'),
                long: "duration",
                value: "TIME",
                help: "end after 30s, 5m, ... (default 10s); of each step with --steps",
                apply: |draft, value| set_duration(&mut draft.options.duration_ns, value),
            },
            Row {
                short: None,
                long: "rate",
                value: "R",
                help: "R requests per second, whatever the answers do; latency counts from when\n\
                       a request was due",
                apply: |draft, value| set(&mut draft.rate, value),
            },
            Row {
                short: Some('p'),
                long: "pattern",
                value: "PATTERN",
                help: "users up and down: 1-150:60,30,150-1:60; with r a rate: 10r-500r:60",
                apply: |draft, value| {
                    draft.patterns.push(value.to_owned());
                    Ok(())
                },
            },
            Row {
                short: None,
                long: "steps",
                value: "N,N,...",
                help: "users by steps, each as long as -d says",
                apply: |draft, value| set(&mut draft.steps, value),
            },
            Row {
                short: None,
                long: "warm-up",
                value: "TIME",
                help: "begin so long before anything counts",
                apply: |draft, value| {
                    duration(value).map(|ns| draft.options.warm_up_ns = ns).map_err(text)
                },
            },
        ],
    },
    Group {
        heading: "how",
        rows: &[
            Row {
                short: Some('t'),
                long: "threads",
                value: "N",
                help: "threads that send (default: half of the cores)",
                apply: |draft, value| set(&mut draft.threads, value),
            },
            Row {
                short: None,
                long: "timeout",
                value: "TIME",
                help: "an answer that is not complete by then is an error (default 30s; 1s with -p)",
                apply: |draft, value| {
                    duration(value).map(|ns| draft.timeout_ms = Some((ns / 1_000_000).max(1))).map_err(text)
                },
            },
            Row {
                short: None,
                long: "close",
                value: "",
                help: "a new connection for each request",
                apply: |draft, _| {
                    draft.options.keeps_alive = false;
                    Ok(())
                },
            },
            Row {
                short: None,
                long: "pipeline",
                value: "N",
                help: "send N requests at once on each connection",
                apply: |draft, value| set_number(&mut draft.options.pipeline, value),
            },
        ],
    },
    Group {
        heading: "what is said",
        rows: &[
            Row {
                short: None,
                long: "json",
                value: "",
                help: "one object of JSON on standard output",
                apply: |draft, _| {
                    draft.json = true;
                    Ok(())
                },
            },
            Row {
                short: Some('q'),
                long: "quiet",
                value: "",
                help: "nothing while it runs",
                apply: |draft, _| {
                    draft.is_quiet = true;
                    Ok(())
                },
            },
            Row {
                short: None,
                long: "pid",
                value: "PID",
                help: "the process to look at, and its descendants: processor, memory, workers\n\
                       (default: whoever listens at the port, if on this machine)",
                apply: |draft, value| {
                    let pid = value.parse().map_err(|_| format!("{value:?} is no process id"))?;
                    draft.pids.push(pid);
                    Ok(())
                },
            },
        ],
    },
];

fn text(error: impl ToString) -> String {
    error.to_string()
}

fn set<T: std::str::FromStr>(into: &mut Option<T>, value: &str) -> Result<(), String> {
    *into = Some(value.parse().map_err(|_| format!("{value:?} is no number"))?);
    Ok(())
}

fn set_number<T: std::str::FromStr>(into: &mut T, value: &str) -> Result<(), String> {
    *into = value.parse().map_err(|_| format!("{value:?} is no number"))?;
    Ok(())
}

fn set_duration(into: &mut Option<u64>, value: &str) -> Result<(), String> {
    *into = Some(duration(value).map_err(text)?);
    Ok(())
}
