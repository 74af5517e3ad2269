//! How well a variant suits a client, dimension by dimension: media type, language, charset and
//! encoding. Which variant is taken then belongs to `choose`.
//!
//! All comparisons are made with `f32`, in httpd's order: whether two qualities are equal decides
//! which rule comes next.

use super::accept::{AcceptElement, INCLUDES, INCLUDES_3, without_x};
use super::settings::Settings;
use super::variant::Variant;

/// A variant without a language, where others have one (`set_default_lang_quality`), and one that
/// only `ForceLanguagePriority Fallback` lets in.
const LAST_RESORT: f32 = 0.0001;

/// The lists of a request; `None` where the client has not sent the field.
#[derive(Clone, Debug, Default)]
pub(super) struct Accepted {
    pub(super) types: Vec<AcceptElement>,
    pub(super) languages: Option<Vec<AcceptElement>>,
    pub(super) charsets: Option<Vec<AcceptElement>>,
    pub(super) encodings: Option<Vec<AcceptElement>>,
    /// Whether an element of Accept has a quality below 1; without one, wildcards count little.
    pub(super) has_type_quality: bool,
    /// Whether the fields mean what they say: a client that negotiates transparently (RFC 2295)
    /// knows what it sends.
    pub(super) is_literal: bool,
    /// Of a variant without a language.
    pub(super) default_language: f32,
}

/// How well one variant suits (the fields of httpd's `var_rec` that negotiation sets).
#[derive(Clone, Debug)]
pub(super) struct Quality {
    pub(super) media_type: f32,
    pub(super) language: f32,
    pub(super) charset: f32,
    pub(super) encoding: f32,
    /// Its place in `LanguagePriority`, the smaller the better.
    pub(super) language_index: Option<usize>,
    /// Its level, if the client asked for the type by name.
    pub(super) level_matched: f32,
    /// 1 for `*/*`, 2 for `type/*`, 3 for the type itself.
    stars: u8,
    /// Whether no wildcard was involved (RFC 2296 section 3.4).
    pub(super) is_definite: bool,
}

impl Default for Quality {
    fn default() -> Self {
        Self {
            media_type: 1.0,
            language: 1.0,
            charset: 1.0,
            encoding: 1.0,
            language_index: None,
            level_matched: 0.0,
            stars: 0,
            is_definite: true,
        }
    }
}

impl Accepted {
    /// Decides what variants without a language are worth.
    pub(super) fn consider(&mut self, variants: &[Variant]) {
        let is_by_language = variants.iter().any(|variant| !variant.languages.is_empty());
        let is_lowered = is_by_language && !self.is_literal;
        self.default_language = if is_lowered { LAST_RESORT } else { 1.0 };
    }
}

impl Quality {
    /// The media type: the most exact element counts, whatever its quality (`set_accept_quality`).
    pub(super) fn set_media_type(&mut self, accepted: &Accepted, variant: &Variant) {
        let mut found = 0.0;
        let mut is_definite = true;
        for entry in &accepted.types {
            let before = self.stars;
            if !self.matches(entry, variant) || before == self.stars {
                continue;
            }
            // Clients without qualities send `*/*` because they must, not because they mean it.
            let is_lowered = !accepted.is_literal && !accepted.has_type_quality;
            found = match self.stars {
                1 if is_lowered => 0.01,
                2 if is_lowered => 0.02,
                _ => entry.quality,
            };
            is_definite = self.stars == 3;
        }
        self.media_type = found;
        self.is_definite &= is_definite;
    }

    /// Whether an element covers the variant, noting how exactly (`mime_match`).
    fn matches(&mut self, entry: &AcceptElement, variant: &Variant) -> bool {
        let (name, own) = (entry.name.as_slice(), variant.media_type.as_slice());
        if matches!(name, b"*" | b"*/*") {
            self.stars = self.stars.max(1);
            return true;
        }
        let top = name.strip_suffix(b"/*").filter(|top| !top.is_empty());
        if top.is_some_and(|top| own.strip_prefix(top).is_some_and(|rest| rest.starts_with(b"/"))) {
            self.stars = self.stars.max(2);
            return true;
        }
        let is_html = name == b"text/html" && (own == INCLUDES || own == INCLUDES_3);
        let is_same = (name == own || is_html) && entry.level >= variant.level;
        if is_same {
            self.level_matched = variant.level;
            self.stars = 3;
        }
        is_same
    }

    /// The language, then its place in `LanguagePriority` (`set_language_quality`).
    pub(super) fn set_language(
        &mut self,
        accepted: &Accepted,
        settings: &Settings,
        variant: &Variant,
    ) {
        if variant.languages.is_empty() {
            if !accepted.is_literal {
                self.language = accepted.default_language;
            }
            return;
        }
        match &accepted.languages {
            None => self.is_definite = false,
            Some(entries) => self.match_languages(entries, accepted.is_literal, variant),
        }
        self.set_language_index(settings, variant);
    }

