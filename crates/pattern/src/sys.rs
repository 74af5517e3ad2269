//! The calls into PCRE2 and crypt(3): all `unsafe` of this crate is in the files below.
//!
//! What comes out of here is owned and checked: a compiled pattern that any thread may use, offsets
//! of a match that has been found, a hash as bytes. Limits are set here too, because what they
//! bound is allocated here.

mod code;
mod crypt;
mod scratch;

pub use code::ahead;
pub(crate) use code::{CompiledCode, message, option};
pub(crate) use crypt::crypt;
pub(crate) use scratch::{Patience, UNSET};
