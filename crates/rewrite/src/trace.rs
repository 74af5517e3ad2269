//! What the error log says about each step, from `LogLevel rewrite:trace1` to `trace8`: people and
//! tools read it, so the words are httpd's (do_rewritelog of mod_rewrite.c). Where a request is
//! explained they are told there.

use logging::level::Level;
use server::request_context::{LookupPurpose, RequestContext};
use server::steps::StepKind;

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

/// How much is said about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    /// The highest level that is logged.
    logged: usize,
    /// Whether the request is explained.
    is_explained: bool,
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

    /// Say something at level 1 to 8, in the rules of `folder` if they are a folder's.
    pub(crate) fn say(
        self,
        level: usize,
        request: &RequestContext<'_>,
        folder: Option<&str>,
        text: impl FnOnce() -> String,
    ) {
        if self.is_explained {
            return request.explain(StepKind::RuleResult, text);
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
            write(LEVELS[level - 1], request, folder, &text());
        }
    }
}

#[cold]
fn write(level: Level, request: &RequestContext<'_>, folder: Option<&str>, text: &str) {
    let client = request.client();
    let user = match request.authentication.user.as_deref() {
        None => "-".into(),
        Some([]) => "\"\"".into(),
        Some(user) => String::from_utf8_lossy(user),
    };
    let kind = match request.lineage.purpose {
        LookupPurpose::Sub => "subreq",
        LookupPurpose::Main | LookupPurpose::Redirected => "initial",
    };
    let redirects = match (request.lineage.purpose, request.lineage.redirects) {
        (LookupPurpose::Sub, _) | (_, 0) => String::new(),
        (_, count) => format!("/redir#{count}"),
    };
    let folder = folder.map(|folder| format!("[perdir {folder}] ")).unwrap_or_default();
    let (host, site) = (request.server_name_for_log(), std::ptr::from_ref(request.host));
    let own = std::ptr::from_ref(request);
    let text = format!(
        "{client} - {user} [{host}/sid#{site:x?}][rid#{own:x?}/{kind}{redirects}] {folder}{text}"
    );
    request.log(level, MODULE, None, &text);
}
