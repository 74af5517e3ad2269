//! The process manager by example, and by what must hold whatever happens.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const SCORES: Scores = Scores { spawn: 1, termination: 2, second: 1, limit: 10 };

/// No score keeps anybody waiting.
const FREE: Scores = Scores { spawn: 0, termination: 0, second: 1, limit: 10 };

const TERMS: ClassTerms = ClassTerms {
    idle_ms: Some(300_000),
    busy_ms: Some(100_000),
    life_ms: Some(3_600_000),
    connect_ms: 20_000,
    io_ms: 40_000,
    processes_max: 100,
    processes_min: 3,
    requests_max: None,
};

type Named = ProcessManager<&'static str>;

/// All actions at a moment; processes start at once.
fn actions(process_manager: &mut Named, now_ms: u64) -> Vec<String> {
    let mut said = Vec::new();
    while let Some(command) = process_manager.next(now_ms) {
        said.push(match command {
            ManagerAction::Start { process, class } => {
                process_manager.started(process, now_ms);
                format!("start {class}{}", process.0)
            }
            ManagerAction::Lease { process, request } => format!("{request} gets {}", process.0),
            ManagerAction::End { process, why } => format!("end {}: {}", process.0, why.words()),
            ManagerAction::Refuse { request, is_hopeless: false } => format!("{request} gets none"),
            ManagerAction::Refuse { request, is_hopeless: true } => {
                format!("{request} is hopeless")
            }
        });
    }
    said
}

#[test]
fn a_process_serves_one_request_after_the_other() {
    let mut process_manager = Named::new(10, SCORES);
    process_manager.ask(1, "a", TERMS, 0);
    assert_eq!(actions(&mut process_manager, 0), ["start a0", "1 gets 0"]);
    process_manager.ask(2, "a", TERMS, 10);
    assert_eq!(actions(&mut process_manager, 10), ["start a1", "2 gets 1"]);
    process_manager.done(ProcessId(0), ManagerOutcome::Answered, 20);
    process_manager.done(ProcessId(1), ManagerOutcome::Answered, 30);
    // The one that was used last, so that the other one may be ended one day.
    process_manager.ask(3, "a", TERMS, 40);
    assert_eq!(actions(&mut process_manager, 40), ["3 gets 1"]);
    process_manager.ask(4, "b", TERMS, 40);
    assert_eq!(actions(&mut process_manager, 40), ["start b2", "4 gets 2"]);
}

#[test]
fn who_finds_no_process_waits_and_is_served_in_order() {
    let mut process_manager = Named::new(1, SCORES);
    for request in 1..=3 {
        process_manager.ask(request, "a", TERMS, request);
    }
    assert_eq!(actions(&mut process_manager, 5), ["start a0", "1 gets 0"]);
    assert_eq!(process_manager.due_ms(5), Some(20_002));
    process_manager.leave(2);
    process_manager.done(ProcessId(0), ManagerOutcome::Answered, 9);
    assert_eq!(actions(&mut process_manager, 9), ["3 gets 0"]);
    process_manager.ask(4, "a", TERMS, 10);
    assert_eq!(actions(&mut process_manager, 20_009), [""; 0]);
    assert_eq!(actions(&mut process_manager, 20_010), ["4 gets none"]);
}

#[test]
fn an_idle_process_makes_room_for_another_command_in_the_order_of_requests() {
    let mut process_manager = Named::new(1, SCORES);
    process_manager.ask(1, "a", TERMS, 0);
    process_manager.ask(2, "b", TERMS, 1);
    process_manager.ask(3, "a", TERMS, 2);
    assert_eq!(actions(&mut process_manager, 2), ["start a0", "1 gets 0"]);
    process_manager.done(ProcessId(0), ManagerOutcome::Answered, 3);
    assert_eq!(actions(&mut process_manager, 3), ["end 0: making room for another command"]);
    assert_eq!(process_manager.exited(ProcessId(0), 4), Some(Why::MakesRoom));
    assert_eq!(actions(&mut process_manager, 4), ["start b1", "2 gets 1"]);
    process_manager.done(ProcessId(1), ManagerOutcome::Answered, 5);
    assert_eq!(actions(&mut process_manager, 5), ["end 1: making room for another command"]);
    process_manager.exited(ProcessId(1), 6);
    assert_eq!(actions(&mut process_manager, 6), ["start a2", "3 gets 2"]);
}

