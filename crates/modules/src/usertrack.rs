//! usertrack: a cookie that tells the requests of one browser from those of others, and its value
//! as the note `cookie` for an access log (mod_usertrack).

use config::directive::row;
use config::lexer::LineWords;
use config::{Args, Call, Directive, Error, Scope};
use server::failure::Stop;
use server::fields;
use server::hook::Hook;
use server::http_date::http_date;
use server::module::{Hooks, Module};
use server::request_context::{LookupPurpose, RequestContext};
use server::site::builder::Builder;
use server::site::settings::{DirectoryKey, HostKey};
use server::site::store::Merge;
use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "usertrack_module",
    "mod_usertrack.c",
    DIRECTIVES,
    Hooks { fixup: Some(Hook::Now(track)), ..Hooks::NONE },
);

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("CookieExpires", Args::One, Scope::OR_FILEINFO, "", "an expiry date code", expires),
    row("CookieDomain", Args::One, Scope::OR_FILEINFO, "", "domain to which this cookie applies", domain),
    row("CookieStyle", Args::One, Scope::OR_FILEINFO, "Netscape", "'Netscape', 'Cookie' (RFC2109), or 'Cookie2' (RFC2965)", style),
    row("CookieTracking", Args::Flag, Scope::OR_FILEINFO, "Off", "whether or not to enable cookies", tracking),
    row("CookieName", Args::One, Scope::OR_FILEINFO, "Apache", "name of the tracking cookie", name),
    row("CookieSameSite", Args::One, Scope::OR_FILEINFO, "", "SameSite setting", same_site),
    row("CookieSecure", Args::Flag, Scope::OR_FILEINFO, "Off", "is cookie secure", secure),
    row("CookieHttpOnly", Args::Flag, Scope::OR_FILEINFO, "Off", "is cookie http only", http_only),
];

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings. As in httpd a section with any of them replaces all of the outer ones.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    is_on: bool,
    name: String,
    domain: Option<String>,
    style: CookieStyle,
    same_site: Option<&'static str>,
    is_secure: bool,
    is_http_only: bool,
    /// `CookieExpires` of a `.htaccess` file; elsewhere it is the host's.
    expires_s: Option<i32>,
}

impl Merge for Settings {}

impl Default for Settings {
    fn default() -> Self {
        Self {
            is_on: false,
            name: "Apache".to_owned(),
            domain: None,
            style: CookieStyle::Netscape,
            same_site: None,
            is_secure: false,
            is_http_only: false,
            expires_s: None,
        }
    }
}

/// In which of its historical forms the cookie is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CookieStyle {
    /// With a date as Netscape had it, of two digits for the year.
    Netscape,
    /// RFC 2109: with a number of seconds.
    Cookie,
    /// RFC 2965: the same in a field of its own.
    Cookie2,
}

/// The key of the settings of a host.
static EXPIRY: HostKey<Expiry> = HostKey::new();

/// `CookieExpires`. As in httpd it holds for the whole host, in whatever section it stands.
#[derive(Clone, Copy, Debug, Default)]
struct Expiry {
    /// 0 for a cookie that lasts as long as the browser runs.
    seconds: i32,
}

impl Merge for Expiry {}

fn settings(builder: &mut Builder) -> &mut Settings {
    SETTINGS.change(builder.settings())
}

fn tracking(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    settings(builder).is_on = call.on();
    Ok(())
}

fn secure(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    settings(builder).is_secure = call.on();
    Ok(())
}

fn http_only(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    settings(builder).is_http_only = call.on();
    Ok(())
}

fn name(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    settings(builder).name = call.arg(0).to_owned();
    Ok(())
}

fn domain(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let domain = call.arg(0);
    let Some(after_dot) = domain.strip_prefix('.') else {
        let said = if domain.is_empty() { "may not be null" } else { "must begin with a dot" };
        return Err(Error::argument(0, format!("CookieDomain values {said}")));
    };
    if !after_dot.contains('.') {
        let said = "CookieDomain values must contain at least one embedded dot";
        return Err(Error::argument(0, said));
    }
    settings(builder).domain = Some(domain.to_owned());
    Ok(())
}

fn style(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let style = match call.arg(0).to_ascii_lowercase().as_str() {
        "netscape" => CookieStyle::Netscape,
        "cookie" | "rfc2109" => CookieStyle::Cookie,
        "cookie2" | "rfc2965" => CookieStyle::Cookie2,
        _ => {
            let text = format!("Invalid CookieStyle keyword: '{}'", call.arg(0));
            return Err(Error::argument(0, text));
        }
    };
    settings(builder).style = style;
    Ok(())
}

