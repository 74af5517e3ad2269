//! Parts of a response that are made for one another: those within parts are polled beside them, so
//! that however deep they go the stack of the thread does not.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Parts of a response that are being made, each for the one before.
#[derive(Default)]
pub(crate) struct PartStack<'a>(RefCell<Vec<Part<'a>>>);

type Part<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

impl<'a> PartStack<'a> {
    pub(crate) fn begin(&self, part: impl Future<Output = ()> + 'a) {
        self.0.borrow_mut().push(Box::pin(part));
    }

    /// Go on with the last; those before wait for it.
    pub(crate) fn poll(&self, task: &mut Context<'_>) -> Poll<()> {
        loop {
            let Some(mut last) = self.0.borrow_mut().pop() else { return Poll::Ready(()) };
            let below = self.0.borrow().len();
            if last.as_mut().poll(task).is_ready() {
                continue;
            }
            let mut all = self.0.borrow_mut();
            let has_begun_more = all.len() > below;
            all.insert(below, last);
            if !has_begun_more {
                return Poll::Pending;
            }
        }
    }
}

/// The parts of the outermost response. They know of each other, and are dropped with it.
#[derive(Default)]
pub(crate) struct Parts<'a>(pub(crate) Rc<PartStack<'a>>);

impl Drop for Parts<'_> {
    fn drop(&mut self) {
        let left = self.0.0.take();
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::future::poll_fn;
    use std::task::Waker;

    /// A part that begins another one until `depth` is reached, and is done after that.
    fn begin(parts: &Rc<PartStack<'static>>, depth: u32, done: &Rc<Cell<u32>>) {
        let (own, count) = (parts.clone(), done.clone());
        parts.begin(async move {
            let before = count.get();
            if depth > 0 {
                begin(&own, depth - 1, &count);
                poll_fn(|_| if count.get() > before { Poll::Ready(()) } else { Poll::Pending })
                    .await;
            }
            count.set(count.get() + 1);
        });
    }

    #[test]
    fn parts_within_parts_need_no_deeper_stack() {
        let (parts, done) = (Parts::default(), Rc::new(Cell::new(0)));
        begin(&parts.0, 100_000, &done);
        let mut task = Context::from_waker(Waker::noop());
        assert!(parts.0.poll(&mut task).is_ready());
        assert_eq!(done.get(), 100_001);
    }

    #[test]
    fn what_is_left_is_dropped_with_the_outermost() {
        let (parts, dropped) = (Parts::default(), Rc::new(()));
        let (own, held) = (parts.0.clone(), dropped.clone());
        parts.0.begin(async move {
            poll_fn(|_| Poll::<()>::Pending).await;
            drop((own, held));
        });
        let mut task = Context::from_waker(Waker::noop());
        assert!(parts.0.poll(&mut task).is_pending());
        assert_eq!(Rc::strong_count(&dropped), 2);
        drop(parts);
        assert_eq!(Rc::strong_count(&dropped), 1);
    }
}
