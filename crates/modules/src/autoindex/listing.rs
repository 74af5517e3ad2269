//! From an open folder to its listing: reads names and facts off the serving thread, where the
//! disk may be slow, and lets the renderer make the page.

use super::insert::{self, Insertable, Inserted};
use super::{IndexEntry, IndexFlags, IndexPage, Insert, SETTINGS, render, scan_title};
use crate::{mime, trivet};
use logging::sink::local_time;
use message::{Method, Status};
use runtime::file::{self, Errno, FileType};
use scoreboard::WaitCause;
use server::Server;
use server::evaluate::handler_name;
use server::failure::{Failure, Stop};
use server::handler::Handler;
use server::metadata::Metadata;
use server::phase;
use server::request_context::RequestContext;
use server::resolve::{self, LinkPolicy, Policies};
use server::response::Response;
use server::site::settings::Settings;
use server::waiting::{NowOrLater, Waiting};
use server::{accounting, admit, description, walk};
use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;

/// Names that are looked at before others of the thread get their turn.
const NAMES_PER_TURN: usize = 500;

/// A folder larger than this is cut off: a listing of it serves nobody and costs everybody.
const NAMES_MAX: usize = 50_000;

/// A name with its facts.
struct ListedFile {
    name: Vec<u8>,
    is_dir: bool,
    size: u64,
    mtime_us: i64,
    title: Option<Vec<u8>>,
    is_forbidden: bool,
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

/// What a request of its own would meet. What conditions say needs a whole look-up; so does a
/// folder, whose index file may be refused (mod_autoindex.c, make_autoindex_entry).
async fn access(request: &RequestContext<'_>, folder: &File, name: &[u8]) -> Access {
    let policies = Policies::Uniform(request.settings.core.links());
    let status = resolve::status_of(folder.as_fd(), name, &policies);
    let is_dir = status.is_ok_and(|status| status.kind == FileType::Directory);
    let Ok(beside) = walk::beside(request, name).await else { return Access::Denied };
    let walk::Beside { settings, below, url } = &beside;
    if trivet::SETTINGS.of(settings).hides(url) || trivet::SETTINGS.of(settings).hides(below) {
        return Access::Hidden;
    }
    let is_admitted = match is_dir || !settings.core.ifs.is_empty() {
        true => is_found(request, &beside, is_dir).await,
        false => admit::would_admit(request, &beside).await,
    };
    if is_admitted { Access::Granted } else { Access::Denied }
}

/// Whether a look-up of the name, of a folder with its slash, comes to anything but an error.
async fn is_found(request: &RequestContext<'_>, beside: &walk::Beside, is_dir: bool) -> bool {
    let slash: &[u8] = if is_dir { b"/" } else { b"" };
    let mut sub = request.sub([&beside.url, slash].concat(), None);
    sub.mapping.place.below = [&beside.below, slash].concat();
    match phase::look_up_at(request, sub, b"").await {
        Ok(_) | Err(Stop::Internal(..)) => true,
        Err(Stop::Failure(failure)) => !failure.status.is_error(),
    }
}

/// What to make a page of, on whichever thread.
struct WantedListing {
    server: Arc<Server>,
    settings: Arc<Settings>,
    folder: File,
    /// HeaderName and ReadmeName.
    inserts: [Option<Insertable>; 2],
    uri: Vec<u8>,
    query: Option<Vec<u8>>,
    directory: Vec<u8>,
    signature: Vec<u8>,
}

/// What was read.
struct FolderContents {
    entries: Vec<ListedFile>,
    inserts: [Option<Inserted>; 2],
}

/// How much of a page is searched for its title.
const TITLE_BYTES: u64 = 8 * 1024;

/// Resolve hook: let a folder be listed.
pub(crate) fn resolve(request: &mut RequestContext<'_>) -> Result<Option<Rc<dyn Handler>>, Stop> {
    if !request.is_folder() || !request.mapping.path_info.is_empty() {
        return Ok(None);
    }
    if handler_name::configured(request)?.is_some_and(|name| name != "httpd/unix-directory") {
        return Ok(None);
    }
    if !request.method().is_some_and(Method::is_get_or_head) {
        return Ok(None);
    }
    if !request.settings.core.lists_directories() {
        return Err(forbidden(request).into());
    }
    let entry = std::mem::replace(&mut request.found, Err(Errno::NOENT))
        .map_err(|errno| request.open_failure(errno))?;
    Ok(Some(Rc::new(Listing(Cell::new(Some(entry.file))))))
}

/// The open folder that is to be listed.
struct Listing(Cell<Option<File>>);

impl Handler for Listing {
    fn name(&self) -> &'static str {
        "httpd/unix-directory"
    }

