//! The values of `Header` and `RequestHeader`: a text with `%` items, or an expression
//! (parse_format_string and process_tags of mod_headers.c).

use logging::level::Level;
use runtime::clock;
use scoreboard::{ProcessState, RowState, Snapshot};
use server::evaluate;
use server::request_context::RequestContext;
use server::response::Response;
use server::site::expression::{ExpressionText, Mode};

/// A compiled value.
#[derive(Clone, Debug)]
pub(super) enum HeaderValue {
    /// The same for every request.
    Constant(Vec<u8>),
    Pieces(Vec<FormatPiece>),
    /// `expr=...`
    Expression(ExpressionText),
}

/// A part of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FormatPiece {
    Text(Vec<u8>),
    /// `%D`
    Duration,
    /// `%t`
    Time,
    /// `%{NAME}e`
    Variable(String),
    /// `%{NAME}s`: there is no TLS, and httpd says `(null)` without.
    Tls,
    /// `%l`
    LoadAverages,
    /// `%i`
    Idle,
    /// `%b`
    Busy,
}

impl HeaderValue {
    /// Compile `text`.
    pub(super) fn parse(text: &str, mode: Mode) -> Result<Self, String> {
        if let Some(expression) = text.strip_prefix("expr=") {
            let parsed = ExpressionText::parse(expression, mode);
            let said = |error| format!("Can't parse value expression : {error}");
            return parsed.map(Self::Expression).map_err(said);
        }
        let pieces = pieces(text)?;
        Ok(match pieces.as_slice() {
            [] => Self::Constant(Vec::new()),
            [FormatPiece::Text(text)] => Self::Constant(text.clone()),
            _ => Self::Pieces(pieces),
        })
    }

    /// The value for a request.
    pub(super) fn of(&self, request: &RequestContext<'_>, response: Option<&Response>) -> Vec<u8> {
        match self {
            Self::Constant(text) => text.clone(),
            Self::Pieces(pieces) => {
                request.mark_personal();
                let mut out = Vec::new();
                pieces.iter().for_each(|piece| piece.write(request, &mut out));
                out
            }
            Self::Expression(text) => {
                evaluate::text(text, request, response).unwrap_or_else(|error| {
                    let text = format!("Can't evaluate value expression: {error}");
                    request.log(Level::Error, "headers", Some(2557), &text);
                    Vec::new()
                })
            }
        }
    }
}

/// Items and the texts between them.
fn pieces(text: &str) -> Result<Vec<FormatPiece>, String> {
    let mut pieces = Vec::new();
    let mut literal = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let behind = &rest[first.len_utf8()..];
        rest = match first {
            '%' => item(behind, &mut literal, &mut pieces)?,
            '\\' => escape(behind, &mut literal),
            _ => {
                literal.extend_from_slice(&rest.as_bytes()[..first.len_utf8()]);
                behind
            }
        };
    }
    flush(&mut literal, &mut pieces);
    Ok(pieces)
}

fn flush(literal: &mut Vec<u8>, pieces: &mut Vec<FormatPiece>) {
    if !literal.is_empty() {
        pieces.push(FormatPiece::Text(std::mem::take(literal)));
    }
}

/// `\\`, `\r`, `\n` and `\t`; before anything else a backslash is one.
fn escape<'t>(behind: &'t str, literal: &mut Vec<u8>) -> &'t str {
    let known = [('\\', b'\\'), ('r', b'\r'), ('n', b'\n'), ('t', b'\t')];
    let found = known.iter().find(|row| behind.starts_with(row.0));
    literal.push(found.map_or(b'\\', |row| row.1));
    if found.is_some() { &behind[1..] } else { behind }
}

