//! Compiled patterns, and what PCRE2 says about them.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Once;

use pcre2_sys as pcre2;

/// The longest pattern: a line of configuration. (Compiled, PCRE2 allows 64 KiB.)
const PATTERN_MAX_BYTES: usize = 64 * 1024;

/// The numbers of PCRE2 that callers decide about.
pub(crate) mod option {
    use pcre2_sys as pcre2;

    pub(crate) const CASELESS: u32 = pcre2::PCRE2_CASELESS;
    pub(crate) const DOLLAR_ENDONLY: u32 = pcre2::PCRE2_DOLLAR_ENDONLY;
    pub(crate) const DOTALL: u32 = pcre2::PCRE2_DOTALL;
    pub(crate) const DUPNAMES: u32 = pcre2::PCRE2_DUPNAMES;
    pub(crate) const MULTILINE: u32 = pcre2::PCRE2_MULTILINE;
}

/// A compiled pattern.
pub(crate) struct CompiledCode {
    code: NonNull<pcre2::pcre2_code_8>,
    pub(super) places: Places,
    /// Done once the pattern has become machine code, if it is to.
    machine_code: Once,
}

/// From which places of a subject a pattern is tried, which decides how its time is limited.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Places {
    /// From the first only: PCRE2's limit is enough.
    First,
    /// From each in turn, until it matches; the clock is looked at in between.
    Each,
    /// The pattern itself may decide (`(*COMMIT)`, `(*SKIP)`), or tell the first call from the
    /// next (`\G`), or forbid some places (`(*UTF)`): one call, and the clock is looked at within.
    Watched,
}

// SAFETY: compiled code is not changed by matching; what a match changes is in `MatchScratch`,
// which belongs to one thread (pcre2api, "MULTITHREADING"). It may be freed by any thread.
unsafe impl Send for CompiledCode {}
// SAFETY: as above: all functions take it as constant but the one that makes machine code, which
// runs once, before any match (`run`).
unsafe impl Sync for CompiledCode {}

impl Drop for CompiledCode {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `pcre2_compile` and is freed once, here.
        unsafe { pcre2::pcre2_code_free_8(self.code.as_ptr()) }
    }
}

/// Why a pattern does not compile: PCRE2's number, and where in the pattern.
pub(crate) struct CompileError {
    pub(crate) code: i32,
    pub(crate) offset: usize,
}

thread_local! {
    /// Whether patterns are made ready for their first match at once.
    static IS_AHEAD: Cell<bool> = const { Cell::new(false) };
}

/// Do `work`, and make machine code of each pattern that it compiles: the thread that will match
/// them has no time for it.
pub fn ahead<T>(work: impl FnOnce() -> T) -> T {
    let before = IS_AHEAD.replace(true);
    let done = work();
    IS_AHEAD.set(before);
    done
}

impl CompiledCode {
    /// Compiles a pattern. Its first match makes machine code of it, which takes longer than the
    /// rest: of the thousands in a large configuration most processes meet only a few.
    pub(crate) fn compile(pattern: &[u8], options: u32) -> Result<Self, CompileError> {
        let is_watched = pattern.windows(2).any(|two| two == b"(*" || two == b"\\G");
        let needed =
            if is_watched { pcre2::PCRE2_AUTO_CALLOUT } else { pcre2::PCRE2_USE_OFFSET_LIMIT };
        let context = CompileContext::new();
        let (mut code, mut offset): (c_int, usize) = (0, 0);
        // SAFETY: pattern and length belong together, the out parameters live on this stack, and
        // the context is null (PCRE2's defaults) or valid until the end of this function.
        let compiled = unsafe {
            pcre2::pcre2_compile_8(
                pattern.as_ptr(),
                pattern.len(),
                options | needed,
                &raw mut code,
                &raw mut offset,
                context.0,
            )
        };
        let compiled = NonNull::new(compiled).ok_or(CompileError { code, offset })?;
        let mut code = Self { code: compiled, places: Places::Watched, machine_code: Once::new() };
        if !is_watched {
            let is_anchored =
                code.number(pcre2::PCRE2_INFO_ALLOPTIONS) & pcre2::PCRE2_ANCHORED != 0;
            code.places = if is_anchored { Places::First } else { Places::Each };
        }
        if IS_AHEAD.get() {
            code.make_machine_code();
        }
        Ok(code)
    }

    /// The same, to be interpreted for ever.
    #[cfg(test)]
    pub(super) fn interpreted(pattern: &[u8], options: u32) -> Result<Self, CompileError> {
        let code = Self::compile(pattern, options)?;
        code.machine_code.call_once(|| ());
        Ok(code)
    }

