//! authz_user: who may see what by the name of the user (mod_authz_user).

use crate::require::{AuthzStatus, words};
use logging::level::Level;
use server::module::{Hooks, Module};
use server::request_context::RequestContext;
use server::site::expression::ExpressionText;

/// The module; it brings providers of `Require` only.
pub(crate) static MODULE: Module =
    Module::new("authz_user_module", "mod_authz_user.c", &[], Hooks::NONE);

/// `Require user`
pub(crate) fn check(request: &RequestContext<'_>, text: &ExpressionText) -> AuthzStatus {
    let Some(user) = &request.authentication.user else { return AuthzStatus::DeniedNoUser };
    let what = "authz_user authorize: require user";
    let Some(names) = words(request, text, "authz_user", 2594, what) else {
        return AuthzStatus::Denied;
    };
    if names.contains(user) {
        return AuthzStatus::Granted;
    }
    let text = format!(
        "access to {} failed, reason: user '{}' does not meet 'require'ments for user to be \
         allowed access",
        String::from_utf8_lossy(&request.path),
        String::from_utf8_lossy(user)
    );
    request.log(Level::Debug, "authz_user", Some(1663), &text);
    AuthzStatus::Denied
}
