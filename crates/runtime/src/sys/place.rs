//! Memory for futures that are made for each request and are large: blocks that the thread keeps
//! for the next one. What the C library keeps at hand ends at about a kilobyte, and beyond that it
//! searches and merges. (bench: php-32)
//!
//! A thread of one connection has one block that stays, of whole pages, which go back to the system
//! while it is not used: among the small pieces of a request, which the C library keeps at hand, it
//! would hold its pages. (bench: memory-256, 6 KB less for each thread)

use super::PAGE_BYTES;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// Sizes of blocks, and how many of each a thread keeps. A request that waits has the whole of one:
/// each size is little more than what is put there, what a FastCGI application is asked by and what
/// answers a request.
const BLOCK_BYTES: [usize; 2] = [2 << 10, 3 << 10];
const KEPT: usize = 16;

/// Of all blocks.
const ALIGNMENT: usize = 16;

/// The block that stays: room for any of the others.
const OWN_BYTES: usize = 2 * PAGE_BYTES;
const _: () = assert!(OWN_BYTES >= BLOCK_BYTES[1]);

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

/// Blocks of one thread that nobody uses.
#[derive(Default)]
struct Free {
    by_size: [Vec<NonNull<u8>>; BLOCK_BYTES.len()],
    own: Option<Own>,
}

/// The block that stays.
struct Own {
    block: NonNull<u8>,
    is_used: bool,
}

impl Free {
    fn take(&mut self, class: usize) -> Option<NonNull<u8>> {
        match &mut self.own {
            Some(own) if !own.is_used => {
                own.is_used = true;
                Some(own.block)
            }
            _ => self.by_size[class].pop(),
        }
    }

    /// Says whether it is kept.
    fn give_back(&mut self, class: usize, block: NonNull<u8>) -> bool {
        if let Some(own) = self.own.as_mut().filter(|own| own.block == block) {
            own.is_used = false;
            return true;
        }
        let kept = &mut self.by_size[class];
        let has_room = kept.len() < KEPT;
        if has_room {
            kept.push(block);
        }
        has_room
    }

    fn shrink(&mut self) {
        for (blocks, bytes) in self.by_size.iter_mut().zip(BLOCK_BYTES) {
            for block in std::mem::take(blocks) {
                let layout = Layout::from_size_align(bytes, ALIGNMENT);
                // SAFETY: it was allocated with this layout by `take`, and nobody has it.
                layout.iter().for_each(|layout| unsafe { dealloc(block.as_ptr(), *layout) });
            }
        }
        let unused = self.own.as_ref().filter(|own| !own.is_used && super::has_small_pages());
        if let Some(own) = unused {
            let pages = own.block.as_ptr().cast();
            // SAFETY: these pages are the block, all of it and nothing else, and nobody uses it:
            // what is there is nothing to anybody, and may be zeros.
            unsafe { libc::madvise(pages, OWN_BYTES, libc::MADV_DONTNEED) };
        }
    }
}

impl Drop for Free {
    fn drop(&mut self) {
        self.shrink();
        // Should its future outlive what this thread keeps, `give_back` frees it with that.
        if let (Some(own), Some(layout)) = (self.own.take_if(|own| !own.is_used), own_layout()) {
            OWN.set(None);
            // SAFETY: it was allocated with this layout by `keep_block`, and nobody has it.
            unsafe { dealloc(own.block.as_ptr(), layout) };
        }
    }
}

thread_local! {
    static FREE: RefCell<Free> = RefCell::default();

    /// Where the block lies that stays. Nothing is to be done for it when the thread ends, so that
    /// it is known for longer than `FREE` is there.
    static OWN: Cell<Option<NonNull<u8>>> = const { Cell::new(None) };
}

/// Free the blocks of this thread that nobody uses.
pub(crate) fn shrink_blocks() {
    let _ = FREE.try_with(|free| free.borrow_mut().shrink());
}

/// From now on this thread has a block that stays. What is put into blocks is put there first.
pub(crate) fn keep_block() {
    let keep = |free: &RefCell<Free>| {
        let mut free = free.borrow_mut();
        if free.own.is_none() {
            // SAFETY: the layout has a size.
            let block = own_layout().and_then(|layout| NonNull::new(unsafe { alloc(layout) }));
            OWN.set(block);
            free.own = block.map(|block| Own { block, is_used: false });
        }
    };
    let _ = FREE.try_with(keep);
}