    /// How many groups the pattern has, without the whole match.
    pub(crate) fn group_count(&self) -> u32 {
        self.number(pcre2::PCRE2_INFO_CAPTURECOUNT)
    }

    /// The named groups in the order of their numbers.
    pub(crate) fn names(&self) -> Vec<(Vec<u8>, u16)> {
        let count = self.number(pcre2::PCRE2_INFO_NAMECOUNT) as usize;
        let entry_bytes = self.number(pcre2::PCRE2_INFO_NAMEENTRYSIZE) as usize;
        let mut table: *const u8 = ptr::null();
        // SAFETY: this question is answered by a pointer, for which `table` has room.
        unsafe { self.ask(pcre2::PCRE2_INFO_NAMETABLE, (&raw mut table).cast()) };
        if count == 0 || entry_bytes < 3 || table.is_null() {
            return Vec::new();
        }
        // SAFETY: the table has `count` entries of `entry_bytes` each and lives as long as the
        // code (pcre2api, "PCRE2_INFO_NAMETABLE").
        let table = unsafe { slice::from_raw_parts(table, count * entry_bytes) };
        let mut names: Vec<_> = table.chunks_exact(entry_bytes).map(name_of).collect();
        names.sort_by_key(|&(_, number)| number);
        names
    }

    /// Compiles to machine code, once.
    pub(super) fn make_machine_code(&self) {
        self.machine_code.call_once(|| {
            // SAFETY: the code is valid, and every match of another thread waits for this. When
            // it fails (a system may forbid memory that is writable and executable) the pattern
            // is interpreted.
            unsafe { pcre2::pcre2_jit_compile_8(self.code.as_ptr(), pcre2::PCRE2_JIT_COMPLETE) };
        });
    }

    /// For `pcre2_match`, as long as `self` is borrowed.
    pub(super) fn as_ptr(&self) -> *const pcre2::pcre2_code_8 {
        self.code.as_ptr()
    }

    fn number(&self, what: u32) -> u32 {
        let mut answer: u32 = 0;
        // SAFETY: the callers ask for what is answered by a 32-bit number.
        unsafe { self.ask(what, (&raw mut answer).cast()) };
        answer
    }

    /// # Safety
    /// `answer` points to room for what PCRE2 answers to this question.
    unsafe fn ask(&self, what: u32, answer: *mut c_void) {
        // SAFETY: the code is valid; the rest the caller promises. An unknown question leaves the
        // answer as it was.
        unsafe { pcre2::pcre2_pattern_info_8(self.code.as_ptr(), what, answer) };
    }
}

/// A name table's entry: the number, most significant byte first, and the name up to its NUL.
fn name_of(entry: &[u8]) -> (Vec<u8>, u16) {
    let (number, name) = entry.split_at(2);
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    (name.to_vec(), u16::from_be_bytes([number[0], number[1]]))
}

/// PCRE2's own words for one of its numbers.
pub(crate) fn message(code: i32) -> String {
    let mut text = [0_u8; 256];
    // SAFETY: the buffer has the length that is given; the text in it ends with NUL, cut short if
    // it must be.
    let length = unsafe { pcre2::pcre2_get_error_message_8(code, text.as_mut_ptr(), text.len()) };
    let length = usize::try_from(length).unwrap_or_default();
    String::from_utf8_lossy(text.get(..length).unwrap_or_default()).into_owned()
}

struct CompileContext(*mut pcre2::pcre2_compile_context_8);

impl CompileContext {
    fn new() -> Self {
        // SAFETY: null is PCRE2's word for its default allocator; a null result is not touched.
        unsafe {
            let context = pcre2::pcre2_compile_context_create_8(ptr::null_mut());
            if !context.is_null() {
                pcre2::pcre2_set_max_pattern_length_8(context, PATTERN_MAX_BYTES);
            }
            Self(context)
        }
    }
}

impl Drop for CompileContext {
    fn drop(&mut self) {
        // SAFETY: freed once; null is allowed.
        unsafe { pcre2::pcre2_compile_context_free_8(self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_become_machine_code() {
        let size = |code: &CompiledCode| {
            let mut bytes = 0_usize;
            // SAFETY: this question is answered by a size.
            unsafe { code.ask(pcre2::PCRE2_INFO_JITSIZE, (&raw mut bytes).cast()) };
            bytes
        };
        let code = CompiledCode::compile(b"a+b", 0).ok().unwrap();
        assert_eq!(size(&code), 0);
        assert!(
            code.run(b"aab", crate::sys::Patience::Short, |_| ())
                .is_ok_and(|found| found.is_some())
        );
        assert!(size(&code) > 0);
    }
}
