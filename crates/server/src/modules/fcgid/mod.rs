//! fcgid: scripts for FastCGI applications that this server starts, keeps and ends itself
//! (mod_fcgid).

mod directives;
mod manage;
mod settings;

pub use manage::Severity;
pub use settings::{Scores, Terms};
pub(crate) use settings::{HostSettings, ServerSettings, Settings};

use crate::handler::{self, Handler};
use crate::lookup::Lookup;
use crate::phase::Stop;
use crate::site::builder::Builder;
use config::Module;

/// The module and its table.
pub(crate) static MODULE: Module<Builder> = Module {
    name: "fcgid_module",
    file: "mod_fcgid.c",
    directives: directives::DIRECTIVES,
};

/// Resolve hook.
pub(crate) fn resolve(lookup: &mut Lookup<'_>) -> Result<Option<Handler>, Stop> {
    let _ = handler::configured(lookup)?;
    Ok(None)
}
