//! The host that a request asks for, as far as an answer may depend on it.

use message::{Known, RequestHead};

/// What the server was asked as: the Host field as it was sent, and the port of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AskedHost {
    field: Option<Box<[u8]>>,
    local_port: u16,
}

impl AskedHost {
    pub(crate) fn of(head: &RequestHead<'_>, local_port: u16) -> Self {
        Self { field: head.get(Known::Host).map(Box::from), local_port }
    }

    pub(crate) fn is(&self, head: &RequestHead<'_>, local_port: u16) -> bool {
        self.local_port == local_port && self.field.as_deref() == head.get(Known::Host)
    }

    /// What tells the answers of a path for several hosts apart; no path holds a NUL.
    pub(crate) fn add_to(&self, key: &mut Vec<u8>) {
        key.push(0);
        key.extend_from_slice(&self.local_port.to_le_bytes());
        if let Some(field) = &self.field {
            key.extend_from_slice(field);
        }
    }
}
