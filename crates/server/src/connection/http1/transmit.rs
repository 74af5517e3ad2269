//! Sending a response to a peer that may read slowly: partial writes, bounded turns of sendfile,
//! and a limit on how long nothing may move.

use super::delimiter::Delimiter;
use super::outbox::Outbox;
use super::pending::PendingOutput;
use super::state::Connection;
use crate::accounting::TimeSpent;
use crate::connection::body_faults::{cut_short, poll_source, truncated};
use crate::connection::waits::{WritingCount, unless_gone, writable};
use crate::file_response::load_cold;
use crate::held::HeldSlot;
use crate::representation::Representation;
use crate::response::{Body, BodyPiece, BodySource};
use scoreboard::WaitCause;
use std::future::poll_fn;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

/// Part of a file that one turn may send, so that the others of this thread get theirs.
pub(crate) const TURN_BYTES: u64 = 1 << 20;

/// Buffer for content that cannot go through sendfile.
const COPY_BYTES: u64 = 64 * 1024;

/// File content up to this size is read and sent together with what is sent before it.
const TOGETHER_BYTES: u64 = 16 * 1024;

/// How much of a response the socket has taken.
#[derive(Default)]
pub(crate) struct SentBytes {
    /// All bytes.
    pub(crate) bytes: u64,
    /// Of these, the head and what frames chunks.
    pub(crate) framing: u64,
}

impl SentBytes {
    /// Bytes of the body itself.
    pub(crate) fn body(&self) -> u64 {
        self.bytes - self.framing
    }
}

impl Connection {
    /// Send what the fast path could not.
    pub(crate) async fn send_pending(&mut self) -> io::Result<()> {
        let Some(pending) = self.pending.take() else { return Ok(()) };
        let PendingOutput { bytes, file, late } = *pending;
        let mut sent = 0;
        let spent = late.as_ref().and_then(|late| late.spent.clone());
        let result = self.send_left(&bytes, file, spent, &mut sent).await;
        if let Some(late) = late {
            let bytes = late.bytes + sent;
            late.place.count(bytes);
            late.spent.inspect(|spent| self.context.end_slow(spent, bytes));
        }
        result
    }

    async fn send_left(
        &mut self,
        bytes: &[u8],
        file: Option<(Rc<Representation>, u64, u64)>,
        spent: Option<Rc<TimeSpent>>,
        sent: &mut u64,
    ) -> io::Result<()> {
        let held = spent.map(HeldSlot::without_slot);
        self.send_bytes(bytes, file.is_some(), held.as_ref(), sent).await?;
        let Some((source, offset, length)) = file else { return Ok(()) };
        self.send_file(&source, offset, length, held.as_ref(), sent).await
    }

    /// Send a response; `sent` counts what the socket has taken, also when it stops short.
    pub(crate) async fn transmit(
        &mut self,
        head: Vec<u8>,
        body: Body,
        delimiter: Delimiter,
        held: &HeldSlot,
        sent: &mut SentBytes,
    ) -> io::Result<()> {
        let mut outbox = Outbox::new(head, delimiter == Delimiter::Chunks);
        for piece in body.pieces {
            let length = piece.len();
            outbox.open_chunk(length);
            match piece {
                BodyPiece::Stream(source) => {
                    self.send_stream(source, &mut outbox, held, sent).await?;
                }
                piece if is_small(&piece) => self.append(piece, &mut outbox)?,
                piece => {
                    self.flush(&mut outbox, true, held, sent).await?;
                    self.send_large(piece, held, &mut sent.bytes).await?;
                }
            }
            outbox.close_chunk(length);
            if outbox.is_full() {
                self.flush(&mut outbox, false, held, sent).await?;
            }
        }
        outbox.end();
        self.flush(&mut outbox, false, held, sent).await
    }

    /// Send what was collected.
    async fn flush(
        &mut self,
        outbox: &mut Outbox,
        more: bool,
        held: &HeldSlot,
        sent: &mut SentBytes,
    ) -> io::Result<()> {
        let before = sent.bytes;
        let result = self.send_bytes(outbox.bytes(), more, Some(held), &mut sent.bytes).await;
        // Before an error goes on to the caller: logs tell what has gone out until then.
        sent.framing += outbox.framing_within(sent.bytes - before);
        outbox.clear();
        result
    }

    async fn send_large(
        &mut self,
        piece: BodyPiece,
        held: &HeldSlot,
        sent: &mut u64,
    ) -> io::Result<()> {
        match piece {
            BodyPiece::Bytes(bytes) => self.send_bytes(&bytes, false, Some(held), sent).await,
            BodyPiece::File { source, offset, length } => {
                self.send_file(&source, offset, length, Some(held), sent).await
            }
            BodyPiece::Stream(_) => Ok(()), // `transmit` sends it
        }
    }

