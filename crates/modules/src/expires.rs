//! expires: how long a response stays fresh, by its media type (mod_expires).
//!
//! The fields tell of the time of the request: a prepared response that has them is good for the
//! second in which it was made and is made again in the next ([`RequestContext::mark_momentary`]).

use config::directive::row;
use config::lexer::LineWords;
use config::{Args, Call, Directive, Error, Scope};
use server::failure::Failure;
use server::fields;
use server::http_date::http_date;
use server::module::{Hooks, Module};
use server::request_context::RequestContext;
use server::response::Response;
use server::site::builder::Builder;
use server::site::settings::DirectoryKey;
use server::site::store::{Merge, either};

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "expires_module",
    "mod_expires.c",
    DIRECTIVES,
    Hooks { finish: Some(finish), ..Hooks::NONE },
);

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("ExpiresActive", Args::Flag, Scope::OR_INDEXES, "Off", "Limited to 'on' or 'off'", active),
    row("ExpiresByType", Args::Two, Scope::OR_INDEXES, "", "a MIME type followed by an expiry date code", by_type),
    row("ExpiresDefault", Args::One, Scope::OR_INDEXES, "", "an expiry date code", default),
];

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    is_active: Option<bool>,
    default: Option<ExpiresCode>,
    by_type: Vec<(String, ExpiresCode)>,
    has_wildcards: bool,
}

/// When something expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ExpiresCode {
    base: Base,
    seconds: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Access,
    Modification,
}

impl Merge for Settings {
    fn over(&self, outer: &Self) -> Self {
        let is_empty =
            self.is_active.is_none() && self.default.is_none() && self.by_type.is_empty();
        let inner = |row: &&(String, ExpiresCode)| self.exact(&row.0).is_none();
        Self {
            is_active: either(self.is_active.as_ref(), outer.is_active.as_ref()),
            default: self.default.or(outer.default),
            by_type: self
                .by_type
                .iter()
                .chain(outer.by_type.iter().filter(inner))
                .cloned()
                .collect(),
            // As in httpd a section with any of these directives forgets the wildcards of outer
            // ones (merge_expires_dir_configs).
            has_wildcards: if is_empty { outer.has_wildcards } else { self.has_wildcards },
        }
    }
}

impl Settings {
    fn exact(&self, media_type: &str) -> Option<ExpiresCode> {
        let row = self.by_type.iter().find(|row| row.0.eq_ignore_ascii_case(media_type));
        row.map(|row| row.1)
    }

    /// The code for a media type, which may have parameters.
    fn code(&self, content_type: Option<&str>) -> Option<ExpiresCode> {
        let plain = content_type.map(|it| it.split(';').next().unwrap_or_default().trim_end());
        let wild = || {
            let (major, _) = content_type?.split_once('/').filter(|_| self.has_wildcards)?;
            self.exact(&format!("{major}/*"))
        };
        plain.and_then(|plain| self.exact(plain)).or_else(wild).or(self.default)
    }
}

fn active(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    SETTINGS.change(builder.settings()).is_active = Some(call.on());
    Ok(())
}

fn by_type(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let (media_type, text) = (call.arg(0), call.arg(1));
    let Some((_, minor)) = media_type.rsplit_once('/') else {
        return Err(Error::argument(0, "Invalid mimetype: should contain a slash"));
    };
    let code = ExpiresCode::parse(text).map_err(|said| {
        Error::argument(1, format!("'ExpiresByType {media_type} {text}': {said}"))
    })?;
    let expires = SETTINGS.change(builder.settings());
    expires.has_wildcards |= minor == "*";
    match expires.by_type.iter_mut().find(|row| row.0.eq_ignore_ascii_case(media_type)) {
        Some(row) => row.1 = code,
        None => expires.by_type.push((media_type.to_owned(), code)),
    }
    Ok(())
}

