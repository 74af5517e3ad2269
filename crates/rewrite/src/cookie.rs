//! `[CO=...]`: a cookie of a rule (add_cookie of mod_rewrite.c).

use crate::trace::shown;
use crate::words::atol;
use server::http_date::http_date;
use server::request_context::RequestContext;

/// Set the cookie that `text` says: name, value, domain, and perhaps minutes, path and switches, in
/// this order. That of one name is set once for a request; `None` if it is, or `text` says none.
pub(crate) fn set(request: &mut RequestContext<'_>, text: &[u8]) -> Option<Result<String, String>> {
    // A value with colons needs another separator, which the text begins with.
    let (separator, text) = match text.strip_prefix(b";") {
        Some(rest) => (b';', rest),
        None => (b':', text),
    };
    let mut words = text.split(|byte| *byte == separator).filter(|word| !word.is_empty());
    let (name, value, domain) = (words.next()?, words.next()?, words.next()?);
    let note = format!("{}_rewrite", String::from_utf8_lossy(name));
    if request.is_done(&note) {
        return Some(Err(shown(name).into_owned()));
    }
    let (minutes, path) = (words.next(), words.next());
    let mut cookie =
        [name, b"=", value, b"; path=", path.unwrap_or(b"/"), b"; domain=", domain].concat();
    if let Some(minutes) = minutes.map(atol).filter(|minutes| *minutes != 0) {
        let now_s = request.start_us().div_euclid(1_000_000);
        let end_s = now_s.saturating_add(minutes.clamp(-MINUTES_MAX, MINUTES_MAX) * 60);
        cookie.extend_from_slice(b"; expires=");
        cookie.extend_from_slice(dashed(&http_date(end_s)).as_bytes());
    }
    if words.next().is_some_and(|word| is_on(word, "secure")) {
        cookie.extend_from_slice(b"; secure");
    }
    if words.next().is_some_and(|word| is_on(word, "HttpOnly")) {
        cookie.extend_from_slice(b"; HttpOnly");
    }
    let is_off = |word: &&[u8]| *word == b"0" || word.eq_ignore_ascii_case(b"false");
    if let Some(same_site) = words.next().filter(|word| !is_off(word)) {
        cookie.extend_from_slice(b"; SameSite=");
        cookie.extend_from_slice(same_site);
    }
    let text = shown(&cookie).into_owned();
    request.add_to_answer(("Set-Cookie".into(), cookie));
    request.note_done(&note);
    Some(Ok(text))
}

/// About 1,900 years: dates have four digits.
const MINUTES_MAX: i64 = 1_000_000_000;

fn is_on(word: &[u8], name: &str) -> bool {
    word == b"1" || word.eq_ignore_ascii_case(b"true") || word.eq_ignore_ascii_case(name.as_bytes())
}

/// Cookies have their dates as Netscape wrote them: `Mon, 23-Nov-2026 12:00:00 GMT`.
fn dashed(date: &str) -> String {
    match (date.get(..7), date.get(8..11), date.get(12..)) {
        (Some(day), Some(month), Some(rest)) => format!("{day}-{month}-{rest}"),
        _ => date.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_has_dashes() {
        assert_eq!(dashed(&http_date(784_111_777)), "Sun, 06-Nov-1994 08:49:37 GMT");
    }
}
