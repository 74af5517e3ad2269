//! What the function of a directive's row is given: its line, taken apart, and a place for what it
//! has to say about it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;

use crate::ast::{Line, Position};
use crate::diagnostic::{Diagnostic, Error, Severity, diagnose};
use crate::scope::Scope;

/// What the function of a row is given.
pub struct Call<'a> {
    /// The name of the row: properly spelled whatever the line has.
    pub name: &'static str,
    /// The arguments without quotes, as many as the row asks for; empty for
    /// [`Args::Raw`](crate::Args::Raw).
    pub args: &'a [String],
    /// The arguments as they stand; of a section without the `>`.
    pub raw: &'a str,
    /// The line.
    pub line: &'a Line,
    /// The section around the line, as `<Directory`.
    pub section: Option<&'static str>,
    pub(crate) notes: &'a RefCell<Vec<Diagnostic>>,
    pub(crate) names: &'a dyn DirectiveNames,
}

/// What the names of directives mean, for those that take them as arguments.
pub(crate) trait DirectiveNames {
    fn scope_of(&self, name: &str) -> Option<Scope>;
}

impl Call<'_> {
    /// Where the line stands.
    pub fn position(&self) -> Position {
        self.line.position()
    }

    /// The argument number `nth`, counted from 0; empty if there is none.
    pub fn arg(&self, nth: usize) -> &str {
        self.args.get(nth).map_or("", String::as_str)
    }

    /// All arguments.
    pub fn words(&self) -> Vec<&str> {
        self.args.iter().map(String::as_str).collect()
    }

    /// Refuses a section without arguments, as [`crate::SectionArgs::Some`] does: for rows of which
    /// httpd looks at something else first.
    ///
    /// # Errors
    /// httpd's words.
    pub fn needs_arguments(&self) -> Result<(), Error> {
        if self.raw.is_empty() { Err(without_arguments(self.name)) } else { Ok(()) }
    }

    /// The value of an [`Args::Flag`](crate::Args::Flag) row.
    pub fn on(&self) -> bool {
        !self.arg(0).eq_ignore_ascii_case("off")
    }

    /// Where the directive called `name` may stand; `None` if there is no such row.
    pub fn scope_of(&self, name: &str) -> Option<Scope> {
        self.names.scope_of(name)
    }

    /// Says something about a line that is accepted nevertheless; `id` is httpd's number for it.
    pub fn warn(&self, id: Option<&'static str>, warning: impl Into<Error>) {
        self.say(Severity::Warning, id, warning.into());
    }

    /// Says what is worth knowing about a line.
    pub fn note(&self, id: Option<&'static str>, note: impl Into<Error>) {
        self.say(Severity::Notice, id, note.into());
    }

    fn say(&self, severity: Severity, id: Option<&'static str>, what: Error) {
        self.notes.borrow_mut().push(diagnose(self.line, severity, id, what));
    }
}

pub(crate) fn without_arguments(name: &str) -> Error {
    format!("{name}> directive requires additional arguments").into()
}
