//! Checks of the form of Rust files: how long, how documented, how safe.

use super::file::{Finding, TextFile, line_at};
use super::mask::words;

/// Lines that a reader holds in the head.
const MOST_FUNCTION_LINES: usize = 70;
/// Lines of a file, unless it is one table.
const MOST_FILE_LINES: usize = 500;
/// A file with this line is one table and may be longer.
const TABLE: &str = "// tidy: table";
/// Crates that can name neither socket, file, thread nor clock, because they have no `std`.
pub(crate) const PURE: &[&str] = &["config", "expr", "fastcgi", "http1", "message"];
/// What the root of a pure crate says.
const PURE_MARKS: &[&str] = &["#![no_std]", "#![forbid(unsafe_code)]"];

pub(crate) fn is_rust(path: &str) -> bool {
    path.ends_with(".rs")
}

pub(crate) fn is_pure_root(path: &str) -> bool {
    PURE.iter().any(|name| path == format!("crates/{name}/src/lib.rs"))
}

pub(crate) fn tabs(file: &TextFile) -> Vec<Finding> {
    file.lines()
        .filter(|(_, line)| line.contains('\t'))
        .map(|(number, _)| file.finding(number, "a tab; indent with spaces, write \\t in strings"))
        .collect()
}

pub(crate) fn file_doc(file: &TextFile) -> Vec<Finding> {
    if file.text.starts_with("//! ") {
        return Vec::new();
    }
    vec![file.finding(1, "no `//!` on the first line; say what lives here and what must not")]
}

pub(crate) fn file_length(file: &TextFile) -> Vec<Finding> {
    let count = file.lines().count();
    let is_table = || file.lines().any(|(_, line)| line.trim() == TABLE);
    if count <= MOST_FILE_LINES || is_table() {
        return Vec::new();
    }
    let what = format!(
        "{count} lines, more than {MOST_FILE_LINES}; split the file, or mark a table with `{TABLE}`"
    );
    vec![file.finding(count, what)]
}

pub(crate) fn function_length(file: &TextFile) -> Vec<Finding> {
    let code = &file.mask.code;
    let mut findings = Vec::new();
    for (start, _) in words(code).filter(|(_, word)| *word == "fn") {
        let Some((name, end)) = function(&code[start + "fn".len()..]) else { continue };
        let (first, last) = (line_at(code, start), line_at(code, start + "fn".len() + end));
        let count = last + 1 - first;
        if count > MOST_FUNCTION_LINES {
            let what = format!(
                "`{name}` has {count} lines, more than {MOST_FUNCTION_LINES}; split it at a step \
                 that has a name"
            );
            findings.push(file.finding(first, what));
        }
    }
    findings
}

/// Name and last byte of the function whose `fn` stands just before. A type such as `fn(u8)` and a
/// declaration without a body are none.
fn function(code: &str) -> Option<(&str, usize)> {
    let (name_at, name) = words(code).next()?;
    if code[..name_at].contains(|c: char| !c.is_whitespace()) {
        return None;
    }
    let (mut brackets, mut braces) = (0, 0);
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            ';' if brackets == 0 && braces == 0 => return None,
            '{' => braces += 1,
            '}' if braces == 1 => return Some((name, at)),
            '}' => braces -= 1,
            _ => {}
        }
    }
    None
}

pub(crate) fn safety_comments(file: &TextFile) -> Vec<Finding> {
    let code = &file.mask.code;
    let lines: Vec<&str> = file.text.lines().collect();
    words(code)
        .filter(|(at, word)| *word == "unsafe" && !is_fn_pointer(&code[*at..]))
        .map(|(at, _)| line_at(code, at))
        .filter(|&line| !has_safety_comment(&lines, line))
        .map(|line| file.finding(line, "`unsafe` without `SAFETY:` above it; say why it is sound"))
        .collect()
}

/// `unsafe fn(...)` and `unsafe extern "C" fn(...)` are types and promise nothing yet.
fn is_fn_pointer(code: &str) -> bool {
    let head: String = code.chars().take_while(|c| !"({;".contains(*c)).collect();
    head.trim_end().ends_with("fn")
}

/// Looks on the line itself, and upwards through comments, attributes and the statement's start.
fn has_safety_comment(lines: &[&str], line: usize) -> bool {
    let says_why = |text: &str| text.contains("SAFETY:") || text.contains("# Safety");
    let is_part = |text: &&&str| {
        let text = text.trim();
        text.starts_with("//") || text.starts_with("#[") || !text.ends_with([';', '}', '{'])
    };
    let above = lines[..line - 1].iter().rev().take_while(|text| !text.trim().is_empty());
    says_why(lines[line - 1]) || above.take_while(is_part).any(|text| says_why(text))
}

