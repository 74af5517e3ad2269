//! Prepared responses: which requests one may answer, and which response becomes one.
//!
//! No check is skipped: the head went through the same parser and framing, the entry was made by
//! the whole pipeline for a location whose answer depends on the path alone (`sharing`), and it
//! is compared with the file system at most once a second. What is answered here without sending
//! prepared bytes comes to the same as on the slow path.

use crate::access_log::LogDetails;
use crate::accounting::Account;
use crate::asked_host::AskedHost;
use crate::cache::{Prepared, SMALL_BYTES};
use crate::content_coding::{self, Coding};
use crate::context::Context;
use crate::exchange::{ExchangeResult, Reusable};
use crate::file_response;
use crate::received_request::ReceivedRequest;
use crate::representation::Representation;
use crate::response::{BodyPiece, Response};
use crate::response_head::write_head;
use crate::sharing::{KeptPart, is_like_others};
use crate::site::host::{Host, LAST_MADE, Variant};
use message::{Framing, Known, Method, RequestHead, ResponseHead, Target, Version};
use runtime::file;
use scoreboard::OTHER_ACCOUNT;
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;

/// Where `Date` stands in a prepared head: right behind the status line.
const DATE_AT: usize = "HTTP/1.1 200 OK\r\nDate: ".len();
const DATE_BYTES: usize = "Sun, 06 Nov 1994 08:49:37 GMT".len();

/// A request that the fast path can answer.
pub(crate) struct CacheHit<'a> {
    pub(crate) prepared: Rc<Prepared>,
    pub(crate) is_head: bool,
    pub(crate) query: Option<&'a [u8]>,
    pub(crate) host_name: Option<&'a [u8]>,
}

/// The entry for a request that asks for nothing unusual.
pub(crate) fn find<'a>(
    context: &Context,
    host: &Host,
    (client, local_port): (SocketAddr, Option<u16>),
    head: &RequestHead<'_>,
    framing: &Framing<'a>,
) -> Option<CacheHit<'a>> {
    let (method, path) = KeptPart::Response.asked(head, framing)?;
    let mut prepared = current(context, host, path, LAST_MADE)?;
    let coding = wanted_coding(&prepared, head)?;
    let is_of_host = prepared.proviso.is_of_host(head, local_port);
    if !is_of_host || coding.is_some_and(|coding| prepared.coding != coding) {
        let asked_host = match prepared.proviso.asked_host() {
            Some(_) => Some(AskedHost::of(head, local_port?)),
            None => None,
        };
        prepared = current(context, host, path, (coding, asked_host.as_ref()))?;
        let is_wanted = wanted_coding(&prepared, head)?.is_none_or(|it| it == prepared.coding);
        if !is_wanted || !prepared.proviso.is_of_host(head, local_port) {
            return None;
        }
    }
    if !is_like_others(context, host, &prepared.source.settings, client, head, framing)
        || !prepared.proviso.holds_for(context.watch(), head, framing)
    {
        return None;
    }
    let host_name = framing.host.map(|host| host.name);
    let Target::Origin { query, .. } = framing.target else { return None };
    Some(CacheHit { prepared, is_head: method == Method::Head, query, host_name })
}

/// The coding that a client gets, where there are several; `None` if the slow path has to find out.
fn wanted_coding(prepared: &Prepared, head: &RequestHead<'_>) -> Option<Option<Option<Coding>>> {
    if prepared.codings.is_empty() {
        return Some(None);
    }
    let mut values = head.get_all(Known::AcceptEncoding);
    let accepted = values.next();
    // Several lines are one list to httpd; the slow path joins them.
    let is_one = values.next().is_none();
    is_one.then(|| Some(content_coding::choose(&prepared.codings, accepted)))
}

/// The entry for `path` if it is there and still true: the one that was made last, or a certain one
/// of several.
pub(crate) fn current(
    context: &Context,
    host: &Host,
    path: &[u8],
    variant: Variant<'_>,
) -> Option<Rc<Prepared>> {
    let mut key = context.key.borrow_mut();
    let key = host.key(path, variant, &mut key);
    let prepared = context.cache.borrow_mut().get(key)?;
    let now_s = context.now_s();
    if prepared.checked_s.get() != now_s {
        let is_past = prepared.only_s.is_some_and(|only_s| only_s != now_s);
        if is_past || !matches!(prepared.source.is_current(now_s), Ok(true)) {
            context.cache.borrow_mut().remove(key);
            return None;
        }
        prepared.checked_s.set(now_s);
    }
    if prepared.date_s.get() != now_s {
        context.with_date(now_s, |date| {
            let mut bytes = prepared.bytes.borrow_mut();
            bytes[DATE_AT..DATE_AT + DATE_BYTES].copy_from_slice(date.as_bytes());
        });
        prepared.date_s.set(now_s);
    }
    Some(prepared)
}

