//! The figures of the page: above the plots those that everybody looks for, below them all.

use super::unit::{escaped, pretty};
use super::{begun, title};
use crate::report::headline::headline;
use crate::report::{RunRecord, capacity, level, rows, units};
use std::fmt::Write as _;

/// URLs that have a row; the saved run has all.
const URLS_MAX: usize = 200;

/// Everything above the plots.
pub(super) fn write_top(out: &mut String, record: &RunRecord) {
    let figures = &record.figures;
    let interrupted = if record.interrupted { ", interrupted" } else { "" };
    let connections = if figures.keep_alive { "" } else { " \u{b7} a connection per request" };
    let about = format!(
        "{} in {}{interrupted}{connections} \u{b7} {}",
        figures.pace,
        units::seconds(record.summary.elapsed_s),
        begun(record),
    );
    let _ = write!(
        out,
        "<header>\n<p class=\"tool\">trivet bench</p>\n<h1>{}</h1>\n\
         <p class=\"found\">{}</p>\n<p>{}</p>\n</header>\n",
        escaped(&title(record)),
        escaped(&pretty(&headline(record))),
        escaped(&about),
    );
    write_tiles(out, record);
    if !record.warnings.is_empty() {
        out.push_str("<section class=\"doubts\">\n<h2>Doubtful</h2>\n<ul>\n");
        record.warnings.iter().for_each(|warning| {
            let _ = writeln!(out, "<li>{}</li>", escaped(warning));
        });
        out.push_str("</ul>\n</section>\n");
    }
}

fn write_tiles(out: &mut String, record: &RunRecord) {
    let summary = &record.summary;
    let errors = match summary.errors {
        0 => "0".to_owned(),
        _ => format!("{} %", units::figure(rows::error_percent(summary))),
    };
    let times = &summary.latency_us;
    // Where nothing was answered nothing was fast.
    let [p50, p99] = [times.p50, times.p99].map(|us| match times.count {
        0 => "\u{2013}".to_owned(),
        _ => units::time_us(us),
    });
    let mut tiles = vec![
        ("good answers per second", units::figure(summary.rate), ""),
        ("latency p50", p50, ""),
        ("latency p99", p99, ""),
        ("errors", errors, if summary.errors > 0 { " bad" } else { "" }),
    ];
    if let Some(server) = &summary.server {
        let us = units::time_us(server.cpu_us_per_request);
        tiles.push(("server CPU per request", us, ""));
    }
    out.push_str("<section class=\"tiles\">\n");
    for (name, value, class) in tiles {
        let value = pretty(&value);
        let _ = writeln!(out, "<div class=\"tile{class}\"><b>{value}</b><span>{name}</span></div>");
    }
    out.push_str("</section>\n");
}

/// What the numbers above the plots stand for.
pub(super) fn write_firsts(out: &mut String, record: &RunRecord) {
    if record.firsts.is_empty() {
        return;
    }
    out.push_str("<ol class=\"firsts\">\n");
    for first in &record.firsts {
        let (kind, text) = (escaped(&first.kind.replace('_', " ")), escaped(&rows::moment(first)));
        let _ = writeln!(out, "<li><b>first {kind}</b> {text}</li>");
    }
    out.push_str("</ol>\n");
}

