//! The twin of `border.h` in crate `php-module`, where each member is explained: plain C data, in
//! the same order. A module file whose number or sizes differ is not used.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

/// `TRIVET_PHP_BORDER`: raised with every change here.
pub(crate) const BORDER: u32 = 1;

/// The name of the only symbol of the module file.
pub(crate) const SYMBOL: &std::ffi::CStr = c"trivet_php_module";

/// Some bytes, or nothing.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct BorderText {
    pub(crate) at: *const c_char,
    pub(crate) length: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct BorderPair {
    pub(crate) name: BorderText,
    pub(crate) value: BorderText,
}

#[repr(C)]
pub(crate) struct BorderSetting {
    pub(crate) name: BorderText,
    pub(crate) value: BorderText,
    pub(crate) is_admin: u32,
    pub(crate) is_of_htaccess: u32,
}

/// `enum border_question`
pub(crate) mod question {
    pub(crate) const GET_VARIABLE: u32 = 1;
    pub(crate) const SET_VARIABLE: u32 = 2;
    pub(crate) const GET_NOTE: u32 = 3;
    pub(crate) const SET_NOTE: u32 = 4;
    pub(crate) const VARIABLES: u32 = 5;
    pub(crate) const REQUEST_FIELDS: u32 = 6;
    pub(crate) const RESPONSE_FIELDS: u32 = 7;
    pub(crate) const LOOK_UP: u32 = 8;
    pub(crate) const INCLUDE: u32 = 9;
    pub(crate) const SERVER: u32 = 10;
    pub(crate) const MODULES: u32 = 11;
    pub(crate) const FINISH: u32 = 12;
}

/// `enum border_field_change`
pub(crate) mod field_change {
    pub(crate) const ADD: u32 = 1;
    pub(crate) const SET: u32 = 2;
    pub(crate) const UNSET: u32 = 3;
    pub(crate) const UNSET_ALL: u32 = 4;
}

#[repr(C)]
pub(crate) struct BorderReply {
    pub(crate) status: u32,
    pub(crate) text: BorderText,
    pub(crate) pairs: *const BorderPair,
    pub(crate) pairs_count: usize,
}

#[repr(C)]
pub(crate) struct BorderHost {
    pub(crate) write: extern "C" fn(*mut c_void, *const c_char, usize) -> u32,
    pub(crate) flush: extern "C" fn(*mut c_void) -> u32,
    pub(crate) read: extern "C" fn(*mut c_void, *mut c_char, usize) -> usize,
    pub(crate) field: extern "C" fn(*mut c_void, u32, BorderText, BorderText),
    pub(crate) head: extern "C" fn(*mut c_void, u32, BorderText, BorderText),
    pub(crate) log: extern "C" fn(*mut c_void, i32, BorderText),
    pub(crate) ask: extern "C" fn(*mut c_void, u32, BorderText, BorderText, *mut BorderReply),
}

#[repr(C)]
pub(crate) struct BorderRequest {
    pub(crate) method: BorderText,
    pub(crate) query: BorderText,
    pub(crate) path: BorderText,
    pub(crate) file: BorderText,
    pub(crate) content_type: BorderText,
    pub(crate) cookies: BorderText,
    pub(crate) authorization: BorderText,
    pub(crate) user: BorderText,
    pub(crate) content_length: i64,
    pub(crate) protocol: u32,
    pub(crate) status: u32,
    pub(crate) time_s: f64,
    pub(crate) is_source: u32,
    pub(crate) padding: u32,
    pub(crate) variables: *const BorderPair,
    pub(crate) variables_count: usize,
    pub(crate) settings: *const BorderSetting,
    pub(crate) settings_count: usize,
}

#[repr(C)]
pub(crate) struct BorderStart {
    pub(crate) ini_folder: *const c_char,
    pub(crate) scan_folder: *const c_char,
    pub(crate) log: extern "C" fn(i32, BorderText),
}

#[repr(C)]
pub(crate) struct BorderModule {
    pub(crate) border: u32,
    pub(crate) version_id: u32,
    pub(crate) version: *const c_char,
    pub(crate) is_thread_safe: u32,
    pub(crate) sizes: u32,
    pub(crate) start: unsafe extern "C" fn(*const BorderStart) -> c_int,
    pub(crate) stop: unsafe extern "C" fn(),
    pub(crate) enter_child: unsafe extern "C" fn(),
    pub(crate) is_on: unsafe extern "C" fn(*const c_char) -> u32,
    pub(crate) run:
        unsafe extern "C" fn(*const BorderRequest, *const BorderHost, *mut c_void) -> usize,
}

// SAFETY: a table is a constant of a library that stays open; its functions are called on one
// thread at a time, as the engine sees to.
unsafe impl Sync for BorderModule {}

/// The sizes of all structures above, added up as the module file does.
pub(crate) const SIZES: usize = size_of::<BorderText>()
    + size_of::<BorderPair>()
    + size_of::<BorderSetting>()
    + size_of::<BorderReply>()
    + size_of::<BorderHost>()
    + size_of::<BorderRequest>()
    + size_of::<BorderStart>()
    + size_of::<BorderModule>();

impl BorderText {
    /// Nothing, which is not an empty text.
    pub(crate) const NOTHING: Self = Self { at: std::ptr::null(), length: 0 };

    /// A text that lives as long as somebody else says.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { at: bytes.as_ptr().cast(), length: bytes.len() }
    }

    /// The bytes; none of nothing.
    ///
    /// # Safety
    /// `at` is null, or `length` bytes that nobody changes are there for as long as `'b`.
    pub(crate) unsafe fn bytes<'b>(self) -> &'b [u8] {
        if self.at.is_null() {
            return &[];
        }
        // SAFETY: see above.
        unsafe { std::slice::from_raw_parts(self.at.cast(), self.length) }
    }
}
