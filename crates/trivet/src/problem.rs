//! What the program says on standard output and standard error, and why it ends early.

use std::io::Write;

/// Why the program ends without having done its work.
pub(crate) enum Problem {
    /// The command line cannot be understood: exit code 2 and a pointer to the help.
    Usage(String),
    /// It was understood and cannot be done: exit code 1.
    Failed(String),
    /// The same, with a text that is printed as it stands.
    Plain(String),
}

impl From<lexopt::Error> for Problem {
    fn from(error: lexopt::Error) -> Self {
        Self::Usage(error.to_string())
    }
}

/// Errors go to standard error under the program's name, as httpd's do.
pub(crate) fn complain(text: &str) {
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{}: {}", program(), text.trim_end());
}

/// The name under which the program was called, without its folder.
pub(crate) fn program() -> String {
    let path = std::env::args_os().next().map(std::path::PathBuf::from).unwrap_or_default();
    path.file_name().map_or("trivet".into(), |name| name.to_string_lossy().into_owned())
}

/// Print on standard output; a reader that has gone is no fault.
pub(crate) fn say(text: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// ` (did you mean serve?)`, if a known word is near.
pub(crate) fn suggestion<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    let near = config::suggest::nearest(word, known);
    near.map_or(String::new(), |name| format!(" (did you mean {name}?)"))
}
