//! Variables, texts made with them, and the values they have in one request.
//!
//! A value is a function of seed, user, request and variable: nothing is stored, runs can be
//! repeated, and a variable that stands twice in a request has one value there.

use super::random::{Random, hash, mix};
use crate::text::{SyntaxFault, TextScanner, nearest};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use std::fmt::Write as _;
use std::sync::Arc;

/// What a body is unless it is said: what forms send.
pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// What a variable can be.
///
/// ```text
/// list[a,b,c]               one of these, at random
/// alpha[min,max[,count]]    letters, so many; of count different texts
/// number[min,max[,count]]   a number from min to max; of count different ones
/// uuid                      a random UUID
/// udid                      40 hexadecimal digits
/// ```
///
/// Two need no definition: `n` is the number of the request of this user, from 1 on, and `user`
/// that of the user, from 0 on.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ValueSource {
    List(Vec<String>),
    Alpha {
        min: u64,
        max: u64,
        count: u64,
    },
    Number {
        min: u64,
        max: u64,
        count: u64,
    },
    Uuid,
    Udid,
    Request,
    User,
    /// Taken from an answer before; written so that it fits, where it stands in a target or a form.
    Taken {
        is_encoded: bool,
    },
}

/// A variable by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    name: String,
    source: ValueSource,
}

/// Letters of an `alpha` value at most.
const ALPHA_MAX: u64 = 4096;

