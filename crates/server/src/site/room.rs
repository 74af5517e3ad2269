//! Where request bodies lie that a script has to wait for, as the configuration says.

use std::path::PathBuf;

/// Their folder, and how much room they get there.
#[derive(Clone, Debug, Default)]
pub struct RoomLimits {
    /// `RequestSpoolDir`
    pub folder: Option<PathBuf>,
    /// `RequestSpoolMaxSize`; `None` is `auto`.
    pub files_bytes: Option<u64>,
}
