//! Becoming another program, and hearing of its end.

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// Become `program`; returns only if that fails.
pub(crate) fn execute(program: &CStr, arguments: &[CString], environment: &[CString]) -> io::Error {
    let pointers = |strings: &[CString]| {
        let all = strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]);
        all.collect::<Vec<_>>()
    };
    let (arguments, environment) = (pointers(arguments), pointers(environment));
    // SAFETY: all three are valid for the call: a string, and arrays of strings that end with a
    // null pointer, whose owners the caller holds.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    io::Error::last_os_error()
}

/// Let no descriptor behind the standard streams reach the next program, whoever opened it.
pub(crate) fn close_on_execute() {
    const FIRST: libc::c_uint = 3;
    // SAFETY: takes numbers, and closes nothing: it sets a flag of what is open. A kernel before
    // 5.11 does not know it; all that this server opens has the flag already.
    unsafe {
        libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
    }
}

/// Close all descriptors behind the standard streams but `kept`. Only for a process that was forked
/// to become a program: whatever owns them in its memory is never used again, nor dropped.
pub(crate) fn close_all_but(kept: i32) {
    const FIRST: i32 = 3;
    let rows = [(FIRST, kept - 1), (kept + 1, i32::MAX)];
    for (first, last) in rows.into_iter().filter(|row| FIRST <= row.0 && row.0 <= row.1) {
        // SAFETY: takes numbers. The caller uses none of these descriptors again. A kernel before
        // 5.9 closes nothing, and the next program still gets none.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    }
}

/// A child that has ended, if there is one; it is waited for still, so that its number and that of
/// its group are nobody else's until then.
pub fn ended() -> Option<i32> {
    look_at_end(libc::P_ALL, 0).map(|(pid, _)| pid)
}

/// Whether a child has ended by a signal; it is waited for still.
pub fn was_killed(pid: i32) -> bool {
    let found = look_at_end(libc::P_PID, pid.cast_unsigned());
    found.is_some_and(|(_, code)| matches!(code, libc::CLD_KILLED | libc::CLD_DUMPED))
}

/// Which child has ended, and in which way.
fn look_at_end(kind: libc::idtype_t, id: libc::id_t) -> Option<(i32, i32)> {
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: all-zero is a valid siginfo_t, and means that no child has ended.
    let mut info: libc::siginfo_t = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: the pointer is to a record of that type; the other parameters are numbers.
    let result = unsafe { libc::waitid(kind, id, &raw mut info, options) };
    // SAFETY: the call has filled the record for the end of a child, or left it zero.
    let pid = unsafe { info.si_pid() };
    (result == 0 && pid > 0).then_some((pid, info.si_code))
}
