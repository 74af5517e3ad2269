//! A variant, and the variants that MultiViews finds in a folder. Names and facts of the files
//! come from the caller; nothing is opened here.

use super::accept::{self, AcceptElement, INCLUDES, INCLUDES_3};
use server::metadata::Metadata;

/// Variants of one resource that count: each costs a look at every entry of the Accept fields.
pub(crate) const VARIANTS_MAX: usize = 1000;

/// The media type that a file with a handler and no type of its own gets (`CGI_MAGIC_TYPE`).
pub(super) const CGI_TYPE: &[u8] = b"application/x-httpd-cgi";

/// The media type of a type map (mod_negotiation.c `MAP_FILE_MAGIC_TYPE`).
pub(crate) const MAP_TYPE: &str = "application/x-type-map";
/// The handler of type maps.
pub(crate) const MAP_HANDLER: &str = "type-map";

/// One of the representations to choose from.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Variant {
    /// File name beside the resource; in a type map a relative URL.
    pub(crate) name: Vec<u8>,
    /// Where it stands in its type map, if the map itself has it.
    pub(crate) body: Option<VariantBody>,
    /// Without parameters, in lower case; may be empty in a type map.
    pub(crate) media_type: Vec<u8>,
    /// `qs`: how much the variant is worth to begin with.
    pub(crate) source_quality: f32,
    /// `level` of the media type.
    pub(crate) level: f32,
    /// May be empty.
    pub(crate) charset: Vec<u8>,
    /// May be empty.
    pub(crate) languages: Vec<Vec<u8>>,
    /// Value of Content-Encoding.
    pub(crate) encoding: Option<Vec<u8>>,
    /// HTML for the list of variants, as the type map has it.
    pub(crate) description: Vec<u8>,
    /// Size in bytes; unknown counts as less than any.
    pub(crate) length: Option<u64>,
    /// Whether a handler answers for it, so that its size says nothing about the answer.
    pub(crate) has_handler: bool,
}

/// A part of a type map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VariantBody {
    /// Offset of its first byte in the file.
    pub(crate) start: u64,
    /// Its size.
    pub(crate) length: u64,
}

impl Variant {
    /// Sets what the text of a Content-Type says (mod_negotiation.c `set_mime_fields`).
    pub(super) fn set_type(&mut self, mut text: &[u8]) {
        let entry = accept::entry(&mut text);
        self.media_type = entry.name;
        self.source_quality = entry.quality;
        self.level = entry.level;
        self.charset = entry.charset;
    }

    /// HTML, or what becomes HTML when it is sent.
    pub(super) fn is_pseudo_html(&self) -> bool {
        matches!(self.media_type.as_slice(), b"text/html" | INCLUDES | INCLUDES_3)
    }

    /// Its languages as a field value, `None` without any.
    pub(super) fn language(&self) -> Option<Vec<u8>> {
        (!self.languages.is_empty()).then(|| self.languages.join(&b','))
    }
}

/// A file of the folder whose name begins with that of the resource and a dot.
#[derive(Clone, Debug, Default)]
pub(crate) struct VariantFile<'a> {
    /// Its name without a path.
    pub(crate) name: &'a [u8],
    /// What its name says: `settings.mime(types, name)`.
    pub(crate) mime: Metadata<'a>,
    /// The parts of its name that mean nothing (`mime::Settings::unclaimed`); `None` if none of
    /// them means anything.
    pub(crate) unclaimed: Option<Vec<&'a [u8]>>,
    /// Of `SetHandler`, which wins over that of the name.
    pub(crate) handler: Option<&'a str>,
    /// Its size.
    pub(crate) length: u64,
    /// Whether it is a plain file that this request may see.
    pub(crate) is_servable: bool,
}

/// What MultiViews has found in the folder for a name that is not there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FoundVariants {
    /// No file begins with that name: the request goes on as if MultiViews were off.
    Nothing,
    /// Some do, and none counts: 404, with a line in the error log (AH00687).
    NoneFits,
    /// The name of a type map. Its records take the place of all other files.
    Map(Vec<u8>),
    /// In httpd's order.
    Variants(Vec<Variant>),
}

/// Whether a name in the folder is to be looked at for the resource `base`.
pub(crate) fn is_candidate(name: &[u8], base: &[u8]) -> bool {
    name.strip_prefix(base).is_some_and(|rest| rest.first() == Some(&b'.'))
}

