//! The states of a server connection, and who decides on persistence. All that affects them lives
//! in this file.
//!
//! ```text
//!            begin             body_done             finish
//!  --> Head --------> Body ---------------> Respond ---------> Idle ---> begin (next request)
//!        |              |  (at once without one) |               |
//!        +--------------+-------- close ---------+---------------+
//!                                   |
//!                                   v
//!                           Close(CloseReason)
//! ```
//!
//! `decide` may be called in Body or Respond: a response may start before its request has ended.
//! `finish` in Body means the rest of the body was not read, and closes.

use crate::close_reason::CloseReason;
use crate::framing::KeepAlive;
use message::BodyLength;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    Body,
    Respond,
    Idle,
    Close(CloseReason),
}

/// What `decide` found for the response at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PersistVerdict {
    Open,
    Keep,
    Close(CloseReason),
}

/// What the response has to say about the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persist {
    /// `Connection: close`.
    Close,
    /// Nothing, or `Connection: Keep-Alive` for a client that named it.
    Keep {
        /// Whether the client named keep-alive.
        named: bool,
        /// The `max` of the Keep-Alive field; absent when there is no limit.
        remaining: Option<u32>,
    },
}

/// What comes after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterResponse {
    /// Wait for the next request, or take it from the buffer.
    Idle,
    /// Close.
    Close(CloseReason),
}

/// The state of one connection. It lies in memory once per idle connection, so it is small.
#[derive(Clone, Copy, Debug)]
pub struct Persistence {
    /// Requests begun.
    requests: u32,
    /// Responses that kept the connection; httpd's `keepalives`.
    kept: u32,
    state: State,
    keep_alive: KeepAlive,
    /// Set by `decide`; while it is open, `finish` is out of order.
    verdict: PersistVerdict,
}

const _: () = assert!(size_of::<Persistence>() <= 16);

impl Default for Persistence {
    fn default() -> Self {
        Self::new()
    }
}

impl Persistence {
    /// A connection that was just accepted.
    pub const fn new() -> Self {
        Self {
            requests: 0,
            kept: 0,
            state: State::Head,
            keep_alive: KeepAlive::NONE,
            verdict: PersistVerdict::Open,
        }
    }

    /// Requests begun so far.
    pub const fn requests(&self) -> u32 {
        self.requests
    }

    /// Responses that kept the connection so far; the last one that `MaxKeepAliveRequests` allows
    /// counts as well (`ap_set_keepalive`).
    pub const fn keepalives(&self) -> u32 {
        let limited = matches!(self.state, State::Close(CloseReason::KeepAliveLimit));
        self.kept.saturating_add(limited as u32)
    }

    /// Whether it waits for the second or a later request: silence is then the keep-alive timeout,
    /// and a close by the client is ordinary.
    pub const fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    /// Why it closes, once it does.
    pub const fn close_reason(&self) -> Option<CloseReason> {
        match self.state {
            State::Close(reason) => Some(reason),
            _ => None,
        }
    }

    /// A head is complete and its framing known.
    #[inline]
    pub fn begin(&mut self, body: BodyLength, keep_alive: KeepAlive) {
        if !self.in_order(matches!(self.state, State::Head | State::Idle)) {
            return;
        }
        self.requests = self.requests.saturating_add(1);
        self.keep_alive = keep_alive;
        self.verdict = PersistVerdict::Open;
        let bodyless = body == BodyLength::None;
        self.state = if bodyless { State::Respond } else { State::Body };
    }

    /// The body was read to its end. Harmless when there was none.
    pub fn body_done(&mut self) {
        if self.in_order(matches!(self.state, State::Body | State::Respond)) {
            self.state = State::Respond;
        }
    }

    /// Whether the body still has to be read or dropped.
    pub const fn body_pending(&self) -> bool {
        matches!(self.state, State::Body)
    }

    /// Decides on persistence, in time for the head of the response. `max_keep_alive_requests` is
    /// `MaxKeepAliveRequests` (0: unlimited), `draining` a process about to end, `must_close`
    /// whatever else forbids persistence: `KeepAlive Off`, a status that drops the connection, a
    /// body of unknown length for an HTTP/1.0 client.
    #[inline]
    pub fn decide(
        &mut self,
        max_keep_alive_requests: u32,
        draining: bool,
        must_close: bool,
    ) -> Persist {
        if !self.in_order(matches!(self.state, State::Body | State::Respond)) {
            return Persist::Close;
        }
        // httpd counts what is left before this response: the first one of 100 says max=100, and
        // the 101st closes (`ap_set_keepalive`, measured).
        let left = max_keep_alive_requests.saturating_sub(self.kept);
        let limited = max_keep_alive_requests != 0;
        self.verdict = match () {
            () if must_close => PersistVerdict::Close(CloseReason::ServerChose),
            () if !self.keep_alive.wanted => PersistVerdict::Close(CloseReason::ClientAsked),
            () if draining => PersistVerdict::Close(CloseReason::Draining),
            () if limited && left == 0 => PersistVerdict::Close(CloseReason::KeepAliveLimit),
            () => PersistVerdict::Keep,
        };
        if self.verdict != PersistVerdict::Keep {
            return Persist::Close;
        }
        Persist::Keep { named: self.keep_alive.named, remaining: limited.then_some(left) }
    }

    /// The response is written.
    #[inline]
    pub fn finish(&mut self) -> AfterResponse {
        if self.in_order(matches!(self.state, State::Body | State::Respond)) {
            debug_assert!(self.verdict != PersistVerdict::Open, "finish before decide");
            self.state = match (self.verdict, self.state) {
                (PersistVerdict::Close(reason), _) => State::Close(reason),
                (PersistVerdict::Keep, State::Respond) => State::Idle,
                (PersistVerdict::Keep, _) => State::Close(CloseReason::UnreadBody),
                (PersistVerdict::Open, _) => State::Close(CloseReason::Disorder),
            };
        }
        match self.state {
            State::Close(reason) => AfterResponse::Close(reason),
            _ => {
                self.kept = self.kept.saturating_add(1);
                AfterResponse::Idle
            }
        }
    }

    /// Ends the connection from any state; the first reason stays.
    pub const fn close(&mut self, reason: CloseReason) -> AfterResponse {
        match self.state {
            State::Close(first) => AfterResponse::Close(first),
            _ => {
                self.state = State::Close(reason);
                AfterResponse::Close(reason)
            }
        }
    }

    /// A call in the wrong state is a fault of the caller. The safe outcome is to close; after a
    /// close every further call is ignored without complaint, because closes come from anywhere.
    fn in_order(&mut self, holds: bool) -> bool {
        if holds {
            return true;
        }
        if !matches!(self.state, State::Close(_)) {
            debug_assert!(false, "called in state {:?}", self.state);
            self.state = State::Close(CloseReason::Disorder);
        }
        false
    }
}