/// A prepared entry answers conditional and range requests without another look-up.
pub(crate) fn known(
    context: &Context,
    host: &Host,
    request: &ReceivedRequest,
    framing: &Framing<'_>,
) -> Option<ExchangeResult> {
    let head = request.view();
    let (_, path) = KeptPart::File.asked(&head, framing)?;
    let prepared = current(context, host, path, LAST_MADE)?;
    let (settings, proviso) = (&prepared.source.settings, &prepared.proviso);
    if !proviso.is_of_host(&head, Some(request.local.port()))
        || !proviso.holds_for(context.watch(), &head, framing)
    {
        return None;
    }
    // The entry's fields are those of a whole 200. Where a filter or a `Header` has changed them,
    // what a 304 or a part would say is not known from here.
    if !prepared.is_bare || !KeptPart::File.is_for((context, host, settings), request, framing) {
        return None;
    }
    let response = file_response::from_file(request, &prepared.source).ok()?;
    let mut logged = prepared.logged.clone();
    logged.asked.query = request.query().map(<[u8]>::to_vec);
    Some(ExchangeResult { response, reusable: None, settings: None, logged })
}

/// Prepare the response for `source` and keep it for `path`, if that is allowed and worthwhile.
/// `response` is a whole one, as it would be sent to everybody.
pub(crate) fn remember(
    context: &Context,
    host: &Host,
    path: &[u8],
    Reusable { source, codings, proviso, only_s }: &Reusable,
    accepted: Option<&[u8]>,
    (response, logged): &(Response, LogDetails),
) {
    let now_s = context.now_s();
    if source.origin.links.is_none() || !source.is_settled(now_s) {
        return;
    }
    // A response that tells the time may have been waited for since its second.
    if only_s.is_some_and(|only_s| only_s != now_s) {
        return;
    }
    // A digest may have been waited for since the file was looked at.
    if source.had_to_wait() && !matches!(source.is_current(now_s), Ok(true)) {
        return;
    }
    let Some(size) = response.body.len() else { return };
    // What was made in memory is kept there, too.
    let is_made = matches!(response.body.pieces.as_slice(), [BodyPiece::Bytes(_)]);
    let is_whole = is_made || size <= SMALL_BYTES;
    if !is_whole && !source.settings.core.uses_sendfile() {
        return;
    }
    let mut bytes = Vec::new();
    let head = head_for_all(response, size);
    // What concerns the connection is appended per request.
    write_head(context, &head, Version::Http11, Some(now_s), &mut bytes);
    let head_len = bytes.len();
    let is_written = match response.body.pieces.as_slice() {
        [BodyPiece::Bytes(content)] => {
            bytes.extend_from_slice(content);
            true
        }
        _ => !is_whole || read_content(source, &mut bytes),
    };
    if !is_written {
        return;
    }
    bytes.shrink_to_fit();
    let shows_fields = host.logs.iter().any(|log| log.format.shows_response_fields());
    let mut logged = logged.clone();
    logged.asked.query = None;
    let prepared = Prepared {
        source: source.clone(),
        logged,
        fields: if shows_fields { head.fields.into() } else { Box::default() },
        coding: content_coding::choose(codings, accepted),
        codings: codings.as_slice().into(),
        proviso: proviso.clone(),
        only_s: *only_s,
        checked_s: Cell::new(now_s),
        bytes: RefCell::new(bytes),
        date_s: Cell::new(now_s),
        head_len,
        content: size,
        is_bare: response.fields == file_response::description(source)
            && response.late == file_response::late_description(source),
        is_whole,
        account: Cell::new(Account { row: OTHER_ACCOUNT, key: 0 }),
    };
    let prepared = Rc::new(prepared);
    let mut buffer = context.key.borrow_mut();
    let mut cache = context.cache.borrow_mut();
    let coding = (!codings.is_empty()).then_some(prepared.coding);
    let variant = (coding, proviso.asked_host());
    if variant != LAST_MADE {
        // Under its own key for those who get it again, and (below) as the one made last: that one
        // tells `find` which variants there are.
        cache.insert(host.key(path, variant, &mut buffer), prepared.clone());
    }
    cache.insert(host.key(path, LAST_MADE, &mut buffer), prepared);
}

/// The head that everybody gets.
fn head_for_all(response: &Response, size: u64) -> ResponseHead {
    let mut copy = Response::new(response.status);
    copy.fields.clone_from(&response.fields);
    copy.late.clone_from(&response.late);
    copy.content_type.clone_from(&response.content_type);
    copy.take_head(Some(size), [])
}

/// Append the content, unless the file changes under our hands.
fn read_content(source: &Representation, bytes: &mut Vec<u8>) -> bool {
    let Ok(length) = usize::try_from(source.status.size) else { return false };
    file::read_whole(&source.file, length, bytes).is_ok()
        && file::status(&source.file) == Ok(source.status)
}
