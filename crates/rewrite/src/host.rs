//! Rules of a host, outside of all folders: they see the URL path before any file is looked for
//! (hook_uri2file of mod_rewrite.c).

use crate::apply::Outcome;
use crate::engine::Engine;
use crate::flags::RuleFlags;
use crate::leave::{check_query, has_ended, redirect, refused, to_backend};
use crate::notes;
use crate::result::Scheme;
use crate::rule::Rule;
use crate::settings::{HOST_SETTINGS, HostSettings, Options, SETTINGS};
use crate::trace::{MODULE, Trace, shown};
use message::Status;
use runtime::process;
use server::failure::{Failure, Stop};
use server::mapping::Place;
use server::phase;
use server::request_context::{LookupPurpose, RequestContext};
use server::site::lexical;
use server::steps::StepKind;
use server::waiting::{NowOrLater, Waiting};
use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// Translate hook, before all others.
pub(crate) fn translate<'l>(request: &'l mut RequestContext<'_>) -> Waiting<'l, Option<Place>> {
    let folder = SETTINGS.of(&request.settings);
    let host = HOST_SETTINGS.of(&request.host.modules);
    // A virtual host that says nothing has no rules, though the engine may be on.
    let is_own = host.is_virtual == (request.host.index != 0);
    if !folder.is_on() && is_own && !host.rules.list.is_empty() {
        let count = host.rules.list.len();
        let text = || format!("RewriteEngine is off: {count} rules are not applied");
        request.explain(StepKind::Rule, text);
    }
    if !folder.is_on() || !is_own {
        return NowOrLater::Now(Ok(None));
    }
    let allows_any = folder.options().has(Options::ALLOW_ANY_URI);
    let trace = Trace::of(request);
    if has_ended(request) {
        trace.say(8, request, None, || "Declining, no further rewriting due to END flag".into());
        return NowOrLater::Now(Ok(None));
    }
    if !allows_any && request.path.first() != Some(&b'/') {
        trace.say(8, request, None, || {
            let path = shown(&request.path);
            format!(
                "Declining, request-URI '{path}' is not a URL-path. Consult the manual entry for \
                 the RewriteOptions directive for options and caveats about matching other strings."
            )
        });
        return NowOrLater::Now(Ok(None));
    }
    set_script_url(request);
    if host.rules.list.is_empty() && !trace.is_logged() {
        return NowOrLater::Now(Ok(None));
    }
    Waiting::only_if(host.rules.may_wait(host), rewritten(request, host, trace))
}

/// The variables `SCRIPT_URL` and `SCRIPT_URI`: what the client has asked for.
fn set_script_url(request: &mut RequestContext<'_>) {
    let env = &request.tables.env;
    let known = match request.lineage.purpose {
        LookupPurpose::Sub => Some(env.get("SCRIPT_URL").unwrap_or_default()),
        LookupPurpose::Main | LookupPurpose::Redirected => env.get("REDIRECT_SCRIPT_URL"),
    };
    let url = known.unwrap_or(&request.path).to_vec();
    let uri = [request.base_url(), url.clone()].concat();
    request.tables.env.set("SCRIPT_URL", url);
    request.tables.env.set("SCRIPT_URI", uri);
}

async fn rewritten(
    request: &mut RequestContext<'_>,
    host: &HostSettings,
    trace: Trace,
) -> Result<Option<Place>, Stop> {
    request.mapping.rewritten = Some(request.path.clone());
    request.explain(StepKind::Rule, || "rules of the host".into());
    trace.say_in_log(2, request, None, || {
        let path = shown(&request.path);
        format!("init rewrite engine with requested uri {path}")
    });
    let mut engine = Engine::new(request, None, trace);
    // As long as it stays there, it is what the request is called that fails.
    let outcome = engine.run(&host.rules).await?;
    check_query(request, &outcome, 10410)?;
    match outcome {
        Outcome::Unchanged => {
            // Until another module has found a file, it is what the request is called.
            trace.say(1, request, None, || {
                let url = request.mapping.rewritten.as_deref().unwrap_or_default();
                format!("pass through {}", shown(url))
            });
            Ok(None)
        }
        Outcome::Status(failure) => {
            request.status = Status::OK;
            Err(refused(request, failure))
        }
        Outcome::Refused(failure) => Err(failure.into()),
        Outcome::Changed(change) => {
            let url = request.mapping.rewritten.take().unwrap_or_default();
            if let Some(backend) = url.strip_prefix(b"proxy:") {
                return to_backend(request, backend, change.no_escape, 669).map(Some);
            }
            if change.passes_through {
                request.mapping.own_parents = change.last.map_or(0, |rule| rule.own_parents);
                return pass_through(request, url).map(|()| None);
            }
            if Scheme::of(&url).is_some() {
                return Err(redirect(request, trace, None, url, change));
            }
            let place = local(request, trace, host, &url, change.last);
            if place.is_err() {
                request.mapping.rewritten = Some(url);
            }
            place.map(Some)
        }
    }
}

