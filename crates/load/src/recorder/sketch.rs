//! Times of one URL as a histogram of two significant digits that holds nothing but the buckets
//! that were met: there may be a million URLs, most of them asked once. What is said of a whole
//! run comes from [`super::Histogram`].

use super::histogram::deviation;

/// Parts of each power of two, as a power of two: buckets of 1.6 % at most.
const PARTS_LOG2: u32 = 6;

/// How many durations were how long, in nanoseconds, in buckets of 1.6 %, without memory for those
/// that were not met; minimum, maximum and mean are exact.
#[derive(Clone, Debug, Default)]
pub struct Sketch {
    /// Numbers of the buckets that hold something, in order; close together, as each request looks
    /// for its own.
    buckets: Vec<u16>,
    /// How many each of them has.
    counts: Vec<u32>,
    count: u64,
    sum_ns: f64,
    sum_of_squares: f64,
    min_ns: u64,
    max_ns: u64,
}

impl Sketch {
    /// Record one duration.
    pub fn record(&mut self, ns: u64) {
        self.count_in(bucket_of(ns), 1);
        self.min_ns = if self.count == 0 { ns } else { self.min_ns.min(ns) };
        self.max_ns = self.max_ns.max(ns);
        self.count += 1;
        let ns = ns as f64;
        self.sum_ns += ns;
        self.sum_of_squares += ns * ns;
    }

    /// Add everything that `other` has.
    pub fn add(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        other.rows().for_each(|(bucket, count)| self.count_in(bucket, count));
        self.min_ns = if self.count == 0 { other.min_ns } else { self.min_ns.min(other.min_ns) };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.sum_of_squares += other.sum_of_squares;
    }

    // A vector in order and not a table: one URL's times lie in some dozen neighbouring buckets,
    // and six bytes for each are less than any map would take.
    fn count_in(&mut self, bucket: u16, count: u32) {
        match self.buckets.binary_search(&bucket) {
            Ok(place) => self.counts[place] = self.counts[place].saturating_add(count),
            Err(place) => {
                self.buckets.insert(place, bucket);
                self.counts.insert(place, count);
            }
        }
    }

    fn rows(&self) -> impl Iterator<Item = (u16, u32)> + '_ {
        self.buckets.iter().copied().zip(self.counts.iter().copied())
    }

    /// How many there are.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The duration that `percent` % of all do not exceed, in nanoseconds; 0 if there are none.
    pub fn percentile_ns(&self, percent: f64) -> u64 {
        // The nearest-rank definition, as in `Histogram`: the result is a time that was measured,
        // up to the width of its bucket, and never one between two.
        let wanted = (self.count as f64 * percent / 100.0).ceil().max(1.0);
        if wanted >= self.count as f64 {
            return self.max_ns;
        }
        let mut below = 0.0;
        let bucket = self.rows().find(|(_, count)| {
            below += f64::from(*count);
            below >= wanted
        });
        bucket.map_or(self.max_ns, |row| middle_ns(row.0)).clamp(self.min_ns, self.max_ns)
    }

    /// The shortest, in nanoseconds; 0 if there are none.
    pub const fn min_ns(&self) -> u64 {
        self.min_ns
    }

    /// The longest, in nanoseconds.
    pub const fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// Their mean, in nanoseconds; 0 if there are none.
    pub fn mean_ns(&self) -> f64 {
        self.sum_ns / self.count.max(1) as f64
    }

    /// The standard deviation of the sample, in nanoseconds.
    pub fn deviation_ns(&self) -> f64 {
        deviation(self.count, self.sum_ns, self.sum_of_squares)
    }
}

/// The bucket that holds a duration.
const fn bucket_of(ns: u64) -> u16 {
    // Less than 64 ns is no time that this program could measure: it counts as 64.
    let ns = if ns >> PARTS_LOG2 == 0 { 1 << PARTS_LOG2 } else { ns };
    let octave = ns.ilog2() - PARTS_LOG2;
    let part = (ns >> octave) - (1 << PARTS_LOG2);
    // 58 octaves of 64 parts.
    ((octave << PARTS_LOG2) as u64 + part) as u16
}

/// The duration in the middle of a bucket.
const fn middle_ns(bucket: u16) -> u64 {
    let (octave, part) = (bucket >> PARTS_LOG2, bucket & ((1 << PARTS_LOG2) - 1));
    let width = 1_u64 << octave;
    (((1 << PARTS_LOG2) + part as u64) << octave) + width / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_a_hundredth_and_the_ends_are_exact() {
        let mut all = Sketch::default();
        (1..=100_000_u64).for_each(|us| all.record(us * 1000));
        for percent in [1.0, 50.0, 90.0, 99.0, 99.9] {
            let exact = percent * 1_000_000.0;
            let found = all.percentile_ns(percent) as f64;
            assert!((found / exact - 1.0).abs() < 0.01, "{percent}: {found} for {exact}");
        }
        assert_eq!((all.count(), all.min_ns(), all.max_ns()), (100_000, 1000, 100_000_000));
        assert_eq!(all.percentile_ns(100.0), 100_000_000);
        assert!((all.mean_ns() / 50_000_500.0 - 1.0).abs() < 1e-9, "{}", all.mean_ns());
        // Of 1 to n: n / sqrt(12).
        assert!((all.deviation_ns() / 28_867_513.0 - 1.0).abs() < 1e-3, "{}", all.deviation_ns());
    }

    #[test]
    fn nothing_and_the_absurd_are_no_trouble() {
        let mut all = Sketch::default();
        assert_eq!((all.percentile_ns(99.0), all.min_ns(), all.max_ns()), (0, 0, 0));
        all.record(0);
        assert_eq!((all.percentile_ns(50.0), all.count()), (0, 1));
        all.record(u64::MAX);
        assert_eq!((all.percentile_ns(100.0), all.count()), (u64::MAX, 2));
    }

    #[test]
    fn every_duration_is_in_the_bucket_whose_middle_is_near() {
        for shift in 6..64 {
            for ns in [1_u64 << shift, (1 << shift) + (1 << (shift - 1)) + 1] {
                let middle = middle_ns(bucket_of(ns));
                assert!((middle as f64 / ns as f64 - 1.0).abs() < 0.009, "{middle} for {ns}");
            }
        }
    }

    #[test]
    fn two_added_are_as_one() {
        let [mut one, mut other, mut both] = [(); 3].map(|()| Sketch::default());
        for ns in [500, 70_000, 3_000_000_000] {
            one.record(ns);
            other.record(ns * 3);
            both.record(ns);
            both.record(ns * 3);
        }
        one.add(&Sketch::default());
        one.add(&other);
        assert_eq!((one.count(), one.min_ns(), one.max_ns()), (6, 500, 9_000_000_000));
        assert!(one.rows().eq(both.rows()));
    }

    #[test]
    fn what_was_asked_once_takes_a_line_of_memory() {
        let mut all = Sketch::default();
        all.record(1_234_567);
        let bytes = size_of::<Sketch>() + all.buckets.capacity() * 2 + all.counts.capacity() * 4;
        assert!(bytes <= 128, "{bytes}");
        (0..1_000_000_u64).for_each(|n| all.record(n * n));
        assert!(all.buckets.len() < 2500, "{}", all.buckets.len());
    }
}
