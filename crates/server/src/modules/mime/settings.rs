//! What directives attach to extensions, and the rule that finds all metadata in a file name:
//! `page.html.fr.gz` is HTML, French and compressed, in whatever order the extensions stand.

use std::borrow::Cow;
use std::collections::HashMap;

use super::types::{EXTENSION_BYTES_MAX, Types};

/// What an extension can stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// AddType, RemoveType
    Type,
    /// AddEncoding, RemoveEncoding
    Encoding,
    /// AddLanguage, RemoveLanguage
    Language,
    /// AddCharset, RemoveCharset
    Charset,
    /// AddHandler, RemoveHandler
    Handler,
    /// AddInputFilter, RemoveInputFilter
    InputFilter,
    /// AddOutputFilter, RemoveOutputFilter
    OutputFilter,
}

const ATTRIBUTES: usize = 7;

/// Values by `Attribute`. A type that is the empty string hides that of `mime.types`.
type Values = [Option<Box<str>>; ATTRIBUTES];

/// The settings of one section of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    by_extension: HashMap<Box<[u8]>, Values>,
    removals: Vec<(Box<[u8]>, Attribute)>,
    default_language: Option<String>,
    force_type: Option<ForceType>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ForceType {
    /// `ForceType none` stops a `ForceType` of an outer section.
    Off,
    Type(String),
}

impl Settings {
    /// `AddType text/html .shtml .xhtm` and its relatives: a value, then extensions. Values
    /// are stored in lower case, as httpd does.
    pub fn add(&mut self, attribute: Attribute, arguments: &[&str]) -> Result<(), String> {
        let Some((value, extensions)) =
            arguments.split_first().filter(|(_, rest)| !rest.is_empty())
        else {
            return Err("requires at least two arguments".to_owned());
        };
        for extension in extensions {
            let values = self.by_extension.entry(key(extension)).or_default();
            values[attribute as usize] = Some(value.to_ascii_lowercase().into_boxed_str());
        }
        Ok(())
    }

    /// `RemoveType .cgi` and its relatives. What an outer section added is removed when
    /// sections are merged; `RemoveType` also hides the type of `mime.types`, which is why it
    /// is an addition of nothing.
    pub fn remove(&mut self, attribute: Attribute, extensions: &[&str]) -> Result<(), String> {
        if extensions.is_empty() {
            return Err("requires at least one argument".to_owned());
        }
        for extension in extensions {
            if attribute == Attribute::Type {
                let values = self.by_extension.entry(key(extension)).or_default();
                values[attribute as usize] = Some("".into());
            } else {
                self.removals.push((key(extension), attribute));
            }
        }
        Ok(())
    }

    /// `DefaultLanguage en`: for files whose name says nothing.
    pub fn set_default_language(&mut self, language: &str) {
        self.default_language = Some(language.to_owned());
    }

    /// `ForceType image/gif` or `ForceType none`.
    pub fn set_force_type(&mut self, media_type: &str) {
        let is_off = media_type.eq_ignore_ascii_case("none");
        self.force_type =
            Some(if is_off { ForceType::Off } else { ForceType::Type(media_type.to_owned()) });
    }

    /// The settings of a section inside another: `inner` wins, then its removals apply.
    pub fn merge(outer: &Self, inner: &Self) -> Self {
        let mut merged = outer.clone();
        for (extension, added) in &inner.by_extension {
            let values = merged.by_extension.entry(extension.clone()).or_default();
            for (value, added) in values.iter_mut().zip(added) {
                if added.is_some() {
                    value.clone_from(added);
                }
            }
        }
        for (extension, attribute) in &inner.removals {
            if let Some(values) = merged.by_extension.get_mut(extension) {
                values[*attribute as usize] = None;
            }
        }
        merged.removals.clear(); // they are not inherited further down
        let default_language = inner.default_language.as_ref().or(outer.default_language.as_ref());
        merged.default_language = default_language.cloned();
        merged.force_type = inner.force_type.as_ref().or(outer.force_type.as_ref()).cloned();
        merged
    }

