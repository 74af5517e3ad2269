//! A request body whose length the client does not say, for programs that have to be told: it is
//! kept until its end is known, in memory while it is small, else in a file without a name.

use crate::accounting::{self, Spent};
use crate::incoming::Incoming;
use crate::modules::filter::input::Unpacker;
use http1::Refusal;
use message::Status;
use scoreboard::Cause;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// What is kept in memory.
const MEMORY_BYTES: usize = 64 * 1024;

/// Bytes that are taken out of the file at a time.
const PIECE_BYTES: usize = 32 * 1024;

/// A whole body.
pub(crate) struct Spool {
    memory: Vec<u8>,
    file: Option<File>,
    length: u64,
}

impl Spool {
    /// All of `incoming`.
    ///
    /// # Errors
    /// The refusal that it ends in; 500 if there is no room for it.
    pub(crate) async fn fill(incoming: &Incoming, spent: &Spent) -> Result<Self, Refusal> {
        let mut spool = Self { memory: Vec::new(), file: None, length: 0 };
        loop {
            let waiting = spent.wait(Cause::ClientRead);
            let piece = incoming.read().await?;
            drop(waiting);
            let Some(piece) = piece else { break };
            spool.length += piece.len() as u64;
            spool.add(piece, spent).await.map_err(|_| no_room())?;
        }
        spool.rewind()?;
        Ok(spool)
    }

    /// The same of a body that is unpacked. A piece is unpacked by whoever is asked for it, so that
    /// no more than a few of them are there at once.
    ///
    /// # Errors
    /// As above, and what is wrong with the packed body.
    pub(crate) async fn unpack(
        incoming: &Incoming,
        mut unpacker: Unpacker,
        spent: &Spent,
    ) -> Result<Self, Refusal> {
        let mut spool = Self { memory: Vec::new(), file: None, length: 0 };
        loop {
            let waiting = spent.wait(Cause::ClientRead);
            let packed = incoming.read().await?;
            drop(waiting);
            let Some(packed) = packed else { break };
            for part in packed.chunks(unpacker.piece_bytes()) {
                let mut piece = Vec::new();
                unpacker.write(part, &mut piece)?;
                spool.length += piece.len() as u64;
                spool.add(piece, spent).await.map_err(|_| no_room())?;
            }
        }
        unpacker.finish()?;
        spool.rewind()?;
        Ok(spool)
    }

    fn rewind(&mut self) -> Result<(), Refusal> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let rewound = file.seek(SeekFrom::Start(0)).map(|_| ());
        rewound.map_err(|_| Refusal::bad_request("a request body cannot be read again"))
    }

    async fn add(&mut self, piece: Vec<u8>, spent: &Spent) -> io::Result<()> {
        if self.file.is_none() && self.memory.len() + piece.len() <= MEMORY_BYTES {
            self.memory.extend_from_slice(&piece);
            return Ok(());
        }
        let mut file = match self.file.take() {
            Some(file) => file,
            None => runtime::file::unnamed()?,
        };
        let before = std::mem::take(&mut self.memory);
        let write = move || {
            file.write_all(&before)?;
            file.write_all(&piece)?;
            Ok::<File, io::Error>(file)
        };
        self.file = Some(accounting::blocking(spent, Cause::Disk, write).await??);
        Ok(())
    }

    /// Its length.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The same once more, as long as nothing of it was read.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub(crate) fn again(&self) -> io::Result<Self> {
        let file = self.file.as_ref().map(File::try_clone).transpose()?;
        Ok(Self { memory: self.memory.clone(), file, length: self.length })
    }

    /// The next piece of it; `None` at the end. What was just written is in memory still, so that
    /// reading it holds nobody up.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        if !self.memory.is_empty() {
            return Ok(Some(std::mem::take(&mut self.memory)));
        }
        let Some(file) = &mut self.file else { return Ok(None) };
        let mut piece = vec![0; PIECE_BYTES];
        let length = file.read(&mut piece)?;
        piece.truncate(length);
        Ok((length > 0).then_some(piece))
    }
}

fn no_room() -> Refusal {
    let why = "there is no room to keep a request body without a length";
    Refusal::new(Status::INTERNAL_SERVER_ERROR, why)
}
