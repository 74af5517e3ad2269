//! Finds what a page loads. This is the scanner that browsers run ahead of their parser: tags one
//! by one, without a tree; comments, scripts and templates are skipped. One pass over the bytes.

use super::reference::{FoundReference, ResourceKind, find};
use super::{css, media, srcset};

/// Attributes of a tag that are looked at.
const ATTRIBUTES_MAX: usize = 64;

/// What a page refers to.
#[derive(Debug, Default)]
pub struct PageReferences {
    /// What the references are relative to, if not the page itself.
    pub base: Option<String>,
    /// The references, in the order of the page.
    pub found: FoundReference,
}

/// What a page refers to.
///
/// ```
/// let html = br#"<base href="/x/"><!-- <img src=no> --><img src="a.png"><p style="b:url(c)">"#;
/// let page = load::page::html::references(html);
/// assert_eq!(page.base.as_deref(), Some("/x/"));
/// let urls: Vec<&str> = page.found.references.iter().map(|one| one.url.as_str()).collect();
/// assert_eq!(urls, ["a.png", "c"]);
/// ```
pub fn references(html: &[u8]) -> PageReferences {
    let mut scan = Scan::default();
    let mut at = 0;
    while let Some(step) = html[at..].iter().position(|byte| *byte == b'<') {
        at += step + 1;
        at = match html.get(at) {
            Some(b'!') if html[at..].starts_with(b"!--") => after_comment(html, at + 3),
            Some(b'!' | b'?') => after(html, at, b">"),
            Some(b'/') => {
                let name = name_at(html, at + 1);
                scan.close(&name.to_ascii_lowercase());
                after(html, at, b">")
            }
            Some(byte) if byte.is_ascii_alphabetic() => scan.tag(html, at),
            _ => at,
        };
    }
    scan.finish()
}

/// Elements whose content is text, whatever it looks like. With scripts, `noscript` is one.
const TEXTS: [&[u8]; 9] = [
    b"script",
    b"style",
    b"textarea",
    b"title",
    b"iframe",
    b"noscript",
    b"noembed",
    b"noframes",
    b"xmp",
];

/// What is known at some place of the page.
#[derive(Default)]
struct Scan {
    page: PageReferences,
    /// Open templates: what is in them is not there yet.
    templates: usize,
    picture: PictureElement,
    /// The icon that a browser would take: the last (HTML standard, 4.6.7.8).
    icon: Option<String>,
    /// Film and sound take the first of their sources.
    wants_source: bool,
}

/// Where `source` and `img` stand together.
#[derive(Default)]
enum PictureElement {
    #[default]
    None,
    Open,
    /// One of the sources matched.
    Chosen(String),
}

impl Scan {
    /// The tag whose name begins at `at`; the place behind it and behind the text it holds.
    fn tag(&mut self, html: &[u8], at: usize) -> usize {
        let name = name_at(html, at).to_ascii_lowercase();
        let Some((tag, end)) = Tag::read(html, at + name.len()) else { return html.len() };
        let is_text = TEXTS.contains(&name.as_slice());
        let (text, end) =
            if is_text { text_until_close(html, end, &name) } else { (&html[..0], end) };
        // Whatever follows is text, also what looks like its end (HTML, 13.2.5.5).
        if name == b"plaintext" {
            return html.len();
        }
        if name == b"template" {
            self.templates += 1;
        }
        // What is in a template is not there until a script copies it.
        if self.templates == 0 {
            self.open(&name, &tag, text);
        }
        end
    }

    fn open(&mut self, name: &[u8], tag: &Tag, text: &[u8]) {
        match name {
            b"base" => {
                // The first one with an address counts (HTML, 4.2.3).
                let base = &mut self.page.base;
                *base = base.take().or_else(|| tag.get("href").map(str::to_owned));
            }
            b"link" => self.link(tag),
            b"script" => self.script(tag),
            b"style" if tag.is_for_screen() => css::scan(text, &mut self.page.found),
            b"img" => self.image(tag),
            b"picture" => self.picture = PictureElement::Open,
            b"source" => self.source(tag),
            b"video" | b"audio" => {
                self.add(tag.get("poster"), ResourceKind::Image);
                let is_wanted = tag.get("preload") != Some("none") || tag.has("autoplay");
                self.wants_source = is_wanted && !tag.has("src");
                self.add(tag.get("src").filter(|_| is_wanted), ResourceKind::Media);
            }
            b"iframe" | b"frame" if !tag.has("srcdoc") => {
                self.add(tag.get("src"), ResourceKind::Document);
            }
            b"embed" => self.add(tag.get("src"), ResourceKind::Fetch),
            b"object" => self.add(tag.get("data"), ResourceKind::Fetch),
            b"input" if tag.is("type", "image") => self.add(tag.get("src"), ResourceKind::Image),
            b"image" => self.add(tag.get("href").or(tag.get("xlink:href")), ResourceKind::Image),
            b"body" | b"table" | b"thead" | b"tbody" | b"tfoot" | b"tr" | b"td" | b"th" => {
                self.add(tag.get("background"), ResourceKind::Image);
            }
            _ => {}
        }
        if let Some(style) = tag.get("style") {
            css::scan(style.as_bytes(), &mut self.page.found);
        }
    }

