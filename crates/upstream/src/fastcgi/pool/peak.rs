//! How many connections a process wanted lately. What it wants at the moment swings with every
//! answer, and each time its share of them did, a connection was closed here and another one made
//! there (bench: php-256, 3 to 4 of 100 requests).

/// How long a process is taken to want what it wanted: some turns of its loop under load, and much
/// less than anybody notices who waits because of it.
const WINDOW_MS: u64 = 16;

/// The most that was wanted in this window and in the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Peak {
    /// The number of the window.
    window: u64,
    most: u32,
    before: u32,
}

impl Peak {
    /// The most that was wanted in the last one to two windows, now that `wanted` are.
    pub(super) fn with(&mut self, wanted: u32, now_ms: u64) -> u32 {
        let window = now_ms / WINDOW_MS;
        let Self { window: last, most, before } = *self;
        *self = match window.saturating_sub(last) {
            0 => Self { window, most: most.max(wanted), before },
            1 => Self { window, most: wanted, before: most },
            _ => Self { window, most: wanted, before: 0 },
        };
        self.most.max(self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_wanted_is_forgotten_after_two_windows() {
        let mut peak = Peak::default();
        let at = |windows: u64| 1000 * WINDOW_MS + windows * WINDOW_MS;
        assert_eq!(peak.with(8, at(0)), 8);
        assert_eq!(peak.with(3, at(0) + 1), 8);
        assert_eq!(peak.with(5, at(1)), 8, "the window before counts");
        assert_eq!(peak.with(2, at(2)), 5);
        assert_eq!(peak.with(1, at(4)), 1, "a window without a word is between them");
    }
}
