//! Which handler the configuration names for a place. An expression may name it, and ask for it.

use crate::failure::{Failure, Stop};
use crate::request_context::RequestContext;
use crate::site::settings::core::{HandlerSetting, lower};
use message::Status;
use std::borrow::Cow;

/// The handler of a place: what a rule says, else `SetHandler`, else `AddHandler` for the name of
/// the file, else that of a `ScriptAlias`. As in httpd `SetHandler none` only takes back an outer
/// `SetHandler` (core.c, core_override_type).
pub fn configured<'l>(request: &'l RequestContext<'_>) -> Result<Option<Cow<'l, str>>, Stop> {
    if let Some(forced) = &request.negotiated.handler {
        return Ok(Some(Cow::Borrowed(forced)));
    }
    if let Some(Some(handler)) = set_handler(request)? {
        return Ok(Some(handler));
    }
    if !request.is_folder() {
        let mime = request.metadata(request.mime_name());
        if let Some(name) = mime.handler {
            return Ok(Some(Cow::Owned(name.to_owned())));
        }
    }
    Ok(request.mapping.context_info.handler.map(Cow::Borrowed))
}

/// `SetHandler`. The outer `None` says that there is none, the inner one that it says `none`.
fn set_handler<'l>(
    request: &'l RequestContext<'_>,
) -> Result<Option<Option<Cow<'l, str>>>, Failure> {
    let name = match &request.settings.core.handler {
        None => return Ok(None),
        Some(HandlerSetting::Name(name)) => Cow::Borrowed(name.as_str()),
        Some(HandlerSetting::Computed(text)) => {
            let value = super::text(text, request, None).map_err(|text| {
                let text = format!("Can't evaluate handler expression: {text}");
                Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text).id(3154).at_error()
            })?;
            Cow::Owned(lower(&String::from_utf8_lossy(&value)))
        }
    };
    Ok(Some(Some(name).filter(|name| !name.eq_ignore_ascii_case("none"))))
}

/// The handler that answers: the configured one, else the media type without its parameters stands
/// for one (config.c, ap_invoke_handler).
pub fn effective<'l>(request: &'l RequestContext<'_>) -> Result<Option<Cow<'l, str>>, Stop> {
    if let Some(handler) = configured(request)? {
        return Ok(Some(handler));
    }
    if request.is_folder() {
        return Ok(Some(Cow::Borrowed("httpd/unix-directory")));
    }
    let bare = |text: &str| {
        let end = text.find([';', ' ', '\t']).unwrap_or(text.len());
        Cow::Owned(text[..end].to_owned())
    };
    if let Some(chosen) = &request.negotiated.content_type {
        return Ok(Some(bare(chosen)));
    }
    let mime = request.metadata(request.mime_name());
    Ok(mime.content_type.map(bare))
}
