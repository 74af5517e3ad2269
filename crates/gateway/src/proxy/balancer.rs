//! Groups of backends (httpd's proxy_balancer): what is said about one, its members, and who of
//! them is next. What each has had to do is known per process; the arithmetic is in `choose`.

use super::choose::{self, LbMethod, MemberShare};
use super::parameters;
use super::url::BALANCER;
use super::worker::ProxyWorker;
use config::args;
use server::site::builder::Builder;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A group of backends, `balancer://name`. Its clones share what is known of the members.
#[derive(Clone, Debug)]
pub(crate) struct Balancer {
    /// `balancer://name` in lower case.
    pub(crate) name: String,
    pub(crate) members: Vec<Arc<ProxyWorker>>,
    pub(crate) rules: BalancerRules,
    shares: Arc<Mutex<Vec<MemberShare>>>,
}

/// What `key=value` pairs say about a group of backends.
#[derive(Clone, Debug)]
pub(crate) struct BalancerRules {
    method: LbMethod,
    /// `stickysession`: what the cookie is called, and the parameter of a URL.
    pub(crate) sticky: Option<(String, String)>,
    /// `stickysessionsep`: what stands before the route in a session.
    pub(crate) separator: Option<u8>,
    /// `scolonpathdelim`: `;` ends a parameter, too.
    pub(crate) ends_at_semicolon: bool,
    /// `nofailover`: a session whose member cannot be asked is refused.
    pub(crate) is_strict: bool,
    /// `timeout`: how long to wait for a member.
    pub(crate) wait_ms: Option<u64>,
    /// `maxattempts`: how often another member is tried.
    max_attempts: Option<usize>,
    /// `failonstatus`
    pub(crate) fail_on: Vec<u16>,
    /// `failontimeout`
    pub(crate) fails_on_timeout: bool,
    /// `forcerecovery`: when none is left all are tried again.
    forces_recovery: bool,
}

/// Bytes of names that httpd has room for (mod_proxy.h).
const NAME_BYTES: usize = 96;
const METHOD_BYTES: usize = 15;
const NONCE_BYTES: usize = 37;

impl Balancer {
    /// The name of the group that a URL is about: all before its path, in lower case; `None` if it
    /// is about none.
    pub(crate) fn name_of(url: &str) -> Option<String> {
        let start = url.get(..BALANCER.len())?;
        let rest = url.get(BALANCER.len()..)?;
        let host = rest.split('/').next().unwrap_or_default();
        let is_one = start.eq_ignore_ascii_case(BALANCER) && !host.is_empty();
        is_one.then(|| format!("{BALANCER}{}", host.to_ascii_lowercase()))
    }

    /// Whether a URL is about groups at all.
    pub(crate) fn is_named(url: &str) -> bool {
        url.get(..BALANCER.len() - 2).is_some_and(|it| it.eq_ignore_ascii_case("balancer:"))
    }

    /// A group without members (`ap_proxy_define_balancer`).
    pub(crate) fn new(url: &str) -> Result<Self, String> {
        let name = Self::name_of(url).ok_or(format!("Bad syntax for a balancer name ({url})"))?;
        if name.len() >= NAME_BYTES {
            return Err(format!("balancer name ({name}) too long"));
        }
        let rules = BalancerRules {
            method: LbMethod::Requests,
            sticky: None,
            separator: Some(b'.'),
            ends_at_semicolon: false,
            is_strict: false,
            wait_ms: None,
            max_attempts: None,
            fail_on: Vec::new(),
            fails_on_timeout: false,
            forces_recovery: true,
        };
        Ok(Self { name, members: Vec::new(), rules, shares: Arc::default() })
    }

    /// How often another member may be tried.
    pub(crate) fn max_attempts(&self) -> usize {
        self.rules.max_attempts.unwrap_or(self.members.len().saturating_sub(1))
    }

    /// The next member, if one can be asked that is not among those that were `tried`.
    pub(crate) fn next(&self, tried: &[usize]) -> Option<usize> {
        choose::next(&self.members, &mut self.shares(), self.rules.method, tried)
    }

    /// The member that has `route`, or that stands in for the one that has it.
    pub(crate) fn routed(&self, route: &str, tried: &[usize]) -> Option<usize> {
        let nth = choose::routed(&self.members, route, tried)?;
        choose::charge(&self.members, &mut self.shares(), nth);
        Some(nth)
    }

    /// Where all have failed they are all tried again (force_recovery of mod_proxy_balancer.c).
    pub(crate) fn recover(&self) {
        if self.rules.forces_recovery && self.members.iter().all(|member| member.is_left_alone()) {
            self.members.iter().for_each(|member| member.recover());
        }
    }

    /// What each member has had to do, as many as there are members by now. A panic that poisoned
    /// the lock leaves numbers that are a little off, which is no reason to refuse requests.
    pub(crate) fn shares(&self) -> MutexGuard<'_, Vec<MemberShare>> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        shares.resize_with(self.members.len(), MemberShare::default);
        shares
    }
}

