//! How long a match may take altogether. It is processor time that counts in the end, so that a
//! machine with much else to do gives up no match that it would have finished.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// PCRE2 limits its work from one place of the subject only, and there are as many places as bytes.
const TIME_MAX: Duration = Duration::from_millis(25);

/// What is left for one match. It begins to count when it is first looked at.
#[derive(Default)]
pub(crate) struct MatchBudget {
    since: Option<Instant>,
    /// The thread's processor time when [`TIME_MAX`] had passed by the clock on the wall.
    used_by_then: Option<Duration>,
}

impl MatchBudget {
    /// Whether the match has to be given up. Asking costs 25 ns until much time has passed, then
    /// a system call.
    pub(crate) fn is_spent(&mut self) -> bool {
        if self.since.get_or_insert_with(Instant::now).elapsed() <= TIME_MAX {
            return false;
        }
        let used = processor_time();
        used.saturating_sub(*self.used_by_then.get_or_insert(used)) > TIME_MAX
    }
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
