//! The mapping: a memfd with a header, process rows and worker rows. All `unsafe` is here.

#![expect(clippy::disallowed_methods, reason = "memory without a file, or sealed")]

use crate::header::choices::Choices;
use crate::header::folder_changes::FolderChanges;
use crate::header::history::{History, SlotSums};
use crate::header::sizing::{Pressure, SharedSizing, SizingFigures};
use crate::rows::account::AccountRow;
use crate::rows::pool::PoolSums;
use crate::rows::process::ProcessRow;
use crate::rows::state::RowState;
use crate::rows::totals::Totals;
use crate::rows::worker::WorkerRow;
use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create,
};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mmap_anonymous, mprotect, munmap};
use rustix::param::page_size;
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// First bytes of the memory: `TRVTSCBD`, little-endian.
const MAGIC: u64 = u64::from_le_bytes(*b"TRVTSCBD");

/// Layout version: raised whenever a row changes, so that a monitor of another build says so.
const VERSION: u32 = 7;

/// Process rows at most: httpd's bound of ServerLimit (prefork.c), and as many again for processes
/// that finish. So no product overflows.
pub const PROCESSES_MAX: usize = 400_000;

/// Request slots of a process at most: httpd's bound of ThreadLimit.
pub const ROWS_PER_PROCESS_MAX: usize = 100_000;

/// Accounts of a process: with one request slot, and with more. There may be hundreds of processes
/// with one, and a page of memory holds the rows of such a process and its first eight accounts.
const ACCOUNTS: [usize; 2] = [32, 128];

/// How many accounts a process of so many request slots has.
const fn accounts_per_process(rows_per_process: usize) -> usize {
    if rows_per_process == 1 { ACCOUNTS[0] } else { ACCOUNTS[1] }
}

#[repr(C, align(128))]
struct BoardHeader {
    magic: AtomicU64,
    version: AtomicU32,
    processes: AtomicU32,
    rows_per_process: AtomicU32,
    generation: AtomicU32,
    started_unix_s: AtomicU64,
    /// Process rows that were ever used; 0 if nobody counts them.
    used: AtomicU32,
    sizing: SharedSizing,
    /// When this board was made.
    made_unix_s: AtomicU64,
    history: History,
    folder_changes: FolderChanges,
}

/// Whole pages for the header: a child may only read them.
fn header_bytes() -> usize {
    size_of::<BoardHeader>().next_multiple_of(page_size())
}

/// Whole pages for a process of so many request slots.
fn block_bytes(rows_per_process: usize) -> usize {
    let rows_bytes = rows_per_process * size_of::<WorkerRow>();
    let accounts_bytes = accounts_per_process(rows_per_process) * size_of::<AccountRow>();
    (size_of::<ProcessRow>() + rows_bytes + accounts_bytes).next_multiple_of(page_size())
}

/// The shared memory. Made by the parent; a child inherits the mapping through the fork.
///
/// After the header each process has a block of whole pages: its row, those of its slots, and its
/// accounts. So a child can be kept from writing anywhere else.
pub struct Scoreboard {
    memory: NonNull<u8>,
    bytes: usize,
    /// From one block to the next.
    block_bytes: usize,
    processes: usize,
    rows_per_process: usize,
    ledger: Arc<Ledger>,
    choices: SharedPage<Choices>,
    /// Kept open for a monitor, which finds it among the parent's descriptors.
    _descriptor: OwnedFd,
}

// SAFETY: the memory is only read and written through atomics, and is unmapped only on drop.
unsafe impl Send for Scoreboard {}
// SAFETY: as above; every access through a shared reference is atomic.
unsafe impl Sync for Scoreboard {}

/// A memfd of a size that no process can change any more: a child that made it shorter would kill
/// the parent by SIGBUS at its next look.
fn sealed_memory(bytes: u64) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let descriptor = memfd_create(c"trivet-scoreboard", flags)?;
    ftruncate(&descriptor, bytes)?;
    fcntl_add_seals(&descriptor, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(descriptor)
}

