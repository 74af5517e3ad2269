//! The choice among variants: by httpd's own rules, by RFC 2296 where the client asks for them, or
//! left to the client. What the answer then says about it belongs to `response`.

use std::cmp::Ordering;

use super::accept::{AcceptElement, entries};
use super::quality::{Accepted, Quality, is_identity};
use super::response::{self, NegotiationFields};
use super::settings::Settings;
use super::variant::{CGI_TYPE, Variant};

/// What of a request a choice depends on. A field that came several times is one list.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NegotiatedRequest<'a> {
    /// GET or HEAD: others are never answered transparently.
    pub(crate) is_get: bool,
    /// Whether the path goes on behind the resource.
    pub(crate) has_path_info: bool,
    /// Of MultiViews: whether a script would do best, which is so for other methods than GET,
    /// with a query and with path info. Never for a type map.
    pub(crate) prefers_scripts: bool,
    pub(crate) accept: Option<&'a [u8]>,
    pub(crate) accept_language: Option<&'a [u8]>,
    pub(crate) accept_charset: Option<&'a [u8]>,
    pub(crate) accept_encoding: Option<&'a [u8]>,
    pub(crate) negotiate: Option<&'a [u8]>,
    pub(crate) user_agent: Option<&'a [u8]>,
    /// The environment variable `prefer-language`.
    pub(crate) prefer_language: Option<&'a [u8]>,
    /// Whether `no-gzip` is set.
    pub(crate) no_gzip: bool,
    /// Whether `gzip-only-text/html` is `1`.
    pub(crate) gzip_only_html: bool,
}

/// What a negotiation decides to answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VariantChoice {
    /// The variant with this index.
    Variant(usize),
    /// 300, with the list of variants.
    List,
    /// 406, with the list of variants and a line in the error log (AH00690 `no acceptable
    /// variant: FILE`).
    NotAcceptable,
}

/// The outcome of a negotiation.
#[derive(Clone, Debug)]
pub(crate) struct NegotiationOutcome {
    pub(crate) choice: VariantChoice,
    /// Fields of the answer, be it the variant or an error page.
    pub(crate) fields: NegotiationFields,
    /// Whether this is a transparent negotiation: a variant that negotiates in turn is then 506.
    pub(crate) is_transparent: bool,
}

/// Chooses among `variants` (mod_negotiation.c `do_negotiation`).
pub(crate) fn choose(
    request: &NegotiatedRequest<'_>,
    settings: &Settings,
    variants: &[Variant],
) -> NegotiationOutcome {
    let is_transparent = is_transparent(request, variants);
    let terms =
        if is_transparent { NegotiateTerms::of(request) } else { NegotiateTerms::default() };
    let mut accepted = accepted(request, &terms);
    accepted.consider(variants);
    let contest = Contest { request, settings, variants, terms: &terms, accepted: &accepted };
    let best = contest.run();
    let choice = match best {
        Some(index) => VariantChoice::Variant(index),
        None if terms.is_supported => VariantChoice::List,
        None => VariantChoice::NotAcceptable,
    };
    let chosen = best.map(|index| &variants[index]);
    let shows_all = terms.sends_alternates || chosen.is_none();
    let fields = response::fields(variants, chosen, is_transparent, shows_all);
    NegotiationOutcome { choice, fields, is_transparent }
}

/// Whether caches may choose as well: not below a path, not for texts within a type map, and not
/// if a variant lies elsewhere, which RFC 2295 section 14 forbids.
fn is_transparent(request: &NegotiatedRequest<'_>, variants: &[Variant]) -> bool {
    let is_neighbour = |variant: &Variant| !variant.name.contains(&b'/') && variant.body.is_none();
    request.is_get && !request.has_path_info && variants.iter().all(is_neighbour)
}

/// What a client's Negotiate field allows (RFC 2295 section 8.4).
#[derive(Clone, Debug, PartialEq, Eq)]
struct NegotiateTerms {
    /// The client knows what a list of variants is.
    is_supported: bool,
    /// It wants one with each answer.
    sends_alternates: bool,
    /// It leaves the choice to us.
    may_choose: bool,
    /// By the rules of RFC 2296.
    is_remote: bool,
    /// Its fields mean what they say.
    is_literal: bool,
}

impl Default for NegotiateTerms {
    /// Those of a client without the field.
    fn default() -> Self {
        Self {
            is_supported: false,
            sends_alternates: false,
            may_choose: true,
            is_remote: false,
            is_literal: false,
        }
    }
}

