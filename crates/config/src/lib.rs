//! Apache's configuration language: text → tree of directives with positions → calls of typed
//! directive rows.
//!
//! The crate is pure: it opens no file, reads no environment and knows no directive by meaning.
//! [`parse()`] turns bytes into a [`ConfigTree`]; [`apply()`] walks the tree and calls, for each
//! line, the plain function that a table of [`Directive`] rows names for it. What the functions
//! build is the caller's business (the type `B: Build`).
//!
//! Both stages go on after an error, so that an administrator sees all of them at once.
#![doc = include_str!("example.md")]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod apply;
pub mod args;
pub mod ast;
mod call;
pub mod diagnostic;
pub mod directive;
mod excerpt;
pub mod expand;
mod fuzz_expand;
pub mod guards;
pub mod index;
pub mod known;
pub mod known_modules;
pub mod lexer;
mod macros;
mod missing;
pub mod owners;
pub mod parse;
pub mod scope;
pub mod suggest;

pub use apply::{Build, apply};
pub use ast::{Line, Node, Position, SectionNode};
pub use call::Call;
pub use diagnostic::{COMMAND_LINE, Diagnostic, Error, Severity};
pub use directive::{Args, Directive, ModuleDirectives, SectionArgs};
pub use excerpt::Excerpt;
pub use expand::{
    Expanded, Included, ModuleName, Permits, ReadTime, StartFacts, World, expand,
    read_time_directives, read_time_syntax,
};
pub use fuzz_expand::fuzz_expand;
pub use guards::{GuardRow, Guards};
pub use index::DirectiveIndex;
pub use missing::PHP_ADVICE;
pub use parse::{ConfigTree, SourceText, fuzz_parse, parse, parse_file, parse_sources};
pub use scope::Scope;
