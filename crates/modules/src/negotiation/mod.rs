//! Choosing between variants of a resource: files of one name in several languages, media types
//! and encodings (MultiViews), or the records of a type map (mod_negotiation).
//!
//! Everything here is a function of plain values: the fields of a request and the names in a
//! folder, but for `hooks`, which opens folders and files and redirects.

mod accept;
mod choose;
mod directives;
mod folder;
pub(crate) mod hooks;
mod quality;
mod response;
mod settings;
#[cfg(test)]
mod tests;
mod type_map;
mod variant;

pub(crate) use directives::MODULE;
pub(crate) use settings::SETTINGS;
