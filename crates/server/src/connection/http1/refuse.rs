//! Saying no before there is a request, and ending the connection.

use super::answer::{ResponseFraming, WrittenResponse, take_head, write_head};
use super::delimiter::Delimiter;
use super::log::LoggedRequest;
use super::state::Connection;
use crate::access_log::LogDetails;
use crate::accounting;
use crate::error_document;
use crate::exchange::{ExchangeResult, refused};
use crate::failure::Failure;
use crate::guarded::guarded;
use crate::held::HeldSlot;
use crate::large_future::boxed;
use crate::received_request::ReceivedRequest;
use crate::request_context::MethodAndTarget;
use crate::response::{BodyPiece, Response};
use crate::slots::Slot;
use http1::{AfterResponse, CloseReason, Persist};
use message::{Known, Refusal, Version};
use runtime::clock;
use std::io;
use std::pin::pin;
use std::rc::Rc;

impl Connection {
    /// A head that parsed, whose meaning breaks a rule.
    pub(crate) async fn refuse_request(
        &mut self,
        refusal: Refusal,
        request: Rc<ReceivedRequest>,
    ) -> AfterResponse {
        let line = request.view().request_line();
        let written = self.say_no(refusal, &request, raw_path(line).to_vec()).await;
        let next = self.persistence.close(CloseReason::Refused);
        self.log(Some(request.view()), Some(line), &written, &request).await;
        next
    }

    /// Bytes that are no head.
    pub(crate) async fn refuse(&mut self, refusal: Refusal, arrived: &[u8]) -> AfterResponse {
        if self.send_pending().await.is_err() {
            self.is_broken = true;
        }
        self.disbelieve_proxy();
        // httpd logs the request line alone, as far as there is one.
        let start = arrived.iter().position(|byte| !matches!(byte, b'\r' | b'\n'));
        let arrived = &arrived[start.unwrap_or(arrived.len())..];
        let line = arrived.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mut request = ReceivedRequest::refused(refusal, line, self.peer, self.local());
        request.proxy = self.proxy_address();
        request.ids.keepalives = self.persistence.requests();
        request.ids.connection.set(self.log_id);
        request.names = self.names.clone().unwrap_or_default();
        let request = Rc::new(request);
        let written = self.say_no(refusal, &request, raw_path(line).to_vec()).await;
        let next = self.persistence.close(CloseReason::Refused);
        self.log_id = request.ids.connection.get();
        self.account(&written, &request);
        if !self.host().logs.is_empty() {
            let times = (clock::unix_us(), 0);
            let request_line = Some(line).filter(|line| !line.is_empty());
            let words = words(line);
            let asked = LoggedRequest {
                view: None,
                method: words[0],
                protocol: words[2],
                request_line,
                query: words[1].and_then(query),
                host_name: None,
                log_ids: (request.ids.request.get(), self.log_id),
                times: None,
            };
            self.log_exchange(&asked, &written, times, arrived.len() as u64).await;
        }
        accounting::end_long(&self.context, &request.spent);
        next
    }

    /// What holds for the whole host may change the page (`ServerSignature`, `ErrorDocument`) or
    /// its fields (`Header always`). Where nothing does, it costs no slot: nothing is computed.
    async fn say_no(
        &mut self,
        refusal: Refusal,
        request: &Rc<ReceivedRequest>,
        path: Vec<u8>,
    ) -> WrittenResponse {
        let failure = Failure::from(refusal);
        let view = request.view();
        let has_fixed_page = {
            let settings = &self.host().sections.base;
            error_document::is_fixed(&self.context.server.phases, settings, failure.status)
        };
        if !has_fixed_page && !self.is_broken {
            let context = self.context.clone();
            if let Some(slot) = self.unless_gone(pin!(context.slots.acquire())).await {
                return self.answer_refusal(failure, request, path, slot).await;
            }
        }
        let mut written = self.send_failure(&failure, view.method(), view.get(Known::Expect)).await;
        written.logged.asked.path = path;
        written
    }

