//! The command line of siege, read as getopt_long(3) reads it: bundles of letters, words that are
//! cut short, options behind the URL.

use super::config::{Config, SiegeStyle, fraction, number, seconds};
use super::rc;

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    /// In the same word only: `-lFILE`, `--log=FILE`.
    Maybe,
}

/// One option.
pub(super) struct SiegeOption {
    letter: Option<char>,
    word: &'static str,
    takes: Takes,
    /// What stands for the value in the help.
    value: &'static str,
    help: &'static str,
    apply: fn(&mut Config, Option<&str>) -> Result<(), String>,
}

/// A row that only sets something.
const fn flag(letter: char, word: &'static str, help: &'static str, apply: Apply) -> SiegeOption {
    SiegeOption { letter: Some(letter), word, takes: Takes::Nothing, value: "", help, apply }
}

/// A row with a value.
const fn with(
    letter: char,
    (word, value): (&'static str, &'static str),
    help: &'static str,
    apply: Apply,
) -> SiegeOption {
    SiegeOption { letter: Some(letter), word, takes: Takes::Value, value, help, apply }
}

type Apply = fn(&mut Config, Option<&str>) -> Result<(), String>;

/// Every option, in the order of the help.
pub(super) const ROWS: &[SiegeOption] = &[
    flag('V', "version", "print the version of siege that this resembles", |_, _| Ok(())),
    flag('h', "help", "print this text", |_, _| Ok(())),
    flag('C', "config", "print the settings", |config, _| {
        config.shows_config = true;
        config.gets = false;
        Ok(())
    }),
    flag('v', "verbose", "print a line for each response", |config, _| set(&mut config.verbose)),
    flag('q', "quiet", "print nothing but what -g and --json-output ask for", |config, _| {
        set(&mut config.quiet)
    }),
    flag('D', "debug", "print what is sent and received", |config, _| set(&mut config.debug)),
    flag(
        'g',
        "get",
        "send one request; print its fields and those of the response",
        |config, _| set(&mut config.gets),
    ),
    flag('p', "print", "send one request; print it and the page", |config, _| {
        (config.users, config.reps) = (1, 1);
        set(&mut config.prints)
    }),
    with(
        'c',
        ("concurrent", "NUM"),
        "number of concurrent users (default: 25)",
        |config, value| {
            config.users = number(text(value));
            Ok(())
        },
    ),
    with(
        'r',
        ("reps", "NUM"),
        "requests of each user; once: one pass through the file",
        |config, value| {
            config.reps = rc::repetitions(text(value));
            Ok(())
        },
    ),
    with('t', ("time", "NUMm"), "duration, with m one of S, M, H", |config, value| {
        config.seconds = seconds(text(value));
        Ok(())
    }),
    with(
        'd',
        ("delay", "NUM"),
        "random pause of each user, from 0 to NUM seconds",
        |config, value| {
            config.delay = fraction(text(value));
            Ok(())
        },
    ),
    flag('b', "benchmark", "no pauses", |config, _| set(&mut config.benchmark)),
    flag('i', "internet", "choose URLs of the file at random", |config, _| {
        set(&mut config.internet)
    }),
    with('f', ("file", "FILE"), "read URLs from FILE", |config, value| {
        config.file = text(value).into();
        Ok(())
    }),
    with('R', ("rc", "FILE"), "read settings from FILE", |_, _| Ok(())),
    SiegeOption {
        letter: Some('l'),
        word: "log",
        takes: Takes::Maybe,
        value: "FILE",
        help: "add a row for this run to the log",
        apply: |config, value| {
            if let Some(file) = value {
                config.logfile = file.into();
            }
            set(&mut config.logging)
        },
    },
    with('m', ("mark", "TEXT"), "write this line to the log first", |config, value| {
        config.mark = value.map(str::to_owned);
        set(&mut config.logging)
    }),
    with(
        'H',
        ("header", "TEXT"),
        "add a field to each request; may be repeated",
        |config, value| {
            config.headers.push(text(value).to_owned());
            Ok(())
        },
    ),
    with('A', ("user-agent", "TEXT"), "set the User-Agent field", |config, value| {
        config.user_agent = text(value).to_owned();
        Ok(())
    }),
    with(
        'T',
        ("content-type", "TEXT"),
        "set the Content-Type of request bodies",
        |config, value| {
            config.content_type = text(value).to_owned();
            Ok(())
        },
    ),
    flag('j', "json-output", "print the report as JSON", |config, _| set(&mut config.json)),
    flag('N', "no-parser", "do not load what pages refer to", |config, _| {
        config.parser = false;
        Ok(())
    }),
    flag('F', "no-follow", "do not follow redirects", |config, _| {
        config.follow = false;
        Ok(())
    }),
    SiegeOption {
        letter: None,
        word: "siege-style",
        takes: Takes::Value,
        value: "4.0|4.1.7",
        help: "imitate this version",
        apply: |config, value| {
            let style = SiegeStyle::parse(text(value));
            config.style = style.ok_or_else(|| "--siege-style is 4.0 or 4.1.7".to_owned())?;
            Ok(())
        },
    },
];

fn set(into: &mut bool) -> Result<(), String> {
    *into = true;
    Ok(())
}

const fn text(value: Option<&str>) -> &str {
    match value {
        Some(value) => value,
        None => "",
    }
}

/// What a command line says.
#[derive(Default)]
pub(super) struct CommandWords<'a> {
    options: Vec<(usize, Option<&'a str>)>,
    /// siege takes the last word for the URL.
    pub(super) url: Option<&'a str>,
    /// What could not be understood, a line each.
    pub(super) complaints: Vec<String>,
}

