//! Modules that ask others: programs that run for a request or are kept for many (CGI, FastCGI),
//! and servers behind this one. What all programs are told is the server's (`server::script`); what
//! a connection to another server is, is `upstream`'s.
#![cfg_attr(test, allow(clippy::disallowed_macros, clippy::disallowed_methods))]

pub mod cgi;
pub mod fastcgi;
pub mod fcgid;
pub mod forward;
pub mod php;
mod proxy;
mod proxy_fcgi;
pub mod suexec;
