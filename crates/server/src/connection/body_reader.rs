//! The body of a response as bytes, for a protocol that frames what it sends and cannot leave files
//! to the kernel.

use super::body_faults::{cut_short, poll_source, truncated};
use super::stream::RequestStream;
use super::waits::unless_gone;
use crate::file_response::load_cold;
use crate::held::HeldSlot;
use crate::representation::Representation;
use crate::response::{Body, BodyPiece};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::pin::pin;
use std::rc::Rc;

/// Part of a file that is read at once.
const FILE_BYTES: u64 = 64 * 1024;

/// Reads a body piece by piece.
pub(crate) struct BodyReader {
    pieces: std::vec::IntoIter<BodyPiece>,
    /// What is left of the present piece.
    now: Option<BodyPiece>,
    client: SocketAddr,
}

impl BodyReader {
    /// A body that is sent to `client`.
    pub(crate) fn new(body: Body, client: SocketAddr) -> Self {
        Self { pieces: body.pieces.into_iter(), now: None, client }
    }

    /// The next bytes, `None` at the end. An error of the kind `UnexpectedEof` is not the client's
    /// fault: the body cannot be completed, and its end must not be said.
    pub(crate) async fn next(
        &mut self,
        stream: &mut impl RequestStream,
        held: Option<&HeldSlot>,
    ) -> io::Result<Option<Vec<u8>>> {
        loop {
            match self.now.take().or_else(|| self.pieces.next()) {
                None => return Ok(None),
                Some(BodyPiece::Bytes(bytes)) => return Ok(Some(bytes)),
                Some(BodyPiece::File { length: 0, .. }) => {}
                Some(BodyPiece::File { source, offset, length }) => {
                    let count = length.min(FILE_BYTES);
                    let (bytes, rest) = (part(&source, offset, count, held).await, length - count);
                    let bytes =
                        bytes.map_err(|_| truncated(stream.context(), self.client, &source))?;
                    self.now =
                        Some(BodyPiece::File { source, offset: offset + count, length: rest });
                    return Ok(Some(bytes));
                }
                Some(BodyPiece::Stream(mut source)) => {
                    let work = pin!(poll_fn(|task| poll_source(source.as_mut(), task)));
                    let gone = Err(io::ErrorKind::ConnectionReset.into());
                    let next = unless_gone(stream, work).await.unwrap_or(gone);
                    match next.map_err(|error| cut_short(stream.context(), self.client, error))? {
                        None => {}
                        Some(bytes) => {
                            self.now = Some(BodyPiece::Stream(source));
                            if !bytes.is_empty() {
                                return Ok(Some(bytes));
                            }
                            runtime::thread::yield_now().await;
                        }
                    }
                }
            }
        }
    }
}

async fn part(
    source: &Rc<Representation>,
    offset: u64,
    count: u64,
    held: Option<&HeldSlot>,
) -> io::Result<Vec<u8>> {
    let count = usize::try_from(count).unwrap_or(0);
    load_cold(source, offset, count, held.map(HeldSlot::spent)).await?;
    let mut bytes = vec![0; count];
    source.file.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}
