//! Futures that are large and rare, made where the caller's frame and its own future keep no room
//! for them: a connection that waits is small, and so are the stacks of threads.

use std::future::Future;
use std::pin::Pin;

/// A future in the memory that the runtime keeps for those: for what is there for each request
/// that takes the slow path.
#[inline(never)]
pub(crate) fn placed<F: Future>(make: impl FnOnce() -> F) -> runtime::Placed<F> {
    runtime::placed(make)
}

/// A future on the heap. It is made apart: room for it in the frame of the caller would be memory
/// of each stack.
#[inline(never)]
pub fn boxed<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::pin(make())
}
