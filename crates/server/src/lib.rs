//! The server: connection engine, request pipeline and modules, written once for all MPMs.
//!
//! An MPM makes one [`Context`] per serving thread and calls [`serve`] for each connection; it
//! learns nothing else of this crate, and this crate learns nothing of it. Read
//! `connection/` (the life of a connection), then `exchange.rs` (the life of a request), then
//! `modules/mod.rs` (who runs when).
#![cfg_attr(test, allow(clippy::disallowed_macros, clippy::disallowed_methods))]

mod access_log;
mod accounting;
mod admit;
mod byterange;
mod cache;
mod compat;
mod configuration;
mod connection;
mod content_coding;
mod content_digest;
mod context;
mod defaults;
mod descriptors;
mod error_document;
mod exchange;
mod expression;
mod failure;
mod fields;
mod file_response;
mod going_on;
mod guarded;
mod handler;
mod held;
mod identity;
mod input_filter;
mod key_number;
mod large_future;
mod log;
mod mapping;
mod metadata;
mod module;
mod module_list;
mod modules;
mod mpm_settings;
mod names;
mod negotiated;
mod number;
mod own_url;
mod pace;
mod phase;
mod prepared;
mod proxy_protocol;
mod question;
mod received_request;
pub mod reference;
mod representation;
mod request_body;
mod request_context;
mod request_state;
mod resolve;
mod response;
mod script;
mod script_cache;
mod serve;
mod server;
mod sharing;
mod short_size;
mod site;
mod slots;
mod table;
mod thread_state;
mod transport;
mod waiting;
mod walk;

pub use configuration::{Configured, Facts, Httpd, Refused};
pub use connection::serve;
pub use context::{ConnectionsPerThread, Context};
pub use defaults::{Php, Serve};
pub use identity::{IDENTITY, built};
pub use log::ration::Ration;
pub use module_list::{Documented, Modules, STATIC_MODULES};
pub use modules::MODULES;
pub use modules::cgi::manage as cgi;
pub use modules::fcgid::manage as fcgid;
pub use modules::status::{holders, status_line};
pub use modules::suexec;
pub use mpm_settings::{
    Count, FIRST_GUESS_BYTES, Machine, MpmKind, MpmMessage, MpmSettings, SHARE_PERCENT, Sizes,
    Sizing, Warning,
};
pub use serve::Report;
pub use server::Server;
pub use site::dump::{Address, HostLine, VirtualHosts};
