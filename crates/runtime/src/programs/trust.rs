//! Whether a program may run as a user other than that of the server: what suEXEC checks
//! (support/suexec.c of httpd), of a folder that stays open from the check to the start. Files are
//! looked at by the process that becomes the program, as its user: they may be slow, or be there
//! for nobody else.

use super::command::ProgramCommand;
use super::report::IdentityRefusal;
use crate::process::User;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The least numbers of users and groups for programs (AP_UID_MIN and AP_GID_MIN of Debian).
const ID_MIN: u32 = 100;

/// Where suEXEC looks for programs (AP_SAFE_PATH of Debian).
const SAFE_PATH: &CStr = c"PATH=/usr/local/bin:/usr/bin:/bin";

/// Variables that begin so reach the program.
const SAFE_BEGINNINGS: &[&str] = &["HTTP_", "SSL_"];

/// Variables with these names do (`safe_env_lst`). What a `.htaccess` file of somebody else sets
/// does not.
const SAFE_NAMES: &[&str] = &[
    "AUTH_TYPE",
    "CONTENT_LENGTH",
    "CONTENT_TYPE",
    "CONTEXT_DOCUMENT_ROOT",
    "CONTEXT_PREFIX",
    "DATE_GMT",
    "DATE_LOCAL",
    "DOCUMENT_ARGS",
    "DOCUMENT_NAME",
    "DOCUMENT_PATH_INFO",
    "DOCUMENT_ROOT",
    "DOCUMENT_URI",
    "GATEWAY_INTERFACE",
    "HTTPS",
    "LAST_MODIFIED",
    "PATH_INFO",
    "PATH_TRANSLATED",
    "QUERY_STRING",
    "QUERY_STRING_UNESCAPED",
    "REDIRECT_ERROR_NOTES",
    "REDIRECT_HANDLER",
    "REDIRECT_QUERY_STRING",
    "REDIRECT_REMOTE_USER",
    "REDIRECT_SCRIPT_FILENAME",
    "REDIRECT_STATUS",
    "REDIRECT_URL",
    "REMOTE_ADDR",
    "REMOTE_HOST",
    "REMOTE_IDENT",
    "REMOTE_PORT",
    "REMOTE_USER",
    "REQUEST_METHOD",
    "REQUEST_SCHEME",
    "REQUEST_URI",
    "SCRIPT_FILENAME",
    "SCRIPT_NAME",
    "SCRIPT_URI",
    "SCRIPT_URL",
    "SERVER_ADDR",
    "SERVER_ADMIN",
    "SERVER_NAME",
    "SERVER_PORT",
    "SERVER_PROTOCOL",
    "SERVER_SIGNATURE",
    "SERVER_SOFTWARE",
    "TZ",
    "UNIQUE_ID",
    "USER_NAME",
];

/// Leave of `command` what suEXEC leaves: a name within the folder, and harmless variables.
///
/// # Errors
/// When the program is not in its folder.
pub fn tame(command: &mut ProgramCommand) -> Result<(), IdentityRefusal> {
    let name =
        name_within(&command.folder, &command.program).ok_or(IdentityRefusal::NotInFolder)?;
    command.environment.retain(is_safe);
    command.environment.insert(0, SAFE_PATH.to_owned());
    if let Some(own_name) = command.arguments.first_mut() {
        own_name.clone_from(&name);
    }
    command.program = name;
    Ok(())
}

/// Let the program `name` of `folder`, which is below one of `roots`, be run as `user`, who this
/// process is: the folder.
///
/// # Errors
/// Why it may not be run so.
pub(super) fn trust(
    folder: &CStr,
    name: &CStr,
    user: &User,
    roots: &[impl AsRef<Path>],
) -> Result<OwnedFd, IdentityRefusal> {
    // It is only looked at: no permission is needed for that, and nothing is waited for.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(CWD, folder, flags, Mode::empty()).map_err(|_| IdentityRefusal::Missing)?;
    let path = path_of(&folder).ok_or(IdentityRefusal::Missing)?;
    #[expect(
        clippy::disallowed_methods,
        reason = "a root of the configuration, compared with an open folder"
    )]
    let is_below = |root: &Path| root.canonicalize().is_ok_and(|root| path.starts_with(root));
    if !roots.iter().any(|root| is_below(root.as_ref())) {
        return Err(IdentityRefusal::OutsideOfRoot);
    }
    let of_folder = fstat(&folder).map_err(|_| IdentityRefusal::Missing)?;
    let of_program = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
    judge(
        &FileFacts::of(&of_folder),
        &FileFacts::of(&of_program.map_err(|_| IdentityRefusal::Missing)?),
        user,
    )?;
    Ok(folder)
}

