//! `%{NAME}^TU`: what the time of a request was used for, in microseconds. httpd has nothing like
//! it; its own names with a `^` are `^FB`, `^ti` and `^to`.

use scoreboard::{RequestTimes, WaitCause};

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spending {
    /// `wall`: all of it.
    Wall,
    /// `cpu`: on a processor.
    Cpu,
    /// `runqueue`: ready for a processor, and without one.
    RunQueue,
    /// `wait`: all that is neither of these.
    Wait,
    /// `slot`, `client_read`, `disk`...: a wait for one cause.
    Cause(WaitCause),
    /// `other`: a wait whose cause is not known.
    Other,
}

/// Those that are no cause.
const NAMES: [(&str, Spending); 5] = [
    ("wall", Spending::Wall),
    ("cpu", Spending::Cpu),
    ("runqueue", Spending::RunQueue),
    ("wait", Spending::Wait),
    ("other", Spending::Other),
];

impl Spending {
    /// Look a name up.
    pub(super) fn parse(name: &str) -> Result<Self, String> {
        let named = NAMES.iter().find(|row| row.0 == name).map(|row| row.1);
        let cause = || WaitCause::all().find(|cause| cause.name() == name).map(Self::Cause);
        named.or_else(cause).ok_or_else(|| {
            let names = NAMES.iter().map(|row| row.0).chain(WaitCause::all().map(WaitCause::name));
            let names: Vec<&str> = names.collect();
            format!("Unknown time '{name}' in %{{{name}}}^TU: it is one of {}", names.join(", "))
        })
    }

    /// Nanoseconds.
    pub(super) fn of(self, times: &RequestTimes) -> u64 {
        match self {
            Self::Wall => times.wall_ns,
            Self::Cpu => times.cpu_ns,
            Self::RunQueue => times.run_queue_ns,
            Self::Wait => {
                times.wall_ns.saturating_sub(times.cpu_ns.saturating_add(times.run_queue_ns))
            }
            Self::Cause(cause) => times.waits_ns[cause as usize],
            Self::Other => times.unexplained_ns(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_shows_its_own_time() {
        let mut times =
            RequestTimes { wall_ns: 100, cpu_ns: 20, run_queue_ns: 10, ..RequestTimes::default() };
        times.waits_ns[WaitCause::Disk as usize] = 40;
        times.waits_ns[WaitCause::Slot as usize] = 5;
        for (name, ns) in [
            ("wall", 100),
            ("cpu", 20),
            ("runqueue", 10),
            ("wait", 70),
            ("disk", 40),
            ("slot", 5),
            ("client_read", 0),
            ("other", 25),
        ] {
            assert_eq!(Spending::parse(name).map(|it| it.of(&times)), Ok(ns), "{name}");
        }
    }

    #[test]
    fn another_name_is_refused_with_those_there_are() {
        let text = Spending::parse("Cpu").unwrap_err();
        assert!(text.contains("'Cpu'") && text.contains("runqueue, wait, other, slot"), "{text}");
        assert!(Spending::parse("").is_err());
    }
}