fn own_layout() -> Option<Layout> {
    Layout::from_size_align(OWN_BYTES, PAGE_BYTES).ok()
}

fn class(layout: Layout) -> Option<usize> {
    let is_block = layout.align() == ALIGNMENT;
    BLOCK_BYTES.iter().position(|bytes| is_block && *bytes == layout.size())
}

fn take(layout: Layout) -> NonNull<u8> {
    let known = |free: &RefCell<Free>| free.borrow_mut().take(class(layout)?);
    if let Ok(Some(block)) = FREE.try_with(known) {
        return block;
    }
    // SAFETY: no layout has the size zero: see `layout`.
    let block = unsafe { alloc(layout) };
    NonNull::new(block).unwrap_or_else(|| handle_alloc_error(layout))
}

fn give_back(block: NonNull<u8>, layout: Layout) {
    let keep = |free: &RefCell<Free>| {
        class(layout).is_some_and(|class| free.borrow_mut().give_back(class, block))
    };
    if !FREE.try_with(keep).unwrap_or(false) {
        let layout = layout_at(block, layout);
        OWN.set(OWN.get().filter(|own| *own != block));
        // SAFETY: it was allocated with this layout, by `take` or by `keep_block`, and is nobody's.
        unsafe { dealloc(block.as_ptr(), layout) };
    }
}

/// The layout of the memory that a future lies in which needs `layout`.
fn layout_at(block: NonNull<u8>, layout: Layout) -> Layout {
    match OWN.get() {
        Some(own) if own == block => own_layout().unwrap_or(layout),
        _ => layout,
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
                    let room = [7_u8; 2500];
                    crate::executor::thread::yield_now().await;
                    (Rc::strong_count(&two), room.iter().map(|byte| u32::from(*byte)).sum::<u32>())
                });
                let huge = placed(|| async move {
                    let room = [1_u8; 50_000];
                    crate::executor::thread::yield_now().await;
                    (three, room.len())
                });
                assert_eq!(small.await, 4);
                assert_eq!(large.await, (3, 17_500));
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
        assert!(FREE.with(|free| free.borrow().by_size.iter().all(|kept| kept.len() <= KEPT)));
    }

    #[test]
    fn the_block_that_stays_is_used_first_and_holds_no_memory_while_it_is_not() {
        keep_block();
        let own = FREE.with(|free| free.borrow().own.as_ref().unwrap().block);
        let make = || async { std::hint::black_box([7_u8; 4000]).len() };
        for _ in 0..3 {
            let (first, second) = (placed(make), placed(make));
            assert!(first.future.cast() == own && second.future.cast() != own);
            shrink_blocks();
            assert!(FREE.with(|free| free.borrow().own.as_ref().unwrap().is_used));
            drop(first);
            // SAFETY: the block is there as long as this thread keeps it.
            unsafe { own.write(7) };
            shrink_blocks();
            // SAFETY: as above; it was written to once.
            assert_eq!(unsafe { own.read() }, 0);
        }
    }

    #[test]
    fn the_block_that_stays_is_freed_as_it_was_allocated() {
        let layout_of = |future: &Placed<_>| layout_at(future.future.cast(), needed(future));
        let make = || async { std::hint::black_box([7_u8; 4000]).len() };
        keep_block();
        let (first, second) = (placed(make), placed(make));
        assert_eq!((layout_of(&first).size(), layout_of(&first).align()), (OWN_BYTES, PAGE_BYTES));
        assert_eq!(layout_of(&second), needed(&second));
        let ended = std::thread::spawn(|| {
            // What is asked for first ends last.
            LAST.with_borrow_mut(Vec::clear);
            keep_block();
            let futures = [(); 3].map(|()| placed(|| async { OWN.get().is_some() }));
            LAST.with_borrow_mut(|last| {
                last.extend(futures.map(|future| Box::pin(future) as Last))
            });
        });
        ended.join().unwrap();
    }

    type Last = Pin<Box<dyn Future<Output = bool>>>;

    thread_local! {
        static LAST: RefCell<Vec<Last>> = const { RefCell::new(Vec::new()) };
    }

    fn needed<F>(_: &Placed<F>) -> Layout {
        layout::<F>()
    }
}
