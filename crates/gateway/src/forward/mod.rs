//! A request that goes to a backend by its URL: what becomes of the URL on its way there, and of it
//! `PATH_INFO` and the name of the script (proxy_fixup of mod_proxy.c, proxy_fcgi_canon and
//! send_environment of mod_proxy_fcgi.c).

mod balanced;
mod named;

pub use named::{PROXY_FCGI, name_backend};

use crate::proxy::{
    Balancer, DIRECTIVES, HOST_SETTINGS, Passed, ProxyWorker, SETTINGS, split_socket, url,
};
use crate::proxy_fcgi;
use crate::proxy_fcgi::{FcgiJob, FcgiTarget};
use balanced::BalancerGroup;
use logging::level::Level;
use message::Status;
use message::path::EncodedSlashes;
use server::failure::{Failure, Stop};
use server::handler::Handler;
use server::hook::Hook;
use server::mapping::Place;
use server::module::{Hooks, Module};
use server::phase::{self, place_of};
use server::request_context::RequestContext;
use server::request_state::RequestKey;
use server::waiting::{NowOrLater, Waiting};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// mod_proxy and its table.
pub static PROXY: Module = Module::new(
    "proxy_module",
    "mod_proxy.c",
    DIRECTIVES,
    Hooks {
        translate: Some(Hook::Now(translate)),
        fixup: Some(Hook::Waits(fixup)),
        resolve: Some(Hook::Now(resolve)),
        ..Hooks::NONE
    },
);

/// The key of what is kept for a request that goes to a backend.
pub(super) static FORWARD: RequestKey<Forward> = RequestKey::new();

/// The request, as a line of the configuration has it. Its URL, `scheme://host/path`, is the
/// request's own (`request.mapping.backend`); once it is resolved it is as the backend is told it.
#[derive(Clone, Debug)]
pub(super) struct Forward {
    /// The path is as the client sent it.
    pub(super) is_raw: bool,
    /// The socket of the backend, if the line names one.
    socket: Option<PathBuf>,
    /// The backend with groups in its name that the line has made.
    worker: Option<String>,
    /// What is asked for, once that is known.
    pub(super) job: Option<FcgiJob>,
}

/// Translate hook, before all others: the line of a section, else the first one of the host
/// (proxy_trans of mod_proxy.c).
pub(crate) fn translate(request: &mut RequestContext<'_>) -> Result<Option<Place>, Stop> {
    request.mapping.backend = None;
    FORWARD.set(&mut request.state, None);
    let of_host = &HOST_SETTINGS.of(&request.host.modules).passes;
    let is_path = request.path.first() == Some(&b'/');
    let says_nothing = of_host.is_empty() && SETTINGS.of(&request.settings).pass.is_none();
    if says_nothing || !is_path || request.tables.env.has("no-proxy") {
        return Ok(None);
    }
    let settings = request.settings.clone();
    let of_section = SETTINGS.of(&settings).pass.as_ref();
    for pass in of_section.into_iter().chain(of_host) {
        match pass.apply(request)? {
            Passed::No => {}
            Passed::Never => return Ok(None),
            Passed::To(url, is_raw) => {
                request.mark_personal();
                request.mapping.backend = Some(url);
                let (socket, worker) = (pass.socket.clone(), pass.worker.clone());
                let forward = Forward { is_raw, socket, worker, job: None };
                FORWARD.set(&mut request.state, Some(forward));
                // A place that nobody opens: with a backend `walk` collects `<Proxy>` sections
                // instead.
                return Ok(Some(Place { root: request.host.root.clone(), below: Vec::new() }));
            }
        }
    }
    Ok(None)
}

/// Fixup hook, before all others: the URL becomes what the application is told.
pub(crate) fn fixup<'l>(request: &'l mut RequestContext<'_>) -> Waiting<'l, ()> {
    if request.mapping.backend.is_none() {
        return NowOrLater::Now(Ok(()));
    }
    Waiting::only_if(is_found_here(request), canonical(request))
}

async fn canonical(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    let Some(url) = request.mapping.backend.clone() else { return Ok(()) };
    let (url, forward) = match FORWARD.of(&request.state) {
        Some(forward) => (url, forward.clone()),
        None => of_rule(request, &url)?,
    };
    let Some(rest) = of_fcgi(&url).filter(|_| is_there(request, "proxy_fcgi_module")) else {
        return Ok(());
    };
    let shown = String::from_utf8_lossy(rest).into_owned();
    let Some(authority) = shown.strip_prefix("//").and_then(|it| it.split('/').next()) else {
        return Err(bad_url(&shown, "Malformed URL").into());
    };
    let target = FcgiTarget::new(forward.socket.clone(), authority)
        .map_err(|text| bad_url(&shown, &text))?;
    let job = job(request, target, path_of(&url), &forward).await?;
    if let Some(forward) = FORWARD.change(&mut request.state) {
        forward.job = Some(job);
    }
    Ok(())
}

