//! httpd's expression language: text → compiled expression → truth or text, for each request.
//!
//! The crate is pure: it opens no file, asks no clock and sends no request. What an expression
//! asks about is answered by a [`Facts`]; names are looked up once, when the text is compiled.
//! [`Expr`] is a condition (`<If>`, `Require expr`), [`StringExpr`] a text with variables in it
//! (`Header set X "expr=..."`). Grammar, limits and error texts are those of httpd 2.4
//! (`server/util_expr_parse.y`, `util_expr_scan.l`, `util_expr_eval.c`).
#![doc = include_str!("example.md")]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod ast;
mod concat;
mod encode;
mod error;
mod eval;
pub mod facts;
mod lexer;
mod matches;
pub mod mode;
mod names;
mod operator;
mod parse;
mod program;
pub mod subnet;
mod token;
mod uses;

pub use encode::{base64, unbase64};
pub use error::{EvalError, ParseError};
pub use facts::{Facts, FileError, FileKind, FileStatus, ServerVariable, TimeParts};
pub use matches::{MATCH_GROUPS, Matches};
pub use mode::{Mode, Restrict};
pub use program::{Expr, StringExpr, fuzz_expr};
pub use subnet::Subnet;
pub use uses::Uses;