/// Everything below the plots.
pub(super) fn write_all(out: &mut String, record: &RunRecord) {
    let summary = &record.summary;
    out.push_str("<section class=\"tables\">\n");
    if let Some(all) = &summary.pages {
        out.push_str("<div class=\"table\"><h2>Pages</h2><table>\n");
        for rows::CountRow { name, value, note } in rows::page_counts(all) {
            write_row(out, name, &[value], &note);
        }
        out.push_str("</table></div>\n");
    }
    out.push_str("<div class=\"table\"><h2>Requests</h2><table>\n");
    for rows::CountRow { name, value, note } in rows::counts(summary) {
        write_row(out, name, &[value], &note);
    }
    let statuses = rows::statuses(summary);
    if !statuses.is_empty() {
        let _ = writeln!(
            out,
            "<tr><th>statuses</th><td class=\"note\" colspan=\"2\">{statuses}</td></tr>"
        );
    }
    out.push_str(
        "</table></div>\n<div class=\"table\"><h2>Times</h2><table class=\"times\">\n<tr><td></td>",
    );
    rows::TIMES.iter().for_each(|name| {
        let _ = write!(out, "<th>{name}</th>");
    });
    out.push_str("</tr>\n");
    for (name, values) in rows::times(summary) {
        write_row(out, name, &values, "");
    }
    out.push_str("</table></div>\n");
    write_levels(out, record);
    write_failures(out, record);
    write_urls(out, record);
    out.push_str("</section>\n<footer>\n");
    let server = summary.server.as_ref().map(rows::server);
    let tls = record.tls.as_ref().map(rows::tls);
    for sentence in [rows::generator(record)].into_iter().chain(tls).chain(server) {
        let _ = writeln!(out, "<p>{}</p>", escaped(&pretty(&sentence)));
    }
    let _ = writeln!(out, "<p><code>{}</code></p>", escaped(&record.command.join(" ")));
    out.push_str("</footer>\n");
}

fn write_failures(out: &mut String, record: &RunRecord) {
    let failures = rows::failures(record);
    if failures.is_empty() {
        return;
    }
    out.push_str("<div class=\"table wide\"><h2>Errors</h2><table>\n");
    for rows::FailureRow { name, times, first } in failures {
        write_row(out, &name, &[times], &first);
    }
    out.push_str("</table></div>\n");
}

/// The levels of the run, or the runs of a search.
fn write_levels(out: &mut String, record: &RunRecord) {
    let (unit, own) = match &record.capacity {
        Some(capacity) => (&capacity.unit, &[capacity::ANSWERED][..]),
        None => (&record.figures.unit, &level::HELD[..]),
    };
    if record.capacity.is_none() && record.levels.is_empty() {
        return;
    }
    let title = if record.capacity.is_some() { "Runs of the search" } else { "Levels" };
    let _ = write!(out, "<div class=\"table wide\"><h2>{title}</h2><table class=\"levels\">\n<tr>");
    for name in [unit.as_str()].iter().chain(own).chain(&level::CELLS) {
        let _ = write!(out, "<th>{}</th>", escaped(name));
    }
    out.push_str("</tr>\n");
    for one in record.capacity.iter().flat_map(|capacity| &capacity.tries) {
        let mut values = vec![units::figure(one.answered)];
        values.extend(level::cells(&one.figures));
        write_row(out, &units::figure(one.figures.level), &values, &one.verdict());
    }
    for row in record.levels.iter().filter(|_| record.capacity.is_none()) {
        let values = [&level::held(row)[..], &level::cells(&row.figures)].concat();
        write_row(out, &level::level(row.figures.level), &values, "");
    }
    out.push_str("</table>");
    if let Some(why) = level::uncounted(&record.levels) {
        let _ = write!(out, "<p>{}</p>", escaped(&why));
    }
    out.push_str("</div>\n");
}

fn write_urls(out: &mut String, record: &RunRecord) {
    if record.urls.len() < 2 {
        return;
    }
    out.push_str("<div class=\"table wide\"><h2>URLs</h2><table>\n<tr><td></td>");
    rows::URLS.iter().for_each(|name| {
        let _ = write!(out, "<th>{name}</th>");
    });
    out.push_str("</tr>\n");
    for url in record.urls.iter().take(URLS_MAX) {
        write_row(out, &url.name, &rows::url(url), "");
    }
    out.push_str("</table>");
    if let Some(others) = rows::unshown_urls(record, URLS_MAX) {
        let _ = write!(out, "<p>{}; see the saved run</p>", pretty(&others));
    }
    out.push_str("</div>\n");
}

fn write_row(out: &mut String, name: &str, values: &[String], note: &str) {
    let _ = write!(out, "<tr><th>{}</th>", escaped(name));
    for value in values {
        let _ = write!(out, "<td>{}</td>", pretty(value));
    }
    if !note.is_empty() {
        let _ = write!(out, "<td class=\"note\">{}</td>", escaped(note));
    }
    out.push_str("</tr>\n");
}