impl Variable {
    /// Reads a definition, `list[a,b]`. `None` if it is none at all.
    pub fn parse(name: &str, text: &str) -> Option<Result<Self, SyntaxFault>> {
        let source = match text {
            "uuid" => Ok(ValueSource::Uuid),
            "udid" => Ok(ValueSource::Udid),
            _ => {
                let (kind, rest) = text.split_once('[')?;
                let inside = rest.strip_suffix(']')?;
                match kind {
                    "list" => list(text, inside),
                    "alpha" => numbers(text, inside, ALPHA_MAX)
                        .map(|(min, max, count)| ValueSource::Alpha { min, max, count }),
                    "number" => numbers(text, inside, u64::MAX / 2)
                        .map(|(min, max, count)| ValueSource::Number { min, max, count }),
                    _ => return None,
                }
            }
        };
        Some(source.map(|source| Self { name: name.to_owned(), source }))
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same with values that fit a request target.
    fn for_target(variable: &Arc<Self>) -> Arc<Self> {
        match &variable.source {
            ValueSource::Taken { .. } => Self::encoded(variable),
            ValueSource::List(items) => {
                let items = items.iter().map(|item| crate::url::encoded(item)).collect();
                Arc::new(Self { name: variable.name.clone(), source: ValueSource::List(items) })
            }
            _ => Arc::clone(variable),
        }
    }

    /// The same in a form. Values that were given are as whoever gave them wants them.
    fn encoded(variable: &Arc<Self>) -> Arc<Self> {
        match &variable.source {
            ValueSource::Taken { .. } => {
                let source = ValueSource::Taken { is_encoded: true };
                Arc::new(Self { name: variable.name.clone(), source })
            }
            _ => Arc::clone(variable),
        }
    }

    fn write(&self, values: &PlanValues, out: &mut Vec<u8>) {
        let mut random = values.random_of(&self.name);
        match &self.source {
            ValueSource::List(items) => {
                let index = random.below(items.len() as u64) as usize;
                out.extend(items[index].as_bytes());
            }
            ValueSource::Alpha { min, max, count } => {
                let mut random = Random::new(random.below(*count) ^ mix(hash(&self.name)));
                let len = min + random.below(max - min + 1);
                out.extend((0..len).map(|_| b'a' + random.below(26) as u8));
            }
            ValueSource::Number { min, max, count } => {
                let mut random = Random::new(random.below(*count) ^ mix(hash(&self.name)));
                push_number(min + random.below(max - min + 1), out);
            }
            ValueSource::Uuid => push_uuid(random.next(), random.next(), out),
            ValueSource::Udid => {
                let mut text = format!("{:016x}{:016x}", random.next(), random.next());
                let _ = write!(text, "{:08x}", random.next() as u32);
                out.extend(text.as_bytes());
            }
            ValueSource::Request => push_number(values.request, out),
            ValueSource::User => push_number(u64::from(values.user), out),
            ValueSource::Taken { is_encoded } => match is_encoded {
                true => push_encoded(values.taken(&self.name), out),
                false => out.extend(values.taken(&self.name)),
            },
        }
    }
}

fn list(text: &str, inside: &str) -> Result<ValueSource, SyntaxFault> {
    let items: Vec<String> = inside.split(',').map(|item| item.trim().to_owned()).collect();
    if inside.trim().is_empty() {
        return Err(SyntaxFault::new(text, text.len() - 1, "expected at least one value"));
    }
    check_line(text)?;
    Ok(ValueSource::List(items))
}

/// `min,max` or `min,max,count`.
fn numbers(text: &str, inside: &str, most: u64) -> Result<(u64, u64, u64), SyntaxFault> {
    let mut numbers = Vec::new();
    for word in inside.split(',') {
        let at = word.as_ptr().addr() - text.as_ptr().addr();
        let number = word.trim().parse().ok().filter(|number| *number <= most);
        numbers.push(number.ok_or_else(|| {
            SyntaxFault::new(text, at, format!("expected a whole number up to {most}"))
        })?);
    }
    match numbers[..] {
        [min, max] if min <= max => Ok((min, max, u64::MAX)),
        [min, max, count] if min <= max && count > 0 => Ok((min, max, count)),
        _ => Err(SyntaxFault::new(text, 0, "expected [min,max] or [min,max,count]")),
    }
}

/// Everything but the unreserved letters of RFC 3986 section 2.3 as `%XX`.
fn push_encoded(value: &[u8], out: &mut Vec<u8>) {
    const ESCAPED: &AsciiSet =
        &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    out.extend(percent_encode(value, ESCAPED).flat_map(str::as_bytes));
}

fn push_number(number: u64, out: &mut Vec<u8>) {
    out.extend(number.to_string().as_bytes());
}

/// RFC 9562 section 5.4: version 4, random.
fn push_uuid(high: u64, low: u64, out: &mut Vec<u8>) {
    let high = (high & !0xf000) | 0x4000;
    let low = (low & (u64::MAX >> 2)) | (1 << 63);
    let digits = format!("{high:016x}{low:016x}");
    for (index, piece) in
        [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]]
            .into_iter()
            .enumerate()
    {
        if index > 0 {
            out.push(b'-');
        }
        out.extend(piece.as_bytes());
    }
}

/// The names that texts can use.
#[derive(Clone, Debug)]
pub struct Variables {
    constants: Vec<(String, String)>,
    variables: Vec<Arc<Variable>>,
}

impl Default for Variables {
    fn default() -> Self {
        let own = [("n", ValueSource::Request), ("user", ValueSource::User)];
        let own = own.map(|(name, source)| Arc::new(Variable { name: name.to_owned(), source }));
        Self { constants: Vec::new(), variables: own.into() }
    }
}

/// Names at most; each use looks through all.
const NAMES_MAX: usize = 10_000;

/// Whether a text can be a name.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

impl Variables {
    /// Defines a name, again if need be: `text` is a definition (see [`Variable::parse`]) or else
    /// a constant, which may use names defined before.
    pub fn define(&mut self, name: &str, text: &str) -> Result<(), SyntaxFault> {
        if !is_name(name) {
            return Err(SyntaxFault::new(name, 0, "expected a name of letters, digits, _ and -"));
        }
        if self.constants.len() + self.variables.len() >= NAMES_MAX {
            return Err(SyntaxFault::new(name, 0, format!("expected at most {NAMES_MAX} names")));
        }
        let variable = Variable::parse(name, text).transpose()?;
        let constant = if variable.is_none() { Some(self.constant(text)?) } else { None };
        self.constants.retain(|(known, _)| known != name);
        self.variables.retain(|known| known.name != name);
        self.variables.extend(variable.map(Arc::new));
        self.constants.extend(constant.map(|value| (name.to_owned(), value)));
        Ok(())
    }

