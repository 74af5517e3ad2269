//! PHP inside this process: opens the module file, starts it once, and runs scripts on stacks of
//! their own, so that a script that has to wait for the server does not keep the thread.
//!
//! `border.rs` is what crosses to the module file, as plain data; `module.rs` opens and starts it;
//! `request.rs` is what a script is told; `host.rs` is what PHP calls while one runs; `run.rs` is a
//! script under way, as its caller sees it, and `step.rs` what the two say to each other. Nothing
//! here knows a server: what a script asks goes to whoever resumes it.
#![cfg_attr(test, allow(clippy::disallowed_macros, clippy::disallowed_methods))]

mod border;
mod host;
mod module;
mod request;
mod run;
mod step;

pub use module::{Module, OpenError, StartFolders, Started, take_messages};
pub use request::{ScriptRequest, Setting};
pub use run::{ScriptRun, Stacks};
pub use step::{Answer, Asked, Field, Output, ReplyPairs, ScriptHead, Step};
