//! What was found in a page or stylesheet, as requests that can be sent.

use super::{FoundReference, ResourceKind, css, html};
use crate::plan::{Expect, PlanEntry};
use crate::url::Url;
use std::rc::Rc;

/// Of film and sound browsers load the beginning, until somebody wants to see or hear it.
const MEDIA_RANGE: &[u8] = b"Range: bytes=0-65535\r\n";

/// A request for something that a page needs, or for the page.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) entry: PlanEntry,
    pub(crate) kind: ResourceKind,
    /// The URL, by which caches know it.
    pub(crate) url: Rc<str>,
    /// Redirects that have led here.
    pub(crate) redirects: u32,
    /// This is what the user asked for; all else is needed for it.
    pub(crate) is_page: bool,
}

impl Resource {
    /// What an entry of the plan asks for, or what it was redirected to.
    pub(crate) fn new(entry: PlanEntry, kind: ResourceKind, redirects: u32, is_page: bool) -> Self {
        let url = Rc::from(entry.url.to_string());
        Self { entry, kind, url, redirects, is_page }
    }

    /// What a page refers to: asked for as the page was, by GET, whatever status was wanted there.
    fn of_reference(of: &PlanEntry, url: Url, kind: ResourceKind) -> Self {
        let mut entry = of.redirected(url, 303);
        (entry.expect, entry.takes) = (None, Vec::new());
        if kind == ResourceKind::Media {
            entry.expect = Some(Expect::of(&[200, 206]));
        }
        Self::new(entry, kind, 0, false)
    }

    /// Bytes that it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.url.len() + self.entry.heap_bytes()
    }

    /// Fields besides those of the entry.
    pub(crate) const fn more_fields(&self) -> &'static [u8] {
        match self.kind {
            ResourceKind::Media => MEDIA_RANGE,
            _ => &[],
        }
    }
}

/// What was found in a page or stylesheet.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) resources: Vec<Rc<Resource>>,
    /// Bytes that it takes, about.
    pub(crate) bytes: usize,
}

/// Bytes of a document at most: a page of a few bytes may have a long base and refer to it often.
const BYTES_MAX: usize = 32 << 20;

impl Document {
    /// Looks through the content of what `of` asked for.
    pub(crate) fn read(content: &[u8], of: &Resource) -> Self {
        match of.kind {
            ResourceKind::Document => {
                let page = html::references(content);
                let base = page.base.and_then(|base| of.entry.url.join(&base));
                Self::new(page.found, base.as_ref().unwrap_or(&of.entry.url), of)
            }
            ResourceKind::Style => Self::new(css::references(content), &of.entry.url, of),
            _ => Self::default(),
        }
    }

    fn new(found: FoundReference, base: &Url, of: &Resource) -> Self {
        let mut document = Self::default();
        for reference in found.references {
            if reference.kind == ResourceKind::Icon && !of.is_page {
                // Nobody sees those of frames.
                continue;
            }
            let Some(url) = base.join(&reference.url) else { continue };
            let resource = Resource::of_reference(&of.entry, url, reference.kind);
            document.bytes += resource.bytes();
            if document.bytes > BYTES_MAX {
                break;
            }
            document.resources.push(Rc::new(resource));
        }
        document
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{PlanEntry, RequestDefaults, RequestSpec, Variables};

    #[test]
    fn a_small_page_with_a_long_base_takes_bounded_memory() {
        let spec = RequestSpec { url: "http://a/", ..RequestSpec::default() };
        let entry =
            PlanEntry::new(&spec, &Variables::default(), &RequestDefaults::default()).unwrap();
        let page = Resource::new(entry, ResourceKind::Document, 0, true);
        let images: String = (0..10_000).map(|image| format!("<img src={image}>")).collect();
        let small = Document::read(images.as_bytes(), &page);
        assert_eq!(small.resources.len(), 10_000);
        assert!((5_000_000..BYTES_MAX).contains(&small.bytes), "{}", small.bytes);
        let content = format!("<base href='/{}/'>{images}", "b".repeat(10_000));
        let long = Document::read(content.as_bytes(), &page);
        let targets: usize = long.resources.iter().map(|one| one.entry.url.target.len()).sum();
        assert!((100..2000).contains(&long.resources.len()), "{}", long.resources.len());
        assert!(targets < BYTES_MAX, "{targets}");
    }
}
