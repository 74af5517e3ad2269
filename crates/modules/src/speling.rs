//! speling: which names of a folder are meant by a name that is not there (mod_speling).
//! The comparison knows only the names that the hook hands over.

use config::directive::row;
use config::{Args, Call, Directive, Error, Scope};
use logging::level::Level;
use message::Status;
use message::escape::html_escape;
use message::path::encode;
use runtime::file::{self, Errno};
use server::failure::{Failure, Stop};
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::request_context::{LookupPurpose, RequestContext};
use server::site::builder::Builder;
use server::site::settings::DirectoryKey;
use server::site::store::Merge;
use server::waiting::{NowOrLater, Waiting};
use server::{question, walk};
use std::fs::File;

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "speling_module",
    "mod_speling.c",
    DIRECTIVES,
    Hooks { fixup: Some(Hook::Waits(fixup)), ..Hooks::NONE },
);

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("CheckSpelling", Args::Flag, Scope::OR_OPTIONS, "Off", "whether or not to fix miscapitalized/misspelled requests", check_spelling),
    row("CheckCaseOnly", Args::Flag, Scope::OR_OPTIONS, "Off", "whether or not to fix only miscapitalized requests", check_case_only),
    row("CheckBasenameMatch", Args::Flag, Scope::OR_OPTIONS, "On", "whether or not to fix files with the same base name", check_basename_match),
];

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings. httpd has no merge for them: the innermost section that says anything
/// about spelling decides all of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    own: Option<Checks>,
}

/// What is checked.
#[derive(Clone, Copy, Debug)]
struct Checks {
    is_on: bool,
    case_only: bool,
    basename: bool,
}

impl Default for Checks {
    fn default() -> Self {
        Self { is_on: false, case_only: false, basename: true }
    }
}

impl Merge for Settings {
    fn over(&self, outer: &Self) -> Self {
        Self { own: self.own.or(outer.own) }
    }
}

impl Settings {
    /// Whether names that are not there are looked for at all.
    pub(crate) fn is_on(&self) -> bool {
        self.own.is_some_and(|checks| checks.is_on)
    }

    fn change(&mut self) -> &mut Checks {
        self.own.get_or_insert_default()
    }
}

/// Why a name may be the one that was meant, the better the earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    /// The same but for capitals.
    Miscapitalized,
    /// Two neighbours changed places.
    Transposed,
    /// A letter of the file's name is missing.
    Missing,
    /// There is a letter too many.
    Extra,
    /// One letter is another.
    Mistyped,
    /// The same up to the first dot.
    CommonBasename,
}

impl Reason {
    /// As the list of candidates says it.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Miscapitalized => "miscapitalized",
            Self::Transposed => "transposed characters",
            Self::Missing => "character missing",
            Self::Extra => "extra character",
            Self::Mistyped => "mistyped character",
            Self::CommonBasename => "common basename",
        }
    }
}

/// A name of the folder that may have been meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpelingCandidate<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) reason: Reason,
}

/// Candidates that are offered; a folder may have any number of names with one beginning.
const CANDIDATES_MAX: usize = 1000;

/// The names of a folder that may have been meant by `wrong`, the best first; of equals that which
/// the folder has first (mod_speling.c `check_speling`). Empty if the name is there: it is then
/// something that cannot be opened, and a redirect to it would go in circles. As in httpd `.` and
/// `..` are names of the folder, too, where the system gives them.
pub(crate) fn candidates<'a>(
    settings: &Settings,
    wrong: &[u8],
    names: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<SpelingCandidate<'a>> {
    let checks = settings.own.unwrap_or_default();
    let mut found = Vec::new();
    for name in names {
        if name == wrong {
            return Vec::new();
        }
        if found.len() < CANDIDATES_MAX {
            found.extend(
                reason(checks, wrong, name).map(|reason| SpelingCandidate { name, reason }),
            );
        }
    }
    found.sort_by_key(|candidate| candidate.reason);
    found
}

fn reason(checks: Checks, wrong: &[u8], name: &[u8]) -> Option<Reason> {
    if wrong.eq_ignore_ascii_case(name) {
        return Some(Reason::Miscapitalized);
    }
    let one_letter = if checks.case_only { None } else { distance(wrong, name) };
    let is_common = || checks.basename && basename(wrong).eq_ignore_ascii_case(basename(name));
    one_letter.or_else(|| is_common().then_some(Reason::CommonBasename))
}

/// What is wrong with a name, if it is one letter (mod_speling.c `spdist`).
fn distance(wrong: &[u8], name: &[u8]) -> Option<Reason> {
    let equal = |(one, other): (&u8, &u8)| one.eq_ignore_ascii_case(other);
    let common = wrong.iter().zip(name).take_while(|&pair| equal(pair)).count();
    let is_same = |one: Option<&[u8]>, other: Option<&[u8]>| {
        one.zip(other).is_some_and(|(one, other)| one.eq_ignore_ascii_case(other))
    };
    let (wrong, name) = (&wrong[common..], &name[common..]);
    if wrong.is_empty() && name.is_empty() {
        return Some(Reason::Miscapitalized);
    }
    if let ([one, two, wrong_rest @ ..], [first, second, rest @ ..]) = (wrong, name)
        && equal((one, second))
        && equal((two, first))
        && wrong_rest.eq_ignore_ascii_case(rest)
    {
        return Some(Reason::Transposed);
    }
    if is_same(wrong.get(1..), name.get(1..)) {
        return Some(Reason::Mistyped);
    }
    if is_same(wrong.get(1..), Some(name)) {
        return Some(Reason::Extra);
    }
    is_same(Some(wrong), name.get(1..)).then_some(Reason::Missing)
}

