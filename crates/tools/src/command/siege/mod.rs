//! `trivet siege`: siege 4 with the engine of `trivet bench`. Flags, files and the text that
//! programs read are siege's; what it does wrong is not.

mod auth;
mod cache;
mod compose;
mod config;
mod html;
mod inflate;
mod lines;
mod log;
mod options;
mod rc;
mod report;
mod show;
mod state;
mod urls;
mod user;

use super::Exit;
use crate::observe::Observer;
use crate::report::{PerSecond, RunRecord, RunSettings};
use config::Config;
use lines::{NoticeLevel, Screen, complain, notice};
use load::Window;
use load::pacer::Pacer;
use load::pattern::{LoadKind, LoadPattern};
use load::plan::{Plan, PlanEntry, RequestOrder};
use load::run::{self, LoadJob, RunOptions, RunOutcome, RunProblem, RunSecond, Witness};
use load::url::Url;
use log::SiegeLog;
use report::SiegeFigures;
use state::{SiegeCounts, SiegeState};
use std::ffi::OsString;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use tls::Connector;
use urls::{SiegeRequest, UrlsFault};
use user::SiegeScript;

/// Users at most: what a count on the command line may ask for.
const USERS_MAX: i64 = 1_000_000;

/// Runs the command with the words that follow its name; what is wrong with them is told under the
/// name that it was called by.
pub fn main(called_as: &str, args: impl IntoIterator<Item = OsString>) -> Exit {
    let args: Vec<String> =
        args.into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let words = options::CommandWords::split(&args);
    words.complaints.iter().for_each(|text| complain(&format!("{called_as}: {text}\n")));
    let mut config = Config::default();
    if let Err(path) = rc::load(words.value_of("rc").flatten(), &mut config) {
        return without_rc(&path);
    }
    if let Err(text) = words.apply(&mut config) {
        return fatal(Exit::Usage, &text);
    }
    if words.value_of("version").is_some() {
        complain(&show::version(&config));
        return Exit::Done;
    }
    if words.value_of("help").is_some() {
        return help(&config, Exit::Done);
    }
    if let Some(said) = config.settle() {
        notice(NoticeLevel::Error, said.trim_end());
    }
    if config.shows_config {
        say(&show::config(&config));
        return Exit::Done;
    }
    if (config.gets || config.prints) && config.url.is_none() {
        say("ERROR: -g/--get requires a commandline URL\n");
        return Exit::System;
    }
    cap_users(&mut config);
    prepare(config, !words.complaints.is_empty())
}

/// Everything that can go wrong before the first request goes wrong here.
fn prepare(config: Config, has_complaints: bool) -> Exit {
    if let Some(line) = config.headers.iter().find(|line| !is_field(line)) {
        let why = if line.contains(':') { "a line end" } else { "no ':'" };
        return fatal(Exit::System, &format!("{why} in http-header"));
    }
    let urls = match urls::load(&config) {
        Ok(urls) => urls,
        Err(UrlsFault::Line(text)) => return fatal(Exit::File, &text),
        Err(UrlsFault::Unreadable(error)) => {
            let (file, why) = (config.file.display(), plain(&error));
            notice(NoticeLevel::Alert, &format!("unable to open file: {file}: {why}"));
            return help(&config, Exit::File);
        }
    };
    if urls.tasks.is_empty() {
        return help(&config, if has_complaints { Exit::Usage } else { Exit::Done });
    }
    let logins = config
        .login_urls
        .iter()
        .map(|text| urls::login(text, &config).map_err(|why| format!("login-url {text}: {why}")));
    let logins = match logins.collect::<Result<Vec<_>, String>>() {
        Ok(logins) => logins,
        Err(text) => return fatal(Exit::File, &text),
    };
    let proxy = config.proxy_host.as_ref().map(|host| format!("{host}:{}", config.proxy_port));
    let proxy = match proxy.map(|proxy| Url::parse(&proxy)).transpose() {
        Ok(proxy) => proxy,
        Err(fault) => return fatal(Exit::Usage, &format!("proxy-host: {fault}")),
    };
    let log = match config.logging.then(|| SiegeLog::open(&config)).transpose() {
        Ok(log) => log,
        Err(error) => {
            let (file, why) = (config.logfile.display(), plain(&error));
            notice(NoticeLevel::Error, &format!("unable to create log file: {file}: {why}"));
            return Exit::File;
        }
    };
    let screen = Screen::new();
    let (counts, tasks) = (SiegeCounts::default(), urls.tasks);
    let state = Arc::new(SiegeState { config, tasks, logins, proxy, screen, counts });
    besiege(&state, urls.entries, log)
}

