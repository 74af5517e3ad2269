//! Memory that the parent takes before it forks. What was freed while the configuration was read
//! lies in small holes all over the heap, on pages that children share with it; whoever allocates
//! there gets a page of its own for each hole. With the holes filled children allocate side by
//! side. (bench: memory-256, 10 KB less for each prefork child) It is done twice: before a
//! configuration is opened as well, so that what children count the uses of, folders and settings
//! and logs, lies on few pages, and not on one each.

use runtime::process;

/// The sizes that are mostly allocated, and their steps: those in between take a hole of the next.
const SIZES: std::ops::Range<usize> = 24..1064;
const STEP: usize = 16;

/// This many allocations side by side show that the heap has no holes of their size left.
const RUN: usize = 8;

/// The largest overhead of the allocator for one chunk, in bytes.
const CHUNK_MORE: usize = 24;

/// The most allocations of one size: a bound for a heap that looks like nothing but holes.
const COUNT_MAX: usize = 4096;

/// Allocations that fill the holes of the heap until this is dropped.
#[derive(Default)]
pub struct HeapFiller {
    _chunks: Vec<Vec<u8>>,
}

impl HeapFiller {
    /// Fill the holes that there are.
    pub fn take() -> Self {
        // What was freed is put together first, here and not by each child when it does so.
        process::shrink_heap();
        let mut chunks = Vec::with_capacity(COUNT_MAX);
        for size in SIZES.step_by(STEP).rev() {
            fill(size, &mut chunks);
        }
        Self { _chunks: chunks }
    }
}

fn fill(size: usize, chunks: &mut Vec<Vec<u8>>) {
    let (mut before, mut run) = (0, 0);
    for _ in 0..COUNT_MAX {
        let chunk: Vec<u8> = Vec::with_capacity(size);
        let at = chunk.as_ptr().addr();
        let is_next = at.checked_sub(before).is_some_and(|gap| gap <= size + CHUNK_MORE);
        (before, run) = (at, if is_next { run + 1 } else { 0 });
        chunks.push(chunk);
        if run == RUN {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filling_holes_ends_and_takes_little() {
        let scattered: Vec<Vec<u8>> = (0..1000).map(|size| vec![0; size]).collect();
        let kept: Vec<Vec<u8>> = scattered.into_iter().step_by(2).collect();
        let filler = HeapFiller::take();
        let bytes: usize = filler._chunks.iter().map(Vec::capacity).sum();
        assert!(bytes < 16 << 20, "{bytes} bytes");
        assert_eq!(kept.len(), 500);
    }
}
