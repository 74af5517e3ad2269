//! The figures of a run as words: the rows that the text and the page have in common, so that
//! neither can say another figure than the other.

use super::pages::PageSummary;
use super::record::{FirstFailureRecord, RunRecord, ServerRecord, Summary, TlsRecord};
use super::times::TimeDistribution;
use super::units::{bytes, count, figure, latency_us, printable, time_us};
use super::urls::PerUrl;

/// A row with a count and what it means.
pub(super) struct CountRow {
    pub(super) name: &'static str,
    pub(super) value: String,
    /// A rate, a share, an explanation; may be empty.
    pub(super) note: String,
}

/// What was counted; what never happened and need not be said is left out.
pub(super) fn counts(summary: &Summary) -> Vec<CountRow> {
    let row = |name, value, note: String| CountRow { name, value, note };
    let per_second = match summary.elapsed_s {
        s if s > 0.0 => summary.received_bytes as f64 / s,
        _ => 0.0,
    };
    let errors = match summary.errors {
        0 => String::new(),
        _ => format!("{} %", figure(error_percent(summary))),
    };
    let rate = format!("{}/s", figure(summary.rate));
    let received = bytes(summary.received_bytes as f64);
    let oldest = time_us(summary.aborted_oldest_us);
    let under_way = format!("under way at the end, the oldest for {oldest}");
    let extra = [
        (summary.aborted, "aborted", under_way.as_str()),
        (summary.repeated, "repeated", "the server had closed the connection before it answered"),
        (summary.late, "late", "no connection was free when they were due: see -c"),
        (summary.slipped, "slipped", "this program sent them more than 1 ms after they were due"),
    ];
    let mut rows = vec![
        row("requests", count(summary.requests), rate),
        row("errors", count(summary.errors), errors),
        row("received", received, format!("{}/s", bytes(per_second))),
    ];
    let happened = extra.into_iter().filter(|extra| extra.0 > 0);
    rows.extend(happened.map(|(value, name, note)| row(name, count(value), note.to_owned())));
    rows
}

/// What is said of pages; what never happened and need not be said is left out.
pub(super) fn page_counts(pages: &PageSummary) -> Vec<CountRow> {
    let row = |name, value, note| CountRow { name, value, note };
    let (requests, size) = (figure(pages.requests_per_page), bytes(pages.bytes_per_page));
    let mut rows = vec![
        row("pages", count(pages.loaded), format!("{}/s", figure(pages.rate))),
        row("each", requests, format!("requests, {size}")),
    ];
    let extra = [
        (pages.unasked, "unasked", "the cache had all of the page: in no other line"),
        (pages.incomplete, "incomplete", "pages that lack something"),
        (pages.failed, "failed", "pages that did not come"),
        (pages.aborted, "aborted", "pages under way at the end"),
        (pages.cached, "cached", "the cache had it"),
        (pages.renewed, "renewed", "the cache had it, and the server said that it still holds"),
        (pages.elsewhere, "elsewhere", "on hosts that are not asked: see --elsewhere"),
    ];
    let happened = extra.into_iter().filter(|extra| extra.0 > 0);
    rows.extend(happened.map(|(value, name, note)| row(name, count(value), note.to_owned())));
    rows
}

/// Failed requests of a hundred.
pub(crate) fn error_percent(summary: &Summary) -> f64 {
    summary.errors as f64 / summary.requests.max(1) as f64 * 100.0
}

/// The statuses with their counts, as `200: 1,234, 404: 2`; empty without answers.
pub(super) fn statuses(summary: &Summary) -> String {
    let texts =
        summary.statuses.iter().map(|(status, times)| format!("{status}: {}", count(*times)));
    texts.collect::<Vec<_>>().join(", ")
}

/// What the values of [`times`] are.
pub(super) const TIMES: [&str; 6] = ["mean", "p50", "p90", "p99", "p99.9", "max"];

/// The distributions of times.
pub(super) fn times(summary: &Summary) -> Vec<(&'static str, [String; 6])> {
    let row = |name, times: &TimeDistribution| {
        let values = [times.mean, times.p50, times.p90, times.p99, times.p99_9, times.max];
        (name, values.map(latency_us))
    };
    let mut rows = Vec::new();
    if let Some(pages) = &summary.pages {
        rows.push(row("page", &pages.time_us));
        rows.push(row("page begins", &pages.first_byte_us));
    }
    rows.push(row("latency", &summary.latency_us));
    rows.extend(summary.service_us.as_ref().map(|service| row("service", service)));
    rows.push(row("first byte", &summary.first_byte_us));
    if summary.connect_us.count > 0 {
        rows.push(row("connect", &summary.connect_us));
    }
    rows
}

