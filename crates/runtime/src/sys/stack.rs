//! What is below the end of a thread's stack: memory that deep calls have used, and that is the
//! thread's until it ends.

use super::PAGE_BYTES;
use std::cell::Cell;
use std::ptr;

/// What the call that gives memory back needs of the stack itself, and more than that.
const OWN_BYTES: usize = 1 << 10;

/// How far below what is used memory may be: no call here goes deeper.
const REACH_BYTES: usize = 128 << 10;

thread_local! {
    /// The lowest address of this thread's stack; asked for once.
    static LOWEST: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Give the memory of this thread's stack that is not in use back to the system. It takes about a
/// microsecond, and as long again for each page that is used once more.
#[inline(never)]
pub(crate) fn shrink_stack() {
    let here = 0_u8;
    let used = ptr::from_ref(std::hint::black_box(&here)) as usize;
    // To the page: what a thread of the worker MPM sleeps on ends with its second one.
    let end = (used - OWN_BYTES) & !(PAGE_BYTES - 1);
    let begin = lowest().max(end.saturating_sub(REACH_BYTES)).next_multiple_of(PAGE_BYTES);
    if begin < end && super::has_small_pages() {
        // SAFETY: the range is of this thread's stack, by `OWN_BYTES` below all frames in use; what
        // is there belongs to nobody, and comes back as zeros when it is used again.
        unsafe { libc::madvise(begin as *mut libc::c_void, end - begin, libc::MADV_DONTNEED) };
    }
}

/// The lowest address of this thread's stack; the highest there is where that is not known.
#[inline(never)]
pub(crate) fn lowest() -> usize {
    LOWEST.with(|known| {
        known.get().unwrap_or_else(|| {
            let lowest = ask().unwrap_or(usize::MAX - PAGE_BYTES);
            known.set(Some(lowest));
            lowest
        })
    })
}

fn ask() -> Option<usize> {
    let mut attributes = std::mem::MaybeUninit::uninit();
    let (mut lowest, mut size, mut guard) = (ptr::null_mut(), 0, 0);
    // SAFETY: the attributes are read and destroyed only after the call that fills them has
    // succeeded, and the others are written to by the calls alone.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let stack =
            libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut lowest, &raw mut size);
        let guarded = libc::pthread_attr_getguardsize(attributes.as_ptr(), &raw mut guard);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        (stack == 0 && guarded == 0).then(|| lowest as usize + guard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses this many pages of the stack, and says where they are.
    #[inline(never)]
    fn deep(pages: usize) -> usize {
        let room = std::hint::black_box([1_u8; PAGE_BYTES]);
        if pages == 0 {
            room.as_ptr() as usize
        } else {
            deep(pages - 1).min(room.as_ptr() as usize)
        }
    }

    fn is_there(address: usize) -> bool {
        let mut found = 0_u8;
        let page = address & !(PAGE_BYTES - 1);
        // SAFETY: the page is of this thread's stack, and there is room for what is told of one.
        let asked = unsafe { libc::mincore(page as *mut _, PAGE_BYTES, &raw mut found) };
        assert_eq!(asked, 0, "{}", std::io::Error::last_os_error());
        found & 1 == 1
    }

    fn the_deep_end_goes_and_comes_again() {
        for _ in 0..3 {
            let kept = [7_u8; 3 * PAGE_BYTES];
            let lowest = deep(12);
            assert!(is_there(lowest));
            shrink_stack();
            assert!(!is_there(lowest));
            assert_eq!(std::hint::black_box(kept), [7; 3 * PAGE_BYTES]);
        }
    }

    #[test]
    fn what_deep_calls_have_used_goes_back_in_every_thread() {
        the_deep_end_goes_and_comes_again();
        std::thread::spawn(the_deep_end_goes_and_comes_again).join().expect("it has checked");
    }

    #[test]
    fn a_small_stack_is_not_left() {
        // As small as a thread may be: what is below belongs to others.
        let small = std::thread::Builder::new().stack_size(64 << 10).spawn(|| {
            shrink_stack();
            let (lowest, here) = (lowest(), 0_u8);
            let depth = ptr::from_ref(&here) as usize - lowest;
            assert!((4 << 10..160 << 10).contains(&depth), "{depth}");
        });
        small.expect("there is memory").join().expect("it has checked");
    }
}
