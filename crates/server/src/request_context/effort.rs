//! What rules and expressions may cost one request of a client. Whoever may write a `.htaccess`
//! file decides how often they are asked: a list of rules may begin again 10,000 times, and what a
//! rule looks up has rules of its own, which look up again.

use super::RequestContext;
use crate::failure::Failure;
use message::Status;

/// The steps for one request, its look-ups and its internal redirects, about a quarter of a second
/// of a thread. A list of 60,000 rules, as long as a file may be, takes one for each.
const STEPS_MAX: u64 = 2_000_000;

/// What it counts to ask where another URL leads: measured, 20 to 50 µs.
pub(crate) const LOOK_AHEAD_STEPS: u64 = 1000;

/// One step is about a rule that is tried and does not match, or so many bytes of a text.
pub const BYTES_PER_STEP: usize = 64;

impl RequestContext<'_> {
    /// Note what is done for the request; `false` if that is too much by now.
    pub fn spend(&self, steps: u64) -> bool {
        let effort = &self.common.effort;
        effort.set(effort.get().saturating_add(steps));
        self.is_within_bounds()
    }

    /// The same for asking where another URL leads.
    pub fn spend_look_ahead(&self) -> bool {
        self.spend(LOOK_AHEAD_STEPS)
    }

    fn is_within_bounds(&self) -> bool {
        self.common.effort.get() <= STEPS_MAX
    }

    /// Has the request fail if too much was done for it.
    ///
    /// # Errors
    /// 500 in that case.
    pub fn check_effort(&self) -> Result<(), Failure> {
        if self.is_within_bounds() {
            return Ok(());
        }
        let path = String::from_utf8_lossy(&self.path);
        let text = format!(
            "rules and expressions went on for too long for {path}: they repeat each other (N), or \
             ask where URLs lead (-U, -F, LA-U, LA-F) whose rules ask the same"
        );
        let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text).at_error();
        Err(failure.recurring("rules that went on for too long"))
    }
}