/// A request whose URL is one of a rule (`[P]`), and no line of this module has seen. The rule may
/// name a socket, too: `unix:/path|fcgi://host/`.
fn of_rule(request: &mut RequestContext<'_>, url: &[u8]) -> Result<(Vec<u8>, Forward), Stop> {
    let text = String::from_utf8_lossy(url).into_owned();
    let Some((socket, url)) = split_socket(&text) else {
        return Err(bad_url(&text, "Malformed URL").into());
    };
    let url = url.into_owned().into_bytes();
    let is_raw = request.tables.notes.has(RAW_NOTE);
    let forward = Forward { is_raw, socket, worker: None, job: None };
    request.mapping.backend = Some(url.clone());
    FORWARD.set(&mut request.state, Some(forward.clone()));
    Ok((url, forward))
}

/// The note of a rule whose URL goes on as it is (`[NE]`).
const RAW_NOTE: &str = "proxy-nocanon";

fn of_fcgi(url: &[u8]) -> Option<&[u8]> {
    let scheme = url.get(..5)?;
    scheme.eq_ignore_ascii_case(b"fcgi:").then(|| &url[5..])
}

/// Resolve hook, before all others: nothing but the proxy answers for such a request.
pub(crate) fn resolve(request: &mut RequestContext<'_>) -> Result<Option<Rc<dyn Handler>>, Stop> {
    let (Some(url), Some(forward)) = (&request.mapping.backend, FORWARD.of(&request.state)) else {
        return Ok(None);
    };
    if let Some(job) = &forward.job {
        return Ok(Some(Rc::new(job.clone())));
    }
    let text = String::from_utf8_lossy(url).into_owned();
    let Some((scheme, _)) = text.split_once(':') else {
        let text = format!("proxy_handler no URL in proxy:{text}");
        return Err(Failure::new(Status::BAD_REQUEST, "proxy", text).id(1141).into());
    };
    let Some(balancer) = balancer(request, &text) else {
        return Err(no_protocol(request, scheme).into());
    };
    let path = path_of(url).to_vec();
    let group = BalancerGroup { balancer: balancer.clone(), path, is_raw: forward.is_raw };
    Ok(Some(Rc::new(group)))
}

fn is_there(request: &RequestContext<'_>, symbol: &str) -> bool {
    request.site().language.has_module(symbol)
}

/// The group of a URL, if the module for groups is there.
pub(super) fn balancer<'l>(request: &RequestContext<'l>, url: &str) -> Option<&'l Arc<Balancer>> {
    let host = request.host;
    HOST_SETTINGS
        .of(&host.modules)
        .balancer(url)
        .filter(|_| is_there(request, "proxy_balancer_module"))
}

/// What stands behind the host, without the slash between them.
fn path_of(url: &[u8]) -> &[u8] {
    let start = url.windows(3).position(|three| three == b"://").map_or(0, |at| at + 3);
    let slash = url[start..].iter().position(|byte| *byte == b'/');
    slash.map_or(&[], |at| &url[start + at + 1..])
}

fn bad_url(url: &str, why: &str) -> Failure {
    let text = format!("error parsing URL {url}: {why}");
    Failure::new(Status::BAD_REQUEST, "proxy_fcgi", text).id(1059).at_error()
}

/// Nobody speaks the protocol of a URL (proxy_handler of mod_proxy.c).
pub(crate) fn no_protocol(request: &RequestContext<'_>, scheme: &str) -> Failure {
    let text = format!(
        "No protocol handler was valid for the URL {} (scheme '{scheme}'). Only fcgi:// is \
         supported, and balancer:// where there is a <Proxy> of that name with members",
        String::from_utf8_lossy(&request.path)
    );
    Failure::new(Status::INTERNAL_SERVER_ERROR, "proxy", text).id(1144).level(Level::Warn)
}

/// What the backend of a URL is asked for: `path` stands behind the host and the slash.
async fn job(
    request: &mut RequestContext<'_>,
    target: FcgiTarget,
    path: &[u8],
    forward: &Forward,
) -> Result<FcgiJob, Stop> {
    let (file, is_on_disk) = script(request, path, forward.is_raw).await?;
    let url = [target.url().as_bytes(), &file[..]].concat();
    let host_end = target.url().len();
    let own = forward.worker.as_deref();
    let hosts = HOST_SETTINGS.of(&request.host.modules);
    let worker = hosts.worker(&url, host_end, target.socket(), own).cloned();
    show(request, url);
    Ok(FcgiJob::new(Arc::new(target), worker, Some(file), is_on_disk))
}

