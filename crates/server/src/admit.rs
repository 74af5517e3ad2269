//! Who may see it: access by address and rule, then who the client is, then whether that one may
//! (ap_process_request_internal of server/request.c). The modules that decide are not known here.

use crate::authentication::{Authentication, Judged};
use crate::failure::{Failure, Stop};
use crate::hook::{self, Decision};
use crate::mapping::Place;
use crate::request_context::RequestContext;
use crate::walk::Beside;
use logging::level::Level;
use message::{Method, Status};
use std::sync::Arc;

/// Every module must agree.
pub(crate) async fn admit(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    hook::run(&request.phases().guard, request).await?;
    // For the request that this one comes from.
    let before = request.authentication.judged.as_ref().filter(|judged| covers(judged, request));
    if let Some(Judged { user, auth_type, .. }) = before {
        let (user, auth_type) = (user.clone(), *auth_type);
        let authentication = &mut request.authentication;
        authentication.user = authentication.user.take().or(user);
        authentication.auth_type = authentication.auth_type.or(auth_type);
        return Ok(());
    }
    let authentication = &mut request.authentication;
    (authentication.user, authentication.auth_type) = (None, None);
    let outcome = judge(request).await;
    request.authentication.judged = Some(judged(request));
    outcome
}

/// What came of it, in words.
pub(crate) fn shown(admitted: &Result<(), Stop>) -> String {
    match admitted {
        Ok(()) => "allowed".into(),
        Err(Stop::Failure(failure)) => format!("refused with {}", failure.status.code()),
        Err(Stop::Internal(..)) => "answered by another URL".into(),
    }
}

/// For what `request` is asked who may see it.
fn judged(request: &RequestContext<'_>) -> Judged {
    let Authentication { user, auth_type, .. } = request.authentication.clone();
    Judged { settings: request.settings.clone(), folder: folder(request), user, auth_type }
}

/// Whether what was asked before answers it for `request` as well: httpd compares the merged
/// configurations, which are one and the same within a folder unless a section for files, locations
/// or requests was laid over them. So the index of a folder is not asked about again, and the
/// document of `ErrorDocument 401` needs no password.
fn covers(judged: &Judged, request: &RequestContext<'_>) -> bool {
    let folder_alone = request.mapping.folder_layers.as_ref().map(|layers| &layers.settings);
    Arc::ptr_eq(&judged.settings, &request.settings)
        && folder_alone.is_some_and(|alone| Arc::ptr_eq(alone, &request.settings))
        && judged.folder == folder(request)
}

/// The folder that a place is, or is in.
fn folder(request: &RequestContext<'_>) -> Vec<u8> {
    let mut path = request.mapping.place.path();
    if !request.is_folder() {
        path.truncate(path.iter().rposition(|byte| *byte == b'/').unwrap_or(0));
    }
    while path.last() == Some(&b'/') {
        path.pop();
    }
    path
}

/// One question after the other, until the request is let in or refused: access by where it comes
/// from (access_checker), whether that is enough or a user is needed (access_checker_ex), who that
/// is (check_user_id), and whether that user may (auth_checker).
async fn judge(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    let phases = request.phases();
    if is_satisfied(request).await?
        || hook::decide(&phases.grant, request).await? == Decision::Accepted
    {
        return Ok(());
    }
    identify(request).await?;
    match hook::decide(&phases.authorize, request).await? {
        Decision::Accepted => Ok(()),
        Decision::Declined => Err(undecided(request, "check authorization")),
    }
}

fn satisfies_any(request: &RequestContext<'_>) -> bool {
    request.phases().satisfies_any.iter().any(|satisfies| satisfies(request))
}

/// With `Satisfy Any` it is enough to come from the right place; without it, it is needed.
async fn is_satisfied(request: &mut RequestContext<'_>) -> Result<bool, Stop> {
    let any = satisfies_any(request);
    match hook::run(&request.phases().access, request).await {
        Ok(()) => Ok(any),
        Err(Stop::Failure(failure)) if any => {
            request.log_failure(&failure);
            Ok(false)
        }
        Err(stop) => Err(stop),
    }
}

async fn identify(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    if hook::decide(&request.phases().identify, request).await? == Decision::Declined {
        return Err(undecided(request, "check user"));
    }
    if request.authentication.user.is_some() {
        return Ok(());
    }
    let uri = String::from_utf8_lossy(&request.path);
    let text = format!(
        "No authentication done but request not allowed without authentication for {uri}. \
         Authentication not configured?"
    );
    let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text);
    Err(failure.id(if satisfies_any(request) { 28 } else { 27 }).at_error().into())
}

/// No module has an opinion where one is needed (decl_die).
fn undecided(request: &RequestContext<'_>, phase: &str) -> Stop {
    let uri = String::from_utf8_lossy(&request.path);
    let text = format!("configuration error:  couldn't {phase}: {uri}");
    let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text);
    failure.id(25).level(Level::Crit).into()
}

/// Whether something in the folder of `request` would be shown to this client, for a listing.
pub async fn would_admit(request: &RequestContext<'_>, beside: &Beside) -> bool {
    let Beside { settings, below, url } = beside;
    let opinions = &request.phases().open_to;
    // One that may refuse is enough to ask them all, in whatever order they stand.
    if opinions.iter().all(|open_to| open_to(settings, Method::Get) != Some(false)) {
        return true;
    }
    let mut sub = request.sub(url.clone(), None);
    sub.settings = settings.clone();
    sub.mapping.folder_layers.clone_from(&request.mapping.folder_layers);
    sub.mapping.place = Place { root: request.mapping.place.root.clone(), below: below.clone() };
    let outcome = admit(&mut sub).await;
    if let Err(Stop::Failure(failure)) = &outcome {
        sub.log_failure(failure);
    }
    outcome.is_ok()
}
