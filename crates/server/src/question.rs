//! What a request has to wait for: whether a password fits a hash, what DNS knows, and whatever
//! takes long to read or to compute. A thread that carries many connections must not wait, and
//! phases and their hooks cannot. So a step that meets such a thing stops, is answered on another
//! thread, and is taken again from its beginning, with the answer at hand. What a step is, and what
//! the answers mean, is not known here.

use crate::accounting;
use crate::context::Context;
use crate::failure::Failure;
use crate::lookup::Lookup;
use crate::phase::Stop;
use message::Status;
use pattern::password;
use scoreboard::Cause;
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
pub(crate) enum Question {
    /// Whether the password is the one that was hashed.
    Password { hash: Vec<u8>, password: Vec<u8> },
    /// The name of an address, if that name in turn leads to the address (`REMOTE_DOUBLE_REV`).
    NameOf(IpAddr),
    /// The name that whoever owns an address gave it: nothing may depend on it but texts.
    ClaimedNameOf(IpAddr),
    /// The addresses of a name.
    AddressesOf(String),
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Whether it fits; an error says why nobody can tell.
    Fits(Result<bool, password::Unusable>),
    /// `None`: it has no name that can be trusted.
    Name(Option<String>),
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

    /// This takes up to about a second for a password, and as long as a resolver waits for a name.
    pub(crate) fn answer(&self) -> Answer {
        match self {
            Self::Password { hash, password } => Answer::Fits(password::verify(hash, password)),
            Self::NameOf(address) => Answer::Name(trusted_name(*address)),
            Self::ClaimedNameOf(address) => Answer::Name(runtime::hostname::name_of(*address)),
            Self::AddressesOf(name) => Answer::Addresses(addresses(name)),
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
    rows: Vec<(Key, Rc<dyn Any>)>,
    /// Whether a step is being taken, which can be taken again.
    in_step: bool,
    /// What the step has to wait for.
    open: Option<Work>,
    waits: u32,
    /// What this step has logged, and what it had logged when it was taken before.
    said: Vec<Key>,
    said_before: Vec<Key>,
}

/// What another thread does.
struct Work {
    key: Key,
    run: Box<dyn FnOnce() -> Box<dyn Any + Send> + Send>,
}

impl Answers {
    fn find<T: 'static>(&self, key: Key) -> Option<Rc<T>> {
        let row = self.rows.iter().find(|row| row.0 == key)?;
        row.1.clone().downcast().ok()
    }
}

/// The answer to a question.
///
/// # Errors
/// As [`elsewhere`].
pub(crate) fn ask(lookup: &Lookup<'_>, question: Question) -> Result<Answer, Stop> {
    lookup.mark_personal();
    ask_for_all(lookup, question)
}

/// The same for an answer that others may be given too: it does not decide what they get.
///
/// # Errors
/// As [`elsewhere`].
pub(crate) fn ask_for_all(lookup: &Lookup<'_>, question: Question) -> Result<Answer, Stop> {
    let (known, now_s) = (&lookup.context.known, lookup.context.now_s());
    let key = known.key(&question);
    if let Some(answer) = known.get(key, now_s) {
        return Ok(answer);
    }
    let is_password = question.is_password();
    let answer = elsewhere(lookup, &key, move || question.answer())?;
    known.keep(key, is_password, &answer, now_s);
    Ok((*answer).clone())
}

/// What `work` finds out, which takes too long for a thread that others wait for. `about` says what
/// it is, and no two things of one type `T` may be the same.
///
/// Where there is no step to take again (when fields of a response or a log line are made), the
/// thread itself waits; nothing but a condition that looks a URL up asks there, and it has nearly
/// always been answered for the request already.
///
/// # Errors
/// [`Stop::Wait`] if it is not known yet; whatever is made of that will be dropped. 500 if the
/// request has waited for too much.
pub(crate) fn elsewhere<T: Send + 'static>(
    lookup: &Lookup<'_>,
    about: &impl Hash,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Rc<T>, Stop> {
    let key = lookup.context.known.key(&(TypeId::of::<T>(), about));
    let mut answers = lookup.answers.borrow_mut();
    if let Some(answer) = answers.find(key) {
        return Ok(answer);
    }
    if answers.open.is_some() {
        return Err(Stop::Wait);
    }
    if answers.waits >= WAITS_MAX {
        return Err(too_many().into());
    }
    answers.waits += 1;
    if answers.in_step {
        let run = Box::new(move || Box::new(work()) as Box<dyn Any + Send>);
        answers.open = Some(Work { key, run });
        return Err(Stop::Wait);
    }
    drop(answers);
    let answer = Rc::new(work());
    lookup.answers.borrow_mut().rows.push((key, answer.clone()));
    Ok(answer)
}

fn too_many() -> Failure {
    let text = format!("the request had to wait for {WAITS_MAX} things and wants more");
    Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text).at_error()
}

