//! siege's resource file: where it is looked for, and what its lines mean.

use super::config::{Config, Login, fraction, number, seconds};
use std::path::{Path, PathBuf};

/// A file of settings at most.
const BYTES_MAX: u64 = 1 << 20;

/// References in one value at most: one that names itself would go on for ever.
const REFERENCES_MAX: usize = 100;

/// Takes in the value of a key.
type Apply = fn(&mut Config, &str);

/// Every key; what is none of them is a name for `$(NAME)`.
const KEYS: &[(&str, Apply)] = &[
    ("verbose", |config, value| config.verbose = is_true(value)),
    ("color", |config, value| config.color = is_on(value)),
    ("quiet", |config, value| config.quiet = is_true(value)),
    ("debug", |config, value| config.debug = is_true(value)),
    ("json_output", |config, value| config.json = is_true(value)),
    ("csv", |config, value| config.csv = is_true(value)),
    ("fullurl", |config, value| config.full_url = is_true(value)),
    ("display-id", |config, value| config.display_id = is_true(value)),
    ("timestamp", |config, value| config.timestamp = is_true(value)),
    ("show-logfile", |config, value| config.show_logfile = is_true(value)),
    ("logging", |config, value| config.logging = is_true(value)),
    ("logfile", |config, value| config.logfile = value.into()),
    ("gmethod", |config, value| {
        let is_get = value.eq_ignore_ascii_case("GET");
        config.get_method = Some(if is_get { "GET" } else { "HEAD" }.to_owned());
    }),
    ("parser", |config, value| config.parser = is_true(value)),
    ("nofollow", |config, value| config.no_follow.push(value.to_owned())),
    ("concurrent", |config, value| config.users = number(value)),
    ("reps", |config, value| config.reps = repetitions(value)),
    ("time", |config, value| config.seconds = seconds(value)),
    ("delay", |config, value| config.delay = fraction(value)),
    ("timeout", |config, value| config.timeout = number(value)),
    ("limit", |config, value| config.limit = Some(number(value))),
    ("internet", |config, value| config.internet = is_true(value)),
    ("benchmark", |config, value| config.benchmark = is_true(value)),
    ("cache", |config, value| config.cache = is_true(value)),
    ("accept-encoding", |config, value| config.accept_encoding = value.to_owned()),
    ("file", |config, value| config.file = value.into()),
    ("url", |config, value| config.url = Some(value.to_owned())),
    ("user-agent", |config, value| config.user_agent = value.to_owned()),
    ("login", |config, value| config.logins.push(Login::parse(value))),
    ("login-url", |config, value| config.login_urls.push(value.to_owned())),
    // The name that older files have.
    ("auth-url", |config, value| config.login_urls.push(value.to_owned())),
    ("attempts", |config, value| config.attempts = number(value)),
    ("connection", |config, value| config.keep_alive = begins(value, "keep-alive")),
    ("protocol", |config, value| config.http11 = begins(value, "HTTP/1.1")),
    ("proxy-host", |config, value| config.proxy_host = Some(value.to_owned())),
    ("proxy-port", |config, value| config.proxy_port = number(value)),
    ("proxy-login", |config, value| config.proxy_logins.push(Login::parse(value))),
    ("failures", |config, value| config.failures = number(value)),
    ("chunked", |config, value| config.chunked = is_true(value)),
    ("unique", |config, value| config.unique = is_true(value)),
    ("cookies", |config, value| config.cookies = is_true(value)),
    ("expire-session", |config, value| config.expires_session = is_true(value)),
    ("follow-location", |config, value| config.follow = is_true(value)),
    ("url-escaping", |config, value| config.url_escaping = !begins(value, "false")),
    ("zero-data-ok", |config, value| config.zero_data_ok = is_true(value)),
    ("header", |config, value| config.headers.push(value.to_owned())),
    ("ssl-cert", |config, value| config.ssl_cert = Some(value.to_owned())),
    ("ssl-key", |config, value| config.ssl_key = Some(value.to_owned())),
    ("ssl-ciphers", |config, value| value.clone_into(&mut config.ssl_ciphers)),
    // Known, and without meaning here: `timeout` is for the handshake as well, FTP is not spoken,
    // nothing spins.
    ("ssl-timeout", |_, _| {}),
    ("ftp-login", |_, _| {}),
    ("spinner", |_, _| {}),
];