/// The same of a member of a group.
pub(super) async fn member_job(
    request: &mut RequestContext<'_>,
    (member, target): (&Arc<ProxyWorker>, FcgiTarget),
    path: &[u8],
    is_raw: bool,
) -> Result<FcgiJob, Stop> {
    let (file, is_on_disk) = script(request, path, is_raw).await?;
    show(request, [target.url().as_bytes(), &file[..]].concat());
    let job = FcgiJob::new(Arc::new(target), Some(member.clone()), Some(file), is_on_disk);
    Ok(job.of_member())
}

/// From here on the request is known by the URL that the application is told.
fn show(request: &mut RequestContext<'_>, url: Vec<u8>) {
    if let Some(known) = &mut request.mapping.backend {
        *known = url;
    }
}

/// The name of the script behind the host, and whether it is that of a file that was found here.
async fn script(
    request: &mut RequestContext<'_>,
    path: &[u8],
    is_raw: bool,
) -> Result<(Vec<u8>, bool), Stop> {
    let encoded = match is_raw {
        true => {
            check_raw(request, path)?;
            path.to_vec()
        }
        false => {
            let keeps_slashes = request.host.encoded_slashes == EncodedSlashes::NoDecode;
            url::encode(path, keeps_slashes).ok_or_else(|| {
                Failure::new(Status::BAD_REQUEST, "proxy", "a path with half an escape in it")
            })?
        }
    };
    let file = [b"/", &encoded[..]].concat();
    let on_disk = if is_found_here(request) { on_disk(request, path).await? } else { None };
    find_path_info(request, &file);
    let Some(found) = on_disk else { return Ok((file, false)) };
    request.mapping.path_info = found.info;
    Ok((found.file, true))
}

/// Whether the file of the script is looked for on this machine.
fn is_found_here(request: &RequestContext<'_>) -> bool {
    env(request).as_deref() == Some("full")
}

/// How `PATH_INFO` is to be found (`proxy-fcgi-pathinfo`).
fn env(request: &RequestContext<'_>) -> Option<String> {
    let value = request.tables.env.get("proxy-fcgi-pathinfo")?;
    Some(String::from_utf8_lossy(value).to_ascii_lowercase())
}

/// Have `PATH_INFO` be what follows the name of the script, if the configuration wants it found in
/// one of httpd's ways. As in httpd the name keeps it: the application takes it off.
pub(crate) fn find_path_info(request: &mut RequestContext<'_>, file: &[u8]) {
    let behind = |dot: Option<usize>| {
        let dot = dot?;
        let slash = file[dot..].iter().position(|byte| *byte == b'/')?;
        Some(url::unescape(&file[dot + slash..]))
    };
    let info = match env(request).as_deref() {
        None | Some("full") => None,
        Some("first-dot") => behind(file.iter().position(|byte| *byte == b'.')),
        Some("last-dot") => behind(file.iter().rposition(|byte| *byte == b'.')),
        Some("unescape") => Some(url::unescape(file)),
        Some(_) => Some(file.to_vec()),
    };
    if let Some(info) = info {
        request.mapping.path_info = info;
    }
}

/// A file that was found here, and what follows its name.
struct OnDisk {
    file: Vec<u8>,
    info: Vec<u8>,
}

/// The file that is there, by its whole name or below the document root, and what follows it.
async fn on_disk(request: &RequestContext<'_>, path: &[u8]) -> Result<Option<OnDisk>, Stop> {
    let path = [b"/", path].concat();
    let below_root = [request.host.root.path_bytes(), &path[..]].concat();
    for name in [path, below_root] {
        let mut sub = request.sub(name.clone(), None);
        sub.mapping.place = place_of(request, &name, 0)?;
        if phase::walk(&mut sub).await.is_ok() && phase::is_regular(&sub) {
            return Ok(Some(OnDisk {
                file: sub.mapping.place.path(),
                info: sub.mapping.path_info,
            }));
        }
    }
    Ok(None)
}

/// What goes on as it was sent must not mean something else there: to php-fpm a query begins with
/// a `?` wherever it stands.
fn check_raw(request: &RequestContext<'_>, path: &[u8]) -> Result<(), Failure> {
    let is_fpm = proxy_fcgi::SETTINGS.of(&request.settings).may_be_fpm();
    let is_bad = |byte: &u8| byte.is_ascii_control() || is_fpm && *byte == b'?';
    if !path.iter().any(is_bad) {
        return Ok(());
    }
    let mark = if is_fpm { " or '?'" } else { "" };
    let text =
        format!("To be forwarded path contains control characters{mark} ({})", path.escape_ascii());
    Err(Failure::new(Status::FORBIDDEN, "proxy_fcgi", text).id(10414).at_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stands_behind_the_host() {
        for (url, path) in [
            ("fcgi://h/a/b", "a/b"),
            ("fcgi://h", ""),
            ("fcgi://h/", ""),
            ("balancer://x//a", "/a"),
            ("x", ""),
        ] {
            assert_eq!(path_of(url.as_bytes()), path.as_bytes(), "{url}");
        }
    }
}
