//! Which accounts are shown by themselves to whoever computes rates of them. Once one is, it stays:
//! a series that falls, or that takes its history from another one, looks like a burst.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Places for accounts.
const PLACES: usize = 128;

/// The keys of names, those that came first in front; 0 is a free place.
#[repr(C)]
pub struct Choices([AtomicU64; PLACES]);

impl Choices {
    /// Whether the account of virtual host `host` with this name is one of them.
    pub fn contains(&self, host: u32, name: &[u8]) -> bool {
        let key = key(host, name);
        let mut taken =
            self.0.iter().map(|place| place.load(Relaxed)).take_while(|known| *known != 0);
        taken.any(|known| known == key)
    }

    /// Show the account by itself from now on, if no more than `most` are by then.
    pub fn add(&self, host: u32, name: &[u8], most: usize) {
        let key = key(host, name);
        for place in self.0.iter().take(most) {
            let before = place.compare_exchange(0, key, Relaxed, Relaxed);
            if before.is_ok() || before == Err(key) {
                return;
            }
        }
    }
}

/// A number for a name, which every process computes alike (FNV-1a), and never 0. Whoever finds two
/// names of one number has two accounts shown for one choice, no more.
fn key(host: u32, name: &[u8]) -> u64 {
    let bytes = host.to_le_bytes().into_iter().chain(name.iter().copied());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash.max(1)
}

#[cfg(test)]
mod tests {
    use crate::Scoreboard;

    #[test]
    fn what_was_chosen_stays_and_there_are_no_more_than_may_be() {
        let board = Scoreboard::create(1, 1, 0).unwrap();
        let choices = board.choices();
        for _ in 0..2 {
            choices.add(0, b"/a", 2);
            choices.add(1, b"/a", 2);
            choices.add(0, b"/b", 2);
        }
        let found = [(0, "/a"), (1, "/a"), (0, "/b"), (2, "/a")]
            .map(|(host, name)| choices.contains(host, name.as_bytes()));
        assert_eq!(found, [true, true, false, false]);
        (0..1000).for_each(|host| choices.add(host, b"", usize::MAX));
        assert!(choices.contains(125, b"") && !choices.contains(126, b""));
    }
}