pub(crate) fn pure_crates(file: &TextFile) -> Vec<Finding> {
    let has = |mark: &str| file.mask.code.lines().any(|line| line.trim() == mark);
    PURE_MARKS
        .iter()
        .filter(|mark| !has(mark))
        .map(|mark| file.finding(1, format!("`{mark}` is missing; this crate is pure, add it")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::file::check;
    use super::*;

    fn function_of(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    step();\n".repeat(lines - 2))
    }

    #[test]
    fn a_tab_is_found() {
        let found = check(tabs, "a.rs", "fn a() {\n\tb();\n}\n");
        assert_eq!(found, ["a.rs:2: a tab; indent with spaces, write \\t in strings"]);
    }

    #[test]
    fn a_file_says_first_what_it_is() {
        assert_eq!(check(file_doc, "a.rs", "//! Things.\n\nuse b;\n"), [""; 0]);
        assert_eq!(
            check(file_doc, "a.rs", "use b;\n//! Things.\n"),
            ["a.rs:1: no `//!` on the first line; say what lives here and what must not"]
        );
    }

    #[test]
    fn a_long_file_is_found_unless_it_is_a_table() {
        assert_eq!(check(file_length, "a.rs", &"x\n".repeat(500)), [""; 0]);
        assert_eq!(
            check(file_length, "a.rs", &"x\n".repeat(501)),
            ["a.rs:501: 501 lines, more than 500; split the file, or mark a table with `// tidy: \
                 table`"]
        );
        assert_eq!(check(file_length, "a.rs", &("x\n".repeat(501) + TABLE)), [""; 0]);
    }

    #[test]
    fn a_function_of_71_lines_is_found() {
        assert_eq!(check(function_length, "a.rs", &function_of(70)), [""; 0]);
        assert_eq!(
            check(function_length, "a.rs", &format!("\n{}", function_of(71))),
            ["a.rs:2: `long` has 71 lines, more than 70; split it at a step that has a name"]
        );
    }

    #[test]
    fn types_and_declarations_are_no_functions() {
        let filler = "const A: u8 = 1;\n".repeat(80);
        for start in ["type F = fn(u8);\n", "trait T { fn a(x: [u8; 4]); }\n", "// fn b() {\n"] {
            assert_eq!(check(function_length, "a.rs", &format!("{start}{filler}")), [""; 0]);
        }
    }

    #[test]
    fn braces_in_strings_do_not_end_a_function() {
        let body = "    print(\"}\"); // }\n".repeat(70);
        let found = check(function_length, "a.rs", &format!("fn a(x: [u8; 2]) {{\n{body}}}\n"));
        assert_eq!(
            found,
            ["a.rs:1: `a` has 72 lines, more than 70; split it at a step that has a name"]
        );
    }

    #[test]
    fn unsafe_code_says_why() {
        let what = "`unsafe` without `SAFETY:` above it; say why it is sound";
        let bare = "fn a() {\n    b();\n    unsafe { c() }\n}\n";
        assert_eq!(check(safety_comments, "a.rs", bare), [format!("a.rs:3: {what}")]);
        let other = "// SAFETY: of b.\nunsafe { b() };\nunsafe { c() }\n";
        assert_eq!(check(safety_comments, "a.rs", other), [format!("a.rs:3: {what}")]);
        let good = [
            "// SAFETY: c is fine.\nunsafe { c() }\n",
            "// SAFETY: c is fine,\n// and so am I.\nlet x =\n    unsafe { c() };\n",
            "/// Does c.\n///\n/// # Safety\n/// Only once.\n#[inline]\nunsafe fn c() {}\n",
            "type F = unsafe extern \"C\" fn(u8);\n#![forbid(unsafe_code)]\n// unsafe\n",
        ];
        for text in good {
            assert_eq!(check(safety_comments, "a.rs", text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_pure_crate_stays_pure() {
        let path = "crates/http1/src/lib.rs";
        assert!(is_pure_root(path) && !is_pure_root("crates/server/src/lib.rs"));
        let text = "//! Pure.\n#![no_std]\n// #![forbid(unsafe_code)]\n";
        let what = "`#![forbid(unsafe_code)]` is missing; this crate is pure, add it";
        assert_eq!(check(pure_crates, path, text), [format!("{path}:1: {what}")]);
    }
}
