//! What becomes of a request in both contexts when its rules have been applied: it is refused, sent
//! elsewhere, or handed on to a backend.

use crate::apply::{Change, Outcome};
use crate::notes;
use crate::result::{Scheme, escaped, has_controls, with_prefix};
use crate::settings::FolderSettings;
use crate::trace::{MODULE, Trace, shown};
use message::Status;
use server::failure::{Failure, Stop};
use server::mapping::Place;
use server::request_context::{LookupPurpose, RequestContext};

/// Whether a rule with `END` has come up for the request already.
pub(crate) fn has_ended(request: &mut RequestContext<'_>) -> bool {
    if request.lineage.purpose == LookupPurpose::Sub {
        return request.tables.notes.has(notes::END_OF_LOOK_UP);
    }
    if request.lineage.notes_before.has(notes::END) {
        request.tables.notes.set(notes::END, "1");
    }
    request.tables.notes.has(notes::END)
}

/// A query that is sent on as it is has to be one.
pub(crate) fn check_query(
    request: &RequestContext<'_>,
    outcome: &Outcome<'_>,
    id: u32,
) -> Result<(), Stop> {
    let url = request.mapping.rewritten.as_deref().unwrap_or_default();
    // What is passed through is no URL here, whatever it looks like.
    let is_as_it_is = match outcome {
        Outcome::Unchanged => return Ok(()),
        Outcome::Changed(change) => change.no_escape || change.passes_through,
        Outcome::Status(_) | Outcome::Refused(_) => false,
    };
    let is_escaped = Scheme::of(url).is_some() && !is_as_it_is;
    if is_escaped || !request.query().is_some_and(has_controls) {
        return Ok(());
    }
    let text = "Rewritten query string contains control characters or spaces";
    Err(Failure::new(Status::FORBIDDEN, MODULE, text).id(id).at_error().into())
}

/// The answer that a rule has given. Where it is one about the method, no method is known to be
/// allowed but the one that needs no file (make_allow of http_protocol.c).
pub(crate) fn refused(request: &RequestContext<'_>, failure: Failure) -> Stop {
    if !matches!(failure.status, Status::METHOD_NOT_ALLOWED | Status::NOT_IMPLEMENTED) {
        return failure.into();
    }
    let is_traced = request.host.methods().ends_with("TRACE");
    failure.field("Allow", if is_traced { "TRACE" } else { "" }).into()
}

/// `[P]`: the request goes to a backend. Whether somebody speaks its protocol shows later.
pub(crate) fn to_backend(
    request: &mut RequestContext<'_>,
    url: &[u8],
    no_escape: bool,
    id: u32,
) -> Result<Place, Stop> {
    if !request.site().language.has_module("proxy_module") {
        let text = format!(
            "attempt to make remote request from mod_rewrite without proxy enabled: proxy:{}",
            String::from_utf8_lossy(url)
        );
        return Err(Failure::new(Status::FORBIDDEN, MODULE, text).id(id).at_error().into());
    }
    request.mark_personal();
    let mut url = url.to_vec();
    if no_escape {
        request.tables.notes.set("proxy-nocanon", "1");
        if let Some(query) = request.query() {
            url.push(b'?');
            url.extend_from_slice(query);
        }
    }
    request.mapping.backend = Some(url);
    Ok(Place { root: request.host.root.clone(), below: Vec::new() })
}

/// The client is sent elsewhere. In a folder with a base the part of the path that is the folder is
/// that of the URL.
pub(crate) fn redirect(
    request: &mut RequestContext<'_>,
    trace: Trace,
    within: Option<(&str, &FolderSettings)>,
    mut url: Vec<u8>,
    change: Change<'_>,
) -> Stop {
    let Change { no_escape, has_new_query, .. } = change;
    let folder = within.map(|within| within.0);
    if let Some((folder, settings)) = within
        && let Some(base) = &settings.base
    {
        url = with_base(request, trace, folder, base, url);
    }
    if let Some(scheme) = Scheme::of(&url).filter(|_| !no_escape) {
        trace.say(1, request, folder, || format!("escaping {} for redirect", shown(&url)));
        url = escaped(&url, scheme);
    }
    if let Some(query) = request.query() {
        let as_it_is = no_escape || !has_new_query;
        let mut added = Vec::new();
        match as_it_is {
            true => added.extend_from_slice(query),
            false => message::path::encode(query, &mut added),
        }
        url.push(b'?');
        url.extend_from_slice(&added);
        trace.say(1, request, folder, || {
            let how = if as_it_is { "copying" } else { "escaping" };
            let [query, added] = [query, &added].map(shown);
            let added = if as_it_is { "".into() } else { added };
            format!("{how} {query} to query string for redirect {added}")
        });
    }
    let status = match request.status.code() {
        300..400 => std::mem::replace(&mut request.status, Status::OK),
        _ => Status::FOUND,
    };
    trace.say(1, request, folder, || {
        format!("redirect to {} [REDIRECT/{}]", shown(&url), status.code())
    });
    request.mapping.rewritten = Some(url.clone());
    Failure::redirect(status, url).into()
}

/// A URL in which the path of the folder is replaced by its base.
fn with_base(
    request: &RequestContext<'_>,
    trace: Trace,
    folder: &str,
    base: &str,
    url: Vec<u8>,
) -> Vec<u8> {
    let skip = Scheme::of(&url).map_or(0, |scheme| scheme.length);
    let slash = url[skip..].iter().position(|byte| *byte == b'/').map(|at| skip + at + 1);
    let Some(start) = slash.filter(|start| *start < url.len()) else { return url };
    trace
        .say(2, request, Some(folder), || format!("trying to replace prefix {folder} with {base}"));
    let from = folder.strip_prefix('/').unwrap_or(folder);
    let path = substituted(request, trace, &url[start..], from, &base[1..]);
    path.map_or(url.clone(), |path| [&url[..start], &path].concat())
}

/// A path in another folder (subst_prefix_path).
pub(crate) fn substituted(
    request: &RequestContext<'_>,
    trace: Trace,
    path: &[u8],
    from: &str,
    to: &str,
) -> Option<Vec<u8>> {
    let replaced = with_prefix(path, from.as_bytes(), to.as_bytes())?;
    let from = from.strip_suffix('/').unwrap_or(from);
    let rest = shown(&path[from.len() + 1..]).into_owned();
    trace.say(5, request, None, || format!("strip matching prefix: {} -> {rest}", shown(path)));
    trace.say(4, request, None, || format!("add subst prefix: {rest} -> {}", shown(&replaced)));
    Some(replaced)
}
