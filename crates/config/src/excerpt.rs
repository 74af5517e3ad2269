//! A piece of a text that others share: the lines of a file cost no memory of their own, but for
//! where each begins and ends.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::ops::{Deref, Range};

/// A piece of a text; as long as there is one the whole text stays.
#[derive(Clone)]
pub struct Excerpt {
    whole: Arc<str>,
    // Half as large as `usize`: there is one for each line. A longer text is copied.
    start: u32,
    end: u32,
}

impl Excerpt {
    /// The piece `part` of `whole`, if it is one: text that was joined or decoded is not.
    pub fn within(whole: &Arc<str>, part: &str) -> Self {
        // Where it would stand; whether it does is looked at.
        let start = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
        let range = start..start.saturating_add(part.len());
        match whole.get(range.clone()) == Some(part) {
            true => Self::new(whole.clone(), range),
            false => part.into(),
        }
    }

    /// A piece of this one.
    ///
    /// # Panics
    /// As `str` does, if the range is none of its own.
    #[must_use]
    pub fn part(&self, range: Range<usize>) -> Self {
        let start = self.start as usize;
        let _ = &self[range.clone()];
        Self::new(self.whole.clone(), start + range.start..start + range.end)
    }

    fn new(whole: Arc<str>, Range { start, end }: Range<usize>) -> Self {
        match (u32::try_from(start), u32::try_from(end)) {
            (Ok(start), Ok(end)) => Self { whole, start, end },
            _ => (&whole[start..end]).into(),
        }
    }

    /// The piece.
    pub fn as_str(&self) -> &str {
        &self.whole[self.start as usize..self.end as usize]
    }
}

impl From<&str> for Excerpt {
    /// A text of its own; what is beyond 4 GiB is lost, which no line comes near.
    fn from(text: &str) -> Self {
        let end = u32::try_from(text.len()).unwrap_or_default();
        Self { whole: text.into(), start: 0, end }
    }
}

impl From<String> for Excerpt {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl Deref for Excerpt {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for Excerpt {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
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
        let whole: Arc<str> = "KeepAlive On".into();
        let name = Excerpt::within(&whole, &whole[..9]);
        assert_eq!((&*name, Arc::ptr_eq(&name.whole, &whole)), ("KeepAlive", true));
        assert_eq!(&*name.part(4..9), "Alive");
        let copy = String::from("On");
        let apart = Excerpt::within(&whole, &copy);
        assert_eq!((&*apart, Arc::ptr_eq(&apart.whole, &whole)), ("On", false));
    }
}
