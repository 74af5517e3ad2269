//! What a hook is: the functions by which modules take part in each phase of a request, and how
//! those of one phase are run. The order of the phases is in `phase.rs`.

use crate::content_coding::{Coding, Uncertain};
use crate::context::Context;
use crate::failure::{Failure, Stop};
use crate::handler::Handler;
use crate::input_filter::InputFilter;
use crate::mapping::Place;
use crate::metadata::Naming;
use crate::request_context::RequestContext;
use crate::response::{Body, Response};
use crate::server::Server;
use crate::site::host::Host;
use crate::site::settings::Settings;
use crate::waiting::{NowOrLater, Waiting};
use message::{Method, RequestHead, Target};
use std::net::SocketAddr;
use std::rc::Rc;

/// A hook: a function of a module that looks at the request and may change it. Which kind it is
/// stands in the list of its phase.
pub enum Hook<T = ()> {
    /// It has all it needs.
    Now(fn(&mut RequestContext<'_>) -> Result<T, Stop>),
    /// It may have to wait (for a password, for DNS, for another look-up): a future that borrows
    /// the request, or the result where there is nothing to wait for, which then costs no more
    /// than that of the other kind.
    Waits(for<'l, 'a> fn(&'l mut RequestContext<'a>) -> Waiting<'l, T>),
}

/// A list of hooks is copied for each configuration.
impl<T> Clone for Hook<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Hook<T> {}

impl<T> Hook<T> {
    fn call<'l>(self, request: &'l mut RequestContext<'_>) -> Waiting<'l, T> {
        match self {
            Self::Now(hook) => NowOrLater::Now(hook(request)),
            Self::Waits(hook) => hook(request),
        }
    }
}

/// A hook of a question that the first module decides that has an opinion.
pub(crate) type Decide = Hook<Decision>;

/// What such a hook says, if it does not refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// httpd's `OK`: nobody else is asked.
    Accepted,
    /// httpd's `DECLINED`: others may know.
    Declined,
}

/// A hook of the translate phase: the first that knows the place decides.
pub(crate) type Translate = Hook<Option<Place>>;

/// A hook that chooses what answers: the first that does decides.
pub(crate) type Resolve = Hook<Option<Rc<dyn Handler>>>;

/// A hook that changes a response before it is sent. None of them waits: a condition that looks a
/// URL up has the thread itself wait (`question::here`), for what is nearly always known by then.
pub(crate) type Finish = fn(&mut RequestContext<'_>, &mut Response) -> Result<(), Failure>;

/// What changes the content of a response, and may wait for it.
pub(crate) type Filter = for<'l, 'a> fn(
    &'l mut RequestContext<'a>,
    Response,
) -> NowOrLater<'l, Result<Response, Failure>>;

/// Has a shell run a command line with the variables of a request. The result is what it says.
pub(crate) type RunCommand =
    for<'l, 'a> fn(&'l mut RequestContext<'a>, Vec<u8>) -> Waiting<'l, Body>;

/// Starts what a module has for all children: a sentence says why that failed.
pub(crate) type StartModule = fn(&Server) -> Result<(), String>;

/// Whether a prepared response may answer a request, as far as a module goes.
pub(crate) type Plain = fn(&FastRequest<'_>) -> bool;

/// What the fast path knows of a request.
pub struct FastRequest<'s> {
    /// What the thread has.
    pub context: &'s Context,
    /// The virtual host.
    pub host: &'s Host,
    /// The settings that the prepared response was made with.
    pub settings: &'s Settings,
    /// The head.
    pub head: RequestHead<'s>,
    /// What it asks for.
    pub target: Target<'s>,
    /// Who sent it.
    pub client: SocketAddr,
}

/// Tells the codings of which a response gets one by `Accept-Encoding` alone; an error where more
/// than that decides.
pub(crate) type Codings = fn(&RequestContext<'_>, &Response) -> Result<Vec<Coding>, Uncertain>;

/// Changes the content of responses: the output filters.
#[derive(Clone, Copy)]
pub struct ContentFilter {
    /// Which codings a response may get.
    pub codings: Codings,
    /// Changes the content.
    pub filter: Filter,
}

/// Whether everybody may see it with a method, as far as settings alone tell: `Some(false)` if the
/// module may refuse somebody, `None` if these settings do not concern it.
pub(crate) type OpenTo = fn(&Settings, Method) -> Option<bool>;

/// What a module says when nobody looks anything up any more.
pub(crate) type LastFixup = fn(&mut RequestContext<'_>);

/// The filter that the body of a request has to pass, if one has to.
pub(crate) type ChooseInput = fn(&RequestContext<'_>) -> Option<Box<dyn InputFilter>>;

/// The hooks of the modules that are there, phase by phase.
pub struct Phases {
    pub(crate) read: Vec<Hook>,
    pub(crate) translate: Vec<Translate>,
    pub(crate) header: Vec<Hook>,
    pub(crate) guard: Vec<Hook>,
    pub(crate) access: Vec<Hook>,
    pub(crate) grant: Vec<Decide>,
    pub(crate) identify: Vec<Decide>,
    pub(crate) authorize: Vec<Decide>,
    pub(crate) kind: Vec<Hook>,
    pub(crate) fixup: Vec<Hook>,
    pub(crate) last_fixup: Vec<LastFixup>,
    pub(crate) resolve: Vec<Resolve>,
    /// Of one module at most.
    pub(crate) content: Option<ContentFilter>,
    /// Of one module at most.
    pub(crate) input: Option<ChooseInput>,
    /// Of the last module that has it.
    pub(crate) command: Option<RunCommand>,
    /// Of one module at most.
    pub(crate) naming: Option<Naming>,
    /// What changes a response before it is sent.
    pub finish: Vec<Finish>,
    pub(crate) begin: Vec<fn(&Server)>,
    /// In the parent, before children are forked.
    pub(crate) start: Vec<StartModule>,
    /// Whether a module has programs run for requests.
    pub(crate) run_programs: bool,
    pub(crate) plain: Vec<Plain>,
    pub(crate) satisfies_any: Vec<fn(&RequestContext<'_>) -> bool>,
    pub(crate) open_to: Vec<OpenTo>,
    pub(crate) adds_always: Vec<fn(&Settings) -> bool>,
    pub(crate) tracks_first_byte: Vec<fn(&Settings) -> bool>,
}

/// Hooks one after the other, until one stops the request.
pub(crate) async fn run(hooks: &[Hook], request: &mut RequestContext<'_>) -> Result<(), Stop> {
    for hook in hooks {
        hook.call(request).await?;
    }
    Ok(())
}

/// Hooks one after the other, until one decides.
pub(crate) async fn decide(
    hooks: &[Decide],
    request: &mut RequestContext<'_>,
) -> Result<Decision, Stop> {
    for hook in hooks {
        if hook.call(request).await? == Decision::Accepted {
            return Ok(Decision::Accepted);
        }
    }
    Ok(Decision::Declined)
}

/// Hooks one after the other, until one finds something.
pub(crate) async fn first<T>(
    hooks: &[Hook<Option<T>>],
    request: &mut RequestContext<'_>,
) -> Result<Option<T>, Stop> {
    for hook in hooks {
        if let found @ Some(_) = hook.call(request).await? {
            return Ok(found);
        }
    }
    Ok(None)
}
