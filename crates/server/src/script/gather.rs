//! Gathering the body of a request: nothing is occupied for it (no request slot, no connection to
//! an application, no process) before it is there, so that a slow client costs memory and disk
//! within bounds, and nothing else. As nginx does; httpd reads a body while its script runs.

use super::room::NoRoom;
use super::spool::{Growing, Spool};
use crate::input_filter::InputFilter;
use crate::request_body::RequestBody;
use crate::request_context::RequestContext;
use logging::level::Level;
use message::{Refusal, Status};
use runtime::clock;
use scoreboard::WaitCause;
use std::rc::Rc;

/// When the rest of a large body is expected within this time, it may as well be passed on as it
/// comes: no longer is anything occupied for it.
const SOON_MS: u64 = 10_000;

/// How long a client may be waited for that has not kept to that, and one for whose body there is
/// no room: its first packets tell nothing of its rate.
const REST_MS: u64 = 2 * SOON_MS;
const REST_WITHOUT_ROOM_MS: u64 = 2000;

/// A body, or enough of it.
#[derive(Clone)]
pub struct GatheredBody {
    /// What has come.
    pub(crate) spool: Spool,
    /// What is still to come, and soon.
    pub(crate) rest: Option<Rc<RequestBody>>,
}

/// Gather the body of a request: all of it, unless its `length` is known, `enough` bytes of it are
/// there, and the rest comes soon.
///
/// # Errors
/// The refusal that it ends in; 503 where there is no room for it.
pub(crate) async fn gather(
    request: &RequestContext<'_>,
    incoming: &Rc<RequestBody>,
    (length, enough): (Option<u64>, u64),
    unpacker: Option<Box<dyn InputFilter>>,
) -> Result<GatheredBody, Refusal> {
    incoming.set_gathered(true);
    let began_ms = clock::monotonic_ms();
    let gathered =
        fill(request, incoming, GatherProgress { length, enough, began_ms }, unpacker).await;
    incoming.set_gathered(false);
    if let Some(held) = incoming.held() {
        request.regain_slot(&held).await;
    }
    gathered
}

async fn fill(
    request: &RequestContext<'_>,
    incoming: &Rc<RequestBody>,
    progress: GatherProgress,
    mut unpacker: Option<Box<dyn InputFilter>>,
) -> Result<GatheredBody, Refusal> {
    let spent = request.spent();
    let mut growing = Growing::new(request.context, spent);
    loop {
        let waiting = spent.wait(WaitCause::ClientRead);
        let piece = incoming.read().await;
        drop(waiting);
        let Some(piece) = piece? else { break };
        let added = match &mut unpacker {
            Some(unpacker) => unpack(&mut growing, unpacker.as_mut(), &piece).await?,
            None => growing.add(piece).await,
        };
        if progress.may_begin(growing.length(), clock::monotonic_ms(), added.is_err()) {
            incoming.hand_on(if added.is_err() { REST_WITHOUT_ROOM_MS } else { REST_MS });
            return Ok(GatheredBody { spool: growing.finish(), rest: Some(incoming.clone()) });
        }
        added.map_err(|no_room| refuse(request, &growing, &no_room))?;
    }
    unpacker.map_or(Ok(()), |mut unpacker| unpacker.finish())?;
    Ok(GatheredBody { spool: growing.finish(), rest: None })
}

/// A piece is unpacked part by part, so that no more than a few of them are there at once.
async fn unpack(
    growing: &mut Growing<'_>,
    unpacker: &mut dyn InputFilter,
    packed: &[u8],
) -> Result<Result<(), NoRoom>, Refusal> {
    for part in packed.chunks(unpacker.piece_bytes()) {
        let mut piece = Vec::new();
        unpacker.write(part, &mut piece)?;
        if let Err(no_room) = growing.add(piece).await {
            return Ok(Err(no_room));
        }
    }
    Ok(Ok(()))
}

/// There is no room, and the log says what to do.
fn refuse(request: &RequestContext<'_>, growing: &Growing<'_>, no_room: &NoRoom) -> Refusal {
    let (folder, bytes_max) = growing.bounds();
    let folder = folder.display();
    let text = match no_room {
        NoRoom::Full => format!(
            "no space for a request body: in {folder}, all of them together may take {bytes_max} \
             bytes, and each an eighth of that: raise RequestSpoolMaxSize, or the limit of open \
             files"
        ),
        NoRoom::Failed(error) => {
            format!("cannot store a request body in {folder} (RequestSpoolDir): {error}")
        }
    };
    request.log_recurring(Level::Error, "core", None, &text);
    Refusal::new(Status::SERVICE_UNAVAILABLE, "there is no space for the request body")
}

/// How far a body has come.
#[derive(Clone, Copy)]
struct GatherProgress {
    length: Option<u64>,
    enough: u64,
    began_ms: u64,
}

impl GatherProgress {
    /// Whether its request may be answered while the rest is on its way: enough of it is there, or
    /// there `is_no_room` for more, and at the rate so far the rest comes soon.
    fn may_begin(&self, received: u64, now_ms: u64, is_no_room: bool) -> bool {
        let Some(rest) = self.length.and_then(|length| length.checked_sub(received)) else {
            return false;
        };
        let elapsed_ms = now_ms.saturating_sub(self.began_ms);
        let comes_soon = rest.saturating_mul(elapsed_ms) <= received.saturating_mul(SOON_MS);
        rest > 0 && (received >= self.enough || is_no_room) && comes_soon
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_body_is_passed_on_once_enough_of_it_is_there_and_the_rest_comes_soon() {
        let progress = GatherProgress { length: Some(1000), enough: 100, began_ms: 5000 };
        for (received, elapsed_ms, is_no_room, expected) in [
            (100, 0, false, true),
            (100, 1111, false, true),
            (100, 1112, false, false), // the rest would take more than ten seconds
            (900, 80_000, false, true),
            (99, 1, false, false),
            (99, 1, true, true),
            (99, 5000, true, false),
            (1000, 1, false, false), // its end is all that is to come
            (0, 0, false, false),
        ] {
            let may_begin = progress.may_begin(received, 5000 + elapsed_ms, is_no_room);
            assert_eq!(may_begin, expected, "{received} after {elapsed_ms} ms");
        }
        let unknown = GatherProgress { length: None, ..progress };
        assert!(!unknown.may_begin(500, 5000, true), "a program has to be told the length");
    }
}
