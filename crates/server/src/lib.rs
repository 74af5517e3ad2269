//! The server: connection engine, request pipeline and modules, written once for all MPMs.
//!
//! An MPM makes one [`Context`] per serving thread and calls [`serve`] for each connection; it
//! learns nothing else of this crate, and this crate learns nothing of it. Read
//! `connection.rs` (the life of a connection), then `exchange.rs` (the life of a request), then
//! `modules/mod.rs` (who runs when).

mod access_log;
mod answer;
mod body;
mod cache;
mod connection;
mod context;
mod defaults;
mod exchange;
mod failure;
mod fast;
mod handler;
mod identity;
mod log;
mod modules;
mod phase;
mod refuse;
mod representation;
mod request;
mod resolve;
mod response;
mod server;
mod site;
mod slots;
mod transmit;

pub use connection::serve;
pub use context::Context;
pub use defaults::Serve;
pub use identity::{IDENTITY, built};
pub use modules::{Documented, directives};
pub use server::{MpmSettings, Report, Server};
