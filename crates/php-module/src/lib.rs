//! The file that trivet opens to run PHP: a few functions in C between PHP's library for embedding
//! and the server, which meet at a table of plain data (`border.h`, whose twin is `border.rs` of
//! crate `php`). Nothing of the server belongs here, and no other crate names PHP's library.

use std::ffi::c_void;

// SAFETY: sapi.c defines this function, with this type.
#[cfg(has_php)]
unsafe extern "C" {
    fn trivet_php_border() -> *const c_void;
}

/// What the server looks for in this file: the table, or nothing if the file was built without PHP.
// SAFETY: no other library has a function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn trivet_php_module() -> *const c_void {
    #[cfg(has_php)]
    // SAFETY: the function of sapi.c returns the address of a constant.
    return unsafe { trivet_php_border() };
    #[cfg(not(has_php))]
    std::ptr::null()
}
