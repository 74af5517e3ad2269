//! The managers as the parent sees them: for each generation one for each map that a program
//! answers, and a script manager if it has asked for one.
//!
//! No script manager is there before the first request comes: the parent watches the sockets of its
//! children as long as no manager reads them. One that has died is replaced in the same way, after
//! a rest.

mod cpu_time;

pub(crate) use cpu_time::add;

use crate::generation::Generation;
use crate::generation::managers::ManagerRole;
use crate::programs::ManagerEnds;
use runtime::process::{self, ChildOrder};
use runtime::programs::ManagerLink;
use runtime::{Channel, clock};
use std::fs::File;
use std::io;
use std::sync::{Arc, Weak};

/// How long the parent waits before it starts the next manager after one has died: twice as long
/// each time if that died early, up to `REST_MS_MAX`.
const REST_MS: u64 = 500;
const REST_MS_MAX: u64 = 60_000;

/// How long one has to live so that its end says nothing about the next one's.
const GOOD_LIFE_MS: u64 = 60_000;

/// How often a manager is asked whether it still answers.
pub(crate) const QUESTION_MS: u64 = 1000;

/// Questions that a manager may leave without an answer before it counts as hanging. It never
/// blocks, so it answers at once even when it has much to do; and while the parent sleeps none is
/// asked.
pub(crate) const UNANSWERED_MAX: u32 = 10;

/// How long they may take to end at the end of the server: longer than they give their programs.
pub(crate) const STOP_PATIENCE_MS: u64 = 4000;

/// A manager: its process, its generation and the link to it.
pub(crate) struct ManagerProcess {
    pub(crate) pid: i32,
    pub(crate) since_ms: u64,
    /// Not by its number: that of a restart that failed is used again.
    pub(crate) generation: Weak<Generation>,
    pub(crate) role: ManagerRole,
    /// It does its work: that of a map says so when the program runs.
    pub(crate) is_ready: bool,
    /// `None` once nobody is left who could ask.
    pub(crate) link: Option<ManagerLink>,
    logs: Channel,
    /// Processes whose sockets it could not be told of.
    untold: Vec<i32>,
    /// When it is asked next whether it goes on, and how often it has not answered.
    question_ms: u64,
    unanswered: u32,
}

impl ManagerProcess {
    pub(crate) fn new(
        pid: i32,
        (generation, role): (Weak<Generation>, ManagerRole),
        ManagerEnds { link, logs }: ManagerEnds,
    ) -> Self {
        let now_ms = clock::monotonic_ms();
        Self {
            pid,
            since_ms: now_ms,
            generation,
            role,
            is_ready: role == ManagerRole::Scripts,
            link: Some(link),
            logs,
            untold: Vec::new(),
            question_ms: now_ms + QUESTION_MS,
            unanswered: 0,
        }
    }

    /// Let it write to logs that were opened again.
    pub(crate) fn hand_over(&self, files: &[(usize, File)]) -> io::Result<()> {
        self.logs.send(files)?;
        process::order(self.pid, ChildOrder::FollowLogs);
        Ok(())
    }

    pub(crate) fn tell(&mut self, pid: i32) {
        let (Some(link), Some(generation)) = (&self.link, self.generation.upgrade()) else {
            return;
        };
        let Some(at) = generation.managers.of(self.role) else { return };
        if let Some(socket) = at.sockets().get(pid)
            && link.tell(pid, socket).is_err()
        {
            self.untold.push(pid);
        }
    }

    /// Whether it does its work, which it may have said by now.
    pub(crate) fn sees_whether_it_is_ready(&mut self) -> bool {
        self.listen();
        self.is_ready
    }

    fn listen(&mut self) {
        if let Some(lost) = self.link.as_ref().and_then(ManagerLink::answers) {
            self.is_ready = true;
            self.unanswered = 0;
            self.untold.extend(lost);
        }
    }