/// Users of the system run nothing.
///
/// # Errors
/// When this is one.
pub(super) fn check_ids(user: &User) -> Result<(), IdentityRefusal> {
    match user {
        User { uid: ..ID_MIN, .. } => Err(IdentityRefusal::UserTooSmall),
        User { gid: ..ID_MIN, .. } => Err(IdentityRefusal::GroupTooSmall),
        _ => Ok(()),
    }
}

/// The name of a program that is in the folder itself.
fn name_within(folder: &CStr, program: &CStr) -> Option<CString> {
    let name = program.to_bytes().strip_prefix(folder.to_bytes())?;
    let name = name.strip_prefix(b"/").unwrap_or(name);
    let is_name = !name.is_empty() && !name.contains(&b'/') && name != b"." && name != b"..";
    CString::new(name).ok().filter(|_| is_name)
}

/// Where an open folder really is.
fn path_of(folder: &OwnedFd) -> Option<PathBuf> {
    let link = format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd());
    let path = readlinkat(CWD, link, Vec::new()).ok()?;
    Some(PathBuf::from(OsStr::from_bytes(path.as_bytes())))
}

fn is_safe(variable: &CString) -> bool {
    let text = variable.as_bytes();
    let name = text.split(|byte| *byte == b'=').next().unwrap_or_default();
    SAFE_BEGINNINGS.iter().any(|begin| name.starts_with(begin.as_bytes()))
        || SAFE_NAMES.iter().any(|safe| name == safe.as_bytes())
}

/// What counts of a file.
#[derive(Clone, Copy, Debug)]
struct FileFacts {
    kind: FileType,
    mode: u32,
    uid: u32,
    gid: u32,
}

impl FileFacts {
    fn of(stat: &Stat) -> Self {
        let kind = FileType::from_raw_mode(stat.st_mode);
        Self { kind, mode: stat.st_mode, uid: stat.st_uid, gid: stat.st_gid }
    }

    fn is_writable_by_others(&self) -> bool {
        self.mode & 0o022 != 0
    }

    fn belongs_to(&self, user: &User) -> bool {
        self.uid == user.uid && self.gid == user.gid
    }
}

