//! The end of the programs that read logs, when the server ends. Starting them is the server's.

use runtime::clock;
use runtime::process::{self, ChildOrder};
use std::time::Duration;

/// How long they may take to write what they have read before they are told to end.
const PATIENCE_MS: u64 = 1000;

/// The interval at which the parent checks whether the last program has ended.
const POLL: Duration = Duration::from_millis(5);

/// Wait for `programs`, whose input is at its end. httpd sends them SIGTERM at once, which loses
/// the lines that they have not read.
pub(crate) fn end(mut programs: Vec<i32>) {
    let limit_ms = clock::monotonic_ms() + PATIENCE_MS;
    while !programs.is_empty() {
        while let Some((pid, _)) = process::reap() {
            programs.retain(|program| *program != pid);
        }
        if clock::monotonic_ms() >= limit_ms {
            programs.iter().for_each(|pid| process::order(*pid, ChildOrder::Stop));
            return;
        }
        if !programs.is_empty() {
            #[expect(clippy::disallowed_methods, reason = "the server has ended")]
            std::thread::sleep(POLL);
        }
    }
}
