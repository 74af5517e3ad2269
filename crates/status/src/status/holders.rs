//! Who holds the request slots, in one line: what the log says when there are none left.

use scoreboard::{ProcessState, ProcessView, RowState, Snapshot, WaitCause, WorkerView};
use std::collections::HashMap;

/// Groups that are named; the rest is summed up.
const GROUPS_MAX: usize = 6;

/// Bytes of a path that are shown.
const PATH_BYTES: usize = 60;

/// `150 workers: 97 waiting for a backend at /shop.php, 20 in keep-alive; oldest request 41 s: GET
/// /report.php from 192.0.2.7`.
///
/// `waiting` connections have not been accepted. The parent asks for this. What children and
/// clients wrote is counted, or escaped.
pub fn holders(snapshot: &Snapshot, waiting: u64, now_ms: u64) -> String {
    let held: Vec<&WorkerView> = held(snapshot).collect();
    if held.is_empty() {
        return "no worker is busy".to_owned();
    }
    let mut text = format!("{} worker{}", held.len(), if held.len() == 1 { "" } else { "s" });
    let groups = groups(&held);
    let named: Vec<String> = groups.iter().take(GROUPS_MAX).map(HolderGroup::text).collect();
    if !named.is_empty() {
        text += &format!(": {}", named.join(", "));
    }
    let others: usize = groups.iter().skip(GROUPS_MAX).map(|group| group.rows.len()).sum();
    if others > 0 {
        text += &format!(", {others} others");
    }
    let queued: u64 = snapshot.processes.iter().map(|process| u64::from(process.queued)).sum();
    if queued > 0 {
        let verb = if queued == 1 { "request waits" } else { "requests wait" };
        text += &format!("; {queued} {verb} for one");
    }
    if waiting > 0 {
        let (plural, verb) = if waiting == 1 { ("", "waits") } else { ("s", "wait") };
        text += &format!("; {waiting} connection{plural} {verb} to be accepted");
    }
    text + &oldest(&held, now_ms)
}

/// Slots that are taken, in children that live.
fn held(snapshot: &Snapshot) -> impl Iterator<Item = &WorkerView> {
    let rows = snapshot.workers.chunks(snapshot.rows_per_process.max(1));
    let lives = |process: &ProcessView| {
        !matches!(process.state, ProcessState::Dead | ProcessState::Starting)
    };
    let children = snapshot.processes.iter().zip(rows).filter(move |row| lives(row.0));
    children
        .flat_map(|row| row.1)
        .filter(|row| !matches!(row.state, RowState::Ready | RowState::Dead))
}

/// Slots that do the same.
struct HolderGroup<'a> {
    doing: &'static str,
    rows: Vec<&'a WorkerView>,
}

/// The largest first.
fn groups<'a>(held: &[&'a WorkerView]) -> Vec<HolderGroup<'a>> {
    let mut groups: Vec<HolderGroup<'a>> = Vec::new();
    for row in held {
        let doing = doing(row);
        match groups.iter_mut().find(|group| group.doing == doing) {
            Some(group) => group.rows.push(row),
            None => groups.push(HolderGroup { doing, rows: vec![row] }),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.rows.len()));
    groups
}

/// What a slot does, in words that follow a number.
fn doing(row: &WorkerView) -> &'static str {
    match row.state {
        RowState::Reading => "reading heads",
        RowState::KeepAlive => "in keep-alive",
        RowState::Closing => "closing",
        RowState::Logging => "logging",
        _ => row.waits_for.map_or("at work", WaitCause::words),
    }
}

