//! How a request asks the program of a map (`map_program.rs`), and waits for its answer.

use crate::map_program::ANSWER_PATIENCE;
use crate::request_context::RequestContext;
use crate::waiting::NowOrLater;
use logging::level::Level;
use runtime::programs::{MapAnswer, question_line};
use scoreboard::WaitCause;
use std::any::TypeId;
use std::rc::Rc;
use std::time::Duration;

/// What a request waits besides, for the process that keeps the program: only if that has died or
/// hangs itself, since it answers in time whatever the program does.
const KEEPER_PATIENCE: Duration = Duration::from_secs(2);

/// Whether there is any program to be asked.
pub(crate) fn may_be_asked(request: &RequestContext<'_>) -> bool {
    !request.context.server.map_programs().is_empty()
}

/// What the program of this number says of a key; `None` if the key stands for nothing, or if
/// nobody answers. It is asked for `module`.
pub fn ask<'l>(
    request: &'l RequestContext<'_>,
    module: &'static str,
    number: usize,
    key: Vec<u8>,
) -> NowOrLater<'l, Option<Vec<u8>>> {
    // It may answer the same question differently at any time.
    request.mark_personal();
    let server = request.context.server();
    let answers = request.common.answers.borrow();
    let has_way = server.map_manager(number).is_some() && question_line(&key).is_some();
    // A request that has waited in vain once does not wait again: rules may ask a hundred times.
    if !has_way || answers.map_was_silent {
        return NowOrLater::Now(None);
    }
    let known = request.context.known.key(&(TypeId::of::<KnownValue>(), number, &key));
    if answers.is_here {
        if let Some(value) = answers.find::<KnownValue>(known) {
            return NowOrLater::Now(value.0.clone());
        }
        let text = "a map's program was asked where nobody can wait for its answer: none is used";
        request.log_recurring(Level::Warn, module, None, text);
        return NowOrLater::Now(None);
    }
    NowOrLater::later(async move {
        let client = server.map_manager(number)?;
        let _waiting = request.spent().wait(WaitCause::Handler);
        let limit = ANSWER_PATIENCE + KEEPER_PATIENCE;
        let answer = runtime::timer::timeout(limit, client.ask(&key)).await;
        let mut answers = request.common.answers.borrow_mut();
        let value = match answer {
            Some(Ok(MapAnswer::Value(value))) => Some(value),
            Some(Ok(MapAnswer::NotFound)) => None,
            Some(Ok(MapAnswer::None) | Err(_)) | None => {
                answers.map_was_silent = true;
                None
            }
        };
        answers.add(known, Rc::new(KnownValue(value.clone())));
        value
    })
}

/// What was answered to a question of the request, for whoever asks it where nobody can wait.
struct KnownValue(Option<Vec<u8>>);