/// Take a step of a request, as often as it has to wait for something. It begins anew each time
/// with `lookup` as it was, so that it does not matter what it made of what it did not know.
///
/// # Errors
/// What the step returns; 500 if there is no thread to find something out.
pub(crate) async fn take<T>(
    lookup: &mut Lookup<'_>,
    step: fn(&mut Lookup<'_>) -> Result<T, Stop>,
) -> Result<T, Stop> {
    // Boxed, as it is in the memory of each request that waits.
    let start = Box::new(lookup.copy());
    loop {
        let answers = lookup.answers.clone();
        begin(&answers);
        let outcome = step(lookup);
        let Some(work) = end(&answers) else { return outcome };
        wait(lookup, work).await?;
        *lookup = start.copy();
    }
}

/// The same for a step that changes nothing.
///
/// # Errors
/// 500 if there is no thread to find something out.
pub(crate) async fn look<T>(lookup: &Lookup<'_>, mut step: impl FnMut() -> T) -> Result<T, Stop> {
    loop {
        begin(&lookup.answers);
        let outcome = step();
        let Some(work) = end(&lookup.answers) else { return Ok(outcome) };
        wait(lookup, work).await?;
    }
}

fn begin(answers: &RefCell<Answers>) {
    answers.borrow_mut().in_step = true;
}

/// What has to be waited for before the step that has ended is taken again, if anything.
fn end(answers: &RefCell<Answers>) -> Option<Work> {
    let mut answers = answers.borrow_mut();
    answers.in_step = false;
    let said = std::mem::take(&mut answers.said);
    let open = answers.open.take();
    match open {
        Some(_) => answers.said_before.extend(said),
        None => answers.said_before.clear(),
    }
    open
}

async fn wait(lookup: &Lookup<'_>, work: Work) -> Result<(), Stop> {
    let Work { key, run } = work;
    let answer =
        accounting::blocking(&lookup.request.spent, Cause::Helper, run).await.map_err(|error| {
            let text = format!("no thread to find out what takes long: {error}");
            Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text).at_error()
        })?;
    let answer: Box<dyn Any> = answer;
    lookup.answers.borrow_mut().rows.push((key, Rc::from(answer)));
    Ok(())
}

/// The answer for somebody who can wait, request or not.
///
/// # Errors
/// There is no thread for it.
pub(crate) async fn answer(context: &Context, question: Question) -> io::Result<Answer> {
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

/// Whether a message is for the log now: a step that is taken again says nothing twice, and what it
/// says of something that it does not know is no truth yet.
pub(crate) fn is_news(lookup: &Lookup<'_>, message: &(impl Hash + ?Sized)) -> bool {
    let mut answers = lookup.answers.borrow_mut();
    if !answers.in_step {
        return true;
    }
    if answers.open.is_some() {
        return false;
    }
    let key = lookup.context.known.key(message);
    if let Some(at) = answers.said_before.iter().position(|said| *said == key) {
        answers.said_before.swap_remove(at);
        answers.said.push(key);
        return false;
    }
    answers.said.push(key);
    true
}

/// Stands for a question without holding it: two keyed hashes, so that no password is kept and a
/// client cannot find another question with the same key.
pub(crate) type Key = [u64; 2];

/// How long an answer is good for, in seconds. A page and what it embeds come within this.
const KEPT_S: i64 = 10;

/// Answers per thread. Clients cause them, so there is a limit.
const KEPT_MAX: usize = 1024;

/// Answers of one serving thread.
#[derive(Default)]
pub(crate) struct Known {
    keys: [RandomState; 2],
    rows: RefCell<HashMap<Key, (i64, Answer)>>,
}

impl Known {
    fn key(&self, question: &(impl Hash + ?Sized)) -> Key {
        [0, 1].map(|nth| self.keys[nth].hash_one(question))
    }

    fn get(&self, key: Key, now_s: i64) -> Option<Answer> {
        let rows = self.rows.borrow();
        rows.get(&key).filter(|row| row.0 > now_s).map(|row| row.1.clone())
    }

    /// A wrong password is not kept: who guesses has to wait each time, and takes no room here.
    fn keep(&self, key: Key, is_password: bool, answer: &Answer, now_s: i64) {
        if is_password && *answer != Answer::Fits(Ok(true)) {
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
        let known = Known::default();
        let (right, wrong) = (password("a"), password("b"));
        for (question, fits) in [(&right, true), (&wrong, false)] {
            known.keep(known.key(question), true, &Answer::Fits(Ok(fits)), 100);
        }
        let fits = Some(Answer::Fits(Ok(true)));
        assert_eq!(known.get(known.key(&right), 100), fits);
        assert_eq!(known.get(known.key(&right), 100 + KEPT_S - 1), fits);
        assert_eq!(known.get(known.key(&right), 100 + KEPT_S), None);
        assert_eq!(known.get(known.key(&wrong), 100), None);
    }

    #[test]
    fn only_so_much_is_kept() {
        let known = Known::default();
        for nth in 0..KEPT_MAX * 2 {
            let question = password(&nth.to_string());
            known.keep(known.key(&question), true, &Answer::Fits(Ok(true)), 100);
            assert!(known.rows.borrow().len() <= KEPT_MAX);
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        assert_eq!(format!("{:?}", password("secret")), "Password");
    }
}
