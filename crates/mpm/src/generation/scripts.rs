//! How the processes of a generation reach its script manager.

use runtime::programs::{Desks, Orders};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the processes of a generation have in common to reach its script manager.
pub(crate) struct Scripts {
    /// A serving process's own way; nobody else has one.
    pub(crate) orders: Arc<Orders>,
    /// Held by the parent: whatever becomes of the manager, what was ordered waits here.
    desks: Mutex<Desks>,
}

impl Scripts {
    /// For a server that may have to run programs.
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self { orders: Arc::default(), desks: Mutex::new(Desks::new()?) })
    }

    pub(crate) fn desks(&self) -> MutexGuard<'_, Desks> {
        self.desks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In a child: order through `own`, and take no orders.
    pub(crate) fn become_client(&self, own: Orders) {
        self.desks().close();
        self.orders.adopt(own);
    }
}
