//! What a browser would load for a page: what HTML and stylesheets refer to, in which order it is
//! fetched, what a cache already has. Bytes go in, references and decisions come out; no socket and
//! no clock may live here, connections are the business of `run`.
//!
//! A load generator has no layout, so it loads what a layout might need: images that are to be
//! loaded lazily as well, and every `url()` of a stylesheet that applies to the screen. Scripts are
//! fetched and not run.

pub mod cache;
pub mod css;
mod document;
mod fetch_queue;
pub mod har;
pub mod html;
mod inflate;
pub mod media;
mod reference;
pub mod srcset;

pub(crate) use document::{Document, Resource};
pub(crate) use inflate::{CONTENT_BYTES_MAX, decoded};
pub use reference::{FoundReference, REFERENCE_BYTES_MAX, REFERENCES_MAX, Reference, ResourceKind};

pub(crate) use fetch_queue::{Added, FETCHERS_MAX, FetchQueue, QueuedResource};

/// For the fuzzer, the first byte chooses which text the rest is: whatever it is, no panic, and no
/// more references than the text has room for.
pub fn fuzz_page(data: &[u8]) {
    let Some((choice, text)) = data.split_first() else { return };
    let found = match choice % 2 {
        0 => html::references(text).found,
        _ => css::references(text),
    };
    assert!(found.references.len() <= REFERENCES_MAX.min(text.len()));
    assert!(found.references.iter().all(|one| !one.url.is_empty()));
}
