//! The parent starts the manager of each map and the script managers that are asked for, and sees
//! that they go on.

use super::state::managers::{
    ManagerProcess, Managers, QUESTION_MS, STOP_PATIENCE_MS, UNANSWERED_MAX, is_same,
};
use super::state::{Parent, ParentEnd};
use crate::generation::Generation;
use crate::generation::managers::ManagerRole;
use crate::programs::{self, ManagerEnds};
use runtime::process::{self, ChildOrder, Ending, Fork};
use runtime::programs::ClientSocket;
use runtime::{clock, event_fd};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

const SCRIPTS: ManagerRole = ManagerRole::Scripts;

impl Parent<'_> {
    /// Sleep until a signal is there, a child has written to the eventfd, somebody wants a script,
    /// or the time is over.
    pub(crate) fn sleep(&self, limit: Duration) {
        let unread = self.unread();
        let sockets: Vec<_> =
            unread.iter().filter_map(|it| Some(it.managers.of(SCRIPTS)?.sockets())).collect();
        let mut watched = vec![self.signals.as_fd(), self.wakeup.as_fd()];
        watched.extend(sockets.iter().map(|sockets| sockets.as_fd()));
        let starting = self.managers.live.iter().filter(|manager| !manager.is_ready);
        watched.extend(starting.filter_map(|it| it.link.as_ref()).map(AsFd::as_fd));
        watched.extend(self.folder_watch());
        event_fd::readable(&watched, limit);
        self.wakeup.clear();
    }

    /// The generations that have no script manager to read what their children ask for.
    fn unread(&self) -> Vec<&Arc<Generation>> {
        if self.stop == Some(ParentEnd::Now) || clock::monotonic_ms() < self.managers.rest_ms {
            return Vec::new();
        }
        self.asking().filter(|it| !self.managers.serves(it, SCRIPTS)).collect()
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
        // One at a time: a child inherits what the stack holds.
        let first = self.asking().find_map(|generation| {
            let mut roles = generation.managers.all().map(|row| row.0);
            let role = roles.find(|role| self.is_wanted(generation, *role))?;
            Some((generation.clone(), role))
        });
        if let Some((generation, role)) = first {
            self.start_manager(&generation, role);
        }
    }

    /// Whether there is no manager of this role, but should be one. That of a map or a
    /// pool is there always, as long as the server is.
    fn is_wanted(&self, generation: &Arc<Generation>, role: ManagerRole) -> bool {
        let sockets = generation.managers.of(role);
        let is_asked = || sockets.is_some_and(|it| it.sockets().has_requests());
        !self.managers.serves(generation, role) && (role != SCRIPTS || is_asked())
    }

    /// Start the managers of the maps and pools of a generation that begins, which waits for them.
    pub(crate) fn start_first_managers(&mut self, generation: &Arc<Generation>) {
        for (role, _) in generation.managers.all().filter(|row| row.0 != SCRIPTS) {
            self.start_manager(generation, role);
        }
    }

    /// Whether the programs of all maps of a generation that begins run, and its pools.
    pub(crate) fn runs_managers_of(&mut self, generation: &Arc<Generation>) -> bool {
        let live = self.managers.live.iter_mut();
        let mut of_it = live.filter(|manager| is_same(&manager.generation, generation));
        of_it.all(ManagerProcess::sees_whether_it_is_ready)
    }

    /// Let the child `pid`, just forked, ask the managers of its generation.
    pub(crate) fn take_requests_of(
        &mut self,
        generation: &Arc<Generation>,
        pid: i32,
        sockets: Vec<ClientSocket>,
    ) {
        for ((role, at), socket) in generation.managers.all().zip(sockets) {
            if let Err(error) = at.sockets().add(pid, socket) {
                let what = what(generation, role);
                let text = format!("child pid {pid} cannot be connected to {what}: {error}");
                self.complain(1242, &text);
            }
        }
        let is_its = |manager: &&mut ManagerProcess| is_same(&manager.generation, generation);
        self.managers.live.iter_mut().filter(is_its).for_each(|manager| manager.tell(pid));
    }

    /// A process has ended, which may have been a child that asked for programs.
    pub(crate) fn forget_requests_of(&mut self, pid: i32) {
        for generation in self.asking() {
            generation.managers.all().for_each(|(_, at)| at.sockets().remove(pid));
        }
    }

    /// Ask the managers whether they go on, and end those that hang: others take their place.
    fn question_managers(&mut self) {
        let now_ms = clock::monotonic_ms();
        let live = self.managers.live.iter_mut();
        let hanging = live.filter_map(|manager| {
            if !manager.is_ready {
                // What wakes the parent is read.
                manager.sees_whether_it_is_ready();
            }
            let generation = manager.generation.upgrade()?;
            manager.hangs(now_ms).then(|| (manager.pid, what(&generation, manager.role)))
        });
        let hanging: Vec<(i32, String)> = hanging.collect();
        for (pid, what) in hanging {
            let seconds = u64::from(UNANSWERED_MAX) * QUESTION_MS / 1000;
            let text =
                format!("{what} has not answered for {seconds} s, sending a SIGKILL: pid {pid}");
            self.complain(1239, &text);
            process::order(pid, ChildOrder::Kill);
        }
    }

    /// Let the managers of the generation that serves write to logs that were opened again.
    pub(super) fn hand_over_to_managers(&self, files: &[(usize, File)]) -> io::Result<()> {
        let generation = &self.current.generation;
        let mut live = self.managers.live.iter();
        live.try_for_each(|manager| match is_same(&manager.generation, generation) {
            true => manager.hand_over(files),
            false => Ok(()),
        })
    }

    /// A generation gives way to another, and its children may ask for programs to the last moment.
    pub(crate) fn keep_managers_of(&mut self, generation: &Arc<Generation>) {
        if !generation.managers.is_empty() {
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

    fn start_manager(&mut self, generation: &Arc<Generation>, role: ManagerRole) {
        let parent = process::id();
        let starting = self.starting.as_ref().map(|starting| &starting.child_pool.generation);
        let is_first = starting.is_some_and(|starting| Arc::ptr_eq(starting, generation));
        let forked = ManagerEnds::pair().and_then(|ends| Ok((ends, process::fork()?)));
        match forked {
            Ok(((own, ends), Fork::Child)) => {
                drop(own);
                self.leave_to_parent(generation);
                process::exit_now(match role {
                    ManagerRole::Scripts => programs::serve(generation, parent, ends),
                    ManagerRole::Map(number) => {
                        programs::map::serve(generation, parent, ends, (number, is_first))
                    }
                    ManagerRole::Pool(number) => {
                        programs::pool::serve(generation, parent, ends, (number, is_first))
                    }
                })
            }
            Ok(((ends, _), Fork::Parent(pid))) => {
                let whose = (Arc::downgrade(generation), role);
                self.managers.live.push(ManagerProcess::new(pid, whose, ends));
            }
            Err(error) => {
                self.managers.rest(clock::monotonic_ms());
                let text = format!("cannot fork {}: {error}", what(generation, role));
                generation.server.complain(1242, &text);
            }
        }
    }

    /// A process has ended: says whether it was a manager.
    pub(crate) fn manager_ended(&mut self, pid: i32, ending: Ending) -> bool {
        let Some(manager) = self.managers.remove(pid) else { return false };
        let ManagerProcess { since_ms, generation, role, is_ready, .. } = manager;
        if let Some(starting) = &mut self.starting
            && is_same(&generation, &starting.child_pool.generation)
            && !is_ready
        {
            let why = cannot_start(&starting.child_pool.generation, role);
            starting.failed.get_or_insert(why);
            return true;
        }
        // It ends by itself only when nobody is left who could ask.
        let needed = self.asking().find(|it| is_same(&generation, it)).cloned();
        if let Some(generation) = needed.filter(|_| self.stop.is_none()) {
            self.managers.rest(since_ms);
            let what = what(&generation, role);
            self.complain(1239, &format!("{what} has died: pid {pid} {ending}"));
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

/// What the log calls a manager.
fn what(generation: &Generation, role: ManagerRole) -> String {
    match role {
        ManagerRole::Scripts => "the process that starts scripts".to_owned(),
        ManagerRole::Map(_) => {
            format!("the process that keeps the RewriteMap program {}", program(generation, role))
        }
        ManagerRole::Pool(number) => {
            format!("the process that keeps the {} processes", pool_name(generation, number))
        }
    }
}

/// What is said of a generation that cannot begin without it.
fn cannot_start(generation: &Generation, role: ManagerRole) -> String {
    match role {
        ManagerRole::Pool(number) => {
            format!("the {} processes could not be started", pool_name(generation, number))
        }
        ManagerRole::Map(_) | ManagerRole::Scripts => {
            format!("mod_rewrite: could not start RewriteMap program {}", program(generation, role))
        }
    }
}

fn pool_name(generation: &Generation, number: usize) -> &'static str {
    generation.server.process_pools().get(number).map_or("", |pool| pool.name)
}

/// The program of a map.
fn program(generation: &Generation, role: ManagerRole) -> String {
    let ManagerRole::Map(number) = role else { return String::new() };
    let program = generation.server.map_programs().get(number);
    program.map(|it| it.program.to_string_lossy().into_owned()).unwrap_or_default()
}
