//! From an open folder to its listing: reads names and facts off the serving thread, where the
//! disk may be slow, and lets the renderer make the page.

use super::{Entry, Flags, Insert, Options, Page, render, scan_title};
use crate::context::Context;
use crate::failure::Failure;
use crate::handler::Handler;
use crate::log::sink::local_time;
use crate::modules::{mime, php};
use crate::phase::{Mapped, Opened};
use crate::request::Request;
use crate::resolve::{self, LinkPolicy, Policies, Root};
use crate::response::Response;
use crate::server::Server;
use crate::site::locate::Merged;
use crate::site::settings::Settings;
use message::{Method, Status};
use runtime::file::{self, Kind};
use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;

/// A folder larger than this is cut off: a listing of it serves nobody and costs everybody.
const NAMES_MAX: usize = 50_000;

/// Where the folder is and what holds for it.
pub(crate) struct Place {
    uri: Vec<u8>,
    directory: Vec<u8>,
    root: Arc<Root>,
    below: Vec<u8>,
    settings: Rc<Settings>,
    links: LinkPolicy,
}

impl Place {
    /// The place that a request was mapped to.
    fn new(mapped: &Mapped<'_>) -> Self {
        let mut directory = mapped.display_path().into_bytes();
        if !directory.ends_with(b"/") {
            directory.push(b'/');
        }
        Self {
            uri: mapped.path.clone(),
            directory,
            root: mapped.root.clone(),
            below: mapped.below.clone(),
            settings: mapped.settings.clone(),
            links: mapped.settings.core.links(),
        }
    }
}

/// A name with its facts.
struct Found {
    name: Vec<u8>,
    is_dir: bool,
    size: u64,
    mtime_us: i64,
    title: Option<Vec<u8>>,
    is_forbidden: bool,
}

/// Who looks into which folder: what this client would be refused, the listing does not tell.
struct Visitor {
    server: Arc<Server>,
    client: SocketAddr,
    local: SocketAddr,
    root: Arc<Root>,
    /// Path of the folder below `root`.
    below: Vec<u8>,
    /// URL path of the folder.
    uri: Vec<u8>,
}

/// What a GET for a name would meet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Granted,
    /// A `Require` refuses it: shown with ShowForbidden only.
    Denied,
    /// HiddenNames: never shown.
    Hidden,
}

impl Visitor {
    fn new(context: &Context, request: &Request, place: &Place) -> Self {
        Self {
            server: context.server().clone(),
            client: request.client,
            local: request.local,
            root: place.root.clone(),
            below: place.below.clone(),
            uri: place.uri.clone(),
        }
    }

    /// Asks what the access phase would ask of a request of its own. As in httpd the name of a
    /// folder is looked up without a slash behind it (mod_autoindex.c, make_autoindex_entry).
    fn access(&self, merged: &Merged, name: &[u8]) -> Access {
        let (below, url) = (joined(&self.below, name), joined(&self.uri, name));
        let sections = &self.server.site.host.sections;
        let settings = sections.settings(merged, &self.root, &below, &url);
        if settings.trivet.hides(&url) || settings.trivet.hides(&below) {
            return Access::Hidden;
        }
        match settings.authz.allows(self.client, self.local, Method::Get) {
            true => Access::Granted,
            false => Access::Denied,
        }
    }
}

/// The path of `name` in `folder`.
fn joined(folder: &[u8], name: &[u8]) -> Vec<u8> {
    let slash: &[u8] = if folder.is_empty() || folder.ends_with(b"/") { b"" } else { b"/" };
    [folder, slash, name].concat()
}

/// What to read of a folder.
struct Wanted {
    links: LinkPolicy,
    titles: bool,
    /// HeaderName and ReadmeName.
    inserts: [Option<String>; 2],
}

/// What was read.
struct Contents {
    entries: Vec<Found>,
    /// The texts of HeaderName and ReadmeName, where the files are there.
    inserts: [Option<Vec<u8>>; 2],
}

/// The text above or below a listing is cut off here.
const INSERT_BYTES: u64 = 64 * 1024;

/// How much of a page is searched for its title.
const TITLE_BYTES: u64 = 8 * 1024;

/// Let a folder be listed.
pub(crate) fn resolve(opened: Opened<'_>) -> Handler {
    Handler::Listing { place: Place::new(opened.mapped), folder: opened.file }
}

