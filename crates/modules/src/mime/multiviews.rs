//! Which parts of a file name mean something, which is what MultiViews asks: a part that means
//! nothing must have been requested by name. The choice itself belongs to negotiation.

use super::settings::{MimeAttribute, MultiviewsMatch, Settings, base_and_extensions};
use super::types::{EXTENSION_BYTES_MAX, Types};

impl Settings {
    /// One word of `MultiviewsMatch` (mod_mime.c `multiviews_match`).
    pub(crate) fn add_multiviews_match(&mut self, word: &str) -> Result<(), String> {
        let before = self.multiviews_match;
        let also = match before {
            Some(MultiviewsMatch::Also { handlers, filters }) => Some((handlers, filters)),
            None => Some((false, false)),
            Some(_) => None,
        };
        let now = match (word.to_ascii_lowercase().as_str(), also) {
            ("any", _) if matches!(before, None | Some(MultiviewsMatch::Any)) => {
                MultiviewsMatch::Any
            }
            ("any", _) => {
                return Err("Any is incompatible with NegotiatedOnly, Filters and Handlers".into());
            }
            ("negotiatedonly", _)
                if matches!(before, None | Some(MultiviewsMatch::NegotiatedOnly)) =>
            {
                MultiviewsMatch::NegotiatedOnly
            }
            ("negotiatedonly", _) => {
                return Err("NegotiatedOnly is incompatible with Any, Filters and Handlers".into());
            }
            ("filters", Some((handlers, _))) => MultiviewsMatch::Also { handlers, filters: true },
            ("handlers", Some((_, filters))) => MultiviewsMatch::Also { handlers: true, filters },
            ("filters", None) => {
                return Err("Filters is incompatible with Any and NegotiatedOnly".into());
            }
            ("handlers", None) => {
                return Err("Handlers is incompatible with Any and NegotiatedOnly".into());
            }
            _ => return Err(format!("Unrecognized option '{word}'")),
        };
        self.multiviews_match = Some(now);
        Ok(())
    }

    /// The parts of a file name that mean nothing, its base name first; `None` if no part means
    /// anything (the `ap-mime-exceptions-list` of mod_mime.c `find_ct`).
    pub(crate) fn unclaimed<'n>(
        &self,
        types: &Types,
        file_name: &'n [u8],
    ) -> Option<Vec<&'n [u8]>> {
        let (base, extensions) = base_and_extensions(file_name);
        let mut unclaimed = vec![base];
        let mut is_any = false;
        for extension in extensions {
            if self.means_something(types, extension) {
                is_any = true;
            } else {
                unclaimed.push(extension);
            }
        }
        is_any.then_some(unclaimed)
    }

    fn means_something(&self, types: &Types, extension: &[u8]) -> bool {
        if self.multiviews_match == Some(MultiviewsMatch::Any) {
            return true;
        }
        let mut buffer = [0; EXTENSION_BYTES_MAX];
        let Some(lower) = buffer.get_mut(..extension.len()) else { return false };
        lower.copy_from_slice(extension);
        lower.make_ascii_lowercase();
        let values = self.values(lower);
        let has = |attribute: MimeAttribute| {
            values.is_some_and(|values| values[attribute as usize].is_some())
        };
        let has_type =
            match values.and_then(|values| values[MimeAttribute::Type as usize].as_deref()) {
                // `RemoveType` leaves a type of nothing, which hides that of mime.types.
                Some(added) => !added.is_empty(),
                None => types.get(lower).is_some(),
            };
        let (handlers, filters) = match self.multiviews_match {
            Some(MultiviewsMatch::Also { handlers, filters }) => (handlers, filters),
            _ => (false, false),
        };
        has_type
            || [MimeAttribute::Charset, MimeAttribute::Language, MimeAttribute::Encoding]
                .map(has)
                .contains(&true)
            || (handlers && has(MimeAttribute::Handler))
            || (filters && (has(MimeAttribute::InputFilter) || has(MimeAttribute::OutputFilter)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(matching: &[&str]) -> Settings {
        let mut settings = Settings::default();
        settings.add(MimeAttribute::Language, &["en", ".en"]).unwrap();
        settings.add(MimeAttribute::Handler, &["cgi-script", ".cgi"]).unwrap();
        settings.add(MimeAttribute::OutputFilter, &["INCLUDES", ".shtml"]).unwrap();
        settings.remove(MimeAttribute::Type, &[".txt"]).unwrap();
        for word in matching {
            settings.add_multiviews_match(word).unwrap();
        }
        settings
    }

    #[test]
    fn parts_that_mean_nothing_are_named() {
        for (matching, name, expected) in [
            (&[][..], "index.html.en", Some("index")),
            (&[], "html.en.HTML", Some("html")),
            (&[], "index.Foo.html", Some("index Foo")),
            (&[], "index.cgi.en", Some("index cgi")),
            (&[], "index.cgi", None),
            (&[], "index.txt", None),
            (&[], "index", None),
            (&[], ".png", None),
            (&[], "..a.png..bar", Some("..a bar")),
            (&["Handlers"], "index.cgi", Some("index")),
            (&["Handlers"], "index.shtml", None),
            (&["filters"], "index.shtml", Some("index")),
            (&["Filters", "Handlers"], "index.shtml.cgi", Some("index")),
            (&["NegotiatedOnly"], "index.cgi", None),
            (&["Any"], "index.foo.bar", Some("index")),
            (&["Any"], "index", None),
        ] {
            let types = Types::parse("text/html html\nimage/png png\ntext/plain txt\n");
            let unclaimed = settings(matching).unclaimed(&types, name.as_bytes());
            let shown = unclaimed.map(|parts| String::from_utf8(parts.join(&b' ')).unwrap());
            assert_eq!(shown.as_deref(), expected, "{matching:?} {name}");
        }
    }

    #[test]
    fn long_extensions_mean_nothing() {
        let name = [b"a.en.".as_slice(), &[b'x'; 300]].concat();
        let unclaimed = settings(&[]).unclaimed(&Types::default(), &name).unwrap();
        assert_eq!(unclaimed.len(), 2);
    }

    #[test]
    fn only_handlers_and_filters_go_together() {
        for (words, expected) in [
            (["Any", "Any"], "Ok(())"),
            (["Handlers", "Filters"], "Ok(())"),
            (
                ["Filters", "Any"],
                "Err(\"Any is incompatible with NegotiatedOnly, Filters and Handlers\")",
            ),
            (
                ["Any", "NegotiatedOnly"],
                "Err(\"NegotiatedOnly is incompatible with Any, Filters and Handlers\")",
            ),
            (["Any", "Filters"], "Err(\"Filters is incompatible with Any and NegotiatedOnly\")"),
            (
                ["NegotiatedOnly", "Handlers"],
                "Err(\"Handlers is incompatible with Any and NegotiatedOnly\")",
            ),
            (["Any", "all"], "Err(\"Unrecognized option 'all'\")"),
        ] {
            let mut settings = settings(&words[..1]);
            let added = settings.add_multiviews_match(words[1]);
            assert_eq!(format!("{added:?}"), expected, "{words:?}");
        }
    }

    #[test]
    fn inner_sections_win() {
        let merged = Settings::merge(&settings(&["Any"]), &settings(&["Handlers"]));
        assert_eq!(merged.unclaimed(&Types::default(), b"a.x.cgi").unwrap().len(), 2);
        let merged = Settings::merge(&settings(&["Any"]), &settings(&[]));
        assert_eq!(merged.unclaimed(&Types::default(), b"a.x.cgi").unwrap().len(), 1);
    }
}
