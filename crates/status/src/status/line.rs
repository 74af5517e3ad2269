//! The scoreboard in one line, as httpd tells it to a service manager (mod_systemd).

use super::number::ratio;
use scoreboard::{ProcessState, ProcessView, RowState, Snapshot, Totals};
use server::short_size::size;

/// Of all requests since the start: how many, and per second. Of the request slots how many are
/// free and taken, in percent (server/scoreboard.c, ap_get_sload).
///
/// The parent asks for this, and a child may have written any number.
pub fn status_line(snapshot: &Snapshot, now_s: i64) -> String {
    let Totals { requests, bytes, .. } = snapshot.totals();
    let uptime_s = now_s.saturating_sub(snapshot.started_unix_s).max(1).unsigned_abs();
    let (idle, busy) = slots(snapshot);
    let percent = |count: usize| (count * 100).checked_div(idle + busy).unwrap_or(0);
    let mut rate = Vec::new();
    size(Some(bytes / uptime_s), &mut rate);
    format!(
        "Total requests: {requests}; Idle/Busy workers {}/{};Requests/sec: {}; Bytes served/sec: \
         {}B/sec",
        percent(idle),
        percent(busy),
        three_digits(ratio(requests, uptime_s)),
        String::from_utf8_lossy(&rate),
    )
}

/// Slots that are free, and those that are taken.
fn slots(snapshot: &Snapshot) -> (usize, usize) {
    let rows = snapshot.workers.chunks(snapshot.rows_per_process.max(1));
    let is_there = |process: &ProcessView| {
        matches!(process.state, ProcessState::Serving | ProcessState::Retiring)
    };
    let children = snapshot.processes.iter().zip(rows).filter(|row| is_there(row.0));
    let states = children.flat_map(|row| row.1).map(|row| row.state);
    states.fold((0, 0), |(idle, busy), state| match state {
        RowState::Ready => (idle + 1, busy),
        RowState::Dead => (idle, busy),
        _ => (idle, busy + 1),
    })
}

/// C's `%.3g`, which is not that of the Apache Portable Runtime: the line is put together by the
/// library of systemd.
fn three_digits(value: f64) -> String {
    let text = format!("{value:.2e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..3).contains(&exponent) {
        let mantissa = trimmed(mantissa);
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    let places = usize::try_from(2 - exponent).unwrap_or(0);
    trimmed(&format!("{value:.places$}")).to_owned()
}

/// Without zeros behind the point that say nothing.
fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scoreboard::Scoreboard;
    use std::net::{IpAddr, Ipv4Addr};

    #[test]
    fn the_line_is_that_of_httpd() {
        let board = Scoreboard::create(3, 4, 1000).unwrap();
        for index in 0..2 {
            let process = board.process(index).unwrap();
            process.open(0, 0);
            process.set_state(ProcessState::Serving);
            (0..4).for_each(|row| board.worker(index, row).unwrap().open(0));
        }
        let line = |now_s| status_line(&Snapshot::take(&board), now_s);
        let quiet = "Total requests: 0; Idle/Busy workers 100/0;Requests/sec: 0; \
                     Bytes served/sec:   0 B/sec";
        assert_eq!(line(1000), quiet);
        let row = board.worker(1, 2).unwrap();
        for _ in 0..3 {
            row.begin(IpAddr::V4(Ipv4Addr::LOCALHOST), 1, b"GET / HTTP/1.1", 0);
            row.end(20_000, 1, RowState::Ready);
        }
        row.begin(IpAddr::V4(Ipv4Addr::LOCALHOST), 1, b"GET / HTTP/1.1", 0);
        let busy = "Total requests: 3; Idle/Busy workers 87/12;Requests/sec: 0.3; \
                    Bytes served/sec: 5.9KB/sec";
        assert_eq!(line(1010), busy);
        // A clock that was set back.
        assert!(line(0).contains("Requests/sec: 3;"));
    }

    #[test]
    fn nobody_and_absurd_numbers_are_no_trouble() {
        let board = Scoreboard::create(1, 2, i64::MIN).unwrap();
        assert!(status_line(&Snapshot::take(&board), 0).contains("Idle/Busy workers 0/0;"));
        for index in 0..2 {
            let row = board.worker(0, index).unwrap();
            row.begin(IpAddr::V4(Ipv4Addr::LOCALHOST), 1, b"", 0);
            row.end(u64::MAX, u64::MAX, RowState::Ready);
        }
        assert!(status_line(&Snapshot::take(&board), i64::MAX).starts_with("Total requests: 2;"));
    }

    #[test]
    fn numbers_have_three_digits_as_in_c() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.5, "0.5"),
            (0.000_12, "0.00012"),
            (0.000_012, "1.2e-05"),
            (12.345, "12.3"),
            (999.4, "999"),
            (999.9, "1e+03"),
            (12_345.0, "1.23e+04"),
            (100.0, "100"),
        ] {
            assert_eq!(three_digits(value), text);
        }
    }
}
