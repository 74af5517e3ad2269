//! Scripted users, instead of the plan's order: what comes next depends on the answer before. The
//! script is pure; connections, clocks and counts are the engine's.

use crate::failure::FailureKind;
use crate::url::Url;
use http1::AnswerHead;
use std::fmt;

/// A source of scripted users: one for each user of a run.
pub trait UserScript: fmt::Debug + Send + Sync {
    /// The user of this number.
    fn user(&self, user: u32) -> Box<dyn ScriptedUser>;
}

/// A user who decides by answers what to ask next. Each [`UserAction::Ask`] is followed by
/// `answered` or `failed`.
pub trait ScriptedUser {
    /// What to do now; the bytes of a request are appended to `request`.
    fn next(&mut self, request: &mut Vec<u8>) -> UserAction;

    /// The answer to what was asked last.
    fn answered(&mut self, seen: &ScriptAnswer<'_>);

    /// There was none.
    fn failed(&mut self, trouble: &NoAnswer);
}

/// What a user does.
#[derive(Clone, Debug)]
pub enum UserAction {
    /// Sends a request and waits for its answer.
    Ask(Ask),
    /// Waits for so many nanoseconds.
    Pause(u64),
    /// Ends.
    End,
}

/// How a request is sent.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The entry of the plan that it is counted under.
    pub entry: usize,
    /// The server to connect to.
    pub server: Url,
    /// Whether the answer has no body, as it is asked by HEAD.
    pub is_head: bool,
    /// Bytes of the answer's body that are kept for the user.
    pub body_limit: usize,
}

/// An answer as a scripted user is told of it.
#[derive(Clone, Copy, Debug)]
pub struct ScriptAnswer<'a> {
    /// The status.
    pub status: u16,
    /// Status line and fields.
    pub head: AnswerHead<'a>,
    /// The content, as far as it was wanted.
    pub body: &'a [u8],
    /// Bytes of content, wanted or not.
    pub body_bytes: u64,
    /// From turning to the request to the end of its answer, connecting included.
    pub took_ns: u64,
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub struct NoAnswer {
    /// The kind.
    pub failure: FailureKind,
    /// The words of the system, if it had some.
    pub text: String,
    /// Whether the host has no address.
    pub is_unresolved: bool,
}
