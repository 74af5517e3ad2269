//! The page for people, in the shape of mod_status's, which programs read as well. Everything
//! that a client sent is escaped.

use super::cpu::load_averages;
use super::everything::Everything;
use super::figures::{ChildFigures, StatusFigures};
use super::names::ServerNames;
use super::number::{bytes, general, kilobytes, ratio, significant};
use super::spelled::{in_words, long_time};
use super::{beyond, rows};
use message::escape::html_escape;
use scoreboard::{Older, ProcessView, Totals};
use server::{IDENTITY, built};
use std::io::Write as _;

/// Letters of the scoreboard on a line.
const LINE_LETTERS: usize = 64;

/// What the page shows.
#[derive(Clone, Copy)]
pub(super) struct Shows {
    pub(super) extended: bool,
    /// A list in place of the table.
    pub(super) list: bool,
}

/// The page.
pub(super) fn html(all: &Everything, names: &ServerNames<'_>, shows: Shows) -> Vec<u8> {
    let figures = &all.figures;
    let mut out = Vec::with_capacity(8192);
    head(&mut out, figures, names);
    summary(&mut out, figures, shows.extended);
    if shows.extended {
        beyond::lines(&mut out, all);
    }
    out.extend_from_slice(b"</dl>");
    if figures.is_async() {
        children(&mut out, figures);
    }
    scoreboard(&mut out, figures);
    match shows {
        Shows { extended: false, .. } => {
            pids(&mut out, figures);
            out.extend_from_slice(SHORT.as_bytes());
        }
        Shows { list: true, .. } => rows::list(&mut out, figures, names),
        Shows { list: false, .. } => rows::table(&mut out, figures, names),
    }
    if shows.extended {
        beyond::section(&mut out, all);
    }
    out.extend_from_slice(&names.signature);
    out.extend_from_slice(b"</body></html>\n");
    out
}

fn head(out: &mut Vec<u8>, figures: &StatusFigures, names: &ServerNames<'_>) {
    out.extend_from_slice(
        b"<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\" \
          \"http://www.w3.org/TR/html4/strict.dtd\">\n<html><head>\n\
          <title>Apache Status</title>\n</head><body>\n<h1>Apache Server Status for ",
    );
    html_escape(names.server.as_bytes(), out);
    // Writing to a Vec cannot fail, here and below.
    let _ = writeln!(
        out,
        " (via {})</h1>\n\n<dl><dt>Server Version: {IDENTITY}</dt>\n\
         <dt>Server MPM: {}</dt>\n<dt>Server Built: {}\n</dt></dl><hr /><dl>",
        names.local.ip().to_canonical(),
        figures.mpm.name(),
        built(),
    );
}

fn summary(out: &mut Vec<u8>, figures: &StatusFigures, is_extended: bool) {
    let StatusFigures { generation, .. } = *figures;
    let _ = write!(
        out,
        "<dt>Current Time: {}</dt>\n<dt>Restart Time: {}</dt>\n\
         <dt>Parent Server Config. Generation: {}</dt>\n\
         <dt>Parent Server MPM Generation: {generation}</dt>\n\
         <dt>Server uptime: {}</dt>\n<dt>Server load: {}</dt>\n",
        long_time(figures.now_s),
        long_time(figures.started_s),
        generation + 1,
        in_words(figures.uptime_s()),
        load_averages().join(" "),
    );
    if is_extended {
        traffic(out, figures);
    }
    let _ = writeln!(
        out,
        "<dt>{} requests currently being processed, {} workers gracefully restarting, {} idle \
         workers</dt>",
        figures.slots(ChildFigures::busy),
        figures.graceful(),
        figures.slots(ChildFigures::idle),
    );
}

fn traffic(out: &mut Vec<u8>, figures: &StatusFigures) {
    let Totals { requests, bytes: sent, .. } = figures.totals;
    let busy_ms = figures.busy_ms();
    let [user, system, children_user, children_system] = figures.cpu.seconds().map(general);
    let load = figures.cpu_load();
    let load =
        load.map_or_else(String::new, |load| format!(" - {}% CPU load", significant(load, 3)));
    let _ = write!(
        out,
        "<dt>Total accesses: {requests} - Total Traffic: {} - Total Duration: {busy_ms}</dt>\n\
         <dt>CPU Usage: u{user} s{system} cu{children_user} cs{children_system}{load}</dt>\n\
         <dt>{}</dt>\n",
        kilobytes(sent / 1024),
        rates(requests, figures.whole_bytes(), busy_ms, figures.uptime_s()),
    );
}

/// `.0628 requests/sec - 101 B/second - 1609 B/request - .0714286 ms/request`, as far as there is
/// something to divide by.
fn rates(requests: u64, sent: u64, busy_ms: u64, uptime_s: u64) -> String {
    let mut parts = Vec::new();
    if let Some(per_second) = sent.checked_div(uptime_s) {
        parts.push(format!("{} requests/sec", significant(ratio(requests, uptime_s), 3)));
        parts.push(format!("{}/second", bytes(per_second)));
    }
    if let Some(per_request) = sent.checked_div(requests) {
        parts.push(format!("{}/request", bytes(per_request)));
        parts.push(format!("{} ms/request", general(ratio(busy_ms, requests))));
    }
    parts.join(" - ")
}

