//! What room there is for request bodies that are gathered: memory of this process, and files of
//! all processes together in one folder. What goes where is not decided here.

use crate::Machine;
use crate::context::Context;
use crate::server::Server;
use crate::site::room::RoomLimits;
use runtime::descriptors::HeldDescriptors;
use runtime::{clock, file};
use scoreboard::Scoreboard;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Buffers of bodies in one process. Those that find no room use files the earlier.
const MEMORY_BYTES_MAX: u64 = 8 << 20;

/// Without `RequestSpoolMaxSize`: the share of what is free in the folder, and the most of it.
const FREE_SHARE: u64 = 4;
const FILES_BYTES_MAX: u64 = 16 << 30;

/// The share of the machine's memory, where the folder is memory.
const MEMORY_SHARE: u64 = 16;

/// The share of all room that one body may have: one client leaves room to others.
const BODY_SHARE: u64 = 8;

/// Where files go if nobody says so; the first of them that is there. Unlike /tmp, the first is
/// hardly ever memory.
const FOLDERS: [&str; 2] = ["/var/tmp", "/tmp"];

/// What the bodies of one process take up.
#[derive(Default)]
pub(crate) struct RoomUsage {
    memory_bytes: AtomicU64,
    folder: OnceLock<Folder>,
}

/// Where files are, and how large all of them may be together.
struct Folder {
    path: PathBuf,
    bytes_max: Option<u64>,
    /// Without a number: what it was found to be, and in which second.
    found: Mutex<(i64, u64)>,
}

impl Folder {
    fn new(limits: &RoomLimits) -> Self {
        let own = std::env::var_os("TMPDIR").map(PathBuf::from);
        let usual = || own.into_iter().chain(FOLDERS.iter().map(PathBuf::from));
        let path = limits.folder.clone().or_else(|| usual().find(|path| path.is_dir()));
        let found = Mutex::new((0, 0));
        Self { path: path.unwrap_or_default(), bytes_max: limits.files_bytes, found }
    }

    /// How large all may be together, of which `used` bytes are in use.
    fn bytes_max(&self, used: u64, now_s: i64) -> u64 {
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

/// Why there is no room.
#[derive(Debug)]
pub(crate) enum NoRoom {
    /// Bodies take up as much as they may.
    Full,
    /// The folder cannot be written to.
    Failed(io::Error),
}

/// The part of one body, which is given back with it.
pub(crate) struct RoomClaim {
    server: Arc<Server>,
    board: Arc<Scoreboard>,
    process: usize,
    memory_bytes: u64,
    file_bytes: u64,
    descriptor: Option<HeldDescriptors>,
}

impl RoomClaim {
    /// Of nothing yet.
    pub(crate) fn new(context: &Context) -> Self {
        let (board, process) = context.place_on_board();
        let server = context.server();
        Self { server, board, process, memory_bytes: 0, file_bytes: 0, descriptor: None }
    }

    /// Whether there is memory for a buffer of so many bytes, which is then taken.
    pub(crate) fn takes_memory(&mut self, bytes: u64) -> bool {
        let memory = &self.server.spools.memory_bytes;
        let has_room = memory.fetch_add(bytes, Relaxed) + bytes <= MEMORY_BYTES_MAX;
        match has_room {
            true => self.memory_bytes += bytes,
            false => drop(memory.fetch_sub(bytes, Relaxed)),
        }
        has_room
    }

    /// Room for so many bytes more in a file.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn take_file_bytes(&mut self, bytes: u64) -> Result<(), NoRoom> {
        // Looked at and taken in two steps: processes that look at the same moment may go over the
        // bound by a piece each, which is little beside it.
        let (used, bytes_max) = (self.board.spooled(), self.bounds().1);
        let is_full = used.saturating_add(bytes) > bytes_max;
        if is_full || self.file_bytes + bytes > bytes_max / BODY_SHARE {
            return Err(NoRoom::Full);
        }
        self.change_file_bytes(i64::try_from(bytes).unwrap_or(i64::MAX));
        self.file_bytes += bytes;
        Ok(())
    }

    /// A file for the body.
    ///
    /// # Errors
    /// When there are too many, or the folder cannot be written to.
    pub(crate) fn file(&mut self, context: &Context) -> Result<File, NoRoom> {
        self.descriptor = Some(context.hold_file().ok_or(NoRoom::Full)?);
        file::unnamed(&self.folder().path).map_err(NoRoom::Failed)
    }

    /// Where files are, and how large all may be together.
    pub(crate) fn bounds(&self) -> (&Path, u64) {
        let folder = self.folder();
        (&folder.path, folder.bytes_max(self.board.spooled(), clock::unix_s()))
    }

    fn folder(&self) -> &Folder {
        let limits = &self.server.site.spool;
        self.server.spools.folder.get_or_init(|| Folder::new(limits))
    }

    fn change_file_bytes(&self, change: i64) {
        self.board.process(self.process).inspect(|row| row.spooled_changed(change));
    }
}

impl Drop for RoomClaim {
    fn drop(&mut self) {
        self.server.spools.memory_bytes.fetch_sub(self.memory_bytes, Relaxed);
        self.change_file_bytes(-i64::try_from(self.file_bytes).unwrap_or(i64::MAX));
    }
}
