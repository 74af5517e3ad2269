//! A script whose response has not begun: the request is there to answer its questions.

use super::engine::PhpThread;
use super::log::PhpLog;
use super::questions::Asker;
use super::settings::NAME;
use super::streamed::{RunningScript, ScriptStream, StreamedScript};
use message::Status;
use php::{Answer, ScriptRequest, ScriptRun, Step};
use server::failure::Failure;
use server::request_context::RequestContext;
use server::response::Notes;
use server::script::body::ScriptBody;
use server::table::Table;
use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;

/// A script whose response has not begun.
pub(super) struct LiveScript {
    pub(super) script: RunningScript,
    thread: Rc<PhpThread>,
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
            asker: Asker {
                received: request.received().clone(),
                server: request.context.server(),
                host: request.host.index,
            },
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
        let streamed = StreamedScript::new(script, env, notes, first);
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
