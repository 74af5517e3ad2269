//! Walks a tree and calls the row of each line; the errors of all lines are collected.
//!
//! The order of checks and their texts are those of `invoke_cmd` and `ap_check_cmd_context`
//! (httpd's server/config.c and server/core.c).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;

use crate::ast::{Line, Node, SectionNode};
use crate::call::{Call, DirectiveNames, without_arguments};
use crate::diagnostic::{Diagnostic, Error, Severity, diagnose};
use crate::directive::{Apply, Args, Directive, SectionArgs};
use crate::guards::is_host;
use crate::index::{DirectiveIndex, FoundRow};
use crate::lexer::{self, Split};
use crate::missing::{elsewhere, not_there_yet, unknown};
use crate::scope::Scope;

/// What is built from a configuration, as far as the walker must know it.
pub trait Build {
    /// Where the next line stands. The function that enters a section changes it, the one that
    /// leaves the section changes it back; sections such as `<Limit>` leave it alone.
    fn scope(&self) -> Scope;

    /// Whether a directive is permitted by name where its row does not say so (AllowOverrideList).
    fn permits(&self, _name: &str) -> bool {
        false
    }

    /// Places whose directives are passed over where they are not allowed (AllowOverride
    /// Nonfatal).
    fn passes_over(&self) -> Scope {
        Scope::NONE
    }

    /// Whether names that nobody has are passed over, too.
    fn passes_unknown(&self) -> bool {
        false
    }

    /// Whether a directive of a module that is not there is an error, whichever module it is.
    fn is_strict(&self) -> bool {
        false
    }

    /// The help text of a row, where it depends on more than the row.
    fn help(&self, row: &Directive<Self>) -> &'static str
    where
        Self: Sized,
    {
        row.help
    }

    /// Whether what was said about the present line is shown to anybody.
    fn shows(&self, _said: &Diagnostic) -> bool {
        true
    }
}

impl<B> DirectiveNames for DirectiveIndex<B> {
    fn scope_of(&self, name: &str) -> Option<Scope> {
        match self.find(name) {
            FoundRow::Row(row) => Some(row.scope),
            FoundRow::Elsewhere(_) => Some(Scope::OR_ALL),
            FoundRow::Unloaded(_) | FoundRow::Unknown(_) => None,
        }
    }
}

/// Applies a tree to `build`. Gives all errors and warnings in the order of the lines.
pub fn apply<B: Build>(
    nodes: &[Node],
    index: &DirectiveIndex<B>,
    build: &mut B,
) -> Vec<Diagnostic> {
    let walk = ApplyWalk { index, notes: RefCell::default(), spare: RefCell::default() };
    walk.nodes(nodes, Around::default(), build);
    walk.notes.into_inner()
}

/// The sections around a line.
#[derive(Clone, Copy, Default)]
struct Around<'n> {
    /// The innermost one.
    section: Option<&'static str>,
    /// The innermost one that changed the scope.
    context: Option<&'static str>,
    /// The virtual host.
    host: Option<&'n Line>,
}

struct ApplyWalk<'a, B: 'static> {
    index: &'a DirectiveIndex<B>,
    notes: RefCell<Vec<Diagnostic>>,
    /// Room for the arguments of lines: one is in use per section around.
    spare: RefCell<Vec<Split>>,
}

