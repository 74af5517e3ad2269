//! The settings of mod_autoindex in one section of the configuration, and how those of nested
//! sections merge. Reading directives is `parse`'s.

use server::site::settings::DirectoryKey;
use server::site::store::Merge;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Not};

use super::matching::{is_pattern, is_shell_pattern, matches, matches_any_case, matches_shell};

/// NameWidth and DescriptionWidth where nothing is set.
pub(super) const WIDTH_DEFAULT: usize = 23;

/// A set of the keywords of IndexOptions that are on or off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexFlags(u32);

/// The keywords, each with its flag; `parse` walks this table.
pub(super) const KEYWORDS: &[(&str, IndexFlags)] = &[
    ("AddAltClass", IndexFlags::ADD_ALT_CLASS),
    ("FancyIndexing", IndexFlags::FANCY_INDEXING),
    ("FoldersFirst", IndexFlags::FOLDERS_FIRST),
    ("HTMLTable", IndexFlags::HTML_TABLE),
    ("IconsAreLinks", IndexFlags::ICONS_ARE_LINKS),
    ("IgnoreCase", IndexFlags::IGNORE_CASE),
    ("IgnoreClient", IndexFlags::IGNORE_CLIENT),
    ("ScanHTMLTitles", IndexFlags::SCAN_HTML_TITLES),
    ("ShowForbidden", IndexFlags::SHOW_FORBIDDEN),
    ("SuppressColumnSorting", IndexFlags::SUPPRESS_COLUMN_SORTING),
    ("SuppressDescription", IndexFlags::SUPPRESS_DESCRIPTION),
    ("SuppressHTMLPreamble", IndexFlags::SUPPRESS_HTML_PREAMBLE),
    ("SuppressIcon", IndexFlags::SUPPRESS_ICON),
    ("SuppressLastModified", IndexFlags::SUPPRESS_LAST_MODIFIED),
    ("SuppressRules", IndexFlags::SUPPRESS_RULES),
    ("SuppressSize", IndexFlags::SUPPRESS_SIZE),
    ("TrackModified", IndexFlags::TRACK_MODIFIED),
    ("VersionSort", IndexFlags::VERSION_SORT),
    ("XHTML", IndexFlags::XHTML),
];

impl IndexFlags {
    pub(crate) const ADD_ALT_CLASS: Self = Self(1);
    pub(crate) const FANCY_INDEXING: Self = Self(1 << 1);
    pub(crate) const FOLDERS_FIRST: Self = Self(1 << 2);
    pub(crate) const HTML_TABLE: Self = Self(1 << 3);
    pub(crate) const ICONS_ARE_LINKS: Self = Self(1 << 4);
    pub(crate) const IGNORE_CASE: Self = Self(1 << 5);
    pub(crate) const IGNORE_CLIENT: Self = Self(1 << 6);
    pub(crate) const SCAN_HTML_TITLES: Self = Self(1 << 7);
    pub(crate) const SHOW_FORBIDDEN: Self = Self(1 << 8);
    pub(crate) const SUPPRESS_COLUMN_SORTING: Self = Self(1 << 9);
    pub(crate) const SUPPRESS_DESCRIPTION: Self = Self(1 << 10);
    pub(crate) const SUPPRESS_HTML_PREAMBLE: Self = Self(1 << 11);
    pub(crate) const SUPPRESS_ICON: Self = Self(1 << 12);
    pub(crate) const SUPPRESS_LAST_MODIFIED: Self = Self(1 << 13);
    pub(crate) const SUPPRESS_RULES: Self = Self(1 << 14);
    pub(crate) const SUPPRESS_SIZE: Self = Self(1 << 15);
    pub(crate) const TRACK_MODIFIED: Self = Self(1 << 16);
    pub(crate) const VERSION_SORT: Self = Self(1 << 17);
    pub(crate) const XHTML: Self = Self(1 << 18);
    /// `IndexOptions None`: also stops inheritance.
    pub(super) const NONE: Self = Self(1 << 31);
    pub(super) const EMPTY: Self = Self(0);
}

impl IndexFlags {
    /// Whether one of `other` is set.
    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for IndexFlags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for IndexFlags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for IndexFlags {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitAndAssign for IndexFlags {
    fn bitand_assign(&mut self, other: Self) {
        self.0 &= other.0;
    }
}

impl Not for IndexFlags {
    type Output = Self;
    fn not(self) -> Self {
        Self(!self.0)
    }
}

/// NameWidth or DescriptionWidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// `=n`
    Bytes(usize),
    /// `=*`: as wide as the widest value, but at least this.
    Adjusted(usize),
}

impl Width {
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Bytes(width) | Self::Adjusted(width) => width,
        }
    }
}

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<IndexOptions> = DirectoryKey::new();

/// What AddIcon and AddAlt choose by: the directive without a suffix, `ByType`, `ByEncoding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// The end of the file name, or a pattern.
    Path,
    /// The media type.
    Type,
    /// The content encoding.
    Encoding,
}

/// The column to sort by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SortKey {
    Name,
    LastModified,
    Size,
    Description,
}

