//! Ranges of a response (RFC 9110 section 14; httpd's byterange filter): what the client asked for
//! is cut out of the content as it is sent, after all filters. Content of unknown length is sent
//! whole.

use crate::http_date::parse_http_date;
use crate::received_request::ReceivedRequest;
use crate::response::{Body, BodyPiece, Response};
use http1::PageFacts;
use message::condition::{Validators, if_range_holds};
use message::range::{self, ByteRange, RangeLimits, RangePlan};
use message::{Known, Method, Status};

/// Answer with the ranges that `request` asks for, if it asks for any.
pub(crate) fn apply(request: &ReceivedRequest, limits: &RangeLimits, whole: Response) -> Response {
    let Some(length) = whole.body.len() else { return whole };
    match plan(request, limits, &whole, length) {
        RangePlan::Ignore => whole,
        RangePlan::One(range) => single(whole, range, length),
        RangePlan::Many(ranges) => multiple(whole, &ranges, length, request.start_us),
        RangePlan::Unsatisfiable => unsatisfiable(length),
    }
}

/// RFC 9110 section 14.2: ranges are for GET only, and If-Range may switch them off.
fn plan(
    request: &ReceivedRequest,
    limits: &RangeLimits,
    whole: &Response,
    length: u64,
) -> RangePlan {
    let view = request.view();
    let wanted = request.method() == Some(Method::Get)
        && whole.status == Status::OK
        && whole.get("Content-Range").is_none()
        && whole.get("Accept-Ranges") != Some(b"none")
        && limits.max_ranges != 0;
    let Some(value) = view.get(Known::Range).filter(|_| wanted) else { return RangePlan::Ignore };
    let validators = Validators {
        etag: whole.get("ETag"),
        last_modified_s: whole.get("Last-Modified").and_then(parse_http_date),
    };
    let holds = view
        .get(Known::IfRange)
        .is_none_or(|tag| if_range_holds(tag, parse_http_date(tag), &validators));
    if holds { range::plan(value, length, limits) } else { RangePlan::Ignore }
}

fn single(whole: Response, range: ByteRange, length: u64) -> Response {
    let mut response = Response { status: Status::PARTIAL_CONTENT, ..whole };
    response.body = Body { pieces: cut(&response.body, range).collect() };
    response.field("Content-Range", format!("bytes {}-{}/{length}", range.first, range.last))
}

/// `multipart/byteranges` with httpd's spelling of the part headers.
fn multiple(whole: Response, ranges: &[ByteRange], length: u64, start_us: i64) -> Response {
    // Unlikely to occur in the content, which is all that RFC 2046 asks for.
    let boundary = format!("{start_us:x}{length:x}");
    let mut response = Response { status: Status::PARTIAL_CONTENT, ..whole };
    let mut pieces = Vec::with_capacity(ranges.len() * 2 + 1);
    for range in ranges {
        let mut head = format!("\r\n--{boundary}\r\n");
        if let Some(content_type) = &response.content_type {
            head.push_str(&format!("Content-type: {content_type}\r\n"));
        }
        let (first, last) = (range.first, range.last);
        head.push_str(&format!("Content-range: bytes {first}-{last}/{length}\r\n\r\n"));
        pieces.push(BodyPiece::Bytes(head.into_bytes()));
        pieces.extend(cut(&response.body, *range));
    }
    pieces.push(BodyPiece::Bytes(format!("\r\n--{boundary}--\r\n").into_bytes()));
    response.content_type = Some(format!("multipart/byteranges; boundary={boundary}"));
    response.body = Body { pieces };
    response
}

fn unsatisfiable(length: u64) -> Response {
    let page = Response::canned(Status::RANGE_NOT_SATISFIABLE, &PageFacts::default());
    page.field("Content-Range", format!("bytes */{length}"))
}

/// The pieces that make up `range` of `body`.
fn cut(body: &Body, range: ByteRange) -> impl Iterator<Item = BodyPiece> + '_ {
    let mut start = 0;
    body.pieces.iter().filter_map(move |piece| {
        let length = piece.len()?;
        let first = range.first.max(start) - start;
        let end = (range.last + 1).saturating_sub(start).min(length);
        start += length;
        (first < end).then(|| piece.part(first, end - first))?
    })
}
