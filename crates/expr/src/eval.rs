//! The value of a compiled expression for one request (`server/util_expr_eval.c`).
//!
//! Work is bounded: each node is visited at most once, words are followed to httpd's depth, texts
//! have a limit, and regular expressions give up. The first thing that goes wrong ends it.

use crate::ast::{Condition, Function, Glob, List, UnaryTest, Word};
use crate::encode;
use crate::error::EvalError;
use crate::facts::{
    Facts, FileError, FileKind, FileStatus, ServerVariable, TEXT_MAX_BYTES, TimePart,
};
use crate::matches::Matches;
use crate::names;
use crate::token::{Comparison, Relation};
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::net::IpAddr;
use core::str;
use pattern::Regex;

/// How deep conditions and words are followed (`AP_EXPR_MAX_RECURSION`). Not all nesting counts.
const DEPTH_MAX: u32 = 20;

type Text<'e> = Result<Cow<'e, [u8]>, EvalError>;
type Pair<'e> = Result<(Cow<'e, [u8]>, Cow<'e, [u8]>), EvalError>;
type Truth = Result<bool, EvalError>;

/// Whether a condition is true. Fields that it looked at are told when it has a value.
pub(crate) fn condition(
    root: &Condition,
    ssl_compat: bool,
    facts: &dyn Facts,
    matches: &mut Matches,
) -> Truth {
    let mut evaluation = Evaluation { facts, matches, ssl_compat, depth: 0, vary: Vec::new() };
    let truth = evaluation.condition(root)?;
    if !evaluation.vary.is_empty() {
        facts.vary(&evaluation.vary);
    }
    Ok(truth)
}

/// The text of a string.
pub(crate) fn text<'e>(root: &'e Word, facts: &'e dyn Facts, matches: &mut Matches) -> Text<'e> {
    let ssl_compat = false;
    Evaluation { facts, matches, ssl_compat, depth: 0, vary: Vec::new() }.word(root)
}

struct Evaluation<'e, 'm> {
    facts: &'e dyn Facts,
    matches: &'m mut Matches,
    ssl_compat: bool,
    depth: u32,
    vary: Vec<Cow<'e, [u8]>>,
}

