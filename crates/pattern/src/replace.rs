//! Texts with `$1` in them, which a match fills in: httpd's `ap_pregsub` (`regsub_core` in
//! server/util.c).

use crate::Captures;
use std::fmt;

/// The longest result, in bytes: httpd's `AP_PREGSUB_MAXLEN` less the NUL it counts.
pub const EXPANSION_MAX_BYTES: usize = 8 * 8192 - 1;

/// A text into which a match is filled: `$0` to `$9` stand for what its groups found, and `\`
/// takes the meaning from the character behind it. `&` is an ordinary character since httpd 2.4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pieces: Box<[Piece]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Group(usize),
}

impl Template {
    /// Reads a template; every text is one.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (mut pieces, mut literal) = (Vec::new(), Vec::new());
        let mut rest = text.as_bytes();
        while let Some((&first, behind)) = rest.split_first() {
            rest = match (first, behind) {
                (b'$', [digit @ b'0'..=b'9', behind @ ..]) => {
                    flush(&mut literal, &mut pieces);
                    pieces.push(Piece::Group(usize::from(digit - b'0')));
                    behind
                }
                (b'\\', [escaped, behind @ ..]) => {
                    literal.push(*escaped);
                    behind
                }
                // A last `\` stands for itself, as does a `$` without a number.
                _ => {
                    literal.push(first);
                    behind
                }
            };
        }
        flush(&mut literal, &mut pieces);
        Self { pieces: pieces.into() }
    }

    /// Appends the text to `out`, with what the groups found in `subject`. Groups that there are
    /// not, or that took no part, are empty.
    ///
    /// # Errors
    /// When the text would exceed [`EXPANSION_MAX_BYTES`]; `out` is then as it was.
    pub fn expand(
        &self,
        subject: &[u8],
        captures: &Captures,
        out: &mut Vec<u8>,
    ) -> Result<(), TooLong> {
        let start = out.len();
        for piece in &self.pieces {
            let bytes = match piece {
                Piece::Text(text) => text.as_slice(),
                Piece::Group(number) => group(subject, captures, *number),
            };
            if out.len() - start + bytes.len() > EXPANSION_MAX_BYTES {
                out.truncate(start);
                return Err(TooLong);
            }
            out.extend_from_slice(bytes);
        }
        Ok(())
    }
}

fn flush(literal: &mut Vec<u8>, pieces: &mut Vec<Piece>) {
    if !literal.is_empty() {
        pieces.push(Piece::Text(std::mem::take(literal)));
    }
}

/// What a group found; empty also when the subject is not the one that was matched.
fn group<'a>(subject: &'a [u8], captures: &Captures, number: usize) -> &'a [u8] {
    captures.get(number).and_then(|range| subject.get(range)).unwrap_or_default()
}

/// A text would have become longer than [`EXPANSION_MAX_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

impl fmt::Display for TooLong {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the text would exceed {EXPANSION_MAX_BYTES} bytes")
    }
}

impl std::error::Error for TooLong {}
