//! What the server costs at a moment, and whether it costs more and more.

use super::procs;
use super::server::SoakServer;
use std::collections::BTreeSet;
use std::fmt;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A server at rest has come to it by then: draining children are gone, dead ones are replaced.
const REST_PATIENCE: Duration = Duration::from_secs(30);
const REST_STEP: Duration = Duration::from_millis(250);
/// Looks in a row that have to agree.
const REST_LOOKS: usize = 4;

/// Memory that may be added whatever the baseline: an allocator keeps what a burst needed.
const MOST_GROWTH_BYTES: u64 = 6 << 20;
/// Descriptors that the parent may have more: it needs the same few every time.
const MOST_PARENT_DESCRIPTORS: usize = 1;
/// The same for all children. Each keeps files open that it was asked for, of which the example
/// site has some 270, and at the first look it may not have been asked for all.
const MOST_CHILD_DESCRIPTORS: usize = 600;

/// One look.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct HealthSample {
    pub(super) at_s: f64,
    pub(super) parent_descriptors: usize,
    pub(super) parent_bytes: u64,
    pub(super) children: BTreeSet<u32>,
    pub(super) child_descriptors: usize,
    pub(super) child_bytes: u64,
    pub(super) zombies: BTreeSet<u32>,
}

impl HealthSample {
    pub(super) fn take(server: &SoakServer, start: Instant) -> Self {
        let parent = server.pid();
        let group = procs::group(parent);
        let zombies = group.iter().filter(|process| process.is_zombie).map(|p| p.pid).collect();
        let children: BTreeSet<u32> = procs::children(parent).into_iter().collect();
        Self {
            at_s: start.elapsed().as_secs_f64(),
            parent_descriptors: procs::descriptors(parent),
            parent_bytes: procs::pss_bytes(parent),
            child_descriptors: children.iter().map(|pid| procs::descriptors(*pid)).sum(),
            child_bytes: children.iter().map(|pid| procs::pss_bytes(*pid)).sum(),
            children,
            zombies,
        }
    }

    /// What has grown since `base` more than it may. Both are of a server at rest.
    pub(super) fn growth_since(&self, base: &Self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.children.len() != base.children.len() {
            let (now, before) = (self.children.len(), base.children.len());
            faults.push(format!("{now} children instead of {before}"));
        }
        let descriptors = [
            ("parent", self.parent_descriptors, base.parent_descriptors, MOST_PARENT_DESCRIPTORS),
            ("children", self.child_descriptors, base.child_descriptors, MOST_CHILD_DESCRIPTORS),
        ];
        for (whose, now, before, most) in descriptors {
            if now > before + most {
                faults.push(format!("descriptors of the {whose}: {now}, before {before}"));
            }
        }
        let memory = [
            ("parent", self.parent_bytes, base.parent_bytes),
            ("children", self.child_bytes, base.child_bytes),
        ];
        for (whose, now, before) in memory {
            if now > before + before / 2 + MOST_GROWTH_BYTES {
                let (before, now) = (megabytes(before), megabytes(now));
                faults.push(format!("memory of the {whose}: {now:.1} MB, before {before:.1} MB"));
            }
        }
        faults
    }
}

impl fmt::Display for HealthSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} children, descriptors {} + {}, memory {:.1} + {:.1} MB",
            self.children.len(),
            self.parent_descriptors,
            self.child_descriptors,
            megabytes(self.parent_bytes),
            megabytes(self.child_bytes)
        )
    }
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Waits until nothing changes any more; the load is off.
pub(super) fn at_rest(server: &SoakServer, start: Instant) -> Result<HealthSample, String> {
    let deadline = Instant::now() + REST_PATIENCE;
    let (mut last, mut looks) = (HealthSample::take(server, start), 0);
    while Instant::now() < deadline {
        sleep(REST_STEP);
        let next = HealthSample::take(server, start);
        let is_same = next.children == last.children
            && next.child_descriptors == last.child_descriptors
            && next.parent_descriptors == last.parent_descriptors
            && next.zombies.is_empty();
        looks = if is_same { looks + 1 } else { 0 };
        if looks >= REST_LOOKS {
            return Ok(next);
        }
        last = next;
    }
    Err(format!("without load it does not come to rest: {last}, zombies {:?}", last.zombies))
}

/// Dead processes that two looks in a row have seen: the parent does not wait for them.
pub(super) fn lasting_zombies(before: &HealthSample, now: &HealthSample) -> Vec<u32> {
    now.zombies.intersection(&before.zombies).copied().collect()
}

/// Growth per hour of the line through the points (seconds, value) that fits best.
pub(super) fn slope_per_hour(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|point| point.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|point| (point.0 - mean_x).powi(2)).sum();
    let product: f64 = points.iter().map(|point| (point.0 - mean_x) * (point.1 - mean_y)).sum();
    if spread > 0.0 { product / spread * 3600.0 } else { 0.0 }
}

/// The slopes of the parent, for the summary.
pub(super) fn slopes(samples: &[HealthSample]) -> String {
    let of = |value: fn(&HealthSample) -> f64| {
        let points: Vec<_> = samples.iter().map(|sample| (sample.at_s, value(sample))).collect();
        slope_per_hour(&points)
    };
    format!(
        "parent {:+.1} descriptors/h, {:+.1} MB/h; children {:+.1} MB/h",
        of(|sample| sample.parent_descriptors as f64),
        of(|sample| megabytes(sample.parent_bytes)),
        of(|sample| megabytes(sample.child_bytes))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> HealthSample {
        HealthSample {
            parent_descriptors: 10,
            parent_bytes: 8 << 20,
            children: [1, 2].into(),
            child_descriptors: 30,
            child_bytes: 16 << 20,
            ..HealthSample::default()
        }
    }

    #[test]
    fn a_line_gives_its_slope() {
        let line: Vec<(f64, f64)> =
            (0..5).map(|x| (f64::from(x), 2.0 * f64::from(x) + 1.0)).collect();
        assert!((slope_per_hour(&line) - 7200.0).abs() < 1e-6);
        assert!(slope_per_hour(&[(1.0, 5.0)]).abs() < 1e-9);
        assert!((slope_per_hour(&[(0.0, 1.0), (3600.0, 0.0)]) + 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_grows_is_named_and_new_pids_are_no_growth() {
        let base = sample();
        let same = HealthSample { children: [3, 4].into(), ..sample() };
        assert_eq!(same.growth_since(&base), [""; 0]);
        let grown = HealthSample {
            parent_descriptors: 12,
            parent_bytes: 19 << 20,
            child_descriptors: 631,
            child_bytes: 31 << 20,
            children: [3].into(),
            ..sample()
        };
        assert_eq!(
            grown.growth_since(&base),
            [
                "1 children instead of 2",
                "descriptors of the parent: 12, before 10",
                "descriptors of the children: 631, before 30",
                "memory of the parent: 19.0 MB, before 8.0 MB",
                "memory of the children: 31.0 MB, before 16.0 MB",
            ]
        );
    }

    #[test]
    fn a_zombie_lasts_when_it_is_seen_twice() {
        let seen =
            |pids: &[u32]| HealthSample { zombies: pids.iter().copied().collect(), ..sample() };
        assert_eq!(lasting_zombies(&seen(&[1, 2]), &seen(&[2, 3])), [2]);
    }
}
