//! How a request asks the program of a map (`map_program.rs`), and waits for its answer.

use crate::map_program::ANSWER_PATIENCE;
use crate::request_context::RequestContext;
use crate::waiting::NowOrLater;
use logging::level::Level;
use runtime::programs::{MapAnswer, question_line};
use scoreboard::WaitCause;
use std::time::Duration;

/// What a request waits besides, for the process that keeps the program: only if that has died or
/// hangs itself, since it answers in time whatever the program does.
const KEEPER_PATIENCE: Duration = Duration::from_secs(2);

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
    if answers.is_here {
        let text = "a map's program was asked where nobody can wait for its answer: none is used";
        request.log_recurring(Level::Warn, module, None, text);
        return NowOrLater::Now(None);
    }
    NowOrLater::later(async move {
        let client = server.map_manager(number)?;
        let _waiting = request.spent().wait(WaitCause::Handler);
        let limit = ANSWER_PATIENCE + KEEPER_PATIENCE;
        let answer = runtime::timer::timeout(limit, client.ask(&key)).await;
        match answer {
            Some(Ok(MapAnswer::Value(value))) => Some(value),
            Some(Ok(MapAnswer::NotFound)) => None,
            Some(Ok(MapAnswer::None) | Err(_)) | None => {
                request.common.answers.borrow_mut().map_was_silent = true;
                None
            }
        }
    })
}