#[test]
fn processes_end_when_they_idle_are_old_or_have_served_enough() {
    let terms = ClassTerms { processes_min: 1, requests_max: Some(2), ..TERMS };
    let mut process_manager = Named::new(10, SCORES);
    (1..=3).for_each(|request| process_manager.ask(request, "a", terms, 0));
    actions(&mut process_manager, 0);
    (0..3).for_each(|process| {
        process_manager.done(ProcessId(process), ManagerOutcome::Answered, 1000)
    });
    assert_eq!(actions(&mut process_manager, 1000), [""; 0]);
    process_manager.ask(4, "a", terms, 2000);
    assert_eq!(actions(&mut process_manager, 2000), ["4 gets 2"]);
    process_manager.done(ProcessId(2), ManagerOutcome::Answered, 3000);
    assert_eq!(actions(&mut process_manager, 3000), ["end 2: lifetime expired"]);
    process_manager.exited(ProcessId(2), 3000);
    assert_eq!(process_manager.due_ms(3000), Some(301_000));
    // One of the two stays.
    assert_eq!(actions(&mut process_manager, 301_000), ["end 0: idle timeout"]);
    process_manager.exited(ProcessId(0), 301_001);
    assert_eq!(process_manager.due_ms(301_001), None);
    let terms = ClassTerms { processes_min: 0, idle_ms: None, ..terms };
    process_manager.ask(5, "a", terms, 302_000);
    assert_eq!(actions(&mut process_manager, 302_000), ["5 gets 1"]);
    process_manager.done(ProcessId(1), ManagerOutcome::Answered, 302_001);
    assert_eq!(actions(&mut process_manager, 302_001), ["end 1: lifetime expired"]);
}

#[test]
fn age_counts_from_the_start_and_idling_from_the_last_request() {
    let terms = ClassTerms { processes_min: 0, ..TERMS };
    let mut process_manager = Named::new(10, SCORES);
    process_manager.ask(1, "a", terms, 0);
    actions(&mut process_manager, 0);
    process_manager.done(ProcessId(0), ManagerOutcome::Answered, 99_000);
    assert_eq!(process_manager.due_ms(99_000), Some(399_000));
    process_manager.ask(2, "a", ClassTerms { life_ms: Some(200_000), ..terms }, 150_000);
    actions(&mut process_manager, 150_000);
    process_manager.done(ProcessId(0), ManagerOutcome::Answered, 199_000);
    assert_eq!(process_manager.due_ms(199_000), Some(200_000));
    assert_eq!(actions(&mut process_manager, 200_000), ["end 0: lifetime expired"]);
}

#[test]
fn who_takes_too_long_or_is_suspect_is_ended() {
    let mut process_manager = Named::new(10, SCORES);
    (1..=3).for_each(|request| process_manager.ask(request, "a", TERMS, 0));
    actions(&mut process_manager, 0);
    process_manager.done(ProcessId(1), ManagerOutcome::Suspect, 10);
    assert_eq!(actions(&mut process_manager, 10), ["end 1: communication error"]);
    // It goes on with what nobody waits for, and has no more time for that than for anything.
    process_manager.done(ProcessId(2), ManagerOutcome::Abandoned, 20);
    let ends = ["end 0: busy timeout", "end 2: busy timeout"];
    assert_eq!(actions(&mut process_manager, 100_000), ends);
    process_manager.finished(ProcessId(2), 100_001);
    assert_eq!(process_manager.exited(ProcessId(2), 100_002), Some(Why::BusyTimeout));
}

#[test]
fn who_has_noticed_that_nobody_waits_gets_the_next_request() {
    let mut process_manager = Named::new(1, SCORES);
    process_manager.ask(1, "a", TERMS, 0);
    actions(&mut process_manager, 0);
    process_manager.done(ProcessId(0), ManagerOutcome::Abandoned, 10);
    process_manager.ask(2, "a", TERMS, 20);
    assert_eq!(actions(&mut process_manager, 20), [""; 0]);
    process_manager.finished(ProcessId(0), 30);
    assert_eq!(actions(&mut process_manager, 30), ["2 gets 0"]);
}

