//! When: the one pure function that says how many users there are, or when a request is due.
//!
//! Everything is counted from the start and nothing is remembered, so nothing can drift: the moment
//! of the millionth request does not depend on how late the one before it was.

use crate::pattern::{LoadKind, LoadPattern, Segment};
use crate::text::SyntaxFault;

/// The schedule of a run.
///
/// ```
/// use load::pacer::Pacer;
/// use load::pattern::LoadPattern;
///
/// let users = Pacer::new(LoadPattern::parse("1-3:10").unwrap());
/// assert_eq!(users.users(0), 1);
/// assert_eq!(users.next_change(0), Some(2_500_000_000), "from there on it is nearer to 2");
///
/// let rate = Pacer::new(LoadPattern::parse("4r:10").unwrap());
/// assert_eq!(rate.due(0), Some(0));
/// assert_eq!(rate.due(3), Some(750_000_000));
/// assert_eq!(rate.due(40), None, "40 in 10 seconds, from 0 to 39");
/// ```
#[derive(Clone, Debug)]
pub struct Pacer {
    source: PaceSource,
}

#[derive(Clone, Debug)]
enum PaceSource {
    Users(LoadPattern),
    /// With the number of requests before each piece, and before the end.
    Rate(LoadPattern, Vec<f64>),
    /// Moments in rising order.
    Recorded(Vec<u64>),
}

/// How much faster or slower than it was a record can be replayed.
const SPEEDS: std::ops::RangeInclusive<f64> = 0.001..=1000.0;

impl Pacer {
    /// The schedule of a pattern.
    pub fn new(pattern: LoadPattern) -> Self {
        let source = match pattern.kind() {
            LoadKind::Users => PaceSource::Users(pattern),
            LoadKind::Rate => {
                let counts = counts_before(pattern.segments());
                PaceSource::Rate(pattern, counts)
            }
        };
        Self { source }
    }

    /// A recorded schedule: moments in any order and from any origin; the first becomes 0. At speed
    /// 2 it takes half the time.
    pub fn recorded(mut moments_ns: Vec<u64>, speed: f64) -> Result<Self, SyntaxFault> {
        if !SPEEDS.contains(&speed) {
            let what = format!("expected a speed from {} to {}", SPEEDS.start(), SPEEDS.end());
            return Err(SyntaxFault::new(&speed.to_string(), 0, what));
        }
        moments_ns.sort_unstable();
        let first_ns = moments_ns.first().copied().unwrap_or(0);
        for moment_ns in &mut moments_ns {
            let offset_ns = *moment_ns - first_ns;
            *moment_ns = if speed == 1.0 { offset_ns } else { (offset_ns as f64 / speed) as u64 };
        }
        Ok(Self { source: PaceSource::Recorded(moments_ns) })
    }

    /// Whether users wait for answers, or requests are due.
    pub const fn kind(&self) -> LoadKind {
        match self.source {
            PaceSource::Users(_) => LoadKind::Users,
            PaceSource::Rate(..) | PaceSource::Recorded(_) => LoadKind::Rate,
        }
    }

    /// When nothing more begins; `None` if it goes on for ever.
    pub fn duration_ns(&self) -> Option<u64> {
        match &self.source {
            PaceSource::Users(pattern) | PaceSource::Rate(pattern, _) => pattern.duration_ns(),
            PaceSource::Recorded(moments_ns) => {
                Some(moments_ns.last().map_or(0, |last_ns| last_ns + 1))
            }
        }
    }

    /// Users at a moment, rounded; 0 after the end, and if there are none in this schedule.
    pub fn users(&self, t_ns: u64) -> u32 {
        match &self.source {
            PaceSource::Users(pattern) => rounded(pattern.level(t_ns)),
            PaceSource::Rate(..) | PaceSource::Recorded(_) => 0,
        }
    }

    /// Users at the most, at any moment.
    pub fn users_max(&self) -> u32 {
        match &self.source {
            PaceSource::Users(pattern) => rounded(pattern.peak()),
            PaceSource::Rate(..) | PaceSource::Recorded(_) => 0,
        }
    }

