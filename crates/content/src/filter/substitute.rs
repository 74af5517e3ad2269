//! substitute: replaces text in the content of responses, line by line (mod_substitute). Here are
//! the directives, and what becomes of a line; in which place of the chain the filter SUBSTITUTE
//! stands is decided in `mod.rs`.

use crate::recode::Coder;
use config::directive::row;
use config::{Args, Call, Directive, Error, Scope};
use pattern::{PatternFlags, Regex, Replacement};
use server::module::{Hooks, Module};
use server::site::builder::Builder;
use server::site::settings::DirectoryKey;
use server::site::store::{Merge, either};
use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The module and its table.
pub static MODULE: Module =
    Module::new("substitute_module", "mod_substitute.c", DIRECTIVES, Hooks::NONE);

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("Substitute", Args::One, Scope::OR_FILEINFO, "", "Pattern to filter the response content (s/foo/bar/[inf])", substitute),
    row("SubstituteMaxLineLength", Args::One, Scope::OR_FILEINFO, "1m", "Maximum line length", max_line_length),
    row("SubstituteInheritBefore", Args::Flag, Scope::OR_FILEINFO, "Off", "Apply inherited patterns before those of the current context", inherit_before),
];

/// How long a line may be unless `SubstituteMaxLineLength` says otherwise, in bytes: so much of
/// each response may be held in memory (AP_SUBST_MAX_LINE_LENGTH).
const LINE_MAX_BYTES: usize = 1024 * 1024;

/// How much content is looked at at once.
const PIECE_BYTES: usize = 64 * 1024;

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// In the order in which they are applied to a line.
    rules: Arc<[Rule]>,
    line_max_bytes: Option<usize>,
    inherits_before: Option<bool>,
}

impl Merge for Settings {
    const HOLDS_ALONE: bool = true;

    /// As in httpd the rules of an inner section come first, unless `SubstituteInheritBefore` turns
    /// that around (merge_substitute_dcfg).
    fn over(&self, outer: &Self) -> Self {
        let inherits_before = self.inherits_before.or(outer.inherits_before);
        let (first, last) = match inherits_before {
            Some(true) => (&outer.rules, &self.rules),
            _ => (&self.rules, &outer.rules),
        };
        Self {
            rules: first.iter().chain(last.iter()).cloned().collect(),
            line_max_bytes: either(self.line_max_bytes.as_ref(), outer.line_max_bytes.as_ref()),
            inherits_before,
        }
    }
}

impl Settings {
    /// What replaces the text of one response; `None` if nothing is to be replaced.
    pub(crate) fn lines(&self) -> Option<Lines> {
        let line_max_bytes = self.line_max_bytes.unwrap_or(LINE_MAX_BYTES);
        let rules = self.rules.clone();
        (!rules.is_empty()).then(|| Lines { rules, line_max_bytes, begun: Vec::new() })
    }
}

/// `s/from/to/flags`
#[derive(Clone, Debug)]
struct Rule {
    search: Search,
    /// What the rules after this one see: all of the line (`f`), or its pieces, each for itself
    /// (`q`).
    flattens: bool,
}

#[derive(Clone, Debug)]
enum Search {
    Regex {
        regex: Arc<Regex>,
        to: Replacement,
    },
    /// `n`: both texts as they stand.
    Text {
        from: Vec<u8>,
        ignores_case: bool,
        to: Vec<u8>,
    },
}

fn substitute(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let regex = builder.mode().regex;
    let rule = Rule::parse(call.arg(0), regex).map_err(|said| Error::argument(0, said))?;
    let settings = SETTINGS.change(builder.settings());
    settings.rules = settings.rules.iter().cloned().chain([rule]).collect();
    Ok(())
}

fn max_line_length(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let Some(bytes) = parse_size(call.arg(0)) else {
        let said = "SubstituteMaxLineLength must be a non-negative integer optionally suffixed \
                    with 'b', 'k', 'm' or 'g'.";
        return Err(Error::argument(0, said));
    };
    SETTINGS.change(builder.settings()).line_max_bytes = Some(bytes);
    Ok(())
}

