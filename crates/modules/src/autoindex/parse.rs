//! The directives of mod_autoindex: from arguments to settings, with httpd's error texts.

use super::options::{
    By, Description, Direction, IndexFlags, IndexOptions, IndexRule, KEYWORDS, SortKey,
    WIDTH_DEFAULT, Width,
};

/// Size of the icons that come with httpd, `IconWidth` and `IconHeight` without a number.
const ICON_WIDTH_DEFAULT: u32 = 20;
const ICON_HEIGHT_DEFAULT: u32 = 22;

/// The sign of a keyword.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    None,
    Plus,
    Minus,
}

impl IndexOptions {
    /// `IndexOptions [+|-]keyword ...`; on error nothing is changed.
    pub(crate) fn index_options(&mut self, arguments: &[&str]) -> Result<(), String> {
        let mut changed = self.clone();
        for argument in arguments {
            let (sign, word) = match argument.as_bytes().first() {
                Some(b'+') => (Sign::Plus, &argument[1..]),
                Some(b'-') => (Sign::Minus, &argument[1..]),
                _ => (Sign::None, *argument),
            };
            changed.index_option(sign, word)?;
        }
        if changed.base.has(IndexFlags::NONE) && changed.base != IndexFlags::NONE {
            return Err("Cannot combine other IndexOptions keywords with 'None'".to_owned());
        }
        *self = changed;
        Ok(())
    }

    fn index_option(&mut self, sign: Sign, word: &str) -> Result<(), String> {
        if word.eq_ignore_ascii_case("None") {
            if sign != Sign::None {
                return Err("Cannot combine '+' or '-' with 'None' keyword".to_owned());
            }
            (self.base, self.added, self.removed) =
                (IndexFlags::NONE, IndexFlags::EMPTY, IndexFlags::EMPTY);
            return Ok(());
        }
        let keyword = KEYWORDS.iter().find(|(name, _)| word.eq_ignore_ascii_case(name));
        let flag = match keyword {
            Some(&(_, flag)) => flag,
            None => {
                self.valued_option(sign, word)?;
                IndexFlags::EMPTY
            }
        };
        match sign {
            // A keyword without a sign cancels the signed ones, even one that is no flag.
            Sign::None => {
                self.base |= flag;
                (self.added, self.removed) = (IndexFlags::EMPTY, IndexFlags::EMPTY);
            }
            Sign::Plus => {
                self.added |= flag;
                self.removed &= !flag;
            }
            Sign::Minus => {
                self.removed |= flag;
                self.added &= !flag;
            }
        }
        Ok(())
    }

    /// A keyword that is no flag.
    fn valued_option(&mut self, sign: Sign, word: &str) -> Result<(), String> {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        match (name.to_ascii_lowercase().as_str(), value) {
            ("iconwidth", _) => {
                self.icon_width = icon_size(sign, "IconWidth", value, ICON_WIDTH_DEFAULT)?;
            }
            ("iconheight", _) => {
                self.icon_height = icon_size(sign, "IconHeight", value, ICON_HEIGHT_DEFAULT)?;
            }
            ("namewidth", _) => {
                self.name_width = width(sign, "NameWidth", value, 5, self.name_width)?;
            }
            ("descriptionwidth", _) => {
                let before = self.description_width;
                self.description_width = width(sign, "DescriptionWidth", value, 12, before)?;
            }
            ("type", Some(media_type)) => self.media_type = Some(media_type.to_owned()),
            ("charset", Some(charset)) => self.charset = Some(charset.to_owned()),
            ("useolddateformat", None) => self.old_dates = true,
            _ => return Err("Invalid directory indexing option".to_owned()),
        }
        Ok(())
    }

    /// `IndexOrderDefault Ascending|Descending Name|Date|Size|Description`
    pub(crate) fn index_order_default(&mut self, direction: &str, key: &str) -> Result<(), String> {
        let direction = match direction.to_ascii_lowercase().as_str() {
            "ascending" => Direction::Ascending,
            "descending" => Direction::Descending,
            _ => return Err("First keyword must be 'Ascending' or 'Descending'".to_owned()),
        };
        let key = match key.to_ascii_lowercase().as_str() {
            "name" => SortKey::Name,
            "date" => SortKey::LastModified,
            "size" => SortKey::Size,
            "description" => SortKey::Description,
            _ => {
                let text = "Second keyword must be 'Name', 'Date', 'Size', or 'Description'";
                return Err(text.to_owned());
            }
        };
        (self.default_direction, self.default_key) = (Some(direction), Some(key));
        Ok(())
    }

