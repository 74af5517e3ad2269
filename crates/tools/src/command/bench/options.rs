//! The options of `trivet bench`.

use super::super::option::{CommandOption, OptionGroup};
use super::arguments::BenchArguments;
use super::files::{CSV, FileForm, HAR, HDR, HTML, LEVELS, SAVED};
use super::security;
use crate::observe;
use crate::threshold::ThresholdCondition;
use load::pattern::LoadKind;
use load::plan::{Expect, Think};
use load::text::duration;

/// Every option, in the order of the help.
pub(super) const GROUPS: &[OptionGroup<BenchArguments>] = &[
    OptionGroup {
        heading: "requests",
        rows: &[
            CommandOption {
                short: Some('m'),
                long: "method",
                value: "METHOD",
                help: "the method (default: GET, or POST with a body); one in a file wins",
                apply: |arguments, value| {
                    value.clone_into(&mut arguments.what.method);
                    Ok(())
                },
            },
            CommandOption {
                short: Some('H'),
                long: "header",
                value: "'NAME: VALUE'",
                help: "add a field to every request; an empty value removes a default one",
                apply: |arguments, value| {
                    arguments.what.fields.push(field(value)?);
                    Ok(())
                },
            },
            CommandOption {
                short: Some('b'),
                long: "body",
                value: "TEXT|@FILE",
                help: "the request body; @- reads standard input; one in a file wins",
                apply: |arguments, value| set(&mut arguments.what.body, value),
            },
            CommandOption {
                short: Some('f'),
                long: "file",
                value: "FILE",
                help: "read more URLs, with weights, methods, bodies and variables",
                apply: |arguments, value| {
                    arguments.what.files.push(value.to_owned());
                    Ok(())
                },
            },
            CommandOption {
                short: Some('v'),
                long: "variable",
                value: "NAME=VALUE",
                help: "define $(NAME): a text, list[a,b], number[1,99], uuid, ...",
                apply: |arguments, value| {
                    let (name, value) = value.split_once('=').ok_or("expected NAME=VALUE")?;
                    arguments.what.variables.push((name.to_owned(), value.to_owned()));
                    Ok(())
                },
            },
            CommandOption {
                short: Some('i'),
                long: "random",
                value: "",
                help: "choose the next URL at random",
                apply: |arguments, _| {
                    arguments.what.is_random = true;
                    Ok(())
                },
            },
            CommandOption {
                short: None,
                long: "expect",
                value: "WHAT",
                help: "success is 200,3xx or 'status==200 && body~\"Welcome\"' (default: <400)",
                apply: |arguments, value| {
                    arguments.what.expect = Some(Expect::parse(value).map_err(text)?);
                    Ok(())
                },
            },
            CommandOption {
                short: None,
                long: "think",
                value: "TIME[-TIME]",
                help: "users pause this long after each answer",
                apply: |arguments, value| {
                    arguments.options.think = Some(Think::parse(value).map_err(text)?);
                    Ok(())
                },
            },
            CommandOption {
                short: None,
                long: "cookies",
                value: "",
                help: "each user keeps its cookies",
                apply: |arguments, _| {
                    arguments.options.keeps_cookies = true;
                    Ok(())
                },
            },
            CommandOption {
                short: Some('L'),
                long: "follow",
                value: "",
                help: "follow redirects; every answer counts",
                apply: |arguments, _| {
                    arguments.options.follows = true;
                    Ok(())
                },
            },
            CommandOption {
                short: None,
                long: "page",
                value: "",
                help: "load whole pages, as a browser does; -n and --rate count pages",
                apply: |arguments, _| {
                    arguments.loads_pages = true;
                    Ok(())
                },
            },
            CommandOption {
                short: None,
                long: "cache",
                value: "cold|warm",
                help: "with --page: load as on a first visit (default) or on a return visit",
                apply: |arguments, value| {
                    arguments.pages.keeps_cache = match value {
                        "warm" => true,
                        "cold" => false,
                        _ => return Err("expected cold or warm".to_owned()),
                    };
                    Ok(())
                },
            },
            CommandOption {
                short: None,
                long: "elsewhere",
                value: "",
                help: "with --page: also load from hosts that no URL names",
                apply: |arguments, _| {
                    arguments.pages.goes_elsewhere = true;
                    Ok(())
                },
            },
            CommandOption {
                short: None,
                long: "replay",
                value: "LOG",
                help: "send the requests of an access log again, with their timing",
                apply: |arguments, value| set(&mut arguments.what.replay, value),
            },
            CommandOption {
                short: None,
                long: "speed",
                value: "X",
                help: "with --replay: 2 is twice as fast",
                apply: |arguments, value| set(&mut arguments.what.speed, value),
            },
        ],
    },
    OptionGroup {
        heading: "load",
        rows: &[
            CommandOption {
                short: Some('c'),
                long: "users",
                value: "N",
                help: "concurrent users; with a rate or a log, the most connections",
                apply: |arguments, value| set(&mut arguments.users, value),
            },
            CommandOption {
                short: Some('n'),
                long: "requests",
                value: "COUNT",
                help: "stop after this many requests",
                apply: |arguments, value| set(&mut arguments.options.requests, value),
            },
            CommandOption {
                short: Some('d'),
                long: "duration",
                value: "TIME",
                help: "stop after 30s, 5m, ... (default: 10s, or the whole log of --replay)",
                apply: |arguments, value| set_duration(&mut arguments.options.duration_ns, value),
            },
            CommandOption {
                short: None,
                long: "rate",
                value: "R",
                help: "send R requests per second, however slow the answers; latency counts from\n\
                       the moment a request was due",
                apply: |arguments, value| set(&mut arguments.rate, value),
            },
            CommandOption {
                short: Some('p'),
                long: "pattern",
                value: "PATTERN",
                help: "vary the users: 1-150:60,30,150-1:60; or, with r, the rate: 10r-500r:60",
                apply: pattern,
            },
            CommandOption {
                short: None,
                long: "rush",
                value: "PATTERN",
                help: "the same as --pattern",
                apply: pattern,
            },
            CommandOption {
                short: None,
                long: "steps",
                value: "N,N,...",
                help: "change the users in steps, each as long as -d says",
                apply: |arguments, value| set(&mut arguments.steps, value),
            },
            CommandOption {
                short: None,
                long: "find-max",
                value: "EXPR",
                help: "find the highest rate at which EXPR holds: 'p99<200ms && errors<0.1%';\n\
                       each run lasts as long as -d says (default: 3s), the first is at --rate",
                apply: |arguments, value| {
                    arguments.find = Some((LoadKind::Rate, value.to_owned()));
                    Ok(())
                },
            },
            CommandOption {
                short: None,
                long: "find-max-users",
                value: "EXPR",
                help: "the same for users; the first run has -c of them",
                apply: |arguments, value| {
                    arguments.find = Some((LoadKind::Users, value.to_owned()));
                    Ok(())
                },
            },
            CommandOption {
                short: None,
                long: "warm-up",
                value: "TIME",
                help: "run this long before anything counts",
                apply: |arguments, value| {
                    duration(value).map(|ns| arguments.options.warm_up_ns = ns).map_err(text)
                },
            },
        ],
    },
    OptionGroup {
        heading: "connections",
        rows: &[
            CommandOption {
                short: Some('t'),
                long: "threads",
                value: "N",
                help: "sending threads (default: half of the cores)",
                apply: |arguments, value| set(&mut arguments.threads, value),
            },
            CommandOption {
                short: None,
                long: "timeout",
                value: "TIME",
                help: "a slower answer counts as an error (default: 30s; 1s with -p);\n\
                       counts from the moment a request was due",
                apply: |arguments, value| {
                    duration(value)
                        .map(|ns| arguments.timeout_ms = Some((ns / 1_000_000).max(1)))
                        .map_err(text)
                },
            },
            CommandOption {
                short: None,
                long: "close",
                value: "",
                help: "open a new connection for each request",
                apply: |arguments, _| {
                    arguments.options.keeps_alive = false;
                    Ok(())
                },
            },
            CommandOption {
                short: None,
                long: "http1.0",
                value: "",
                help: "speak HTTP/1.0",
                apply: |arguments, _| {
                    arguments.what.http10 = true;
                    Ok(())
                },
            },
            CommandOption {
                short: None,
                long: "from",
                value: "ADDRESS",
                help: "connect from this local address; if repeated, they take turns",
                apply: |arguments, value| {
                    let address =
                        value.parse().map_err(|_| format!("{value:?} is not an address"))?;
                    if !observe::is_local(address) {
                        return Err(format!("{value} is not an address of this machine"));
                    }
                    arguments.options.from.push(address);
                    Ok(())
                },
            },
            CommandOption {
                short: None,
                long: "reset",
                value: "",
                help: "close connections with a reset, which frees their ports at once",
                apply: |arguments, _| {
                    arguments.options.resets = true;
                    Ok(())
                },
            },
            CommandOption {
                short: None,
                long: "seed",
                value: "N",
                help: "the seed of all random choices",
                apply: |arguments, value| set_number(&mut arguments.options.seed, value),
            },
            CommandOption {
                short: None,
                long: "pipeline",
                value: "N",
                help: "send N requests at once on each connection",
                apply: |arguments, value| set_number(&mut arguments.options.pipeline, value),
            },
        ],
    },
    security::GROUP,
    OptionGroup {
        heading: "output",
        rows: &[
            CommandOption {
                short: None,
                long: "json",
                value: "",
                help: "print the results as one JSON object",
                apply: |arguments, _| {
                    arguments.json = true;
                    Ok(())
                },
            },
            CommandOption {
                short: None,
                long: "har",
                value: "FILE",
                help: "with --page: write the waterfall of the first complete page (HAR)",
                apply: |arguments, value| file(arguments, HAR, value),
            },
            CommandOption {
                short: None,
                long: "html",
                value: "FILE",
                help: "write all figures and plots as one HTML page",
                apply: |arguments, value| file(arguments, HTML, value),
            },
            CommandOption {
                short: None,
                long: "csv",
                value: "FILE",
                help: "write a line for each second",
                apply: |arguments, value| file(arguments, CSV, value),
            },
            CommandOption {
                short: None,
                long: "levels",
                value: "FILE",
                help: "write a line for each level of --steps or -p, or run of --find-max",
                apply: |arguments, value| file(arguments, LEVELS, value),
            },
            CommandOption {
                short: None,
                long: "hdr",
                value: "FILE",
                help: "write the percentile table that HdrHistogram's plotFiles reads",
                apply: |arguments, value| file(arguments, HDR, value),
            },
            CommandOption {
                short: None,
                long: "save",
                value: "FILE",
                help: "write the run as JSON, for --diff",
                apply: |arguments, value| file(arguments, SAVED, value),
            },
            CommandOption {
                short: None,
                long: "diff",
                value: "",
                help: "compare two saved runs instead: --diff A.json B.json",
                apply: |arguments, _| {
                    arguments.is_diff = true;
                    Ok(())
                },
            },
            CommandOption {
                short: None,
                long: "fail-if",
                value: "EXPR",
                help: "exit with 99 if EXPR is true of the run: 'p99>200ms || errors>0.1%';\n\
                       with --diff: exit with 1 if true of run B or of the change: 'p99>+10%'",
                apply: |arguments, value| {
                    let condition = ThresholdCondition::parse(value).map_err(text)?;
                    arguments.fail_if.push((value.to_owned(), condition));
                    Ok(())
                },
            },
            CommandOption {
                short: Some('q'),
                long: "quiet",
                value: "",
                help: "print nothing while the run lasts",
                apply: |arguments, _| {
                    arguments.is_quiet = true;
                    Ok(())
                },
            },
            CommandOption {
                short: None,
                long: "pid",
                value: "PID",
                help: "the server process to watch, with its descendants: CPU, memory, workers\n\
                       (default: the process that listens on the port, if it is on this machine)",
                apply: |arguments, value| {
                    let pid: i32 =
                        value.parse().map_err(|_| format!("{value:?} is not a process id"))?;
                    if pid <= 0 || !observe::exists(pid) {
                        return Err(format!("there is no process {pid}"));
                    }
                    arguments.pids.push(pid);
                    Ok(())
                },
            },
        ],
    },
];

fn pattern(arguments: &mut BenchArguments, value: &str) -> Result<(), String> {
    arguments.patterns.push(value.to_owned());
    Ok(())
}

fn file(arguments: &mut BenchArguments, form: FileForm, path: &str) -> Result<(), String> {
    arguments.files.push((form, path.to_owned()));
    Ok(())
}

fn field(value: &str) -> Result<(String, String), String> {
    let (name, value) = value.split_once(':').ok_or("expected NAME: VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn text(error: impl ToString) -> String {
    error.to_string()
}

fn set<T: std::str::FromStr>(into: &mut Option<T>, value: &str) -> Result<(), String> {
    *into = Some(value.parse().map_err(|_| format!("{value:?} is not a number"))?);
    Ok(())
}

fn set_number<T: std::str::FromStr>(into: &mut T, value: &str) -> Result<(), String> {
    *into = value.parse().map_err(|_| format!("{value:?} is not a number"))?;
    Ok(())
}

fn set_duration(into: &mut Option<u64>, value: &str) -> Result<(), String> {
    *into = Some(duration(value).map_err(text)?);
    Ok(())
}
