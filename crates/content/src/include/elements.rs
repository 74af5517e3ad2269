//! Elements that ask nobody else: conditions, variables, and how things are shown.

use super::encode::{decode, encode, unescape_html};
use super::legacy::{Join, LegacyExpr, Operator, Term};
use super::page::{Branch, Page};
use super::parse::Element;
use super::state::Unknown;
use logging::level::Level;
use message::escape::html_escape;
use pattern::Regex;
use server::phase::{self, condition};
use server::request_context::Query;
use server::site::expression::{Expression, Mode};
use std::pin::Pin;

/// A condition that cannot be told; the log knows why.
struct NoValue;

impl Page<'_, '_> {
    /// `<!--#if expr="..." -->`
    pub(super) async fn if_element(&mut self, element: &Element) {
        if element.arguments.len() != 1 {
            let (id, text) = match element.arguments.len() {
                0 => (1353, "missing expr argument for if element in"),
                _ => (1352, "too many arguments for if element in"),
            };
            self.log(self.level(), id, text);
        }
        if !self.branch.is_printing {
            self.branch.skipped += 1;
            return;
        }
        let text = self.expression_of(element, [1354, 1355]);
        self.branch_if(text).await;
    }

    /// `<!--#elif expr="..." -->`
    pub(super) async fn elif_element(&mut self, element: &Element) {
        if element.arguments.len() != 1 {
            let (id, text) = match element.arguments.len() {
                0 => (1357, "missing expr argument for if element in"),
                _ => (1356, "too many arguments for if element in"),
            };
            self.log(self.branch_level(), id, text);
        }
        if self.branch.skipped > 0 {
            return;
        }
        let text = self.expression_of(element, [1358, 1359]);
        match text {
            Ok(_) if self.branch.is_decided => self.branch.is_printing = false,
            text => self.branch_if(text).await,
        }
    }

    /// `<!--#else -->`
    pub(super) fn else_element(&mut self, element: &Element) {
        if !element.arguments.is_empty() {
            self.log(self.branch_level(), 1360, "else directive does not take tags in");
        }
        if self.branch.skipped > 0 {
            return;
        }
        if !element.arguments.is_empty() {
            return self.show_error();
        }
        if !self.branch.has_failed {
            self.branch.is_printing = !self.branch.is_decided;
            self.branch.is_decided = true;
        }
    }

    /// `<!--#endif -->`
    pub(super) fn endif_element(&mut self, element: &Element) {
        if !element.arguments.is_empty() {
            self.log(self.branch_level(), 1361, "endif directive does not take tags in");
        }
        if self.branch.skipped > 0 {
            self.branch.skipped -= 1;
            return;
        }
        if !element.arguments.is_empty() {
            return self.out.text(&self.error_message);
        }
        self.branch = Branch::default();
    }

    fn branch_level(&self) -> Level {
        if self.branch.skipped == 0 { Level::Error } else { Level::Warn }
    }

    /// What an element says that has to hold.
    fn expression_of(
        &self,
        element: &Element,
        [unknown, missing]: [u32; 2],
    ) -> Result<Vec<u8>, NoValue> {
        // Others are told already.
        let [argument] = element.arguments.as_slice() else { return Err(NoValue) };
        let kind = String::from_utf8_lossy(&element.name);
        if argument.name != b"expr" {
            let name = String::from_utf8_lossy(&argument.name);
            let text = format!("unknown parameter \"{name}\" to tag {kind} in");
            self.log(Level::Error, unknown, &text);
            return Err(NoValue);
        }
        argument.value.clone().ok_or_else(|| {
            let text = format!("missing expr value for {kind} element in");
            self.log(Level::Error, missing, &text);
            NoValue
        })
    }

    /// Go on with a branch if its condition holds. Of one that cannot be told the page says so.
    async fn branch_if(&mut self, text: Result<Vec<u8>, NoValue>) {
        let holds = match text {
            Ok(text) if self.is_legacy => self.legacy(&text).await,
            Ok(text) => self.expression(&text).await,
            Err(NoValue) => Err(NoValue),
        };
        if holds.is_err() {
            self.out.text(&self.error_message);
            self.branch.has_failed = true;
        }
        let holds = holds.unwrap_or(false);
        self.branch.is_printing = holds;
        self.branch.is_decided = holds;
    }

