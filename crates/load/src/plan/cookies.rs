//! The cookies of one user: which are kept, and which go with a request (RFC 6265).
//!
//! There is no list of public suffixes: a server of this project's tests is trusted that far. A
//! domain without a dot inside is refused, unless it is the host itself.

use crate::date;
use crate::url::{Scheme, Url};

/// Cookies and the time, for one request.
#[derive(Clone, Copy, Debug)]
pub struct Cookies<'a> {
    /// The cookies.
    pub jar: &'a Jar,
    /// The time now, seconds since 1970.
    pub now_s: u64,
}

/// The cookies of one user.
///
/// ```
/// use load::plan::cookies::Jar;
/// use load::url::Url;
///
/// let url = Url::parse("http://example.org/app/login").unwrap();
/// let mut jar = Jar::default();
/// jar.store(&url, b"sid=1; Path=/app; HttpOnly", 0);
/// let mut out = Vec::new();
/// jar.write_field(&url.join("next").unwrap(), 0, &mut out);
/// assert_eq!(out, b"Cookie: sid=1\r\n");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Jar {
    cookies: Vec<Cookie>,
}

#[derive(Clone, Debug)]
struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    domain: String,
    path: Vec<u8>,
    is_host_only: bool,
    is_secure: bool,
    /// Seconds since 1970; `None` for as long as the user lives.
    expires_s: Option<u64>,
}

/// Bytes of name and value, and of each attribute, at most (RFC 6265 section 6.1).
const COOKIE_BYTES_MAX: usize = 4096;
/// Cookies of one domain at most (section 6.1); the oldest goes first.
const COOKIES_PER_DOMAIN_MAX: usize = 50;
/// Cookies of one user at most: an engine has many users.
const COOKIES_MAX: usize = 300;

impl Jar {
    /// Takes the value of a Set-Cookie field of an answer to `url`; tells whether anything changed.
    pub fn store(&mut self, url: &Url, field: &[u8], now_s: u64) -> bool {
        let Some(cookie) = Cookie::parse(url, field, now_s) else { return false };
        let is_same = |old: &Cookie| {
            old.name == cookie.name && old.domain == cookie.domain && old.path == cookie.path
        };
        let place = self.cookies.iter().position(is_same);
        if cookie.is_expired(now_s) {
            // Section 5.3: this is how a server takes a cookie away.
            return place.map(|at| self.cookies.remove(at)).is_some();
        }
        if let Some(at) = place {
            // Section 5.3, step 11.3: it keeps the age of the old one, and so its place.
            self.cookies[at] = cookie;
            return true;
        }
        self.make_room(&cookie.domain, now_s);
        self.cookies.push(cookie);
        true
    }

