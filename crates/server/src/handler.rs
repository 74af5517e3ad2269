//! Content handlers: what one is to the frame, which is configured for a place, and how it is run.
//! Each belongs to a module.

use crate::evaluate;
use crate::failure::{Failure, Stop};
use crate::hostname_lookups;
use crate::large_future::boxed;
use crate::representation::Representation;
use crate::request_context::RequestContext;
use crate::response::Response;
use crate::site::settings::core::{HandlerSetting, lower};
use crate::waiting::{NowOrLater, Waiting};
use message::{Method, Status};
use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

/// What answers a request: a module has it, which chose itself for the request.
pub trait Handler {
    /// Its name, for `%R` and messages.
    fn name(&self) -> &'static str;

    /// Whether it runs a program: that answers OPTIONS itself, and wants to know names.
    fn is_script(&self) -> bool {
        false
    }

    /// The file that it is, if it is nothing but one and whoever may see it may have it.
    fn file(self: Rc<Self>) -> Option<Rc<Representation>> {
        None
    }

    /// Whether what was found out for one request holds for others like it for a moment, so that
    /// this answers them as well.
    fn may_be_cached(&self) -> bool {
        false
    }

    /// What is told of it when somebody asks for its methods.
    fn options(&self) -> Response {
        Response::new(Status::OK)
    }

    /// Answer. This is asked once for a request.
    fn respond<'l>(self: Rc<Self>, request: &'l mut RequestContext<'_>) -> Waiting<'l, Response>;
}

/// An answer that was put together when it was chosen, and the handler that it is from.
pub struct Made {
    name: &'static str,
    response: Cell<Option<Response>>,
}

impl Made {
    /// The handler that is called `name` and says this.
    pub fn new(name: &'static str, response: Response) -> Rc<Self> {
        Rc::new(Self { name, response: Cell::new(Some(response)) })
    }
}

impl Handler for Made {
    fn name(&self) -> &'static str {
        self.name
    }

    fn respond<'l>(self: Rc<Self>, _: &'l mut RequestContext<'_>) -> Waiting<'l, Response> {
        NowOrLater::Now(Ok(self.response.take().unwrap_or_else(|| Response::new(Status::OK))))
    }
}

/// What httpd calls the handler of CGI scripts, as which `ScriptAlias` has files run.
pub const SCRIPT: &str = "cgi-script";

/// What httpd calls the handler of files.
pub const FILE: &str = "default-handler";

/// The handler that is configured for a place: `SetHandler`, else `AddHandler` for the name of the
/// file, else that of a `ScriptAlias`. As in httpd `SetHandler none` only takes back an outer
/// `SetHandler` (core.c, core_override_type).
pub fn configured<'l>(request: &'l RequestContext<'_>) -> Result<Option<Cow<'l, str>>, Stop> {
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
            let value = evaluate::text(text, request, None).map_err(|text| {
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

/// Have a handler answer.
pub(crate) async fn run(
    handler: Rc<dyn Handler>,
    request: &mut RequestContext<'_>,
) -> Result<Response, Stop> {
    let is_script = handler.is_script();
    if request.method() == Some(Method::Options) && !is_script {
        let mut response = handler.options();
        response.set("Allow", request.host.methods());
        return Ok(response);
    }
    if is_script && hostname_lookups::are_for_scripts(request) {
        boxed(|| hostname_lookups::find_for_script(request)).await;
    }
    // Only what is waited for becomes part of the caller's future: a response is large.
    match handler.respond(request) {
        NowOrLater::Now(outcome) => outcome,
        NowOrLater::Later(outcome) => outcome.await,
    }
}