fn same_site(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let attribute = match call.arg(0).to_ascii_lowercase().as_str() {
        "strict" => "SameSite=Strict",
        "lax" => "SameSite=Lax",
        "none" => "SameSite=None",
        _ => return Err(Error::argument(0, "CookieSameSite accepts 'Strict', 'Lax', or 'None'")),
    };
    settings(builder).same_site = Some(attribute);
    Ok(())
}

fn expires(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let seconds = parse_expires(call.arg(0)).map_err(|said| Error::argument(0, said))?;
    match builder.is_htaccess() {
        true => settings(builder).expires_s = Some(seconds),
        false => EXPIRY.change(&mut builder.host().modules).seconds = seconds,
    }
    Ok(())
}

/// Units as httpd tells them apart: by so many letters.
const UNITS: &[(&str, i32)] = &[
    ("y", 60 * 60 * 24 * 365),
    ("mo", 60 * 60 * 24 * 30),
    ("w", 60 * 60 * 24 * 7),
    ("d", 60 * 60 * 24),
    ("h", 60 * 60),
    ("mi", 60),
    ("s", 1),
];

/// A number of seconds, or words such as `plus 2 weeks 3 days` (set_cookie_exp).
fn parse_expires(text: &str) -> Result<i32, &'static str> {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    if is_digit(text.as_bytes().first()) && is_digit(text.as_bytes().last()) {
        return Ok(leading_number(text));
    }
    let mut words = LineWords::new(text).map(|word| word.text).filter(|word| !word.is_empty());
    let mut word = words.next().unwrap_or_default();
    if word.starts_with(['p', 'P']) {
        word = words.next().unwrap_or_default();
    }
    let mut seconds = 0_i32;
    while !word.is_empty() {
        if !word.starts_with(|c: char| c.is_ascii_digit()) {
            return Err("bad expires code, numeric value expected.");
        }
        let Some(unit) = words.next() else { return Err("bad expires code, missing <type>") };
        let unit = unit.to_ascii_lowercase();
        let known = UNITS.iter().find(|row| unit.starts_with(row.0));
        let (_, factor) = known.ok_or("bad expires code, unrecognized type")?;
        // Wraps around as httpd's int does.
        seconds = seconds.wrapping_add(factor.wrapping_mul(leading_number(&word)));
        word = words.next().unwrap_or_default();
    }
    Ok(seconds)
}

/// atoi of what begins with a digit; the C library cuts off, too.
fn leading_number(text: &str) -> i32 {
    let digits = text.bytes().take_while(u8::is_ascii_digit);
    let value = digits
        .fold(0_i64, |all, digit| all.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    value as i32
}

/// Fixup hook: keep the value of the client's cookie, or give it one (spot_cookie). A request that
/// was redirected within the server gets another one, as in httpd.
fn track(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    let settings = SETTINGS.of(&request.settings);
    if !settings.is_on || request.lineage.purpose == LookupPurpose::Sub {
        return Ok(());
    }
    let field = fields::joined(&request.received().view(), b"Cookie");
    let value = field.as_deref().and_then(|text| find(text, settings.name.as_bytes()));
    if let Some(value) = value.map(<[u8]>::to_vec) {
        request.tables.notes.set("cookie", value);
        return Ok(());
    }
    let expires_s = settings.expires_s.unwrap_or(EXPIRY.of(&request.host.modules).seconds);
    let now_us = request.start_us();
    // Keys of the standard hasher come from the operating system.
    let random = RandomState::new().hash_one(now_us) as u32;
    let value = format!("{random:x}.{now_us:x}");
    let field = settings.field(&value, now_us.div_euclid(1_000_000), expires_s);
    request.output.always.push((settings.field_name().into(), field.into_bytes()));
    request.tables.notes.set("cookie", value);
    Ok(())
}

/// The value of a cookie: up to the next separator, at the start of the field or behind one.
fn find<'t>(field: &'t [u8], name: &[u8]) -> Option<&'t [u8]> {
    let is_end = |byte: &u8| matches!(byte, b';' | b',');
    let value = |text: &'t [u8]| {
        let text = text.strip_prefix(name)?.strip_prefix(b"=")?;
        let end = text.iter().position(is_end).unwrap_or(text.len());
        Some(&text[..end]).filter(|value| !value.is_empty())
    };
    let blanks = |text: &[u8]| text.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    let later = field.iter().enumerate().filter(|at| is_end(at.1)).map(|(at, _)| {
        let rest = &field[at + 1..];
        &rest[blanks(rest)..]
    });
    std::iter::once(field).chain(later).find_map(value)
}

