//! Rules of a folder: of a `<Directory>` or a `.htaccess` file. The file is known by then, so what
//! they change is asked for once more, by an internal redirect (hook_fixup of mod_rewrite.c).

use crate::apply::Outcome;
use crate::engine::Engine;
use crate::leave::{check_query, has_ended, redirect, refused, substituted, to_backend};
use crate::notes;
use crate::result::Scheme;
use crate::settings::{FolderSettings, HOST_SETTINGS, Options, SETTINGS};
use crate::trace::{MODULE, Trace, shown};
use message::Status;
use server::failure::{Failure, Stop};
use server::request_context::{KEEPS_VARY, RequestContext};
use server::steps::StepKind;
use server::waiting::{NowOrLater, Waiting};

/// Fixup hook, before all others.
pub(crate) fn fixup<'l>(request: &'l mut RequestContext<'_>) -> Waiting<'l, ()> {
    let settings = SETTINGS.of(&request.settings);
    let has_rules = settings.is_on() && settings.folder.is_some();
    if !settings.is_on() && !settings.rules.list.is_empty() {
        let count = settings.rules.list.len();
        let text = || format!("RewriteEngine is off: {count} rules are not applied");
        request.explain(StepKind::Rule, text);
    }
    // Without rules there is nothing to do but to say so.
    let has_work = !settings.rules.list.is_empty() || !request.tables.notes.is_empty();
    if !has_rules || !has_work && !Trace::of(request).is_logged() {
        return NowOrLater::Now(Ok(()));
    }
    let may_wait = settings.rules.may_wait(HOST_SETTINGS.of(&request.host.modules));
    Waiting::only_if(may_wait, rewritten(request))
}

async fn rewritten(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    let settings = request.settings.clone();
    let settings = SETTINGS.of(&settings);
    let Some(folder) = settings.folder.as_deref() else { return Ok(()) };
    let trace = Trace::of(request);
    let file = request.filename_with_slash();
    let is_proxied = request.mapping.backend.is_some();
    // The folder without its slash: mod_dir sends the client to the right URL.
    let is_folder_itself = folder.strip_suffix('/').is_some_and(|path| path.as_bytes() == file);
    if is_folder_itself && !is_proxied && !settings.options().has(Options::ALLOW_NO_SLASH) {
        return Ok(());
    }
    if has_ended(request) {
        trace.say(8, request, Some(folder), || {
            "Declining, no further rewriting due to END flag".into()
        });
        return Ok(());
    }
    check_links(request)?;
    let path_info = request.mapping.path_info.clone();
    request.mapping.rewritten = Some(file.clone());
    request.explain(StepKind::Rule, || format!("rules of {folder}, which see the path below that"));
    let mut engine = Engine::new(request, Some(folder), trace);
    // As long as it stays there, it is what the request is called that fails.
    let outcome = engine.run(&settings.rules).await?;
    check_query(request, &outcome, 10411)?;
    match outcome {
        Outcome::Unchanged => {
            let url = request.mapping.rewritten.take().unwrap_or_default();
            trace.say(1, request, Some(folder), || format!("pass through {}", shown(&url)));
            request.mapping.path_info = path_info;
            Ok(())
        }
        Outcome::Status(failure) => {
            request.status = Status::OK;
            Err(refused(request, failure))
        }
        Outcome::Refused(failure) => Err(failure.into()),
        Outcome::Changed(change) => {
            let url = request.mapping.rewritten.take().unwrap_or_default();
            if let Some(backend) = url.strip_prefix(b"proxy:") {
                return to_backend(request, backend, change.no_escape, 10160).map(drop);
            }
            if Scheme::of(&url).is_some() && !change.passes_through {
                return Err(redirect(request, trace, Some((folder, settings)), url, change));
            }
            again(request, trace, (folder, settings), &file, url)
        }
    }
}

/// Without links a rule could lead past what `Options` forbids.
fn check_links(request: &RequestContext<'_>) -> Result<(), Stop> {
    if request.settings.core.follows_some_links() {
        return Ok(());
    }
    let text = format!(
        "Options FollowSymLinks and SymLinksIfOwnerMatch are both off, so the RewriteRule \
         directive is also forbidden due to its similar ability to circumvent directory \
         restrictions : {}",
        request.display_path()
    );
    Err(Failure::new(Status::FORBIDDEN, MODULE, text).id(670).at_error().into())
}

