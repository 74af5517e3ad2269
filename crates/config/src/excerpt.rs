//! A piece of a text that others share: the lines of a file cost no memory of their own, but for
//! where each begins and ends.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;

/// A text with what it is called in messages: usually a file.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) file: Arc<str>,
    pub(crate) text: String,
    /// Whether there is a `${` anywhere: if not, no line has to be searched for it.
    may_have_variables: bool,
}

impl Whole {
    pub(crate) fn new(file: Arc<str>, text: String) -> Self {
        let may_have_variables = text.contains("${");
        Self { file, text, may_have_variables }
    }
}

/// A piece of a text; as long as there is one the whole text stays.
#[derive(Clone)]
pub struct Excerpt {
    whole: Arc<Whole>,
    // Half as large as `usize`: there is one for each line. A longer text is copied.
    start: u32,
    end: u32,
}

impl Excerpt {
    /// The piece `part` of `whole`, if it is one: text that was joined or decoded is not.
    pub(crate) fn within(whole: &Arc<Whole>, part: &str) -> Self {
        // Where it would stand; whether it does is looked at.
        let start = part.as_ptr().addr().wrapping_sub(whole.text.as_ptr().addr());
        let end = start.saturating_add(part.len());
        match (u32::try_from(start), u32::try_from(end)) {
            (Ok(from), Ok(to)) if whole.text.get(start..end) == Some(part) => {
                Self { whole: whole.clone(), start: from, end: to }
            }
            _ => Self::apart(whole.file.clone(), part.into()),
        }
    }

    /// A text of its own; what is beyond 4 GiB is lost, which no line comes near.
    pub(crate) fn apart(file: Arc<str>, text: String) -> Self {
        let end = u32::try_from(text.len()).unwrap_or_default();
        Self { whole: Arc::new(Whole::new(file, text)), start: 0, end }
    }

    /// The piece.
    pub fn as_str(&self) -> &str {
        &self.whole.text[self.start as usize..self.end as usize]
    }

    /// What stands from `start` to `end` in it.
    pub(crate) fn between(&self, start: u32, end: u32) -> &str {
        let at = self.start as usize;
        &self.whole.text[at + start as usize..at + end as usize]
    }

    /// Its length, which fits as its ends do.
    pub(crate) fn len_u32(&self) -> u32 {
        self.end - self.start
    }

    /// Whether a variable may stand in it.
    pub(crate) fn may_have_variables(&self) -> bool {
        self.whole.may_have_variables && self.as_bytes().contains(&b'$')
    }

    /// What the whole is called.
    pub(crate) fn file(&self) -> &Arc<str> {
        &self.whole.file
    }
}

impl Deref for Excerpt {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

/// Two pieces are equal if they say the same in files of the same name.
impl PartialEq for Excerpt {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str() && self.file() == other.file()
    }
}

impl Eq for Excerpt {}

impl fmt::Debug for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_found_only_where_it_stands() {
        let whole = Arc::new(Whole::new("f".into(), "KeepAlive On".into()));
        let name = Excerpt::within(&whole, &whole.text[..9]);
        assert_eq!((&*name, Arc::ptr_eq(&name.whole, &whole)), ("KeepAlive", true));
        let copy = String::from("On");
        let apart = Excerpt::within(&whole, &copy);
        assert_eq!((&*apart, Arc::ptr_eq(&apart.whole, &whole)), ("On", false));
        assert_eq!(&**apart.file(), "f");
    }
}
