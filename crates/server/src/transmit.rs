//! Sending a response to a peer that may read slowly: partial writes, bounded turns of sendfile,
//! and a limit on how long nothing may move.

use crate::connection::Wire;
use crate::representation::Representation;
use crate::response::{Body, Piece};
use crate::slots::Slot;
use runtime::{clock, file};
use std::future::poll_fn;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::task::Poll;

/// Part of a file that one turn may send, so that the others of this thread get theirs.
pub(crate) const TURN_BYTES: u64 = 1 << 20;

/// Buffer for content that cannot go through sendfile.
const COPY_BYTES: u64 = 64 * 1024;

/// File content up to this size is read and sent together with what is sent before it.
const TOGETHER_BYTES: u64 = 16 * 1024;

/// Small pieces are collected up to this size, and no further: a response of many ranges must
/// not lie in memory as a whole while a slow client reads it.
const COLLECTED_BYTES: usize = 64 * 1024;

/// What a fast response has left over.
pub(crate) struct Unsent {
    pub(crate) bytes: Vec<u8>,
    /// File, position, and bytes left of it.
    pub(crate) file: Option<(Rc<Representation>, u64, u64)>,
}

/// A request slot while it is held: it is given back as soon as a send has to wait, because
/// waiting for a slow reader costs no slot.
pub(crate) struct Held {
    slot: Option<Slot>,
    bytes: u64,
    started_ns: u64,
}

impl Held {
    pub(crate) fn new(slot: Slot, started_ns: u64) -> Self {
        Self { slot: Some(slot), bytes: 0, started_ns }
    }

    /// How much the scoreboard is told was sent in this slot.
    pub(crate) fn set_bytes(&mut self, bytes: u64) {
        self.bytes = bytes;
    }

    /// Give the slot back, if it is still held.
    pub(crate) fn release(&mut self) {
        if let Some(slot) = self.slot.take()
            && let Some(row) = slot.row()
        {
            row.end(self.bytes, (clock::monotonic_ns() - self.started_ns) / 1000);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.release();
    }
}

impl Wire {
    /// Send what the fast path could not.
    pub(crate) async fn send_unsent(&mut self) -> io::Result<()> {
        let Some(unsent) = self.unsent.take() else { return Ok(()) };
        let sent = &mut 0;
        self.send_bytes(&unsent.bytes, unsent.file.is_some(), None, sent).await?;
        match unsent.file {
            Some((source, offset, length)) => {
                self.send_file(&source, offset, length, None, sent).await
            }
            None => Ok(()),
        }
    }

    /// Send a response; `sent` counts what the socket has taken, also when it stops short.
    pub(crate) async fn transmit(
        &mut self,
        head: Vec<u8>,
        body: Body,
        held: &mut Held,
        sent: &mut u64,
    ) -> io::Result<()> {
        let mut collected = head;
        let mut pieces = body.pieces.into_iter().peekable();
        loop {
            while collected.len() < COLLECTED_BYTES
                && let Some(piece) = pieces.next_if(is_small)
            {
                self.append(piece, &mut collected)?;
            }
            let more = pieces.peek().is_some();
            self.send_bytes(&collected, more, Some(held), sent).await?;
            collected.clear();
            if let Some(piece) = pieces.next_if(|piece| !is_small(piece)) {
                match piece {
                    Piece::Bytes(bytes) => {
                        self.send_bytes(&bytes, pieces.peek().is_some(), Some(held), sent).await?;
                    }
                    Piece::File { source, offset, length } => {
                        self.send_file(&source, offset, length, Some(held), sent).await?;
                    }
                }
            }
            if pieces.peek().is_none() {
                return Ok(());
            }
        }
    }

