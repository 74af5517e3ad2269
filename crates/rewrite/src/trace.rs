//! What the error log says about each step, from `LogLevel rewrite:trace1` to `trace8`: people and
//! tools read it, so the words are httpd's (do_rewritelog of mod_rewrite.c). Where a request is
//! explained they are told there.

use logging::level::Level;
use server::request_context::{LookupPurpose, RequestContext};
use server::steps::StepKind;
use std::borrow::Cow;

/// The name of the module in the log.
pub(crate) const MODULE: &str = "rewrite";

const LEVELS: [Level; 8] = [
    Level::Trace1,
    Level::Trace2,
    Level::Trace3,
    Level::Trace4,
    Level::Trace5,
    Level::Trace6,
    Level::Trace7,
    Level::Trace8,
];

/// The level of what expressions come to.
const EXPRESSION_LEVEL: usize = 4;

/// How much is said about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    /// The highest level that is logged.
    logged: usize,
    /// Whether the request is explained.
    is_explained: bool,
}

/// Whom a line is about.
struct Told<'f> {
    folder: Option<&'f str>,
    is_of_main: bool,
}

impl Trace {
    pub(crate) fn of(request: &RequestContext<'_>) -> Self {
        let count = LEVELS.iter().take_while(|level| request.logs(MODULE, **level)).count();
        if count > 0 {
            // It is said of each request, so each is looked up.
            request.mark_personal();
        }
        Self { logged: count, is_explained: request.is_explained() }
    }

    /// Whether nobody is told anything.
    pub(crate) fn is_silent(self) -> bool {
        self.logged == 0 && !self.is_explained
    }

    /// Whether the log is told something.
    pub(crate) fn is_logged(self) -> bool {
        self.logged > 0 && !self.is_explained
    }

    /// Say something at level 1 to 8, in the rules of `folder` if they are a folder's.
    pub(crate) fn say(
        self,
        level: usize,
        request: &RequestContext<'_>,
        folder: Option<&str>,
        text: impl FnOnce() -> String,
    ) {
        if self.is_explained {
            return request.explain(StepKind::RuleResult, || told(&text()));
        }
        self.say_in_log(level, request, folder, text);
    }

    /// Say something that explains nothing which is not told otherwise.
    pub(crate) fn say_in_log(
        self,
        level: usize,
        request: &RequestContext<'_>,
        folder: Option<&str>,
        text: impl FnOnce() -> String,
    ) {
        if level <= self.logged {
            let told = Told { folder, is_of_main: false };
            write(LEVELS[level - 1], request, &told, &text());
        }
    }

    /// Say what an expression has come to (ap_expr_exec_ctx of util_expr_eval.c).
    pub(crate) fn say_of_expression(
        self,
        request: &RequestContext<'_>,
        text: impl FnOnce() -> String,
    ) {
        if self.is_logged() && self.logged >= EXPRESSION_LEVEL {
            request.log_bytes(LEVELS[EXPRESSION_LEVEL - 1], MODULE, text().as_bytes());
        }
    }

    /// Say something of the request that a look-up is for, if it is one.
    pub(crate) fn say_of_main(
        self,
        level: usize,
        request: &RequestContext<'_>,
        text: impl FnOnce() -> String,
    ) {
        if self.is_explained {
            return request.explain(StepKind::RuleResult, || told(&text()));
        }
        if level <= self.logged {
            let told = Told { folder: None, is_of_main: true };
            write(LEVELS[level - 1], request, &told, &text());
        }
    }
}

/// Bytes as text of a line: each that is no UTF-8 is a character of its own, which stands for it
/// until the line is written. The log shows all bytes, as httpd does.
pub(crate) fn shown(bytes: &[u8]) -> Cow<'_, str> {
    if std::str::from_utf8(bytes).is_ok_and(|text| !text.contains(stands_for_a_byte)) {
        return String::from_utf8_lossy(bytes);
    }
    let mut out = String::with_capacity(bytes.len() + 16);
    let stand_in = |byte: &u8| char::from_u32(STAND_INS + u32::from(*byte));
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match stands_for_a_byte(letter) {
                // A client can send those characters, too.
                true => {
                    let mut own = [0; 4];
                    out.extend(letter.encode_utf8(&mut own).as_bytes().iter().filter_map(stand_in));
                }
                false => out.push(letter),
            }
        }
        out.extend(chunk.invalid().iter().filter_map(stand_in));
    }
    Cow::Owned(out)
}

/// Characters from here on stand for bytes: the last that Unicode has, which are nobody's.
const STAND_INS: u32 = 0x0010_ff00;

fn stands_for_a_byte(letter: char) -> bool {
    u32::from(letter) >= STAND_INS
}

/// The bytes that a text of `shown` is of.
fn bytes_of(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for letter in text.chars() {
        match u32::from(letter).checked_sub(STAND_INS).and_then(|byte| u8::try_from(byte).ok()) {
            Some(byte) => out.push(byte),
            None => out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out
}

/// A text of `shown` for whoever reads it elsewhere than in the log.
pub(crate) fn told(text: &str) -> String {
    String::from_utf8_lossy(&bytes_of(text)).into_owned()
}

#[cold]
fn write(level: Level, request: &RequestContext<'_>, told: &Told<'_>, text: &str) {
    let client = request.client();
    let user = match request.authentication.user.as_deref() {
        None => "-".into(),
        Some([]) => "\"\"".into(),
        Some(user) => shown(user),
    };
    let is_sub = request.lineage.purpose == LookupPurpose::Sub && !told.is_of_main;
    let kind = if is_sub { "subreq" } else { "initial" };
    let redirects = match request.lineage.redirects {
        count if count > 0 && !is_sub => format!("/redir#{count}"),
        _ => String::new(),
    };
    let folder = told.folder.map(|folder| format!("[perdir {folder}] ")).unwrap_or_default();
    let host = request.server_name_for_log();
    let (site, own) = (std::ptr::from_ref(request.host).addr(), std::ptr::from_ref(request).addr());
    let text = format!(
        "{client} - {user} [{host}/sid#{site:x}][rid#{own:x}/{kind}{redirects}] {folder}{text}"
    );
    request.log_bytes(level, MODULE, &bytes_of(&text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        for bytes in
            [&b"/a \xff\xfe/\xc3\xbc\xc3"[..], b"\xf4\x8f\xbe\x80 \xf4\x8f\xbf\xbf", b"plain"]
        {
            assert_eq!(bytes_of(&shown(bytes)), bytes);
        }
        assert_eq!(told(&shown(b"a\xff")), "a\u{fffd}");
    }
}