fn besiege(state: &Arc<SiegeState>, entries: Vec<PlanEntry>, log: Option<SiegeLog>) -> Exit {
    let config = &state.config;
    let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    let options = match connector(config) {
        Ok(connector) => RunOptions { connector: Some(connector), ..options_of(state) },
        Err(text) => return fatal(Exit::File, &text),
    };
    let users = f64::from(u32::try_from(config.users).unwrap_or(u32::MAX));
    let plan = Plan::new(entries, RequestOrder::InTurn);
    let pattern = LoadPattern::constant(LoadKind::Users, users, None);
    let (plan, pattern) = match (plan, pattern) {
        (Ok(plan), Ok(pattern)) => (plan, pattern),
        (Err(fault), _) | (_, Err(fault)) => return fatal(Exit::Usage, &fault.to_string()),
    };
    let settings = settings_of(config, options.threads);
    let job = LoadJob { plan, pacer: Pacer::new(pattern), which: None, options };
    let wants_more = !config.quiet && !config.json;
    let observer = if wants_more { observer(state) } else { None };
    let mut seconds = SiegeSeconds { all: Vec::new(), observer };
    if !config.gets && !config.quiet {
        complain(&format!(
            "** {}** Preparing {} concurrent users for battle.\n\
             The server is now under siege...{}",
            show::banner(config),
            config.users,
            if config.verbose { "\n" } else { "" }
        ));
    }
    let outcome = match run::run(job, &mut seconds) {
        Ok(outcome) => outcome,
        Err(problem) => return fatal(exit_of(&problem), &problem.to_string()),
    };
    state.screen.flush();
    let mut record = RunRecord::new(&outcome, settings, &names, seconds.all);
    record.summary.server = seconds.observer.as_ref().and_then(|seen| seen.total(&outcome.total));
    finish(state, &outcome, &record, log)
}

/// Prints and logs what the run came to.
fn finish(
    state: &SiegeState,
    outcome: &RunOutcome,
    record: &RunRecord,
    log: Option<SiegeLog>,
) -> Exit {
    let config = &state.config;
    let figures = SiegeFigures::new(&state.counts, &outcome.total, outcome.elapsed_ns);
    let is_over = config.seconds > 0 && outcome.elapsed_ns >= nanoseconds(config);
    if (outcome.was_interrupted || is_over) && !config.quiet {
        complain("\nLifting the server siege...");
    }
    if state.has_failed_enough() && !config.quiet {
        complain(
            "siege aborted due to excessive socket failure; you\n\
             can change the failure threshold in $HOME/.siegerc\n",
        );
    }
    if config.json {
        complain("\n");
        say(&report::json(&figures, config));
    } else if !config.quiet {
        complain(&format!("\n{}{}", report::text(&figures, config), report::more(record)));
    }
    if let Some(mut log) = log
        && let Err(error) = write_log(state, &mut log, &figures)
    {
        let (file, why) = (config.logfile.display(), plain(&error));
        notice(NoticeLevel::Error, &format!("unable to write to log file: {file}: {why}"));
        return Exit::File;
    }
    match Exit::of(&record.summary) {
        Exit::Done if record.summary.answers == 0 && figures.failed > 0 => Exit::Other,
        Exit::Done if figures.hits == 0 && state.counts.loops() > 0 => Exit::Redirects,
        Exit::Unreachable if state.counts.unresolved() > 0 => Exit::Unresolved,
        exit => exit,
    }
}

fn write_log(
    state: &SiegeState,
    log: &mut SiegeLog,
    figures: &SiegeFigures,
) -> std::io::Result<()> {
    let config = &state.config;
    if let Some(mark) = &config.mark {
        log.mark(mark)?;
    }
    if config.show_logfile {
        say(&format!("LOG FILE: {}\n", config.logfile.display()));
        let (rc, key) = (config.rc.display(), "show-logfile");
        say(&format!(
            "You can disable this log file notification by editing\n{rc} \
             and changing '{key}' to false.\n"
        ));
    }
    log.row(figures)?;
    match state.has_failed_enough() {
        true => log.mark("siege aborted due to excessive socket failure."),
        false => Ok(()),
    }
}

fn nanoseconds(config: &Config) -> u64 {
    config.seconds.unsigned_abs().saturating_mul(1_000_000_000)
}

