//! The fast path: a GET or HEAD for a file whose response lies prepared, answered between two
//! waits with one system call and no allocation.
//!
//! No check is skipped: the head went through the same parser and framing, the entry was made by
//! the whole pipeline for a request whose answer is the same for others (`sharing.rs`), and it is
//! compared with the file system at most once a second. Everything else is declined, and takes the
//! slow path with the same result.

use super::pending::{Late, PendingOutput};
use super::response_fields::ResponseFields;
use super::state::Connection;
use super::transmit::TURN_BYTES;
use crate::access_log::Transaction;
use crate::accounting::{self, Account};
use crate::cache::Prepared;
use crate::connection::stream::RequestStream;
use crate::prepared::{self, CacheHit};
use http1::{HeadWriter, KeepAlive, Persist};
use message::{Framing, RequestHead, Status};
use runtime::{clock, file};
use scoreboard::{Ended, OTHER_ACCOUNT};
use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;

/// Responses are collected up to this size when a client pipelines.
const OUTPUT_BYTES: usize = 64 * 1024;

/// What the fast path did.
pub(crate) enum Fast {
    /// Answered, or on its way in `output`; the connection goes on.
    Answered,
    /// Answered; the connection is to be closed once everything is sent.
    AnsweredLast,
    /// Not for the fast path.
    Declined,
}

/// Try to answer. `is_alone` says that nothing else is waiting to be sent or read.
pub(crate) fn answer(
    connection: &mut Connection,
    (head, framing, keep_alive): (&RequestHead<'_>, &Framing<'_>, KeepAlive),
    is_alone: bool,
    output: &mut Vec<u8>,
) -> Fast {
    let ends = (connection.peer, connection.local.map(|local| local.port()));
    let found = prepared::find(&connection.context, connection.host(), ends, head, framing);
    let Some(asked) = found else { return Fast::Declined };
    let CacheHit { prepared, is_head, .. } = &asked;
    let is_head = *is_head;
    let logs = !connection.host().logs.is_empty();
    if !prepared.is_whole && !is_head && (logs || !is_alone) {
        return Fast::Declined; // a long transfer is logged when it ends
    }
    // Nobody overtakes those who wait for a slot: the slow path joins them.
    let Some(slot) = connection.context.slots.try_acquire() else { return Fast::Declined };
    let at = (connection.host_index(), connection.local.map_or(0, |local| local.port()));
    slot.begin(at, connection.peer, head.request_line(), connection.now_ms);
    let start = logs.then(|| (clock::unix_us(), clock::monotonic_ns()));
    connection.persistence.begin(framing.body, keep_alive);
    let timing = connection.host().timing;
    let persist = connection.persistence.decide(
        timing.max_keep_alive_requests,
        connection.context.is_draining(),
        !timing.keep_alive,
    );
    let timeout_s = timing.keep_alive_timeout_ms / 1000;
    let sent = put(connection, prepared, persist, timeout_s, is_head, is_alone, output);
    // What the socket has not taken is counted as it is sent (`Late`). A response that was put into
    // `output` counts as taken: `flush` knows of no request.
    let taken = match &connection.pending {
        _ if connection.is_broken => 0,
        Some(pending) => sent.saturating_sub(pending.len()),
        None => sent,
    };
    let next = connection.persistence.finish();
    if let Some(start) = start {
        log(connection, head, &asked, (sent, persist), start);
    }
    // Before `account`, which puts in where times are measured.
    if let Some(pending) = &mut connection.pending {
        pending.late = Some(Late { place: slot.place(), bytes: taken, spent: None });
    }
    if connection.context.meter.is_on() {
        account(connection, &asked.prepared, taken);
    }
    let busy_ns = connection.context.meter.fast_wall_ns();
    match connection.pending {
        Some(_) => slot.leave(busy_ns),
        None => slot.end(taken, busy_ns),
    }
    match next {
        http1::AfterResponse::Idle => Fast::Answered,
        http1::AfterResponse::Close(_) => Fast::AnsweredLast,
    }
}

/// Count a request that was answered, as far as its client has taken the answer.
fn account(connection: &mut Connection, prepared: &Prepared, bytes: u64) {
    let context = &connection.context;
    let mut account = prepared.account.get();
    let is_known = |account: Account| {
        account.row != OTHER_ACCOUNT
            && context.account(account).is_some_and(|row| row.key() == account.key)
    };
    if !is_known(account) {
        account = context.find_account(&accounting::AccountedRequest {
            host: connection.host_index(),
            path: &prepared.logged.asked.path,
            is_handled: true,
            is_file: true,
            status: Status::OK.code(),
        });
        prepared.account.set(account);
    }
    let ended = Ended { status: Status::OK.code(), bytes };
    match connection.pending.as_mut().and_then(|pending| pending.late.as_mut()) {
        Some(late) => late.spent = Some(Rc::new(accounting::begin_slow(account, ended))),
        None => context.end_fast(account, ended),
    }
}

