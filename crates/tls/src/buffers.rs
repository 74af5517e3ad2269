//! Memory that the connections of one thread share, as only one of them has a turn at a time: a
//! connection that idles keeps no buffer.

use std::cell::RefCell;

/// Room for encrypted bytes on their way in and out. Takes no memory before it is used.
#[derive(Default)]
pub struct Buffers {
    pub(crate) incoming: RefCell<Vec<u8>>,
    pub(crate) outgoing: RefCell<Vec<u8>>,
}

impl Buffers {
    /// So much of a buffer that grows when it has to, and never shrinks.
    pub(crate) fn room(buffer: &mut Vec<u8>, bytes: usize) -> &mut [u8] {
        if buffer.len() < bytes {
            buffer.resize(bytes, 0);
        }
        &mut buffer[..bytes]
    }
}
