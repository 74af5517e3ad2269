//! The search for the highest load at which a condition holds: doubling, then halving the span
//! between what holds and what does not, then a longer run at the result. Only the order of runs
//! lives here; what a run is and whether it holds is the caller's.

/// Levels rise and fall by this while nothing is known beyond.
const GROWTH: f64 = 2.0;

/// The two sides of the result are no further apart than this, relatively.
pub const PRECISION: f64 = 1.05;

/// A run that is to confirm the result, and does not, moves it down so far, and so often at most.
const STEP_DOWN: f64 = 0.9;
const CONFIRMATIONS_MAX: u32 = 4;

/// One run of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Try {
    /// Users, or requests per second.
    pub level: f64,
    /// Whether this is the longer run at the result, which confirms it.
    pub confirms: bool,
}

/// What a search has come to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bracket {
    /// The highest level at which the condition held.
    pub holds_at: Option<f64>,
    /// The lowest above it at which it did not.
    pub fails_at: Option<f64>,
    /// A longer run confirmed that it holds there.
    pub is_confirmed: bool,
}

/// A search.
///
/// ```
/// use tools::capacity::Search;
///
/// let mut search = Search::new(5.0, (1.0, 1000.0), false);
/// while let Some(attempt) = search.next() {
///     search.told(attempt.level <= 42.0);
/// }
/// let found = search.bracket();
/// let (holds_at, fails_at) = (found.holds_at.unwrap(), found.fails_at.unwrap());
/// assert!(holds_at <= 42.0 && 42.0 < fails_at && fails_at / holds_at < 1.06);
/// assert!(found.is_confirmed);
/// ```
#[derive(Clone, Debug)]
pub struct Search {
    bracket: Bracket,
    /// The level that the next run tries.
    level: f64,
    range: (f64, f64),
    /// Whether levels are whole numbers, as those of users are.
    is_whole: bool,
    stage: Stage,
    /// The level failed once; it is tried again before that is believed.
    is_repeat: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Seeking,
    Confirming(u32),
    Done,
}

impl Search {
    /// A search that begins at `first` and stays within the range; users are whole numbers.
    pub fn new(first: f64, range: (f64, f64), is_whole: bool) -> Self {
        let mut search = Self {
            bracket: Bracket::default(),
            level: 0.0,
            range,
            is_whole,
            stage: Stage::Seeking,
            is_repeat: false,
        };
        search.level = search.rounded(first);
        search
    }

    /// The next run; `None` when the search is over.
    pub fn next(&self) -> Option<Try> {
        let confirms = matches!(self.stage, Stage::Confirming(_));
        (self.stage != Stage::Done).then_some(Try { level: self.level, confirms })
    }

    /// Take in whether the condition held in the run that `next` gave.
    pub fn told(&mut self, holds: bool) {
        if !holds && !std::mem::replace(&mut self.is_repeat, true) {
            // One pause of the machine is no verdict.
            return;
        }
        self.is_repeat = false;
        match self.stage {
            Stage::Seeking => self.seek(holds),
            Stage::Confirming(times) => self.confirm(holds, times),
            Stage::Done => {}
        }
    }

    /// What the search knows by now: the highest level that holds, and the lowest that does not.
    pub const fn bracket(&self) -> Bracket {
        self.bracket
    }

    /// How many runs there can be at most, and how many of them are longer ones.
    pub fn runs_max(&self) -> (u32, u32) {
        let steps = |factor: f64, by: f64| (factor.max(1.0).ln() / by.ln()).ceil() as u32;
        let up = steps(self.range.1 / self.level, GROWTH);
        let down = steps(self.level / self.range.0, GROWTH);
        let halvings = (GROWTH.ln() / PRECISION.ln()).log2().ceil() as u32;
        // On the way up one fails, on the way down all do; what fails is repeated.
        (1 + (up + 1).max(2 * down) + 2 * halvings, 2 * CONFIRMATIONS_MAX)
    }

    fn seek(&mut self, holds: bool) {
        let side = if holds { &mut self.bracket.holds_at } else { &mut self.bracket.fails_at };
        *side = Some(self.level);
        let Bracket { holds_at, fails_at, .. } = self.bracket;
        let next = match (holds_at, fails_at) {
            (Some(good), Some(bad)) => self.between(good, bad),
            (Some(good), None) => Some(good * GROWTH).filter(|_| good < self.range.1),
            (None, Some(bad)) if bad > self.range.0 => Some(bad / GROWTH),
            (None, _) => return self.stage = Stage::Done,
        };
        match (next, holds_at) {
            (Some(next), _) => self.level = self.rounded(next),
            (None, Some(good)) => {
                self.level = good;
                self.stage = Stage::Confirming(1);
            }
            (None, None) => self.stage = Stage::Done,
        }
    }

