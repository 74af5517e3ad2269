//! A user who acts by a script: asks what it says, and tells it what came.

use super::script::{Ask, NoAnswer, ScriptAnswer, ScriptedUser, UserAction};
use super::sending::{DueRequest, Sending, UserClient};
use super::worker::LoadWorker;
use crate::failure::DescribedFailure;
use crate::failure::FailureKind;
use http1::AskedMethod;
use runtime::{clock, timer};
use std::rc::Rc;
use std::time::Duration;
use upstream::AnswerSummary;

/// After a failure a user waits so long: the others of its thread have their turn, and nobody
/// knocks without pause at a port that is closed.
const FAILURE_PAUSE: Duration = Duration::from_millis(1);

/// Goes on until the script or the run ends.
pub(super) async fn run(worker: &Rc<LoadWorker>, id: u32, user: &mut dyn ScriptedUser) {
    let mut client = UserClient::new(worker, id, Some(Box::default()));
    while !worker.shared.is_stopping() {
        client.request.clear();
        match user.next(&mut client.request) {
            UserAction::End => break,
            UserAction::Pause(ns) => timer::sleep(Duration::from_nanos(ns)).await,
            UserAction::Ask(ask) => {
                client.ask_once(&ask, user).await;
                worker.wait_no_more(id);
            }
        }
    }
    worker.retire();
}

impl UserClient {
    /// One request of the script, from its connection to its counts.
    async fn ask_once(&mut self, ask: &Ask, user: &mut dyn ScriptedUser) {
        let worker = self.worker.clone();
        let now_ns = clock::monotonic_ns();
        let entry = &worker.shared.plan.entries()[ask.entry];
        let entry_index = ask.entry;
        let (came_ns, intended_ns, begun_ns) = (now_ns, now_ns, now_ns);
        let due = DueRequest { entry_index, entry, came_ns, intended_ns, begun_ns };
        worker.wait_for_answer(due.pending(self.id));
        self.timer.set(clock::monotonic_ms(), worker.shared.options.timeout_ms);
        if let Some(capture) = &mut self.capture {
            capture.head.clear();
            capture.body.clear();
            capture.body_limit = ask.body_limit;
        }
        let mut is_unresolved = false;
        let answered = match worker.route_to(&ask.server).await {
            Ok(route) => {
                let asked = if ask.is_head { AskedMethod::Head } else { AskedMethod::Other };
                let known = usize::MAX;
                let sending = Sending { entry, route, fixed: None, count: 1, known, asked };
                self.send(&due, &sending).await
            }
            Err(unresolved) => {
                is_unresolved = true;
                let text = unresolved.error.to_string();
                Err(DescribedFailure { failure: FailureKind::Unreachable, text })
            }
        };
        match answered {
            Ok(answer) => self.tell(&due, answer, user),
            Err(failed) => {
                let DescribedFailure { failure, ref text } = failed;
                user.failed(&NoAnswer { failure, text: text.clone(), is_unresolved });
                self.write_off(&due, failed);
                worker.wait_no_more(self.id);
                timer::sleep(FAILURE_PAUSE).await;
            }
        }
    }

    fn tell(&self, due: &DueRequest<'_>, answer: AnswerSummary, user: &mut dyn ScriptedUser) {
        let Some(capture) = &self.capture else { return };
        user.answered(&ScriptAnswer {
            status: answer.status,
            head: capture.head.view(),
            body: &capture.body,
            body_bytes: answer.body_bytes,
            took_ns: answer.end_ns.saturating_sub(due.intended_ns),
        });
    }
}
