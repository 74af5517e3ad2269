//! Directory listings, byte for byte those of mod_autoindex.
//! [`Options`] holds what the directives said, [`render`] makes the page. Reading the
//! directory, deciding who may see an entry and fetching HeaderName and ReadmeName belong to
//! the caller.

mod directives;
mod entry;
pub(crate) mod listing;
mod matching;
mod options;
mod parse;
mod row;
pub(crate) mod size;
mod sort;
mod table;
#[cfg(test)]
mod tests;
mod url;

pub(crate) use directives::MODULE;
pub(crate) use entry::{Entry, Insert, Page, scan_title};
pub(crate) use options::{Flags, Options};
pub(crate) use parse::By;
pub(crate) use table::render;
