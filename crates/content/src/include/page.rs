//! A page while it is made: its settings, which of its parts count, and one element after the
//! other.

use super::output::{InFile, Output, next};
use super::parse::{Element, Parser, Part};
use super::state::{LastMatch, Shared};
use super::{SETTINGS, TAGS};
use logging::level::Level;
use server::failure::Failure;
use server::request_context::RequestContext;
use server::request_state::RequestKey;
use server::response::{Body, BodyPiece};
use server::table::Table;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

const ERROR_MESSAGE: &str = "[an error occurred while processing this directive]";
const TIME_FORMAT: &str = "%A, %d-%b-%Y %H:%M:%S %Z";
const UNDEFINED_ECHO: &str = "(none)";

/// A page that is made for a request.
pub(super) struct Page<'p, 'a> {
    pub(super) request: &'p mut RequestContext<'a>,
    pub(super) out: Output,
    pub(super) shared: Shared,
    pub(super) last_match: LastMatch,
    pub(super) error_message: Vec<u8>,
    pub(super) time_format: Vec<u8>,
    pub(super) undefined_echo: Vec<u8>,
    /// Whether sizes are shown in bytes.
    pub(super) shows_bytes: bool,
    /// Whether programs may be run.
    pub(super) runs_programs: bool,
    pub(super) is_legacy: bool,
    /// What counts of `if` and `else`.
    pub(super) branch: Branch,
}

/// Where a page stands between `if` and `endif`.
#[derive(Debug)]
pub(super) struct Branch {
    /// Whether what stands here is part of the page.
    pub(super) is_printing: bool,
    /// Whether a branch has been chosen already.
    pub(super) is_decided: bool,
    /// How many `if` within what is left out have no `endif` yet.
    pub(super) skipped: u32,
    /// A condition could not be told: `else` is passed over until the next `endif`.
    pub(super) has_failed: bool,
}

impl Default for Branch {
    fn default() -> Self {
        Self { is_printing: true, is_decided: true, skipped: 0, has_failed: false }
    }
}

/// What an including page lends to the one that it includes, which works on its variables.
pub(super) type Lent = Rc<RefCell<Option<(Shared, Table)>>>;

/// The key of a look-up for a page that includes it.
static LENT: RequestKey<Lent> = RequestKey::new();

impl<'p, 'a> Page<'p, 'a> {
    /// A page for a request, nothing of it made yet.
    pub(super) fn of(request: &'p mut RequestContext<'a>) -> Self {
        let settings = SETTINGS.of(&request.settings).clone();
        let text = |said: Option<String>, unsaid: &str| {
            said.map_or_else(|| unsaid.as_bytes().to_vec(), String::into_bytes)
        };
        Self {
            out: Output::default(),
            shared: Shared::default(),
            last_match: LastMatch::default(),
            error_message: text(settings.error_message, ERROR_MESSAGE),
            time_format: text(settings.time_format, TIME_FORMAT),
            undefined_echo: text(settings.undefined_echo, UNDEFINED_ECHO),
            shows_bytes: false,
            runs_programs: request.settings.core.runs_in_includes(),
            is_legacy: settings.is_legacy == Some(true),
            branch: Branch::default(),
            request,
        }
    }

    /// Make it of what lies in its file, or what a program says.
    pub(super) async fn made_of(mut self, body: Body) -> Result<Body, Failure> {
        let lent = LENT.of(&self.request.state).cloned();
        let outer = lent.as_ref().and_then(|lent| lent.take());
        let is_included = outer.is_some();
        match outer {
            Some((shared, env)) => (self.shared, self.request.tables.env) = (shared, env),
            None => self.set_first_variables(),
        }
        self.set_query();
        let made = self.read(body).await;
        if let Some(lent) = lent.filter(|_| is_included) {
            let env = std::mem::take(&mut self.request.tables.env);
            lent.replace(Some((std::mem::take(&mut self.shared), env)));
        }
        made.map(|()| self.out.end())
    }

    /// Lend what this page has to one that it includes.
    pub(super) fn lend(&mut self, to: &mut RequestContext<'_>) -> Lent {
        let env = std::mem::take(&mut self.request.tables.env);
        let lent: Lent = Rc::new(RefCell::new(Some((std::mem::take(&mut self.shared), env))));
        LENT.set(&mut to.state, Some(lent.clone()));
        lent
    }

