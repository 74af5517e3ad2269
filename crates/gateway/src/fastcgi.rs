//! fastcgi: applications that run already, under the name of a file that need not be there
//! (`FastCgiExternalServer` of mod_fastcgi). No application is started here. A request that comes
//! to the name goes the way of `proxy_fcgi`, as the application knows it from mod_fastcgi.

use crate::proxy::ProxyWorker;
use crate::proxy_fcgi::{FcgiJob, FcgiTarget};
use config::directive::row;
use config::{Args, Call, Directive, Error, Scope};
use message::Status;
use server::evaluate::handler_name;
use server::failure::{Failure, Stop};
use server::handler::Handler;
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::phase;
use server::request_context::RequestContext;
use server::site::builder::Builder;
use server::site::lexical;
use server::site::settings::HostKey;
use server::site::store::Merge;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// The module and its table.
pub static MODULE: Module = Module::new(
    "fastcgi_module",
    "mod_fastcgi.c",
    DIRECTIVES,
    Hooks { resolve: Some(Hook::Now(resolve)), ..Hooks::NONE },
);

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("FastCgiExternalServer", Args::Raw, Scope::RSRC_CONF, "", "a name, and the socket or port of the application that runs under it", external_server),
    row("FastCgiServer", Args::Raw, Scope::RSRC_CONF, "", "an application to start", not_started),
    row("FastCgiConfig", Args::Raw, Scope::RSRC_CONF, "", "how to start applications on demand", not_started),
    row("FastCgiIpcDir", Args::One, Scope::RSRC_CONF, "", "a directory for the sockets of applications", not_started),
    row("FastCgiWrapper", Args::One, Scope::RSRC_CONF, "Off", "a program that starts applications", wrapper),
];

/// The handler of the module.
const HANDLER: &str = "fastcgi-script";

/// How long an application may be silent of which nothing else is said (fcgi_config.c).
const IDLE_MS: u64 = 30_000;

type Done = Result<(), Error>;

/// The key of what is kept per host.
pub(crate) static HOST_SETTINGS: HostKey<HostSettings> = HostKey::new();

/// The applications that a host gives a name to by `FastCgiExternalServer`.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostSettings {
    servers: Vec<Arc<ExternalServer>>,
}

impl Merge for HostSettings {
    /// Those of a virtual host come before those of the main server.
    fn over(&self, main: &Self) -> Self {
        Self { servers: [&self.servers[..], &main.servers].concat() }
    }
}

/// A line `FastCgiExternalServer`.
#[derive(Debug)]
struct ExternalServer {
    /// The name, absolute and normal.
    name: PathBuf,
    target: Arc<FcgiTarget>,
    /// What is known of it as a backend.
    worker: Arc<ProxyWorker>,
    /// `-pass-header`: fields that scripts do not see otherwise.
    passed: Vec<String>,
}

/// The options of a line.
#[derive(Default)]
struct ExternalServerOptions {
    socket: Option<PathBuf>,
    host: Option<String>,
    idle_ms: Option<u64>,
    connect_ms: Option<u64>,
    passed: Vec<String>,
}

/// fcgi_config.c, `fcgi_config_new_external_server`
fn external_server(builder: &mut Builder, call: &Call<'_>) -> Done {
    let mut words = config::lexer::LineWords::new(call.raw).map(|word| word.text);
    let name = words.next().filter(|word| !word.is_empty());
    let name = name.ok_or_else(|| format!("{} requires a pathname or filename", call.name))?;
    let path = lexical::normal(&builder.server.root.join(&name));
    let known = &HOST_SETTINGS.change(&mut builder.host().modules).servers;
    if known.iter().any(|server| server.name == path) {
        let text = format!(
            "{}: redefinition of previously defined FastCGI server \"{}\"",
            call.name,
            path.display()
        );
        return Err(text.into());
    }
    let options = options(builder, call, &name, words)?;
    let authority = options.host.as_deref().unwrap_or("localhost");
    let target = FcgiTarget::new(options.socket, authority)
        .map_err(|text| format!("{} {name}: invalid value for -host: {text}", call.name))?;
    let worker =
        ProxyWorker::of_server(authority, options.idle_ms.unwrap_or(IDLE_MS), options.connect_ms)
            .map_err(|text| format!("{} {name}: {text}", call.name))?;
    let server = ExternalServer {
        name: path,
        target: Arc::new(target),
        worker: Arc::new(worker),
        passed: options.passed,
    };
    HOST_SETTINGS.change(&mut builder.host().modules).servers.push(Arc::new(server));
    Ok(())
}

