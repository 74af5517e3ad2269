//! What others have taken of this machine: time that its processors wanted to work and the host
//! gave to another guest, `steal` in the first line of `/proc/stat` (proc(5)).

use std::fs;

/// Counters of all processors, in ticks since the machine was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticks {
    all: u64,
    stolen: u64,
}

impl Ticks {
    /// As they are now; `None` where nobody counts them.
    pub(crate) fn now() -> Option<Self> {
        Self::of(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// Of `cpu user nice system idle iowait irq softirq steal guest guest_nice`: the time of
    /// guests is in that of users already.
    fn of(stat: &str) -> Option<Self> {
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> =
            line.split_whitespace().take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
        let stolen = *ticks.get(7)?;
        let all = ticks.iter().fold(0_u64, |sum, more| sum.saturating_add(*more));
        Some(Self { all, stolen })
    }

    /// What was stolen since `before`, in percent of all time.
    pub(crate) fn stolen_percent_since(self, before: Self) -> Option<f64> {
        let all = self.all.checked_sub(before.all).filter(|all| *all > 0)?;
        // The counter of a guest that was moved may go back.
        let stolen = self.stolen.saturating_sub(before.stolen);
        Some(stolen as f64 / all as f64 * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_told_from_the_rest() {
        let at = |text: &str| Ticks::of(&format!("cpu  {text}\ncpu0 1 2 3\n"));
        let before = at("100 0 50 800 10 0 0 40 7 0").unwrap();
        let after = at("150 0 80 890 10 0 0 70 9 0").unwrap();
        assert_eq!(after.stolen_percent_since(before), Some(15.0));
        assert_eq!(before.stolen_percent_since(before), None);
        let moved = at("200 0 50 800 10 0 0 0 7 0").unwrap();
        assert_eq!(moved.stolen_percent_since(before), Some(0.0));
        for text in ["", "1 2 3", "a b c d e f g h", "1 2 3 4 5 6 7 -8"] {
            assert_eq!(at(text), None, "{text}");
        }
    }

    #[test]
    fn this_machine_counts() {
        assert!(Ticks::now().is_some_and(|ticks| ticks.all > 0));
    }
}
