//! What ab says on standard output and standard error.

use std::io::Write as _;

/// Print on standard output.
pub(super) fn say(text: &str) {
    say_bytes(text.as_bytes());
}

/// The same of bytes; a reader that has gone is no fault.
pub(super) fn say_bytes(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

/// A line on standard error.
pub(super) fn complain(text: &str) {
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{text}");
}