fn options(
    builder: &Builder,
    call: &Call<'_>,
    name: &str,
    mut words: impl Iterator<Item = String>,
) -> Result<ExternalServerOptions, Error> {
    let mut options = ExternalServerOptions::default();
    let invalid = |option: &str, why: &str| -> Error {
        format!("{} {name}: invalid value for {option}: {why}", call.name).into()
    };
    while let Some(option) = words.next() {
        let lower = option.to_ascii_lowercase();
        if matches!(lower.as_str(), "-flush" | "-nph") {
            if lower == "-nph" {
                call.warn(None, format!("{option} has no effect: Trivet always parses responses"));
            }
            continue;
        }
        let value = words.next().ok_or_else(|| invalid(&option, "\"(none)\""))?;
        let seconds = || {
            let count: u64 =
                value.parse().map_err(|_| invalid(&option, &format!("\"{value}\"")))?;
            Ok::<u64, Error>(count.saturating_mul(1000))
        };
        match lower.as_str() {
            "-socket" => options.socket = Some(socket_path(builder, &value)),
            "-host" if value.rsplit_once(':').is_some() => options.host = Some(value),
            "-host" => return Err(invalid("-host", "missing port specification")),
            "-idle-timeout" => options.idle_ms = Some(seconds()?.max(1000)),
            "-appconntimeout" => options.connect_ms = Some(seconds()?).filter(|ms| *ms > 0),
            "-pass-header" => options.passed.push(value),
            "-user" | "-group" => {}
            _ => return Err(format!("{} {name}: invalid option: {option}", call.name).into()),
        }
    }
    let name = format!("{} {name}", call.name);
    match (&options.socket, &options.host) {
        (Some(_), Some(_)) => {
            let text = "\"-host\" and \"-socket\" are mutually exclusive options";
            Err(format!("{name}: {text}").into())
        }
        (None, None) => Err(format!("{name}: \"-socket\" or \"-host\" option missing").into()),
        _ => Ok(options),
    }
}

/// A socket without an absolute path is in the folder for such things (`FastCgiIpcDir`), which is
/// that of all files of a running server here.
fn socket_path(builder: &Builder, path: &str) -> PathBuf {
    builder.server.runtime_dir.join(path)
}

fn not_started(_: &mut Builder, call: &Call<'_>) -> Done {
    let text = format!(
        "{} has no effect: Trivet does not start applications of fastcgi_module: see \
         FastCgiExternalServer",
        call.name
    );
    call.warn(None, text);
    Ok(())
}

fn wrapper(builder: &mut Builder, call: &Call<'_>) -> Done {
    if call.arg(0).eq_ignore_ascii_case("off") {
        return Ok(());
    }
    not_started(builder, call)
}

/// Resolve hook: the name of an application. A file that one would have to be started for is not
/// sent as it is.
pub(crate) fn resolve(request: &mut RequestContext<'_>) -> Result<Option<Rc<dyn Handler>>, Stop> {
    if let Some(server) = server(request) {
        request.mark_personal();
        pass_fields(request, &server.passed);
        let worker = Some(server.worker.clone());
        let job = FcgiJob::new(server.target.clone(), worker, None, true);
        return Ok(Some(Rc::new(job)));
    }
    let is_ours = handler_name::configured(request)?.is_some_and(|name| name == HANDLER);
    if !is_ours || !phase::is_file(request) {
        return Ok(None);
    }
    let text = format!(
        "FastCGI: Trivet does not start {}, as fastcgi_module would: run it as a service, and name \
         it with FastCgiExternalServer",
        request.display_path()
    );
    Err(Failure::new(Status::INTERNAL_SERVER_ERROR, "fastcgi", text).at_error().into())
}

/// The application whose name the place is.
fn server(request: &RequestContext<'_>) -> Option<Arc<ExternalServer>> {
    let servers = &HOST_SETTINGS.of(&request.host.modules).servers;
    if servers.is_empty() {
        return None;
    }
    let path = request.mapping.place.path();
    servers.iter().find(|server| server.name.as_os_str().as_bytes() == path).cloned()
}

/// `-pass-header`: under the name of the field, as by mod_fastcgi, and under that of CGI.
fn pass_fields(request: &mut RequestContext<'_>, names: &[String]) {
    for name in names {
        let Some(value) = request.field(name).map(<[u8]>::to_vec) else { continue };
        let variable: String = name
            .chars()
            .map(
                |letter| {
                    if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' }
                },
            )
            .collect();
        request.tables.env.set(&format!("HTTP_{variable}"), value.clone());
        request.tables.env.set(name, value);
    }
}
