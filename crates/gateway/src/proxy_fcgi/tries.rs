//! How often a request that does no harm is sent again when the application went away without a
//! word. To the client of a socket a script that crashes its child and one whose child is ended
//! under it look alike, so that only so many children may have run it.

use super::fault::BackendFault;
use std::time::Duration;

/// So many children get it on connections of their own: one may be ended while PHP-FPM reloads, and
/// after that rest the next comes from the new ones.
const CHILDREN: usize = 2;

/// The rests before the tries after the first.
const RESTS: [Duration; 3] =
    [Duration::from_millis(20), Duration::from_millis(100), Duration::from_millis(300)];

/// Who listened when a connection was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectedListener {
    /// The process, if it is one of this machine at a socket in the file system.
    pub(super) pid: Option<i32>,
    /// Nobody did at first.
    pub(super) was_absent: bool,
}

/// The tries of a request on connections of their own.
#[derive(Default)]
pub(super) struct Tries {
    failed: usize,
    /// Why the last one came to nothing, and whose connection that was.
    last: Option<(BackendFault, ConnectedListener)>,
}

impl Tries {
    /// One has come to nothing. How long to rest before the next one, or why there is none.
    pub(super) fn rest(
        &mut self,
        fault: BackendFault,
        listener: ConnectedListener,
    ) -> Result<Duration, BackendFault> {
        let rest = RESTS.get(self.failed);
        self.failed += 1;
        match rest {
            Some(rest) if self.failed < CHILDREN || may_be_unread(&fault) => {
                self.last = Some((fault, listener));
                Ok(*rest)
            }
            _ => Err(fault),
        }
    }

    /// Why the next try must not be made, though there is a connection for it: the last one may
    /// have come to nothing by the script itself. Where another process listens now than before, it
    /// was the end of that listener, with the requests that waited there, accepted by nobody.
    pub(super) fn refuse(
        &mut self,
        listener: impl FnOnce() -> ConnectedListener,
    ) -> Option<BackendFault> {
        let (fault, before) = self.last.take()?;
        (self.failed >= CHILDREN && !is_another(listener(), before)).then_some(fault)
    }
}

/// A connection whose last bytes were not read is reset. Those that end the body, which a script
/// need not read, are among them: it says that the request may not have been read, and no more.
fn may_be_unread(fault: &BackendFault) -> bool {
    matches!(fault, BackendFault::Broken(_))
}

fn is_another(now: ConnectedListener, before: ConnectedListener) -> bool {
    now.was_absent || matches!((now.pid, before.pid), (Some(now), Some(before)) if now != before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    const OLD: ConnectedListener = ConnectedListener { pid: Some(1), was_absent: false };
    const NEW: ConnectedListener = ConnectedListener { pid: Some(2), was_absent: false };
    const BACK: ConnectedListener = ConnectedListener { pid: None, was_absent: true };

    fn reset() -> BackendFault {
        BackendFault::Broken(io::ErrorKind::ConnectionReset.into())
    }

    #[test]
    fn a_script_that_crashes_is_run_twice_at_most() {
        for fault in [reset, || BackendFault::Closed] {
            let mut tries = Tries::default();
            assert!(tries.refuse(|| OLD).is_none());
            assert!(tries.rest(fault(), OLD).is_ok());
            assert!(tries.refuse(|| OLD).is_none());
            let goes_on = tries.rest(fault(), OLD).is_ok();
            assert!(!goes_on || tries.refuse(|| OLD).is_some());
        }
    }

    #[test]
    fn what_a_listener_takes_with_it_when_it_ends_is_asked_for_again() {
        for next in [NEW, BACK] {
            let mut tries = Tries::default();
            assert!(
                tries.rest(BackendFault::Closed, OLD).is_ok() && tries.refuse(|| OLD).is_none()
            );
            assert!(tries.rest(reset(), OLD).is_ok() && tries.refuse(|| next).is_none());
            assert!(tries.rest(reset(), next).is_ok());
            assert!(tries.rest(reset(), next).is_err(), "there is an end to it");
        }
    }
}
