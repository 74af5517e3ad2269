//! The response to a look-up, for whoever makes it part of another one (ap_run_sub_req).

use crate::failure::{Failure, Stop};
use crate::fields;
use crate::part_stack::Parts;
use crate::phase;
use crate::request_context::{LookupPurpose, RequestContext};
use crate::response::Response;
use message::{Known, Status};
use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

/// Fields of a request that are about its body, which a part of its response does not get
/// (clone_headers_no_body of protocol.c).
const ABOUT_BODY: [&str; 10] = [
    "Content-Encoding",
    "Content-Language",
    "Content-Length",
    "Content-Location",
    "Content-MD5",
    "Content-Range",
    "Content-Type",
    "Expires",
    "Last-Modified",
    "Transfer-Encoding",
];

/// Answer a look-up that is complete, and have its filters change the content. Redirects within the
/// server are followed as far as `LimitInternalRecursion` allows. What would be answered with an
/// error page, or sends the client elsewhere, is a failure.
///
/// A part may ask for parts itself, as often as `LimitInternalRecursion` allows. They are polled
/// side by side, and not one from within the other: stacks of threads are small.
pub async fn respond(mut sub: RequestContext<'_>) -> Answered<'_> {
    let answered = Rc::new(RefCell::new(None));
    let slot = answered.clone();
    match sub.part_of.clone() {
        Some(parts) => parts.begin(async move {
            let done = answer(sub).await;
            slot.replace(Some(done));
        }),
        None => {
            let parts = Parts::default();
            sub.part_of = Some(parts.0.clone());
            parts.0.begin(async move {
                let done = answer(sub).await;
                slot.replace(Some(done));
            });
            poll_fn(|task| parts.0.poll(task)).await;
        }
    }
    poll_fn(|_| answered.take().map_or(Poll::Pending, Poll::Ready)).await
}

/// A look-up with its response.
pub type Answered<'a> = (RequestContext<'a>, Result<Response, Failure>);

async fn answer(mut sub: RequestContext<'_>) -> Answered<'_> {
    forget_body(&mut sub);
    let mut outcome = run(&mut sub).await;
    let response = loop {
        match outcome {
            Ok(response) => break Ok(response),
            Err(Stop::Failure(failure)) => break Err(failure),
            Err(Stop::Internal(path, query)) => {
                let mut next = sub.redirected(&path, query, sub.status, Vec::new);
                let depth = sub.lineage.depth;
                (next.lineage.purpose, next.lineage.depth) = (LookupPurpose::Sub, depth);
                if next.lineage.redirects > next.host.internal_limits.0 {
                    let text = "a part of a page is redirected too often";
                    let status = Status::INTERNAL_SERVER_ERROR;
                    break Err(Failure::new(status, "core", text).id(124).at_error());
                }
                sub = next;
                outcome = match phase::decode_path(&mut sub) {
                    Ok(()) => process_and_run(&mut sub).await,
                    Err(failure) => Err(failure.into()),
                };
            }
        }
    };
    let response = match (response, sub.phases().content) {
        (Ok(response), Some(content)) => (content.filter)(&mut sub, response).await,
        (response, _) => response,
    };
    (sub, response)
}

async fn process_and_run(sub: &mut RequestContext<'_>) -> Result<Response, Stop> {
    phase::process(sub).await?;
    run(sub).await
}

async fn run(sub: &mut RequestContext<'_>) -> Result<Response, Stop> {
    let handler = phase::resolve(sub).await?;
    phase::run_handler(handler, sub).await
}

/// The body of the request is the page's, unless it is kept: then its length is known
/// (kept_body_filter_init of mod_request.c).
fn forget_body(sub: &mut RequestContext<'_>) {
    if let Some(kept) = sub.kept_body() {
        let mut fields = fields::of_request(sub.received());
        let is_framing = |name: &str| {
            ["Content-Length", "Transfer-Encoding"].iter().any(|it| it.eq_ignore_ascii_case(name))
        };
        fields.retain(|field| !is_framing(&field.0));
        fields.push(("Content-Length".into(), kept.len().to_string().into_bytes()));
        return sub.set_fields(&fields);
    }
    let has_body = {
        let view = sub.received().view();
        view.has(Known::ContentLength) || view.has(Known::TransferEncoding)
    };
    if has_body {
        let mut fields = fields::of_request(sub.received());
        fields.retain(|field| !ABOUT_BODY.iter().any(|name| field.0.eq_ignore_ascii_case(name)));
        sub.set_fields(&fields);
        sub.tables.env.unset("CONTENT_LENGTH");
    }
}
