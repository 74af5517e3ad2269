//! What a browser sends over one connection, one thing after the other.

use super::lines::Line;
use super::worker::Worker;
use crate::page::Item;
use crate::page::har::Step;
use runtime::Timer;
use upstream::{Answer, Asking, Broken, Capture};

/// A connection that a browser keeps.
pub(crate) struct Connection {
    pub(super) route: usize,
    pub(super) line: Line,
    /// Which of the browser's this is.
    pub(super) number: u64,
}

/// One after the other over one connection.
pub(super) struct Lane {
    pub(super) route: usize,
    pub(super) connection: Option<Connection>,
    pub(super) timer: Timer,
    pub(super) request: Vec<u8>,
    pub(super) capture: Capture,
}

/// An answered request.
pub(super) struct Got {
    pub(super) answer: Answer,
    pub(super) sent_bytes: u64,
    pub(super) begun_ns: u64,
    pub(super) sent_ns: u64,
    pub(super) connect_ns: Option<u64>,
}

impl Connection {
    /// Whether it may be used: a shared one may have ended while nobody asked.
    pub(super) fn is_open(&self) -> bool {
        match &self.line {
            Line::Own(_) => true,
            Line::Shared(seat) => seat.is_open(),
        }
    }

    /// The answer, and how many bytes were sent for it.
    pub(super) async fn exchange(
        &mut self,
        worker: &Worker,
        asking: &Asking<'_>,
        lane: &mut Lane,
    ) -> Result<(Answer, u64), Broken> {
        let (tools, capture) = (&worker.tools, Some(&mut lane.capture));
        match &mut self.line {
            Line::Own(link) => {
                let mut answer = Answer::default();
                let answered = |got| answer = got;
                link.exchange(asking, tools, &mut lane.timer, capture, answered).await?;
                Ok((answer, asking.bytes.len() as u64))
            }
            Line::Shared(seat) => {
                let timer = &mut lane.timer;
                Box::pin(seat.exchange(asking, &tools.translations, timer, capture)).await
            }
        }
    }
}

/// How an answer came, for the waterfall of its page.
pub(super) fn step(lane: &Lane, item: &Item, got: &Got, connections: u64) -> Step {
    let number = lane.connection.as_ref().map(|connection| connection.number);
    Step {
        url: item.resource.url.to_string(),
        kind: item.resource.kind,
        found_ns: item.found_ns,
        begun_ns: got.begun_ns,
        connect_ns: got.connect_ns,
        sent_ns: got.sent_ns,
        first_byte_ns: got.answer.first_byte_ns,
        end_ns: got.answer.end_ns,
        connection: number.unwrap_or(connections),
        request: lane.request.clone(),
        head: lane.capture.head.clone(),
        wire_bytes: got.answer.wire_bytes,
        body_bytes: got.answer.body_bytes,
    }
}
