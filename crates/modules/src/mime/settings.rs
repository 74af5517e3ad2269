//! What directives attach to extensions, and the rule that finds all metadata in a file name:
//! `page.html.fr.gz` is HTML, French and compressed, in whatever order the extensions stand.

use server::metadata::Metadata;
use server::site::settings::DirectoryKey;
use server::site::store::Merge;
use std::borrow::Cow;
use std::collections::HashMap;

use super::types::{EXTENSION_BYTES_MAX, Types};

/// What an extension can stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MimeAttribute {
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

/// `MultiviewsMatch`: what makes a part of a name meaningful besides type, language, charset and
/// encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MultiviewsMatch {
    /// `NegotiatedOnly`: nothing does.
    NegotiatedOnly,
    /// `Handlers`, `Filters` or both.
    Also {
        /// A handler does.
        handlers: bool,
        /// A filter does.
        filters: bool,
    },
    /// `Any`: all parts count.
    Any,
}

const ATTRIBUTES: usize = 7;

/// Values by `MimeAttribute`. A type that is the empty string hides that of `mime.types`.
pub(super) type AttributeValues = [Option<Box<str>>; ATTRIBUTES];

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// The settings of one section of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Boxed: most of the slots of a table are free.
    by_extension: HashMap<Box<[u8]>, Box<AttributeValues>>,
    removals: Vec<(Box<[u8]>, MimeAttribute)>,
    default_language: Option<String>,
    force_type: Option<ForceType>,
    pub(super) multiviews_match: Option<MultiviewsMatch>,
    use_path_info: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ForceType {
    /// `ForceType none` stops a `ForceType` of an outer section.
    Off,
    Type(String),
}

impl Merge for Settings {
    const HOLDS_ALONE: bool = true;

    fn over(&self, outer: &Self) -> Self {
        Self::merge(outer, self)
    }
}

