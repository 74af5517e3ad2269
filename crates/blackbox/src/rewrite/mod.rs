//! Rewriting beside apache2: sets of rules, each with a host and a folder of its own, and requests
//! that apache2 and trivet have to answer alike.
//!
//! A sheet (`rewrite/NAME.rules`) is one start of both servers. It is text:
//!
//! ```text
//! # A comment. What stands above the first set holds for all.
//! @main
//! lines of the configuration, outside of all hosts
//! @files
//! a file on each line, a folder/, a -> link
//! @urls
//! > a request of every set
//! = the name of a set
//! @host
//! lines of its host
//! @.htaccess
//! the content of a file; its folder is the host's
//! > GET /target | Cookie: a=b | body=text
//! ! why it is answered differently
//! ~ why its steps are logged differently
//! ```
//!
//! In all of it `{H}` is the name of the host, `{S}` its folder and `{T}` the folder with all
//! folders. In requests `\x0a` is a byte and
//! `{a*100}` a hundred times `a`. `GET` can be left out.

mod beside;
mod draw;
pub mod explained;
mod ground;
mod less;
mod sheet;
pub mod traces;
mod vocabulary;

pub use beside::{Beside, Finding, compare, smallest, told};
pub use draw::draw;
pub use sheet::{Row, Set, Sheet};