impl SortKey {
    /// Its letter in a query.
    pub(super) fn letter(self) -> u8 {
        match self {
            Self::Name => b'N',
            Self::LastModified => b'M',
            Self::Size => b'S',
            Self::Description => b'D',
        }
    }
}

/// Which way to sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Ascending,
    Descending,
}

impl Direction {
    /// Its letter in a query.
    pub(super) fn letter(self) -> u8 {
        match self {
            Self::Ascending => b'A',
            Self::Descending => b'D',
        }
    }
}

/// What the directives of a section said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexOptions {
    /// DefaultIcon
    pub default_icon: Option<String>,
    /// IndexStyleSheet
    pub style_sheet: Option<String>,
    /// IndexHeadInsert
    pub head_insert: Option<String>,
    /// HeaderName
    pub header_name: Option<String>,
    /// ReadmeName
    pub readme_name: Option<String>,
    /// IndexIgnoreReset
    pub ignore_reset: bool,
    /// IndexForbiddenReturn404
    pub forbidden_return_404: Option<bool>,
    /// Keywords without `+` or `-`; empty when there were none.
    pub(super) base: IndexFlags,
    pub(super) added: IndexFlags,
    pub(super) removed: IndexFlags,
    pub(super) icon_width: u32,
    pub(super) icon_height: u32,
    pub(super) name_width: Option<Width>,
    pub(super) description_width: Option<Width>,
    pub(super) media_type: Option<String>,
    pub(super) charset: Option<String>,
    pub(super) old_dates: bool,
    pub(super) default_key: Option<SortKey>,
    pub(super) default_direction: Option<Direction>,
    pub(super) icons: Vec<IndexRule>,
    pub(super) alts: Vec<IndexRule>,
    pub(super) ignored: Vec<IndexRule>,
    pub(super) descriptions: Vec<Description>,
}

impl Merge for IndexOptions {
    const HOLDS_ALONE: bool = true;

    fn over(&self, outer: &Self) -> Self {
        Self::merge(outer, self)
    }
}

impl IndexOptions {
    /// The settings of a section inside another (mod_autoindex.c `merge_autoindex_configs`).
    /// Of rules the first match counts, so those of `inner` come first.
    ///
    /// Merging is not associative. httpd first merges the sections of the request that said
    /// anything about listings, outermost first, and then the result into the server's.
    pub(crate) fn merge(outer: &Self, inner: &Self) -> Self {
        let (base, added, removed) = merge_flags(outer, inner);
        let inherited = if inner.ignore_reset { &[][..] } else { &outer.ignored[..] };
        Self {
            default_icon: or(&inner.default_icon, &outer.default_icon),
            style_sheet: or(&inner.style_sheet, &outer.style_sheet),
            head_insert: or(&inner.head_insert, &outer.head_insert),
            header_name: or(&inner.header_name, &outer.header_name),
            readme_name: or(&inner.readme_name, &outer.readme_name),
            ignore_reset: false,
            forbidden_return_404: inner.forbidden_return_404.or(outer.forbidden_return_404),
            base,
            added,
            removed,
            icon_width: if inner.icon_width == 0 { outer.icon_width } else { inner.icon_width },
            icon_height: if inner.icon_height == 0 { outer.icon_height } else { inner.icon_height },
            name_width: inner.name_width.or(outer.name_width),
            description_width: inner.description_width.or(outer.description_width),
            media_type: or(&inner.media_type, &outer.media_type),
            charset: or(&inner.charset, &outer.charset),
            old_dates: inner.old_dates || outer.old_dates,
            default_key: inner.default_key.or(outer.default_key),
            default_direction: inner.default_direction.or(outer.default_direction),
            icons: [&inner.icons[..], &outer.icons].concat(),
            alts: [&inner.alts[..], &outer.alts].concat(),
            ignored: [&inner.ignored[..], inherited].concat(),
            descriptions: [&inner.descriptions[..], &outer.descriptions].concat(),
        }
    }

    /// The keywords in force.
    pub(crate) fn flags(&self) -> IndexFlags {
        (self.base | self.added) & !self.removed & !IndexFlags::NONE
    }

    /// Value of Content-Type for the listing.
    pub(crate) fn content_type(&self) -> String {
        let media_type = self.media_type.as_deref().unwrap_or("text/html");
        match self.charset.as_deref().unwrap_or("ISO-8859-1") {
            "" => media_type.to_owned(),
            charset => format!("{media_type};charset={charset}"),
        }
    }

    /// Whether IndexIgnore hides an entry; `path` is its whole path.
    pub(super) fn is_ignored(&self, path: &[u8]) -> bool {
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        self.ignored.iter().any(|rule| {
            let pattern = rule.applies_to.rsplit('/').next().unwrap_or(&rule.applies_to);
            rule.covers(path) && matches(pattern.as_bytes(), name)
        })
    }

    /// AddDescription's text for a file.
    pub(super) fn description(&self, path: &[u8]) -> Option<&str> {
        let description = self.descriptions.iter().find(|description| description.is_of(path))?;
        Some(&description.text)
    }
}

