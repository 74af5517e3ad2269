//! The phases of a request, in httpd's order: read, translate, walk, header, admit, type, fixup.
//! Each runs the hooks of the modules that have one; what they find out stands in the
//! [`RequestContext`].

pub mod condition;

use crate::failure::{Failure, Stop};
use crate::handler::Handler;
use crate::hook;
use crate::hostname_lookups;
use crate::input_filter::InputFilter;
use crate::large_future::boxed;
use crate::mapping::Place;
use crate::question;
use crate::request_context::{LookupPurpose, Query, RequestContext};
use crate::response::{Body, Response};
use crate::site::host::Host;
use crate::site::lexical;
use crate::steps::StepKind;
use crate::waiting::{NowOrLater, Waiting};
use crate::{admit, map_question, walk};
use message::path::EncodedSlashes;
use message::{Method, Status};
use runtime::file::{Errno, FileType};
use std::rc::Rc;

/// A longer path is refused: the system takes 4096 bytes with the zero at the end, and APR leaves
/// room for two slashes.
const PATH_BYTES_MAX: usize = 4096 - 4;

/// The filter that the body of this request has to pass, if one has to.
pub fn input_filter(request: &RequestContext<'_>) -> Option<Box<dyn InputFilter>> {
    request.phases().input.and_then(|choose| choose(request))
}

/// Have a shell run a command line with the variables of a request; `None` if no module does that.
pub fn run_command<'l>(
    request: &'l mut RequestContext<'_>,
    line: Vec<u8>,
) -> Option<Waiting<'l, Body>> {
    let run = request.phases().command?;
    Some(run(request, line))
}

/// Everything that is to be known before something can answer. For a look-up this is all there is.
pub async fn process(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    if request.lineage.purpose == LookupPurpose::Sub {
        request.explain(StepKind::LookUp, || request.shown_target());
    }
    translate(request).await?;
    walk(request).await?;
    after_walk(request).await
}

/// Find the file or folder, and what holds for it.
pub async fn walk(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    let layers = walk::walk(request).await?;
    request.explain(StepKind::Place, || request.shown_place());
    // Conditions may look at names, and say which names there are.
    hostname_lookups::prepare(request).await?;
    condition::walk(request, layers).await?;
    hostname_lookups::prepare(request).await
}

/// All that [`process`] does for a request whose place is known.
pub async fn process_place(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    check_depth(request)?;
    check_place(request)?;
    walk(request).await?;
    after_walk(request).await
}

/// From the URL path to a place.
pub(crate) async fn translate(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    if request.host.sections.has_locations() {
        let layers = walk::locations_only(request)?;
        condition::walk(request, layers).await?;
    }
    let mapped = hook::first(&request.phases().translate, request).await;
    if mapped.is_err() {
        // It is called nothing, unless a rule has a name for it.
        request.mapping.rewritten.get_or_insert_default();
    }
    request.mapping.place = match mapped? {
        Some(place) => place,
        None => {
            let place = in_document_root(request, &request.path);
            request.explain(StepKind::Place, || {
                let root = String::from_utf8_lossy(request.host.root.path_bytes());
                format!("below the DocumentRoot {root}")
            });
            place
        }
    };
    check_place(request)?;
    request.mapping.rewritten = None;
    Ok(())
}

/// What comes behind the walk: all there is for a look-up whose place and settings are known.
pub(crate) async fn after_walk(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    request.check_effort()?;
    let phases = request.phases();
    if request.lineage.purpose != LookupPurpose::Sub {
        hook::run(&phases.header, request).await?;
    }
    let admitted = admit::admit(request).await;
    request.explain(StepKind::Access, || admit::shown(&admitted));
    admitted?;
    hook::run(&phases.kind, request).await?;
    hook::run(&phases.fixup, request).await?;
    for hook in &phases.last_fixup {
        hook(request);
    }
    match request.mapping.redirect.take() {
        // What a rule names as well gets what is there, by a name that opens nothing.
        Some(_) if request.negotiated.handler.is_some() => {
            if is_regular(request) {
                request.found = Err(Errno::ACCESS);
            }
            Ok(())
        }
        Some(url) => Err(internal(&url)),
        None => Ok(()),
    }
}

