//! Extension to media type: the contents of a `mime.types` file.

use std::collections::HashMap;

/// The table that is built in, for a machine without `/etc/mime.types`.
const EMBEDDED: &str = include_str!("mime.types");

/// Longest extension that can be in a table.
pub(super) const EXTENSION_BYTES_MAX: usize = 64;

/// Media types by extension. Extensions compare without case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Types {
    by_extension: HashMap<Box<[u8]>, Box<str>>,
}

impl Types {
    /// Reads the text of a `mime.types` file: a type and its extensions on each line, `#` in
    /// the first column for comments. A later line wins (mod_mime.c `mime_post_config`).
    pub(crate) fn parse(text: &str) -> Self {
        let mut types = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split_ascii_whitespace();
            let Some(media_type) = words.next() else { continue };
            for extension in words.filter(|word| word.len() <= EXTENSION_BYTES_MAX) {
                let key = extension.to_ascii_lowercase().into_bytes().into_boxed_slice();
                types.by_extension.insert(key, media_type.into());
            }
        }
        types
    }

    /// The built-in table.
    pub(crate) fn embedded() -> Self {
        Self::parse(EMBEDDED)
    }

    /// The type of an extension that is already in lower case.
    pub(super) fn get(&self, extension: &[u8]) -> Option<&str> {
        self.by_extension.get(extension).map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_a_type_and_its_extensions() {
        let types = Types::parse(
            "# comment\n\ntext/html\t\thtml HTM\r\n  image/png png \napplication/empty\n\
             #text/x no\ntext/other html\n",
        );
        for (extension, expected) in [
            (&b"htm"[..], Some("text/html")),
            (b"html", Some("text/other")),
            (b"png", Some("image/png")),
            (b"no", None),
            (b"", None),
        ] {
            assert_eq!(types.get(extension), expected);
        }
        assert_eq!(types.by_extension.len(), 3);
    }

    #[test]
    fn the_embedded_table_knows_the_web() {
        let types = Types::embedded();
        for (extension, expected) in [
            ("html", "text/html"),
            ("htm", "text/html"),
            ("css", "text/css"),
            ("js", "text/javascript"),
            ("mjs", "text/javascript"),
            ("json", "application/json"),
            ("svg", "image/svg+xml"),
            ("png", "image/png"),
            ("jpg", "image/jpeg"),
            ("jpeg", "image/jpeg"),
            ("webp", "image/webp"),
            ("avif", "image/avif"),
            ("gif", "image/gif"),
            ("ico", "image/vnd.microsoft.icon"),
            ("woff", "font/woff"),
            ("woff2", "font/woff2"),
            ("ttf", "font/ttf"),
            ("otf", "font/otf"),
            ("mp4", "video/mp4"),
            ("webm", "video/webm"),
            ("mp3", "audio/mpeg"),
            ("ogg", "audio/ogg"),
            ("wav", "audio/x-wav"),
            ("pdf", "application/pdf"),
            ("zip", "application/zip"),
            ("gz", "application/gzip"),
            ("tar", "application/x-tar"),
            ("xml", "application/xml"),
            ("txt", "text/plain"),
            ("md", "text/markdown"),
            ("wasm", "application/wasm"),
            ("map", "application/json"),
            ("webmanifest", "application/manifest+json"),
            ("ics", "text/calendar"),
            ("csv", "text/csv"),
        ] {
            assert_eq!(types.get(extension.as_bytes()), Some(expected), "{extension}");
        }
    }

    #[test]
    fn the_embedded_table_is_well_formed() {
        let mut seen = std::collections::HashSet::new();
        for line in EMBEDDED.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let mut words = line.split_ascii_whitespace();
            let (top, sub) = words.next().unwrap().split_once('/').unwrap();
            assert!(!top.is_empty() && !sub.is_empty() && !sub.contains('/'), "{line}");
            for extension in words {
                assert!(seen.insert(extension), "{extension} stands twice");
                assert_eq!(extension, extension.to_ascii_lowercase());
            }
        }
        assert_eq!(seen.len(), Types::embedded().by_extension.len());
    }
}
