//! Through a maze: requests to both servers, cold and warm, and what must hold for the answers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::WINGS;
use super::grounds::{self, FILES, Kind, LINKS};
use super::rules::{self, Wing};
use super::spelling::{self, Request};
use crate::apache::Pair;
use crate::dice::Dice;
use crate::differential::{FRAMING, describe};
use crate::fpm::Fpm;
use crate::scratch::Scratch;
use crate::talk::Talk;
use crate::{Mpm, releases};

/// Why two answers may differ.
#[derive(Debug)]
pub struct Reason {
    /// In a few words.
    pub why: &'static str,
    /// Whether the few mazes of `make test` have a case of it.
    pub is_common: bool,
    /// Whether it explains a case.
    pub holds: fn(&Case) -> bool,
}

/// A request and its answers.
#[derive(Debug)]
pub struct Case {
    /// As it is made.
    pub request: Request,
    /// The path as it is sent.
    pub target: String,
    /// What holds in its wing.
    pub rules: String,
    /// Of apache2.
    pub theirs: Answer,
    /// Of trivet.
    pub ours: Answer,
}

/// An answer, as far as two can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// 0 if there is none.
    pub status: u16,
    /// `Content-Type`.
    pub content_type: String,
    /// Status line, fields and content.
    pub text: String,
    /// The markers of files in it.
    pub markers: BTreeSet<String>,
}

impl Answer {
    /// The content.
    pub fn body(&self) -> &str {
        self.text.split_once("\n\n").map_or("", |(_, body)| body)
    }

    /// The same answer without the fields of these names.
    pub fn without(&self, names: &[&str]) -> String {
        let is_kept = |line: &&str| !names.iter().any(|name| line.starts_with(&format!("{name}:")));
        let (head, body) = self.text.split_once("\n\n").unwrap_or((&self.text, ""));
        head.lines().filter(is_kept).chain(["", body]).collect::<Vec<_>>().join("\n")
    }
}

/// Fields that belong to a connection.
const OF_CONNECTION: [&str; 2] = ["Connection", "Keep-Alive"];

/// Asks one server.
fn ask(talk: &mut Talk, request: &Request) -> Answer {
    let ignored = [FRAMING, &OF_CONNECTION].concat();
    match talk.ask(&request.bytes()) {
        Ok(response) => {
            let text = describe(&response, talk.server(), &ignored);
            let content_type = response.field("Content-Type").unwrap_or("").to_owned();
            let markers = markers(&text);
            Answer { status: response.status, content_type, text, markers }
        }
        Err(failure) => Answer {
            status: 0,
            content_type: String::new(),
            text: format!("no response: {failure}"),
            markers: BTreeSet::new(),
        },
    }
}

fn markers(text: &str) -> BTreeSet<String> {
    let parts = text.split("MARKER").skip(1).filter_map(|part| part.split_once("END"));
    parts.map(|(name, _)| format!("MARKER{name}END")).collect()
}

/// What came of a maze.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Requests to trivet.
    pub requests: usize,
    /// How often each reason held.
    pub reasons: BTreeMap<&'static str, usize>,
    /// What must not be, each told once.
    pub findings: Vec<String>,
}

/// A maze that is served.
struct Maze {
    seed: u64,
    wings: Vec<Wing>,
    theirs: Talk,
    ours: Talk,
    /// What plain URLs show.
    shown: BTreeSet<String>,
    requests: usize,
}

/// Findings that are told; a fault is found again and again.
const FINDINGS_MAX: usize = 25;

