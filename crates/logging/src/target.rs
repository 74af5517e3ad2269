//! What the argument of `ErrorLog`, `CustomLog` and their like names: a file, a program or syslog.
//! Nothing is opened or started here.

use std::path::{Path, PathBuf};

/// Where the lines of a log go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogTarget {
    /// `-`, an addition of ours.
    StandardOutput,
    /// The error log that nobody configured.
    StandardError,
    /// A file, below `ServerRoot` unless it is absolute.
    File(PathBuf),
    /// `|program` and `|$shell command`.
    Program(LogCommand),
    /// `syslog[:facility[:tag]]`
    Syslog {
        /// Its number, shifted as the protocol has it.
        facility: u8,
        /// What stands before the message; `None` is the name of this program.
        tag: Option<String>,
    },
}

/// A program that reads a log, as it is written behind the `|`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogCommand {
    /// The whole text, for messages.
    pub text: String,
    /// Whether /bin/sh runs it.
    pub(crate) by_shell: bool,
}

impl LogTarget {
    /// The target of an access log (ap_default_log_writer_init).
    pub fn access_log(path: &Path) -> Self {
        let text = path.to_string_lossy();
        match text.strip_prefix('|') {
            Some(program) => Self::Program(LogCommand::new(program)),
            None if text == "-" => Self::StandardOutput,
            None => Self::File(path.to_owned()),
        }
    }

    /// The target of an error log (log.c, open_error_log). The error is httpd's text.
    pub fn error_log(path: Option<&Path>) -> Result<Self, String> {
        let Some(path) = path else { return Ok(Self::StandardError) };
        let text = path.to_string_lossy();
        match is_syslog(&text) {
            true => syslog(&text),
            false => Ok(Self::access_log(path)),
        }
    }
}

/// Whether an argument of `ErrorLog` is no path that `ServerRoot` comes before.
pub fn is_special(text: &str) -> bool {
    text.starts_with('|') || is_syslog(text)
}

fn is_syslog(text: &str) -> bool {
    text == "syslog" || text.starts_with("syslog:")
}

impl LogCommand {
    /// `||program` is the same as `|program` since httpd 2.4 (ap_open_piped_log).
    fn new(text: &str) -> Self {
        let text = text.strip_prefix('|').unwrap_or(text);
        let shell = text.strip_prefix('$');
        Self { text: shell.unwrap_or(text).to_owned(), by_shell: shell.is_some() }
    }

    /// The program and its arguments.
    pub(crate) fn words(&self) -> Vec<String> {
        let words = words(&self.text);
        match self.by_shell {
            // apr_proc_create joins what it has taken apart, so that quotes are lost.
            true => vec!["/bin/sh".into(), "-c".into(), words.join(" ")],
            false => words,
        }
    }
}

/// Words as apr_tokenize_to_argv takes them apart: blanks separate, quotes of either kind keep
/// blanks together, and a backslash takes the special meaning of a blank, quote or backslash.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start_matches([' ', '\t']);
    while !rest.is_empty() {
        let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\''));
        let body = &rest[usize::from(quote.is_some())..];
        let (mut word, mut end, mut is_escaped) = (String::new(), body.len(), false);
        for (at, letter) in body.char_indices() {
            let is_end = match quote {
                Some(quote) => letter == quote,
                None => matches!(letter, ' ' | '\t'),
            };
            if is_escaped {
                if !matches!(letter, ' ' | '\t' | '"' | '\'' | '\\') {
                    word.push('\\');
                }
                word.push(letter);
                is_escaped = false;
            } else if letter == '\\' {
                is_escaped = true;
            } else if is_end {
                end = at;
                break;
            } else {
                word.push(letter);
            }
        }
        words.push(word);
        let after = end + usize::from(end < body.len());
        rest = body[after..].trim_start_matches([' ', '\t']);
    }
    words
}

/// Facilities by name and number (log.c, facilities; syslog(3)).
const FACILITIES: &[(&str, u8)] = &[
    ("auth", 4),
    ("authpriv", 10),
    ("cron", 9),
    ("daemon", 3),
    ("ftp", 11),
    ("kern", 0),
    ("lpr", 6),
    ("mail", 2),
    ("news", 7),
    ("syslog", 5),
    ("user", 1),
    ("uucp", 8),
    ("local0", 16),
    ("local1", 17),
    ("local2", 18),
    ("local3", 19),
    ("local4", 20),
    ("local5", 21),
    ("local6", 22),
    ("local7", 23),
];

const LOCAL7: u8 = 23 << 3;

/// `syslog`, `syslog:facility`, `syslog:facility:tag`, `syslog::tag`
fn syslog(text: &str) -> Result<LogTarget, String> {
    let rest = text.split_once(':').map_or("", |(_, rest)| rest);
    let (name, tag) = rest.split_once(':').map_or((rest, ""), |(name, tag)| (name, tag));
    let tag = (!tag.is_empty()).then(|| tag.to_owned());
    if name.is_empty() {
        return Ok(LogTarget::Syslog { facility: LOCAL7, tag });
    }
    let known = FACILITIES.iter().find(|row| row.0.eq_ignore_ascii_case(name));
    match known {
        Some((_, number)) => Ok(LogTarget::Syslog { facility: number << 3, tag }),
        None => Err(format!("AH10036: could not open syslog error log {rest}.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_taken_apart_as_by_apr() {
        for (text, expected) in [
            ("/bin/cat", &["/bin/cat"][..]),
            (
                " /bin/rotatelogs  -l '/a b/log.%Y' 86400 ",
                &["/bin/rotatelogs", "-l", "/a b/log.%Y", "86400"],
            ),
            (r#"p "a \"b\"" c\ d e\f"#, &["p", "a \"b\"", "c d", r"e\f"]),
            ("p 'open", &["p", "open"]),
            ("", &[]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn programs_are_run_directly_unless_a_dollar_says_otherwise() {
        for (text, expected) in [
            ("|/bin/cat -u", &["/bin/cat", "-u"][..]),
            ("||/bin/cat -u", &["/bin/cat", "-u"]),
            ("| /bin/cat -u", &["/bin/cat", "-u"]),
            ("|$cat >> '/tmp/a'", &["/bin/sh", "-c", "cat >> /tmp/a"]),
            ("||$cat", &["/bin/sh", "-c", "cat"]),
        ] {
            let LogTarget::Program(command) = LogTarget::access_log(Path::new(text)) else {
                panic!("{text}")
            };
            assert_eq!(command.words(), expected, "{text}");
        }
    }

    #[test]
    fn error_logs_have_facilities_and_tags() {
        let syslog = |facility, tag: Option<&str>| {
            Ok(LogTarget::Syslog { facility, tag: tag.map(str::to_owned) })
        };
        for (text, expected) in [
            ("syslog", syslog(LOCAL7, None)),
            ("syslog:user", syslog(8, None)),
            ("syslog:LOCAL3:web", syslog(19 << 3, Some("web"))),
            ("syslog::web", syslog(LOCAL7, Some("web"))),
            ("syslog:user:", syslog(8, None)),
            ("syslog:no", Err("AH10036: could not open syslog error log no.".to_owned())),
            ("syslogs", Ok(LogTarget::File("syslogs".into()))),
        ] {
            assert_eq!(LogTarget::error_log(Some(Path::new(text))), expected, "{text}");
        }
        assert_eq!(LogTarget::error_log(None), Ok(LogTarget::StandardError));
        assert!(is_special("|x") && is_special("syslog:user") && !is_special("syslogs"));
    }
}
