//! The calls into PCRE2 and crypt(3): all `unsafe` of this crate is here.
//!
//! What comes out of here is owned and checked: a compiled pattern that any thread may use, offsets
//! that lie within the subject, a hash as bytes. Limits are set here too, because the memory that
//! they bound is allocated here.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{self, NonNull};
use std::slice;

use pcre2_sys as pcre2;

/// An offset of a group that took no part in the match.
pub(crate) const UNSET: usize = usize::MAX;

/// How often a match may go back and try again. Measured on 3 GHz: 15 to 50 ms at worst,
/// compiled or not. httpd leaves it at PCRE2's ten million, half a second of one thread.
const MATCH_LIMIT: u32 = 1_000_000;

/// How deep the interpreter may remember where to go back to.
const DEPTH_LIMIT: u32 = 100_000;

/// What the interpreter may allocate to remember that; it is kept for the thread's next match.
const HEAP_LIMIT_KIB: u32 = 8 * 1024;

/// The stack of compiled patterns: reserved as addresses, occupied as far as a match needed it.
const JIT_STACK_START_BYTES: usize = 32 * 1024;
const JIT_STACK_MAX_BYTES: usize = 1024 * 1024;

/// Groups that a thread's first match data has room for; httpd's `POSIX_MALLOC_THRESHOLD`.
const PAIRS_MIN: u32 = 10;

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
pub(crate) struct Code(NonNull<pcre2::pcre2_code_8>);

// SAFETY: compiled code is not changed by matching; what a match changes is in `Scratch`, which
// belongs to one thread (pcre2api, "MULTITHREADING"). It may be freed by any thread.
unsafe impl Send for Code {}
// SAFETY: as above: after `compile` all functions take it as constant.
unsafe impl Sync for Code {}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `pcre2_compile` and is freed once, here.
        unsafe { pcre2::pcre2_code_free_8(self.0.as_ptr()) }
    }
}

/// Why a pattern does not compile: PCRE2's number, and where in the pattern.
pub(crate) struct CompileError {
    pub(crate) code: i32,
    pub(crate) offset: usize,
}

/// Why a match came to no result.
pub(crate) struct MatchError;

impl Code {
    /// Compiles a pattern, to machine code where the system allows that.
    pub(crate) fn compile(pattern: &[u8], options: u32) -> Result<Self, CompileError> {
        let context = CompileContext::new();
        let (mut code, mut offset): (c_int, usize) = (0, 0);
        // SAFETY: pattern and length belong together, the out parameters live on this stack, and
        // the context is null (PCRE2's defaults) or valid until the end of this function.
        let compiled = unsafe {
            pcre2::pcre2_compile_8(
                pattern.as_ptr(),
                pattern.len(),
                options,
                &raw mut code,
                &raw mut offset,
                context.0,
            )
        };
        let compiled = NonNull::new(compiled).ok_or(CompileError { code, offset })?;
        // SAFETY: just compiled, and no other thread has it yet. When it fails (a system may
        // forbid memory that is writable and executable) the pattern is interpreted.
        unsafe { pcre2::pcre2_jit_compile_8(compiled.as_ptr(), pcre2::PCRE2_JIT_COMPLETE) };
        Ok(Self(compiled))
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

    /// Matches, and hands the offsets (start and end of each group, [`UNSET`] where it took no
    /// part) to `found`, if the subject matches.
    ///
    /// Exceeding any limit is an error. A subject that is no UTF-8, for a pattern that begins with
    /// `(*UTF)`, matches nothing, as in httpd's `ap_regexec_len`.
    pub(crate) fn run<T>(
        &self,
        subject: &[u8],
        found: impl FnOnce(&[usize]) -> T,
    ) -> Result<Option<T>, MatchError> {
        SCRATCH.with_borrow_mut(|scratch| scratch.run(self, subject, found))
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
        unsafe { pcre2::pcre2_pattern_info_8(self.0.as_ptr(), what, answer) };
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

thread_local! {
    /// One for each thread, as in httpd: a match then allocates nothing.
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::new());
}

/// What a match writes to.
struct Scratch {
    /// Limits and stack; null when there was no memory for it, and then nothing is matched.
    context: *mut pcre2::pcre2_match_context_8,
    jit_stack: *mut pcre2::pcre2_jit_stack_8,
    data: *mut pcre2::pcre2_match_data_8,
    /// Groups that `data` has room for.
    pairs: u32,
}

impl Scratch {
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
                pcre2::pcre2_set_match_limit_8(context, MATCH_LIMIT);
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
        code: &Code,
        subject: &[u8],
        found: impl FnOnce(&[usize]) -> T,
    ) -> Result<Option<T>, MatchError> {
        let pairs = code.group_count() + 1;
        if self.pairs < pairs {
            self.grow(pairs);
        }
        if self.context.is_null() || self.data.is_null() {
            return Err(MatchError);
        }
        // SAFETY: code, context and data are valid, subject and length belong together; data and
        // context are borrowed by this thread alone, and no callout is set that could return here.
        let groups = unsafe {
            pcre2::pcre2_match_8(
                code.0.as_ptr(),
                subject.as_ptr(),
                subject.len(),
                0,
                0,
                self.data,
                self.context,
            )
        };
        match usize::try_from(groups) {
            Ok(groups) => Ok(Some(found(self.offsets(groups.min(pairs as usize))))),
            Err(_) if is_no_match(groups) => Ok(None),
            Err(_) => Err(MatchError),
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

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: each is freed once, null is allowed, and the stack outlives its context.
        unsafe {
            pcre2::pcre2_match_data_free_8(self.data);
            pcre2::pcre2_match_context_free_8(self.context);
            pcre2::pcre2_jit_stack_free_8(self.jit_stack);
        }
    }
}

fn is_no_match(result: c_int) -> bool {
    let bad_utf = pcre2::PCRE2_ERROR_UTF8_ERR21..=pcre2::PCRE2_ERROR_UTF8_ERR1;
    result == pcre2::PCRE2_ERROR_NOMATCH || bad_utf.contains(&result)
}

/// Room for `struct crypt_data` of any libcrypt: libxcrypt's has 32 KiB, glibc's 131232 bytes.
const CRYPT_DATA_WORDS: usize = 256 * 1024 / size_of::<u64>();

// SAFETY: the signature of crypt(3), the same in glibc's libcrypt and in libxcrypt.
#[link(name = "crypt")]
unsafe extern "C" {
    fn crypt_r(phrase: *const c_char, setting: *const c_char, data: *mut c_void) -> *mut c_char;
}

/// crypt(3): the hash of a password with the method, cost and salt that `setting` begins with.
/// `None` when libcrypt does not know them.
pub(crate) fn crypt(password: &CStr, setting: &CStr) -> Option<Vec<u8>> {
    // Zeroed, as crypt_r demands; pages that it does not touch are never made.
    let mut data = vec![0_u64; CRYPT_DATA_WORDS];
    // SAFETY: both strings end with NUL, and `data` is zeroed, aligned and large enough. The
    // result is null or a string within `data`, read before `data` goes.
    let hash = unsafe {
        let hash = crypt_r(password.as_ptr(), setting.as_ptr(), data.as_mut_ptr().cast());
        if hash.is_null() { None } else { Some(CStr::from_ptr(hash).to_bytes().to_vec()) }
    };
    // Hashes never begin with `*`: that is how libxcrypt says what null says elsewhere.
    hash.filter(|hash| !hash.starts_with(b"*"))
}
