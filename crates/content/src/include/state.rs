//! What a page knows while it is made, beside its output.

/// Variables that are computed when somebody asks for them.
pub(super) const LAZY: [&str; 4] = ["DATE_LOCAL", "DATE_GMT", "LAST_MODIFIED", "USER_NAME"];

/// What a page has together with the pages that it includes.
#[derive(Default)]
pub(super) struct Shared {
    /// Which of [`LAZY`] have no value yet.
    pub(super) lazy: [bool; LAZY.len()],
    /// When the outermost page was changed.
    pub(super) modified_s: i64,
    /// How many parts have been asked for so far.
    pub(super) parts: u32,
}

/// What the last pattern has found.
#[derive(Default)]
pub(super) struct LastMatch {
    /// The pattern, and how many groups it has; `None` before the first.
    pub(super) pattern: Option<(String, usize)>,
    pub(super) matches: expr::Matches,
    pub(super) has_match: bool,
}

/// What becomes of a variable that there is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    Drop,
    /// Its name stays, for a shell.
    Keep,
}
