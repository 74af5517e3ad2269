//! Signals as things to read: the parent polls them between ticks, a child awaits them.

use crate::sys;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use tokio::io::unix::AsyncFd;

/// The signals that httpd gives a meaning, and the end of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of signal(7)")]
pub enum Signal {
    Chld,
    Hup,
    Int,
    Term,
    Usr1,
    Usr2,
    Winch,
}

/// Number and meaning, one row each.
const SIGNALS: &[(i32, Signal)] = &[
    (libc::SIGCHLD, Signal::Chld),
    (libc::SIGHUP, Signal::Hup),
    (libc::SIGINT, Signal::Int),
    (libc::SIGTERM, Signal::Term),
    (libc::SIGUSR1, Signal::Usr1),
    (libc::SIGUSR2, Signal::Usr2),
    (libc::SIGWINCH, Signal::Winch),
];

/// Ctrl-C and the like, for a tool that wants to say something before it ends.
pub struct Interrupts {
    descriptor: File,
}

impl Interrupts {
    /// From now on INT and TERM of this thread, and of those it starts, do nothing by themselves.
    ///
    /// # Errors
    /// When descriptors are used up.
    pub fn take() -> io::Result<Self> {
        let numbers = [libc::SIGINT, libc::SIGTERM];
        sys::set_blocked_signals(&numbers);
        sys::ignore_signal(libc::SIGPIPE);
        Ok(Self { descriptor: sys::signal_descriptor(&numbers)? })
    }

    /// Whether one has come since this was asked last.
    pub fn came(&mut self) -> bool {
        sys::next_signal(&mut self.descriptor).is_some()
    }
}

/// The signals of this process, taken out of the usual delivery.
pub struct Signals {
    descriptor: File,
}

impl Signals {
    /// Block the signals already, before anybody reads them: what comes while the configuration
    /// is read is obeyed afterwards, instead of ending the process by its default action.
    pub fn hold() {
        // Whoever started us may have it ignored, and then the kernel would reap our children.
        sys::default_signal(libc::SIGCHLD);
        let numbers: Vec<i32> = SIGNALS.iter().map(|row| row.0).collect();
        sys::set_blocked_signals(&numbers);
    }

    /// Block the signals and read them from now on. Call before the first child is forked, and
    /// again in each child: what a parent's descriptor reports is its own process's.
    ///
    /// # Errors
    /// When descriptors are used up.
    pub fn take() -> io::Result<Self> {
        Self::hold();
        let numbers: Vec<i32> = SIGNALS.iter().map(|row| row.0).collect();
        sys::ignore_signal(libc::SIGPIPE);
        sys::ignore_signal(libc::SIGXFSZ);
        Ok(Self { descriptor: sys::signal_descriptor(&numbers)? })
    }

    /// The next signal that is there already.
    pub fn pending(&mut self) -> Option<Signal> {
        let number = sys::next_signal(&mut self.descriptor)?;
        SIGNALS.iter().find(|row| row.0 == number).map(|row| row.1)
    }

    /// A source of the same signals that a task can await. Whoever asks first gets each.
    ///
    /// # Errors
    /// When descriptors are used up, or the executor cannot watch another.
    pub fn watch(&self) -> io::Result<WatchedSignals> {
        Ok(WatchedSignals { descriptor: sys::watch(self.descriptor.try_clone()?)? })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// The signal that asks a process of a pool to leave when it has nothing to do. All others do what
/// they do by default, also to the programs that it starts.
pub struct LeaveSignal {
    descriptor: File,
}

impl LeaveSignal {
    /// Take it, in a process that was just forked.
    ///
    /// # Errors
    /// When descriptors are used up.
    pub fn take() -> io::Result<Self> {
        sys::restore_signals();
        sys::ignore_signal(libc::SIGPIPE);
        sys::set_blocked_signals(&[libc::SIGUSR1]);
        Ok(Self { descriptor: sys::signal_descriptor(&[libc::SIGUSR1])? })
    }
}

impl AsFd for LeaveSignal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Let faults end the process at once, as its parent expects.
pub fn restore_fatal() {
    for signal in [libc::SIGSEGV, libc::SIGBUS] {
        sys::default_signal(signal);
    }
}

/// Signals inside a [`crate::Thread`].
pub struct WatchedSignals {
    descriptor: AsyncFd<File>,
}

impl WatchedSignals {
    /// The next signal.
    ///
    /// # Errors
    /// When the executor is going down.
    pub async fn next(&mut self) -> io::Result<Signal> {
        loop {
            let mut ready = self.descriptor.readable_mut().await?;
            match sys::next_signal(ready.get_inner_mut()) {
                Some(number) => {
                    if let Some(row) = SIGNALS.iter().find(|row| row.0 == number) {
                        return Ok(row.1);
                    }
                }
                None => ready.clear_ready(),
            }
        }
    }
}