#[test]
fn a_request_whose_process_is_gone_is_the_next_one() {
    let mut process_manager = Named::new(1, SCORES);
    process_manager.ask(1, "a", TERMS, 0);
    process_manager.ask(2, "a", TERMS, 1);
    actions(&mut process_manager, 1);
    process_manager.unreachable(ProcessId(0), 2);
    assert_eq!(actions(&mut process_manager, 2), ["end 0: connect error"]);
    assert_eq!(process_manager.exited(ProcessId(0), 3), Some(Why::ConnectError));
    let due_ms = process_manager.due_ms(3).unwrap();
    assert_eq!(due_ms, 103);
    assert_eq!(actions(&mut process_manager, due_ms), ["start a1", "1 gets 1"]);
}

#[test]
fn a_command_that_cannot_be_started_is_said_at_once_and_left_alone_for_a_while() {
    let mut process_manager = Named::new(5, SCORES);
    process_manager.ask(1, "a", TERMS, 0);
    process_manager.ask(2, "a", TERMS, 0);
    let Some(ManagerAction::Start { process, .. }) = process_manager.next(0) else { panic!() };
    process_manager.failed(process, 0);
    assert_eq!(actions(&mut process_manager, 0), ["1 is hopeless", "2 is hopeless"]);
    process_manager.ask(3, "a", TERMS, 10);
    assert_eq!(actions(&mut process_manager, 10), [""; 0]);
    assert_eq!(process_manager.due_ms(10), Some(100));
    assert_eq!(actions(&mut process_manager, 100), ["start a1", "3 gets 1"]);
}

#[test]
fn a_command_that_ends_by_itself_is_not_started_without_end() {
    let mut process_manager = Named::new(50, SCORES);
    let mut started = 0;
    for step in 0..600 {
        let now_ms = step * 100;
        process_manager.ask(step, "a", TERMS, now_ms);
        for command in actions(&mut process_manager, now_ms) {
            if command.starts_with("start") {
                let process = ProcessId(started);
                started += 1;
                actions(&mut process_manager, now_ms);
                assert_eq!(process_manager.exited(process, now_ms), None);
            }
        }
    }
    // Ten points at the start and one each second; three for each process.
    assert!((10..=25).contains(&started), "{started}");
}

#[test]
fn one_that_drains_ends_what_idles_and_goes_on_with_what_is_wanted() {
    let mut process_manager = Named::new(5, SCORES);
    process_manager.ask(1, "a", TERMS, 0);
    process_manager.ask(2, "b", TERMS, 0);
    actions(&mut process_manager, 0);
    process_manager.done(ProcessId(0), ManagerOutcome::Answered, 1);
    process_manager.drain();
    assert_eq!(actions(&mut process_manager, 2), ["end 0: shutting down"]);
    process_manager.ask(3, "b", TERMS, 3);
    process_manager.exited(ProcessId(0), 3);
    assert_eq!(actions(&mut process_manager, 3), ["start b2", "3 gets 2"]);
    process_manager.done(ProcessId(1), ManagerOutcome::Answered, 4);
    process_manager.done(ProcessId(2), ManagerOutcome::Answered, 4);
    assert_eq!(actions(&mut process_manager, 4), ["end 1: shutting down", "end 2: shutting down"]);
    process_manager.exited(ProcessId(1), 5);
    process_manager.exited(ProcessId(2), 5);
    assert!(process_manager.is_empty());
}

#[test]
fn classes_that_nobody_needs_are_forgotten() {
    let mut process_manager: ProcessManager<u64> = ProcessManager::new(2000, FREE);
    for class in 0..5000 {
        process_manager.ask(class, class, TERMS, 0);
        process_manager.leave(class);
    }
    assert!(process_manager.classes.len() <= 1024);
    process_manager.ask(1, 9999, TERMS, 0);
    assert!(process_manager.next(0).is_some());
}

