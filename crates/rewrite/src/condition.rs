//! The conditions before a rule: what a `RewriteCond` says (cmd_rewritecond of mod_rewrite.c).
//! Whether it holds for a request is found out in `engine`.

use crate::template::Template;
use crate::words::{self, Words, atoi};
use config::{Call, Error, Position};
use pattern::Regex;
use server::site::builder::Builder;
use server::site::expression::Expression;
use server::site::section::regex;
use std::cmp::Ordering;
use std::sync::Arc;

/// A condition.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    /// What is tested.
    pub(crate) input: Template,
    pub(crate) test: Test,
    /// `!`
    pub(crate) is_negated: bool,
    /// `NC`, where it means something.
    pub(crate) ignores_case: bool,
    /// `OR`
    pub(crate) or_next: bool,
    /// `NV`
    pub(crate) no_vary: bool,
    /// The pattern as it was written, for the log.
    pub(crate) pattern: Box<str>,
    /// Where it stands.
    pub(crate) position: Position,
}

/// What an input is compared with.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    Regex(Arc<Regex>),
    /// `-f` and its like.
    File(FileTest),
    /// `-F`: a file that the client may have.
    LookUpFile,
    /// `-U`: a URL that the client may ask for.
    LookUpUrl,
    /// `>text` and its like: longer texts are greater, unless case is ignored.
    Text(Relation, Box<[u8]>),
    /// `-gt5` and its like.
    Number(Relation, i64),
    /// The input is the word `expr`.
    Expression(Expression),
}

/// What a file has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileTest {
    /// `-f`
    Regular,
    /// `-s`
    NotEmpty,
    /// `-d`
    Directory,
    /// `-l`, `-h`, `-L`
    Link,
    /// `-x`
    Executable,
}

/// How two things have to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Less,
    LessOrEqual,
    Equal,
    Greater,
    GreaterOrEqual,
}

