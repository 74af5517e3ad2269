//! How the processes of a generation reach its script manager.

use runtime::programs::{ClientSockets, ManagerClient};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the processes of a generation have in common to reach its script manager.
pub(crate) struct ManagerSockets {
    /// The connection of this serving process to the script manager; unset in any other process.
    pub(crate) client: Arc<ManagerClient>,
    /// Held by the parent: whatever becomes of the manager, what was asked for waits here.
    sockets: Mutex<ClientSockets>,
}

impl ManagerSockets {
    /// The sockets for a server that may have to run programs.
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self { client: Arc::default(), sockets: Mutex::new(ClientSockets::new()?) })
    }

    pub(crate) fn sockets(&self) -> MutexGuard<'_, ClientSockets> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In a child: ask through `own`, and answer no requests.
    pub(crate) fn become_client(&self, own: ManagerClient) {
        self.sockets().close();
        self.client.adopt(own);
    }
}
