//! What a command line asks for, before it is known to fit together.

use super::conditions::{FindMax, of_one_run};
use super::fault::{CommandFault, usage};
use super::files::{FileForm, ReportFiles};
use super::output::{BenchOutput, unit};
use super::requests::RequestOptions;
use crate::report::units;
use crate::report::{LoadLevels, RunSettings};
use crate::threshold::ThresholdCondition;
use load::pacer::Pacer;
use load::pattern::{LoadKind, LoadPattern};
use load::run::{LoadJob, PageOptions, RunOptions};

/// Users, if nobody says how many.
const USERS: u32 = 10;

/// Nanoseconds of a run, if nobody says how long.
const DURATION_NS: u64 = 10_000_000_000;

/// Nanoseconds of each run of a search, if nobody says how long.
const SEARCH_RUN_NS: u64 = 3_000_000_000;

/// What the command line asks for, option by option.
#[derive(Debug, Default)]
pub(super) struct BenchArguments {
    pub(super) what: RequestOptions,
    pub(super) users: Option<u32>,
    pub(super) rate: Option<f64>,
    /// Load patterns, which run one after the other.
    pub(super) patterns: Vec<String>,
    /// Levels of a staircase.
    pub(super) steps: Option<String>,
    pub(super) threads: Option<usize>,
    pub(super) timeout_ms: Option<u64>,
    pub(super) options: RunOptions,
    pub(super) tls: tls::TlsOptions,
    pub(super) json: bool,
    pub(super) is_quiet: bool,
    /// Processes of the server to observe (`--pid`).
    pub(super) pids: Vec<i32>,
    /// Whether users load whole pages (`--page`).
    pub(super) loads_pages: bool,
    pub(super) pages: PageOptions,
    /// The condition of `--find-max`, and whether it is for users or requests.
    pub(super) find: Option<(LoadKind, String)>,
    /// The reports that go to files, with their paths.
    pub(super) files: Vec<(FileForm, String)>,
    /// Conditions that make the command fail (`--fail-if`), with their text.
    pub(super) fail_if: Vec<(String, ThresholdCondition)>,
    /// Whether two saved runs are compared (`--diff`).
    pub(super) is_diff: bool,
}

impl BenchArguments {
    /// The job that is asked for.
    ///
    /// # Errors
    /// What does not fit together, and the exit code.
    pub(super) fn finish(
        mut self,
        words: &[String],
    ) -> Result<(LoadJob, BenchOutput), CommandFault> {
        self.choose_pages()?;
        for (text, condition) in &self.fail_if {
            of_one_run("--fail-if", text, condition)?;
        }
        let (plan, recorded) = self.what.plan(words, self.options.keeps_alive)?;
        if plan.looks_inside() && (self.options.pipeline > 1 || self.options.pages.is_some()) {
            let text = "--pipeline and --page look at statuses only: nothing else can be expected \
                        of answers, nor taken from them";
            return Err(usage(text));
        }
        let find_max = self.find_max(recorded.is_some())?;
        if self.files.iter().any(|row| row.0.is_of_levels())
            && !(find_max.is_some() || self.changes())
        {
            return Err(usage("--levels needs a load that changes: --steps, -p or --find-max"));
        }
        let pattern = self.pattern()?;
        self.count_users(&pattern)?;
        self.options.threads = self.threads(&pattern);
        self.options.timeout_ms = self.timeout_ms.unwrap_or(self.default_timeout_ms());
        self.check(&pattern)?;
        let schemes = plan.entries().iter().map(|entry| &entry.url.scheme);
        self.options.connector = self.connector(schemes)?;
        let output = BenchOutput {
            json: self.json,
            is_quiet: self.is_quiet,
            says_all: true,
            pids: std::mem::take(&mut self.pids),
            find_max,
            figures: self.figures(&pattern),
            levels: self.levels(&pattern),
            files: ReportFiles::open(&self.files)?,
            fail_if: std::mem::take(&mut self.fail_if),
        };
        let (pacer, which) = match recorded {
            Some((pacer, which)) => (pacer, Some(which)),
            None => (Pacer::new(pattern), None),
        };
        let options = RunOptions { gives_up: true, ..self.options };
        let job = LoadJob { plan, pacer, which, options };
        Ok((job, output))
    }

