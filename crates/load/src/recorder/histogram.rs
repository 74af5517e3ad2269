//! Times as a histogram of three significant digits: 0.1 % wide buckets from 64 ns to an hour. Its
//! size does not depend on how much is recorded.

use hdrhistogram::Histogram as Hdr;

/// The shortest time told from nothing, and the longest told from longer ones.
const BOUNDS_NS: (u64, u64) = (64, 3_600_000_000_000);
const DIGITS: u8 = 3;

/// How many durations were how long, in nanoseconds, in buckets of 0.1 %; minimum, maximum and mean
/// are exact.
#[derive(Clone, Debug)]
pub struct Histogram {
    hdr: Hdr<u64>,
    /// Exact, where the buckets would round: that of a second may not be longer than that of all.
    min_ns: u64,
    max_ns: u64,
    sum_ns: f64,
    sum_of_squares: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        let mut hdr = Hdr::new_with_bounds(BOUNDS_NS.0, BOUNDS_NS.1, DIGITS)
            .expect("the bounds are in order");
        hdr.auto(true);
        Self { hdr, min_ns: u64::MAX, max_ns: 0, sum_ns: 0.0, sum_of_squares: 0.0 }
    }
}

impl Histogram {
    /// Record one duration.
    pub fn record(&mut self, ns: u64) {
        // Longer than an hour counts as an hour in the buckets; minimum, maximum and mean stay
        // exact.
        self.hdr.saturating_record(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        let ns = ns as f64;
        self.sum_ns += ns;
        self.sum_of_squares += ns * ns;
    }

    /// Add everything that `other` has.
    pub fn add(&mut self, other: &Self) {
        // Both have the same bounds: nothing is out of range.
        let _ = self.hdr.add(&other.hdr);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
        self.sum_of_squares += other.sum_of_squares;
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.hdr.len()
    }

    /// The duration that `percent` % of all do not exceed, in nanoseconds; 0 if there are none.
    pub fn percentile_ns(&self, percent: f64) -> u64 {
        match self.count() {
            0 => 0,
            // The middle of the bucket: its upper end would be too long as a rule.
            _ => self
                .hdr
                .median_equivalent(self.hdr.value_at_percentile(percent))
                .clamp(self.min_ns, self.max_ns),
        }
    }

    /// How many are longer than this.
    pub fn count_above(&self, ns: u64) -> u64 {
        match self.count() {
            0 => 0,
            count => count - self.hdr.count_between(0, ns),
        }
    }

    /// The shortest, in nanoseconds; 0 if there are none.
    pub fn min_ns(&self) -> u64 {
        if self.count() == 0 { 0 } else { self.min_ns }
    }

    /// The longest, in nanoseconds.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The sum of all durations, in nanoseconds.
    pub const fn sum_ns(&self) -> f64 {
        self.sum_ns
    }

    /// Their mean, in nanoseconds; 0 if there are none.
    pub fn mean_ns(&self) -> f64 {
        match self.count() {
            0 => 0.0,
            count => self.sum_ns / count as f64,
        }
    }

    /// The standard deviation of the sample, in nanoseconds.
    pub fn deviation_ns(&self) -> f64 {
        deviation(self.count(), self.sum_ns, self.sum_of_squares)
    }

    /// Buckets that hold something, in order: the longest duration of each and how many it has.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.hdr
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
    }

    /// How many buckets there are, each twice as wide as the one before, and parts of each.
    pub fn shape() -> (u8, u64) {
        let parts = (2 * 10_u64.pow(DIGITS.into())).next_power_of_two();
        (Self::default().hdr.buckets(), parts)
    }

    /// The lines of the library's table of percentiles: shares of all, and nanoseconds.
    pub fn levels(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.hdr
            .iter_quantiles(5)
            .map(|step| (step.quantile_iterated_to(), step.value_iterated_to()))
    }
}

/// The standard deviation of a sample.
pub(super) fn deviation(count: u64, sum: f64, sum_of_squares: f64) -> f64 {
    let count = count as f64;
    if count < 2.0 {
        return 0.0;
    }
    // One pass, so that threads can be added up. The difference cancels where all times are nearly
    // equal, and may then come out below 0.
    let variance = (sum_of_squares - sum * sum / count) / (count - 1.0);
    variance.max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_a_thousandth() {
        let mut all = Histogram::default();
        (1..=1_000_000_u64).for_each(|us| all.record(us * 1000));
        for percent in [1.0, 50.0, 90.0, 99.0, 99.9, 99.999] {
            let exact = percent * 10_000_000.0;
            let found = all.percentile_ns(percent) as f64;
            assert!((found / exact - 1.0).abs() < 0.001, "{percent}: {found} for {exact}");
        }
        assert_eq!(all.count(), 1_000_000);
        assert!((all.mean_ns() / 500_000_500.0 - 1.0).abs() < 1e-6, "{}", all.mean_ns());
        // Of 1 to n: n / sqrt(12).
        assert!((all.deviation_ns() / 288_675_279.0 - 1.0).abs() < 1e-3, "{}", all.deviation_ns());
    }

    #[test]
    fn the_longest_of_a_part_is_none_that_the_whole_does_not_have() {
        let mut part = Histogram::default();
        part.record(8_508_389);
        let mut whole = Histogram::default();
        whole.record(1_000_001);
        whole.add(&part);
        assert_eq!(
            (part.max_ns(), whole.max_ns(), whole.min_ns()),
            (8_508_389, 8_508_389, 1_000_001)
        );
        let ends = (whole.percentile_ns(0.0), whole.percentile_ns(100.0));
        assert!(ends.0 >= whole.min_ns() && ends.1 <= whole.max_ns(), "{ends:?}");
    }

    #[test]
    fn nothing_and_the_absurd_are_no_trouble() {
        let mut none = Histogram::default();
        assert_eq!((none.percentile_ns(99.0), none.min_ns(), none.max_ns()), (0, 0, 0));
        none.record(0);
        none.record(u64::MAX);
        assert_eq!(none.count(), 2);
    }

    #[test]
    fn two_added_are_as_one() {
        let (mut one, mut other, mut both) =
            (Histogram::default(), Histogram::default(), Histogram::default());
        for ns in [500, 70_000, 3_000_000_000] {
            one.record(ns);
            other.record(ns * 3);
            both.record(ns);
            both.record(ns * 3);
        }
        one.add(&other);
        assert_eq!(one.count(), both.count());
        for percent in [0.0, 20.0, 50.0, 80.0, 100.0] {
            assert_eq!(one.percentile_ns(percent), both.percentile_ns(percent));
        }
    }
}
