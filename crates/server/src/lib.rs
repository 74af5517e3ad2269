//! The server: connection engine, request pipeline and site, written once for all MPMs. What a
//! module is stands here; the modules are crates above, whose list is passed in.
//!
//! An MPM makes one [`Context`] per serving thread and calls [`serve`] for each connection; it
//! learns nothing else of this crate, and this crate learns nothing of it. Read
//! `connection/` (the life of a connection), then `exchange.rs` (the life of a request), then
//! `module.rs`.
#![cfg_attr(test, allow(clippy::disallowed_macros, clippy::disallowed_methods))]

mod access_log;
pub mod accounting;
pub mod admit;
pub mod answers;
mod asked_host;
mod authentication;
mod byterange;
mod cache;
mod cached_script;
mod compat;
mod connection;
pub mod content_coding;
mod content_digest;
mod context;
pub mod description;
mod descriptors;
pub mod environment_template;
mod error_document;
pub mod evaluate;
mod exchange;
pub mod explain;
pub mod failure;
pub mod fields;
pub mod file_response;
pub mod going_on;
mod guarded;
pub mod handler;
mod held;
pub mod hook;
mod hostname_lookups;
mod htaccess_cache;
pub mod http_date;
pub mod identity;
pub mod input_filter;
mod key_number;
pub mod large_future;
mod log_conditions;
pub mod map_program;
pub mod map_question;
pub mod mapping;
pub mod metadata;
pub mod module;
pub mod module_list;
pub mod mpm_settings;
pub mod names;
mod negotiated;
mod own_url;
mod pace;
mod part_stack;
pub mod phase;
mod prepared;
pub mod process_pool;
mod proviso;
pub mod question;
pub mod received_request;
pub mod representation;
pub mod request_body;
pub mod request_context;
pub mod request_state;
pub mod resolve;
pub mod response;
mod response_head;
pub mod script;
mod script_cache;
mod seen_watch;
pub mod send_rate;
mod server;
pub mod sharing;
pub mod short_size;
pub mod site;
mod slots;
mod spool_room;
pub mod steps;
pub mod sub_response;
pub mod table;
pub mod thread_state;
mod transport;
pub mod waiting;
pub mod walk;

pub use connection::serve;
pub use context::{ConnectionsPerThread, Context};
pub use identity::{IDENTITY, built};
pub use module_list::{Documented, Modules, STATIC_MODULES};
pub use mpm_settings::{
    Count, FIRST_GUESS_BYTES, Machine, MpmKind, MpmMessage, MpmSettings, SHARE_PERCENT, Sizes,
    SizingMode, SizingWarning,
};
pub use server::Server;
pub use site::dump::{AddressHosts, HostLine, VirtualHosts};
