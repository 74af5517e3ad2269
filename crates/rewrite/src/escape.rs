//! How what a rule has found is escaped for its substitution (escape_backref of mod_rewrite.c).

use crate::flags::{RuleActions, RuleFlags};

/// The text of a group as the flags `B`, `BNP`, `BNE` and `BCTLS` of its rule want it.
pub(crate) fn group(text: &[u8], actions: &RuleActions) -> Vec<u8> {
    let has = |list: &Option<Box<str>>, byte: u8| {
        list.as_ref().is_some_and(|list| list.as_bytes().contains(&byte))
    };
    let controls_only = actions.flags.has(RuleFlags::ESCAPE_CONTROLS);
    let no_plus = actions.flags.has(RuleFlags::NO_PLUS);
    let mut out = Vec::with_capacity(text.len() + 16);
    for &byte in text {
        // Without a list all bytes are looked at, with `BCTLS` those that no field may have.
        let by_default = match controls_only {
            true => byte <= b' ' || byte == 0x7f,
            false => actions.escapes.is_none(),
        };
        let is_chosen =
            (by_default || has(&actions.escapes, byte)) && !has(&actions.no_escapes, byte);
        match byte {
            _ if !is_chosen || byte.is_ascii_alphanumeric() || byte == b'_' => out.push(byte),
            b' ' if !no_plus => out.push(b'+'),
            _ => {
                const DIGITS: &[u8; 16] = b"0123456789abcdef";
                let [high, low] = [byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]);
                out.extend([b'%', high, low]);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_say_which_bytes_are_escaped_and_how() {
        let table = [
            (&[("B", "")][..], "a b_?\u{7f}", "a+b_%3f%7f"),
            (&[("B", ""), ("BNP", "")], "a b", "a%20b"),
            (&[("B", "?")], "a b?/", "a b%3f/"),
            (&[("B", ""), ("BNE", "/ ")], "a b?/", "a b%3f/"),
            (&[("BCTLS", "")], "a b?\n", "a+b?%0a"),
            (&[("BCTLS", ""), ("B", "?")], "a b?\n", "a+b%3f%0a"),
        ];
        for (flags, text, expected) in table {
            let mut actions = RuleActions::default();
            flags.iter().for_each(|(name, value)| actions.add(name, value).unwrap());
            let escaped = group(text.as_bytes(), &actions);
            assert_eq!(String::from_utf8(escaped).unwrap(), expected, "{flags:?}");
        }
    }
}
