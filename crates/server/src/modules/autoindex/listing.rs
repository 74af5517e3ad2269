//! From an open folder to its listing: reads names and facts off the serving thread, where the
//! disk may be slow, and lets the renderer make the page.

use super::{Entry, Flags, Insert, Options, Page, render, scan_title};
use crate::context::Context;
use crate::failure::Failure;
use crate::handler::Handler;
use crate::log::sink::local_time;
use crate::modules::mime;
use crate::phase::{Mapped, Opened};
use crate::request::Request;
use crate::resolve::{self, LinkPolicy, Policies};
use crate::response::Response;
use crate::site::settings::Settings;
use message::{Status, Target};
use runtime::file::{self, Kind};
use std::fs::File;
use std::io::Read;
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
    fn new(mapped: &Mapped<'_>) -> Self {
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
    title: Option<Vec<u8>>,
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
    let contents = runtime::blocking(move || read(&folder, &wanted))
        .await
        .and_then(|contents| contents.map_err(std::io::Error::from))
        .map_err(|error| {
            let text = format!("cannot read folder {}: {error}", place.uri.escape_ascii());
            Failure::new(Status::FORBIDDEN, "autoindex", text).id(1275).at_error()
        })?;
    let framing = request.framing(u64::MAX)?;
    let query = match framing.target {
        Target::Origin { query, .. } | Target::Absolute { query, .. } => query,
        Target::Asterisk | Target::Authority(_) => None,
    };
    let body = page(context, options, &place, query, &contents);
    Ok(Response::page(options.content_type(), body))
}

/// Names and facts of everything that may be shown. A link is shown as what it leads to, and not
/// at all if it may not be followed: the listing must not tell what a request would not.
fn read(folder: &File, wanted: &Wanted) -> Result<Contents, file::Errno> {
    let mut entries = Vec::new();
    let policies = Policies::Uniform(wanted.links);
    for name in file::names(folder)?.into_iter().take(NAMES_MAX) {
        let Ok(status) = resolve::status_of(folder.as_fd(), &name, &policies) else {
            continue;
        };
        if status.kind == Kind::Other {
            continue;
        }
        let is_dir = status.kind == Kind::Directory;
        let is_page = name.ends_with(b".html") || name.ends_with(b".htm");
        let start = (wanted.titles && is_page && !is_dir)
            .then(|| start_of(folder, &name, &policies, TITLE_BYTES));
        let title = start.flatten().and_then(|start| scan_title(&start));
        let mtime_us = status.modified_us();
        entries.push(Found { name, is_dir, size: status.size, mtime_us, title });
    }
    let inserts = [0, 1].map(|which| {
        let name = wanted.inserts[which].as_ref()?;
        start_of(folder, name.as_bytes(), &policies, INSERT_BYTES)
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
    let shown: Vec<&Found> =
        contents.entries.iter().filter(|entry| !settings.trivet.hides(&entry.name)).collect();
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
            title: entry.title.as_deref(),
            is_forbidden: false,
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
