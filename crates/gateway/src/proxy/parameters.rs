//! `key=value` of backends, with httpd's bounds and words (set_worker_param of mod_proxy.c). What
//! is kept is what has a use here; the rest is checked.

use config::args::{self, TimeUnit};

/// What is said about a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parameters {
    /// `timeout`: how long it may be silent.
    pub(crate) timeout_ms: Option<u64>,
    /// `connectiontimeout`: how long connecting to it may take.
    pub(crate) connect_ms: Option<u64>,
    /// `retry`: how long it is left alone once it has failed.
    pub(crate) retry_ms: Option<u64>,
    /// `max`: how many connections there may be to it.
    pub(crate) max: Option<u32>,
    /// `ttl`: how long an idle connection is kept.
    pub(crate) ttl_ms: Option<u64>,
    /// `acquire`: how long to wait for one of `max` connections.
    pub(crate) acquire_ms: Option<u64>,
    /// `enablereuse`, `disablereuse`: whether connections are kept; `None` if nothing is said.
    pub(crate) reuse: Option<bool>,
    /// `route`: what the sessions of this member end in.
    pub(crate) route: String,
    /// `redirect`: the route of the member that stands in for this one.
    pub(crate) redirect: String,
    /// `lbset`: members of a higher set are asked when none of a lower one can be.
    pub(crate) set: u8,
    /// `loadfactor`, in hundredths.
    pub(crate) load_factor: i32,
    /// `status`
    pub(crate) states: States,
}

/// What the letters of `status=` say of a member of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "any of them may be set with any other")]
pub(crate) struct States {
    /// `I`, if that is said.
    pub(crate) ignores_errors: Option<bool>,
    /// `N`: only sessions that have begun.
    pub(crate) is_draining: bool,
    /// `D`
    pub(crate) is_disabled: bool,
    /// `S`
    pub(crate) is_stopped: bool,
    /// `E` and `C`, and `U`, which comes to the same.
    pub(crate) is_failed: bool,
    /// `H`: for when no other is left.
    pub(crate) is_standby: bool,
    /// `R`: for when another one of its set fails.
    pub(crate) is_spare: bool,
}

/// The largest bytes of names that httpd has room for (mod_proxy.h).
const ROUTE_BYTES: usize = 64;
const SCHEME_BYTES: usize = 16;
const SECRET_BYTES: usize = 64;

impl Parameters {
    /// Those of a backend of which nothing is said.
    pub(super) fn new(is_member: bool) -> Self {
        Self {
            timeout_ms: None,
            connect_ms: None,
            retry_ms: None,
            max: None,
            ttl_ms: None,
            acquire_ms: None,
            reuse: None,
            route: String::new(),
            redirect: String::new(),
            set: 0,
            load_factor: 100,
            states: States { ignores_errors: is_member.then_some(false), ..States::default() },
        }
    }

    /// Whether it is left alone for a while after a failure: as a member of a group, and where
    /// `retry` or `status=-I` says so. (httpd does so in any case, for a minute.)
    pub(super) fn may_fail(&self) -> bool {
        match self.states.ignores_errors {
            Some(ignores_errors) => !ignores_errors,
            None => self.retry_ms.is_some(),
        }
    }

