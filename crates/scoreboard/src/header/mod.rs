//! What the parent alone writes, before all rows.

pub(crate) mod choices;
pub(crate) mod folder_changes;
pub(crate) mod history;
pub(crate) mod sizing;
