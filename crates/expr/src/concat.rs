//! How words are put together: in which order, and how deep, httpd evaluates the parts of a text.
//!
//! Its tree has two branches at each joint, and `ap_expr_eval_word` walks along one side of it. The
//! order shows in `Vary`, the depth in what reaches the limit of the recursion. Here the parts are
//! lists, so that a long text is no deep tree.

use crate::ast::Word;
use alloc::vec::Vec;

/// Strings of several pieces that follow each other are nested in each other, up to here: to
/// evaluate more of them ends at the limit of the recursion, and a tree may not be so deep that
/// freeing it takes more than the stack.
const NESTING_MAX: usize = 20;

/// The pieces of one string. Its tree grows to the left and is walked from the last piece, except
/// that two pieces are taken in their order.
pub(crate) fn pieces(parts: Vec<Word>) -> Word {
    let reversed = parts.len() > 2;
    one_or(parts, reversed)
}

/// Words with `.` between them: a tree that grows to the right and is walked from the first,
/// unless that is a string of several pieces. The walk then goes through these, from the end, and
/// what follows the string is one part.
pub(crate) fn joined(mut words: Vec<Word>) -> Word {
    let others = words.len().saturating_sub(1);
    let is_string = |word: &&Word| matches!(word, Word::Concat { .. });
    let leading = words[..others].iter().take_while(is_string).count().min(NESTING_MAX);
    let mut tree = chain(words.split_off(leading));
    for string in words.into_iter().rev() {
        let mut parts = parts_of(string);
        parts.push(tree);
        tree = Word::Concat { parts, reversed: true };
    }
    tree
}

/// A walk to the right. It does not stop before a string at the end, whose last piece it parts
/// from the others.
fn chain(mut words: Vec<Word>) -> Word {
    if words.len() > 1
        && let Some(Word::Concat { .. }) = words.last()
    {
        let mut parts = words.pop().map(parts_of).unwrap_or_default();
        let last = parts.pop();
        words.push(pieces(parts));
        words.extend(last);
    }
    one_or(words, false)
}

fn parts_of(word: Word) -> Vec<Word> {
    match word {
        Word::Concat { parts, .. } => parts,
        other => Vec::from([other]),
    }
}

fn one_or(parts: Vec<Word>, reversed: bool) -> Word {
    match <[Word; 1]>::try_from(parts) {
        Ok([word]) => word,
        Err(parts) => Word::Concat { parts, reversed },
    }
}
