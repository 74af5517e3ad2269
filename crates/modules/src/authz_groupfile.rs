//! authz_groupfile: who may see what by groups of users, which stand in a text file
//! (mod_authz_groupfile).

use crate::require::{AuthzStatus, words};
use crate::{auth_text, authz_owner};
use config::{Args, Call, Directive, Error, Scope};
use logging::level::Level;
use server::module::{Hooks, Module};
use server::request_context::RequestContext;
use server::site::builder::Builder;
use server::site::expression::ExpressionText;
use server::site::settings::DirectoryKey;
use server::site::store::{Merge, either};
use server::waiting::{NowOrLater, Waiting};
use std::io::BufRead;
use std::path::PathBuf;
use std::sync::Arc;

/// The module and its table.
pub(crate) static MODULE: Module =
    Module::new("authz_groupfile_module", "mod_authz_groupfile.c", DIRECTIVES, Hooks::NONE);

static DIRECTIVES: &[Directive<Builder>] = &[Directive {
    name: "AuthGroupFile",
    args: Args::One,
    scope: Scope::OR_AUTHCFG,
    default: "",
    help: "text file containing group names and member user IDs",
    apply: auth_group_file,
}];

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    group_file: Option<Arc<PathBuf>>,
}

impl Merge for Settings {
    fn over(&self, outer: &Self) -> Self {
        Self { group_file: either(self.group_file.as_ref(), outer.group_file.as_ref()) }
    }
}

impl Settings {
    /// `AuthGroupFile`
    pub(crate) fn group_file(&self) -> Option<&Arc<PathBuf>> {
        self.group_file.as_ref()
    }
}

fn auth_group_file(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let path = Arc::new(builder.server_path(call.arg(0)));
    SETTINGS.change(builder.settings()).group_file = Some(path);
    Ok(())
}

/// The longest line that is read (`VARBUF_MAX_LEN`).
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// `Require group`
pub(crate) fn check_group<'l>(
    request: &'l RequestContext<'_>,
    file: Option<&'l Arc<PathBuf>>,
    text: &'l ExpressionText,
) -> Waiting<'l, AuthzStatus> {
    let Some(user) = &request.authentication.user else {
        return NowOrLater::Now(Ok(AuthzStatus::DeniedNoUser));
    };
    let ids = Ids { unset: 1664, unreadable: 1665, unknown: (1666, Level::Info) };
    groups_of(request, file, user, ids).map(|groups| {
        let Some(groups) = groups? else { return Ok(AuthzStatus::Denied) };
        let what = "authz_groupfile authorize: require group";
        let Some(wanted) = words(request, text, "authz_groupfile", 2592, what) else {
            return Ok(AuthzStatus::Denied);
        };
        if wanted.iter().any(|wanted| has(&groups, wanted)) {
            return Ok(AuthzStatus::Granted);
        }
        say_denied(request, user, 1667, "group(s)");
        Ok(AuthzStatus::Denied)
    })
}

/// `Require file-group`
pub(crate) fn check_file_group<'l>(
    request: &'l RequestContext<'_>,
    file: Option<&'l Arc<PathBuf>>,
) -> Waiting<'l, AuthzStatus> {
    let Some(user) = &request.authentication.user else {
        return NowOrLater::Now(Ok(AuthzStatus::DeniedNoUser));
    };
    let ids = Ids { unset: 1668, unreadable: 1669, unknown: (1670, Level::Error) };
    groups_of(request, file, user, ids).map(|groups| {
        let Some(groups) = groups? else { return Ok(AuthzStatus::Denied) };
        match authz_owner::file_group(request) {
            Some(group) if has(&groups, group.as_bytes()) => return Ok(AuthzStatus::Granted),
            Some(_) => say_denied(request, user, 1671, "file group"),
            None => {}
        }
        Ok(AuthzStatus::Denied)
    })
}

/// Names of groups compare without regard to case, as those of every apr_table.
fn has(groups: &[Vec<u8>], wanted: &[u8]) -> bool {
    groups.iter().any(|group| group.eq_ignore_ascii_case(wanted))
}

fn say_denied(request: &RequestContext<'_>, user: &[u8], id: u32, what: &str) {
    let text = format!(
        "Authorization of user {} to access {} failed, reason: user is not part of the \
         'require'ed {what}.",
        String::from_utf8_lossy(user),
        String::from_utf8_lossy(&request.path)
    );
    request.log(Level::Debug, "authz_groupfile", Some(id), &text);
}

/// httpd's numbers for what may be wrong with a file.
#[derive(Clone, Copy)]
struct Ids {
    unset: u32,
    unreadable: u32,
    unknown: (u32, Level),
}

/// The groups that a user is in; `None` if there are none, which the log knows.
fn groups_of<'l>(
    request: &'l RequestContext<'_>,
    file: Option<&'l Arc<PathBuf>>,
    user: &'l [u8],
    ids: Ids,
) -> Waiting<'l, Option<Vec<Vec<u8>>>> {
    let Some(path) = file.or(SETTINGS.of(&request.settings).group_file()) else {
        let text = "No group file was specified in the configuration";
        let id = Some(ids.unset);
        request.log_recurring(Level::Error, "authz_groupfile", id, text);
        return NowOrLater::Now(Ok(None));
    };
    let text = match auth_text::TEXTS.of(&request.context.modules).open(path) {
        Ok(text) => text,
        Err(errno) => {
            let text = format!("Could not open group file: {}", path.display());
            request.log_errno(errno, "authz_groupfile", ids.unreadable, &text);
            return NowOrLater::Now(Ok(None));
        }
    };
    let member = user.to_vec();
    let groups = text.search(request, &("groups", path, user), move |lines: &mut dyn BufRead| {
        let mut groups = Vec::new();
        let _: Option<()> = auth_text::find(lines, LINE_BYTES_MAX, |line| {
            groups.extend(group_with(line, &member));
            None
        });
        groups
    });
    groups.map(move |groups| {
        let groups = groups?;
        if groups.is_empty() {
            let text = format!(
                "Authorization of user {} to access {} failed, reason: user doesn't appear in \
                 group file ({}).",
                String::from_utf8_lossy(user),
                String::from_utf8_lossy(&request.path),
                path.display()
            );
            let (id, level) = ids.unknown;
            request.log(level, "authz_groupfile", Some(id), &text);
            return Ok(None);
        }
        Ok(Some(groups))
    })
}

/// The group of a line, if the user is in it.
fn group_with(line: &[u8], user: &[u8]) -> Option<Vec<u8>> {
    let (group, members) = auth_text::before(line, b':');
    let is_member = auth_text::words(members).any(|member| member == user);
    is_member.then(|| group.trim_ascii_end().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_group_and_its_members() {
        for (line, user, expected) in [
            ("staff: a b", "b", Some("staff")),
            ("staff : a b", "a", Some("staff")),
            ("staff:", "a", None),
            ("staff: ab", "a", None),
            ("staff: \"a b\"", "a b", Some("staff")),
        ] {
            let group = group_with(line.as_bytes(), user.as_bytes());
            assert_eq!(group.as_deref(), expected.map(str::as_bytes), "{line} {user}");
        }
    }
}