    /// The first moment after `t_ns` with another number of users than at `t_ns`.
    pub fn next_change(&self, t_ns: u64) -> Option<u64> {
        let PaceSource::Users(pattern) = &self.source else { return None };
        let mut index = pattern.index_at(t_ns)?;
        let users = rounded(pattern.level(t_ns));
        let mut from_ns = t_ns;
        loop {
            let segment = pattern.segments().get(index)?;
            if let Some(change_ns) = change_within(segment, users, from_ns) {
                return Some(change_ns);
            }
            from_ns = segment.end_ns()?;
            index += 1;
            if index == pattern.segments().len() {
                return (users > 0).then_some(from_ns);
            }
        }
    }

    /// When the request number `n`, from 0, is due: the moment before which `n` are due in all.
    /// `None` after the last, and if nothing is due in this schedule.
    pub fn due(&self, n: u64) -> Option<u64> {
        match &self.source {
            PaceSource::Users(_) => None,
            PaceSource::Rate(pattern, counts) => {
                let count = n as f64;
                // The first piece at whose end more than n are due.
                let index = counts[1..].partition_point(|before| *before <= count);
                let segment = pattern.segments().get(index)?;
                Some(segment.start_ns + due_within(segment, count - counts[index]))
            }
            PaceSource::Recorded(moments_ns) => moments_ns.get(usize::try_from(n).ok()?).copied(),
        }
    }

    /// How many requests are due before `t_ns`, not rounded; 0 if nothing is due in this schedule.
    pub fn due_before(&self, t_ns: u64) -> f64 {
        match &self.source {
            PaceSource::Users(_) => 0.0,
            PaceSource::Rate(pattern, counts) => match pattern.index_at(t_ns) {
                Some(index) => {
                    let segment = &pattern.segments()[index];
                    counts[index] + count_within(segment, t_ns - segment.start_ns)
                }
                None => counts.last().copied().unwrap_or(0.0),
            },
            PaceSource::Recorded(moments_ns) => {
                moments_ns.partition_point(|due| *due < t_ns) as f64
            }
        }
    }
}

/// Levels are bounded and not negative, so this cuts nothing off.
fn rounded(level: f64) -> u32 {
    level.round() as u32
}

/// The first moment of a piece, from `from_ns` on, at which the users are not `users`. Along a
/// piece the level only rises or only falls, so from where they are `users`, halving finds it.
fn change_within(segment: &Segment, users: u32, from_ns: u64) -> Option<u64> {
    let differs = |offset_ns: u64| rounded(segment.level(offset_ns)) != users;
    let mut low = from_ns - segment.start_ns;
    if differs(low) {
        return Some(from_ns);
    }
    let mut high = segment.len_ns? - 1;
    if !differs(high) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if differs(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(segment.start_ns + high)
}

/// Requests due in the first `offset_ns` of a piece: the area under its level.
fn count_within(segment: &Segment, offset_ns: u64) -> f64 {
    (segment.from + segment.level(offset_ns)) / 2.0 * (offset_ns as f64 / 1e9)
}

/// Requests due before each piece, and at last before the end.
fn counts_before(segments: &[Segment]) -> Vec<f64> {
    let mut counts = vec![0.0];
    let mut sum = 0.0;
    for segment in segments {
        sum += match segment.len_ns {
            Some(len_ns) => count_within(segment, len_ns),
            None => f64::INFINITY,
        };
        counts.push(sum);
    }
    counts
}

/// How long after the start of a piece `count` requests of it are due: the solution of
/// `count = from x + slope x² / 2`, written so that nothing cancels out, for a slope of 0 too.
fn due_within(segment: &Segment, count: f64) -> u64 {
    if count <= 0.0 {
        return 0;
    }
    // The usual solution, `(-from + root) / slope`, divides by a slope that may be 0 and subtracts
    // two numbers that are nearly equal where it is small. Multiplied by `from + root` above and
    // below it becomes `2 count / (from + root)`.
    let (slope, last_ns) = match segment.len_ns {
        Some(len_ns) => ((segment.to - segment.from) / (len_ns as f64 / 1e9), len_ns - 1),
        None => (0.0, u64::MAX - segment.start_ns),
    };
    let under_root = (segment.from * segment.from + 2.0 * count * slope).max(0.0);
    // Rounding must not put the last request of a piece behind the piece.
    let offset_ns = 2.0 * count * 1e9 / (segment.from + under_root.sqrt());
    (offset_ns.round() as u64).min(last_ns)
}

#[cfg(test)]
#[path = "pacer_tests.rs"]
mod tests;