/// A kind of failure.
pub(super) struct FailureRow {
    pub(super) name: String,
    pub(super) times: String,
    /// When it came first, and what was said; empty if nobody remembers.
    pub(super) first: String,
}

/// Every kind of failure that there was.
pub(super) fn failures(record: &RunRecord) -> Vec<FailureRow> {
    let kinds = record.summary.errors_by_kind.iter();
    kinds
        .map(|(kind, times)| {
            let first = record.firsts.iter().find(|first| first.kind == *kind);
            FailureRow {
                name: kind.replace('_', " "),
                times: count(*times),
                first: first.map_or(String::new(), |first| format!("first {}", moment(first))),
            }
        })
        .collect()
}

/// `at 12.34 s with 64 users: connection refused`.
pub(super) fn moment(first: &FirstFailureRecord) -> String {
    let text = if first.text.is_empty() { "" } else { ": " };
    let plural = if first.users == 1 { "" } else { "s" };
    let FirstFailureRecord { at_s, users, .. } = first;
    format!(
        "at {at_s:.2} s with {} user{plural}{text}{}",
        count((*users).into()),
        printable(&first.text)
    )
}

/// What the values of [`url`] are.
pub(super) const URLS: [&str; 5] = ["requests", "errors", "p50", "p99", "max"];

/// The figures of one URL.
pub(super) fn url(url: &PerUrl) -> [String; 5] {
    let times = &url.latency_us;
    let [p50, p99, max] = [times.p50, times.p99, times.max].map(latency_us);
    [count(url.answers), count(url.errors), p50, p99, max]
}

/// What the URLs behind the first so many came to, as a sentence: `and 280 more: 12,345
/// requests, 3 errors, the slowest 1.2 s`.
pub(super) fn unshown_urls(record: &RunRecord, shown: usize) -> Option<String> {
    let kept = record.urls.get(shown..).unwrap_or_default();
    let others = record.other_urls.as_ref();
    let urls = kept.len() + others.map_or(0, |others| others.urls);
    let rows = || kept.iter().chain(others.map(|others| &others.together));
    let answers = rows().map(|row| row.answers).sum();
    let errors = rows().map(|row| row.errors).sum();
    let slowest_us = rows().map(|row| row.latency_us.max).fold(0.0, f64::max);
    let [urls_text, answers, errors] = [urls as u64, answers, errors].map(count);
    let slowest = latency_us(slowest_us);
    (urls > 0).then(|| {
        format!("and {urls_text} more: {answers} requests, {errors} errors, the slowest {slowest}")
    })
}

/// What this program took, as a sentence.
pub(super) fn generator(record: &RunRecord) -> String {
    let own = &record.summary.generator;
    let threads = record.figures.threads;
    format!(
        "this program: {} us of CPU per request, {} % of {threads} thread{} busy",
        figure(own.cpu_us_per_request),
        figure(own.cpu_percent),
        if threads == 1 { "" } else { "s" },
    )
}

/// How connections were secured, as a sentence.
pub(super) fn tls(tls: &TlsRecord) -> String {
    let TlsRecord { version, suite, key_bits, temporary_key, .. } = tls;
    let protocol = if tls.protocol == "h2" { "; HTTP/2" } else { "" };
    format!("{version} with {suite}, {temporary_key}, key of {key_bits} bits{protocol}")
}

/// What the server took, as a sentence.
pub(super) fn server(server: &ServerRecord) -> String {
    let busy = match (server.busy_max, server.workers) {
        // Looked at once a second, workers may have been free at each of these moments.
        (Some(busy), Some(workers)) if busy > 0 => {
            let [busy, workers] = [busy, workers].map(|value| count(value.into()));
            format!(", at most {busy} of {workers} workers busy")
        }
        _ => String::new(),
    };
    format!(
        "the server ({}): {} us of CPU per request, {} % of a processor, {} in {} \
         process{}{busy}",
        server.program,
        figure(server.cpu_us_per_request),
        figure(server.cpu_percent),
        bytes(server.pss_bytes_max as f64),
        server.processes_max,
        if server.processes_max == 1 { "" } else { "es" },
    )
}
