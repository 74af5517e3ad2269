//! A rule and what it does to an environment (match_headers of mod_setenvif.c).

use message::RequestHead;
use pattern::{Captures, PatternFlags, Regex, Replacement};
use server::fields;
use server::names::{ConnectionNames, NamedEnd};
use server::phase::condition;
use server::request_context::RequestContext;
use server::site::expression::Expression;
use server::table::Table;
use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

/// A line, or several in a row about the same.
#[derive(Clone, Debug)]
pub(super) struct SetEnvIfRule {
    /// What is looked at; rules that share it are about the same. `None` with an expression.
    pub(super) name: Option<Arc<str>>,
    pub(super) text: String,
    pub(super) ignore_case: bool,
    pub(super) attribute: SetEnvIfAttribute,
    pub(super) pattern: SetEnvIfPattern,
    pub(super) variables: Vec<(String, VariableChange)>,
}

/// What a rule looks at.
#[derive(Clone, Debug)]
pub(super) enum SetEnvIfAttribute {
    /// `Remote_Addr`
    Client,
    /// `Remote_Host`: the name, if it was looked up, else the address.
    ClientName,
    /// `Request_URI`
    Path,
    Method,
    Protocol,
    /// `Server_Addr`
    Server,
    /// The field of this name, or the variable if there is no such field.
    Field,
    /// The last field whose name matches.
    Fields(Arc<Regex>),
    Expression,
}

/// When a rule counts.
#[derive(Clone, Debug)]
pub(super) enum SetEnvIfPattern {
    /// A text without metacharacters, to be found anywhere; in lower case if case is ignored.
    Literal(Vec<u8>, IgnoreCase),
    Regex(Arc<Regex>),
    Expression(Expression),
}

type IgnoreCase = bool;

/// What becomes of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum VariableChange {
    Unset,
    /// The value as written, and with groups to fill in.
    Set(String, Replacement),
}

impl VariableChange {
    pub(super) fn new(value: &str) -> Self {
        Self::Set(value.to_owned(), Replacement::parse(value))
    }
}

/// What rules may look at.
#[derive(Clone, Copy)]
pub(crate) struct SetEnvIfSubject<'s> {
    pub(crate) head: RequestHead<'s>,
    pub(crate) path: &'s [u8],
    pub(crate) client: IpAddr,
    /// Names that are known already; `None` where nobody has asked.
    pub(crate) names: Option<&'s ConnectionNames>,
    /// `None` where it would cost a system call; rules that need it are not asked then.
    pub(crate) server: Option<IpAddr>,
}

/// The value of this variable is longer than httpd allows.
pub(super) struct VariableTooLong(pub(super) String);

impl SetEnvIfRule {
    /// Whether it is the rule that another line only adds variables to.
    pub(super) fn is_about(&self, name: &Arc<str>, text: &str, ignore_case: bool) -> bool {
        self.name.as_ref().is_some_and(|own| Arc::ptr_eq(own, name))
            && self.text == text
            && self.ignore_case == ignore_case
    }

    /// What it looks at; empty if there is no such thing, so that `^$` finds that out.
    fn value<'s>(&self, subject: &SetEnvIfSubject<'s>, env: &Table) -> Cow<'s, [u8]> {
        let name = self.name.as_deref().unwrap_or_default();
        let address = |ip: IpAddr| Some(Cow::Owned(ip.to_string().into_bytes()));
        let value = match &self.attribute {
            SetEnvIfAttribute::Client => address(subject.client),
            SetEnvIfAttribute::ClientName => {
                match subject.names.and_then(|names| names.get(NamedEnd::Client(subject.client))) {
                    Some(name) => Some(Cow::Owned(name.as_bytes().to_vec())),
                    None => address(subject.client),
                }
            }
            SetEnvIfAttribute::Server => subject.server.and_then(address),
            SetEnvIfAttribute::Path => Some(Cow::Borrowed(subject.path)),
            SetEnvIfAttribute::Method => Some(Cow::Borrowed(subject.head.method())),
            SetEnvIfAttribute::Protocol => Some(Cow::Borrowed(subject.head.protocol())),
            SetEnvIfAttribute::Field => fields::joined(&subject.head, name.as_bytes())
                .or_else(|| env.get(name).map(|value| Cow::Owned(value.to_vec()))),
            SetEnvIfAttribute::Fields(regex) => fields::of_head(&subject.head)
                .into_iter()
                .rfind(|field| regex.is_match(field.0.as_bytes()).unwrap_or(false))
                .map(|field| Cow::Owned(field.1)),
            SetEnvIfAttribute::Expression => None,
        };
        value.unwrap_or_default()
    }
}

impl SetEnvIfRule {
    /// Whether it may have to wait for something.
    pub(super) fn may_wait(&self) -> bool {
        matches!(&self.pattern, SetEnvIfPattern::Expression(expression) if expression.may_wait())
    }
}

impl SetEnvIfPattern {
    /// `None` if it does not compile. To a text without metacharacters `RegexDefaultOptions` does
    /// not apply.
    pub(super) fn parse(text: &str, ignore_case: bool, defaults: PatternFlags) -> Option<Self> {
        if let Some(literal) = literal(text) {
            let literal = if ignore_case { literal.to_ascii_lowercase() } else { literal };
            return Some(Self::Literal(literal, ignore_case));
        }
        Regex::new(text, defaults.or_ignore_case(ignore_case)).ok().map(Arc::new).map(Self::Regex)
    }
}