/// Whatever made the place: from here on nothing in it leads up or elsewhere, since the path below
/// a folder is given to the system as it is. Under `MergeSlashes Off` it may have doubled slashes,
/// which hide nothing from the sections for folders (ap_directory_walk of request.c).
fn check_place(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    check_below(request, &request.mapping.place)?;
    let below = &mut request.mapping.place.below;
    let mut parts = below.strip_suffix(b"/").unwrap_or(below).split(|byte| *byte == b'/');
    if !below.is_empty() && parts.any(|part| matches!(part, b"" | b".")) {
        *below = lexical::below_root(below);
    }
    Ok(())
}

/// Whether a place may be looked at: it leads to something below its root, by a name that the
/// system would take as a whole (ap_core_translate, with apr_filepath_merge).
pub fn check_below(request: &RequestContext<'_>, place: &Place) -> Result<(), Failure> {
    let leads_away = |part: &[u8]| part == b".." || part.contains(&0);
    if place.below.split(|byte| *byte == b'/').any(leads_away) {
        let path = String::from_utf8_lossy(&request.path);
        let text = format!("{path} was mapped to a path outside its directory");
        return Err(Failure::new(Status::FORBIDDEN, "core", text).at_error());
    }
    if place.root.path_bytes().len() + place.below.len() > PATH_BYTES_MAX {
        let received = request.received();
        let line = String::from_utf8_lossy(received.view().request_line()).into_owned();
        let failure = Failure::new(Status::FORBIDDEN, "core", format!("Cannot map {line} to file"));
        return Err(failure.id(127).os_error(Errno::NAMETOOLONG.raw_os_error()).at_error());
    }
    Ok(())
}

/// The place of a URL path below the document root (core.c, ap_core_translate): what `ServerPath`
/// names is no part of it.
pub fn in_document_root(request: &RequestContext<'_>, url_path: &[u8]) -> Place {
    let prefix = request.host.server_path.as_deref().unwrap_or_default().as_bytes();
    let rest = url_path.strip_prefix(prefix).unwrap_or(url_path);
    let at_border = prefix.ends_with(b"/") || rest.is_empty() || rest[0] == b'/';
    let path = if at_border { rest } else { url_path };
    let below = path.strip_prefix(b"/").unwrap_or(path);
    // What a rule has made may lead up, as long as it stays below the root.
    let below = match lexical::parents(below) > 0 && lexical::stays_below(below) {
        true => lexical::below_root(below),
        false => below.to_vec(),
    };
    Place { root: request.host.root.clone(), below }
}

/// What answers.
pub async fn resolve(request: &mut RequestContext<'_>) -> Result<Rc<dyn Handler>, Stop> {
    if let Some(handler) = hook::first(&request.phases().resolve, request).await? {
        return Ok(handler);
    }
    let text = format!("no handler accepts {}", request.display_path());
    Err(Failure::new(Status::NOT_FOUND, "core", text).id(128).into())
}

/// Have a handler answer.
pub(crate) async fn run_handler(
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
    if is_script && !request.mapping.path_info.is_empty() && map_question::may_be_asked(request) {
        boxed(|| foresee(request)).await;
    }
    // Only what is waited for becomes part of the caller's future: a response is large.
    match handler.respond(request) {
        NowOrLater::Now(outcome) => outcome,
        NowOrLater::Later(outcome) => outcome.await,
    }
}

/// Find out what `PATH_TRANSLATED` will ask the programs of maps, where that can be waited for.
async fn foresee(request: &RequestContext<'_>) {
    let mut url = Vec::new();
    message::path::encode(&request.mapping.path_info, &mut url);
    if request.spend_look_ahead()
        && let Ok(mut sub) = sub_request(request, &url, Query::None)
    {
        // Whoever may not see it is told where it is all the same.
        let _ = process(&mut sub).await;
        request.common.foreseen.replace(Some((url, file_and_path_info(sub))));
    }
}

/// Look another URL up on behalf of a request: `name` in its folder, or an absolute path, as it
/// would stand in a link (ap_sub_req_lookup_uri): it may lead up, and be escaped. What it may lead
/// to is decided by the rules there.
pub async fn look_up<'a>(
    request: &RequestContext<'a>,
    name: &[u8],
    query: Query,
) -> Result<RequestContext<'a>, Stop> {
    let mut sub = sub_request(request, name, query)?;
    process(&mut sub).await?;
    Ok(sub)
}

