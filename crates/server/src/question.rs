//! Questions that take long to answer: whether a password fits a hash, and what DNS knows. A thread
//! that carries many connections must not wait for them, so a phase that meets one stops with it;
//! the exchange has it answered elsewhere and goes on. What is right or wrong is not known here.

use crate::context::Context;
use crate::failure::Failure;
use crate::lookup::{Lookup, Purpose};
use crate::phase::Stop;
use message::Status;
use pattern::password;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, ToSocketAddrs};

/// What is asked.
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

/// The answer, if it is known.
///
/// # Errors
/// [`Stop::Wait`] if it takes somebody to wait for it. A look-up on behalf of another request
/// cannot be resumed, so there the thread itself waits: what it asks has nearly always been
/// answered for the request already.
pub(crate) fn ask(lookup: &Lookup<'_>, question: Question) -> Result<Answer, Stop> {
    lookup.mark_personal();
    let key = lookup.context.known.key(&question);
    let told = lookup.answers.borrow().iter().find(|row| row.0 == key).map(|row| row.1.clone());
    if let Some(answer) = told.or_else(|| lookup.context.known.get(key, lookup.context.now_s())) {
        return Ok(answer);
    }
    if lookup.purpose != Purpose::Sub {
        return Err(Stop::Wait(question));
    }
    let answer = question.answer();
    keep(lookup, key, &question, &answer);
    Ok(answer)
}

/// Have a question answered where waiting harms nobody.
///
/// # Errors
/// 500 if there is no thread for it.
pub(crate) async fn wait(lookup: &Lookup<'_>, question: Question) -> Result<(), Stop> {
    let key = lookup.context.known.key(&question);
    let asked = question.clone();
    let answer = runtime::blocking(move || asked.answer()).await.map_err(|error| {
        let text = format!("no thread to check a password or a name with: {error}");
        Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text).at_error()
    })?;
    keep(lookup, key, &question, &answer);
    Ok(())
}

/// The answer for somebody who can wait, request or not.
///
/// # Errors
/// There is no thread for it.
pub(crate) async fn answer(context: &Context, question: Question) -> io::Result<Answer> {
    let key = context.known.key(&question);
    if let Some(answer) = context.known.get(key, context.now_s()) {
        return Ok(answer);
    }
    let asked = question.clone();
    let answer = runtime::blocking(move || asked.answer()).await?;
    context.known.keep(key, &question, &answer, context.now_s());
    Ok(answer)
}

fn keep(lookup: &Lookup<'_>, key: Key, question: &Question, answer: &Answer) {
    lookup.answers.borrow_mut().push((key, answer.clone()));
    lookup.context.known.keep(key, question, answer, lookup.context.now_s());
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
    fn key(&self, question: &Question) -> Key {
        [0, 1].map(|nth| self.keys[nth].hash_one(question))
    }

    fn get(&self, key: Key, now_s: i64) -> Option<Answer> {
        let rows = self.rows.borrow();
        rows.get(&key).filter(|row| row.0 > now_s).map(|row| row.1.clone())
    }

    /// A wrong password is not kept: who guesses has to wait each time, and takes no room here.
    fn keep(&self, key: Key, question: &Question, answer: &Answer, now_s: i64) {
        let is_password = matches!(question, Question::Password { .. });
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
            known.keep(known.key(question), question, &Answer::Fits(Ok(fits)), 100);
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
            known.keep(known.key(&question), &question, &Answer::Fits(Ok(true)), 100);
            assert!(known.rows.borrow().len() <= KEPT_MAX);
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        assert_eq!(format!("{:?}", password("secret")), "Password");
    }
}
