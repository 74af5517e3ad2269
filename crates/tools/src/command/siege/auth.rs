//! Answers to the challenges of a server or proxy: Basic (RFC 7617) and Digest (RFC 7616) with
//! MD5, the two that siege answers besides NTLM.

use super::config::{ANY_REALM, Login};
use load::plan::Random;
use load::text::base64;
use md5::{Digest as _, Md5};
use std::fmt::Write as _;

/// A challenge of a server or proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Challenge {
    is_digest: bool,
    pub(super) realm: String,
    nonce: String,
    opaque: String,
    has_qop: bool,
    algorithm: String,
}

/// Bytes of a challenge at most.
const BYTES_MAX: usize = 8 * 1024;

impl Challenge {
    pub(super) const fn is_digest(&self) -> bool {
        self.is_digest
    }

    /// The best of the values of WWW-Authenticate or Proxy-Authenticate.
    pub(super) fn of<'a>(values: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let read = |value: &'a [u8]| Self::parse(std::str::from_utf8(value).ok()?);
        let all: Vec<Self> = values.filter_map(read).collect();
        // The client chooses, and should choose the strongest that it knows (RFC 7617 section 4).
        let digest = all.iter().find(|challenge| challenge.is_digest);
        digest.or(all.first()).cloned()
    }

    fn parse(value: &str) -> Option<Self> {
        if value.len() > BYTES_MAX || value.contains(|c: char| c.is_control() && c != '\t') {
            return None;
        }
        let (scheme, rest) = value.trim().split_once(' ').unwrap_or((value.trim(), ""));
        let is_digest = scheme.eq_ignore_ascii_case("digest");
        if !is_digest && !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let mut challenge = Self { is_digest, ..Self::default() };
        for (name, value) in parameters(rest) {
            match name.to_ascii_lowercase().as_str() {
                "realm" => challenge.realm = value,
                "nonce" => challenge.nonce = value,
                "opaque" => challenge.opaque = value,
                "algorithm" => challenge.algorithm = value,
                "qop" => {
                    challenge.has_qop =
                        value.split(',').any(|word| word.trim().eq_ignore_ascii_case("auth"));
                }
                _ => {}
            }
        }
        let is_known = matches!(challenge.algorithm.as_str(), "" | "MD5" | "md5" | "MD5-sess");
        is_known.then_some(challenge)
    }
}

/// `name=value, name="value"`.
fn parameters(text: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim_matches([' ', '\t', ',']).to_owned();
        let after = after.trim_start();
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        out.push((name, value.trim().to_owned()));
        rest = next;
    }
    out
}

/// The login for a realm: its own, or the one for any, which older files call all.
pub(super) fn login_for<'a>(logins: &'a [Login], realm: &str) -> Option<&'a Login> {
    let of = |realm: &str| logins.iter().find(|login| login.realm == realm);
    of(realm).or_else(|| of(ANY_REALM)).or_else(|| of("all"))
}

/// Credentials that a challenge was answered with, and is from then on.
#[derive(Clone, Debug)]
pub(super) struct Credentials {
    challenge: Challenge,
    login: Login,
    client_nonce: String,
    count: u32,
}

impl Credentials {
    /// Credentials for a challenge.
    pub(super) fn new(challenge: Challenge, login: Login, random: &mut Random) -> Self {
        let client_nonce = format!("{:016x}", random.next());
        Self { challenge, login, client_nonce, count: 0 }
    }

    /// The value of Authorization for a request.
    pub(super) fn value(&mut self, method: &str, target: &str) -> String {
        let Login { user, password, .. } = &self.login;
        if !self.challenge.is_digest {
            return format!("Basic {}", base64(format!("{user}:{password}").as_bytes()));
        }
        // How often this nonce was used (RFC 7616 section 3.4): a server that sees a number twice
        // takes the second request for a replay. So this is called once for each request that is
        // sent.
        self.count += 1;
        let Challenge { realm, nonce, opaque, algorithm, has_qop, .. } = &self.challenge;
        let (count, client_nonce) = (self.count, &self.client_nonce);
        let mut secret = hex_md5(&format!("{user}:{realm}:{password}"));
        if algorithm == "MD5-sess" {
            secret = hex_md5(&format!("{secret}:{nonce}:{client_nonce}"));
        }
        // A1 and A2 of the RFC. Without qop it is the form of RFC 2069, which old servers ask for.
        let what = hex_md5(&format!("{method}:{target}"));
        let response = match has_qop {
            true => hex_md5(&format!("{secret}:{nonce}:{count:08x}:{client_nonce}:auth:{what}")),
            false => hex_md5(&format!("{secret}:{nonce}:{what}")),
        };
        let mut value = format!(
            "Digest username=\"{user}\", realm=\"{realm}\", nonce=\"{nonce}\", uri=\"{target}\", "
        );
        // Writing to a string cannot fail.
        if !algorithm.is_empty() {
            let _ = write!(value, "algorithm={algorithm}, ");
        }
        let _ = write!(value, "response=\"{response}\"");
        if !opaque.is_empty() {
            let _ = write!(value, ", opaque=\"{opaque}\"");
        }
        if *has_qop {
            let _ = write!(value, ", qop=auth, nc={count:08x}, cnonce=\"{client_nonce}\"");
        }
        value
    }
}

fn hex_md5(text: &str) -> String {
    Md5::digest(text.as_bytes()).iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc_has_its_response() {
        // RFC 2617 section 3.5.
        let challenge = Challenge::of(
            [
                &b"Basic realm=\"x\""[..],
                b"Digest realm=\"testrealm@host.com\", qop=\"auth,auth-int\", \
                  nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", \
                  opaque=\"5ccc069c403ebaf9f0171e9517f40e41\"",
            ]
            .into_iter(),
        );
        let login = Login::parse("Mufasa:Circle Of Life:testrealm@host.com");
        let mut credentials = Credentials::new(challenge.unwrap(), login, &mut Random::new(1));
        credentials.client_nonce = "0a4f113b".to_owned();
        let value = credentials.value("GET", "/dir/index.html");
        assert!(value.contains("response=\"6629fae49393a05397450978507c4ef1\""), "{value}");
        assert!(credentials.value("GET", "/").contains("nc=00000002"));
    }

    #[test]
    fn a_login_is_for_its_realm_or_for_all() {
        let logins = [Login::parse("a:b"), Login::parse("c:d:staff")];
        assert_eq!(login_for(&logins, "staff").unwrap().user, "c");
        assert_eq!(login_for(&logins, "other").unwrap().user, "a");
        assert_eq!(login_for(&logins[1..], "other"), None);
        let challenge = Challenge::of([&b"Basic realm=staff"[..]].into_iter()).unwrap();
        let mut basic = Credentials::new(challenge, Login::parse("me:pw"), &mut Random::new(1));
        assert_eq!(basic.value("GET", "/"), "Basic bWU6cHc=");
    }

    #[test]
    fn what_is_no_challenge_is_none() {
        for value in [&b"NTLM"[..], b"Digest algorithm=SHA-256", b"\xff", b"Basic a\nb"] {
            assert_eq!(Challenge::of([value].into_iter()), None);
        }
    }
}
