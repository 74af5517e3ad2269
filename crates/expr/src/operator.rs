//! The words and signs that are operators. What they do is in `eval`.

use crate::token::{Relation, Token, numeric, string};

/// Signs, the longer before the shorter that it begins with.
const SYMBOLS: &[(&[u8], Token<'static>)] = &[
    (b"==", string(Relation::Equal)),
    (b"=~", Token::Matches),
    (b"=", string(Relation::Equal)),
    (b"!=", string(Relation::NotEqual)),
    (b"!~", Token::MatchesNot),
    (b"!", Token::Not),
    (b"<=", string(Relation::LessOrEqual)),
    (b"<", string(Relation::Less)),
    (b">=", string(Relation::GreaterOrEqual)),
    (b">", string(Relation::Greater)),
    (b"&&", Token::And),
    (b"||", Token::Or),
    (b".", Token::Concat),
    (b"(", Token::ParenOpen),
    (b")", Token::ParenClose),
    (b"{", Token::BraceOpen),
    (b"}", Token::BraceClose),
    (b",", Token::Comma),
    (b":", Token::Colon),
];

/// Words. Those of the second half come from SSLRequire's old language.
const KEYWORDS: &[(&[u8], Token<'static>)] = &[
    (b"true", Token::True),
    (b"false", Token::False),
    (b"and", Token::And),
    (b"or", Token::Or),
    (b"not", Token::Not),
    (b"eq", numeric(Relation::Equal)),
    (b"ne", numeric(Relation::NotEqual)),
    (b"lt", numeric(Relation::Less)),
    (b"le", numeric(Relation::LessOrEqual)),
    (b"gt", numeric(Relation::Greater)),
    (b"ge", numeric(Relation::GreaterOrEqual)),
    (b"in", Token::In),
];

/// Words behind a dash.
const DASHED: &[(&[u8], Token<'static>)] = &[
    (b"eq", numeric(Relation::Equal)),
    (b"ne", numeric(Relation::NotEqual)),
    (b"lt", numeric(Relation::Less)),
    (b"le", numeric(Relation::LessOrEqual)),
    (b"gt", numeric(Relation::Greater)),
    (b"ge", numeric(Relation::GreaterOrEqual)),
    (b"in", Token::In),
];

/// The sign that the text begins with, and its length.
pub(crate) fn symbol(text: &[u8]) -> Option<(usize, Token<'static>)> {
    let (sign, token) = SYMBOLS.iter().find(|(sign, _)| text.starts_with(sign))?;
    Some((sign.len(), token.clone()))
}

/// The operator that is this word.
pub(crate) fn keyword(word: &[u8]) -> Option<Token<'static>> {
    find(KEYWORDS, word)
}

/// The operator that is this word behind a dash.
pub(crate) fn dashed(word: &[u8]) -> Option<Token<'static>> {
    find(DASHED, word)
}

fn find(table: &[(&[u8], Token<'static>)], word: &[u8]) -> Option<Token<'static>> {
    table.iter().find(|(name, _)| *name == word).map(|(_, token)| token.clone())
}
