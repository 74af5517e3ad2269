//! Prepared responses of files, per serving thread: bounded in entries, bytes and descriptors.
//!
//! An entry was made by the whole request pipeline for a location whose answer depends on the
//! path alone, and is compared with the file system at most once a second. Content lives in
//! memory when it is small, else the descriptor is kept for sendfile. Nothing is ever mapped.

use crate::access_log::LogDetails;
use crate::accounting::Account;
use crate::content_coding::Coding;
use crate::proviso::Proviso;
use crate::representation::Representation;
use message::Field;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// Content up to this size is kept and sent with its head in one system call. Beyond it sendfile
/// is cheaper than the copy (bench: see docs/performance.md).
pub(crate) const SMALL_BYTES: u64 = 32 * 1024;

/// What a thread may keep: bytes of memory for prepared responses, and entries, which are also a
/// bound on what hostile clients can make it look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheBounds {
    memory_bytes: usize,
    entries: usize,
}

/// Of a thread that carries many connections, at most. There are few of these.
const OF_MANY: CacheBounds = CacheBounds { memory_bytes: 16 << 20, entries: 4096 };

/// Of a thread that carries one, at most: a page with 240 pictures is kept.
const OF_ONE: CacheBounds = CacheBounds { memory_bytes: 3 << 19, entries: 512 };

/// There may be hundreds of threads that carry one connection, and little memory. Together they
/// keep no more than this part of it.
const MEMORY_SHARE: u64 = 16;

/// What each of `threads` that carry one connection may keep where there is so much memory.
pub(crate) fn of_one(memory_bytes: u64, threads: usize) -> CacheBounds {
    part(OF_ONE, memory_bytes, threads)
}

/// What each of `threads` that carry many connections may keep where there is so much memory.
pub(crate) fn of_many(memory_bytes: u64, threads: usize) -> CacheBounds {
    part(OF_MANY, memory_bytes, threads)
}

fn part(most: CacheBounds, memory_bytes: u64, threads: usize) -> CacheBounds {
    let share = memory_bytes / MEMORY_SHARE / threads.max(1) as u64;
    let memory_bytes = usize::try_from(share).unwrap_or(usize::MAX).min(most.memory_bytes);
    CacheBounds { memory_bytes, ..most }
}

/// A response that is ready to be sent.
pub(crate) struct Prepared {
    pub(crate) source: Rc<Representation>,
    /// For logs.
    pub(crate) logged: LogDetails,
    /// The fields in `bytes`, if a log shows any.
    pub(crate) fields: Box<[Field]>,
    /// What has to be true of those who are given it.
    pub(crate) proviso: Proviso,
    /// The codings of which a client gets one, and the one that this response has.
    pub(crate) codings: Box<[Coding]>,
    pub(crate) coding: Option<Coding>,
    /// The only second in which it is right, if there is one: it tells the time in other places
    /// than `Date`.
    pub(crate) only_s: Option<i64>,
    /// When the response was last compared with the file system, in seconds since 1970.
    pub(crate) checked_s: Cell<i64>,
    /// Status line, fields, empty line, and the content if it is small. `Date` is written in
    /// place when the second changes.
    pub(crate) bytes: RefCell<Vec<u8>>,
    /// The second that `Date` in `bytes` shows.
    pub(crate) date_s: Cell<i64>,
    /// Length of the head, its empty line included.
    pub(crate) head_len: usize,
    /// Length of the content.
    pub(crate) content: u64,
    /// Whether the response says nothing but what the file itself says, so that conditions and
    /// ranges can be answered from it as well.
    pub(crate) is_bare: bool,
    /// Whether `bytes` holds the content, too.
    pub(crate) is_whole: bool,
    /// Where requests for it are counted, once there was one.
    pub(crate) account: Cell<Account>,
}

impl Prepared {
    /// Bytes of memory that it holds, roughly. The same for as long as it is kept, because the sums
    /// of the generations are kept by it: `bytes` is written to, but never becomes longer.
    fn weight(&self, key: &[u8]) -> usize {
        let field_bytes = |field: &Field| size_of::<Field>() + field.0.len() + field.1.len();
        let fields: usize = self.fields.iter().map(field_bytes).sum();
        self.bytes.borrow().len() + fields + key.len() + self.proviso.weight() + 512
    }
}

/// Two generations: what is used again moves to the young one, and when that is full the old one
/// is dropped. This keeps what is in use without any list to maintain on a hit.
pub(crate) struct ResponseCache {
    young: CacheGeneration,
    old: CacheGeneration,
    bounds: CacheBounds,
}

#[derive(Default)]
struct CacheGeneration {
    by_path: HashMap<Box<[u8]>, Rc<Prepared>>,
    bytes: usize,
}

impl ResponseCache {
    /// A cache within `bounds` that keeps at most so many files open.
    pub(crate) fn new(bounds: CacheBounds, files: u64) -> Self {
        let entries = usize::try_from(files).unwrap_or(usize::MAX).clamp(2, bounds.entries);
        let bounds = CacheBounds { entries, ..bounds };
        Self { young: CacheGeneration::default(), old: CacheGeneration::default(), bounds }
    }

    /// The entry for a path as it stands in a request target.
    pub(crate) fn get(&mut self, path: &[u8]) -> Option<Rc<Prepared>> {
        if let Some(found) = self.young.by_path.get(path) {
            return Some(found.clone());
        }
        let (path, found) = self.old.by_path.remove_entry(path)?;
        self.put(path, found.clone());
        Some(found)
    }

    /// Keep `prepared` for `path`.
    pub(crate) fn insert(&mut self, path: &[u8], prepared: Rc<Prepared>) {
        self.old.by_path.remove(path);
        self.put(path.into(), prepared);
    }

    /// Forget `path`.
    pub(crate) fn remove(&mut self, path: &[u8]) {
        if let Some(gone) = self.young.by_path.remove(path) {
            self.young.bytes -= gone.weight(path);
        }
        self.old.by_path.remove(path);
    }

    fn put(&mut self, path: Box<[u8]>, prepared: Rc<Prepared>) {
        let weight = prepared.weight(&path);
        let is_full = self.young.by_path.len() >= self.bounds.entries / 2
            || self.young.bytes + weight > self.bounds.memory_bytes / 2;
        if is_full {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.bytes += weight;
        if let Some(replaced) = self.young.by_path.remove(&path) {
            self.young.bytes -= replaced.weight(&path);
        }
        self.young.by_path.insert(path, prepared);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_one_connection_share_a_part_of_the_memory() {
        let bytes = |machine_bytes, threads| of_one(machine_bytes, threads).memory_bytes;
        assert_eq!(bytes(256 << 20, 256), 64 << 10);
        assert_eq!(bytes(24 << 30, 256), OF_ONE.memory_bytes);
        assert_eq!(bytes(24 << 30, 0), OF_ONE.memory_bytes);
        assert_eq!(bytes(0, 10), 0);
        assert_eq!(of_many(64 << 20, 2).memory_bytes, 2 << 20);
        assert_eq!(of_many(24 << 30, 2).memory_bytes, OF_MANY.memory_bytes);
    }
}
