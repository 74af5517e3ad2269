//! The parent starts script managers that are asked for, and sees that they go on.

use super::state::managers::{
    ManagerProcess, Managers, QUESTION_MS, STOP_PATIENCE_MS, UNANSWERED_MAX, is_same,
};
use super::state::{Parent, ParentEnd};
use crate::generation::Generation;
use crate::programs;
use runtime::process::{self, ChildOrder, Ending, Fork};
use runtime::programs::{ClientSocket, ManagerClient, ManagerLink};
use runtime::{clock, event_fd};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

impl Parent<'_> {
    /// Sleep until a signal is there, a child has written to the eventfd, somebody wants a script,
    /// or the time is over.
    pub(crate) fn sleep(&self, limit: Duration) {
        let unread = self.unread();
        let sockets: Vec<_> =
            unread.iter().filter_map(|it| Some(it.scripts.as_ref()?.sockets())).collect();
        let mut watched = vec![self.signals.as_fd(), self.wakeup.as_fd()];
        watched.extend(sockets.iter().map(|sockets| sockets.as_fd()));
        event_fd::readable(&watched, limit);
        self.wakeup.clear();
    }

    /// The generations that have no script manager to read what their children ask for.
    fn unread(&self) -> Vec<&Arc<Generation>> {
        if self.stop == Some(ParentEnd::Now) || clock::monotonic_ms() < self.managers.rest_ms {
            return Vec::new();
        }
        self.asking().filter(|it| !self.managers.serves(it)).collect()
    }

    /// The generations whose children may ask for programs.
    fn asking(&self) -> impl Iterator<Item = &Arc<Generation>> {
        self.live().map(|child_pool| &child_pool.generation).chain(&self.managers.draining)
    }

    /// Start the managers that are asked for, and see that they go on.
    pub(crate) fn see_to_managers(&mut self) {
        self.question_managers();
        if clock::monotonic_ms() < self.managers.rest_ms {
            return;
        }
        let has_requests = |generation: &&Arc<Generation>| {
            generation.scripts.as_ref().is_some_and(|scripts| scripts.sockets().has_requests())
        };
        let waiting = self.asking().filter(|it| !self.managers.serves(it));
        // One at a time: a child inherits what the stack holds.
        let first = waiting.filter(has_requests).map(Arc::clone).next();
        if let Some(generation) = first {
            self.start_manager(&generation);
        }
    }

    /// A way to order for a child of `generation` that is about to be forked, and its other end.
    pub(crate) fn client_pair(
        generation: &Generation,
    ) -> io::Result<Option<(ManagerClient, ClientSocket)>> {
        generation.scripts.as_ref().map(|_| ManagerClient::pair()).transpose()
    }

    /// Let the child `pid`, just forked, ask the script manager of its generation.
    pub(crate) fn take_requests_of(
        &mut self,
        generation: &Arc<Generation>,
        pid: i32,
        socket: Option<ClientSocket>,
    ) {
        let (Some(scripts), Some(socket)) = (&generation.scripts, socket) else { return };
        if let Err(error) = scripts.sockets().add(pid, socket) {
            let text = format!(
                "child pid {pid} cannot be connected to the process that starts scripts: {error}"
            );
            return self.complain(1242, &text);
        }
        let is_its = |manager: &&mut ManagerProcess| is_same(&manager.generation, generation);
        self.managers.live.iter_mut().filter(is_its).for_each(|manager| manager.tell(pid));
    }

    /// A process has ended, which may have been a child that asked for programs.
    pub(crate) fn forget_requests_of(&mut self, pid: i32) {
        for generation in self.asking() {
            generation.scripts.as_ref().inspect(|scripts| scripts.sockets().remove(pid));
        }
    }

    /// Ask the managers whether they go on, and end those that hang: others take their place.
    fn question_managers(&mut self) {
        let now_ms = clock::monotonic_ms();
        let live = self.managers.live.iter_mut();
        let hanging: Vec<i32> =
            live.filter_map(|manager| manager.hangs(now_ms).then_some(manager.pid)).collect();
        for pid in hanging {
            let seconds = u64::from(UNANSWERED_MAX) * QUESTION_MS / 1000;
            let text = format!(
                "the process that starts scripts has not answered for {seconds} s, sending a \
                 SIGKILL: pid {pid}"
            );
            self.complain(1239, &text);
            process::order(pid, ChildOrder::Kill);
        }
    }

    /// A generation gives way to another, and its children may ask for programs to the last moment.
    pub(crate) fn keep_managers_of(&mut self, generation: &Arc<Generation>) {
        if generation.scripts.is_some() {
            generation.listeners.close();
            self.managers.draining.push(generation.clone());
            // What was wrong with its requests says nothing about those of others.
            (self.managers.rest_ms, self.managers.early_ends) = (0, 0);
        }
    }

    /// Children have ended: a generation that has none left asks for nothing. This is found out
    /// before its number is used again, as that of a restart that failed is.
    pub(crate) fn forget_who_asks_no_more(&mut self) {
        let children = &self.children;
        self.managers.draining.retain(|it| children.of(it.number).next().is_some());
        let asking: Vec<_> = self.asking().map(Arc::downgrade).collect();
        let is_needed =
            |manager: &ManagerProcess| asking.iter().any(|it| it.ptr_eq(&manager.generation));
        let live = self.managers.live.iter_mut();
        live.filter(|manager| !is_needed(manager)).for_each(|manager| manager.link = None);
    }

    fn start_manager(&mut self, generation: &Arc<Generation>) {
        let parent = process::id();
        let forked = ManagerLink::pair().and_then(|link| Ok((link, process::fork()?)));
        match forked {
            Ok(((own, link), Fork::Child)) => {
                drop(own);
                self.leave_to_parent(generation);
                process::exit_now(programs::serve(generation, parent, link))
            }
            Ok(((link, _), Fork::Parent(pid))) => {
                self.managers.live.push(ManagerProcess::new(pid, Arc::downgrade(generation), link));
            }
            Err(error) => {
                self.managers.rest(clock::monotonic_ms());
                let text = format!("cannot fork the process that starts scripts: {error}");
                generation.server.complain(1242, &text);
            }
        }
    }

    /// A process has ended: says whether it was a script manager.
    pub(crate) fn manager_ended(&mut self, pid: i32, ending: Ending) -> bool {
        let Some(ManagerProcess { since_ms, generation, .. }) = self.managers.remove(pid) else {
            return false;
        };
        // It ends by itself only when nobody is left who could ask.
        let is_needed = self.asking().any(|it| is_same(&generation, it));
        if self.stop.is_none() && is_needed {
            self.managers.rest(since_ms);
            let text = format!("the process that starts scripts has died: pid {pid} {ending}");
            self.complain(1239, &text);
        }
        true
    }

    /// End all of them, and the programs with them.
    pub(crate) fn end_managers(&mut self) {
        let pids = |managers: &Managers| managers.live.iter().map(|it| it.pid).collect::<Vec<_>>();
        for pid in pids(&self.managers) {
            process::order(pid, ChildOrder::Stop);
        }
        let limit_ms = clock::monotonic_ms() + STOP_PATIENCE_MS;
        while !self.managers.live.is_empty() && clock::monotonic_ms() < limit_ms {
            self.sleep(Duration::from_millis(50));
            while self.signals.pending().is_some() {}
            self.reap();
        }
        for pid in pids(&self.managers) {
            process::order(pid, ChildOrder::Kill);
        }
    }
}