/// The variants among the `candidates` of the resource `base`, folders left out
/// (mod_negotiation.c `read_types_multi`). `accept_encoding` is the client's field.
pub(crate) fn variants(
    base: &[u8],
    candidates: &[VariantFile<'_>],
    accept_encoding: Option<&[u8]>,
) -> FoundVariants {
    let accepted = accept_encoding.map(accept::entries).unwrap_or_default();
    let mut found = Vec::new();
    let mut is_any = false;
    for candidate in candidates.iter().filter(|one| is_candidate(one.name, base)) {
        is_any = true;
        let Some(variant) = variant(base, candidate, &accepted) else { continue };
        let handler = candidate.handler.or(candidate.mime.handler);
        let is_map = candidate.mime.content_type.is_some_and(|text| text == MAP_TYPE);
        if is_map || handler == Some(MAP_HANDLER) {
            return FoundVariants::Map(candidate.name.to_vec());
        }
        found.push(variant);
    }
    if found.is_empty() {
        return if is_any { FoundVariants::NoneFits } else { FoundVariants::Nothing };
    }
    // The order decides ties, so it must not be that of the folder (`variantsortf`).
    found.sort_by(|one, other| {
        let by_quality = other.source_quality.total_cmp(&one.source_quality);
        by_quality.then_with(|| one.name.cmp(&other.name))
    });
    found.truncate(VARIANTS_MAX);
    FoundVariants::Variants(found)
}

/// The file as a variant, if it counts.
fn variant(
    base: &[u8],
    candidate: &VariantFile<'_>,
    accepted: &[AcceptElement],
) -> Option<Variant> {
    let unclaimed = candidate.unclaimed.as_ref()?;
    if !candidate.is_servable || !is_claimed(base, unclaimed) {
        return None;
    }
    let has_handler = candidate.handler.or(candidate.mime.handler).is_some();
    let encoding = candidate.mime.encoding.as_ref().map(|text| text.as_bytes().to_vec());
    // httpd looks at each file as at a request of its own, in which the names are mended already.
    let mended = encoding.as_ref().and_then(|text| accept::encoding_as_accepted(text, accepted));
    let mut variant = Variant {
        name: candidate.name.to_vec(),
        languages: candidate.mime.languages.iter().map(|tag| tag.as_bytes().to_vec()).collect(),
        encoding: mended.or(encoding),
        length: Some(candidate.length),
        has_handler,
        ..Variant::default()
    };
    match candidate.mime.content_type_value() {
        Some(text) => variant.set_type(text.as_bytes()),
        None if has_handler => variant.set_type(CGI_TYPE),
        None => return None,
    }
    Some(variant)
}

/// Whether the requested name has every part that means nothing, in order: `index.foo` and
/// `index.html.foo` ask for `index.html.foo`, `index.html` does not.
fn is_claimed(base: &[u8], unclaimed: &[&[u8]]) -> bool {
    let mut left = unclaimed.iter();
    let mut next = left.next();
    for segment in base.split(|&byte| byte == b'.') {
        if next.is_some_and(|part| *part == segment) {
            next = left.next();
        }
    }
    next.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_nothing_has_to_be_asked_for() {
        for (base, unclaimed, expected) in [
            ("index", &["index"][..], true),
            ("index.html", &["index"], true),
            ("index", &["index", "foo"], false),
            ("index.foo", &["index", "foo"], true),
            ("index.html.foo", &["index", "foo"], true),
            ("index.foo", &["index", "foo", "bar"], false),
            ("index.bar.foo", &["index", "foo", "bar"], false),
            ("Index", &["index"], false),
            (".png", &[".png"], false),
            ("", &["index"], false),
        ] {
            let parts: Vec<&[u8]> = unclaimed.iter().map(|part| part.as_bytes()).collect();
            assert_eq!(is_claimed(base.as_bytes(), &parts), expected, "{base} {unclaimed:?}");
        }
    }

    #[test]
    fn names_begin_with_the_resource_and_a_dot() {
        for (name, expected) in
            [("a.html", true), ("a", false), ("ab.html", false), ("a.", true), ("A.x", false)]
        {
            assert_eq!(is_candidate(name.as_bytes(), b"a"), expected, "{name}");
        }
    }
}
