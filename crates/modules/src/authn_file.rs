//! authn_file: users and the hashes of their passwords in a text file (mod_authn_file).

use crate::auth_text;
use config::{Args, Call, Directive, Error, Scope};
use logging::level::Level;
use server::answers::{HelperAnswer, Question};
use server::module::{Hooks, Module};
use server::question;
use server::request_context::RequestContext;
use server::site::builder::Builder;
use server::site::settings::DirectoryKey;
use server::site::store::{Merge, either};
use server::waiting::{NowOrLater, Waiting};
use std::hash::Hash;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The module and its table.
pub(crate) static MODULE: Module =
    Module::new("authn_file_module", "mod_authn_file.c", DIRECTIVES, Hooks::NONE);

static DIRECTIVES: &[Directive<Builder>] = &[Directive {
    name: "AuthUserFile",
    args: Args::One,
    scope: Scope::OR_AUTHCFG,
    default: "",
    help: "text file containing user IDs and passwords",
    apply: auth_user_file,
}];

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    user_file: Option<Arc<PathBuf>>,
}

impl Merge for Settings {
    fn over(&self, outer: &Self) -> Self {
        Self { user_file: either(self.user_file.as_ref(), outer.user_file.as_ref()) }
    }
}

impl Settings {
    /// `AuthUserFile`
    pub(crate) fn user_file(&self) -> Option<&Arc<PathBuf>> {
        self.user_file.as_ref()
    }
}

fn auth_user_file(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let path = Arc::new(builder.server_path(call.arg(0)));
    SETTINGS.change(builder.settings()).user_file = Some(path);
    Ok(())
}

/// What a provider says about a user (httpd's authn_status).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthnStatus {
    Granted,
    Denied,
    UserNotFound,
    /// The log has the reason.
    Error,
}

/// The longest line that is read (`MAX_STRING_LEN`).
const LINE_BYTES_MAX: usize = 8191;

/// Whether the password is that of the user.
pub(crate) fn check_password<'l>(
    request: &'l RequestContext<'_>,
    file: Option<&Path>,
    user: &'l [u8],
    password: Vec<u8>,
) -> Waiting<'l, AuthnStatus> {
    let ids = Ids { unset: 1619, unreadable: 1620 };
    let asked = user.to_vec();
    let about = ("user", user);
    let entry = entry(request, file, &ids, &about, move |line| of_user(line, &asked));
    entry.and_then(move |entry| match entry {
        Ok(Some(hash)) => check_hash(request, user, password, hash),
        Ok(None) => NowOrLater::Now(Ok(AuthnStatus::UserNotFound)),
        Err(Unreadable) => NowOrLater::Now(Ok(AuthnStatus::Error)),
    })
}

/// Whether the password is the one that was hashed.
fn check_hash<'l>(
    request: &'l RequestContext<'_>,
    user: &'l [u8],
    password: Vec<u8>,
    hash: Vec<u8>,
) -> Waiting<'l, AuthnStatus> {
    let question = Question::Password { hash, password };
    question::ask(request, question).map(move |answer| {
        let text = match answer? {
            HelperAnswer::Fits(Ok(true)) => return Ok(AuthnStatus::Granted),
            HelperAnswer::Fits(Err(unusable)) => unusable.to_string(),
            _ => return Ok(AuthnStatus::Denied),
        };
        // httpd's crypt(3) says nothing but no; the administrator should know why.
        let text = format!("user {}: {text}", String::from_utf8_lossy(user));
        request.log(Level::Warn, "authn_file", None, &text);
        Ok(AuthnStatus::Denied)
    })
}

/// Whether `digest` is the one that the file has for a user of a realm, as `htdigest` writes it.
pub(crate) fn check_digest<'l>(
    request: &'l RequestContext<'_>,
    file: Option<&Path>,
    user: &[u8],
    realm: &[u8],
    digest: Vec<u8>,
) -> Waiting<'l, AuthnStatus> {
    let ids = Ids { unset: 1621, unreadable: 1622 };
    let asked = (user.to_vec(), realm.to_vec());
    let look = move |line: &[u8]| of_realm(line, &asked.0, &asked.1);
    entry(request, file, &ids, &("realm", user, realm), look).map(move |entry| {
        Ok(match entry? {
            Ok(Some(known)) if known == digest => AuthnStatus::Granted,
            Ok(Some(_)) => AuthnStatus::Denied,
            Ok(None) => AuthnStatus::UserNotFound,
            Err(Unreadable) => AuthnStatus::Error,
        })
    })
}

fn of_user(line: &[u8], user: &[u8]) -> Option<Vec<u8>> {
    let (name, rest) = auth_text::before(line, b':');
    (name == user).then(|| auth_text::before(rest, b':').0.to_vec())
}

fn of_realm(line: &[u8], user: &[u8], realm: &[u8]) -> Option<Vec<u8>> {
    let (name, rest) = auth_text::before(line, b':');
    let (of, rest) = auth_text::before(rest, b':');
    (name == user && of == realm).then(|| auth_text::before(rest, b':').0.to_vec())
}

/// httpd's numbers for what may be wrong with a file.
struct Ids {
    unset: u32,
    unreadable: u32,
}

/// The log has the reason.
struct Unreadable;

fn entry<'l>(
    request: &'l RequestContext<'_>,
    file: Option<&Path>,
    ids: &Ids,
    about: &impl Hash,
    look: impl FnMut(&[u8]) -> Option<Vec<u8>> + Send + 'static,
) -> Waiting<'l, Result<Option<Vec<u8>>, Unreadable>> {
    request.mark_personal();
    let Some(path) = file else {
        let text = "AuthUserFile not specified in the configuration";
        request.log_recurring(Level::Error, "authn_file", Some(ids.unset), text);
        return NowOrLater::Now(Ok(Err(Unreadable)));
    };
    match auth_text::TEXTS.of(&request.context.modules).open(path) {
        Ok(text) => {
            let search = |lines: &mut dyn BufRead| auth_text::find(lines, LINE_BYTES_MAX, look);
            text.search(request, &(path, about), search).map(|found| found.map(Ok))
        }
        Err(errno) => {
            let text = format!("Could not open password file: {}", path.display());
            request.log_errno(errno, "authn_file", ids.unreadable, &text);
            NowOrLater::Now(Ok(Err(Unreadable)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_field_is_the_user_and_the_second_the_hash() {
        for (line, user, expected) in [
            ("a:x", "a", Some("x")),
            ("a:x:more", "a", Some("x")),
            ("a", "a", Some("")),
            ("ab:x", "a", None),
            ("a:x", "ab", None),
            (":x", "", Some("x")),
        ] {
            let hash = of_user(line.as_bytes(), user.as_bytes());
            assert_eq!(hash.as_deref(), expected.map(str::as_bytes), "{line} {user}");
        }
        assert_eq!(of_realm(b"a:r:x", b"a", b"r").as_deref(), Some(&b"x"[..]));
        assert_eq!(of_realm(b"a:r:x", b"a", b"s"), None);
    }
}