    /// What is searched for: `--rate` or `-c` then say where to begin.
    fn find_max(
        &mut self,
        is_replay: bool,
    ) -> Result<Option<(FindMax, Option<f64>)>, CommandFault> {
        let Some((kind, text)) = self.find.take() else { return Ok(None) };
        let has_pace = self.changes() || is_replay;
        let is_sized = self.options.requests.is_some() || self.options.pipeline > 1;
        if has_pace || is_sized || self.wants_waterfall() {
            return Err(usage(
                "--find-max sets the load itself: no -n, -p, --steps, --replay, --pipeline, --har",
            ));
        }
        let rate = self.rate.take();
        let first = match kind {
            LoadKind::Rate => rate,
            LoadKind::Users if rate.is_some() => {
                return Err(usage("--find-max-users excludes --rate"));
            }
            LoadKind::Users => self.users.map(f64::from),
        };
        if let (LoadKind::Rate, Some(users)) = (kind, self.users) {
            self.options.connections_max = users;
        }
        // The pace of the arguments only stands for those of the runs.
        self.users = Some(self.users.unwrap_or(self.options.connections_max));
        self.options.duration_ns = Some(self.options.duration_ns.unwrap_or(SEARCH_RUN_NS));
        Ok(Some((FindMax::new(kind, &text)?, first)))
    }

    fn wants_waterfall(&self) -> bool {
        self.files.iter().any(|(form, _)| form.is_of_page())
    }

    /// Whether users load pages, and what goes with that.
    fn choose_pages(&mut self) -> Result<(), CommandFault> {
        self.pages.keeps_waterfall = self.wants_waterfall();
        let pages = std::mem::take(&mut self.pages);
        if self.loads_pages {
            // Browsers say so, and servers have more to do then.
            self.what.accepts_gzip = true;
            self.options.pages = Some(pages);
        } else if pages.keeps_waterfall || pages.keeps_cache || pages.goes_elsewhere {
            return Err(usage("--har, --cache and --elsewhere need --page"));
        }
        Ok(())
    }

    /// Whether requests come by the clock.
    fn is_open(&self, pattern: &LoadPattern) -> bool {
        self.what.replay.is_some() || pattern.kind() == LoadKind::Rate
    }

    /// What `-c` says: users, or connections at most where requests come by the clock.
    fn count_users(&mut self, pattern: &LoadPattern) -> Result<(), CommandFault> {
        let has_users = self.changes();
        match self.users {
            Some(0) if self.is_open(pattern) => {
                return Err(usage("-c 0: at least one connection is needed"));
            }
            Some(users) if self.is_open(pattern) => self.options.connections_max = users,
            Some(_) if has_users => {
                return Err(usage(
                    "-c and a pattern both set the number of users: use one of them",
                ));
            }
            _ => {}
        }
        Ok(())
    }

    /// Refuse options that do not go together.
    fn check(&self, pattern: &LoadPattern) -> Result<(), CommandFault> {
        let options = &self.options;
        let (is_open, is_replay) = (self.is_open(pattern), self.what.replay.is_some());
        if options.pipeline > 1 && (is_open || !options.keeps_alive || options.follows) {
            return Err(usage("--pipeline does not work with a rate, --replay, --close or -L"));
        }
        if options.pipeline > 1 && options.pages.is_some() {
            return Err(usage(
                "--pipeline and --page exclude each other: browsers do not pipeline",
            ));
        }
        if options.http2 && (options.pipeline > 1 || self.what.http10) {
            return Err(usage("--http2 excludes --http1.0 and --pipeline (see --streams)"));
        }
        if options.streams > 1 && !options.http2 {
            return Err(usage("--streams needs --http2"));
        }
        let has_pattern = self.changes() || self.rate.is_some();
        if is_replay && has_pattern {
            return Err(usage("--replay has its own schedule: no rate, pattern or steps"));
        }
        Ok(())
    }

