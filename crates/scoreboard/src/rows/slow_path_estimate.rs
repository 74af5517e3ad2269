//! What requests that took the slow path have used of the processors. Their wall time and their
//! waits are known, the rest of a sample only: here it becomes an estimate for all of them.
//!
//! An estimate never falls, since rates are computed of it, and processor time and run queue
//! together are never more than the wall time without the waits.

use super::request_times::RequestTimes;
use super::writers::Writers;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Part of an account.
#[repr(C)]
pub(crate) struct SlowPathEstimate {
    requests: AtomicU64,
    /// Wall time without waits, of all of them.
    active_ns: AtomicU64,
    sampled: Sampled,
    /// What was made of it so far.
    cpu_ns: AtomicU64,
    run_queue_ns: AtomicU64,
}

/// Sums over the samples, each as often as it counts.
#[repr(C)]
struct Sampled {
    requests: AtomicU64,
    cpu_ns: AtomicU64,
    run_queue_ns: AtomicU64,
    /// Neither on a processor nor waiting for one or for anything that is known.
    rest_ns: AtomicU64,
}

impl SlowPathEstimate {
    /// Add a request. If `weight` is not 0 it is a sample, and one of so many.
    pub(crate) fn add(&self, writers: Writers, times: &RequestTimes, weight: u32) {
        let active_ns = times.active_ns();
        writers.add(&self.requests, 1);
        writers.add(&self.active_ns, active_ns);
        if weight == 0 {
            return;
        }
        let weight = u64::from(weight);
        let rest_ns = active_ns.saturating_sub(times.cpu_ns).saturating_sub(times.run_queue_ns);
        writers.add(&self.sampled.requests, weight);
        writers.add(&self.sampled.cpu_ns, times.cpu_ns.saturating_mul(weight));
        writers.add(&self.sampled.run_queue_ns, times.run_queue_ns.saturating_mul(weight));
        writers.add(&self.sampled.rest_ns, rest_ns.saturating_mul(weight));
        self.settle();
    }

    /// Make the estimate from the sums: processor time goes by the number of requests, since it
    /// differs little between them. Of what then is left, the run queue has the part that it has
    /// among the samples: how long somebody else keeps the processors differs far too much.
    pub(crate) fn settle(&self) {
        let value = |counter: &AtomicU64| counter.load(Relaxed);
        let active_ns = value(&self.active_ns);
        let Sampled { requests, cpu_ns, run_queue_ns, rest_ns } = &self.sampled;
        let [sampled, run_queue_ns, rest_ns] = [requests, run_queue_ns, rest_ns].map(value);
        let cpu_ns = part(value(cpu_ns), value(&self.requests), sampled);
        let room_ns = active_ns.saturating_sub(value(&self.run_queue_ns));
        self.cpu_ns.fetch_max(cpu_ns.min(room_ns), Relaxed);
        let left_ns = active_ns.saturating_sub(value(&self.cpu_ns));
        let run_queue_ns = part(left_ns, run_queue_ns, run_queue_ns.saturating_add(rest_ns));
        self.run_queue_ns.fetch_max(run_queue_ns, Relaxed);
    }

    /// Time on a processor.
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.cpu_ns.load(Relaxed)
    }

    /// Time ready for one, and without.
    pub(crate) fn run_queue_ns(&self) -> u64 {
        self.run_queue_ns.load(Relaxed)
    }

    /// All that is added up.
    pub(crate) fn sums(&self) -> impl Iterator<Item = &AtomicU64> {
        let Sampled { requests, cpu_ns, run_queue_ns, rest_ns } = &self.sampled;
        let sampled = [requests, cpu_ns, run_queue_ns, rest_ns];
        let all = [&self.requests, &self.active_ns, &self.cpu_ns, &self.run_queue_ns];
        all.into_iter().chain(sampled)
    }
}

