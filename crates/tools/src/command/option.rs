//! Options as rows of a table: from them come the reading of the command line, its errors and the
//! help.

use lexopt::prelude::{Long, Short, Value};
use load::text::nearest;
use std::ffi::OsString;
use std::fmt::Write as _;

/// One option.
pub(super) struct CommandOption<T: 'static> {
    /// The short form, if it has one.
    pub(super) short: Option<char>,
    /// The long form.
    pub(super) long: &'static str,
    /// What stands for its value in the help; empty if it takes none.
    pub(super) value: &'static str,
    /// What it does, for the help.
    pub(super) help: &'static str,
    /// Applies the value; the error says what is wrong with it.
    pub(super) apply: fn(&mut T, &str) -> Result<(), String>,
}

/// Options under a heading of the help.
pub(super) struct OptionGroup<T: 'static> {
    pub(super) heading: &'static str,
    pub(super) rows: &'static [CommandOption<T>],
}

/// What stands on a command line besides options.
pub(super) enum CommandLine {
    /// `--help`.
    Help,
    /// These words.
    Words(Vec<String>),
}

/// Takes in a command line.
///
/// # Errors
/// The first thing that cannot be understood, with the nearest known name.
pub(super) fn read<T>(
    groups: &[OptionGroup<T>],
    args: impl IntoIterator<Item = OsString>,
    into: &mut T,
) -> Result<CommandLine, String> {
    let mut parser = lexopt::Parser::from_args(args);
    let mut words = Vec::new();
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        let rows = || groups.iter().flat_map(|group| group.rows);
        let (row, name) = match argument {
            Long("help") | Short('h') => return Ok(CommandLine::Help),
            Value(word) => {
                words.push(utf8(word)?);
                continue;
            }
            Long(name) => {
                let names: Vec<&str> = rows().map(|row| row.long).collect();
                let near = || {
                    nearest(name, &names)
                        .map_or(String::new(), |near| format!("; did you mean --{near}?"))
                };
                let row = rows().find(|row| row.long == name);
                (
                    row.ok_or_else(|| format!("unknown option --{name}{}", near()))?,
                    format!("--{name}"),
                )
            }
            Short(letter) => {
                let row = rows().find(|row| row.short == Some(letter));
                (row.ok_or_else(|| format!("unknown option -{letter}"))?, format!("-{letter}"))
            }
        };
        let value = match row.value {
            "" => String::new(),
            _ => utf8(parser.value().map_err(|_| format!("{name} needs {}", row.value))?)?,
        };
        (row.apply)(into, &value).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(CommandLine::Words(words))
}

fn utf8(word: OsString) -> Result<String, String> {
    word.into_string().map_err(|word| format!("{} is not UTF-8", word.display()))
}

/// Where the second column of the help begins.
const HELP_COLUMN: usize = 26;

/// The options as they stand in the help.
pub(super) fn help<T>(groups: &[OptionGroup<T>]) -> String {
    let mut out = String::new();
    for group in groups {
        let _ = writeln!(out, "{}:", group.heading);
        for row in group.rows {
            let short = row.short.map_or("    ".to_owned(), |letter| format!("-{letter}, "));
            let left = format!("  {short}--{} {}", row.long, row.value);
            let mut lines = row.help.lines();
            let _ = writeln!(out, "{left:<HELP_COLUMN$} {}", lines.next().unwrap_or_default());
            for line in lines {
                let _ = writeln!(out, "{:HELP_COLUMN$} {line}", "");
            }
        }
    }
    out
}