    /// Take back what was lent.
    pub(super) fn take_back(&mut self, lent: &Lent) {
        if let Some((shared, env)) = lent.take() {
            (self.shared, self.request.tables.env) = (shared, env);
        }
    }

    async fn read(&mut self, body: Body) -> Result<(), Failure> {
        let tags = TAGS.of(&self.request.host.modules);
        let mut parser = Parser::new(tags.start.as_bytes(), tags.end.as_bytes());
        let spent = self.request.spent().clone();
        let file = match body.pieces.as_slice() {
            [BodyPiece::File { source, offset, .. }] => Some((source.clone(), *offset)),
            _ => None,
        };
        let (mut pieces, mut found) = (VecDeque::from(body.pieces), Vec::new());
        loop {
            let bytes = next(&mut pieces, &spent).await?;
            match &bytes {
                Some(bytes) => parser.add(bytes, &mut found),
                None => parser.finish(&mut found),
            }
            for part in found.drain(..) {
                match part {
                    Part::Text { .. } if !self.branch.is_printing => {}
                    Part::Text { at, bytes } => match &file {
                        Some((source, start)) => {
                            let place = InFile { source, offset: start + at };
                            self.out.text_of_file(&bytes, &place);
                        }
                        None => self.out.text(&bytes),
                    },
                    Part::Element(element) => self.element(element).await?,
                    Part::Broken { id, text } => self.wrong(id, &text),
                    Part::Unfinished => self.wrong(
                        1372,
                        "SSI directive was not properly finished at the end of parsed document",
                    ),
                }
                self.out.check()?;
            }
            if bytes.is_none() {
                break;
            }
        }
        if !self.branch.is_printing {
            self.log(Level::Warn, 1373, "missing closing endif directive in parsed document");
        }
        Ok(())
    }

    async fn element(&mut self, element: Element) -> Result<(), Failure> {
        match element.name.as_slice() {
            b"if" => self.if_element(&element).await,
            b"elif" => self.elif_element(&element).await,
            b"else" => self.else_element(&element),
            b"endif" => self.endif_element(&element),
            b"comment" => {}
            b"echo" if self.counts(&element, 1343) => self.echo(&element),
            b"set" if self.counts(&element, 1362) => self.set(&element),
            b"config" if self.counts(&element, 1347) => self.config(&element),
            b"printenv" => self.print_environment(&element),
            b"fsize" if self.counts(&element, 1350) => self.file_size(&element).await,
            b"flastmod" if self.counts(&element, 1351) => self.file_time(&element).await,
            b"include" if self.counts(&element, 1341) => return self.include(&element).await,
            b"exec" if self.counts(&element, 3195) => return self.exec(&element).await,
            b"echo" | b"set" | b"config" | b"fsize" | b"flastmod" | b"include" | b"exec" => {}
            name => {
                let name = String::from_utf8_lossy(name);
                self.wrong(1371, &format!("unknown directive \"{name}\" in parsed doc"));
            }
        }
        Ok(())
    }

    /// Whether an element that needs arguments is to do something. One without is told, by `id`.
    fn counts(&mut self, element: &Element, id: u32) -> bool {
        let least = if element.name == b"set" { 2 } else { 1 };
        if element.arguments.len() < least {
            let name = String::from_utf8_lossy(&element.name);
            let text = format!("missing argument for {name} element in");
            self.log(self.level(), id, &text);
            self.show_error();
            return false;
        }
        self.branch.is_printing
    }

    /// How much it matters what is wrong with an element here.
    pub(super) fn level(&self) -> Level {
        if self.branch.is_printing { Level::Error } else { Level::Warn }
    }

    /// Say in the log what is wrong, and that something is in the page.
    pub(super) fn wrong(&mut self, id: u32, text: &str) {
        self.log(Level::Error, id, text);
        self.show_error();
    }

    pub(super) fn show_error(&mut self) {
        if self.branch.is_printing {
            self.out.text(&self.error_message);
        }
    }

    /// Log something about this page, which is named behind it.
    pub(super) fn log(&self, level: Level, id: u32, text: &str) {
        let text = format!("{text} {}", self.request.display_path());
        self.request.log(level, "include", Some(id), &text);
    }
}