impl NegotiateTerms {
    /// Reads the field (mod_negotiation.c `parse_negotiate_header`).
    fn of(request: &NegotiatedRequest<'_>) -> Self {
        let mut terms = Self::default();
        let Some(field) = request.negotiate else { return terms };
        // Lynx says this without knowing what it means.
        let is_lynx = request.user_agent.is_some_and(|agent| agent.starts_with(b"Lynx"));
        if field == b"trans" && is_lynx {
            return terms;
        }
        terms.may_choose = false;
        let words = field.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
        for word in words.map(<[u8]>::to_ascii_lowercase) {
            terms.add(&word);
        }
        terms
    }

    fn add(&mut self, word: &[u8]) {
        let is_known = matches!(word, b"trans" | b"vlist" | b"guess-small" | b"*");
        if !is_known && !word.first().is_some_and(u8::is_ascii_digit) {
            return;
        }
        self.is_supported = true;
        self.sends_alternates = true;
        if word == b"1.0" || word == b"*" {
            self.may_choose = true;
            self.is_literal = true;
            self.is_remote |= word == b"1.0";
        }
    }
}

/// The lists of the request, with the element for scripts that is always there
/// (`maybe_add_default_accepts`).
fn accepted(request: &NegotiatedRequest<'_>, terms: &NegotiateTerms) -> Accepted {
    let named = |name: &[u8], quality| AcceptElement {
        name: name.to_vec(),
        quality,
        ..AcceptElement::default()
    };
    let sent = request.accept.map(entries);
    let has_type_quality = sent.iter().flatten().any(|entry| entry.quality < 1.0);
    let mut types = sent.unwrap_or_else(|| vec![named(b"*/*", 1.0)]);
    let for_scripts = match (terms.is_remote, request.prefers_scripts) {
        (true, _) => 0.0,
        (false, true) => 2.0,
        (false, false) => 0.001,
    };
    types.push(named(CGI_TYPE, for_scripts));
    Accepted {
        types,
        languages: request.accept_language.map(entries),
        charsets: request.accept_charset.map(entries),
        encodings: request.accept_encoding.map(entries),
        has_type_quality,
        is_literal: terms.is_literal,
        default_language: 1.0,
    }
}

/// All that a choice is made from.
struct Contest<'a> {
    request: &'a NegotiatedRequest<'a>,
    settings: &'a Settings,
    variants: &'a [Variant],
    terms: &'a NegotiateTerms,
    accepted: &'a Accepted,
}

/// The best variant so far.
#[derive(Clone, Copy)]
struct Leader {
    index: usize,
    /// Its overall quality.
    overall: f32,
}

impl Contest<'_> {
    /// The index of the best variant, if there is one (mod_negotiation.c `best_match`).
    fn run(&self) -> Option<usize> {
        // As in httpd the second round goes on with what the first one found out.
        let mut qualities = vec![Quality::default(); self.variants.len()];
        let preferred = self.request.prefer_language;
        let first = preferred.and_then(|language| self.round(Some(language), &mut qualities));
        first.or_else(|| self.round(None, &mut qualities))
    }

    /// One pass over the variants, over those in one language if one is `preferred`.
    fn round(&self, preferred: Option<&[u8]>, qualities: &mut [Quality]) -> Option<usize> {
        let mut leader: Option<Leader> = None;
        for (index, variant) in self.variants.iter().enumerate() {
            let is_other = |language: &[u8]| !variant.languages.iter().any(|own| own == language);
            if self.is_discarded(variant) || preferred.is_some_and(is_other) {
                continue;
            }
            self.rate(variant, preferred.is_some(), &mut qualities[index]);
            if self.terms.may_choose
                && let Some(overall) = self.better(index, leader, qualities)
            {
                leader = Some(Leader { index, overall });
            }
        }
        // RFC 2296 section 3.5: what a wildcard let in is for the client to decide.
        let is_final = |index: &usize| !self.terms.is_remote || qualities[*index].is_definite;
        leader.map(|leader| leader.index).filter(is_final)
    }

    /// Whether a variable of the environment takes an encoded variant out of the contest, as
    /// mod_deflate would not encode for that client (`discard_variant_by_env`).
    fn is_discarded(&self, variant: &Variant) -> bool {
        let encoding = variant.encoding.as_deref().unwrap_or_default();
        if is_identity(encoding) || encoding == b"identity" {
            return false;
        }
        let is_html = variant.media_type.starts_with(b"text/html");
        self.request.no_gzip || (self.request.gzip_only_html && !is_html)
    }

    fn rate(&self, variant: &Variant, is_preferred: bool, quality: &mut Quality) {
        quality.set_media_type(self.accepted, variant);
        if is_preferred {
            quality.language = 1.0;
            quality.is_definite = true;
        } else {
            quality.set_language(self.accepted, self.settings, variant);
        }
        quality.set_encoding(self.accepted, variant);
        quality.set_charset(self.accepted, variant);
    }

    /// The overall quality of a variant that is better than the leader.
    fn better(&self, index: usize, leader: Option<Leader>, all: &[Quality]) -> Option<f32> {
        let (variant, quality) = (&self.variants[index], &all[index]);
        let best = leader.map(|leader| {
            let (variant, quality) = (&self.variants[leader.index], &all[leader.index]);
            Rated { variant, quality, overall: leader.overall }
        });
        let overall = if self.terms.is_remote {
            remote_quality(variant, quality)
        } else {
            own_quality(variant, quality)
        };
        let rated = Rated { variant, quality, overall };
        let is_better = match best {
            _ if overall <= 0.0 => false,
            None => true,
            Some(best) if self.terms.is_remote => is_better_remotely(&rated, &best),
            Some(best) => is_better(&rated, &best),
        };
        is_better.then_some(overall)
    }
}

