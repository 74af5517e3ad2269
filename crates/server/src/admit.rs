//! Who may see it: access by address and rule, then who the client is, then whether that one may
//! (ap_process_request_internal of server/request.c). The modules that decide are not known here.

use crate::failure::Failure;
use crate::log::level::Level;
use crate::lookup::{Lookup, Place};
use crate::phase::{self, Decision, Stop};
use crate::site::settings::Settings;
use crate::walk::Beside;
use message::{Method, Status};
use std::sync::Arc;

/// For what it was asked who may see it.
#[derive(Clone)]
pub(crate) struct Judged {
    settings: Arc<Settings>,
    folder: Vec<u8>,
}

impl Judged {
    fn new(lookup: &Lookup<'_>) -> Self {
        Self { settings: lookup.settings.clone(), folder: folder(lookup) }
    }

    /// Whether that answers it for `lookup` as well: httpd compares the merged configurations,
    /// which are one and the same within a folder unless a section for files, locations or
    /// requests was laid over them. So the index of a folder is not asked about again, and the
    /// document of `ErrorDocument 401` needs no password.
    fn covers(&self, lookup: &Lookup<'_>) -> bool {
        let folder_alone = lookup.folder_layers.as_ref().map(|layers| &layers.settings);
        Arc::ptr_eq(&self.settings, &lookup.settings)
            && folder_alone.is_some_and(|alone| Arc::ptr_eq(alone, &lookup.settings))
            && self.folder == folder(lookup)
    }
}

/// The folder that a place is, or is in.
fn folder(lookup: &Lookup<'_>) -> Vec<u8> {
    let mut path = lookup.place.path();
    if !lookup.is_folder() {
        path.truncate(path.iter().rposition(|byte| *byte == b'/').unwrap_or(0));
    }
    while path.last() == Some(&b'/') {
        path.pop();
    }
    path
}

/// Every module must agree.
pub(crate) async fn admit(lookup: &mut Lookup<'_>) -> Result<(), Stop> {
    phase::run(&lookup.site().phases.guard, lookup).await?;
    // For the request that this one comes from.
    if lookup.judged.as_ref().is_some_and(|judged| judged.covers(lookup)) {
        return Ok(());
    }
    (lookup.user, lookup.auth_type) = (None, None);
    let outcome = judge(lookup).await;
    lookup.judged = Some(Judged::new(lookup));
    outcome
}

/// One question after the other, until the request is let in or refused: access by where it comes
/// from (access_checker), whether that is enough or a user is needed (access_checker_ex), who that
/// is (check_user_id), and whether that user may (auth_checker).
async fn judge(lookup: &mut Lookup<'_>) -> Result<(), Stop> {
    let phases = &lookup.site().phases;
    if is_satisfied(lookup).await?
        || phase::decide(&phases.grant, lookup).await? == Decision::Accepted
    {
        return Ok(());
    }
    identify(lookup).await?;
    match phase::decide(&phases.authorize, lookup).await? {
        Decision::Accepted => Ok(()),
        Decision::Declined => Err(undecided(lookup, "check authorization")),
    }
}

fn satisfies_any(lookup: &Lookup<'_>) -> bool {
    lookup.site().phases.satisfies_any.iter().any(|satisfies| satisfies(lookup))
}

/// With `Satisfy Any` it is enough to come from the right place; without it, it is needed.
async fn is_satisfied(lookup: &mut Lookup<'_>) -> Result<bool, Stop> {
    let any = satisfies_any(lookup);
    match phase::run(&lookup.site().phases.access, lookup).await {
        Ok(()) => Ok(any),
        Err(Stop::Failure(failure)) if any => {
            lookup.context.log_failure(&failure, lookup);
            Ok(false)
        }
        Err(stop) => Err(stop),
    }
}

async fn identify(lookup: &mut Lookup<'_>) -> Result<(), Stop> {
    if phase::decide(&lookup.site().phases.identify, lookup).await? == Decision::Declined {
        return Err(undecided(lookup, "check user"));
    }
    if lookup.user.is_some() {
        return Ok(());
    }
    let uri = String::from_utf8_lossy(&lookup.path);
    let text = format!(
        "No authentication done but request not allowed without authentication for {uri}. \
         Authentication not configured?"
    );
    let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text);
    Err(failure.id(if satisfies_any(lookup) { 28 } else { 27 }).at_error().into())
}

/// No module has an opinion where one is needed (decl_die).
fn undecided(lookup: &Lookup<'_>, phase: &str) -> Stop {
    let uri = String::from_utf8_lossy(&lookup.path);
    let text = format!("configuration error:  couldn't {phase}: {uri}");
    let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text);
    failure.id(25).level(Level::Crit).into()
}

/// Whether something in the folder of `lookup` would be shown to this client, for a listing.
pub(crate) async fn would_admit(lookup: &Lookup<'_>, beside: &Beside) -> bool {
    let Beside { settings, below, url } = beside;
    let opinions = &lookup.site().phases.open_to;
    // One that may refuse is enough to ask them all, in whatever order they stand.
    if opinions.iter().all(|open_to| open_to(settings, Method::Get) != Some(false)) {
        return true;
    }
    let mut sub = lookup.sub(url.clone(), None);
    sub.settings = settings.clone();
    sub.folder_layers.clone_from(&lookup.folder_layers);
    sub.place = Place { root: lookup.place.root.clone(), below: below.clone() };
    let outcome = admit(&mut sub).await;
    if sub.is_personal() {
        lookup.mark_personal();
    }
    if let Err(Stop::Failure(failure)) = &outcome {
        lookup.context.log_failure(failure, &sub);
    }
    outcome.is_ok()
}