    fn respond<'l>(self: Rc<Self>, request: &'l mut RequestContext<'_>) -> Waiting<'l, Response> {
        let Some(folder) = self.0.take() else {
            return NowOrLater::Now(Err(forbidden(request).into()));
        };
        NowOrLater::boxed(|| async move { Ok(respond(request, folder).await?) })
    }
}

fn forbidden(request: &RequestContext<'_>) -> Failure {
    let path = request.display_path();
    let tried = request.tables.notes.get("dir-index-names").unwrap_or(b"none");
    let tried = String::from_utf8_lossy(tried);
    let text = format!(
        "Cannot serve directory {path}: No matching DirectoryIndex ({tried}) found, and \
         server-generated directory index forbidden by Options directive"
    );
    Failure::new(Status::FORBIDDEN, "autoindex", text).id(1276).at_error()
}

/// The listing of `folder`.
async fn respond(request: &RequestContext<'_>, folder: File) -> Result<Response, Failure> {
    let settings = request.settings.clone();
    let options = SETTINGS.of(&settings);
    request.mark_personal();
    let unreadable = |error: std::io::Error| {
        let text = format!("cannot read directory {}: {error}", request.path.escape_ascii());
        Failure::new(Status::FORBIDDEN, "autoindex", text).id(1275).at_error()
    };
    let spent = request.spent();
    let read_names = move || file::names(&folder).map(|names| (names, folder));
    let names = accounting::blocking(spent, WaitCause::Disk, read_names)
        .await
        .and_then(|names| names.map_err(std::io::Error::from));
    let (mut names, folder) = names.map_err(unreadable)?;
    names.truncate(NAMES_MAX);
    let names = visible(request, &folder, names).await;
    let inserts = insert::find(request, [&options.header_name, &options.readme_name]).await;
    let mut directory = request.mapping.place.path();
    if !directory.ends_with(b"/") {
        directory.push(b'/');
    }
    let wanted = WantedListing {
        server: request.context.server(),
        settings: settings.clone(),
        folder,
        inserts,
        uri: request.path.clone(),
        query: request.query().map(<[u8]>::to_vec),
        directory,
        signature: request.signature(""),
    };
    let read = move || (read(&wanted, names), wanted);
    let read = accounting::blocking(spent, WaitCause::Disk, read).await;
    let (contents, wanted) = read.map_err(unreadable)?;
    // To sort and to write 50,000 names takes longer than to read them, and 20 MB: no more pages
    // are made at once than there are cores.
    let body = accounting::compute(spent, move |_| page(&wanted, &contents)).await;
    let mut response = Response::page(options.content_type(), body.map_err(unreadable)?);
    // What they say is not compared with conditions of the request, in httpd neither.
    if let Some(status) = &request.mapping.status
        && options.flags().has(IndexFlags::TRACK_MODIFIED)
    {
        response.fields = description::folder_validators(request, status);
    }
    Ok(response)
}

