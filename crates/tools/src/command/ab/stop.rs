//! Why ab ends without a report: what it says, on which stream, and its exit status.

use std::io;

/// EINVAL, the status of a command line that is wrong.
const INVALID: i32 = 22;

/// An end before the report.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AbStop {
    /// The command line is wrong: this, and the help.
    Wrong(String),
    /// `--help`.
    Help,
    /// Something cannot be done: this, with this status.
    Failed(String, i32),
}

impl AbStop {
    pub(super) fn wrong(text: &str) -> Self {
        Self::Wrong(text.to_owned())
    }

    /// A failure with exit status 1, which ab has for most of them.
    pub(super) fn failed(text: &str) -> Self {
        Self::Failed(text.to_owned(), 1)
    }

    /// An error of the system, in the form of `apr_err` of httpd's support/ab.c.
    pub(super) fn of_system(call: &str, words: &str, number: i32) -> Self {
        // Statuses have a byte: exit(3).
        Self::Failed(format!("{call}: {words} ({number})"), number & 0xff)
    }

    /// The text that ab prints for it.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Wrong(text) | Self::Failed(text, _) => text,
            Self::Help => "",
        }
    }

    pub(super) const fn status(&self) -> i32 {
        match self {
            Self::Wrong(_) => INVALID,
            Self::Help => 0,
            Self::Failed(_, status) => *status,
        }
    }
}

/// The words of the C library for an error, without the number that Rust adds.
pub(super) fn in_words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// What apr says of a name without address: the words and the number, `APR_OS_START_EAIERR` and
/// the error of getaddrinfo(3).
pub(super) fn unresolved(call: &str, error: &io::Error) -> AbStop {
    const FIRST: i32 = 670_000;
    const KNOWN: [(&str, i32); 5] = [
        ("Name or service not known", 2),
        ("Temporary failure in name resolution", 3),
        ("Non-recoverable failure in name resolution", 4),
        ("No address associated with hostname", 5),
        ("Address family for hostname not supported", 9),
    ];
    let text = in_words(error);
    let words = text.rsplit(": ").next().unwrap_or(&text);
    let number = KNOWN.iter().find(|row| row.0 == words).map_or(2, |row| row.1);
    AbStop::of_system(call, words, FIRST + number)
}
