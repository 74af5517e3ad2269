//! What a run found, in one sentence that whoever reads nothing else is told no untruth by. What
//! it says depends on the situation: `headline_tests.rs` has all of them in a table.

use super::level::{HeldLevel, LoadLevel, level};
use super::record::{RunRecord, ServerRecord};
use super::rows::error_percent;
use super::units::{count, figure, seconds, time_us};
use super::warning::UNANSWERED_MAX;

/// A rate was reached if so much of it was.
const REACHED_MIN: f64 = 0.95;

/// Kinds of failures that are named.
const KINDS_MAX: usize = 3;

/// The sentence that says what a run found.
pub(super) fn headline(record: &RunRecord) -> String {
    let mut parts = match &record.capacity {
        Some(capacity) => vec![capacity.sentence()],
        None if record.summary.requests == 0 => nothing(record),
        None if has_good(record) => good(record),
        None => all_failed(record),
    };
    // A search says itself what ended it.
    if record.interrupted && record.capacity.is_none() {
        parts.push("the run was interrupted".to_owned());
    }
    parts.extend(match record.warnings.len() {
        0 => None,
        1 => Some("there is a reason to doubt these figures".to_owned()),
        warnings => Some(format!("there are {warnings} reasons to doubt these figures")),
    });
    parts.join("; ") + "."
}

/// Whether anything came that was wanted: to be sent elsewhere is no answer if none follows.
fn has_good(record: &RunRecord) -> bool {
    let summary = &record.summary;
    summary.answers > summary.redirected && (summary.rate > 0.0 || summary.errors == 0)
}

/// Nothing was answered, and nothing failed.
fn nothing(record: &RunRecord) -> Vec<String> {
    let summary = &record.summary;
    let what = format!("No request was completed{}", circumstances(record, "in"));
    vec![match summary.aborted {
        0 => what,
        aborted => {
            let oldest = time_us(summary.aborted_oldest_us);
            let were = if aborted == 1 { "was" } else { "were" };
            format!("{what}: {} {were} under way, the oldest for {oldest}", count(aborted))
        }
    }]
}

fn all_failed(record: &RunRecord) -> Vec<String> {
    let summary = &record.summary;
    let all = circumstances(record, "in");
    let what = match summary.errors {
        // Followed, and the run had ended before an answer.
        0 => format!("All {} answers were redirects{all}", count(summary.answers)),
        _ if summary.answers == 0 => {
            format!("None of {} was answered{all}", requests(summary.requests))
        }
        _ => format!("No good answer to {}{all}", requests(summary.requests)),
    };
    let mut parts = vec![match kinds(record).as_str() {
        "" => what,
        kinds => format!("{what}: {kinds}"),
    }];
    parts.extend(server(record));
    parts
}

/// `1 request`, `1,234 requests`.
fn requests(requests: u64) -> String {
    format!("{} request{}", count(requests), if requests == 1 { "" } else { "s" })
}

/// What failed, the most frequent first: `refused 1,200, timeout 34`.
fn kinds(record: &RunRecord) -> String {
    let statuses = || {
        let texts = record.summary.statuses.iter().map(|(status, times)| (*times, status));
        texts.max().map_or(String::new(), |most| format!(" (most often {})", most.1))
    };
    let mut kinds: Vec<(&String, u64)> =
        record.summary.errors_by_kind.iter().map(|(kind, times)| (kind, *times)).collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.1));
    let texts = kinds.iter().take(KINDS_MAX).map(|(kind, times)| {
        let statuses = if *kind == "status" { statuses() } else { String::new() };
        format!("{}{statuses} {}", kind.replace('_', " "), count(*times))
    });
    texts.collect::<Vec<_>>().join(", ")
}

fn good(record: &RunRecord) -> Vec<String> {
    let mut parts = match best(record) {
        Some(best) => of_levels(record, best),
        None => of_one_load(record),
    };
    parts.push(failures(record));
    let summary = &record.summary;
    if summary.aborted_slow > UNANSWERED_MAX {
        let oldest = time_us(summary.aborted_oldest_us);
        let waiting = count(summary.aborted_slow);
        parts.push(format!("{waiting} requests were still waiting, the oldest for {oldest}"));
    }
    parts.extend(server(record));
    parts
}

/// The level with the highest rate, if there are several.
fn best(record: &RunRecord) -> Option<&HeldLevel> {
    let is_changed = |one: &HeldLevel| one.figures.level != record.levels[0].figures.level;
    let best = record.levels.iter().max_by(|a, b| a.figures.rate.total_cmp(&b.figures.rate))?;
    let is_staircase = record.ramp.is_empty() && record.levels.iter().any(is_changed);
    (is_staircase && best.figures.rate > 0.0).then_some(best)
}

