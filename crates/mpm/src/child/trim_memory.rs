//! Memory goes back to the system when a crowd of connections has gone (event), and in every MPM
//! while it is short, and where a process has much that nobody uses: a listing of many names, say,
//! takes 30 MB for a moment. The allocator keeps what was freed, which would be for
//! good if nobody asked.

use crate::Child;
use runtime::{clock, memory, process};
use scoreboard::Pressure;
use std::sync::Arc;
use std::time::Duration;

/// The interval between looks at unused memory, and the shorter one where the parent watches
/// memory.
const LOOK: Duration = Duration::from_secs(5);
const SHORT_LOOK: Duration = Duration::from_secs(1);

/// A crowd smaller than this is not worth the work.
const PEAK_MIN: u32 = 256;

/// How much a process may keep that nobody uses. Less is used again by the next request, and saves
/// it page faults.
const UNUSED_BYTES_MAX: u64 = 4 << 20;

/// Memory that comes and goes all the time is not given back more often than this.
const TRIM_INTERVAL_MS: u64 = 10_000;

/// The memory of this process that nobody uses, from look to look.
#[derive(Default)]
pub(crate) struct UnusedMemory {
    /// What cannot be given back, or is there for all children since the start.
    base: Option<u64>,
    last: u64,
    due_ms: u64,
}

impl UnusedMemory {
    /// Give memory back if there is much that nobody uses.
    pub(crate) fn look(&mut self) {
        let now_ms = clock::monotonic_ms();
        let Some(unused) = unused_bytes() else { return };
        if self.is_large(unused, now_ms) {
            process::shrink_heap();
            self.base = unused_bytes();
        }
    }

    /// There are so many bytes now; says whether that is more than there should be, and was so at
    /// the last look.
    fn is_large(&mut self, unused: u64, now_ms: u64) -> bool {
        let lasting = unused.min(self.last);
        let base = self.base.map_or(unused, |base| base.min(unused));
        (self.base, self.last) = (Some(base), unused);
        let is_large = lasting >= base + UNUSED_BYTES_MAX && now_ms >= self.due_ms;
        if is_large {
            self.due_ms = now_ms + TRIM_INTERVAL_MS;
        }
        is_large
    }
}

/// What this process has in memory and nobody uses. Stacks are in it, too, and what the program has
/// besides its heap.
fn unused_bytes() -> Option<u64> {
    let bytes = memory::anonymous_bytes(process::id())?;
    // To look at the heap costs more than to look at /proc.
    let is_small = bytes < UNUSED_BYTES_MAX;
    Some(if is_small { bytes } else { bytes.saturating_sub(process::heap_bytes_in_use()) })
}

/// Connections when there were most since memory was given back.
#[derive(Default)]
struct ConnectionPeak {
    high: u32,
}

impl ConnectionPeak {
    /// There are so many now; says whether most have gone.
    fn has_fallen(&mut self, connections: u32) -> bool {
        self.high = self.high.max(connections);
        let has_fallen = self.high >= PEAK_MIN && connections <= self.high / 4;
        if has_fallen {
            self.high = connections;
        }
        has_fallen
    }
}

/// Give memory back as connections go.
pub(crate) async fn give_memory_back(child: Arc<Child>) {
    let Some(row) = child.generation().board.process(child.slot()) else { return };
    let is_revised = child.generation().layout.revised.is_some();
    let (mut peak, mut unused) = (ConnectionPeak::default(), UnusedMemory::default());
    loop {
        runtime::timer::sleep(if is_revised { SHORT_LOOK } else { LOOK }).await;
        if peak.has_fallen(row.connections()) {
            process::shrink_heap();
        } else {
            give_back_if_short(&child);
        }
        unused.look();
        child.server().settle_logs(false);
    }
}

/// Give memory back while the parent says that it is short. Called about once a second.
pub(crate) fn give_back_if_short(child: &Child) {
    if child.generation().board.pressure() != Pressure::None {
        process::shrink_heap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_uses_goes_back_when_it_stays() {
        let mut unused = UnusedMemory::default();
        let looks = [
            (1, 0, false),
            (30, 1, false), // for a moment, maybe
            (30, 2, true),
            (30, 3, false),  // not again so soon
            (3, 4, false),   // it is used again
            (30, 20, false), // and free
            (29, 21, true),
            (4, 40, false),
            (4, 41, false), // so little is kept
        ];
        for (megabytes, seconds, expected) in looks {
            let is_large = unused.is_large(megabytes << 20, seconds * 1000);
            assert_eq!(is_large, expected, "{megabytes} MB after {seconds} s");
        }
    }

    #[test]
    fn memory_goes_back_once_when_three_quarters_of_a_crowd_have_gone() {
        let mut peak = ConnectionPeak::default();
        let counts = [10, 5000, 10_000, 3000, 2500, 2400, 500, 499, 100, 20, 255, 0];
        let falls: Vec<u32> = counts.into_iter().filter(|count| peak.has_fallen(*count)).collect();
        assert_eq!(falls, [2500, 500, 100]);
    }
}