    /// Defines a name whose value is taken from an answer: it is empty before.
    pub(crate) fn define_taken(&mut self, name: &str) {
        self.constants.retain(|(known, _)| known != name);
        self.variables.retain(|known| known.name != name);
        let source = ValueSource::Taken { is_encoded: false };
        self.variables.push(Arc::new(Variable { name: name.to_owned(), source }));
    }

    fn constant(&self, text: &str) -> Result<String, SyntaxFault> {
        match self.text(text)?.parts.as_slice() {
            [] => Ok(String::new()),
            [TextPart::Fixed(bytes)] => Ok(String::from_utf8_lossy(bytes).into_owned()),
            _ => Err(SyntaxFault::new(text, 0, "a constant cannot use a variable")),
        }
    }

    /// Reads a text with references, `$(NAME)`, `${NAME}` or `#{NAME}`; `$$(` is `$(` itself.
    pub fn text(&self, text: &str) -> Result<Template, SyntaxFault> {
        let mut scanner = TextScanner::new(text);
        let mut out = Template::default();
        while !scanner.is_at_end() {
            out.push_fixed(scanner.take_while(|c| c != '$' && c != '#').as_bytes());
            let start = scanner.clone();
            let end = if ["$$(", "$${", "##{"].iter().any(|escape| scanner.eat(escape)) {
                out.push_fixed(&scanner.text.as_bytes()[start.at + 1..scanner.at]);
                continue;
            } else if scanner.eat("$(") {
                ")"
            } else if scanner.eat("${") || scanner.eat("#{") {
                "}"
            } else {
                out.push_fixed(scanner.rest().chars().next().map_or(&b""[..], |c| match c {
                    '$' => b"$",
                    _ => b"#",
                }));
                scanner.at += usize::from(!scanner.is_at_end());
                continue;
            };
            let name_at = scanner.clone();
            let name = scanner.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
            if !scanner.eat(end) {
                return Err(start.fault(format!("expected a name and {end}")));
            }
            self.push_named(name, &mut out).map_err(|what| name_at.fault(what))?;
        }
        out.parts.shrink_to_fit();
        Ok(out)
    }

    /// The text of a body of this type: in a form, which it is without one, what was taken from an
    /// answer is encoded.
    pub(crate) fn body(&self, text: &str, content_type: &str) -> Result<Template, SyntaxFault> {
        let text = self.text(text)?;
        let is_form = content_type.is_empty() || content_type.starts_with(FORM);
        Ok(if is_form { text.for_form() } else { text })
    }

