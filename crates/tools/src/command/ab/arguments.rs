//! What a command line of ab asks for, letter by letter.

use super::getopt::{Getopt, NextOption, OptionLetters, atoi};
use super::print::complain;
use super::stop::{self, AbStop};
use super::target::AbTarget;
use super::usage::{self, AbStyle};
use load::text::base64;
use std::fs::File;
use std::io::{self, Read as _};

/// What the command line of ab asks for.
#[derive(Debug, Default)]
pub(super) struct AbArguments {
    pub(super) style: AbStyle,
    pub(super) shows_details: bool,
    pub(super) requests: Option<u64>,
    pub(super) users: u32,
    pub(super) limit_s: u64,
    pub(super) timeout_s: u64,
    pub(super) workers: Option<usize>,
    pub(super) ramp_ms: u64,
    pub(super) buffer_bytes: usize,
    pub(super) from: Option<String>,
    pub(super) method: Option<AbMethod>,
    pub(super) body: Option<Vec<u8>>,
    pub(super) content_type: Option<String>,
    pub(super) cookies: Vec<String>,
    /// Credential fields for the head, each with its line end.
    pub(super) credentials: String,
    /// Lines of `-H`.
    pub(super) fields: Vec<String>,
    pub(super) proxy: Option<(String, u16)>,
    pub(super) verbosity: i64,
    pub(super) is_html: bool,
    /// HTML attributes of the table, its rows and its cells (`-x`, `-y`, `-z`).
    pub(super) attributes: [String; 3],
    pub(super) keeps_alive: bool,
    pub(super) hides_percentiles: bool,
    pub(super) hides_confidence: bool,
    pub(super) is_quiet: bool,
    pub(super) hides_banner: bool,
    pub(super) any_length: bool,
    pub(super) gnuplot: Option<String>,
    pub(super) percentiles_csv: Option<String>,
    pub(super) goes_on: bool,
    pub(super) asks_version: bool,
    pub(super) asks_usage: bool,
    pub(super) tls: tls::TlsOptions,
}

/// A method, and whether a letter has set it that excludes others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AbMethod(pub(super) String);

/// Users at most, as in ab.
const USERS_MAX: u32 = 200_000;

/// The number of requests where `-t` limits the time, as in ab.
const REQUESTS_IN_TIME: u64 = 50_000;

/// Bytes of a body from a file, at most.
const BODY_BYTES_MAX: u64 = 1 << 30;

/// One option: its letter, whether it takes a value, and what it sets.
struct AbOption {
    letter: char,
    takes_value: bool,
    apply: fn(&mut AbArguments, &str) -> Result<(), AbStop>,
}

const fn flag(letter: char, apply: fn(&mut AbArguments, &str) -> Result<(), AbStop>) -> AbOption {
    AbOption { letter, takes_value: false, apply }
}

const fn value(letter: char, apply: fn(&mut AbArguments, &str) -> Result<(), AbStop>) -> AbOption {
    AbOption { letter, takes_value: true, apply }
}

