//! The stream after `upgrade`: what comes is sent back, until the client ends or waits too long.

use super::MOST_MS;
use message::Status;
use runtime::timer;
use server::response::{Response, Upgraded};
use std::future::poll_fn;
use std::time::Duration;

/// Bytes that are read at once.
const PIECE_BYTES: usize = 4096;

/// 101, and what takes the stream over.
pub(super) fn respond() -> Response {
    let mut response = Response::new(Status::SWITCHING_PROTOCOLS);
    response = response.field("Upgrade", "echo").field("Connection", "Upgrade");
    response.takes_over = Some(Box::new(|upgraded| Box::pin(echo(upgraded))));
    response
}

async fn echo(Upgraded { mut transport, mut input }: Upgraded) -> u64 {
    let mut sent = 0;
    while transport.send_all(&input).await.is_ok() {
        sent += input.len() as u64;
        input.resize(PIECE_BYTES, 0);
        let read = poll_fn(|task| transport.poll_read(task, &mut input));
        match timer::timeout(Duration::from_millis(MOST_MS), read).await {
            Some(Ok(length)) if length > 0 => input.truncate(length),
            _ => break,
        }
    }
    transport.shutdown_write();
    sent
}
