//! files: the last resort of resolution, a file (httpd: default_handler of core.c).

use crate::failure::Failure;
use crate::file_response::method_for_file;
use crate::handler::{self, Handler};
use crate::lookup::Lookup;
use crate::module::{Hooks, Module};
use crate::modules::{mime, php};
use crate::phase::{self, Hook, Stop};
use crate::representation::{self, Origin, Representation};
use crate::response::Response;
use crate::site::core::PathInfo;
use crate::waiting::{NowOrLater, Waiting};
use message::{Method, Status};
use runtime::file::{Errno, Kind};
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
fn answer<'l>(lookup: &'l mut Lookup<'_>) -> Waiting<'l, Option<Rc<dyn Handler>>> {
    match php::resolve(lookup) {
        Ok(None) => Waiting::only_if(Representation::may_wait(lookup), resolve(lookup)),
        known => NowOrLater::Now(known),
    }
}

/// Take regular files; anything else that is here is a folder that nobody lists, a device, a socket
/// or a FIFO.
async fn resolve(lookup: &mut Lookup<'_>) -> Result<Option<Rc<dyn Handler>>, Stop> {
    check_method(lookup)?;
    if lookup.method == Some(Method::Options)
        && let Some(answer) = options(lookup)
    {
        return Ok(Some(answer));
    }
    let is_served = lookup.method != Some(Method::Options);
    if is_served && phase::is_regular(lookup) && !takes_path_info(lookup) {
        let more = String::from_utf8_lossy(&lookup.path_info);
        let text = format!("File does not exist: {}{more}", lookup.display_path());
        return Err(Failure::new(Status::NOT_FOUND, "core", text).id(128).into());
    }
    let entry = std::mem::replace(&mut lookup.found, Err(Errno::NOENT))
        .map_err(|errno| phase::open_failure(lookup, errno))?;
    match entry.status.kind {
        Kind::File => {}
        Kind::Directory => {
            let text = format!("Attempt to serve directory: {}", lookup.display_path());
            return Err(Failure::new(Status::NOT_FOUND, "core", text).id(129).into());
        }
        Kind::Link | Kind::Other => {
            let text =
                format!("{} is neither a regular file nor a directory", lookup.display_path());
            return Err(Failure::new(Status::FORBIDDEN, "core", text).at_error().into());
        }
    }
    let origin = Origin {
        root: lookup.place.root.clone(),
        below: lookup.place.below.clone(),
        links: lookup.links,
    };
    Ok(Some(Rc::new(Representation::new(entry, lookup, origin).await?)))
}

/// Whether a file answers for what stands behind it in the URL.
fn takes_path_info(lookup: &Lookup<'_>) -> bool {
    lookup.path_info.is_empty() || lookup.settings.core.accept_path_info() == PathInfo::Accept
}

/// Whether the content of a file that is there would be sent, as far as method and URL go.
pub(crate) fn would_send(lookup: &Lookup<'_>) -> bool {
    let is_asked = matches!(lookup.method, Some(Method::Get | Method::Head | Method::Post));
    is_asked && takes_path_info(lookup)
}

/// httpd tells the methods of whatever is no file just the same, whether it is there or not, and of
/// a file that this process may not read (ap_send_http_options). `None` for one that is open, and
/// for what must not be looked at.
fn options(lookup: &Lookup<'_>) -> Option<Rc<dyn Handler>> {
    let is_hidden = phase::is_regular(lookup) && !phase::is_file(lookup);
    let content_type = match &lookup.found {
        Ok(entry) if entry.status.kind == Kind::Directory => {
            let chosen = lookup.content_type.as_deref();
            let named = chosen.or_else(|| mime::SETTINGS.of(&lookup.settings).forced_type());
            Some(named.unwrap_or("httpd/unix-directory").to_owned())
        }
        Err(Errno::NOENT | Errno::NOTDIR) => representation::content_type(lookup),
        Err(_) if is_hidden => representation::content_type(lookup),
        _ => return None,
    };
    let mut response = Response::new(Status::OK).field("Allow", lookup.host.methods());
    if !lookup.is_folder() {
        let known = representation::codings(lookup).into_iter();
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

    fn respond<'l>(self: Rc<Self>, _: &'l mut Lookup<'_>) -> Waiting<'l, Response> {
        NowOrLater::Now(Ok(self.take()))
    }
}

/// Refuse what cannot be done with any file before looking what is there.
pub(crate) fn check_method(lookup: &Lookup<'_>) -> Result<(), Failure> {
    if lookup.method != Some(Method::Options) {
        method_for_file(&lookup.request, lookup.method)?;
    }
    Ok(())
}