/// In the order of suEXEC.
fn judge(folder: &FileFacts, program: &FileFacts, user: &User) -> Result<(), IdentityRefusal> {
    let rules = [
        (folder.is_writable_by_others(), IdentityRefusal::FolderWritable),
        (program.kind != FileType::RegularFile, IdentityRefusal::Missing),
        (program.is_writable_by_others(), IdentityRefusal::ProgramWritable),
        (program.mode & 0o6000 != 0, IdentityRefusal::SetUser),
        (!folder.belongs_to(user) || !program.belongs_to(user), IdentityRefusal::Owner),
        (program.mode & 0o100 == 0, IdentityRefusal::NotExecutable),
    ];
    rules.iter().find(|rule| rule.0).map_or(Ok(()), |rule| Err(rule.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(uid: u32, gid: u32) -> User {
        User { name: "bob".into(), uid, gid, groups: Vec::new(), home: PathBuf::new() }
    }

    #[test]
    fn all_of_suexecs_rules_are_checked() {
        let folder = FileFacts { kind: FileType::Directory, mode: 0o755, uid: 1000, gid: 1000 };
        let program = FileFacts { kind: FileType::RegularFile, ..folder };
        let bob = user(1000, 1000);
        assert_eq!(judge(&folder, &program, &bob), Ok(()));
        for mode in [0o775, 0o757] {
            let open = FileFacts { mode, ..folder };
            assert_eq!(judge(&open, &program, &bob), Err(IdentityRefusal::FolderWritable));
            let open = FileFacts { mode, ..program };
            assert_eq!(judge(&folder, &open, &bob), Err(IdentityRefusal::ProgramWritable));
        }
        for (program, refusal) in [
            (FileFacts { kind: FileType::Symlink, ..program }, IdentityRefusal::Missing),
            (FileFacts { mode: 0o4755, ..program }, IdentityRefusal::SetUser),
            (FileFacts { mode: 0o2755, ..program }, IdentityRefusal::SetUser),
            (FileFacts { uid: 0, ..program }, IdentityRefusal::Owner),
            (FileFacts { gid: 0, ..program }, IdentityRefusal::Owner),
            (FileFacts { mode: 0o655, ..program }, IdentityRefusal::NotExecutable),
        ] {
            assert_eq!(judge(&folder, &program, &bob), Err(refusal), "{program:?}");
        }
        let foreign = FileFacts { uid: 1001, ..folder };
        assert_eq!(judge(&foreign, &program, &bob), Err(IdentityRefusal::Owner));
    }

    #[test]
    fn users_of_the_system_run_nothing() {
        assert_eq!(check_ids(&user(0, 1000)), Err(IdentityRefusal::UserTooSmall));
        assert_eq!(check_ids(&user(99, 1000)), Err(IdentityRefusal::UserTooSmall));
        assert_eq!(check_ids(&user(100, 99)), Err(IdentityRefusal::GroupTooSmall));
        assert_eq!(check_ids(&user(100, 100)), Ok(()));
    }

    #[test]
    fn a_program_is_in_its_folder_itself() {
        for (folder, program, name) in [
            (c"/srv/", c"/srv/x", Some("x")),
            (c"/srv", c"/srv/x", Some("x")),
            (c"/srv/", c"/srv/a/x", None),
            (c"/srv/", c"/srv/../x", None),
            (c"/srv/", c"/srv/..", None),
            (c"/srv/", c"/srv/", None),
            (c"/srv/", c"/other/x", None),
        ] {
            let found = name_within(folder, program);
            assert_eq!(found.as_deref().map(|it| it.to_str().unwrap()), name, "{program:?}");
        }
    }

    #[test]
    fn what_is_left_of_an_order_is_harmless() {
        let command = |program: &CStr| ProgramCommand {
            folder: c"/srv/".to_owned(),
            program: program.to_owned(),
            arguments: vec![c"/srv/x".to_owned(), c"word".to_owned()],
            environment: vec![c"PATH=/evil".to_owned(), c"HTTP_HOST=a".to_owned()],
            ..ProgramCommand::default()
        };
        let mut tamed = command(c"/srv/x");
        assert_eq!(tame(&mut tamed), Ok(()));
        assert_eq!(tamed.program.as_c_str(), c"x");
        assert_eq!(tamed.arguments, [c"x".to_owned(), c"word".to_owned()]);
        assert_eq!(tamed.environment, [SAFE_PATH.to_owned(), c"HTTP_HOST=a".to_owned()]);
        assert_eq!(tame(&mut command(c"/other/x")), Err(IdentityRefusal::NotInFolder));
    }

    #[test]
    fn only_harmless_variables_are_left() {
        for (variable, expected) in [
            (c"HTTP_ACCEPT=x", true),
            (c"QUERY_STRING=", true),
            (c"QUERY_STRINGS=", false),
            (c"LD_PRELOAD=/x", false),
            (c"PATH=/evil", false),
            (c"FROM_CONFIG=x", false),
            (c"", false),
        ] {
            assert_eq!(is_safe(&variable.to_owned()), expected, "{variable:?}");
        }
    }

    #[test]
    fn what_is_outside_of_all_roots_is_refused() {
        let bob = user(1000, 1000);
        let within = |roots: &[&str]| trust(c"/usr/bin/", c"env", &bob, roots).err();
        assert_eq!(within(&["/var/www", "/no/such"]), Some(IdentityRefusal::OutsideOfRoot));
        assert_eq!(within(&["/usr"]), Some(IdentityRefusal::Owner));
    }
}
