//! unixd: as whom the children run.

use config::{Args, Call, Directive, Error, Scope};
use runtime::process;
use server::module::{Hooks, Module};
use server::site::builder::Builder;
use std::path::Path;

/// The module and its table.
pub(crate) static MODULE: Module =
    Module::new("unixd_module", "mod_unixd.c", DIRECTIVES, Hooks::NONE);

/// Debian's SUEXEC_BIN.
const SUEXEC: &str = "/usr/lib/apache2/suexec";

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
    Directive {
        name: "ChrootDir",
        args: Args::One,
        scope: Scope::SERVER,
        default: "",
        help: "The directory to chroot(2) into",
        apply: chroot_dir,
    },
    Directive {
        name: "Suexec",
        args: Args::Flag,
        scope: Scope::SERVER,
        default: "Off",
        help: "Enable or disable suEXEC support",
        apply: suexec,
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

/// What a directory keeps shut must not be open because we cannot go there yet.
fn chroot_dir(_: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let text = match Path::new(call.arg(0)).is_dir() {
        true => "ChrootDir is not supported yet: remove the line",
        false => "ChrootDir must be a valid directory",
    };
    Err(Error::argument(0, text))
}

/// mod_unixd.c, unixd_set_suexec. What httpd needs a setuid program for is done by the process that
/// starts scripts, if that is root's.
fn suexec(_: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    if !call.on() {
        return Ok(());
    }
    match process::is_root() {
        true => Ok(()),
        false => Err(format!("suEXEC isn't supported: Missing suexec binary {SUEXEC}").into()),
    }
}
