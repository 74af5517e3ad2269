//! Tokens → compiled expression, by the grammar of `server/util_expr_parse.y`.
//!
//! Errors come out as Bison makes them: a token that does not fit is a syntax error, which names
//! what would fit when that is at most four tokens; a name that does not exist is remembered and
//! the parser goes on, so that the last complaint counts.

use crate::ast::{Condition, List, Word};
use crate::concat;
use crate::error::ParseError;
use crate::lexer::Lexer;
use crate::mode::Mode;
use crate::names;
use crate::subnet::Subnet;
use crate::token::Token;
use crate::uses::Uses;
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use pattern::Regex;

/// How deep parentheses and functions may be nested. httpd parses more, and evaluates functions
/// to a depth of 20; what is parsed here must fit the stack of a thread.
const NESTING_MAX: usize = 100;

/// Why parsing ends.
enum ParseStop {
    /// What the lexer complained about is all there is to say (`YYABORT`).
    Abort,
    Error(String),
}

type Parsed<T> = Result<T, ParseStop>;

/// A compiled expression and what it asks about.
pub(crate) struct Compiled<T> {
    pub(crate) root: T,
    pub(crate) uses: Uses,
}

/// Parses a condition.
pub(crate) fn condition(text: &[u8], mode: &Mode) -> Result<Compiled<Condition>, ParseError> {
    Parser::new(text, mode, false).run(Parser::any)
}

