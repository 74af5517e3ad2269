//! References: what pages and stylesheets name that is to be fetched.

/// What a reference is for, in the order in which browsers want it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceKind {
    /// The page, or a frame in it.
    Document,
    /// A stylesheet.
    Style,
    /// A script.
    Script,
    /// A font.
    Font,
    /// What a page announces that it will fetch.
    Fetch,
    /// An image, and whatever else has no kind of its own.
    Image,
    /// The picture beside the title.
    Icon,
    /// Film or sound, of which only the beginning is loaded.
    Media,
}

impl ResourceKind {
    /// As browsers call it in their tables of requests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Style => "stylesheet",
            Self::Script => "script",
            Self::Font => "font",
            Self::Fetch => "fetch",
            Self::Image => "image",
            Self::Icon => "icon",
            Self::Media => "media",
        }
    }

    /// Whether its content refers to more.
    pub const fn is_looked_into(self) -> bool {
        matches!(self, Self::Document | Self::Style)
    }
}

/// Something that a page or a stylesheet refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// As it was written, with entities and escapes decoded.
    pub url: String,
    /// What for.
    pub kind: ResourceKind,
}

/// References of one page or stylesheet at most.
pub const REFERENCES_MAX: usize = 10_000;

/// Bytes of a reference at most; longer ones are pictures within the text (`data:`).
pub const REFERENCE_BYTES_MAX: usize = 16 * 1024;

/// References that were found, each once.
#[derive(Debug, Default)]
pub struct FoundReference {
    /// In the order of the text.
    pub references: Vec<Reference>,
}

impl FoundReference {
    pub(super) fn add(&mut self, url: &[u8], kind: ResourceKind) {
        let url = url.trim_ascii();
        let is_elsewhere = url.is_empty()
            || url[0] == b'#'
            || url.get(..5).is_some_and(|begin| begin.eq_ignore_ascii_case(b"data:"));
        let is_small = url.len() <= REFERENCE_BYTES_MAX && self.references.len() < REFERENCES_MAX;
        if !is_elsewhere && is_small {
            let url = String::from_utf8_lossy(url).into_owned();
            self.references.push(Reference { url, kind });
        }
    }
}

/// The place of `wanted` in `text`.
pub(super) fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    let (&first, rest) = wanted.split_first()?;
    let mut at = 0;
    while let Some(place) = text.get(at..)?.iter().position(|byte| *byte == first) {
        at += place + 1;
        if text[at..].starts_with(rest) {
            return Some(at - 1);
        }
    }
    None
}
