//! Matching: what a thread needs for it, and how a match is kept from taking too long.

use super::code::{CompiledCode, Places};
use crate::budget::MatchBudget;
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::ops::RangeInclusive;
use std::{ptr, slice};

use pcre2_sys as pcre2;

/// An offset of a group that took no part in the match.
pub(crate) const UNSET: usize = usize::MAX;

/// How often a match may go back and try again, from one place of the subject. Measured at 3 GHz:
/// 1 ms, or 4 ms where patterns are interpreted. httpd leaves it at PCRE2's ten million.
const TRIES_MAX: usize = 250_000;

/// The same times the length of the subject: each try may look at all of it. Measured: 40 ms.
const TRIES_BYTES_MAX: usize = 400_000_000;

/// The same for patience, as long as there is time: that of httpd.
const TRIES_LONG_MAX: u32 = 10_000_000;

/// Places of the subject that are tried in one call, with as few tries for all of them as
/// otherwise for one. Most subjects are shorter, and most patterns need no more.
const PLACES_TOGETHER: usize = 64;

/// Steps of a watched pattern between two looks at the clock.
const STEPS_UNWATCHED: u32 = 64;

/// How deep the interpreter may remember where to go back to.
const DEPTH_LIMIT: u32 = 100_000;

/// What the interpreter may allocate to remember that; it is kept for the thread's next match.
const HEAP_LIMIT_KIB: u32 = 8 * 1024;

/// The stack of compiled patterns: reserved as addresses, occupied as far as a match needed it.
const JIT_STACK_START_BYTES: usize = 32 * 1024;
const JIT_STACK_MAX_BYTES: usize = 2 * 1024 * 1024;

/// Groups that a thread's first match data has room for; httpd's `POSIX_MALLOC_THRESHOLD`.
const PAIRS_MIN: u32 = 10;

/// How long a pattern may go on from the place where it has to match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// As long as may be where many patterns are tried one after the other.
    Short,
    /// Longer, for whoever gives up at the first that takes too long.
    Long,
}

/// Why a match came to no result.
pub(crate) struct MatchError;

impl CompiledCode {
    /// Matches, and hands the offsets (start and end of each group, [`UNSET`] where it took no
    /// part) to `found`, if the subject matches.
    ///
    /// Exceeding any limit is an error. A subject that is no UTF-8, for a pattern that begins with
    /// `(*UTF)`, matches nothing, as in httpd's `ap_regexec_len`.
    pub(crate) fn run<T>(
        &self,
        subject: &[u8],
        patience: Patience,
        found: impl FnOnce(&[usize]) -> T,
    ) -> Result<Option<T>, MatchError> {
        self.make_machine_code();
        SCRATCH.with_borrow_mut(|scratch| scratch.run(self, subject, patience, found))
    }
}

thread_local! {
    /// One for each thread, as in httpd: a match then allocates nothing.
    static SCRATCH: RefCell<MatchScratch> = RefCell::new(MatchScratch::new());
}

/// What a match writes to.
struct MatchScratch {
    /// Limits and stack; null when there was no memory for it, and then nothing is matched.
    context: *mut pcre2::pcre2_match_context_8,
    jit_stack: *mut pcre2::pcre2_jit_stack_8,
    data: *mut pcre2::pcre2_match_data_8,
    /// Groups that `data` has room for.
    pairs: u32,
}

impl MatchScratch {
    fn new() -> Self {
        // SAFETY: null stands for PCRE2's default allocator; each result that may be null is
        // looked at before it is used. The stack lives as long as the context that has it.
        unsafe {
            let context = pcre2::pcre2_match_context_create_8(ptr::null_mut());
            let jit_stack = pcre2::pcre2_jit_stack_create_8(
                JIT_STACK_START_BYTES,
                JIT_STACK_MAX_BYTES,
                ptr::null_mut(),
            );
            if !context.is_null() {
                pcre2::pcre2_set_depth_limit_8(context, DEPTH_LIMIT);
                pcre2::pcre2_set_heap_limit_8(context, HEAP_LIMIT_KIB);
                // A null stack means 32 KiB of the machine's own, which is bounded too.
                pcre2::pcre2_jit_stack_assign_8(context, None, jit_stack.cast());
            }
            Self { context, jit_stack, data: ptr::null_mut(), pairs: 0 }
        }
    }

    fn run<T>(
        &mut self,
        code: &CompiledCode,
        subject: &[u8],
        patience: Patience,
        found: impl FnOnce(&[usize]) -> T,
    ) -> Result<Option<T>, MatchError> {
        let pairs = code.group_count() + 1;
        if self.pairs < pairs {
            self.grow(pairs);
        }
        if self.context.is_null() || self.data.is_null() {
            return Err(MatchError);
        }
        let tries = tries_max(subject.len());
        let result = match code.places {
            Places::First if patience == Patience::Long => self.persist(code, subject, tries),
            Places::First => self.attempt(code, subject, 0..=usize::MAX, tries),
            Places::Each => self.search(code, subject, tries),
            Places::Watched => self.watch(code, subject, tries),
        };
        match usize::try_from(result) {
            Ok(groups) => Ok(Some(found(self.offsets(groups.min(pairs as usize))))),
            Err(_) if is_no_match(result) => Ok(None),
            Err(_) => Err(MatchError),
        }
    }

