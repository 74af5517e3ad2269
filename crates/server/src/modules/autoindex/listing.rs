//! From an open folder to its listing: reads names and facts off the serving thread, where the
//! disk may be slow, and lets the renderer make the page.

use super::{Entry, Insert, Options, Page, render};
use crate::context::Context;
use crate::failure::Failure;
use crate::log::sink::local_time;
use crate::modules::mime;
use crate::phase::Mapped;
use crate::request::Request;
use crate::resolve::{self, LinkPolicy, Policies};
use crate::response::Response;
use crate::site::settings::Settings;
use message::{Status, Target};
use runtime::file::{self, Kind};
use std::fs::File;
use std::os::fd::AsFd;
use std::rc::Rc;

/// A folder larger than this is cut off: a listing of it serves nobody and costs everybody.
const NAMES_MAX: usize = 50_000;

/// Where the folder is and what holds for it.
pub(crate) struct Place {
    uri: Vec<u8>,
    directory: Vec<u8>,
    settings: Rc<Settings>,
    links: LinkPolicy,
}

impl Place {
    /// The place that a request was mapped to.
    pub(crate) fn new(mapped: &Mapped<'_>) -> Self {
        let mut directory = mapped.display_path().into_bytes();
        if !directory.ends_with(b"/") {
            directory.push(b'/');
        }
        Self {
            uri: mapped.path.clone(),
            directory,
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
}

/// The listing of `folder`.
pub(crate) async fn respond(
    context: &Context,
    request: &Request,
    folder: File,
    place: Place,
) -> Result<Response, Failure> {
    let links = place.links;
    let found = runtime::blocking(move || read(&folder, links)).await.and_then(|found| {
        found.map_err(std::io::Error::from)
    });
    let found = found.map_err(|error| {
        let text = format!("cannot read folder {}: {error}", place.uri.escape_ascii());
        Failure::new(Status::FORBIDDEN, "autoindex", text).id(1275).at_error()
    })?;
    let framing = request.framing(u64::MAX)?;
    let query = match framing.target {
        Target::Origin { query, .. } | Target::Absolute { query, .. } => query,
        Target::Asterisk | Target::Authority(_) => None,
    };
    let options = &place.settings.autoindex;
    let body = page(context, options, &place, query, &found);
    Ok(Response::page(options.content_type(), body))
}

/// Names and facts of everything that may be shown. A link is shown as what it leads to, and not
/// at all if it may not be followed: the listing must not tell what a request would not.
fn read(folder: &File, links: LinkPolicy) -> Result<Vec<Found>, file::Errno> {
    let mut found = Vec::new();
    for name in file::names(folder)?.into_iter().take(NAMES_MAX) {
        let Ok(status) = resolve::status_of(folder.as_fd(), &name, &Policies::Uniform(links)) else {
            continue;
        };
        if status.kind == Kind::Other {
            continue;
        }
        let is_dir = status.kind == Kind::Directory;
        let mtime_us = status.modified_us();
        found.push(Found { name, is_dir, size: status.size, mtime_us });
    }
    Ok(found)
}

fn page(
    context: &Context,
    options: &Options,
    place: &Place,
    query: Option<&[u8]>,
    found: &[Found],
) -> Vec<u8> {
    let settings = &place.settings;
    let shown: Vec<&Found> =
        found.iter().filter(|entry| !settings.trivet.hides(&entry.name)).collect();
    let types: Vec<mime::Mime<'_>> =
        shown.iter().map(|entry| settings.mime.mime(&context.site().types, &entry.name)).collect();
    let entries: Vec<Entry<'_>> = shown
        .iter()
        .zip(&types)
        .map(|(entry, mime)| Entry {
            name: &entry.name,
            is_dir: entry.is_dir,
            size: entry.size,
            mtime_us: entry.mtime_us,
            content_type: mime.content_type,
            encoding: mime.encoding.as_deref(),
            title: None,
            is_forbidden: false,
        })
        .collect();
    let page = Page {
        uri: &place.uri,
        directory: &place.directory,
        query,
        header: Insert::None,
        readme: Insert::None,
        signature: b"",
        local_time,
    };
    render(options, &entries, &page)
}