    /// Take in one of them.
    ///
    /// # Errors
    /// httpd's words.
    pub(super) fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let key = key.to_ascii_lowercase();
        match key.as_str() {
            "loadfactor" | "lbset" | "status" | "route" | "redirect" => self.balance(&key, value),
            "timeout" | "connectiontimeout" | "retry" | "ping" => self.wait(&key, value),
            "min" | "max" | "smax" | "ttl" | "acquire" | "enablereuse" | "disablereuse" => {
                self.pool(&key, value)
            }
            _ => check_unused(&key, value),
        }
    }

    /// What is about members of a group.
    fn balance(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "loadfactor" => {
                let factor = hundredths(value);
                if !(100..=10_000).contains(&factor) {
                    return Err("LoadFactor must be a number between 1..100".into());
                }
                self.load_factor = factor;
            }
            "lbset" => {
                let set = u8::try_from(args::leading_int(value)).ok().filter(|set| *set <= 99);
                self.set = set.ok_or("lbset must be between 0 and 99")?;
            }
            "status" => self.states(value)?,
            "route" => self.route = short("Route", value, ROUTE_BYTES)?,
            _ => self.redirect = short("Redirect", value, ROUTE_BYTES)?,
        }
        Ok(())
    }

    /// What is about how long to wait.
    fn wait(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "timeout" => {
                let text = "Timeout must be at least one second";
                self.timeout_ms = Some(seconds(value, 1).ok_or(text)?);
            }
            "retry" => {
                let text = "Retry must be a positive value";
                self.retry_ms = Some(seconds(value, 0).ok_or(text)?);
            }
            "connectiontimeout" => {
                let text = "Connectiontimeout must be at least one millisecond.";
                self.connect_ms = Some(span(value, TimeUnit::Second, "Connectiontimeout", text)?);
            }
            _ => {
                let text = "Ping/Pong timeout must be at least one millisecond";
                span(value, TimeUnit::Second, "Ping/Pong timeout", text)?;
            }
        }
        Ok(())
    }

    /// What is about connections that are kept.
    fn pool(&mut self, key: &str, value: &str) -> Result<(), String> {
        let count =
            |text: &str| u32::try_from(args::leading_int(value)).map_err(|_| text.to_owned());
        match key {
            // Nothing is kept in advance; what is kept follows from the size of the application.
            "min" => drop(count("Min must be a positive number")?),
            "smax" => drop(count("Smax must be a positive number")?),
            "max" => self.max = Some(count("Max must be a positive number")?),
            "ttl" => {
                self.ttl_ms = Some(seconds(value, 1).ok_or("TTL must be at least one second")?);
            }
            "acquire" => {
                let text = "Acquire must be at least one millisecond";
                self.acquire_ms =
                    Some(span(value, TimeUnit::Millisecond, "Acquire timeout", text)?);
            }
            "enablereuse" => self.reuse = Some(on_off("EnableReuse", value)?),
            _ => self.reuse = Some(!on_off("DisableReuse", value)?),
        }
        Ok(())
    }

    fn states(&mut self, value: &str) -> Result<(), String> {
        let mut is_set = true;
        let mut letters = value.bytes();
        while let Some(mut letter) = letters.next() {
            if let b'+' | b'-' = letter {
                is_set = letter == b'+';
                letter = letters.next().unwrap_or(0);
            }
            let states = &mut self.states;
            match letter.to_ascii_uppercase() {
                b'I' => states.ignores_errors = Some(is_set),
                b'N' => states.is_draining = is_set,
                b'D' => states.is_disabled = is_set,
                b'S' => states.is_stopped = is_set,
                b'E' | b'C' | b'U' => states.is_failed = is_set,
                b'H' => states.is_standby = is_set,
                b'R' => states.is_spare = is_set,
                b'O' | b'G' | b'F' => {}
                _ => return Err("Unknown status parameter option".into()),
            }
        }
        Ok(())
    }
}

/// What is checked as httpd checks it, and has no use: sizes of buffers that there are not, and
/// what is about other protocols.
fn check_unused(key: &str, value: &str) -> Result<(), String> {
    let number = i64::from(args::leading_int(value));
    let long = args::leading(value);
    let is_one_of = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(value));
    let (is_right, text) = match key {
        "iobuffersize" => (
            long >= 512 || long == 0,
            "IOBufferSize must be >= 512 bytes, or 0 for system default.",
        ),
        "receivebuffersize" => (
            number >= 512 || number == 0,
            "ReceiveBufferSize must be >= 512 bytes, or 0 for system default.",
        ),
        "responsefieldsize" => {
            (long >= 0, "ResponseFieldSize must be greater than 0 bytes, or 0 for system default.")
        }
        "keepalive" => (is_one_of(&["on", "off"]), "KeepAlive must be On|Off"),
        "flushpackets" => (is_one_of(&["on", "off", "auto"]), "flushpackets must be on|off|auto"),
        "flushwait" => (
            (0..=1000).contains(&number),
            "flushwait must be <= 1000, or 0 for system default of 10 millseconds.",
        ),
        "addressttl" => (
            is_address_ttl(value),
            "AddressTTL must be -1 or a number of seconds not exceeding (2147483647)",
        ),
        "flusher" => return short_of("flusher name", value, SCHEME_BYTES),
        "upgrade" => return short_of("upgrade protocol", value, SCHEME_BYTES),
        "secret" => return short_of("Secret", value, SECRET_BYTES),
        _ => (false, "unknown Worker parameter"),
    };
    if is_right { Ok(()) } else { Err(text.into()) }
}

