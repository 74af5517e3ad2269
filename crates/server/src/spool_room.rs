//! What room there is for request bodies that are gathered: memory of this process, and files of
//! all processes together in one folder. Who takes it is not known here.

use crate::Machine;
use crate::site::room::RoomLimits;
use runtime::file;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Buffers of bodies in one process. Those that find no room use files the earlier.
const MEMORY_BYTES_MAX: u64 = 8 << 20;

/// Without `RequestSpoolMaxSize`: the share of what is free in the folder, and the most of it.
const FREE_SHARE: u64 = 4;
const FILES_BYTES_MAX: u64 = 16 << 30;

/// The share of the machine's memory, where the folder is memory.
const MEMORY_SHARE: u64 = 16;

/// Where files go if nobody says so; the first of them that is there. Unlike /tmp, the first is
/// hardly ever memory.
const FOLDERS: [&str; 2] = ["/var/tmp", "/tmp"];

/// What the bodies of one process take up.
#[derive(Default)]
pub(crate) struct RoomUsage {
    memory_bytes: AtomicU64,
    folder: OnceLock<SpoolFolder>,
}

impl RoomUsage {
    /// Whether there is memory for a buffer of so many bytes, which is then taken.
    pub(crate) fn takes_memory(&self, bytes: u64) -> bool {
        let has_room = self.memory_bytes.fetch_add(bytes, Relaxed) + bytes <= MEMORY_BYTES_MAX;
        if !has_room {
            self.give_memory_back(bytes);
        }
        has_room
    }

    /// A buffer of so many bytes is needed no more.
    pub(crate) fn give_memory_back(&self, bytes: u64) {
        self.memory_bytes.fetch_sub(bytes, Relaxed);
    }

    /// Where files are, as the first look found.
    pub(crate) fn folder(&self, limits: &RoomLimits) -> &SpoolFolder {
        self.folder.get_or_init(|| SpoolFolder::new(limits))
    }
}

/// Where files are, and how large all of them may be together.
pub(crate) struct SpoolFolder {
    path: PathBuf,
    bytes_max: Option<u64>,
    /// Without a number: what it was found to be, and in which second.
    found: Mutex<(i64, u64)>,
}

impl SpoolFolder {
    fn new(limits: &RoomLimits) -> Self {
        let own = std::env::var_os("TMPDIR").map(PathBuf::from);
        let usual = || own.into_iter().chain(FOLDERS.iter().map(PathBuf::from));
        let path = limits.folder.clone().or_else(|| usual().find(|path| path.is_dir()));
        let found = Mutex::new((0, 0));
        Self { path: path.unwrap_or_default(), bytes_max: limits.files_bytes, found }
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How large all may be together, of which `used` bytes are in use.
    pub(crate) fn bytes_max(&self, used: u64, now_s: i64) -> u64 {
        if let Some(bytes_max) = self.bytes_max {
            return bytes_max;
        }
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.0 != now_s {
            *found = (now_s, files_bytes(&self.path, used));
        }
        found.1
    }
}

/// What files may take up in a folder where nobody has set a bound.
fn files_bytes(folder: &Path, used: u64) -> u64 {
    let Ok(volume) = file::volume(folder) else { return 0 };
    let most = match volume.is_memory {
        true => Machine::here().total_bytes / MEMORY_SHARE,
        false => FILES_BYTES_MAX,
    };
    most.min(volume.free_bytes.saturating_add(used) / FREE_SHARE)
}
