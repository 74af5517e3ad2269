//! Texts with `$1`, `%1`, `%{variables}` and `${maps}` in them, taken apart once. What they come to
//! for a request is worked out in `expand` (do_expand of mod_rewrite.c).

use crate::variable::Variable;

/// A text, in pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Template {
    /// As it was written.
    pub(crate) text: Box<str>,
    pub(crate) pieces: Box<[Piece]>,
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// It stands for itself.
    Literal(Box<[u8]>),
    /// It stood behind a backslash.
    Escaped(u8),
    /// `$0` to `$9`: what the pattern of the rule has found.
    RuleGroup(u8),
    /// `%0` to `%9`: what the last condition that matched has found.
    ConditionGroup(u8),
    /// `%{NAME}`
    Variable(Variable),
    /// `${map:key|default}`
    Map(Box<MapLookup>),
}

/// What a map is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MapLookup {
    pub(crate) map: Box<str>,
    pub(crate) key: Template,
    /// What stands for a key that the map does not have.
    pub(crate) default: Option<Template>,
}

impl Template {
    /// Take `text` apart. Nothing is an error: what means nothing stands for itself.
    pub(crate) fn parse(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, behind) = Piece::read(rest);
            match (pieces.last_mut(), piece) {
                (Some(Piece::Literal(before)), Piece::Literal(more)) => {
                    *before = [&**before, &*more].concat().into();
                }
                (_, piece) => pieces.push(piece),
            }
            rest = behind;
        }
        Self { text: text.into(), pieces: pieces.into() }
    }

    /// The text, if it is the same for all requests.
    pub(crate) fn constant(&self) -> Option<&[u8]> {
        match &*self.pieces {
            [] => Some(b""),
            [Piece::Literal(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// Whether a map is asked for it.
    pub(crate) fn asks_maps(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Map(_)))
    }

    /// All variables in it, also in keys of maps.
    pub(crate) fn variables(&self) -> Vec<&Variable> {
        self.pieces.iter().flat_map(Piece::variables).collect()
    }
}

impl Piece {
    fn variables(&self) -> Vec<&Variable> {
        match self {
            Self::Variable(variable) => vec![variable],
            Self::Map(lookup) => {
                let default = lookup.default.iter().flat_map(Template::variables);
                lookup.key.variables().into_iter().chain(default).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The piece that a text which is not empty begins with, and what follows it.
    fn read(text: &str) -> (Self, &str) {
        let literal =
            |length: usize| (Self::Literal(text.as_bytes()[..length].into()), &text[length..]);
        let end = text.find(['\\', '$', '%']).unwrap_or(text.len());
        if end > 0 {
            return literal(end);
        }
        let (special, next) = (text.as_bytes()[0], text.as_bytes().get(1));
        match (special, next) {
            (b'\\', Some(byte)) if byte.is_ascii() => (Self::Escaped(*byte), &text[2..]),
            (b'\\', Some(_)) => (Self::Literal(Box::default()), &text[1..]),
            (b'$' | b'%', Some(b'{')) => {
                let Some(length) = find_closing(&text[2..], None) else { return literal(2) };
                let (inner, behind) = (&text[2..2 + length], &text[3 + length..]);
                if special == b'%' {
                    return (Self::Variable(Variable::parse(inner)), behind);
                }
                Self::map(inner).map_or_else(|| literal(2), |piece| (piece, behind))
            }
            (b'$', Some(digit @ b'0'..=b'9')) => (Self::RuleGroup(digit - b'0'), &text[2..]),
            (b'%', Some(digit @ b'0'..=b'9')) => (Self::ConditionGroup(digit - b'0'), &text[2..]),
            _ => literal(1),
        }
    }

    /// `map:key` or `map:key|default`
    fn map(inner: &str) -> Option<Self> {
        let colon = find_closing(inner, Some(b':'))?;
        let (map, rest) = (&inner[..colon], &inner[colon + 1..]);
        let (key, default) = match find_closing(rest, Some(b'|')) {
            Some(bar) => (&rest[..bar], Some(Template::parse(&rest[bar + 1..]))),
            None => (rest, None),
        };
        let key = Template::parse(key);
        Some(Self::Map(Box::new(MapLookup { map: map.into(), key, default })))
    }
}

/// Where the bracket closes that stands before `text`, or where `wanted` stands before that, in no
/// bracket of its own. The text may end where the bracket would stand, if something is wanted.
fn find_closing(text: &str, wanted: Option<u8>) -> Option<usize> {
    let mut depth = 1_u32;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if Some(byte) == wanted && depth == 1 => return Some(at),
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return wanted.is_none().then_some(at);
                }
            }
            b'{' => depth += 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> Piece {
        Piece::Literal(text.as_bytes().into())
    }

    #[test]
    fn what_means_nothing_stands_for_itself() {
        for text in ["", "/a?b=c", "$", "%", "a$b%c", "%{open", "${nocolon}", "$x%y", "\\"] {
            let template = Template::parse(text);
            assert_eq!(template.constant(), Some(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn pieces_come_in_order() {
        let template = Template::parse("/a$1%2\\$3%{REQUEST_URI}ä\\ä");
        let variable = Piece::Variable(Variable::parse("REQUEST_URI"));
        let expected = [
            literal("/a"),
            Piece::RuleGroup(1),
            Piece::ConditionGroup(2),
            Piece::Escaped(b'$'),
            literal("3"),
            variable,
            literal("ää"),
        ];
        assert_eq!(*template.pieces, expected);
    }

    #[test]
    fn a_map_has_a_key_and_perhaps_a_default_in_which_there_may_be_more() {
        let template = Template::parse("${a:${b:$1}|%{HTTP:X}}/");
        let [Piece::Map(lookup), end] = &*template.pieces else { panic!("{template:?}") };
        assert_eq!((&*lookup.map, end), ("a", &literal("/")));
        assert_eq!(template.variables(), [&Variable::parse("HTTP:X")]);
        assert!(lookup.default.is_some());
        assert!(template.asks_maps() && !Template::parse("${a}%{B:c}").asks_maps());
    }
}
