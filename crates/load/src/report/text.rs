//! A run for people: what came of it, what went wrong, what to doubt.

use super::record::{Moment, Record, Server, Summary, Times};
use super::units::{bytes, count, figure, seconds, time_us};
use std::fmt::{self, Write as _};

/// URLs that have a line of their own.
const URLS_MAX: usize = 20;

/// The report as text.
pub fn text(record: &Record) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_all(&mut out, record);
    out
}

fn write_all(out: &mut String, record: &Record) -> fmt::Result {
    let summary = &record.summary;
    let interrupted = if record.interrupted { ", interrupted" } else { "" };
    let elapsed = seconds(summary.elapsed_s);
    writeln!(out, "{} in {elapsed}{interrupted}\n", record.figures.pace)?;
    write_counts(out, summary)?;
    writeln!(out)?;
    write_times(out, summary)?;
    write_failures(out, summary, &record.firsts)?;
    if record.urls.len() > 1 {
        write_urls(out, record)?;
    }
    write_generator(out, record)?;
    if let Some(server) = &summary.server {
        write_server(out, server)?;
    }
    if !record.doubts.is_empty() {
        writeln!(out, "\ndoubtful:")?;
    }
    record.doubts.iter().try_for_each(|doubt| writeln!(out, "  - {doubt}"))
}

fn write_counts(out: &mut String, summary: &Summary) -> fmt::Result {
    let per_second = |value: u64| match summary.elapsed_s {
        s if s > 0.0 => value as f64 / s,
        _ => 0.0,
    };
    let requests = count(summary.requests);
    writeln!(out, "  requests    {requests:>14}   {}/s", figure(summary.rate))?;
    let share = summary.errors as f64 / summary.requests.max(1) as f64 * 100.0;
    match summary.errors {
        0 => writeln!(out, "  errors      {:>14}", 0)?,
        errors => writeln!(out, "  errors      {:>14}   {} %", count(errors), figure(share))?,
    }
    let received = bytes(summary.received_bytes as f64);
    let rate = bytes(per_second(summary.received_bytes));
    writeln!(out, "  received    {received:>14}   {rate}/s")?;
    let oldest = time_us(summary.aborted_oldest_us);
    let under_way = format!("under way at the end, the oldest for {oldest}");
    let extra: [(u64, &str, &str); 4] = [
        (summary.aborted, "aborted", &under_way),
        (summary.repeated, "repeated", "the server had closed the idle connection"),
        (summary.late, "late", "no connection was free when they were due: see -c"),
        (summary.slipped, "slipped", "this program sent them more than 1 ms after they were due"),
    ];
    for (value, name, what) in extra.into_iter().filter(|row| row.0 > 0) {
        writeln!(out, "  {name:<11} {:>14}   {what}", count(value))?;
    }
    let statuses: Vec<String> = summary
        .statuses
        .iter()
        .map(|(status, times)| format!("{status}: {}", count(*times)))
        .collect();
    if !statuses.is_empty() {
        writeln!(out, "  statuses    {}", statuses.join(", "))?;
    }
    Ok(())
}

fn write_times(out: &mut String, summary: &Summary) -> fmt::Result {
    let names = ["mean", "p50", "p90", "p99", "p99.9", "max"];
    write!(out, "{:13}", "")?;
    names.iter().try_for_each(|name| write!(out, "{name:>10}"))?;
    writeln!(out)?;
    let mut row = |name: &str, times: &Times| {
        let values = [times.mean, times.p50, times.p90, times.p99, times.p99_9, times.max];
        write!(out, "  {name:<11}")?;
        values.iter().try_for_each(|value| write!(out, "{:>10}", time_us(*value)))?;
        writeln!(out)
    };
    row("latency", &summary.latency_us)?;
    if let Some(service) = &summary.service_us {
        row("service", service)?;
    }
    row("first byte", &summary.first_byte_us)?;
    if summary.connect_us.count > 0 {
        row("connect", &summary.connect_us)?;
    }
    Ok(())
}

fn write_failures(out: &mut String, summary: &Summary, firsts: &[Moment]) -> fmt::Result {
    if summary.errors == 0 {
        return Ok(());
    }
    writeln!(out, "\nerrors:")?;
    for (kind, times) in &summary.errors_by_kind {
        let first = firsts.iter().find(|first| first.kind == *kind);
        let about = first.map_or(String::new(), |first| {
            let text = if first.text.is_empty() { "" } else { ": " };
            let users = first.users;
            let plural = if users == 1 { "" } else { "s" };
            format!("   first at {:.2} s with {users} user{plural}{text}{}", first.at_s, first.text)
        });
        writeln!(out, "  {:<24} {:>10}{about}", kind.replace('_', " "), count(*times))?;
    }
    Ok(())
}

fn write_urls(out: &mut String, record: &Record) -> fmt::Result {
    writeln!(out, "\n    requests    errors       p50       p99       max  URL")?;
    for url in record.urls.iter().take(URLS_MAX) {
        let times = &url.latency_us;
        let [p50, p99, max] = [times.p50, times.p99, times.max].map(time_us);
        let (answers, errors) = (count(url.answers), count(url.errors));
        writeln!(out, "  {answers:>10} {errors:>9} {p50:>9} {p99:>9} {max:>9}  {}", url.name)?;
    }
    match record.urls.len().checked_sub(URLS_MAX) {
        Some(more) if more > 0 => writeln!(out, "  and {more} more: see --json"),
        _ => Ok(()),
    }
}

fn write_generator(out: &mut String, record: &Record) -> fmt::Result {
    let own = &record.summary.generator;
    let threads = record.figures.threads;
    writeln!(
        out,
        "\nthis program: {} us of CPU per request, {} % of {threads} thread{} busy",
        figure(own.cpu_us_per_request),
        figure(own.cpu_percent),
        if threads == 1 { "" } else { "s" },
    )
}

fn write_server(out: &mut String, server: &Server) -> fmt::Result {
    write!(
        out,
        "the server ({}): {} us of CPU per request, {} % of a processor, {} in {} process{}",
        server.program,
        figure(server.cpu_us_per_request),
        figure(server.cpu_percent),
        bytes(server.pss_bytes_max as f64),
        server.processes_max,
        if server.processes_max == 1 { "" } else { "es" },
    )?;
    match (server.busy_max, server.workers) {
        (Some(busy), Some(workers)) => {
            writeln!(
                out,
                ", at most {} of {} workers busy",
                count(busy.into()),
                count(workers.into())
            )
        }
        _ => writeln!(out),
    }
}
