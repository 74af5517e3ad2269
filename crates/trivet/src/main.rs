//! The one binary: from the command line to the parent process.
//!
//! Read from top to bottom this is a table of contents; what a subcommand does is in its file.
#![cfg_attr(test, allow(clippy::disallowed_macros, clippy::disallowed_methods))]

mod explain;
mod help;
mod httpd;
mod php;
mod problem;
mod serve;

use problem::{Problem, complain, program, say, suggestion};
use runtime::ServiceManager;
use std::io::Write;
use std::process::ExitCode;

/// Runs a subcommand with the arguments that follow its name, for whoever has started the program;
/// the result is the exit code.
type Command = fn(lexopt::Parser, ServiceManager) -> Result<i32, Problem>;

/// Every subcommand.
const COMMANDS: &[(&str, Command)] = &[
    ("serve", serve::run),
    ("explain", explain::run),
    ("bench", bench),
    ("ab", ab),
    ("siege", siege),
    ("help", help_about),
];

/// Names of links to the program that mean a command; those of httpd are in `httpd/mod.rs`.
const NAMES: &[(&str, Command)] = &[
    ("ab", ab), //
    ("siege", siege),
];

fn main() -> ExitCode {
    let code = match run() {
        Ok(code) => code,
        Err(Problem::Usage(text)) => {
            complain(&format!("{text}\ntry: trivet --help"));
            2
        }
        Err(Problem::Failed(text)) => {
            complain(&text);
            1
        }
        Err(Problem::Plain(text)) => {
            // Where standard error is closed there is nobody to tell.
            let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
            1
        }
    };
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

fn run() -> Result<i32, Problem> {
    use lexopt::prelude::{Long, Value};
    let manager = ServiceManager::of_environment();
    if let Some((_, command)) = NAMES.iter().find(|row| row.0 == program()) {
        return command(lexopt::Parser::from_env(), manager);
    }
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    if httpd::is_meant(&program(), &words) {
        return httpd::run(&program(), &words, manager);
    }
    let mut parser = lexopt::Parser::from_env();
    match parser.next()? {
        None | Some(Long("help")) => {
            say(help::OVERVIEW);
            Ok(0)
        }
        Some(Long("version")) => {
            say(&httpd::version());
            Ok(0)
        }
        Some(Value(word)) => {
            let word = word.to_string_lossy().into_owned();
            match COMMANDS.iter().find(|row| row.0 == word) {
                Some((_, command)) => command(parser, manager),
                None => Err(no_command(&word)),
            }
        }
        Some(Long(name)) if serve::has_option(name) => {
            let text = format!("--{name} belongs to serve: write trivet serve [DIR] --{name} ...");
            Err(Problem::Usage(text))
        }
        Some(other) => Err(other.unexpected().into()),
    }
}

/// A word that is no command: a folder to be served, a URL to be asked, or a slip.
fn no_command(word: &str) -> Problem {
    let hint = if std::path::Path::new(word).is_dir() {
        format!(": to serve the folder write trivet serve {word}")
    } else if word.starts_with("http://") || word.starts_with("https://") {
        format!(": to send load to it write trivet bench {word}")
    } else {
        suggestion(word, COMMANDS.iter().map(|row| row.0))
    };
    Problem::Usage(format!("there is no command '{word}'{hint}"))
}

fn bench(mut parser: lexopt::Parser, _: ServiceManager) -> Result<i32, Problem> {
    Ok(tools::command::bench::main(parser.raw_args()?) as i32)
}

fn ab(mut parser: lexopt::Parser, _: ServiceManager) -> Result<i32, Problem> {
    let called_as = match program().as_str() {
        "ab" => std::env::args_os().next().unwrap_or_default().to_string_lossy().into_owned(),
        program => format!("{program} ab"),
    };
    Ok(tools::command::ab::main(&called_as, parser.raw_args()?))
}

fn siege(mut parser: lexopt::Parser, _: ServiceManager) -> Result<i32, Problem> {
    let called_as = match program().as_str() {
        "siege" => std::env::args_os().next().unwrap_or_default().to_string_lossy().into_owned(),
        program => format!("{program} siege"),
    };
    Ok(tools::command::siege::main(&called_as, parser.raw_args()?) as i32)
}

/// `trivet help`, `trivet help serve`, `trivet help serve Listen`.
fn help_about(parser: lexopt::Parser, _: ServiceManager) -> Result<i32, Problem> {
    let mut words = topic_words(parser)?.into_iter();
    match words.next().as_deref() {
        None | Some("help") => say(help::OVERVIEW),
        Some("explain") => say(help::EXPLAIN),
        Some("serve") => say(&help::about_serve(words.next().as_deref())?),
        // What is no command may be a directive.
        Some(word) => say(&help::about_serve(Some(word))?),
    }
    Ok(0)
}

/// The words that are left; options ask for nothing more than help, which is what they get.
fn topic_words(mut parser: lexopt::Parser) -> Result<Vec<String>, Problem> {
    let mut words = Vec::new();
    while let Some(argument) = parser.next()? {
        match argument {
            lexopt::Arg::Value(word) => words.push(word.to_string_lossy().into_owned()),
            lexopt::Arg::Long("help") | lexopt::Arg::Short('h') => {}
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(words)
}
