//! From the head that a program has written to a response without its body.

use crate::failure::{Failure, Stop};
use crate::http_date::{http_date, parse_http_date};
use crate::request_context::RequestContext;
use crate::response::Response;
use fastcgi::ScriptHead;
use message::condition::{ConditionOutcome, Validators, evaluate};
use message::{Field, Method, Status};
use std::borrow::Cow;

/// The response that a program has begun. If it says no status of its own, the conditions of the
/// request are looked at (util_script.c, `ap_scan_script_header_err_core_ex`).
///
/// # Errors
/// The failure that such a condition asks for, of this module.
pub fn begin(
    request: &mut RequestContext<'_>,
    head: ScriptHead,
    module: &'static str,
) -> Result<Response, Stop> {
    let has_status = head.status.is_some();
    let (response, modified_s) = describe(request, head);
    if has_status || !request.method().is_some_and(Method::is_get_or_head) {
        return Ok(response);
    }
    let validators = Validators { etag: response.get("ETag"), last_modified_s: modified_s };
    match evaluate(&request.conditions(), &validators, true) {
        ConditionOutcome::Proceed => Ok(response),
        ConditionOutcome::NotModified => Ok(Response { status: Status::NOT_MODIFIED, ..response }),
        ConditionOutcome::PreconditionFailed => {
            Err(Failure::new(Status::PRECONDITION_FAILED, module, "").into())
        }
    }
}

/// What says who has made a response, and when.
const OF_ORIGIN: [&str; 2] = ["Date", "Server"];

/// Take from the fields of a script what says who has made the response, and when. For whoever is
/// this server itself it says so; what another server has answered may keep it, with [`keep`]
/// (http_filters.c, basic_http_header).
pub fn take_origin(lasting: &mut Vec<fastcgi::ScriptField>) -> Vec<fastcgi::ScriptField> {
    let known = |name: &[u8]| OF_ORIGIN.iter().find(|it| name.eq_ignore_ascii_case(it.as_bytes()));
    let taken = lasting.extract_if(.., |field| known(&field.0).is_some());
    // They are spelled as the server spells them.
    taken.filter_map(|(name, value)| Some((known(&name)?.as_bytes().to_vec(), value))).collect()
}

/// The response that the head of a script's answer describes, without a look at the conditions of
/// the request, and the time of its `Last-Modified` in seconds since 1970.
pub fn describe(request: &mut RequestContext<'_>, mut head: ScriptHead) -> (Response, Option<i64>) {
    take_origin(&mut head.lasting);
    let mut response = Response::new(head.status());
    response.status_line = head.status.as_ref().map(|status| status.line().into_owned());
    let closes = head.closes();
    response.content_type = head.content_type.map(|text| {
        String::from_utf8(text)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    });
    response.fields.extend(fields(head.fields));
    if closes {
        response.set("Connection", "close");
    }
    let now_s = request.received().start_us.div_euclid(1_000_000);
    let modified = head.last_modified.iter().filter_map(|text| parse_http_date(text));
    let modified_s = modified.max().map(|modified_s| modified_s.min(now_s));
    if let Some(modified_s) = modified_s {
        response.set("Last-Modified", http_date(modified_s));
    }
    keep(request, head.lasting);
    (response, modified_s)
}

/// Fields for this response and all that come in its place. Where there are such fields already,
/// of a script that has sent the request here, those of one name become one.
pub fn keep(request: &mut RequestContext<'_>, lasting: Vec<fastcgi::ScriptField>) {
    let before = request.output.always.len();
    for (name, value) in fields(lasting) {
        let is_cookie = name.eq_ignore_ascii_case("Set-Cookie");
        let mut known = request.output.always[..before].iter_mut();
        match known.find(|field| !is_cookie && field.0.eq_ignore_ascii_case(&name)) {
            Some(field) => field.1 = [&field.1[..], b", ", &value].concat(),
            None => request.output.always.push((name, value)),
        }
    }
}

/// The parser has made sure that names are tokens.
pub fn fields(fields: Vec<fastcgi::ScriptField>) -> impl Iterator<Item = Field> {
    let field = |(name, value): fastcgi::ScriptField| {
        Some((Cow::Owned(String::from_utf8(name).ok()?), value))
    };
    fields.into_iter().filter_map(field)
}
