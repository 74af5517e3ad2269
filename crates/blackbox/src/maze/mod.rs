//! A maze: folders, files, scripts and links, rules that close some of them, and every way to
//! spell a URL. Apache and trivet serve it side by side, and no spelling may lead to what its plain
//! URL does not show.
//!
//! `grounds.rs` makes the tree, `rules.rs` the configuration, `spelling.rs` the requests, `walk.rs`
//! sends them and compares. All of it is drawn from one seed.

pub mod grounds;
pub mod rules;
pub mod spelling;
pub mod walk;

/// How many wings a maze has: folders of the same plan, each with rules of its own.
pub const WINGS: usize = 12;
