//! info: which modules there are and what the configuration says, as the page of `server-info`
//! (mod_info; its titles and marks are the ones that programs look for).

mod page;
mod tree;

use config::{Args, Call, Directive, Error, Scope};
use message::Method;
use server::evaluate::handler_name;
use server::failure::Stop;
use server::handler::Handler;
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::request_context::RequestContext;
use server::response::Response;
use server::site::builder::Builder;
use server::site::settings::HostKey;
use server::site::store::Merge;
use server::waiting::{NowOrLater, Waiting};
use std::rc::Rc;

/// The module and its table.
pub static MODULE: Module = Module::new(
    "info_module",
    "mod_info.c",
    DIRECTIVES,
    Hooks { resolve: Some(Hook::Now(resolve)), ..Hooks::NONE },
);

static DIRECTIVES: &[Directive<Builder>] = &[Directive {
    name: "AddModuleInfo",
    args: Args::Two,
    scope: Scope::RSRC_CONF,
    default: "",
    help: "a module name and additional information on that module",
    apply: add_module_info,
}];

/// The key of what is kept per host.
pub(crate) static HOST_SETTINGS: HostKey<HostSettings> = HostKey::new();

/// What the page says more about modules, by their source files.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostSettings {
    more: Vec<(String, String)>,
}

impl Merge for HostSettings {
    fn over(&self, main: &Self) -> Self {
        Self { more: [&self.more[..], &main.more].concat() }
    }
}

impl HostSettings {
    fn of(&self, file: &str) -> Option<&str> {
        self.more.iter().find(|row| row.0 == file).map(|row| row.1.as_str())
    }
}

fn add_module_info(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let row = (call.arg(0).to_owned(), call.arg(1).to_owned());
    HOST_SETTINGS.change(&mut builder.host().modules).more.push(row);
    Ok(())
}

/// Resolve hook.
pub(crate) fn resolve(request: &mut RequestContext<'_>) -> Result<Option<Rc<dyn Handler>>, Stop> {
    let is_info = request.method().is_some_and(Method::is_get_or_head)
        && handler_name::configured(request)?.as_deref() == Some("server-info");
    Ok(is_info.then(|| Rc::new(InfoPage) as Rc<dyn Handler>))
}

/// The page.
struct InfoPage;

impl Handler for InfoPage {
    fn name(&self) -> &'static str {
        "server-info"
    }

    fn respond<'l>(self: Rc<Self>, request: &'l mut RequestContext<'_>) -> Waiting<'l, Response> {
        NowOrLater::boxed(|| respond(request))
    }
}

/// The page, or the part of it that the query names.
async fn respond(request: &RequestContext<'_>) -> Result<Response, Stop> {
    let query = request.query().map(String::from_utf8_lossy);
    let html = page::html(request, query.as_deref()).await?;
    Ok(Response::page("text/html; charset=ISO-8859-1", html))
}
