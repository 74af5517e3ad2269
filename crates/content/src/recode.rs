//! A body that passes through a coder: at once when it is small, piece by piece when it is not.
//! The coders know nothing of requests; what they do with a piece may take milliseconds, so that
//! it is done where other connections do not wait for it.

use server::accounting::{self, TimeSpent};
use server::file_response::load_cold;
use server::representation::Representation;
use server::response::{Body, BodyPiece, BodySource, Notes};
use std::cell::Cell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{self, Poll, ready};

/// Content up to this size is coded before the head is sent, so that the head can say its length.
const AT_ONCE_BYTES: u64 = 64 * 1024;

/// Content up to this size is coded without the help of another thread: handing it over would
/// take as long.
const INLINE_BYTES: usize = 16 * 1024;

/// Changes content piece by piece.
pub(crate) trait Coder: Send {
    /// How much content it has taken in and will look at again with what comes next.
    fn held_bytes(&self) -> usize {
        0
    }
    /// How much content it is given at once: bounds its time and what it makes of it.
    fn piece_bytes(&self) -> usize;
    /// Takes `input`; appends what is ready.
    fn write(&mut self, input: &[u8], out: &mut Vec<u8>) -> io::Result<()>;
    /// Appends everything that the input so far allows: more may take long to come.
    fn flush(&mut self, out: &mut Vec<u8>) -> io::Result<()>;
    /// The input is complete.
    fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<()>;
    /// Names and values for the access log, once it is finished.
    fn notes(&self) -> Vec<(String, String)>;
}

/// How many coders a thread may have at once. Each has up to three megabytes of tables, which it
/// keeps while a slow client reads, and no request slot bounds the number of those.
const CODERS_MAX: u32 = 128;

/// The coders of a thread.
#[derive(Clone, Default)]
pub(crate) struct CoderBudget(Rc<Cell<u32>>);

/// The right to have one.
pub(crate) struct Permit(CoderBudget);

impl CoderBudget {
    /// `None` when there are too many: the response is sent as it is.
    pub(crate) fn take(&self) -> Option<Permit> {
        let taken = self.0.get();
        (taken < CODERS_MAX).then(|| self.0.set(taken + 1))?;
        Some(Permit(self.clone()))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let count = &self.0.0;
        count.set(count.get().saturating_sub(1));
    }
}

/// `body` as `coder` makes it. Its length is known if it was small; one that cannot be made becomes
/// an error when it is sent.
pub(crate) async fn recode(
    body: Body,
    coder: Box<dyn Coder>,
    permit: Option<Permit>,
    notes: &Notes,
    spent: &Rc<TimeSpent>,
) -> Body {
    let recoded = try_recode(body, coder, permit, notes, spent).await;
    // Whoever sends it meets the error, and ends the connection as for any other.
    recoded.unwrap_or_else(|error| Body::stream(Broken(Some(error))))
}

/// The same, with an error at once for a small one that cannot be made.
pub(crate) async fn try_recode(
    body: Body,
    coder: Box<dyn Coder>,
    permit: Option<Permit>,
    notes: &Notes,
    spent: &Rc<TimeSpent>,
) -> io::Result<Body> {
    // Of what is unpacked that is one small piece only: how much becomes of it is not known before.
    let at_once = AT_ONCE_BYTES.min(coder.piece_bytes() as u64);
    let is_small = body.len().is_some_and(|length| length <= at_once);
    let state = RecodeState {
        _permit: permit,
        pieces: body.pieces.into(),
        content: (Vec::new(), 0),
        coder: Some(coder),
        notes: notes.clone(),
        spent: spent.clone(),
        is_dirty: false,
    };
    let mut coded = Recoded { job: Some(Box::pin(step(state))) };
    if !is_small {
        return Ok(Body::stream(coded));
    }
    let mut bytes = Vec::new();
    loop {
        match poll_fn(|task| coded.poll_next(task)).await? {
            Some(more) => bytes.extend(more),
            None => return Ok(Body::bytes(bytes)),
        }
    }
}

/// Whether the body has at most `count` bytes. Of a stream that is known only if all of it is
/// there: one that is still being made is sent as it comes, however little that is.
pub(crate) async fn is_shorter(body: &mut Body, count: u64) -> bool {
    let [BodyPiece::Stream(source)] = body.pieces.as_mut_slice() else {
        return body.len().is_some_and(|length| length <= count);
    };
    let mut start = Vec::new();
    while start.len() as u64 <= count {
        match poll_fn(|task| Poll::Ready(source.poll_next(task))).await {
            Poll::Pending => break,
            Poll::Ready(Ok(Some(bytes))) => start.extend(bytes),
            Poll::Ready(Ok(None)) => {
                *body = Body::bytes(start);
                return true;
            }
            Poll::Ready(Err(error)) => {
                *source = Box::new(Broken(Some(error)));
                break;
            }
        }
    }
    body.pieces.insert(0, BodyPiece::Bytes(start));
    false
}

