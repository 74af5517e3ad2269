//! Which names the configuration wants known, of clients and of the server.

use std::sync::atomic::{AtomicBool, Ordering};

/// `HostnameLookups`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostnameLookups {
    /// Names are not looked up.
    #[default]
    Off,
    /// The name that the owner of the address gave it.
    On,
    /// The same, if it leads back to the address.
    Double,
}

/// `UseCanonicalName`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UseCanonicalName {
    /// As the client calls the server.
    #[default]
    Off,
    /// As `ServerName` calls it.
    On,
    /// As DNS calls the address that the client asked.
    Dns,
}

/// Whether some rule or expression that was ever compiled looks at the name of the client. If none
/// does, only scripts and logs need it, and no other response need wait.
static LOOKED_AT: AtomicBool = AtomicBool::new(false);

/// Something that looks at the name of the client was compiled.
pub fn will_be_looked_at() {
    LOOKED_AT.store(true, Ordering::Relaxed);
}

/// Whether anything does.
pub(crate) fn are_looked_at() -> bool {
    LOOKED_AT.load(Ordering::Relaxed)
}