/// The same for a part of an answer: if the body of the request is kept, the part gets that and the
/// method (ap_sub_req_method_uri).
pub async fn look_up_part<'a>(
    request: &RequestContext<'a>,
    name: &[u8],
) -> Result<RequestContext<'a>, Stop> {
    let mut sub = sub_request(request, name, Query::None)?;
    if let (Some(_), Some(method)) = (request.kept_body(), request.exact_method()) {
        sub.set_method(method);
    }
    process(&mut sub).await?;
    Ok(sub)
}

/// `PATH_TRANSLATED`: where the path behind a script would lead as a URL, whoever may see that, if
/// it is one at all. The thread itself waits for what has to be waited for (`question::here`).
pub(crate) fn path_translated(request: &RequestContext<'_>) -> Option<Vec<u8>> {
    let mut url = Vec::new();
    message::path::encode(&request.mapping.path_info, &mut url);
    if let Some((of, found)) = request.common.foreseen.take()
        && of == url
    {
        return Some(found);
    }
    if !request.spend_look_ahead() {
        return None;
    }
    let mut sub = sub_request(request, &url, Query::None).ok()?;
    let _ = question::here(request, process(&mut sub));
    Some(file_and_path_info(sub))
}

fn file_and_path_info(found: RequestContext<'_>) -> Vec<u8> {
    [found.filename_with_slash(), found.mapping.path_info].concat()
}

/// The look-up of another URL before anything is known about it.
pub fn sub_request<'a>(
    request: &RequestContext<'a>,
    name: &[u8],
    query: Query,
) -> Result<RequestContext<'a>, Stop> {
    let sub = request_for(request, name, query)?;
    check_depth(&sub)?;
    Ok(sub)
}

/// The same, though the limit of such requests may forbid to go on with it ([`check_depth`]).
pub fn request_for<'a>(
    request: &RequestContext<'a>,
    name: &[u8],
    query: Query,
) -> Result<RequestContext<'a>, Stop> {
    let mut url = Vec::new();
    if name.first() != Some(&b'/') {
        let end = request.path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
        message::path::encode(&request.path[..end], &mut url);
        if url.is_empty() {
            // The file that a look-up began with need not have a URL (ap_make_full_path).
            url.push(b'/');
        }
    }
    let mark = name.iter().position(|byte| *byte == b'?');
    url.extend_from_slice(&name[..mark.unwrap_or(name.len())]);
    let query = match (mark.map(|at| &name[at + 1..]), query.of(request)) {
        (Some(own), Some(query)) => Some([own, b"?", &query[..]].concat()),
        (own, query) => own.map(<[u8]>::to_vec).or(query),
    };
    let mut path = Vec::new();
    let Host { merge_slashes, encoded_slashes, .. } = *request.host;
    message::path::decode_with(&url, &mut path, merge_slashes, encoded_slashes)
        .map_err(|bad| Failure::new(bad.status(), "core", bad.why()).id(10244))?;
    Ok(request.sub(path, query))
}

/// Whether a look-up may be made: of a request that was not redirected too often either
/// (ap_is_recursion_limit_exceeded of core.c).
pub fn check_depth(sub: &RequestContext<'_>) -> Result<(), Stop> {
    let (redirects, limit) = sub.host.internal_limits;
    if sub.lineage.redirects >= redirects {
        return Err(Failure::too_many_redirects(redirects).into());
    }
    if sub.lineage.depth > limit {
        let text = format!(
            "Request exceeded the limit of {limit} subrequest nesting levels due to probable \
             configuration error. Use 'LimitInternalRecursion' to increase the limit if \
             necessary. Use 'LogLevel debug' to get a backtrace."
        );
        let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text);
        return Err(failure.id(125).at_error().into());
    }
    Ok(())
}

/// A name beside the file of `request`, or in it if it is a folder: no module maps its URL, since
/// it is known where the name stands (ap_sub_req_lookup_dirent).
pub async fn look_up_beside<'a>(
    request: &RequestContext<'a>,
    name: &[u8],
    query: Query,
) -> Result<RequestContext<'a>, Stop> {
    look_up_in_folder(request, name, query, &request.mapping.path_info).await
}

/// Look up a name beside the file of `request`, as [`look_up_beside`] does, but without what
/// follows the file in the URL path (ap_sub_req_lookup_file).
pub async fn look_up_file<'a>(
    request: &RequestContext<'a>,
    name: &[u8],
    query: Query,
) -> Result<RequestContext<'a>, Stop> {
    look_up_in_folder(request, name, query, b"").await
}

