//! Why a script has not answered, or not to the end.

use fastcgi::ScriptFault;
use message::Refusal;

/// Why there is no answer, or no more of it.
#[derive(Debug)]
pub(crate) enum CgiFault {
    /// It has said nothing for too long.
    TimedOut,
    /// What it says is no answer.
    Script(ScriptFault),
    /// The body of the request is at fault.
    Request(Refusal),
    /// A pipe broke.
    Broken,
}
