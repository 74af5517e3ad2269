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
    /// Behind the script, which ends before this does.
    claim: ThreadClaim,
}

/// The right to run a script on a thread, given back however that ends.
struct ThreadClaim(Rc<PhpThread>);

impl ThreadClaim {
    fn take(thread: &Rc<PhpThread>) -> Self {
        thread.is_busy.set(true);
        Self(thread.clone())
    }
}

impl Drop for ThreadClaim {
    fn drop(&mut self) {
        self.0.is_busy.set(false);
    }
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
        let claim = ThreadClaim::take(thread);
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
        Ok(Self { script, claim })
    }

    /// Run it on, and give it the body of the request and the log meanwhile.
    pub(super) async fn step(&mut self, answer: Answer) -> Step {
        let mut answer = Some(answer);
        poll_fn(|_| self.script.poll_step(&mut answer)).await
    }

    /// Its response begins: it goes on with that.
    pub(super) fn streamed(self, env: Table, notes: Notes, first: Vec<u8>) -> ScriptStream {
        let Self { script, claim } = self;
        let thread = claim.0.clone();
        let streamed = StreamedScript::new(script, env, notes, first);
        let streamed = Rc::new(RefCell::new(streamed));
        thread.streamed.replace(Rc::downgrade(&streamed));
        ScriptStream(streamed)
    }

    /// Its response is complete: it goes on when that was sent, or before another script runs.
    pub(super) fn finishing(self, env: Table, notes: Notes) -> ScriptStream {
        self.streamed(env, notes, Vec::new())
    }
}