fn is_address_ttl(value: &str) -> bool {
    let ttl = args::parse_duration(value, TimeUnit::Second);
    let is_right = |ttl: std::time::Duration| {
        ttl.subsec_nanos() == 0 && ttl.as_secs() <= u64::from(i32::MAX.unsigned_abs())
    };
    value == "-1" || ttl.is_some_and(is_right)
}

fn short(what: &str, value: &str, room: usize) -> Result<String, String> {
    match value.len() < room {
        true => Ok(value.to_owned()),
        false => Err(format!("{what} length must be < {room} characters")),
    }
}

fn short_of(what: &str, value: &str, room: usize) -> Result<(), String> {
    short(what, value, room).map(|_| ())
}

pub(super) fn on_off(name: &str, value: &str) -> Result<bool, String> {
    match value {
        word if word.eq_ignore_ascii_case("on") => Ok(true),
        word if word.eq_ignore_ascii_case("off") => Ok(false),
        _ => Err(format!("{name} must be On|Off")),
    }
}

/// Whole seconds, in milliseconds.
pub(super) fn seconds(value: &str, least: i32) -> Option<u64> {
    let count = Some(args::leading_int(value)).filter(|count| *count >= least);
    count.and_then(|count| u64::try_from(count).ok()).map(|count| count * 1000)
}

/// A span of at least a millisecond.
fn span(value: &str, unit: TimeUnit, what: &str, short: &str) -> Result<u64, String> {
    let span = args::parse_duration(value, unit).ok_or(format!("{what} has wrong format"))?;
    match u64::try_from(span.as_millis()).unwrap_or(u64::MAX) {
        0 => Err(short.to_owned()),
        millis => Ok(millis),
    }
}

/// A number with at most two places behind its point, as hundredths; 0 if there is none (atof).
fn hundredths(value: &str) -> i32 {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let value = value.trim_start();
    let whole = &value[..digits(value)];
    let behind = value[whole.len()..].strip_prefix('.').unwrap_or_default();
    let places: String = behind[..digits(behind)].chars().chain("00".chars()).take(2).collect();
    format!("0{whole}{places}").parse().unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> Result<Parameters, String> {
        let mut parameters = Parameters::new(true);
        for pair in text.split(' ') {
            let (key, value) = pair.split_once('=').unwrap();
            parameters.set(key, value)?;
        }
        Ok(parameters)
    }

    #[test]
    fn parameters_are_read_as_httpd_reads_them() {
        let of = |text| set(text).unwrap();
        assert_eq!(of("timeout=5 Retry=0").timeout_ms, Some(5000));
        assert_eq!(of("timeout=5 retry=0").retry_ms, Some(0));
        assert_eq!(of("acquire=100").acquire_ms, Some(100));
        assert_eq!(of("connectiontimeout=100ms").connect_ms, Some(100));
        assert_eq!(of("connectiontimeout=2").connect_ms, Some(2000));
        assert_eq!(of("loadfactor=1.5").load_factor, 150);
        assert_eq!(of("enablereuse=on max=10").reuse, Some(true));
        assert_eq!(of("disablereuse=on").reuse, Some(false));
        assert!(of("status=+H-I").states.is_standby && of("status=i-I").may_fail());
        assert!(!of("status=I retry=5").may_fail() && of("retry=5").may_fail());
        assert!(!Parameters::new(false).may_fail() && Parameters::new(true).may_fail());
        assert!(of("status=DR").states.is_disabled && of("status=DR").states.is_spare);
    }

    #[test]
    fn wrong_parameters_are_told_in_the_words_of_httpd() {
        for (text, said) in [
            ("loadfactor=0", "LoadFactor must be a number between 1..100"),
            ("loadfactor=x", "LoadFactor must be a number between 1..100"),
            ("lbset=100", "lbset must be between 0 and 99"),
            ("retry=-1", "Retry must be a positive value"),
            ("ttl=0", "TTL must be at least one second"),
            ("acquire=0", "Acquire must be at least one millisecond"),
            ("acquire=x", "Acquire timeout has wrong format"),
            ("max=-1", "Max must be a positive number"),
            ("status=+", "Unknown status parameter option"),
            ("status=x", "Unknown status parameter option"),
            ("keepalive=1", "KeepAlive must be On|Off"),
            ("nothing=1", "unknown Worker parameter"),
        ] {
            assert_eq!(set(text), Err(said.to_owned()), "{text}");
        }
    }
}
