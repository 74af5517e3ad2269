//! The two kinds of compiled expressions, and what a caller may ask about them.

use crate::ast::{Condition, Function, Test, Word};
use crate::error::{EvalError, ParseError};
use crate::eval;
use crate::facts::{Facts, Variable};
use crate::matches::Matches;
use crate::mode::{Mode, Restrict};
use crate::parse::{self, Compiled};
use alloc::borrow::Cow;

/// A condition: true or false for a request.
#[derive(Debug)]
pub struct Expr {
    root: Condition,
    uses: Uses,
    ssl_compat: bool,
}

impl Expr {
    /// Compiles a text.
    ///
    /// # Errors
    /// What is wrong with it, in httpd's words.
    pub fn parse(text: impl AsRef<[u8]>, mode: &Mode) -> Result<Self, ParseError> {
        let Compiled { root, uses } = parse::condition(text.as_ref(), mode)?;
        Ok(Self { root, uses, ssl_compat: mode.ssl_compat })
    }

    /// Whether it is true. `$1` and the like are those of `matches`, which a match with groups
    /// changes.
    ///
    /// # Errors
    /// When it has no value: the directive decides whether that is true or false, or status 500.
    pub fn eval(&self, facts: &dyn Facts, matches: &mut Matches) -> Result<bool, EvalError> {
        eval::condition(&self.root, self.ssl_compat, facts, matches)
    }

    /// Whether it is the same for every request, because it asks about nothing.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.uses.is_nothing()
    }

    /// What it asks about.
    #[must_use]
    pub fn uses(&self) -> Uses {
        self.uses
    }
}

/// A text with variables in it.
#[derive(Debug)]
pub struct StringExpr {
    root: Word,
    uses: Uses,
}

impl StringExpr {
    /// Compiles a text.
    ///
    /// # Errors
    /// What is wrong with it, in httpd's words.
    pub fn parse(text: impl AsRef<[u8]>, mode: &Mode) -> Result<Self, ParseError> {
        let Compiled { root, uses } = parse::string(text.as_ref(), mode)?;
        Ok(Self { root, uses })
    }

    /// Its text. httpd adds nothing to `Vary` for it.
    ///
    /// # Errors
    /// When it has none.
    pub fn eval<'e>(
        &'e self,
        facts: &'e dyn Facts,
        matches: &mut Matches,
    ) -> Result<Cow<'e, [u8]>, EvalError> {
        eval::text(&self.root, facts, matches)
    }

    /// The text, when nothing in it has to be evaluated.
    #[must_use]
    pub fn as_constant(&self) -> Option<&[u8]> {
        match &self.root {
            Word::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it is the same for every request, because it asks about nothing.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.uses.is_nothing()
    }

    /// What it asks about.
    #[must_use]
    pub fn uses(&self) -> Uses {
        self.uses
    }
}

/// What an expression asks about. Where all is false, it is the same for every request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent things to ask about")]
pub struct Uses {
    /// The request, the connection or the server's settings.
    pub request: bool,
    /// The response: its status, type or fields.
    pub response: bool,
    /// The user: who is not known may be asked to log in (`Require expr`).
    pub user: bool,
    /// The name of the client, which may have to be looked up.
    pub client_name: bool,
    /// The time of day.
    pub time: bool,
    /// Files by their path.
    pub files: bool,
    /// Subrequests (`-F`, `-U`).
    pub subrequests: bool,
    /// The text that `$0` to `$9` stand for, which may come from the caller.
    pub matches: bool,
}

impl Uses {
    fn is_nothing(self) -> bool {
        self == Self::default()
    }

    pub(crate) fn note_word(&mut self, word: &Word) {
        match word {
            Word::Now(_) => self.time = true,
            Word::Variable(Variable::RequestStatus | Variable::ContentType) => {
                self.response = true;
            }
            Word::Variable(Variable::RemoteUser) => (self.request, self.user) = (true, true),
            Word::Variable(Variable::RemoteHost) => {
                (self.request, self.client_name) = (true, true);
            }
            Word::Variable(_) | Word::Field(_) | Word::Ssl(_) => self.request = true,
            Word::LastModified => self.request = true,
            Word::Text(_) | Word::Number(_) | Word::Nothing | Word::Backref(_) => {}
            Word::Call(..) | Word::Concat { .. } => {}
        }
    }

    pub(crate) fn note_function(&mut self, function: Function) {
        match function {
            Function::ResponseField => self.response = true,
            Function::File | Function::FileSize => self.files = true,
            Function::RequestField | Function::RequestFieldUnnoted => self.request = true,
            Function::Note | Function::RequestEnv | Function::Env => self.request = true,
            Function::OsEnv | Function::Ssl | Function::HealthCheck => self.request = true,
            Function::PageVariable => self.request = true,
            Function::ToLower | Function::ToUpper | Function::Escape => {}
            Function::Unescape | Function::Base64 | Function::Unbase64 => {}
            Function::Sha1 | Function::Md5 | Function::Ldap => {}
        }
    }

    pub(crate) fn note_test(&mut self, test: Test) {
        match test {
            Test::NotEmpty | Test::Empty | Test::Truth => {}
            Test::Directory | Test::Exists | Test::File => self.files = true,
            Test::FileNotEmpty | Test::Link | Test::Executable => self.files = true,
            Test::ReachableFile | Test::ReachableUrl => self.subrequests = true,
        }
    }
}

/// For the fuzzer: the first byte chooses the mode. Compiling and evaluating any text comes to an
/// end, and an expression that is constant does not ask.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_expr(data: &[u8]) {
    let Some((&choice, text)) = data.split_first() else { return };
    let bit = |number: u32| choice >> number & 1 == 1;
    let restrict = [Restrict::Nothing, Restrict::FileFunctions, Restrict::Files];
    let mode = Mode {
        restrict: restrict[usize::from(choice & 3) % 3],
        ssl: bit(2),
        health_check: bit(3),
        include: bit(4),
        ssl_compat: bit(5),
        ..Mode::default()
    };
    let facts = Echo { may_ask: true };
    if let Ok(expr) = Expr::parse(text, &mode) {
        let value = expr.eval(&facts, &mut Matches::new());
        if expr.is_constant() {
            assert_eq!(value, expr.eval(&Echo { may_ask: false }, &mut Matches::new()));
        }
    }
    if let Ok(expr) = StringExpr::parse(text, &mode) {
        let value = expr.eval(&facts, &mut Matches::new());
        assert!(expr.as_constant().is_none_or(|text| value.as_deref() == Ok(text)));
        assert!(value.is_err() || !value.is_ok_and(|text| text.contains(&0)));
    }
}

/// Answers with the question.
struct Echo {
    may_ask: bool,
}

impl Facts for Echo {
    fn variable(&self, _: Variable) -> Option<Cow<'_, [u8]>> {
        assert!(self.may_ask, "a constant asks for nothing");
        Some(Cow::Borrowed(b"/a b?c%2f\xff"))
    }

    fn request_field(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        assert!(self.may_ask, "a constant asks for nothing");
        Some(Cow::Owned(name.to_vec()))
    }

    fn response_field(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.request_field(name)
    }

    fn env(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.request_field(name)
    }
}
