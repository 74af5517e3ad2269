//! What a page refers to and siege loads with it: images, stylesheets, scripts, the background of
//! its body; and where its meta refresh leads. No more than that: the set is siege's.

use load::url::Url;
use std::collections::HashSet;

/// References of one page at most.
const REFERENCES_MAX: usize = 2000;

/// What a page refers to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SiegePage {
    /// In the order of the page, each once.
    pub(super) parts: Vec<Url>,
    /// Where a meta refresh leads.
    pub(super) refresh: Option<Url>,
}

/// Reads a page.
pub(super) fn read(base: &Url, page: &[u8]) -> SiegePage {
    let text = String::from_utf8_lossy(page);
    let (mut found, mut seen) = (SiegePage::default(), HashSet::new());
    let mut rest = &text[..];
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let (tag, after) = split_tag(rest);
        rest = after;
        let name_end = tag.find(|c: char| c.is_ascii_whitespace() || c == '/').unwrap_or(tag.len());
        let name = tag[..name_end].to_ascii_lowercase();
        let reference = found.take(base, &name, &attributes(&tag[name_end..]));
        if let Some(url) = reference
            && found.parts.len() < REFERENCES_MAX
            && seen.insert(url.clone())
        {
            found.parts.push(url);
        }
        // What looks like a tag within a script is none.
        if matches!(name.as_str(), "script" | "style") {
            rest = after_raw_text(rest, &name);
        }
    }
    found
}

impl SiegePage {
    /// What a tag refers to; where a meta refresh leads is kept at once.
    fn take(&mut self, base: &Url, name: &str, attributes: &[(String, String)]) -> Option<Url> {
        let get =
            |wanted: &str| attributes.iter().find(|row| row.0 == wanted).map(|row| row.1.as_str());
        let is = |wanted: &str, value: &str| {
            get(wanted).is_some_and(|words| {
                words.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case(value))
            })
        };
        let reference = match name {
            "img" | "script" => get("src"),
            "link" if is("rel", "stylesheet") => get("href"),
            "body" => get("background"),
            "meta" if is("http-equiv", "refresh") => {
                self.refresh = get("content").and_then(refresh_url).and_then(|url| base.join(url));
                None
            }
            _ => None,
        };
        reference.filter(|text| !text.trim().is_empty()).and_then(|text| base.join(text))
    }
}

/// What begins with the end tag of an element without markup inside; nothing if it never ends.
fn after_raw_text<'a>(text: &'a str, name: &str) -> &'a str {
    let mut places = text.match_indices("</").map(|(at, _)| at);
    let ends = |at: usize| {
        let word = text.get(at + 2..at + 2 + name.len());
        word.is_some_and(|word| word.eq_ignore_ascii_case(name))
    };
    places.find(|at| ends(*at)).map_or("", |at| &text[at..])
}

/// Bytes of a tag at most.
const TAG_BYTES_MAX: usize = 16 * 1024;

/// A tag up to its `>`, which may stand in quotes before; and what follows.
///
/// Where no `>` comes in time it is no tag. What was looked at is left behind then, up to a quote
/// that was never closed if there is one: reading it again from each `<` within would take the
/// square of the time.
fn split_tag(text: &str) -> (&str, &str) {
    let (mut quote, mut last, mut end) = (None, ' ', 0);
    for (at, c) in text.char_indices().take_while(|row| row.0 < TAG_BYTES_MAX) {
        match (quote, c) {
            (None, '>') => return (&text[..at], &text[at + 1..]),
            (None, '"' | '\'') if last == '=' => quote = Some((c, at)),
            (Some((open, _)), c) if open == c => quote = None,
            _ => {}
        }
        if !c.is_ascii_whitespace() {
            last = c;
        }
        end = at + c.len_utf8();
    }
    match quote {
        Some((_, at)) => ("", &text[at + 1..]),
        None => ("", &text[end..]),
    }
}

