//! The room that one request body has taken while it is gathered. How much there is for all of them
//! is known to `spool_room.rs`; what goes where is not decided here.

use crate::context::Context;
use crate::server::Server;
use crate::spool_room::SpoolFolder;
use runtime::descriptors::HeldDescriptors;
use runtime::{clock, file};
use scoreboard::Scoreboard;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The share of all room that one body may have: one client leaves room to others.
const BODY_SHARE: u64 = 8;

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
        let has_room = self.server.spools.takes_memory(bytes);
        if has_room {
            self.memory_bytes += bytes;
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
        file::unnamed(self.folder().path()).map_err(NoRoom::Failed)
    }

    /// Where files are, and how large all may be together.
    pub(crate) fn bounds(&self) -> (&Path, u64) {
        let folder = self.folder();
        (folder.path(), folder.bytes_max(self.board.spooled(), clock::unix_s()))
    }

    fn folder(&self) -> &SpoolFolder {
        self.server.spools.folder(&self.server.site.spool)
    }

    fn change_file_bytes(&self, change: i64) {
        self.board.process(self.process).inspect(|row| row.spooled_changed(change));
    }
}

impl Drop for RoomClaim {
    fn drop(&mut self) {
        self.server.spools.give_memory_back(self.memory_bytes);
        self.change_file_bytes(-i64::try_from(self.file_bytes).unwrap_or(i64::MAX));
    }
}
