//! What answers a request that was redirected within the server, or that has failed (ap_die_r and
//! ap_internal_redirect of http_request.c).

use super::{RanHandler, run};
use crate::error_document;
use crate::failure::{Failure, Stop};
use crate::log_conditions;
use crate::request_context::{LookupPurpose, RequestContext};
use crate::response::Response;
use message::Status;

/// Follow internal redirects, and find a page for a failure.
pub(super) async fn settle<'a>(
    request: &mut Box<RequestContext<'a>>,
    stop: Stop,
    ran: &mut RanHandler<'a>,
) -> Response {
    let mut outcome: Result<Response, Stop> = Err(stop);
    let mut failed: Option<FirstFailure<'a>> = None;
    loop {
        let status = request.status;
        let next = match outcome {
            Ok(mut response) => {
                if let Some(first) = failed {
                    if let Some(bad) = bad_field(request, &response) {
                        request.log_failure(&bad);
                        request.output.always.clear();
                        return first.page(request, ran, status);
                    }
                    response.status = status;
                    response.adopt(first.failure);
                }
                return response;
            }
            Err(Stop::Internal(path, query)) => {
                if status != Status::OK {
                    let failure = || FirstFailure::of(Failure::new(status, "core", ""));
                    failed.get_or_insert_with(failure);
                }
                let logs = || log_conditions::chosen_before(request, status.code());
                Ok(request.redirected(&path, query, status, logs))
            }
            Err(Stop::Failure(mut failure)) => {
                request.log_failure(&failure);
                if let Some(always) = failure.always.take() {
                    request.output.always.retain(|field| !field.0.eq_ignore_ascii_case(&always.0));
                    request.output.always.push(always);
                }
                // An error document that fails, or another redirected request to which rules have
                // given a status: the page of the first error mentions that. They may have made it
                // a request without a status again (ap_die_r).
                if status != Status::OK && request.lineage.purpose == LookupPurpose::Redirected {
                    let first = failed.unwrap_or_else(|| FirstFailure::of(failure));
                    return first.page(request, ran, status);
                }
                error_document::choose(request, &failure).inspect(|_| {
                    failed.get_or_insert_with(|| FirstFailure::of(failure));
                })
            }
        };
        let next = match next {
            Ok(next) if next.lineage.redirects <= next.host.internal_limits.0 => next,
            Ok(next) => {
                let status = next.status;
                drop(next);
                return too_many_redirects(request, ran, failed, status);
            }
            Err(response) => return *response,
        };
        let before = std::mem::replace(request, Box::new(next));
        if let Some(first) = &mut failed {
            first.request.get_or_insert(before);
        }
        outcome = Box::pin(run(request, ran)).await;
    }
}

/// What is wrong with a field of an answer, or with one that a rule wanted it to have.
pub(super) fn bad_field(request: &RequestContext<'_>, response: &Response) -> Option<Failure> {
    request.common.bad_field.take().or_else(|| response.bad_field())
}

/// Of all requests in a row that have a status already, the first, and what was said of it.
struct FirstFailure<'a> {
    failure: Failure,
    /// The request, once another has taken its place.
    request: Option<Box<RequestContext<'a>>>,
}

impl<'a> FirstFailure<'a> {
    fn of(failure: Failure) -> Self {
        Self { failure, request: None }
    }

    /// The page of the first request, after what was to answer in its place (`request`) has failed.
    fn page(
        self,
        request: &mut Box<RequestContext<'a>>,
        ran: &mut RanHandler<'a>,
        also: Status,
    ) -> Response {
        if let Some(mut first) = self.request {
            first.output.always = std::mem::take(&mut request.output.always);
            ran.last = Some(std::mem::replace(request, first));
        }
        error_document::page(request, &self.failure, Some(also))
    }
}

/// The page where one more redirect is refused, which may be one with a status.
fn too_many_redirects<'a>(
    request: &mut Box<RequestContext<'a>>,
    ran: &mut RanHandler<'a>,
    failed: Option<FirstFailure<'a>>,
    status: Status,
) -> Response {
    let failure = Failure::too_many_redirects(request.host.internal_limits.0);
    request.log_failure(&failure);
    if let Some(first) = failed.filter(|_| status != Status::OK) {
        return first.page(request, ran, status);
    }
    match error_document::choose(request, &failure) {
        // For that document the limit is exceeded as well.
        Ok(_) => error_document::page(request, &failure, Some(failure.status)),
        Err(response) => *response,
    }
}
