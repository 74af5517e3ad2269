//! The page of a failure: httpd's own, a text, or another URL of this server (ap_die and
//! ap_send_error_response of modules/http/http_request.c and http_protocol.c).

use crate::evaluate;
use crate::failure::Failure;
use crate::hook::Phases;
use crate::log_conditions;
use crate::request_context::RequestContext;
use crate::response::Response;
use crate::site::settings::Settings;
use crate::site::settings::core::{ErrorDocument, Signature, is_absolute_url};
use http1::PageFacts;
use message::{Known, Method, Status};

/// The request for the error document, or the response if there is none to ask for.
pub(crate) fn choose<'a>(
    request: &RequestContext<'a>,
    failure: &Failure,
) -> Result<RequestContext<'a>, Box<Response>> {
    let own_page = || Box::new(page(request, failure, None));
    let settings = request.settings.clone();
    // A code that httpd does not know is as good as 500 (ap_index_of_response).
    let known =
        failure.status.known_line().map_or(Status::INTERNAL_SERVER_ERROR, |_| failure.status);
    let Some(document) = settings.core.error_document(known.code()) else {
        return Err(own_page());
    };
    let (ErrorDocument::Text(text) | ErrorDocument::Url(text)) = document else {
        return Err(own_page());
    };
    let Ok(value) = evaluate::text(text, request, None) else { return Err(own_page()) };
    if matches!(document, ErrorDocument::Text(_)) {
        return Err(Box::new(text_page(request, failure, value)));
    }
    if is_absolute_url(&String::from_utf8_lossy(&value)) {
        let redirect = Failure::redirect(Status::FOUND, value);
        return Err(Box::new(page(request, &redirect, None)));
    }
    let (path, query) = match value.iter().position(|byte| *byte == b'?') {
        Some(at) => (value[..at].to_vec(), Some(value[at + 1..].to_vec())),
        None => (value, None),
    };
    let logs = || log_conditions::chosen_before(request, failure.status.code());
    let mut next = request.redirected(&path, query, failure.status, logs);
    next.lineage.is_error_document = true;
    next.set_method(Method::Get);
    next.tables.env.set("REDIRECT_REQUEST_METHOD", request.received().view().method());
    // What the log says is not for everybody: it names files (the note `error-notes`).
    let notes = [failure.remark.as_bytes(), &failure.notes].concat();
    if !notes.is_empty() {
        next.tables.env.set("REDIRECT_ERROR_NOTES", notes);
    }
    Ok(next)
}

/// A text of `ErrorDocument`.
fn text_page(request: &RequestContext<'_>, failure: &Failure, text: Vec<u8>) -> Response {
    let mut response = page(request, failure, None);
    response.body = crate::response::Body::bytes(text);
    response.status_line.clone_from(&failure.status_line);
    response
}

/// What stands on a page about a status in the words of a script (ap_send_error_response).
fn title(line: &[u8]) -> Option<Vec<u8>> {
    match line.get(4..)? {
        [] => Some([line, b"Unknown Reason"].concat()),
        [first, ..] => first.is_ascii_alphanumeric().then(|| line.to_vec()),
    }
}

/// httpd's page. `also` is the status of an error document that failed.
pub(crate) fn page(
    request: &RequestContext<'_>,
    failure: &Failure,
    also: Option<Status>,
) -> Response {
    let view = request.received().view();
    let signature = request.signature("<hr>\n");
    let title = failure.status_line.as_deref().and_then(title);
    let facts = PageFacts {
        line: title.as_deref(),
        method: view.method(),
        expect: view.get(Known::Expect),
        location: failure.location(),
        admin: request.host.server_admin.as_deref().map(str::as_bytes),
        also,
        remark: failure.remark,
        signature: &signature,
        variants: &failure.variants,
    };
    let mut response = Response::canned(failure.status, &facts);
    response.status_line = title.clone().or_else(|| failure.status_line.clone());
    if request.tables.env.has("suppress-error-charset") {
        response.content_type = Some("text/html".to_owned());
    }
    response.fields.extend(failure.fields.iter().cloned());
    // A coding that is not understood is 501, too.
    let is_about_method =
        matches!(failure.status, Status::METHOD_NOT_ALLOWED | Status::NOT_IMPLEMENTED)
            && request.received().framing().is_ok();
    if is_about_method && response.get("Allow").is_none() {
        response = response.field("Allow", request.host.methods());
    }
    match failure.retry_after_s {
        Some(seconds) => response.field("Retry-After", seconds.to_string()),
        None => response,
    }
}

/// Whether the answer of `status` is the same for every request: nobody has another document for
/// it, nothing signs it, and it gets no fields.
pub(crate) fn is_fixed(phases: &Phases, settings: &Settings, status: Status) -> bool {
    settings.core.signature() == Signature::Off
        && settings.core.error_document(status.code()).is_none()
        && !phases.adds_always.iter().any(|adds_always| adds_always(settings))
}