    /// A level between the two, unless they are near enough to each other.
    fn between(&self, good: f64, bad: f64) -> Option<f64> {
        // The geometric mean: precision is relative, so each run halves the ratio and not the
        // difference.
        let middle = self.rounded((good * bad).sqrt());
        (bad / good > PRECISION && good < middle && middle < bad).then_some(middle)
    }

    fn confirm(&mut self, holds: bool, times: u32) {
        if holds {
            self.bracket.holds_at = Some(self.level);
            self.bracket.is_confirmed = true;
            return self.stage = Stage::Done;
        }
        // What held in a short run does not in a longer one, so nothing is known any more of what
        // held below it, either: each level from here on has to be confirmed itself.
        self.bracket.fails_at = Some(self.level);
        let lower = self.level * STEP_DOWN;
        let lower = self.rounded(if self.is_whole { lower.floor() } else { lower });
        self.bracket.holds_at = None;
        if times == CONFIRMATIONS_MAX || lower >= self.level {
            return self.stage = Stage::Done;
        }
        self.level = lower;
        self.stage = Stage::Confirming(times + 1);
    }

    /// Within the range, and with no more digits than anybody wants to read.
    fn rounded(&self, level: f64) -> f64 {
        let level = level.clamp(self.range.0, self.range.1);
        if self.is_whole {
            return level.round();
        }
        let unit = 10_f64.powf(level.log10().floor() - 2.0);
        // Dividing by the inverse of a small unit keeps 0.07 from becoming 0.07000000000000001.
        let digits = (level / unit).round();
        if unit < 1.0 { digits / (1.0 / unit).round() } else { digits * unit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Runs a search over a server that fails above `knee`; gives what was found and the levels.
    fn search(mut search: Search, holds: impl Fn(Try, usize) -> bool) -> (Bracket, Vec<Try>) {
        let mut tried = Vec::new();
        while let Some(attempt) = search.next() {
            tried.push(attempt);
            assert!(tried.len() < 200, "{tried:?}");
            search.told(holds(attempt, tried.len()));
        }
        (search.bracket(), tried)
    }

    #[test]
    fn users_are_found_to_the_last_one() {
        let range = (1.0, 1000.0);
        let (found, _) = search(Search::new(1.0, range, true), |one, _| one.level <= 11.0);
        assert_eq!((found.holds_at, found.fails_at), (Some(11.0), Some(12.0)));
    }

    #[test]
    fn the_ends_of_the_range_are_results_too() {
        let range = (1.0, 100.0);
        let (found, _) = search(Search::new(4.0, range, false), |_, _| true);
        assert_eq!((found.holds_at, found.fails_at), (Some(100.0), None));
        let (found, tried) = search(Search::new(4.0, range, false), |_, _| false);
        assert_eq!((found.holds_at, found.fails_at), (None, Some(1.0)));
        assert_eq!(tried.len(), 6, "4, 2 and 1, each twice");
    }

    #[test]
    fn a_single_failure_is_no_verdict() {
        let range = (1.0, 1000.0);
        let is_good = |one: Try, number: usize| number != 2 && one.level <= 300.0;
        let (found, _) = search(Search::new(5.0, range, false), is_good);
        assert!(found.holds_at.unwrap() > 280.0, "{found:?}");
    }

    #[test]
    fn what_a_longer_run_denies_is_moved_down() {
        let range = (1.0, 1000.0);
        let limit = |one: Try| if one.confirms { 85.0 } else { 100.0 };
        let (found, _) = search(Search::new(5.0, range, false), |one, _| one.level <= limit(one));
        assert!(found.is_confirmed && found.holds_at.unwrap() <= 85.0, "{found:?}");
        let (found, _) = search(Search::new(5.0, range, false), |one, _| !one.confirms);
        assert!(!found.is_confirmed && found.holds_at.is_none(), "{found:?}");
    }

    proptest! {
        #[test]
        fn every_knee_is_found_in_time(
            capacity in 1.0..1e6_f64, first in 0.5..1e5_f64, is_whole: bool,
        ) {
            let start = Search::new(first, (0.5, 1e6), is_whole);
            let (short, long) = start.runs_max();
            let (found, tried) = search(start, |one, _| one.level <= capacity);
            let confirming = tried.iter().filter(|one| one.confirms).count() as u32;
            prop_assert!(tried.len() as u32 - confirming <= short, "{} of {short}", tried.len());
            prop_assert!(confirming <= long);
            let (good, bad) = (found.holds_at.unwrap(), found.fails_at.unwrap_or(1e6));
            prop_assert!(good <= capacity && (capacity < bad || bad == 1e6));
            prop_assert!(bad / good <= PRECISION * 1.02 || bad - good <= 1.0, "{good} {bad}");
        }
    }
}