    /// As any other request that fails, but that the connection ends with it.
    async fn answer_refusal(
        &mut self,
        failure: Failure,
        request: &Rc<ReceivedRequest>,
        path: Vec<u8>,
        slot: Slot,
    ) -> WrittenResponse {
        self.disbelieve_proxy(); // also where a complete head was refused
        self.begin(&slot, request.view().request_line());
        let held = HeldSlot::new(slot, request);
        let (context, host) = (self.context.clone(), self.host_index());
        let client = Some(request.other_end().ip().to_canonical());
        let asked = MethodAndTarget { path, ..MethodAndTarget::default() };
        let failed = (failure, LogDetails { asked, client, ..LogDetails::default() });
        let host_of_it = context.host(host);
        let mut page = boxed(|| refused(&context, host_of_it, request.clone(), failed, None));
        let exchanged = guarded(&context, host, request, page.as_mut()).await;
        let ExchangeResult { response, logged, .. } = exchanged;
        let is_head = request.is_head();
        let delimiter = Delimiter::of(&response, is_head, Version::Http11);
        let kind =
            ResponseFraming { is_head, told: Version::Http11, delimiter, persist: Persist::Close };
        let written = self.send_response(response, logged, kind, &held).await;
        self.is_broken |= written.result.is_err();
        written
    }

    /// Say what is wrong and that the connection ends. No slot is needed: nothing is computed.
    async fn send_failure(
        &mut self,
        failure: &Failure,
        method: &[u8],
        expect: Option<&[u8]>,
    ) -> WrittenResponse {
        self.disbelieve_proxy();
        self.context.log_refusal(failure, self.host_index(), self.peer);
        let mut response = Response::failure(failure, method, expect);
        let delimiter = response.body.len().map_or(Delimiter::Close, Delimiter::Length);
        let (told, persist) = (Version::Http11, Persist::Close);
        let head = take_head(&mut response, delimiter, persist, self.keep_alive_timeout_s());
        let mut out = Vec::with_capacity(512);
        write_head(&self.context, &head, told, response.date_s, &mut out);
        let head_len = out.len();
        for piece in std::mem::take(&mut response.body).pieces {
            if let BodyPiece::Bytes(bytes) = piece
                && method != b"HEAD"
            {
                out.extend_from_slice(&bytes);
            }
        }
        let mut sent_bytes = 0;
        let result = if self.is_broken {
            Err(io::ErrorKind::BrokenPipe.into())
        } else {
            self.send_bytes(&out, false, None, &mut sent_bytes).await
        };
        self.is_broken |= result.is_err();
        // httpd counts what it logs (eor_bucket.c).
        self.context.slots.count(sent_bytes);
        let body_bytes = sent_bytes.saturating_sub(head_len as u64);
        let logged = self.logged();
        let first_byte_us = None;
        WrittenResponse { head, logged, body_bytes, sent_bytes, first_byte_us, result }
    }
}

/// Method, target and protocol of a line. What it lacks is what httpd takes it for
/// (protocol.c, read_request_line).
fn words(line: &[u8]) -> [Option<&[u8]>; 3] {
    let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let method = words.next();
    let or = |word: Option<_>, default| word.or(method.is_some().then_some(default));
    [method, or(words.next(), b"/"), or(words.next(), b"HTTP/1.0")]
}

/// The path of a request line that was refused, as it came: the log shows it all the same.
fn raw_path(line: &[u8]) -> &[u8] {
    let target = words(line)[1].unwrap_or_default();
    let path = match target.windows(3).position(|three| three == b"://") {
        Some(at) => {
            let rest = &target[at + 3..];
            &rest[rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len())..]
        }
        None => target,
    };
    path.split(|byte| matches!(byte, b'?' | b'#')).next().unwrap_or_default()
}

/// What stands behind the question mark of a target.
fn query(target: &[u8]) -> Option<&[u8]> {
    let mark = target.iter().position(|byte| *byte == b'?')?;
    Some(&target[mark + 1..])
}