impl<'e> Evaluation<'e, '_> {
    /// One level deeper.
    fn enter(&mut self) -> Result<(), EvalError> {
        if self.depth == DEPTH_MAX {
            return Err(EvalError::Recursion);
        }
        self.depth += 1;
        Ok(())
    }

    // Conditions.

    fn condition(&mut self, condition: &'e Condition) -> Truth {
        self.enter()?;
        let truth = self.level(condition)?;
        self.depth -= 1;
        Ok(truth)
    }

    /// A condition on the level that was entered. The last of several, and what is negated, are
    /// on the same level for httpd too.
    fn level(&mut self, condition: &'e Condition) -> Truth {
        match condition {
            Condition::Constant(truth) => Ok(*truth),
            Condition::Not(inner) => Ok(!self.level(inner)?),
            Condition::Any(conditions) => self.several(conditions, true),
            Condition::All(conditions) => self.several(conditions, false),
            Condition::Compare(how, left, right) => self.compare(*how, left, right),
            Condition::In(word, list) => self.is_in(word, list),
            Condition::Matches { word, regex, negated } => {
                Ok(self.is_match(word, regex)? != *negated)
            }
            Condition::Test(test, word) => self.test(*test, word),
            Condition::Client(subnet) => {
                Ok(self.facts.client_ip().is_some_and(|client| subnet.contains(client)))
            }
            Condition::Address(word, subnet) => {
                let word = self.word(word)?;
                Ok(self.address(&word).is_some_and(|address| subnet.contains(address)))
            }
            Condition::Glob(glob, word, pattern) => self.glob(*glob, word, pattern),
        }
    }

    /// Conditions up to the first that decides.
    fn several(&mut self, conditions: &'e [Condition], deciding: bool) -> Truth {
        let Some((last, others)) = conditions.split_last() else { return Ok(!deciding) };
        for other in others {
            if self.condition(other)? == deciding {
                return Ok(deciding);
            }
        }
        self.level(last)
    }

    /// Numbers and strings differ only in how they are ordered.
    fn compare(&mut self, how: Comparison, left: &'e Word, right: &'e Word) -> Truth {
        let (left, right) = self.pair(left, right)?;
        let ordering = if self.ssl_compat {
            ssl_ordering(&left, &right)
        } else if how.numeric {
            encode::number(&left).cmp(&encode::number(&right))
        } else {
            left.cmp(&right)
        };
        Ok(holds(how.relation, ordering))
    }

    /// Both words, the right one first: so does httpd as compilers build it, and `Vary` shows it.
    fn pair(&mut self, left: &'e Word, right: &'e Word) -> Pair<'e> {
        let right = self.word(right)?;
        Ok((self.word(left)?, right))
    }

    /// Whether a list has the word.
    fn is_in(&mut self, word: &'e Word, list: &'e List) -> Truth {
        let word = self.word(word)?;
        match list {
            // httpd's list is linked from its end.
            List::Words(words) => {
                for other in words.iter().rev() {
                    if self.word(other)? == word {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            List::PeerExtensions(oid) => {
                let oid = self.word(oid)?;
                Ok(self.facts.peer_extensions(&oid).contains(&word))
            }
        }
    }

    /// Only an expression with groups changes what `$0` and the others are.
    fn is_match(&mut self, word: &'e Word, regex: &Regex) -> Truth {
        let word = self.word(word)?;
        if regex.group_count() == 0 {
            return regex.is_match(&word).map_err(|_| EvalError::MatchLimit);
        }
        let captures = regex.captures(&word).map_err(|_| EvalError::MatchLimit)?;
        self.matches.set(&word, captures.as_ref());
        Ok(captures.is_some())
    }

    fn glob(&mut self, glob: Glob, word: &'e Word, pattern: &'e Word) -> Truth {
        let (word, pattern) = self.pair(word, pattern)?;
        Ok(glob.matches(&pattern, &word))
    }

    /// A test of one word. `-x` asks about a link itself, not about
    /// what it leads to (`op_file_xbit`).
    fn test(&mut self, test: UnaryTest, word: &'e Word) -> Truth {
        let word = self.word(word)?;
        let status = |follow| self.facts.file_status(&word, follow);
        let is = |kind| move |status: FileStatus| status.kind == kind;
        Ok(match test {
            UnaryTest::NotEmpty => !word.is_empty(),
            UnaryTest::Empty => word.is_empty(),
            UnaryTest::Truth => is_true(&word),
            UnaryTest::Exists => status(true).is_some(),
            UnaryTest::Directory => status(true).is_some_and(is(FileKind::Directory)),
            UnaryTest::File => status(true).is_some_and(is(FileKind::File)),
            UnaryTest::FileNotEmpty => status(true).is_some_and(|it| file_size(it) > 0),
            UnaryTest::Link => status(false).is_some_and(is(FileKind::Link)),
            UnaryTest::Executable => status(false).is_some_and(|status| status.is_executable),
            UnaryTest::ReachableFile => self.facts.is_reachable_file(&word),
            UnaryTest::ReachableUrl => self.facts.is_reachable_url(&word),
        })
    }

    /// An address as it is written, or that of a host.
    fn address(&self, word: &[u8]) -> Option<IpAddr> {
        let literal = str::from_utf8(word).ok().and_then(|word| word.parse().ok());
        literal.or_else(|| self.facts.resolve_host(word))
    }

    // Words.

    /// The text of a word; what is not there is empty.
    fn word(&mut self, word: &'e Word) -> Text<'e> {
        self.enter()?;
        let facts = self.facts;
        let text = match word {
            Word::Text(text) | Word::Number(text) => Cow::Borrowed(text.as_slice()),
            Word::Nothing => Cow::Borrowed(&b""[..]),
            Word::Variable(variable) => facts.variable(*variable).unwrap_or_default(),
            Word::Field(name) => self.field(Cow::Borrowed(name)),
            Word::Now(part) => Cow::Owned(facts.now().text(*part).into_bytes()),
            Word::LastModified => {
                Cow::Owned(facts.last_modified().text(TimePart::Whole).into_bytes())
            }
            Word::Ssl(name) => facts.ssl_variable(name).unwrap_or_default(),
            Word::Backref(number) => Cow::Owned(self.matches.get((*number).into()).to_vec()),
            Word::Call(function, argument) => {
                let argument = self.word(argument)?;
                self.call(*function, argument)?
            }
            Word::Concat { parts, reversed } => self.concat(parts, *reversed)?,
        };
        self.depth -= 1;
        if text.len() > TEXT_MAX_BYTES {
            return Err(EvalError::TooLong);
        }
        Ok(without_nul(text))
    }

    /// Parts put together, in the order in which httpd evaluates them.
    fn concat(&mut self, parts: &'e [Word], reversed: bool) -> Text<'e> {
        let mut texts = Vec::with_capacity(parts.len());
        let mut length = 0;
        for at in 0..parts.len() {
            let part = &parts[if reversed { parts.len() - 1 - at } else { at }];
            let text = self.word(part)?;
            length += text.len();
            if length > TEXT_MAX_BYTES {
                return Err(EvalError::TooLong);
            }
            texts.push(text);
        }
        if reversed {
            texts.reverse();
        }
        Ok(Cow::Owned(texts.concat()))
    }

    /// A field of the request, on which the response then depends. Of Host every response does
    /// (RFC 9110, section 12.5.5; httpd leaves it out too).
    fn field(&mut self, name: Cow<'e, [u8]>) -> Cow<'e, [u8]> {
        let value = self.facts.request_field(&name).unwrap_or_default();
        if !name.eq_ignore_ascii_case(b"Host") {
            self.vary.push(name);
        }
        value
    }

    /// A function of one word. What it does not find is empty; only `file()` can fail.
    fn call(&mut self, function: Function, word: Cow<'e, [u8]>) -> Text<'e> {
        let facts = self.facts;
        let found = match function {
            Function::RequestField => return Ok(self.field(word)),
            Function::File => return read_file(facts, &word),
            Function::RequestFieldUnnoted => facts.request_field(&word),
            Function::ResponseField => facts.response_field(&word),
            Function::Note => facts.note(&word),
            Function::RequestEnv => facts.env(&word),
            // This order is SSLRequire's.
            Function::Env => {
                facts.note(&word).or_else(|| facts.env(&word)).or_else(|| facts.os_env(&word))
            }
            Function::OsEnv => facts.os_env(&word),
            Function::Ssl => facts.ssl_variable(&word),
            Function::HealthCheck if names::is(&word, "BODY") => {
                facts.variable(ServerVariable::HealthCheckBody)
            }
            Function::HealthCheck => None,
            Function::PageVariable => facts.page_variable(&word),
            Function::FileSize => {
                let size = facts.file_status(&word, true).map_or(0, file_size);
                Some(Cow::Owned(format!("{size}").into_bytes()))
            }
            Function::ToLower => Some(Cow::Owned(word.to_ascii_lowercase())),
            Function::ToUpper => Some(Cow::Owned(word.to_ascii_uppercase())),
            Function::Escape => Some(Cow::Owned(encode::escape(&word))),
            Function::Unescape => encode::unescape(&word).map(Cow::Owned),
            Function::Base64 => Some(Cow::Owned(encode::base64(&word))),
            Function::Unbase64 => Some(Cow::Owned(encode::unbase64(&word))),
            Function::Sha1 => Some(Cow::Owned(encode::sha1(&word))),
            Function::Md5 => Some(Cow::Owned(encode::md5(&word))),
            Function::Ldap => Some(Cow::Owned(encode::ldap(&word))),
        };
        Ok(found.unwrap_or_default())
    }
}

fn read_file<'e>(facts: &dyn Facts, path: &[u8]) -> Text<'e> {
    let path_text = || String::from_utf8_lossy(path).into_owned();
    facts.read_file(path).map(Cow::Owned).map_err(|error| match error {
        FileError::Open => EvalError::CannotOpen(path_text()),
        FileError::TooLarge => EvalError::TooLarge(path_text()),
        FileError::Read => EvalError::CannotRead(path_text()),
    })
}

/// The length of a regular file (`filesize_func`); nothing else has one.
fn file_size(status: FileStatus) -> u64 {
    if status.kind == FileKind::File { status.size } else { 0 }
}

/// Texts are strings of C for httpd: what follows a NUL, from a file or from base64, is not seen.
fn without_nul(text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let Some(end) = text.iter().position(|byte| *byte == 0) else { return text };
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..end]),
        Cow::Owned(mut text) => {
            text.truncate(end);
            Cow::Owned(text)
        }
    }
}

/// `-T`: all but the words for no.
fn is_true(word: &[u8]) -> bool {
    let no: &[&[u8]] = &[b"", b"0", b"off", b"no", b"false"];
    !no.iter().any(|no| word.eq_ignore_ascii_case(no))
}

fn holds(relation: Relation, ordering: Ordering) -> bool {
    match relation {
        Relation::Equal => ordering.is_eq(),
        Relation::NotEqual => ordering.is_ne(),
        Relation::Less => ordering.is_lt(),
        Relation::LessOrEqual => ordering.is_le(),
        Relation::Greater => ordering.is_gt(),
        Relation::GreaterOrEqual => ordering.is_ge(),
    }
}

/// SSLRequire's order, which serves numbers and strings: the longer is the greater one
/// (`strcmplex`). Bytes are signed in it.
fn ssl_ordering(left: &[u8], right: &[u8]) -> Ordering {
    let signed = |byte: &u8| byte.cast_signed();
    let lengths = left.len().cmp(&right.len());
    lengths.then_with(|| left.iter().map(signed).cmp(right.iter().map(signed)))
}
