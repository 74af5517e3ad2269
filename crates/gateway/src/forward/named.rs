//! A request that goes to a backend by the name of its handler:
//! `SetHandler "proxy:unix:/run/php/php8.2-fpm.sock|fcgi://localhost"` (mod_proxy_fcgi).

use super::balanced::BalancerGroup;
use super::find_path_info;
use crate::proxy;
use crate::proxy_fcgi::{DIRECTIVES, FcgiJob, NAME, PREFIX, TargetHandler};
use message::Status;
use server::evaluate::handler_name;
use server::failure::{Failure, Stop};
use server::handler::Handler;
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::phase;
use server::request_context::RequestContext;
use server::script;
use server::site::builder::Builder;
use server::site::settings::DirectoryKey;
use server::site::store::Merge;
use server::waiting::{NowOrLater, Waiting};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// mod_proxy_fcgi and its table.
pub static PROXY_FCGI: Module = Module::new(
    "proxy_fcgi_module",
    "mod_proxy_fcgi.c",
    DIRECTIVES,
    Hooks { resolve: Some(Hook::Waits(resolve)), ..Hooks::NONE },
);

/// Resolve hook: the handler of a script that is there, or of URLs that an application has for
/// itself (`SetHandler` in a `<Location>`).
pub(crate) fn resolve<'l>(
    request: &'l mut RequestContext<'_>,
) -> Waiting<'l, Option<Rc<dyn Handler>>> {
    let target = match target(request) {
        Ok(Some(target)) => target,
        Ok(None) => return NowOrLater::Now(Ok(None)),
        Err(stop) => return NowOrLater::Now(Err(stop)),
    };
    // What answers is known from here on; what it answers is for this request only.
    let depends_on_path = !request.is_personal();
    request.mark_personal();
    let checks_url = target.owns_urls && script::has_own_url(request);
    Waiting::only_if(checks_url, async move {
        check_name(request)?;
        if checks_url {
            let name = handler_name::configured(request)?.unwrap_or_default().into_owned();
            script::check_own_url(request, &name, NAME).await?;
        }
        let handler = job(request, &target)?;
        // What was looked up so far decided by path and files alone, so that the next request like
        // this one may skip it (`script_cache.rs`): therefore asked before `mark_personal`, and set
        // after all that may still refuse.
        request.may_be_cached = depends_on_path;
        Ok(Some(handler))
    })
}

/// The key of the backend that `SetHandler` names.
static BACKEND: DirectoryKey<HandlerBackend> = DirectoryKey::new();

/// What the name of a handler says that is a backend's: read once, with the configuration.
#[derive(Clone, Debug, Default)]
struct HandlerBackend(Option<Arc<TargetHandler>>);

impl Merge for HandlerBackend {}

/// Note what `SetHandler` names, if that is a backend. Any other name, and an expression (empty
/// here), which may come to any, ends what an outer section has named.
pub fn name_backend(builder: &mut Builder, name: &str) {
    let is_backend = name.starts_with(PREFIX);
    let named = is_backend.then(|| {
        let (folder, owns_urls) = (&builder.server.runtime_dir, builder.is_in_location());
        Arc::new(TargetHandler::new(name, folder, owns_urls))
    });
    BACKEND.change(builder.settings()).0 = named;
}

/// Whom the configuration names for the request; `None` if there is nothing to be run.
fn target(request: &RequestContext<'_>) -> Result<Option<Arc<TargetHandler>>, Stop> {
    let Some(name) = handler_name::configured(request)?.filter(|name| name.starts_with(PREFIX))
    else {
        return Ok(None);
    };
    let known = BACKEND.of(&request.settings).0.as_ref().filter(|it| it.is_named(&name));
    let target = match known {
        Some(known) => known.clone(),
        None => Arc::new(TargetHandler::new(&name, Path::new(""), false)),
    };
    // What `Action ... virtual` leads to need not be there: the script is what follows it.
    let may_be_missing = target.owns_urls || request.lineage.notes_before.has("virtual_script");
    if !phase::is_regular(request) && !may_be_missing {
        return Ok(None); // the answer is the same as without a handler
    }
    Ok(Some(target))
}

/// What a handler that names a target is to do.
fn job(request: &mut RequestContext<'_>, named: &TargetHandler) -> Result<Rc<dyn Handler>, Stop> {
    let target = match named.target() {
        Ok(target) => target,
        Err(_) if named.is_group() => {
            let group = BalancerGroup::of_handler(request, named.url())?;
            return Ok(Rc::new(group));
        }
        Err(text) => {
            let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "proxy", text);
            return Err(failure.id(1144).at_error().into());
        }
    };
    let file = request.mapping.place.path();
    find_path_info(request, &file);
    let proxy = proxy::HOST_SETTINGS.of(&request.host.modules);
    let worker = proxy.has_workers().then(|| {
        let url = [target.url().as_bytes(), &file[..]].concat();
        proxy.worker(&url, target.url().len(), target.socket(), None).cloned()
    });
    Ok(Rc::new(FcgiJob::new(target.clone(), worker.flatten(), None, false)))
}

/// php-fpm would take what stands behind a question mark for a query (mod_proxy_fcgi.c,
/// `proxy_fcgi_canon`).
fn check_name(request: &RequestContext<'_>) -> Result<(), Failure> {
    let path = request.mapping.place.path();
    if path.iter().all(|byte| !byte.is_ascii_control() && *byte != b'?') {
        return Ok(());
    }
    let text =
        format!("To be forwarded path contains control characters or '?': {}", path.escape_ascii());
    Err(Failure::new(Status::FORBIDDEN, NAME, text).id(10414).at_error())
}
