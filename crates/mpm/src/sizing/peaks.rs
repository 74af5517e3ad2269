//! What a thread takes at most, of a process with many: the most memory that the process has had,
//! against the most of its threads that were at work. Of the memory at the moment of a look much
//! less can be seen, as on a busy machine many requests have begun, wait for a processor, and have
//! taken nothing yet. Pure: numbers in, numbers out.

use runtime::memory::Peak;

/// The number of threads at work from which on what the process itself takes, its caches above all,
/// is a small part of the peak.
const THREADS_MIN: usize = 8;

/// For how long a peak is one before the next begins.
pub(crate) const WINDOW_MS: u64 = 10_000;

/// What was found goes down by one in so many each time it was less.
const FORGET: u64 = 64;

/// The peaks that were read of a generation's processes.
#[derive(Default)]
pub(crate) struct Peaks {
    /// The smallest process.
    least_bytes: Option<u64>,
    thread_bytes: Option<u64>,
}

impl Peaks {
    /// A process has had so much memory, and so many threads at work, since its peak began.
    pub(crate) fn add(&mut self, peak: Peak, busy: usize) {
        let least_bytes = self.least_bytes.unwrap_or(u64::MAX).min(peak.resident_bytes);
        self.least_bytes = Some(least_bytes);
        if busy < THREADS_MIN {
            return;
        }
        let found = peak.most_bytes.saturating_sub(least_bytes) / busy as u64;
        let faded = self.thread_bytes.map_or(0, |known| known - known / FORGET);
        self.thread_bytes = Some(found.max(faded));
    }

    /// What a thread takes, beside its part of a process that does nothing.
    pub(crate) fn thread_bytes(&self) -> Option<u64> {
        self.thread_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    fn peak(resident_mb: u64, most_mb: u64) -> Peak {
        Peak { resident_bytes: resident_mb * MB, most_bytes: most_mb * MB }
    }

    #[test]
    fn the_peak_of_a_process_is_that_of_its_threads() {
        let mut peaks = Peaks::default();
        peaks.add(peak(5, 5), 0);
        assert_eq!(peaks.thread_bytes(), None);
        peaks.add(peak(45, 105), 25);
        assert_eq!(peaks.thread_bytes(), Some(4 * MB));
        peaks.add(peak(25, 25), 7);
        assert_eq!(peaks.thread_bytes(), Some(4 * MB), "a few threads say nothing");
    }

    #[test]
    fn a_peak_fades_when_others_are_lower() {
        let mut peaks = Peaks::default();
        peaks.add(peak(5, 5), 0);
        peaks.add(peak(9, 805), 10);
        for _ in 0..300 {
            peaks.add(peak(9, 25), 10);
        }
        let thread_bytes = peaks.thread_bytes().unwrap();
        assert!((2 * MB..3 * MB).contains(&thread_bytes), "{thread_bytes}");
    }

    #[test]
    fn absurd_numbers_do_no_harm() {
        let mut peaks = Peaks::default();
        peaks.add(Peak { resident_bytes: u64::MAX, most_bytes: 0 }, usize::MAX);
        peaks.add(Peak { resident_bytes: 0, most_bytes: u64::MAX }, 8);
        assert_eq!(peaks.thread_bytes(), Some(u64::MAX / 8));
    }
}