impl HolderGroup<'_> {
    /// `97 waiting for a backend at /shop.php`
    fn text(&self) -> String {
        let count = self.rows.len();
        let mut text = format!("{count} {}", self.doing);
        if !self.rows.iter().all(|row| row.state == RowState::Writing) {
            return text;
        }
        let mut paths: HashMap<&[u8], usize> = HashMap::new();
        for row in &self.rows {
            *paths.entry(path(&row.request)).or_default() += 1;
        }
        let most = paths.into_iter().max_by_key(|(path, uses)| (*uses, *path));
        if let Some((path, uses)) = most
            && uses * 2 >= count
            && !path.is_empty()
        {
            let mostly = if uses == count { "" } else { " mostly" };
            text += &format!("{mostly} at {}", shown(path));
        }
        text
    }
}

fn oldest(held: &[&WorkerView], now_ms: u64) -> String {
    let at_work = held.iter().filter(|row| row.state == RowState::Writing && row.started_ms > 0);
    let Some(oldest) = at_work.min_by_key(|row| row.started_ms) else { return String::new() };
    let age_s = now_ms.saturating_sub(oldest.started_ms) / 1000;
    let method = oldest.request.split(|byte| *byte == b' ').next().unwrap_or_default();
    format!(
        "; oldest request {age_s} s: {} {} from {}",
        shown(method),
        shown(path(&oldest.request)),
        oldest.client.to_canonical()
    )
}

/// The path of a request line, which may be cut. What stands behind a question mark may be secret.
fn path(line: &[u8]) -> &[u8] {
    let target = line.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
    target.split(|byte| matches!(byte, b'?' | b'#')).next().unwrap_or_default()
}

fn shown(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    message::escape::log_escape(&bytes[..bytes.len().min(PATH_BYTES)], &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scoreboard::Scoreboard;
    use std::net::{IpAddr, Ipv4Addr};

    fn text(rows: &[(RowState, Option<WaitCause>, &str, u64)]) -> String {
        let board = Scoreboard::create(1, rows.len().max(1), 0).unwrap();
        board.process(0).unwrap().set_state(ProcessState::Serving);
        for (index, (state, cause, line, started_ms)) in rows.iter().enumerate() {
            let row = board.worker(0, index).unwrap();
            row.begin(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)), 1, line.as_bytes(), *started_ms);
            row.set_wait(*cause);
            row.set_state(*state);
        }
        holders(&Snapshot::take(&board), 2, 50_000)
    }

    #[test]
    fn the_line_names_what_slots_do_and_where() {
        use RowState::{KeepAlive, Reading, Ready, Writing};
        let backend = Some(WaitCause::BackendFirstByte);
        let alone = "1 worker: 1 in keep-alive; 2 connections wait to be accepted";
        assert_eq!(text(&[(KeepAlive, None, "GET /a HTTP/1.1", 10)]), alone);
        assert_eq!(text(&[(Ready, None, "", 0)]), "no worker is busy");
        let rows = [
            (Writing, backend, "GET /shop.php?id=1 HTTP/1.1", 49_000),
            (Writing, backend, "GET /shop.php?id=2 HTTP/1.1", 48_000),
            (Writing, backend, "GET /other.php HTTP/1.1", 47_000),
            (KeepAlive, None, "GET /a HTTP/1.1", 10),
            (KeepAlive, None, "GET /b HTTP/1.1", 10),
            (Reading, None, "", 0),
            (Writing, None, "POST /report.php?password=x HTTP/1.1", 9_000),
            (Ready, None, "", 0),
        ];
        let expected = "7 workers: 3 waiting for a backend mostly at /shop.php, 2 in keep-alive, \
                        1 reading heads, 1 at work at /report.php; 2 connections wait to be \
                        accepted; oldest request 41 s: POST \
                        /report.php from 192.0.2.7";
        assert_eq!(text(&rows), expected);
    }

    #[test]
    fn what_a_client_sent_cannot_break_the_line() {
        let row = (RowState::Writing, None, "GET /a\n[evil]\u{1b}[0m\"\\ HTTP/1.1", 49_000);
        let text = text(&[row]);
        assert!(text.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{text}");
        assert!(text.contains("/a\\n[evil]\\x1b[0m\\\"\\\\"), "{text}");
    }
}