fn inherit_before(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    SETTINGS.change(builder.settings()).inherits_before = Some(call.on());
    Ok(())
}

/// A number with a unit (set_max_line_length).
fn parse_size(text: &str) -> Option<usize> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let factor = match text[end..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        _ => return None,
    };
    match end {
        // strtol takes nothing for 0.
        0 => text.is_empty().then_some(0),
        _ => text[..end].parse::<usize>().ok()?.checked_mul(factor),
    }
}

impl Rule {
    /// `s`, any character, and three parts between that: what is looked for, what takes its place,
    /// and flags (set_pattern).
    fn parse(line: &str, regex: PatternFlags) -> Result<Self, &'static str> {
        const INCOMPLETE: &str = "Bad Substitute format, must be a complete s/// pattern";
        let Some(rest) = line.strip_prefix(['s', 'S']) else {
            return Err("Bad Substitute format, must be an s/// pattern");
        };
        let mut rest = rest.chars();
        let border = rest.next().ok_or(INCOMPLETE)?;
        let mut parts = rest.as_str().splitn(3, border);
        let from = parts.next().filter(|from| !from.is_empty()).ok_or(INCOMPLETE)?;
        let to = parts.next().ok_or(INCOMPLETE)?;
        let (mut is_text, mut ignores_case, mut flattens) = (false, false, true);
        for flag in parts.next().unwrap_or_default().bytes() {
            match flag.to_ascii_lowercase() {
                b'i' => ignores_case = true,
                b'n' => is_text = true,
                b'f' => flattens = true,
                b'q' => flattens = false,
                _ => return Err("Bad Substitute flag, only s///[infq] are supported"),
            }
        }
        if is_text {
            let search = Search::Text { from: from.into(), ignores_case, to: to.into() };
            return Ok(Self { search, flattens });
        }
        // AP_REG_NO_DEFAULT: of the defaults only what `$` means.
        let flags = PatternFlags { dotall: false, multi_line: false, ignore_case: false, ..regex };
        let compiled = Regex::new(from, flags.or_ignore_case(ignores_case))
            .map_err(|_| "Substitute could not compile regex")?;
        let search = Search::Regex { regex: Arc::new(compiled), to: Replacement::parse(to) };
        Ok(Self { search, flattens })
    }

    /// What becomes of a piece of a line, in one piece or in several; together they may have so
    /// many bytes. As in httpd each match is looked for in what is left behind the one before, as
    /// if that were a line of its own.
    fn apply<'l>(
        &self,
        piece: Cow<'l, [u8]>,
        flattens: bool,
        max_bytes: usize,
        out: &mut Vec<Cow<'l, [u8]>>,
    ) -> Result<(), LineTooLong> {
        let Some(mut found) = self.find(&piece, max_bytes)? else {
            out.push(piece);
            return Ok(());
        };
        let (mut rest, mut length, mut pieces) = (&piece[..], 0, Vec::new());
        loop {
            let (before, behind) = (&rest[..found.place.start], &rest[found.place.end..]);
            length += before.len() + found.text.len();
            if length > max_bytes {
                return Err(LineTooLong);
            }
            // To look at the place of an empty match again would find it again, for ever (which
            // httpd does).
            let (passed, left) =
                behind.split_at(usize::from(found.place.is_empty() && !behind.is_empty()));
            length += passed.len();
            pieces.extend([before.to_vec(), found.text, passed.to_vec()]);
            rest = left;
            match self.find(rest, max_bytes)? {
                Some(next) if !rest.is_empty() => found = next,
                _ => break,
            }
        }
        if length + rest.len() > max_bytes {
            return Err(LineTooLong);
        }
        pieces.push(rest.to_vec());
        match flattens {
            true => out.push(Cow::Owned(pieces.concat())),
            false => out.extend(pieces.into_iter().filter(|it| !it.is_empty()).map(Cow::Owned)),
        }
        Ok(())
    }

    /// The first place that is replaced, and by what. A match that would take too long is none.
    fn find(&self, piece: &[u8], max_bytes: usize) -> Result<Option<Found>, LineTooLong> {
        match &self.search {
            Search::Text { from, ignores_case, to } => {
                let is_it = |part: &[u8]| match ignores_case {
                    true => part.eq_ignore_ascii_case(from),
                    false => part == from,
                };
                let start = piece.windows(from.len()).position(is_it);
                Ok(start.map(|at| Found { place: at..at + from.len(), text: to.clone() }))
            }
            Search::Regex { regex, to } => {
                let Ok(Some(captures)) = regex.captures(piece) else { return Ok(None) };
                let group =
                    |number| captures.get(number).and_then(|at| piece.get(at)).unwrap_or_default();
                let mut text = Vec::new();
                to.expand_within(group, max_bytes, &mut text).map_err(|_| LineTooLong)?;
                Ok(captures.get(0).map(|place| Found { place, text }))
            }
        }
    }
}

