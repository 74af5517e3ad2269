//! What the look-up of a script came to, remembered per thread for the second in which it was made:
//! a site asks the same few scripts again and again, and the answer to "what is there, and what
//! holds for it?" is the same each time.
//!
//! No check is skipped: what is kept was made by the whole pipeline for a request whose handler was
//! found from host, path and method alone (whoever asks for more marks the request as personal, or
//! has others asked the same: `proviso.rs`), and it holds for others that ask in the same way while
//! the same `.htaccess` files are there.

use crate::cached_script::CachedScript;
use crate::context::Context;
use crate::handler::Handler;
use crate::received_request::ReceivedRequest;
use crate::request_context::{Because, RequestContext};
use crate::sharing::KeptPart;
use crate::site::host::Host;
use message::Framing;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

/// Scripts that are kept by a thread that carries many connections, and by one that carries one, of
/// which there may be hundreds.
const SCRIPTS_MAX: [usize; 2] = [256, 16];

/// What answers a request like those that were there before in this second.
pub(crate) fn known(
    context: &Context,
    host: &Host,
    received: &ReceivedRequest,
    framing: &Framing<'_>,
) -> Option<Rc<CachedScript>> {
    // The answer may tell the second in which it was asked for.
    if received.start_us.div_euclid(1_000_000) != context.now_s() {
        return None;
    }
    let asked = KeptPart::Script.asked(&received.view(), framing)?;
    let cached = context.script_cache.borrow_mut().get(context.now_s(), host, asked)?;
    let (proviso, head) = (&cached.proviso, received.view());
    let is_for = KeptPart::Script.is_for((context, host, &cached.settings), received, framing)
        && proviso.is_of_host(&head, Some(received.local.port()))
        && proviso.holds_for(context.watch(), &head, framing);
    is_for.then_some(cached)
}

/// The look-up of a request like it.
pub(crate) fn request<'a>(
    cached: &Rc<CachedScript>,
    context: &'a Context,
    host: &'a Host,
    received: Rc<ReceivedRequest>,
) -> RequestContext<'a> {
    let mut request = RequestContext::new(context, host, received);
    request.path.clone_from(&cached.path);
    request.mapping = cached.mapping.clone();
    request.settings = cached.settings.clone();
    request.negotiated.clone_from(&cached.negotiated);
    request.tables = cached.tables.clone();
    request.output = cached.output.clone();
    request.authentication = cached.authentication.clone();
    request.lineage = cached.lineage.clone();
    request.cached_script = Some(cached.clone());
    request.mark_personal();
    request
}

/// Remember what a look-up has come to, if it was asked for before.
pub(crate) fn remember(request: &RequestContext<'_>, handler: &Rc<dyn Handler>) {
    let context = request.context;
    let now_s = context.now_s();
    let mut cache = context.script_cache.borrow_mut();
    cache.begin(now_s);
    // Unmarked: the path is what it is found by, and the second that in which it holds.
    let received = &request.unmarked(Because::InKey).received;
    let Ok(framing) = received.framing() else { return };
    let asked = KeptPart::Script.asked(&received.view(), &framing);
    let (Some((_, path)), Some(method)) = (asked, request.unmarked_method(Because::InKey)) else {
        return;
    };
    // What began in another second may have seen what is there no more.
    if received.start_us.div_euclid(1_000_000) == now_s {
        let most = SCRIPTS_MAX[usize::from(context.carries_one())];
        cache.keep(most, request.host, (method, path), || script_of(request, handler));
    }
}

/// What a look-up came to, if it would come to the same for others.
fn script_of(request: &RequestContext<'_>, handler: &Rc<dyn Handler>) -> Option<CachedScript> {
    if !KeptPart::Script.may_be_of(request) {
        return None;
    }
    Some(CachedScript {
        path: request.path.clone(),
        mapping: request.mapping.clone(),
        settings: request.settings.clone(),
        negotiated: request.negotiated.clone(),
        tables: request.tables.clone(),
        output: request.output.clone(),
        authentication: request.authentication.clone(),
        lineage: request.lineage.clone(),
        proviso: request.proviso(),
        answers: handler.clone(),
        template: RefCell::default(),
        has_filters: OnceCell::new(),
    })
}
