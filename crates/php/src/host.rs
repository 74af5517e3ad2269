//! What PHP calls while a script runs, on the script's own stack. What only the server can answer
//! suspends the script; the rest is done here: output is collected, fields of the response are kept
//! as httpd's tables keep them.
#![allow(unsafe_code)]

use crate::border::{BorderHost, BorderPair, BorderReply, BorderText, field_change, question};
use crate::step::{Answer, Asked, Field, Output, ScriptHead, Step};
use corosensei::Yielder;
use std::ffi::{c_char, c_void};

/// Output that a script may have made before it is taken: most pages are smaller, and are sent with
/// their length.
const OUTPUT_BYTES: usize = 64 * 1024;

/// The functions, for C.
pub(crate) static HOST: BorderHost = BorderHost { write, flush, read, field, head, log, ask };

/// The server, as the script that runs sees it.
pub(crate) struct ScriptHost<'y> {
    yielder: &'y Yielder<Answer, Step>,
    output: Output,
    /// Fields of the response.
    fields: Vec<Field>,
    /// What is left of a piece of the body of the request.
    body: Vec<u8>,
    body_read: usize,
    /// Nobody takes what is written.
    is_gone: bool,
    reply: ReplyMemory,
}

/// What the last answer consists of, as long as C looks at it.
#[derive(Default)]
struct ReplyMemory {
    texts: Vec<u8>,
    pairs: Vec<BorderPair>,
}

impl<'y> ScriptHost<'y> {
    /// The host of a script that begins with this answer.
    pub(crate) fn new(yielder: &'y Yielder<Answer, Step>, first: &Answer) -> Self {
        Self {
            yielder,
            output: Output::default(),
            fields: Vec::new(),
            body: Vec::new(),
            body_read: 0,
            is_gone: matches!(first, Answer::Gone),
            reply: ReplyMemory::default(),
        }
    }

    /// What was written last.
    pub(crate) fn into_output(self) -> Output {
        self.output
    }

    fn write(&mut self, bytes: &[u8]) -> bool {
        if !self.is_gone {
            self.output.body.extend_from_slice(bytes);
            if self.output.body.len() >= OUTPUT_BYTES {
                self.hand_over();
            }
        }
        !self.is_gone
    }

    /// Have what was written taken, and sent.
    fn hand_over(&mut self) {
        if self.is_gone {
            return;
        }
        let output = std::mem::take(&mut self.output);
        self.suspend(Step::Wrote(output));
    }

    /// Ask the server, and go on with its answer.
    fn suspend(&mut self, step: Step) -> Answer {
        let answer = self.yielder.suspend(step);
        self.is_gone |= matches!(answer, Answer::Gone);
        answer
    }

    fn read(&mut self, to: &mut [u8]) -> usize {
        if self.body_read == self.body.len() {
            let Answer::Body(body) = self.suspend(Step::Asks(Asked::Body)) else { return 0 };
            (self.body, self.body_read) = (body, 0);
        }
        let rest = &self.body[self.body_read..];
        let length = rest.len().min(to.len());
        to[..length].copy_from_slice(&rest[..length]);
        self.body_read += length;
        length
    }

    /// As apr_table_set, apr_table_add, apr_table_unset and apr_table_clear do.
    fn change_field(&mut self, change: u32, name: &[u8], value: &[u8]) {
        let is_it = |field: &Field| field.0.eq_ignore_ascii_case(name);
        match change {
            field_change::SET => {
                let Some(first) = self.fields.iter().position(is_it) else {
                    return self.fields.push((name.to_vec(), value.to_vec()));
                };
                self.fields[first].1 = value.to_vec();
                let mut nth = 0;
                self.fields.retain(|field| {
                    nth += 1;
                    nth <= first + 1 || !is_it(field)
                });
            }
            field_change::ADD => self.fields.push((name.to_vec(), value.to_vec())),
            field_change::UNSET => self.fields.retain(|field| !is_it(field)),
            field_change::UNSET_ALL => self.fields.clear(),
            _ => {}
        }
    }

    fn begin(&mut self, status: u32, status_line: &[u8], content_type: &[u8]) {
        self.output.head = Some(ScriptHead {
            status: u16::try_from(status).unwrap_or(500),
            status_line: (!status_line.is_empty()).then(|| status_line.to_vec()),
            content_type: content_type.to_vec(),
            fields: self.fields.clone(),
        });
        // The script may ask what was sent.
        if !content_type.is_empty() {
            self.fields.push((b"Content-Type".to_vec(), content_type.to_vec()));
        }
    }

    fn ask(&mut self, number: u32, first: &[u8], second: &[u8]) -> BorderReply {
        let Some(asked) = self.asked(number, first, second) else {
            return self.reply.fill(500, None, &[]);
        };
        match self.suspend(Step::Asks(asked)) {
            Answer::Reply { status, text, pairs } => {
                self.reply.fill(status, text.as_deref(), &pairs)
            }
            _ => self.reply.fill(500, None, &[]),
        }
    }