impl<B: Build> ApplyWalk<'_, B> {
    /// One line after the other; an error never ends the walk.
    fn nodes(&self, nodes: &[Node], around: Around<'_>, build: &mut B) {
        for node in nodes {
            let line = node.line();
            match self.index.find(line.name()) {
                // A section that nobody knows is passed over with all that is in it.
                found if build.passes_unknown() && !matches!(found, FoundRow::Row(_)) => {}
                FoundRow::Row(row) => {
                    if let Err(error) = self.row(row, node, around, build) {
                        self.note(line, Severity::Error, error);
                    }
                }
                // As to httpd: nobody reads a warning here, and the line may protect something.
                FoundRow::Elsewhere(_) if build.is_strict() => {
                    self.note(line, Severity::Error, not_there_yet(line));
                }
                FoundRow::Elsewhere(name) => {
                    let said = elsewhere(name, node, self.index.guards(), around.host);
                    self.notes.borrow_mut().extend(said);
                }
                FoundRow::Unloaded(symbol) => {
                    let suggestion = Some(format!("to load {symbol}"));
                    let error = Error { suggestion, ..unknown(line, None) };
                    self.note(line, Severity::Error, error);
                }
                FoundRow::Unknown(near) => self.note(line, Severity::Error, unknown(line, near)),
            }
        }
    }

    /// Checks in httpd's order: the place first as far as its bits tell, then the number of
    /// arguments, then the place as the row's own function sees it.
    fn row(
        &self,
        row: &'static Directive<B>,
        node: &Node,
        around: Around<'_>,
        build: &mut B,
    ) -> Result<(), Error> {
        let is_permitted = build.permits(row.name) && row.scope.meets(Scope::HTACCESS);
        if !is_permitted && let Err(error) = check_scope(row, build.scope(), around) {
            if row.scope.meets(build.passes_over()) {
                return Ok(());
            }
            if let Node::Directive(line) = node
                && is_same_level(row.scope, build.scope())
            {
                words(&row.args, line.args(), &mut Split::default())
                    .map_err(|said| arity(row.name, &row.args, build.help(row), said))?;
            }
            return Err(error);
        }
        let mut split = self.spare.borrow_mut().pop().unwrap_or_default();
        let done = self.split_row(row, node, &mut split, around, build);
        if split.is_usual() {
            self.spare.borrow_mut().push(split);
        }
        done
    }

    /// The same with the arguments in `split`.
    fn split_row(
        &self,
        row: &'static Directive<B>,
        node: &Node,
        split: &mut Split,
        around: Around<'_>,
        build: &mut B,
    ) -> Result<(), Error> {
        if let (Args::Section(args, leave), Node::Section(section)) = (&row.args, node) {
            let raw = section_args(row.name, *args, &section.line)?;
            split.fill(raw, usize::MAX);
            let call = self.call(row, split.words(), raw, &section.line, around);
            return self.section(row.apply, *leave, section, &call, around, build);
        }
        let line = node.line();
        let raw = line.args();
        words(&row.args, raw, split)
            .map_err(|said| arity(row.name, &row.args, build.help(row), said))?;
        self.act(row.apply, &self.call(row, split.words(), raw, line, around), build)
    }

    /// Calls the function of a row; of what it says is kept what is shown.
    fn act(&self, apply: Apply<B>, call: &Call<'_>, build: &mut B) -> Result<(), Error> {
        let before = self.notes.borrow().len();
        let done = apply(build, call);
        let mut notes = self.notes.borrow_mut();
        if notes.len() > before {
            let shown: Vec<_> = notes.drain(before..).filter(|note| build.shows(note)).collect();
            notes.extend(shown);
        }
        done
    }

    /// If the opening line is refused, what stands inside has no meaning and is skipped.
    fn section(
        &self,
        enter: Apply<B>,
        leave: Apply<B>,
        section: &SectionNode,
        call: &Call<'_>,
        around: Around<'_>,
        build: &mut B,
    ) -> Result<(), Error> {
        let name = Some(call.name);
        let outside = build.scope();
        self.act(enter, call, build)?;
        // The row itself tells the builder where it stands now; whether it did shows here.
        let context = if build.scope() == outside { around.context } else { name };
        let host = if is_host(&section.line) { Some(&section.line) } else { around.host };
        self.nodes(&section.body, Around { section: name, context, host }, build);
        leave(build, call)
    }

    fn call<'c>(
        &'c self,
        row: &'static Directive<B>,
        args: &'c [String],
        raw: &'c str,
        line: &'c Line,
        around: Around<'_>,
    ) -> Call<'c> {
        let section = around.section;
        Call { name: row.name, args, raw, line, section, notes: &self.notes, names: self.index }
    }

    fn note(&self, line: &Line, severity: Severity, error: Error) {
        let id = (severity == Severity::Error).then_some("AH00526");
        self.notes.borrow_mut().push(diagnose(line, severity, id, error));
    }
}

/// Refuses a row that may not stand here, in httpd's words.
fn check_scope<B>(row: &Directive<B>, here: Scope, around: Around<'_>) -> Result<(), Error> {
    if row.scope.meets(here) {
        return Ok(());
    }
    if is_same_level(row.scope, here) {
        let end = if row.name.starts_with('<') { ">" } else { "" };
        let context = around.context.unwrap_or("<VirtualHost");
        return Err(format!("{}{end} cannot occur within {context}> section", row.name).into());
    }
    Err(match around.section {
        Some(section) => format!("{} not allowed in {section}> context", row.name),
        None => format!("{} not allowed here", row.name),
    }
    .into())
}