    fn close(&mut self, name: &[u8]) {
        match name {
            b"template" => self.templates = self.templates.saturating_sub(1),
            b"picture" => self.picture = PictureElement::None,
            b"video" | b"audio" => self.wants_source = false,
            _ => {}
        }
    }

    fn finish(mut self) -> PageReferences {
        let icon = self.icon.take();
        self.add(icon.as_deref(), ResourceKind::Icon);
        self.page
    }

    fn add(&mut self, url: Option<&str>, kind: ResourceKind) {
        if let Some(url) = url {
            self.page.found.add(url.as_bytes(), kind);
        }
    }

    fn link(&mut self, tag: &Tag) {
        let rel = tag.get("rel").unwrap_or_default().to_ascii_lowercase();
        let is = |word: &str| rel.split_ascii_whitespace().any(|one| one == word);
        let href = tag.get("href");
        if is("stylesheet") {
            // One for another medium is loaded as well, and used when the medium changes.
            let is_css = tag.get("type").is_none_or(|mime| mime.trim().is_empty())
                || tag.is("type", "text/css");
            self.add(href.filter(|_| is_css && !tag.has("disabled")), ResourceKind::Style);
        } else if is("modulepreload") {
            self.add(href, ResourceKind::Script);
        } else if is("preload") && tag.is_for_screen() {
            self.preload(tag);
        } else if is("icon") && tag.is_for_screen() {
            // Of several the last counts (HTML, link type icon); which that is is known at the end
            // of the page.
            self.icon = href.map(str::to_owned).or(self.icon.take());
        }
    }

    fn preload(&mut self, tag: &Tag) {
        let kind = match tag.get("as").unwrap_or_default().to_ascii_lowercase().as_str() {
            "image" => ResourceKind::Image,
            "script" => ResourceKind::Script,
            "style" => ResourceKind::Style,
            "font" => ResourceKind::Font,
            "fetch" | "track" | "json" => ResourceKind::Fetch,
            _ => return,
        };
        let list = tag.get("imagesrcset").filter(|_| kind == ResourceKind::Image);
        let sizes = tag.get("imagesizes").unwrap_or_default();
        let chosen = match list {
            Some(list) => srcset::choose(list, sizes, tag.get("href")),
            None => tag.get("href"),
        };
        self.add(chosen, kind);
    }

    fn script(&mut self, tag: &Tag) {
        let mime = tag.get("type").unwrap_or_default().trim().to_ascii_lowercase();
        let is_script = mime.is_empty()
            || mime == "module"
            || mime.contains("javascript")
            || mime.contains("ecmascript");
        // Whoever knows modules leaves out what is for those who do not.
        let is_run = is_script && (mime == "module" || !tag.has("nomodule"));
        self.add(tag.get("src").filter(|_| is_run), ResourceKind::Script);
    }

    fn image(&mut self, tag: &Tag) {
        if let PictureElement::Chosen(url) = std::mem::take(&mut self.picture) {
            return self.add(Some(&url), ResourceKind::Image);
        }
        let sizes = tag.get("sizes").unwrap_or_default();
        let url = match tag.get("srcset") {
            Some(list) => srcset::choose(list, sizes, tag.get("src")),
            None => tag.get("src"),
        };
        self.add(url, ResourceKind::Image);
    }

    fn source(&mut self, tag: &Tag) {
        if let PictureElement::Open = self.picture {
            let mime = tag.get("type").unwrap_or_default().trim().to_ascii_lowercase();
            let is_known = mime.is_empty() || IMAGES.contains(&mime.as_str());
            let sizes = tag.get("sizes").unwrap_or_default();
            let list = tag.get("srcset").filter(|_| is_known && tag.is_for_screen());
            if let Some(url) = list.and_then(|list| srcset::choose(list, sizes, None)) {
                self.picture = PictureElement::Chosen(url.to_owned());
            }
        } else if std::mem::take(&mut self.wants_source) {
            self.add(tag.get("src"), ResourceKind::Media);
        }
    }
}

/// Kinds of images that browsers show.
const IMAGES: [&str; 8] = [
    "image/avif",
    "image/webp",
    "image/png",
    "image/apng",
    "image/jpeg",
    "image/gif",
    "image/svg+xml",
    "image/bmp",
];

/// The attributes of a tag, names in lower case.
struct Tag {
    attributes: Vec<(String, String)>,
}