fn basename(name: &[u8]) -> &[u8] {
    name.split(|&byte| byte == b'.').next().unwrap_or(name)
}

/// The request whose name is not there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MissingName<'a> {
    /// The decoded path of the URL.
    pub(crate) path: &'a [u8],
    /// What follows the name in it.
    pub(crate) path_info: &'a [u8],
    /// The name as the file system was asked for it.
    pub(crate) wrong: &'a [u8],
    pub(crate) query: Option<&'a [u8]>,
    pub(crate) referer: Option<&'a [u8]>,
}

/// The answer to a name that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SpelingAnswer {
    /// 301 to this URL, which still lacks scheme and host; at `info` the log has AH03224 `Fixed
    /// spelling: PATH to URL from REFERER`, or AH03225 without a referer.
    Moved(Vec<u8>),
    /// 300; at `info` the log has AH03226 `Spelling fix: PATH: N candidates from REFERER`, or
    /// AH03227 without a referer.
    Choices {
        /// What stands on the page below its heading.
        list: Vec<u8>,
        /// The environment variable `VARIANTS`.
        variants: Vec<u8>,
    },
}

impl<'a> MissingName<'a> {
    /// The path before the name, if path, name and path info fit together: an alias may have made
    /// another name of it.
    pub(crate) fn folder(&self) -> Option<&'a [u8]> {
        self.path.strip_suffix(self.path_info)?.strip_suffix(self.wrong)
    }
}

/// Makes the answer; `None` leaves the request as it is.
pub(crate) fn answer(
    asked: &MissingName<'_>,
    candidates: &[SpelingCandidate<'_>],
) -> Option<SpelingAnswer> {
    let folder = asked.folder().filter(|_| asked.path != b"/")?;
    let best = candidates.first()?;
    let is_ambiguous = candidates.get(1).is_some_and(|second| second.reason == best.reason);
    if best.reason == Reason::CommonBasename || is_ambiguous {
        return Some(SpelingAnswer::Choices {
            list: list(asked, folder, candidates),
            variants: variants(asked, folder, candidates),
        });
    }
    let mut url = Vec::new();
    encode(&[folder, best.name, asked.path_info].concat(), &mut url);
    append_query(asked, &mut url);
    Some(SpelingAnswer::Moved(url))
}

fn append_query(asked: &MissingName<'_>, out: &mut Vec<u8>) {
    if let Some(query) = asked.query {
        out.push(b'?');
        out.extend_from_slice(query);
    }
}

/// The list of candidates, byte for byte; in its links httpd escapes the question mark as well.
fn list(asked: &MissingName<'_>, folder: &[u8], candidates: &[SpelingCandidate<'_>]) -> Vec<u8> {
    let mut page = b"The document name you requested (<code>".to_vec();
    html_escape(asked.path, &mut page);
    page.extend_from_slice(
        b"</code>) could not be found on this server.\n\
          However, we found documents with names similar to the one you requested.<p>\
          Available documents:\n<ul>\n",
    );
    for (at, candidate) in candidates.iter().enumerate() {
        let target = target(asked, folder, candidate);
        page.extend_from_slice(b"<li><a href=\"");
        encode(&target, &mut page);
        page.extend_from_slice(b"\">");
        html_escape(&target, &mut page);
        page.extend_from_slice(format!("</a> ({})\n", candidate.reason.text()).as_bytes());
        let next = candidates.get(at + 1);
        let is_last_close = at > 0
            && candidate.reason != Reason::CommonBasename
            && next.is_some_and(|next| next.reason == Reason::CommonBasename);
        if is_last_close {
            page.extend_from_slice(
                b"</ul>\nFurthermore, the following related documents were found:\n<ul>\n",
            );
        }
    }
    page.extend_from_slice(b"</ul>\n");
    if let Some(referer) = asked.referer {
        let text = b"Please consider informing the owner of the referring page <tt>";
        page.extend_from_slice(text);
        html_escape(referer, &mut page);
        page.extend_from_slice(b"</tt> about the broken link.\n");
    }
    page
}

fn target(asked: &MissingName<'_>, folder: &[u8], candidate: &SpelingCandidate<'_>) -> Vec<u8> {
    let mut target = [folder, candidate.name, asked.path_info].concat();
    append_query(asked, &mut target);
    target
}

