//! What all programs have in common that answer requests, whichever way they are reached: the
//! variables that they are told about a request. What carries these to them is a module of its own.

pub(crate) mod environment;
pub(crate) mod spool;
