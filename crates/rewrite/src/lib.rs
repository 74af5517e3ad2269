//! mod_rewrite: URLs that rules of the configuration change, for the server (the translate phase)
//! and for a folder (fixups).
//!
//! `directives` reads the lines into `rule`, `condition` and `template`, all compiled; `apply`
//! applies a list of rules to a request; `host` and `folder` do what comes of that in the two
//! contexts. Nothing here decides who may see a file: what a rule leads to passes all sections.
#![cfg_attr(test, allow(clippy::disallowed_macros, clippy::disallowed_methods))]

mod advice;
mod apply;
mod condition;
mod cookie;
mod directives;
mod engine;
mod escape;
mod expand;
mod flags;
mod folder;
mod host;
mod leave;
mod map;
mod notes;
mod prefix;
mod programs;
mod result;
mod rule;
mod settings;
mod substitute;
mod template;
mod test;
mod trace;
mod variable;
mod words;

pub use directives::MODULE;
