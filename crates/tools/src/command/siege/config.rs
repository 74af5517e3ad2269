//! What siege is told: its settings, their defaults, and what does not go together.

use std::path::PathBuf;

/// A run without a number of repetitions goes on until somebody ends it.
pub(super) const WITHOUT_END: i64 = i64::MAX;

/// Every realm, where a login names none.
pub(super) const ANY_REALM: &str = "any";

/// A name and password for a realm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Login {
    pub(super) user: String,
    pub(super) password: String,
    pub(super) realm: String,
}

impl Login {
    /// Reads `USER:PASSWORD[:REALM]`.
    pub(super) fn parse(text: &str) -> Self {
        let mut parts = text.splitn(3, ':').map(|part| part.trim().to_owned());
        let mut next = || parts.next().unwrap_or_default();
        let (user, password, realm) = (next(), next(), next());
        let realm = if realm.is_empty() { ANY_REALM.to_owned() } else { realm };
        Self { user, password, realm }
    }
}

/// How the report looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SiegeStyle {
    /// As siege writes up to 4.1.5: seconds.
    #[default]
    Old,
    /// As 4.1.7 does: milliseconds.
    New,
}

impl SiegeStyle {
    /// The version that the banner names.
    pub(super) const fn version(self) -> &'static str {
        match self {
            Self::Old => "4.0.7",
            Self::New => "4.1.7",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "4.0" => Some(Self::Old),
            "4.1.7" => Some(Self::New),
            _ => None,
        }
    }
}

/// All settings, from the resource file and the command line.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) style: SiegeStyle,
    pub(super) verbose: bool,
    pub(super) color: bool,
    pub(super) quiet: bool,
    pub(super) debug: bool,
    pub(super) json: bool,
    pub(super) csv: bool,
    pub(super) full_url: bool,
    pub(super) display_id: bool,
    pub(super) timestamp: bool,
    pub(super) show_logfile: bool,
    pub(super) logging: bool,
    pub(super) logfile: PathBuf,
    pub(super) mark: Option<String>,
    pub(super) shows_config: bool,
    pub(super) gets: bool,
    pub(super) prints: bool,
    /// The method of `-g`, if one is named.
    pub(super) get_method: Option<String>,
    pub(super) parser: bool,
    pub(super) no_follow: Vec<String>,
    pub(super) follow: bool,
    pub(super) users: i64,
    /// Users at most; without it descriptors are the limit.
    pub(super) limit: Option<i64>,
    /// `-1` is once through the file.
    pub(super) reps: i64,
    pub(super) seconds: i64,
    pub(super) delay: f64,
    pub(super) timeout: i64,
    pub(super) internet: bool,
    pub(super) benchmark: bool,
    pub(super) cache: bool,
    pub(super) accept_encoding: String,
    pub(super) file: PathBuf,
    pub(super) url: Option<String>,
    pub(super) user_agent: String,
    pub(super) content_type: String,
    /// Lines as they are sent.
    pub(super) headers: Vec<String>,
    pub(super) logins: Vec<Login>,
    pub(super) proxy_logins: Vec<Login>,
    pub(super) login_urls: Vec<String>,
    pub(super) attempts: i64,
    pub(super) keep_alive: bool,
    pub(super) http11: bool,
    /// A certificate and its key to show, and ciphers to offer.
    pub(super) ssl_cert: Option<String>,
    pub(super) ssl_key: Option<String>,
    pub(super) ssl_ciphers: String,
    pub(super) proxy_host: Option<String>,
    pub(super) proxy_port: i64,
    pub(super) failures: i64,
    pub(super) chunked: bool,
    pub(super) unique: bool,
    pub(super) cookies: bool,
    pub(super) expires_session: bool,
    pub(super) url_escaping: bool,
    pub(super) zero_data_ok: bool,
    /// The file that the settings came from.
    pub(super) rc: PathBuf,
}

impl Default for Config {
    /// What siege's own template of a resource file says, but for the report: that is text.
    fn default() -> Self {
        Self {
            style: SiegeStyle::default(),
            verbose: true,
            color: true,
            quiet: false,
            debug: false,
            json: false,
            csv: false,
            full_url: false,
            display_id: false,
            timestamp: false,
            show_logfile: true,
            logging: false,
            logfile: "/var/log/siege.log".into(),
            mark: None,
            shows_config: false,
            gets: false,
            prints: false,
            get_method: Some("HEAD".into()),
            parser: true,
            no_follow: Vec::new(),
            follow: true,
            users: 25,
            limit: None,
            reps: WITHOUT_END,
            seconds: 0,
            delay: 0.0,
            timeout: 30,
            internet: false,
            benchmark: false,
            cache: false,
            accept_encoding: "gzip, deflate".into(),
            file: "/etc/siege/urls.txt".into(),
            url: None,
            user_agent: String::new(),
            content_type: "application/x-www-form-urlencoded".into(),
            headers: Vec::new(),
            logins: Vec::new(),
            proxy_logins: Vec::new(),
            login_urls: Vec::new(),
            attempts: 5,
            keep_alive: false,
            http11: true,
            ssl_cert: None,
            ssl_key: None,
            ssl_ciphers: String::new(),
            proxy_host: None,
            proxy_port: 3128,
            failures: 1024,
            chunked: true,
            unique: true,
            cookies: true,
            expires_session: false,
            url_escaping: true,
            zero_data_ok: true,
            rc: PathBuf::new(),
        }
    }
}

