//! `<Macro>` and `Use` (mod_macro): text with holes, filled in before it is parsed.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::ast::{self, Line, Node, Position};
use crate::diagnostic::Error;
use crate::lexer::{LINE_BYTES_MAX, LineWords, is_blank};

/// The macros defined so far. Their names have no case.
#[derive(Debug, Default)]
pub(crate) struct Macros {
    all: Vec<Arc<Macro>>,
    /// Whether there ever was one.
    begun: bool,
    /// `MacroIgnoreEmptyArgs`
    pub(crate) ignores_empty: bool,
    /// `MacroIgnoreBadNesting`
    pub(crate) ignores_bad_nesting: bool,
}

/// A macro as it was defined.
#[derive(Debug)]
pub(crate) struct Macro {
    /// In lower case, as messages show it.
    pub(crate) name: String,
    parameters: Vec<String>,
    text: String,
    /// `defined on line 8 of "/x.conf"`
    defined: String,
    /// Whether it closes all sections that it opens, and no other: else its lines are lines of the
    /// file that uses it.
    pub(crate) is_balanced: bool,
    /// Whether it uses others, and so may turn out not to be balanced.
    uses_others: bool,
    /// `/IgnoreEmptyArgs`
    ignores_empty: bool,
    /// What mod_macro warns about, in its order.
    doubts: Doubts,
}

/// Numbers of the warnings about sections that do not match.
const BAD_NESTING: &[&str] = &["AH02793", "AH02795"];

impl Macro {
    /// Bytes of its text.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// The macro of a `<Macro>` line and the lines below it, the last of which ends it.
    pub(crate) fn new(line: &Line, body: &[Node]) -> Result<Self, Error> {
        let raw = match line.args() {
            "" => return Err("<Macro macro definition: empty name".into()),
            raw => raw,
        };
        let (raw, behind) = raw.rsplit_once('>').ok_or("<Macro> directive missing closing '>'")?;
        if raw.is_empty() {
            return Err("<Macro macro definition: empty name".into());
        }
        let mut words = LineWords::new(raw);
        let name = words.next().map(|word| word.text).filter(|name| !name.is_empty());
        let name = name.ok_or("<Macro macro definition: name not found")?.to_ascii_lowercase();
        let defined = format!("defined on {}", place(&line.position()));
        let label = format!("macro '{name}' ({defined})");
        let mut doubts = Vec::new();
        doubts.extend(not_blank("AH02801", "<Macro closing '>'", behind, line));
        if name.starts_with(PREFIXES) {
            let said = format!("{label} better prefix a macro name with any of '$%@'");
            doubts.push(("AH02803", said));
        }
        let flags = Flags::take(&raw[words.offset()..], &label, &mut doubts);
        let parameters: Vec<String> = LineWords::new(flags.rest).map(|word| word.text).collect();
        doubts.extend(odd_names(&label, &parameters)?);
        let (end, lines) = body.split_last().map_or((None, body), |(end, rest)| (Some(end), rest));
        if let Some(end) = end.map(Node::line) {
            let behind = end.text.rsplit_once('>').map_or("", |(_, behind)| behind);
            doubts.extend(not_blank("AH02794", "directive closing", behind, end));
        }
        if !flags.ignores_bad_nesting {
            doubts.extend(nesting(&label, line, body));
        }
        let text = numbered(lines, line.number());
        doubts.extend(doubts_of(&label, &parameters, &text));
        let is_use = |node: &Node| node.line().name().eq_ignore_ascii_case("Use");
        Ok(Self {
            name,
            parameters,
            text,
            defined,
            is_balanced: is_balanced(lines),
            uses_others: lines.iter().any(is_use),
            ignores_empty: flags.ignores_empty,
            doubts,
        })
    }

    /// Whether its use may change what stands around it.
    pub(crate) fn may_reach_out(&self) -> bool {
        !self.is_balanced || self.uses_others
    }

