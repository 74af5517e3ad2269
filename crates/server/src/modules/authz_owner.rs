//! authz_owner: who may see what by who owns the file (mod_authz_owner).

use crate::log::level::Level;
use crate::lookup::Lookup;
use crate::module::{Hooks, Module};
use crate::modules::authz_core::Verdict;
use runtime::process;

/// The module; it brings providers of `Require` only.
pub(crate) static MODULE: Module =
    Module::new("authz_owner_module", "mod_authz_owner.c", &[], Hooks::NONE);

/// `Require file-owner`
pub(crate) fn check(lookup: &Lookup<'_>) -> Verdict {
    let Some(user) = &lookup.user else { return Verdict::DeniedNoUser };
    let Some(status) = lookup.status else {
        return deny(lookup, 1634, &format!("could not stat file {}", lookup.display_path()));
    };
    let Some(owner) = process::user_by_id(status.uid) else {
        return deny(lookup, 1636, "could not get name of file owner");
    };
    if owner.name.as_bytes() != user.as_slice() {
        let reason = format!("file owner {} does not match.", owner.name);
        return deny(lookup, 1637, &reason);
    }
    Verdict::Granted
}

/// The name of the file's group, for `Require file-group`; `None`, told to the log, if it has
/// none, or if this module is not there.
pub(crate) fn file_group(lookup: &Lookup<'_>) -> Option<String> {
    if !lookup.site().language.has_module(MODULE.table.name) {
        return None;
    }
    let Some(status) = lookup.status else {
        deny(lookup, 1639, &format!("could not stat file {}", lookup.display_path()));
        return None;
    };
    let name = process::group_by_id(status.gid);
    if name.is_none() {
        deny(lookup, 1641, "could not get name of file group");
    }
    name
}

fn deny(lookup: &Lookup<'_>, id: u32, reason: &str) -> Verdict {
    let user = lookup.user.as_deref().unwrap_or_default();
    let text = format!(
        "Authorization of user {} to access {} failed, reason: {reason}",
        String::from_utf8_lossy(user),
        String::from_utf8_lossy(&lookup.path)
    );
    lookup.log(Level::Error, "authz_owner", Some(id), &text);
    Verdict::Denied
}