/// Something that happens; numbers choose among what there is.
#[derive(Clone, Debug)]
enum Event {
    Ask(u8),
    Leave(usize),
    Done(usize, u8),
    Finished(usize),
    Exit(usize),
    Wait(u16),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        6 => (0..3_u8).prop_map(Event::Ask),
        1 => any::<usize>().prop_map(Event::Leave),
        5 => (any::<usize>(), 0..10_u8).prop_map(|(nth, outcome)| Event::Done(nth, outcome)),
        1 => any::<usize>().prop_map(Event::Finished),
        2 => any::<usize>().prop_map(Event::Exit),
        3 => (0..3000_u16).prop_map(Event::Wait),
    ];
    proptest::collection::vec(event, 0..120)
}

/// What a process manager's actions come to, and what must hold of them.
struct World {
    process_manager: ProcessManager<u8>,
    now_ms: u64,
    terms: ClassTerms,
    processes_max: usize,
    /// Those that are not gone, with their class and whether they were told to end.
    alive: BTreeMap<ProcessId, (u8, bool)>,
    busy: BTreeMap<ProcessId, RequestId>,
    waiting: Vec<(RequestId, u8, u64)>,
    asked: u64,
    /// A number for what can go either way.
    chance: u64,
}

impl World {
    fn new(processes_max: usize, class_max: usize, scores: Scores) -> Self {
        let terms = ClassTerms {
            processes_max: class_max,
            processes_min: 0,
            requests_max: Some(3),
            idle_ms: Some(500),
            ..TERMS
        };
        let process_manager = ProcessManager::new(processes_max, scores);
        let (alive, busy) = (BTreeMap::new(), BTreeMap::new());
        let (waiting, now_ms, asked, chance) = (Vec::new(), 0, 0, 1);
        Self { process_manager, now_ms, terms, processes_max, alive, busy, waiting, asked, chance }
    }

    fn nth<T: Copy>(from: impl ExactSizeIterator<Item = T>, nth: usize) -> Option<T> {
        let count = from.len();
        (count > 0).then(|| from.into_iter().nth(nth % count)).flatten()
    }

    fn happen(&mut self, event: &Event) {
        match *event {
            Event::Ask(class) => {
                self.asked += 1;
                self.process_manager.ask(self.asked, class, self.terms, self.now_ms);
                self.waiting.push((self.asked, class, self.now_ms));
            }
            Event::Leave(nth) => {
                if let Some(row) = Self::nth(self.waiting.iter().copied(), nth) {
                    self.process_manager.leave(row.0);
                    self.waiting.retain(|other| other.0 != row.0);
                }
            }
            Event::Done(nth, outcome) => {
                if let Some(process) = Self::nth(self.busy.keys().copied(), nth) {
                    let outcome = match outcome {
                        0 => ManagerOutcome::Suspect,
                        1 => ManagerOutcome::Abandoned,
                        _ => ManagerOutcome::Answered,
                    };
                    self.process_manager.done(process, outcome, self.now_ms);
                    self.busy.remove(&process);
                }
            }
            Event::Finished(nth) => {
                let free = self.alive.keys().filter(|process| !self.busy.contains_key(process));
                let free: Vec<ProcessId> = free.copied().collect();
                if let Some(process) = Self::nth(free.into_iter(), nth) {
                    self.process_manager.finished(process, self.now_ms);
                }
            }
            Event::Exit(nth) => {
                if let Some(process) = Self::nth(self.alive.keys().copied(), nth) {
                    let was_told = self.alive.remove(&process).unwrap().1;
                    self.busy.remove(&process);
                    let why = self.process_manager.exited(process, self.now_ms);
                    assert_eq!(why.is_some(), was_told);
                }
            }
            Event::Wait(ms) => self.now_ms += u64::from(ms),
        }
        self.obey();
    }

