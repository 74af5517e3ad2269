//! What the page for people has beyond httpd's: lines about the last minute and about the limit,
//! and the section that says where the time goes. Nothing here stands within what programs read of
//! httpd's page.

use super::everything::{Everything, name, seconds_of};
use super::minute::Minute;
use super::number::{bytes, ratio, significant};
use message::escape::html_escape;
use scoreboard::{AccountView, WaitCause};
use std::io::Write as _;

/// Lines behind those of httpd.
pub(super) fn lines(out: &mut Vec<u8>, all: &Everything) {
    if let Some(minute) = &all.minute {
        last_minute(out, minute);
    }
    let at_limit = &all.figures.at_limit;
    let times = match at_limit.times {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    let mut text = format!("{} s in all, {times}", at_limit.total_ms / 1000);
    if let Some(age_s) = all.at_limit_for_s() {
        text = format!("now, for {age_s} s; {text}");
    }
    // Writing to a Vec cannot fail, here and below.
    let _ = writeln!(
        out,
        "<dt>At MaxRequestWorkers ({}): {text}; {} requests wait for a worker, {} connections to \
         be accepted</dt>",
        all.workers_max,
        all.queued(),
        all.waiting()
    );
    let _ = write!(out, "<dt>Verdict: ");
    html_escape(all.verdict.text.as_bytes(), out);
    out.extend_from_slice(b"</dt>\n");
}

fn last_minute(out: &mut Vec<u8>, minute: &Minute) {
    let _ = writeln!(
        out,
        "<dt>Last {:.0} s: {:.1} requests/s - {}/s - {:.1} busy workers (at most {}) - {:.0} s at \
         MaxRequestWorkers</dt>",
        minute.seconds,
        minute.requests_per_s,
        bytes(whole(minute.bytes_per_s)),
        minute.busy_mean,
        minute.busy_max,
        minute.at_limit_s,
    );
    let percent = |share: Option<f64>| share.map_or("-".into(), |it| format!("{:.1}%", it * 100.0));
    let machine = |of: usize| percent(minute.machine.map(|shares| shares[of]));
    let [cpu, memory, io] = minute.stalled.map(percent);
    let available = minute.available_kib.map_or("-".into(), |kib| format!("{} MiB", kib / 1024));
    let _ = writeln!(
        out,
        "<dt>Machine: server {:.2} cores, all {} busy, {} iowait, {} steal - waited for: CPU \
         {cpu}, memory {memory}, disk {io} of the time - {available} of memory available</dt>",
        minute.server_cores,
        machine(0),
        machine(1),
        machine(2),
    );
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate for people, not below zero"
)]
fn whole(value: f64) -> u64 {
    value as u64
}

/// The table of URLs, by the time that they took.
pub(super) fn section(out: &mut Vec<u8>, all: &Everything) {
    out.extend_from_slice(b"<hr /><h2>Where the time goes</h2>\n<p>");
    html_escape(all.verdict.text.as_bytes(), out);
    for line in &all.verdict.working {
        out.extend_from_slice(b"<br />\n<code>");
        html_escape(line.as_bytes(), out);
        out.extend_from_slice(b"</code>");
    }
    out.extend_from_slice(b"</p>\n");
    if all.accounts.is_empty() {
        out.extend_from_slice(b"<p>No request has been answered yet.</p>\n");
        return;
    }
    out.extend_from_slice(
        b"<table border=\"0\"><tr><th>Host</th><th>URL</th><th>Requests</th><th>Per second</th>\
          <th>Bytes</th><th>2xx</th><th>3xx</th><th>4xx</th><th>5xx</th><th>Mean</th><th>p50</th>\
          <th>p95</th><th>p99</th><th>CPU</th><th>Run queue</th><th>Waits for</th>\
          <th>Of all CPU</th><th>Of all time</th></tr>\n",
    );
    for row in &all.accounts {
        url(out, row, all);
    }
    out.extend_from_slice(
        b"</table>\n<p>Since the start of this generation. Times are those of one request; \
          processor times are estimated from samples.</p>\n",
    );
}

fn url(out: &mut Vec<u8>, row: &AccountView, all: &Everything) {
    out.extend_from_slice(b"<tr><td nowrap>");
    html_escape(all.host(row).as_bytes(), out);
    out.extend_from_slice(b"</td><td nowrap>");
    html_escape(name(row).as_bytes(), out);
    let [_, ok, redirected, client_error, server_error] = row.statuses;
    let times = &row.times;
    let each = |time_ns: u64| duration(seconds_of(time_ns) / ratio(row.requests.max(1), 1));
    let quantile = |part| {
        let us = row.wall_quantile_us(part);
        us.map_or_else(|| "-".into(), |us| duration(ratio(us, 1_000_000)))
    };
    let percent = |part, sum| format!("{:.1}%", ratio(part, sum) * 100.0);
    let _ = writeln!(
        out,
        "</td><td>{}</td><td>{}</td><td>{}</td><td>{ok}</td><td>{redirected}</td>\
         <td>{client_error}</td><td>{server_error}</td><td>{}</td><td>{}</td><td>{}</td>\
         <td>{}</td><td>{}</td><td>{}</td><td nowrap>{}</td><td>{}</td><td>{}</td></tr>",
        row.requests,
        significant(ratio(row.requests, all.figures.generation_age_s()), 3),
        bytes(row.bytes),
        each(times.wall_ns),
        quantile(0.5),
        quantile(0.95),
        quantile(0.99),
        each(times.cpu_ns),
        each(times.run_queue_ns),
        waits(row),
        percent(times.cpu_ns, all.sum.times.cpu_ns),
        percent(times.wall_ns, all.sum.times.wall_ns),
    );
}

/// The waits that matter, the longest first: `handler 98%, disk 1%`.
fn waits(row: &AccountView) -> String {
    let mut waits: Vec<(WaitCause, f64)> = WaitCause::all()
        .zip(row.times.waits_ns)
        .map(|(cause, wait_ns)| (cause, ratio(wait_ns, row.times.wall_ns) * 100.0))
        .filter(|wait| wait.1 >= 1.0)
        .collect();
    waits.sort_by(|a, b| b.1.total_cmp(&a.1));
    let texts = waits.iter().map(|(cause, share)| format!("{} {share:.0}%", cause.name()));
    texts.collect::<Vec<_>>().join(", ")
}

/// `1.9 ms`
fn duration(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 0.001 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.0} us", s * 1e6),
    }
}