fn attributes(text: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut rest = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_ascii_whitespace() || c == '=').unwrap_or(rest.len());
        let name = rest[..end].to_ascii_lowercase();
        let after = rest[end..].trim_start();
        let (value, next) = match after.strip_prefix('=').map(str::trim_start) {
            None => ("", after),
            Some(value) => match value.chars().next() {
                Some(quote @ ('"' | '\'')) => {
                    value[1..].split_once(quote).unwrap_or((&value[1..], ""))
                }
                _ => {
                    let end = value.find(|c: char| c.is_ascii_whitespace());
                    value.split_at(end.unwrap_or(value.len()))
                }
            },
        };
        // A name without letters would never be used up.
        let skipped = next.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        out.push((name, value.replace("&amp;", "&")));
        rest = if skipped.len() < rest.len() { skipped } else { "" };
    }
    out
}

/// `0; url=/next`.
fn refresh_url(content: &str) -> Option<&str> {
    let (_, rest) = content.split_once([';', ','])?;
    let rest = rest.trim_start();
    let value =
        rest.get(..3).filter(|word| word.eq_ignore_ascii_case("url")).map(|_| &rest[3..])?;
    let value = value.trim_start().strip_prefix('=')?.trim();
    Some(value.trim_matches(['"', '\'']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn targets(page: &str) -> Vec<String> {
        let base = Url::parse("http://a/dir/page").unwrap();
        read(&base, page.as_bytes()).parts.into_iter().map(|url| url.target).collect()
    }

    #[test]
    fn what_siege_loads_is_found_and_nothing_else() {
        let page = "<link rel=\"stylesheet\" href=\"/a.css\"><link rel=icon href=/i.ico>\
            <script src='js/b.js'>\"<img src=no>\"</script><!-- <img src=/no.png> -->\
            <body background=/bg.png><img alt=\"a > b\" src=c.png><IMG SRC=/dir/c.png>\
            <img src=\"data:image/png;base64,x\"><a href=/no><source src=/no><iframe src=/no>";
        assert_eq!(targets(page), ["/a.css", "/dir/js/b.js", "/bg.png", "/dir/c.png"]);
    }

    #[test]
    fn a_refresh_leads_on() {
        let base = Url::parse("http://a/dir/page").unwrap();
        let page = read(&base, b"<META content='0; URL=\"../x?a&amp;b\"' http-equiv=Refresh>");
        assert_eq!(page.refresh.unwrap().target, "/x?a&b");
        assert_eq!(read(&base, b"<meta http-equiv=refresh content=5>").refresh, None);
    }

    #[test]
    fn what_follows_a_quote_that_never_ends_is_read() {
        assert_eq!(
            targets("<a title=\"x><img src=/a.png><p class='y><img src=/b.png>"),
            ["/a.png", "/b.png"]
        );
        let long = format!("<a {}<img src=/c.png>", "é".repeat(TAG_BYTES_MAX));
        assert_eq!(targets(&long), ["/c.png"]);
    }

    /// Two seconds at the pace of a debug build; the square of it would be minutes.
    #[test]
    fn a_page_is_read_in_time_that_grows_as_its_length_whatever_is_in_it() {
        let begun_ns = runtime::clock::thread_cpu_ns();
        for part in [
            "<",
            "</",
            "<a x=\">\" ",
            "<a x=\"><\" ",
            "<a x='\"",
            "<a x=\"",
            "<!--",
            "<script></",
            "<script>",
            "a=b ",
            "<img src=x>",
        ] {
            let page = part.repeat(1_000_000 / part.len());
            targets(&page);
            let tag = format!("<img src=x {page}>{page}");
            targets(&tag);
        }
        let distinct: String = (1..2000).map(|n| format!("<img src={n}>")).collect();
        targets(&(distinct + &"<img src=1999>".repeat(100_000)));
        let took_s = (runtime::clock::thread_cpu_ns() - begun_ns) / 1_000_000_000;
        assert!(took_s < 20, "{took_s} s");
    }

    proptest! {
        #[test]
        fn no_page_is_too_strange(page in "[<>a-z =\"'/!-]{0,200}") {
            targets(&page);
        }

        #[test]
        fn no_bytes_are_either(page in proptest::collection::vec(any::<u8>(), 0..300)) {
            let base = Url::parse("http://a/").unwrap();
            read(&base, &page);
        }
    }
}
