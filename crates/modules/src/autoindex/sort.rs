//! Order and style of a listing: the query arguments `C`, `O`, `F`, `V` and `P` that the
//! column links send, and the comparison of two rows.

use std::cmp::Ordering;

use super::entry::ListingRow;
use super::options::{Direction, IndexFlags, IndexOptions, SortKey};
use super::url::percent_decoded;
use message::path::encode;

/// What configuration and query together ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct View {
    pub(super) flags: IndexFlags,
    pub(super) key: SortKey,
    pub(super) direction: Direction,
    /// Shell pattern of the names to show.
    pub(super) pattern: Option<Vec<u8>>,
    /// What the column links repeat of the query, such as `;F=2;P=*.txt`.
    pub(super) link_arguments: Vec<u8>,
}

impl View {
    /// Reads the query (mod_autoindex.c `index_directory`). Arguments end at the first that is
    /// not understood.
    pub(super) fn new(options: &IndexOptions, query: Option<&[u8]>) -> Self {
        let mut view = Self {
            flags: options.flags(),
            key: options.default_key.unwrap_or(SortKey::Name),
            direction: options.default_direction.unwrap_or(Direction::Ascending),
            pattern: None,
            link_arguments: Vec::new(),
        };
        if view.flags.has(IndexFlags::IGNORE_CLIENT) {
            view.flags |= IndexFlags::SUPPRESS_COLUMN_SORTING;
            return view;
        }
        let (mut style, mut version, mut repeated_pattern) = (None, None, None);
        for argument in query.unwrap_or_default().split(|byte| matches!(byte, b'&' | b';')) {
            let understood = match argument {
                [b'C', b'=', letter] => view.set_key(*letter),
                [b'O', b'=', letter] => view.set_direction(*letter),
                [b'F', b'=', letter] => view.set_style(*letter, &mut style),
                [b'V', b'=', letter] => view.set_version_sort(*letter, &mut version),
                [b'P', b'=', pattern @ ..] => view.set_pattern(pattern, &mut repeated_pattern),
                _ => false,
            };
            if !understood {
                break;
            }
        }
        view.link_arguments = link_arguments(style, version, repeated_pattern.as_deref());
        view
    }

    fn set_key(&mut self, letter: u8) -> bool {
        let keys = [SortKey::Name, SortKey::LastModified, SortKey::Size, SortKey::Description];
        let key = keys.into_iter().find(|key| key.letter() == letter);
        self.key = key.unwrap_or(self.key);
        key.is_some()
    }

    fn set_direction(&mut self, letter: u8) -> bool {
        self.direction = match letter {
            b'A' => Direction::Ascending,
            b'D' => Direction::Descending,
            _ => return false,
        };
        true
    }

    fn set_style(&mut self, letter: u8, style: &mut Option<u8>) -> bool {
        match letter {
            b'0' => self.flags &= !(IndexFlags::FANCY_INDEXING | IndexFlags::HTML_TABLE),
            b'1' => {
                self.flags = (self.flags | IndexFlags::FANCY_INDEXING) & !IndexFlags::HTML_TABLE
            }
            b'2' => self.flags |= IndexFlags::FANCY_INDEXING | IndexFlags::HTML_TABLE,
            _ => return false,
        }
        *style = Some(letter);
        true
    }

    fn set_version_sort(&mut self, letter: u8, version: &mut Option<u8>) -> bool {
        match letter {
            b'0' => self.flags &= !IndexFlags::VERSION_SORT,
            b'1' => self.flags |= IndexFlags::VERSION_SORT,
            _ => return false,
        }
        *version = Some(letter);
        true
    }

    /// An empty pattern or one that cannot be decoded is no pattern; the links still repeat an
    /// earlier one.
    fn set_pattern(&mut self, encoded: &[u8], repeated: &mut Option<Vec<u8>>) -> bool {
        self.pattern = percent_decoded(encoded).filter(|pattern| !pattern.is_empty());
        if self.pattern.is_some() {
            repeated.clone_from(&self.pattern);
        }
        true
    }

