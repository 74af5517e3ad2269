//! Why there is no run.

use super::super::Exit;

/// Why there is no job, and how the command ends.
pub(super) type CommandFault = (Exit, String);

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(super) fn usage(text: impl ToString) -> CommandFault {
    (Exit::Usage, text.to_string())
}