async fn look_up_in_folder<'a>(
    request: &RequestContext<'a>,
    name: &[u8],
    query: Query,
    path_info: &[u8],
) -> Result<RequestContext<'a>, Stop> {
    let folder = |path: &[u8]| {
        let end = path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
        path[..end].to_vec()
    };
    let url =
        request.path.strip_suffix(request.mapping.path_info.as_slice()).unwrap_or(&request.path);
    let path = [&folder(url), name, path_info].concat();
    let mut below = folder(&request.mapping.place.below);
    below.extend_from_slice(name);
    let mut sub = request.sub(path, query.of(request));
    sub.mapping.place.below = below;
    look_up_at(request, sub, path_info).await
}

/// A look-up whose URL and place below the root of `request` are known.
pub async fn look_up_at<'a>(
    request: &RequestContext<'a>,
    mut sub: RequestContext<'a>,
    path_info: &[u8],
) -> Result<RequestContext<'a>, Stop> {
    check_depth(&sub)?;
    sub.mapping.place.root = request.mapping.place.root.clone();
    sub.mapping.context_info = request.mapping.context_info.clone();
    check_place(&mut sub)?;
    walk(&mut sub).await?;
    if sub.mapping.path_info.is_empty() {
        sub.mapping.path_info = path_info.to_vec();
    }
    after_walk(&mut sub).await?;
    Ok(sub)
}

/// The internal redirect to a URL as it would stand in a request: escaped, with its query
/// (ap_internal_redirect).
pub fn internal(url: &[u8]) -> Stop {
    // What would be a fragment is lost (apr_uri_parse).
    let url = url.split(|byte| *byte == b'#').next().unwrap_or(url);
    match url.iter().position(|byte| *byte == b'?') {
        Some(at) => Stop::Internal(url[..at].to_vec(), Some(url[at + 1..].to_vec())),
        None => Stop::Internal(url.to_vec(), None),
    }
}

/// From the path as it was sent or as a redirect within the server has named it to the one that
/// the server works with (ap_process_request_internal).
pub(crate) fn decode_path(request: &mut RequestContext<'_>) -> Result<(), Failure> {
    let sent = std::mem::take(&mut request.path);
    let Host { merge_slashes, encoded_slashes, .. } = *request.host;
    let decoded =
        message::path::decode_with(&sent, &mut request.path, merge_slashes, encoded_slashes);
    let Err(bad) = decoded else { return Ok(()) };
    request.path.clear();
    let slashes = EncodedSlashes::On;
    if message::path::decode_with(&sent, &mut request.path, merge_slashes, slashes).is_err() {
        request.path.clone_from(&sent); // for the log alone
    }
    Err(bad_path(bad.status(), &sent))
}

/// A path that is none.
fn bad_path(status: Status, sent: &[u8]) -> Failure {
    let sent = String::from_utf8_lossy(sent);
    if status == Status::NOT_FOUND {
        let text = format!("found %2f (encoded '/') in URI path ({sent}), returning 404");
        return Failure::new(status, "core", text).id(26);
    }
    Failure::new(status, "core", format!("invalid URI path ({sent})")).id(10244).at_error()
}

/// Whether the place holds a regular file that this process may read.
pub fn is_file(request: &RequestContext<'_>) -> bool {
    is_regular(request) && request.found.is_ok()
}

/// Whether the place holds a regular file. That is enough for a script, which whoever runs it has
/// to be allowed to read, and not this process.
pub fn is_regular(request: &RequestContext<'_>) -> bool {
    request.kind() == Some(FileType::File)
}

/// The place of a path that is known per request only. It is made normal as httpd does
/// (ap_server_root_relative), but only `own_parents` segments `..` are the administrator's: a
/// client must not bring any in through a group of a regular expression or the name of a host.
pub fn place_of(
    request: &RequestContext<'_>,
    path: &[u8],
    own_parents: usize,
) -> Result<Place, Stop> {
    let own_parents = own_parents.saturating_add(request.mapping.own_parents);
    if lexical::parents(path) > own_parents || path.contains(&0) {
        let text = format!(
            "{} would be mapped to {}, which is outside the configured directory",
            String::from_utf8_lossy(&request.path),
            String::from_utf8_lossy(path)
        );
        return Err(Failure::new(Status::FORBIDDEN, "alias", text).at_error().into());
    }
    Ok(Place { root: request.site().slash.clone(), below: lexical::below_root(path) })
}
