//! What all programs have in common that answer requests, whichever way they are reached: the
//! variables that they are told about a request, its body, and what the head of an answer comes to.
//! What carries these to them is a module of its own.

pub mod answer;
pub mod body;
pub mod environment;
pub mod fault;
pub(crate) mod gather;
pub(crate) mod room;
pub(crate) mod spool;
pub mod template;

use crate::evaluate::handler_name;
use crate::failure::{Failure, Stop};
use crate::phase;
use crate::request_context::{Query, RequestContext};
use message::Status;

/// `<LocationMatch "\.php$">` holds for `/a.jpg/x.php` as well. Where a file is found, it is run
/// only if its own URL has the same handler: otherwise whoever may upload pictures could have them
/// run.
///
/// # Errors
/// 404 if it has not; what the look-up of it says.
pub async fn check_own_url(
    request: &RequestContext<'_>,
    handler: &str,
    module: &'static str,
) -> Result<(), Stop> {
    if !has_own_url(request) {
        return Ok(());
    }
    let own =
        request.path.strip_suffix(request.mapping.path_info.as_slice()).unwrap_or(&request.path);
    let mut url = Vec::new();
    message::path::encode(own, &mut url);
    let found = phase::look_up(request, &url, Query::None).await?;
    if handler_name::effective(&found)?.is_some_and(|own| own == handler) {
        return Ok(());
    }
    let text = format!(
        "{} is not run: the handler applies only to the path after it, and its own URL {} is in \
         no section with this handler",
        request.display_path(),
        String::from_utf8_lossy(&url)
    );
    Err(Failure::new(Status::NOT_FOUND, module, text).at_error().into())
}

/// Whether the file has a URL of its own, which has to be looked up.
pub fn has_own_url(request: &RequestContext<'_>) -> bool {
    !request.mapping.path_info.is_empty() && phase::is_regular(request)
}