/// Finds and reads the resource file: the one of `-R`, else of `$SIEGERC`, else the first of the
/// usual places that there is. Nothing is created.
///
/// # Errors
/// The name of a file that was asked for and cannot be read.
pub(super) fn load(asked: Option<&str>, config: &mut Config) -> Result<(), PathBuf> {
    let named = asked.map(PathBuf::from).or_else(|| std::env::var_os("SIEGERC").map(Into::into));
    let path = match named {
        Some(path) => path,
        None => match places().into_iter().find(|path| path.is_file()) {
            Some(path) => path,
            None => return Ok(()),
        },
    };
    let text = read(&path).ok_or_else(|| path.clone())?;
    *config = Config { rc: path, ..Config::of_empty_file() };
    apply(&text, config, &|name| std::env::var(name).ok());
    Ok(())
}

fn places() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let own = home.iter().flat_map(|home| [home.join(".siege/siege.conf"), home.join(".siegerc")]);
    own.chain(["/etc/siege/siegerc".into()]).collect()
}

fn read(path: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Takes in the lines of a file.
pub(super) fn apply(text: &str, config: &mut Config, environment: &dyn Fn(&str) -> Option<String>) {
    let mut names: Vec<(String, String)> = Vec::new();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    for line in lines.filter(|line| !line.starts_with('#')) {
        let is_end = |c: char| c.is_whitespace() || matches!(c, '=' | ':');
        let end = line.find(is_end).unwrap_or(line.len());
        let value = line[end..].trim_start_matches(is_end);
        let known = |name: &str| {
            let own = names.iter().rev().find(|row| row.0 == name).map(|row| row.1.clone());
            own.or_else(|| environment(name))
        };
        let (key, value) = (&line[..end], with_values(value, &known));
        match KEYS.iter().find(|row| row.0.eq_ignore_ascii_case(key)) {
            Some((_, apply)) => apply(config, &value),
            None => names.push((key.to_owned(), value)),
        }
    }
}

/// `$NAME`, `$(NAME)` and `${NAME}` replaced; a name that nobody knows is nothing.
pub(super) fn with_values(text: &str, known: &dyn Fn(&str) -> Option<String>) -> String {
    let mut text = text.to_owned();
    for _ in 0..REFERENCES_MAX {
        let Some(at) = text.find('$') else { break };
        let rest = &text[at + 1..];
        let (open, close) = match rest.bytes().next() {
            Some(b'(') => (1, ")"),
            Some(b'{') => (1, "}"),
            _ => (0, ""),
        };
        let inner = &rest[open..];
        let end = inner.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
        let name = &inner[..end.unwrap_or(inner.len())];
        let closed = usize::from(open > 0 && inner[name.len()..].starts_with(close));
        let after = at + 1 + open + name.len() + closed;
        let value = known(name).unwrap_or_default();
        text = format!("{}{value}{}", &text[..at], &text[after..]);
    }
    text
}

/// `once`, or a number.
pub(super) fn repetitions(text: &str) -> i64 {
    if text.eq_ignore_ascii_case("once") { -1 } else { number(text) }
}

fn begins(value: &str, word: &str) -> bool {
    value.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

fn is_true(value: &str) -> bool {
    begins(value, "true")
}

fn is_on(value: &str) -> bool {
    begins(value, "on") || begins(value, "true")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Config {
        let mut config = Config::default();
        apply(text, &mut config, &|name| (name == "HOME").then(|| "/home/me".to_owned()));
        config
    }

    #[test]
    fn keys_are_followed_by_anything_that_separates() {
        let config = of("# no\nconcurrent = 7\nreps:once\ntime 30S\n  csv=true  \nlimit = 9\n");
        assert_eq!((config.users, config.reps, config.seconds), (7, -1, 30));
        assert!(config.csv && config.limit == Some(9));
    }

    #[test]
    fn names_are_replaced_by_their_values_and_those_of_the_environment() {
        let config = of("NAME = b.example\nproxy-host = a.$(NAME)\nlogfile = ${HOME}/x$NONE.log");
        assert_eq!(config.proxy_host.as_deref(), Some("a.b.example"));
        assert_eq!(config.logfile, Path::new("/home/me/x.log"));
        assert_eq!(with_values("$A", &|_| Some("$A".to_owned())), "$A", "no end");
    }

    #[test]
    fn keys_that_repeat_add_up() {
        let config = of("login = me:pw:staff\nlogin = you:x\nnofollow = a\nnofollow = b\n");
        assert_eq!(config.no_follow, ["a", "b"]);
        assert_eq!(
            (config.logins[0].realm.as_str(), config.logins[1].realm.as_str()),
            ("staff", "any")
        );
    }
}