impl Scoreboard {
    /// Shared memory for `processes` processes of `rows_per_process` request slots.
    ///
    /// # Errors
    /// When the kernel has no memory for it, or a number is beyond httpd's bounds.
    pub fn create(processes: usize, rows_per_process: usize, unix_s: i64) -> io::Result<Self> {
        if !(1..=PROCESSES_MAX).contains(&processes)
            || !(1..=ROWS_PER_PROCESS_MAX).contains(&rows_per_process)
        {
            return Err(io::Error::other("number of processes or request slots out of range"));
        }
        let block_bytes = block_bytes(rows_per_process);
        let bytes = header_bytes() + processes * block_bytes;
        let descriptor = sealed_memory(bytes as u64)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice; the length is the file's.
        let memory =
            unsafe { mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, &descriptor, 0)? };
        let memory = NonNull::new(memory.cast()).ok_or_else(|| io::Error::other("null mapping"))?;
        let board = Self {
            memory,
            bytes,
            block_bytes,
            processes,
            rows_per_process,
            ledger: Arc::new(Ledger(SharedPage::create()?)),
            choices: SharedPage::create()?,
            _descriptor: descriptor,
        };
        board.write_header(unix_s);
        Ok(board)
    }

    /// The board of another process, to be looked at: whoever writes to it, this mapping cannot.
    ///
    /// # Errors
    /// When it is none, one of another version, or its size could change while it is read.
    pub fn open(descriptor: OwnedFd) -> io::Result<Self> {
        let bad = |text: &str| io::Error::new(io::ErrorKind::InvalidData, text.to_owned());
        let seals = fcntl_get_seals(&descriptor)?;
        if !seals.contains(SealFlags::SHRINK | SealFlags::GROW) {
            return Err(bad("the scoreboard is not sealed"));
        }
        let bytes = usize::try_from(fstat(&descriptor)?.st_size).unwrap_or(0);
        if bytes < header_bytes() {
            return Err(bad("no scoreboard"));
        }
        // SAFETY: a new mapping at an address of the kernel's choice; the length is the file's,
        // which the seals keep.
        let memory = unsafe {
            let (access, flags) = (ProtFlags::READ, MapFlags::SHARED);
            mmap(std::ptr::null_mut(), bytes, access, flags, &descriptor, 0)?
        };
        let memory = NonNull::new(memory.cast()).ok_or_else(|| bad("null mapping"))?;
        let (ledger, choices) = (Arc::new(Ledger(SharedPage::create()?)), SharedPage::create()?);
        let mut board = Self {
            memory,
            bytes,
            block_bytes: 0,
            processes: 0,
            rows_per_process: 0,
            ledger,
            choices,
            _descriptor: descriptor,
        };
        let header = board.header();
        if header.magic.load(Relaxed) != MAGIC || header.version.load(Relaxed) != VERSION {
            return Err(bad("the scoreboard is of another version of the server"));
        }
        let [processes, rows] = [&header.processes, &header.rows_per_process]
            .map(|number| number.load(Relaxed) as usize);
        let has_bounds =
            (1..=PROCESSES_MAX).contains(&processes) && (1..=ROWS_PER_PROCESS_MAX).contains(&rows);
        if !has_bounds || header_bytes() + processes * block_bytes(rows) != bytes {
            return Err(bad("the scoreboard contradicts itself"));
        }
        (board.processes, board.rows_per_process) = (processes, rows);
        board.block_bytes = block_bytes(rows);
        Ok(board)
    }

    fn write_header(&self, unix_s: i64) {
        let header = self.header();
        header.version.store(VERSION, Relaxed);
        header.processes.store(u32::try_from(self.processes).unwrap_or(0), Relaxed);
        header.rows_per_process.store(u32::try_from(self.rows_per_process).unwrap_or(0), Relaxed);
        header.started_unix_s.store(unix_s.cast_unsigned(), Relaxed);
        header.made_unix_s.store(unix_s.cast_unsigned(), Relaxed);
        header.magic.store(MAGIC, std::sync::atomic::Ordering::Release);
    }

    fn header(&self) -> &BoardHeader {
        // SAFETY: the mapping is page-aligned, at least this long, and zero bytes are valid
        // atomics.
        unsafe { self.memory.cast::<BoardHeader>().as_ref() }
    }

    /// Where the block of a process begins; `None` beyond the end.
    fn block(&self, index: usize) -> Option<NonNull<u8>> {
        if index >= self.processes {
            return None;
        }
        // SAFETY: whole pages for the header and all blocks are what was mapped.
        Some(unsafe { self.memory.add(header_bytes() + index * self.block_bytes) })
    }

    /// The row of process `index`; `None` beyond the end.
    pub fn process(&self, index: usize) -> Option<&ProcessRow> {
        // SAFETY: a block begins at a page, which is enough alignment, is at least as long as the
        // row, and zero bytes are valid atomics.
        Some(unsafe { self.block(index)?.cast::<ProcessRow>().as_ref() })
    }

    /// Request slot `row` of process `index`; `None` beyond the end.
    #[inline]
    pub fn worker(&self, index: usize, row: usize) -> Option<&WorkerRow> {
        if row >= self.rows_per_process {
            return None;
        }
        let offset = size_of::<ProcessRow>() + row * size_of::<WorkerRow>();
        // SAFETY: a block has room for so many rows, the offset keeps their alignment (all sizes
        // are multiples of 128) and zero bytes are valid atomics.
        Some(unsafe { self.block(index)?.add(offset).cast::<WorkerRow>().as_ref() })
    }

    /// Account `account` of process `index`; `None` beyond the end.
    #[inline]
    pub fn account(&self, index: usize, account: usize) -> Option<&AccountRow> {
        if account >= self.accounts_per_process() {
            return None;
        }
        let rows = size_of::<ProcessRow>() + self.rows_per_process * size_of::<WorkerRow>();
        let offset = rows + account * size_of::<AccountRow>();
        // SAFETY: a block has room for so many accounts behind its rows, the offset keeps their
        // alignment (all sizes are multiples of 64) and zero bytes are valid atomics.
        Some(unsafe { self.block(index)?.add(offset).cast::<AccountRow>().as_ref() })
    }

    /// Accounts of each process, that of all others included.
    pub fn accounts_per_process(&self) -> usize {
        accounts_per_process(self.rows_per_process)
    }

    /// Let this process write the rows of process `index` only: a child that writes astray ends
    /// with a fault, and misleads nobody.
    ///
    /// # Errors
    /// When the kernel has no room for the division of the mapping, or there is no such process.
    pub fn write_only(&self, index: usize) -> io::Result<()> {
        let block = self.block(index).ok_or(io::ErrorKind::InvalidInput)?;
        let writable = MprotectFlags::READ | MprotectFlags::WRITE;
        // SAFETY: both ranges are of this mapping, and no code relies on being able to write: what
        // does write rows of others has no way to read wrong memory or to leave a lock held.
        unsafe {
            mprotect(self.memory.as_ptr().cast(), self.bytes, MprotectFlags::READ)?;
            mprotect(block.as_ptr().cast(), self.block_bytes, writable)?;
        }
        Ok(())
    }

    /// What the parent writes.
    pub fn history(&self) -> &History {
        &self.header().history
    }

    /// What all slots come to, without those of other generations.
    pub fn sums(&self) -> SlotSums {
        let mut sums = SlotSums::default();
        for index in 0..self.used() {
            let Some(process) = self.process(index) else { continue };
            let rows = (0..self.rows_per_process).filter_map(|row| self.worker(index, row));
            sums.add(process, rows);
        }
        sums
    }

    /// What all processes have to do with the application of `key`, as process `own` sees it.
    pub fn pool_sums(&self, key: u32, own: usize) -> PoolSums {
        let mut sums = PoolSums::default();
        for index in 0..self.used() {
            let Some(process) = self.process(index) else { continue };
            sums.add(process.pools(), key, index, own);
        }
        sums
    }

    /// Go on where `older` is: the server has not started anew.
    pub fn continue_from(&mut self, older: &Self) {
        self.header().started_unix_s.store(older.header().started_unix_s.load(Relaxed), Relaxed);
        self.ledger = older.ledger.clone();
    }

    /// What is to be shown where `seen` is what can be seen: never less than was shown before,
    /// whichever generation answers.
    pub fn never_less(&self, seen: Totals) -> Totals {
        self.ledger.show(seen)
    }

    /// The accounts of this generation that are shown by themselves. All children may write here.
    pub fn choices(&self) -> &Choices {
        self.choices.get()
    }

    /// Whether anything has changed in the folders that are watched. The parent alone writes here.
    pub fn folder_changes(&self) -> &FolderChanges {
        &self.header().folder_changes
    }

    /// Request slots of process `index` in which nobody is served; 0 beyond the end.
    pub fn free_slots(&self, index: usize) -> usize {
        let rows = (0..self.rows_per_process).filter_map(|row| self.worker(index, row));
        rows.filter(|row| row.state() == RowState::Ready).count()
    }

    /// Those in which somebody is.
    pub fn busy_slots(&self, index: usize) -> usize {
        let rows = (0..self.rows_per_process).filter_map(|row| self.worker(index, row));
        rows.filter(|row| row.state().is_busy()).count()
    }

    /// The parent: the row of process `index` is used from now on. A board may have room for far
    /// more processes than there are, and to look at a row is to have memory for it.
    pub fn note_used(&self, index: usize) {
        let used = u32::try_from(index.saturating_add(1)).unwrap_or(u32::MAX);
        self.header().used.fetch_max(used, Relaxed);
    }

    /// Process rows from the first to the last that was ever used; all, if nobody said so.
    pub fn used(&self) -> usize {
        match self.header().used.load(Relaxed) as usize {
            0 => self.processes,
            used => used.min(self.processes),
        }
    }

    /// The parent: how many workers are allowed, and why.
    pub fn set_sizing(&self, sizing: &SizingFigures) {
        self.header().sizing.store(sizing);
    }

    /// How many workers are allowed, and why.
    pub fn sizing(&self) -> SizingFigures {
        self.header().sizing.load()
    }

    /// Request slots of a process that may be in use at present, at least one.
    #[inline]
    pub fn slots_in_use_max(&self) -> usize {
        match self.header().sizing.slots_per_process() as usize {
            0 => self.rows_per_process,
            slots => slots.min(self.rows_per_process),
        }
    }

    /// How short memory is.
    pub fn pressure(&self) -> Pressure {
        self.header().sizing.pressure()
    }

    #[cfg(test)]
    pub(crate) fn shared_sizing(&self) -> &SharedSizing {
        &self.header().sizing
    }

    /// Bytes of request bodies that all processes have put into files.
    pub fn spooled(&self) -> u64 {
        let rows = (0..self.used()).filter_map(|index| self.process(index));
        rows.map(ProcessRow::spooled).fold(0, u64::saturating_add)
    }

    /// Process rows.
    pub fn processes(&self) -> usize {
        self.processes
    }

    /// Request slots per process.
    pub fn rows_per_process(&self) -> usize {
        self.rows_per_process
    }

    /// The generation that is being started; the parent sets it.
    pub fn set_generation(&self, generation: u32) {
        self.header().generation.store(generation, Relaxed);
    }

    /// The running generation.
    pub fn generation(&self) -> u32 {
        self.header().generation.load(Relaxed)
    }

    /// When this board was made, in seconds since 1970.
    pub fn made_unix_s(&self) -> i64 {
        self.header().made_unix_s.load(Relaxed).cast_signed()
    }

    /// When the server started, in seconds since 1970.
    pub fn started_unix_s(&self) -> i64 {
        self.header().started_unix_s.load(Relaxed).cast_signed()
    }
}

