//! What a page has come to so far: bytes in memory, parts of files, and what programs say.

use crate::recode::read_file;
use message::Status;
use server::accounting::TimeSpent;
use server::failure::Failure;
use server::representation::Representation;
use server::response::{Body, BodyPiece};
use std::future::poll_fn;
use std::rc::Rc;

/// How much of a page may be in memory. Large parts of files are not; what is made of them is.
const MEMORY_MAX_BYTES: usize = 32 * 1024 * 1024;

/// How much of what a program says is waited for before the page goes on: the next program is to
/// find what this one has done. Of one that says more, the rest comes when it is sent.
const PROGRAM_BYTES: usize = 1024 * 1024;

/// Text of a file that is as long is sent from there.
const FROM_FILE_BYTES: usize = 16 * 1024;

/// How much of a file is read at once.
pub(super) const READ_BYTES: u64 = 64 * 1024;

/// A page in the making.
#[derive(Default)]
pub(super) struct Output {
    pieces: Vec<BodyPiece>,
    /// What comes behind the pieces.
    last: Vec<u8>,
    /// How much there is in memory.
    bytes: usize,
}

/// Text of a page that lies in a file, and where.
pub(super) struct InFile<'s> {
    pub(super) source: &'s Rc<Representation>,
    pub(super) offset: u64,
}

impl Output {
    /// Append text.
    pub(super) fn text(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        self.last.extend_from_slice(bytes);
    }

    /// Append text that stands in a file as well.
    pub(super) fn text_of_file(&mut self, bytes: &[u8], place: &InFile<'_>) {
        let length = bytes.len() as u64;
        if self.last.is_empty()
            && let Some(BodyPiece::File { source, offset, length: before }) = self.pieces.last_mut()
            && Rc::ptr_eq(source, place.source)
            && *offset + *before == place.offset
        {
            *before += length;
        } else if bytes.len() >= FROM_FILE_BYTES {
            let (source, offset) = (place.source.clone(), place.offset);
            self.piece(BodyPiece::File { source, offset, length });
        } else {
            self.text(bytes);
        }
    }

    /// Append the content of another response.
    pub(super) async fn body(&mut self, body: Body) -> Result<(), Failure> {
        for piece in body.pieces {
            match piece {
                BodyPiece::Bytes(bytes) => self.text(&bytes),
                BodyPiece::Stream(source) => self.program(source).await?,
                piece @ BodyPiece::File { .. } => self.piece(piece),
            }
            self.check()?;
        }
        Ok(())
    }

    async fn program(
        &mut self,
        mut source: Box<dyn server::response::BodySource>,
    ) -> Result<(), Failure> {
        let mut left = PROGRAM_BYTES;
        loop {
            match poll_fn(|task| source.poll_next(task)).await {
                Ok(Some(bytes)) => {
                    self.text(&bytes);
                    left = left.saturating_sub(bytes.len());
                }
                Ok(None) => return Ok(()),
                Err(error) => return Err(cut(&error)),
            }
            self.check()?;
            if left == 0 {
                self.piece(BodyPiece::Stream(source));
                return Ok(());
            }
        }
    }

    fn piece(&mut self, piece: BodyPiece) {
        self.end_text();
        self.pieces.push(piece);
    }

    fn end_text(&mut self) {
        if !self.last.is_empty() {
            self.pieces.push(BodyPiece::Bytes(std::mem::take(&mut self.last)));
        }
    }

    /// Whether there is no more in memory than there may be.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.bytes <= MEMORY_MAX_BYTES {
            return Ok(());
        }
        let text = format!("a page has become larger than {} MiB", MEMORY_MAX_BYTES >> 20);
        Err(Failure::new(Status::INTERNAL_SERVER_ERROR, "include", text).at_error())
    }

    /// The page.
    pub(super) fn end(mut self) -> Body {
        self.end_text();
        Body { pieces: self.pieces }
    }
}

/// The next bytes of a body that is to be parsed; `None` at its end.
pub(super) async fn next(
    pieces: &mut std::collections::VecDeque<BodyPiece>,
    spent: &TimeSpent,
) -> Result<Option<Vec<u8>>, Failure> {
    loop {
        match pieces.pop_front() {
            None => return Ok(None),
            Some(BodyPiece::Bytes(bytes)) => return Ok(Some(bytes)),
            Some(BodyPiece::File { source, offset, length }) => {
                let now = length.min(READ_BYTES);
                if now < length {
                    let (source, offset) = (source.clone(), offset + now);
                    pieces.push_front(BodyPiece::File { source, offset, length: length - now });
                }
                let read = read_file(&source, offset, now, spent).await;
                let bytes = read.map_err(|error| cut(&error))?;
                return Ok(Some(bytes));
            }
            Some(BodyPiece::Stream(mut source)) => {
                let next = poll_fn(|task| source.poll_next(task)).await;
                if let Some(bytes) = next.map_err(|error| cut(&error))? {
                    pieces.push_front(BodyPiece::Stream(source));
                    return Ok(Some(bytes));
                }
            }
        }
    }
}

fn cut(error: &std::io::Error) -> Failure {
    let text = format!("a part of a page was cut short: {error}");
    Failure::new(Status::INTERNAL_SERVER_ERROR, "include", text).at_error()
}
