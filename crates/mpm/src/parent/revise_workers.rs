//! The parent looks at memory, and lets as many workers run as it is enough for.

use super::state::Parent;
use super::state::auto_size::{LOOK_MS, SHORT_LOOK_MS, START_LOOK_MS};
use runtime::clock;
use server::MpmKind;

impl Parent<'_> {
    /// Look at memory, and let as many workers run as it is enough for.
    pub(crate) fn revise_workers(&mut self) {
        let now_ms = clock::monotonic_ms();
        let layout = self.current.generation.layout;
        let is_start = self
            .starting
            .as_ref()
            .is_some_and(|it| it.child_pool.number() == self.current.number());
        if layout.revised.is_none() || now_ms < self.auto_size.due_ms {
            return;
        }
        if is_start {
            self.auto_size.due_ms = now_ms.saturating_add(START_LOOK_MS);
            return;
        }
        let (memory, stalled) = self.auto_size.read(now_ms);
        if memory.total_bytes == 0 {
            self.auto_size.due_ms = now_ms.saturating_add(LOOK_MS);
            return self.tell_that_nothing_is_known();
        }
        if self.auto_size.kills.is_none() {
            self.auto_size.kills = Some(self.auto_size.gauge.kills());
        }
        self.walk(now_ms);
        self.count_memory();
        self.see_peaks(now_ms);
        let usage = self.usage();
        self.auto_size.learn(&layout, &usage);
        let enough = self.auto_size.size(&layout, memory, stalled, &usage);
        let is_alert = self.auto_size.is_alert(&layout, memory, &usage);
        let pause_ms = if is_alert { SHORT_LOOK_MS } else { LOOK_MS };
        self.auto_size.due_ms = now_ms.saturating_add(pause_ms);
        self.share_out();
        let measured = if layout.kind == MpmKind::Prefork { usage.served } else { usage.busy };
        if let Some(line) = self.auto_size.news(enough, measured, now_ms) {
            self.current.generation.server.say(&line);
        }
        if layout.spare.is_some() {
            self.keep_to(layout.processes_for(self.auto_size.sizing.workers as usize));
        }
    }

    /// A child of the current generation was killed by signal 9.
    pub(crate) fn see_kill(&mut self) {
        if self.current.generation.layout.revised.is_none() {
            return;
        }
        if let Some(bound) = self.auto_size.see_kill(clock::monotonic_ms()) {
            self.share_out();
            self.current.generation.server.advise(&format!(
                "the kernel killed a child because memory ran out: MaxRequestWorkers auto is at \
                 most {bound} for a minute"
            ));
        }
    }

    /// Let the children know how many workers each of them may have in use: there are so many, or
    /// soon will be.
    fn share_out(&mut self) {
        let generation = &self.current.generation;
        // A process of prefork has one worker, and nothing to share.
        if generation.layout.kind != MpmKind::Prefork {
            let (mut busy, mut leaving) = (Vec::new(), 0);
            for record in self.children.of(generation.number) {
                let in_use = generation.board.busy_slots(record.slot);
                match record.is_active() {
                    true => busy.push(in_use),
                    false => leaving += in_use,
                }
            }
            // Those that soon will be there have none.
            busy.resize(busy.len().max(self.current.target()), 0);
            self.auto_size.share_out(&generation.layout, &busy, leaving);
        }
        generation.board.set_sizing(&self.auto_size.sizing);
    }

    /// Lower each child's share of the workers before more children are started.
    pub(crate) fn share_with_more(&mut self) {
        if self.current.generation.layout.revised.is_some() {
            self.share_out();
        }
    }

    /// Neither /proc nor a cgroup says how much memory there is: what was assumed first holds.
    fn tell_that_nothing_is_known(&mut self) {
        if std::mem::replace(&mut self.auto_size.is_blind, true) {
            return;
        }
        let generation = &self.current.generation;
        let workers = generation.layout.revised.unwrap_or(0);
        generation.server.say(&format!(
            "MaxRequestWorkers auto: stays at {workers}, because the system does not report how \
             much memory there is"
        ));
    }
}