impl Drop for Scoreboard {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and no row reference outlives `self`.
        let _ = unsafe { munmap(self.memory.as_ptr().cast(), self.bytes) };
    }
}

/// The highest totals that were ever shown. While one generation follows another, a child knows of
/// the other ones only what the parent last wrote; a counter that goes back looks like a new start
/// to whoever computes rates. All children may write here.
pub struct Ledger(SharedPage<ShownTotals>);

#[repr(C)]
pub(crate) struct ShownTotals {
    requests: AtomicU64,
    bytes: AtomicU64,
    busy_us: AtomicU64,
}

/// What consists of atomics alone.
///
/// # Safety
/// Zero bytes are a valid value, and no access through a shared reference is anything but atomic.
unsafe trait Atomics {}
// SAFETY: three atomics.
unsafe impl Atomics for ShownTotals {}
// SAFETY: an array of atomics.
unsafe impl Atomics for Choices {}

/// Memory of its own, which all processes share that come from this one, and may write.
struct SharedPage<T: Atomics> {
    memory: NonNull<T>,
}

// SAFETY: the memory is only read and written through atomics, and is unmapped only on drop.
unsafe impl<T: Atomics> Send for SharedPage<T> {}
// SAFETY: as above; every access through a shared reference is atomic.
unsafe impl<T: Atomics> Sync for SharedPage<T> {}

