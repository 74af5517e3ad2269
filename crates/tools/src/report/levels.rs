//! Which seconds of a run belong to which load: the levels that its pattern holds, and for what
//! rises or falls the seconds with about the same load.
//!
//! A second that lies in two levels belongs to neither of them: nobody knows any more which of its
//! answers came when. What a second has is what ended in it, as in all rows of seconds, so that an
//! answer counts for the level in which it came.

use super::level::{HeldLevel, LevelServer, LoadLevel};
use super::record::PerSecond;
use super::times::us;
use load::Histogram;
use load::pattern::{LoadKind, LoadPattern, Segment};
use load::run::RunSecond;
use std::ops::Range;

/// Rows of a ramp at most.
const BINS_MAX: usize = 20;

/// The moments of a second at which its load is sampled.
const LOOKS: u32 = 10;

/// Sums up the seconds of a run by their load.
#[derive(Debug)]
pub struct LoadLevels {
    pattern: LoadPattern,
    /// When the last request may be sent.
    end_ns: u64,
    /// Rates and times are those of pages.
    counts_pages: bool,
    /// Pieces of the pattern that are looked at already.
    begun: usize,
    open: Vec<OpenLevel>,
    closed: Vec<HeldLevel>,
    ramp: Option<Ramp>,
}

/// A level that goes on.
#[derive(Debug)]
struct OpenLevel {
    level: f64,
    start_ns: u64,
    end_ns: u64,
    /// How far the run has come in it.
    until_ns: u64,
    sum: Sum,
}

/// Seconds by their load, from the lowest to the highest.
#[derive(Debug)]
struct Ramp {
    least: f64,
    most: f64,
    bins: Vec<Bin>,
}

#[derive(Debug, Default)]
struct Bin {
    /// Loads, each multiplied by its seconds.
    level_s: f64,
    sum: Sum,
}

/// What several seconds have counted.
#[derive(Debug, Default)]
struct Sum {
    counted_s: f64,
    requests: u64,
    errors: u64,
    /// Answers without fault, or pages.
    good: u64,
    /// Times of answers, or of pages.
    times: Histogram,
    server: Option<ServerSum>,
}

#[derive(Debug, Default)]
struct ServerSum {
    cpu_us: f64,
    /// Percents, each multiplied by its seconds.
    percent_s: f64,
    pss_bytes_max: u64,
}

/// What a run came to by its load.
#[derive(Debug, Default)]
pub struct ByLoad {
    /// The levels that its pattern holds, as far as they have begun.
    pub levels: Vec<HeldLevel>,
    /// Where the pattern rises or falls: all seconds, those with about the same load together.
    pub ramp: Vec<LoadLevel>,
}

impl LoadLevels {
    /// Of a run with this pattern, or so much of it; of pages, or requests.
    pub fn of(pattern: LoadPattern, until_ns: Option<u64>, counts_pages: bool) -> Self {
        let ends_ns = [until_ns, pattern.duration_ns()];
        let end_ns = ends_ns.into_iter().flatten().min().unwrap_or(u64::MAX);
        let ramp = Ramp::of(&pattern);
        let (open, closed) = (Vec::new(), Vec::new());
        Self { pattern, end_ns, counts_pages, begun: 0, open, closed, ramp }
    }

    /// Takes in a second: what it counted, and what the report says of it.
    pub fn count(&mut self, second: &RunSecond, figures: &PerSecond) {
        if second.is_warm_up() {
            return;
        }
        let until_ns = second.until_ns.unsigned_abs();
        let from_ns = until_ns.saturating_sub(second.length_ns);
        let part = Sum::of(second, figures, self.counts_pages);
        if let Some(ramp) = &mut self.ramp {
            let level = mean_level(&self.pattern, self.end_ns, from_ns..until_ns);
            ramp.bin(level).add(level, &part);
        }
        self.begin(until_ns);
        // Two may be open: the second in which one ends and the next begins lies in both, and is
        // counted in neither.
        for held in &mut self.open {
            held.until_ns = held.end_ns.min(until_ns);
            if held.start_ns <= from_ns && until_ns <= held.end_ns {
                held.sum.add(&part);
            }
        }
        let ended = self.open.iter().take_while(|held| held.end_ns <= until_ns).count();
        self.closed.extend(self.open.drain(..ended).map(OpenLevel::row));
    }

    /// Opens the levels that have begun by `until_ns`.
    fn begin(&mut self, until_ns: u64) {
        let starts = |piece: &&Segment| piece.start_ns < until_ns.min(self.end_ns);
        let pieces = self.pattern.segments();
        while let Some(piece) = pieces.get(self.begun).filter(starts) {
            self.begun += 1;
            if piece.from == piece.to {
                let (level, start_ns) = (piece.from, piece.start_ns);
                // What was sent in the last one may be answered after its end.
                let end_ns = piece.end_ns().filter(|end_ns| *end_ns < self.end_ns);
                let (end_ns, sum) = (end_ns.unwrap_or(u64::MAX), Sum::default());
                self.open.push(OpenLevel { level, start_ns, end_ns, until_ns: start_ns, sum });
            }
        }
    }

