//! The server, if it runs on this machine: what it takes of processor and memory while it is under
//! load, second by second, seen from outside. Works with any server; Trivet's scoreboard says how
//! many of its workers are busy, too.

mod find;
mod usage;

use crate::report::{PerSecond, ServerRecord, ServerSecond};
use load::Window;
use runtime::{clock, memory, process};
use scoreboard::{RowState, Scoreboard};
use std::net::SocketAddr;
use usage::ProcessUsage;

pub use find::listening;
pub(crate) use find::{exists, is_local};

/// The most processes whose memory is read in one second: the kernel walks all their pages for it.
const PSS_PER_SECOND: usize = 8;

/// Watches a server on this machine, second by second.
#[derive(Debug)]
pub struct Observer {
    usage: ProcessUsage,
    /// What is known of the memory of each process.
    memory: Vec<(i32, u64)>,
    /// The process whose memory is read next.
    turn: usize,
    board: Option<BusyWorkers>,
    /// When the processes were looked at last.
    looked_ns: u64,
    sums: WorkerSums,
}

#[derive(Debug, Default)]
struct WorkerSums {
    cpu_ns: u64,
    run_queue_ns: u64,
    elapsed_s: f64,
    requests: u64,
    pss_bytes_max: u64,
    processes_max: u32,
    busy_max: Option<u32>,
}

/// What Trivet's scoreboard says about workers.
struct BusyWorkers {
    board: Scoreboard,
    /// The process that has the scoreboard open; each generation has one of its own.
    pid: i32,
    /// The most there might be at any moment: a parent that is short of memory allows fewer, while
    /// those that are busy finish.
    workers: u32,
}

impl std::fmt::Debug for BusyWorkers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Busy")
    }
}

impl Observer {
    /// Of the server that listens at one of the addresses, if that is on this machine and this
    /// process may see it.
    pub fn of_addresses(addresses: &[SocketAddr]) -> Option<Self> {
        let pids = find::listening(addresses);
        (!pids.is_empty()).then(|| Self::of_processes(pids))
    }

    /// Observe these processes and all their descendants.
    pub fn of_processes(pids: Vec<i32>) -> Self {
        let board = pids.iter().find_map(|pid| BusyWorkers::of_process(*pid));
        Self {
            usage: ProcessUsage::of(pids),
            memory: Vec::new(),
            turn: 0,
            board,
            looked_ns: clock::monotonic_ns(),
            sums: WorkerSums::default(),
        }
    }

    /// The run begins: what the server has used until now does not count.
    pub fn begin(&mut self) {
        self.usage.advance();
        self.looked_ns = clock::monotonic_ns();
    }

    /// Looks at the server at the end of a second of the run.
    pub fn look(&mut self, second: &mut PerSecond) {
        // The clock right behind the counters, as one is divided by the other; memory comes after,
        // as it takes the longest to read.
        let (cpu_ns, run_queue_ns) = self.usage.advance();
        let now_ns = clock::monotonic_ns();
        // What was used since the last look, which was a little after the second before had ended.
        let length_s =
            (now_ns - std::mem::replace(&mut self.looked_ns, now_ns)).max(1) as f64 / 1e9;
        let processes = self.usage.processes();
        let pss_bytes = self.memory_of(&processes);
        let busy = self.board.as_mut().map(BusyWorkers::look);
        let count = u32::try_from(processes.len()).unwrap_or(u32::MAX);
        second.server = Some(ServerSecond {
            cpu_us_per_request: per_request_us(cpu_ns, second.requests),
            cpu_percent: percent(cpu_ns, length_s, second.requests),
            run_queue_ms_per_s: run_queue_ns as f64 / 1e6 / length_s,
            pss_bytes,
            processes: count,
            busy,
        });
        if second.until_s <= 0.0 {
            return;
        }
        let sums = &mut self.sums;
        sums.cpu_ns += cpu_ns;
        sums.run_queue_ns += run_queue_ns;
        sums.elapsed_s += length_s;
        sums.requests += second.requests;
        sums.pss_bytes_max = sums.pss_bytes_max.max(pss_bytes);
        sums.processes_max = sums.processes_max.max(count);
        sums.busy_max = sums.busy_max.max(busy);
    }

    /// What the run came to; of a server that nothing has reached nothing is said.
    pub fn total(&self, run: &Window) -> Option<ServerRecord> {
        let is_reached = run.connect.count() > 0 || run.sent_bytes > 0;
        is_reached.then(|| self.server())
    }

