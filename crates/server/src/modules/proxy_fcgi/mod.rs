//! proxy_fcgi: requests for a script go to a FastCGI application, which is PHP-FPM as a rule:
//! `SetHandler "proxy:unix:/run/php/php8.2-fpm.sock|fcgi://localhost"` (mod_proxy_fcgi).
//!
//! The script is a regular file that the server itself has found; what stands behind its name in
//! the URL is PATH_INFO, and the application never has to guess. `relay.rs` carries bytes both
//! ways, `answer.rs` makes a response of what comes back.

mod answer;
mod relay;
mod settings;
mod target;

pub(crate) use settings::Settings;
pub(crate) use target::Target;
use target::{Place, parse};

use crate::accounting::Waits;
use crate::failure::Failure;
use crate::handler::{self, Handler};
use crate::lookup::Lookup;
use crate::phase::{self, Stop};
use crate::response::Response;
use crate::script::environment::environment;
use crate::script::spool::Spool;
use crate::site::builder::Builder;
use crate::table::Table;
use config::Module;
use fastcgi::Params;
use http1::{BodyLength, Refusal};
use message::{Method, Status};
use relay::{Body, Relay, Talk};
use settings::BackendType;
use std::rc::Rc;

/// The module and its table.
pub(crate) static MODULE: Module<Builder> = Module {
    name: "proxy_fcgi_module",
    file: "mod_proxy_fcgi.c",
    directives: settings::DIRECTIVES,
};

/// The name of the module in the log.
const NAME: &str = "proxy_fcgi";

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

impl Target {
    /// Have the script run, and answer with what it says.
    pub(crate) async fn respond(&self, lookup: &mut Lookup<'_>) -> Result<Response, Stop> {
        check_name(lookup)?;
        let mut body = body(lookup).await.map_err(Failure::from)?;
        let head = self.request(lookup, &body);
        // To ask again does no harm, and nothing of the request is lost.
        let is_safe = matches!(body, Body::None)
            && matches!(lookup.method, Some(Method::Get | Method::Head | Method::Options));
        let timeout_ms = lookup.host.timing.timeout_ms;
        let addresses = self.addresses(&lookup.request.spent).await;
        let addresses =
            addresses.map_err(|error| answer::failure(self, relay::Fault::Unreachable(error)))?;
        let mut attempts = if is_safe { 2 } else { 1 };
        loop {
            attempts -= 1;
            let waits = Waits::new(lookup.request.spent.clone());
            let talk = Talk {
                body: std::mem::replace(&mut body, Body::None),
                timeout_ms,
                log: answer::Log::of(lookup),
            };
            let mut relay = Relay::connect(&addresses, head.clone(), talk, waits)
                .await
                .map_err(|fault| answer::failure(self, fault))?;
            match relay.head().await {
                Ok(head) => return answer::response(lookup, head, relay).await,
                Err(fault) if attempts > 0 && relay.is_untouched(&fault) => {}
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

/// The body of the request. A script has to be told how long it is.
async fn body(lookup: &Lookup<'_>) -> Result<Body, Refusal> {
    let Some(incoming) = lookup.request.incoming.clone() else { return Ok(Body::None) };
    incoming.want(lookup.settings.core.limit_request_body());
    match lookup.request.body() {
        BodyLength::Chunked => {
            Spool::fill(&incoming, &lookup.request.spent).await.map(Body::Spooled)
        }
        _ => Ok(Body::Incoming(incoming)),
    }
}

/// Variables that are too long are left out, with a line in the log, as by httpd.
fn encode(lookup: &Lookup<'_>, env: &Table) -> (Vec<u8>, fastcgi::Exchange) {
    let mut params = Params::new(false);
    for (name, value) in env.iter() {
        if let Err(too_long) = params.add(name.as_bytes(), value) {
            let text = too_long.message(name.as_bytes());
            let text = String::from_utf8_lossy(&text);
            let id = Some(fastcgi::DoesNotFit::ID);
            lookup.log(crate::log::level::Level::Warn, NAME, id, &text);
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
