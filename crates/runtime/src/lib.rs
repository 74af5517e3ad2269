//! How a future waits, and every system call of the server.
//!
//! This is the only crate that names tokio: nothing above it does, so that the executor stays a
//! private matter. A [`Thread`] is one current-thread executor that never leaves its OS thread;
//! how many connections a thread is given is the choice of an MPM. `sys` holds what needs
//! `unsafe`. No HTTP and no configuration may live here.
#![cfg_attr(test, allow(clippy::disallowed_macros, clippy::disallowed_methods))]

pub mod backend;
pub mod dial;
mod executor;
pub mod file;
pub mod folder_watch;
pub mod memory;
pub mod net;
pub mod os_error;
pub mod process;
pub mod programs;
pub mod sys;

pub use backend::BackendConnection;
pub use dial::Dial;
pub use executor::alarm::{self, Alarm};
pub use executor::blocking::{self, blocking, compute};
pub use executor::event_fd::{self, EventFd};
pub use executor::flag::{self, Flag};
pub use executor::thread::{self, Thread};
pub use executor::timer::{self, Timer};
pub use executor::{clock, run_queue};
pub use net::accept_waiter::{self, AcceptWaiter, WakeReason};
pub use net::{Listener, Stream, backlog, hostname};
pub use process::channel::{self, Channel};
pub use process::service_manager::{self, ServiceManager};
pub use process::{cpu_time, daemon, descriptors, signals};
pub use sys::{Placed, placed};
pub use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
