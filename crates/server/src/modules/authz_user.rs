//! authz_user: who may see what by the name of the user (mod_authz_user).

use crate::expression::Text;
use crate::log::level::Level;
use crate::lookup::Lookup;
use crate::module::{Hooks, Module};
use crate::modules::authz_core::{Verdict, words};

/// The module; it brings providers of `Require` only.
pub(crate) static MODULE: Module =
    Module::new("authz_user_module", "mod_authz_user.c", &[], Hooks::NONE);

/// `Require user`
pub(crate) fn check(lookup: &Lookup<'_>, text: &Text) -> Verdict {
    let Some(user) = &lookup.user else { return Verdict::DeniedNoUser };
    let what = "authz_user authorize: require user";
    let Some(names) = words(lookup, text, "authz_user", 2594, what) else {
        return Verdict::Denied;
    };
    if names.contains(user) {
        return Verdict::Granted;
    }
    let text = format!(
        "access to {} failed, reason: user '{}' does not meet 'require'ments for user to be \
         allowed access",
        String::from_utf8_lossy(&lookup.path),
        String::from_utf8_lossy(user)
    );
    lookup.log(Level::Debug, "authz_user", Some(1663), &text);
    Verdict::Denied
}
