//! What takes long to find out on behalf of a request: whether a password fits a hash, what DNS
//! knows, and whatever takes long to read or to compute. A thread that carries many connections has
//! it found out by a helper, and waits for that as for anything else; what was found is known to
//! all look-ups of the request, and what others may ask as well to all requests of the thread for
//! some seconds. What the answers mean is not known here.

use crate::accounting;
use crate::context::Context;
use crate::failure::Failure;
use crate::request_context::RequestContext;
use crate::waiting::{NowOrLater, Waiting, ended};
use message::Status;
use pattern::password;
use scoreboard::WaitCause;
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::rc::Rc;

/// What is asked by more than one module, and of more than one request.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Question {
    /// Whether the password is the one that was hashed.
    Password {
        /// What the file of passwords has.
        hash: Vec<u8>,
        /// What the client sent.
        password: Vec<u8>,
    },
    /// The name of an address, if that name in turn leads to the address (`REMOTE_DOUBLE_REV`).
    NameOf(IpAddr),
    /// The name that whoever owns an address gave it: nothing may depend on it but texts.
    ClaimedNameOf(IpAddr),
    /// The addresses of a name.
    AddressesOf(String),
}

/// The answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HelperAnswer {
    /// Of [`Question::Password`]: whether the password fits; an error says why nobody can tell.
    Fits(Result<bool, password::Unusable>),
    /// Of [`Question::NameOf`] and [`Question::ClaimedNameOf`]; `None`: the address has no name, or
    /// for the former none that leads back to it.
    Name(Option<String>),
    /// Of [`Question::AddressesOf`]: the addresses; none if the name has none.
    Addresses(Vec<IpAddr>),
}

/// A password must not get into a log by way of a debugging aid.
impl fmt::Debug for Question {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Password { .. } => "Password",
            Self::NameOf(_) => "NameOf",
            Self::ClaimedNameOf(_) => "ClaimedNameOf",
            Self::AddressesOf(_) => "AddressesOf",
        })
    }
}

impl Question {
    fn is_password(&self) -> bool {
        matches!(self, Self::Password { .. })
    }

    /// Find the answer, on the thread that calls. That takes up to about a second for a password,
    /// and as long as a resolver waits for a name.
    pub(crate) fn answer(&self) -> HelperAnswer {
        match self {
            Self::Password { hash, password } => {
                HelperAnswer::Fits(password::verify(hash, password))
            }
            Self::NameOf(address) => HelperAnswer::Name(trusted_name(*address)),
            Self::ClaimedNameOf(address) => {
                HelperAnswer::Name(runtime::hostname::name_of(*address))
            }
            Self::AddressesOf(name) => HelperAnswer::Addresses(addresses(name)),
        }
    }
}

/// Whoever owns an address can give it any name; only the owner of the name can say that the
/// address is its own (server/core.c, do_double_reverse).
fn trusted_name(address: IpAddr) -> Option<String> {
    let name = runtime::hostname::name_of(address)?;
    addresses(&name).contains(&address).then_some(name)
}

fn addresses(name: &str) -> Vec<IpAddr> {
    let found = (name, 0).to_socket_addrs();
    found.map_or(Vec::new(), |found| found.map(|found| found.ip().to_canonical()).collect())
}

/// How often a request may have to wait. A list of names (`Require forward-dns`) or of files of
/// users asks for each; what asks for more is a mistake, or somebody's way to keep others waiting.
const WAITS_MAX: u32 = 128;

/// What has been found out on behalf of a request, by all look-ups that belong to it.
#[derive(Default)]
pub(crate) struct Answers {
    rows: Vec<(QuestionKey, Rc<dyn Any>)>,
    waits: u32,
    /// The thread itself waits, as [`here`] says.
    is_here: bool,
}

impl Answers {
    fn find<T: 'static>(&self, key: QuestionKey) -> Option<Rc<T>> {
        let row = self.rows.iter().find(|row| row.0 == key)?;
        row.1.clone().downcast().ok()
    }
}

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
    request.common.answers.borrow_mut().rows.push((key, answer.clone()));
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

/// Stands for a question without holding it: two keyed hashes, so that no password is kept and a
/// client cannot find another question with the same key.
pub(crate) type QuestionKey = [u64; 2];

/// How long an answer is good for, in seconds. A page and what it embeds come within this.
const KEPT_S: i64 = 10;

/// Answers per thread. Clients cause them, so there is a limit.
const KEPT_MAX: usize = 1024;

/// Answers of one serving thread.
#[derive(Default)]
pub(crate) struct AnswerCache {
    keys: [RandomState; 2],
    rows: RefCell<HashMap<QuestionKey, (i64, HelperAnswer)>>,
}

impl AnswerCache {
    fn key(&self, question: &(impl Hash + ?Sized)) -> QuestionKey {
        [0, 1].map(|nth| self.keys[nth].hash_one(question))
    }

    fn get(&self, key: QuestionKey, now_s: i64) -> Option<HelperAnswer> {
        let rows = self.rows.borrow();
        rows.get(&key).filter(|row| row.0 > now_s).map(|row| row.1.clone())
    }

    /// A wrong password is not kept: who guesses has to wait each time, and takes no room here.
    fn keep(&self, key: QuestionKey, is_password: bool, answer: &HelperAnswer, now_s: i64) {
        if is_password && *answer != HelperAnswer::Fits(Ok(true)) {
            return;
        }
        let mut rows = self.rows.borrow_mut();
        if rows.len() >= KEPT_MAX {
            rows.clear();
        }
        rows.insert(key, (now_s + KEPT_S, answer.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(text: &str) -> Question {
        Question::Password { hash: b"{SHA}x".to_vec(), password: text.into() }
    }

    #[test]
    fn right_passwords_are_known_for_a_while_and_wrong_ones_never() {
        let known = AnswerCache::default();
        let (right, wrong) = (password("a"), password("b"));
        for (question, fits) in [(&right, true), (&wrong, false)] {
            known.keep(known.key(question), true, &HelperAnswer::Fits(Ok(fits)), 100);
        }
        let fits = Some(HelperAnswer::Fits(Ok(true)));
        assert_eq!(known.get(known.key(&right), 100), fits);
        assert_eq!(known.get(known.key(&right), 100 + KEPT_S - 1), fits);
        assert_eq!(known.get(known.key(&right), 100 + KEPT_S), None);
        assert_eq!(known.get(known.key(&wrong), 100), None);
    }

    #[test]
    fn only_so_much_is_kept() {
        let known = AnswerCache::default();
        for nth in 0..KEPT_MAX * 2 {
            let question = password(&nth.to_string());
            known.keep(known.key(&question), true, &HelperAnswer::Fits(Ok(true)), 100);
            assert!(known.rows.borrow().len() <= KEPT_MAX);
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        assert_eq!(format!("{:?}", password("secret")), "Password");
    }
}
