//! TLS on the connections of `runtime`: what is asked for (a [`Connector`]), a connection that has
//! it ([`Secured`]), what was agreed on ([`Agreed`]) and why nothing was ([`TlsRefused`]).
//!
//! This is the only crate that names rustls: nothing above it does, so that no choice of a cipher
//! or a certificate hides elsewhere. No HTTP may live here.
#![cfg_attr(test, allow(clippy::disallowed_macros, clippy::disallowed_methods))]

mod agreed;
mod buffers;
mod certificate;
mod connector;
mod options;
mod refused;
mod secured;
#[cfg(test)]
mod secured_tests;
mod trust;

pub use agreed::Agreed;
pub use buffers::Buffers;
pub use connector::{Connector, ServerName};
pub use options::{TlsOptions, TlsProblem, TlsVersion};
pub use refused::TlsRefused;
pub use secured::Secured;