    /// An expression as everywhere (parse_ap_expr).
    async fn expression(&mut self, text: &[u8]) -> Result<bool, NoValue> {
        self.compute_named(text);
        let shown = String::from_utf8_lossy(text);
        let said = |step, error: &str, file: &str| {
            format!("Could not {step} expr \"{shown}\" in {file}: {error}")
        };
        let file = self.request.display_path();
        let expression = Expression::parse(&shown, Mode::page()).map_err(|error| {
            let text = said("parse", &error, &file);
            self.request.log(Level::Error, "include", Some(1337), &text);
            NoValue
        })?;
        let mut matches = std::mem::take(&mut self.last_match.matches);
        let holds = condition::holds_with(&expression, self.request, None, &mut matches).await;
        self.last_match.has_match |= !matches.is_empty();
        self.last_match.matches = matches;
        // As in httpd, which does not learn how many groups there are: only `$0` is one.
        self.last_match.pattern.get_or_insert(("(null)".to_owned(), 0));
        holds.map_err(|error| {
            let text = said("evaluate", &error, &file);
            self.request.log(Level::Error, "include", Some(1338), &text);
            NoValue
        })
    }

    /// An expression of httpd 2.2 (parse_expr).
    async fn legacy(&mut self, text: &[u8]) -> Result<bool, NoValue> {
        let parsed = LegacyExpr::parse(text).map_err(|(id, what)| {
            let shown = String::from_utf8_lossy(text);
            self.log(Level::Error, id, &format!("{what} \"{shown}\" in file"));
            NoValue
        })?;
        let mut patterns = parsed.patterns();
        Ok(self.legacy_expression(&parsed, &mut patterns).await)
    }