    /// Tries the first place, with more and more tries while there is time: what `(.+)/(.*)` finds
    /// in a path of hundreds of segments takes as many as its square, each of which costs little.
    fn persist(&mut self, code: &CompiledCode, subject: &[u8], mut tries: u32) -> c_int {
        let mut budget = MatchBudget::default();
        loop {
            // Asked first, the time counts from here.
            let is_last = budget.is_spent() || tries >= TRIES_LONG_MAX;
            let result = self.attempt(code, subject, 0..=usize::MAX, tries);
            if result != pcre2::PCRE2_ERROR_MATCHLIMIT || is_last {
                return result;
            }
            tries = tries.saturating_mul(2);
        }
    }

    /// Tries all places, as many at once as time allows.
    fn search(&mut self, code: &CompiledCode, subject: &[u8], tries: u32) -> c_int {
        let mut budget = MatchBudget::default();
        let mut first = 0;
        loop {
            let last = (first + PLACES_TOGETHER - 1).min(subject.len());
            let few = tries / PLACES_TOGETHER as u32;
            let mut result = self.attempt(code, subject, first..=last, few);
            if result < 0 && !is_no_match(result) {
                result = self.search_slowly(code, subject, first..=last, tries, &mut budget);
            }
            if result != pcre2::PCRE2_ERROR_NOMATCH || last == subject.len() {
                return result;
            }
            if budget.is_spent() {
                return pcre2::PCRE2_ERROR_MATCHLIMIT;
            }
            first = last + 1;
        }
    }

    /// Tries one place after the other, with the whole limit for each.
    fn search_slowly(
        &mut self,
        code: &CompiledCode,
        subject: &[u8],
        places: RangeInclusive<usize>,
        tries: u32,
        budget: &mut MatchBudget,
    ) -> c_int {
        for place in places {
            let result = self.attempt(code, subject, place..=place, tries);
            if result != pcre2::PCRE2_ERROR_NOMATCH {
                return result;
            }
            if budget.is_spent() {
                return pcre2::PCRE2_ERROR_MATCHLIMIT;
            }
        }
        pcre2::PCRE2_ERROR_NOMATCH
    }

    /// Tries all places in one call that is interrupted when its time is over.
    fn watch(&mut self, code: &CompiledCode, subject: &[u8], tries: u32) -> c_int {
        let mut watch = Watch { steps: 0, budget: MatchBudget::default() };
        // SAFETY: the context is valid; `watch` lives until the callout is taken out again, and
        // nothing else uses it meanwhile.
        unsafe {
            let data = (&raw mut watch).cast();
            pcre2_set_callout_8(self.context, Some(on_step), data);
        }
        let result = self.attempt(code, subject, 0..=usize::MAX, tries);
        // SAFETY: the context is valid; without a function there is no callout.
        unsafe { pcre2_set_callout_8(self.context, None, ptr::null_mut()) };
        result
    }

    /// Calls PCRE2 for matches that begin at one of these places. The result is the number of
    /// groups, or an error, which is negative.
    fn attempt(
        &mut self,
        code: &CompiledCode,
        subject: &[u8],
        places: RangeInclusive<usize>,
        tries: u32,
    ) -> c_int {
        // SAFETY: code, context and data are valid, subject and length belong together, and the
        // first place is not behind the subject's end. This thread alone uses data and context,
        // and the only callout, `on_step`, does not come back here.
        unsafe {
            pcre2::pcre2_set_match_limit_8(self.context, tries);
            pcre2::pcre2_set_offset_limit_8(self.context, *places.end());
            pcre2::pcre2_match_8(
                code.as_ptr(),
                subject.as_ptr(),
                subject.len(),
                *places.start(),
                0,
                self.data,
                self.context,
            )
        }
    }

    /// The offsets of the first `groups` groups of the last match.
    fn offsets(&self, groups: usize) -> &[usize] {
        // SAFETY: a match has filled in that many pairs of `data`, which has room for `pairs`.
        unsafe { slice::from_raw_parts(pcre2::pcre2_get_ovector_pointer_8(self.data), 2 * groups) }
    }

    fn grow(&mut self, pairs: u32) {
        let pairs = pairs.max(PAIRS_MIN);
        // SAFETY: null may be freed; the new data replaces the old one at once.
        self.data = unsafe {
            pcre2::pcre2_match_data_free_8(self.data);
            pcre2::pcre2_match_data_create_8(pairs, ptr::null_mut())
        };
        self.pairs = if self.data.is_null() { 0 } else { pairs };
    }
}