    /// How many there are, expired ones too.
    pub const fn len(&self) -> usize {
        self.cookies.len()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    /// Forgets all, as siege does at the end of a session.
    pub fn clear(&mut self) {
        self.cookies.clear();
    }

    /// Appends the Cookie field of a request to `url`, if any cookie belongs there.
    pub fn write_field(&self, url: &Url, now_s: u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend(b"Cookie: ");
        if self.write_value(url, now_s, out) {
            out.extend(b"\r\n");
        } else {
            out.truncate(start);
        }
    }

    /// Append the value of the `Cookie` field for a URL, without name and line end; tells whether
    /// there was any (section 5.4).
    pub fn write_value(&self, url: &Url, now_s: u64, out: &mut Vec<u8>) -> bool {
        let mut due: Vec<&Cookie> =
            self.cookies.iter().filter(|cookie| cookie.belongs_to(url, now_s)).collect();
        // Longer paths first, then older ones; the sort is stable.
        due.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        for (index, cookie) in due.iter().enumerate() {
            if index > 0 {
                out.extend(b"; ");
            }
            out.extend(&cookie.name);
            if !cookie.name.is_empty() {
                out.push(b'=');
            }
            out.extend(&cookie.value);
        }
        !due.is_empty()
    }

    fn make_room(&mut self, domain: &str, now_s: u64) {
        let is_of_domain = |cookie: &Cookie| cookie.domain == domain;
        let of_domain = self.cookies.iter().filter(|cookie| is_of_domain(cookie)).count();
        if of_domain < COOKIES_PER_DOMAIN_MAX && self.cookies.len() < COOKIES_MAX {
            return;
        }
        self.cookies.retain(|cookie| !cookie.is_expired(now_s));
        while self.cookies.iter().filter(|cookie| is_of_domain(cookie)).count()
            >= COOKIES_PER_DOMAIN_MAX
        {
            let Some(oldest) = self.cookies.iter().position(is_of_domain) else { break };
            self.cookies.remove(oldest);
        }
        if self.cookies.len() >= COOKIES_MAX {
            self.cookies.remove(0);
        }
    }
}

impl Cookie {
    /// RFC 6265 section 5.2 and 5.3. `None` if the cookie is to be ignored.
    fn parse(url: &Url, field: &[u8], now_s: u64) -> Option<Self> {
        // Nothing that ends a line may come back in a request.
        if field.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
            return None;
        }
        let mut parts = field.split(|byte| *byte == b';');
        let pair = parts.next()?;
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii());
        if name.is_empty() || name.len() + value.len() > COOKIE_BYTES_MAX {
            return None;
        }
        let mut cookie = Self {
            name: name.to_vec(),
            value: value.to_vec(),
            domain: url.host.clone(),
            path: default_path(url),
            is_host_only: true,
            is_secure: false,
            expires_s: None,
        };
        let mut max_age = None;
        for part in parts {
            let equals = part.iter().position(|byte| *byte == b'=').unwrap_or(part.len());
            let name = part[..equals].trim_ascii().to_ascii_lowercase();
            let value = part.get(equals + 1..).unwrap_or_default().trim_ascii();
            if value.len() > COOKIE_BYTES_MAX {
                continue;
            }
            match name.as_slice() {
                b"secure" => cookie.is_secure = true,
                b"path" if value.starts_with(b"/") => cookie.path = value.to_vec(),
                b"path" => cookie.path = default_path(url),
                b"domain" if !value.is_empty() => cookie.set_domain(url, value)?,
                b"max-age" => max_age = max_age_s(value).or(max_age),
                b"expires" => cookie.expires_s = date::seconds(value).or(cookie.expires_s),
                _ => {}
            }
        }
        if let Some(age_s) = max_age {
            // Section 5.3, step 3: Max-Age wins over Expires.
            let is_over = age_s <= 0;
            let at_s = now_s.saturating_add(age_s.unsigned_abs());
            cookie.expires_s = Some(if is_over { 0 } else { at_s });
        }
        Some(cookie)
    }

    /// A domain must be the host or one above it (section 5.1.3), and addresses have none above.
    fn set_domain(&mut self, url: &Url, value: &[u8]) -> Option<()> {
        let value = std::str::from_utf8(value).ok()?.to_ascii_lowercase();
        let domain = value.strip_prefix('.').unwrap_or(&value);
        if domain != url.host && !(domain.contains('.') && domain_matches(&url.host, domain)) {
            return None;
        }
        // For an address the domain can only be itself.
        domain.clone_into(&mut self.domain);
        self.is_host_only = domain == url.host && is_address(domain);
        Some(())
    }

    fn is_expired(&self, now_s: u64) -> bool {
        self.expires_s.is_some_and(|expires_s| expires_s <= now_s)
    }

    fn belongs_to(&self, url: &Url, now_s: u64) -> bool {
        let host_fits = self.domain == url.host
            || (!self.is_host_only && domain_matches(&url.host, &self.domain));
        let path = url.path_and_query().0.as_bytes();
        host_fits
            && (!self.is_secure || url.scheme == Scheme::Https)
            && !self.is_expired(now_s)
            && path_matches(path, &self.path)
    }
}

/// Whether `domain` stands above `host` (section 5.1.3).
fn domain_matches(host: &str, domain: &str) -> bool {
    let above = host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'));
    above && !is_address(host)
}

fn is_address(host: &str) -> bool {
    host.parse::<std::net::IpAddr>().is_ok()
}

/// Section 5.1.4: the folder of the request, without the slash at its end.
fn default_path(url: &Url) -> Vec<u8> {
    let path = url.path_and_query().0;
    match path.rfind('/') {
        Some(slash) if slash > 0 => path.as_bytes()[..slash].to_vec(),
        _ => b"/".to_vec(),
    }
}

/// Section 5.1.4.
fn path_matches(path: &[u8], cookie_path: &[u8]) -> bool {
    let Some(rest) = path.strip_prefix(cookie_path) else { return false };
    rest.is_empty() || rest[0] == b'/' || cookie_path.ends_with(b"/")
}

/// Section 5.2.2: digits, maybe with a minus. Too large a number is for ever.
fn max_age_s(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    if digits.len() < text.len() {
        return Some(-1);
    }
    let add = |sum: i64, digit: &u8| sum.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
    Some(digits.iter().fold(0, add))
}

#[cfg(test)]
#[path = "cookies_tests.rs"]
mod tests;