    /// Carry out all actions, some of them badly.
    fn obey(&mut self) {
        for _ in 0..10_000 {
            let Some(command) = self.process_manager.next(self.now_ms) else { return self.check() };
            self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let is_bad = self.chance >> 60 == 0;
            match command {
                ManagerAction::Start { process, class } => {
                    self.alive.insert(process, (class, false));
                    let of_class = self.alive.values().filter(|row| row.0 == class).count();
                    assert!(self.alive.len() <= self.processes_max, "too many processes");
                    assert!(of_class <= self.terms.processes_max, "too many of a class");
                    if is_bad {
                        self.alive.remove(&process);
                        self.process_manager.failed(process, self.now_ms);
                    } else {
                        self.process_manager.started(process, self.now_ms);
                    }
                }
                ManagerAction::Lease { process, request } => {
                    let (class, was_told) = self.alive[&process];
                    assert!(!was_told, "a process that ends is given away");
                    let first = self.waiting.iter().find(|row| row.1 == class).unwrap();
                    assert_eq!(first.0, request, "somebody was passed over");
                    if is_bad {
                        self.process_manager.unreachable(process, self.now_ms);
                    } else {
                        self.waiting.retain(|row| row.0 != request);
                        let other = self.busy.insert(process, request);
                        assert_eq!(other, None, "a process has two requests");
                    }
                }
                ManagerAction::End { process, .. } => {
                    let row = self.alive.get_mut(&process).unwrap();
                    assert!(!std::mem::replace(&mut row.1, true), "told twice");
                }
                ManagerAction::Refuse { request, is_hopeless } => {
                    let nth = self.waiting.iter().position(|row| row.0 == request).unwrap();
                    let since_ms = self.waiting.remove(nth).2;
                    assert!(is_hopeless || self.now_ms >= since_ms + self.terms.connect_ms);
                }
            }
        }
        panic!("actions without end");
    }

    /// What is due has been done, and nobody waits beside a process that idles.
    fn check(&self) {
        assert!(self.process_manager.due_ms(self.now_ms).is_none_or(|due_ms| due_ms > self.now_ms));
        for waiting in &self.waiting {
            assert!(self.now_ms < waiting.2 + self.terms.connect_ms, "forgotten");
            let class = self.process_manager.ids[&waiting.1];
            let idles = |(id, process): (&ProcessId, &ManagedProcess)| {
                matches!(process.state, UseState::Idle)
                    && process.class == class
                    && self.alive.contains_key(id)
            };
            assert!(
                !self.process_manager.processes.iter().any(idles),
                "an idle process and a request"
            );
        }
    }

    /// From now on all is well: everybody is served, or turned away when his time is over.
    fn settle(&mut self) {
        self.chance = 1;
        for _ in 0..3000 {
            self.process_manager.processes_max = self.process_manager.processes_max.max(1);
            let ended: Vec<ProcessId> =
                self.alive.iter().filter(|row| row.1.1).map(|row| *row.0).collect();
            for process in ended {
                self.alive.remove(&process);
                self.busy.remove(&process);
                self.process_manager.exited(process, self.now_ms);
            }
            for process in std::mem::take(&mut self.busy).into_keys() {
                self.process_manager.done(process, ManagerOutcome::Answered, self.now_ms);
            }
            let all: Vec<ProcessId> = self.alive.keys().copied().collect();
            all.into_iter().for_each(|process| self.process_manager.finished(process, self.now_ms));
            self.obey();
            if self.waiting.is_empty() {
                return;
            }
            self.now_ms += 10;
        }
        panic!("somebody waits for ever");
    }
}

proptest! {
    #[test]
    fn no_limit_is_broken_nobody_is_passed_over_and_nobody_starves(
        events in events(),
        processes_max in 1..6_usize,
        class_max in 1..4_usize,
        scores in prop_oneof![Just(FREE), Just(SCORES)],
    ) {
        let mut world = World::new(processes_max, class_max, scores);
        events.iter().for_each(|event| world.happen(event));
        world.settle();
    }
}

#[test]
fn so_many_commands_are_known_and_no_more() {
    let mut process_manager: ProcessManager<u64> = ProcessManager::new(0, SCORES);
    let most = u64::try_from(CLASSES_MAX).unwrap();
    (0..most).for_each(|nth| process_manager.ask(nth, nth, TERMS, 0));
    assert_eq!(process_manager.next(0), None);
    process_manager.ask(most, most, TERMS, 0);
    assert_eq!(
        process_manager.next(0),
        Some(ManagerAction::Refuse { request: most, is_hopeless: false })
    );
    process_manager.ask(most + 1, 0, TERMS, 0);
    assert_eq!(process_manager.next(0), None);
}