    fn server(&self) -> ServerRecord {
        let (sums, elapsed_s) = (&self.sums, self.sums.elapsed_s.max(1e-9));
        ServerRecord {
            cores: u32::try_from(process::cores()).ok(),
            program: self.usage.program().to_owned(),
            pids: self.usage.roots().to_vec(),
            cpu_us_per_request: per_request_us(sums.cpu_ns, sums.requests),
            cpu_percent: percent(sums.cpu_ns, elapsed_s, sums.requests),
            run_queue_ms_per_s: sums.run_queue_ns as f64 / 1e6 / elapsed_s,
            pss_bytes_max: sums.pss_bytes_max,
            processes_max: sums.processes_max,
            busy_max: sums.busy_max,
            workers: self.board.as_ref().map(|board| board.workers),
        }
    }

    /// Memory of all processes: a few are looked at, of the others the last look counts, and of
    /// those that nobody has looked at the mean.
    fn memory_of(&mut self, processes: &[i32]) -> u64 {
        self.memory.retain(|(pid, _)| processes.contains(pid));
        let count = processes.len();
        // The kernel walks all pages of a process for its share, holding its memory lock: to ask
        // all of two hundred each second would be seen in what is measured.
        for step in 0..count.min(PSS_PER_SECOND) {
            let pid = processes[(self.turn + step) % count];
            let Ok(share) = memory::share(pid) else { continue };
            self.memory.retain(|known| known.0 != pid);
            self.memory.push((pid, share.proportional_bytes));
        }
        self.turn = if count == 0 { 0 } else { (self.turn + PSS_PER_SECOND) % count };
        let known: u64 = self.memory.iter().map(|(_, bytes)| bytes).sum();
        match self.memory.len() as u64 {
            0 => 0,
            looked_at => known / looked_at * count as u64,
        }
    }
}

/// Nobody answers without any work: what the kernel has not noted yet is not 0.
fn measured(value: f64, requests: u64) -> f64 {
    if value == 0.0 && requests > 0 { f64::NAN } else { value }
}

fn per_request_us(cpu_ns: u64, requests: u64) -> f64 {
    measured(cpu_ns as f64 / 1000.0 / requests.max(1) as f64, requests)
}

fn percent(cpu_ns: u64, elapsed_s: f64, requests: u64) -> f64 {
    measured(cpu_ns as f64 / 1e7 / elapsed_s, requests)
}

impl BusyWorkers {
    fn of_process(pid: i32) -> Option<Self> {
        Scoreboard::of_process(pid).ok().map(|board| Self::of_board(board, pid))
    }

    fn of_board(board: Scoreboard, pid: i32) -> Self {
        let mut busy = Self { board, pid, workers: 0 };
        busy.note_workers();
        busy
    }

    /// Workers that are with a client now.
    fn look(&mut self) -> u32 {
        if let Ok(board) = Scoreboard::of_process(self.pid)
            && board.generation() != self.board.generation()
        {
            self.board = board;
        }
        self.note_workers();
        self.count()
    }

    fn count(&self) -> u32 {
        let (board, idle) = (&self.board, [RowState::Dead, RowState::Starting, RowState::Ready]);
        let rows = (0..board.used())
            .flat_map(|process| (0..board.rows_per_process()).map(move |row| (process, row)));
        let is_busy = |(process, row)| {
            board.worker(process, row).is_some_and(|worker| !idle.contains(&worker.state()))
        };
        u32::try_from(rows.filter(|place| is_busy(*place)).count()).unwrap_or(u32::MAX)
    }

    /// Workers there may be now.
    fn note_workers(&mut self) {
        let rows = self.board.processes() * self.board.rows_per_process();
        let allowed = match self.board.sizing().workers {
            0 => u32::try_from(rows).unwrap_or(u32::MAX),
            workers => workers,
        };
        self.workers = self.workers.max(allowed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scoreboard::SizingFigures;

    #[test]
    fn no_more_workers_are_busy_than_there_might_be() {
        let board = Scoreboard::create(300, 1, 0).unwrap();
        let allow = |board: &Scoreboard, workers| {
            board.set_sizing(&SizingFigures { workers, ..SizingFigures::default() });
        };
        allow(&board, 300);
        for process in 0..202 {
            board.worker(process, 0).unwrap().set_state(RowState::Writing);
        }
        let mut busy = BusyWorkers::of_board(board, i32::MAX);
        let mut observer = Observer::of_processes(Vec::new());
        // The parent takes away what memory does not allow; those that are busy finish.
        allow(&busy.board, 1);
        assert_eq!(busy.look(), 202);
        observer.board = Some(busy);
        let mut second = PerSecond { until_s: 1.0, requests: 5, ..PerSecond::default() };
        observer.look(&mut second);
        let server = observer.server();
        assert_eq!((server.busy_max, server.workers), (Some(202), Some(300)));
        // There was nobody to look at: that is not nothing.
        assert!(server.cpu_us_per_request.is_nan() && server.cpu_percent.is_nan());
        assert!(second.server.is_some_and(|server| server.cpu_percent.is_nan()));
    }
}
