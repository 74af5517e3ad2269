//! proxy_fcgi: requests for a script go to a FastCGI application, which is PHP-FPM as a rule:
//! `SetHandler "proxy:unix:/run/php/php8.2-fpm.sock|fcgi://localhost"` (mod_proxy_fcgi).
//!
//! The script is a regular file that the server itself has found; what stands behind its name in
//! the URL is PATH_INFO, and the application never has to guess. `relay.rs` carries bytes both
//! ways, `answer.rs` makes a response of what comes back.

pub(crate) mod answer;
pub(crate) mod relay;
mod settings;

pub(crate) use settings::Settings;

use crate::accounting::{self, Spent, Waits};
use crate::failure::Failure;
use crate::handler::{self, Handler};
use crate::log::level::Level;
use crate::lookup::Lookup;
use crate::phase::{self, Stop};
use crate::pool::{Lease, Options};
use crate::response::Response;
use crate::script::body::Body;
use crate::script::environment::environment;
use crate::site::builder::Builder;
use crate::table::Table;
use config::Module;
use fastcgi::Params;
use message::{Method, Status};
use relay::{Relay, Talk};
use runtime::backend::Address;
use scoreboard::Cause;
use settings::BackendType;
use std::io;
use std::net::ToSocketAddrs;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// The module and its table.
pub(crate) static MODULE: Module<Builder> = Module {
    name: "proxy_fcgi_module",
    file: "mod_proxy_fcgi.c",
    directives: settings::DIRECTIVES,
};

/// The name of the module in the log.
const NAME: &str = "proxy_fcgi";

/// The port of FastCGI where a URL names none (`fcgi_canon` of mod_proxy_fcgi.c).
const DEFAULT_PORT: u16 = 8000;

/// When an application goes away while it has a request that does no harm and has not answered, it
/// is asked again after these: when one that ends has ended, and the next has begun. (Where the
/// connection was an old one, another one is tried before that.)
const RETRY_RESTS: [Duration; 3] =
    [Duration::from_millis(20), Duration::from_millis(100), Duration::from_millis(300)];

/// The application that a handler names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    place: Place,
    /// What stands before the path of the script in `SCRIPT_FILENAME`: `proxy:fcgi://localhost`.
    /// php-fpm cuts it off, and knows by it that it need not guess which file is meant.
    prefix: String,
}

/// Where it listens.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// A socket in the file system.
    Socket(PathBuf),
    /// Host and port.
    Port(String),
}

/// Resolve hook: the handler of a script that is there.
pub(crate) fn resolve(lookup: &mut Lookup<'_>) -> Result<Option<Handler>, Stop> {
    let Some(name) = handler::configured(lookup)?.map(std::borrow::Cow::into_owned) else {
        return Ok(None);
    };
    let Some(url) = name.strip_prefix("proxy:") else { return Ok(None) };
    if !phase::is_file(lookup) {
        return Ok(None); // nothing to be run: the answer is the same as without a handler
    }
    let target = parse(url).map_err(|text| {
        Failure::new(Status::INTERNAL_SERVER_ERROR, "proxy", text).id(1144).at_error()
    })?;
    lookup.mark_personal();
    Ok(Some(Handler::FastCgi(Box::new(target))))
}

/// `unix:/path|fcgi://localhost` or `fcgi://host:port`.
fn parse(url: &str) -> Result<Target, String> {
    let (socket, rest) = match url.strip_prefix("unix:").and_then(|rest| rest.split_once('|')) {
        Some((path, rest)) => (Some(path), rest),
        None => (None, url),
    };
    let authority = match rest.strip_prefix("fcgi:") {
        Some(rest) => rest.trim_start_matches('/'),
        None => {
            return Err(format!(
                "No protocol handler was valid for the URL {url} (scheme '{}'). Only \
                 fcgi:// is there",
                rest.split(':').next().unwrap_or_default()
            ));
        }
    };
    let authority = authority.split('/').next().unwrap_or_default();
    let prefix = match authority {
        "" => "proxy:fcgi://localhost".to_owned(),
        authority => format!("proxy:fcgi://{authority}"),
    };
    let place = match socket {
        Some(path) if path.starts_with('/') => Place::Socket(path.into()),
        Some(path) => return Err(format!("the path of the socket is not absolute: {path}")),
        None if authority.is_empty() => return Err(format!("no host in {url}")),
        None => Place::Port(with_port(authority)),
    };
    Ok(Target { place, prefix })
}

fn with_port(authority: &str) -> String {
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    match authority.rsplit_once(':').is_some_and(|(_, port)| is_port(port)) {
        true => authority.to_owned(),
        false => format!("{authority}:{DEFAULT_PORT}"),
    }
}

impl Target {
    /// What the log calls it.
    fn shown(&self) -> String {
        match &self.place {
            Place::Socket(path) => path.display().to_string(),
            Place::Port(host) => host.clone(),
        }
    }

    /// Where to connect to: all addresses of a host, whose name is looked up by a helper.
    async fn addresses(&self, spent: &Spent) -> io::Result<Vec<Address>> {
        let host = match &self.place {
            Place::Socket(path) => return Ok(vec![Address::Unix(path.clone())]),
            Place::Port(host) => host.clone(),
        };
        if let Ok(address) = host.parse() {
            return Ok(vec![Address::Tcp(address)]);
        }
        let look_up = move || host.to_socket_addrs().map(Iterator::collect::<Vec<_>>);
        let found = accounting::blocking(spent, Cause::Helper, look_up).await??;
        match found.is_empty() {
            true => Err(io::ErrorKind::NotFound.into()),
            false => Ok(found.into_iter().map(Address::Tcp).collect()),
        }
    }

