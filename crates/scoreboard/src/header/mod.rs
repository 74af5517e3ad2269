//! What the parent alone writes, before all rows.

pub(crate) mod choices;
pub(crate) mod history;
pub(crate) mod sizing;
