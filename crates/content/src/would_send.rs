//! Whether a file that is there would be sent as it is, which those ask who refuse to send it.

use message::Method;
use server::request_context::RequestContext;
use server::site::settings::core::PathInfo;

/// Whether the content of a file that is there would be sent, as far as method and URL go.
pub fn would_send(request: &RequestContext<'_>) -> bool {
    let is_asked = matches!(request.method(), Some(Method::Get | Method::Head | Method::Post));
    is_asked && takes_path_info(request)
}

/// Whether a file answers for what stands behind it in the URL.
pub fn takes_path_info(request: &RequestContext<'_>) -> bool {
    request.mapping.path_info.is_empty()
        || request.settings.core.accept_path_info() == PathInfo::Accept
}
