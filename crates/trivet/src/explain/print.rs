//! The explanation for people: a line for each decision, under the word for what it is about, with
//! the line of the configuration behind it; then what comes out.

use server::explain::{AskedRequest, Explanation};
use server::steps::{ExplainedStep, StepKind};
use std::fmt::Write as _;
use std::net::SocketAddr;

/// What is told beside the explanation itself.
pub(super) struct Facts<'f> {
    /// The configuration.
    pub(super) of: &'f str,
    /// Whose rights decided what may be read, if that is another user.
    pub(super) user: Option<&'f str>,
    pub(super) local: SocketAddr,
    /// Whether the configuration listens there.
    pub(super) is_listening: bool,
}

/// Where the texts begin.
const COLUMN: usize = 9;

/// The whole text.
pub(super) fn text(facts: &Facts<'_>, asked: &AskedRequest, explanation: &Explanation) -> String {
    let mut out = String::new();
    beginning(&mut out, facts, asked);
    out.push('\n');
    let mut last: Option<(StepKind, u32)> = None;
    for step in &explanation.steps {
        if is_new(last, step) {
            out.push('\n');
        }
        line(&mut out, last, step);
        last = Some((step.kind, step.depth));
    }
    out.push('\n');
    result(&mut out, explanation);
    out
}

fn beginning(out: &mut String, facts: &Facts<'_>, asked: &AskedRequest) {
    let head = String::from_utf8_lossy(&asked.head);
    head.lines().filter(|line| !line.is_empty()).for_each(|line| {
        let _ = writeln!(out, "> {}", shown(line));
    });
    let _ = write!(out, "from {} to {}, by {}", asked.client.ip(), facts.local, facts.of);
    if let Some(user) = facts.user {
        let _ = write!(out, ", as user {user}");
    }
    out.push('\n');
    if !facts.is_listening {
        let _ = writeln!(out, "(nobody listens at the port of the URL)");
    }
}

/// Whether something begins that is set apart.
fn is_new(last: Option<(StepKind, u32)>, step: &ExplainedStep) -> bool {
    step.kind == StepKind::Request && step.depth == 0 && last.is_some()
}

fn line(out: &mut String, last: Option<(StepKind, u32)>, step: &ExplainedStep) {
    let ExplainedStep { kind, depth, place, text } = step;
    let is_result = *kind == StepKind::RuleResult;
    let word = match last {
        Some((before, at)) if heading(before) == heading(*kind) && at == *depth => "",
        _ => heading(*kind),
    };
    let indent = 2 * *depth as usize + if is_result { 2 } else { 0 };
    let _ = write!(out, "{word:COLUMN$}{:indent$}{}", "", shown(text).trim_end());
    // A `.htaccess` file is a section as a whole.
    if let Some(place) = place.as_ref().filter(|place| place.line().is_some()) {
        let _ = write!(out, "  ({})", shown(&place.to_string()));
    }
    out.push('\n');
}

/// The word above steps of this kind.
fn heading(kind: StepKind) -> &'static str {
    match kind {
        StepKind::RuleResult => StepKind::Rule.name(),
        kind => kind.name(),
    }
}

fn result(out: &mut String, explanation: &Explanation) {
    let Explanation { status_line: line, script, handler, file, variables, .. } = explanation;
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(out, "{name:COLUMN$}{}", shown(value));
    };
    match script {
        Some(_) => row("result", &format!("what the script says, {line} if it names no status")),
        None => row("result", line),
    }
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if let Some(location) = &explanation.location {
        row("", &format!("Location: {}", lossy(location)));
    }
    if !file.is_empty() && explanation.location.is_none() {
        row("file", &lossy(file));
    }
    if let Some(handler) = handler {
        row("handler", handler);
    }
    if let Some(user) = &explanation.user {
        row("user", &lossy(user));
    }
    let mut name = "set";
    for (variable, value) in variables {
        row(name, &format!("{variable}={}", lossy(value)));
        name = "";
    }
    let mut name = "script";
    let told = script.iter().flatten();
    for (variable, value) in told.filter(|row| SCRIPT_VARIABLES.contains(&row.0.as_str())) {
        row(name, &format!("{variable}={}", lossy(value)));
        name = "";
    }
}

/// The variables of a script that depend on where a URL leads.
const SCRIPT_VARIABLES: &[&str] = &[
    "SCRIPT_FILENAME",
    "SCRIPT_NAME",
    "PATH_INFO",
    "PATH_TRANSLATED",
    "QUERY_STRING",
    "REQUEST_URI",
    "DOCUMENT_ROOT",
];

/// Without what would mean something to a terminal.
fn shown(text: &str) -> String {
    text.chars().map(|one| if one.is_control() { '\u{fffd}' } else { one }).collect()
}
