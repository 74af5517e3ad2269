//! A script under way, as whoever started it sees it: it runs until it has written something or
//! needs an answer, and goes on when it has got one.
#![allow(unsafe_code)]

use crate::host::{HOST, ScriptHost};
use crate::module::Started;
use crate::request::ScriptRequest;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use std::cell::RefCell;
use std::io;
use std::rc::Rc;

/// The stack of a script: as much as the first thread of a process usually has. Only what is used
/// takes memory.
const STACK_BYTES: usize = 8 << 20;

/// Name and value.
pub type Field = (Vec<u8>, Vec<u8>);

/// Names and values that answer a question.
pub type ReplyPairs = Vec<Field>;

/// The head of the answer of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptHead {
    /// The status.
    pub status: u16,
    /// `HTTP/1.1 404 Not Here`, if the script has said one.
    pub status_line: Option<Vec<u8>>,
    /// The value of `Content-Type`.
    pub content_type: Vec<u8>,
    /// All other fields, as the script has said them.
    pub fields: Vec<Field>,
}

/// What a script has written since it was asked last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The head, with the first of it.
    pub head: Option<ScriptHead>,
    /// A piece of the body.
    pub body: Vec<u8>,
}

/// What a script needs to know, or to have done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// More of the body of the request.
    Body,
    /// A line of the log, with the level of syslog(3).
    Log(i32, Vec<u8>),
    /// The value of a variable.
    Variable(Vec<u8>),
    /// Set one.
    SetVariable(Vec<u8>, Vec<u8>),
    /// The value of a note.
    Note(Vec<u8>),
    /// Set one.
    SetNote(Vec<u8>, Vec<u8>),
    /// All variables.
    Variables,
    /// The fields of the request.
    RequestFields,
    /// The fields of the response; these are what the script has said itself.
    ResponseFields(Vec<Field>),
    /// What a URL leads to.
    LookUp(Vec<u8>),
    /// What a URL leads to is to come next, behind this output. A text that answers is the file of
    /// a script that is run in the middle of this one.
    Include(Vec<u8>, Output),
    /// What the server says of itself: its version as a text, and rows for a page.
    Server,
    /// The modules that are there.
    Modules,
    /// With this output the answer is complete, although the script goes on.
    Finish(Output),
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Go on.
    Go,
    /// Go on; nobody takes what is written any more.
    Gone,
    /// A piece of the body of the request; an empty one is its end.
    Body(Vec<u8>),
    /// The answer to a question.
    Reply {
        /// 200, or what is wrong.
        status: u32,
        /// A text, if there is one.
        text: Option<Vec<u8>>,
        /// Names and values.
        pairs: ReplyPairs,
    },
}

impl Answer {
    /// A text, or that there is none.
    pub fn text(text: Option<Vec<u8>>) -> Self {
        Self::Reply { status: 200, text, pairs: Vec::new() }
    }

    /// Names and values.
    pub fn pairs(pairs: ReplyPairs) -> Self {
        Self::Reply { status: 200, text: None, pairs }
    }

    /// It is done, or failed with this status.
    pub fn status(status: u32) -> Self {
        Self::Reply { status, text: None, pairs: Vec::new() }
    }
}

/// Why a script does not run on for now.
#[derive(Debug)]
pub enum Step {
    /// It has written this, as much as is kept, or it wants it sent. Go on with [`Answer::Go`] or
    /// [`Answer::Gone`].
    Wrote(Output),
    /// It waits for an answer.
    Asks(Asked),
    /// It has ended.
    Ended {
        /// What it has written last.
        output: Output,
        /// The most memory that it has taken.
        peak_bytes: usize,
    },
}

/// Where the scripts of a thread run, one at a time.
#[derive(Default)]
pub struct Stacks(RefCell<Option<DefaultStack>>);

/// A script that was started. One that is dropped runs to its end, as that of a client that has
/// gone: PHP cannot be stopped from outside.
pub struct ScriptRun {
    coroutine: Option<Coroutine<Answer, Step, (Output, usize), DefaultStack>>,
    stacks: Rc<Stacks>,
}

impl ScriptRun {
    /// Prepare to run a script: it begins with the first answer. PHP runs one script at a time, so
    /// the caller makes sure that none is under way in this process.
    ///
    /// # Errors
    /// When there is no memory for a stack.
    pub fn new(started: &Started, stacks: &Rc<Stacks>, request: ScriptRequest) -> io::Result<Self> {
        let module = started.module();
        let kept = stacks.0.borrow_mut().take();
        let stack = kept.map_or_else(|| DefaultStack::new(STACK_BYTES), Ok)?;
        let coroutine = Coroutine::with_stack(stack, move |yielder, answer: Answer| {
            let mut host = ScriptHost::new(yielder, &answer);
            let request = request.for_border();
            // SAFETY: the module was started; request and host live until it returns; the host is
            // used through this pointer only, by the functions of `HOST`.
            let peak_bytes = unsafe {
                (module.table().run)(&raw const request.request, &raw const HOST, {
                    (&raw mut host).cast()
                })
            };
            (host.into_output(), peak_bytes)
        });
        Ok(Self { coroutine: Some(coroutine), stacks: stacks.clone() })
    }

    /// Run the script on; `None` when it has ended before.
    pub fn resume(&mut self, answer: Answer) -> Option<Step> {
        let coroutine = self.coroutine.as_mut()?;
        match coroutine.resume(answer) {
            CoroutineResult::Yield(step) => Some(step),
            CoroutineResult::Return((output, peak_bytes)) => {
                let stack = self.coroutine.take().map(Coroutine::into_stack);
                *self.stacks.0.borrow_mut() = stack;
                Some(Step::Ended { output, peak_bytes })
            }
        }
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.coroutine.is_none()
    }
}

impl Drop for ScriptRun {
    fn drop(&mut self) {
        // One that was never begun has no frame of C on its stack.
        if self.coroutine.as_ref().is_some_and(|coroutine| !coroutine.started()) {
            return;
        }
        while self.resume(Answer::Gone).is_some() {}
    }
}