    fn push_named(&self, name: &str, out: &mut Template) -> Result<(), String> {
        if let Some((_, value)) = self.constants.iter().find(|(known, _)| known == name) {
            out.push_fixed(value.as_bytes());
            return Ok(());
        }
        if let Some(variable) = self.variables.iter().find(|known| known.name == name) {
            out.parts.push(TextPart::Variable(Arc::clone(variable)));
            return Ok(());
        }
        let constants = self.constants.iter().map(|(known, _)| known.as_str());
        let known: Vec<&str> = constants.chain(self.variables.iter().map(|v| v.name())).collect();
        Err(match nearest(name, &known) {
            Some(near) => format!("no such name; did you mean {near}?"),
            None => "no such name".to_owned(),
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TextPart {
    Fixed(Vec<u8>),
    Variable(Arc<Variable>),
}

/// A text with variables in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    pub(crate) parts: Vec<TextPart>,
}

impl Template {
    /// A text without variables.
    pub fn fixed(text: &str) -> Self {
        // No more room than for this one part: there may be a million texts.
        let mut out = Self { parts: Vec::with_capacity(1) };
        out.push_fixed(text.as_bytes());
        out
    }

    /// The bytes, if there is no variable.
    pub fn as_fixed(&self) -> Option<&[u8]> {
        match self.parts.as_slice() {
            [] => Some(&[]),
            [TextPart::Fixed(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// Appends the text with the values of a request.
    pub fn write(&self, values: &PlanValues, out: &mut Vec<u8>) {
        for part in &self.parts {
            match part {
                TextPart::Fixed(bytes) => out.extend(bytes),
                TextPart::Variable(variable) => variable.write(values, out),
            }
        }
    }

    /// The text as it was written, with names for variables.
    pub fn source(&self) -> String {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                TextPart::Fixed(bytes) => out.push_str(&String::from_utf8_lossy(bytes)),
                TextPart::Variable(variable) => out.push_str(&format!("$({})", variable.name)),
            }
        }
        out
    }

    /// The text for a body that is a form: values that were taken from answers are escaped.
    pub(crate) fn for_form(mut self) -> Self {
        for part in &mut self.parts {
            if let TextPart::Variable(variable) = part {
                *variable = Variable::encoded(variable);
            }
        }
        self
    }

    pub(crate) fn push_fixed(&mut self, more: &[u8]) {
        match self.parts.last_mut() {
            _ if more.is_empty() => {}
            Some(TextPart::Fixed(bytes)) => bytes.extend(more),
            _ => self.parts.push(TextPart::Fixed(more.to_vec())),
        }
    }

    pub(crate) fn push_variable_of_target(&mut self, variable: &Arc<Variable>) {
        self.parts.push(TextPart::Variable(Variable::for_target(variable)));
    }

    /// Refuses what would end a line of a head. Values of variables never hold it.
    pub(crate) fn check_line(&self) -> Result<(), SyntaxFault> {
        let mut fixed = self.parts.iter().filter_map(|part| match part {
            TextPart::Fixed(bytes) => Some(bytes),
            TextPart::Variable(_) => None,
        });
        fixed.try_for_each(|bytes| check_line(&String::from_utf8_lossy(bytes)))
    }
}

/// Refuses CR, LF and NUL (RFC 9110 section 5.5).
pub(crate) fn check_line(text: &str) -> Result<(), SyntaxFault> {
    match text.find(['\r', '\n', '\0']) {
        Some(at) => Err(SyntaxFault::new(text, at, "a line end or a zero byte")),
        None => Ok(()),
    }
}

/// Whether a value may stand in a head: it ends no line.
pub(crate) fn is_of_head(value: &[u8]) -> bool {
    !value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | b'\0'))
}

/// What the variables of one request depend on.
#[derive(Clone, Debug)]
pub struct PlanValues {
    seed: u64,
    user: u32,
    request: u64,
    /// What was taken from answers to this user.
    taken: Vec<(Arc<str>, Vec<u8>)>,
    pub(crate) scratch: Vec<u8>,
}

impl PlanValues {
    /// The values of the first request of a user.
    pub const fn new(seed: u64, user: u32) -> Self {
        Self { seed, user, request: 1, taken: Vec::new(), scratch: Vec::new() }
    }

    /// Goes on to the next request of the user.
    pub const fn advance(&mut self) {
        self.request += 1;
    }

    /// From now on this is the value of a name.
    pub(crate) fn take(&mut self, name: &Arc<str>, value: Vec<u8>) {
        match self.taken.iter_mut().find(|row| row.0 == *name) {
            Some(row) => row.1 = value,
            None => self.taken.push((name.clone(), value)),
        }
    }

    fn taken(&self, name: &str) -> &[u8] {
        self.taken.iter().find(|row| &*row.0 == name).map_or(&[], |row| &row.1)
    }

    fn random_of(&self, name: &str) -> Random {
        Random::new(mix(mix(self.seed ^ hash(name)) ^ u64::from(self.user)) ^ mix(self.request))
    }
}

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
