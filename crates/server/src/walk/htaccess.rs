//! `.htaccess` files: read when they are there, parsed when they have changed, and kept per
//! thread (`htaccess_cache.rs`). A change takes effect with the next request.

use crate::failure::{Failure, Stop};
use crate::htaccess_cache::ParsedFile;
use crate::question;
use crate::request_context::RequestContext;
use crate::site::builder::Builder;
use crate::site::language::Language;
use crate::site::overrides::Overrides;
use crate::site::settings::Section;
use crate::site::startup;
use crate::site::world::AskedSystem;
use config::{ConfigTree, Diagnostic, Node, Severity};
use logging::level::Level;
use logging::message::Message;
use message::Status;
use runtime::clock;
use runtime::file::{self, Errno, FileType};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// The longest file that is read. The longest that are in use are lists of addresses to turn away,
/// of some 100 KiB each; those of whole countries come to one MiB.
const FILE_BYTES_MAX: usize = 2 << 20;

/// A longer file is parsed on another thread. Measured with `SetEnvIf`, each with a pattern to
/// compile, and `Require not ip`: 8 and 3 ms for 64 KiB, 42 and 16 for 256, 150 and 50 for 1 MiB.
const INLINE_BYTES_MAX: usize = 16 << 10;

/// Why there are no settings of a file.
pub(crate) enum NotRead {
    /// There never will be: the request fails.
    Failed(Box<Failure>),
    /// The file is long, and new.
    Long(Box<Long>),
}

