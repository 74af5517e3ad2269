//! The pages of the program and its libraries that a process has mapped: its code and constants.

use super::PAGE_BYTES;
use std::ffi::{c_int, c_void};
use std::{ptr, slice};

/// The tag of an entry of the dynamic section that says: there are relocations in code (elf(5)).
const DT_TEXTREL: usize = 22;

/// Let go of all code and constants that this process has mapped. What is used again comes back
/// from the page cache, 16 pages with each fault (a microsecond). A process that has read its
/// configuration, or has started, does not use most of that again; to fork it takes less time, too.
/// (bench: memory-256, 2 MB of all processes together)
pub fn let_go_of_code() {
    // SAFETY: `let_go` is called for each object while the loader holds its lock, with a
    // description that is right for so long, and gets no data.
    unsafe { libc::dl_iterate_phdr(Some(let_go), ptr::null_mut()) };
}

/// The same of one object: the program or a library.
// SAFETY: whoever calls it has a description of an object that is right for as long as it takes.
unsafe extern "C" fn let_go(
    object: *mut libc::dl_phdr_info,
    _size: usize,
    _data: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a description that outlives this call,
    let object = unsafe { &*object };
    let count = usize::from(object.dlpi_phnum);
    // SAFETY: and the program headers that it tells of are as many as it says.
    let segments = unsafe { slice::from_raw_parts(object.dlpi_phdr, count) };
    let at = |segment: &libc::Elf64_Phdr| object.dlpi_addr.wrapping_add(segment.p_vaddr) as usize;
    let dynamic = segments.iter().find(|segment| segment.p_type == libc::PT_DYNAMIC);
    // Without a dynamic section it is the kernel's own, which is not in the page cache.
    let Some(dynamic) = dynamic else { return 0 };
    // SAFETY: the section is mapped, and has pairs of a tag and a value, both of a word.
    let entries: &[[usize; 2]] = unsafe {
        slice::from_raw_parts(
            at(dynamic) as *const _,
            dynamic.p_memsz as usize / size_of::<[usize; 2]>(),
        )
    };
    if entries.iter().any(|entry| entry[0] == DT_TEXTREL) {
        return 0;
    }
    let is_constant = |segment: &&libc::Elf64_Phdr| {
        segment.p_type == libc::PT_LOAD && segment.p_flags & libc::PF_W == 0
    };
    for segment in segments.iter().filter(is_constant) {
        // Whole pages only: the rest of the last one may belong to somebody else.
        let begin = at(segment).next_multiple_of(PAGE_BYTES);
        let end = (at(segment) + segment.p_memsz as usize) & !(PAGE_BYTES - 1);
        if begin < end {
            // SAFETY: nobody has written to these pages: the segment is mapped without the right
            // to, and without relocations in code the loader had no reason to. So they are those
            // of the file, from which they come again with the same content.
            unsafe { libc::madvise(begin as *mut c_void, end - begin, libc::MADV_DONTNEED) };
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resident bytes of code, of all objects of this process.
    fn resident_kib() -> u64 {
        let maps = std::fs::read_to_string("/proc/self/smaps").expect("proc(5)");
        let (mut is_code, mut sum) = (false, 0);
        for line in maps.lines() {
            if let Some(size) = line.strip_prefix("Rss:").filter(|_| is_code) {
                sum += size.trim_end_matches("kB").trim().parse::<u64>().expect("a number");
            } else if line.contains(" r-xp ") || line.contains(" rw-p ") || line.contains(" r--p ")
            {
                is_code = line.contains(" r-xp ");
            }
        }
        sum
    }

    #[test]
    fn code_comes_back_as_it_is_used() {
        let before = resident_kib();
        for _ in 0..3 {
            let_go_of_code();
        }
        // Other tests run meanwhile, and use some again.
        let after = resident_kib();
        assert!(after < before, "{after} KiB of {before}");
        assert_eq!(format!("{:.3}", 2_f64.sqrt()), "1.414");
    }
}