/// Every letter: `main` of httpd's support/ab.c.
const ROWS: &[AbOption] = &[
    value('n', |arguments, text| {
        let number = u64::try_from(atoi(text)).ok().filter(|number| *number > 0);
        arguments.requests = Some(number.ok_or(AbStop::failed("Invalid number of requests\n"))?);
        Ok(())
    }),
    value('c', |arguments, text| {
        arguments.users = u32::try_from(atoi(text)).unwrap_or(u32::MAX);
        Ok(())
    }),
    value('t', |arguments, text| {
        arguments.limit_s = u64::try_from(atoi(text)).unwrap_or(0);
        arguments.requests = Some(REQUESTS_IN_TIME);
        Ok(())
    }),
    value('s', |arguments, text| {
        arguments.timeout_s = u64::try_from(atoi(text)).unwrap_or(0);
        Ok(())
    }),
    value('W', |arguments, text| {
        let workers = usize::try_from(atoi(text));
        arguments.workers =
            Some(workers.map_err(|_| AbStop::failed("Invalid number of workers\n"))?);
        Ok(())
    }),
    value('R', |arguments, text| {
        arguments.ramp_ms = u64::try_from(atoi(text)).unwrap_or(0);
        Ok(())
    }),
    value('b', |arguments, text| {
        arguments.buffer_bytes = usize::try_from(atoi(text)).unwrap_or(0);
        Ok(())
    }),
    value('B', |arguments, text| {
        arguments.from = Some(text.to_owned());
        Ok(())
    }),
    value('p', |arguments, file| arguments.send_file("POST", file)),
    value('u', |arguments, file| arguments.send_file("PUT", file)),
    flag('i', |arguments, _| arguments.set_method("HEAD")),
    value('m', |arguments, text| {
        arguments.method = Some(AbMethod(text.to_owned()));
        Ok(())
    }),
    value('T', |arguments, text| {
        arguments.content_type = Some(text.to_owned());
        Ok(())
    }),
    value('C', |arguments, text| {
        arguments.cookies.push(text.to_owned());
        Ok(())
    }),
    value('H', |arguments, text| {
        arguments.fields.push(text.to_owned());
        Ok(())
    }),
    value('A', |arguments, text| {
        arguments.add_credentials("Authorization", text);
        Ok(())
    }),
    value('P', |arguments, text| {
        arguments.add_credentials("Proxy-Authorization", text);
        Ok(())
    }),
    value('X', |arguments, text| {
        let (host, port) = text.split_once(':').unwrap_or((text, "80"));
        arguments.proxy = Some((host.to_owned(), u16::try_from(atoi(port)).unwrap_or(0)));
        Ok(())
    }),
    value('v', |arguments, text| {
        arguments.verbosity = atoi(text);
        Ok(())
    }),
    flag('w', |arguments, _| set(&mut arguments.is_html)),
    value('x', |arguments, text| arguments.set_attributes(0, text)),
    value('y', |arguments, text| arguments.set_attributes(1, text)),
    value('z', |arguments, text| arguments.set_attributes(2, text)),
    flag('k', |arguments, _| set(&mut arguments.keeps_alive)),
    flag('d', |arguments, _| set(&mut arguments.hides_percentiles)),
    flag('S', |arguments, _| set(&mut arguments.hides_confidence)),
    flag('q', |arguments, _| set(&mut arguments.is_quiet)),
    flag('Q', |arguments, _| set(&mut arguments.hides_banner)),
    flag('l', |arguments, _| set(&mut arguments.any_length)),
    flag('r', |arguments, _| set(&mut arguments.goes_on)),
    value('g', |arguments, text| {
        arguments.gnuplot = Some(text.to_owned());
        Ok(())
    }),
    value('e', |arguments, text| {
        arguments.percentiles_csv = Some(text.to_owned());
        Ok(())
    }),
    flag('h', |arguments, _| set(&mut arguments.asks_usage)),
    flag('V', |arguments, _| set(&mut arguments.asks_version)),
    flag('I', |arguments, _| {
        arguments.tls.sends_name = false;
        Ok(())
    }),
    value('Z', |arguments, text| {
        text.clone_into(&mut arguments.tls.ciphers);
        Ok(())
    }),
    value('f', |arguments, text| arguments.set_protocol(text)),
    value('E', |arguments, file| {
        arguments.tls.identity = Some(file.into());
        Ok(())
    }),
];

#[expect(clippy::unnecessary_wraps, reason = "for the rows of a table")]
const fn set(flag: &mut bool) -> Result<(), AbStop> {
    *flag = true;
    Ok(())
}

/// The letters of a style: the development branch has one more.
fn letters(style: AbStyle) -> OptionLetters {
    match style {
        AbStyle::Trunk => |letter| row_of(letter).map(|row| row.takes_value),
        AbStyle::Released => {
            |letter| row_of(letter).filter(|row| row.letter != 'Q').map(|row| row.takes_value)
        }
    }
}

fn row_of(letter: char) -> Option<&'static AbOption> {
    ROWS.iter().find(|row| row.letter == letter)
}

impl AbArguments {
    /// Reads a command line, as far as `-h` or `-V` if one of them is there.
    ///
    /// # Errors
    /// What is wrong with it, or that there is nothing to do.
    pub(super) fn read(
        program: &str,
        words: &[String],
    ) -> Result<(Self, Option<AbTarget>), AbStop> {
        let mut arguments = Self { users: 1, timeout_s: 30, ..Self::default() };
        // ab trusts every certificate.
        arguments.tls.verifies = false;
        arguments.attributes[2] = "bgcolor=white".to_owned();
        let words = arguments.take_own(words)?;
        // apr_getopt says the name without its folder, ab itself as it was called.
        let name = program.rsplit('/').next().unwrap_or(program);
        let mut getopt = Getopt::new(name, &words);
        let rest = loop {
            match getopt.next(letters(arguments.style)) {
                NextOption::Letter(letter, value) => {
                    row_of(letter).map_or(Ok(()), |row| (row.apply)(&mut arguments, value))?;
                }
                NextOption::End(index) => break index,
                NextOption::Wrong(text, index) => {
                    complain(&text);
                    break index;
                }
            }
            if arguments.asks_usage || arguments.asks_version {
                return Ok((arguments, None));
            }
        };
        let target = arguments.check(program, words.get(rest..).unwrap_or_default())?;
        Ok((arguments, Some(target)))
    }