/// What follows a `%`; the result is what is left behind it.
fn item<'t>(
    behind: &'t str,
    literal: &mut Vec<u8>,
    pieces: &mut Vec<FormatPiece>,
) -> Result<&'t str, String> {
    // A `%` at the end is one, too.
    if behind.is_empty() || behind.starts_with('%') {
        literal.push(b'%');
        return Ok(behind.strip_prefix('%').unwrap_or(behind));
    }
    let (name, behind) = match behind.strip_prefix('{') {
        Some(inner) => inner.split_once('}').unwrap_or((inner, "")),
        None => ("", behind),
    };
    let letter = behind.chars().next();
    let piece = match letter {
        Some('D') => FormatPiece::Duration,
        Some('t') => FormatPiece::Time,
        Some('e') => FormatPiece::Variable(name.to_owned()),
        Some('s') => FormatPiece::Tls,
        Some('l') => FormatPiece::LoadAverages,
        Some('i') => FormatPiece::Idle,
        Some('b') => FormatPiece::Busy,
        _ => {
            let letter = letter.map(String::from).unwrap_or_default();
            return Err(format!("Unrecognized header format %{letter}"));
        }
    };
    flush(literal, pieces);
    pieces.push(piece);
    Ok(&behind[1..])
}

impl FormatPiece {
    fn write(&self, request: &RequestContext<'_>, out: &mut Vec<u8>) {
        let received = request.received();
        let text = match self {
            Self::Text(text) => return out.extend_from_slice(text),
            Self::Variable(name) => return variable(request, name, out),
            Self::Duration => format!("D={}", clock::unix_us() - received.start_us),
            Self::Time => format!("t={}", received.start_us),
            Self::Tls => "(null)".to_owned(),
            Self::LoadAverages => format!("l={}", load_averages()),
            Self::Idle => format!("i={}", workers(request).0),
            Self::Busy => format!("b={}", workers(request).1),
        };
        out.extend_from_slice(text.as_bytes());
    }
}

/// An environment variable in one line (unwrap_header).
fn variable(request: &RequestContext<'_>, name: &str, out: &mut Vec<u8>) {
    let value = request.tables.env.get(name).unwrap_or(b"(null)");
    let plain = |byte: &u8| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte };
    out.extend(value.iter().map(plain));
}

/// `0.50/0.40/0.30` (getloadavg).
fn load_averages() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let three: Vec<&str> = text.split_whitespace().take(3).collect();
    if three.is_empty() { "0.00/0.00/0.00".to_owned() } else { three.join("/") }
}

/// Idle and busy workers in per cent of all that serve (ap_get_sload of util.c).
fn workers(request: &RequestContext<'_>) -> (usize, usize) {
    let snapshot = Snapshot::take(request.context.board());
    let rows = snapshot.workers.chunks(snapshot.rows_per_process.max(1));
    let (mut idle, mut busy) = (0, 0);
    for (process, rows) in snapshot.processes.iter().zip(rows) {
        if process.state != ProcessState::Serving {
            continue;
        }
        idle += rows.iter().filter(|row| row.state == RowState::Ready).count();
        let is_busy =
            |state| !matches!(state, RowState::Ready | RowState::Dead | RowState::Starting);
        busy += rows.iter().filter(|row| is_busy(row.state)).count();
    }
    let total = (idle + busy).max(1);
    (idle * 100 / total, busy * 100 / total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> FormatPiece {
        FormatPiece::Text(text.as_bytes().to_vec())
    }

    #[test]
    fn items_are_told_from_text() {
        let rows = [
            ("", vec![]),
            ("plain text", vec![text("plain text")]),
            ("100%%", vec![text("100%")]),
            ("100%", vec![text("100%")]),
            (r"a\tb\nc\rd\\e\q\", vec![text("a\tb\nc\rd\\e\\q\\")]),
            (r"\%D", vec![text("\\"), FormatPiece::Duration]),
            ("%D %t", vec![FormatPiece::Duration, text(" "), FormatPiece::Time]),
            ("a%{X y}eb", vec![text("a"), FormatPiece::Variable("X y".into()), text("b")]),
            (
                "%l%i%b%{SSL_CIPHER}s",
                vec![
                    FormatPiece::LoadAverages,
                    FormatPiece::Idle,
                    FormatPiece::Busy,
                    FormatPiece::Tls,
                ],
            ),
        ];
        for (given, expected) in rows {
            assert_eq!(pieces(given), Ok(expected), "{given}");
        }
    }

    #[test]
    fn unknown_items_are_errors_in_httpds_words() {
        for (given, letter) in [("%q", "q"), ("%{X}", ""), ("%{X", ""), ("%äx", "ä")] {
            assert_eq!(pieces(given), Err(format!("Unrecognized header format %{letter}")));
        }
    }
}