impl BalancerRules {
    /// Take in one parameter (set_balancer_param of mod_proxy.c).
    ///
    /// # Errors
    /// httpd's words.
    pub(crate) fn set(&mut self, builder: &Builder, key: &str, value: &str) -> Result<(), String> {
        match key.to_ascii_lowercase().as_str() {
            "lbmethod" => self.method = method(builder, value)?,
            "stickysession" => {
                let (cookie, path) = value.split_once('|').unwrap_or((value, value));
                self.sticky = (!cookie.is_empty()).then(|| (cookie.to_owned(), path.to_owned()));
            }
            "stickysessionsep" => self.separator = separator(value)?,
            "scolonpathdelim" => self.ends_at_semicolon = on_off("scolonpathdelim", value)?,
            "nofailover" => self.is_strict = on_off("failover", value)?,
            "failontimeout" => self.fails_on_timeout = on_off("failontimeout", value)?,
            "forcerecovery" => self.forces_recovery = on_off("forcerecovery", value)?,
            "failonstatus" => self.fail_on = statuses(value)?,
            "timeout" => {
                let text = "timeout must be at least one second";
                self.wait_ms = Some(parameters::seconds(value, 1).ok_or(text)?);
            }
            "maxattempts" => {
                let text = "maximum number of attempts must be a positive number";
                let count = usize::try_from(args::leading_int(value)).map_err(|_| text)?;
                self.max_attempts = Some(count);
            }
            "nonce" if value.len() < NONCE_BYTES => {}
            "nonce" => return Err("Provided nonce is too large".into()),
            "growth" if (1..=100).contains(&args::leading_int(value)) => {}
            "growth" => return Err("growth must be between 1 and 100".into()),
            _ => return Err("unknown Balancer parameter".into()),
        }
        Ok(())
    }
}

/// Each way is a module of httpd, and known only if that is loaded.
fn method(builder: &Builder, value: &str) -> Result<LbMethod, String> {
    let found = LbMethod::ALL.iter().find(|row| row.0 == value && value.len() <= METHOD_BYTES);
    let found = found.filter(|row| builder.has_module(row.1));
    found.map(|row| row.2).ok_or_else(|| "unknown lbmethod".into())
}

fn separator(value: &str) -> Result<Option<u8>, String> {
    match value.as_bytes() {
        [byte] => Ok(Some(*byte)),
        word if word.eq_ignore_ascii_case(b"off") => Ok(None),
        _ => Err("stickysessionsep must be a single character or Off".into()),
    }
}

fn on_off(name: &str, value: &str) -> Result<bool, String> {
    parameters::on_off(name, value)
}

fn statuses(value: &str) -> Result<Vec<u16>, String> {
    let words = value.split([',', ' ']).filter(|word| !word.is_empty());
    let status = |word: &str| match args::leading_int(word) {
        number @ 100..=599 => u16::try_from(number).ok(),
        _ => None,
    };
    let all: Option<Vec<u16>> = words.map(status).collect();
    all.ok_or_else(|| "failonstatus must be one or more HTTP response codes".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_named_by_all_before_the_path() {
        for (url, name) in [
            ("balancer://A/b/c", Some("balancer://a")),
            ("BALANCER://a", Some("balancer://a")),
            ("balancer://", None),
            ("balancer:///x", None),
            ("fcgi://a", None),
        ] {
            assert_eq!(Balancer::name_of(url).as_deref(), name, "{url}");
        }
    }

    #[test]
    fn parameters_of_groups_are_told_in_the_words_of_httpd() {
        let builder = Builder::default();
        let mut rules = Balancer::new("balancer://a").unwrap().rules;
        let mut set = |key, value| rules.set(&builder, key, value);
        for (key, value) in [
            ("lbmethod", "bybusyness"),
            ("stickysession", "SID|sid"),
            ("stickysessionsep", "Off"),
            ("FailOnStatus", "500,503"),
            ("nofailover", "On"),
            ("timeout", "1"),
            ("maxattempts", "0"),
            ("growth", "5"),
        ] {
            assert_eq!(set(key, value), Ok(()), "{key}");
        }
        for (key, value, said) in [
            ("lbmethod", "x", "unknown lbmethod"),
            ("stickysessionsep", "ab", "stickysessionsep must be a single character or Off"),
            ("nofailover", "1", "failover must be On|Off"),
            ("timeout", "0", "timeout must be at least one second"),
            ("failonstatus", "x", "failonstatus must be one or more HTTP response codes"),
            ("growth", "0", "growth must be between 1 and 100"),
            ("max", "1", "unknown Balancer parameter"),
        ] {
            assert_eq!(set(key, value), Err(said.to_owned()), "{key}");
        }
        assert_eq!(rules.sticky, Some(("SID".to_owned(), "sid".to_owned())));
        assert_eq!(rules.fail_on, [500, 503]);
    }
}
