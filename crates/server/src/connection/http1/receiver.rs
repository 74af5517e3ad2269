//! The body of a request as far as it has been read: what is still wanted, and its decoding. The
//! reading itself is in `body.rs`.

use crate::connection::body_clock::BodyClock;
use crate::request_body::RequestBody;
use http1::BodyDecoder;
use message::{BodyLength, Framing, Refusal};
use std::rc::Rc;

/// What a handler is given at once, roughly.
const PIECE_BYTES: usize = 64 * 1024;

/// The body of the present request, as far as it has been read.
pub(crate) struct BodyReceiver {
    pub(super) incoming: Rc<RequestBody>,
    length: BodyLength,
    /// Made when it is known how long the body may be.
    decoder: Option<BodyDecoder>,
    /// The client waits for the word to send.
    pub(super) expects_continue: bool,
    pub(super) clock: BodyClock,
    /// Bytes that belong to it, framing included.
    pub(super) used: u64,
}

impl BodyReceiver {
    /// The body that `framing` announces. It is not looked at before somebody wants it.
    pub(crate) fn new(framing: &Framing<'_>, incoming: Rc<RequestBody>) -> Self {
        Self {
            incoming,
            length: framing.body,
            decoder: None,
            expects_continue: framing.expect_continue,
            clock: BodyClock::default(),
            used: 0,
        }
    }

    /// The response comes before the word to send: it will not be said any more.
    pub(crate) fn stop_asking(&mut self) {
        if std::mem::take(&mut self.expects_continue) {
            let why = "the response began before the client was asked for the request body";
            self.incoming.finish(Err(Refusal::bad_request(why)));
        }
    }

    /// Bytes still to come, if the head has told.
    pub(crate) fn bytes_left(&self) -> Option<u64> {
        match (&self.decoder, self.length) {
            (Some(decoder), _) => decoder.bytes_left(),
            (None, BodyLength::Length(length)) => Some(length),
            (None, BodyLength::None) => Some(0),
            (None, BodyLength::Unknown) => None,
        }
    }

    /// Take from `input` what is wanted; the result is how much was used of it.
    pub(super) fn decode(&mut self, input: &[u8]) -> usize {
        let limit = self.incoming.limit().unwrap_or(0);
        let length = self.length;
        let decoder = self.decoder.get_or_insert_with(|| BodyDecoder::new(length, limit));
        let mut used = 0;
        while used < input.len().min(PIECE_BYTES) {
            match decoder.decode(&input[used..]) {
                Ok(step) => {
                    self.incoming.fill(&input[used..][step.data]);
                    used += step.used;
                    if step.done {
                        self.incoming.finish(Ok(()));
                        break;
                    }
                }
                Err(refusal) => {
                    self.incoming.finish(Err(refusal));
                    break;
                }
            }
        }
        used
    }
}