    /// blitz gave up after a second, and its patterns were made for that.
    fn default_timeout_ms(&self) -> u64 {
        if self.patterns.is_empty() { RunOptions::default().timeout_ms } else { 1000 }
    }

    fn pattern(&mut self) -> Result<LoadPattern, CommandFault> {
        let options = &mut self.options;
        let is_bounded = options.requests.is_some() || options.duration_ns.is_some();
        let each_ns = options.duration_ns.unwrap_or(DURATION_NS);
        match (&self.steps, self.patterns.is_empty(), self.rate) {
            (Some(steps), true, None) => {
                options.duration_ns = None;
                LoadPattern::parse_steps(steps, each_ns).map_err(usage)
            }
            (None, false, None) => LoadPattern::parse(&self.patterns.join(",")).map_err(usage),
            (None, true, rate) => {
                // A log says itself when it ends.
                if !is_bounded && self.what.replay.is_none() {
                    options.duration_ns = Some(DURATION_NS);
                }
                let kind = if rate.is_some() { LoadKind::Rate } else { LoadKind::Users };
                let level = rate.unwrap_or(f64::from(self.users.unwrap_or(USERS)));
                let length_ns = rate.and(options.duration_ns);
                LoadPattern::constant(kind, level, length_ns).map_err(usage)
            }
            _ => Err(usage("--rate, --pattern and --steps exclude each other")),
        }
    }

    /// Whether a pattern or steps say what the load is.
    const fn changes(&self) -> bool {
        !self.patterns.is_empty() || self.steps.is_some()
    }

    /// The levels that results are grouped by, where the load changes.
    fn levels(&self, pattern: &LoadPattern) -> Option<LoadLevels> {
        let options = &self.options;
        let last_ns = || Pacer::new(pattern.clone()).due(options.requests?.saturating_sub(1));
        let ends_ns = [options.duration_ns, last_ns().map(|due_ns| due_ns + 1)];
        let end_ns = ends_ns.into_iter().flatten().min();
        self.changes().then(|| LoadLevels::of(pattern.clone(), end_ns, options.pages.is_some()))
    }

    /// One thread for each two cores, as the server needs them too; more users than threads.
    fn threads(&self, pattern: &LoadPattern) -> usize {
        let most = match self.is_open(pattern) {
            false => pattern.peak() as usize,
            true => self.options.connections_max as usize,
        };
        self.threads.unwrap_or((runtime::process::cores() / 2).max(1)).clamp(1, most.max(1))
    }

    fn replay_in_words(&self) -> String {
        let speed = self.what.speed.unwrap_or(1.0);
        format!("replay of {} at {speed} x its speed", self.what.replay.as_deref().unwrap_or(""))
    }

    fn figures(&self, pattern: &LoadPattern) -> RunSettings {
        let options = &self.options;
        let is_open = self.is_open(pattern);
        let constant = !self.changes();
        let level = units::figure(pattern.peak());
        let unit = unit(pattern.kind(), options);
        let is_replay = self.what.replay.is_some();
        let pace = match (constant, is_open) {
            _ if is_replay => self.replay_in_words(),
            (true, true) => format!("{level} {unit}"),
            (true, false) => format!("{} users", units::count(pattern.peak() as u64)),
            (false, _) => match &self.steps {
                Some(steps) => format!("steps {steps}"),
                None => format!("pattern {}", self.patterns.join(",")),
            },
        };
        let is_rate = constant && pattern.kind() == LoadKind::Rate;
        RunSettings {
            pace,
            unit: if is_replay { String::new() } else { unit.to_owned() },
            constant_rate: is_rate.then_some(pattern.peak()),
            users_max: if is_open { options.connections_max } else { pattern.peak() as u32 },
            constant_users: (constant && !is_open).then_some(pattern.peak() as u32),
            thinks: options.think.is_some(),
            pipeline: options.pipeline,
            threads: options.threads,
            open_loop: is_open,
            keep_alive: options.keeps_alive,
            timeout_ms: options.timeout_ms,
            warm_up_s: options.warm_up_ns as f64 / 1e9,
        }
    }
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