    /// The results by load of a run that has ended.
    pub fn end(mut self) -> ByLoad {
        self.closed.extend(self.open.into_iter().map(OpenLevel::row));
        let bins = self.ramp.map_or_else(Vec::new, |ramp| ramp.bins);
        let ramp = bins.iter().filter(|bin| bin.sum.counted_s > 0.0).map(Bin::row);
        ByLoad { levels: self.closed, ramp: ramp.collect() }
    }
}

/// The load of a second on average. What comes after the end was asked for until then.
fn mean_level(pattern: &LoadPattern, end_ns: u64, second: Range<u64>) -> f64 {
    let part_ns = (second.end - second.start) as f64 / f64::from(LOOKS);
    let at_ns = |look: u32| second.start + ((f64::from(look) + 0.5) * part_ns) as u64;
    let sum: f64 = (0..LOOKS).map(|look| pattern.level(at_ns(look).min(end_ns - 1))).sum();
    sum / f64::from(LOOKS)
}

impl OpenLevel {
    fn row(self) -> HeldLevel {
        let [from_s, to_s] = [self.start_ns, self.until_ns].map(|ns| ns as f64 / 1e9);
        HeldLevel { from_s, to_s, figures: self.sum.figures(self.level) }
    }
}

impl Ramp {
    /// The ramp of a pattern; `None` if it neither rises nor falls anywhere.
    fn of(pattern: &LoadPattern) -> Option<Self> {
        let pieces = pattern.segments();
        if pieces.iter().all(|piece| piece.from == piece.to) {
            return None;
        }
        let lower = pieces.iter().map(|piece| piece.from.min(piece.to));
        let (least, most) = (lower.fold(f64::INFINITY, f64::min), pattern.peak());
        let count = match pattern.kind() {
            // Nobody is between two users.
            LoadKind::Users => BINS_MAX.min((most - least) as usize + 1),
            LoadKind::Rate => BINS_MAX,
        };
        Some(Self { least, most, bins: (0..count).map(|_| Bin::default()).collect() })
    }

    fn bin(&mut self, level: f64) -> &mut Bin {
        let count = self.bins.len();
        let place = (level - self.least) / (self.most - self.least) * count as f64;
        &mut self.bins[(place as usize).min(count - 1)]
    }
}

impl Bin {
    fn add(&mut self, level: f64, part: &Sum) {
        self.level_s += level * part.counted_s;
        self.sum.add(part);
    }

    fn row(&self) -> LoadLevel {
        self.sum.figures(self.level_s / self.sum.counted_s)
    }
}

impl Sum {
    /// The sums of one second.
    fn of(second: &RunSecond, figures: &PerSecond, counts_pages: bool) -> Self {
        let window = &second.window;
        let pages = || window.pages.as_ref().map(|pages| (pages.loaded, pages.time.clone()));
        let (good, times) = match counts_pages {
            true => pages().unwrap_or_default(),
            false => (window.answers - window.faulty_answers, window.latency.clone()),
        };
        let server = figures.server.as_ref().map(|server| ServerSum {
            // As it was divided: by one where there was no request.
            cpu_us: noted(server.cpu_us_per_request) * figures.requests.max(1) as f64,
            percent_s: noted(server.cpu_percent) * figures.length_s,
            pss_bytes_max: server.pss_bytes,
        });
        let PerSecond { length_s, requests, errors, .. } = *figures;
        Self { counted_s: length_s, requests, errors, good, times, server }
    }

    fn add(&mut self, part: &Self) {
        self.counted_s += part.counted_s;
        self.requests += part.requests;
        self.errors += part.errors;
        self.good += part.good;
        self.times.add(&part.times);
        if let Some(part) = &part.server {
            let sum = self.server.get_or_insert_default();
            sum.cpu_us += part.cpu_us;
            sum.percent_s += part.percent_s;
            sum.pss_bytes_max = sum.pss_bytes_max.max(part.pss_bytes_max);
        }
    }

    fn figures(&self, level: f64) -> LoadLevel {
        let each_s = |sum: f64| if self.counted_s > 0.0 { sum / self.counted_s } else { 0.0 };
        let [p50_us, p95_us, p99_us] =
            [50.0, 95.0, 99.0].map(|percent| us(self.times.percentile_ns(percent)));
        // Nobody answers without any work.
        let known = |value: f64| Some(value).filter(|value| *value > 0.0 || self.requests == 0);
        let server = self.server.as_ref().map(|sum| LevelServer {
            cpu_us_per_request: known(sum.cpu_us / self.requests.max(1) as f64),
            cpu_percent: known(each_s(sum.percent_s)),
            pss_bytes_max: sum.pss_bytes_max,
        });
        LoadLevel {
            level,
            counted_s: self.counted_s,
            requests: self.requests,
            errors: self.errors,
            rate: each_s(self.good as f64),
            p50_us,
            p95_us,
            p99_us,
            server,
        }
    }
}

/// What a second has; one that was too short for any to be noted has none.
const fn noted(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

#[cfg(test)]
#[path = "levels_tests.rs"]
mod tests;
