//! A panic of a handler is a failure of its request, and of nothing else.

use crate::access_log::LogDetails;
use crate::context::Context;
use crate::exchange::ExchangeResult;
use crate::failure::Failure;
use crate::received_request::ReceivedRequest;
use crate::response::Response;
use message::Status;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

/// The exchange, with a panic of a handler turned into a failure of that request alone.
pub(crate) async fn guarded(
    context: &Context,
    host: usize,
    request: &ReceivedRequest,
    mut exchange: Pin<&mut impl Future<Output = ExchangeResult>>,
) -> ExchangeResult {
    let caught = poll_fn(|task| {
        // The future is not polled again after a panic, so nothing half-done is ever seen.
        match catch_unwind(AssertUnwindSafe(|| exchange.as_mut().poll(task))) {
            Ok(Poll::Ready(exchanged)) => Poll::Ready(Ok(exchanged)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(panic) => Poll::Ready(Err(panic)),
        }
    })
    .await;
    caught.unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        let text = format!("a handler panicked: {said}");
        let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text).at_error();
        context.log_refusal(&failure, host, request.client);
        let response = Response::failure(&failure, request.view().method(), None);
        let logged = LogDetails { host, ..LogDetails::default() };
        ExchangeResult { response, reusable: None, settings: None, logged }
    })
}
