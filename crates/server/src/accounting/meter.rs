//! When a thread asks the clocks: rarely enough to cost nothing that can be measured, and at
//! random, so that no rhythm of the clients is taken for the rule.

use runtime::clock;
use scoreboard::{RequestTimes, Writers};
use std::cell::Cell;

/// Of requests on the fast path, one in so many is measured.
const FAST_GAP: u32 = 16;

/// Of quick requests that take the slow path. To measure one takes twelve system calls where it
/// waits twice, for a slot or a backend: with 32 half a system call for each request, a fortieth
/// of the CPU. (bench: php-4)
const LONG_GAP: u32 = 64;

/// Of slow ones that come in a crowd, beside those of [`TICK_MS`]. (bench: php-32)
const CROWD_GAP: u32 = 128;

/// What takes longer than this can bear to be measured, but for many in a row: it may have waited
/// for most of the time, and used less of the processor than to measure it takes.
const QUICK_NS: u64 = 500_000;

/// Of what is slow one is measured in so many milliseconds, and of the others one in several.
const TICK_MS: u64 = 8;

/// Paths that are remembered by whether they were quick.
const PATHS: usize = 256;

/// What the last request of some path was.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PathPace {
    Unknown,
    Quick,
    /// One was measured in this tick, of which the last bits are kept.
    Slow(u8),
}

/// The clocks when a turn began.
#[derive(Clone, Copy)]
struct TurnStart {
    cpu_ns: u64,
    wall_ns: u64,
}

/// Chooses what a thread measures.
pub(crate) struct Meter {
    is_on: bool,
    /// A log shows times of each request.
    is_always: bool,
    writers: Writers,
    /// Requests on the fast path until the next sample.
    fast_left: Cell<u32>,
    /// The wall time of the last sample there; 0 before the first.
    fast_wall_ns: Cell<u64>,
    /// The turn that is measured.
    turn: Cell<Option<TurnStart>>,
    /// What a turn had used when it turned out to be for the slow path, the last time that was
    /// measured.
    turn_cpu_ns: Cell<u64>,
    seed: Cell<u64>,
    paces: Box<[Cell<PathPace>; PATHS]>,
}

impl Meter {
    /// `is_on` for `ExtendedStatus`; `is_always` if each request is to be measured.
    pub(crate) fn new(is_on: bool, is_always: bool, writers: Writers) -> Self {
        if is_on || is_always {
            // It opens a file, which had better be open before there is anything to be measured.
            runtime::run_queue::run_queue_ns();
        }
        Self {
            is_on,
            is_always,
            writers,
            fast_left: Cell::new(0),
            fast_wall_ns: Cell::new(0),
            turn: Cell::new(None),
            turn_cpu_ns: Cell::new(0),
            // Any number but 0 will do; threads that begin together are to differ.
            seed: Cell::new(clock::monotonic_ns() | 1),
            paces: Box::new([const { Cell::new(PathPace::Unknown) }; PATHS]),
        }
    }

    /// Whether accounts are kept at all.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// How rows are written.
    pub(crate) fn writers(&self) -> Writers {
        self.writers
    }

    /// A turn begins: whatever comes of it may be the request that is measured.
    #[inline]
    pub(crate) fn begin_turn(&self) {
        let is_due = (self.is_on && self.fast_left.get() == 0) || self.is_always;
        let start = || TurnStart { cpu_ns: clock::thread_cpu_ns(), wall_ns: clock::monotonic_ns() };
        self.turn.set(is_due.then(start));
    }

    /// Bytes have come in this turn, which may have waited for them.
    #[inline]
    pub(crate) fn received(&self) {
        if let Some(start) = self.turn.get() {
            self.turn.set(Some(TurnStart { wall_ns: clock::monotonic_ns(), ..start }));
        }
    }

    /// A request was answered on the fast path: what it came to, if it is a sample. The result is
    /// wall and processor time.
    pub(crate) fn end_of_fast(&self) -> Option<(u64, u64)> {
        let Some(start) = self.turn.take() else {
            self.fast_left.set(self.fast_left.get().saturating_sub(1));
            return None;
        };
        let (wall_ns, cpu_ns) = (clock::monotonic_ns(), clock::thread_cpu_ns());
        if self.is_always {
            self.turn.set(Some(TurnStart { cpu_ns, wall_ns })); // more may lie ready
        } else {
            self.fast_left.set(self.random(2 * FAST_GAP - 1)); // one less on average
        }
        let sample = (wall_ns.saturating_sub(start.wall_ns), cpu_ns.saturating_sub(start.cpu_ns));
        self.fast_wall_ns.set(sample.0.max(sample.1));
        Some(sample)
    }

    /// How long a request on the fast path takes, as the last sample there says; before the first
    /// one, as long as it takes to find out that a request is for the slow path.
    #[inline]
    pub(crate) fn fast_wall_ns(&self) -> u64 {
        match self.fast_wall_ns.get() {
            0 => self.turn_cpu_ns.get(),
            wall_ns => wall_ns,
        }
    }