impl Settings {
    fn field_name(&self) -> &'static str {
        match self.style {
            CookieStyle::Cookie2 => "Set-Cookie2",
            CookieStyle::Netscape | CookieStyle::Cookie => "Set-Cookie",
        }
    }

    /// The field for a new value (make_cookie).
    fn field(&self, value: &str, now_s: i64, expires_s: i32) -> String {
        let mut field = format!("{}={value}; path=/", self.name);
        // Writing to a String cannot fail.
        let _ = match (expires_s, self.style) {
            (0, _) => Ok(()),
            (_, CookieStyle::Netscape) => {
                write!(field, "; expires={}", netscape_date(now_s + i64::from(expires_s)))
            }
            (_, CookieStyle::Cookie | CookieStyle::Cookie2) => {
                write!(field, "; max-age={expires_s}")
            }
        };
        if let Some(domain) = &self.domain {
            let version = if self.style == CookieStyle::Cookie2 { "; version=1" } else { "" };
            let _ = write!(field, "; domain={domain}{version}");
        }
        for attribute in [
            self.same_site,
            self.is_secure.then_some("Secure"),
            self.is_http_only.then_some("HttpOnly"),
        ] {
            let _ = attribute.map_or(Ok(()), |attribute| write!(field, "; {attribute}"));
        }
        field
    }
}

/// `Sun, 06-Nov-94 08:49:37 GMT`: an HTTP-date with hyphens and two digits for the year.
fn netscape_date(unix_s: i64) -> String {
    let date = http_date(unix_s);
    let [day, month, year, time] = [5..7, 8..11, 14..16, 17..25].map(|at| &date[at]);
    format!("{} {day}-{month}-{year} {time} GMT", &date[..4])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(field: &str) -> Option<&str> {
        find(field.as_bytes(), b"Apache").map(|value| std::str::from_utf8(value).unwrap())
    }

    #[test]
    fn a_cookie_is_found_where_one_can_begin() {
        for field in ["Apache=1", "a=b; Apache=1", "a=b,Apache=1;c=d", "Apache=; \t Apache=1, x"] {
            assert_eq!(found(field), Some("1"), "{field}");
        }
        for field in ["", "apache=1", "xApache=1", " Apache=1", "Apache=", "Apache=;x", "Apache"] {
            assert_eq!(found(field), None, "{field}");
        }
    }

    #[test]
    fn times_are_numbers_or_words_as_in_httpd() {
        for (text, seconds) in [
            ("100", 100),
            ("3 weeks 2 days", 23 * 86_400),
            ("plus 1 year", 31_536_000),
            ("\"plus\" 1 mo 2 mi 5 sec", 30 * 86_400 + 125),
            ("", 0),
        ] {
            assert_eq!(parse_expires(text), Ok(seconds), "{text}");
        }
        for (text, said) in [
            ("soon", "numeric value expected."),
            ("1", ""),
            ("3 weeks 2", ""),
            ("plus 3", "missing <type>"),
            ("3 moons", ""),
            ("3 lifetimes", "unrecognized type"),
        ] {
            let result = parse_expires(text);
            match said {
                "" => assert!(result.is_ok(), "{text}: {result:?}"),
                said => assert!(result.is_err_and(|it| it.ends_with(said)), "{text}"),
            }
        }
    }

    #[test]
    fn each_style_has_its_field() {
        let mut settings = Settings::default();
        assert_eq!(settings.field("v", 0, 0), "Apache=v; path=/");
        let date = "expires=Sun, 06-Nov-94 08:49:37 GMT";
        assert_eq!(settings.field("v", 784_111_000, 777), format!("Apache=v; path=/; {date}"));
        settings.style = CookieStyle::Cookie;
        (settings.is_secure, settings.is_http_only) = (true, true);
        settings.same_site = Some("SameSite=Lax");
        let attributes = "max-age=9; SameSite=Lax; Secure; HttpOnly";
        assert_eq!(settings.field("v", 0, 9), format!("Apache=v; path=/; {attributes}"));
        settings = Settings { style: CookieStyle::Cookie2, ..Settings::default() };
        settings.domain = Some(".a.b".to_owned());
        assert_eq!(settings.field("v", 0, 0), "Apache=v; path=/; domain=.a.b; version=1");
        assert_eq!(settings.field_name(), "Set-Cookie2");
    }
}
