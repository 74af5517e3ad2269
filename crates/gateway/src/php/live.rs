//! A script that runs. Before its response begins the request is there to answer its questions;
//! afterwards the script comes with the response, and pieces of it are asked for as the client
//! takes them.

use super::engine::PhpThread;
use super::log::PhpLog;
use super::{NAME, questions};
use message::Status;
use php::{Answer, Asked, Output, ScriptRequest, ScriptRun, Step};
use server::Server;
use server::failure::Failure;
use server::received_request::ReceivedRequest;
use server::request_context::RequestContext;
use server::response::{BodySource, Notes};
use server::script::body::ScriptBody;
use server::table::Table;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{self, Poll};

/// What a script may write while nobody takes it, because another one has to run: the rest is lost.
const KEPT_BYTES: usize = 16 << 20;

/// The note that tells how much memory a script has taken.
pub(super) const MEMORY_NOTE: &str = "mod_php_memory_usage";

/// A script whose response has not begun.
pub(super) struct LiveScript {
    pub(super) script: RunningScript,
    thread: Rc<PhpThread>,
}

/// A script and what it needs while it runs.
pub(super) struct RunningScript {
    run: ScriptRun,
    body: ScriptBody,
    log: PhpLog,
    /// Whose fields it may ask for.
    pub(super) received: Rc<ReceivedRequest>,
    pub(super) server: Arc<Server>,
    pub(super) host: usize,
}

impl LiveScript {
    /// Prepare the script: it begins with the first answer.
    pub(super) fn start(
        thread: &Rc<PhpThread>,
        request: &RequestContext<'_>,
        script: ScriptRequest,
        body: ScriptBody,
    ) -> Result<Self, Failure> {
        let failed =
            |text: String| Failure::new(Status::SERVICE_UNAVAILABLE, NAME, text).at_error();
        let started = thread.interpreter().ok_or_else(|| failed("PHP was not started".into()))?;
        let run = ScriptRun::new(&started, &thread.stacks, script)
            .map_err(|error| failed(format!("no memory for the stack of a script: {error}")))?;
        thread.is_busy.set(true);
        let script = RunningScript {
            run,
            body,
            log: PhpLog::of(request),
            received: request.received().clone(),
            server: request.context.server(),
            host: request.host.index,
        };
        Ok(Self { script, thread: thread.clone() })
    }

    /// Run it on, and give it the body of the request and the log meanwhile.
    pub(super) async fn step(&mut self, answer: Answer) -> Step {
        let mut answer = Some(answer);
        poll_fn(|_| self.script.poll_step(&mut answer)).await
    }

    /// Its response begins: it goes on with that.
    pub(super) fn streamed(self, env: Table, notes: Notes, first: Vec<u8>) -> ScriptStream {
        let thread = self.thread.clone();
        let script = self.into_script();
        let ready = VecDeque::from([first]);
        let streamed =
            StreamedScript { script, env, notes, ready, next: Some(Answer::Go), is_over: false };
        let streamed = Rc::new(RefCell::new(streamed));
        thread.streamed.replace(Rc::downgrade(&streamed));
        ScriptStream(streamed)
    }

    /// The script without the claim to the thread.
    pub(super) fn into_script(self) -> RunningScript {
        let Self { script, thread } = self;
        thread.is_busy.set(false);
        script
    }
}

impl RunningScript {
    /// Run the script on until it has written something, asks something that is not answered here,
    /// or has ended. The `answer` is taken; what is put there instead is for the next call after a
    /// wait.
    fn poll_step(&mut self, answer: &mut Option<Answer>) -> Poll<Step> {
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
    pub(super) fn finish(mut self, mut env: Table, notes: &Notes) {
        let mut answer = Some(Answer::Gone);
        while let Poll::Ready(step) = self.poll_step(&mut answer) {
            answer = match step {
                Step::Ended { .. } => return,
                Step::Wrote(_) => Some(Answer::Gone),
                Step::Asks(asked) => Some(questions::answer(&self, &mut env, notes, asked)),
            };
        }
        // It waits for a body that nobody sends any more: dropped, it gets none.
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
                self.next = Some(questions::answer(script, env, notes, asked));
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
pub(super) struct ScriptStream(Rc<RefCell<StreamedScript>>);

impl BodySource for ScriptStream {
    fn poll_next(&mut self, _: &mut task::Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>> {
        self.0.borrow_mut().poll_next().map(Ok)
    }
}