impl<'a> CommandWords<'a> {
    /// Splits a command line; what is wrong in it is left out and told, as getopt does.
    pub(super) fn split(args: &'a [String]) -> Self {
        let mut words = Self::default();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            if arg == "--" {
                words.url = rest.next_back().map(String::as_str).or(words.url);
                break;
            } else if let Some(word) = arg.strip_prefix("--") {
                words.long(word, &mut rest);
            } else if let Some(letters) =
                arg.strip_prefix('-').filter(|letters| !letters.is_empty())
            {
                words.short(letters, &mut rest);
            } else {
                words.url = Some(arg);
            }
        }
        words
    }

    fn long(&mut self, word: &'a str, rest: &mut std::slice::Iter<'a, String>) {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let fitting: Vec<usize> =
            (0..ROWS.len()).filter(|place| ROWS[*place].word.starts_with(name)).collect();
        let exact = fitting.iter().copied().find(|place| ROWS[*place].word == name);
        let place = match (exact, fitting.as_slice()) {
            (Some(place), _) => place,
            (None, [place]) => *place,
            (None, []) => return self.complain(&format!("unrecognized option '--{name}'")),
            (None, _) => return self.complain(&format!("option '--{name}' is ambiguous")),
        };
        let row = &ROWS[place];
        let value = match (row.takes, value) {
            (Takes::Nothing, Some(_)) => {
                return self
                    .complain(&format!("option '--{}' doesn't allow an argument", row.word));
            }
            (Takes::Value, None) => match rest.next() {
                Some(value) => Some(value.as_str()),
                None => {
                    return self.complain(&format!("option '--{}' requires an argument", row.word));
                }
            },
            (_, value) => value,
        };
        self.options.push((place, value));
    }

    fn short(&mut self, letters: &'a str, rest: &mut std::slice::Iter<'a, String>) {
        for (at, letter) in letters.char_indices() {
            let Some(place) = ROWS.iter().position(|row| row.letter == Some(letter)) else {
                self.complain(&format!("invalid option -- '{letter}'"));
                continue;
            };
            let after = &letters[at + letter.len_utf8()..];
            let inline = (!after.is_empty()).then_some(after);
            let value = match ROWS[place].takes {
                Takes::Nothing => {
                    self.options.push((place, None));
                    continue;
                }
                Takes::Maybe => inline,
                Takes::Value => inline.or_else(|| rest.next().map(String::as_str)),
            };
            match (ROWS[place].takes, value) {
                (Takes::Value, None) => {
                    self.complain(&format!("option requires an argument -- '{letter}'"));
                }
                _ => self.options.push((place, value)),
            }
            return;
        }
    }

    fn complain(&mut self, text: &str) {
        self.complaints.push(text.to_owned());
    }

    /// The last value of an option; `Some(None)` if it has none.
    pub(super) fn value_of(&self, word: &str) -> Option<Option<&'a str>> {
        self.options.iter().rev().find(|row| ROWS[row.0].word == word).map(|row| row.1)
    }

    /// Takes the options in.
    ///
    /// # Errors
    /// The first value that cannot be.
    pub(super) fn apply(&self, config: &mut Config) -> Result<(), String> {
        for (place, value) in &self.options {
            (ROWS[*place].apply)(config, *value)?;
        }
        if let Some(url) = self.url {
            config.url = Some(url.to_owned());
        }
        Ok(())
    }
}

/// The options as they stand in the help.
pub(super) fn help() -> String {
    let mut out = String::new();
    for row in ROWS {
        let letter = row.letter.map_or("    ".to_owned(), |letter| format!("-{letter}, "));
        let value = match row.takes {
            Takes::Nothing => String::new(),
            Takes::Value => format!("={}", row.value),
            Takes::Maybe => format!("[={}]", row.value),
        };
        let left = format!("  {letter}--{}{value}", row.word);
        out.push_str(&format!("{left:<27} {}\n", row.help));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> (Config, Option<String>, Vec<String>) {
        let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let words = CommandWords::split(&args);
        let mut config = Config::default();
        words.apply(&mut config).unwrap();
        (config, words.url.map(str::to_owned), words.complaints)
    }

    #[test]
    fn letters_come_in_bundles_with_values_behind_them() {
        let (config, url, complaints) = read("-qc5 -r 3 http://a/ -bi --concurrent=7 --delay 2.5");
        assert_eq!((config.users, config.reps, url.as_deref()), (7, 3, Some("http://a/")));
        assert!(config.quiet && config.benchmark && config.internet && complaints.is_empty());
        assert!((config.delay - 2.5).abs() < 1e-9);
    }

    #[test]
    fn a_value_that_may_be_missing_stands_in_the_same_word() {
        let (config, url, _) = read("-l a.log");
        assert_eq!((config.logging, url.as_deref()), (true, Some("a.log")));
        assert_eq!(read("-lx.log").0.logfile.to_str(), Some("x.log"));
        assert_eq!(read("--log=y.log").0.logfile.to_str(), Some("y.log"));
    }

    #[test]
    fn words_may_be_cut_short_unless_two_fit() {
        assert_eq!(read("--conc=3").0.users, 3);
        assert_eq!(read("--con=3").2, ["option '--con' is ambiguous"]);
    }

    #[test]
    fn what_is_wrong_is_told_and_left_out() {
        let (config, url, complaints) = read("-Zq --bogus http://a/ -c");
        let wanted = [
            "invalid option -- 'Z'",
            "unrecognized option '--bogus'",
            "option requires an argument -- 'c'",
        ];
        assert_eq!(complaints, wanted);
        assert!(config.quiet && url.is_some());
    }
}
