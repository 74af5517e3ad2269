//! The options of httpd's command line, read as its getopt reads them. What they mean is decided
//! elsewhere; the one thing done here is to find the first that ends the reading.

use crate::httpd::control::ControlWord;

/// Options that take a value, and those that take none (AP_SERVER_BASEARGS of http_main.h, and `k`
/// of mpm_unix.c).
const WITH_VALUE: &str = "CcDdEefk";
const ALONE: &str = "vVlLtTSMh?X";

/// What the command line says; what each value means is not checked here.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct HttpdOptions {
    /// `-d`: `ServerRoot` unless the file sets another.
    pub(crate) server_root: Option<String>,
    /// `-f`: the configuration file.
    pub(crate) file: Option<String>,
    /// `-D`, and what `-S`, `-M` and `-X` stand for.
    pub(crate) defines: Vec<String>,
    /// `-C`: lines that are read before the file.
    pub(crate) before: Vec<String>,
    /// `-c`: lines that are read after the file.
    pub(crate) after: Vec<String>,
    /// `-e`: the `LogLevel` until the file sets one.
    pub(crate) level: Option<String>,
    /// `-E`: the file for errors at the start.
    pub(crate) error_file: Option<String>,
    /// `-k`: what a running server is asked for.
    pub(crate) control: Option<ControlWord>,
    /// `-t`: check the configuration and end.
    pub(crate) tests: bool,
    /// `-T`: do not check whether `DocumentRoot` folders exist.
    pub(crate) skips_document_root: bool,
    /// `-V`: print the version and the settings of the build.
    pub(crate) shows_version: bool,
    /// `-L`: list all directives.
    pub(crate) lists_directives: bool,
}

/// What ends the reading of the command line at once.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Early {
    /// `-v`: print the version.
    Version,
    /// `-l`: list the modules that are compiled in.
    Modules,
    /// `-h`, or a mistake, which is named first.
    Usage(Option<String>),
}

impl HttpdOptions {
    /// Read the words that follow the name of the program.
    pub(crate) fn read(words: &[String]) -> Result<Self, Early> {
        let mut options = Self::default();
        let mut words = words.iter().peekable();
        while let Some(cluster) = words.next_if(|word| word.len() > 1 && word.starts_with('-')) {
            let mut letters = cluster[1..].chars();
            while let Some(letter) = letters.next() {
                if !WITH_VALUE.contains(letter) {
                    options.alone(letter)?;
                    continue;
                }
                let joined = letters.as_str();
                let value = match joined {
                    "" => words.next().map(String::as_str),
                    joined => Some(joined),
                };
                // The MPMs take -k out of the words before httpd looks at them (mpm_unix.c).
                let missing = || match letter {
                    'k' => illegal('k'),
                    _ => Early::Usage(Some(format!("option requires an argument -- {letter}"))),
                };
                options.with_value(letter, value.ok_or_else(missing)?)?;
                break;
            }
        }
        // httpd takes nothing but options.
        if words.next().is_some() { Err(Early::Usage(None)) } else { Ok(options) }
    }

    /// Whether a name is defined on the command line.
    pub(crate) fn is_defined(&self, name: &str) -> bool {
        self.defines.iter().any(|define| define == name)
    }

    fn define(&mut self, name: &str) {
        self.defines.push(name.to_owned());
    }

    fn alone(&mut self, letter: char) -> Result<(), Early> {
        match letter {
            'v' => return Err(Early::Version),
            'l' => return Err(Early::Modules),
            'V' => self.shows_version = true,
            'L' => self.lists_directives = true,
            't' => self.tests = true,
            'T' => self.skips_document_root = true,
            'S' => {
                self.define("DUMP_VHOSTS");
                self.define("DUMP_RUN_CFG");
            }
            'M' => self.define("DUMP_MODULES"),
            'X' => self.define("DEBUG"),
            letter if ALONE.contains(letter) => return Err(Early::Usage(None)), // -h, -?
            letter => return Err(illegal(letter)),
        }
        Ok(())
    }

    fn with_value(&mut self, letter: char, value: &str) -> Result<(), Early> {
        match letter {
            'C' => self.before.push(value.to_owned()),
            'c' => self.after.push(value.to_owned()),
            'D' => self.define(value),
            'd' => self.server_root = Some(value.to_owned()),
            'E' => self.error_file = Some(value.to_owned()),
            'e' if modules::Httpd::is_level(value) => self.level = Some(value.to_owned()),
            'e' => return Err(Early::Usage(None)),
            'f' => self.file = Some(value.to_owned()),
            letter => {
                self.control = Some(ControlWord::parse(value).ok_or_else(|| illegal(letter))?)
            }
        }
        Ok(())
    }
}

fn illegal(letter: char) -> Early {
    Early::Usage(Some(format!("illegal option -- {letter}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<HttpdOptions, Early> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        HttpdOptions::read(&words)
    }

    #[test]
    fn values_may_be_joined_and_letters_clustered() {
        let options = read("-tTD FOO -DBAR=1 -d/srv -f x.conf -k graceful -S -X").unwrap();
        let expected = HttpdOptions {
            server_root: Some("/srv".into()),
            file: Some("x.conf".into()),
            control: Some(ControlWord::Graceful),
            tests: true,
            skips_document_root: true,
            defines: ["FOO", "BAR=1", "DUMP_VHOSTS", "DUMP_RUN_CFG", "DEBUG"]
                .map(str::to_owned)
                .into(),
            ..HttpdOptions::default()
        };
        assert_eq!(options, expected);
        assert!(options.is_defined("BAR=1") && !options.is_defined("BAR"));
    }

    #[test]
    fn the_first_word_that_ends_the_reading_counts() {
        let usage = |text: &str| Early::Usage(Some(text.to_owned()));
        for (line, expected) in [
            ("-v -Z", Early::Version),
            ("-l -v", Early::Modules),
            ("-h -v", Early::Usage(None)),
            ("-?", Early::Usage(None)),
            ("-t extra", Early::Usage(None)),
            ("-t -", Early::Usage(None)),
            ("-e loud", Early::Usage(None)),
            ("-Z -v", usage("illegal option -- Z")),
            ("--help", usage("illegal option -- -")),
            ("-k bogus", usage("illegal option -- k")),
            ("-t -f", usage("option requires an argument -- f")),
        ] {
            assert_eq!(read(line).unwrap_err(), expected, "{line}");
        }
    }
}