impl Settings {
    /// `AddType text/html .shtml .xhtm` and its relatives: a value, then extensions. Values
    /// are stored in lower case, as httpd does.
    pub(crate) fn add(
        &mut self,
        attribute: MimeAttribute,
        arguments: &[&str],
    ) -> Result<(), String> {
        let Some((value, extensions)) = arguments.split_first() else {
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
    pub(crate) fn remove(
        &mut self,
        attribute: MimeAttribute,
        extensions: &[&str],
    ) -> Result<(), String> {
        if extensions.is_empty() {
            return Err("requires at least one argument".to_owned());
        }
        for extension in extensions {
            if attribute == MimeAttribute::Type {
                let values = self.by_extension.entry(key(extension)).or_default();
                values[attribute as usize] = Some("".into());
            } else {
                self.removals.push((key(extension), attribute));
            }
        }
        Ok(())
    }

    /// `DefaultLanguage en`: for files whose name says nothing.
    pub(crate) fn set_default_language(&mut self, language: &str) {
        self.default_language = Some(language.to_owned());
    }

    /// `ModMimeUsePathInfo`
    pub(super) fn set_use_path_info(&mut self, is_on: bool) {
        self.use_path_info = Some(is_on);
    }

    /// Whether what follows the file in a URL path belongs to its name.
    pub(crate) fn uses_path_info(&self) -> bool {
        self.use_path_info.unwrap_or(false)
    }

    /// What `ForceType` says, to folders as well.
    pub(crate) fn forced_type(&self) -> Option<&str> {
        match &self.force_type {
            Some(ForceType::Type(forced)) => Some(forced),
            _ => None,
        }
    }

    /// `ForceType image/gif` or `ForceType none`.
    pub(crate) fn set_force_type(&mut self, media_type: &str) {
        let is_off = media_type.eq_ignore_ascii_case("none");
        self.force_type =
            Some(if is_off { ForceType::Off } else { ForceType::Type(media_type.to_owned()) });
    }

    /// The settings of a section inside another: `inner` wins, then its removals apply.
    pub(crate) fn merge(outer: &Self, inner: &Self) -> Self {
        // What a section without a directive of this module is merged with keeps its removals: it
        // has no settings in httpd (ap_merge_per_dir_configs), and sections are merged with each
        // other before they are with the server's.
        if *outer == Self::default() {
            return inner.clone();
        }
        if *inner == Self::default() {
            return outer.clone();
        }
        let mut merged = outer.clone();
        for (extension, added) in &inner.by_extension {
            let values = merged.by_extension.entry(extension.clone()).or_default();
            for (value, added) in values.iter_mut().zip(added.iter()) {
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
        merged.multiviews_match = inner.multiviews_match.or(outer.multiviews_match);
        merged.use_path_info = inner.use_path_info.or(outer.use_path_info);
        merged
    }

    /// Reads the metadata out of a file name (mod_mime.c `find_ct`). The name may have its path.
    /// The part up to the first dot that is not a leading one is no extension: `.png` is a
    /// hidden file, not an image.
    pub(crate) fn mime<'a>(&'a self, types: &'a Types, file_name: &[u8]) -> Metadata<'a> {
        let mut mime = Metadata::default();
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
        if let Some(forced) = self.forced_type() {
            mime.content_type = Some(forced);
            mime.charset = None; // core sets the whole field, after mod_mime
        }
        mime
    }

    /// What directives say about an extension in lower case.
    pub(super) fn values(&self, extension: &[u8]) -> Option<&AttributeValues> {
        self.by_extension.get(extension).map(|values| &**values)
    }

    /// Adds what one extension says; of types, the last recognised wins.
    fn apply<'a>(&'a self, types: &'a Types, extension: &[u8], mime: &mut Metadata<'a>) {
        const NOTHING: &AttributeValues = &[const { None }; ATTRIBUTES];
        let values = self.values(extension).unwrap_or(NOTHING);
        let value = |attribute: MimeAttribute| values[attribute as usize].as_deref();
        match value(MimeAttribute::Type) {
            Some("") => {}
            Some(added) => mime.content_type = Some(added),
            None => mime.content_type = types.get(extension).or(mime.content_type),
        }
        mime.charset = value(MimeAttribute::Charset).or(mime.charset);
        mime.handler = value(MimeAttribute::Handler).or(mime.handler);
        mime.languages.extend(value(MimeAttribute::Language));
        if let Some(encoding) = value(MimeAttribute::Encoding) {
            // Applied one after the other, so the order counts and doubles are meant.
            mime.encoding = Some(match mime.encoding.take() {
                None => Cow::Borrowed(encoding),
                Some(before) => Cow::Owned(format!("{before}, {encoding}")),
            });
        }
        let input = value(MimeAttribute::InputFilter).into_iter().flat_map(filter_names);
        mime.input_filters.extend(input);
        let output = value(MimeAttribute::OutputFilter).into_iter().flat_map(filter_names);
        mime.output_filters.extend(output);
    }
}

/// An extension as a key: without its dot, in lower case.
fn key(extension: &str) -> Box<[u8]> {
    let bare = extension.strip_prefix('.').unwrap_or(extension);
    bare.to_ascii_lowercase().into_bytes().into_boxed_slice()
}

/// The extensions of a file name that may have a path.
fn extensions(file_name: &[u8]) -> impl Iterator<Item = &[u8]> {
    base_and_extensions(file_name).1
}

/// The part of a file name before its extensions, with the dots it begins with, and those.
pub(super) fn base_and_extensions(file_name: &[u8]) -> (&[u8], impl Iterator<Item = &[u8]>) {
    let name = file_name.rsplit(|&byte| byte == b'/').next().unwrap_or(file_name);
    let leading_dots = name.iter().take_while(|&&byte| byte == b'.').count();
    let base = name[leading_dots..].iter().position(|&byte| byte == b'.');
    let (base, rest) = name.split_at(base.map_or(name.len(), |dot| leading_dots + dot));
    (base, rest.split(|&byte| byte == b'.').filter(|extension| !extension.is_empty()))
}

/// `INCLUDES;DEFLATE` names two filters.
fn filter_names(value: &str) -> impl Iterator<Item = &str> {
    value.split(';').filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types() -> Types {
        Types::parse("text/html html\ntext/plain txt\nimage/png png\napplication/gzip gz\n")
    }

    fn settings() -> Settings {
        let mut settings = Settings::default();
        for (attribute, arguments) in [
            (MimeAttribute::Type, &["Text/HTML;Level=1", ".upx"][..]),
            (MimeAttribute::Type, &["text/html;charset=foo", "chx", ".CHY"]),
            (MimeAttribute::Type, &["bad", ".badt"]),
            (MimeAttribute::Language, &["pt-BR", ".ptbr"]),
            (MimeAttribute::Language, &["EN", ".eng"]),
            (MimeAttribute::Charset, &["ISO-8859-1", ".lat"]),
            (MimeAttribute::Encoding, &["X-Gzip", ".gzz"]),
            (MimeAttribute::Handler, &["Type-Map", ".var"]),
            (MimeAttribute::OutputFilter, &["INCLUDES;DEFLATE", ".shtml"]),
            (MimeAttribute::InputFilter, &["one", ".in"]),
        ] {
            settings.add(attribute, arguments).unwrap();
        }
        settings
    }

    /// Type, encoding and language of a name, as `a | b | c`.
    fn summary(settings: &Settings, name: &str) -> String {
        let types = types();
        let mime = settings.mime(&types, name.as_bytes());
        let content_type = mime.content_type_value().unwrap_or_default();
        let language = mime.language().unwrap_or_default();
        let encoding = mime.encoding.unwrap_or_default();
        format!("{content_type} | {encoding} | {language}")
    }

    #[test]
    fn names_mean_what_they_mean_to_httpd() {
        // Apache 2.4.71 answered the same to the names from "x.upx.lat" to ".png" and from
        // "a.png.txt" to "x."; the others follow from mod_mime.c.
        for (name, expected) in [
            ("x.upx.lat", "text/html; level=1; charset=iso-8859-1 |  | "),
            ("x.chx.lat", "text/html; charset=iso-8859-1 |  | "),
            ("x.chx", "text/html; charset=foo |  | "),
            ("x.badt", "bad |  | "),
            ("x.badt.lat", "bad |  | "),
            ("x.txt.lat", "text/plain; charset=iso-8859-1 |  | "),
            ("x.html.ptbr.eng", "text/html |  | pt-br,en"),
            ("x.html.gzz.gzz", "text/html | x-gzip, x-gzip | "),
            (".png", " |  | "),
            ("..png", " |  | "),
            (".a.png", "image/png |  | "),
            ("a.png.txt", "text/plain |  | "),
            ("a.txt.zzz", "text/plain |  | "),
            ("txt.html", "text/html |  | "),
            ("x.upx", "text/html; level=1 |  | "),
            ("X.TXT", "text/plain |  | "),
            ("x..html", "text/html |  | "),
            ("x.", " |  | "),
            ("", " |  | "),
            ("/a.html/b", " |  | "),
            ("/a/b.html", "text/html |  | "),
        ] {
            assert_eq!(summary(&settings(), name), expected, "{name}");
        }
    }

    #[test]
    fn any_bytes_are_a_name() {
        let (settings, types) = (settings(), types());
        let long = [b"x.".as_slice(), &[b'h'; 300], b".html"].concat();
        assert_eq!(settings.mime(&types, &long).content_type, Some("text/html"));
        assert_eq!(settings.mime(&types, b"\xff.\xfe.html").content_type, Some("text/html"));
    }

    #[test]
    fn handlers_and_filters() {
        let (settings, types) = (settings(), types());
        assert_eq!(settings.mime(&types, b"a.var").handler, Some("type-map"));
        let mime = settings.mime(&types, b"a.shtml.in");
        assert_eq!(mime.output_filters, ["includes", "deflate"]);
        assert_eq!(mime.input_filters, ["one"]);
    }

    #[test]
    fn remove_type_hides_the_table_too() {
        let mut inner = Settings::default();
        inner.remove(MimeAttribute::Type, &[".html", "CHX"]).unwrap();
        let merged = Settings::merge(&settings(), &inner);
        assert_eq!(summary(&merged, "a.html"), " |  | ");
        assert_eq!(summary(&merged, "a.txt.chx"), "text/plain |  | ");
    }

    #[test]
    fn removals_apply_to_what_was_inherited() {
        let mut inner = Settings::default();
        inner.remove(MimeAttribute::Encoding, &["gzz"]).unwrap();
        inner.remove(MimeAttribute::Language, &[".ENG"]).unwrap();
        inner.remove(MimeAttribute::Charset, &["lat"]).unwrap();
        let merged = Settings::merge(&settings(), &inner);
        assert_eq!(summary(&merged, "a.html.gzz.eng.lat"), "text/html |  | ");
        // A section between that says nothing changes nothing.
        for sections in [(&Settings::default(), &inner), (&inner, &Settings::default())] {
            let sections = Settings::merge(sections.0, sections.1);
            let merged = Settings::merge(&settings(), &sections);
            assert_eq!(summary(&merged, "a.html.gzz.eng.lat"), "text/html |  | ");
        }
        // The section that removes has nothing to remove of its own.
        assert_eq!(summary(&Settings::merge(&inner, &settings()), "a.gzz"), " | x-gzip | ");
    }

    #[test]
    fn inner_sections_win() {
        let mut inner = Settings::default();
        inner.add(MimeAttribute::Type, &["a/b", ".html", ".upx"]).unwrap();
        let merged = Settings::merge(&settings(), &inner);
        assert_eq!(summary(&merged, "x.html.lat"), "a/b; charset=iso-8859-1 |  | ");
        assert_eq!(summary(&merged, "x.upx"), "a/b |  | ");
    }

    #[test]
    fn force_type_wins_over_names_and_can_be_stopped() {
        let mut outer = settings();
        outer.set_force_type("image/gif");
        assert_eq!(summary(&outer, "x.html.lat.gzz"), "image/gif | x-gzip | ");
        let inherits = Settings::merge(&outer, &Settings::default());
        assert_eq!(summary(&inherits, "x"), "image/gif |  | ");
        let mut inner = Settings::default();
        inner.set_force_type("None");
        assert_eq!(summary(&Settings::merge(&outer, &inner), "x.html"), "text/html |  | ");
    }

    #[test]
    fn the_default_language_is_for_names_without() {
        let mut settings = settings();
        settings.set_default_language("fr");
        assert_eq!(summary(&settings, "x.html"), "text/html |  | fr");
        assert_eq!(summary(&settings, "x.html.eng"), "text/html |  | en");
    }

    #[test]
    fn quoted_parameters_are_kept_whole() {
        for (media_type, expected) in [
            ("a/b; x=\"1;2\";charset=q", "a/b; x=\"1;2\"; charset=new"),
            ("a/b;charset=q;charset=r;y=1", "a/b; charset=new; y=1"),
            ("a/b;", "a/b;"),
            ("a/b;x", "a/b;x"),
            ("a/b;=1", "a/b;=1"),
            ("a/b;x=\"1", "a/b;x=\"1"),
        ] {
            let mime = Metadata {
                content_type: Some(media_type),
                charset: Some("new"),
                ..Metadata::default()
            };
            assert_eq!(mime.content_type_value().unwrap(), expected, "{media_type}");
        }
    }

    #[test]
    fn arguments_are_needed() {
        let mut settings = Settings::default();
        assert!(settings.add(MimeAttribute::Type, &[]).is_err());
        assert!(settings.remove(MimeAttribute::Charset, &[]).is_err());
    }
}
