//! What all programs have in common that answer requests, whichever way they are reached: the
//! variables that they are told about a request, its body, and what the head of an answer comes to.
//! What carries these to them is a module of its own.

pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod environment;
pub(crate) mod spool;
pub(crate) mod template;