    /// Send what a source makes, as it is made: what is ready goes out together, and what has been
    /// collected goes out before anybody waits.
    async fn send_stream(
        &mut self,
        mut source: Box<dyn BodySource>,
        outbox: &mut Outbox,
        held: &HeldSlot,
        sent: &mut SentBytes,
    ) -> io::Result<()> {
        loop {
            let ready = poll_fn(|task| Poll::Ready(poll_source(source.as_mut(), task))).await;
            let next = match ready {
                Poll::Ready(next) => next,
                Poll::Pending => {
                    source.pause();
                    self.flush(outbox, false, held, sent).await?;
                    let next = pin!(poll_fn(|task| poll_source(source.as_mut(), task)));
                    let next = unless_gone(self, next).await;
                    next.unwrap_or_else(|| Err(io::ErrorKind::ConnectionReset.into()))
                }
            };
            let bytes = match next {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return Ok(()),
                Err(error) => {
                    let error = cut_short(&self.context, self.peer, error);
                    // What came before is the client's, and its head, too (as httpd).
                    if !self.is_broken {
                        self.flush(outbox, false, held, sent).await?;
                    }
                    return Err(error);
                }
            };
            outbox.chunk(&bytes);
            if outbox.is_full() {
                self.flush(outbox, false, held, sent).await?;
            }
            // A source that is always ready gives others a turn whenever something has gone out,
            // and where it makes nothing.
            if outbox.is_empty() || bytes.is_empty() {
                runtime::thread::yield_now().await;
            }
        }
    }

    /// Send all of `bytes`.
    pub(crate) async fn send_bytes(
        &mut self,
        mut bytes: &[u8],
        more: bool,
        held: Option<&HeldSlot>,
        sent: &mut u64,
    ) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = self.allowed(bytes.len(), held).await?;
            match self.transport.try_send(&bytes[..count], more && count == bytes.len()) {
                Ok(taken) => {
                    count_paced(held, taken as u64);
                    *sent += taken as u64;
                    bytes = &bytes[taken..];
                }
                Err(error) if is_again(&error) => writable(self, held).await?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// How much of `wanted` bytes the socket may be given, once it may be given any. Nobody needs a
    /// slot or a thread to wait for that, only a timer.
    async fn allowed(&mut self, wanted: usize, held: Option<&HeldSlot>) -> io::Result<usize> {
        let Some((held, wait_ms)) = held.and_then(|held| Some((held, held.wait_ms()?))) else {
            return Ok(wanted);
        };
        if wait_ms > 0 {
            held.release();
            let _waiting = held.spent().wait(WaitCause::ClientWrite);
            let context = self.context.clone();
            let _writing = WritingCount::new(&context);
            let sleep = pin!(runtime::timer::sleep(Duration::from_millis(wait_ms)));
            unless_gone(self, sleep).await.ok_or(io::ErrorKind::ConnectionReset)?;
            held.begin_interval();
        }
        Ok(held.allowed(wanted))
    }

    /// Send `length` bytes of a file. A file that ends early ends the connection: the length was
    /// promised, and no other bytes may take the place of the missing ones.
    async fn send_file(
        &mut self,
        source: &Rc<Representation>,
        mut offset: u64,
        length: u64,
        held: Option<&HeldSlot>,
        sent: &mut u64,
    ) -> io::Result<()> {
        if !source.settings.core.uses_sendfile() {
            return self.copy_file(source, offset, length, held, sent).await;
        }
        let end = offset + length;
        while offset < end {
            let count = usize::try_from((end - offset).min(TURN_BYTES)).unwrap_or(usize::MAX);
            let count = self.allowed(count, held).await?;
            load_cold(source, offset, count, held.map(HeldSlot::spent)).await?;
            let Some(mut sender) = self.transport.file_sender() else {
                return self.copy_file(source, offset, end - offset, held, sent).await;
            };
            match sender.try_send_file(source.file.as_fd(), &mut offset, count) {
                Ok(0) => return Err(self.truncated(source)),
                Ok(taken) => {
                    count_paced(held, taken as u64);
                    *sent += taken as u64;
                    if offset < end {
                        runtime::thread::yield_now().await;
                    }
                }
                Err(error) if is_again(&error) => writable(self, held).await?,
                // Some file systems have no sendfile (EINVAL).
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
        held: Option<&HeldSlot>,
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
            self.send_bytes(&buffer, offset < end, held, sent).await?;
            runtime::thread::yield_now().await;
        }
        Ok(())
    }

    /// Append a small piece to `out`.
    fn append(&self, piece: BodyPiece, outbox: &mut Outbox) -> io::Result<()> {
        match piece {
            BodyPiece::Bytes(bytes) => outbox.body().extend_from_slice(&bytes),
            BodyPiece::File { source, offset, length } => {
                let out = outbox.body();
                let start = out.len();
                out.resize(start + usize::try_from(length).unwrap_or(0), 0);
                let read = source.file.read_exact_at(&mut out[start..], offset);
                read.map_err(|_| self.truncated(&source))?;
            }
            BodyPiece::Stream(_) => {} // `transmit` sends it
        }
        Ok(())
    }

    fn truncated(&self, source: &Representation) -> io::Error {
        truncated(&self.context, self.peer, source)
    }
}

/// So many bytes were sent.
fn count_paced(held: Option<&HeldSlot>, bytes: u64) {
    held.inspect(|held| held.count_paced(bytes));
}

fn is_again(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn is_small(piece: &BodyPiece) -> bool {
    piece.len().is_some_and(|length| length <= TOGETHER_BYTES)
}
