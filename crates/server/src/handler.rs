//! Every content handler there is, and the one match that runs them.

use crate::large_future::{boxed, placed};
use crate::lookup::Lookup;
use crate::modules::diagnostic::load::Load;
use crate::modules::{
    autoindex, cgi, diagnostic, fcgid, files, info, mime, proxy, proxy_fcgi, status,
};
use crate::phase::Stop;
use crate::representation::Representation;
use crate::request::Request;
use crate::response::Response;
use crate::{byterange, names};
use message::{Method, Status};
use std::borrow::Cow;
use std::fs::File;
use std::rc::Rc;

/// What answers a request.
pub(crate) enum Handler {
    /// A regular file.
    File(Rc<Representation>),
    /// A directory listing of the open folder.
    Listing(File),
    /// server-status.
    Status,
    /// server-info.
    Info,
    /// A module has put the answer together when it was chosen.
    Made(Box<Made>),
    /// Waits, burns and faults on request.
    Diagnostic,
    /// A script that a FastCGI application runs.
    FastCgi(Box<proxy_fcgi::Job>),
    /// The same by one of several.
    Balanced(Box<proxy::Group>),
    /// A script for a FastCGI application that this server keeps.
    Managed,
    /// A script that is a program of its own.
    Cgi(&'static cgi::Flavor),
    /// Takes as long as is asked for.
    Load(Load),
}

/// An answer, and the handler that it is from.
pub(crate) struct Made {
    pub(crate) name: &'static str,
    pub(crate) response: Response,
}

/// What httpd calls the handler of files.
pub(crate) const FILE: &str = "default-handler";

/// The same of what is handed on.
pub(crate) const PROXY: &str = "proxy-server";

/// The handler that is configured for a place: chosen by a module during the look-up, else
/// `SetHandler`, else `AddHandler` for the name of the file, else that of a `ScriptAlias`. As in
/// httpd `SetHandler none` only takes back an outer `SetHandler` (core.c, core_override_type).
pub(crate) fn configured<'l>(lookup: &'l Lookup<'_>) -> Result<Option<Cow<'l, str>>, Stop> {
    if let Some(handler) = &lookup.handler {
        return Ok(Some(Cow::Borrowed(handler)));
    }
    if let Some(Some(handler)) = lookup.settings.core.handler_name(lookup)? {
        return Ok(Some(handler));
    }
    if !lookup.is_folder() {
        let mime =
            mime::SETTINGS.of(&lookup.settings).mime(&lookup.site().types, lookup.mime_name());
        if let Some(name) = mime.handler {
            return Ok(Some(Cow::Owned(name.to_owned())));
        }
    }
    Ok(lookup.mapped.handler.map(Cow::Borrowed))
}

/// The handler that answers: the configured one, else the media type without its parameters stands
/// for one (config.c, ap_invoke_handler).
pub(crate) fn effective<'l>(lookup: &'l Lookup<'_>) -> Result<Option<Cow<'l, str>>, Stop> {
    if let Some(handler) = configured(lookup)? {
        return Ok(Some(handler));
    }
    if lookup.is_folder() {
        return Ok(Some(Cow::Borrowed("httpd/unix-directory")));
    }
    let bare = |text: &str| {
        let end = text.find([';', ' ', '\t']).unwrap_or(text.len());
        Cow::Owned(text[..end].to_owned())
    };
    if let Some(chosen) = &lookup.content_type {
        return Ok(Some(bare(chosen)));
    }
    let mime = mime::SETTINGS.of(&lookup.settings).mime(&lookup.site().types, lookup.mime_name());
    Ok(mime.content_type.map(bare))
}

/// Answer with a file that was found before.
pub(crate) fn from_file(request: &Request, source: &Rc<Representation>) -> Result<Response, Stop> {
    let conditions = files::sent_conditions(request);
    let whole = files::respond(request, request.method(), source, &conditions)?;
    Ok(byterange::apply(request, &source.settings.core.range_limits(), whole))
}

impl Handler {
    /// Answer.
    pub(crate) async fn run(self, lookup: &mut Lookup<'_>) -> Result<Response, Stop> {
        // Applications answer OPTIONS themselves.
        let is_script =
            matches!(self, Self::FastCgi(_) | Self::Balanced(_) | Self::Managed | Self::Cgi(_));
        if lookup.method == Some(Method::Options) && !is_script {
            return Ok(self.options(lookup));
        }
        if is_script && names::are_for_scripts(lookup) {
            boxed(|| names::find_for_script(lookup)).await;
        }
        match self {
            Self::File(source) => {
                let conditions = files::conditions(lookup);
                Ok(files::respond(&lookup.request, lookup.method, &source, &conditions)?)
            }
            Self::Listing(folder) => {
                Ok(boxed(|| autoindex::listing::respond(lookup, folder)).await?)
            }
            Self::Made(made) => Ok(made.response),
            Self::Status => Ok(status::respond(lookup)?),
            Self::Info => boxed(|| info::respond(lookup)).await,
            Self::Diagnostic => {
                let limit = lookup.settings.core.limit_request_body();
                Ok(boxed(|| diagnostic::respond(&lookup.request, limit)).await?)
            }
            Self::FastCgi(job) => placed(|| job.respond(lookup)).await,
            Self::Balanced(group) => boxed(|| group.respond(lookup)).await,
            Self::Managed => boxed(|| fcgid::respond(lookup)).await,
            Self::Cgi(flavor) => boxed(|| flavor.respond(lookup)).await,
            Self::Load(load) => Ok(boxed(|| load.respond(lookup)).await?),
        }
    }

    /// Its methods, and of a file what else is known before it is opened.
    fn options(self, lookup: &Lookup<'_>) -> Response {
        let mut response = match self {
            Self::Made(made) if made.name == "default-handler" => return made.response,
            Self::File(source) => Response {
                content_type: source.content_type.clone(),
                late: files::late_description(&source),
                ..Response::new(Status::OK)
            },
            _ => Response::new(Status::OK),
        };
        response.set("Allow", lookup.host.methods());
        response
    }

    /// Its name, for `%R` and messages.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::File(_) => FILE,
            Self::Listing(_) => "httpd/unix-directory",
            Self::Made(made) => made.name,
            Self::Status => "server-status",
            Self::Info => "server-info",
            Self::Diagnostic => "trivet-diagnostic",
            Self::FastCgi(_) | Self::Balanced(_) => PROXY,
            Self::Managed => fcgid::HANDLER,
            Self::Cgi(_) => "cgi-script",
            Self::Load(load) => load.name(),
        }
    }
}