impl Tag {
    /// Reads up to the `>`; `None` if there is none, and then it is no tag.
    fn read(html: &[u8], mut at: usize) -> Option<(Self, usize)> {
        let mut tag = Self { attributes: Vec::new() };
        loop {
            at = skip(html, at, |byte| byte.is_ascii_whitespace() || byte == b'/');
            if *html.get(at)? == b'>' {
                return Some((tag, at + 1));
            }
            let begin = at;
            // An equals sign at the beginning belongs to the name.
            at = skip(html, at + 1, |byte| {
                !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'>' | b'=')
            });
            let name = &html[begin..at];
            at = skip(html, at, |byte| byte.is_ascii_whitespace());
            let mut value: &[u8] = &[];
            if html.get(at) == Some(&b'=') {
                at = skip(html, at + 1, |byte| byte.is_ascii_whitespace());
                (value, at) = value_at(html, at)?;
            }
            tag.keep(name, value);
        }
    }

    /// Of two with the same name the first counts.
    fn keep(&mut self, name: &[u8], value: &[u8]) {
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        if self.attributes.len() < ATTRIBUTES_MAX && !self.has(&name) {
            self.attributes.push((name, decoded(value)));
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|row| row.0 == name).map(|row| row.1.as_str())
    }

    fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.get(name).is_some_and(|is| is.trim().eq_ignore_ascii_case(value))
    }

    fn is_for_screen(&self) -> bool {
        media::matches(self.get("media").unwrap_or_default())
    }
}

fn name_at(html: &[u8], at: usize) -> &[u8] {
    let end = skip(html, at, |byte| !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'>'));
    &html[at.min(end)..end]
}

/// The first place from `at` on whose byte is not skipped.
fn skip(html: &[u8], at: usize, is_skipped: impl Fn(u8) -> bool) -> usize {
    let rest = html.get(at..).unwrap_or_default();
    at.min(html.len()) + rest.iter().position(|byte| !is_skipped(*byte)).unwrap_or(rest.len())
}

/// A value and the place behind it.
fn value_at(html: &[u8], at: usize) -> Option<(&[u8], usize)> {
    match html.get(at)? {
        quote @ (b'"' | b'\'') => {
            let end = skip(html, at + 1, |byte| byte != *quote);
            (end < html.len()).then(|| (&html[at + 1..end], end + 1))
        }
        _ => {
            let end = skip(html, at, |byte| !byte.is_ascii_whitespace() && byte != b'>');
            Some((&html[at..end], end))
        }
    }
}

/// Behind the next `wanted`.
fn after(html: &[u8], at: usize, wanted: &[u8]) -> usize {
    find(&html[at..], wanted).map_or(html.len(), |place| at + place + wanted.len())
}

/// Behind a comment; `<!-->` and `<!--->` are whole ones.
fn after_comment(html: &[u8], at: usize) -> usize {
    let rest = &html[at..];
    if rest.starts_with(b">") {
        return at + 1;
    }
    if rest.starts_with(b"->") {
        return at + 2;
    }
    after(html, at, b"-->")
}

/// The text of an element and the place where its closing tag begins.
fn text_until_close<'a>(html: &'a [u8], begin: usize, name: &[u8]) -> (&'a [u8], usize) {
    let mut at = begin;
    while let Some(step) = find(&html[at..], b"</") {
        let close = at + step;
        at = close + 2;
        let found = html.get(at..at + name.len());
        let ends = html
            .get(at + name.len())
            .is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>'));
        if ends && found.is_some_and(|found| found.eq_ignore_ascii_case(name)) {
            return (&html[begin..close], close);
        }
    }
    (&html[begin..], html.len())
}

/// Entities that stand in URLs.
const ENTITIES: [(&str, char); 5] =
    [("amp;", '&'), ("lt;", '<'), ("gt;", '>'), ("quot;", '"'), ("apos;", '\'')];

/// A value with its entities decoded.
fn decoded(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    let mut out = String::with_capacity(text.len());
    let mut rest: &str = &text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let named = ENTITIES.iter().find(|(name, _)| rest.starts_with(name));
        let found = named.map(|(name, letter)| (*letter, name.len())).or_else(|| numbered(rest));
        let (letter, len) = found.unwrap_or(('&', 0));
        out.push(letter);
        rest = &rest[len..];
    }
    out.push_str(rest);
    out
}

/// `#38;` or `#x26;`, and how long it is.
fn numbered(text: &str) -> Option<(char, usize)> {
    let digits = text.strip_prefix('#')?;
    let (digits, radix) = match digits.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (digits, 10),
    };
    let len = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let number = digits.get(..len).filter(|digits| digits.len() < 9)?;
    let letter = u32::from_str_radix(number, radix).ok().and_then(char::from_u32)?;
    let end = usize::from(digits[len..].starts_with(';'));
    Some((letter, text.len() - digits.len() + len + end))
}

#[cfg(test)]
#[path = "html_tests.rs"]
mod tests;
