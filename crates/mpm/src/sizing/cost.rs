//! What one more worker costs: memory of the pool against the number of workers, as it was seen
//! from second to second. Pure: numbers in, numbers out.

use std::collections::BTreeMap;

/// Numbers of workers that are remembered.
const SAMPLES_MAX: usize = 64;

/// What was seen so many measurements ago counts no more.
const AGE_MAX: u64 = 240;

/// Measurements with different numbers of workers before they say anything.
const SAMPLES_MIN: usize = 3;

/// What a single worker must cost to be seen: caches and logs make a pool grow, too.
const CLEAR_BYTES: u64 = 2 << 20;

/// A cost that was found goes down by one in so many at a measurement: what some requests needed
/// a minute ago, others will need.
const FORGET: u64 = 128;

/// Less than this no worker costs: a thread's stack, or a scoreboard row with what hangs on it.
pub(crate) const LEAST_BYTES: u64 = 16 << 10;

/// What was measured while there were so many workers.
#[derive(Clone, Copy)]
struct CostSample {
    bytes: u64,
    /// The measurement that was the last one at it.
    at: u64,
}

/// The measurements of a generation, by the number of its workers.
#[derive(Default)]
pub(crate) struct Measurements {
    count: u64,
    samples: BTreeMap<usize, CostSample>,
    /// The smallest pool: workers and bytes.
    smallest: Option<(usize, u64)>,
    /// The smallest one without any worker.
    idle: Option<u64>,
    /// What was found, and from how many workers more or less.
    cost: Option<(u64, usize)>,
}

impl Measurements {
    /// With so many workers the pool had so many bytes.
    pub(crate) fn add(&mut self, workers: usize, bytes: u64) {
        self.count += 1;
        let sample = self.samples.entry(workers).or_insert(CostSample { bytes, at: 0 });
        // The upper edge counts: requests are not at their largest at the moment of a look.
        sample.bytes = bytes.max(sample.bytes - sample.bytes.saturating_sub(bytes) / 8);
        sample.at = self.count;
        let oldest = self.count.saturating_sub(AGE_MAX);
        self.samples.retain(|_, sample| sample.at > oldest);
        if self.samples.len() > SAMPLES_MAX {
            let first = self.samples.iter().min_by_key(|(_, sample)| sample.at).map(|it| *it.0);
            self.samples.remove(&first.unwrap_or(workers));
        }
        if self.smallest.is_none_or(|(_, smallest)| bytes < smallest) {
            self.smallest = Some((workers, bytes));
        }
        if workers == 0 {
            self.idle = Some(self.idle.map_or(bytes, |least| least.min(bytes)));
        }
        if let Some(found) = self.slope().max(self.rise()) {
            let span = self.span();
            // Seen over twice the span it is better known: noise counts half as much.
            let is_better = |(_, known): &(u64, usize)| span / 2 >= *known;
            let kept = self.cost.filter(|cost| !is_better(cost));
            let kept = kept.map_or((0, span), |(cost, known)| (cost - cost / FORGET, known));
            self.cost = Some(kept.max((found.max(LEAST_BYTES), span)));
        }
    }

    /// How much the numbers of workers differ.
    fn span(&self) -> usize {
        let (first, last) = (self.samples.keys().next(), self.samples.keys().next_back());
        last.copied().unwrap_or(0) - first.copied().unwrap_or(0)
    }

    /// What one more worker costs, with the number of measurements that say so.
    pub(crate) fn cost(&self) -> Option<(u64, u32)> {
        self.cost.map(|(cost, _)| (cost, u32::try_from(self.count).unwrap_or(u32::MAX)))
    }

    /// What each of a few workers has taken, where there never were more: all that the pool has
    /// grown by since nobody was served, with the number of measurements.
    pub(crate) fn cost_of_few(&self) -> Option<(u64, u32)> {
        let (many, sample) = self.samples.iter().next_back().filter(|(many, _)| **many > 0)?;
        let grown = sample.bytes.saturating_sub(self.idle?);
        Some((grown / *many as u64, u32::try_from(self.count).unwrap_or(u32::MAX)))
    }

    /// Whether the numbers of workers differ enough for a line through them.
    fn varies(&self) -> bool {
        let last = self.samples.keys().next_back().copied().unwrap_or(0);
        self.samples.len() >= SAMPLES_MIN && self.span() >= (last / 4).max(2)
    }

    /// The slope of the line with the least squares; `None` where it falls.
    fn slope(&self) -> Option<u64> {
        if !self.varies() {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let points: Vec<(f64, f64)> =
            self.samples.iter().map(|(x, sample)| (*x as f64, sample.bytes as f64)).collect();
        #[expect(clippy::cast_precision_loss, reason = "at most 64")]
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (mean_x, mean_y) = (mean(|it| it.0), mean(|it| it.1));
        let covariance: f64 = points.iter().map(|it| (it.0 - mean_x) * (it.1 - mean_y)).sum();
        let variance: f64 = points.iter().map(|it| (it.0 - mean_x).powi(2)).sum();
        bytes_of(covariance / variance)
    }

    /// From the smallest pool to that with the most workers. An allocator keeps what it has had:
    /// after a crowd the line lies flat, and this does not.
    fn rise(&self) -> Option<u64> {
        let (few, least) = self.smallest?;
        let (many, sample) = self.samples.iter().next_back()?;
        let grown = sample.bytes.saturating_sub(least);
        let is_clear = |more: &usize| *more >= 2 || (*more == 1 && grown >= CLEAR_BYTES);
        let more = many.checked_sub(few).filter(is_clear)?;
        Some(grown / more as u64)
    }
}

/// A number of bytes that makes sense.
fn bytes_of(number: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be positive and small"
    )]
    (number.is_finite() && number > 0.0 && number < 1e15).then_some(number as u64)
}

