//! Sections: settings that hold for some paths only, and how a path is compared with them.

use crate::site::expression::Expression;
use crate::site::wildcard;
use config::{Call, Error};
use pattern::{Captures, LimitExceeded, PatternFlags, Regex};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

/// Which kind of section, with its argument.
#[derive(Clone, Debug)]
pub enum SectionKind {
    /// `<Directory>` and `<DirectoryMatch>`: folders, and what is in them.
    Directory(Matcher),
    /// `<Files>` and `<FilesMatch>`: files of that name.
    Files(Matcher),
    /// `<Location>` and `<LocationMatch>`: URL paths.
    Location(Matcher),
    /// `<Proxy>` and `<ProxyMatch>`: URLs of backends, which a plain matcher compares as a prefix.
    Proxy {
        /// Which URLs.
        matcher: Matcher,
        /// The argument as it was written.
        name: String,
        /// Whether it is `<ProxyMatch>`.
        is_match: bool,
    },
    /// `<If>`, `<ElseIf>`, `<Else>`: requests.
    If(IfCondition),
}

/// A name or a path to compare with.
#[derive(Clone, Debug)]
pub enum Matcher {
    /// Plain, or with `*`, `?` and `[...]`.
    Wildcard(wildcard::WildcardPattern),
    /// `~`, or one of the `Match` sections.
    Regex(Arc<Regex>),
}

/// The condition of an `<If>`.
#[derive(Clone, Debug)]
pub struct IfCondition {
    /// Which part of the chain it is.
    pub branch: Branch,
    /// `None` for `<Else>`.
    pub expression: Option<Arc<Expression>>,
    /// The expression as it was written.
    pub written: Box<str>,
}

impl IfCondition {
    /// How it begins.
    pub(crate) fn shown(&self) -> String {
        let name = match self.branch {
            Branch::If => "If",
            Branch::ElseIf => "ElseIf",
            Branch::Else => return "<Else>".into(),
        };
        format!("<{name} \"{}\">", self.written)
    }
}

/// Which part of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    /// `<If>`
    If,
    /// `<ElseIf>`
    ElseIf,
    /// `<Else>`
    Else,
}

impl Matcher {
    /// As it was written.
    pub fn text(&self) -> &str {
        match self {
            Self::Wildcard(pattern) => pattern.text(),
            Self::Regex(regex) => regex.as_str(),
        }
    }

    /// The beginning of a section of this name.
    pub(crate) fn shown(&self, name: &str) -> String {
        match self {
            Self::Wildcard(pattern) => format!("<{name} \"{}\">", pattern.text()),
            Self::Regex(regex) => format!("<{name}Match \"{}\">", regex.as_str()),
        }
    }

    /// The regular expression, if it is one.
    pub(crate) fn regex(&self) -> Option<&Regex> {
        match self {
            Self::Wildcard(_) => None,
            Self::Regex(regex) => Some(regex),
        }
    }

    /// Whether a whole name matches (core.c, ap_file_walk).
    pub(crate) fn matches_name(&self, name: &[u8]) -> Result<SectionMatch, LimitExceeded> {
        match self {
            Self::Wildcard(pattern) => Ok(pattern.matches(name).into()),
            Self::Regex(regex) => find(regex, name),
        }
    }

    /// Whether a URL path matches (request.c, ap_location_walk): a plain path also with all that
    /// is below it, one with wildcards only as a whole.
    pub(crate) fn matches_url(&self, url: &[u8]) -> Result<SectionMatch, LimitExceeded> {
        match self {
            Self::Wildcard(pattern) if pattern.is_literal() => {
                let Some(rest) = url.strip_prefix(pattern.text().as_bytes()) else {
                    return Ok(SectionMatch::No);
                };
                let at_border = pattern.text().ends_with('/') || rest.is_empty() || rest[0] == b'/';
                Ok(at_border.into())
            }
            Self::Wildcard(pattern) => Ok(pattern.matches(url).into()),
            Self::Regex(regex) => find(regex, url),
        }
    }
}

