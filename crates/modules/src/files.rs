//! files: the last resort of resolution, a file (httpd: default_handler of core.c).

use crate::{mime, unrun_scripts};
use content::would_send::takes_path_info;
use message::{Method, Status};
use runtime::file::{Errno, FileType};
use server::description;
use server::failure::{Failure, Stop};
use server::file_response::method_for_file;
use server::handler::{self, Handler};
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::phase;
use server::representation::{Origin, Representation};
use server::request_context::{Because, RequestContext};
use server::response::Response;
use server::waiting::{NowOrLater, Waiting};
use std::cell::Cell;
use std::rc::Rc;

/// What core does with what no other module answers.
pub(crate) static MODULE: Module = Module::new(
    "core_module",
    "core.c",
    &[],
    Hooks { resolve: Some(Hook::Waits(answer)), ..Hooks::NONE },
)
.always();

/// The default handler, unless it is a script that nobody runs.
fn answer<'l>(request: &'l mut RequestContext<'_>) -> Waiting<'l, Option<Rc<dyn Handler>>> {
    match unrun_scripts::resolve(request) {
        Ok(None) => Waiting::only_if(Representation::may_wait(request), resolve(request)),
        known => NowOrLater::Now(known),
    }
}

/// Take regular files; anything else that is here is a folder that nobody lists, a device, a socket
/// or a FIFO.
async fn resolve(request: &mut RequestContext<'_>) -> Result<Option<Rc<dyn Handler>>, Stop> {
    check_method(request)?;
    if request.method() == Some(Method::Options)
        && let Some(answer) = options(request)
    {
        return Ok(Some(answer));
    }
    let is_served = request.method() != Some(Method::Options);
    if is_served && phase::is_regular(request) && !takes_path_info(request) {
        let more = String::from_utf8_lossy(&request.mapping.path_info);
        let text = format!("File does not exist: {}{more}", request.display_path());
        return Err(Failure::new(Status::NOT_FOUND, "core", text).id(128).into());
    }
    let entry = std::mem::replace(&mut request.found, Err(Errno::NOENT))
        .map_err(|errno| request.open_failure(errno))?;
    match entry.status.kind {
        FileType::File => {}
        FileType::Directory => {
            let text = format!("Attempt to serve directory: {}", request.display_path());
            return Err(Failure::new(Status::NOT_FOUND, "core", text).id(129).into());
        }
        FileType::Link | FileType::Other => {
            let text =
                format!("{} is neither a regular file nor a directory", request.display_path());
            return Err(Failure::new(Status::FORBIDDEN, "core", text).at_error().into());
        }
    }
    let origin = Origin {
        root: request.mapping.place.root.clone(),
        below: request.mapping.place.below.clone(),
        links: request.mapping.links,
    };
    Ok(Some(Rc::new(Representation::new(entry, request, origin).await?)))
}

/// httpd tells the methods of whatever is no file just the same, whether it is there or not, and of
/// a file that this process may not read (ap_send_http_options). `None` for one that is open, and
/// for what must not be looked at.
fn options(request: &RequestContext<'_>) -> Option<Rc<dyn Handler>> {
    let is_hidden = phase::is_regular(request) && !phase::is_file(request);
    let content_type = match &request.found {
        Ok(entry) if entry.status.kind == FileType::Directory => {
            let chosen = request.negotiated.content_type.as_deref();
            let named = chosen.or_else(|| mime::SETTINGS.of(&request.settings).forced_type());
            Some(named.unwrap_or("httpd/unix-directory").to_owned())
        }
        Err(Errno::NOENT | Errno::NOTDIR) => description::content_type(request),
        Err(_) if is_hidden => description::content_type(request),
        _ => return None,
    };
    let mut response = Response::new(Status::OK).field("Allow", request.host.methods());
    if !request.is_folder() {
        let known = description::codings(request).into_iter();
        let known = known.filter_map(|(name, value)| Some((name.into(), value?.into_bytes())));
        response.late = known.collect();
    }
    response.content_type = content_type;
    Some(Rc::new(Described(Cell::new(Some(response)))))
}

/// What OPTIONS tells of something that is no file.
struct Described(Cell<Option<Response>>);

impl Described {
    fn take(&self) -> Response {
        self.0.take().unwrap_or_else(|| Response::new(Status::OK))
    }
}

impl Handler for Described {
    fn name(&self) -> &'static str {
        handler::FILE
    }

    fn options(&self) -> Response {
        self.take()
    }

    fn respond<'l>(self: Rc<Self>, _: &'l mut RequestContext<'_>) -> Waiting<'l, Response> {
        NowOrLater::Now(Ok(self.take()))
    }
}

/// Refuse what cannot be done with any file before looking what is there.
pub(crate) fn check_method(request: &RequestContext<'_>) -> Result<(), Failure> {
    if request.method() != Some(Method::Options) {
        // Unmarked: it decides nothing but the text about a method that is refused.
        method_for_file(&request.unmarked(Because::NotInAnswer).received, request.method())?;
    }
    Ok(())
}
