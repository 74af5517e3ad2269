//! A run for people: what came of it, what went wrong, what to doubt.

use super::record::Record;
use super::units::seconds;
use super::{capacity, level, pages, rows, urls};
use std::fmt::{self, Write as _};

/// The report as text.
pub fn text(record: &Record) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_all(&mut out, record);
    out
}

fn write_all(out: &mut String, record: &Record) -> fmt::Result {
    if let Some(capacity) = &record.capacity {
        capacity::write(out, capacity)?;
    }
    let interrupted = if record.interrupted { ", interrupted" } else { "" };
    let elapsed = seconds(record.summary.elapsed_s);
    writeln!(out, "{} in {elapsed}{interrupted}\n", record.figures.pace)?;
    if let Some(pages) = &record.summary.pages {
        write_counts(out, pages::counts(pages))?;
        writeln!(out)?;
    }
    write_counts(out, rows::counts(&record.summary))?;
    match rows::statuses(&record.summary).as_str() {
        "" => {}
        statuses => writeln!(out, "  statuses    {statuses}")?,
    }
    writeln!(out)?;
    write_times(out, record)?;
    write_failures(out, record)?;
    if !record.levels.is_empty() {
        level::write(out, record)?;
    }
    if record.urls.len() > 1 {
        write_urls(out, record)?;
    }
    writeln!(out, "\n{}", rows::generator(record))?;
    if let Some(tls) = &record.tls {
        writeln!(out, "{}", rows::tls(tls))?;
    }
    if let Some(server) = &record.summary.server {
        writeln!(out, "{}", rows::server(server))?;
    }
    if !record.warnings.is_empty() {
        writeln!(out, "\ndoubtful:")?;
    }
    record.warnings.iter().try_for_each(|warning| writeln!(out, "  - {warning}"))
}

fn write_counts(out: &mut String, counts: Vec<rows::Count>) -> fmt::Result {
    for rows::Count { name, value, note } in counts {
        match note.as_str() {
            "" => writeln!(out, "  {name:<11} {value:>14}")?,
            note => writeln!(out, "  {name:<11} {value:>14}   {note}")?,
        }
    }
    Ok(())
}

fn write_times(out: &mut String, record: &Record) -> fmt::Result {
    write!(out, "{:13}", "")?;
    rows::TIMES.iter().try_for_each(|name| write!(out, "{name:>10}"))?;
    writeln!(out)?;
    for (name, values) in rows::times(&record.summary) {
        write!(out, "  {name:<11}")?;
        values.iter().try_for_each(|value| write!(out, "{value:>10}"))?;
        writeln!(out)?;
    }
    Ok(())
}

fn write_failures(out: &mut String, record: &Record) -> fmt::Result {
    if record.summary.errors == 0 {
        return Ok(());
    }
    writeln!(out, "\nerrors:")?;
    for rows::Kind { name, times, first } in rows::failures(record) {
        let gap = if first.is_empty() { "" } else { "   " };
        writeln!(out, "  {name:<24} {times:>10}{gap}{first}")?;
    }
    Ok(())
}

fn write_urls(out: &mut String, record: &Record) -> fmt::Result {
    let [requests, errors, p50, p99, max] = rows::URLS;
    writeln!(out, "\n  {requests:>10} {errors:>9} {p50:>9} {p99:>9} {max:>9}  URL")?;
    for url in record.urls.iter().take(urls::LINES_MAX) {
        let [requests, errors, p50, p99, max] = rows::url(url);
        writeln!(out, "  {requests:>10} {errors:>9} {p50:>9} {p99:>9} {max:>9}  {}", url.name)?;
    }
    match urls::unshown(record, urls::LINES_MAX) {
        Some(others) => writeln!(out, "  {others}; see --json"),
        None => Ok(()),
    }
}
