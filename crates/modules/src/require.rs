//! What the providers of `Require` share: their verdict, and the words of their argument.

use crate::auth_text;
use logging::level::Level;
use server::evaluate;
use server::request_context::RequestContext;
use server::site::expression::ExpressionText;

/// What a provider or a container says (httpd's authz_status).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthzStatus {
    Granted,
    Denied,
    /// A user might make a difference, and there is none yet.
    DeniedNoUser,
    /// It has no opinion.
    Neutral,
}

impl AuthzStatus {
    /// `Granted` or `Denied`.
    pub(crate) fn granted(is_granted: bool) -> Self {
        if is_granted { Self::Granted } else { Self::Denied }
    }
}

/// The words of a text for this request; `None`, told to the log, if it has no value.
pub(crate) fn words(
    request: &RequestContext<'_>,
    text: &ExpressionText,
    module: &'static str,
    id: u32,
    what: &str,
) -> Option<Vec<Vec<u8>>> {
    match evaluate::text(text, request, None) {
        Ok(value) => Some(auth_text::words(&value).collect()),
        Err(error) => {
            let text = format!("{what}: Can't evaluate require expression: {error}");
            request.log_recurring(Level::Error, module, Some(id), &text);
            None
        }
    }
}