/// What came of a comparison.
pub(crate) enum SectionMatch {
    No,
    Yes,
    /// With the groups of the expression, where it has names for them.
    Captured(Captures),
}

impl From<bool> for SectionMatch {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

/// Groups are only kept where something can use them: named ones become `MATCH_NAME`.
fn find(regex: &Regex, subject: &[u8]) -> Result<SectionMatch, LimitExceeded> {
    if regex.names().is_empty() {
        return Ok(regex.is_match(subject)?.into());
    }
    Ok(regex.captures(subject)?.map_or(SectionMatch::No, SectionMatch::Captured))
}

/// Compile a regular expression of the configuration.
///
/// # Errors
/// httpd's text, with PCRE's reason, which httpd keeps to itself.
pub fn regex(text: &str, flags: PatternFlags, nth: usize) -> Result<Arc<Regex>, Error> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known
        .get(text, flags)
        .map_err(|why| Error::argument(nth, "Regex could not be compiled").because(why.to_string()))
}

/// Expressions that somebody has: many hosts tend to have the same ones, and a restart has those
/// of the generation before it.
static KNOWN: LazyLock<Mutex<CompiledPatterns>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct CompiledPatterns {
    by_text: HashMap<(Box<str>, PatternFlags), Weak<Regex>>,
    /// How many there may be before those that nobody has any more are forgotten.
    room: usize,
}

impl CompiledPatterns {
    fn get(
        &mut self,
        text: &str,
        flags: PatternFlags,
    ) -> Result<Arc<Regex>, pattern::PatternError> {
        let key = (text.into(), flags);
        if let Some(regex) = self.by_text.get(&key).and_then(Weak::upgrade) {
            return Ok(regex);
        }
        let regex = Arc::new(Regex::new(text, flags)?);
        if self.by_text.len() >= self.room {
            self.by_text.retain(|_, regex| regex.strong_count() > 0);
            self.room = 2 * self.by_text.len().max(64);
        }
        self.by_text.insert(key, Arc::downgrade(&regex));
        Ok(regex)
    }
}

/// The argument of a section: `~ REGEX`, or a path or wildcard. `is_regex` is for the `Match`
/// kinds.
pub fn argument(call: &Call<'_>, flags: PatternFlags, is_regex: bool) -> Result<Argument, Error> {
    let mut words = config::lexer::LineWords::new(call.raw);
    let mut word = words.next().map(|word| word.text).unwrap_or_default();
    let is_tilde = !is_regex && word == "~";
    if is_tilde {
        word = words.next().map(|word| word.text).unwrap_or_default();
    }
    let argument = match is_regex || is_tilde {
        true => Argument::Regex(regex(&word, flags, 0)?),
        false => Argument::Path(word),
    };
    if words.next().is_some() {
        return Err(format!("Multiple {}> arguments not (yet) supported.", call.name).into());
    }
    Ok(argument)
}

/// What a section was opened with.
pub enum Argument {
    /// A path or a name.
    Path(String),
    /// A regular expression.
    Regex(Arc<Regex>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_compiled_once_as_long_as_somebody_has_it() {
        let mut known = CompiledPatterns::default();
        let flags = PatternFlags::default();
        let first = known.get("a+", flags).unwrap();
        assert!(Arc::ptr_eq(&first, &known.get("a+", flags).unwrap()));
        let other = known.get("a+", PatternFlags { ignore_case: true, ..flags }).unwrap();
        assert!(!Arc::ptr_eq(&first, &other) && other.is_match(b"A").unwrap());
        for nth in 0..10_000 {
            known.get(&format!("a{{{}}}", nth % 5000), flags).unwrap();
        }
        assert!(known.by_text.len() <= 128, "{} are remembered", known.by_text.len());
        assert!(Arc::ptr_eq(&first, &known.get("a+", flags).unwrap()));
    }
}