/// Goes through the maze of `seed` with so many requests; `None` where there is no apache2.
pub fn through(
    test: &str,
    mpm: Mpm,
    seed: u64,
    count: usize,
    reasons: &'static [Reason],
) -> Option<Outcome> {
    let mut dice = Dice::new(seed);
    let wings = rules::draw(&mut dice);
    let site = Scratch::new();
    grounds::build(&site);
    rules::write_htaccess(&site, &wings);
    let more: String = wings.iter().map(|wing| wing.config.as_str()).collect();
    let pair = Pair::start_over([Mpm::Event, mpm], test, "maze", site, &more)?;
    let _fpm = Fpm::start(test, &pair.site.join("fpm.sock"), 2)?;
    pair.site.wait_until_at_rest(); // else nothing is prepared
    let theirs = Talk::new(pair.apache.address(), Some(releases::httpd_patch()));
    let ours = Talk::new(pair.trivet.address(), None);
    let mut maze = Maze { seed, wings, theirs, ours, shown: BTreeSet::new(), requests: 0 };
    let mut outcome = Outcome::default();
    maze.look_around(&mut outcome);
    let mut known = BTreeSet::new();
    for nth in 0..count {
        let request = Request::draw(&mut dice);
        let (case, faults) = maze.judge(&request, nth % 4 == 0);
        if let Some(reason) = faults.is_empty().then(|| explained(&case, reasons)).flatten() {
            *outcome.reasons.entry(reason.why).or_default() += 1;
            continue;
        }
        if faults.is_empty() && case.theirs == case.ours {
            continue;
        }
        let (case, faults) = maze.smallest(case, faults, reasons);
        let key = (case.theirs.status, case.ours.status, faults.clone(), wing_of(&case.target));
        if known.insert(key) && outcome.findings.len() < FINDINGS_MAX {
            outcome.findings.push(maze.tell(&case, &faults));
        }
    }
    outcome.requests = maze.requests;
    Some(outcome)
}

fn explained<'r>(case: &Case, reasons: &'r [Reason]) -> Option<&'r Reason> {
    if case.theirs == case.ours {
        return None;
    }
    reasons.iter().find(|reason| (reason.holds)(case))
}

impl Maze {
    /// What plain URLs show: whatever none of them does must never be seen. No source may be, that
    /// apache2 does not send.
    fn look_around(&mut self, outcome: &mut Outcome) {
        for path in plain_paths() {
            let request = Request::plain(&path);
            self.requests += 1;
            let ours = ask(&mut self.ours, &request);
            let is_source = |marker: &&String| is_script(marker) && !self.shown.contains(*marker);
            if ours.markers.iter().any(|marker| is_source(&marker)) {
                let theirs = ask(&mut self.theirs, &request);
                let target = String::from_utf8_lossy(&request.target()).into_owned();
                if !ours.markers.is_subset(&theirs.markers) {
                    let rules = self.rules(&request, &target);
                    let case = Case { request, target, rules, theirs, ours: ours.clone() };
                    outcome.findings.push(self.tell(&case, &["a source that is sent"]));
                }
            }
            self.shown.extend(ours.markers);
        }
    }

    /// Asks both, and says what is wrong with the answer beside what the other server says.
    fn judge(&mut self, request: &Request, is_warm: bool) -> (Case, Vec<&'static str>) {
        let theirs = ask(&mut self.theirs, request);
        let ours = ask(&mut self.ours, request);
        self.requests += 1;
        let target = String::from_utf8_lossy(&request.target()).into_owned();
        let rules = self.rules(request, &target);
        let mut faults = Vec::new();
        // What a document of errors or of folders names is shown by naming it.
        let is_named = ["ErrorDocument", "FallbackResource", "DirectoryIndex"]
            .iter()
            .any(|name| rules.lines().any(|line| line.starts_with(name)));
        let is_theirs = is_named && ours.markers.is_subset(&theirs.markers);
        if !is_theirs && !ours.markers.is_subset(&self.shown) {
            faults.push("a file that no plain URL shows");
        }
        if ours.status == 0 {
            faults.push("no answer");
        }
        if is_warm {
            let plain = Request { method: "GET", edits: Vec::new(), ..request.clone() };
            for _ in 0..3 {
                ask(&mut self.ours, &plain);
            }
            let again = [ask(&mut self.ours, request), ask(&mut self.ours, request)];
            self.requests += 5;
            if again.iter().any(|again| *again != ours) {
                faults.push("another answer once plain URLs were asked for");
            }
        }
        (Case { request: request.clone(), target, rules, theirs, ours }, faults)
    }