/// What a rule has found in a line.
struct Found {
    place: Range<usize>,
    /// What takes its place.
    text: Vec<u8>,
}

/// A line has, or would get, more bytes than it may have. What is left of the response is not sent:
/// it would have lost what the rules do to it.
#[derive(Debug)]
struct LineTooLong;

impl From<LineTooLong> for io::Error {
    fn from(_: LineTooLong) -> Self {
        Self::new(io::ErrorKind::FileTooLarge, "Line too long")
    }
}

/// The lines of one response on their way through the rules.
pub(crate) struct Lines {
    rules: Arc<[Rule]>,
    line_max_bytes: usize,
    /// A line whose end has not come yet.
    begun: Vec<u8>,
}

impl Lines {
    /// Append what becomes of a line.
    fn line(&self, line: &[u8], out: &mut Vec<u8>) -> Result<(), LineTooLong> {
        if line.len() > self.line_max_bytes {
            return Err(LineTooLong);
        }
        let mut pieces = vec![Cow::Borrowed(line)];
        for rule in self.rules.iter() {
            let mut next = Vec::with_capacity(pieces.len());
            for piece in pieces {
                rule.apply(piece, rule.flattens, self.line_max_bytes, &mut next)?;
            }
            pieces = next;
        }
        pieces.iter().for_each(|piece| out.extend_from_slice(piece));
        Ok(())
    }
}

impl Coder for Lines {
    fn piece_bytes(&self) -> usize {
        PIECE_BYTES
    }

    fn held_bytes(&self) -> usize {
        self.begun.len()
    }

    fn write(&mut self, input: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        for line in input.split_inclusive(|byte| *byte == b'\n') {
            let is_whole = line.ends_with(b"\n");
            if is_whole && self.begun.is_empty() {
                self.line(line, out)?;
                continue;
            }
            if self.begun.len() + line.len() > self.line_max_bytes {
                return Err(LineTooLong.into());
            }
            self.begun.extend_from_slice(line);
            if is_whole {
                let line = std::mem::take(&mut self.begun);
                self.line(&line, out)?;
            }
        }
        Ok(())
    }

