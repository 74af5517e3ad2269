//! What the command says on standard output and standard error.

use super::super::Exit;
use std::io::Write as _;

/// Print on standard output; a reader that has gone is no fault.
pub(super) fn say(text: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Says why there is no run.
pub(super) fn fail(exit: Exit, text: &str) -> Exit {
    complain(text);
    exit
}

/// Says something on standard error.
pub(super) fn complain(text: &str) {
    note(&format!("trivet bench: {text}"));
}

/// A line on standard error.
pub(super) fn note(text: &str) {
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{text}");
}
