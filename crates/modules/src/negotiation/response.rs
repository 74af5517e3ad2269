//! What an answer says about a negotiation: its fields, the list of variants on the pages of 300
//! and 406, and where a type map leads to.

use message::escape::html_escape;
use message::path::{encode, encode_segment};

use super::variant::Variant;

/// The fields, in httpd's order. `None` is not sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NegotiationFields {
    /// The chosen variant, of a transparent negotiation.
    pub(crate) content_location: Option<Vec<u8>>,
    /// RFC 2295 section 8.3.
    pub(crate) alternates: Option<Vec<u8>>,
    /// To be joined with what Vary says already.
    pub(crate) vary: Option<String>,
    /// RFC 2295 section 8.5.
    pub(crate) tcn: Option<&'static str>,
}

impl NegotiationFields {
    /// Names and values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &[u8])> {
        let content_location = self.content_location.as_deref();
        let rows = [
            ("Content-Location", content_location),
            ("Alternates", self.alternates.as_deref()),
            ("Vary", self.vary.as_deref().map(str::as_bytes)),
            ("TCN", self.tcn.map(str::as_bytes)),
        ];
        rows.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }
}

/// Makes the fields (mod_negotiation.c `setup_choice_response` and `set_neg_headers`).
pub(super) fn fields(
    variants: &[Variant],
    chosen: Option<&Variant>,
    is_transparent: bool,
    shows_all: bool,
) -> NegotiationFields {
    let location = chosen.filter(|_| is_transparent).map(|variant| {
        let mut location = Vec::new();
        encode_segment(&variant.name, &mut location);
        location
    });
    NegotiationFields {
        content_location: location,
        alternates: (shows_all && !variants.is_empty()).then(|| alternates(variants)),
        vary: vary(variants, is_transparent),
        tcn: is_transparent.then_some(if chosen.is_some() { "choice" } else { "list" }),
    }
}

/// The fields of a request on which the choice can depend: one for each way in which a variant
/// differs from the first.
fn vary(variants: &[Variant], is_transparent: bool) -> Option<String> {
    let differs = |is_same: fn(&Variant, &Variant) -> bool| {
        variants.iter().skip(1).any(|other| !is_same(&variants[0], other))
    };
    let rows = [
        ("negotiate", is_transparent),
        ("accept", differs(|one, other| one.media_type == other.media_type)),
        ("accept-language", differs(|one, other| one.languages == other.languages)),
        ("accept-charset", differs(|one, other| one.charset == other.charset)),
        ("accept-encoding", differs(|one, other| encoding_of(one) == encoding_of(other))),
    ];
    let names: Vec<&str> = rows.iter().filter(|row| row.1).map(|row| row.0).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn encoding_of(variant: &Variant) -> &[u8] {
    variant.encoding.as_deref().unwrap_or_default()
}

/// The value of Alternates. Encodings are no part of RFC 2295, and sent as httpd does.
fn alternates(variants: &[Variant]) -> Vec<u8> {
    let mut value = Vec::new();
    for variant in variants {
        if !value.is_empty() {
            value.extend_from_slice(b", ");
        }
        value.extend_from_slice(b"{\"");
        encode_segment(&variant.name, &mut value);
        value.extend_from_slice(b"\" ");
        value.extend_from_slice(quality_text(variant.source_quality).as_bytes());
        attribute("type", &variant.media_type, &mut value);
        attribute("charset", &variant.charset, &mut value);
        attribute("language", &variant.language().unwrap_or_default(), &mut value);
        attribute("encoding", encoding_of(variant), &mut value);
        // The size of a script says nothing about its answer.
        if let (Some(length), false) = (variant.length, variant.has_handler) {
            attribute("length", length.to_string().as_bytes(), &mut value);
        }
        value.push(b'}');
    }
    value
}

fn attribute(name: &str, text: &[u8], out: &mut Vec<u8>) {
    if !text.is_empty() {
        out.extend_from_slice(format!(" {{{name} ").as_bytes());
        out.extend_from_slice(text);
        out.push(b'}');
    }
}

/// Three digits, without zeros at the end.
fn quality_text(quality: f32) -> String {
    let text = format!("{quality:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The list of variants on the pages of 300 and 406 (mod_negotiation.c `make_variant_list`). A
/// description is HTML, as the author of the type map wrote it.
pub(crate) fn variant_list(variants: &[Variant]) -> Vec<u8> {
    let mut page = b"Available variants:\n<ul>\n".to_vec();
    for variant in variants {
        page.extend_from_slice(b"<li><a href=\"");
        encode_segment(&variant.name, &mut page);
        page.extend_from_slice(b"\">");
        html_escape(&variant.name, &mut page);
        page.extend_from_slice(b"</a> ");
        page.extend_from_slice(&variant.description);
        detail("type", Some(&variant.media_type).filter(|text| !text.is_empty()), &mut page);
        detail("language", variant.language().as_ref(), &mut page);
        detail("charset", Some(&variant.charset).filter(|text| !text.is_empty()), &mut page);
        detail("encoding", variant.encoding.as_ref(), &mut page);
        page.extend_from_slice(b"</li>\n");
    }
    page.extend_from_slice(b"</ul>\n");
    page
}

fn detail(name: &str, text: Option<&Vec<u8>>, page: &mut Vec<u8>) {
    if let Some(text) = text {
        page.extend_from_slice(format!(", {name} ").as_bytes());
        page.extend_from_slice(text);
    }
}

/// The URL of the variant that a type map leads to, for an internal redirect. `folder` is the
/// decoded URL path of the map's folder with its slash (mod_negotiation.c `handle_map_file`).
pub(crate) fn map_target(
    folder: &[u8],
    variant: &Variant,
    path_info: &[u8],
    query: Option<&[u8]>,
) -> Vec<u8> {
    let mut target = Vec::new();
    encode(folder, &mut target);
    target.extend_from_slice(&variant.name);
    target.extend_from_slice(path_info);
    if let Some(query) = query {
        target.push(b'?');
        target.extend_from_slice(query);
    }
    target
}

/// The Content-Type of a text within a type map; `None` keeps that of the map.
pub(crate) fn content_type(variant: &Variant) -> Option<Vec<u8>> {
    let mut text = Some(&variant.media_type).filter(|text| !text.is_empty())?.clone();
    if !variant.charset.is_empty() {
        text.extend_from_slice(b"; charset=");
        text.extend_from_slice(&variant.charset);
    }
    Some(text)
}

/// Whether an answer to HTTP/1.0 gets an Expires of now, because a cache of that time knows no
/// Vary. `multiviews` is the number of files that MultiViews found, 0 for a type map.
pub(crate) fn expires_at_once(is_http_1_0: bool, caches: bool, multiviews: usize) -> bool {
    is_http_1_0 && !caches && multiviews != 1
}
