//! Memory for futures that are made for each request and are large: blocks that the thread keeps
//! for the next one. What the C library keeps at hand ends at about a kilobyte, and beyond that it
//! searches and merges. (bench: php-32)

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// Sizes of blocks, and how many of each a thread keeps.
const BLOCK_BYTES: [usize; 2] = [3 << 10, 6 << 10];
const KEPT: usize = 16;

/// Of all blocks.
const ALIGNMENT: usize = 16;

/// A future in memory of its own, as in a `Box`.
pub struct Placed<F> {
    future: NonNull<F>,
}

/// Put the future that `make` makes where one was before.
pub fn placed<F>(make: impl FnOnce() -> F) -> Placed<F> {
    let future = take(layout::<F>()).cast::<F>();
    // SAFETY: the memory has at least the size and the alignment of an `F`, and is nobody else's.
    unsafe { future.write(make()) };
    Placed { future }
}

impl<F: Future> Future for Placed<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the future lives until this value is dropped, is reached through it alone, and
        // never moves: only the pointer to it does.
        unsafe { Pin::new_unchecked(self.future.as_mut()) }.poll(context)
    }
}

impl<F> Drop for Placed<F> {
    fn drop(&mut self) {
        // SAFETY: it was written when this value was made, and nobody uses it after this.
        unsafe { self.future.drop_in_place() };
        give_back(self.future.cast(), layout::<F>());
    }
}

/// The block that an `F` is put into; none is that large, it has memory of its own.
fn layout<F>() -> Layout {
    let own = Layout::new::<F>();
    let fits = |bytes: &&usize| own.size() <= **bytes && own.align() <= ALIGNMENT;
    let block = BLOCK_BYTES.iter().find(fits);
    let block = block.and_then(|bytes| Layout::from_size_align(*bytes, ALIGNMENT).ok());
    // Nothing without a size may be allocated.
    block.or_else(|| Layout::from_size_align(own.size().max(1), own.align()).ok()).unwrap_or(own)
}

/// Blocks of one thread that nobody uses, by size.
#[derive(Default)]
struct Free([Vec<NonNull<u8>>; BLOCK_BYTES.len()]);

impl Drop for Free {
    fn drop(&mut self) {
        for (blocks, bytes) in self.0.iter().zip(BLOCK_BYTES) {
            for block in blocks {
                let layout = Layout::from_size_align(bytes, ALIGNMENT);
                // SAFETY: it was allocated with this layout by `take`, and nobody has it.
                layout.iter().for_each(|layout| unsafe { dealloc(block.as_ptr(), *layout) });
            }
        }
    }
}

thread_local! {
    static FREE: RefCell<Free> = RefCell::default();
}

/// Free the blocks of this thread that nobody uses.
pub(crate) fn shrink_blocks() {
    let _ = FREE.try_with(RefCell::take);
}

fn class(layout: Layout) -> Option<usize> {
    let is_block = layout.align() == ALIGNMENT;
    BLOCK_BYTES.iter().position(|bytes| is_block && *bytes == layout.size())
}

fn take(layout: Layout) -> NonNull<u8> {
    let known = |free: &RefCell<Free>| free.borrow_mut().0[class(layout)?].pop();
    if let Ok(Some(block)) = FREE.try_with(known) {
        return block;
    }
    // SAFETY: no layout has the size zero: see `layout`.
    let block = unsafe { alloc(layout) };
    NonNull::new(block).unwrap_or_else(|| handle_alloc_error(layout))
}

fn give_back(block: NonNull<u8>, layout: Layout) {
    let keep = |free: &RefCell<Free>| {
        let mut free = free.borrow_mut();
        let kept = &mut free.0[class(layout)?];
        (kept.len() < KEPT).then(|| kept.push(block))
    };
    if !matches!(FREE.try_with(keep), Ok(Some(()))) {
        // SAFETY: it was allocated with this layout by `take`, on whatever thread, and is nobody's.
        unsafe { dealloc(block.as_ptr(), layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::blocking::Blocking;
    use crate::executor::thread::Thread;
    use std::rc::Rc;

    #[test]
    fn a_future_is_polled_and_dropped_wherever_it_lies() {
        let alive = Rc::new(());
        let executor = Thread::new(Blocking::Inline).unwrap();
        executor.block_on(async {
            for _ in 0..3 {
                let (one, two, three) = (alive.clone(), alive.clone(), alive.clone());
                let small = placed(|| async move { Rc::strong_count(&one) });
                let large = placed(|| async move {
                    let room = [7_u8; 5000];
                    crate::executor::thread::yield_now().await;
                    (Rc::strong_count(&two), room.iter().map(|byte| u32::from(*byte)).sum::<u32>())
                });
                let huge = placed(|| async move {
                    let room = [1_u8; 50_000];
                    crate::executor::thread::yield_now().await;
                    (three, room.len())
                });
                assert_eq!(small.await, 4);
                assert_eq!(large.await, (3, 35_000));
                drop(huge);
                assert_eq!(Rc::strong_count(&alive), 1);
            }
        });
    }

    #[test]
    fn a_block_is_used_again_and_only_so_many_are_kept() {
        let address = |future: &Placed<_>| future.future.cast::<u8>();
        let make = || async { [0_u8; 10].len() };
        let first = placed(make);
        let place = address(&first);
        drop(first);
        assert_eq!(address(&placed(make)), place);
        let many: Vec<_> = (0..3 * KEPT).map(|_| placed(make)).collect();
        drop(many);
        assert!(FREE.with(|free| free.borrow().0.iter().all(|blocks| blocks.len() <= KEPT)));
    }
}
