//! The page for people, in the shape of mod_status's, which programs read as well. Everything
//! that a client sent is escaped.

use super::figures::{Child, Figures, is_busy};
use super::number::{bytes, general, kilobytes, ratio, significant};
use super::{Names, in_words, load_averages, long_time};
use crate::identity::{IDENTITY, built};
use message::escape::html_escape;
use scoreboard::{ProcessView, WorkerView};
use std::io::Write as _;

/// Letters of the scoreboard on a line.
const LINE_LETTERS: usize = 64;

/// The page.
pub(super) fn html(figures: &Figures, names: &Names) -> Vec<u8> {
    let mut out = Vec::with_capacity(8192);
    head(&mut out, figures, names);
    summary(&mut out, figures);
    if figures.is_async() {
        children(&mut out, figures);
    }
    scoreboard(&mut out, figures);
    slots(&mut out, figures, names);
    out.extend_from_slice(LEGEND.as_bytes());
    out.extend_from_slice(b"</body></html>\n");
    out
}

fn head(out: &mut Vec<u8>, figures: &Figures, names: &Names) {
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
        names.local,
        figures.mpm.name(),
        built(),
    );
}

fn summary(out: &mut Vec<u8>, figures: &Figures) {
    let Figures { requests, bytes: sent, busy_ms, generation, .. } = *figures;
    let uptime_s = figures.uptime_s();
    let [user, system, children_user, children_system] = figures.cpu.seconds().map(general);
    let load = figures.cpu_load();
    let load =
        load.map_or_else(String::new, |load| format!(" - {}% CPU load", significant(load, 3)));
    let _ = write!(
        out,
        "<dt>Current Time: {}</dt>\n<dt>Restart Time: {}</dt>\n\
         <dt>Parent Server Config. Generation: {}</dt>\n\
         <dt>Parent Server MPM Generation: {generation}</dt>\n\
         <dt>Server uptime: {}</dt>\n<dt>Server load: {}</dt>\n\
         <dt>Total accesses: {requests} - Total Traffic: {} - Total Duration: {busy_ms}</dt>\n\
         <dt>CPU Usage: u{user} s{system} cu{children_user} cs{children_system}{load}</dt>\n\
         <dt>{}</dt>\n\
         <dt>{} requests currently being processed, {} workers gracefully restarting, {} idle \
         workers</dt>\n</dl>",
        long_time(figures.now_s),
        long_time(figures.started_s),
        generation + 1,
        in_words(uptime_s),
        load_averages().join(" "),
        kilobytes(sent / 1024),
        rates(requests, sent, busy_ms, uptime_s),
        figures.slots(Child::busy),
        figures.slots(Child::graceful),
        figures.slots(Child::idle),
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
fn children(out: &mut Vec<u8>, figures: &Figures) {
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
    let connections = figures.connections(|child| child.process.connections);
    let writing = figures.connections(|child| child.process.writing);
    let closing = figures.connections(|child| child.process.lingering);
    let keep_alive = figures.connections(Child::keep_alive);
    let [busy, graceful, idle] =
        [Child::busy, Child::graceful, Child::idle].map(|count| figures.slots(count));
    let (processes, stopping) = (figures.processes(), figures.stopping());
    cells(out, &[&"Sum", &processes, &stopping, &connections, &"&nbsp;", &busy, &graceful, &idle]);
    cells(out, &[&0, &writing, &keep_alive, &closing]);
    out.extend_from_slice(b"</tr>\n</table>\n");
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

fn scoreboard(out: &mut Vec<u8>, figures: &Figures) {
    let letters = figures.scoreboard();
    let lines: Vec<&[u8]> = letters.as_bytes().chunks(LINE_LETTERS).collect();
    out.extend_from_slice(b"<pre>");
    out.extend_from_slice(&lines.join(&b'\n'));
    out.extend_from_slice(KEY.as_bytes());
}

/// The table of request slots: those that are busy, and those that once were.
fn slots(out: &mut Vec<u8>, figures: &Figures, names: &Names) {
    out.extend_from_slice(
        b"\n\n<table border=\"0\"><tr><th>Srv</th><th>PID</th><th>Acc</th><th>M</th><th>CPU\n\
          </th><th>SS</th><th>Req</th><th>Dur</th><th>Conn</th><th>Child</th><th>Slot</th>\
          <th>Client</th><th>Protocol</th><th>VHost</th><th>Request</th></tr>\n\n",
    );
    for (number, child) in figures.children.iter().enumerate() {
        for (row, letter) in child.workers.iter().zip(child.letters()) {
            if row.requests > 0 || is_busy(letter) || letter == b'G' {
                slot(out, figures, names, (number, child), (row, letter));
            }
        }
    }
    out.extend_from_slice(b"</table>\n");
}

/// A slot. It belongs to a request, never to a connection, so what httpd counts per connection is
/// not known; nor is how long the last request took.
fn slot(
    out: &mut Vec<u8>,
    figures: &Figures,
    names: &Names,
    (number, child): (usize, &Child),
    (row, letter): (&WorkerView, u8),
) {
    let (open, close) = if is_busy(letter) { ("<b>", "</b>") } else { ("", "") };
    let _ = write!(
        out,
        "<tr><td><b>{number}-{}</b></td><td>{}</td><td>-/{}/{}</td><td>{open}{}{close}\n</td>\
         <td>{:.2}</td><td>{}</td><td>-</td><td>{}</td><td>-</td><td>{:.2}</td><td>{:.2}\n</td>\
         <td>{}</td><td>http/1.1</td><td nowrap>",
        child.process.generation,
        row.pid,
        child.requests,
        row.requests,
        char::from(letter),
        child.cpu.total_s(),
        figures.now_ms.saturating_sub(row.started_ms) / 1000,
        row.busy_us / 1000,
        ratio(child.bytes, 1 << 20),
        ratio(row.bytes, 1 << 20),
        row.client.to_canonical(),
    );
    html_escape(names.host.as_deref().unwrap_or("-").as_bytes(), out);
    out.extend_from_slice(b"</td><td nowrap>");
    html_escape(&row.request, out);
    out.extend_from_slice(b"</td></tr>\n\n");
}

const KEY: &str = "</pre>\n<p>Scoreboard Key:<br />\n\"<b><code>_</code></b>\" Waiting for \
    Connection, \n\"<b><code>S</code></b>\" Starting up, \n\"<b><code>R</code></b>\" Reading \
    Request,<br />\n\"<b><code>W</code></b>\" Sending Reply, \n\"<b><code>K</code></b>\" \
    Keepalive (read), \n\"<b><code>D</code></b>\" DNS Lookup,<br />\n\"<b><code>C</code></b>\" \
    Closing connection, \n\"<b><code>L</code></b>\" Logging, \n\"<b><code>G</code></b>\" \
    Gracefully finishing,<br /> \n\"<b><code>I</code></b>\" Idle cleanup of worker, \n\
    \"<b><code>.</code></b>\" Open slot with no current process<br />\n</p>\n";

const LEGEND: &str = " <hr /> <table>\n\
    <tr><th>Srv</th><td>Child Server number - generation</td></tr>\n\
    <tr><th>PID</th><td>OS process ID</td></tr>\n\
    <tr><th>Acc</th><td>Number of accesses: not counted per connection (-) / this child / this \
    slot</td></tr>\n\
    <tr><th>M</th><td>Mode of operation</td></tr>\n\
    <tr><th>CPU</th><td>CPU usage of this child, number of seconds</td></tr>\n\
    <tr><th>SS</th><td>Seconds since beginning of most recent request</td></tr>\n\
    <tr><th>Req</th><td>Not kept (-)</td></tr>\n\
    <tr><th>Dur</th><td>Sum of milliseconds required to process the requests of this \
    slot</td></tr>\n\
    <tr><th>Conn</th><td>Not kept (-)</td></tr>\n\
    <tr><th>Child</th><td>Megabytes transferred this child</td></tr>\n\
    <tr><th>Slot</th><td>Total megabytes transferred this slot</td></tr>\n </table>\n";