/// Parses a text with variables.
pub(crate) fn string(text: &[u8], mode: &Mode) -> Result<Compiled<Word>, ParseError> {
    Parser::new(text, mode, true).run(Parser::pieces)
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// A token that was looked at and not taken.
    ahead: Option<Token<'a>>,
    mode: &'a Mode,
    uses: Uses,
    nesting: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a [u8], mode: &'a Mode, is_string: bool) -> Self {
        let lexer = Lexer::new(text, is_string);
        Self { lexer, ahead: None, mode, uses: Uses::default(), nesting: 0 }
    }

    fn run<T>(mut self, root: fn(&mut Self) -> Parsed<T>) -> Result<Compiled<T>, ParseError> {
        let parsed = root(&mut self).and_then(|root| {
            self.expect(&Token::End, "$end")?;
            Ok(root)
        });
        let complaint = self.lexer.complaint;
        let text = match (parsed, complaint) {
            (Ok(root), None) => return Ok(Compiled { root, uses: self.uses }),
            (Ok(_) | Err(ParseStop::Abort), Some(complaint)) => complaint,
            (Err(ParseStop::Abort), None) => "syntax error".to_owned(),
            (Err(ParseStop::Error(error)), None) => error,
            (Err(ParseStop::Error(error)), Some(complaint)) => format!("{error}: {complaint}"),
        };
        Err(ParseError { text })
    }

    // Tokens. One is read ahead, and only where Bison does so: what the lexer says of it may
    // replace an earlier complaint.

    fn next(&mut self) -> Token<'a> {
        self.ahead.take().unwrap_or_else(|| self.lexer.next())
    }

    fn peek(&mut self) -> &Token<'a> {
        self.ahead.get_or_insert_with(|| self.lexer.next())
    }

    /// Takes the next token if it is this one.
    fn takes(&mut self, token: &Token<'_>) -> bool {
        let is_it = self.peek() == token;
        if is_it {
            self.ahead = None;
        }
        is_it
    }

    fn expect(&mut self, token: &Token<'_>, expected: &str) -> Parsed<()> {
        if self.takes(token) {
            return Ok(());
        }
        let found = self.next();
        Err(unexpected(&found, expected))
    }

    /// Runs a rule that stands within itself.
    fn nested<T>(&mut self, rule: fn(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting == NESTING_MAX {
            // Bison's words for its own limit.
            return Err(ParseStop::Error("memory exhausted".to_owned()));
        }
        self.nesting += 1;
        let parsed = rule(self);
        self.nesting -= 1;
        parsed
    }

    /// What a name means; when it means nothing, that is said at the end.
    fn known<T>(&mut self, meaning: Result<T, String>, otherwise: T) -> T {
        meaning.unwrap_or_else(|complaint| {
            self.lexer.complaint = Some(complaint);
            otherwise
        })
    }

    // Conditions.

    /// `condition || condition ...`.
    fn any(&mut self) -> Parsed<Condition> {
        let mut conditions = Vec::from([self.all()?]);
        while self.takes(&Token::Or) {
            conditions.push(self.all()?);
        }
        Ok(one_or(conditions, Condition::Any))
    }

    /// `condition && condition ...`, which binds tighter.
    fn all(&mut self) -> Parsed<Condition> {
        let mut conditions = Vec::from([self.not()?]);
        while self.takes(&Token::And) {
            conditions.push(self.not()?);
        }
        Ok(one_or(conditions, Condition::All))
    }

    /// Any number of `!`, of which only whether it is odd matters.
    fn not(&mut self) -> Parsed<Condition> {
        let mut negated = false;
        let first = loop {
            match self.next() {
                Token::Not => negated = !negated,
                other => break other,
            }
        };
        let condition = self.simple(first)?;
        Ok(if negated { Condition::Not(Box::new(condition)) } else { condition })
    }

    /// A condition without `&&`, `||` and `!` around it.
    fn simple(&mut self, first: Token<'a>) -> Parsed<Condition> {
        match first {
            Token::True => Ok(Condition::Constant(true)),
            Token::False => Ok(Condition::Constant(false)),
            // A rule of its own in the grammar: the complaint stands alone.
            Token::Error => Err(ParseStop::Abort),
            Token::ParenOpen => {
                let inner = self.nested(Self::any)?;
                self.expect(&Token::ParenClose, "T_OP_OR or T_OP_AND or ')'")?;
                Ok(inner)
            }
            Token::Unary(letter) => {
                let word = self.word()?;
                Ok(self.unary(letter, word))
            }
            other => {
                self.ahead = Some(other);
                let word = self.word()?;
                self.comparison(word)
            }
        }
    }

    /// What follows a word that begins a condition.
    fn comparison(&mut self, left: Word) -> Parsed<Condition> {
        match self.next() {
            Token::Compare(comparison) => Ok(Condition::Compare(comparison, left, self.word()?)),
            Token::Binary(name) => {
                let right = self.word()?;
                Ok(self.binary(name, left, right))
            }
            Token::In => Ok(Condition::In(left, self.list()?)),
            Token::Matches => {
                Ok(Condition::Matches { word: left, regex: self.regex()?, negated: false })
            }
            Token::MatchesNot => {
                Ok(Condition::Matches { word: left, regex: self.regex()?, negated: true })
            }
            other => Err(unexpected(&other, "")),
        }
    }

    /// An operator with one word. `-R` reads it here, as httpd does (`subnet_parse_arg`).
    fn unary(&mut self, letter: u8, word: Word) -> Condition {
        if letter == b'R' {
            let subnet = self.subnet("R", &word);
            self.uses.request = true;
            return subnet.map_or(Condition::Constant(false), Condition::Client);
        }
        let test = names::test(letter, self.mode);
        if let Ok(test) = test {
            self.uses.note_test(test);
            return Condition::Test(test, word);
        }
        self.known(test.map(|_| ()), ());
        Condition::Constant(false)
    }

    /// An operator that is a word with a dash, between two words.
    fn binary(&mut self, name: &[u8], left: Word, right: Word) -> Condition {
        if names::is(name, "ipmatch") {
            // httpd's message has the name as it was written.
            let subnet = self.subnet(&String::from_utf8_lossy(name), &right);
            return subnet.map_or(Condition::Constant(false), |it| Condition::Address(left, it));
        }
        let glob = names::glob(name).map(Some);
        match self.known(glob, None) {
            Some(glob) => Condition::Glob(glob, left, right),
            None => Condition::Constant(false),
        }
    }

    /// The network that an operator is given: a string without variables.
    fn subnet(&mut self, operator: &str, word: &Word) -> Option<Subnet> {
        let subnet = match word {
            Word::Text(text) => {
                Subnet::parse(text).ok_or_else(|| "parsing of subnet/netmask failed".to_owned())
            }
            _ => Err(format!("-{operator} requires subnet/netmask as constant argument")),
        };
        self.known(subnet.map(Some), None)
    }

    /// What stands behind `in`: words in braces, or the function that returns several.
    fn list(&mut self) -> Parsed<List> {
        match self.next() {
            Token::Id(name) => {
                let word = self.argument()?;
                self.known(names::list_function(name, self.mode), ());
                self.uses.request = true;
                Ok(List::PeerExtensions(word))
            }
            Token::BraceOpen => {
                let mut words = Vec::from([self.word()?]);
                while self.takes(&Token::Comma) {
                    words.push(self.word()?);
                }
                self.expect(&Token::BraceClose, "'}' or ','")?;
                Ok(List::Words(words))
            }
            other => Err(unexpected(&other, "T_ID or '{'")),
        }
    }

    /// A regular expression, compiled at once. That it does not compile ends the parsing, unlike
    /// a name that does not exist.
    fn regex(&mut self) -> Parsed<Regex> {
        let (pattern, ignore_case) = match self.next() {
            Token::Regex { pattern, ignore_case } => (pattern, ignore_case),
            other => return Err(unexpected(&other, "T_REGEX or T_REGEX_I")),
        };
        let flags = self.mode.regex.or_ignore_case(ignore_case);
        let pattern = core::str::from_utf8(pattern).ok();
        let regex = pattern.and_then(|pattern| Regex::new(pattern, flags).ok());
        regex.ok_or_else(|| ParseStop::Error("Failed to compile regular expression".to_owned()))
    }

    // Words.

    /// `word . word ...`.
    fn word(&mut self) -> Parsed<Word> {
        let mut words = Vec::from([self.one_word()?]);
        while self.takes(&Token::Concat) {
            words.push(self.one_word()?);
        }
        Ok(concat::joined(words))
    }

    /// A word without dots.
    fn one_word(&mut self) -> Parsed<Word> {
        match self.next() {
            Token::Digit(digits) => Ok(Word::Number(digits.to_vec())),
            Token::Backref(number) => Ok(self.group(number)),
            Token::VarBegin => self.variable(),
            Token::StrBegin => self.quoted(),
            Token::Id(name) => {
                let word = self.argument()?;
                Ok(self.call(name, word))
            }
            other => Err(unexpected(&other, "")),
        }
    }

    /// `( word )`.
    fn argument(&mut self) -> Parsed<Word> {
        self.expect(&Token::ParenOpen, "'('")?;
        let word = self.nested(Self::word)?;
        self.expect(&Token::ParenClose, "T_OP_CONCAT or ')'")?;
        Ok(word)
    }

    /// What stands behind a quote. Only here a string may be empty.
    fn quoted(&mut self) -> Parsed<Word> {
        if self.takes(&Token::StrEnd) {
            return Ok(Word::Text(Vec::new()));
        }
        let word = self.pieces()?;
        self.expect(&Token::StrEnd, "T_STRING or T_REGEX_BACKREF or T_STR_END or T_VAR_BEGIN")?;
        Ok(word)
    }

    /// What stands behind `%{`.
    fn variable(&mut self) -> Parsed<Word> {
        let name = match self.next() {
            Token::Id(name) => name,
            other => return Err(unexpected(&other, "T_ID")),
        };
        match self.next() {
            Token::VarEnd => {
                let word = self.known(names::variable(name, self.mode), Word::Nothing);
                self.uses.note_word(&word);
                Ok(word)
            }
            Token::Colon => {
                let word = self.nested(Self::pieces)?;
                let expected = "T_STRING or T_REGEX_BACKREF or T_VAR_BEGIN or T_VAR_END";
                self.expect(&Token::VarEnd, expected)?;
                Ok(self.call(name, word))
            }
            other => Err(unexpected(&other, "T_VAR_END or ':'")),
        }
    }

    /// `$0` to `$9`.
    fn group(&mut self, number: u8) -> Word {
        self.uses.matches = true;
        Word::Backref(number)
    }

    /// `name(word)` or `%{name:word}`, which are the same.
    fn call(&mut self, name: &[u8], word: Word) -> Word {
        match names::function(name, self.mode) {
            Ok(function) => {
                self.uses.note_function(function);
                Word::Call(function, Box::new(word))
            }
            Err(complaint) => self.known(Err(complaint), Word::Nothing),
        }
    }

    /// The pieces of a string: text, variables and groups of a match.
    fn pieces(&mut self) -> Parsed<Word> {
        let mut parts = Vec::new();
        loop {
            let part = match self.next() {
                Token::Text(text) => Word::Text(text),
                Token::Backref(number) => self.group(number),
                Token::VarBegin => self.variable()?,
                Token::Error if parts.is_empty() => return Err(ParseStop::Abort),
                other if parts.is_empty() => {
                    let expected = "T_ERROR or T_STRING or T_REGEX_BACKREF or T_VAR_BEGIN";
                    return Err(unexpected(&other, expected));
                }
                other => {
                    self.ahead = Some(other);
                    break;
                }
            };
            parts.push(part);
        }
        Ok(concat::pieces(parts))
    }
}

fn one_or(conditions: Vec<Condition>, join: fn(Vec<Condition>) -> Condition) -> Condition {
    match <[Condition; 1]>::try_from(conditions) {
        Ok([condition]) => condition,
        Err(conditions) => join(conditions),
    }
}

/// Bison's message. What fits is named with `, expecting`, when it is not too much.
fn unexpected(token: &Token<'_>, expected: &str) -> ParseStop {
    let expecting = if expected.is_empty() { "" } else { ", expecting " };
    ParseStop::Error(format!("syntax error, unexpected {}{expecting}{expected}", token.name()))
}