/// The listing of `folder`.
pub(crate) async fn respond(
    context: &Context,
    request: &Request,
    folder: File,
    place: Place,
) -> Result<Response, Failure> {
    let options = &place.settings.autoindex;
    let wanted = Wanted {
        links: place.links,
        titles: options.flags().has(Flags::SCAN_HTML_TITLES),
        inserts: [options.header_name.clone(), options.readme_name.clone()],
    };
    let visitor = Visitor::new(context, request, &place);
    let contents = runtime::blocking(move || read(&folder, &wanted, &visitor))
        .await
        .and_then(|contents| contents.map_err(std::io::Error::from))
        .map_err(|error| {
            let text = format!("cannot read folder {}: {error}", place.uri.escape_ascii());
            Failure::new(Status::FORBIDDEN, "autoindex", text).id(1275).at_error()
        })?;
    let body = page(context, options, &place, request.query(), &contents);
    Ok(Response::page(options.content_type(), body))
}

/// Names and facts of everything that may be shown. A link is shown as what it leads to, and not
/// at all if it may not be followed: the listing must not tell what a request would not.
fn read(folder: &File, wanted: &Wanted, visitor: &Visitor) -> Result<Contents, file::Errno> {
    let mut entries = Vec::new();
    let (policies, merged) = (Policies::Uniform(wanted.links), Merged::default());
    for name in file::names(folder)?.into_iter().take(NAMES_MAX) {
        let access = visitor.access(&merged, &name);
        if access == Access::Hidden {
            continue;
        }
        let Ok(status) = resolve::status_of(folder.as_fd(), &name, &policies) else {
            continue;
        };
        if status.kind == Kind::Other {
            continue;
        }
        let (is_dir, is_forbidden) = (status.kind == Kind::Directory, access == Access::Denied);
        let is_page = name.ends_with(b".html") || name.ends_with(b".htm");
        let start = (wanted.titles && is_page && !is_dir && !is_forbidden)
            .then(|| start_of(folder, &name, &policies, TITLE_BYTES));
        let title = start.flatten().and_then(|start| scan_title(&start));
        let mtime_us = status.modified_us();
        entries.push(Found { name, is_dir, size: status.size, mtime_us, title, is_forbidden });
    }
    let inserts = [0, 1].map(|which| {
        let name = wanted.inserts[which].as_ref()?.as_bytes();
        let is_script = php::classify(name) != php::Script::No;
        let is_granted = !is_script && visitor.access(&merged, name) == Access::Granted;
        is_granted.then(|| start_of(folder, name, &policies, INSERT_BYTES)).flatten()
    });
    Ok(Contents { entries, inserts })
}

/// The first bytes of a file in the folder, if it may be read.
fn start_of(folder: &File, name: &[u8], policies: &Policies<'_>, bytes: u64) -> Option<Vec<u8>> {
    let (file, status) = resolve::open(folder.as_fd(), name, policies).ok()?;
    let mut start = Vec::new();
    let readable = status.kind == Kind::File && file.take(bytes).read_to_end(&mut start).is_ok();
    readable.then_some(start)
}

fn page(
    context: &Context,
    options: &Options,
    place: &Place,
    query: Option<&[u8]>,
    contents: &Contents,
) -> Vec<u8> {
    let settings = &place.settings;
    let found = &contents.entries;
    let types: Vec<mime::Mime<'_>> =
        found.iter().map(|entry| settings.mime.mime(&context.site().types, &entry.name)).collect();
    let entries: Vec<Entry<'_>> = found
        .iter()
        .zip(&types)
        .map(|(entry, mime)| Entry {
            name: &entry.name,
            is_dir: entry.is_dir,
            size: entry.size,
            mtime_us: entry.mtime_us,
            content_type: mime.content_type,
            encoding: mime.encoding.as_deref(),
            title: entry.title.as_deref(),
            is_forbidden: entry.is_forbidden,
        })
        .collect();
    let page = Page {
        uri: &place.uri,
        directory: &place.directory,
        query,
        header: insert(options.header_name.as_deref(), contents.inserts[0].as_deref()),
        readme: insert(options.readme_name.as_deref(), contents.inserts[1].as_deref()),
        signature: b"",
        local_time,
    };
    render(options, &entries, &page)
}

/// HTML is copied into the page, anything else shown as it is.
fn insert<'a>(name: Option<&str>, text: Option<&'a [u8]>) -> Insert<'a> {
    match (name, text) {
        (Some(name), Some(text)) if name.ends_with(".html") || name.ends_with(".htm") => {
            Insert::Html(text)
        }
        (Some(_), Some(text)) => Insert::Text(text),
        _ => Insert::None,
    }
}
