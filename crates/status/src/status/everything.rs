//! What is shown beyond httpd's figures, put together once for all forms of the page: the last
//! minute, the accounts of URLs, and the verdict.

use super::figures::StatusFigures;
use super::hosts::Hosts;
use super::minute::Minute;
use super::number::ratio;
use super::verdict::{Evidence, Verdict, verdict};
use scoreboard::{AccountView, CAUSES, RequestTimes};

/// Accounts that are shown to people; what is left goes to that of all others.
pub(super) const ACCOUNTS_MAX: usize = 50;

/// All of it.
pub(super) struct Everything {
    pub(super) figures: StatusFigures,
    pub(super) minute: Option<Minute>,
    /// By total time; that of all others comes last.
    pub(super) accounts: Vec<AccountView>,
    /// All accounts together.
    pub(super) sum: AccountView,
    hosts: Hosts,
    pub(super) verdict: Verdict,
    /// Request slots that there may be.
    pub(super) workers_max: u64,
    pub(super) cores: usize,
}

impl Everything {
    pub(super) fn new(
        figures: StatusFigures,
        accounts: Vec<AccountView>,
        hosts: Hosts,
        workers_max: u64,
        cores: usize,
    ) -> Self {
        let minute = Minute::of(&figures.seconds);
        let mut sum = AccountView::default();
        accounts.iter().for_each(|account| sum.add(account));
        let evidence = evidence(minute, &sum.times, workers_max, cores);
        Self {
            accounts,
            verdict: verdict(&evidence),
            figures,
            minute,
            sum,
            hosts,
            workers_max,
            cores,
        }
    }

    /// The host of an account; that of all others has none.
    pub(super) fn host(&self, account: &AccountView) -> &str {
        if account.is_other { "" } else { self.hosts.name(account.host) }
    }

    /// Complete requests that wait for a slot.
    pub(super) fn queued(&self) -> u64 {
        self.figures.connections(|child| child.process.queued)
    }

    /// Connections that nobody had accepted a second ago.
    pub(super) fn waiting(&self) -> u64 {
        self.figures.seconds.last().map_or(0, |second| second.waiting)
    }

    /// For how long all slots have been taken by now, in seconds; `None` if they are not.
    pub(super) fn at_limit_for_s(&self) -> Option<u64> {
        let since_ms = self.figures.at_limit.since_ms;
        (since_ms > 0).then(|| self.figures.now_ms.saturating_sub(since_ms) / 1000)
    }
}

fn evidence(
    minute: Option<Minute>,
    sum: &RequestTimes,
    workers_max: u64,
    cores: usize,
) -> Evidence {
    let Minute { seconds, requests, requests_per_s, busy_mean, at_limit_s, server_cores, .. } =
        minute.unwrap_or_default();
    Evidence {
        cores: ratio(cores as u64, 1),
        workers_max: ratio(workers_max, 1),
        seconds,
        requests,
        requests_per_s,
        busy_mean,
        at_limit_s,
        server_cores,
        machine_share: minute.and_then(|minute| minute.machine).map(|shares| shares[0]),
        memory_share: minute.and_then(|minute| minute.stalled[1]),
        wall_s: seconds_of(sum.wall_ns),
        cpu_s: seconds_of(sum.cpu_ns.saturating_add(sum.run_queue_ns)),
        waits_s: sum.waits_ns.map(seconds_of),
    }
}

/// The first `most`, and all that is left in the account of others.
pub(super) fn bounded(accounts: Vec<AccountView>, most: usize) -> Vec<AccountView> {
    let mut other = AccountView { is_other: true, ..AccountView::default() };
    let mut kept = Vec::new();
    for account in accounts {
        match !account.is_other && kept.len() < most {
            true => kept.push(account),
            false => other.add(&account),
        }
    }
    if other.requests > 0 {
        kept.push(other);
    }
    kept
}

pub(super) fn seconds_of(time_ns: u64) -> f64 {
    ratio(time_ns, 1_000_000_000)
}

/// Bytes of a client as text: what is no UTF-8 is written as `\xff`, and a backslash as two, so
/// that no two names look the same.
pub(super) fn readable(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text += &chunk.valid().replace('\\', "\\\\");
        for byte in chunk.invalid() {
            text += &format!("\\x{byte:02x}");
        }
    }
    text
}

/// The name of an account.
pub(super) fn name(account: &AccountView) -> String {
    if account.is_other { "(other)".to_owned() } else { readable(&account.name) }
}

const _: () = assert!(CAUSES < 16, "each of them is a column");

#[cfg(test)]
mod tests {
    use super::*;

    fn account(name: &str, requests: u64, is_other: bool) -> AccountView {
        AccountView { name: name.into(), requests, is_other, ..AccountView::default() }
    }

    #[test]
    fn what_is_not_shown_counts_among_the_others() {
        let all = || vec![account("/a", 5, false), account("/b", 3, false), account("", 2, true)];
        let shown = |most| -> Vec<(String, u64)> {
            bounded(all(), most).iter().map(|row| (name(row), row.requests)).collect()
        };
        let row = |name: &str, requests| (name.to_owned(), requests);
        assert_eq!(shown(5), [row("/a", 5), row("/b", 3), row("(other)", 2)]);
        assert_eq!(shown(1), [row("/a", 5), row("(other)", 5)]);
        assert_eq!(bounded(vec![account("/a", 1, false)], 3).len(), 1);
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_numbers() {
        assert_eq!(readable(b"/\xc3\xa4/\xff\xfe"), "/\u{e4}/\\xff\\xfe");
        assert_eq!(readable(b"/\\xff"), "/\\\\xff");
    }
}
