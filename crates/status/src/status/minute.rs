//! The last minute: rates between the first and the last second that the parent has noted.

use super::number::ratio;
use scoreboard::HistorySecond;

/// What happened from one second to another. Shares are of the time between them, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Minute {
    pub(super) seconds: f64,
    pub(super) requests: u64,
    pub(super) requests_per_s: f64,
    pub(super) bytes_per_s: f64,
    pub(super) busy_mean: f64,
    pub(super) busy_max: u64,
    pub(super) connections_max: u64,
    pub(super) queued_max: u64,
    pub(super) waiting_max: u64,
    /// Processors that the server has used.
    pub(super) server_cores: f64,
    /// Shares of the machine's processors: busy, waiting for a disk, stolen. Nothing where the
    /// kernel does not say.
    pub(super) machine: Option<[f64; 3]>,
    pub(super) available_kib: Option<u64>,
    /// Shares of the time in which something waited for a processor, for memory, for a disk.
    pub(super) stalled: [Option<f64>; 3],
    pub(super) at_limit_s: f64,
}

impl Minute {
    /// `None` before there are two seconds.
    pub(super) fn of(seconds: &[HistorySecond]) -> Option<Self> {
        let (first, last) = (seconds.first()?, seconds.last()?);
        let span_ms = last.at_ms.saturating_sub(first.at_ms);
        if span_ms == 0 {
            return None;
        }
        let elapsed_s = ratio(span_ms, 1000);
        // Counters of children may be nonsense, and go back.
        let more = |value: fn(&HistorySecond) -> u64| value(last).saturating_sub(value(first));
        let share = |part_us: u64| (ratio(part_us, span_ms) / 1000.0).min(1.0);
        // The first second is where the counters begin: who was busy then belongs to the time
        // before.
        let rest = &seconds[1..];
        let busy = rest.iter().fold(0_u64, |sum, second| sum.saturating_add(second.busy));
        let max = |value: fn(&HistorySecond) -> u64| seconds.iter().map(value).max().unwrap_or(0);
        let requests = more(|second| second.totals.requests);
        Some(Self {
            seconds: elapsed_s,
            requests,
            requests_per_s: ratio(requests, span_ms) * 1000.0,
            bytes_per_s: ratio(more(|second| second.totals.bytes), span_ms) * 1000.0,
            busy_mean: ratio(busy, rest.len() as u64),
            busy_max: max(|second| second.busy),
            connections_max: max(|second| second.connections),
            queued_max: max(|second| second.queued),
            waiting_max: max(|second| second.waiting),
            server_cores: ratio(more(|second| second.cpu_us), span_ms) / 1000.0,
            machine: machine(first, last),
            available_kib: last.available_kib,
            stalled: [0, 1, 2].map(|of: usize| {
                let (from, to) = (first.stalled_us[of]?, last.stalled_us[of]?);
                Some(share(to.saturating_sub(from)))
            }),
            at_limit_s: ratio(more(|second| second.limit_ms), 1000),
        })
    }
}

fn machine(first: &HistorySecond, last: &HistorySecond) -> Option<[f64; 3]> {
    let [all, busy, disk, stolen] =
        [0, 1, 2, 3].map(|of| last.machine_ticks[of].saturating_sub(first.machine_ticks[of]));
    (all > 0).then(|| [busy, disk, stolen].map(|ticks| ratio(ticks, all).min(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scoreboard::Totals;

    fn second(at_ms: u64, requests: u64, busy: u64) -> HistorySecond {
        HistorySecond {
            at_ms,
            totals: Totals { requests, bytes: requests * 100, busy_us: 0 },
            busy,
            cpu_us: at_ms * 500,
            machine_ticks: [at_ms / 5, at_ms / 10, at_ms / 50, 0],
            stalled_us: [Some(at_ms * 100), None, Some(at_ms * 5000)],
            available_kib: Some(at_ms),
            limit_ms: at_ms / 4,
            ..HistorySecond::default()
        }
    }

    #[test]
    fn rates_are_those_between_the_first_beat_and_the_last() {
        let seconds = [second(10_000, 50, 9), second(12_000, 60, 2), second(20_000, 150, 4)];
        let minute = Minute::of(&seconds).unwrap();
        assert_eq!((minute.seconds, minute.requests, minute.requests_per_s), (10.0, 100, 10.0));
        assert_eq!((minute.bytes_per_s, minute.busy_mean, minute.busy_max), (1000.0, 3.0, 9));
        assert_eq!((minute.server_cores, minute.at_limit_s), (0.5, 2.5));
        assert_eq!(minute.machine, Some([0.5, 0.1, 0.0]));
        assert_eq!(minute.stalled, [Some(0.1), None, Some(1.0)]);
        assert_eq!(minute.available_kib, Some(20_000));
    }

    #[test]
    fn without_two_beats_there_is_no_rate() {
        assert_eq!(Minute::of(&[]), None);
        assert_eq!(Minute::of(&[second(5, 1, 1)]), None);
        assert_eq!(Minute::of(&[second(5, 1, 1), second(5, 2, 1)]), None);
    }

    #[test]
    fn counters_that_go_back_give_no_negative_rates() {
        let minute = Minute::of(&[
            second(20_000, 50, 0),
            HistorySecond { at_ms: 21_000, ..HistorySecond::default() },
        ]);
        let minute = minute.unwrap();
        assert_eq!((minute.requests, minute.server_cores, minute.machine), (0, 0.0, None));
    }
}