/// Names that may be shown, and whether a request for each would be refused. Others of this thread
/// get their turn in a folder of many names.
async fn visible(
    request: &RequestContext<'_>,
    folder: &File,
    names: Vec<Vec<u8>>,
) -> Vec<(Vec<u8>, bool)> {
    let mut shown = Vec::with_capacity(names.len());
    for (nth, name) in names.into_iter().enumerate() {
        if nth % NAMES_PER_TURN == NAMES_PER_TURN - 1 {
            runtime::thread::yield_now().await;
        }
        match access(request, folder, &name).await {
            Access::Hidden => {}
            access => shown.push((name, access == Access::Denied)),
        }
    }
    shown
}

/// Facts of everything that may be shown. A link is shown as what it leads to. One that may not be
/// followed is forbidden: without ShowForbidden the listing does not tell what a request would not.
fn read(wanted: &WantedListing, names: Vec<(Vec<u8>, bool)>) -> FolderContents {
    let WantedListing { settings, folder, .. } = wanted;
    let titles = SETTINGS.of(settings).flags().has(IndexFlags::SCAN_HTML_TITLES);
    let mut entries = Vec::new();
    let policies = Policies::Uniform(settings.core.links());
    let shows_forbidden = SETTINGS.of(settings).flags().has(IndexFlags::SHOW_FORBIDDEN);
    for (name, mut is_forbidden) in names {
        let mut status = resolve::status_of(folder.as_fd(), &name, &policies);
        if status == Err(Errno::LOOP) && shows_forbidden {
            is_forbidden = true;
            let follow = Policies::Uniform(LinkPolicy::Follow);
            status = resolve::status_of(folder.as_fd(), &name, &follow);
        }
        let Ok(status) = status else { continue };
        if status.kind == FileType::Other {
            continue;
        }
        let is_dir = status.kind == FileType::Directory;
        let is_page = name.ends_with(b".html") || name.ends_with(b".htm");
        let start = (titles && is_page && !is_dir && !is_forbidden)
            .then(|| start_of(folder, &name, &policies));
        let title = start.flatten().and_then(|start| scan_title(&start));
        let mtime_us = status.modified_us();
        entries.push(ListedFile { name, is_dir, size: status.size, mtime_us, title, is_forbidden });
    }
    let [header, readme] = &wanted.inserts;
    let inserts = [header, readme].map(|found| found.as_ref().and_then(Insertable::read));
    FolderContents { entries, inserts }
}

/// The first bytes of a file in the folder, if it may be read.
fn start_of(folder: &File, name: &[u8], policies: &Policies<'_>) -> Option<Vec<u8>> {
    let (file, status) = resolve::open(folder.as_fd(), name, policies).ok()?;
    let mut start = Vec::new();
    let readable =
        status.kind == FileType::File && file.take(TITLE_BYTES).read_to_end(&mut start).is_ok();
    readable.then_some(start)
}

fn page(wanted: &WantedListing, contents: &FolderContents) -> Vec<u8> {
    let options = SETTINGS.of(&wanted.settings);
    let found = &contents.entries;
    // Of all that is known of a name only this is kept: there may be many.
    let kind = |entry: &ListedFile| {
        let Metadata { content_type, encoding, .. } =
            mime::metadata(&wanted.settings, &wanted.server.site, &entry.name);
        (content_type, encoding)
    };
    let kinds: Vec<_> = found.iter().map(kind).collect();
    let entries: Vec<IndexEntry<'_>> = found
        .iter()
        .zip(&kinds)
        .map(|(entry, (content_type, encoding))| IndexEntry {
            name: &entry.name,
            is_dir: entry.is_dir,
            size: entry.size,
            mtime_us: entry.mtime_us,
            content_type: *content_type,
            encoding: encoding.as_deref(),
            title: entry.title.as_deref(),
            is_forbidden: entry.is_forbidden,
        })
        .collect();
    let [header, readme] = &contents.inserts;
    let page = IndexPage {
        uri: &wanted.uri,
        directory: &wanted.directory,
        query: wanted.query.as_deref(),
        header: header.as_ref().map_or(Insert::None, Inserted::insert),
        readme: readme.as_ref().map_or(Insert::None, Inserted::insert),
        signature: &wanted.signature,
        local_time,
    };
    render(options, &entries, &page)
}
