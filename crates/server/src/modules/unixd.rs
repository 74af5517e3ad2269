//! unixd: as whom the children run.

use crate::site::builder::Builder;
use config::{Args, Call, Directive, Error, Module, Scope};

/// The module and its table.
pub(crate) static MODULE: Module<Builder> =
    Module { name: "unixd_module", file: "mod_unixd.c", directives: DIRECTIVES };

static DIRECTIVES: &[Directive<Builder>] = &[
    Directive {
        name: "User",
        args: Args::One,
        scope: Scope::SERVER,
        default: "",
        help: "Effective user id for this server",
        apply: user,
    },
    Directive {
        name: "Group",
        args: Args::One,
        scope: Scope::SERVER,
        default: "",
        help: "Effective group id for this server",
        apply: group,
    },
];

fn user(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    builder.server.user = Some(call.arg(0).to_owned());
    Ok(())
}

fn group(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    builder.server.group = Some(call.arg(0).to_owned());
    Ok(())
}
