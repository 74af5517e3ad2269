//! The two modules of httpd that run programs, and the handler that both choose.

use server::evaluate::handler_name;
use server::failure::Stop;
use server::handler::{self, Handler};
use server::request_context::RequestContext;
use server::response::{Body, Response};
use server::waiting::{NowOrLater, Waiting};
use std::rc::Rc;

/// The media type that is a handler, too (CGI_MAGIC_TYPE).
const MAGIC_TYPE: &str = "application/x-httpd-cgi";

/// What the two modules of httpd call things.
#[derive(Debug)]
pub(super) struct Flavor {
    /// The name in the log.
    pub(super) name: &'static str,
    /// Whether it is mod_cgid. That decides more than words: whose timeout holds, and whether a
    /// script that closes its output before it has answered is waited for (`is_to_end` in
    /// `relay.rs`).
    pub(super) is_daemon: bool,
    /// The numbers of their messages.
    pub(super) exec_off: u32,
    pub(super) missing: u32,
    pub(super) folder: u32,
    pub(super) path_info: u32,
    pub(super) body: u32,
}

static CGI: Flavor = Flavor {
    name: "cgi",
    is_daemon: false,
    exec_off: 2809,
    missing: 2811,
    folder: 2812,
    path_info: 2813,
    body: 1225,
};

static CGID: Flavor = Flavor {
    name: "cgid",
    is_daemon: true,
    exec_off: 1262,
    missing: 1264,
    folder: 1265,
    path_info: 1266,
    body: 1270,
};

/// Resolve hook of mod_cgi.
pub(super) fn resolve(request: &mut RequestContext<'_>) -> Result<Option<Rc<dyn Handler>>, Stop> {
    resolve_as(request, &CGI)
}

/// Resolve hook of mod_cgid.
pub(super) fn resolve_by_daemon(
    request: &mut RequestContext<'_>,
) -> Result<Option<Rc<dyn Handler>>, Stop> {
    resolve_as(request, &CGID)
}

fn resolve_as(
    request: &mut RequestContext<'_>,
    flavor: &'static Flavor,
) -> Result<Option<Rc<dyn Handler>>, Stop> {
    let name = handler_name::effective(request)?;
    if !name.is_some_and(|name| name == handler::SCRIPT || name == MAGIC_TYPE) {
        return Ok(None);
    }
    // A script sees all that the client has sent, so what it says is for this request only.
    request.mark_personal();
    Ok(Some(Rc::new(CgiScript(flavor))))
}

/// Command hook of mod_cgi.
pub(super) fn run_command<'l>(
    request: &'l mut RequestContext<'_>,
    line: Vec<u8>,
) -> Waiting<'l, Body> {
    NowOrLater::boxed(|| CGI.command(request, line))
}

/// Command hook of mod_cgid.
pub(super) fn run_command_by_daemon<'l>(
    request: &'l mut RequestContext<'_>,
    line: Vec<u8>,
) -> Waiting<'l, Body> {
    NowOrLater::boxed(|| CGID.command(request, line))
}

/// A script that is a program of its own.
struct CgiScript(&'static Flavor);

impl Handler for CgiScript {
    fn name(&self) -> &'static str {
        handler::SCRIPT
    }

    fn is_script(&self) -> bool {
        true
    }

    fn respond<'l>(self: Rc<Self>, request: &'l mut RequestContext<'_>) -> Waiting<'l, Response> {
        NowOrLater::boxed(|| self.0.respond(request))
    }
}
