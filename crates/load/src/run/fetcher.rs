//! What a browser sends over one connection, one thing after the other.

use super::connections::UserConnection;
use super::worker::LoadWorker;
use crate::page::QueuedResource;
use crate::page::har::HarEntry;
use runtime::Timer;
use upstream::{AnswerSummary, Batch, Capture, ExchangeError};

/// A connection that a browser keeps.
pub(crate) struct KeptConnection {
    pub(super) route: usize,
    pub(super) connection: UserConnection,
    /// Which of the browser's this is.
    pub(super) number: u64,
}

/// One after the other over one connection.
pub(super) struct Fetcher {
    pub(super) route: usize,
    pub(super) connection: Option<KeptConnection>,
    pub(super) timer: Timer,
    pub(super) request: Vec<u8>,
    pub(super) capture: Capture,
}

/// An answered request.
pub(super) struct Fetched {
    pub(super) answer: AnswerSummary,
    pub(super) sent_bytes: u64,
    pub(super) begun_ns: u64,
    pub(super) sent_ns: u64,
    pub(super) connect_ns: Option<u64>,
}

impl KeptConnection {
    /// Whether it may be used: a shared one may have ended while nobody asked.
    pub(super) fn is_open(&self) -> bool {
        match &self.connection {
            UserConnection::Own(_) => true,
            UserConnection::Shared(share) => share.is_open(),
        }
    }

    /// The answer, and how many bytes were sent for it.
    pub(super) async fn exchange(
        &mut self,
        worker: &LoadWorker,
        batch: &Batch<'_>,
        fetcher: &mut Fetcher,
    ) -> Result<(AnswerSummary, u64), ExchangeError> {
        let (client, capture) = (&worker.client, Some(&mut fetcher.capture));
        match &mut self.connection {
            UserConnection::Own(link) => {
                let mut answer = AnswerSummary::default();
                let answered = |got| answer = got;
                link.exchange(batch, client, &mut fetcher.timer, capture, answered).await?;
                Ok((answer, batch.bytes.len() as u64))
            }
            UserConnection::Shared(share) => {
                let timer = &mut fetcher.timer;
                Box::pin(share.exchange(batch, &client.translated_requests, timer, capture)).await
            }
        }
    }
}

/// How an answer came, for the waterfall of its page.
pub(super) fn step(
    fetcher: &Fetcher,
    item: &QueuedResource,
    got: &Fetched,
    connections: u64,
) -> HarEntry {
    let number = fetcher.connection.as_ref().map(|connection| connection.number);
    HarEntry {
        url: item.resource.url.to_string(),
        kind: item.resource.kind,
        found_ns: item.found_ns,
        begun_ns: got.begun_ns,
        connect_ns: got.connect_ns,
        sent_ns: got.sent_ns,
        first_byte_ns: got.answer.first_byte_ns,
        end_ns: got.answer.end_ns,
        connection: number.unwrap_or(connections),
        request: fetcher.request.clone(),
        head: fetcher.capture.head.clone(),
        received_bytes: got.answer.received_bytes,
        body_bytes: got.answer.body_bytes,
    }
}