impl Relation {
    pub(crate) fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Equal => order.is_eq(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

/// How two texts compare: by their lengths first (compare_lexicography), or as C's `strcasecmp`
/// has it.
pub(crate) fn compare(one: &[u8], other: &[u8], ignores_case: bool) -> Ordering {
    if ignores_case {
        return one.to_ascii_lowercase().cmp(&other.to_ascii_lowercase());
    }
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

/// The flags of a condition.
#[derive(Default)]
struct ConditionFlags {
    ignores_case: bool,
    or_next: bool,
    no_vary: bool,
}

impl ConditionFlags {
    fn parse(field: &str) -> Result<Self, Error> {
        let mut all = Self::default();
        let given = words::flags(field).ok_or("RewriteCond: bad flag delimiters")?;
        for (name, _) in given {
            match name.to_ascii_lowercase().as_str() {
                "nc" | "nocase" => all.ignores_case = true,
                "or" | "ornext" => all.or_next = true,
                "nv" | "novary" => all.no_vary = true,
                _ => return Err(format!("RewriteCond: unknown flag '{name}'").into()),
            }
        }
        Ok(all)
    }
}

impl Condition {
    /// Read a line.
    pub(crate) fn parse(builder: &Builder, call: &Call<'_>) -> Result<Self, Error> {
        let Some(Words { first, second, third }) = words::split(call.raw) else {
            return Err(format!("RewriteCond: bad argument line '{}'", call.raw).into());
        };
        let flags = third.map(ConditionFlags::parse).transpose()?.unwrap_or_default();
        let (has_not, text) = match second.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, second),
        };
        let Known { test, is_inverse } = match first.eq_ignore_ascii_case("expr") {
            true => expression(builder, text)?.into(),
            false => match known(text) {
                Some(known) => known,
                None => pattern(builder, text, flags.ignores_case)?.into(),
            },
        };
        let has_case = matches!(test, Test::Regex(_) | Test::Text(..));
        if flags.ignores_case && !has_case {
            warn_of_case(call, &test, text);
        }
        Ok(Self {
            input: Template::parse(first),
            test,
            is_negated: has_not != is_inverse,
            ignores_case: flags.ignores_case && has_case,
            or_next: flags.or_next,
            no_vary: flags.no_vary,
            pattern: second.into(),
            position: call.position(),
        })
    }

    /// Whether a map is asked for it.
    pub(crate) fn asks_maps(&self) -> bool {
        self.input.asks_maps()
    }

    /// Whether to find out if it holds may have to wait, for anything but a map.
    pub(crate) fn may_wait(&self) -> bool {
        let test = match &self.test {
            Test::LookUpFile | Test::LookUpUrl => true,
            Test::Expression(expression) => expression.may_wait(),
            _ => false,
        };
        test || self.input.variables().iter().any(|variable| variable.looks_ahead())
    }
}

fn warn_of_case(call: &Call<'_>, test: &Test, text: &str) {
    // What is compared with stands behind an operator of three letters.
    let pattern = match test {
        Test::Number(..) => text.get(3..).unwrap_or_default(),
        _ => text,
    };
    let position = call.position();
    let text = format!(
        "RewriteCond: NoCase option for non-regex pattern '{pattern}' is not supported and will \
         be ignored. ({}:{})",
        position.file, position.line
    );
    call.warn(Some("AH00665"), text);
}

fn expression(builder: &Builder, text: &str) -> Result<Test, Error> {
    let place = if builder.is_htaccess() { " in htaccess context" } else { "" };
    let parsed = Expression::parse(text, builder.mode()).map_err(|error| {
        format!("RewriteCond: cannot compile expression{place} \"{text}\" {error}")
    })?;
    Ok(Test::Expression(parsed))
}

fn pattern(builder: &Builder, text: &str, ignores_case: bool) -> Result<Test, Error> {
    let flags = builder.server.regex.or_ignore_case(ignores_case);
    let compiled = regex(text, flags, 1).map_err(|error| {
        error.reworded(format!("RewriteCond: cannot compile regular expression '{text}'"))
    })?;
    Ok(Test::Regex(compiled))
}

/// A test, and whether the opposite is meant, as by `-ne`.
struct Known {
    test: Test,
    is_inverse: bool,
}

impl From<Test> for Known {
    fn from(test: Test) -> Self {
        Self { test, is_inverse: false }
    }
}

/// The test that a pattern of two bytes or more stands for, if it is no regular expression.
fn known(text: &str) -> Option<Known> {
    let text = text.as_bytes();
    let (first, rest) = text.split_first().filter(|(_, rest)| !rest.is_empty())?;
    match (first, rest) {
        (b'-', [letter]) => letter_test(*letter).map(Known::from),
        (b'-', [one, two, number @ ..]) if !number.is_empty() => number_test([*one, *two], number),
        (b'>', [b'=', text @ ..]) => Some(text_test(Relation::GreaterOrEqual, text)),
        (b'>', text) => Some(text_test(Relation::Greater, text)),
        (b'<', [b'=', text @ ..]) => Some(text_test(Relation::LessOrEqual, text)),
        (b'<', text) => Some(text_test(Relation::Less, text)),
        // It stands for nothing.
        (b'=', b"\"\"") => Some(text_test(Relation::Equal, b"")),
        (b'=', text) => Some(text_test(Relation::Equal, text)),
        _ => None,
    }
}

fn letter_test(letter: u8) -> Option<Test> {
    Some(match letter {
        b'f' => Test::File(FileTest::Regular),
        b's' => Test::File(FileTest::NotEmpty),
        b'd' => Test::File(FileTest::Directory),
        b'x' => Test::File(FileTest::Executable),
        b'h' | b'L' | b'l' => Test::File(FileTest::Link),
        b'U' => Test::LookUpUrl,
        b'F' => Test::LookUpFile,
        _ => return None,
    })
}

fn number_test(name: [u8; 2], number: &[u8]) -> Option<Known> {
    let (relation, is_inverse) = match &name {
        b"lt" => (Relation::Less, false),
        b"le" => (Relation::LessOrEqual, false),
        b"gt" => (Relation::Greater, false),
        b"ge" => (Relation::GreaterOrEqual, false),
        b"eq" => (Relation::Equal, false),
        b"ne" => (Relation::Equal, true),
        _ => return None,
    };
    Some(Known { test: Test::Number(relation, atoi(number)), is_inverse })
}

fn text_test(relation: Relation, text: &[u8]) -> Known {
    Test::Text(relation, text.into()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        known(text).map_or("pattern".into(), |known| match known.test {
            Test::File(test) => format!("{test:?}"),
            Test::Text(relation, text) => {
                format!("{relation:?} {}", String::from_utf8_lossy(&text))
            }
            Test::Number(relation, number) => format!("{relation:?} {number} {}", known.is_inverse),
            Test::LookUpFile => "F".into(),
            Test::LookUpUrl => "U".into(),
            Test::Regex(_) | Test::Expression(_) => "?".into(),
        })
    }

    #[test]
    fn what_is_no_pattern_is_known_by_its_first_bytes() {
        let table = [
            ("-f", "Regular"),
            ("-s", "NotEmpty"),
            ("-d", "Directory"),
            ("-l", "Link"),
            ("-L", "Link"),
            ("-h", "Link"),
            ("-x", "Executable"),
            ("-U", "U"),
            ("-F", "F"),
            ("-q", "pattern"),
            ("-", "pattern"),
            ("-gt", "pattern"),
            ("-gt5", "Greater 5 false"),
            ("-ge 7", "GreaterOrEqual 7 false"),
            ("-ne1", "Equal 1 true"),
            ("-zz1", "pattern"),
            (">a", "Greater a"),
            (">=a", "GreaterOrEqual a"),
            ("<=", "LessOrEqual "),
            ("<", "pattern"),
            ("=", "pattern"),
            ("=\"\"", "Equal "),
            ("=a", "Equal a"),
            ("^/x", "pattern"),
            ("", "pattern"),
        ];
        for (text, expected) in table {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn longer_texts_are_greater_unless_case_is_ignored() {
        assert_eq!(compare(b"b", b"aa", false), Ordering::Less);
        assert_eq!(compare(b"b", b"a", false), Ordering::Greater);
        assert_eq!(compare(b"B", b"aa", true), Ordering::Greater);
        assert_eq!(compare(b"Ab", b"aB", true), Ordering::Equal);
    }
}