    /// `IndexIgnore pattern ...`. Here and below, `section` is the directory of the enclosing
    /// section or `.htaccess` file, empty outside of any.
    pub(crate) fn index_ignore(&mut self, patterns: &[&str], section: &str) -> Result<(), String> {
        self.ignored.extend(patterns.iter().map(|pattern| IndexRule::ignoring(pattern, section)));
        Ok(())
    }

    /// `AddIcon icon name ...`; the icon may be `(ALT,url)`, which is AddAlt as well.
    pub(crate) fn add_icon(
        &mut self,
        by: By,
        arguments: &[&str],
        section: &str,
    ) -> Result<(), String> {
        let (icon, names) = value_and_names(arguments)?;
        let url = match icon.strip_prefix('(') {
            None => icon,
            Some(pair) => {
                let Some((inside, _)) = pair.split_once(')') else {
                    return Err("missing closing paren".to_owned());
                };
                let (alt, url) = inside.split_once(',').unwrap_or((inside, ""));
                self.alts.extend(names.iter().map(|name| rule(by, name, section, alt)));
                url
            }
        };
        self.icons.extend(names.iter().map(|name| rule(by, name, section, url)));
        Ok(())
    }

    /// `AddAlt text name ...`
    pub(crate) fn add_alt(
        &mut self,
        by: By,
        arguments: &[&str],
        section: &str,
    ) -> Result<(), String> {
        let (alt, names) = value_and_names(arguments)?;
        self.alts.extend(names.iter().map(|name| rule(by, name, section, alt)));
        Ok(())
    }

    /// `AddDescription text file ...`
    pub(crate) fn add_description(&mut self, arguments: &[&str]) -> Result<(), String> {
        let (text, files) = value_and_names(arguments)?;
        self.descriptions.extend(files.iter().map(|file| Description::new(text, file)));
        Ok(())
    }
}

fn value_and_names<'a>(arguments: &'a [&'a str]) -> Result<(&'a str, &'a [&'a str]), String> {
    match arguments.split_first() {
        Some((value, names)) => Ok((value, names)),
        None => Err("requires at least two arguments".to_owned()),
    }
}

fn rule(by: By, name: &str, section: &str, value: &str) -> IndexRule {
    match by {
        // The stars would make it a pattern.
        By::Path if name == "**DIRECTORY**" => IndexRule::new(by, "^^DIRECTORY^^", section, value),
        By::Encoding => IndexRule::new(by, &name.to_ascii_lowercase(), section, value),
        _ => IndexRule::new(by, name, section, value),
    }
}

fn icon_size(sign: Sign, name: &str, value: Option<&str>, default: u32) -> Result<u32, String> {
    match (value, sign) {
        (None, Sign::Minus) => Ok(0),
        (None, _) => Ok(default),
        (Some(_), Sign::Minus) => Err(format!("Cannot combine '-' with {name}=n")),
        (Some(number), _) => Ok(u32::try_from(leading_number(number)).unwrap_or(0)),
    }
}

/// NameWidth or DescriptionWidth; `minimum` is what httpd insists on.
fn width(
    sign: Sign,
    name: &str,
    value: Option<&str>,
    minimum: i64,
    before: Option<Width>,
) -> Result<Option<Width>, String> {
    let Some(number) = value else {
        if sign != Sign::Minus {
            return Err(format!("{name} with no value may only appear as '-{name}'"));
        }
        return Ok(Some(Width::Bytes(WIDTH_DEFAULT)));
    };
    if sign == Sign::Minus {
        return Err(format!("Cannot combine '-' with {name}=n"));
    }
    if number.starts_with('*') {
        return Ok(Some(Width::Adjusted(before.map_or(WIDTH_DEFAULT, Width::bytes))));
    }
    match leading_number(number) {
        0 => Ok(Some(Width::Bytes(0))),
        bytes if bytes < minimum => Err(format!("{name} value must be greater than {minimum}")),
        bytes => Ok(Some(Width::Bytes(usize::try_from(bytes).unwrap_or(0)))),
    }
}

