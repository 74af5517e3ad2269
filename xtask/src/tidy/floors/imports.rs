//! Which paths the code of one Rust file names: in `use` lines and in the middle of code. What a
//! path leads to is not decided here.

use super::super::mask::is_word;

/// A path as it is written, `crate::a::B`, with the byte of the code at which it begins.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ImportPath {
    pub(crate) at: usize,
    pub(crate) path: Vec<String>,
    /// Whether it is of a `pub use`: the module then shows it as its own.
    pub(crate) is_shown: bool,
}

/// Every path of at least two parts in `code`, which is masked, and every path of a `use`.
pub(crate) fn named(code: &str) -> Vec<ImportPath> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = code[at..].find(|c: char| is_word(c)).map(|next| at + next) {
        let end = word_end(code, start);
        at = match &code[start..end] {
            "use" => {
                let close = code[end..].find(';').map_or(code.len(), |length| end + length);
                let is_shown = is_public(&code[..start]);
                let mut add = |path| found.push(ImportPath { at: start, path, is_shown });
                tree(&code[end..close], &mut Vec::new(), &mut add);
                close
            }
            _ => {
                let (path, end) = path_from(code, start);
                if path.len() > 1 && !is_continued(&code[..start]) {
                    found.push(ImportPath { at: start, path, is_shown: false });
                }
                end
            }
        };
    }
    found
}

fn word_end(code: &str, start: usize) -> usize {
    code[start..].find(|c: char| !is_word(c)).map_or(code.len(), |length| start + length)
}

/// Whether a `use` behind this text has a `pub` of any width.
fn is_public(before: &str) -> bool {
    let before = before.trim_end();
    let bare = match before.strip_suffix(')') {
        Some(inner) => inner.rsplit_once('(').map_or("", |(word, _)| word).trim_end(),
        None => before,
    };
    bare.ends_with("pub")
}

/// Whether a word behind this text belongs to something that was named already: `x.name`, or the
/// rest of a path behind type arguments.
fn is_continued(before: &str) -> bool {
    before.ends_with('.') || before.ends_with("::")
}

/// The path that begins at a word, and where it ends.
fn path_from(code: &str, start: usize) -> (Vec<String>, usize) {
    let mut end = word_end(code, start);
    let mut path = vec![code[start..end].to_owned()];
    while let Some(rest) = code[end..].strip_prefix("::") {
        let length = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        if length == 0 {
            break;
        }
        path.push(rest[..length].to_owned());
        end += 2 + length;
    }
    (path, end)
}

/// The paths of `a::{b, c::D as E}`, each with `prefix` before it.
fn tree(text: &str, prefix: &mut Vec<String>, add: &mut impl FnMut(Vec<String>)) {
    let brace = text.find('{');
    let head = &text[..brace.unwrap_or(text.len())];
    let head = head.split(" as ").next().unwrap_or(head);
    let before = prefix.len();
    // `self` is what stands before it: the module itself, or the head of the list.
    let parts = head.split("::").map(str::trim).filter(|part| !matches!(*part, "" | "*" | "self"));
    prefix.extend(parts.map(str::to_owned));
    match brace {
        Some(open) => {
            let close = text.rfind('}').unwrap_or(text.len());
            items(&text[open + 1..close]).into_iter().for_each(|item| tree(item, prefix, add));
        }
        None => add(prefix.clone()),
    }
    prefix.truncate(before);
}

/// The items of a list, whose own lists are whole.
fn items(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut items) = (0, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(&list[start..]);
    items.retain(|item| !item.trim().is_empty());
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(code: &str) -> Vec<String> {
        named(code).iter().map(|named| named.path.join("::")).collect()
    }

    #[test]
    fn lists_of_a_use_are_taken_apart() {
        let code = "use a::{self, b::{C, D as E}, f::*};\nuse self::g;";
        assert_eq!(paths(code), ["a", "a::b::C", "a::b::D", "a::f", "g"]);
    }

    #[test]
    fn paths_within_code_are_found_and_methods_are_not() {
        let code = "fn f(x: crate::a::B) { y.z(super::g::<u8>()); Vec::<u8>::new() }";
        assert_eq!(paths(code), ["crate::a::B", "super::g"]);
    }

    #[test]
    fn what_a_module_shows_as_its_own_is_known() {
        let shown = |code| named(code)[0].is_shown;
        assert!(shown("pub use a::B;") && shown("pub(crate) use a::B;"));
        assert!(!shown("use a::B;"));
    }
}