/// A variant with its qualities.
struct Rated<'a> {
    variant: &'a Variant,
    quality: &'a Quality,
    overall: f32,
}

/// RFC 2296 section 3.3. Encodings are no part of it, but what is refused is not sent.
fn remote_quality(variant: &Variant, quality: &Quality) -> f32 {
    if quality.encoding == 0.0 {
        return 0.0;
    }
    quality.media_type * variant.source_quality * quality.charset * quality.language
}

/// httpd's own: 0 if one dimension is, else type and source alone; the others decide ties.
fn own_quality(variant: &Variant, quality: &Quality) -> f32 {
    let others = [quality.encoding, quality.language, quality.charset];
    if others.contains(&0.0) { 0.0 } else { quality.media_type * variant.source_quality }
}

fn is_better_remotely(one: &Rated<'_>, best: &Rated<'_>) -> bool {
    one.overall > best.overall
        || (one.overall == best.overall && one.quality.encoding > best.quality.encoding)
}

/// The rules one after the other; of equals the earlier stays (mod_negotiation.c
/// `is_variant_better`).
fn is_better(one: &Rated<'_>, best: &Rated<'_>) -> bool {
    let rules: &[fn(&Rated<'_>, &Rated<'_>) -> Ordering] = &[
        |one, best| one.overall.total_cmp(&best.overall),
        |one, best| one.quality.language.total_cmp(&best.quality.language),
        by_language_priority,
        by_level,
        by_charset,
        |one, best| one.quality.encoding.total_cmp(&best.quality.encoding),
        |one, best| best.variant.length.cmp(&one.variant.length),
    ];
    let first = rules.iter().map(|rule| rule(one, best)).find(|order| order.is_ne());
    first == Some(Ordering::Greater)
}

/// A smaller place is better, and one at all better than none.
fn by_language_priority(one: &Rated<'_>, best: &Rated<'_>) -> Ordering {
    match (one.quality.language_index, best.quality.language_index) {
        (Some(one), Some(best)) => best.cmp(&one),
        (one, best) => one.is_some().cmp(&best.is_some()),
    }
}

/// Levels of one media type: the highest that the client has asked for, else the lowest there is
/// (mod_negotiation.c `level_cmp`).
fn by_level(one: &Rated<'_>, best: &Rated<'_>) -> Ordering {
    let is_comparable = if one.variant.is_pseudo_html() {
        best.variant.is_pseudo_html()
    } else {
        one.variant.media_type == best.variant.media_type
    };
    if !is_comparable {
        return Ordering::Equal;
    }
    let matched = compare(one.quality.level_matched, best.quality.level_matched);
    matched.then_with(|| compare(best.variant.level, one.variant.level))
}

/// A better quality, or a named charset instead of the default of text. The other way round is no
/// reason to stay, only no reason to change.
fn by_charset(one: &Rated<'_>, best: &Rated<'_>) -> Ordering {
    let is_default =
        |rated: &Rated<'_>| matches!(rated.variant.charset.as_slice(), b"" | b"iso-8859-1");
    let by_quality = compare(one.quality.charset, best.quality.charset);
    by_quality.then_with(|| match (is_default(one), is_default(best)) {
        (false, true) => Ordering::Greater,
        _ => Ordering::Equal,
    })
}

/// Levels and qualities are never NaN, and -0 is 0.
fn compare(one: f32, other: f32) -> Ordering {
    one.partial_cmp(&other).unwrap_or(Ordering::Equal)
}
