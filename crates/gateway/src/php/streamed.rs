//! A script and what it needs while it runs, and one whose response is being sent: it comes with
//! the response, and pieces of it are asked for as the client takes them.

use super::log::PhpLog;
use super::questions::{self, Asker};
use php::{Answer, Asked, Output, ScriptRun, Step};
use server::response::{BodySource, Notes};
use server::script::body::ScriptBody;
use server::table::Table;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::task::{self, Poll};

/// What a script may write while nobody takes it, because another one has to run: the rest is lost.
const KEPT_BYTES: usize = 16 << 20;

/// The note that tells how much memory a script has taken.
pub(super) const MEMORY_NOTE: &str = "mod_php_memory_usage";

/// A script and what it needs while it runs.
pub(super) struct RunningScript {
    pub(super) run: ScriptRun,
    pub(super) body: ScriptBody,
    pub(super) log: PhpLog,
    pub(super) asker: Asker,
}

impl RunningScript {
    /// Run the script on until it has written something, asks something that is not answered here,
    /// or has ended. The `answer` is taken; what is put there instead is for the next call after a
    /// wait.
    pub(super) fn poll_step(&mut self, answer: &mut Option<Answer>) -> Poll<Step> {
        loop {
            let step = match answer.take() {
                Some(answer) => self.resume(answer),
                None => Step::Asks(Asked::Body),
            };
            *answer = Some(match step {
                Step::Asks(Asked::Log(level, text)) => {
                    self.log.write(level, &text);
                    Answer::Go
                }
                Step::Asks(Asked::Body) => match self.body.poll_next() {
                    Poll::Pending => return Poll::Pending,
                    // What is missing is missing, as in mod_php.
                    Poll::Ready(piece) => Answer::Body(piece.ok().flatten().unwrap_or_default()),
                },
                step => return Poll::Ready(step),
            });
        }
    }

    fn resume(&mut self, answer: Answer) -> Step {
        let over = || Step::Ended { output: Output::default(), peak_bytes: 0 };
        self.run.resume(answer).unwrap_or_else(over)
    }

    /// Run it to its end, whatever it writes.
    fn run_to_end(&mut self, env: &mut Table, notes: &Notes) {
        let mut answer = Some(Answer::Gone);
        while self.run.is_under_way() {
            answer = match self.poll_step(&mut answer) {
                // It waits for a body that nobody sends any more.
                Poll::Pending => Some(Answer::Body(Vec::new())),
                Poll::Ready(Step::Asks(asked)) => {
                    Some(questions::answer(&self.asker, env, notes, asked))
                }
                Poll::Ready(_) => Some(Answer::Gone),
            };
        }
    }
}

impl Drop for RunningScript {
    /// Nobody takes what it writes any more; what it says to the log is kept.
    fn drop(&mut self) {
        self.run_to_end(&mut Table::default(), &Notes::default());
    }
}

/// A script whose response is being sent.
pub(super) struct StreamedScript {
    script: RunningScript,
    env: Table,
    notes: Notes,
    /// Pieces that wait to be sent.
    ready: VecDeque<Vec<u8>>,
    /// What it goes on with; `None` while it waits for the body of the request.
    next: Option<Answer>,
    is_over: bool,
}

impl StreamedScript {
    /// A script whose response begins with this.
    pub(super) fn new(script: RunningScript, env: Table, notes: Notes, first: Vec<u8>) -> Self {
        let (ready, next) = (VecDeque::from([first]), Some(Answer::Go));
        Self { script, env, notes, ready, next, is_over: false }
    }

    /// Run it until there is a piece, or its end.
    fn poll_next(&mut self) -> Poll<Option<Vec<u8>>> {
        loop {
            if let Some(piece) = self.ready.pop_front().filter(|piece| !piece.is_empty()) {
                return Poll::Ready(Some(piece));
            }
            if self.is_over {
                return Poll::Ready(None);
            }
            match self.script.poll_step(&mut self.next) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(step) => self.take(step),
            }
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Wrote(output) => {
                self.ready.push_back(output.body);
                self.next = Some(Answer::Go);
            }
            Step::Asks(asked) => {
                if let Asked::Include(_, output) | Asked::Finish(output) = &asked {
                    self.ready.push_back(output.body.clone());
                }
                let Self { script, env, notes, .. } = self;
                self.next = Some(questions::answer(&script.asker, env, notes, asked));
            }
            Step::Ended { output, peak_bytes } => {
                self.ready.push_back(output.body);
                let note = (MEMORY_NOTE.to_owned(), peak_bytes.to_string());
                self.notes.borrow_mut().push(note);
                self.is_over = true;
            }
        }
    }

    /// Another script has to run: keep what this one writes until it is taken.
    pub(super) fn run_to_end(&mut self) {
        while !self.is_over {
            match self.script.poll_step(&mut self.next) {
                // Nobody waits for the body here.
                Poll::Pending => self.next = Some(Answer::Body(Vec::new())),
                Poll::Ready(step) => self.take(step),
            }
            let kept: usize = self.ready.iter().map(Vec::len).sum();
            if kept > KEPT_BYTES && !self.is_over {
                self.next = Some(Answer::Gone);
            }
        }
    }
}

/// The body of such a response.
pub(super) struct ScriptStream(pub(super) Rc<RefCell<StreamedScript>>);

impl ScriptStream {
    /// Nobody waits for what it writes: run it to its end.
    pub(super) fn finish(self) {
        let mut streamed = self.0.borrow_mut();
        if !streamed.is_over {
            streamed.next = Some(Answer::Gone);
            streamed.run_to_end();
        }
    }
}

impl BodySource for ScriptStream {
    fn poll_next(&mut self, _: &mut task::Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>> {
        self.0.borrow_mut().poll_next().map(Ok)
    }
}
