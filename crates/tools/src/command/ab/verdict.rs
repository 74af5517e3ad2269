//! Which failures end ab's run, what it says then and how it exits: `read_connection`,
//! `start_connect` and `test` of httpd's support/ab.c.

use super::arguments::AbArguments;
use super::stop::AbStop;
use load::FirstFailure;
use load::run::RunOutcome;
use load::{FailureKind, Window};

/// Failures to connect that ab puts up with: it gives up at `bad++ > 10`.
const CONNECT_FAILURES_MAX: u64 = 11;

/// apr's number for a time that is over, `APR_TIMEUP`.
const TIME_UP: i32 = 70_007;

/// Of the parts of ab's failed requests, the one that a failure belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailurePart {
    Connect,
    Receive,
    Length,
    Exceptions,
}

impl FailurePart {
    /// A refusal is found by the first read, and a connection that is closed early has an answer
    /// that is too short.
    pub(super) const fn of(failure: FailureKind) -> Self {
        match failure {
            FailureKind::Refused | FailureKind::Reset | FailureKind::Other => Self::Receive,
            FailureKind::Unreachable
            | FailureKind::ConnectTimeout
            | FailureKind::ConnectBroken
            | FailureKind::Tls
            | FailureKind::NoDescriptor
            | FailureKind::NoPort => Self::Connect,
            FailureKind::Closed | FailureKind::Truncated | FailureKind::Length => Self::Length,
            FailureKind::Timeout
            | FailureKind::Malformed
            | FailureKind::Status
            | FailureKind::Content
            | FailureKind::Redirects => Self::Exceptions,
        }
    }

    /// The number of failures of this part.
    pub(super) fn count(self, window: &Window) -> u64 {
        let of_part = FailureKind::ALL.into_iter().filter(|failure| Self::of(*failure) == self);
        of_part.map(|failure| window.failures_of(failure)).sum()
    }
}

/// What ends a run, with `-r` and without.
pub(super) fn is_fatal(goes_on: bool) -> fn(FailureKind, u64) -> bool {
    if goes_on { is_fatal_at_last } else { is_fatal_at_once }
}

fn is_fatal_at_once(failure: FailureKind, count: u64) -> bool {
    let is_waited_for =
        matches!(failure, FailureKind::NoPort | FailureKind::ConnectBroken | FailureKind::Tls);
    match FailurePart::of(failure) {
        FailurePart::Receive => true,
        FailurePart::Connect => !is_waited_for || count > CONNECT_FAILURES_MAX,
        FailurePart::Exceptions => failure == FailureKind::Timeout,
        FailurePart::Length => false,
    }
}

fn is_fatal_at_last(failure: FailureKind, count: u64) -> bool {
    FailurePart::of(failure) == FailurePart::Connect && count > CONNECT_FAILURES_MAX
}

/// Why there is no report, if there is none.
pub(super) fn of(arguments: &AbArguments, outcome: &RunOutcome) -> Option<AbStop> {
    let (window, is_fatal) = (&outcome.total, is_fatal(arguments.goes_on));
    let fatal = window
        .firsts
        .iter()
        .filter(|first| is_fatal(first.failure, window.failures_of(first.failure)));
    match fatal.min_by_key(|first| first.at_ns) {
        Some(first) => Some(words(first)),
        None => (!arguments.goes_on && was_silent(outcome)).then(time_up),
    }
}

/// Nobody has answered until the end of `-t`: ab waits on, until `-s` is over as well.
fn was_silent(outcome: &RunOutcome) -> bool {
    let total = &outcome.total;
    !outcome.was_interrupted && total.ended() == 0 && total.aborted > 0
}

fn time_up() -> AbStop {
    AbStop::of_system("apr_pollset_poll", "The timeout specified has expired", TIME_UP)
}

/// `-r -v 1`: a line for each failure to receive that did not end the run.
pub(super) fn each_passed_over(outcome: &RunOutcome) -> impl Iterator<Item = String> + '_ {
    let window = &outcome.total;
    let received =
        window.firsts.iter().filter(|first| FailurePart::of(first.failure) == FailurePart::Receive);
    received.flat_map(|first| {
        let count = usize::try_from(window.failures_of(first.failure)).unwrap_or(usize::MAX);
        std::iter::repeat_n(words(first).text().to_owned(), count)
    })
}

/// Why TLS could not be agreed on, where that has not ended the run.
pub(super) fn handshake_passed_over(outcome: &RunOutcome) -> Option<String> {
    outcome.total.firsts.iter().find(|first| first.failure == FailureKind::Tls).map(handshake)
}

fn handshake(first: &FirstFailure) -> String {
    format!("SSL handshake failed (1).\n{}", first.text)
}

fn words(first: &FirstFailure) -> AbStop {
    let known = match first.failure {
        FailureKind::Timeout | FailureKind::ConnectTimeout => return time_up(),
        FailureKind::Tls => {
            let text = format!("\nTest aborted after 10 failures\n\n{}", handshake(first));
            return AbStop::failed(&text);
        }
        FailureKind::NoDescriptor => return AbStop::of_system("socket", "Too many open files", 24),
        FailureKind::Reset => Some(("Connection reset by peer", 104)),
        FailureKind::Refused => Some(("Connection refused", 111)),
        _ => None,
    };
    let (words, number) = match known {
        Some((words, number)) => (words.to_owned(), number),
        None => {
            let (words, rest) = first.text.rsplit_once(" (os error ").unwrap_or((&first.text, ""));
            (words.to_owned(), rest.trim_end_matches(')').parse().unwrap_or(1))
        }
    };
    // What connect() says at once ab tries again, for all else it hears of by the first read.
    const AT_ONCE: [i32; 3] = [99, 98, 101];
    if FailurePart::of(first.failure) == FailurePart::Connect && AT_ONCE.contains(&number) {
        let call = "\nTest aborted after 10 failures\n\napr_socket_connect()";
        return AbStop::of_system(call, &words, number);
    }
    AbStop::of_system("apr_socket_recv", &words, number)
}