    /// Send all of `bytes`.
    pub(crate) async fn send_bytes(
        &mut self,
        mut bytes: &[u8],
        more: bool,
        mut held: Option<&mut Held>,
        sent: &mut u64,
    ) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.stream.try_send(bytes, more) {
                Ok(taken) => {
                    *sent += taken as u64;
                    bytes = &bytes[taken..];
                }
                Err(error) if is_again(&error) => self.writable(held.as_deref_mut()).await?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Send `length` bytes of a file. A file that ends early ends the connection: the length was
    /// promised, and no other bytes may take the place of the missing ones.
    async fn send_file(
        &mut self,
        source: &Rc<Representation>,
        mut offset: u64,
        length: u64,
        mut held: Option<&mut Held>,
        sent: &mut u64,
    ) -> io::Result<()> {
        if !source.settings.core.uses_sendfile() {
            return self.copy_file(source, offset, length, held, sent).await;
        }
        let end = offset + length;
        while offset < end {
            let count = usize::try_from((end - offset).min(TURN_BYTES)).unwrap_or(usize::MAX);
            load_cold(source, offset, count).await?;
            match self.stream.try_send_file(source.file.as_fd(), &mut offset, count) {
                Ok(0) => return Err(self.truncated(source)),
                Ok(taken) => {
                    *sent += taken as u64;
                    if offset < end {
                        runtime::thread::yield_now().await;
                    }
                }
                Err(error) if is_again(&error) => self.writable(held.as_deref_mut()).await?,
                // Some file systems have no sendfile.
                Err(error) if error.raw_os_error() == Some(22) => {
                    return self.copy_file(source, offset, end - offset, held, sent).await;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn copy_file(
        &mut self,
        source: &Rc<Representation>,
        mut offset: u64,
        length: u64,
        mut held: Option<&mut Held>,
        sent: &mut u64,
    ) -> io::Result<()> {
        let end = offset + length;
        let mut buffer = Vec::new();
        while offset < end {
            let count = (end - offset).min(COPY_BYTES);
            buffer.resize(usize::try_from(count).unwrap_or(0), 0);
            if source.file.read_exact_at(&mut buffer, offset).is_err() {
                return Err(self.truncated(source));
            }
            offset += count;
            self.send_bytes(&buffer, offset < end, held.as_deref_mut(), sent).await?;
            runtime::thread::yield_now().await;
        }
        Ok(())
    }

    /// Append a small piece to `out`.
    fn append(&self, piece: Piece, out: &mut Vec<u8>) -> io::Result<()> {
        match piece {
            Piece::Bytes(bytes) => out.extend_from_slice(&bytes),
            Piece::File { source, offset, length } => {
                let start = out.len();
                out.resize(start + usize::try_from(length).unwrap_or(0), 0);
                let read = source.file.read_exact_at(&mut out[start..], offset);
                read.map_err(|_| self.truncated(&source))?;
            }
        }
        Ok(())
    }

    fn truncated(&self, source: &Representation) -> io::Error {
        let name = String::from_utf8_lossy(&source.origin.below);
        let text = format!("{name} became shorter while it was sent: the connection is closed");
        self.context.log(crate::log::level::Level::Warn, None, self.peer, &text);
        io::ErrorKind::UnexpectedEof.into()
    }

    /// Wait until the socket takes more, for at most `Timeout`.
    async fn writable(&mut self, held: Option<&mut Held>) -> io::Result<()> {
        if let Some(held) = held {
            held.release();
        }
        let timeout_ms = self.context.host().timing.timeout_ms;
        self.timer.set(clock::monotonic_ms(), timeout_ms);
        let context = self.context.clone();
        let waiting = WritingCount::new(&context);
        let result = poll_fn(|context| {
            if let Poll::Ready(ready) = self.stream.poll_writable(context) {
                return Poll::Ready(ready);
            }
            match self.timer.poll_expired(context) {
                Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
                Poll::Pending => Poll::Pending,
            }
        })
        .await;
        drop(waiting);
        result
    }
}

/// sendfile would wait for the disk, and all connections of this thread with it: let a helper
/// thread wait instead.
async fn load_cold(source: &Representation, offset: u64, count: usize) -> io::Result<()> {
    if file::is_cached(&source.file, offset + count as u64 - 1) {
        return Ok(());
    }
    let cold = source.file.try_clone()?;
    runtime::blocking(move || file::load(&cold, offset, count)).await
}

/// Shows a connection as writing on the scoreboard while it lives.
struct WritingCount<'a>(&'a crate::context::Context);

impl<'a> WritingCount<'a> {
    fn new(context: &'a crate::context::Context) -> Self {
        context.process_row().inspect(|row| row.writing_changed(1));
        Self(context)
    }
}

impl Drop for WritingCount<'_> {
    fn drop(&mut self) {
        self.0.process_row().inspect(|row| row.writing_changed(-1));
    }
}

fn is_again(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn is_small(piece: &Piece) -> bool {
    piece.len() <= TOGETHER_BYTES
}