/// The text that a pattern without metacharacters looks for (non_regex_pattern). A backslash may
/// stand before those only.
fn literal(text: &str) -> Option<Vec<u8>> {
    let mut found = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let is_meta = |byte: u8| b"^.$|()[]*+?{}".contains(&byte);
        match byte {
            b'\\' => match bytes.next() {
                Some(escaped) if is_meta(escaped) || escaped == b'\\' => found.push(escaped),
                Some(_) => return None,
                // httpd drops a last one.
                None => {}
            },
            byte if is_meta(byte) => return None,
            byte => found.push(byte),
        }
    }
    Some(found)
}

fn contains(text: &[u8], wanted: &[u8], ignore_case: bool) -> bool {
    let Some(first) = wanted.first() else { return true };
    let is_first = |byte: u8| match ignore_case {
        true => byte.to_ascii_lowercase() == *first,
        false => byte == *first,
    };
    text.windows(wanted.len()).any(|window| {
        is_first(window[0])
            && if ignore_case { window.eq_ignore_ascii_case(wanted) } else { window == wanted }
    })
}

/// Groups to fill in, or none for a literal pattern.
enum MatchedGroups<'v> {
    Plain,
    Groups(&'v [u8], Captures),
    Matches(Box<expr::Matches>),
}

/// Let the rules act on `env`, one after the other. `request` is for expressions; without it there
/// must be none.
pub(super) async fn apply(
    rules: &[Arc<SetEnvIfRule>],
    subject: &SetEnvIfSubject<'_>,
    request: Option<&mut RequestContext<'_>>,
    env: &mut Table,
) -> Result<(), VariableTooLong> {
    let mut request = request;
    let mut last: Option<&Arc<str>> = None;
    let mut value = Cow::Borrowed(&b""[..]);
    for rule in rules {
        // As in httpd rules in a row see one value, even if it is a variable that has changed.
        let is_same =
            matches!((&rule.name, last), (Some(own), Some(last)) if Arc::ptr_eq(own, last));
        if !is_same && rule.name.is_some() {
            value = rule.value(subject, env);
            last = rule.name.as_ref();
        }
        let found = match &rule.pattern {
            SetEnvIfPattern::Literal(text, ignore_case) => {
                contains(&value, text, *ignore_case).then_some(MatchedGroups::Plain)
            }
            SetEnvIfPattern::Regex(regex) => {
                let captures = regex.captures(&value).ok().flatten();
                captures.map(|captures| MatchedGroups::Groups(&value, captures))
            }
            SetEnvIfPattern::Expression(expression) => match request.as_deref_mut() {
                Some(request) => holds(expression, request, env).await,
                None => None,
            },
        };
        if let Some(found) = found {
            set(&rule.variables, &found, env)?;
        }
    }
    Ok(())
}

/// An expression sees the variables that earlier rules have set.
async fn holds<'v>(
    expression: &Expression,
    request: &mut RequestContext<'_>,
    env: &mut Table,
) -> Option<MatchedGroups<'v>> {
    // No guard takes it back: whoever gives up waiting here drops the request as well.
    std::mem::swap(&mut request.tables.env, env);
    let mut matches = Box::<expr::Matches>::default();
    let holds = condition::holds_with(expression, request, None, &mut matches).await;
    std::mem::swap(&mut request.tables.env, env);
    // One that holds because a pattern does not match has no groups to fill in (match_headers).
    (holds == Ok(true)).then(|| match matches.is_empty() {
        true => MatchedGroups::Plain,
        false => MatchedGroups::Matches(matches),
    })
}

fn set(
    variables: &[(String, VariableChange)],
    found: &MatchedGroups<'_>,
    env: &mut Table,
) -> Result<(), VariableTooLong> {
    for (name, variable) in variables {
        let VariableChange::Set(text, template) = variable else {
            env.unset(name);
            continue;
        };
        let mut value = Vec::new();
        let expanded = match found {
            MatchedGroups::Plain => {
                value.extend_from_slice(text.as_bytes());
                Ok(())
            }
            MatchedGroups::Groups(subject, captures) => {
                template.expand(subject, captures, &mut value)
            }
            MatchedGroups::Matches(matches) => {
                template.expand_with(|number| matches.get(number), &mut value)
            }
        };
        expanded.map_err(|_| VariableTooLong(name.clone()))?;
        env.set(name, value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_without_metacharacters_are_texts() {
        for (text, expected) in [
            ("Mozilla/2", Some("Mozilla/2")),
            (r"RealPlayer 4\.0", Some("RealPlayer 4.0")),
            (r"a\\b", Some(r"a\b")),
            ("a\\", Some("a")),
            (r"\bGenie", None),
            ("MSIE [2-6]", None),
            ("^a", None),
        ] {
            let found = literal(text).map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_text_is_found_anywhere() {
        for (text, wanted, ignore_case, expected) in [
            ("Mozilla/2.0", "zilla", false, true),
            ("Mozilla", "ZILLA", false, false),
            ("Mozilla", "zilla", true, true),
            ("MOZILLA", "zilla", true, true),
            ("Moz", "zilla", true, false),
            ("", "", false, true),
            ("", "a", false, false),
        ] {
            let found = contains(text.as_bytes(), wanted.as_bytes(), ignore_case);
            assert_eq!(found, expected, "{text} {wanted}");
        }
    }
}
