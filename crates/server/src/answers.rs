//! What a request may have to wait for, and the answers that are kept: for all look-ups of a
//! request, and on each thread for all requests. Who asks and waits is not known here
//! (`question.rs`).

use pattern::password;
use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
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
    pub(crate) fn is_password(&self) -> bool {
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

/// What has been found out on behalf of a request, by all look-ups that belong to it.
#[derive(Default)]
pub(crate) struct Answers {
    rows: Vec<(QuestionKey, Rc<dyn Any>)>,
    /// How often something was waited for.
    pub(crate) waits: u32,
    /// The thread itself waits (`question::here`).
    pub(crate) is_here: bool,
    /// The program of a map has not answered.
    pub(crate) map_was_silent: bool,
}

impl Answers {
    pub(crate) fn find<T: 'static>(&self, key: QuestionKey) -> Option<Rc<T>> {
        let row = self.rows.iter().find(|row| row.0 == key)?;
        row.1.clone().downcast().ok()
    }

    pub(crate) fn add(&mut self, key: QuestionKey, answer: Rc<dyn Any>) {
        self.rows.push((key, answer));
    }
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
    pub(crate) fn key(&self, question: &(impl Hash + ?Sized)) -> QuestionKey {
        [0, 1].map(|nth| self.keys[nth].hash_one(question))
    }

    pub(crate) fn get(&self, key: QuestionKey, now_s: i64) -> Option<HelperAnswer> {
        let rows = self.rows.borrow();
        rows.get(&key).filter(|row| row.0 > now_s).map(|row| row.1.clone())
    }

    /// A wrong password is not kept: who guesses has to wait each time, and takes no room here.
    pub(crate) fn keep(
        &self,
        key: QuestionKey,
        is_password: bool,
        answer: &HelperAnswer,
        now_s: i64,
    ) {
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
