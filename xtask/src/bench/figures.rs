//! What one run yields and how several runs become one figure. Pure: nothing is started or read.

use super::stairs::Staircase;

/// The outcome of one run of one server in one scenario.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Run {
    /// Name of the scenario's row.
    pub(super) scenario: &'static str,
    /// Name of the server's row.
    pub(super) server: &'static str,
    /// Counted from 1.
    pub(super) round: u32,
    /// Requests that were answered in this run.
    pub(super) requests: u64,
    /// Requests per second, or what the scenario has in its place (`Scenario::units`).
    pub(super) rate: f64,
    /// Server CPU in microseconds per request, or what the scenario has in its place.
    pub(super) cost: f64,
    /// The levels of a staircase.
    pub(super) stairs: Option<Staircase>,
    /// Why this run does not count as clean.
    pub(super) fault: Option<String>,
}

/// Several runs of one server: the median and what it was taken from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) min: f64,
    pub(super) median: f64,
    pub(super) max: f64,
}

impl Spread {
    /// None when there is no value.
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            1 => sorted[middle],
            _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
        };
        Some(Self { min, median, max })
    }
}

/// The runs of one server in one scenario, in the order they were made.
pub(super) fn of<'a>(
    runs: &'a [Run],
    scenario: &'a str,
    server: &'a str,
) -> impl Iterator<Item = &'a Run> + Clone {
    runs.iter().filter(move |run| run.scenario == scenario && run.server == server)
}

/// The rate of a server in a scenario; None when it was not measured.
pub(super) fn rate(runs: &[Run], scenario: &str, server: &str) -> Option<Spread> {
    Spread::of(of(runs, scenario, server).map(|run| run.rate))
}

/// Its cost.
pub(super) fn cost(runs: &[Run], scenario: &str, server: &str) -> Option<Spread> {
    Spread::of(of(runs, scenario, server).map(|run| run.cost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_even_and_none() {
        let median = |values: &[f64]| Spread::of(values.iter().copied()).map(|s| s.median);
        assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 100.0]), Some(3.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn spread_is_smallest_to_largest() {
        let spread = Spread::of([3.0, 1.0, 2.0].into_iter());
        assert_eq!(spread, Some(Spread { min: 1.0, median: 2.0, max: 3.0 }));
    }
}