/// A body that cannot be made.
struct Broken(Option<io::Error>);

impl BodySource for Broken {
    fn poll_next(&mut self, _: &mut task::Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>> {
        Poll::Ready(self.0.take().map_or(Ok(None), Err))
    }
}

/// What is left to be done between two pieces.
struct RecodeState {
    pieces: VecDeque<BodyPiece>,
    /// Content in memory that comes before `pieces`, and how much of it is done.
    content: (Vec<u8>, usize),
    /// `None` when the body is complete.
    coder: Option<Box<dyn Coder>>,
    notes: Notes,
    spent: Rc<TimeSpent>,
    /// Whether the coder may hold something back.
    is_dirty: bool,
    /// Given back with the coder.
    _permit: Option<Permit>,
}

type Step = Pin<Box<dyn Future<Output = io::Result<(RecodeState, Vec<u8>)>>>>;

struct Recoded {
    /// `None` after the end and after an error.
    job: Option<Step>,
}

impl BodySource for Recoded {
    fn poll_next(&mut self, task: &mut task::Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>> {
        let Some(job) = &mut self.job else { return Poll::Ready(Ok(None)) };
        let result = ready!(job.as_mut().poll(task));
        self.job = None;
        let (state, bytes) = result?;
        if state.coder.is_some() {
            self.job = Some(Box::pin(step(state)));
        }
        Poll::Ready(Ok(Some(bytes)))
    }
}

/// What the coder is to do next.
enum Input {
    Bytes(Vec<u8>),
    /// Nothing is there yet.
    Pause,
    End,
}

/// Code one piece of the input.
async fn step(mut state: RecodeState) -> io::Result<(RecodeState, Vec<u8>)> {
    let Some(mut coder) = state.coder.take() else { return Ok((state, Vec::new())) };
    let input = next_input(&mut state, coder.piece_bytes()).await?;
    let is_end = matches!(input, Input::End);
    state.is_dirty = matches!(input, Input::Bytes(_));
    let held = coder.held_bytes();
    let is_short = !matches!(&input, Input::Bytes(bytes) if bytes.len() + held > INLINE_BYTES);
    let work = move || {
        let mut out = Vec::new();
        let result = match input {
            Input::Bytes(bytes) => coder.write(&bytes, &mut out),
            Input::Pause => coder.flush(&mut out),
            Input::End => coder.finish(&mut out),
        };
        (coder, result.map(|()| out))
    };
    let (coder, result) = match is_short {
        true => work(),
        // It needs nothing but a processor.
        false => accounting::compute(&state.spent, |_| work()).await?,
    };
    let out = result?;
    if is_end {
        state.notes.borrow_mut().extend(coder.notes());
    } else {
        state.coder = Some(coder);
    }
    Ok((state, out))
}

/// At most `count` bytes of the body.
async fn next_input(state: &mut RecodeState, count: usize) -> io::Result<Input> {
    loop {
        let (content, done) = &mut state.content;
        if *done < content.len() {
            let end = content.len().min(*done + count);
            let bytes = content[*done..end].to_vec();
            *done = end;
            return Ok(Input::Bytes(bytes));
        }
        match state.pieces.pop_front() {
            None => return Ok(Input::End),
            Some(BodyPiece::Bytes(bytes)) => state.content = (bytes, 0),
            Some(BodyPiece::File { source, offset, length }) => {
                let now = length.min(count as u64);
                let (next, left) = (offset + now, length - now);
                if left > 0 {
                    let source = source.clone();
                    state.pieces.push_front(BodyPiece::File { source, offset: next, length: left });
                }
                state.content = (read_file(&source, offset, now, &state.spent).await?, 0);
            }
            Some(BodyPiece::Stream(mut source)) => {
                let ready = poll_fn(|task| Poll::Ready(source.poll_next(task))).await;
                let next = match ready {
                    // What came before is the client's.
                    Poll::Ready(Err(error)) if state.is_dirty => {
                        state.pieces.push_front(BodyPiece::Stream(Box::new(Broken(Some(error)))));
                        return Ok(Input::Pause);
                    }
                    Poll::Ready(next) => next?,
                    // What is there must not wait in the coder for what may come much later.
                    Poll::Pending if state.is_dirty => {
                        state.pieces.push_front(BodyPiece::Stream(source));
                        return Ok(Input::Pause);
                    }
                    Poll::Pending => poll_fn(|task| source.poll_next(task)).await?,
                };
                if let Some(bytes) = next {
                    state.pieces.push_front(BodyPiece::Stream(source));
                    state.content = (bytes, 0);
                }
            }
        }
    }
}

/// A file that has become shorter is an error: no other bytes may take the place of its own.
pub(crate) async fn read_file(
    source: &Representation,
    offset: u64,
    length: u64,
    spent: &TimeSpent,
) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    if !bytes.is_empty() {
        load_cold(source, offset, bytes.len(), Some(spent)).await?;
        source.file.read_exact_at(&mut bytes, offset)?;
    }
    Ok(bytes)
}
