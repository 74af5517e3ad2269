//! Requests that a thread waits for the answers of.

use std::collections::HashMap;

/// What is remembered of a request that nothing was answered to yet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PendingRequest {
    /// The user who waits for it.
    pub(crate) user: u32,
    pub(crate) entry: usize,
    /// When the user was to come: before a redirect it is when the request is intended.
    pub(crate) came_ns: u64,
    /// When the request should have been sent.
    pub(crate) intended_ns: u64,
    /// Whether the request is for a page itself, without which there is none.
    pub(crate) is_page: bool,
}

/// Requests of a user who waits for their answers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UnansweredRequests {
    pub(super) pending: PendingRequest,
    /// None between two.
    pub(super) count: u32,
}

/// Everything that a thread waits for.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    /// For each of the thread's users; where pages are loaded, for each of their requests.
    pub(super) rows: Vec<UnansweredRequests>,
    /// Where pages are loaded, places of it that are free.
    pub(super) free: Vec<usize>,
    /// For each of the thread's users, whether anything has come of what they asked for.
    heard: Vec<bool>,
    /// For each user with a page under way when that should have been asked for.
    pub(super) pages: HashMap<u32, u64>,
}

impl UnderWay {
    pub(super) fn inspect(&mut self, place: usize) {
        if self.heard.len() <= place {
            self.heard.resize(place + 1, false);
        }
        self.heard[place] = true;
    }

    pub(super) fn has_heard(&self, place: usize) -> bool {
        self.heard.get(place).copied().unwrap_or(false)
    }

    pub(super) fn row(&mut self, place: usize) -> &mut UnansweredRequests {
        if self.rows.len() <= place {
            self.rows.resize(place + 1, UnansweredRequests::default());
        }
        &mut self.rows[place]
    }
}