/// httpd refuses in two steps. The override bits tell server level from directory level; the row's
/// own function then refuses the places that the bits cannot tell apart: these are such ones.
fn is_same_level(allowed: Scope, here: Scope) -> bool {
    let both = |level: Scope| allowed.meets(level) && here.meets(level);
    both(Scope::RSRC_CONF) || both(Scope::SECTIONS)
}

/// What stands between the name of a section and its `>`.
fn section_args<'a>(name: &str, args: SectionArgs, line: &'a Line) -> Result<&'a str, Error> {
    // The last `>` ends the arguments; httpd ignores what follows it. Without arguments httpd
    // asks for no `>` either: it may have stood at the end of the name, or be missing.
    let raw = match (line.args(), line.args().rsplit_once('>')) {
        ("", _) => "",
        (_, Some((raw, _))) => raw.trim_end_matches(lexer::is_blank),
        (_, None) => return Err(format!("{name}> directive missing closing '>'").into()),
    };
    match (args, raw.is_empty()) {
        (SectionArgs::Some, true) => Err(without_arguments(name)),
        (SectionArgs::None, false) => {
            Err(format!("{name}> directive doesn't take additional arguments").into())
        }
        _ => Ok(raw),
    }
}

/// `KeepAliveTimeout takes one argument, Keep-Alive timeout duration (sec)`
pub(crate) fn arity<B>(name: &str, args: &Args<B>, help: &str, said: &str) -> Error {
    let bare = matches!(args, Args::None | Args::Flag) || help.is_empty();
    let (comma, help) = if bare { ("", "") } else { (", ", help) };
    format!("{name} {said}{comma}{help}").into()
}

/// Splits `raw` as `args` asks, or says what is wrong with the number of words.
///
/// As in httpd an empty word (`""`) is as good as none where a word is required or comes second,
/// and ends a list.
pub(crate) fn words<B>(args: &Args<B>, raw: &str, split: &mut Split) -> Result<(), &'static str> {
    let (counts, said): (&[usize], _) = match args {
        Args::Raw | Args::Section(..) => {
            split.fill("", 0);
            return Ok(());
        }
        Args::Any => {
            split.fill(raw, usize::MAX);
            return Ok(());
        }
        Args::Argv => {
            split.fill(raw, usize::MAX);
            if let [others @ .., last] = split.words()
                && last.is_empty()
            {
                split.truncate(others.len());
            }
            return Ok(());
        }
        Args::Flag => return flag(raw, split),
        Args::OneOrMore => return list(raw, split, 1, "requires at least one argument"),
        Args::TwoOrMore => return list(raw, split, 2, "requires at least two arguments"),
        Args::None => (&[0], "takes no arguments"),
        Args::One => (&[1], "takes one argument"),
        Args::Two => (&[2], "takes two arguments"),
        Args::Three => (&[3], "takes three arguments"),
        Args::OneOrTwo => (&[1, 2], "takes 1-2 arguments"),
        Args::OneOrThree => (&[1, 3], "takes one or three arguments"),
        Args::TwoOrThree => (&[2, 3], "takes two or three arguments"),
        Args::OneTwoOrThree => (&[1, 2, 3], "takes one, two or three arguments"),
    };
    // One word too many is enough to know.
    split.fill(raw, counts.last().map_or(0, |most| most + 1));
    let required = counts[0];
    if let ([_, second], 1) = (split.words(), required)
        && second.is_empty()
        && matches!(args, Args::OneOrTwo)
    {
        split.truncate(1);
    }
    let words = split.words();
    let present = words.iter().take(required).all(|word| !word.is_empty());
    if present && counts.contains(&words.len()) { Ok(()) } else { Err(said) }
}

/// httpd looks at the first word only.
fn flag(raw: &str, split: &mut Split) -> Result<(), &'static str> {
    let said = "must be On or Off";
    split.fill(raw, 1);
    let word = split.words().first().ok_or(said)?;
    let known = word.eq_ignore_ascii_case("on") || word.eq_ignore_ascii_case("off");
    if known { Ok(()) } else { Err(said) }
}

/// The words of a list, which an empty word ends.
fn list(
    raw: &str,
    split: &mut Split,
    required: usize,
    said: &'static str,
) -> Result<(), &'static str> {
    split.fill(raw, usize::MAX);
    let words = split.words();
    // Of the words only the first is looked at before the list is walked.
    if words.len() < required || words[0].is_empty() {
        return Err(said);
    }
    let len = words.iter().take_while(|word| !word.is_empty()).count();
    split.truncate(len);
    Ok(())
}
