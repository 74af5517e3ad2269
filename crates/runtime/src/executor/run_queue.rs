//! For how long a thread was ready to run while no processor was free for it: what the kernel
//! counts in `/proc/self/task/TID/schedstat` (proc(5)). Where `/proc` is missing nobody knows.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::pread;
use std::cell::OnceCell;
use std::os::fd::OwnedFd;

thread_local! {
    /// Kept open: to read it again is a fifth of what it costs to open it.
    static SCHEDSTAT: OnceCell<Option<OwnedFd>> = const { OnceCell::new() };
}

/// Three numbers of up to 20 digits.
const TEXT_BYTES: usize = 64;

/// Nanoseconds for which the calling thread has waited for a processor; `None` where the kernel
/// does not say.
pub fn run_queue_ns() -> Option<u64> {
    SCHEDSTAT.with(|file| {
        let file = file.get_or_init(open_own).as_ref()?;
        let mut text = [0; TEXT_BYTES];
        let length = pread(file, &mut text, 0).ok()?;
        parse(text.get(..length)?)
    })
}

fn open_own() -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    open("/proc/thread-self/schedstat", flags, Mode::empty()).ok()
}

/// The second of the numbers: on a processor, waiting for one, slices.
fn parse(text: &[u8]) -> Option<u64> {
    let waited = text.split(|byte| byte.is_ascii_whitespace()).nth(1)?;
    std::str::from_utf8(waited).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_the_second_number() {
        assert_eq!(parse(b"572565 429446 4\n"), Some(429_446));
        for text in [&b""[..], b"1", b"1 x 2", b"1 -2 3", b"1 99999999999999999999999 3"] {
            assert_eq!(parse(text), None, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn a_thread_never_waits_less_than_before() {
        let before = run_queue_ns();
        std::thread::yield_now();
        assert!(run_queue_ns() >= before);
    }
}