/// The table of processes and their connections.
fn children(out: &mut Vec<u8>, figures: &StatusFigures) {
    out.extend_from_slice(
        b"\n\n<table rules=\"all\" cellpadding=\"1%\">\n<tr><th rowspan=\"2\">Slot</th>\
          <th rowspan=\"2\">PID</th><th rowspan=\"2\">Stopping</th>\
          <th colspan=\"2\">Connections</th>\n<th colspan=\"3\">Threads</th>\
          <th colspan=\"4\">Async connections</th></tr>\n<tr><th>total</th><th>accepting</th>\
          <th>busy</th><th>graceful</th><th>idle</th><th>wait-io</th><th>writing</th>\
          <th>keep-alive</th><th>closing</th></tr>\n",
    );
    for (slot, child) in figures.children.iter().enumerate().filter(|row| row.1.is_there()) {
        let ProcessView { pid, connections, writing, lingering, .. } = child.process;
        let [stopping, accepting] = if child.is_stopping() { ["yes", "no"] } else { ["no", "yes"] };
        let (busy, graceful, idle) = (child.busy(), child.graceful(), child.idle());
        let keep_alive = child.keep_alive();
        cells(out, &[&slot, &pid, &stopping, &connections, &accepting, &busy, &graceful, &idle]);
        cells(out, &[&0, &writing, &keep_alive, &lingering]);
        out.extend_from_slice(b"</tr>\n");
    }
    older(out, figures);
    let connections =
        figures.connections(|child| child.process.connections) + figures.older.connections;
    let writing = figures.connections(|child| child.process.writing);
    let closing = figures.connections(|child| child.process.lingering);
    let keep_alive = figures.connections(ChildFigures::keep_alive);
    let (busy, graceful) = (figures.slots(ChildFigures::busy), figures.graceful());
    let idle = figures.slots(ChildFigures::idle);
    let (processes, stopping) = (figures.processes(), figures.stopping());
    cells(out, &[&"Sum", &processes, &stopping, &connections, &"&nbsp;", &busy, &graceful, &idle]);
    cells(out, &[&0, &writing, &keep_alive, &closing]);
    out.extend_from_slice(b"</tr>\n</table>\n");
}

/// Children of earlier generations. What each does stands on a scoreboard of their own.
fn older(out: &mut Vec<u8>, figures: &StatusFigures) {
    let Older { processes, busy, connections, .. } = figures.older;
    if processes > 0 {
        cells(out, &[&"-", &processes, &"yes (old gen)", &connections, &"no"]);
        cells(out, &[&0, &busy, &0, &0, &0, &0, &0]);
        out.extend_from_slice(b"</tr>\n");
    }
}

/// Cells of a table row, which the first of them opens.
fn cells(out: &mut Vec<u8>, values: &[&dyn std::fmt::Display]) {
    if out.ends_with(b"\n") {
        out.extend_from_slice(b"<tr>");
    }
    for value in values {
        let _ = write!(out, "<td>{value}</td>");
    }
}

fn scoreboard(out: &mut Vec<u8>, figures: &StatusFigures) {
    let letters = figures.scoreboard();
    out.extend_from_slice(b"<pre>");
    for line in letters.as_bytes().chunks(LINE_LETTERS) {
        out.extend_from_slice(line);
        if line.len() == LINE_LETTERS {
            out.push(b'\n');
        }
    }
    out.extend_from_slice(KEY.as_bytes());
}

/// Without the figures of single slots: which process has which states. httpd shows places that
/// cannot be used as well, with a blank for a state; here they are left out.
fn pids(out: &mut Vec<u8>, figures: &StatusFigures) {
    out.extend_from_slice(b"PID Key: <br />\n<pre>\n");
    let slots = figures.shown_children().flat_map(|child| {
        let pid = if child.is_there() { child.process.pid } else { 0 };
        child.letters().filter(|letter| *letter != b'.').map(move |letter| (pid, letter))
    });
    for (index, (pid, letter)) in slots.enumerate() {
        let end = if index % 3 == 2 { "\n" } else { "," };
        let _ = write!(out, "   {pid} in state: {} {end}", char::from(letter));
    }
    out.extend_from_slice(b"\n</pre>\n");
}

const KEY: &str = "</pre>\n<p>Scoreboard Key:<br />\n\"<b><code>_</code></b>\" Waiting for \
    Connection, \n\"<b><code>S</code></b>\" Starting up, \n\"<b><code>R</code></b>\" Reading \
    Request,<br />\n\"<b><code>W</code></b>\" Sending Reply, \n\"<b><code>K</code></b>\" \
    Keepalive (read), \n\"<b><code>D</code></b>\" DNS Lookup,<br />\n\"<b><code>C</code></b>\" \
    Closing connection, \n\"<b><code>L</code></b>\" Logging, \n\"<b><code>G</code></b>\" \
    Gracefully finishing,<br /> \n\"<b><code>I</code></b>\" Idle cleanup of worker, \n\
    \"<b><code>.</code></b>\" Open slot with no current process<br />\n</p>\n";

const SHORT: &str = "<hr />To obtain a full report with current status information you need to use \
    the <code>ExtendedStatus On</code> directive.\n";