    /// What the request on the fast path has come to so far, for a log that shows it.
    pub(crate) fn so_far(&self) -> Option<RequestTimes> {
        let start = self.turn.get().filter(|_| self.is_always)?;
        let cpu_ns = clock::thread_cpu_ns().saturating_sub(start.cpu_ns);
        // To receive the request is part of the second, and comes before the first begins.
        let wall_ns = clock::monotonic_ns().saturating_sub(start.wall_ns).max(cpu_ns);
        let run_queue_ns = wall_ns.saturating_sub(cpu_ns);
        Some(RequestTimes { wall_ns, cpu_ns, run_queue_ns, ..RequestTimes::default() })
    }

    /// A request takes the slow path: what it has used of the processor so far. Measured now and
    /// then, since one is about as long as the other.
    pub(crate) fn leave_fast(&self) -> u64 {
        if let Some(start) = self.turn.take() {
            self.turn_cpu_ns.set(clock::thread_cpu_ns().saturating_sub(start.cpu_ns));
            self.fast_left.set(self.random(2 * FAST_GAP - 1));
        } else {
            self.fast_left.set(self.fast_left.get().saturating_sub(1));
        }
        self.turn_cpu_ns.get()
    }

    /// What stands for the path of a request line; others may have the same.
    pub(crate) fn path_hash(request_line: &[u8]) -> u8 {
        let end = request_line.iter().position(|byte| *byte == b'?').unwrap_or(request_line.len());
        let mix = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(16_777_619);
        let hash = request_line[..end].iter().fold(2_166_136_261, mix);
        (hash >> 24).to_le_bytes()[0]
    }

    /// How many requests one for a path of this hash stands for, which takes the slow path, if it
    /// is to be measured: as many as its chance was one of; 0 if it is not. `now_ms` is of the
    /// coarse monotonic clock.
    pub(crate) fn weigh(&self, path_hash: u8, now_ms: u64) -> u32 {
        if self.is_always {
            return 1;
        }
        if !self.is_on {
            return 0;
        }
        let pace = &self.paces[usize::from(path_hash)];
        let [tick, ..] = (now_ms / TICK_MS).to_le_bytes();
        let gap = match pace.get() {
            PathPace::Unknown => 1,
            PathPace::Quick => LONG_GAP,
            PathPace::Slow(last) if last == tick => CROWD_GAP,
            PathPace::Slow(_) => {
                pace.set(PathPace::Slow(tick));
                1
            }
        };
        if gap == 1 || self.random(gap) == 0 { gap } else { 0 }
    }

    /// How long it took.
    pub(crate) fn saw(&self, path_hash: u8, wall_ns: u64) {
        let pace = &self.paces[usize::from(path_hash)];
        match (wall_ns < QUICK_NS, pace.get()) {
            (true, _) => pace.set(PathPace::Quick),
            (false, PathPace::Slow(_)) => {}
            (false, _) => pace.set(PathPace::Slow(0)),
        }
    }

    /// A number below `end` (Marsaglia's xorshift).
    fn random(&self, end: u32) -> u32 {
        let mut seed = self.seed.get();
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        self.seed.set(seed);
        u32::try_from((seed >> 32) % u64::from(end)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_in_sixteen_is_measured_on_the_fast_path() {
        let meter = Meter::new(true, false, Writers::One);
        let mut samples = 0_u32;
        for _ in 0..16_000 {
            meter.begin_turn();
            meter.received();
            samples += u32::from(meter.end_of_fast().is_some());
        }
        assert!((800..1200).contains(&samples), "{samples}");
    }

    #[test]
    fn each_is_measured_where_a_log_shows_it_and_none_where_nothing_does() {
        let always = Meter::new(false, true, Writers::One);
        let off = Meter::new(false, false, Writers::One);
        for _ in 0..100 {
            always.begin_turn();
            // Two requests of one turn.
            assert!(always.end_of_fast().is_some() && always.end_of_fast().is_some());
            assert!(always.so_far().is_some() && always.weigh(0, 0) == 1);
            off.begin_turn();
            assert!(off.so_far().is_none() && off.weigh(0, 0) == 0);
            assert!(off.end_of_fast().is_none());
        }
    }

    #[test]
    fn what_is_slow_is_measured_once_in_a_while_and_what_is_quick_now_and_then() {
        let meter = Meter::new(true, false, Writers::One);
        assert_eq!(meter.weigh(7, 5), 1, "nothing is known yet");
        meter.saw(7, QUICK_NS);
        assert!((1..=100).all(|tick| meter.weigh(7, tick * TICK_MS) == 1));
        let of = |count: u32, gap: u32, ms| {
            (0..count * gap).filter(|_| meter.weigh(7, ms) == gap).count()
        };
        assert!((20..100).contains(&of(47, CROWD_GAP, 2000)));
        meter.saw(7, QUICK_NS);
        assert_eq!(meter.weigh(7, 2100), 1, "slow as before");
        meter.saw(7, QUICK_NS - 1);
        assert!((20..100).contains(&of(47, LONG_GAP, 3000)));
    }

    #[test]
    fn what_was_used_before_the_long_way_is_measured_now_and_then() {
        let meter = Meter::new(true, false, Writers::One);
        let is_measured = |_: &i32| {
            meter.begin_turn();
            let is_measured = meter.turn.get().is_some();
            assert!(meter.leave_fast() > 0, "the last one stands for it");
            is_measured
        };
        let measured = (0..1600).filter(is_measured).count();
        assert!((60..160).contains(&measured), "{measured}");
    }
}