    /// Have the script run, and answer with what it says.
    pub(crate) async fn respond(&self, lookup: &mut Lookup<'_>) -> Result<Response, Stop> {
        check_name(lookup)?;
        let mut body = Body::of(lookup).await.map_err(Failure::from)?;
        let head = self.request(lookup, &body);
        // To ask again does no harm, and nothing of the request is lost.
        let is_safe = matches!(body, Body::None)
            && matches!(lookup.method, Some(Method::Get | Method::Head | Method::Options));
        let timeout_ms = lookup.host.timing.timeout_ms;
        let addresses = self.addresses(&lookup.request.spent).await;
        let addresses =
            addresses.map_err(|error| answer::failure(self, relay::Fault::Unreachable(error)))?;
        let pool = lookup.context.pool(&addresses[0]);
        let mut rests = RETRY_RESTS.iter();
        let mut may_be_kept = is_safe;
        loop {
            let mut waits = Waits::new(lookup.request.spent.clone());
            waits.now_for(Some(Cause::BackendConnect));
            let watch = lookup.context.pools();
            let lease = Lease::of(&pool, watch, Options::default(), timeout_ms).await;
            let lease = lease.map_err(|full| answer::failure(self, relay::Fault::Full(full)))?;
            let talk = Talk {
                body: std::mem::replace(&mut body, Body::None),
                timeout_ms,
                log: answer::Log::of(lookup, answer::Voice::Proxy),
            };
            let mut relay =
                Relay::start(lease, &addresses, head.clone(), talk, (waits, may_be_kept))
                    .await
                    .map_err(|fault| answer::failure(self, fault))?;
            match relay.head().await {
                Ok(head) => return answer::response(lookup, head, relay).await,
                Err(fault) if is_safe && relay.is_untouched(&fault) => {
                    if !relay.was_kept() {
                        let rest = rests.next().ok_or_else(|| answer::failure(self, fault))?;
                        drop(relay);
                        runtime::timer::sleep(*rest).await;
                    }
                    may_be_kept = false;
                    let text = format!("{} went away without an answer: once more", self.shown());
                    lookup.log(Level::Info, NAME, None, &text);
                }
                Err(fault) => return Err(answer::failure(self, fault).into()),
            }
        }
    }

    /// What is sent first, and what it makes of the answer.
    fn request(&self, lookup: &mut Lookup<'_>, body: &Body) -> Rc<(Vec<u8>, fastcgi::Exchange)> {
        let settings = lookup.settings.clone();
        let mut env = environment(lookup, settings.core.variables());
        if let Body::Spooled(spool) = body {
            env.set("CONTENT_LENGTH", spool.length().to_string());
        }
        if settings.proxy_fcgi.backend_type() == BackendType::Fpm {
            let file = env.get("SCRIPT_FILENAME").unwrap_or_default();
            let file = [self.prefix.as_bytes(), file].concat();
            env.set("SCRIPT_FILENAME", file);
        }
        lookup.env = env;
        settings.proxy_fcgi.fix(lookup);
        Rc::new(encode(lookup, &lookup.env))
    }
}

/// Variables that are too long are left out, with a line in the log, as by httpd.
fn encode(lookup: &Lookup<'_>, env: &Table) -> (Vec<u8>, fastcgi::Exchange) {
    let mut params = Params::new(true);
    for (name, value) in env.iter() {
        if let Err(too_long) = params.add(name.as_bytes(), value) {
            let text = too_long.message(name.as_bytes());
            let text = String::from_utf8_lossy(&text);
            let id = Some(fastcgi::DoesNotFit::ID);
            lookup.log(Level::Warn, NAME, id, &text);
        }
    }
    params.finish()
}

/// php-fpm would take what stands behind a question mark for a query (mod_proxy_fcgi.c,
/// `proxy_fcgi_canon`).
fn check_name(lookup: &Lookup<'_>) -> Result<(), Failure> {
    let path = lookup.place.path();
    if path.iter().all(|byte| !byte.is_ascii_control() && *byte != b'?') {
        return Ok(());
    }
    let text =
        format!("To be forwarded path contains control characters or '?': {}", path.escape_ascii());
    Err(Failure::new(Status::FORBIDDEN, NAME, text).id(10414).at_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_names_a_socket_and_what_goes_before_the_script() {
        let unix = |path: &str, prefix: &str| {
            Ok(Target { place: Place::Socket(path.into()), prefix: prefix.to_owned() })
        };
        let tcp = |host: &str, prefix: &str| {
            Ok(Target { place: Place::Port(host.to_owned()), prefix: prefix.to_owned() })
        };
        let rows = [
            ("unix:/run/x.sock|fcgi://localhost", unix("/run/x.sock", "proxy:fcgi://localhost")),
            ("unix:/run/x.sock|fcgi://localhost/", unix("/run/x.sock", "proxy:fcgi://localhost")),
            ("unix:/run/x.sock|fcgi:", unix("/run/x.sock", "proxy:fcgi://localhost")),
            ("unix:/run/x.sock|fcgi://php82", unix("/run/x.sock", "proxy:fcgi://php82")),
            ("fcgi://127.0.0.1:9000", tcp("127.0.0.1:9000", "proxy:fcgi://127.0.0.1:9000")),
            ("fcgi://127.0.0.1", tcp("127.0.0.1:8000", "proxy:fcgi://127.0.0.1")),
            ("fcgi://php:9000", tcp("php:9000", "proxy:fcgi://php:9000")),
            ("fcgi://[::1]:9000/", tcp("[::1]:9000", "proxy:fcgi://[::1]:9000")),
        ];
        for (url, target) in rows {
            assert_eq!(parse(url), target, "{url}");
        }
        for url in ["http://a", "unix:/x|http://a", "unix:x|fcgi://a", "fcgi://", ""] {
            assert!(parse(url).is_err(), "{url}");
        }
    }
}