    /// The options that ab does not have.
    fn take_own(&mut self, words: &[String]) -> Result<Vec<String>, AbStop> {
        let mut rest = Vec::new();
        for word in words {
            match word.as_str() {
                "--details" => self.shows_details = true,
                "--ab-style=2.4" => self.style = AbStyle::Released,
                "--ab-style=trunk" => self.style = AbStyle::Trunk,
                "--help" => return Err(AbStop::Help),
                word if word.starts_with("--ab-style") => {
                    return Err(AbStop::wrong("expected --ab-style=2.4 or --ab-style=trunk"));
                }
                word => rest.push(word.to_owned()),
            }
        }
        Ok(rest)
    }

    /// What does not fit together, in ab's order.
    fn check(&mut self, program: &str, rest: &[String]) -> Result<AbTarget, AbStop> {
        let wrong = |what: &str| AbStop::wrong(&format!("{program}: {what}"));
        let [url] = rest else { return Err(wrong("wrong number of arguments")) };
        let target = AbTarget::parse(url).ok_or_else(|| wrong("invalid URL"))?;
        if self.users > USERS_MAX {
            return Err(wrong(&format!("Invalid Concurrency [Range 0..{USERS_MAX}]")));
        }
        if u64::from(self.users) > self.requests() {
            let text = "Cannot use concurrency level greater than total number of requests";
            return Err(wrong(text));
        }
        Ok(target)
    }

    /// Requests to make at most.
    pub(super) fn requests(&self) -> u64 {
        self.requests.unwrap_or(1)
    }

    /// The method of the requests.
    pub(super) fn method(&self) -> &str {
        self.method.as_ref().map_or("GET", |method| &method.0)
    }

    /// How many requests are between two signs of life; 0 for none.
    pub(super) fn heartbeat(&self) -> u64 {
        match self.requests() {
            requests if requests > 150 && !self.is_quiet => (requests / 10).max(100),
            _ => 0,
        }
    }

    /// How a run begins on standard output.
    pub(super) fn banner(&self) -> String {
        if self.hides_banner { String::new() } else { usage::banner(self.style, self.is_html) }
    }

    fn set_method(&mut self, name: &str) -> Result<(), AbStop> {
        if self.method.is_some() {
            return Err(AbStop::failed(&format!("Cannot mix {name} with other methods\n")));
        }
        self.method = Some(AbMethod(name.to_owned()));
        Ok(())
    }

    /// `-f`; like ab it looks at the beginning only and takes what it does not know for ALL.
    fn set_protocol(&mut self, text: &str) -> Result<(), AbStop> {
        let upper = text.to_ascii_uppercase();
        self.tls.versions = match upper.as_str() {
            word if word.starts_with("TLS1.2") => (tls::TlsVersion::Tls12, tls::TlsVersion::Tls12),
            word if word.starts_with("TLS1.3") => (tls::TlsVersion::Tls13, tls::TlsVersion::Tls13),
            word if word.starts_with("TLS1") || word.starts_with("SSL") => {
                return Err(AbStop::failed(&format!("ab: {text} is insecure and not supported")));
            }
            _ => return Ok(()),
        };
        Ok(())
    }

    fn send_file(&mut self, method: &str, file: &str) -> Result<(), AbStop> {
        self.set_method(method)?;
        let fault = |what: String| {
            move |error: io::Error| {
                AbStop::failed(&format!("ab: Could not {what}: {}", stop::in_words(&error)))
            }
        };
        let opened = File::open(file).map_err(fault(format!("open POST data file ({file})")))?;
        let mut body = Vec::new();
        let read = opened.take(BODY_BYTES_MAX + 1).read_to_end(&mut body);
        let read = read.and_then(|_| match body.len() as u64 > BODY_BYTES_MAX {
            true => Err(io::ErrorKind::FileTooLarge.into()),
            false => Ok(()),
        });
        read.map_err(fault("read POST data file".to_owned()))?;
        self.body = Some(body);
        Ok(())
    }

    fn add_credentials(&mut self, field: &str, text: &str) {
        let encoded = base64(text.trim_start().as_bytes());
        self.credentials.push_str(&format!("{field}: Basic {encoded}\r\n"));
    }

    #[expect(clippy::unnecessary_wraps, reason = "for the rows of a table")]
    fn set_attributes(&mut self, place: usize, text: &str) -> Result<(), AbStop> {
        self.is_html = true;
        text.clone_into(&mut self.attributes[place]);
        Ok(())
    }
}