    /// Reads the metadata out of a file name (mod_mime.c `find_ct`). The name may have its path.
    /// The part up to the first dot that is not a leading one is no extension: `.png` is a
    /// hidden file, not an image.
    pub fn mime<'a>(&'a self, types: &'a Types, file_name: &[u8]) -> Mime<'a> {
        let mut mime = Mime::default();
        let mut buffer = [0; EXTENSION_BYTES_MAX];
        for extension in extensions(file_name) {
            let Some(lower) = buffer.get_mut(..extension.len()) else { continue };
            lower.copy_from_slice(extension);
            lower.make_ascii_lowercase();
            self.apply(types, lower, &mut mime);
        }
        if mime.languages.is_empty() {
            mime.languages.extend(self.default_language.as_deref());
        }
        if let Some(ForceType::Type(forced)) = &self.force_type {
            mime.content_type = Some(forced);
            mime.charset = None; // core sets the whole field, after mod_mime
        }
        mime
    }

    /// Adds what one extension says; of types, the last recognised wins.
    fn apply<'a>(&'a self, types: &'a Types, extension: &[u8], mime: &mut Mime<'a>) {
        const NOTHING: &Values = &[const { None }; ATTRIBUTES];
        let values = self.by_extension.get(extension).unwrap_or(NOTHING);
        let value = |attribute: Attribute| values[attribute as usize].as_deref();
        match value(Attribute::Type) {
            Some("") => {}
            Some(added) => mime.content_type = Some(added),
            None => mime.content_type = types.get(extension).or(mime.content_type),
        }
        mime.charset = value(Attribute::Charset).or(mime.charset);
        mime.handler = value(Attribute::Handler).or(mime.handler);
        mime.languages.extend(value(Attribute::Language));
        if let Some(encoding) = value(Attribute::Encoding) {
            // Applied one after the other, so the order counts and doubles are meant.
            mime.encoding = Some(match mime.encoding.take() {
                None => Cow::Borrowed(encoding),
                Some(before) => Cow::Owned(format!("{before}, {encoding}")),
            });
        }
        let input = value(Attribute::InputFilter).into_iter().flat_map(filter_names);
        mime.input_filters.extend(input);
        let output = value(Attribute::OutputFilter).into_iter().flat_map(filter_names);
        mime.output_filters.extend(output);
    }
}

/// What a file name says about the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mime<'a> {
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

impl<'a> Mime<'a> {
    /// Value of Content-Type. The character set of the name replaces one of the type.
    pub fn content_type_value(&self) -> Option<Cow<'a, str>> {
        let media_type = self.content_type?;
        if self.charset.is_none() && !media_type.contains(';') {
            return Some(Cow::Borrowed(media_type));
        }
        let mut parts = media_type.split(';').map(str::trim);
        let mut value = parts.next().unwrap_or_default().to_owned();
        for parameter in parts.filter(|parameter| !parameter.is_empty()) {
            let name = parameter.split('=').next().unwrap_or(parameter).trim_end();
            if self.charset.is_some() && name.eq_ignore_ascii_case("charset") {
                continue;
            }
            value.push_str("; ");
            value.push_str(parameter);
        }
        if let Some(charset) = self.charset {
            value.push_str("; charset=");
            value.push_str(charset);
        }
        Some(Cow::Owned(value))
    }

    /// Value of Content-Language.
    pub fn language(&self) -> Option<Cow<'a, str>> {
        match self.languages.as_slice() {
            [] => None,
            [one] => Some(Cow::Borrowed(one)),
            many => Some(Cow::Owned(many.join(", "))),
        }
    }
}

/// An extension as a key: without its dot, in lower case.
fn key(extension: &str) -> Box<[u8]> {
    let bare = extension.strip_prefix('.').unwrap_or(extension);
    bare.to_ascii_lowercase().into_bytes().into_boxed_slice()
}

/// The extensions of a file name that may have a path.
fn extensions(file_name: &[u8]) -> impl Iterator<Item = &[u8]> {
    let name = file_name.rsplit(|&byte| byte == b'/').next().unwrap_or(file_name);
    let leading_dots = name.iter().take_while(|&&byte| byte == b'.').count();
    name[leading_dots..]
        .split(|&byte| byte == b'.')
        .skip(1)
        .filter(|extension| !extension.is_empty())
}

/// `INCLUDES;DEFLATE` names two filters.
fn filter_names(value: &str) -> impl Iterator<Item = &str> {
    value.split(';').filter(|name| !name.is_empty())
}
