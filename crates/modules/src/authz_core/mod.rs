//! authz_core: who may see what, by `Require` (mod_authz_core). The providers that `Require` names
//! belong to modules of their own; how their answers are put together is decided here.

mod methods;
mod provider;
mod rows;
mod rules;

pub(crate) use methods::Methods;
pub(crate) use provider::{AuthzAlias, AuthzProvider};
pub(crate) use rows::MODULE;

use crate::require::AuthzStatus;
use crate::{auth_basic, authn_core};
use logging::level::Level;
use message::{Method, Status};
use rules::{AuthzRule, Logic};
use server::failure::{Failure, Stop};
use server::hook::Decision;
use server::request_context::RequestContext;
use server::site::settings as site;
use server::site::settings::DirectoryKey;
use server::site::store::Merge;
use server::waiting::{NowOrLater, Waiting};
use std::sync::Arc;

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// The container around all lines.
    rule: Option<Arc<AuthzRule>>,
    /// `AuthMerging`; `Some(None)` is `Off`.
    merging: Option<Option<Logic>>,
    /// `AuthzSendForbiddenOnFailure`
    forbids: Option<bool>,
    /// Containers that are open while lines are read.
    open: Vec<AuthzRule>,
    /// A line was refused: the configuration will not be used.
    is_broken: bool,
}

impl Merge for Settings {
    /// The rules of an inner section replace those of an outer one unless `AuthMerging` says
    /// otherwise (merge_authz_core_dir_config).
    fn over(&self, outer: &Self) -> Self {
        let forbids = self.forbids.or(outer.forbids);
        if self.merging.is_none() && self.rule.is_none() {
            return Self { forbids, ..outer.clone() };
        }
        let rule = match (self.merging.flatten(), &outer.rule, &self.rule) {
            (Some(logic), Some(outer), Some(inner)) => {
                Some(Arc::new(AuthzRule::merged(logic, outer, inner)))
            }
            (Some(_), Some(one), None) => Some(one.clone()),
            (_, _, own) => own.clone(),
        };
        Self { rule, merging: self.merging, forbids, ..Self::default() }
    }
}

/// Whether the rules let everybody in, if there are any.
pub(crate) fn open_to(settings: &site::Settings, _: Method) -> Option<bool> {
    SETTINGS.of(settings).rule.as_ref().map(|rule| rule.is_open_to_all())
}

/// Before there is a user: whether one is needed (authorize_userless).
pub(crate) fn grant<'l>(request: &'l mut RequestContext<'_>) -> Waiting<'l, Decision> {
    decide(request, false)
}

/// With a user (authorize_user).
pub(crate) fn authorize<'l>(request: &'l mut RequestContext<'_>) -> Waiting<'l, Decision> {
    decide(request, true)
}

fn decide<'l>(request: &'l RequestContext<'_>, after_authn: bool) -> Waiting<'l, Decision> {
    let Some(rule) = &SETTINGS.of(&request.settings).rule else {
        return NowOrLater::Now(no_rules(request));
    };
    rule.verdict(request, Logic::And).map(move |verdict| match verdict? {
        AuthzStatus::Granted => Ok(Decision::Accepted),
        AuthzStatus::DeniedNoUser if !after_authn => Ok(Decision::Declined),
        denied => Err(refuse(request, after_authn, denied)),
    })
}

fn refuse(request: &RequestContext<'_>, after_authn: bool, denied: AuthzStatus) -> Stop {
    let uri = String::from_utf8_lossy(&request.path).into_owned();
    if denied == AuthzStatus::DeniedNoUser {
        let text = format!("authorization failure (no authenticated user): {uri}");
        return unauthorized(request, 1629, text);
    }
    if !after_authn || authn_core::auth_type(request).is_none() {
        let text = format!("client denied by server configuration: {}", request.display_path());
        let failure = Failure::new(Status::FORBIDDEN, "authz_core", text);
        return failure.id(1630).at_error().into();
    }
    let user = String::from_utf8_lossy(request.authentication.user.as_deref().unwrap_or_default());
    let text = format!("user {user}: authorization failure for \"{uri}\": ");
    if SETTINGS.of(&request.settings).forbids == Some(true) {
        let failure = Failure::new(Status::FORBIDDEN, "authz_core", text);
        return failure.id(1631).at_error().into();
    }
    unauthorized(request, 1631, text)
}

/// Another user might be let in: the client may try again.
fn unauthorized(request: &RequestContext<'_>, id: u32, text: String) -> Stop {
    let failure = Failure::new(Status::UNAUTHORIZED, "authz_core", text).id(id).at_error();
    match request.authentication.user {
        Some(_) => auth_basic::challenge(request, failure).into(),
        None => failure.into(),
    }
}

fn no_rules(request: &RequestContext<'_>) -> Result<Decision, Stop> {
    if authn_core::auth_type(request).is_some() {
        let text = "AuthType configured with no corresponding authorization directives";
        let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "authz_core", text);
        return Err(failure.id(1627).at_error().into());
    }
    let text = "authorization result: granted (no directives)";
    request.log(Level::Debug, "authz_core", Some(1628), text);
    Ok(Decision::Accepted)
}
