//! Memory goes back to the system when a crowd of connections has gone (event), and in every MPM
//! while it is short. The allocator keeps what was freed, which would be for good if nobody asked.

use crate::Child;
use runtime::process;
use scoreboard::Pressure;
use std::sync::Arc;
use std::time::Duration;

/// How often is looked, and how often where the parent looks after memory.
const LOOK: Duration = Duration::from_secs(5);
const SHORT_LOOK: Duration = Duration::from_secs(1);

/// A crowd smaller than this is not worth the work.
const CROWD: u32 = 256;

/// Connections when there were most since memory was given back.
#[derive(Default)]
struct Tide {
    high: u32,
}

impl Tide {
    /// There are so many now; says whether most have gone.
    fn has_ebbed(&mut self, connections: u32) -> bool {
        self.high = self.high.max(connections);
        let has_ebbed = self.high >= CROWD && connections <= self.high / 4;
        if has_ebbed {
            self.high = connections;
        }
        has_ebbed
    }
}

/// Give memory back as connections go.
pub(crate) async fn give_memory_back(child: Arc<Child>) {
    let Some(row) = child.generation().board.process(child.slot()) else { return };
    let is_revised = child.generation().plan.revised.is_some();
    let mut tide = Tide::default();
    loop {
        runtime::timer::sleep(if is_revised { SHORT_LOOK } else { LOOK }).await;
        if tide.has_ebbed(row.connections()) {
            process::shrink_heap();
        } else {
            give_back_if_short(&child);
        }
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
    fn memory_goes_back_once_when_three_quarters_of_a_crowd_have_gone() {
        let mut tide = Tide::default();
        let counts = [10, 5000, 10_000, 3000, 2500, 2400, 500, 499, 100, 20, 255, 0];
        let ebbs: Vec<u32> = counts.into_iter().filter(|count| tide.has_ebbed(*count)).collect();
        assert_eq!(ebbs, [2500, 500, 100]);
    }
}