/// C's `atoi`: the number at the start of the text, 0 if there is none.
fn leading_number(text: &str) -> i64 {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let number: i64 = digits[..end].parse().unwrap_or(0);
    sign * number.min(i64::from(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings of one section, `keywords` being the arguments of IndexOptions.
    fn options(keywords: &str) -> IndexOptions {
        let mut options = IndexOptions::default();
        let arguments: Vec<&str> = keywords.split_whitespace().collect();
        options.index_options(&arguments).unwrap();
        options
    }

    #[test]
    fn content_types() {
        for (keywords, expected) in [
            ("FancyIndexing", "text/html;charset=ISO-8859-1"),
            ("Charset=UTF-8", "text/html;charset=UTF-8"),
            ("Charset=", "text/html"),
            ("Type=application/xhtml+xml charset=x", "application/xhtml+xml;charset=x"),
        ] {
            assert_eq!(options(keywords).content_type(), expected);
        }
    }

    #[test]
    fn errors_have_httpds_words_and_change_nothing() {
        let invalid = "Invalid directory indexing option";
        for (arguments, expected) in [
            ("Bogus", invalid),
            ("Charset", invalid),
            ("HTMLTable=1", invalid),
            ("+None", "Cannot combine '+' or '-' with 'None' keyword"),
            ("None FancyIndexing", "Cannot combine other IndexOptions keywords with 'None'"),
            ("-IconWidth=3", "Cannot combine '-' with IconWidth=n"),
            ("-IconHeight=3", "Cannot combine '-' with IconHeight=n"),
            ("NameWidth", "NameWidth with no value may only appear as '-NameWidth'"),
            ("-NameWidth=9", "Cannot combine '-' with NameWidth=n"),
            ("NameWidth=4", "NameWidth value must be greater than 5"),
            (
                "+DescriptionWidth",
                "DescriptionWidth with no value may only appear as '-DescriptionWidth'",
            ),
            ("-DescriptionWidth=20", "Cannot combine '-' with DescriptionWidth=n"),
            ("DescriptionWidth=11", "DescriptionWidth value must be greater than 12"),
        ] {
            let mut options = IndexOptions::default();
            let words: Vec<&str> = ["XHTML"].into_iter().chain(arguments.split(' ')).collect();
            let words = if arguments.starts_with("None") { &words[1..] } else { &words[..] };
            assert_eq!(options.index_options(words).unwrap_err(), expected, "{arguments}");
            assert_eq!(options, IndexOptions::default());
        }
        let mut options = IndexOptions::default();
        assert_eq!(
            options.index_order_default("up", "Name").unwrap_err(),
            "First keyword must be 'Ascending' or 'Descending'"
        );
        assert_eq!(
            options.index_order_default("ascending", "colour").unwrap_err(),
            "Second keyword must be 'Name', 'Date', 'Size', or 'Description'"
        );
        let unclosed = options.add_icon(By::Path, &["(TXT,/i", ".txt"], "");
        assert_eq!(unclosed.unwrap_err(), "missing closing paren");
    }

    #[test]
    fn signs_and_inheritance() {
        let fancy = IndexFlags::FANCY_INDEXING;
        let merged = |outer: &str, inner: &str| {
            IndexOptions::merge(&options(outer), &options(inner)).flags()
        };
        for (outer, inner, expected) in [
            ("FancyIndexing", "", fancy),
            ("FancyIndexing", "+XHTML", fancy | IndexFlags::XHTML),
            ("FancyIndexing XHTML", "-XHTML", fancy),
            ("FancyIndexing", "XHTML", IndexFlags::XHTML),
            ("FancyIndexing", "None", IndexFlags::EMPTY),
            ("None", "+XHTML", IndexFlags::XHTML),
            ("FancyIndexing +XHTML", "", fancy | IndexFlags::XHTML),
            // Signed keywords beside unsigned ones of the innermost section are lost.
            ("HTMLTable", "FancyIndexing +XHTML", fancy),
            ("", "+XHTML FancyIndexing", fancy),
            ("+XHTML", "-XHTML", IndexFlags::EMPTY),
        ] {
            assert_eq!(merged(outer, inner), expected, "{outer} / {inner}");
        }
    }

    #[test]
    fn other_settings_are_inherited_one_by_one() {
        let mut outer = options("IconWidth=3 NameWidth=9 DescriptionWidth=20 Charset=a Type=t/t");
        outer.index_order_default("Descending", "Date").unwrap();
        outer.default_icon = Some("d".into());
        outer.readme_name = Some("r".into());
        let mut inner = options("IconHeight=4 NameWidth=*");
        inner.header_name = Some("h".into());
        let merged = IndexOptions::merge(&outer, &inner);
        assert_eq!((merged.icon_width, merged.icon_height), (3, 4));
        assert_eq!(merged.name_width, Some(Width::Adjusted(23)));
        assert_eq!(merged.description_width, Some(Width::Bytes(20)));
        assert_eq!(merged.content_type(), "t/t;charset=a");
        assert_eq!(merged.default_key, Some(SortKey::LastModified));
        assert_eq!(merged.default_direction, Some(Direction::Descending));
        assert_eq!(merged.default_icon.as_deref(), Some("d"));
        assert_eq!(merged.header_name.as_deref(), Some("h"));
        assert_eq!(merged.readme_name.as_deref(), Some("r"));
    }
}
