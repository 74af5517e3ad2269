//! What a process knows of an application, and what follows from that for those who want a
//! connection to it. The scoreboard and the lock are not known here.

use super::fpm::FpmPool;
use super::fresh::{Epoch, Fresh};
use super::peak::Peak;
use super::{LOOK_MS, PoolOptions};
use runtime::backend::KeptBackend;
use runtime::backlog::{AcceptQueue, Backlog};
use runtime::descriptors::HeldDescriptors;
use scoreboard::PoolSums;
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;
use std::thread::{self, ThreadId};

/// What a request begins with that may be asked again.
pub type Opening = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// How long no connection is kept after a child was found at work that had ended its answer: the
/// first time, when the machine may only have been busy, and at most.
const WORKING_ON_MS: u64 = 5_000;
const WORKING_ON_MOST_MS: u64 = 60_000;

/// What the threads of this process know of an application, under one lock.
///
/// Each request that has or is given a connection counts once in `busy`, from `grant` to `end`: a
/// waiter counts as soon as it is granted something, so that a place is not given twice before it
/// wakes. Whoever gives up meanwhile has to give it back (`QueuePlace::drop`). Every change ends
/// with `show`, or the other processes would go by what was.
#[derive(Default)]
pub(super) struct PoolState {
    pub(super) options: PoolOptions,
    /// Requests that have a connection, or are about to.
    pub(super) busy: u32,
    /// Those of them that have heard nothing on it.
    pub(super) fresh: Fresh,
    /// Connections that had answered and were open at once, at most: there is a child for each.
    pub(super) seen: u32,
    pub(super) idle: Vec<Idle>,
    /// Who waits, in order.
    pub(super) queue: VecDeque<PoolWaiter>,
    pub(super) peak: Peak,
    /// What those were given who have not taken it yet.
    pub(super) granted: Vec<(u64, Granted)>,
    pub(super) next_ticket: u64,
    /// Since when nobody has listened there.
    pub(super) absent_since_ms: Option<u64>,
    /// Until then children are expected to go on working after their answers.
    pub(super) works_on_until_ms: u64,
    /// How long that time is.
    pub(super) works_on_ms: u64,
    pub(super) known: AppFacts,
}

/// What is known of an application beside what is on our connections.
#[derive(Default)]
pub(super) struct AppFacts {
    pub(super) fpm: Option<FpmPool>,
    pub(super) backlog: Option<Backlog>,
    /// When it was looked up, if it was.
    pub(super) since_ms: Option<u64>,
    /// When it was last asked whether others wait, and the answer.
    pub(super) others_wait: (u64, Option<AcceptQueue>),
    pub(super) sums: (u64, PoolSums),
    /// Since when there has been a queue.
    pub(super) full_since_ms: Option<u64>,
}

/// What a request is given: a connection that was kept, or the right to make one.
pub(super) enum Granted {
    /// With how many bytes of the opening that were sent on it.
    Kept(KeptBackend, usize),
    New(Epoch),
    /// Nothing: it has waited for too long.
    Nothing,
}

pub(super) struct Idle {
    pub(super) kept: KeptBackend,
    pub(super) since_ms: u64,
    pub(super) _held: Option<HeldDescriptors>,
}

pub(super) struct PoolWaiter {
    pub(super) ticket: u64,
    /// When it gives up.
    pub(super) until_ms: u64,
    pub(super) waker: Waker,
    pub(super) opening: Option<(ThreadId, Opening)>,
}

impl PoolState {
    /// A child was found at work that had ended its answer: no connection is kept for some time,
    /// for twice as long as the last time if that is not long ago.
    pub(super) fn expect_working_on(&mut self, now_ms: u64) {
        if now_ms < self.works_on_until_ms {
            return; // it was asked before that was known
        }
        let is_soon = now_ms < self.works_on_until_ms.saturating_add(self.works_on_ms);
        let again_ms = (2 * self.works_on_ms).min(WORKING_ON_MOST_MS);
        self.works_on_ms = if is_soon { again_ms } else { WORKING_ON_MS };
        self.works_on_until_ms = now_ms.saturating_add(self.works_on_ms);
    }

    pub(super) fn children(&self) -> Option<u32> {
        self.options.children.or_else(|| Some(self.known.fpm.as_ref()?.children))
    }

    /// Whether it stands for no connection, and nobody wants one.
    pub(super) fn is_unused(&self) -> bool {
        self.busy == 0 && self.idle.is_empty() && self.queue.is_empty() && self.granted.is_empty()
    }