/// The base flags, additions and removals of a merged section.
fn merge_flags(outer: &IndexOptions, inner: &IndexOptions) -> (IndexFlags, IndexFlags, IndexFlags) {
    if inner.base.has(IndexFlags::NONE) {
        return (IndexFlags::NONE, IndexFlags::EMPTY, IndexFlags::EMPTY);
    }
    if inner.base != IndexFlags::EMPTY {
        // Keywords without a sign replace all that was inherited, and all that stands beside
        // them with a sign: httpd loses those here, and pages depend on it.
        return (inner.base, IndexFlags::EMPTY, IndexFlags::EMPTY);
    }
    let added = (outer.added | inner.added) & !inner.removed;
    let removed = outer.removed | inner.removed;
    (((outer.base & !IndexFlags::NONE) | added) & !removed, added, removed)
}

fn or(inner: &Option<String>, outer: &Option<String>) -> Option<String> {
    inner.as_ref().or(outer.as_ref()).cloned()
}

/// A line of AddIcon, AddAlt or IndexIgnore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IndexRule {
    by: By,
    applies_to: String,
    /// Pattern over paths: the section that the directive stands in, and all below.
    section: String,
    /// Icon or text; unused by IndexIgnore.
    value: String,
}

impl IndexRule {
    /// A rule of AddIcon and AddAlt. A file name without wildcards is the end of a path.
    pub(super) fn new(by: By, applies_to: &str, section: &str, value: &str) -> Self {
        let is_end = by == By::Path && !is_pattern(applies_to);
        let star = if is_end { "*" } else { "" };
        Self {
            by,
            applies_to: format!("{star}{applies_to}"),
            section: format!("{section}*"),
            value: value.to_owned(),
        }
    }

    /// A rule of IndexIgnore, which is about whole names.
    pub(super) fn ignoring(pattern: &str, section: &str) -> Self {
        let section = format!("{section}*");
        Self { by: By::Path, applies_to: pattern.to_owned(), section, value: String::new() }
    }

    fn covers(&self, path: &[u8]) -> bool {
        matches(self.section.as_bytes(), path)
    }
}

/// What an icon or alternative text is chosen by.
#[derive(Clone, Copy)]
pub(super) struct IconSubject<'a> {
    pub(super) path: &'a [u8],
    pub(super) content_type: Option<&'a str>,
    pub(super) encoding: Option<&'a str>,
}

impl<'a> IconSubject<'a> {
    /// A directory, or one of the names `^^DIRECTORY^^` and `^^BLANKICON^^`.
    pub(super) fn path(path: &'a [u8]) -> Self {
        Self { path, content_type: None, encoding: None }
    }
}

/// The value of the first rule that matches (mod_autoindex.c `find_item`). An encoded file is
/// chosen by its encoding only, others by their type.
pub(super) fn find<'a>(rules: &'a [IndexRule], subject: IconSubject<'_>) -> Option<&'a str> {
    let is_special = subject.path.first() == Some(&b'^');
    let found = rules.iter().find(|rule| {
        if !is_special && !rule.covers(subject.path) {
            return false;
        }
        let pattern = rule.applies_to.as_bytes();
        match (rule.by, subject.encoding, subject.content_type) {
            _ if pattern.is_empty() => true,
            (By::Path, _, _) => matches(pattern, subject.path),
            _ if is_special => matches(pattern, subject.path),
            (By::Encoding, Some(encoding), _) => matches_any_case(pattern, encoding.as_bytes()),
            (By::Type, None, Some(media_type)) => {
                let bare = media_type.split(';').next().unwrap_or(media_type).trim_end();
                matches_any_case(pattern, bare.as_bytes())
            }
            _ => false,
        }
    });
    found.map(|rule| rule.value.as_str())
}

/// A line of AddDescription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Description {
    pattern: String,
    /// Whether the pattern is about paths, not names.
    is_path: bool,
    is_pattern: bool,
    text: String,
}

impl Description {
    pub(super) fn new(text: &str, file: &str) -> Self {
        let is_path = file.contains('/');
        let is_pattern = is_path || is_shell_pattern(file);
        let pattern = match (is_pattern, is_path) {
            (true, true) => format!("*/{file}*"),
            (true, false) => format!("*{file}*"),
            (false, _) => file.to_owned(),
        };
        Self { pattern, is_path, is_pattern, text: text.to_owned() }
    }

    fn is_of(&self, path: &[u8]) -> bool {
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        let subject = if self.is_path { path } else { name };
        let pattern = self.pattern.as_bytes();
        if self.is_pattern {
            return matches_shell(pattern, subject);
        }
        pattern.is_empty() || subject.windows(pattern.len()).any(|window| window == pattern)
    }
}

/// A server has settings of the module where no line has set any, a section has none (config.c,
/// ap_single_module_configure): what lies over none is not merged.
pub(crate) fn complete(settings: &mut server::site::settings::Settings) {
    SETTINGS.create(settings);
}