    /// Whether it is called so.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Whether a line stands in it: mod_macro, too, looks for its name in that of the "file".
    pub(crate) fn is_around(&self, line: &Line) -> bool {
        line.file().contains(&format!("macro '{}'", self.name))
    }

    /// Whether a `Use` with these values is possible.
    pub(crate) fn check(&self, values: &[String]) -> Result<(), Error> {
        let (given, wanted) = (values.len(), self.parameters.len());
        if given == wanted {
            return Ok(());
        }
        let (name, defined) = (&self.name, &self.defined);
        let used = format!("used with {given} arguments instead of {wanted}");
        Err(format!("macro '{name}' ({defined}) {used}").into())
    }

    /// A bound of the length of its text with these values.
    pub(crate) fn filled_bytes(&self, values: &[String]) -> usize {
        let holes = self.parameters.iter().zip(values);
        let grown = holes.map(|(name, value)| {
            // Escapes make a value at most twice as long, and its quotes.
            let bytes = if name.starts_with('@') { 2 * value.len() + 2 } else { value.len() };
            self.text.matches(name.as_str()).count().saturating_mul(bytes)
        });
        grown.fold(self.text.len(), usize::saturating_add)
    }

    /// Its text with these values: at each place the longest parameter that fits is replaced, so
    /// that `$dir` does not spoil `$directory`, and a value is never searched for parameters again.
    pub(crate) fn fill(&self, values: &[String]) -> String {
        let mut filled = String::with_capacity(self.text.len());
        let mut rest = self.text.as_str();
        while let Some(first) = rest.chars().next() {
            let all = self.parameters.iter().zip(values);
            let here = all.filter(|(name, _)| rest.starts_with(name.as_str()));
            match here.max_by_key(|(name, _)| name.len()) {
                Some((name, value)) => {
                    fill_in(&mut filled, name, value);
                    rest = &rest[name.len()..];
                }
                None => {
                    filled.push(first);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        filled
    }

    /// What stands for a file name in messages about a `Use`.
    pub(crate) fn label(&self, line: &Line) -> String {
        format!("macro '{}' ({}) used on {}", self.name, self.defined, place(&line.position()))
    }
}

/// What begins the names of parameters. A value for `@name` becomes one word in quotes.
const PREFIXES: [char; 3] = ['$', '%', '@'];

fn fill_in(filled: &mut String, name: &str, value: &str) {
    if !name.starts_with('@') {
        return filled.push_str(value);
    }
    filled.push('"');
    for c in value.chars() {
        if matches!(c, '"' | '\\') {
            filled.push('\\');
        }
        filled.push(c);
    }
    filled.push('"');
}

/// What stands between the name of a macro and its parameters.
struct Flags<'t> {
    ignores_empty: bool,
    ignores_bad_nesting: bool,
    rest: &'t str,
}

impl<'t> Flags<'t> {
    fn take(mut rest: &'t str, label: &str, doubts: &mut Doubts) -> Self {
        let (mut ignores_empty, mut ignores_bad_nesting) = (false, false);
        while rest.trim_start_matches(is_blank).starts_with('/') {
            rest = rest.trim_start_matches(is_blank);
            let has =
                |flag: &str| rest.get(..flag.len()).is_some_and(|it| it.eq_ignore_ascii_case(flag));
            let known = [
                ("/IgnoreEmptyArgs", &mut ignores_empty),
                ("/IgnoreBadNesting", &mut ignores_bad_nesting),
            ];
            if let Some((flag, is_set)) = known.into_iter().find(|row| has(row.0)) {
                *is_set = true;
                rest = &rest[flag.len()..];
            }
            let end = rest.find(is_blank).unwrap_or(rest.len());
            if end > 0 {
                doubts.push(("AH02804", format!("{label}: unknown flag '{}'", &rest[..end])));
                rest = &rest[end..];
            }
        }
        Self { ignores_empty, ignores_bad_nesting, rest }
    }
}

/// What an unfinished definition is told.
pub(crate) fn without_end(line: &Line) -> String {
    match Macro::new(line, &[]) {
        Err(error) => error.text,
        Ok(made) => {
            let label = format!("macro '{}' ({})", made.name, made.defined);
            format!("{label}\n\tcontents error: expected token not found: </Macro>")
        }
    }
}

/// What follows the `>` of a line may only be a comment (warn_if_non_blank).
fn not_blank(id: &str, what: &str, behind: &str, line: &Line) -> Option<(&'static str, String)> {
    let is_blank = behind.trim_start_matches(is_blank).is_empty();
    if is_blank || behind.trim_start().starts_with('#') {
        return None;
    }
    let Position { file, line, .. } = line.position();
    let said =
        format!("{id}: non blank chars found after {what} on line {line} of {file}: {behind}");
    Some(("AH02989", said))
}

/// What the first words of lines do to the number of open sections.
fn step(node: &Node) -> i64 {
    let first = LineWords::new(&node.line().text).next().map(|word| word.text);
    match first.as_deref().unwrap_or_default().as_bytes() {
        [b'<', b'/', ..] => -1,
        [b'<', ..] => 1,
        _ => 0,
    }
}

/// Sections that do not match, as mod_macro counts them: with `<Macro>` itself and its end
/// (get_lines_till_end_token).
fn nesting(label: &str, line: &Line, body: &[Node]) -> Doubts {
    let mut doubts = Vec::new();
    let mut open = 1;
    for node in body {
        let step = step(node);
        open += step;
        if step < 0 && open < 0 {
            let number = node.line().number().saturating_sub(line.number());
            let said = format!("bad (negative) nesting on line {number} of {label}");
            doubts.push(("AH02793", said));
        }
    }
    if open != 0 && !body.is_empty() {
        doubts.push(("AH02795", format!("bad cumulated nesting ({open:+}) in {label}")));
    }
    doubts
}

/// Whether lines close what they open and nothing else. What stands in macros among them is no
/// matter: it is only read.
fn is_balanced(lines: &[Node]) -> bool {
    let (mut open, mut macros) = (0, 0);
    for node in lines {
        let first = LineWords::new(&node.line().text).next().map(|word| word.text);
        let first = first.unwrap_or_default();
        // Inside of another one `<Macro>` without a name begins none: it keeps its `>`.
        let begins = if macros == 0 { first.strip_suffix('>').unwrap_or(&first) } else { &first };
        if ast::is_macro(begins) {
            macros += 1;
        } else if macros > 0 {
            macros -= i64::from(first.eq_ignore_ascii_case("</Macro>"));
        } else {
            open += step(node);
            if open < 0 {
                return false;
            }
        }
    }
    open == 0
}

/// `line 8 of "/x.conf"`
fn place(position: &Position) -> String {
    format!("line {} of \"{}\"", position.line, position.file)
}

type Doubts = Vec<(&'static str, String)>;

/// What is wrong, and what is odd, about the names of parameters (check_macro_arguments).
fn odd_names(label: &str, parameters: &[String]) -> Result<Doubts, Error> {
    let mut doubts = Vec::new();
    for (one, name) in (1..).zip(parameters) {
        if name.is_empty() {
            return Err(format!("{label}: empty argument #{one} name").into());
        }
        if name.starts_with("${") {
            let said = format!(
                "{label} argument name '{name}' (#{one}) clashes with 'Define' syntax '${{...}}', \
                 better use '$(...)'."
            );
            doubts.push(("AH02805", said));
        }
        if !name.starts_with(PREFIXES) {
            let said = format!(
                "{label} argument name '{name}' (#{one}) without expected prefix, better prefix \
                 argument names with one of '$%@'."
            );
            doubts.push(("AH02796", said));
        }
        for (two, other) in (1..).zip(parameters).skip(one) {
            if name == other {
                return Err(format!(
                    "argument name conflict in {label}: argument '{name}': #{one} and #{two}, \
                     change argument names!"
                )
                .into());
            }
            let is_prefix = name.starts_with(other.as_str()) || other.starts_with(name.as_str());
            if is_prefix && !other.is_empty() {
                let said = format!(
                    "{label}: argument name prefix conflict ({name} #{one} and {other} #{two}), \
                     be careful about your macro definition!"
                );
                doubts.push(("AH02797", said));
            }
        }
    }
    Ok(doubts)
}

/// What mod_macro finds odd about the contents.
fn doubts_of(label: &str, parameters: &[String], text: &str) -> Doubts {
    let mut doubts = Vec::new();
    if text.trim().is_empty() {
        doubts.push(("AH02799", format!("{label}: empty contents!")));
        return doubts;
    }
    for (at, name) in parameters.iter().enumerate() {
        let nth = at + 1;
        if !text.contains(name.as_str()) {
            doubts.push(("AH02800", format!("{label}: argument '{name}' (#{nth}) never used")));
        }
    }
    doubts
}

/// The body as text, each line as many lines below the first one as it stands below `<Macro>`,
/// and as mod_macro counts.
fn numbered(lines: &[Node], above: u32) -> String {
    let mut text = String::new();
    let mut line = 0;
    for node in lines {
        let wanted = node.line().first_line.saturating_sub(above + 1);
        // On a command line the numbers are those of the options.
        while line < wanted && text.len() < LINE_BYTES_MAX {
            text.push('\n');
            line += 1;
        }
        ast::print_line(&node.line().text, 0, &mut text);
        line += 1;
    }
    text
}

impl Macros {
    /// Defines a macro; a second definition replaces the first, as in httpd. Gives mod_macro's
    /// warnings about it.
    pub(crate) fn define(&mut self, made: Macro) -> Doubts {
        let mut doubts = made.doubts.clone();
        if let Some(known) = self.find(&made.name) {
            let (name, before, defined) = (&made.name, &known.defined, &made.defined);
            let text = format!("macro '{name}' multiply defined: {before}, re{defined}");
            // That comes first, but for what is wrong with the line itself.
            let at = doubts.first().map_or(0, |first| usize::from(first.1.contains("<Macro")));
            doubts.insert(at, ("AH02802", text));
        }
        let ignored = if self.ignores_bad_nesting { BAD_NESTING } else { &[] };
        doubts.retain(|doubt| !ignored.contains(&doubt.0));
        self.begun = true;
        self.all.retain(|known| known.name != made.name);
        self.all.push(Arc::new(made));
        doubts
    }

    /// Whether no macro was ever defined; one that was removed counts.
    pub(crate) fn is_empty(&self) -> bool {
        !self.begun
    }

    /// The macro called `name`, if it is defined.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<Macro>, Error> {
        let found = self.find(name).cloned();
        found.ok_or_else(|| format!("macro '{}' undefined", name.to_ascii_lowercase()).into())
    }

    fn find(&self, name: &str) -> Option<&Arc<Macro>> {
        self.all.iter().find(|known| known.is_named(name))
    }

    pub(crate) fn remove(&mut self, name: &str) -> Result<(), Error> {
        let at = self.all.iter().position(|known| known.is_named(name));
        let name = name.to_ascii_lowercase();
        let at = at.ok_or_else(|| format!("cannot remove undefined macro '{name}'"))?;
        self.all.remove(at);
        Ok(())
    }

    /// Those whose use may change what stands around it.
    pub(crate) fn reaching_out(&self) -> Vec<Arc<Macro>> {
        if self.all.iter().all(|known| known.is_balanced) {
            return Vec::new();
        }
        self.all.iter().filter(|known| known.may_reach_out()).cloned().collect()
    }

    /// mod_macro's warnings about values that are `""`.
    pub(crate) fn empty_values(
        &self,
        found: &Macro,
        values: &[String],
        line: &Line,
    ) -> Vec<String> {
        if self.ignores_empty || found.ignores_empty {
            return Vec::new();
        }
        let empty = (1..).zip(values).filter(|(_, value)| value.is_empty());
        let label = found.label(line);
        empty.map(|(nth, _)| format!("{label}: empty argument #{nth}")).collect()
    }
}
