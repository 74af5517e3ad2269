//! headers: fields of requests and of responses, as `RequestHeader` and `Header` say
//! (mod_headers).
//!
//! Rules with constant values leave an answer fit for everybody; what looks at the request does
//! not.

mod act;
mod directives;
mod format;

pub(crate) use act::{early, finish, fixup};
pub(crate) use directives::MODULE;

use format::HeaderValue;
use pattern::Regex;
use server::hook::FastRequest;
use server::site::expression::Expression;
use server::site::settings as site;
use server::site::settings::DirectoryKey;
use server::site::store::Merge;
use std::sync::Arc;

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings: the rules of all sections, those of outer ones first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// `RequestHeader`
    request: Vec<Arc<HeaderRule>>,
    /// `Header`, of responses that are no errors (`fixup_out`).
    success: Vec<Arc<HeaderRule>>,
    /// `Header always`, of all responses (`fixup_err`).
    always: Vec<Arc<HeaderRule>>,
}

impl Merge for Settings {
    fn over(&self, outer: &Self) -> Self {
        let both = |outer: &Vec<Arc<HeaderRule>>, inner: &Vec<Arc<HeaderRule>>| {
            let mut all = outer.clone();
            all.extend_from_slice(inner);
            all
        };
        Self {
            request: both(&outer.request, &self.request),
            success: both(&outer.success, &self.success),
            always: both(&outer.always, &self.always),
        }
    }
}

/// Whether a prepared response may answer: no rule is about a field of this request, which would
/// not be as it came then.
pub(crate) fn is_plain(seen: &FastRequest<'_>) -> bool {
    let has = |name: &[u8]| seen.head.fields().any(|field| field.0.eq_ignore_ascii_case(name));
    !SETTINGS.of(seen.settings).request.iter().any(|rule| has(rule.name.as_bytes()))
}

/// Whether a rule is about answers of all kinds.
pub(crate) fn adds_always(settings: &site::Settings) -> bool {
    !SETTINGS.of(settings).always.is_empty()
}

/// A line of `Header` or `RequestHeader`.
#[derive(Debug)]
struct HeaderRule {
    action: HeaderAction,
    /// The name without a colon; of `echo` the pattern of names.
    name: String,
    condition: HeaderCondition,
}

#[derive(Debug)]
enum HeaderAction {
    Set(HeaderValue),
    SetIfEmpty(HeaderValue),
    Add(HeaderValue),
    Append(HeaderValue),
    Merge(HeaderValue),
    Unset,
    Echo(Regex),
    Edit(Edit),
    /// The value is the name of the note.
    Note(HeaderValue),
}

#[derive(Debug)]
struct Edit {
    regex: Regex,
    /// Its items are replaced before the groups are filled in.
    replacement: HeaderValue,
    /// `edit*`
    is_repeated: bool,
}

/// When a rule counts.
#[derive(Debug)]
enum HeaderCondition {
    Always,
    /// Before anything is known but the request itself.
    Early,
    /// `env=NAME` and `env=!NAME`
    Variable {
        name: String,
        is_absent: bool,
    },
    Expression(Expression),
}

impl HeaderCondition {
    fn may_wait(&self) -> bool {
        matches!(self, Self::Expression(expression) if expression.may_wait())
    }
}
