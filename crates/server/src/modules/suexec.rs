//! suexec: as whom the scripts of a host run (mod_suexec). httpd asks a setuid program; here the
//! process that starts scripts has the right already, and checks what that program checks.

use crate::lookup::Lookup;
use crate::module::{Hooks, Module};
use crate::site::builder::Builder;
use crate::site::settings::HostKey;
use crate::site::store::Merge;
use config::{Args, Call, Directive, Error, Scope};
use runtime::process;
use runtime::programs::Identity;

/// The module and its table.
pub(crate) static MODULE: Module =
    Module::new("suexec_module", "mod_suexec.c", DIRECTIVES, Hooks::NONE);

static DIRECTIVES: &[Directive<Builder>] = &[Directive {
    name: "SuexecUserGroup",
    args: Args::Two,
    scope: Scope::RSRC_CONF,
    default: "",
    help: "User and group for spawned processes",
    apply: user_group,
}];

/// Where suEXEC allows programs beside the folders of hosts (AP_DOC_ROOT of Debian).
pub(crate) const ROOT: &str = "/var/www";

/// Where httpd's variables keep the name of the user in `/~name/`.
pub(crate) const USER_NOTE: &str = "mod_userdir_user";

/// The key of what is kept per host.
pub(crate) static HOST_SETTINGS: HostKey<HostSettings> = HostKey::new();

/// What a host says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HostSettings {
    /// The row of the users that programs run as.
    pub(crate) row: Option<u32>,
}

impl Merge for HostSettings {
    fn over(&self, main: &Self) -> Self {
        Self { row: self.row.or(main.row) }
    }
}

/// mod_suexec.c, set_suexec_ugid
fn user_group(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    if !process::is_root() {
        return Err("SuexecUserGroup configured, but suEXEC is disabled: Missing suexec binary \
                    /usr/lib/apache2/suexec"
            .into());
    }
    let users = &mut builder.server.script_users;
    let row = u32::try_from(users.len()).unwrap_or(u32::MAX);
    users.push((call.arg(0).to_owned(), call.arg(1).to_owned()));
    HOST_SETTINGS.change(&mut builder.host().modules).row = Some(row);
    Ok(())
}

/// Whom a script runs as: the user whose home it is in comes first, as in httpd.
pub(crate) fn identity(lookup: &Lookup<'_>) -> Identity {
    let of_home = lookup.notes.get(USER_NOTE).filter(|_| lookup.site().runs_as_others);
    let name = of_home.and_then(|name| std::str::from_utf8(name).ok());
    match (name.and_then(process::user_by_name), HOST_SETTINGS.of(&lookup.host.modules).row) {
        (Some(user), _) => Identity::Home(user.uid),
        (None, Some(row)) => Identity::Row(row),
        (None, None) => Identity::Server,
    }
}