/// How connections are secured. Certificates are not checked, as siege checks none; a redirect may
/// lead to https where no URL does.
fn connector(config: &Config) -> Result<Connector, String> {
    let key_is_elsewhere = config.ssl_key.is_some() && config.ssl_key != config.ssl_cert;
    if key_is_elsewhere {
        return Err("ssl-key: the key must be in the ssl-cert file".to_owned());
    }
    let options = tls::TlsOptions {
        verifies: false,
        identity: config.ssl_cert.as_ref().map(Into::into),
        ciphers: config.ssl_ciphers.clone(),
        ..tls::TlsOptions::default()
    };
    Connector::new(&options).map_err(|problem| problem.to_string())
}

fn options_of(state: &Arc<SiegeState>) -> RunOptions {
    let config = &state.config;
    let users = usize::try_from(config.users).unwrap_or(1);
    RunOptions {
        threads: (runtime::process::cores() / 2).clamp(1, users.max(1)),
        duration_ns: (config.seconds > 0).then(|| nanoseconds(config)),
        timeout_ms: config.timeout.unsigned_abs() * 1000,
        keeps_alive: config.keep_alive,
        faults_statuses: false,
        script: Some(Arc::new(SiegeScript(state.clone()))),
        ..RunOptions::default()
    }
}

fn settings_of(config: &Config, threads: usize) -> RunSettings {
    let users = u32::try_from(config.users).unwrap_or(u32::MAX);
    RunSettings {
        pace: format!("{users} users"),
        users_max: users,
        constant_users: None,
        thinks: config.delay > 0.0,
        threads,
        keep_alive: config.keep_alive,
        timeout_ms: config.timeout.unsigned_abs() * 1000,
        ..RunSettings::default()
    }
}

/// siege's limit counts where a resource file sets one; it does not wait for ten seconds then.
fn cap_users(config: &mut Config) {
    config.users = config.users.min(USERS_MAX);
    let Some(limit) = config.limit.filter(|limit| config.users > *limit) else { return };
    let (line, gap) = ("=".repeat(64), if limit > 999 { " " } else { "  " });
    say(&format!(
        "\n{line}\n\
         WARNING: The number of users is capped at {limit}.{gap}To increase this\n         \
         limit, search your .siegerc file for 'limit' and change\n         \
         its value. Make sure you read the instructions there...\n{line}\n"
    ));
    config.users = limit.max(1);
}

/// A line that is a field and no more.
fn is_field(line: &str) -> bool {
    line.contains(':') && !line.contains(['\r', '\n', '\0'])
}

const fn exit_of(problem: &RunProblem) -> Exit {
    match problem {
        RunProblem::Unresolved(_) => Exit::Unresolved,
        RunProblem::Descriptors { .. } => Exit::Descriptors,
        RunProblem::System(..) => Exit::System,
    }
}

/// The server that is to be looked at, if it is on this machine.
fn observer(state: &SiegeState) -> Option<Observer> {
    let own = state.tasks.iter().map(|task: &SiegeRequest| &task.url);
    let urls: Vec<&Url> = state.proxy.as_ref().map_or_else(|| own.collect(), |url| vec![url]);
    let mut hosts: Vec<(&str, u16)> =
        urls.iter().map(|url| (url.host.as_str(), url.port)).collect();
    hosts.dedup();
    let addresses: Vec<SocketAddr> =
        hosts.iter().filter_map(|host| host.to_socket_addrs().ok()).flatten().collect();
    Observer::of_addresses(&addresses)
}

/// Keeps the seconds of a run for what is said at its end.
struct SiegeSeconds {
    all: Vec<PerSecond>,
    observer: Option<Observer>,
}

impl Witness for SiegeSeconds {
    fn begins(&mut self) {
        if let Some(observer) = &mut self.observer {
            observer.begin();
        }
    }

    fn second(&mut self, second: &RunSecond, _: &Window) {
        let mut second = PerSecond::new(second);
        if let Some(observer) = &mut self.observer {
            observer.look(&mut second);
        }
        self.all.push(second);
    }
}

/// Prints on standard output.
fn say(text: &str) {
    let screen = Screen::new();
    screen.write(text.as_bytes());
    screen.flush();
}

fn help(config: &Config, exit: Exit) -> Exit {
    complain(&show::banner(config));
    say(&show::help());
    exit
}

fn without_rc(path: &std::path::Path) -> Exit {
    let line = "*".repeat(50);
    complain(&format!(
        "{line}\nsiege: could not open {}\n\
         run 'siege.config' to generate a new config file\n{line}\n",
        path.display()
    ));
    Exit::System
}

fn fatal(exit: Exit, text: &str) -> Exit {
    notice(NoticeLevel::Fatal, text);
    exit
}

/// The words of the system without its number.
fn plain(error: &std::io::Error) -> String {
    runtime::os_error::without_number(&error.to_string()).to_owned()
}
