//! Waiting on behalf of a request, with an eye on its client: for work to be done, for the rest of
//! a body, and until more of a response is taken.

use super::stream::{Received, RequestStream, Watched};
use crate::accounting::TimeSpent;
use crate::context::Context;
use crate::held::HeldSlot;
use message::{Refusal, Status};
use runtime::clock;
use scoreboard::WaitCause;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::Poll;

/// Pieces of a request body that are read for a handler before others get a turn.
const PIECES_PER_TURN: u32 = 16;

/// Run `work`, but give it up when the client resets the connection meanwhile. A client that only
/// closes its sending side still gets its answer.
///
/// It is pinned by the caller: a future that is passed on takes its memory twice.
pub(crate) async fn unless_gone<T>(
    stream: &mut impl RequestStream,
    work: Pin<&mut impl Future<Output = T>>,
) -> Option<T> {
    unless_left(stream, work, None).await
}

/// As [`unless_gone`]; `ends_with_input` says whether a client that sends no more is gone, too.
pub(crate) async fn unless_left<T>(
    stream: &mut impl RequestStream,
    mut work: Pin<&mut impl Future<Output = T>>,
    ends_with_input: Option<&Cell<bool>>,
) -> Option<T> {
    let mut watches = true;
    poll_fn(|task| {
        for turn in 0.. {
            // First, and again after each piece of the body: it may be ready, or hungry for more.
            if let Poll::Ready(done) = work.as_mut().poll(task) {
                return Poll::Ready(Some(done));
            }
            match stream.poll_body(task) {
                Received::More if turn < PIECES_PER_TURN => {}
                Received::More => {
                    task.waker().wake_by_ref(); // others come first
                    return Poll::Pending;
                }
                Received::Waiting => {
                    give_slot_back(stream);
                    return Poll::Pending;
                }
                Received::Idle => break,
                Received::Gone => {
                    stream.give_up();
                    return Poll::Ready(None);
                }
            }
        }
        match if watches { stream.watch(task) } else { Watched::Silent } {
            Watched::Here => return Poll::Pending,
            Watched::Silent => watches = false,
            Watched::Gone => {
                stream.give_up();
                return Poll::Ready(None);
            }
        }
        if ends_with_input.is_some_and(Cell::get) {
            stream.give_up();
            return Poll::Ready(None);
        }
        Poll::Pending
    })
    .await
}

/// The client is waited for. Whoever wants its whole body first needs no slot meanwhile; a thread
/// of one connection would have nobody to give it to.
fn give_slot_back(stream: &impl RequestStream) {
    if let Some(incoming) = stream.incoming().filter(|_| !stream.context().carries_one()) {
        incoming.give_slot_back();
    }
}

/// Read the body and drop it, or what is left of it: at most `limit` bytes.
pub(crate) async fn drain(
    stream: &mut impl RequestStream,
    limit: u64,
    spent: &TimeSpent,
) -> io::Result<Result<(), Refusal>> {
    let Some(incoming) = stream.incoming().cloned() else { return Ok(Ok(())) };
    incoming.want(limit);
    let _waiting = spent.wait(WaitCause::ClientRead);
    let mut dropped = 0;
    poll_fn(|task| {
        loop {
            match incoming.poll_read() {
                Poll::Ready(Ok(Some(piece))) => {
                    dropped += piece.len() as u64;
                    if dropped > limit {
                        let why = "the rest of the request body is too long to be read and dropped";
                        let refusal = Refusal::new(Status::CONTENT_TOO_LARGE, why);
                        return Poll::Ready(Ok(Err(refusal)));
                    }
                }
                Poll::Ready(Ok(None)) => return Poll::Ready(Ok(Ok(()))),
                Poll::Ready(Err(refusal)) => return Poll::Ready(Ok(Err(refusal))),
                Poll::Pending => match stream.poll_body(task) {
                    Received::More => {}
                    Received::Idle | Received::Waiting => return Poll::Pending,
                    Received::Gone => {
                        return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
                    }
                },
            }
        }
    })
    .await
}

/// Wait until more of a response is taken, for at most `Timeout`. The slot is given back.
pub(crate) async fn writable(
    stream: &mut impl RequestStream,
    held: Option<&HeldSlot>,
) -> io::Result<()> {
    held.inspect(|held| held.release());
    let _waiting = held.map(|held| held.spent().wait(WaitCause::ClientWrite));
    let context = stream.context().clone();
    let timeout_ms = context.host(stream.host_index()).timing.timeout_ms;
    stream.timer().set(clock::monotonic_ms(), timeout_ms);
    let waiting = WritingCount::new(&context);
    let result = poll_fn(|task| {
        if let Poll::Ready(ready) = stream.poll_writable(task) {
            return Poll::Ready(ready);
        }
        match stream.timer().poll_expired(task) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    })
    .await;
    drop(waiting);
    result
}

/// Shows a connection as writing on the scoreboard while it lives.
pub(super) struct WritingCount<'a>(&'a Context);

impl<'a> WritingCount<'a> {
    pub(super) fn new(context: &'a Context) -> Self {
        context.process_row().inspect(|row| row.writing_changed(1));
        Self(context)
    }
}

impl Drop for WritingCount<'_> {
    fn drop(&mut self) {
        self.0.process_row().inspect(|row| row.writing_changed(-1));
    }
}