    /// The best of what the client says about each language of the variant. About one language
    /// the longest element counts (RFC 9110 section 12.5.4, basic filtering).
    fn match_languages(&mut self, entries: &[AcceptElement], is_literal: bool, variant: &Variant) {
        let star = entries.iter().find(|entry| entry.name == b"*");
        let mut best: Option<&AcceptElement> = None;
        let mut is_by_star = false;
        let mut parent = 0.0;
        for tag in &variant.languages {
            let of_tag = longest_range(entries, tag);
            if !is_literal && is_parent_of_any(entries, tag) {
                parent = 0.001;
            }
            let is_better =
                |best: &AcceptElement| of_tag.is_some_and(|own| own.quality > best.quality);
            if best.is_none_or(is_better) {
                best = of_tag;
            }
            is_by_star |= of_tag.is_none() && star.is_some();
        }
        if let (Some(star), true) = (star, is_by_star)
            && best.is_none_or(|best| star.quality > best.quality)
        {
            best = Some(star);
            self.is_definite = false;
        }
        self.language = best.map_or(parent, |best| best.quality);
    }

    /// `ForceLanguagePriority`: what decides among languages that suit equally well (`Prefer`),
    /// and what to send when none suits (`Fallback`).
    fn set_language_index(&mut self, settings: &Settings, variant: &Variant) {
        let force = settings.force();
        let is_acceptable = self.language != 0.0;
        let is_asked =
            (force.prefer && self.language_index.is_none()) || (force.fallback && !is_acceptable);
        let index = variant.languages.iter().filter_map(|tag| settings.priority_of(tag)).min();
        if !is_asked || index.is_none() {
            return;
        }
        if is_acceptable && force.prefer {
            self.language_index = index;
        } else if !is_acceptable && force.fallback {
            self.language_index = index;
            self.language = LAST_RESORT;
            self.is_definite = false;
        }
    }

    /// The character set (`set_charset_quality`).
    pub(super) fn set_charset(&mut self, accepted: &Accepted, variant: &Variant) {
        const DEFAULT: &[u8] = b"iso-8859-1"; // of text, as HTTP/1.1 once had it
        let mut charset = variant.charset.as_slice();
        let Some(entries) = &accepted.charsets else {
            self.is_definite &= charset.is_empty();
            return;
        };
        if charset.is_empty() {
            // `INCLUDES` is a text type too. A guess would not show in the list of variants, so
            // there is none for clients that choose from it.
            if !variant.media_type.starts_with(b"text/") || accepted.is_literal {
                return;
            }
            charset = DEFAULT;
        }
        let star = entries.iter().rfind(|entry| entry.name == b"*");
        self.charset = match (entries.iter().find(|entry| entry.name == charset), star) {
            (Some(named), _) => named.quality,
            (None, Some(star)) => {
                self.is_definite = false;
                star.quality
            }
            (None, None) if charset == DEFAULT => 1.0,
            (None, None) => 0.0,
        };
    }

    /// The encoding (`set_encoding_quality`).
    pub(super) fn set_encoding(&mut self, accepted: &Accepted, variant: &Variant) {
        let own = variant.encoding.as_deref().filter(|encoding| !is_identity(encoding));
        let Some(entries) = &accepted.encodings else {
            self.encoding = if own.is_none() { 1.0 } else { 0.5 };
            return;
        };
        let name = without_x(own.unwrap_or(b"identity"));
        let star = entries.iter().rfind(|entry| without_x(&entry.name) == b"*");
        let named = entries.iter().find(|entry| without_x(&entry.name) == name);
        let otherwise = if own.is_none() { LAST_RESORT } else { 0.0 };
        self.encoding = named.or(star).map_or(otherwise, |entry| entry.quality);
    }
}

/// The longest language range that covers the tag. Of equals the first counts.
fn longest_range<'a>(entries: &'a [AcceptElement], tag: &[u8]) -> Option<&'a AcceptElement> {
    let ranges = entries.iter().filter(|entry| covers(&entry.name, tag));
    // `max_by_key` gives the last of equals, hence the turn.
    ranges.rev().max_by_key(|entry| entry.name.len())
}

/// Whether a range is the tag, or its beginning up to a hyphen. `*` is another matter.
fn covers(range: &[u8], tag: &[u8]) -> bool {
    let rest = tag.strip_prefix(range);
    !matches!(range, [] | b"*") && rest.is_some_and(|rest| matches!(rest, [] | [b'-', ..]))
}

/// Whether a range asks for a dialect of the tag, before any range covers the tag itself: whoever
/// asks for `en-us` alone reads `en` too, if there is nothing better.
fn is_parent_of_any(entries: &[AcceptElement], tag: &[u8]) -> bool {
    for entry in entries {
        if covers(&entry.name, tag) {
            return false;
        }
        let hyphen = entry.name.iter().position(|&byte| byte == b'-');
        if hyphen.is_some_and(|hyphen| tag.starts_with(&entry.name[..hyphen])) {
            return true;
        }
    }
    false
}

/// Encodings that change nothing (`is_identity_encoding`).
pub(super) fn is_identity(encoding: &[u8]) -> bool {
    matches!(encoding, b"" | b"7bit" | b"8bit" | b"binary")
}
