//! Messages about the configuration or the machine, which would come with every request: the first
//! is logged at once, those like it are counted, and the count is logged now and then. A client
//! could fill the disk with them at no cost. What a message says is not known here.

use super::level::Level;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How long those like one that was logged are only counted.
pub(crate) const INTERVAL_MS: u64 = 10_000;

/// Kinds of messages that are counted apart. With more of them at once the rest is logged as ever.
const KINDS_MAX: usize = 256;

/// A message that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OmittedMessage {
    /// The log, as the position of a host.
    pub host: usize,
    /// Short name of the module, `core`.
    pub module: &'static str,
    /// How important it is.
    pub level: Level,
    /// httpd's number of the condition.
    pub id: Option<u32>,
    /// Number of the system call's error that led to it.
    pub os_error: Option<i32>,
    /// What is said.
    pub text: String,
}

/// What becomes of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageVerdict {
    /// It is logged, with this behind it.
    Log(String),
    /// It is counted.
    Count,
}

/// One kind of message.
#[derive(Debug)]
struct MessageKind {
    /// When one was logged.
    logged_ms: u64,
    /// How many were left out since, and the last of them.
    left_out: u64,
    last: Option<OmittedMessage>,
}

/// The kinds of a process.
#[derive(Debug, Default)]
pub struct Recurring {
    kinds: Mutex<HashMap<u64, MessageKind>>,
    hasher: RandomState,
}

impl Recurring {
    /// A message has come up, whose kind is what `subject` names.
    pub fn judge(&self, subject: &str, said: &OmittedMessage, now_ms: u64) -> MessageVerdict {
        let key = self.hasher.hash_one((said.host, said.module, said.id, subject));
        let mut kinds = self.kinds();
        let Some(kind) = kinds.get_mut(&key) else {
            if kinds.len() < KINDS_MAX {
                kinds.insert(key, MessageKind { logged_ms: now_ms, left_out: 0, last: None });
            }
            return MessageVerdict::Log(String::new());
        };
        if now_ms.saturating_sub(kind.logged_ms) < INTERVAL_MS {
            kind.left_out += 1;
            kind.last = Some(said.clone());
            return MessageVerdict::Count;
        }
        let text = count(kind, now_ms);
        *kind = MessageKind { logged_ms: now_ms, left_out: 0, last: None };
        MessageVerdict::Log(text)
    }

    /// What has to be logged of what was counted: by now, or at the end of the process. Kinds that
    /// have not come up since are forgotten.
    pub fn settle(&self, now_ms: u64, is_end: bool) -> Vec<OmittedMessage> {
        let mut due = Vec::new();
        self.kinds().retain(|_, kind| {
            if !is_end && now_ms.saturating_sub(kind.logged_ms) < INTERVAL_MS {
                return true;
            }
            let text = count(kind, now_ms);
            let Some(mut last) = kind.last.take() else { return false };
            last.text.push_str(&text);
            due.push(last);
            *kind = MessageKind { logged_ms: now_ms, left_out: 0, last: None };
            true
        });
        due
    }

    fn kinds(&self) -> MutexGuard<'_, HashMap<u64, MessageKind>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many were left out, if any.
fn count(kind: &MessageKind, now_ms: u64) -> String {
    let seconds = now_ms.saturating_sub(kind.logged_ms).div_ceil(1000).max(1);
    match kind.left_out {
        0 => String::new(),
        more => format!(" ({more} more like this in the last {seconds} s)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> OmittedMessage {
        let (level, text) = (Level::Error, text.to_owned());
        OmittedMessage { host: 0, module: "core", level, id: Some(1), os_error: None, text }
    }

    fn logged(text: &str) -> MessageVerdict {
        MessageVerdict::Log(text.to_owned())
    }

    #[test]
    fn the_first_is_logged_at_once_and_those_like_it_are_counted() {
        let recurring = Recurring::default();
        assert_eq!(recurring.judge("a", &said("one"), 1000), logged(""));
        assert_eq!(recurring.judge("b", &said("another"), 1000), logged(""));
        for _ in 0..5 {
            assert_eq!(recurring.judge("a", &said("two"), 2000), MessageVerdict::Count);
        }
        let later_ms = 1000 + INTERVAL_MS;
        let more = logged(" (5 more like this in the last 10 s)");
        assert_eq!(recurring.judge("a", &said("three"), later_ms), more);
        assert_eq!(recurring.judge("a", &said("four"), later_ms), MessageVerdict::Count);
    }

    #[test]
    fn what_was_counted_is_told_when_its_time_has_come_or_at_the_end() {
        let recurring = Recurring::default();
        for _ in 0..3 {
            recurring.judge("a", &said("it"), 1000);
        }
        assert_eq!(recurring.settle(1000 + INTERVAL_MS - 1, false), []);
        let told = said("it (2 more like this in the last 10 s)");
        assert_eq!(recurring.settle(1000 + INTERVAL_MS, false), [told]);
        // The time begins anew with what was told, and what has not come up is forgotten.
        assert_eq!(recurring.judge("a", &said("it"), 1001 + INTERVAL_MS), MessageVerdict::Count);
        let told = said("it (1 more like this in the last 1 s)");
        assert_eq!(recurring.settle(1001 + INTERVAL_MS, true), [told]);
        assert_eq!(recurring.settle(2000 + 2 * INTERVAL_MS, false), []);
        assert_eq!(recurring.judge("a", &said("it"), 2000 + 2 * INTERVAL_MS), logged(""));
    }

    #[test]
    fn more_kinds_than_there_is_room_for_are_logged_as_ever() {
        let recurring = Recurring::default();
        for number in 0..2 * KINDS_MAX {
            assert_eq!(recurring.judge(&number.to_string(), &said("it"), 1), logged(""));
        }
        assert_eq!(recurring.judge("0", &said("it"), 1), MessageVerdict::Count);
        assert_eq!(recurring.judge(&KINDS_MAX.to_string(), &said("it"), 1), logged(""));
    }
}