/// A path of this server: ask for it as if the client had.
fn again(
    request: &mut RequestContext<'_>,
    trace: Trace,
    (folder, settings): (&str, &FolderSettings),
    file: &[u8],
    path: Vec<u8>,
) -> Result<(), Stop> {
    if !path.starts_with(b"/") {
        request.mapping.rewritten = Some(path);
        return Err(Failure::new(Status::BAD_REQUEST, MODULE, "").into());
    }
    if path == file {
        trace.say(1, request, Some(folder), || {
            let path = shown(&path);
            format!("initial URL equal rewritten URL: {path} [IGNORING REWRITE]")
        });
        return Ok(());
    }
    let url = url_of(request, trace, (folder, settings), path);
    trace.say(1, request, Some(folder), || {
        let url = shown(&url);
        format!("internal redirect with {url} [INTERNAL REDIRECT]")
    });
    let mut whole = url.clone();
    if let Some(query) = request.query() {
        whole.push(b'?');
        whole.extend_from_slice(query);
    }
    request.tables.notes.set(KEEPS_VARY, "");
    request.mapping.rewritten = Some([b"redirect:", &url[..]].concat());
    request.mapping.redirect = Some(whole);
    Ok(())
}

/// The URL path of a file name: below the base, the document root, or what an alias covers.
fn url_of(
    request: &RequestContext<'_>,
    trace: Trace,
    (folder, settings): (&str, &FolderSettings),
    path: Vec<u8>,
) -> Vec<u8> {
    let replaced = match &settings.base {
        Some(base) => {
            trace.say(2, request, Some(folder), || {
                format!("trying to replace prefix {folder} with {base}")
            });
            substituted(request, trace, &path, folder, base)
        }
        None => {
            let root = request.document_root();
            let root = root.strip_suffix(b"/").unwrap_or(&root);
            let rest = path.strip_prefix(root).filter(|rest| rest.starts_with(b"/"));
            rest.map(|rest| {
                trace.say(2, request, Some(folder), || {
                    let [path, rest] = [&path, rest].map(shown);
                    format!("strip document_root prefix: {path} -> {rest}")
                });
                rest.to_vec()
            })
        }
    };
    if let Some(replaced) = replaced {
        return replaced;
    }
    let info = &request.mapping.context_info;
    if settings.options().has(Options::IGNORE_CONTEXT_INFO) {
        return path;
    }
    let root = info.context_root.clone().unwrap_or_else(|| request.document_root());
    let [root, prefix] = [&root, &info.prefix].map(|it| String::from_utf8_lossy(it).into_owned());
    trace.say(2, request, Some(folder), || {
        format!("trying to replace context docroot {root} with context prefix {prefix}")
    });
    substituted(request, trace, &path, &root, &prefix).unwrap_or(path)
}

/// Last fixup hook: what `[T=...]` and `[H=...]` have said holds from here on (hook_mimetype).
pub(crate) fn force(request: &mut RequestContext<'_>) {
    if request.tables.notes.is_empty() {
        return;
    }
    let note = |name| {
        let value = request.tables.notes.get(name).filter(|value| !value.is_empty());
        value.map(|value| String::from_utf8_lossy(value).into_owned())
    };
    let (media_type, handler) = (note(notes::MEDIA_TYPE), note(notes::HANDLER));
    if media_type.is_none() && handler.is_none() {
        return;
    }
    let trace = Trace::of(request);
    if let Some(name) = media_type {
        trace.say(1, request, None, || {
            format!("force filename {} to have MIME-type '{name}'", request.display_path())
        });
        request.negotiated.content_type = Some(name);
    }
    if let Some(name) = handler {
        trace.say(1, request, None, || {
            let file = request.display_path();
            format!("force filename {file} to have the Content-handler '{name}'")
        });
        request.negotiated.handler = Some(name);
    }
}
