//! Numbers that look random and come again with their seed, for tests that make up their inputs.

/// A generator (xorshift64* of G. Marsaglia and S. Vigna).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        // Small seeds would begin alike.
        let mut dice = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            dice.draw();
        }
        dice
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    /// A number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        let count = u64::try_from(count).expect("it fits");
        usize::try_from(self.draw() % count).expect("it is below a usize")
    }

    /// One of these.
    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// Yes once in `count` times.
    pub fn once_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

/// A number of the environment: `TRIVET_SEED`, `TRIVET_MAZES` and `TRIVET_RULE_SETS` have a test
/// go on with inputs of its own.
pub fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}
