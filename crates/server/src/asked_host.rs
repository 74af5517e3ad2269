//! The host that a request asks for, as far as an answer may depend on it.

use message::{Known, RequestHead};

/// A name, a colon and a port.
const HOST_BYTES_MAX: usize = 255 + 6;

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

    /// Whether a request asks for a host of a length that names have (RFC 1035 section 2.3.4, and a
    /// port): a longer one is kept for nobody.
    pub(crate) fn is_usual(head: &RequestHead<'_>) -> bool {
        head.get(Known::Host).is_none_or(|field| field.len() <= HOST_BYTES_MAX)
    }

    /// Bytes of memory that it holds, roughly.
    pub(crate) fn weight(&self) -> usize {
        size_of::<Self>() + self.field.as_ref().map_or(0, |field| field.len())
    }

    pub(crate) fn is(&self, head: &RequestHead<'_>, local_port: u16) -> bool {
        self.local_port == local_port && self.field.as_deref() == head.get(Known::Host)
    }

    /// What tells the answers of a path for several hosts apart; no path holds a control byte.
    pub(crate) fn add_to(&self, key: &mut Vec<u8>) {
        key.push(1);
        key.extend_from_slice(&self.local_port.to_le_bytes());
        if let Some(field) = &self.field {
            key.extend_from_slice(field);
        }
    }
}
