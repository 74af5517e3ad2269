//! The table of modules: who exists, and in which order their hooks run.
//!
//! Adding a module is its file or folder, its `mod` line and its row in `TABLE`: directives,
//! hooks and the keys of its settings stand in its own files.
#![cfg_attr(test, allow(clippy::disallowed_macros, clippy::disallowed_methods))]

mod access_compat;
mod actions;
mod alias;
mod allowmethods;
mod asis;
mod auth_basic;
mod auth_text;
mod authn_core;
mod authn_file;
mod authz_core;
mod authz_groupfile;
mod authz_host;
mod authz_owner;
mod authz_user;
mod autoindex;
mod configuration;
mod core;
mod defaults;
mod diagnostic;
mod dir;
mod env;
#[cfg(test)]
mod example;
mod expires;
mod files;
mod guards;
mod headers;
mod log_config;
mod logio;
mod mime;
mod mpm_common;
mod negotiation;
pub mod reference;
mod remoteip;
mod reqtimeout;
mod request;
mod require;
mod serve;
mod setenvif;
mod speling;
mod trivet;
mod unique_id;
mod unixd;
mod unrun_scripts;
mod userdir;
mod usertrack;
mod vhost_alias;
mod watchdog;

pub use configuration::{Configured, DumpFacts, Httpd, RefusedConfiguration};
pub use defaults::{Php, Serve};
pub use gateway::php::{MODULE_FILE as PHP_MODULE_FILE, module_file as php_module_file};
pub use serve::ConfigurationReport;

use content::{filter, include};
use gateway::{cgi, fastcgi, fcgid, forward, php, suexec};
use server::Modules;
use server::module::Module;

/// All modules, for a server to be built with.
pub static MODULES: Modules = Modules { all: TABLE, shown: SHOWN, guards: guards::GUARDS };

/// Every module. Hooks of a phase run in this order, whatever phase it is: nothing else says who
/// comes before whom. What core does for whatever no other module knows stands at the ends.
static TABLE: &[&Module] = &[
    &filter::MODULE,
    // Where the request comes from, and where it leads.
    &remoteip::MODULE,
    // Rules come before `ProxyPass`, and that before any `Alias`, as in httpd (APR_HOOK_FIRST).
    &rewrite::MODULE,
    &forward::PROXY,
    &alias::MODULE,
    &userdir::MODULE,
    &vhost_alias::MODULE,
    &env::MODULE,
    // In httpd the first of all fixups (APR_HOOK_REALLY_FIRST).
    &usertrack::MODULE,
    &request::MODULE,
    // What answers.
    &status::status::MODULE,
    &status::info::MODULE,
    &trivet::MODULE,
    &asis::MODULE,
    &forward::PROXY_FCGI,
    &php::MODULE,
    &fastcgi::MODULE,
    &fcgid::MODULE,
    &cgi::DAEMON_MODULE,
    &cgi::MODULE,
    &negotiation::MODULE,
    &autoindex::MODULE,
    &actions::MODULE,
    &dir::MODULE,
    &speling::MODULE,
    // What the answer says.
    &core::MODULE,
    // `Header` may change what `ExpiresActive` has said (in httpd by the places of their filters).
    &expires::MODULE,
    &headers::MODULE,
    &setenvif::MODULE,
    &unique_id::MODULE,
    // Who may see it.
    &access_compat::MODULE,
    &allowmethods::MODULE,
    &authz_core::MODULE,
    &auth_basic::MODULE,
    &authn_core::MODULE,
    &authn_file::MODULE,
    &authz_host::MODULE,
    &authz_user::MODULE,
    &authz_groupfile::MODULE,
    &authz_owner::MODULE,
    // What has directives only.
    &mpm_common::MODULE,
    &unixd::MODULE,
    &watchdog::MODULE,
    &log_config::MODULE,
    &logio::MODULE,
    &reqtimeout::MODULE,
    &suexec::MODULE,
    &mime::MODULE,
    &filter::smart::MODULE,
    &filter::deflate::MODULE,
    &filter::brotli::MODULE,
    &include::MODULE,
    &filter::substitute::MODULE,
    &filter::ratelimit::MODULE,
    &files::MODULE,
];

/// Modules in the order in which `-L`, `-M` and the pages show them; those that are not listed
/// come last.
static SHOWN: &[&Module] = &[
    &core::MODULE,
    &mpm_common::MODULE,
    &unixd::MODULE,
    &watchdog::MODULE,
    &log_config::MODULE,
    &logio::MODULE,
    &reqtimeout::MODULE,
    &mime::MODULE,
    &negotiation::MODULE,
    &dir::MODULE,
    &actions::MODULE,
    &alias::MODULE,
    &userdir::MODULE,
    &vhost_alias::MODULE,
    &speling::MODULE,
    &allowmethods::MODULE,
    &authn_core::MODULE,
    &authn_file::MODULE,
    &auth_basic::MODULE,
    &authz_core::MODULE,
    &authz_host::MODULE,
    &authz_user::MODULE,
    &authz_groupfile::MODULE,
    &authz_owner::MODULE,
    &access_compat::MODULE,
    &autoindex::MODULE,
    &filter::smart::MODULE,
    &filter::deflate::MODULE,
    &filter::brotli::MODULE,
    &include::MODULE,
    &filter::substitute::MODULE,
    &filter::ratelimit::MODULE,
    &env::MODULE,
    &expires::MODULE,
    &headers::MODULE,
    &setenvif::MODULE,
    &remoteip::MODULE,
    &request::MODULE,
    &asis::MODULE,
    &forward::PROXY,
    &forward::PROXY_FCGI,
    &php::MODULE,
    &fastcgi::MODULE,
    &fcgid::MODULE,
    &cgi::DAEMON_MODULE,
    &cgi::MODULE,
    &rewrite::MODULE,
    &suexec::MODULE,
    &unique_id::MODULE,
    &usertrack::MODULE,
    &status::status::MODULE,
    &status::info::MODULE,
    &trivet::MODULE,
];
