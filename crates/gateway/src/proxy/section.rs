//! `<Proxy>` and `<ProxyMatch>`: settings for requests that go to a backend, and parameters of one
//! (proxysection of mod_proxy.c).

use super::lines::{ProxySubject, is_wild};
use super::url;
use config::lexer::LineWords;
use config::{Call, Error};
use server::site::builder::Builder;
use server::site::section::{Matcher, SectionKind, regex};
use server::site::wildcard::WildcardPattern;

type Done = Result<(), Error>;

pub(super) fn proxy(builder: &mut Builder, call: &Call<'_>) -> Done {
    enter(builder, call, false)
}

pub(super) fn proxy_match(builder: &mut Builder, call: &Call<'_>) -> Done {
    enter(builder, call, true)
}

fn enter(builder: &mut Builder, call: &Call<'_>, is_match: bool) -> Done {
    builder.check_not_in_limit(call)?;
    let mut words: Vec<String> = LineWords::new(call.raw).map(|word| word.text).collect();
    let mut name = if words.is_empty() { String::new() } else { words.remove(0) };
    if name.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("proxy:")) {
        name.drain(..6);
    }
    let matcher = match (is_match, is_wild(&name)) {
        (true, _) => {
            let found = regex(&name, builder.server.regex, 0);
            Matcher::Regex(found.map_err(|error| error.reworded("Regex could not be compiled"))?)
        }
        (false, true) => Matcher::Regex(regex(&as_regex(&name), builder.server.regex, 0)?),
        (false, false) => Matcher::Wildcard(WildcardPattern::literal(&name)),
    };
    if !words.is_empty() {
        set(builder, call, &name, is_match, &words)?;
    }
    builder.enter(SectionKind::Proxy { matcher, name, is_match }, call);
    Ok(())
}

/// Parameters on the line of the section.
fn set(
    builder: &mut Builder,
    call: &Call<'_>,
    name: &str,
    is_match: bool,
    words: &[String],
) -> Done {
    let no = |what: &str| Err(format!("{}> arguments are {what}.", call.name).into());
    if is_match {
        return Err("Multiple <ProxyMatch> arguments not (yet) supported.".into());
    }
    if is_wild(name) {
        return no("not supported for wildchar url");
    }
    if !name.contains(':') {
        return no("not supported for non url");
    }
    if url::split_socket(name).is_none() {
        return Err("<Proxy/ProxyMatch > uses an invalid \"unix:\" URL".into());
    }
    let subject = match ProxySubject::find(builder, name, false)? {
        Some(subject) => subject,
        None => ProxySubject::define(builder, name, false)
            .map_err(|text| Error::from(format!("{} {text}", call.name)))?,
    };
    for word in words {
        let text = "Invalid Proxy parameter. Parameter must be in the form 'key=value'";
        let (key, value) = word.split_once('=').ok_or(text)?;
        subject.set(builder, &[(key.to_owned(), value.to_owned())]).map_err(|(text, _)| {
            Error::from(format!("{} {text} {key}={value}; {name}", call.name))
        })?;
    }
    Ok(())
}

/// A pattern as a regular expression: unlike in paths, `*` and `?` match slashes, too (apr_fnmatch
/// without flags).
fn as_regex(pattern: &str) -> String {
    let mut out = String::from("\\A");
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '*' => out.push_str("(?s:.*)"),
            '?' => out.push_str("(?s:.)"),
            '[' if letters.as_str().contains(']') => {
                let set: String = letters.by_ref().take_while(|letter| *letter != ']').collect();
                let set = set.strip_prefix('!').map_or(set.clone(), |rest| format!("^{rest}"));
                out.push_str(&format!("[{}]", set.replace('[', "\\[")));
            }
            '\\' => letters.next().into_iter().for_each(|letter| literal(letter, &mut out)),
            letter => literal(letter, &mut out),
        }
    }
    out + "\\z"
}

fn literal(letter: char, out: &mut String) {
    if letter.is_ascii_punctuation() {
        out.push('\\');
    }
    out.push(letter);
}

#[cfg(test)]
mod tests {
    use super::*;
    use pattern::{PatternFlags, Regex};

    #[test]
    fn wildcards_of_a_section_match_slashes() {
        for (pattern, url, expected) in [
            ("*", "fcgi://h/a/b", true),
            ("fcgi://*/b", "fcgi://h/a/b", true),
            ("fcgi://h/?", "fcgi://h/a", true),
            ("fcgi://h/?", "fcgi://h/ab", false),
            ("fcgi://[a-h]/*", "fcgi://h/a", true),
            ("fcgi://[!h]/*", "fcgi://h/a", false),
            ("fcgi://h.x/*", "fcgi://hax/", false),
            ("fcgi://h\\*", "fcgi://h*", true),
        ] {
            let regex = Regex::new(&as_regex(pattern), PatternFlags::default()).unwrap();
            assert_eq!(regex.is_match(url.as_bytes()).unwrap(), expected, "{pattern} {url}");
        }
    }
}