    fn asked(&mut self, number: u32, first: &[u8], second: &[u8]) -> Option<Asked> {
        let (first, second) = (first.to_vec(), second.to_vec());
        Some(match number {
            question::GET_VARIABLE => Asked::Variable(first),
            question::SET_VARIABLE => Asked::SetVariable(first, second),
            question::GET_NOTE => Asked::Note(first),
            question::SET_NOTE => Asked::SetNote(first, second),
            question::VARIABLES => Asked::Variables,
            question::REQUEST_FIELDS => Asked::RequestFields,
            question::RESPONSE_FIELDS => Asked::ResponseFields(self.fields.clone()),
            question::LOOK_UP => Asked::LookUp(first),
            question::INCLUDE => Asked::Include(first, std::mem::take(&mut self.output)),
            question::SERVER => Asked::Server,
            question::MODULES => Asked::Modules,
            question::FINISH => Asked::Finish(std::mem::take(&mut self.output)),
            _ => return None,
        })
    }
}

impl ReplyMemory {
    /// Put an answer where C can read it: each text is followed by a zero.
    fn fill(&mut self, status: u32, text: Option<&[u8]>, pairs: &[Field]) -> BorderReply {
        self.texts.clear();
        let all = pairs.iter().flat_map(|pair| [&pair.0[..], &pair.1]).chain(text);
        let mut spans = Vec::with_capacity(2 * pairs.len() + 1);
        for text in all {
            let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
            spans.push((self.texts.len(), text.len()));
            self.texts.extend_from_slice(text);
            self.texts.push(0);
        }
        let shown =
            |(start, length): (usize, usize)| BorderText::of(&self.texts[start..start + length]);
        let text = match text {
            Some(_) => spans.pop().map_or(BorderText::NOTHING, shown),
            None => BorderText::NOTHING,
        };
        let pair =
            |row: &[(usize, usize)]| BorderPair { name: shown(row[0]), value: shown(row[1]) };
        self.pairs = spans.chunks_exact(2).map(pair).collect();
        let (pairs, pairs_count) = (self.pairs.as_ptr(), self.pairs.len());
        BorderReply { status, text, pairs, pairs_count }
    }
}

/// The host that a run was started with.
///
/// # Safety
/// `run` is what was passed to the module's `run`, which has not returned, and nobody else uses it.
unsafe fn host<'h>(run: *mut c_void) -> &'h mut ScriptHost<'static> {
    // SAFETY: see above. While the script is suspended inside of one of these calls, it makes no
    // other: there is one stack, and one reference.
    unsafe { &mut *run.cast() }
}

extern "C" fn write(run: *mut c_void, at: *const c_char, length: usize) -> u32 {
    // SAFETY: the module passes what it was given, and bytes that are there until this returns.
    let (host, bytes) = unsafe { (host(run), BorderText { at, length }.bytes()) };
    host.write(bytes).into()
}

extern "C" fn flush(run: *mut c_void) -> u32 {
    // SAFETY: the module passes what it was given.
    let host = unsafe { host(run) };
    host.hand_over();
    (!host.is_gone).into()
}

extern "C" fn read(run: *mut c_void, to: *mut c_char, room: usize) -> usize {
    // SAFETY: the module passes what it was given, and a buffer of its own with so much room, in
    // which any byte may stand.
    let (host, to) = unsafe {
        std::ptr::write_bytes(to, 0, room);
        (host(run), std::slice::from_raw_parts_mut(to.cast::<u8>(), room))
    };
    host.read(to)
}

extern "C" fn field(run: *mut c_void, change: u32, name: BorderText, value: BorderText) {
    // SAFETY: the module passes what it was given, and texts that are there until this returns.
    let (host, name, value) = unsafe { (host(run), name.bytes(), value.bytes()) };
    host.change_field(change, name, value);
}

extern "C" fn head(run: *mut c_void, status: u32, line: BorderText, content_type: BorderText) {
    // SAFETY: as above.
    let (host, line, content_type) = unsafe { (host(run), line.bytes(), content_type.bytes()) };
    host.begin(status, line, content_type);
}

extern "C" fn log(run: *mut c_void, level: i32, text: BorderText) {
    // SAFETY: as above.
    let (host, text) = unsafe { (host(run), text.bytes()) };
    host.suspend(Step::Asks(Asked::Log(level, text.to_vec())));
}

extern "C" fn ask(
    run: *mut c_void,
    number: u32,
    first: BorderText,
    second: BorderText,
    reply: *mut BorderReply,
) {
    // SAFETY: as above.
    let (host, first, second) = unsafe { (host(run), first.bytes(), second.bytes()) };
    let answer = host.ask(number, first, second);
    // SAFETY: the module passes a place of its own.
    unsafe { reply.write(answer) };
}
