//! Variables of the environment that change how a response is written, for clients that cannot
//! bear what HTTP/1.1 says: `nokeepalive`, `downgrade-1.0`, `force-response-1.0`, `force-no-vary`
//! (merge_response_headers of http_filters.c). What they change about the protocol is decided by
//! its driver.

use crate::request_context::RequestContext;
use crate::response::Response;

/// Every variable that is looked at here.
const NAMES: &[&str] = &["nokeepalive", "downgrade-1.0", "force-response-1.0", "force-no-vary"];

/// What the variables change about the fields.
pub(crate) fn finish(request: &RequestContext<'_>, response: &mut Response) {
    if request.tables.env.is_empty() {
        return;
    }
    if NAMES.iter().any(|name| request.tables.env.is_set(name)) {
        request.mark_personal(); // the fast path knows nothing of them
    }
    if request.tables.env.is_set("force-no-vary") {
        response.unset("Vary");
    }
}
