//! Saying no before there is a request, and ending the connection.

use crate::answer::{Written, write_head};
use crate::connection::Wire;
use crate::failure::Failure;
use crate::request::Request;
use crate::response::{Piece, Response};
use http1::{CloseReason, Known, Next, Persist, Refusal};
use runtime::clock;
use std::io;

impl Wire {
    /// A head that parsed, whose meaning breaks a rule.
    pub(crate) async fn refuse_request(&mut self, refusal: Refusal, request: &Request) -> Next {
        let view = request.view();
        let expect = view.get(Known::Expect);
        let written = self.send_failure(&Failure::from(refusal), view.method(), expect).await;
        let next = self.state.close(CloseReason::Refused);
        self.log(Some(view), Some(view.request_line()), &written, request);
        next
    }

    /// Bytes that are no head.
    pub(crate) async fn refuse(&mut self, refusal: Refusal, arrived: &[u8]) -> Next {
        if self.send_unsent().await.is_err() {
            self.is_broken = true;
        }
        let written = self.send_failure(&Failure::from(refusal), b"", None).await;
        let next = self.state.close(CloseReason::Refused);
        // httpd logs the request line alone, as far as there is one.
        let start = arrived.iter().position(|byte| !matches!(byte, b'\r' | b'\n'));
        let arrived = &arrived[start.unwrap_or(arrived.len())..];
        let line = arrived.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !self.context.site().logs.is_empty() {
            let times = (clock::unix_us(), 0);
            self.log_exchange(None, Some(line), &written, None, times, arrived.len() as u64);
        }
        next
    }

    /// Say what is wrong and that the connection ends. No slot is needed: nothing is computed.
    async fn send_failure(
        &mut self,
        failure: &Failure,
        method: &[u8],
        expect: Option<&[u8]>,
    ) -> Written {
        self.context.log_failure(failure, self.peer);
        let mut response = Response::failure(failure, method, expect);
        let mut head = Vec::with_capacity(512);
        write_head(&self.context, &response, Persist::Close, &mut head);
        let head_len = head.len();
        for piece in std::mem::take(&mut response.body).pieces {
            if let Piece::Bytes(bytes) = piece
                && method != b"HEAD"
            {
                head.extend_from_slice(&bytes);
            }
        }
        let result = if self.is_broken {
            Err(io::ErrorKind::BrokenPipe.into())
        } else {
            self.send_bytes(&head, false, None, &mut 0).await
        };
        self.is_broken |= result.is_err();
        let body_bytes = if result.is_ok() { (head.len() - head_len) as u64 } else { 0 };
        head.truncate(head_len);
        Written { response, head, body_bytes, result }
    }
}
