//! Sums over a snapshot of the scoreboard, and what a row means in the state of its process.

use super::cpu::Cpu;
use runtime::clock;
use scoreboard::{
    AtLimit, HistorySecond, Older, ProcessState, ProcessView, RowState, Snapshot, Totals,
    WorkerView,
};
use server::MpmKind;

/// Everything that both forms of the page show.
pub(super) struct StatusFigures {
    pub(super) mpm: MpmKind,
    /// Those beyond are shown only while they are there.
    processes_max: usize,
    pub(super) children: Vec<ChildFigures>,
    pub(super) generation: u32,
    pub(super) started_s: i64,
    /// When this generation began.
    pub(super) made_s: i64,
    pub(super) now_s: i64,
    pub(super) now_ms: u64,
    pub(super) totals: Totals,
    pub(super) older: Older,
    pub(super) at_limit: AtLimit,
    pub(super) seconds: Vec<HistorySecond>,
    pub(super) cpu: Cpu,
}

/// One child process with its slots and their sums.
pub(super) struct ChildFigures {
    pub(super) process: ProcessView,
    pub(super) workers: Vec<WorkerView>,
    pub(super) cpu: Cpu,
}

impl ChildFigures {
    fn new(process: ProcessView, workers: &[WorkerView]) -> Self {
        let is_there = process.state != ProcessState::Dead;
        Self {
            cpu: if is_there { Cpu::of(process.pid) } else { Cpu::default() },
            workers: workers.to_vec(),
            process,
        }
    }

    pub(super) fn is_there(&self) -> bool {
        self.process.state != ProcessState::Dead
    }

    /// Whether it finishes what it has and takes nothing new.
    pub(super) fn is_stopping(&self) -> bool {
        self.process.state == ProcessState::Draining
    }

    pub(super) fn letters(&self) -> impl Iterator<Item = u8> {
        self.workers.iter().map(|row| letter(self.process.state, row.state))
    }

    pub(super) fn idle(&self) -> usize {
        self.letters().filter(|letter| *letter == b'_').count()
    }

    pub(super) fn graceful(&self) -> usize {
        self.letters().filter(|letter| *letter == b'G').count()
    }

    pub(super) fn busy(&self) -> usize {
        self.letters().filter(|letter| is_busy(*letter)).count()
    }

    /// Connections that neither hold a slot nor send nor close.
    pub(super) fn keep_alive(&self) -> u32 {
        // The counters are written one by one while this is read, so that the difference may be
        // below nothing for a moment.
        let ProcessView { connections, writing, lingering, .. } = self.process;
        let held = u32::try_from(self.busy() + self.graceful()).unwrap_or(u32::MAX);
        connections.saturating_sub(writing.saturating_add(lingering).saturating_add(held))
    }
}

/// The letter of a slot. What its row says counts only while its process serves: a child that was
/// killed leaves its rows as they were, and one that drains waits for nobody any more.
fn letter(process: ProcessState, row: RowState) -> u8 {
    match (process, row) {
        (ProcessState::Dead, _) => b'.',
        (ProcessState::Starting, _) => b'S',
        (ProcessState::Draining, RowState::Ready) => b'I',
        (ProcessState::Draining, RowState::Dead) => b'.',
        (ProcessState::Draining, _) => b'G',
        (ProcessState::Serving | ProcessState::Retiring, row) => row.letter(),
    }
}

/// The states of slots, with the names that the exporter gives them.
pub(super) const STATES: &[(u8, &str)] = &[
    (b'_', "idle"),
    (b'S', "startup"),
    (b'R', "read"),
    (b'W', "reply"),
    (b'K', "keepalive"),
    (b'D', "dns"),
    (b'C', "closing"),
    (b'L', "logging"),
    (b'G', "graceful_stop"),
    (b'I', "idle_cleanup"),
    (b'.', "open_slot"),
];

/// That name.
pub(super) fn state_name(letter: u8) -> &'static str {
    STATES.iter().find(|row| row.0 == letter).map_or("open_slot", |row| row.1)
}

/// Whether httpd counts the letter among BusyWorkers.
pub(super) fn is_busy(letter: u8) -> bool {
    !matches!(letter, b'_' | b'.' | b'S' | b'I' | b'G')
}

impl StatusFigures {
    /// `never_less` makes of totals what may be shown.
    pub(super) fn new(
        snapshot: &Snapshot,
        mpm: MpmKind,
        processes_max: usize,
        never_less: impl FnOnce(Totals) -> Totals,
    ) -> Self {
        let rows = snapshot.workers.chunks(snapshot.rows_per_process.max(1));
        let children: Vec<ChildFigures> = snapshot
            .processes
            .iter()
            .zip(rows)
            .map(|row| ChildFigures::new(*row.0, row.1))
            .collect();
        let ended = Cpu::ended(snapshot.ended_cpu_us);
        Self {
            mpm,
            processes_max,
            generation: snapshot.generation,
            started_s: snapshot.started_unix_s,
            made_s: snapshot.made_unix_s,
            now_s: clock::unix_s(),
            now_ms: clock::monotonic_ms(),
            totals: never_less(snapshot.totals()),
            older: snapshot.older,
            at_limit: snapshot.at_limit,
            seconds: snapshot.seconds.clone(),
            cpu: children.iter().fold(ended, |sum, child| sum + child.cpu),
            children,
        }
    }

