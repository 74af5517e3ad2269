//! A request body that is kept: in memory while it is small, else in a file without a name.

use super::room::{NoRoom, RoomClaim};
use crate::accounting;
use crate::context::Context;
use runtime::file;
use scoreboard::WaitCause;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

/// What is in memory in any case: no more than a connection costs.
const LITTLE_BYTES: usize = 4 * 1024;

/// What is kept in memory as long as there is room for it.
const BUFFER_BYTES: usize = 64 * 1024;

/// Bytes that are taken out at a time.
const PIECE_BYTES: usize = 32 * 1024;

/// How far ahead of its reader a file is asked for, so that nobody waits for the disk.
const AHEAD_BYTES: u64 = 1 << 20;

/// A body that grows, of a length that nobody knows yet: in memory while it is small or there is
/// room for it, otherwise all but its end in a file.
pub(crate) struct Growing<'a> {
    context: &'a Context,
    spent: &'a accounting::TimeSpent,
    /// Its end.
    memory: Vec<u8>,
    has_buffer: bool,
    /// Its beginning.
    file: Option<File>,
    file_bytes: u64,
    claim: RoomClaim,
}

impl<'a> Growing<'a> {
    /// Of nothing yet.
    pub(crate) fn new(context: &'a Context, spent: &'a accounting::TimeSpent) -> Self {
        let claim = RoomClaim::new(context);
        let (memory, has_buffer) = (Vec::new(), false);
        Self { context, spent, memory, has_buffer, file: None, file_bytes: 0, claim }
    }

    /// What has come of it.
    pub(crate) fn length(&self) -> u64 {
        self.file_bytes + self.memory.len() as u64
    }

    /// More of it has come.
    ///
    /// # Errors
    /// When there is no room: what has come is kept all the same.
    pub(crate) async fn add(&mut self, piece: Vec<u8>) -> Result<(), NoRoom> {
        match self.memory.is_empty() {
            true => self.memory = piece,
            false => self.memory.extend_from_slice(&piece),
        }
        if self.memory.len() <= LITTLE_BYTES {
            return Ok(());
        }
        self.has_buffer = self.has_buffer || self.claim.takes_memory(BUFFER_BYTES as u64);
        if self.has_buffer && self.memory.len() <= BUFFER_BYTES {
            return Ok(());
        }
        self.write().await
    }

    /// Put what is in memory into the file.
    async fn write(&mut self) -> Result<(), NoRoom> {
        self.claim.take_file_bytes(self.memory.len() as u64)?;
        let file = match self.file.take() {
            Some(file) => file,
            None => self.claim.file(self.context)?,
        };
        let (memory, at) = (std::mem::take(&mut self.memory), self.file_bytes);
        let write = move || {
            let written = file.write_all_at(&memory, at);
            (file, memory, written)
        };
        let done = accounting::blocking(self.spent, WaitCause::Disk, write).await;
        let (file, mut memory, written) = done.map_err(NoRoom::Failed)?;
        self.file = Some(file);
        if written.is_ok() {
            self.file_bytes += memory.len() as u64;
            memory.clear();
        }
        self.memory = memory;
        written.map_err(NoRoom::Failed)
    }

    /// Where files are, and how large all may be together.
    pub(crate) fn bounds(&self) -> (&std::path::Path, u64) {
        self.claim.bounds()
    }

    /// The body that was written, which grows no more.
    pub(crate) fn finish(self) -> Spool {
        let Self { memory, file, file_bytes, claim: _claim, .. } = self;
        Spool { kept: Rc::new(SpooledBody { memory, file, file_bytes, _claim }), at: 0 }
    }
}

/// What has come of a body, and how far it was read.
#[derive(Clone)]
pub struct Spool {
    kept: Rc<SpooledBody>,
    at: u64,
}

struct SpooledBody {
    /// What is behind the file.
    memory: Vec<u8>,
    file: Option<File>,
    file_bytes: u64,
    _claim: RoomClaim,
}

impl Spool {
    /// One that is in memory.
    pub(crate) fn of(context: &Context, memory: Vec<u8>) -> Self {
        let _claim = RoomClaim::new(context);
        Self { kept: Rc::new(SpooledBody { memory, file: None, file_bytes: 0, _claim }), at: 0 }
    }

    /// How many bytes the body has.
    pub fn length(&self) -> u64 {
        self.kept.file_bytes + self.kept.memory.len() as u64
    }

    /// The next piece of it; `None` at the end. What was just written is in memory still, and what
    /// is not is asked for ahead, so that reading it holds nobody up.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let SpooledBody { memory, file, file_bytes, .. } = &*self.kept;
        if let Some(file) = file
            && self.at < *file_bytes
        {
            if self.at.is_multiple_of(AHEAD_BYTES) {
                file::will_need(file, self.at, 2 * AHEAD_BYTES);
            }
            let piece_bytes = (file_bytes - self.at).min(PIECE_BYTES as u64);
            let mut piece = vec![0; usize::try_from(piece_bytes).unwrap_or(PIECE_BYTES)];
            file.read_exact_at(&mut piece, self.at)?;
            self.at += piece_bytes;
            return Ok(Some(piece));
        }
        let at = usize::try_from(self.at - file_bytes).unwrap_or(usize::MAX);
        let left = memory.get(at..).unwrap_or_default();
        let piece = &left[..left.len().min(PIECE_BYTES)];
        self.at += piece.len() as u64;
        Ok((!piece.is_empty()).then(|| piece.to_vec()))
    }
}
