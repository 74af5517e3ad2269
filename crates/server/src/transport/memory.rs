//! A stream within the process, for tests: what one end sends the other one reads. It has no
//! descriptor, and a bounded number of bytes under way.

use super::Transport;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::task::{self, Poll, Waker};

/// Bytes under way in one direction.
#[derive(Default)]
struct ByteQueue {
    bytes: VecDeque<u8>,
    room: usize,
    is_closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl ByteQueue {
    fn with_room(room: usize) -> Rc<RefCell<Self>> {
        Rc::new(RefCell::new(Self { room, ..Self::default() }))
    }

    fn close(&mut self) {
        self.is_closed = true;
        [self.reader.take(), self.writer.take()].into_iter().flatten().for_each(Waker::wake);
    }
}

/// One end of the stream.
pub struct MemoryStream {
    incoming: Rc<RefCell<ByteQueue>>,
    outgoing: Rc<RefCell<ByteQueue>>,
}

/// Two ends, with room for so many bytes each way.
pub(crate) fn pair(room: usize) -> (Transport, MemoryStream) {
    let (one, other) = (ByteQueue::with_room(room), ByteQueue::with_room(room));
    let near = MemoryStream { incoming: one.clone(), outgoing: other.clone() };
    (Transport::Memory(near), MemoryStream { incoming: other, outgoing: one })
}

impl MemoryStream {
    pub(crate) fn poll_read(
        &mut self,
        task: &mut task::Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut queue = self.incoming.borrow_mut();
        if queue.bytes.is_empty() && !queue.is_closed {
            queue.reader = Some(task.waker().clone());
            return Poll::Pending;
        }
        let length = queue.bytes.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(queue.bytes.drain(..length)) {
            *to = from;
        }
        if let Some(writer) = queue.writer.take() {
            writer.wake();
        }
        Poll::Ready(Ok(length))
    }

    pub(crate) fn try_send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut queue = self.outgoing.borrow_mut();
        if queue.is_closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let length = bytes.len().min(queue.room - queue.bytes.len());
        if length == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        queue.bytes.extend(&bytes[..length]);
        if let Some(reader) = queue.reader.take() {
            reader.wake();
        }
        Ok(length)
    }

    pub(crate) fn poll_writable(&mut self, task: &mut task::Context<'_>) -> Poll<io::Result<()>> {
        let mut queue = self.outgoing.borrow_mut();
        if queue.bytes.len() < queue.room || queue.is_closed {
            return Poll::Ready(Ok(()));
        }
        queue.writer = Some(task.waker().clone());
        Poll::Pending
    }

    pub(crate) fn shutdown_write(&mut self) {
        self.outgoing.borrow_mut().close();
    }

    /// All that the other end sends until nothing more comes.
    pub(crate) async fn read_to_end(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        let mut buffer = [0; 512];
        loop {
            match std::future::poll_fn(|task| self.poll_read(task, &mut buffer)).await {
                Ok(length) if length > 0 => all.extend_from_slice(&buffer[..length]),
                _ => return all,
            }
        }
    }
}

impl Drop for MemoryStream {
    fn drop(&mut self) {
        self.incoming.borrow_mut().close();
        self.outgoing.borrow_mut().close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_end_sends_the_other_reads_within_the_room() {
        let mut task = task::Context::from_waker(Waker::noop());
        let (mut near, mut far) = pair(4);
        let mut buffer = [0; 8];
        assert!(near.file_sender().is_none());
        assert!(near.poll_read(&mut task, &mut buffer).is_pending());
        assert_eq!(far.try_send(b"abcdef").unwrap(), 4);
        assert_eq!(far.try_send(b"ef").unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert!(far.poll_writable(&mut task).is_pending());
        assert!(matches!(near.poll_read(&mut task, &mut buffer), Poll::Ready(Ok(4))));
        assert_eq!(&buffer[..4], b"abcd");
        assert!(far.poll_writable(&mut task).is_ready());
        near.shutdown_write();
        assert!(matches!(far.poll_read(&mut task, &mut buffer), Poll::Ready(Ok(0))));
        let mut taken = near.hand_over();
        assert!(near.try_send(b"x", false).is_err() && far.try_send(b"g").is_ok());
        assert!(matches!(taken.poll_read(&mut task, &mut buffer), Poll::Ready(Ok(1))));
    }
}
