//! A run as one page: no network, no other file, no script needed to see it. What a script adds is
//! the values of the moment that is pointed at.

mod axis;
mod latency;
mod plot;
mod response;
mod series;
mod tables;
#[cfg(test)]
mod tests;
mod unit;

use super::RunRecord;
use super::units;
use axis::{TimeAxis, moment};
use plot::Drawn;
use serde_json::json;
use series::{Bins, PLOTS, Plot};
use std::fmt::Write as _;
use unit::{escaped, json_in_script};

/// Above this many seconds moments are written as minutes.
const LONG_S: f64 = 120.0;

/// A warm-up has its name above it if it is so wide, of the whole.
const WARM_MIN: f64 = 0.05;

/// The page.
pub fn html(record: &RunRecord) -> String {
    let bins = Bins::of(record);
    let plots: Vec<(&Plot, Vec<Drawn>)> = PLOTS
        .iter()
        .map(|plot| (plot, plot::drawn(plot, &bins)))
        // Without the server what is left of its plots is said elsewhere.
        .filter(|(_, lines)| lines.first().is_some_and(|first| first.line.name != OWN_LINE))
        .collect();
    let mut out = String::with_capacity(64 * 1024);
    write_head(&mut out, record);
    tables::write_top(&mut out, record);
    write_plots(&mut out, record, &bins, &plots);
    response::write(&mut out, record);
    latency::write(&mut out, record);
    tables::write_all(&mut out, record);
    write_end(&mut out, record, &bins, &plots);
    out
}

/// The line of this program in the plot of the server's processor.
const OWN_LINE: &str = "each thread of this program";

fn write_head(out: &mut String, record: &RunRecord) {
    let title = escaped(&title(record));
    // Nothing is ever fetched, whatever a text from elsewhere might make of the page.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <title>{title}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n",
        include_str!("page.css"),
    );
}

/// What was asked for, in a line.
fn title(record: &RunRecord) -> String {
    match record.urls.as_slice() {
        [] => record.figures.pace.clone(),
        [only] => only.name.clone(),
        [first, others @ ..] => {
            let unkept = record.other_urls.as_ref().map_or(0, |others| others.urls);
            format!("{} and {} more", first.name, others.len() + unkept)
        }
    }
}

fn write_plots(
    out: &mut String,
    record: &RunRecord,
    bins: &Bins<'_>,
    plots: &[(&Plot, Vec<Drawn>)],
) {
    let time = bins.axis();
    let marks: Vec<f64> = record.firsts.iter().map(|first| first.at_s).collect();
    out.push_str("<section id=\"plots\">\n<div class=\"strip\"><div class=\"field\">");
    if time.from_s < 0.0 && time.place(0.0) > WARM_MIN {
        out.push_str("<i class=\"warm\">warm-up</i>");
    }
    for (number, at_s) in marks.iter().enumerate() {
        let left = plot::percent(time.place(*at_s));
        let _ = write!(out, "<b class=\"badge\" style=\"left:{left}\">{}</b>", number + 1);
    }
    out.push_str("<output id=\"moment\"></output></div></div>\n");
    let mut first_line = 0;
    for (plot, lines) in plots {
        plot::over_time(out, (plot, lines), (record, bins), &marks, first_line);
        first_line += lines.len();
    }
    write_time(out, &time);
    tables::write_firsts(out, record);
    out.push_str("</section>\n");
}

fn write_time(out: &mut String, time: &TimeAxis) {
    out.push_str("<div class=\"x\">");
    for tick in time.ticks() {
        let (left, text) = (plot::percent(time.place(tick)), moment(tick, time.to_s > LONG_S));
        let _ = write!(out, "<span style=\"left:{left}\">{text}</span>");
    }
    out.push_str("</div>\n");
}

fn write_end(out: &mut String, record: &RunRecord, bins: &Bins<'_>, plots: &[(&Plot, Vec<Drawn>)]) {
    let lines = plots.iter().flat_map(|(plot, lines)| {
        lines.iter().map(|drawn| {
            let values = drawn.points.iter().map(|point| point.map(|point| rounded(point.mean)));
            json!({
                "plot": plot.title,
                "name": drawn.line.name,
                "unit": plot.unit.name(),
                "values": values.collect::<Vec<_>>(),
            })
        })
    });
    let time = bins.axis();
    let data = json!({
        "from_s": time.from_s,
        "to_s": time.to_s,
        "is_long": time.to_s > LONG_S,
        "starts_s": bins.starts(),
        "lines": lines.collect::<Vec<_>>(),
        "figures": record.figures,
        "summary": record.summary,
        "firsts": record.firsts,
    });
    let _ = write!(
        out,
        "<script type=\"application/json\" id=\"data\">{}</script>\n<script>\n{}</script>\n\
         </main>\n</body>\n</html>\n",
        json_in_script(&data.to_string()),
        include_str!("page.js"),
    );
}

/// Four digits say enough where three are shown, and keep the page small.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// When a run began.
fn begun(record: &RunRecord) -> String {
    units::date(record.begun_unix_s)
}