/// `whole` x `count` / `of`; 0 of nothing.
fn part(whole: u64, count: u64, of: u64) -> u64 {
    let product = u128::from(whole) * u128::from(count);
    u64::try_from(product.checked_div(u128::from(of)).unwrap_or(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::request_times::WaitCause;
    use super::*;

    fn long() -> SlowPathEstimate {
        let zero = || AtomicU64::new(0);
        let sampled =
            Sampled { requests: zero(), cpu_ns: zero(), run_queue_ns: zero(), rest_ns: zero() };
        let (requests, active_ns, cpu_ns, run_queue_ns) = (zero(), zero(), zero(), zero());
        SlowPathEstimate { requests, active_ns, sampled, cpu_ns, run_queue_ns }
    }

    fn times(wall_ns: u64, cpu_ns: u64, run_queue_ns: u64, wait_ns: u64) -> RequestTimes {
        let mut times = RequestTimes { wall_ns, cpu_ns, run_queue_ns, ..RequestTimes::default() };
        times.waits_ns[WaitCause::Handler as usize] = wait_ns;
        times
    }

    /// A sequence that looks random, the same each time.
    fn numbers() -> impl Iterator<Item = u64> {
        std::iter::successors(Some(88_172_645_463_325_252_u64), |seed| {
            let mut seed = *seed;
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            Some(seed)
        })
    }

    /// Adds requests of which one in 32 is a sample, and gives the true sums of processor time and
    /// run queue.
    fn fill(
        long: &SlowPathEstimate,
        count: usize,
        request: impl Fn(u64) -> RequestTimes,
    ) -> (u64, u64) {
        let (mut cpu_ns, mut run_queue_ns) = (0, 0);
        let (mut active_ns, mut before) = (0, (0, 0));
        for number in numbers().take(count) {
            let times = request(number >> 16);
            long.add(Writers::One, &times, if number % 32 == 0 { 32 } else { 0 });
            cpu_ns += times.cpu_ns;
            run_queue_ns += times.run_queue_ns;
            active_ns += times.active_ns();
            let now = (long.cpu_ns(), long.run_queue_ns());
            assert!(now.0 >= before.0 && now.1 >= before.1, "{now:?} after {before:?}");
            assert!(now.0 + now.1 <= active_ns, "{now:?} of {active_ns}");
            before = now;
        }
        (cpu_ns, run_queue_ns)
    }

    fn assert_near(is: u64, should_be: u64, percent: u64) {
        let far = is.abs_diff(should_be) * 100;
        assert!(far <= should_be * percent, "{is} is far from {should_be}");
    }

    #[test]
    fn a_sample_of_equal_requests_tells_of_all() {
        let long = long();
        let (cpu_ns, run_queue_ns) = fill(&long, 20_000, |_| times(100, 60, 30, 10));
        assert_near(long.cpu_ns(), cpu_ns, 2);
        assert_near(long.run_queue_ns(), run_queue_ns, 2);
    }

    #[test]
    fn a_rare_long_pause_is_no_processor_time() {
        let long = long();
        let (cpu_ns, run_queue_ns) = fill(&long, 40_000, |number| match number % 100 {
            0 => times(3_030_000, 30_000, 3_000_000, 0),
            _ => times(30_000, 30_000, 0, 0),
        });
        assert_near(long.cpu_ns(), cpu_ns, 2);
        assert_near(long.run_queue_ns(), run_queue_ns, 2);
    }

    #[test]
    fn heavy_and_light_requests_under_one_name_come_out_right() {
        let long = long();
        let (cpu_ns, _) = fill(&long, 60_000, |number| match number % 20 {
            0 => times(2_000_000, 1_900_000, 0, 100_000),
            _ => times(60_000, 10_000, 0, 50_000),
        });
        assert_near(long.cpu_ns(), cpu_ns, 8);
    }

    #[test]
    fn nothing_is_made_of_no_sample() {
        let long = long();
        long.add(Writers::Several, &times(100, 0, 0, 0), 0);
        assert_eq!((long.cpu_ns(), long.run_queue_ns()), (0, 0));
        assert_eq!(part(5, 5, 0), 0);
        assert_eq!(part(u64::MAX, 2, 1), u64::MAX);
    }
}
