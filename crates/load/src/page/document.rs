//! What was found in a page or stylesheet, as requests that can be sent.

use super::{Found, Kind, Reference, css, html};
use crate::plan::{Entry, Statuses};
use crate::url::Url;
use std::rc::Rc;

/// Of film and sound browsers load the beginning, until somebody wants to see or hear it.
const MEDIA_RANGE: &[u8] = b"Range: bytes=0-65535\r\n";

/// A request for something that a page needs, or for the page.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) entry: Entry,
    pub(crate) kind: Kind,
    /// The URL, by which caches know it.
    pub(crate) url: Rc<str>,
    /// Redirects that have led here.
    pub(crate) redirects: u32,
    /// This is what the user asked for; all else is needed for it.
    pub(crate) is_page: bool,
}

impl Resource {
    /// What an entry of the plan asks for, or what it was redirected to.
    pub(crate) fn new(entry: Entry, kind: Kind, redirects: u32, is_page: bool) -> Self {
        let url = Rc::from(entry.url.to_string());
        Self { entry, kind, url, redirects, is_page }
    }

    /// What a page refers to: asked for as the page was, by GET, whatever status was wanted there.
    fn of_reference(of: &Entry, url: Url, kind: Kind) -> Self {
        let mut entry = of.redirected(url, 303);
        entry.expect = None;
        if kind == Kind::Media {
            entry.expect = Some(Statuses::of(&[200, 206]));
        }
        Self::new(entry, kind, 0, false)
    }

    /// Fields besides those of the entry.
    pub(crate) const fn more_fields(&self) -> &'static [u8] {
        match self.kind {
            Kind::Media => MEDIA_RANGE,
            _ => &[],
        }
    }
}

/// What was found in a page or stylesheet.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) resources: Vec<Rc<Resource>>,
}

impl Document {
    /// Looks through the content of what `of` asked for.
    pub(crate) fn read(content: &[u8], of: &Resource) -> Self {
        match of.kind {
            Kind::Document => {
                let page = html::references(content);
                let base = page.base.and_then(|base| of.entry.url.join(&base));
                Self::new(page.found, base.as_ref().unwrap_or(&of.entry.url), of)
            }
            Kind::Style => Self::new(css::references(content), &of.entry.url, of),
            _ => Self::default(),
        }
    }

    fn new(found: Found, base: &Url, of: &Resource) -> Self {
        let resource = |reference: Reference| {
            if reference.kind == Kind::Icon && !of.is_page {
                // Nobody sees those of frames.
                return None;
            }
            let url = base.join(&reference.url)?;
            Some(Rc::new(Resource::of_reference(&of.entry, url, reference.kind)))
        };
        Self { resources: found.references.into_iter().filter_map(resource).collect() }
    }
}
