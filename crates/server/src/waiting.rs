//! A result that is there, or that has to be waited for. What nearly always is ready (a condition,
//! a rule for access, a hook) says so in its type: the ready way costs no memory and no turn of
//! the executor, and whoever waits does so with `.await`, in the middle of what it does.

use crate::failure::{Failure, Stop};
use crate::large_future::{boxed, placed};
use message::Status;
use std::future::{IntoFuture, Ready, ready};
use std::ops::ControlFlow;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

/// Ready now, or a future that borrows what it is about.
pub enum NowOrLater<'l, T> {
    /// It is ready.
    Now(T),
    /// It has to be waited for.
    Later(Pin<Box<dyn Future<Output = T> + 'l>>),
}

/// A result that is ready now or has to be waited for, of something that may stop the request
/// ([`Stop`]).
pub type Waiting<'l, T> = NowOrLater<'l, Result<T, Stop>>;

impl<'l, T> NowOrLater<'l, T> {
    /// What has to be waited for.
    pub fn later(future: impl Future<Output = T> + 'l) -> Self {
        Self::Later(Box::pin(future))
    }

    /// A future that has to be waited for and is large: it is made where the caller's frame has no
    /// room for it.
    pub fn boxed<F: Future<Output = T> + 'l>(make: impl FnOnce() -> F) -> Self {
        Self::Later(boxed(make))
    }

    /// A large future that has to be waited for, made in memory that the thread keeps: for what
    /// answers many requests.
    pub fn placed<F: Future<Output = T> + 'l>(make: impl FnOnce() -> F) -> Self {
        Self::Later(Box::pin(placed(make)))
    }

    /// What `change` makes of it.
    pub fn map<U>(self, change: impl FnOnce(T) -> U + 'l) -> NowOrLater<'l, U>
    where
        T: 'l,
    {
        match self {
            Self::Now(value) => NowOrLater::Now(change(value)),
            Self::Later(future) => NowOrLater::later(async move { change(future.await) }),
        }
    }
}

impl<'l, T: 'l> Waiting<'l, T> {
    /// What comes after it unless the request is stopped, which may have to be waited for, too.
    pub fn and_then<U: 'l>(self, next: impl FnOnce(T) -> Waiting<'l, U> + 'l) -> Waiting<'l, U> {
        match self {
            Self::Now(Ok(value)) => next(value),
            Self::Now(Err(stop)) => NowOrLater::Now(Err(stop)),
            Self::Later(future) => NowOrLater::later(async move { next(future.await?).await }),
        }
    }

    /// A future that waits for something only if `may_wait`: else it is run here, to its end.
    pub fn only_if(may_wait: bool, future: impl Future<Output = Result<T, Stop>> + 'l) -> Self {
        if may_wait {
            return Self::later(future);
        }
        NowOrLater::Now(ended(future).unwrap_or_else(|| Err(has_waited().into())))
    }
}

/// Ask about one item after the other until one decides, with what came of those before; that,
/// begun with `start`, is what comes of all of them if none does.
pub fn fold<'l, I, R: 'l>(
    mut items: I,
    start: R,
    mut ask: impl FnMut(I::Item, R) -> Waiting<'l, ControlFlow<R, R>> + 'l,
) -> Waiting<'l, R>
where
    I: Iterator + 'l,
{
    let mut result = start;
    while let Some(item) = items.next() {
        match ask(item, result) {
            NowOrLater::Now(Ok(ControlFlow::Continue(so_far))) => result = so_far,
            NowOrLater::Now(answer) => return NowOrLater::Now(answer.map(either)),
            // From the first that has to be waited for, the rest is a future.
            NowOrLater::Later(asked) => {
                return NowOrLater::later(async move {
                    let mut answer = asked.await?;
                    while let ControlFlow::Continue(so_far) = answer {
                        let Some(item) = items.next() else { return Ok(so_far) };
                        answer = ask(item, so_far).await?;
                    }
                    Ok(either(answer))
                });
            }
        }
    }
    NowOrLater::Now(Ok(result))
}

fn either<R>(answer: ControlFlow<R, R>) -> R {
    let (ControlFlow::Break(result) | ControlFlow::Continue(result)) = answer;
    result
}

