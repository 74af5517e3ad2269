//! Finds the elements of a page, `<!--#echo var="A" -->`, in its bytes as they come. Pure: what an
//! element means is not known here, and the result never depends on how the input was split.

/// The longest element, in bytes: so much of a page is held back while its end is looked for. httpd
/// has no limit.
const ELEMENT_MAX_BYTES: usize = 256 * 1024;

/// What a page consists of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// So many bytes that are sent as they are, from this place of the page on.
    Text { at: u64, bytes: Vec<u8> },
    /// An element.
    Element(Element),
    /// An element that is none: httpd's number and words.
    Broken { id: u32, text: String },
    /// The page ends within an element.
    Unfinished,
}

/// An element: its name, and what is said in it, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Element {
    /// In lower case.
    pub(super) name: Vec<u8>,
    pub(super) arguments: Vec<Argument>,
}

/// `name="value"`, or a name alone.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Argument {
    /// In lower case.
    pub(super) name: Vec<u8>,
    pub(super) value: Option<Vec<u8>>,
}

/// Reads a page.
pub(super) struct Parser {
    start_tag: Vec<u8>,
    end_tag: Vec<u8>,
    /// What has come and was not told yet.
    held: Vec<u8>,
    /// Where it stands in the page.
    at: u64,
}

impl Parser {
    /// For a page whose elements stand between these.
    pub(super) fn new(start_tag: &[u8], end_tag: &[u8]) -> Self {
        Self { start_tag: start_tag.into(), end_tag: end_tag.into(), held: Vec::new(), at: 0 }
    }

    /// Take in more of the page, and tell what is complete.
    pub(super) fn add(&mut self, input: &[u8], out: &mut Vec<Part>) {
        self.held.extend_from_slice(input);
        loop {
            let Some(start) = find(&self.held, &self.start_tag) else {
                let kept = overlap(&self.held, &self.start_tag);
                return self.tell_text(self.held.len() - kept, out);
            };
            self.tell_text(start, out);
            let inside = self.start_tag.len();
            match Reader::new(&self.held[inside..], &self.end_tag).element() {
                Some((part, used)) => {
                    out.push(part);
                    self.drop_held(inside + used);
                }
                None if self.held.len() > ELEMENT_MAX_BYTES => {
                    out.push(Part::Unfinished);
                    self.drop_held(inside);
                }
                None => return,
            }
        }
    }

    /// The page has ended.
    pub(super) fn finish(&mut self, out: &mut Vec<Part>) {
        if self.held.starts_with(&self.start_tag) {
            out.push(Part::Unfinished);
            self.held.clear();
        }
        self.tell_text(self.held.len(), out);
    }

    fn tell_text(&mut self, count: usize, out: &mut Vec<Part>) {
        if count > 0 {
            let bytes = self.held[..count].to_vec();
            out.push(Part::Text { at: self.at, bytes });
            self.drop_held(count);
        }
    }

    fn drop_held(&mut self, count: usize) {
        self.held.drain(..count);
        self.at += count as u64;
    }
}