    pub(super) fn uptime_s(&self) -> u64 {
        (self.now_s - self.started_s).max(0).unsigned_abs()
    }

    /// How long there has been this generation.
    pub(super) fn generation_age_s(&self) -> u64 {
        self.now_s.saturating_sub(self.made_s).max(0).unsigned_abs()
    }

    /// Time spent answering.
    pub(super) fn busy_ms(&self) -> u64 {
        self.totals.busy_us / 1000
    }

    /// Bytes sent as httpd knows them for its rates: in whole kilobytes.
    pub(super) fn whole_bytes(&self) -> u64 {
        self.totals.bytes / 1024 * 1024
    }

    /// Children that exist.
    pub(super) fn processes(&self) -> u64 {
        let here = self.children.iter().filter(|child| child.is_there()).count();
        self.older.processes.saturating_add(here as u64)
    }

    pub(super) fn stopping(&self) -> u64 {
        let here = self.children.iter().filter(|child| child.is_stopping()).count();
        self.older.processes.saturating_add(here as u64)
    }

    /// Slots of children that finish what they have.
    pub(super) fn graceful(&self) -> u64 {
        self.older.busy.saturating_add(self.slots(ChildFigures::graceful) as u64)
    }

    /// The sum of a count over all children.
    pub(super) fn slots(&self, count: fn(&ChildFigures) -> usize) -> usize {
        self.children.iter().map(count).sum()
    }

    /// The sum of a number of connections over all children.
    pub(super) fn connections(&self, count: fn(&ChildFigures) -> u32) -> u64 {
        self.children.iter().map(|child| u64::from(count(child))).sum()
    }

    /// One letter per slot, child after child. Children that finish may need more places than there
    /// are processes at a time; such a place is shown only while there is one.
    pub(super) fn scoreboard(&self) -> String {
        self.shown_children().flat_map(ChildFigures::letters).map(char::from).collect()
    }

    pub(super) fn shown_children(&self) -> impl Iterator<Item = &ChildFigures> {
        let children = self.children.iter().enumerate();
        let shown =
            children.filter(|(place, child)| *place < self.processes_max || child.is_there());
        shown.map(|(_, child)| child)
    }

    /// Whether connections do without a thread while they wait, so that they are counted.
    pub(super) fn is_async(&self) -> bool {
        !self.mpm.is_one_connection_a_thread()
    }

    /// Processor time in percent of the time since the start; `None` where there is nothing.
    pub(super) fn cpu_load(&self) -> Option<f64> {
        let (used_s, uptime_s) = (self.cpu.total_s(), self.uptime_s());
        (used_s > 0.0 && uptime_s > 0).then(|| used_s / super::number::ratio(uptime_s, 1) * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scoreboard::Scoreboard;
    use std::net::{IpAddr, Ipv4Addr};

    /// Two children of three slots: one that serves and answers one request, and one as told.
    fn board(state: ProcessState) -> Scoreboard {
        let board = Scoreboard::create(2, 3, clock::unix_s()).unwrap();
        for (index, state) in [ProcessState::Serving, state].into_iter().enumerate() {
            let process = board.process(index).unwrap();
            process.open(0, 0);
            process.set_state(state);
            process.connection_opened();
            process.connection_opened();
            for row in 0..3 {
                board.worker(index, row).unwrap().open(0);
            }
            let row = board.worker(index, 1).unwrap();
            row.begin(IpAddr::V4(Ipv4Addr::LOCALHOST), 1, b"GET / HTTP/1.1", 0);
        }
        board.worker(0, 0).unwrap().end(2048, 3_000_000, RowState::Ready);
        board
    }

    fn figures(board: &Scoreboard, processes_max: usize) -> StatusFigures {
        StatusFigures::new(&Snapshot::take(board), MpmKind::Event, processes_max, |seen| seen)
    }

    #[test]
    fn places_beyond_the_limit_are_shown_while_they_are_used() {
        let shown = |state| figures(&board(state), 1).scoreboard();
        assert_eq!(shown(ProcessState::Draining), "_W_IGI");
        assert_eq!(shown(ProcessState::Dead), "_W_");
    }

    #[test]
    fn the_state_of_a_child_decides_what_its_slots_count_as() {
        let rows = [
            (ProcessState::Serving, "_W__W_", [2, 0, 4], [2, 0]),
            (ProcessState::Draining, "_W_IGI", [1, 1, 2], [2, 1]),
            (ProcessState::Starting, "_W_SSS", [1, 0, 2], [2, 0]),
            (ProcessState::Dead, "_W_...", [1, 0, 2], [1, 0]),
        ];
        for (state, letters, slots, children) in rows {
            let figures = figures(&board(state), 2);
            assert_eq!(figures.scoreboard(), letters);
            let found = [ChildFigures::busy, ChildFigures::graceful, ChildFigures::idle]
                .map(|it| figures.slots(it));
            assert_eq!(found, slots, "{state:?}");
            assert_eq!([figures.processes(), figures.stopping()], children, "{state:?}");
        }
    }

    #[test]
    fn sums_are_those_of_all_slots() {
        let figures = figures(&board(ProcessState::Serving), 2);
        let Totals { requests, bytes, .. } = figures.totals;
        assert_eq!((requests, bytes, figures.busy_ms()), (1, 2048, 3));
        assert_eq!(figures.connections(|child| child.process.connections), 4);
        assert_eq!(figures.connections(ChildFigures::keep_alive), 2);
    }
}