fn default(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let text = call.arg(0);
    let code = ExpiresCode::parse(text)
        .map_err(|said| Error::argument(0, format!("'ExpiresDefault {text}': {said}")))?;
    SETTINGS.change(builder.settings()).default = Some(code);
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

impl ExpiresCode {
    /// `A3600`, `M3600`, or words such as `access plus 1 month 2 days` (check_code).
    fn parse(text: &str) -> Result<Self, String> {
        for (letter, base) in [('A', Base::Access), ('M', Base::Modification)] {
            if let Some(rest) = text.strip_prefix(letter) {
                return Ok(Self { base, seconds: leading_number(rest) });
            }
        }
        let mut words = LineWords::new(text).map(|word| word.text).filter(|word| !word.is_empty());
        let mut next = || words.next().unwrap_or_default();
        let word = next();
        let base = match word.as_bytes().first().map(u8::to_ascii_lowercase) {
            Some(b'n' | b'a') => Base::Access,
            Some(b'm') => Base::Modification,
            _ => return Err(format!("bad expires code, unrecognised <base> '{word}'")),
        };
        let mut word = next();
        if word.starts_with(['p', 'P']) {
            word = next();
        }
        let mut seconds = 0_i32;
        while !word.is_empty() {
            if !word.starts_with(|c: char| c.is_ascii_digit()) {
                return Err(format!("bad expires code, numeric value expected <num> '{word}'"));
            }
            let unit = next();
            if unit.is_empty() {
                return Err("bad expires code, missing <type>".to_owned());
            }
            let lower = unit.to_ascii_lowercase();
            let known = UNITS.iter().find(|row| lower.starts_with(row.0));
            let (_, factor) =
                known.ok_or(format!("bad expires code, unrecognised <type>'{unit}'"))?;
            // Wraps around as httpd's int does.
            seconds = seconds.wrapping_add(factor.wrapping_mul(leading_number(&word)));
            word = next();
        }
        Ok(Self { base, seconds })
    }
}

/// atoi
fn leading_number(text: &str) -> i32 {
    let text = text.trim_start();
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    let end = digits.bytes().take_while(u8::is_ascii_digit).count();
    if end == 0 {
        return 0;
    }
    let value: i64 = digits[..end].parse().unwrap_or(i64::MAX);
    // The C library cuts off, too.
    (sign * value) as i32
}

/// Finish hook: fields for what is no error (expires_filter).
pub(crate) fn finish(
    request: &mut RequestContext<'_>,
    response: &mut Response,
) -> Result<(), Failure> {
    let settings = request.settings.clone();
    let expires = SETTINGS.of(&settings);
    let is_used = expires.is_active == Some(true)
        && (expires.default.is_some() || !expires.by_type.is_empty());
    if !is_used || response.status.is_error() {
        return Ok(());
    }
    if fields::get(&request.output.always, "Expires").or(response.get("Expires")).is_some() {
        return Ok(());
    }
    let Some(code) = expires.code(response.content_type.as_deref()) else { return Ok(()) };
    let now_us = request.start_us();
    let base_us = match (code.base, request.mapping.status.map(|status| status.modified_us())) {
        (Base::Access, _) => now_us,
        (Base::Modification, Some(modified_us)) => modified_us,
        (Base::Modification, None) => return Ok(()),
    };
    let at_us = (base_us + i64::from(code.seconds) * 1_000_000).max(now_us);
    let age = format!("max-age={}", (at_us - now_us) / 1_000_000);
    fields::merge(&mut response.fields, "Cache-Control", age.into_bytes());
    let date = http_date(at_us.div_euclid(1_000_000));
    fields::set(&mut response.fields, "Expires", date.into_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_as_httpd_reads_them() {
        let day = 24 * 60 * 60;
        let rows = [
            ("A3600", Base::Access, 3600),
            ("M-5", Base::Modification, -5),
            ("Access plus 1 month", Base::Access, 0),
            ("A", Base::Access, 0),
            ("access plus 1 month", Base::Access, 30 * day),
            ("access 1 month", Base::Access, 30 * day),
            ("now plus 2 weeks 3 days", Base::Access, 17 * day),
            ("modification plus 5 hours 3 minutes 1 second", Base::Modification, 18_181),
            ("m", Base::Modification, 0),
            ("access plus 1 YEAR", Base::Access, 365 * day),
            ("access plus 100 years", Base::Access, (100_i64 * 365 * i64::from(day)) as i32),
        ];
        for (text, base, seconds) in rows {
            assert_eq!(ExpiresCode::parse(text), Ok(ExpiresCode { base, seconds }), "{text}");
        }
    }

    #[test]
    fn errors_are_httpds() {
        for (text, said) in [
            ("", "bad expires code, unrecognised <base> ''"),
            ("then plus", "bad expires code, unrecognised <base> 'then'"),
            ("access plus x", "bad expires code, numeric value expected <num> 'x'"),
            ("access plus 1", "bad expires code, missing <type>"),
            ("a p 1y", "bad expires code, missing <type>"),
            ("access plus 1 m", "bad expires code, unrecognised <type>'m'"),
        ] {
            assert_eq!(ExpiresCode::parse(text), Err(said.to_owned()), "{text}");
        }
    }

    #[test]
    fn the_media_type_decides_then_its_kind_then_the_default() {
        let code = |seconds| ExpiresCode { base: Base::Access, seconds };
        let settings = Settings {
            is_active: Some(true),
            default: Some(code(1)),
            by_type: vec![("text/html".into(), code(2)), ("image/*".into(), code(3))],
            has_wildcards: true,
        };
        for (content_type, seconds) in [
            (Some("text/html"), 2),
            (Some("TEXT/HTML; charset=x"), 2),
            (Some("image/png"), 3),
            (Some("text/plain"), 1),
            (None, 1),
        ] {
            assert_eq!(settings.code(content_type), Some(code(seconds)), "{content_type:?}");
        }
        let inner = Settings { default: Some(code(4)), ..Settings::default() };
        assert_eq!(inner.over(&settings).code(Some("image/png")), Some(code(4)));
        assert_eq!(Settings::default().over(&settings).code(Some("image/png")), Some(code(3)));
    }
}