    /// The same fault with the least request.
    fn smallest(
        &mut self,
        mut case: Case,
        mut faults: Vec<&'static str>,
        reasons: &[Reason],
    ) -> (Case, Vec<&'static str>) {
        let statuses = |case: &Case| (case.theirs.status, case.ours.status);
        'smaller: loop {
            for less in case.request.smaller() {
                let (tried, wrong) = self.judge(&less, !faults.is_empty());
                let is_wrong = tried.theirs != tried.ours && explained(&tried, reasons).is_none();
                if wrong == faults
                    && statuses(&tried) == statuses(&case)
                    && (is_wrong || !wrong.is_empty())
                {
                    (case, faults) = (tried, wrong);
                    continue 'smaller;
                }
            }
            return (case, faults);
        }
    }

    fn tell(&self, case: &Case, faults: &[&str]) -> String {
        let request = String::from_utf8_lossy(&case.request.bytes()).trim_end().to_owned();
        let mut text = format!("\n== seed {}: {request}\n", self.seed);
        for fault in faults {
            let _ = writeln!(text, "!! {fault}");
        }
        let Case { rules, theirs, ours, .. } = case;
        let _ = writeln!(text, "{rules}-- apache2\n{}\n-- trivet\n{}", theirs.text, ours.text);
        text
    }

    /// Those of the wing that a request is for.
    fn rules(&self, request: &Request, target: &str) -> String {
        let mut text = String::new();
        let host = request.host.to_ascii_lowercase();
        let of_host = host.strip_prefix('t').and_then(|rest| rest.split('.').next());
        let number = of_host
            .and_then(|number| number.parse().ok())
            .or_else(|| wing_of(target))
            .or_else(|| wing_of(&request.plain)); // written in another way
        if let Some(wing) = number.and_then(|number: usize| self.wings.get(number)) {
            let Wing { config, htaccess: [own, sub] } = wing;
            let _ = writeln!(text, "-- rules\n{}", config.trim_end());
            for (name, lines) in [("its", own), ("sub's", sub)] {
                if !lines.is_empty() {
                    let _ = writeln!(text, "-- {name} .htaccess\n{}", lines.trim_end());
                }
            }
        }
        text
    }
}

/// Whether a marker is that of a script.
fn is_script(marker: &str) -> bool {
    FILES.iter().any(|(path, kind)| {
        let is_its = |wing| marker == grounds::marker(wing, path);
        matches!(kind, Kind::Program | Kind::Php) && (0..WINGS).any(is_its)
    })
}

/// The wing that a path names, or that a way leads to.
fn wing_of(target: &str) -> Option<usize> {
    let path = target
        .split_once("://")
        .map_or(target, |(_, rest)| rest.find('/').map_or("", |slash| &rest[slash..]));
    let first = path.trim_start_matches('/').split('/').next()?;
    let name = first.strip_prefix('~').unwrap_or(first);
    if let Some(number) = name.strip_prefix('t').and_then(|number| number.parse().ok()) {
        return Some(number);
    }
    spelling::LEADS.iter().find(|(way, _)| *way == format!("/{first}")).map(|(_, wing)| *wing)
}

/// Plain URLs of everything, also through links.
fn plain_paths() -> Vec<String> {
    let mut names: Vec<String> = FILES.iter().map(|(path, _)| (*path).to_owned()).collect();
    names.extend(LINKS.iter().map(|(name, _)| (*name).to_owned()));
    let through: Vec<String> = ["cur", "ldir", "lup", "sub/up", "otherdir", "bare/other"]
        .iter()
        .flat_map(|link| FILES.iter().map(move |(path, _)| format!("{link}/{path}")))
        .collect();
    let mut paths = Vec::new();
    for wing in 0..WINGS {
        let all = names.iter().chain(&through);
        paths.extend(all.map(|name| format!("/t{wing}/{name}")));
        paths.extend(names.iter().map(|name| format!("/~t{wing}/{name}")));
    }
    for (way, _) in spelling::LEADS {
        paths.push((*way).to_owned());
        paths.extend(names.iter().map(|name| format!("{way}/{name}")));
    }
    paths
}
