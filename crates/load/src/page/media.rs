//! Media queries as a browser on a usual screen answers them. Of what is not known here, browsers
//! know more; it does not match, as the language has it for what is unknown.

/// Pixels of the window that is imagined, from side to side.
pub const WIDTH: f64 = 1280.0;

/// From top to bottom.
pub const HEIGHT: f64 = 720.0;

/// Pixels of an em where nobody says otherwise.
const EM: f64 = 16.0;

/// Bytes of a query, and parentheses in it, at most.
const QUERY_BYTES_MAX: usize = 4096;
const PARENTHESES_MAX: usize = 50;

/// Whether a list of queries matches; an empty one does.
///
/// ```
/// use load::page::media::matches;
///
/// assert!(matches("") && matches("screen and (min-width: 600px)"));
/// assert!(!matches("print") && !matches("(prefers-color-scheme: dark)"));
/// assert!(matches("print, (400px <= width < 100em)"));
/// ```
pub fn matches(list: &str) -> bool {
    let parentheses = list.bytes().filter(|byte| *byte == b'(').count();
    if list.len() > QUERY_BYTES_MAX || parentheses > PARENTHESES_MAX {
        return false;
    }
    let list = list.to_ascii_lowercase();
    list.trim().is_empty() || split(&list, ",").any(query)
}

fn query(query: &str) -> bool {
    let query = query.trim();
    if let Some(rest) = query.strip_prefix("not ") {
        return !all(rest);
    }
    all(query.strip_prefix("only ").unwrap_or(query))
}

fn all(parts: &str) -> bool {
    split(parts, " or ").any(|parts| split(parts, " and ").all(single))
}

fn single(part: &str) -> bool {
    let part = part.trim();
    match part.strip_prefix('(').and_then(|part| part.strip_suffix(')')) {
        Some(inner) if inner.trim_start().starts_with(['(', 'n']) && inner.contains('(') => {
            query(inner)
        }
        Some(inner) => feature(inner.trim()),
        None => matches!(part, "all" | "screen"),
    }
}

/// The parts between `between` outside of parentheses.
fn split<'a>(text: &'a str, between: &'a str) -> impl Iterator<Item = &'a str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let whole = rest?;
        let mut depth = 0;
        for (at, byte) in whole.bytes().enumerate() {
            match byte {
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            if depth == 0 && whole.as_bytes()[at..].starts_with(between.as_bytes()) {
                rest = whole.get(at + between.len()..);
                return whole.get(..at);
            }
        }
        rest = None;
        Some(whole)
    })
}

fn feature(text: &str) -> bool {
    if text.contains(['<', '>']) {
        return range(text);
    }
    let (name, value) = text.split_once(':').unwrap_or((text, ""));
    let (name, value) = (name.trim(), value.trim());
    let at_least = |actual: f64| length(value).is_some_and(|limit| actual >= limit);
    let at_most = |actual: f64| length(value).is_some_and(|limit| actual <= limit);
    match name {
        "min-width" | "min-device-width" => at_least(WIDTH),
        "max-width" | "max-device-width" => at_most(WIDTH),
        "min-height" | "min-device-height" => at_least(HEIGHT),
        "max-height" | "max-device-height" => at_most(HEIGHT),
        "orientation" => value == "landscape",
        "prefers-color-scheme" => value == "light",
        "prefers-reduced-motion" | "prefers-contrast" | "prefers-reduced-data" => {
            value == "no-preference"
        }
        "hover" | "any-hover" => matches!(value, "" | "hover"),
        "pointer" | "any-pointer" => matches!(value, "" | "fine"),
        "color" | "width" | "height" => value.is_empty(),
        "scripting" => value == "enabled",
        "min-resolution" | "-webkit-min-device-pixel-ratio" => {
            density(value).is_some_and(|limit| limit <= 1.0)
        }
        "max-resolution" | "-webkit-max-device-pixel-ratio" => {
            density(value).is_some_and(|limit| limit >= 1.0)
        }
        _ => false,
    }
}

/// `width >= 600px`, `400px <= width <= 700px`.
fn range(text: &str) -> bool {
    let is_sign = |c: char| matches!(c, '<' | '>' | '=');
    let operands: Vec<&str> = text.split(is_sign).filter(|part| !part.is_empty()).collect();
    let signs: Vec<&str> =
        text.split(|c: char| !is_sign(c)).filter(|part| !part.is_empty()).collect();
    let value = |word: &str| match word.trim() {
        "width" => Some(WIDTH),
        "height" => Some(HEIGHT),
        word => length(word),
    };
    let holds = |(pair, sign): (&[&str], &&str)| {
        let (Some(left), Some(right)) = (value(pair[0]), value(pair[1])) else { return false };
        match *sign {
            "<" => left < right,
            "<=" => left <= right,
            ">" => left > right,
            ">=" => left >= right,
            _ => false,
        }
    };
    operands.len() == signs.len() + 1 && operands.windows(2).zip(&signs).all(holds)
}

fn density(value: &str) -> Option<f64> {
    let number = |unit: &str| value.strip_suffix(unit).and_then(|text| text.parse::<f64>().ok());
    number("dppx")
        .or_else(|| number("x"))
        .or_else(|| number("dpi").map(|dpi| dpi / 96.0))
        .or_else(|| value.parse().ok())
}

/// Pixels of a length; `None` if it has to be calculated or is none.
pub fn length(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    match &text[digits..] {
        "px" => Some(number),
        "em" | "rem" => Some(number * EM),
        "vw" => Some(number / 100.0 * WIDTH),
        "vh" => Some(number / 100.0 * HEIGHT),
        "in" => Some(number * 96.0),
        "cm" => Some(number * 96.0 / 2.54),
        "" if number == 0.0 => Some(0.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_answered_for_a_screen() {
        for yes in [
            " ",
            "all",
            "screen",
            "only screen",
            "not print",
            "SCREEN AND (max-width: 80em)",
            "print, screen",
            "(width >= 600px)",
            "(min-width: 0)",
            "(max-width: 100px) or (min-width: 100px)",
            "not all and (max-width: 400px)",
            "((min-width: 1px) and (min-height: 1px))",
            "(not (max-width: 400px))",
            "(hover) and (pointer: fine)",
            "(min-resolution: 96dpi)",
        ] {
            assert!(matches(yes), "{yes}");
        }
        for no in [
            "print",
            "speech",
            "(max-width: 600px)",
            "screen and (min-width: 2000px)",
            "(min-resolution: 2dppx)",
            "(whatever: 3)",
            "(min-width: calc(1px + 2px))",
            "(",
            ")",
            "and",
            "(width < 1280px)",
            "(1 < 2 < )",
        ] {
            assert!(!matches(no), "{no}");
        }
    }
}