    /// What is left has to wait for the end of its line.
    fn flush(&mut self, _: &mut Vec<u8>) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let line = std::mem::take(&mut self.begun);
        Ok(self.line(&line, out)?)
    }

    fn notes(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Rule {
        Rule::parse(text, PatternFlags::default()).unwrap()
    }

    fn lines(rules: &[&str], line_max_bytes: usize) -> Lines {
        let rules = rules.iter().map(|text| rule(text)).collect();
        Lines { rules, line_max_bytes, begun: Vec::new() }
    }

    /// What comes of `text`, given in pieces of so many bytes; `None` for a line that is too long.
    fn pieces_of(bytes: usize, mut lines: Lines, text: &str) -> Option<String> {
        let mut out = Vec::new();
        for piece in text.as_bytes().chunks(bytes) {
            lines.write(piece, &mut out).ok()?;
            lines.flush(&mut out).ok()?;
        }
        lines.finish(&mut out).ok()?;
        Some(String::from_utf8(out).unwrap())
    }

    fn replaced(rules: &[&str], text: &str) -> String {
        let whole = pieces_of(4096, lines(rules, 1 << 20), text).unwrap();
        for bytes in [1, 2, 3, 7] {
            let pieces = pieces_of(bytes, lines(rules, 1 << 20), text).unwrap();
            assert_eq!(pieces, whole, "in pieces of {bytes}");
        }
        whole
    }

    #[test]
    fn text_is_replaced_wherever_it_stands_in_a_line() {
        for (rules, text, expected) in [
            (&["s/foo/bar/"][..], "foo foo\nafoob\nfo\no", "bar bar\nabarb\nfo\no"),
            (&["s/foo/bar"], "foo", "bar"),
            (&["s/foo//"], "a foo b", "a  b"),
            (&["s|f.o|[$0]|i"], "FXO f\no", "[FXO] f\no"),
            (&["s/f.o/$0/n"], "fxo f.o", "fxo $0"),
            (&["s/AbC/x/ni"], "abcABC", "xx"),
            (&["s/(a)(b)?/$2$1\\$1/"], "ab a", "ba$1 a$1"),
            (&["s/$/!/"], "a", "a!"),
            (&["s/x*/-/"], "abc", "-a-b-c"),
            (&["s/a/b/", "s/b/c/"], "ab", "cc"),
            // Each match begins a line of its own.
            (&["s/^a/x/"], "aaba", "xxba"),
            // What the first leaves is one piece for the second, or several.
            (&["s/b/x/f", "s/axc/y/"], "abc", "y"),
            (&["s/b/x/q", "s/axc/y/", "s/^x$/z/"], "abc", "azc"),
        ] {
            assert_eq!(replaced(rules, text), expected, "{rules:?} {text:?}");
        }
    }

    #[test]
    fn lines_have_a_limit() {
        for (rules, text, is_good) in [
            (&["s/x/y/"][..], "12345678\n12345678\n", true),
            (&["s/x/y/"], "123456789\n", false),
            (&["s/x/y/"], "1234567890", false),
            (&["s/x/yyy/"], "1234567x", false),
            (&["s/x/yyy/n"], "1234567x", false),
            (&["s/x/yy/n"], "1234567x", true),
            (&["s/x/$0$0$0$0$0/q"], "xx", false),
        ] {
            for bytes in [1, 4, 100] {
                let came = pieces_of(bytes, lines(rules, 9), text).is_some();
                assert_eq!(came, is_good, "{rules:?} {text:?} in pieces of {bytes}");
            }
        }
    }

    #[test]
    fn what_is_no_rule_is_refused_in_httpds_words() {
        for (text, said) in [
            ("x", "must be an s/// pattern"),
            ("", "must be an s/// pattern"),
            ("s", "must be a complete s/// pattern"),
            ("s/a", "must be a complete s/// pattern"),
            ("s//b/", "must be a complete s/// pattern"),
            ("s/a/b/x", "only s///[infq] are supported"),
            ("s/a/b/i/", "only s///[infq] are supported"),
            ("s/(/b/", "could not compile regex"),
        ] {
            let error = Rule::parse(text, PatternFlags::default()).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
        for text in ["S/a/b/", "s,a,b,INFQ", "s/(/b/n", "sxaxb"] {
            rule(text);
        }
    }

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [("0", Some(0)), ("10B", Some(10)), ("2k", Some(2048)), ("", Some(0))]
        {
            assert_eq!(parse_size(text), bytes, "{text}");
        }
        assert_eq!(parse_size("1G"), Some(1 << 30));
        for text in ["-1", "k", "1kb", "1 k", "99999999999999999999", "9999999999999g"] {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }

    #[test]
    fn inner_rules_come_first_unless_they_are_told_not_to() {
        let settings = |text: &str, before| Settings {
            rules: Arc::new([rule(text)]),
            line_max_bytes: None,
            inherits_before: before,
        };
        let result = |inner: Settings, outer: &Settings| {
            let mut lines = inner.over(outer).lines().unwrap();
            let mut out = Vec::new();
            lines.write(b"a\n", &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let outer = settings("s/a/outer/", None);
        assert_eq!(result(settings("s/a/inner/", None), &outer), "inner\n");
        assert_eq!(result(settings("s/a/inner/", Some(true)), &outer), "outer\n");
        assert!(Settings::default().lines().is_none());
    }
}
