//! Expressions of the configuration (ap_expr): compiled once. What one comes to for a request is
//! found out in `evaluate.rs`; the language is the crate `expr`.

use crate::site::names::will_be_looked_at;
pub use expr::Mode;
use expr::{Expr, StringExpr};
use std::sync::Arc;

/// A condition.
#[derive(Clone, Debug)]
pub struct Expression(pub(crate) Arc<Expr>);

impl Expression {
    /// Compile `text`.
    ///
    /// # Errors
    /// httpd's text.
    pub fn parse(text: &str, mode: Mode) -> Result<Self, String> {
        let parsed = Expr::parse(text, &mode).map_err(|error| error.to_string())?;
        note(parsed.uses());
        Ok(Self(Arc::new(parsed)))
    }

    /// Whether the expression looks at the user (`Require expr`).
    pub fn asks_for_user(&self) -> bool {
        self.0.uses().user
    }

    /// Whether evaluating the expression may have to wait: only for URLs that it looks up.
    pub fn may_wait(&self) -> bool {
        self.0.uses().subrequests
    }
}

/// A text with `%{...}` in it.
#[derive(Clone, Debug)]
pub struct ExpressionText(pub(crate) Arc<StringExpr>);

impl ExpressionText {
    /// Compile `text`.
    ///
    /// # Errors
    /// httpd's text.
    pub fn parse(text: &str, mode: Mode) -> Result<Self, String> {
        let parsed = StringExpr::parse(text, &mode).map_err(|error| error.to_string())?;
        note(parsed.uses());
        Ok(Self(Arc::new(parsed)))
    }

    /// The text, if it is the same for every request.
    pub fn constant(&self) -> Option<&[u8]> {
        self.0.as_constant()
    }
}

/// What is known of an expression when it is compiled.
fn note(uses: expr::Uses) {
    if uses.client_name {
        will_be_looked_at();
    }
}
