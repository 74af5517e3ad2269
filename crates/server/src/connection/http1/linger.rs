//! The end of a connection whose client may still be sending: nothing more is said, and what comes
//! is read and dropped for a while.

use super::state::Connection;
use http1::CloseReason;
use runtime::clock;
use scoreboard::RowState;
use std::future::poll_fn;
use std::task::Poll;

/// How long an ended connection is kept readable, so that the client can read our last response
/// instead of a reset: at most this long, and this long without a byte (httpd: ap_lingering_close).
const LINGER_MS: u64 = 30_000;
const LINGER_SILENCE_MS: u64 = 2000;

/// What an ended connection may still send before it is cut: more than any browser has under way.
const LINGER_BYTES: usize = 64 << 20;

impl Connection {
    /// Whether the client may still be sending: closing now would reset the connection and
    /// destroy a response that it has not read yet.
    pub(crate) fn must_linger(&self, reason: CloseReason) -> bool {
        !matches!(
            reason,
            CloseReason::ClientGone | CloseReason::ClientAsked | CloseReason::KeepAliveTimeout
        ) || !self.input.is_empty()
    }

    /// Stop sending, then read and drop what comes until the client closes, too: for as long as
    /// something comes, within bounds.
    pub(crate) async fn linger(&mut self) {
        self.transport.shutdown_write();
        let context = self.context.clone();
        let row = context.process_row();
        row.inspect(|row| row.lingering_changed(1));
        context.show(RowState::Closing);
        let end_ms = clock::monotonic_ms() + LINGER_MS;
        let mut left = LINGER_BYTES;
        let mut is_silent = false;
        poll_fn(|task| {
            let mut scratch = context.scratch.borrow_mut();
            loop {
                match self.transport.poll_read(task, &mut scratch.input) {
                    Poll::Ready(Ok(length)) if length > 0 && length < left => {
                        left -= length;
                        is_silent = false;
                    }
                    Poll::Ready(_) => return Poll::Ready(()),
                    Poll::Pending => {
                        if !is_silent {
                            is_silent = true;
                            let now_ms = clock::monotonic_ms();
                            let wait_ms = LINGER_SILENCE_MS.min(end_ms.saturating_sub(now_ms));
                            self.timer.set(now_ms, wait_ms);
                        }
                        return self.timer.poll_expired(task);
                    }
                }
            }
        })
        .await;
        row.inspect(|row| row.lingering_changed(-1));
    }
}
