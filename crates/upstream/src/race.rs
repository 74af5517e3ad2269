//! Several ways to the same end, tried so that one which leads nowhere holds nobody up: Happy
//! Eyeballs (RFC 8305 section 5) without its sorting.

use runtime::{Timer, clock};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The next way is begun when nothing has come of the one before for so long (RFC 8305 section 8).
const HEAD_START_MS: u64 = 250;

/// Begin one way after the other, the next one when the one before has failed or after a while;
/// whichever is through first is taken, and the others are given up.
///
/// # Errors
/// What was said of the last that failed, when all have.
pub(super) async fn first_of<T, F: Future<Output = io::Result<T>>>(
    mut ways: impl Iterator<Item = usize>,
    begin: impl Fn(usize) -> F,
) -> io::Result<(usize, T)> {
    // Dropped with this future, or when one is through: a connection that is being made is closed.
    let mut under_way: Vec<(usize, Pin<Box<F>>)> = Vec::new();
    let mut timer = Timer::new();
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    let mut is_next_due = true;
    poll_fn(|context| {
        loop {
            if std::mem::take(&mut is_next_due)
                && let Some(way) = ways.next()
            {
                under_way.push((way, Box::pin(begin(way))));
                timer.set(clock::monotonic_ms(), HEAD_START_MS);
            }
            match poll_each(&mut under_way, context) {
                Some((way, Ok(end))) => return Poll::Ready(Ok((way, end))),
                Some((_, Err(error))) => {
                    last = error;
                    is_next_due = true;
                }
                None if under_way.is_empty() => return Poll::Ready(Err(take(&mut last))),
                None if timer.poll_expired(context).is_pending() => return Poll::Pending,
                None => {
                    // When there is no other to begin, nobody is to be woken for it.
                    timer = Timer::new();
                    is_next_due = true;
                }
            }
        }
    })
    .await
}

fn take(error: &mut io::Error) -> io::Error {
    std::mem::replace(error, io::ErrorKind::AddrNotAvailable.into())
}

/// The first that has come to an end, which is under way no more.
fn poll_each<F: Future>(
    under_way: &mut Vec<(usize, Pin<Box<F>>)>,
    context: &mut Context<'_>,
) -> Option<(usize, F::Output)> {
    for place in 0..under_way.len() {
        if let Poll::Ready(end) = under_way[place].1.as_mut().poll(context) {
            return Some((under_way.swap_remove(place).0, end));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::Thread;
    use runtime::blocking::Blocking;
    use std::cell::RefCell;
    use std::time::{Duration, Instant};

    /// What becomes of a way.
    #[derive(Clone, Copy)]
    enum Way {
        Good,
        Bad,
        Silent,
        /// Through after so many milliseconds.
        Slow(u64),
    }

    /// The way that won or the words of the last error, those that were begun, and how long it
    /// took.
    fn race(ways: &[Way]) -> (Result<usize, String>, Vec<usize>, Duration) {
        let (begun, start) = (RefCell::default(), Instant::now());
        let won = Thread::new(Blocking::Inline).unwrap().block_on(first_of(0..ways.len(), |at| {
            RefCell::<Vec<usize>>::borrow_mut(&begun).push(at);
            async move {
                match ways[at] {
                    Way::Good => Ok(()),
                    Way::Bad => Err(io::Error::other(format!("bad {at}"))),
                    Way::Silent => std::future::pending().await,
                    Way::Slow(ms) => {
                        runtime::timer::sleep(Duration::from_millis(ms)).await;
                        Ok(())
                    }
                }
            }
        }));
        (
            won.map(|won| won.0).map_err(|error| error.to_string()),
            begun.into_inner(),
            start.elapsed(),
        )
    }

    #[test]
    fn the_next_is_begun_when_one_has_failed_and_no_sooner() {
        let bad = [Way::Bad; 20];
        let (won, begun, took) = race(&[&bad[..], &[Way::Good, Way::Good]].concat());
        assert_eq!((won, begun), (Ok(20), (0..=20).collect()));
        assert!(took < Duration::from_millis(HEAD_START_MS * 20), "{took:?}");
        assert_eq!(race(&[Way::Bad, Way::Bad]).0, Err("bad 1".to_owned()));
        assert!(race(&[]).0.is_err());
    }

    #[test]
    fn one_that_says_nothing_holds_nobody_up() {
        let (won, begun, took) = race(&[Way::Silent, Way::Silent, Way::Good]);
        assert_eq!((won, begun), (Ok(2), vec![0, 1, 2]));
        assert!(took >= Duration::from_millis(2 * HEAD_START_MS), "{took:?}");
        // The one before goes on meanwhile; and the last is waited for.
        assert_eq!(race(&[Way::Slow(300), Way::Silent]).0, Ok(0));
        assert_eq!(race(&[Way::Bad, Way::Slow(600)]).0, Ok(1));
    }
}
