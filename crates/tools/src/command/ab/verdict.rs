//! Which failures end ab's run, what it says then and how it exits: `read_connection`,
//! `start_connect` and `test` of httpd's support/ab.c.

use super::arguments::AbArguments;
use super::stop::Stop;
use load::First;
use load::run::Outcome;
use load::{Failure, Window};

/// Failures to connect that ab puts up with: it gives up at `bad++ > 10`.
const CONNECT_FAILURES_MAX: u64 = 11;

/// apr's number for a time that is over, `APR_TIMEUP`.
const TIME_UP: i32 = 70_007;

/// Of the parts of ab's failed requests, the one that a failure belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Connect,
    Receive,
    Length,
    Exceptions,
}

impl Part {
    /// A refusal is found by the first read, and a connection that is closed early has an answer
    /// that is too short.
    pub(super) const fn of(failure: Failure) -> Self {
        match failure {
            Failure::Refused | Failure::Reset | Failure::Other => Self::Receive,
            Failure::Unreachable
            | Failure::ConnectTimeout
            | Failure::ConnectBroken
            | Failure::Tls
            | Failure::NoDescriptor
            | Failure::NoPort => Self::Connect,
            Failure::Closed | Failure::Truncated | Failure::Length => Self::Length,
            Failure::Timeout
            | Failure::Malformed
            | Failure::Status
            | Failure::Content
            | Failure::Redirects => Self::Exceptions,
        }
    }

    /// How many there were.
    pub(super) fn count(self, window: &Window) -> u64 {
        let of_part = Failure::ALL.into_iter().filter(|failure| Self::of(*failure) == self);
        of_part.map(|failure| window.failures_of(failure)).sum()
    }
}

/// What ends a run, with `-r` and without.
pub(super) fn is_fatal(goes_on: bool) -> fn(Failure, u64) -> bool {
    if goes_on { is_fatal_at_last } else { is_fatal_at_once }
}

fn is_fatal_at_once(failure: Failure, count: u64) -> bool {
    let is_waited_for = matches!(failure, Failure::NoPort | Failure::ConnectBroken | Failure::Tls);
    match Part::of(failure) {
        Part::Receive => true,
        Part::Connect => !is_waited_for || count > CONNECT_FAILURES_MAX,
        Part::Exceptions => failure == Failure::Timeout,
        Part::Length => false,
    }
}

fn is_fatal_at_last(failure: Failure, count: u64) -> bool {
    Part::of(failure) == Part::Connect && count > CONNECT_FAILURES_MAX
}

/// Why there is no report, if there is none.
pub(super) fn of(arguments: &AbArguments, outcome: &Outcome) -> Option<Stop> {
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
fn was_silent(outcome: &Outcome) -> bool {
    let total = &outcome.total;
    !outcome.was_interrupted && total.ended() == 0 && total.aborted > 0
}

fn time_up() -> Stop {
    Stop::of_system("apr_pollset_poll", "The timeout specified has expired", TIME_UP)
}

/// `-r -v 1`: a line for each failure to receive that did not end the run.
pub(super) fn each_passed_over(outcome: &Outcome) -> impl Iterator<Item = String> + '_ {
    let window = &outcome.total;
    let received = window.firsts.iter().filter(|first| Part::of(first.failure) == Part::Receive);
    received.flat_map(|first| {
        let count = usize::try_from(window.failures_of(first.failure)).unwrap_or(usize::MAX);
        std::iter::repeat_n(words(first).text().to_owned(), count)
    })
}

/// Why TLS could not be agreed on, where that has not ended the run.
pub(super) fn handshake_passed_over(outcome: &Outcome) -> Option<String> {
    outcome.total.firsts.iter().find(|first| first.failure == Failure::Tls).map(handshake)
}

fn handshake(first: &First) -> String {
    format!("SSL handshake failed (1).\n{}", first.text)
}

fn words(first: &First) -> Stop {
    let known = match first.failure {
        Failure::Timeout | Failure::ConnectTimeout => return time_up(),
        Failure::Tls => {
            let text = format!("\nTest aborted after 10 failures\n\n{}", handshake(first));
            return Stop::failed(&text);
        }
        Failure::NoDescriptor => return Stop::of_system("socket", "Too many open files", 24),
        Failure::Reset => Some(("Connection reset by peer", 104)),
        Failure::Refused => Some(("Connection refused", 111)),
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
    if Part::of(first.failure) == Part::Connect && AT_ONCE.contains(&number) {
        let call = "\nTest aborted after 10 failures\n\napr_socket_connect()";
        return Stop::of_system(call, &words, number);
    }
    Stop::of_system("apr_socket_recv", &words, number)
}
