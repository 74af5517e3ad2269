//! The tokens of the language, and what httpd's messages call them.

use alloc::vec::Vec;

/// One token. What is taken from the text as it stands borrows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    End,
    True,
    False,
    /// The lexer has said what is wrong.
    Error,
    Digit(&'a [u8]),
    Id(&'a [u8]),
    /// A piece of a string, its escapes resolved.
    Text(Vec<u8>),
    Regex {
        pattern: &'a [u8],
        ignore_case: bool,
    },
    Backref(u8),
    /// `-x`, one letter.
    Unary(u8),
    /// `-word`.
    Binary(&'a [u8]),
    StrBegin,
    StrEnd,
    VarBegin,
    VarEnd,
    Compare(Comparison),
    Matches,
    MatchesNot,
    In,
    Concat,
    Or,
    And,
    Not,
    ParenOpen,
    ParenClose,
    BraceOpen,
    BraceClose,
    Comma,
    Colon,
}

/// How two words are compared: as numbers or as strings, and which results count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Comparison {
    pub(crate) numeric: bool,
    pub(crate) relation: Relation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

pub(crate) const fn numeric<'a>(relation: Relation) -> Token<'a> {
    Token::Compare(Comparison { numeric: true, relation })
}

pub(crate) const fn string<'a>(relation: Relation) -> Token<'a> {
    Token::Compare(Comparison { numeric: false, relation })
}

impl Token<'_> {
    /// The name in `syntax error, unexpected ...`: the grammar of httpd shows its own.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::End => "$end",
            Self::True => "T_TRUE",
            Self::False => "T_FALSE",
            Self::Error => "T_ERROR",
            Self::Digit(_) => "T_DIGIT",
            Self::Id(_) => "T_ID",
            Self::Text(_) => "T_STRING",
            Self::Regex { ignore_case: false, .. } => "T_REGEX",
            Self::Regex { ignore_case: true, .. } => "T_REGEX_I",
            Self::Backref(_) => "T_REGEX_BACKREF",
            Self::Unary(_) => "T_OP_UNARY",
            Self::Binary(_) => "T_OP_BINARY",
            Self::StrBegin => "T_STR_BEGIN",
            Self::StrEnd => "T_STR_END",
            Self::VarBegin => "T_VAR_BEGIN",
            Self::VarEnd => "T_VAR_END",
            Self::Compare(comparison) => comparison.name(),
            Self::Matches => "T_OP_REG",
            Self::MatchesNot => "T_OP_NRE",
            Self::In => "T_OP_IN",
            Self::Concat => "T_OP_CONCAT",
            Self::Or => "T_OP_OR",
            Self::And => "T_OP_AND",
            Self::Not => "T_OP_NOT",
            Self::ParenOpen => "'('",
            Self::ParenClose => "')'",
            Self::BraceOpen => "'{'",
            Self::BraceClose => "'}'",
            Self::Comma => "','",
            Self::Colon => "':'",
        }
    }
}

impl Comparison {
    fn name(self) -> &'static str {
        match (self.numeric, self.relation) {
            (true, Relation::Equal) => "T_OP_EQ",
            (true, Relation::NotEqual) => "T_OP_NE",
            (true, Relation::Less) => "T_OP_LT",
            (true, Relation::LessOrEqual) => "T_OP_LE",
            (true, Relation::Greater) => "T_OP_GT",
            (true, Relation::GreaterOrEqual) => "T_OP_GE",
            (false, Relation::Equal) => "T_OP_STR_EQ",
            (false, Relation::NotEqual) => "T_OP_STR_NE",
            (false, Relation::Less) => "T_OP_STR_LT",
            (false, Relation::LessOrEqual) => "T_OP_STR_LE",
            (false, Relation::Greater) => "T_OP_STR_GT",
            (false, Relation::GreaterOrEqual) => "T_OP_STR_GE",
        }
    }
}
