//! How a future waits, and every system call of the server.
//!
//! This is the only crate that names tokio: nothing above it does, so that the executor stays a
//! private matter. A [`Thread`] is one current-thread executor that never leaves its OS thread;
//! how many connections a thread is given is the choice of an MPM. `sys` holds what needs
//! `unsafe`. No HTTP and no configuration may live here.

pub mod alarm;
pub mod backend;
pub mod backlog;
pub mod blocking;
pub mod channel;
pub mod clock;
pub mod cpu_time;
pub mod daemon;
pub mod dial;
pub mod door;
pub mod file;
pub mod flag;
pub mod hostname;
pub mod manager;
pub mod memory;
pub mod net;
pub mod process;
pub mod programs;
pub mod run_queue;
pub mod signals;
mod sock_diag;
pub mod sys;
pub mod thread;
pub mod timer;
mod unread;
pub mod wake;

pub use alarm::Alarm;
pub use backend::Backend;
pub use blocking::{blocking, compute};
pub use channel::Channel;
pub use dial::Dial;
pub use door::{Came, Door};
pub use flag::Flag;
pub use manager::Manager;
pub use net::{Listener, Stream};
pub use sys::{Placed, placed};
pub use thread::Thread;
pub use timer::Timer;
pub use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
pub use wake::Bell;