/// For an error page of one's own. httpd puts a comma between the parts of each row as well.
fn variants(
    asked: &MissingName<'_>,
    folder: &[u8],
    candidates: &[SpelingCandidate<'_>],
) -> Vec<u8> {
    let rows = candidates.iter().map(|candidate| {
        let mut url = Vec::new();
        encode(&target(asked, folder, candidate), &mut url);
        [b"\",", url.as_slice(), b",\";\",", candidate.reason.text().as_bytes(), b",\""].concat()
    });
    rows.collect::<Vec<_>>().join(&b',')
}

/// Fixup hook, behind all that may find something for a name that is not there (mod_speling.c,
/// check_speling).
pub(crate) fn fixup<'l>(request: &'l mut RequestContext<'_>) -> Waiting<'l, ()> {
    let is_missing = matches!(request.found, Err(Errno::NOENT | Errno::NOTDIR));
    let is_get = request.method().is_some_and(message::Method::is_get_or_head);
    // Where rules have found another URL, the name is not wrong.
    let is_on = SETTINGS.of(&request.settings).is_on() && request.mapping.redirect.is_none();
    if !is_on || !is_missing || !is_get || request.lineage.purpose == LookupPurpose::Sub {
        return NowOrLater::Now(Ok(()));
    }
    NowOrLater::later(correct(request))
}

async fn correct(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    let referer = request.field("Referer").map(<[u8]>::to_vec);
    let settings = *SETTINGS.of(&request.settings);
    let Ok(folder) = walk::folder(request).await else { return Ok(()) };
    let (path, path_info, query) = (
        request.path.clone(),
        request.mapping.path_info.clone(),
        request.query().map(<[u8]>::to_vec),
    );
    let wrong = request.file_name().to_vec();
    let asked = MissingName {
        path: &path,
        path_info: &path_info,
        wrong: &wrong,
        query: query.as_deref(),
        referer: referer.as_deref(),
    };
    if asked.folder().is_none() {
        return Ok(());
    }
    let Ok(found) = in_folder(request, settings, &wrong, folder.file).await? else {
        return Ok(());
    };
    let found: Vec<SpelingCandidate<'_>> =
        found.iter().map(|(name, reason)| SpelingCandidate { name, reason: *reason }).collect();
    match answer(&asked, &found) {
        None => Ok(()),
        Some(answer) => Err(stop(request, &asked, answer, found.len()).into()),
    }
}

/// Candidates in the order in which they are offered.
type Names = Result<Vec<(Vec<u8>, Reason)>, Errno>;

/// The candidates of an open folder. A large one is read and compared on another thread.
async fn in_folder(
    request: &RequestContext<'_>,
    settings: Settings,
    wrong: &[u8],
    folder: File,
) -> Result<Names, Stop> {
    let named = move |wrong: &[u8], names: &[Vec<u8>]| {
        // readdir(3) brings these two as well, in most file systems first.
        let own = [&b"."[..], b".."];
        let all = own.into_iter().chain(names.iter().map(Vec::as_slice));
        let found = candidates(&settings, wrong, all);
        found.iter().map(|one| (one.name.to_vec(), one.reason)).collect()
    };
    match file::few_names(&folder, walk::FEW_NAMES) {
        Err(errno) => Ok(Err(errno)),
        Ok(Some(names)) => Ok(Ok(named(wrong, &names))),
        Ok(None) => {
            let about = ("speling", request.mapping.place.path());
            let wrong = wrong.to_vec();
            let work = move || file::names(&folder).map(|names| named(&wrong, &names));
            Ok((*question::elsewhere::<Names>(request, &about, work).await?).clone())
        }
    }
}

fn stop(
    request: &mut RequestContext<'_>,
    asked: &MissingName<'_>,
    answer: SpelingAnswer,
    count: usize,
) -> Failure {
    let path = String::from_utf8_lossy(asked.path);
    let from = asked.referer.map(|referer| format!(" from {}", String::from_utf8_lossy(referer)));
    // mod_speling numbers each message twice: with a referer, and next to it without.
    let id = |with: u32| with + u32::from(from.is_none());
    let referer = from.as_deref().unwrap_or_default();
    match answer {
        SpelingAnswer::Moved(url) => {
            let text =
                format!("Fixed spelling: {path} to {}{referer}", String::from_utf8_lossy(&url));
            request.log(Level::Info, "speling", Some(id(3224)), &text);
            Failure::redirect(Status::MOVED_PERMANENTLY, [request.base_url(), url].concat())
        }
        SpelingAnswer::Choices { list, variants } => {
            let text = format!("Spelling fix: {path}: {count} candidates{referer}");
            request.tables.env.set("VARIANTS", variants);
            let choices = Failure::new(Status::MULTIPLE_CHOICES, "speling", text);
            choices.id(id(3226)).variants(list)
        }
    }
}

fn check_spelling(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    SETTINGS.change(builder.settings()).change().is_on = call.on();
    Ok(())
}

fn check_case_only(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    SETTINGS.change(builder.settings()).change().case_only = call.on();
    Ok(())
}

fn check_basename_match(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    SETTINGS.change(builder.settings()).change().basename = call.on();
    Ok(())
}

#[cfg(test)]
#[path = "speling_tests.rs"]
mod tests;
