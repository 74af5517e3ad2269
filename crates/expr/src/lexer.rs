//! Text → tokens, in the states of httpd's scanner (`server/util_expr_scan.l`).
//!
//! A token is read only when the parser asks for it: strings, variables and the rest have
//! different rules, and which error is reported depends on how far was read.

use crate::operator;
use crate::token::Token;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};
use core::mem;

/// The longest piece of a string, and the longest regular expression: httpd's `MAX_STRING_LEN`
/// with the byte that ends it.
const PIECE_MAX_BYTES: usize = 8192 - 1;

/// What may stand behind the `m` of a regular expression.
const REGEX_DELIMITERS: &[u8] = b"/#$%^,;:_?|-!.'\"";

pub(crate) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    /// Where the lexer is, and below it where that stands. Never empty.
    states: Vec<State>,
    /// The quote that ends the string; none in a text that is a string as a whole.
    quote: Option<u8>,
    /// What has been read of a string.
    piece: Vec<u8>,
    /// What is wrong, by the lexer or by the parser: the last one counts (`error2` of httpd).
    pub(crate) complaint: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Initial,
    /// Between quotes, or in a text that is a string.
    Str,
    /// Behind `%{`.
    Var,
    /// Behind the colon of `%{function:`.
    VarArg,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a [u8], is_string: bool) -> Self {
        // A text ends at its NUL for httpd.
        let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
        let state = if is_string { State::Str } else { State::Initial };
        Self { text, at: 0, states: vec![state], quote: None, piece: Vec::new(), complaint: None }
    }

    /// The next token. Behind an error there is none that would mean anything.
    pub(crate) fn next(&mut self) -> Token<'a> {
        let token = match self.state() {
            State::Initial => self.next_initial(),
            State::Str | State::VarArg => self.next_piece(),
            State::Var => self.next_in_variable(),
        };
        token.unwrap_or_else(|complaint| {
            self.complaint = Some(complaint);
            Token::Error
        })
    }

    fn state(&self) -> State {
        self.states.last().copied().unwrap_or(State::Initial)
    }

    /// Goes on in another state; only variables come back to the state before.
    fn begin(&mut self, state: State) {
        if let Some(top) = self.states.last_mut() {
            *top = state;
        }
    }

    fn rest(&self) -> &'a [u8] {
        &self.text[self.at..]
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, _) = self.rest().split_at(length);
        self.at += length;
        taken
    }

    /// Takes the bytes and gives the token that they are.
    fn token(&mut self, length: usize, token: Token<'a>) -> Token<'a> {
        self.at += length;
        token
    }

    // Outside of strings. Carriage return is no space here.

    fn next_initial(&mut self) -> Result<Token<'a>, String> {
        self.at += count(self.rest(), |byte| b" \t\n".contains(&byte));
        let rest = self.rest();
        Ok(match *rest {
            [] => Token::End,
            [b'"' | b'\'', ..] => self.begin_string(),
            [b'%', b'{', ..] => self.begin_variable(),
            [b'$', digit @ b'0'..=b'9', ..] => self.token(2, Token::Backref(digit - b'0')),
            [b'/', ..] => return self.regex(1),
            [letter, ..] if letter.is_ascii_alphabetic() => return self.letters(),
            [b'-', ..] => return self.dash(),
            [digit, ..] if digit.is_ascii_digit() => self.digits(0),
            [byte, ..] => match operator::symbol(rest) {
                Some((length, token)) => self.token(length, token),
                None => return Err(near(byte)),
            },
        })
    }

    fn begin_string(&mut self) -> Token<'a> {
        self.quote = self.rest().first().copied();
        self.piece.clear();
        self.begin(State::Str);
        self.token(1, Token::StrBegin)
    }

    fn begin_variable(&mut self) -> Token<'a> {
        self.states.push(State::Var);
        self.token(2, Token::VarBegin)
    }

    /// A number, of which nothing but its digits matters.
    fn digits(&mut self, sign: usize) -> Token<'a> {
        let length = sign + count(&self.rest()[sign..], |byte| byte.is_ascii_digit());
        Token::Digit(self.take(length))
    }

    /// A word: the longest rule wins, so `m_x` is a name and `m_` begins a regular expression.
    fn letters(&mut self) -> Result<Token<'a>, String> {
        let rest = self.rest();
        let length = count(rest, is_name);
        if let [b'm', delimiter, ..] = rest
            && REGEX_DELIMITERS.contains(delimiter)
            && length <= 2
        {
            return self.regex(2);
        }
        let word = self.take(length);
        Ok(operator::keyword(word).unwrap_or(Token::Id(word)))
    }

    /// `-1`, `-n` or `-eq`.
    fn dash(&mut self) -> Result<Token<'a>, String> {
        let behind = &self.rest()[1..];
        match behind.first() {
            Some(byte) if byte.is_ascii_digit() => return Ok(self.digits(1)),
            Some(byte) if byte.is_ascii_alphabetic() || *byte == b'_' => {}
            _ => return Err(near(b'-')),
        }
        let word = &self.take(1 + count(behind, is_name))[1..];
        // One letter is a test; more are an operator, known or not.
        Ok(match *word {
            [letter] => Token::Unary(letter),
            _ => operator::dashed(word).unwrap_or(Token::Binary(word)),
        })
    }

    /// A regular expression, up to its delimiter: there is no way to escape that.
    fn regex(&mut self, lead: usize) -> Result<Token<'a>, String> {
        let delimiter = self.take(lead)[lead - 1];
        let length = count(self.rest(), |byte| byte != delimiter);
        if length > PIECE_MAX_BYTES {
            return Err("Regexp too long".to_owned());
        }
        let pattern = self.take(length);
        // Without its delimiter the text just ends: the scanner has no rule for it.
        if self.rest().is_empty() {
            return Ok(Token::End);
        }
        self.at += 1;
        // The only flag there is; other letters are the next token.
        let ignore_case = self.rest().first() == Some(&b'i');
        self.at += usize::from(ignore_case);
        Ok(Token::Regex { pattern, ignore_case })
    }

    // In strings and arguments.

    /// A piece of text, up to what is no text. It is given before what ends it.
    fn next_piece(&mut self) -> Result<Token<'a>, String> {
        loop {
            let is_argument = self.state() == State::VarArg;
            match *self.rest() {
                [] if is_argument || self.quote.is_some() => return Err(unterminated()),
                // A string as a whole ends with a piece, an empty one too.
                [] => {
                    self.begin(State::Initial);
                    return Ok(self.piece());
                }
                [b'\n', ..] => return Err(unterminated()),
                [b'\\', ..] => self.escape()?,
                [quote @ (b'"' | b'\''), ..] if !is_argument => {
                    if self.quote == Some(quote) {
                        return Ok(self.end_of_piece(Self::end_string));
                    }
                    self.append(1)?;
                }
                // No rule of httpd's scanner takes it here, which ends the process there.
                [b'"' | b'\'', ..] => return Err(jammed()),
                [b'}', ..] if is_argument => return Ok(self.end_of_piece(Self::end_variable)),
                [b'%', b'{', ..] => return Ok(self.end_of_piece(Self::begin_variable)),
                [b'$', b'0'..=b'9', ..] => return Ok(self.end_of_piece(Self::backref)),
                _ => {
                    let plain = count(self.rest(), |byte| !b"\\\n\"'%}$".contains(&byte));
                    self.append(plain.max(1))?;
                }
            }
        }
    }

    /// Gives what was read so far; without any, what comes next.
    fn end_of_piece(&mut self, next: fn(&mut Self) -> Token<'a>) -> Token<'a> {
        if self.piece.is_empty() { next(self) } else { self.piece() }
    }

    fn piece(&mut self) -> Token<'a> {
        let mut piece = mem::take(&mut self.piece);
        // `\0` ends the piece, as it ends a string of C.
        piece.truncate(count(&piece, |byte| byte != 0));
        Token::Text(piece)
    }

    fn end_string(&mut self) -> Token<'a> {
        self.begin(State::Initial);
        self.token(1, Token::StrEnd)
    }

    fn end_variable(&mut self) -> Token<'a> {
        self.states.pop();
        self.token(1, Token::VarEnd)
    }

    fn backref(&mut self) -> Token<'a> {
        let digit = self.take(2)[1];
        Token::Backref(digit - b'0')
    }

    fn append(&mut self, length: usize) -> Result<(), String> {
        let bytes = self.take(length);
        self.push(bytes)
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() > PIECE_MAX_BYTES {
            return Err("String too long".to_owned());
        }
        Ok(())
    }

    /// What stands for another byte: `\n`, `\101`, `\"`.
    fn escape(&mut self) -> Result<(), String> {
        let behind = &self.rest()[1..];
        let digits = count(behind, |byte| byte.is_ascii_digit());
        let octal = count(behind, |byte| (b'0'..=b'7').contains(&byte)).min(3);
        let (length, byte) = match *behind {
            // As with a quote in an argument, no rule takes it.
            [] => return Err(jammed()),
            _ if digits > octal => return Err("Bad escape sequence".to_owned()),
            _ if octal > 0 => (octal, octal_value(&behind[..octal])?),
            [byte, ..] => (1, unescaped(byte)),
        };
        self.at += 1 + length;
        self.push(&[byte])
    }

    // In variables.

    /// `name}` or `name:`; a space is an error already.
    fn next_in_variable(&mut self) -> Result<Token<'a>, String> {
        Ok(match *self.rest() {
            [] | [b'\n', ..] => return Err(unterminated()),
            [b'}', ..] => self.end_variable(),
            [b':', ..] => {
                self.begin(State::VarArg);
                self.token(1, Token::Colon)
            }
            [letter, ..] if letter.is_ascii_alphabetic() => {
                let length = count(self.rest(), is_name);
                Token::Id(self.take(length))
            }
            [byte, ..] => {
                return Err(complain("Invalid character in variable name", byte));
            }
        })
    }
}

/// How many bytes at the beginning are such.
fn count(text: &[u8], is_such: impl Fn(u8) -> bool) -> usize {
    text.iter().take_while(|byte| is_such(**byte)).count()
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn octal_value(digits: &[u8]) -> Result<u8, String> {
    let value = digits.iter().fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0'));
    u8::try_from(value).map_err(|_| "Escape sequence out of bound".to_owned())
}

fn unescaped(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'f' => 12,
        other => other,
    }
}

fn near(byte: u8) -> String {
    complain("Parse error near", byte)
}

fn complain(what: &str, byte: u8) -> String {
    format!("{what} '{}'", String::from_utf8_lossy(&[byte]))
}

fn unterminated() -> String {
    "Unterminated string or variable".to_owned()
}

fn jammed() -> String {
    "flex scanner jammed".to_owned()
}
