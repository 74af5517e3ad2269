//! Connections on which nothing has come yet, by age: one that was made a moment ago may not have
//! been accepted although there is a child for it. One that has waited longer is in nobody's way
//! but its own, and waits like everybody else.

/// How long a connection counts as young, in milliseconds: once or twice this.
const EPOCH_MS: u64 = 20;

/// How many of them there are.
#[derive(Debug, Default)]
pub(super) struct Fresh {
    epoch: u64,
    /// Made in this epoch, and in the one before.
    young: [u32; 2],
    old: u32,
}

/// When one of them was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Epoch(u64);

impl Fresh {
    /// One more. The result is for [`Self::remove`].
    pub(super) fn add(&mut self, now_ms: u64) -> Epoch {
        self.advance(now_ms);
        self.young[0] += 1;
        Epoch(self.epoch)
    }

    /// One of them was heard of, or is gone.
    pub(super) fn remove(&mut self, made: Epoch) {
        let count = match self.epoch.saturating_sub(made.0) {
            0 => &mut self.young[0],
            1 => &mut self.young[1],
            _ => &mut self.old,
        };
        *count = count.saturating_sub(1);
    }

    /// How many of them are young.
    pub(super) fn young(&mut self, now_ms: u64) -> u32 {
        self.advance(now_ms);
        self.young.iter().sum()
    }

    /// How many there are.
    pub(super) fn all(&self) -> u32 {
        self.young.iter().sum::<u32>() + self.old
    }

    fn advance(&mut self, now_ms: u64) {
        let epoch = now_ms / EPOCH_MS;
        let passed = epoch.saturating_sub(self.epoch);
        self.epoch += passed;
        match passed {
            0 => {}
            1 => {
                self.old += self.young[1];
                self.young = [0, self.young[0]];
            }
            _ => {
                self.old += self.young.iter().sum::<u32>();
                self.young = [0; 2];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_long_is_young_no_more() {
        let mut fresh = Fresh::default();
        let first = fresh.add(100);
        let second = fresh.add(110);
        let third = fresh.add(130);
        assert_eq!((fresh.young(130), fresh.all()), (3, 3));
        assert_eq!((fresh.young(141), fresh.all()), (1, 3));
        fresh.remove(first);
        assert_eq!((fresh.young(141), fresh.all()), (1, 2));
        fresh.remove(third);
        assert_eq!((fresh.young(141), fresh.all()), (0, 1));
        let fourth = fresh.add(1000);
        fresh.remove(second);
        assert_eq!((fresh.young(1000), fresh.all()), (1, 1));
        assert_eq!((fresh.young(900), fresh.all()), (1, 1), "a clock that goes back");
        fresh.remove(fourth);
        assert_eq!(fresh.all(), 0);
    }
}
