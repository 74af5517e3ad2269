//! The two kinds of compiled expressions, and what a caller may ask about them.

use crate::ast::{Condition, Word};
use crate::error::{EvalError, ParseError};
use crate::eval;
use crate::facts::{Facts, ServerVariable};
use crate::matches::Matches;
use crate::mode::{Mode, Restrict};
use crate::parse::{self, Compiled};
use crate::uses::Uses;
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
    fn variable(&self, _: ServerVariable) -> Option<Cow<'_, [u8]>> {
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
