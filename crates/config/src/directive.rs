//! The row type of all directive tables.
//!
//! A module shows its directives as one `static` table; a row names a plain function. Which rows
//! exist is not known here.

use alloc::format;
use alloc::string::String;

use crate::call::Call;
use crate::diagnostic::Error;
use crate::scope::Scope;

/// The function of a row: it reads the arguments of a line and changes the builder.
pub type Apply<B> = fn(&mut B, &Call<'_>) -> Result<(), Error>;

/// A row: one directive, or one kind of section.
pub struct Directive<B: 'static> {
    /// As the manual spells it; of a section with its `<`, as in `<Directory`.
    pub name: &'static str,
    /// Which arguments it takes.
    pub args: Args<B>,
    /// Where it may stand.
    pub scope: Scope,
    /// What holds without it, as the manual prints it; may be empty.
    pub default: &'static str,
    /// httpd's help text. It ends the error about a wrong number of arguments.
    pub help: &'static str,
    /// What a line does; of a section what its opening line does.
    pub apply: Apply<B>,
}

/// A row without the words that repeat, for tables in which a row is a line.
pub const fn row<B>(
    name: &'static str,
    args: Args<B>,
    scope: Scope,
    default: &'static str,
    help: &'static str,
    apply: Apply<B>,
) -> Directive<B> {
    Directive { name, args, scope, default, help, apply }
}

/// The arguments of a row, and what httpd says when a line has others.
pub enum Args<B: 'static> {
    /// `takes no arguments`
    None,
    /// The rest of the line as it stands, for the row to split: see [`Call::raw`].
    Raw,
    /// `must be On or Off`; httpd ignores what follows.
    Flag,
    /// `takes one argument`
    One,
    /// `takes two arguments`
    Two,
    /// `takes three arguments`
    Three,
    /// `takes 1-2 arguments`
    OneOrTwo,
    /// `takes one or three arguments`
    OneOrThree,
    /// `takes two or three arguments`
    TwoOrThree,
    /// `takes one, two or three arguments`
    OneTwoOrThree,
    /// `requires at least one argument`
    OneOrMore,
    /// `requires at least two arguments`; as in httpd the second may be `""`, and is then left out
    TwoOrMore,
    /// Any number of words.
    Any,
    /// The same, but an empty one at the end does not count (httpd's TAKE_ARGV).
    Argv,
    /// A section, with the function to call when it ends. That one is called only if the opening
    /// line was applied without an error.
    Section(SectionArgs, Apply<B>),
}

impl<B> Args<B> {
    /// How a line of a directive looks, for a manual. A section is named with its `<`.
    pub fn syntax(&self, name: &str) -> String {
        let words = match self {
            Self::None => "",
            Self::Raw => " ...",
            Self::Flag => " On|Off",
            Self::One => " arg",
            Self::Two => " arg1 arg2",
            Self::Three => " arg1 arg2 arg3",
            Self::OneOrTwo => " arg1 [arg2]",
            Self::OneOrThree => " arg1 [arg2 arg3]",
            Self::TwoOrThree => " arg1 arg2 [arg3]",
            Self::OneTwoOrThree => " arg1 [arg2 [arg3]]",
            Self::OneOrMore => " arg [arg] ...",
            Self::TwoOrMore => " arg1 arg2 [arg2] ...",
            Self::Any | Self::Argv => " [arg] ...",
            Self::Section(SectionArgs::None | SectionArgs::Any, _) => return section(name, ""),
            Self::Section(SectionArgs::Some | SectionArgs::SomeLater, _) => {
                return section(name, " arg");
            }
        };
        format!("{name}{words}")
    }
}

/// How a section looks; its name begins with `<`.
pub(crate) fn section(name: &str, words: &str) -> String {
    format!("{name}{words}> ... </{}>", name.trim_start_matches('<'))
}

/// What may stand between the name of a section and its `>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionArgs {
    /// Nothing: `<RequireAll>`
    None,
    /// Something: `<Directory "/srv">`
    Some,
    /// The same, but the row's own function looks at other things first, and then calls
    /// [`Call::needs_arguments`].
    SomeLater,
    /// What the row's own function decides about.
    Any,
}

/// The directives of a module.
pub struct ModuleDirectives<B: 'static> {
    /// The name that `LoadModule` and `-M` use, as `core_module`.
    pub name: &'static str,
    /// The name that `-l` and `-L` use, as `core.c`.
    pub file: &'static str,
    /// Its table.
    pub directives: &'static [Directive<B>],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_shown_with_its_end() {
        let end = |_: &mut (), _: &Call<'_>| Ok(());
        let args = Args::Section(SectionArgs::Some, end);
        assert_eq!(args.syntax("<Files"), "<Files arg> ... </Files>");
        assert_eq!(Args::<()>::OneOrTwo.syntax("Define"), "Define arg1 [arg2]");
    }
}
