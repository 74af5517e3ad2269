//! Figures of the page: those of the text report, with the letters that HTML can show; and texts
//! from elsewhere, made harmless.

use super::axis::trimmed;
use crate::report::units;

/// What the values of a plot are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    PerSecond,
    TimeUs,
    Count,
    Percent,
    Bytes,
    MsPerSecond,
}

impl Unit {
    /// A value in words. `page.js` does the same for the moment that is pointed at.
    pub(super) fn text(self, value: f64) -> String {
        let text = match self {
            Self::PerSecond => format!("{}/s", units::figure(value)),
            Self::TimeUs => units::time_us(value),
            Self::Count => units::count(value.round() as u64),
            Self::Percent => format!("{} %", units::figure(value)),
            Self::Bytes => units::bytes(value),
            Self::MsPerSecond => format!("{} ms/s", units::figure(value)),
        };
        pretty(&text)
    }

    /// A value beside an axis: no digits that say nothing, no unit where the title has it.
    pub(super) fn tick(self, value: f64) -> String {
        match self {
            _ if value == 0.0 => "0".to_owned(),
            Self::PerSecond | Self::MsPerSecond => thousands(value),
            Self::Count => units::count(value.round() as u64),
            Self::Percent => format!("{} %", trimmed(&units::figure(value))),
            Self::TimeUs | Self::Bytes => trimmed(&self.text(value)),
        }
    }

    /// Its name in `page.js`.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::PerSecond => "per_second",
            Self::TimeUs => "time_us",
            Self::Count => "count",
            Self::Percent => "percent",
            Self::Bytes => "bytes",
            Self::MsPerSecond => "ms_per_s",
        }
    }

    /// Stands behind the title where the ticks do not have it.
    pub(super) const fn caption(self) -> &'static str {
        match self {
            Self::PerSecond => "per second",
            Self::MsPerSecond => "ms in each second",
            Self::Percent => "of one processor",
            Self::TimeUs | Self::Count | Self::Bytes => "",
        }
    }
}

fn thousands(value: f64) -> String {
    match value {
        value if value >= 999_500.0 => format!("{}M", trimmed(&units::figure(value / 1e6))),
        value if value >= 9_999.5 => format!("{}k", trimmed(&units::figure(value / 1e3))),
        value => trimmed(&units::figure(value)),
    }
}

/// Figures of ours with the letter for millionths, alone or in a sentence (about users, perhaps).
pub(super) fn pretty(figure: &str) -> String {
    let mut pieces = figure.split(" us");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let is_unit = !piece.starts_with(char::is_alphanumeric);
        out += if is_unit { " \u{b5}s" } else { " us" };
        out += piece;
    }
    out
}

/// Text as content or as the value of an attribute in double quotes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Letters that turn the direction of the text around them would falsify a table.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            letter if letter.is_control() && letter != '\n' => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

/// JSON within a script element, which nothing in it can end or turn into a comment (HTML,
/// "Restrictions for contents of script elements").
pub(super) fn json_in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_well() {
        let rows = [
            (Unit::TimeUs.text(870.0), "870 \u{b5}s"),
            (Unit::TimeUs.tick(2000.0), "2 ms"),
            (Unit::PerSecond.text(41_203.0), "41,203/s"),
            (Unit::PerSecond.tick(40_000.0), "40k"),
            (Unit::PerSecond.tick(2_500_000.0), "2.5M"),
            (Unit::PerSecond.tick(2000.0), "2,000"),
            (Unit::PerSecond.tick(0.2), "0.2"),
            (Unit::Bytes.tick(17_000_000.0), "17 MB"),
            (Unit::Percent.tick(150.0), "150 %"),
            (Unit::Count.tick(1500.0), "1,500"),
            (Unit::TimeUs.tick(0.0), "0"),
            (
                pretty("2 users, 5.00 us; it used 7.00 us"),
                "2 users, 5.00 \u{b5}s; it used 7.00 \u{b5}s",
            ),
        ];
        rows.into_iter().for_each(|(is, shall)| assert_eq!(is, shall));
    }

    #[test]
    fn nothing_from_elsewhere_becomes_markup() {
        let hostile = "</script><script>alert('x')</script>\" onload=\"&\u{202e}\u{7}";
        let text = escaped(hostile);
        assert!(!text.contains(['<', '>', '"', '\'', '\u{202e}', '\u{7}']), "{text}");
        assert!(text.starts_with("&lt;/script&gt;"), "{text}");
        let json = serde_json::to_string(hostile).unwrap();
        let inline = json_in_script(&json);
        assert!(!inline.contains('<'), "{inline}");
        assert_eq!(serde_json::from_str::<String>(&inline).unwrap(), hostile);
    }
}
