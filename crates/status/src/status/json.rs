//! JSON, as far as it is written here: objects and lists that are filled in order.

use std::fmt::{Display, Write as _};

/// The fields of an object that is being written.
pub(super) struct JsonFields<'a> {
    out: &'a mut String,
    is_first: bool,
}

/// One object.
pub(super) fn object(out: &mut String, fill: impl FnOnce(&mut JsonFields<'_>)) {
    out.push('{');
    fill(&mut JsonFields { out, is_first: true });
    out.push('}');
}

impl JsonFields<'_> {
    fn name(&mut self, name: &str) -> &mut String {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(',');
        }
        string(self.out, name);
        self.out.push(':');
        self.out
    }

    fn raw(&mut self, name: &str, value: impl Display) {
        // Writing to a String cannot fail.
        let _ = write!(self.name(name), "{value}");
    }

    pub(super) fn number(&mut self, name: &str, value: u64) {
        self.raw(name, value);
    }

    pub(super) fn flag(&mut self, name: &str, value: bool) {
        self.raw(name, value);
    }

    /// A number with up to six places; `null` for what is none.
    pub(super) fn float(&mut self, name: &str, value: f64) {
        self.maybe(name, Some(value));
    }

    pub(super) fn maybe(&mut self, name: &str, value: Option<f64>) {
        match value.filter(|value| value.is_finite()) {
            Some(value) => self.raw(name, (value * 1e6).round() / 1e6),
            None => self.raw(name, "null"),
        }
    }

    pub(super) fn text(&mut self, name: &str, value: &str) {
        string(self.name(name), value);
    }

    pub(super) fn object(&mut self, name: &str, fill: impl FnOnce(&mut JsonFields<'_>)) {
        object(self.name(name), fill);
    }

    /// A list whose items `write` writes.
    pub(super) fn list<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        write: impl Fn(&mut String, T),
    ) {
        let out = self.name(name);
        out.push('[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            write(out, item);
        }
        out.push(']');
    }
}

/// A text (RFC 8259 section 7). `<` is written as a number, so that a page that holds the text by
/// mistake is not changed by it.
pub(super) fn string(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '<' | '\0'..=' ' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' if letter != ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            plain => out.push(plain),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_and_lists_have_their_commas() {
        let mut out = String::new();
        object(&mut out, |fields| {
            fields.number("a", u64::MAX);
            fields.float("b", 0.1 + 0.2);
            fields.maybe("c", Some(f64::NAN));
            fields.list("d", [1, 2], |out, item| out.push_str(&format!("{item}")));
            fields.object("e", |_| {});
            fields.flag("f", true);
            fields.list("g", [0; 0], |_, _| {});
        });
        let expected = "{\"a\":18446744073709551615,\"b\":0.3,\"c\":null,\"d\":[1,2],\"e\":{},\
                        \"f\":true,\"g\":[]}";
        assert_eq!(out, expected);
    }

    #[test]
    fn texts_are_escaped() {
        let mut out = String::new();
        string(&mut out, "a\"b\\c\n\t<\u{0}\u{e4}\u{2028} \u{1f600}");
        assert_eq!(out, "\"a\\\"b\\\\c\\n\\u0009\\u003c\\u0000\u{e4}\\u2028 \u{1f600}\"");
    }
}