impl<T: Atomics> SharedPage<T> {
    fn create() -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let (flags, bytes) = (MapFlags::SHARED, size_of::<T>());
        // SAFETY: a new mapping at an address of the kernel's choice, of memory of its own.
        let memory = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, access, flags)? };
        let memory = NonNull::new(memory.cast()).ok_or_else(|| io::Error::other("null mapping"))?;
        Ok(Self { memory })
    }

    fn get(&self) -> &T {
        // SAFETY: the mapping is page-aligned, long enough, and zero bytes are valid atomics.
        unsafe { self.memory.as_ref() }
    }
}

impl Ledger {
    fn show(&self, seen: Totals) -> Totals {
        let shown = self.0.get();
        Totals {
            requests: at_least(&shown.requests, seen.requests, 1 << 24),
            bytes: at_least(&shown.bytes, seen.bytes, 1 << 40),
            busy_us: at_least(&shown.busy_us, seen.busy_us, 1 << 40),
        }
    }
}

/// The greater of both. Nobody misses more than the requests of a second or two: what exceeds
/// `seen` by more than `most` was written by a child gone astray, and does not count.
fn at_least(shown: &AtomicU64, seen: u64, most: u64) -> u64 {
    let before = shown.fetch_max(seen, Relaxed);
    if before.saturating_sub(seen) > most { seen } else { before.max(seen) }
}

impl<T: Atomics> Drop for SharedPage<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and no reference outlives `self`.
        let _ = unsafe { munmap(self.memory.as_ptr().cast(), size_of::<T>()) };
    }
}

#[cfg(test)]
mod tests;
