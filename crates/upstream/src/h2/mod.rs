//! HTTP/2: connections that several users share, a stream for each request (RFC 9113). What the
//! libraries `h2` and `http` have for it stays in this folder.

mod connections;
mod counted;
mod request;
#[cfg(test)]
mod tests;

pub use connections::{ConnectionShare, Connections, FoundShare};

use crate::{AnswerSummary, Batch, Capture, ErrorKind, ExchangeError, Unprocessed};
use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{Reason, RecvStream};
use request::Translated;
use runtime::{Timer, clock};
use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

/// Flow control shall not be the limit that is measured: windows are as large as those of h2load.
/// An answer is thrown away as it comes, so that nothing gathers here.
const WINDOW_BYTES: u32 = (1 << 30) - 1;

/// Fields of an answer are no longer than those of HTTP/1.
const HEAD_BYTES_MAX: u32 = 64 * 1024;

/// Streams that are opened before the server says how many it takes. It should take as many
/// (RFC 9113 section 6.5.2).
const STREAMS_AT_FIRST: usize = 100;

/// Requests as HTTP/2 has them: for each [`Batch::template`] the one that was made of it last.
#[derive(Default)]
pub struct TranslatedRequests(RefCell<Vec<Option<Rc<Translated>>>>);

impl TranslatedRequests {
    fn of(&self, batch: &Batch<'_>, is_secured: bool) -> Option<Rc<Translated>> {
        let mut all = self.0.borrow_mut();
        if let Some(Some(known)) = all.get(batch.template)
            && known.is_of(batch.bytes)
        {
            return Some(known.clone());
        }
        let made = Rc::new(Translated::new(batch.bytes, is_secured)?);
        // The number alone does not say that it is the same request: one with variables or cookies
        // has other bytes each time, and takes the place of the one before.
        // Requests that are in no plan have a number beyond all.
        if batch.template != usize::MAX {
            if all.len() <= batch.template {
                all.resize(batch.template + 1, None);
            }
            all[batch.template] = Some(made.clone());
        }
        Some(made)
    }
}

/// How far a request was when it failed.
#[derive(Default)]
struct RequestProgress {
    is_sent: bool,
    answer: AnswerSummary,
}

impl ConnectionShare {
    /// Sends a request and reads the answer; gives back how many bytes went for it. The timer
    /// limits the whole.
    ///
    /// # Errors
    /// When there is no complete answer.
    pub async fn exchange(
        &mut self,
        batch: &Batch<'_>,
        translated: &TranslatedRequests,
        timer: &mut Timer,
        capture: Option<&mut Capture>,
    ) -> Result<(AnswerSummary, u64), ExchangeError> {
        let Some(translated) = translated.of(batch, self.is_secured()) else {
            let text = "HTTP/2 has no form for this request".to_owned();
            return Err(ExchangeError::of(ErrorKind::Other, text, false));
        };
        let mut progress = RequestProgress::default();
        let came = self.counts().total();
        let result = {
            let mut exchanging =
                std::pin::pin!(self.exchange_on(&translated, &mut progress, capture));
            let limited = poll_fn(|context| match exchanging.as_mut().poll(context) {
                Poll::Pending if timer.poll_expired(context).is_ready() => Poll::Ready(None),
                polled => polled.map(Some),
            });
            limited.await
        };
        match result {
            Some(Ok(())) => {
                let (received_bytes, sent_bytes) = self.counts().take();
                Ok((AnswerSummary { received_bytes, ..progress.answer }, sent_bytes))
            }
            Some(Err(error)) => Err(self.broken(&error, &progress)),
            None => {
                // The future was dropped with `exchanging`, which resets its stream; the connection
                // goes on for the others.
                // A server that says nothing at all will not answer the next one either.
                if self.counts().total() == came {
                    self.retire();
                }
                let begun = progress.answer.status > 0;
                let broken = ExchangeError::of(ErrorKind::Timeout, String::new(), begun);
                Err(ExchangeError { keeps_connection: self.is_open(), ..broken })
            }
        }
    }

    /// Dropped before its end, it takes the stream back (RST_STREAM, CANCEL).
    async fn exchange_on(
        &mut self,
        translated: &Translated,
        progress: &mut RequestProgress,
        capture: Option<&mut Capture>,
    ) -> Result<(), h2::Error> {
        let sender = self.sender();
        poll_fn(|context| sender.poll_ready(context)).await?;
        let has_body = !translated.body.is_empty();
        let (answer, mut stream) = sender.send_request(translated.request.clone(), !has_body)?;
        progress.is_sent = true;
        if has_body {
            // It waits there for the windows of the server.
            stream.send_data(translated.body.clone(), true)?;
        }
        read(answer, &mut progress.answer, capture).await
    }

    fn broken(&mut self, error: &h2::Error, progress: &RequestProgress) -> ExchangeError {
        let begun = progress.answer.status > 0;
        let is_refused = error.is_remote()
            && match error.reason() {
                // Sections 8.7 and 6.8: not processed, and may be sent again.
                Some(Reason::REFUSED_STREAM) => error.is_reset(),
                Some(Reason::NO_ERROR) => error.is_go_away(),
                _ => false,
            };
        let kind = kind(error, begun);
        if !error.is_reset() {
            self.retire();
        }
        // A connection that broke without a word before this answer began: on an old one the server
        // may have closed it while the request was on its way, as with HTTP/1.
        let is_lost = matches!(kind, ErrorKind::Closed | ErrorKind::Reset) && error.is_io();
        ExchangeError {
            kind,
            text: error.to_string(),
            unprocessed: match begun {
                _ if !progress.is_sent => Unprocessed::Unsent,
                _ if is_refused => Unprocessed::Surely,
                false if is_lost => Unprocessed::Perhaps,
                _ => Unprocessed::No,
            },
            keeps_connection: error.is_reset(),
            part: AnswerSummary::default(),
        }
    }
}

/// The kind of an error; `begun` says whether an answer had.
fn kind(error: &h2::Error, begun: bool) -> ErrorKind {
    match error.get_io() {
        Some(io) => ErrorKind::of_exchange(io, begun),
        None if !error.is_remote() => ErrorKind::Malformed,
        None if error.is_reset() => ErrorKind::Reset,
        None if begun => ErrorKind::Truncated,
        None => ErrorKind::Closed,
    }
}

/// Reads an answer to its end.
async fn read(
    answer: ResponseFuture,
    into: &mut AnswerSummary,
    mut capture: Option<&mut Capture>,
) -> Result<(), h2::Error> {
    let answer = answer.await?;
    into.first_byte_ns = clock::monotonic_ns();
    into.status = answer.status().as_u16();
    into.keeps_alive = true;
    into.head_bytes = request::head_bytes(answer.headers());
    if let Some(capture) = &mut capture {
        let fields = answer.headers().iter();
        let fields = fields.map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()));
        capture.head.set(into.status, fields);
    }
    let mut body = answer.into_body();
    while let Some(bytes) = body.data().await {
        take_in(&bytes?, &mut body, into, capture.as_deref_mut())?;
    }
    body.trailers().await?;
    into.end_ns = clock::monotonic_ns();
    Ok(())
}

fn take_in(
    bytes: &Bytes,
    body: &mut RecvStream,
    into: &mut AnswerSummary,
    capture: Option<&mut Capture>,
) -> Result<(), h2::Error> {
    // At once: what is released late would close the window, and the server wait for this program.
    body.flow_control().release_capacity(bytes.len())?;
    into.body_bytes += bytes.len() as u64;
    if let Some(capture) = capture {
        capture.keep(bytes);
    }
    Ok(())
}
