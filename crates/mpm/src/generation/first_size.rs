//! What the scoreboard says of the number of workers before anybody has measured anything.

use super::layout::ProcessLayout;
use runtime::memory::Gauge;
use scoreboard::{Basis, Scoreboard, SizingFigures};
use server::{FIRST_GUESS_BYTES, MpmKind};

/// Write the first guess of an automatic size to `board`.
pub(crate) fn show(gauge: &mut Gauge, layout: &ProcessLayout, board: &Scoreboard) {
    let memory = gauge.read();
    let workers = layout.revised.unwrap_or(layout.workers_max());
    let per_process = layout.slots_for(workers, layout.start);
    let (is_revised, is_prefork) = (layout.revised.is_some(), layout.kind == MpmKind::Prefork);
    board.set_sizing(&SizingFigures {
        workers: u32::try_from(workers).unwrap_or(u32::MAX),
        workers_max: u32::try_from(layout.workers_max()).unwrap_or(u32::MAX),
        slots_per_process: match is_revised && !is_prefork {
            true => u32::try_from(per_process).unwrap_or(u32::MAX),
            false => 0,
        },
        worker_bytes: if is_revised { FIRST_GUESS_BYTES } else { 0 },
        basis: if is_revised { Basis::Guess } else { Basis::Given },
        available_bytes: memory.available_bytes,
        total_bytes: memory.total_bytes,
        is_of_group: memory.is_of_group,
        ..SizingFigures::default()
    });
}