/// The number that 95 of 100 are not above; 0 of none.
pub(crate) fn percentile_95(mut numbers: Vec<u64>) -> u64 {
    numbers.sort_unstable();
    let sample = (numbers.len() * 95).div_ceil(100).saturating_sub(1);
    numbers.get(sample).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    fn cost_of(points: impl IntoIterator<Item = (usize, u64)>) -> Option<u64> {
        let mut measure = Measurements::default();
        points.into_iter().for_each(|(workers, bytes)| measure.add(workers, bytes));
        measure.cost().map(|(cost, _)| cost)
    }

    #[test]
    fn the_cost_of_a_worker_is_the_slope_as_their_number_grows() {
        let line = |count| (1..=count).map(|workers| (workers, 6 * MB + workers as u64 * MB));
        assert_eq!(cost_of(line(20)), Some(MB));
        assert_eq!(cost_of(line(1)), None, "a point is no line");
        assert_eq!(cost_of([(0, MB), (1, 2 * MB)]), None, "one worker may be anything");
        assert_eq!(cost_of([(0, MB), (1, 33 * MB)]), Some(32 * MB), "but not this");
        // Noise of a megabyte up or down.
        let noisy = line(20).map(|(x, y)| (x, if x % 2 == 0 { y + MB } else { y - MB }));
        let cost = cost_of(noisy).unwrap();
        assert!((MB * 9 / 10..MB * 12 / 10).contains(&cost), "{cost}");
    }

    #[test]
    fn the_first_workers_may_be_all_that_is_known() {
        let mut measure = Measurements::default();
        measure.add(0, 2 * MB);
        assert_eq!(measure.cost_of_few(), None);
        measure.add(1, 2 * MB + 300);
        measure.add(0, 2 * MB + 200);
        assert_eq!((measure.cost_of_few(), measure.cost()), (Some((300, 3)), None));
        measure.add(2, 2 * MB + 700);
        assert_eq!(measure.cost_of_few(), Some((350, 4)));
        let mut never_idle = Measurements::default();
        never_idle.add(1, MB);
        assert_eq!(never_idle.cost_of_few(), None);
    }

    #[test]
    fn without_variation_nothing_is_known() {
        assert_eq!(cost_of([]), None);
        assert_eq!(cost_of((0..50).map(|at| (10, at * MB))), None);
        let wobble = (0..50).map(|at| (100 + at % 2, 10 * MB));
        assert_eq!(cost_of(wobble), None);
    }

    #[test]
    fn what_an_allocator_keeps_makes_no_worker_cheap() {
        let up = (0..=10).map(|workers| (workers, 2 * MB + workers as u64 * 4 * MB));
        let down = (0..10).rev().map(|workers| (workers, 42 * MB));
        let quiet = (0..200).map(|_| (0, 42 * MB));
        let cost = cost_of(up.clone().chain(down.clone())).unwrap();
        assert!((4 * MB..5 * MB).contains(&cost), "{cost}");
        let cost = cost_of(up.chain(down).chain(quiet)).unwrap();
        assert!(cost >= 3 * MB, "{cost}");
    }

    #[test]
    fn heavier_requests_count_at_once_and_lighter_ones_in_time() {
        let mut measure = Measurements::default();
        let mut run = |each: u64, times| {
            for _ in 0..times {
                (0..=8).for_each(|x| measure.add(x, 2 * MB + x as u64 * each));
            }
            measure.cost().unwrap().0
        };
        assert_eq!(run(MB, 5), MB);
        assert!(run(8 * MB, 2) >= 8 * MB);
        let cost = run(MB, 100);
        assert!(cost < 2 * MB, "{cost}");
    }

    #[test]
    fn absurd_numbers_do_no_harm() {
        let cost = cost_of([(0, u64::MAX), (usize::MAX, 0), (5, u64::MAX), (9, 1), (70, 3)]);
        assert!(cost.is_none_or(|cost| cost >= LEAST_BYTES));
        assert_eq!(cost_of((1..200).map(|x| (x, 5))), Some(LEAST_BYTES));
        assert_eq!(cost_of((1..200).map(|x| (x, u64::MAX / 2 - x as u64 * MB))), None);
    }

    #[test]
    fn the_percentile_is_one_of_the_numbers() {
        assert_eq!(percentile_95(vec![]), 0);
        assert_eq!(percentile_95(vec![7]), 7);
        assert_eq!(percentile_95((1..=100).rev().collect()), 95);
        assert_eq!(percentile_95(vec![1, 2, 3]), 3);
    }
}