impl From<Failure> for NotRead {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

/// A file that another thread has to read, with as much of its text as was read to see that.
pub(crate) struct Long {
    path: Vec<u8>,
    folder: Vec<u8>,
    status: file::FileAttributes,
    is_settled: bool,
    overrides: Overrides,
    file: File,
    text: Vec<u8>,
}

/// What came of a text.
#[derive(Clone)]
struct ParsedText {
    section: Result<Arc<Section>, Arc<str>>,
    /// The files that `<IfFile>` asks for, and whether each was there.
    asked: Vec<(String, bool)>,
    /// What httpd warns about, with its numbers. It does so for each request, here it is once for
    /// each thread and change of the file.
    warnings: Vec<(&'static str, String)>,
}

/// So many warnings of a file are logged: whoever writes it is not trusted with the log.
const WARNINGS_MAX: usize = 20;

/// What the file of `folder` (absolute, without a final slash) says, or has said before to the
/// request on whose behalf this one is; `None` without a file.
///
/// # Errors
/// 500 for a file with an error, 403 for one that cannot be read; a long one that is new has to
/// be waited for first.
pub(crate) fn section(
    request: &RequestContext<'_>,
    folder: &[u8],
    overrides: &Overrides,
) -> Result<Option<Arc<Section>>, NotRead> {
    if let Some(known) = request.access_section(folder, overrides) {
        return Ok(known);
    }
    let found = current(request, folder, overrides)?;
    request.note_access_section(folder, overrides, found.as_ref());
    Ok(found)
}

/// What the file says now.
fn current(
    request: &RequestContext<'_>,
    folder: &[u8],
    overrides: &Overrides,
) -> Result<Option<Arc<Section>>, NotRead> {
    for name in request.host.access_file_names.iter() {
        let path = [folder.strip_suffix(b"/").unwrap_or(folder), b"/", name.as_bytes()].concat();
        let status = match request.look_at(&path) {
            Ok(status) if status.kind == FileType::File => status,
            Ok(_) => return Err(unreadable(&path, folder, "it is not a regular file").into()),
            Err(Errno::NOENT | Errno::NOTDIR) => continue,
            Err(errno) => return Err(not_opened(&path, folder, errno).into()),
        };
        return parsed(request, folder, path, status, overrides).map(Some);
    }
    Ok(None)
}

fn parsed(
    request: &RequestContext<'_>,
    folder: &[u8],
    path: Vec<u8>,
    status: file::FileAttributes,
    overrides: &Overrides,
) -> Result<Arc<Section>, NotRead> {
    let name = String::from_utf8_lossy(&path).into_owned();
    if let Some((known, asks_files)) = request.context.htaccess.get(&path, &status, overrides) {
        if asks_files {
            request.mark_personal();
        }
        return known.map_err(|text| refused(&name, &text).into());
    }
    let error = |error: String| unreadable(&path, folder, &error);
    let is_settled = status.would_show_change(clock::unix_us());
    let file = open(request, &path).map_err(|errno| not_opened(&path, folder, errno))?;
    // It may be newer than `status`; then the next request sees another one, and reads again.
    let text = read(&file, INLINE_BYTES_MAX).map_err(&error)?;
    let overrides = overrides.clone();
    if text.len() > INLINE_BYTES_MAX {
        let folder = folder.to_vec();
        let long = Long { path, folder, status, is_settled, overrides, file, text };
        return Err(NotRead::Long(Box::new(long)));
    }
    let folder = String::from_utf8_lossy(folder);
    let parsed = parse(&request.site().language, &name, &folder, &text, overrides.clone());
    let section = keep(request, path, (status, is_settled), overrides, parsed);
    section.map_err(|text| refused(&name, &text).into())
}

/// Read a long file, for whoever asks for its settings next.
///
/// # Errors
/// 403 if it cannot be read, or is too long; what [`question::elsewhere`] says.
pub(crate) async fn read_long(request: &RequestContext<'_>, long: Long) -> Result<(), Stop> {
    let Long { path, folder, status, is_settled, overrides, mut file, mut text } = long;
    let about = (&path, status.identity, status.modified_ns, status.changed_ns, &overrides);
    let server = request.context.server();
    let [name, in_folder] = [&path, &folder].map(|it| String::from_utf8_lossy(it).into_owned());
    let allowed = overrides.clone();
    let parsed = question::elsewhere(request, &about, move || {
        if !is_settled {
            wait_and_rewind(&mut file)?;
            text.clear();
        }
        text.extend(read(&file, FILE_BYTES_MAX - text.len())?);
        if text.len() > FILE_BYTES_MAX {
            return Err(format!("it is longer than {FILE_BYTES_MAX} bytes"));
        }
        Ok(pattern::ahead(|| parse(&server.site.language, &name, &in_folder, &text, allowed)))
    });
    let parsed = (*parsed.await?).clone();
    let parsed = parsed.map_err(|error| unreadable(&path, &folder, &error))?;
    // Others may have waited for it as well, and one of them was first.
    if request.context.htaccess.get(&path, &status, &overrides).is_some() {
        return Ok(());
    }
    // It has settled by now: whoever has waited for it asks for it again, and finds it.
    let _ = keep(request, path, (status, true), overrides, parsed);
    Ok(())
}

/// Keep what came of a text, and tell the log of it.
fn keep(
    request: &RequestContext<'_>,
    path: Vec<u8>,
    (status, is_settled): (file::FileAttributes, bool),
    overrides: Overrides,
    parsed: ParsedText,
) -> Result<Arc<Section>, Arc<str>> {
    let ParsedText { section, asked, warnings } = parsed;
    warnings.iter().for_each(|(id, text)| warn(request, id, text));
    if !asked.is_empty() {
        request.mark_personal();
    }
    let file = ParsedFile { status, is_settled, overrides, asked, section: section.clone() };
    request.context.htaccess.keep(path, file);
    section
}

fn open(request: &RequestContext<'_>, path: &[u8]) -> Result<File, Errno> {
    match request.below_root(path) {
        Some(below) => {
            let root = request.mapping.place.root.descriptor(request.context.now_s())?;
            let links = file::Links::Follow;
            let opened = file::open_beneath(root.as_fd(), below, links, file::OpenPurpose::Read)?;
            Ok(File::from(opened))
        }
        None => File::open(Path::new(std::ffi::OsStr::from_bytes(path)))
            .map_err(|error| Errno::from_raw_os_error(error.raw_os_error().unwrap_or_default())),
    }
}

/// Wait until another change of the file would show, and go back to its beginning.
fn wait_and_rewind(file: &mut File) -> Result<(), String> {
    #[expect(clippy::disallowed_methods, reason = "this thread does nothing else")]
    std::thread::sleep(file::TICK);
    file.rewind().map_err(|error| error.to_string())
}

/// What comes next in the file: one byte more than `most` if there is more.
fn read(file: &File, most: usize) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

/// From text to settings.
fn parse(
    language: &Language,
    name: &str,
    folder: &str,
    text: &[u8],
    overrides: Overrides,
) -> ParsedText {
    let tree: ConfigTree = config::parse(name, text, 1);
    let mut system = AskedSystem::default();
    let expanded = language.expand(vec![tree], &overrides, &mut system);
    let mut said = expanded.diagnostics;
    let nodes: Vec<Node> = expanded.nodes.into_iter().flatten().collect();
    let section = settings(language, (folder, name), &nodes, overrides, &mut said);
    let before = said.iter().take_while(|said| said.severity != Severity::Error);
    let warnings = before.filter_map(|said| Some((said.id?, said.text.clone())));
    ParsedText { section, asked: system.asked, warnings: warnings.take(WARNINGS_MAX).collect() }
}

/// From lines to settings; what is `said` about them is added to what was said before.
fn settings(
    language: &Language,
    (folder, name): (&str, &str),
    nodes: &[Node],
    overrides: Overrides,
    said: &mut Vec<Diagnostic>,
) -> Result<Arc<Section>, Arc<str>> {
    first_error(said)?;
    let mut builder = Builder::for_htaccess(folder, name, overrides);
    language.introduce(&mut builder);
    said.extend(config::apply(nodes, &language.index, &mut builder));
    first_error(said)?;
    let mut section = builder.into_section().ok_or("the file ends within a section")?;
    section.text_bytes = length(nodes);
    Ok(Arc::new(section))
}

fn first_error(said: &[Diagnostic]) -> Result<(), Arc<str>> {
    let error = said.iter().find(|said| said.severity == Severity::Error);
    error.map_or(Ok(()), |error| Err(error.text.as_str().into()))
}

/// In the log of the host, as httpd does it while it reads the file.
fn warn(request: &RequestContext<'_>, id: &str, text: &str) {
    let logged = startup::logged(id);
    let number = id.strip_prefix("AH").and_then(|number| number.parse().ok());
    let message = Message::new(logged.module, logged.level, number, text.as_bytes());
    request.host.error_log.write(None, &message);
}

/// How long the text is, now that macros are expanded.
fn length(nodes: &[Node]) -> usize {
    let own = |node: &Node| match node {
        Node::Directive(line) => line.text.len(),
        Node::Section(section) => section.line.text.len() + length(&section.body),
    };
    nodes.iter().map(own).sum()
}

/// An error in the file: every request below the folder fails until it is mended.
fn refused(name: &str, text: &str) -> Failure {
    let text = format!("{name}: {text}");
    let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text.clone());
    failure.level(Level::Alert).recurring(text)
}

fn not_opened(path: &[u8], folder: &[u8], errno: Errno) -> Failure {
    unreadable(path, folder, "").os_error(errno.raw_os_error())
}

fn unreadable(path: &[u8], folder: &[u8], reason: &str) -> Failure {
    let (path, folder) = (String::from_utf8_lossy(path), String::from_utf8_lossy(folder));
    let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
    let text = format!(
        "{path} pcfg_openfile: unable to check htaccess file, ensure it is readable and that \
         '{folder}/' is executable{reason}"
    );
    Failure::new(Status::FORBIDDEN, "core", text.clone())
        .recurring(text)
        .id(529)
        .level(Level::Crit)
        .remark("Server unable to read htaccess file, denying access to be safe")
}
