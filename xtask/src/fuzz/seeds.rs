//! The committed inputs: a text file per target with one input per line, so that a change of them
//! can be read. Bytes that a line cannot hold are escaped as in Rust's byte strings.
//!
//! A line that begins with `#` is a comment, an empty line is nothing.

/// What stands above the inputs that the fuzzer found.
const FOUND: &str = "# Found by the fuzzer: small inputs that reach what those above do not.\n";

/// Text of finds that a seed file may have: all files together then stay below 200 kB.
const MOST_FOUND_BYTES: usize = 14_000;

/// All inputs of a file in order.
pub(super) fn inputs(text: &str) -> Result<Vec<Vec<u8>>, String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| unescape(line).ok_or(format!("a wrong escape in the seed {line}"))).collect()
}

/// The part that people write.
pub(super) fn written(text: &str) -> &str {
    text.find(FOUND).map_or(text, |at| &text[..at])
}

/// The file again, with the smallest of `inputs` that are not in the written part.
pub(super) fn with_finds(written: &str, mut inputs: Vec<Vec<u8>>) -> Result<String, String> {
    let known = self::inputs(written)?;
    inputs.retain(|input| !input.is_empty() && !known.contains(input));
    inputs.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    let mut finds = String::new();
    for line in inputs.iter().map(|input| escape(input)) {
        if finds.len() + line.len() < MOST_FOUND_BYTES {
            finds += &line;
            finds.push('\n');
        }
    }
    Ok(format!("{written}{FOUND}{finds}"))
}

/// One line. A blank at either end and a `#` in front are escaped too, so that the line is seen
/// whole and is no comment.
fn escape(input: &[u8]) -> String {
    let last = input.len().saturating_sub(1);
    let mut line = String::new();
    for (at, &byte) in input.iter().enumerate() {
        match byte {
            b' ' if at == 0 || at == last => line += "\\x20",
            b'#' if at == 0 => line += "\\x23",
            b'"' | b'\'' => line.push(char::from(byte)),
            _ => line.extend(byte.escape_ascii().map(char::from)),
        }
    }
    line
}

fn unescape(line: &str) -> Option<Vec<u8>> {
    let mut input = Vec::new();
    let mut rest = line.as_bytes();
    while let [byte, tail @ ..] = rest {
        rest = tail;
        if *byte != b'\\' {
            input.push(*byte);
            continue;
        }
        let (letter, tail) = rest.split_first()?;
        rest = tail;
        match letter {
            b'n' => input.push(b'\n'),
            b'r' => input.push(b'\r'),
            b't' => input.push(b'\t'),
            b'0' => input.push(0),
            b'\\' => input.push(b'\\'),
            b'x' => {
                let (digits, tail) = rest.split_first_chunk::<2>()?;
                input.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
                rest = tail;
            }
            _ => return None,
        }
    }
    Some(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_survives_being_written() {
        let all: Vec<u8> = (0..=255).collect();
        for input in [&all[..], b" a ", b" ", b"# no comment", b"\\x41\\", b"\"'"] {
            let line = escape(input);
            assert!(line.is_ascii() && line.trim() == line && !line.starts_with('#'), "{line}");
            assert_eq!(unescape(&line).as_deref(), Some(input), "{line}");
        }
    }

    #[test]
    fn comments_and_empty_lines_are_no_inputs() {
        let text = "# One.\nGET /\\r\\n\n\n\\x23 two\n";
        assert_eq!(inputs(text), Ok(vec![b"GET /\r\n".to_vec(), b"# two".to_vec()]));
        for wrong in ["\\", "\\q", "\\x4", "\\xzz"] {
            assert!(inputs(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn finds_stand_below_what_people_wrote_smallest_first() {
        let before = format!("# One.\na\n{FOUND}old\n");
        let finds = ["ccc", "a", "", "bb"].map(|input| input.as_bytes().to_vec()).to_vec();
        let after = with_finds(written(&before), finds).unwrap();
        assert_eq!(after, format!("# One.\na\n{FOUND}bb\nccc\n"));
        assert_eq!(written(&after), "# One.\na\n");
    }

    #[test]
    fn finds_are_bounded() {
        let finds = vec![vec![b'x'; 100], vec![b'q'; MOST_FOUND_BYTES]];
        let text = with_finds("", finds).unwrap();
        assert!(text.contains("xx") && !text.contains('q'));
    }
}