    /// Compares two rows (mod_autoindex.c `dsortf`): the parent directory first, folders next
    /// where FoldersFirst asks for it, then by key, and by name where keys are equal.
    pub(super) fn compare(&self, left: &ListingRow<'_>, right: &ListingRow<'_>) -> Ordering {
        let by_kind = right
            .is_parent
            .cmp(&left.is_parent)
            .then(right.is_folder_first.cmp(&left.is_folder_first));
        let (first, second) = match self.direction {
            Direction::Ascending => (left, right),
            Direction::Descending => (right, left),
        };
        by_kind
            .then_with(|| self.compare_keys(first, second))
            .then_with(|| self.compare_names(&first.name, &second.name))
    }

    fn compare_keys(&self, first: &ListingRow<'_>, second: &ListingRow<'_>) -> Ordering {
        match self.key {
            SortKey::Name => Ordering::Equal,
            SortKey::LastModified => first.mtime_us.cmp(&second.mtime_us),
            SortKey::Size => first.size.cmp(&second.size),
            SortKey::Description => {
                let (first, second) = (first.description_bytes(), second.description_bytes());
                match self.flags.has(IndexFlags::VERSION_SORT) {
                    true => natural(first, second, false),
                    false => first.cmp(second),
                }
            }
        }
    }

    /// Names that differ are never equal, so that a listing has one order only.
    fn compare_names(&self, first: &[u8], second: &[u8]) -> Ordering {
        let ignores_case = self.flags.has(IndexFlags::IGNORE_CASE);
        let mut order = Ordering::Equal;
        if self.flags.has(IndexFlags::VERSION_SORT) {
            if ignores_case {
                order = natural(first, second, true);
            }
            order = order.then_with(|| natural(first, second, false));
        }
        if ignores_case {
            let lower = |name: &[u8]| name.to_ascii_lowercase();
            order = order.then_with(|| lower(first).cmp(&lower(second)));
        }
        order.then_with(|| first.cmp(second))
    }
}

/// What the links repeat.
fn link_arguments(style: Option<u8>, version: Option<u8>, pattern: Option<&[u8]>) -> Vec<u8> {
    let mut arguments = Vec::new();
    for (name, letter) in [(b'F', style), (b'V', version)] {
        if let Some(letter) = letter {
            arguments.extend_from_slice(&[b';', name, b'=', letter]);
        }
    }
    if let Some(pattern) = pattern {
        arguments.extend_from_slice(b";P=");
        encode(pattern, &mut arguments);
    }
    arguments
}

/// Compares with runs of digits as numbers (`apr_strnatcmp`, after Martin Pool): spaces do not
/// count, the longer run is greater, but a run with a leading zero is a fraction and compares
/// digit by digit.
fn natural(left: &[u8], right: &[u8], fold_case: bool) -> Ordering {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let skip_spaces = |text: &[u8]| text.iter().take_while(|byte| is_space(byte)).count();
    let (mut left, mut right) = (left, right);
    loop {
        left = &left[skip_spaces(left)..];
        right = &right[skip_spaces(right)..];
        // The end of a C string is a zero byte, less than any other.
        let (a, b) = (left.first().copied(), right.first().copied());
        if let (Some(a @ b'0'..=b'9'), Some(b @ b'0'..=b'9')) = (a, b) {
            let order = compare_digits(left, right, a == b'0' || b == b'0');
            if order != Ordering::Equal {
                return order;
            }
        }
        if a.is_none() && b.is_none() {
            return Ordering::Equal;
        }
        let fold = |byte: Option<u8>| match fold_case {
            true => byte.map(|byte| byte.to_ascii_uppercase()),
            false => byte,
        };
        // C compares as signed char: bytes from 0x80 up come before all others.
        let signed = |byte: Option<u8>| fold(byte).unwrap_or(0) as i8;
        match signed(a).cmp(&signed(b)) {
            Ordering::Equal => {}
            order => return order,
        }
        left = left.get(1..).unwrap_or_default();
        right = right.get(1..).unwrap_or_default();
    }
}

/// Compares the runs of digits at the start of both texts.
fn compare_digits(left: &[u8], right: &[u8], is_fraction: bool) -> Ordering {
    let length = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (left, right) = (&left[..length(left)], &right[..length(right)]);
    if is_fraction {
        return left.cmp(right); // a prefix is less
    }
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}
