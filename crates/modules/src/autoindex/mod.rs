//! Directory listings, byte for byte those of mod_autoindex.
//! `options` holds what the directives said, [`render`] makes the page. Reading the
//! directory and deciding who may see an entry belong to the caller, and what HeaderName and
//! ReadmeName lead to to `insert`.

mod directives;
mod entry;
mod insert;
pub(crate) mod listing;
mod matching;
mod options;
mod parse;
mod row;
mod sort;
mod table;
#[cfg(test)]
mod tests;
mod url;

pub(crate) use directives::MODULE;
pub(crate) use entry::{IndexEntry, IndexPage, Insert, scan_title};
pub(crate) use options::{IndexFlags, SETTINGS, complete};
pub(crate) use table::render;
