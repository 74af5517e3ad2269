//! What the allocator of the C library is told: when memory comes, and when it goes back to the
//! system. What is allocated is not known here.

use super::PAGE_BYTES;

/// What x86-64 and most of ARM have; with another size the advice does less, and no harm.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Let the heap grow by `bytes` at once, all of it there: this takes a fraction of the time of as
/// many page faults. What is allocated next uses it up.
pub fn grow_heap(bytes: usize) {
    // glibc serves large requests apart from its heap, unless one as large was freed before
    // (M_MMAP_THRESHOLD in mallopt(3)). The compiler must not leave the pair out.
    drop(std::hint::black_box(Vec::<u8>::with_capacity(bytes)));
    let mut room: Vec<u8> = Vec::with_capacity(bytes);
    // Huge pages come, and are copied by `fork`, at a fifth of the cost of as many small ones.
    advise(&mut room, HUGE_PAGE_BYTES, libc::MADV_HUGEPAGE);
    advise(&mut room, PAGE_BYTES, libc::MADV_POPULATE_WRITE);
}

/// Give memory that was freed back to the system. It takes about a millisecond for ten megabytes,
/// and other threads wait meanwhile when they allocate.
pub fn shrink_heap() {
    // SAFETY: takes a number, and locks what it works on.
    unsafe { libc::malloc_trim(0) };
}

/// Bytes of the heap that somebody has, wherever they are. It looks at all that was freed: a
/// millisecond for a hundred thousand pieces.
pub fn heap_bytes_in_use() -> u64 {
    // SAFETY: takes nothing, locks what it looks at, and returns numbers.
    let heap = unsafe { libc::mallinfo2() };
    (heap.uordblks as u64).saturating_add(heap.hblkhd as u64)
}

/// What is allocated in one piece of a megabyte or more goes back to the system when it is freed.
/// By itself glibc keeps such pieces once one was freed (M_MMAP_THRESHOLD in mallopt(3)), and
/// [`shrink_heap`] cannot take the end of a thread's heap: each thread would keep 8 MB after
/// requests of 4 MB. For processes with more than one thread.
pub fn give_back_large_pieces() {
    // SAFETY: takes numbers, and locks what it changes.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 20) };
}

/// Pieces of up to 128 bytes are put together with what lies free beside them as soon as they are
/// freed, but for the few that each thread keeps at hand (tcache in mallopt(3)). By itself glibc
/// keeps any number of them apart. What the executor has for a connection begins at a multiple of
/// 128 bytes, and what is left in front of it and behind it are such pieces: a tenth of the memory
/// of a connection that idles. (bench: idle-10000, −120 bytes for each connection)
pub fn merge_small_pieces() {
    // SAFETY: takes numbers, and locks what it changes.
    unsafe { libc::mallopt(libc::M_MXFAST, 0) };
}

/// Advise the kernel about the memory of `room` from the first page of this size in it.
fn advise(room: &mut Vec<u8>, page_bytes: usize, advice: libc::c_int) {
    let before = room.as_mut_ptr().align_offset(page_bytes);
    let Some(whole) = room.capacity().checked_sub(before) else { return };
    let pages = room.as_mut_ptr().wrapping_add(before);
    // SAFETY: the range is inside of `room` but for the rest of its last page, and both kinds of
    // advice leave what pages hold as it is. A kernel that does not know one (before 5.14, or built
    // without huge pages) refuses it, and pages come as ever.
    unsafe { libc::madvise(pages.cast(), whole, advice) };
}
