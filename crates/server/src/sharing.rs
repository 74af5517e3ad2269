//! May an answer be given to others as well? Here that is decided, and nowhere else: for the whole
//! responses of the fast path, for the files from which conditions and ranges are answered, and for
//! the look-ups of scripts.
//!
//! Two questions are asked. While an answer is made: does anything decide about it that others need
//! not have alike? Whoever asks for that by an accessor of the request marks the answer
//! ([`RequestContext::mark_personal`]), so that it is kept for nobody unless somebody has made
//! sure. And when another request comes: does it ask in the same way (`KeptPart::asked`), and
//! would no module treat it otherwise (`KeptPart::is_for`)?
//!
//! What decides beside the file that is served is noted while it is asked about
//! ([`RequestContext::look_at`], [`RequestContext::note_place`]): `.htaccess` files, a better index
//! file that is not there, what a rule has looked for. A kept answer holds as long as the same is
//! there.
//!
//! Why nothing of a request can be read past these two: host and path are what an answer is found
//! by. GET and HEAD share one, and [`RequestContext::method`] does not tell them apart; whatever
//! does, the query, the fields and the address of the client are private and have accessors that
//! mark. Variables and notes (`env`, `notes`) may be read by anybody: they say nothing but what a
//! hook has set, and a hook that sets something that it learned of the client was marked by
//! learning it. What is kept of a script has the variables of its look-up only if that was not
//! marked. The other fields of a request are made of these, or mark where they are made.

use crate::context::Context;
use crate::hook::FastRequest;
use crate::hostname_lookups;
use crate::received_request::ReceivedRequest;
use crate::request_context::{Because, LookupPurpose, RequestContext};
use crate::site::host::Host;
use crate::site::settings::Settings;
use logging::level::Level;
use message::{BodyLength, Framing, Known, KnownSet, Method, RequestHead, Target};
use std::net::SocketAddr;

/// Fields that make a response depend on more than the path.
const UNUSUAL: KnownSet = KnownSet::of(&[
    Known::ContentLength,
    Known::TransferEncoding,
    Known::Expect,
    Known::Range,
    Known::IfRange,
    Known::IfMatch,
    Known::IfNoneMatch,
    Known::IfModifiedSince,
    Known::IfUnmodifiedSince,
]);

/// Whether a request with this field is given no whole response that was made for another one.
pub fn is_unusual(name: &[u8]) -> bool {
    Known::recognise(name).is_some_and(|name| UNUSUAL.has(name))
}

/// What is kept of an answer for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeptPart {
    /// A response, as it was sent: the fast path sends it again.
    Response,
    /// The file that it was made of: conditions and ranges are answered from it anew.
    File,
    /// What the look-up of a script came to: the script answers each request anew.
    Script,
}

impl KeptPart {
    /// Method and path of a request as they were sent, by which, and by its host, it is found what
    /// was kept; `None` if the request asks in a way in which it is given nothing of others.
    #[inline]
    pub(crate) fn asked<'a>(
        self,
        head: &RequestHead<'_>,
        framing: &Framing<'a>,
    ) -> Option<(Method, &'a [u8])> {
        let is_usual = match self {
            Self::Response => !head.seen().intersects(UNUSUAL),
            Self::File => framing.body == BodyLength::None,
            // It gets the fields and the body of each.
            Self::Script => true,
        };
        if !is_usual {
            return None;
        }
        let method = head.known_method()?;
        let is_asked = method.is_get_or_head() || self == Self::Script && method == Method::Post;
        match framing.target {
            Target::Origin { path, .. } if is_asked => Some((method, path)),
            _ => None,
        }
    }

    /// Whether what was kept under `settings` is for a request that asks for the same path, too.
    pub(crate) fn is_for(
        self,
        (context, host, settings): (&Context, &Host, &Settings),
        received: &ReceivedRequest,
        framing: &Framing<'_>,
    ) -> bool {
        // A script is told the name of its client.
        let may_have_name = self != Self::Script || received.names.is_empty();
        let view = received.view();
        may_have_name && is_like_others(context, host, settings, received.client, &view, framing)
    }

    /// Whether this may be kept of the answer to a request. Of a script that is asked before it
    /// has answered, of all others when the response is ready.
    pub(crate) fn may_be_of(self, request: &RequestContext<'_>) -> bool {
        match self {
            Self::Response | Self::File => !request.is_personal() && request.seen_files_are_few(),
            Self::Script => script_may_be_kept(request),
        }
    }
}

/// Whether no module has anything to say about this request that it would not say about others, who
/// are answered under `settings`.
#[inline]
pub(crate) fn is_like_others(
    context: &Context,
    host: &Host,
    settings: &Settings,
    client: SocketAddr,
    head: &RequestHead<'_>,
    framing: &Framing<'_>,
) -> bool {
    // A host that asks for its names has to be asked about each.
    if host.strict_host_check && framing.host.is_none_or(|asked| !host.answers_to(asked.name)) {
        return false;
    }
    let seen = FastRequest { context, host, settings, head: *head, target: framing.target, client };
    context.server.phases.plain.iter().all(|hook| hook(&seen))
}

/// Whether a request like this one would come to the same script, and to the same settings for it.
fn script_may_be_kept(request: &RequestContext<'_>) -> bool {
    // Unmarked: each request that is given what was kept is asked for the same.
    let client = request.unmarked(Because::AskedOfEach);
    let received = &client.received;
    let is_like_others = request.may_be_cached
        && request.seen_files_are_few()
        && request.lineage.purpose != LookupPurpose::Sub
        && !request.lineage.is_error_document
        && request.mapping.path_info.is_empty()
        && request.unmarked_query(Because::AskedOfEach) == received.query()
        && request.mapping.backend.is_none()
        && request.authentication.is_unknown()
        && client.ip.is_none()
        && request.output.vary.borrow().is_empty()
        && !received.is_changed()
        && (received.names.is_empty() && !hostname_lookups::are_for_scripts(request));
    // Who wants to know how a look-up went is told of each.
    let is_watched = request.logs("core", Level::Debug) || request.logs("authz_core", Level::Debug);
    is_like_others && !is_watched
}