    /// Ask whether it goes on, if it is time to; says whether it hangs.
    pub(crate) fn hangs(&mut self, now_ms: u64) -> bool {
        if now_ms < self.question_ms {
            return false;
        }
        self.listen();
        let Some(link) = &self.link else { return false };
        self.question_ms = now_ms + QUESTION_MS;
        link.ask();
        self.unanswered += 1;
        std::mem::take(&mut self.untold).into_iter().for_each(|pid| self.tell(pid));
        self.unanswered > UNANSWERED_MAX
    }
}

/// All managers, and when the next may be started.
#[derive(Default)]
pub(crate) struct Managers {
    pub(crate) live: Vec<ManagerProcess>,
    /// Generations that have given way to others, and have children still, which may ask.
    pub(crate) draining: Vec<Arc<Generation>>,
    /// No new one is started before.
    pub(crate) rest_ms: u64,
    /// Managers in a row that died early.
    pub(crate) early_ends: u32,
}

impl Managers {
    /// Forget all of them, in a forked child.
    pub(crate) fn forget(&mut self) {
        self.live.clear();
        self.draining.clear();
    }

    /// User and system time, in microseconds, of all managers there are, and of their programs.
    pub(crate) fn used_us(&self) -> [u64; 2] {
        let managers =
            self.live.iter().map(|manager| cpu_time::used_us(manager.pid.unsigned_abs()));
        managers.fold([0; 2], add)
    }

    pub(crate) fn serves(&self, generation: &Arc<Generation>, role: ManagerRole) -> bool {
        let mut of_role = self.live.iter().filter(|manager| manager.role == role);
        of_role.any(|manager| is_same(&manager.generation, generation))
    }

    /// The process has ended: what it was, if it was one of them.
    pub(crate) fn remove(&mut self, pid: i32) -> Option<ManagerProcess> {
        let index = self.live.iter().position(|manager| manager.pid == pid)?;
        Some(self.live.swap_remove(index))
    }

    /// One has died that had begun at `since_ms`, or could not be started.
    pub(crate) fn rest(&mut self, since_ms: u64) {
        let now_ms = clock::monotonic_ms();
        if now_ms.saturating_sub(since_ms) >= GOOD_LIFE_MS {
            self.early_ends = 0;
        }
        self.rest_ms = now_ms + rest_ms(self.early_ends);
        self.early_ends = self.early_ends.saturating_add(1);
    }
}

fn rest_ms(early_ends: u32) -> u64 {
    REST_MS.saturating_mul(1 << early_ends.min(16)).min(REST_MS_MAX)
}

pub(crate) fn is_same(one: &Weak<Generation>, other: &Arc<Generation>) -> bool {
    std::ptr::eq(one.as_ptr(), Arc::as_ptr(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_hangs_that_has_left_many_questions_without_an_answer() {
        let (ends, ManagerEnds { link: other_end, .. }) = ManagerEnds::pair().unwrap();
        let mut manager = ManagerProcess::new(1, (Weak::new(), ManagerRole::Scripts), ends);
        let mut now_ms = manager.question_ms;
        let mut ask = |manager: &mut ManagerProcess| {
            now_ms += QUESTION_MS;
            // Looking more often changes nothing, and neither does a long sleep of the parent.
            let hangs = manager.hangs(now_ms);
            hangs || manager.hangs(now_ms)
        };
        for _ in 0..5 {
            assert!(!(0..UNANSWERED_MAX).any(|_| ask(&mut manager)));
            other_end.answer();
        }
        assert!(!(0..UNANSWERED_MAX).any(|_| ask(&mut manager)));
        assert!(ask(&mut manager));
        manager.link = None;
        assert!(!ask(&mut manager));
    }

    #[test]
    fn managers_that_die_early_rest_for_longer_each_time() {
        let rests: Vec<u64> = (0..9).map(rest_ms).collect();
        assert_eq!(rests, [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(rest_ms(u32::MAX), 60_000);
    }
}
