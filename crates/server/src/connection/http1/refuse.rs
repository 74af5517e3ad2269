//! Saying no before there is a request, and ending the connection.

use super::state::Connection;
use crate::connection::log::{self, LoggedRequest, account};
use crate::connection::refusal::{raw_path, say_no, words};
use crate::connection::stream::{End, RequestStream};
use crate::received_request::ReceivedRequest;
use http1::{AfterResponse, CloseReason};
use message::Refusal;
use runtime::clock;
use std::rc::Rc;

impl Connection {
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
        let written = say_no(self, refusal, &request, raw_path(line).to_vec()).await;
        self.end(End::Refused);
        account(&self.context, &written, &request);
        if self.host().logs.is_empty() {
            self.logged(request.ids.connection.get(), &request.names);
        } else {
            let words = words(line);
            let asked = LoggedRequest {
                client: self.peer,
                view: None,
                method: words[0],
                protocol: words[2],
                request_line: Some(line).filter(|line| !line.is_empty()),
                query: words[1].and_then(query),
                host_name: None,
                log_ids: (request.ids.request.get(), request.ids.connection.get()),
                times: None,
                start_us: clock::unix_us(),
                duration_us: 0,
                bytes: arrived.len() as u64,
            };
            log::write(self, &asked, &request, &written).await;
        }
        self.context.end_long(&request.spent);
        self.persistence.close(CloseReason::Refused)
    }
}

/// What stands behind the question mark of a target.
fn query(target: &[u8]) -> Option<&[u8]> {
    let mark = target.iter().position(|byte| *byte == b'?')?;
    Some(&target[mark + 1..])
}