/// `[PT]`: other modules see the path as if the client had asked for it.
fn pass_through(request: &mut RequestContext<'_>, path: Vec<u8>) -> Result<(), Stop> {
    if path.starts_with(b"/") || path == b"*" {
        request.path = path;
        return Ok(());
    }
    let path = String::from_utf8_lossy(&path).into_owned();
    let line = String::from_utf8_lossy(request.received().view().request_line()).into_owned();
    let text = format!("Invalid URI in request '{path}' '{line}'");
    Err(Failure::new(Status::BAD_REQUEST, "core", text).id(126).at_error().into())
}

/// A path of this server: a file name where its first segment is there, else one below the document
/// root.
fn local(
    request: &mut RequestContext<'_>,
    trace: Trace,
    host: &HostSettings,
    url: &[u8],
    last: Option<&Arc<Rule>>,
) -> Result<Place, Stop> {
    let url = &*home(url);
    trace.say(2, request, None, || format!("local path result: {}", shown(url)));
    if !url.starts_with(b"/") {
        return Err(Failure::new(Status::BAD_REQUEST, MODULE, "").into());
    }
    let options = host.options();
    let is_reduced =
        !options.has(Options::LEGACY_PREFIX_DOC_ROOT) && request.tables.notes.has(notes::REDUCED);
    let last = last.filter(|_| !options.has(Options::UNSAFE_PREFIX_STAT));
    let own_parents = last.map_or(usize::MAX, |rule| rule.own_parents);
    let is_file_name = is_file_name(request, trace, url, last.map(|rule| &**rule));
    let has_prefix = !is_file_name || is_reduced;
    let place = match has_prefix {
        false => phase::place_of(request, url, own_parents)?,
        true => phase::in_document_root(request, url),
    };
    let there = || shown_place(&place, url, has_prefix);
    if has_prefix && !lexical::stays_below(url) {
        // It is refused, whoever makes the place.
        trace.say(1, request, None, || {
            format!("prefixing with document_root of {} FAILED", shown(url))
        });
        phase::check_below(request, &place)?;
        return Ok(place);
    }
    if has_prefix {
        phase::check_below(request, &place)?;
        trace.say(2, request, None, || format!("prefixed with document_root to {}", there()));
    }
    trace.say(1, request, None, || format!("go-ahead with {} [OK]", there()));
    request.mapping.rewritten_slash = Some(url.ends_with(b"/"));
    Ok(place)
}

/// A place as httpd names it: a root itself has the slash of the URL, and slashes are merged below
/// the document root.
fn shown_place(place: &Place, url: &[u8], has_prefix: bool) -> String {
    let mut path = place.path();
    if place.below.is_empty() && url.ends_with(b"/") && !path.ends_with(b"/") {
        path.push(b'/');
    }
    if has_prefix {
        path.dedup_by(|one, before| (*one, *before) == (b'/', b'/'));
    }
    shown(&path).into_owned()
}

/// `/~user/rest` in the home of the user (expand_tildepaths).
fn home(url: &[u8]) -> Cow<'_, [u8]> {
    let Some(rest) = url.strip_prefix(b"/~") else { return url.into() };
    let end = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
    let user = std::str::from_utf8(&rest[..end]).ok().filter(|name| !name.is_empty());
    match user.and_then(process::user_by_name) {
        Some(user) => {
            let home = user.home.as_os_str().as_bytes();
            let home =
                if end < rest.len() { home.strip_suffix(b"/").unwrap_or(home) } else { home };
            [home, &rest[end..]].concat().into()
        }
        None => url.into(),
    }
}

/// Whether a path is the name of a file: its first segment is there, and the rule that made it has
/// it, or it leads to the document root (prefix_stat).
fn is_file_name(
    request: &RequestContext<'_>,
    trace: Trace,
    path: &[u8],
    last: Option<&Rule>,
) -> bool {
    let start = path.iter().position(|byte| *byte != b'/').unwrap_or(path.len());
    let segment = path[start..].split(|byte| *byte == b'/').next().unwrap_or_default();
    let first = match segment {
        b"." | b".." => b"/".to_vec(),
        name => [b"/", name].concat(),
    };
    if request.look_at(&first).is_err() {
        return false;
    }
    let root = shown(&first).into_owned();
    let Some(last) = last else {
        trace.say(3, request, None, || format!("prefix_stat no lastsub subst prefix {root}"));
        return segment != b"..";
    };
    let output = &last.output.text;
    let is_unsafe = last.actions.flags.has(RuleFlags::UNSAFE_PREFIX_STAT);
    trace.say(3, request, None, || {
        format!(
            "prefix_stat compare statpath {root} and lastsub output {output} STATOK {} ",
            u32::from(is_unsafe) << 22
        )
    });
    let starts = |path: &[u8], with: &[u8]| {
        let starts = path.starts_with(with);
        trace.say(5, request, None, || {
            let [path, with] = [path, with].map(shown);
            format!("prefix_stat startsWith({path}, {with}) {}", u8::from(starts))
        });
        starts
    };
    let context_root = || request.mapping.context_info.context_root.as_ref();
    let is_taken = is_unsafe
        || starts(output.as_bytes(), &first)
        || starts(path, &request.document_root())
        || context_root().is_some_and(|root| starts(path, root));
    // No name of a file begins with that, whatever httpd makes of it.
    is_taken && segment != b".."
}
