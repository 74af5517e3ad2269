//! The expressions of httpd 2.2, for `SSILegacyExprParser On` (parse_expr of mod_include.c):
//! strings with `$NAME` in them, compared, negated and joined. Nothing binds closer than anything
//! else: what stands behind `&&` or `||` is all that follows.

use super::parse::is_space;

/// Groups within groups. httpd has no limit.
const DEPTH_MAX: u32 = 64;

/// Terms, each with what joins it to all that follow.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LegacyExpr {
    pub(super) terms: Vec<(Term, Option<Join>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    And,
    Or,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Term {
    /// Whether it is not empty.
    Text(Vec<u8>),
    Compare {
        left: Vec<u8>,
        operator: Operator,
        right: Vec<u8>,
    },
    /// `=` or `!=` with a pattern.
    Match {
        left: Vec<u8>,
        pattern: Vec<u8>,
        is_negated: bool,
    },
    Not(Box<Self>),
    Group(LegacyExpr),
    /// `-A`: whether a URL may be seen.
    Access(Vec<u8>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// What is wrong with an expression: httpd's number and words, which go on with the expression.
pub(super) type Flaw = (u32, &'static str);

const INVALID: Flaw = (3188, "Invalid expression");
const NO_END: Flaw = (3191, "Unmatched '(' in");
const NO_START: Flaw = (3189, "Unmatched ')' in");

impl LegacyExpr {
    /// Reads an expression. One of nothing does not hold.
    pub(super) fn parse(text: &[u8]) -> Result<Self, Flaw> {
        let mut tokens = Tokens { rest: text, peeked: None };
        let expression = tokens.expression(0)?;
        match tokens.next(false) {
            None => Ok(expression),
            Some(Token::Close) => Err(NO_START),
            Some(_) => Err(INVALID),
        }
    }

    /// How many patterns there are.
    pub(super) fn patterns(&self) -> usize {
        let in_term = |term: &Term| match term {
            Term::Match { .. } => 1,
            Term::Group(inner) => inner.patterns(),
            Term::Not(inner) => match &**inner {
                Term::Group(inner) => inner.patterns(),
                _ => 0,
            },
            Term::Text(_) | Term::Compare { .. } | Term::Access(_) => 0,
        };
        self.terms.iter().map(|(term, _)| in_term(term)).sum()
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Text(Vec<u8>),
    Pattern(Vec<u8>),
    Join(Join),
    Operator(Operator),
    Not,
    Access,
    Open,
    Close,
}

struct Tokens<'t> {
    rest: &'t [u8],
    peeked: Option<Option<Token>>,
}

impl Tokens<'_> {
    fn expression(&mut self, depth: u32) -> Result<LegacyExpr, Flaw> {
        if depth > DEPTH_MAX {
            return Err(INVALID);
        }
        let mut expression = LegacyExpr::default();
        if matches!(self.peek(), None | Some(Token::Close)) {
            return Ok(expression);
        }
        loop {
            let term = self.term(depth)?;
            let join = match self.peek() {
                Some(Token::Join(join)) => Some(*join),
                None | Some(Token::Close) => None,
                Some(_) => return Err(INVALID),
            };
            expression.terms.push((term, join));
            if join.is_none() {
                return Ok(expression);
            }
            self.next(false);
        }
    }

    fn term(&mut self, depth: u32) -> Result<Term, Flaw> {
        let mut is_negated = None;
        while let Some(Token::Not) = self.peek() {
            self.next(false);
            is_negated = Some(!is_negated.unwrap_or(false));
        }
        let term = match self.next(false) {
            Some(Token::Open) => {
                let inner = self.expression(depth + 1)?;
                match self.next(false) {
                    Some(Token::Close) => Term::Group(inner),
                    _ => return Err(NO_END),
                }
            }
            Some(Token::Access) => match self.next(true) {
                Some(Token::Text(url)) => Term::Access(self.words(url)),
                _ => return Err(INVALID),
            },
            Some(Token::Text(word)) => {
                let left = self.words(word);
                match self.peek() {
                    // A comparison is not negated: only a string or a group is.
                    Some(Token::Operator(_)) if is_negated.is_some() => return Err(INVALID),
                    Some(Token::Operator(operator)) => {
                        let operator = *operator;
                        self.next(false);
                        self.comparison(left, operator)?
                    }
                    _ => Term::Text(left),
                }
            }
            _ => return Err(INVALID),
        };
        Ok(match is_negated {
            None => term,
            Some(true) => Term::Not(Box::new(term)),
            Some(false) => Term::Not(Box::new(Term::Not(Box::new(term)))),
        })
    }

    fn comparison(&mut self, left: Vec<u8>, operator: Operator) -> Result<Term, Flaw> {
        match (self.next(false), operator) {
            (Some(Token::Text(word)), _) => {
                let right = self.words(word);
                Ok(Term::Compare { left, operator, right })
            }
            (Some(Token::Pattern(pattern)), Operator::Equal | Operator::NotEqual) => {
                let is_negated = operator == Operator::NotEqual;
                Ok(Term::Match { left, pattern, is_negated })
            }
            _ => Err(INVALID),
        }
    }

    /// Strings that follow each other are one, with spaces between them.
    fn words(&mut self, mut text: Vec<u8>) -> Vec<u8> {
        while let Some(Token::Text(word)) = self.peek() {
            let word = word.clone();
            self.next(false);
            if !text.is_empty() {
                text.push(b' ');
            }
            text.extend(word);
        }
        text
    }

    fn peek(&mut self) -> Option<&Token> {
        if self.peeked.is_none() {
            let token = self.read(false);
            self.peeked = Some(token);
        }
        self.peeked.as_ref().and_then(Option::as_ref)
    }

    /// The next token. Behind `-A` a slash begins no pattern.
    fn next(&mut self, is_behind_access: bool) -> Option<Token> {
        match self.peeked.take() {
            Some(token) => token,
            None => self.read(is_behind_access),
        }
    }

    /// get_ptoken
    fn read(&mut self, is_behind_access: bool) -> Option<Token> {
        let blanks = self.rest.iter().take_while(|byte| is_space(**byte)).count();
        self.rest = &self.rest[blanks..];
        let (token, length) = match self.rest {
            [] => return None,
            [b'(', ..] => (Token::Open, 1),
            [b')', ..] => (Token::Close, 1),
            [b'=', b'=', ..] => (Token::Operator(Operator::Equal), 2),
            [b'=', ..] => (Token::Operator(Operator::Equal), 1),
            [b'!', b'=', ..] => (Token::Operator(Operator::NotEqual), 2),
            [b'!', ..] => (Token::Not, 1),
            [b'|', b'|', ..] => (Token::Join(Join::Or), 2),
            [b'&', b'&', ..] => (Token::Join(Join::And), 2),
            [b'>', b'=', ..] => (Token::Operator(Operator::GreaterOrEqual), 2),
            [b'>', ..] => (Token::Operator(Operator::Greater), 1),
            [b'<', b'=', ..] => (Token::Operator(Operator::LessOrEqual), 2),
            [b'<', ..] => (Token::Operator(Operator::Less), 1),
            [b'-', b'A', ..] => (Token::Access, 2),
            [b'\'', ..] => return Some(Token::Text(self.quoted(b'\''))),
            [b'/', ..] if !is_behind_access => return Some(Token::Pattern(self.quoted(b'/'))),
            _ => return Some(Token::Text(self.word())),
        };
        self.rest = &self.rest[length..];
        Some(token)
    }

    /// A text between two of the same; without the second it is empty.
    fn quoted(&mut self, quote: u8) -> Vec<u8> {
        let (mut text, mut at) = (Vec::new(), 1);
        while let Some(&byte) = self.rest.get(at) {
            at += 1;
            if byte == quote {
                self.rest = &self.rest[at..];
                return text;
            }
            let escaped = self.rest.get(at).filter(|_| byte == b'\\');
            text.push(*escaped.unwrap_or(&byte));
            at += usize::from(escaped.is_some());
        }
        self.rest = &[];
        Vec::new()
    }

    /// A text up to a space, or to what means something.
    fn word(&mut self) -> Vec<u8> {
        let (mut text, mut at) = (Vec::new(), 0);
        while let Some(&byte) = self.rest.get(at) {
            let next = self.rest.get(at + 1).copied();
            let ends = match byte {
                b'(' | b')' | b'=' | b'!' | b'<' | b'>' => at > 0,
                b'|' | b'&' => next == Some(byte) && at > 0,
                byte => is_space(byte),
            };
            if ends {
                break;
            }
            match next.filter(|_| byte == b'\\') {
                Some(escaped) => {
                    text.push(escaped);
                    at += 2;
                }
                None => {
                    text.extend(Some(byte).filter(|byte| *byte != b'\\'));
                    at += 1;
                }
            }
        }
        self.rest = &self.rest[at..];
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(expression: &LegacyExpr) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        fn term(it: &Term, text: &dyn Fn(&[u8]) -> String) -> String {
            match it {
                Term::Text(word) => text(word),
                Term::Compare { left, operator, right } => {
                    format!("{} {operator:?} {}", text(left), text(right))
                }
                Term::Match { left, pattern, is_negated } => {
                    let sign = if *is_negated { "!~" } else { "~" };
                    format!("{} {sign} {}", text(left), text(pattern))
                }
                Term::Not(inner) => format!("!{}", term(inner, text)),
                Term::Group(inner) => format!("({})", shown(inner)),
                Term::Access(url) => format!("-A {}", text(url)),
            }
        }
        let join = |join: &Option<Join>| join.map_or(String::new(), |join| format!(" {join:?} "));
        expression.terms.iter().map(|(it, next)| term(it, &text) + &join(next)).collect()
    }

    #[test]
    fn expressions_of_httpd_2_2_are_read() {
        for (text, expected) in [
            ("", ""),
            ("  ", ""),
            ("$a", "$a"),
            ("a b  c", "a b c"),
            ("$a = 'x y'", "$a Equal x y"),
            ("$a==$b", "$a Equal $b"),
            ("a != /b\\/c/", "a !~ b/c"),
            ("a < b && c >= d || e", "a Less b And c GreaterOrEqual d Or e"),
            ("!(a && !b) || c", "!(a And !b) Or c"),
            ("-A /private", "-A /private"),
            ("! -A x && y", "!-A x And y"),
            ("a|b", "a|b"),
            ("'unended", ""),
            ("()", "()"),
            ("a\\ b", "a b"),
        ] {
            let parsed = LegacyExpr::parse(text.as_bytes());
            assert_eq!(parsed.as_ref().map(shown), Ok(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn flaws_are_told() {
        for (text, id) in [
            ("&& a", 3188),
            ("a &&", 3188),
            ("= a", 3188),
            ("a = b = c", 3188),
            ("!a = b", 3188),
            ("a < /b/", 3188),
            ("/a/", 3188),
            ("(a", 3191),
            ("a)", 3189),
            ("(a) b", 3188),
            ("-A", 3188),
        ] {
            assert_eq!(
                LegacyExpr::parse(text.as_bytes()).map_err(|flaw| flaw.0),
                Err(id),
                "{text}"
            );
        }
        let deep = "(".repeat(100_000);
        assert!(LegacyExpr::parse(deep.as_bytes()).is_err());
    }
}