/// Send the response or append it to `output`; the result is its length.
fn put(
    connection: &mut Connection,
    prepared: &Rc<Prepared>,
    persist: Persist,
    timeout_s: u64,
    is_head: bool,
    is_alone: bool,
    output: &mut Vec<u8>,
) -> u64 {
    // No longer than this call: `prepared::current` writes the next second's date into these bytes,
    // so that what the socket does not take is copied (`send`).
    let bytes = prepared.bytes.borrow();
    let says_nothing = matches!(persist, Persist::Keep { named: false, .. });
    if is_alone && says_nothing && !is_head {
        let content = if prepared.is_whole { 0 } else { prepared.content };
        send(connection, &bytes, prepared, content);
        return bytes.len() as u64 + content;
    }
    let start = output.len();
    let (head, content) = bytes.split_at(prepared.head_len);
    output.extend_from_slice(&head[..head.len() - 2]); // without the empty line
    HeadWriter::resume(output).persist(persist, timeout_s).end();
    if is_head {
        return (output.len() - start) as u64;
    }
    if prepared.is_whole {
        output.extend_from_slice(content);
        return (output.len() - start) as u64;
    }
    // Nothing else is in `output`: with a file to follow, `answer` declines unless the request is
    // alone.
    let head = std::mem::take(output);
    send(connection, &head, prepared, prepared.content);
    head.len() as u64 + prepared.content
}

/// Send `bytes` and then `content` bytes of the file now; what the socket does not take is left
/// for the connection to send when it can.
fn send(connection: &mut Connection, bytes: &[u8], prepared: &Rc<Prepared>, content: u64) {
    let sent = match connection.transport.try_send(bytes, content > 0) {
        Ok(sent) => sent,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
        Err(_) => {
            connection.is_broken = true;
            return;
        }
    };
    let mut offset = 0;
    if sent == bytes.len() && content > 0 {
        send_file(connection, prepared, &mut offset, content);
    }
    if sent < bytes.len() || offset < content {
        let file = (offset < content).then(|| (prepared.source.clone(), offset, content - offset));
        let bytes = bytes[sent..].to_vec();
        connection.pending = Some(Box::new(PendingOutput { bytes, file, late: None }));
    }
}

fn send_file(connection: &mut Connection, prepared: &Prepared, offset: &mut u64, content: u64) {
    let count = usize::try_from(content.min(TURN_BYTES)).unwrap_or(usize::MAX);
    if !file::is_cached(&prepared.source.file, count as u64 - 1) {
        return; // the sender of the rest knows how to wait for a disk
    }
    // Whatever goes wrong, the sender of the rest meets it again, and knows what to do.
    if let Some(mut sender) = connection.transport.file_sender() {
        let _ = sender.try_send_file(prepared.source.file.as_fd(), offset, count);
    }
}

/// Send what was collected.
pub(crate) fn flush(connection: &mut Connection, output: &mut Vec<u8>) {
    if output.is_empty() {
        return;
    }
    match connection.transport.try_send(output, false) {
        Ok(sent) if sent == output.len() => {}
        Ok(sent) => connection.keep_pending(&output[sent..]),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => connection.keep_pending(output),
        Err(_) => connection.is_broken = true,
    }
    output.clear();
}

/// Whether `output` should be sent before more is added.
pub(crate) fn is_full(output: &[u8]) -> bool {
    output.len() >= OUTPUT_BYTES
}

fn log(
    connection: &mut Connection,
    head: &RequestHead<'_>,
    asked: &CacheHit<'_>,
    (sent, persist): (u64, Persist),
    (start_us, start_ns): (i64, u64),
) {
    let CacheHit { prepared, is_head, query, host_name } = asked;
    let duration_us = i64::try_from((clock::monotonic_ns() - start_ns) / 1000).unwrap_or(0);
    let appended = (persist, connection.keep_alive_timeout_s());
    let finished = Transaction {
        client: connection.peer,
        peer: connection.other_end(),
        local: connection.local(),
        request: Some(*head),
        method: Some(head.method()),
        protocol: Some(head.protocol()),
        request_line: Some(head.request_line()),
        logged: &prepared.logged,
        query: *query,
        status: Status::OK.code(),
        start_us,
        duration_us,
        body_bytes: if *is_head { 0 } else { prepared.content },
        bytes_received: head.buf.len() as u64,
        bytes_sent: sent,
        response_fields: &ResponseFields::new(&prepared.fields, Some(appended)),
        // All of it was sent at once.
        times: connection.context.meter.so_far(),
        first_byte_us: prepared.logged.tracks_first_byte.then_some(duration_us),
        names: connection.names.as_deref(),
        host_name: *host_name,
        log_ids: (None, connection.log_id),
        keepalives: connection.persistence.keepalives().saturating_sub(1),
        end: connection.connection_end(),
    };
    connection.context.write_access(&finished);
}