/// Ask about one item after the other until one decides; `None` if none does. As [`fold`], where
/// the items before do not matter.
pub fn first<'l, I, R: 'l>(
    items: I,
    mut ask: impl FnMut(I::Item) -> Waiting<'l, ControlFlow<R>> + 'l,
) -> Waiting<'l, Option<R>>
where
    I: Iterator + 'l,
{
    fold(items, None, move |item, _| {
        ask(item).map(|answer| {
            Ok(match answer? {
                ControlFlow::Break(decided) => ControlFlow::Break(Some(decided)),
                ControlFlow::Continue(()) => ControlFlow::Continue(None),
            })
        })
    })
}

/// What comes of a future that has nothing to wait for; `None` if it had.
pub fn ended<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// An error of ours: what says that it never waits must not.
fn has_waited() -> Failure {
    let text = "a hook that never waits had to wait";
    Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text).at_error()
}

impl<'l, T> IntoFuture for NowOrLater<'l, T> {
    type Output = T;
    type IntoFuture = Awaited<'l, T>;

    fn into_future(self) -> Awaited<'l, T> {
        match self {
            Self::Now(value) => Awaited::Now(ready(value)),
            Self::Later(future) => Awaited::Later(future),
        }
    }
}

/// The future of a [`NowOrLater`].
pub enum Awaited<'l, T> {
    /// It was ready.
    Now(Ready<T>),
    /// It has to be waited for.
    Later(Pin<Box<dyn Future<Output = T> + 'l>>),
}

impl<T> Future for Awaited<'_, T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match self.get_mut() {
            Self::Now(value) => Pin::new(value).poll(context),
            Self::Later(future) => future.as_mut().poll(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::future::poll_fn;

    /// Ready when it is polled the second time.
    fn slow<'l>(value: u32) -> Waiting<'l, u32> {
        let mut polled = false;
        NowOrLater::later(poll_fn(move |_| match std::mem::replace(&mut polled, true) {
            false => Poll::Pending,
            true => Poll::Ready(Ok(value)),
        }))
    }

    fn drive<T>(waiting: Waiting<'_, T>) -> (u32, T) {
        let mut future = pin!(waiting.into_future());
        let mut polls = 0;
        loop {
            polls += 1;
            let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(value) = polled {
                return (polls, value.unwrap());
            }
        }
    }

    #[test]
    fn what_is_ready_is_never_a_future() {
        let ready = NowOrLater::Now(Ok(1)).and_then(|one: u32| NowOrLater::Now(Ok(one + 1)));
        assert!(matches!(ready.map(|two| two), NowOrLater::Now(Ok(2))));
        assert!(matches!(Waiting::only_if(false, async { Ok(3) }), NowOrLater::Now(Ok(3))));
        let undecided = first(0..3, |_| NowOrLater::Now(Ok(ControlFlow::<()>::Continue(()))));
        assert!(matches!(undecided, NowOrLater::Now(Ok(None))));
    }

    #[test]
    fn what_is_done_before_and_after_a_wait_is_done_once() {
        let steps = Cell::new(0);
        let step = |value| {
            steps.set(steps.get() + 1);
            value
        };
        let waiting = slow(step(1)).and_then(|one| slow(step(one + 1)).map(|two| two.map(step)));
        assert_eq!(drive(waiting), (3, 2));
        assert_eq!(steps.get(), 3);
    }

    #[test]
    fn each_item_is_asked_about_once_and_none_behind_the_one_that_decides() {
        let asked = Cell::new(0);
        let ask = |item: u32| {
            asked.set(asked.get() + 1);
            let decide = move |item: u32| match item {
                3 => ControlFlow::Break(item),
                _ => ControlFlow::Continue(()),
            };
            // Every other one has to be waited for.
            match item % 2 {
                0 => slow(item).map(move |item| item.map(decide)),
                _ => NowOrLater::Now(Ok(decide(item))),
            }
        };
        assert_eq!(drive(first(0..9, ask)), (3, Some(3)));
        assert_eq!(asked.get(), 4);
    }

    #[test]
    fn what_must_not_wait_and_does_is_an_error() {
        let waiting = Waiting::only_if(false, std::future::pending::<Result<(), Stop>>());
        assert!(matches!(waiting, NowOrLater::Now(Err(Stop::Failure(_)))));
    }
}
