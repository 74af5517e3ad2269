//! authz_owner: who may see what by who owns the file (mod_authz_owner).

use crate::require::AuthzStatus;
use logging::level::Level;
use runtime::process;
use server::module::{Hooks, Module};
use server::request_context::RequestContext;

/// The module; it brings providers of `Require` only.
pub(crate) static MODULE: Module =
    Module::new("authz_owner_module", "mod_authz_owner.c", &[], Hooks::NONE);

/// `Require file-owner`
pub(crate) fn check(request: &RequestContext<'_>) -> AuthzStatus {
    let Some(user) = &request.authentication.user else { return AuthzStatus::DeniedNoUser };
    let Some(status) = request.mapping.status else {
        return deny(request, 1634, &format!("could not stat file {}", request.display_path()));
    };
    let Some(owner) = process::user_by_id(status.uid) else {
        return deny(request, 1636, "could not get name of file owner");
    };
    if owner.name.as_bytes() != user.as_slice() {
        let reason = format!("file owner {} does not match.", owner.name);
        return deny(request, 1637, &reason);
    }
    AuthzStatus::Granted
}

/// The name of the file's group, for `Require file-group`; `None`, told to the log, if it has
/// none, or if this module is not there.
pub(crate) fn file_group(request: &RequestContext<'_>) -> Option<String> {
    if !request.site().language.has_module(MODULE.table.name) {
        return None;
    }
    let Some(status) = request.mapping.status else {
        deny(request, 1639, &format!("could not stat file {}", request.display_path()));
        return None;
    };
    let name = process::group_by_id(status.gid);
    if name.is_none() {
        deny(request, 1641, "could not get name of file group");
    }
    name
}

fn deny(request: &RequestContext<'_>, id: u32, reason: &str) -> AuthzStatus {
    let user = request.authentication.user.as_deref().unwrap_or_default();
    let text = format!(
        "Authorization of user {} to access {} failed, reason: {reason}",
        String::from_utf8_lossy(user),
        String::from_utf8_lossy(&request.path)
    );
    request.log(Level::Error, "authz_owner", Some(id), &text);
    AuthzStatus::Denied
}
