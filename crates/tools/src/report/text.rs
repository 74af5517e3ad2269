//! A run for people: what came of it, what went wrong, what to doubt.

use super::record::RunRecord;
use super::units::{count, seconds};
use super::{capacity, level, rows, urls};
use std::fmt::{self, Write as _};

/// The report as text.
pub fn text(record: &RunRecord) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_all(&mut out, record);
    out
}

fn write_all(out: &mut String, record: &RunRecord) -> fmt::Result {
    if let Some(capacity) = &record.capacity {
        capacity::write(out, capacity)?;
    }
    let interrupted = if record.interrupted { ", interrupted" } else { "" };
    let elapsed = seconds(record.summary.elapsed_s);
    writeln!(out, "{} in {elapsed}{interrupted}\n", record.figures.pace)?;
    if let Some(pages) = &record.summary.pages {
        write_counts(out, rows::page_counts(pages))?;
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
        write_levels(out, record)?;
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

fn write_counts(out: &mut String, counts: Vec<rows::CountRow>) -> fmt::Result {
    for rows::CountRow { name, value, note } in counts {
        match note.as_str() {
            "" => writeln!(out, "  {name:<11} {value:>14}")?,
            note => writeln!(out, "  {name:<11} {value:>14}   {note}")?,
        }
    }
    Ok(())
}

fn write_times(out: &mut String, record: &RunRecord) -> fmt::Result {
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

fn write_failures(out: &mut String, record: &RunRecord) -> fmt::Result {
    if record.summary.errors == 0 {
        return Ok(());
    }
    writeln!(out, "\nerrors:")?;
    for rows::FailureRow { name, times, first } in rows::failures(record) {
        let gap = if first.is_empty() { "" } else { "   " };
        writeln!(out, "  {name:<24} {times:>10}{gap}{first}")?;
    }
    Ok(())
}

/// Levels that have a line in a text.
const LEVELS_MAX: usize = 50;

/// The levels of a run as a table.
fn write_levels(out: &mut String, record: &RunRecord) -> fmt::Result {
    let [seconds, requests, rate] = level::HELD;
    let unit = &record.figures.unit;
    let names = level::columns(&level::CELLS);
    writeln!(out, "\n  {unit:>10} {seconds:>13} {requests:>11} {rate:>9}{names}")?;
    for row in record.levels.iter().take(LEVELS_MAX) {
        let [seconds, requests, rate] = level::held(row);
        let (level, cells) =
            (level::level(row.figures.level), level::columns(&level::cells(&row.figures)));
        writeln!(out, "  {level:>10} {seconds:>13} {requests:>11} {rate:>9}{cells}")?;
    }
    if let Some(more) = record.levels.len().checked_sub(LEVELS_MAX).filter(|more| *more > 0) {
        writeln!(out, "  and {} more; see --json", count(more as u64))?;
    }
    match level::uncounted(&record.levels) {
        Some(why) => writeln!(out, "  {why}"),
        None => Ok(()),
    }
}

fn write_urls(out: &mut String, record: &RunRecord) -> fmt::Result {
    let [requests, errors, p50, p99, max] = rows::URLS;
    writeln!(out, "\n  {requests:>10} {errors:>9} {p50:>9} {p99:>9} {max:>9}  URL")?;
    for url in record.urls.iter().take(urls::LINES_MAX) {
        let [requests, errors, p50, p99, max] = rows::url(url);
        writeln!(out, "  {requests:>10} {errors:>9} {p50:>9} {p99:>9} {max:>9}  {}", url.name)?;
    }
    match rows::unshown_urls(record, urls::LINES_MAX) {
        Some(others) => writeln!(out, "  {others}; see --json"),
        None => Ok(()),
    }
}