/// Where a tag begins first.
fn find(text: &[u8], tag: &[u8]) -> Option<usize> {
    let first = tag.first()?;
    let mut from = 0;
    while let Some(at) = text[from..].iter().position(|byte| byte == first) {
        if text[from + at..].starts_with(tag) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

/// How many of the last bytes may be the start of a tag.
fn overlap(text: &[u8], tag: &[u8]) -> usize {
    let most = text.len().min(tag.len().saturating_sub(1));
    (1..=most).rev().find(|count| text.ends_with(&tag[..*count])).unwrap_or(0)
}

/// Reads one element from behind its start tag, as `find_directive` and `find_argument` of
/// mod_include.c do.
struct Reader<'t> {
    text: &'t [u8],
    end_tag: &'t [u8],
    at: usize,
    fault: Option<(u32, String)>,
}

impl<'t> Reader<'t> {
    fn new(text: &'t [u8], end_tag: &'t [u8]) -> Self {
        Self { text, end_tag, at: 0, fault: None }
    }

    /// The element, and how much of the text it takes; `None` if its end has not come.
    fn element(mut self) -> Option<(Part, usize)> {
        let mut element = Element::default();
        let start = self.at;
        loop {
            let byte = self.peek()?;
            if is_space(byte) {
                element.name = self.text[start..self.at].to_ascii_lowercase();
                break;
            }
            // A name may go up to the end tag without a space between them.
            match self.end_here() {
                End::Here => {
                    element.name = self.text[start..self.at].to_ascii_lowercase();
                    self.at += self.end_tag.len();
                    return Some(self.ended(element));
                }
                End::Unknown => return None,
                End::No => self.at += 1,
            }
        }
        loop {
            self.skip_spaces()?;
            match self.end_here() {
                End::Here => {
                    self.at += self.end_tag.len();
                    return Some(self.ended(element));
                }
                End::Unknown => return None,
                End::No => {
                    let argument = self.argument(&element.name)?;
                    element.arguments.push(argument);
                }
            }
        }
    }

    fn ended(self, element: Element) -> (Part, usize) {
        let part = match self.fault {
            _ if element.name.is_empty() => {
                Part::Broken { id: 1368, text: "missing directive name in parsed document".into() }
            }
            Some((id, text)) => Part::Broken { id, text },
            None => Part::Element(element),
        };
        (part, self.at)
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_spaces(&mut self) -> Option<()> {
        while is_space(self.peek()?) {
            self.at += 1;
        }
        Some(())
    }

    /// Whether the end tag stands here.
    fn end_here(&self) -> End {
        let rest = &self.text[self.at..];
        if rest.starts_with(self.end_tag) {
            End::Here
        } else if self.end_tag.starts_with(rest) {
            End::Unknown
        } else {
            End::No
        }
    }

    fn argument(&mut self, element: &[u8]) -> Option<Argument> {
        let mut name = Vec::new();
        if is_quote(self.peek()?) {
            self.nameless(1369, element);
            let value = self.value()?;
            return Some(Argument { name, value: Some(value) });
        }
        let start = self.at;
        while !is_space(self.peek()?) && self.peek()? != b'=' {
            self.at += 1;
        }
        name.extend(self.text[start..self.at].to_ascii_lowercase());
        if name.is_empty() {
            self.nameless(1370, element);
        }
        self.skip_spaces()?;
        if self.peek()? != b'=' {
            return Some(Argument { name, value: None });
        }
        self.at += 1;
        self.skip_spaces()?;
        let value = self.value()?;
        Some(Argument { name, value: Some(value) })
    }

    fn nameless(&mut self, id: u32, element: &[u8]) {
        let element = String::from_utf8_lossy(element);
        let text = format!("missing argument name for value to tag {element} in");
        self.fault.get_or_insert((id, text));
    }

    /// A value, in quotes or up to the next space, which goes with it. A backslash before the quote
    /// makes it part of the value.
    fn value(&mut self) -> Option<Vec<u8>> {
        let quote = Some(self.peek()?).filter(|byte| is_quote(*byte));
        self.at += usize::from(quote.is_some());
        let mut value = Vec::new();
        loop {
            let byte = self.peek()?;
            self.at += 1;
            match quote {
                Some(quote) if byte == b'\\' && self.peek()? == quote => {
                    value.push(quote);
                    self.at += 1;
                }
                Some(quote) if byte == quote => return Some(value),
                None if is_space(byte) => return Some(value),
                _ => value.push(byte),
            }
        }
    }
}

/// Whether the end tag stands at a place.
enum End {
    Here,
    No,
    /// More of the page has to come.
    Unknown,
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

/// C's `isspace`.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of a page that comes in pieces of so many bytes, texts joined.
    fn parts(page: &str, tags: [&str; 2], piece: usize) -> Vec<Part> {
        let mut parser = Parser::new(tags[0].as_bytes(), tags[1].as_bytes());
        let mut found = Vec::new();
        page.as_bytes().chunks(piece).for_each(|piece| parser.add(piece, &mut found));
        parser.finish(&mut found);
        let mut joined: Vec<Part> = Vec::new();
        for part in found {
            match (joined.last_mut(), part) {
                (Some(Part::Text { bytes, at }), Part::Text { bytes: more, at: next }) => {
                    assert_eq!(*at + bytes.len() as u64, next);
                    bytes.extend(more);
                }
                (_, part) => joined.push(part),
            }
        }
        joined
    }

    fn shown(page: &str) -> String {
        let tags = ["<!--#", "-->"];
        let whole = parts(page, tags, usize::MAX);
        for piece in [1, 2, 3, 5] {
            assert_eq!(parts(page, tags, piece), whole, "{page} in pieces of {piece}");
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let shown = whole.iter().map(|part| match part {
            Part::Text { bytes, .. } => text(bytes),
            Part::Broken { id, .. } => format!("({id})"),
            Part::Unfinished => "(unfinished)".into(),
            Part::Element(element) => {
                let arguments = element.arguments.iter().map(|argument| {
                    let value = argument.value.as_deref().map(|value| format!("={}", text(value)));
                    format!("|{}{}", text(&argument.name), value.unwrap_or_default())
                });
                format!("[{}{}]", text(&element.name), arguments.collect::<String>())
            }
        });
        shown.collect()
    }

    #[test]
    fn elements_stand_between_their_tags() {
        for (page, expected) in [
            ("", ""),
            ("text", "text"),
            ("a<!--#echo var=\"x\" -->b", "a[echo|var=x]b"),
            ("<!--#ECHO VaR=\"X\"-->", "[echo|var=X]"),
            ("<!--#printenv-->", "[printenv]"),
            ("<!--#printenv -->", "[printenv]"),
            ("<!--#a-b -->", "[a-b]"),
            ("<!--#set\nvar = 'a'\tvalue=`b c` -->", "[set|var=a|value=b c]"),
            ("<!--#set var=a value=b -->", "[set|var=a|value=b]"),
            ("<!--#echo var=a-->b -->", "[echo|var=a-->b]"),
            ("<!--#if expr=\"\\\"a\\\" = \\b\" -->", "[if|expr=\"a\" = \\b]"),
            ("<!--#else x -->", "[else|x]"),
            ("<!--#x -y --> -->", "[x|-y] -->"),
            ("<!-- #echo -->", "<!-- #echo -->"),
            ("<!--<!--#else -->", "<!--[else]"),
            ("<!---#else -->", "<!---#else -->"),
        ] {
            assert_eq!(shown(page), expected, "{page}");
        }
    }

    #[test]
    fn what_is_no_element_is_told() {
        for (page, expected) in [
            ("a<!--# -->b", "a(1368)b"),
            ("<!--#-->", "(1368)"),
            ("<!--#echo \"x\" -->", "(1369)"),
            ("<!--#echo =\"x\" -->", "(1370)"),
            ("a<!--#echo var=\"x", "a(unfinished)"),
            ("a<!--#", "a(unfinished)"),
            ("a<!--", "a<!--"),
            ("<!--#echo -", "(unfinished)"),
        ] {
            assert_eq!(shown(page), expected, "{page}");
        }
        let endless = format!("<!--#x {}", "y".repeat(ELEMENT_MAX_BYTES));
        assert_eq!(parts(&endless, ["<!--#", "-->"], 4096)[0], Part::Unfinished);
    }

    #[test]
    fn tags_may_be_others() {
        for piece in [1, 2, 100] {
            let found = parts("----->----> x ~~a", ["--->", "~~"], piece);
            let element = |part: &Part| matches!(part, Part::Element(_) | Part::Broken { .. });
            assert!(!found.iter().any(|part| matches!(part, Part::Text { .. } if element(part))));
            assert!(
                matches!(&found[0], Part::Text { at: 0, bytes } if bytes == b"--"),
                "{found:?}"
            );
        }
    }
}
