//! Looking names of addresses up: that of the client (`HostnameLookups`) and that of our end of the
//! connection (`UseCanonicalName DNS`). Whoever needs one waits for it off the thread; what came of
//! it is kept with the connection (`names.rs`). Which names are trusted with access is not decided
//! here.

use crate::answers::{HelperAnswer, Question};
use crate::context::Context;
use crate::failure::Stop;
use crate::names::{ConnectionNames, NamedEnd};
use crate::question;
use crate::request_context::{Because, RequestContext};
use crate::site::names::{HostnameLookups, UseCanonicalName, are_looked_at};

/// Whether scripts are told the name of the client (`REMOTE_HOST`).
pub(crate) fn are_for_scripts(request: &RequestContext<'_>) -> bool {
    request.settings.core.hostname_lookups() != HostnameLookups::Off
}

/// Find that name.
pub(crate) async fn find_for_script(request: &RequestContext<'_>) {
    let lookups = request.settings.core.hostname_lookups();
    let client = NamedEnd::Client(request.client());
    find(request.context, &request.received().names, client, lookups).await;
}

/// Have a name looked up for a log or a script. Without a thread for it there is no name.
pub(crate) async fn find(
    context: &Context,
    names: &ConnectionNames,
    end: NamedEnd,
    lookups: HostnameLookups,
) {
    let Some(question) = question(names, end, lookups) else { return };
    if let Ok(answer) = question::answer(context, question).await {
        keep(names, end, &answer);
    }
}

/// Find the names that hooks and texts may look at under the present settings of a request.
///
/// # Errors
/// As [`question::elsewhere`].
pub(crate) async fn prepare(request: &RequestContext<'_>) -> Result<(), Stop> {
    let core = &request.settings.core;
    let (lookups, canonical) = (core.hostname_lookups(), core.use_canonical_name());
    // Unmarked: whoever looks at a name marks the answer.
    let received = &request.unmarked(Because::MarkedBehind).received;
    if canonical == UseCanonicalName::Dns {
        request.mark_personal();
        let local = NamedEnd::Local(received.local_ip());
        ask(request, &received.names, local, HostnameLookups::On).await?;
    }
    if lookups != HostnameLookups::Off && are_looked_at() {
        let client = NamedEnd::Client(request.client());
        ask(request, &received.names, client, lookups).await?;
    }
    Ok(())
}

/// Have a name looked up before the hooks of a request.
async fn ask(
    request: &RequestContext<'_>,
    names: &ConnectionNames,
    end: NamedEnd,
    lookups: HostnameLookups,
) -> Result<(), Stop> {
    if let Some(question) = question(names, end, lookups) {
        keep(names, end, &question::ask_for_all(request, question).await?);
    }
    Ok(())
}

/// What to ask for a name that is wanted and was not asked for before.
fn question(names: &ConnectionNames, end: NamedEnd, lookups: HostnameLookups) -> Option<Question> {
    match lookups {
        _ if names.asked(end).is_some() => None,
        HostnameLookups::Off => None,
        HostnameLookups::On => Some(Question::ClaimedNameOf(end.address())),
        HostnameLookups::Double => Some(Question::NameOf(end.address())),
    }
}

fn keep(names: &ConnectionNames, end: NamedEnd, answer: &HelperAnswer) {
    if let HelperAnswer::Name(name) = answer {
        names.keep(end, name.as_deref());
    }
}
