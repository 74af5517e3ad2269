//! proxy_fcgi: requests for a script go to a FastCGI application, which is PHP-FPM as a rule:
//! `SetHandler "proxy:unix:/run/php/php8.2-fpm.sock|fcgi://localhost"` (mod_proxy_fcgi).
//!
//! Which requests come here, `forward` says. The script is a regular file that the server itself
//! has found, though it need not be allowed to read it; what stands behind its name in the URL is
//! PATH_INFO, and the application never has to guess. `relay.rs` carries bytes both ways,
//! `answer.rs` makes a response of what comes back.

mod answer;
pub(crate) mod fault;
mod job;
pub(crate) mod log;
pub(crate) mod relay;
mod settings;
mod target;
mod tries;

pub(crate) use job::{FailedTry, FcgiJob, FcgiWork};
pub(crate) use settings::{DIRECTIVES, SETTINGS};
pub(crate) use target::{FcgiTarget, TargetHandler};

/// What the name of a handler begins with that hands requests on.
pub(crate) const PREFIX: &str = "proxy:";

/// The name of the module in the log.
pub(crate) const NAME: &str = "proxy_fcgi";
