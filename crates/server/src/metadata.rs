//! What the name of a file says about the file: its media type, encoding, languages, handler and
//! filters. Which extension means what is the business of a module, which has a hook for it.

use crate::site::Site;
use crate::site::settings::Settings;
use std::borrow::Cow;

/// The module that reads names (mod_mime).
#[derive(Clone, Copy)]
pub struct Naming {
    /// What a name says where these settings hold.
    pub metadata: for<'s> fn(&'s Settings, &'s Site, name: &[u8]) -> Metadata<'s>,
    /// Whether what follows the file in a URL path belongs to its name.
    pub uses_path_info: fn(&Settings) -> bool,
}

/// What a file name says about the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata<'a> {
    /// Media type as configured; `content_type_value` is the field's value.
    pub content_type: Option<&'a str>,
    /// Value of Content-Encoding.
    pub encoding: Option<Cow<'a, str>>,
    /// Values of Content-Language.
    pub languages: Vec<&'a str>,
    /// Character set from AddCharset.
    pub charset: Option<&'a str>,
    /// Handler from AddHandler.
    pub handler: Option<&'a str>,
    /// Filters of the request, in order.
    pub input_filters: Vec<&'a str>,
    /// Filters of the response, in order.
    pub output_filters: Vec<&'a str>,
}

impl<'a> Metadata<'a> {
    /// Value of Content-Type. The character set of the name takes the place of the type's own
    /// (mod_mime.c `analyze_ct`); a type that cannot be parsed is sent as configured.
    pub fn content_type_value(&self) -> Option<Cow<'a, str>> {
        let media_type = self.content_type?;
        if self.charset.is_none() && !media_type.contains(';') {
            return Some(Cow::Borrowed(media_type));
        }
        let Some((bare, parameters)) = parse_media_type(media_type) else {
            return Some(Cow::Borrowed(media_type));
        };
        let mut value = bare.to_owned();
        let mut charset = self.charset;
        for (name, parameter) in parameters {
            let shown = match (self.charset, name) {
                (Some(_), "charset") => charset.take(), // a second one is dropped
                _ => Some(parameter),
            };
            if let Some(shown) = shown {
                value.extend(["; ", name, "=", shown]);
            }
        }
        if let Some(charset) = charset {
            value.extend(["; charset=", charset]);
        }
        Some(Cow::Owned(value))
    }

    /// Value of Content-Language; httpd separates with a bare comma here.
    pub fn language(&self) -> Option<Cow<'a, str>> {
        match self.languages.as_slice() {
            [] => None,
            [one] => Some(Cow::Borrowed(one)),
            many => Some(Cow::Owned(many.join(","))),
        }
    }
}

/// A media type and its parameters, quoted values with their quotes. `None` if it is malformed
/// (RFC 9110 section 8.3.1).
fn parse_media_type(text: &str) -> Option<(&str, Vec<(&str, &str)>)> {
    let end = text.find(';').unwrap_or(text.len());
    let bare = text[..end].trim();
    bare.split_once('/').filter(|(top, sub)| !top.is_empty() && !sub.is_empty())?;
    let mut parameters = Vec::new();
    let mut rest = text[end..].trim_start();
    while let Some(parameter) = rest.strip_prefix(';') {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim_start();
        let length = value_length(value)?;
        if name.trim().is_empty() || length == 0 {
            return None;
        }
        parameters.push((name.trim(), value[..length].trim_end()));
        rest = value[length..].trim_start();
    }
    rest.is_empty().then_some((bare, parameters))
}

/// Bytes of a parameter's value: a quoted string, or all up to the next semicolon.
fn value_length(value: &str) -> Option<usize> {
    if !value.starts_with('"') {
        return Some(value.find(';').unwrap_or(value.len()));
    }
    let mut is_escaped = false;
    let close = value[1..].bytes().position(|byte| {
        let is_close = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_close
    })?;
    Some(close + 2)
}