/// The lowest level whose rate is nearly the highest: more load than that brings no more.
fn enough<'a>(record: &'a RunRecord, best: &HeldLevel) -> Option<&'a HeldLevel> {
    let is_enough = |row: &&HeldLevel| {
        row.figures.level < best.figures.level
            && row.figures.rate >= best.figures.rate * REACHED_MIN
            && row.figures.p99_us > 0.0
    };
    let early = record.levels.iter().filter(is_enough);
    early.min_by(|a, b| a.figures.level.total_cmp(&b.figures.level))
}

fn of_levels(record: &RunRecord, best: &HeldLevel) -> Vec<String> {
    let loads = || record.levels.iter().map(|row| row.figures.level);
    let ends = [loads().fold(f64::INFINITY, f64::min), loads().fold(0.0, f64::max)];
    let ([least, most], best_level) = (ends.map(level), level(best.figures.level));
    let at = match record.figures.unit.as_str() {
        "users" => format!("with {best_level} of {least} to {most} users"),
        unit => format!("where {best_level} were asked for, of {least} to {most} {unit}"),
    };
    let (rate, elapsed) = (rate(record, best.figures.rate), elapsed(record, "in"));
    let mut parts = vec![format!("At most {rate}, {at}{elapsed}")];
    if best.figures.p99_us > 0.0 {
        parts.push(format!("p99 {} there", time_us(best.figures.p99_us)));
    }
    parts.extend(enough(record, best).map(|early| {
        let LoadLevel { rate, p99_us, .. } = early.figures;
        let (rate, p99, load) = (figure(rate), time_us(p99_us), level(early.figures.level));
        format!("{rate}/s, p99 {p99}, with {load} already")
    }));
    parts
}

fn of_one_load(record: &RunRecord) -> Vec<String> {
    let summary = &record.summary;
    let (per_second, times) = match &summary.pages {
        Some(pages) => (pages.rate, &pages.time_us),
        None => (summary.rate, &summary.latency_us),
    };
    let average = if record.ramp.is_empty() { "" } else { " on average" };
    let rate = format!("{}{average}", rate(record, per_second));
    let mut parts = vec![match record.figures.constant_rate {
        Some(wanted) if per_second < wanted * REACHED_MIN => {
            format!("Only {rate}{} where {} were asked for", elapsed(record, "for"), level(wanted))
        }
        Some(_) => format!("{rate}{}, as asked for", elapsed(record, "for")),
        None => format!("{rate}{}", circumstances(record, "for")),
    }];
    if times.count > 0 {
        let of = if summary.pages.is_some() { "p99 of pages" } else { "p99" };
        parts.push(format!("{of} {}", time_us(times.p99)));
    }
    parts
}

/// `1,234 requests/s`; of failed ones it does not speak.
fn rate(record: &RunRecord, per_second: f64) -> String {
    let what = match (&record.summary.pages, record.summary.errors) {
        (Some(_), _) => "pages",
        (None, 0) => "requests",
        (None, _) => "good answers",
    };
    format!("{} {what}/s", figure(per_second))
}

fn failures(record: &RunRecord) -> String {
    let summary = &record.summary;
    let percent = match error_percent(summary) {
        percent if percent < 0.005 => "less than 0.01".to_owned(),
        percent => figure(percent),
    };
    let mut text = match summary.errors {
        0 => "no failures".to_owned(),
        errors => {
            format!("{} of {} failed ({percent} %)", count(errors), requests(summary.requests))
        }
    };
    if let Some(pages) = summary.pages.as_ref().filter(|it| it.failed + it.incomplete > 0) {
        let (failed, incomplete) = (count(pages.failed), count(pages.incomplete));
        text += &format!(", {failed} pages failed to load and {incomplete} are incomplete");
    }
    text
}

/// `the server used 1.4 of 2 cores`.
fn server(record: &RunRecord) -> Option<String> {
    let ServerRecord { cpu_percent, cores, .. } = record.summary.server.as_ref()?;
    let used = match cpu_percent / 100.0 {
        used if !used.is_finite() => return None,
        used if used >= 0.95 => format!("{used:.1}"),
        used => format!("{used:.2}"),
    };
    Some(match cores {
        Some(1) => format!("the server used {used} of 1 core"),
        Some(cores) => format!("the server used {used} of {cores} cores"),
        None => format!("the server used {used} cores"),
    })
}

/// ` in 10.0 s with 64 users`, or what else was asked for.
fn circumstances(record: &RunRecord, within: &str) -> String {
    let figures = &record.figures;
    let pace = match figures.constant_users {
        Some(1) => " with 1 user".to_owned(),
        Some(users) => format!(" with {} users", count(users.into())),
        None if figures.pace.is_empty() => String::new(),
        None => format!(" ({})", figures.pace),
    };
    elapsed(record, within) + &pace
}

/// ` for 10.0 s`.
fn elapsed(record: &RunRecord, within: &str) -> String {
    let elapsed = match record.summary.elapsed_s {
        s if s < 1.0 => time_us(s * 1e6),
        s => seconds(s),
    };
    format!(" {within} {elapsed}")
}

#[cfg(test)]
#[path = "headline_tests.rs"]
mod tests;
