//! The head of a response as HTTP/1 prints it, and as prepared responses are kept.

use crate::context::Context;
use http1::HeadWriter;
use message::{ResponseHead, Version};

/// Status line and fields, after those that every response has; what another server has answered
/// may say itself who has made it, and when. `date_s` is that of sending if nobody says.
pub(crate) fn write_head(
    context: &Context,
    head: &ResponseHead,
    told: Version,
    date_s: Option<i64>,
    out: &mut Vec<u8>,
) {
    let start = HeadWriter::start_as(out, told, head.status, head.status_line.as_deref());
    let date_s = date_s.unwrap_or_else(|| context.now_s());
    // First of all fields: `prepared::current` writes the next second's date at this very place.
    let says = |name: &str| head.fields.iter().any(|field| field.0.eq_ignore_ascii_case(name));
    let start = match says("Date") {
        true => start,
        false => context.with_date(date_s, |date| start.field("Date", date.as_bytes())),
    };
    let start = match says("Server") {
        true => start,
        false => start.field("Server", context.site().server_field.as_bytes()),
    };
    start.fields(&head.fields).end();
}
