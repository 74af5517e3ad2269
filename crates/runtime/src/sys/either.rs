//! One of two futures, in the same memory.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Either of two futures; once it is pinned, so is the one that it is.
pub(crate) enum Either<A, B> {
    First(A),
    Second(B),
}

impl<A, B> Either<A, B> {
    /// The same of references.
    pub(crate) fn as_pinned(self: Pin<&mut Self>) -> Either<Pin<&mut A>, Pin<&mut B>> {
        // SAFETY: nothing is moved out of what is pinned here: both are pinned again.
        match unsafe { self.get_unchecked_mut() } {
            // SAFETY: it is part of what is pinned, and is reached through this alone.
            Self::First(first) => Either::First(unsafe { Pin::new_unchecked(first) }),
            // SAFETY: as above.
            Self::Second(second) => Either::Second(unsafe { Pin::new_unchecked(second) }),
        }
    }
}

impl<T, A: Future<Output = T>, B: Future<Output = T>> Future for Either<A, B> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<T> {
        match self.as_pinned() {
            Either::First(first) => first.poll(task),
            Either::Second(second) => second.poll(task),
        }
    }
}
