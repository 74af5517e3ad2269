//! Media type, encoding, language and character set of a file from its name (mod_mime).
//! Reading `TypesConfig` from disk and negotiating between variants belong to the caller.

mod directives;
mod multiviews;
mod settings;
mod types;

pub(crate) use directives::MODULE;
#[cfg(test)]
pub(crate) use settings::Settings;
pub(crate) use settings::{Attribute, Mime, SETTINGS};
pub(crate) use types::Types;