impl Config {
    /// What siege 4.0.7 goes by where a resource file leaves a key out, as its `-C -R` of an empty
    /// file shows: not what the template says that it would put there itself.
    pub(super) fn of_empty_file() -> Self {
        Self {
            verbose: false,
            parser: false,
            get_method: None,
            users: 1,
            limit: Some(255),
            accept_encoding: "*".into(),
            http11: false,
            chunked: false,
            show_logfile: false,
            ..Self::default()
        }
    }

    /// Makes the settings fit together, as siege's init.c `ds_module_check` does; what has to be
    /// said about it is given back.
    pub(super) fn settle(&mut self) -> Option<String> {
        let mut said = None;
        if self.benchmark {
            self.delay = 0.0;
        }
        if self.seconds > 0 && self.reps > 0 && self.reps != WITHOUT_END {
            said = Some(format!(
                "CONFIG conflict: selected time and repetition based testing\n\
                 defaulting to time-based testing: {} seconds\n",
                self.seconds
            ));
            self.reps = WITHOUT_END;
        }
        self.users = self.users.max(1);
        self.timeout = self.timeout.clamp(1, SECONDS_MAX);
        self.delay = self.delay.clamp(0.0, SECONDS_MAX as f64);
        self.no_follow.retain(|host| !host.is_empty());
        if self.gets {
            (self.users, self.reps, self.logging) = (1, 1, false);
        }
        self.quiet |= self.json;
        if self.quiet {
            (self.verbose, self.debug) = (false, false);
        }
        if self.user_agent.is_empty() {
            let version = self.style.version();
            self.user_agent = format!("Mozilla/5.0 (pc-x86_64-linux-gnu) Siege/{version}");
        }
        said
    }

    /// Whether requests and heads are shown, as opposed to a line for each.
    pub(super) const fn shows_exchanges(&self) -> bool {
        (self.gets || self.debug) && !self.quiet
    }
}

/// A length of time as siege writes it, `90S`, `5M`, `1H`: seconds. Without a letter it is minutes.
pub(super) fn seconds(text: &str) -> i64 {
    let text = text.trim();
    let value = number(text);
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
    let factor = match unit.bytes().next().map(|byte| byte.to_ascii_lowercase()) {
        Some(b's') => 1,
        Some(b'h') => 3600,
        _ => 60,
    };
    value.saturating_mul(factor).clamp(0, SECONDS_MAX)
}

/// A run, a pause, a time limit at most: a hundred years.
const SECONDS_MAX: i64 = 100 * 366 * 24 * 3600;

/// The number that a text begins with, 0 if none: atoi(3), which siege reads all numbers with.
pub(super) fn number(text: &str) -> i64 {
    let text = text.trim_start();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let value = match digits[..end].parse::<i64>() {
        Ok(value) => value,
        Err(_) if end == 0 => 0,
        Err(_) => i64::from(i32::MAX),
    };
    if text.starts_with('-') { -value } else { value }
}

/// The same with a fraction.
pub(super) fn fraction(text: &str) -> f64 {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text[..end].parse().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_have_a_letter_or_are_minutes() {
        let rows = [("30S", 30), ("2m", 120), ("1H", 3600), ("5", 300), ("10 s", 10), ("x", 0)];
        rows.into_iter().for_each(|(text, wanted)| assert_eq!(seconds(text), wanted, "{text}"));
    }

    #[test]
    fn numbers_end_where_their_digits_do() {
        assert_eq!([number("12x"), number("-3"), number("foo"), number("")], [12, -3, 0, 0]);
        assert_eq!(number("99999999999999999999"), i64::from(i32::MAX));
        assert!((fraction("1.5x") - 1.5).abs() < 1e-9);
    }

    #[test]
    fn time_wins_over_repetitions_and_quiet_over_verbose() {
        let mut config = Config { seconds: 5, reps: 3, quiet: true, ..Config::default() };
        assert!(config.settle().unwrap().contains("defaulting to time-based testing: 5 seconds"));
        assert!(config.reps == WITHOUT_END && !config.verbose);
        let mut get = Config { gets: true, users: 9, ..Config::default() };
        assert_eq!(get.settle(), None);
        assert_eq!((get.users, get.reps), (1, 1));
    }
}
