//! The slots one by one: as a table, or under `?notable` as a list (status_handler of
//! mod_status.c).

use super::figures::{ChildFigures, StatusFigures, is_busy};
use super::names::ServerNames;
use super::number::{bytes, general, ratio};
use message::escape::{html_escape, log_escape};
use scoreboard::{SlotCountsView, WorkerView};
use std::io::Write as _;

/// A slot in its child.
struct SlotRow<'a> {
    number: usize,
    child: &'a ChildFigures,
    row: &'a WorkerView,
    letter: u8,
    /// Since its last request began.
    age_s: u64,
}

/// Slots that are busy, and those that once were.
fn shown(figures: &StatusFigures) -> impl Iterator<Item = SlotRow<'_>> {
    figures.children.iter().enumerate().flat_map(move |(number, child)| {
        let rows = child.workers.iter().zip(child.letters());
        rows.filter(|(row, letter)| row.requests > 0 || !matches!(letter, b'_' | b'.' | b'I')).map(
            move |(row, letter)| {
                let age_ms = figures.now_ms.saturating_sub(row.started_ms);
                let age_s = if row.started_ms == 0 { 0 } else { age_ms / 1000 };
                SlotRow { number, child, row, letter, age_s }
            },
        )
    })
}

/// The table, with its legend.
pub(super) fn table(out: &mut Vec<u8>, figures: &StatusFigures, names: &ServerNames<'_>) {
    out.extend_from_slice(
        b"\n\n<table border=\"0\"><tr><th>Srv</th><th>PID</th><th>Acc</th><th>M</th><th>CPU\n\
          </th><th>SS</th><th>Req</th><th>Dur</th><th>Conn</th><th>Child</th><th>Slot</th>\
          <th>Client</th><th>Protocol</th><th>VHost</th><th>Request</th></tr>\n\n",
    );
    for slot in shown(figures) {
        row(out, &slot, names);
    }
    out.extend_from_slice(LEGEND.as_bytes());
}

fn row(out: &mut Vec<u8>, slot: &SlotRow<'_>, names: &ServerNames<'_>) {
    let SlotRow { number, child, row, letter, age_s } = *slot;
    let SlotCountsView { connection_bytes, child_bytes, .. } = row.counts;
    let (open, close) = if is_busy(letter) || letter == b'S' { ("<b>", "</b>") } else { ("", "") };
    let [of_connection, of_child, of_slot] = requests(slot);
    // Writing to a Vec cannot fail, here and below.
    let _ = write!(
        out,
        "<tr><td><b>{number}-{}</b></td><td>{}</td><td>{of_connection}/{of_child}/{of_slot}</td>\
         <td>{open}{}{close}\n</td><td>{:.2}</td><td>{age_s}</td><td>{}</td><td>{}</td>\
         <td>{:.1}</td><td>{:.2}</td><td>{:.2}\n</td><td>{}</td><td>http/1.1</td><td nowrap>",
        child.process.generation,
        pid(slot),
        char::from(letter),
        child.cpu.total_s(),
        last_ms(slot),
        row.busy_us / 1000,
        ratio(connection_bytes, 1 << 10),
        ratio(child_bytes, 1 << 20),
        ratio(row.bytes, 1 << 20),
        row.client.to_canonical(),
    );
    html_escape(names.of_host(&row.counts).as_bytes(), out);
    out.extend_from_slice(b"</td><td nowrap>");
    request(out, row);
    out.extend_from_slice(b"</td></tr>\n\n");
}

/// Requests of the connection, of the child and of the slot.
fn requests(slot: &SlotRow<'_>) -> [u64; 3] {
    let SlotCountsView { connection_requests, child_requests, .. } = slot.row.counts;
    let is_there = slot.child.is_there();
    [connection_requests, if is_there { child_requests } else { 0 }, slot.row.requests]
}

fn pid(slot: &SlotRow<'_>) -> String {
    if slot.child.is_there() { slot.row.pid.to_string() } else { "-".to_owned() }
}

/// How long the last request took; 0 while one is under way.
fn last_ms(slot: &SlotRow<'_>) -> u64 {
    if slot.letter == b'W' { 0 } else { slot.row.counts.last_us / 1000 }
}

/// The list.
pub(super) fn list(out: &mut Vec<u8>, figures: &StatusFigures, names: &ServerNames<'_>) {
    out.extend_from_slice(b"<hr /><h2>Server Details</h2>\n\n");
    for slot in shown(figures) {
        item(out, &slot, names);
    }
}

fn item(out: &mut Vec<u8>, slot: &SlotRow<'_>, names: &ServerNames<'_>) {
    let SlotRow { number, child, row, letter, age_s } = *slot;
    let [user, system, children_user, children_system] = child.cpu.seconds().map(general);
    let [of_connection, of_child, of_slot] = requests(slot);
    let _ = write!(
        out,
        "<b>Server {number}-{}</b> ({}): {of_connection}|{of_child}|{of_slot} [{}] u{user} \
         s{system} cu{children_user} cs{children_system}\n {age_s} {} {}({}|{}|{})\n <i>{} {{",
        child.process.generation,
        pid(slot),
        word(letter),
        last_ms(slot),
        row.busy_us / 1000,
        bytes(row.counts.connection_bytes),
        bytes(if child.is_there() { row.counts.child_bytes } else { 0 }),
        bytes(row.bytes),
        row.client.to_canonical(),
    );
    request(out, row);
    out.extend_from_slice(b"}</i> <i>(http/1.1)</i> <b>[");
    html_escape(names.of_host(&row.counts).as_bytes(), out);
    out.extend_from_slice(b"]</b><br />\n\n");
}

/// What a client sent is made fit for a log, and that for a page.
fn request(out: &mut Vec<u8>, row: &WorkerView) {
    let mut text = Vec::new();
    log_escape(&row.request, &mut text);
    html_escape(&text, out);
}

/// The states in httpd's words.
fn word(letter: u8) -> &'static str {
    match letter {
        b'_' => "Ready",
        b'S' => "Starting",
        b'R' => "<b>Read</b>",
        b'W' => "<b>Write</b>",
        b'K' => "<b>Keepalive</b>",
        b'L' => "<b>Logging</b>",
        b'D' => "<b>DNS lookup</b>",
        b'C' => "<b>Closing</b>",
        b'.' => "Dead",
        b'G' => "Graceful",
        b'I' => "Dying",
        _ => "?STATE?",
    }
}

const LEGEND: &str = "</table>\n <hr /> <table>\n \
    <tr><th>Srv</th><td>Child Server number - generation</td></tr>\n \
    <tr><th>PID</th><td>OS process ID</td></tr>\n \
    <tr><th>Acc</th><td>Number of accesses this connection / this child / this slot</td></tr>\n \
    <tr><th>M</th><td>Mode of operation</td></tr>\n\
    <tr><th>CPU</th><td>CPU usage, number of seconds</td></tr>\n\
    <tr><th>SS</th><td>Seconds since beginning of most recent request</td></tr>\n \
    <tr><th>Req</th><td>Milliseconds required to process most recent request</td></tr>\n \
    <tr><th>Dur</th><td>Sum of milliseconds required to process all requests</td></tr>\n \
    <tr><th>Conn</th><td>Kilobytes transferred this connection</td></tr>\n \
    <tr><th>Child</th><td>Megabytes transferred this child</td></tr>\n \
    <tr><th>Slot</th><td>Total megabytes transferred this slot</td></tr>\n \
    </table>\n";
