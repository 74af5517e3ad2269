//! The table of modules: who exists, and in which order their hooks run.
//!
//! Adding a module is its file or folder, its `mod` line and its row in [`TABLE`]: directives,
//! hooks and the keys of its settings stand in its own files.

pub(crate) mod access_compat;
pub(crate) mod actions;
pub(crate) mod alias;
pub(crate) mod allowmethods;
pub(crate) mod asis;
pub(crate) mod auth_basic;
pub(crate) mod auth_text;
pub(crate) mod authn_core;
pub(crate) mod authn_file;
pub(crate) mod authz_core;
pub(crate) mod authz_groupfile;
pub(crate) mod authz_host;
pub(crate) mod authz_owner;
pub(crate) mod authz_user;
pub(crate) mod autoindex;
pub(crate) mod brotli;
pub(crate) mod cgi;
pub(crate) mod core;
pub(crate) mod deflate;
pub(crate) mod diagnostic;
pub(crate) mod dir;
pub(crate) mod env;
#[cfg(test)]
mod example;
pub(crate) mod expires;
pub(crate) mod fastcgi;
pub(crate) mod fcgid;
pub(crate) mod files;
pub(crate) mod filter;
pub(crate) mod guards;
pub(crate) mod headers;
pub(crate) mod info;
pub(crate) mod log_config;
pub(crate) mod logio;
pub(crate) mod mime;
pub(crate) mod mpm_common;
pub(crate) mod negotiation;
pub(crate) mod php;
pub(crate) mod proxy;
pub(crate) mod proxy_fcgi;
pub(crate) mod remoteip;
pub(crate) mod reqtimeout;
pub(crate) mod setenvif;
pub(crate) mod speling;
pub(crate) mod status;
pub mod suexec;
pub(crate) mod trivet;
pub(crate) mod unique_id;
pub(crate) mod unixd;
pub(crate) mod userdir;
pub(crate) mod vhost_alias;
pub(crate) mod watchdog;

use crate::module::Module;
use crate::module_list::Modules;

/// All modules, for a server to be built with.
pub static MODULES: Modules = Modules { all: TABLE, shown: SHOWN, guards: guards::GUARDS };

/// Every module. Hooks of a phase run in this order, whatever phase it is: nothing else says who
/// comes before whom. What core does for whatever no other module knows stands at the ends.
static TABLE: &[&Module] = &[
    &filter::MODULE,
    // Where the request comes from, and where it leads.
    &remoteip::MODULE,
    &proxy::MODULE,
    &alias::MODULE,
    &userdir::MODULE,
    &vhost_alias::MODULE,
    &env::MODULE,
    // What answers.
    &status::MODULE,
    &info::MODULE,
    &trivet::MODULE,
    &asis::MODULE,
    &proxy_fcgi::MODULE,
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
    &deflate::MODULE,
    &brotli::MODULE,
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
    &deflate::MODULE,
    &brotli::MODULE,
    &env::MODULE,
    &expires::MODULE,
    &headers::MODULE,
    &setenvif::MODULE,
    &remoteip::MODULE,
    &asis::MODULE,
    &proxy::MODULE,
    &proxy_fcgi::MODULE,
    &fastcgi::MODULE,
    &fcgid::MODULE,
    &cgi::DAEMON_MODULE,
    &cgi::MODULE,
    &suexec::MODULE,
    &unique_id::MODULE,
    &status::MODULE,
    &info::MODULE,
    &trivet::MODULE,
];
