//! Where the project is.

use std::path::Path;

/// The project's folder, wherever the chore was started.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}