impl Drop for MatchScratch {
    fn drop(&mut self) {
        // SAFETY: each is freed once, null is allowed, and the stack outlives its context.
        unsafe {
            pcre2::pcre2_match_data_free_8(self.data);
            pcre2::pcre2_match_context_free_8(self.context);
            pcre2::pcre2_jit_stack_free_8(self.jit_stack);
        }
    }
}

/// What the callout of a watched pattern counts.
struct Watch {
    steps: u32,
    budget: MatchBudget,
}

// SAFETY: the signature in pcre2.h; pcre2-sys leaves this function out. What `callout` gets first
// is a `pcre2_callout_block`, at which we do not look.
unsafe extern "C" {
    fn pcre2_set_callout_8(
        context: *mut pcre2::pcre2_match_context_8,
        callout: Option<unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int>,
        data: *mut c_void,
    ) -> c_int;
}

/// Called by PCRE2 before each item of a watched pattern; what is not 0 ends the match.
// SAFETY: PCRE2 calls it with what `MatchScratch::watch` gave it, in that thread.
unsafe extern "C" fn on_step(_: *mut c_void, watch: *mut c_void) -> c_int {
    // SAFETY: `MatchScratch::watch` has set this pointer, to a value that lives while it matches.
    let watch = unsafe { &mut *watch.cast::<Watch>() };
    watch.steps = watch.steps.wrapping_add(1);
    let is_over = watch.steps.is_multiple_of(STEPS_UNWATCHED) && watch.budget.is_spent();
    if is_over { pcre2::PCRE2_ERROR_CALLOUT } else { 0 }
}

/// How many tries a place is worth: fewer in long subjects, but some for each byte.
fn tries_max(subject_bytes: usize) -> u32 {
    let tries = TRIES_MAX.min(TRIES_BYTES_MAX / (subject_bytes + 1)).max(4 * subject_bytes);
    u32::try_from(tries).unwrap_or(u32::MAX)
}

fn is_no_match(result: c_int) -> bool {
    let bad_utf = pcre2::PCRE2_ERROR_UTF8_ERR21..=pcre2::PCRE2_ERROR_UTF8_ERR1;
    result == pcre2::PCRE2_ERROR_NOMATCH || bad_utf.contains(&result)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether it matches, compiled to machine code and interpreted; `None` for a limit.
    fn both(pattern: &str, subject: &str) -> [Option<bool>; 2] {
        let compiled = CompiledCode::compile(pattern.as_bytes(), 0).ok().unwrap();
        let interpreted = CompiledCode::interpreted(pattern.as_bytes(), 0).ok().unwrap();
        [compiled, interpreted].map(|code| {
            let found = code.run(subject.as_bytes(), Patience::Short, |offsets| offsets.len());
            found.ok().map(|found| found.is_some())
        })
    }

    #[test]
    fn machine_code_and_interpreter_agree() {
        for (pattern, subject) in [("^/a.*\\.php$", "/a/b.php"), ("(a|b)\\1", "abba"), ("", "x")] {
            assert_eq!(both(pattern, subject), [Some(true); 2], "{pattern}");
            assert_eq!(both(&format!("{pattern}(?!)"), subject), [Some(false); 2], "{pattern}");
        }
    }

    #[test]
    fn neither_goes_on_for_ever() {
        for pattern in ["(a+)+$", "(?:a|aa)*[xy]", "(a*)(a*)(a*)(a*)\\1[xy]", "(?:a?){19}[bc]"] {
            assert_eq!(both(pattern, &("a".repeat(3000) + "!")), [None; 2], "{pattern}");
        }
    }

    #[test]
    fn a_long_path_that_is_looked_for_behind_itself_is_found() {
        let code = CompiledCode::compile(b"^(/.+)/(.*)::\\2$", 0).ok().unwrap();
        for segment in ["a", "segmentname"] {
            let path = vec![segment; 300].join("/");
            let subject = format!("/app/{path}::{path}");
            let found = code.run(subject.as_bytes(), Patience::Long, |offsets| offsets[3]);
            assert_eq!(found.ok(), Some(Some("/app".len())), "{segment}");
            assert!(code.run(subject.as_bytes(), Patience::Short, |_| ()).is_err(), "{segment}");
        }
    }

    #[test]
    fn a_stack_that_is_full_ends_the_match_and_not_the_process() {
        let pattern = "^(?:(a)(b)?|c)*$";
        assert_eq!(both(pattern, &"a".repeat(8190)), [Some(true); 2]);
        assert_eq!(both(pattern, &"a".repeat(1_000_000)), [None; 2]);
        assert_eq!(both("^((?:a(?1)?))*$", &"a".repeat(1_000_000)), [None; 2]);
        assert_eq!(both(pattern, "aab"), [Some(true); 2]);
    }
}
