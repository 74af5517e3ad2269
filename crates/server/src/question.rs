//! What takes long to find out on behalf of a request: whether a password fits a hash, what DNS
//! knows, and whatever takes long to read or to compute. A thread that carries many connections has
//! it found out by a helper, and waits for that as for anything else; what was found is known to
//! all look-ups of the request, and what others may ask as well to all requests of the thread for
//! some seconds. What the answers mean is not known here.

use crate::accounting;
use crate::answers::{HelperAnswer, Question, QuestionKey};
use crate::context::Context;
use crate::failure::Failure;
use crate::request_context::RequestContext;
use crate::waiting::{NowOrLater, Waiting, ended};
use message::Status;
use scoreboard::WaitCause;
use std::any::TypeId;
use std::hash::Hash;
use std::io;
use std::rc::Rc;

/// How often a request may have to wait. A list of names (`Require forward-dns`) or of files of
/// users asks for each; what asks for more is a mistake, or somebody's way to keep others waiting.
const WAITS_MAX: u32 = 128;

/// The answer to a question.
///
/// # Errors
/// As [`elsewhere`].
pub fn ask<'l>(request: &'l RequestContext<'_>, question: Question) -> Waiting<'l, HelperAnswer> {
    request.mark_personal();
    ask_for_all(request, question)
}

/// The answer to a question that does not decide what the client gets: unlike [`ask`] this does not
/// mark the request as personal.
///
/// # Errors
/// As [`elsewhere`].
pub(crate) fn ask_for_all<'l>(
    request: &'l RequestContext<'_>,
    question: Question,
) -> Waiting<'l, HelperAnswer> {
    let known = &request.context.known;
    let key = known.key(&question);
    if let Some(answer) = known.get(key, request.context.now_s()) {
        return NowOrLater::Now(Ok(answer));
    }
    let is_password = question.is_password();
    elsewhere(request, &key, move || question.answer()).map(move |answer| {
        let answer = answer?;
        known.keep(key, is_password, &answer, request.context.now_s());
        Ok((*answer).clone())
    })
}

/// What `work` finds out, which takes too long for a thread that others wait for. `about` says what
/// it is, and no two things of one type `T` may be the same.
///
/// # Errors
/// 500 if the request has waited for too much, or if there is no thread to find it out.
pub fn elsewhere<'l, T: Send + 'static>(
    request: &'l RequestContext<'_>,
    about: &impl Hash,
    work: impl FnOnce() -> T + Send + 'static,
) -> Waiting<'l, Rc<T>> {
    let key = request.context.known.key(&(TypeId::of::<T>(), about));
    let mut answers = request.common.answers.borrow_mut();
    if let Some(answer) = answers.find(key) {
        return NowOrLater::Now(Ok(answer));
    }
    if answers.waits >= WAITS_MAX {
        return NowOrLater::Now(Err(too_many().into()));
    }
    answers.waits += 1;
    let is_here = answers.is_here;
    drop(answers);
    if is_here {
        return NowOrLater::Now(Ok(keep(request, key, work())));
    }
    NowOrLater::later(async move {
        let found = accounting::blocking(request.spent(), WaitCause::Helper, work).await;
        Ok(keep(request, key, found.map_err(|error| no_thread(&error))?))
    })
}

/// What was found out, for all look-ups of the request.
fn keep<T: 'static>(request: &RequestContext<'_>, key: QuestionKey, answer: T) -> Rc<T> {
    let answer = Rc::new(answer);
    request.common.answers.borrow_mut().add(key, answer.clone());
    answer
}

/// What comes of a future that looks something up for `request`, for whoever cannot wait for it: if
/// there is something to be found out the thread itself does that, and others of it have to wait.
/// So it is where fields of a response and log lines are made, and the variables of a script:
/// nothing but a condition that looks a URL up asks there, and `PATH_TRANSLATED`, and what they ask
/// has nearly always been answered for the request already. `None` for a future that waits for
/// anything else.
pub(crate) fn here<T>(request: &RequestContext<'_>, future: impl Future<Output = T>) -> Option<T> {
    let common = request.common.clone();
    let answers = &common.answers;
    let before = std::mem::replace(&mut answers.borrow_mut().is_here, true);
    let outcome = ended(future);
    answers.borrow_mut().is_here = before;
    outcome
}

fn too_many() -> Failure {
    let text = format!(
        "the request has waited {WAITS_MAX} times, for passwords, DNS or slow files, and may not \
         wait again"
    );
    Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text).at_error()
}

fn no_thread(error: &io::Error) -> Failure {
    let text = format!("cannot start a helper thread: {error}");
    Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text).at_error()
}

/// The answer for somebody who can wait, request or not.
///
/// # Errors
/// There is no thread for it.
pub(crate) async fn answer(context: &Context, question: Question) -> io::Result<HelperAnswer> {
    let (known, now_s) = (&context.known, context.now_s());
    let key = known.key(&question);
    if let Some(answer) = known.get(key, now_s) {
        return Ok(answer);
    }
    let is_password = question.is_password();
    let answer = runtime::blocking(move || question.answer()).await?;
    known.keep(key, is_password, &answer, now_s);
    Ok(answer)
}