    /// Whether it holds. While there are patterns to come, whose groups may be asked for, nothing
    /// is left out.
    fn legacy_expression<'l>(
        &'l mut self,
        expression: &'l LegacyExpr,
        patterns: &'l mut usize,
    ) -> Pin<Box<dyn Future<Output = bool> + 'l>> {
        Box::pin(async move {
            let mut decided = None;
            for (term, join) in &expression.terms {
                let holds = self.legacy_term(term, patterns).await;
                if decided.is_none() {
                    match join {
                        Some(Join::And) if holds => {}
                        Some(Join::Or) if !holds => {}
                        _ => decided = Some(holds),
                    }
                }
                if decided.is_some() && *patterns == 0 {
                    break;
                }
            }
            decided.unwrap_or(false)
        })
    }

    async fn legacy_term(&mut self, term: &Term, patterns: &mut usize) -> bool {
        match term {
            Term::Text(text) => !self.expand(text, Unknown::Drop).is_empty(),
            Term::Compare { left, operator, right } => {
                let left = self.expand(left, Unknown::Drop);
                let right = self.expand(right, Unknown::Drop);
                match operator {
                    Operator::Equal => left == right,
                    Operator::NotEqual => left != right,
                    Operator::Less => left < right,
                    Operator::LessOrEqual => left <= right,
                    Operator::Greater => left > right,
                    Operator::GreaterOrEqual => left >= right,
                }
            }
            Term::Match { left, pattern, is_negated } => {
                *patterns = patterns.saturating_sub(1);
                let left = self.expand(left, Unknown::Drop);
                let pattern = self.expand(pattern, Unknown::Drop);
                self.matches(&left, &pattern) != *is_negated
            }
            Term::Not(inner) => match &**inner {
                Term::Group(inner) => !self.legacy_expression(inner, patterns).await,
                inner => !Box::pin(self.legacy_term(inner, patterns)).await,
            },
            // A group of nothing holds.
            Term::Group(inner) if inner.terms.is_empty() => true,
            Term::Group(inner) => self.legacy_expression(inner, patterns).await,
            Term::Access(url) => {
                let url = self.expand(url, Unknown::Drop);
                phase::look_up(self.request, &url, Query::None).await.is_ok()
            }
        }
    }

    /// re_check: a pattern that does not compile matches, as httpd's -1 does.
    fn matches(&mut self, text: &[u8], pattern: &[u8]) -> bool {
        let pattern = String::from_utf8_lossy(pattern).into_owned();
        let Ok(regex) = Regex::new(&pattern, Mode::page().regex) else {
            let text = format!("unable to compile pattern \"{pattern}\"");
            self.request.log(Level::Error, "include", Some(2667), &text);
            return true;
        };
        let captures = regex.captures(text).ok().flatten();
        self.last_match.pattern = Some((pattern, regex.group_count()));
        self.last_match.has_match = captures.is_some();
        self.last_match.matches.set(text, captures.as_ref());
        captures.is_some()
    }

    /// `<!--#echo var="..." -->`
    pub(super) fn echo(&mut self, element: &Element) {
        let (mut decoding, mut encoding) = (b"none".to_vec(), b"entity".to_vec());
        for argument in &element.arguments {
            let Some(value) = argument.value.as_deref().map(unescape_html) else { return };
            match argument.name.as_slice() {
                b"decoding" => decoding = value,
                b"encoding" => encoding = value,
                b"var" => {
                    let name = self.expand(&value, Unknown::Drop);
                    let shown = match self.variable(&name) {
                        Some(value) => {
                            self.recode(value, &decoding, &encoding, ("echo", [1344, 1345]))
                        }
                        None => Some(self.undefined_echo.clone()),
                    };
                    let Some(shown) = shown else { return };
                    self.out.text(&shown);
                }
                name => {
                    let name = String::from_utf8_lossy(name);
                    return self
                        .wrong(1346, &format!("unknown parameter \"{name}\" in tag echo of"));
                }
            }
        }
    }

    /// `<!--#set var="..." value="..." -->`
    pub(super) fn set(&mut self, element: &Element) {
        let (mut decoding, mut encoding) = (b"none".to_vec(), b"none".to_vec());
        let mut name = None;
        for argument in &element.arguments {
            let Some(value) = argument.value.as_deref() else { return };
            match (argument.name.as_slice(), &name) {
                (b"var", _) => name = Some(self.expand(&unescape_html(value), Unknown::Drop)),
                (b"decoding", _) => decoding = value.to_vec(),
                (b"encoding", _) => encoding = value.to_vec(),
                (b"value", Some(name)) => {
                    let value = self.expand(value, Unknown::Drop);
                    let recoded = self.recode(value, &decoding, &encoding, ("set", [1364, 1365]));
                    let Some(value) = recoded else { return };
                    self.set_variable(name, value);
                }
                (b"value", None) => {
                    return self.wrong(1363, "variable must precede value in set directive in");
                }
                _ => return self.wrong(1366, "Invalid tag for set directive in"),
            }
        }
    }

    /// A value decoded, then encoded; `None` for a way that is none, which the page says.
    fn recode(
        &mut self,
        value: Vec<u8>,
        decoding: &[u8],
        encoding: &[u8],
        (tag, [bad_decoding, bad_encoding]): (&str, [u32; 2]),
    ) -> Option<Vec<u8>> {
        let recoded =
            decode(decoding, value).map_err(|word| (bad_decoding, "decoding", word)).and_then(
                |value| encode(encoding, value).map_err(|word| (bad_encoding, "encoding", word)),
            );
        recoded
            .map_err(|(id, parameter, word)| {
                let word = String::from_utf8_lossy(&word);
                let text = format!(
                    "unknown value \"{word}\" to parameter \"{parameter}\" of tag {tag} in"
                );
                self.wrong(id, &text);
            })
            .ok()
    }

    /// `<!--#config errmsg="..." -->`
    pub(super) fn config(&mut self, element: &Element) {
        for argument in &element.arguments {
            let Some(value) = argument.value.as_deref() else { return };
            let value = self.expand(value, Unknown::Drop);
            match (argument.name.as_slice(), value.as_slice()) {
                (b"errmsg", _) => self.error_message = value,
                (b"echomsg", _) => self.undefined_echo = value,
                (b"timefmt", _) => {
                    self.time_format = value;
                    self.set_times();
                }
                (b"sizefmt", b"bytes") => self.shows_bytes = true,
                (b"sizefmt", b"abbrev") => self.shows_bytes = false,
                (b"sizefmt", value) => {
                    let value = String::from_utf8_lossy(value);
                    return self.wrong(
                        1348,
                        &format!(
                            "unknown value \"{value}\" to parameter \"sizefmt\" of tag config in"
                        ),
                    );
                }
                (name, _) => {
                    let name = String::from_utf8_lossy(name);
                    return self
                        .wrong(1349, &format!("unknown parameter \"{name}\" to tag config in"));
                }
            }
        }
    }

    /// `<!--#printenv -->`
    pub(super) fn print_environment(&mut self, element: &Element) {
        if !element.arguments.is_empty() {
            self.log(self.level(), 1367, "printenv directive does not take tags in");
            return self.show_error();
        }
        if !self.branch.is_printing {
            return;
        }
        self.compute_all();
        let mut text = Vec::new();
        for (name, value) in self.request.tables.env.iter() {
            html_escape(name.as_bytes(), &mut text);
            text.push(b'=');
            html_escape(value, &mut text);
            text.push(b'\n');
        }
        self.out.text(&text);
    }
}