    pub(super) fn wanted(&self) -> u32 {
        u32::try_from(self.queue.len()).unwrap_or(u32::MAX).saturating_add(self.busy)
    }

    /// What was wanted lately, which is what shares go by; where nobody looks after the pool from
    /// time to time, what is wanted now, or it would be shown for as long as nothing happens.
    pub(super) fn wanted_lately(&mut self, now_ms: u64) -> u32 {
        let wanted = self.wanted();
        let lately = self.peak.with(wanted, now_ms);
        let is_looked_after = !self.idle.is_empty() || !self.queue.is_empty();
        if is_looked_after { lately } else { wanted }
    }

    /// The connection that was used last: the others are nearer to their end.
    pub(super) fn take_idle(&mut self, now_ms: u64) -> Option<KeptBackend> {
        while let Some(Idle { kept, since_ms, .. }) = self.idle.pop() {
            let is_recent = now_ms.saturating_sub(since_ms) < LOOK_MS;
            if if is_recent { kept.seems_quiet() } else { kept.is_quiet() } {
                return Some(kept);
            }
        }
        None
    }

    /// Keep so many, and of the others those that were used since the last look. The one that was
    /// used last stands at the end.
    pub(super) fn keep_recent(&mut self, most: usize, now_ms: u64) {
        let (beyond, mut at) = (self.idle.len().saturating_sub(most), 0);
        self.idle.retain(|idle| {
            at += 1;
            at > beyond || now_ms.saturating_sub(idle.since_ms) < LOOK_MS
        });
    }

    /// Whoever waits first has a connection, this one if there is one.
    pub(super) fn give(&mut self, kept: Option<KeptBackend>, now_ms: u64) {
        let Some(waiter) = self.queue.pop_front() else { return };
        let sent = kept.as_ref().map_or(0, |kept| waiter.open(kept));
        let granted = self.grant(kept, sent, now_ms);
        self.granted.push((waiter.ticket, granted));
        waiter.waker.wake();
    }

    /// Those give up who have waited for too long. They are few, and most of those who wait longest
    /// are in front.
    pub(super) fn dismiss(&mut self, now_ms: u64) {
        let (queue, granted) = (&mut self.queue, &mut self.granted);
        queue.retain(|waiter| {
            let waits_on = now_ms < waiter.until_ms;
            if !waits_on {
                granted.push((waiter.ticket, Granted::Nothing));
                waiter.waker.wake_by_ref();
            }
            waits_on
        });
    }

    /// One more request has a connection, on which so many bytes of it were sent.
    pub(super) fn grant(&mut self, kept: Option<KeptBackend>, sent: usize, now_ms: u64) -> Granted {
        self.busy += 1;
        match kept {
            Some(kept) => Granted::Kept(kept, sent),
            None => Granted::New(self.fresh.add(now_ms)),
        }
    }

    /// One less has one; `fresh` if it has heard nothing on it.
    pub(super) fn end(&mut self, fresh: Option<Epoch>) {
        self.busy = self.busy.saturating_sub(1);
        fresh.into_iter().for_each(|made| self.fresh.remove(made));
    }
}

impl PoolWaiter {
    /// Send its opening on the connection that it is about to be handed. To take in an answer has
    /// woken the child for nothing (the kernel tells it that there is room to write): so soon
    /// after that it finds the next request, where it would have gone to sleep and be woken again.
    /// How many bytes were sent. The lock is held meanwhile, so that only those of this thread are
    /// served. (php-32: 1.58 turns of a child for a request without, 1.24 with it)
    fn open(&self, kept: &KeptBackend) -> usize {
        match &self.opening {
            Some((of, opening)) if *of == thread::current().id() => {
                kept.send_now((**opening).as_ref())
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_often_children_work_on_the_longer_nothing_is_kept() {
        let (mut state, mut now_ms) = (PoolState::default(), 1_000_000);
        let mut found = |now_ms| {
            state.expect_working_on(now_ms);
            state.expect_working_on(now_ms + 1);
            state.works_on_until_ms
        };
        for expected_ms in [5_000, 10_000, 20_000, 40_000, 60_000, 60_000] {
            assert_eq!(found(now_ms), now_ms + expected_ms);
            now_ms += expected_ms + 1000;
        }
        now_ms += 60_000;
        assert_eq!(found(now_ms), now_ms + 5_000);
    }
}
