//! userdir: `/~name/` leads to a folder of that user (mod_userdir).

use config::lexer::LineWords;
use config::{Args, Call, Directive, Error, Scope};
use gateway::suexec;
use message::Status;
use runtime::file;
use server::failure::{Failure, Stop};
use server::hook::Hook;
use server::mapping::{ContextInfo, Place};
use server::module::{Hooks, Module};
use server::phase::place_of;
use server::request_context::RequestContext;
use server::site::builder::Builder;
use server::site::lexical::parents;
use server::site::settings::HostKey;
use server::site::store::Merge;
use std::cell::RefCell;
use std::collections::HashMap;
use std::os::unix::ffi::OsStringExt;

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "userdir_module",
    "mod_userdir.c",
    DIRECTIVES,
    Hooks { translate: Some(Hook::Now(translate)), ..Hooks::NONE },
);

static DIRECTIVES: &[Directive<Builder>] = &[Directive {
    name: "UserDir",
    args: Args::Raw,
    scope: Scope::RSRC_CONF,
    default: "",
    help: "the public subdirectory in users' home directories, or 'disabled', or 'disabled \
           username username...', or 'enabled username username...'",
    apply: user_dir,
}];

/// The key of what is kept per host.
pub(crate) static HOST_SETTINGS: HostKey<HostSettings> = HostKey::new();

/// What a host says by `UserDir`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostSettings {
    /// `UserDir enabled` or `UserDir disabled` without names.
    is_enabled: Option<bool>,
    folders: Option<Vec<String>>,
    enabled: Vec<String>,
    disabled: Vec<String>,
}

impl Merge for HostSettings {
    /// Those of a virtual host over those of the main server. If it says anything, lists of names
    /// are not inherited (mod_userdir.c, merge_userdir_config).
    fn over(&self, main: &Self) -> Self {
        if *self == Self::default() {
            return main.clone();
        }
        Self {
            is_enabled: self.is_enabled.or(main.is_enabled),
            folders: self.folders.clone().or_else(|| main.folders.clone()),
            enabled: self.enabled.clone(),
            disabled: self.disabled.clone(),
        }
    }
}

impl HostSettings {
    /// Whether a user has such a folder. Names compare without case, as keys of httpd's tables.
    fn admits(&self, user: &[u8]) -> bool {
        let is_in =
            |list: &[String]| list.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(user));
        !is_in(&self.disabled) && (self.is_enabled != Some(false) || is_in(&self.enabled))
    }
}

/// mod_userdir.c, set_user_dir
fn user_dir(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let mut words = LineWords::new(call.raw).map(|word| word.text);
    let Some(first) = words.next().filter(|word| !word.is_empty()) else {
        return Err("UserDir requires an argument.".into());
    };
    let names: Vec<String> = words.collect();
    let settings = HOST_SETTINGS.change(&mut builder.host().modules);
    match first.to_ascii_lowercase().as_str() {
        "disable" | "disabled" if names.is_empty() => settings.is_enabled = Some(false),
        "enable" | "enabled" if names.is_empty() => settings.is_enabled = Some(true),
        "disable" | "disabled" => settings.disabled.extend(names),
        "enable" | "enabled" => settings.enabled.extend(names),
        _ => settings.folders = Some([vec![first], names].concat()),
    }
    Ok(())
}

/// Home folders that were looked up lately, with the time of it: the database of users may be on
/// another machine.
type Homes = HashMap<Vec<u8>, (i64, Option<Vec<u8>>)>;

thread_local! {
    static HOMES: RefCell<Homes> = RefCell::default();
}

/// How long a home folder is believed to stay where it is.
const HOME_VALID_S: i64 = 60;

/// Anybody can ask for names that nobody has.
const HOMES_MAX: usize = 1000;

/// The home folder of a user.
fn home(request: &RequestContext<'_>, user: &[u8]) -> Option<Vec<u8>> {
    let now_s = request.context.now_s();
    HOMES.with_borrow_mut(|homes| {
        if let Some((at_s, home)) = homes.get(user)
            && (0..HOME_VALID_S).contains(&(now_s - at_s))
        {
            return home.clone();
        }
        let name = std::str::from_utf8(user).ok()?;
        let found = runtime::process::user_by_name(name).map(|user| user.home);
        let found = found.map(|home| home.into_os_string().into_vec());
        if homes.len() >= HOMES_MAX {
            homes.clear();
        }
        homes.insert(user.to_vec(), (now_s, found.clone()));
        found
    })
}

/// Where one word of `UserDir` leads.
#[derive(Debug, PartialEq, Eq)]
enum UserDirWay {
    /// A folder.
    Folder(Vec<u8>),
    /// Another server.
    Redirect(Vec<u8>),
    /// A folder in the user's home.
    Home(Vec<u8>),
}

/// mod_userdir.c, translate_userdir: what stands behind a `*` counts for folders, and of a URL
/// only if nothing stands there.
fn way(word: &str, user: &[u8], rest: &[u8]) -> UserDirWay {
    let is_absolute = word.starts_with('/');
    let (prefix, suffix) = match word.split_once('*') {
        Some((prefix, suffix)) => (Some(prefix), suffix.trim_start_matches('*')),
        None => (None, word),
    };
    let joined = |parts: &[&[u8]]| parts.concat();
    match prefix {
        Some(prefix) if !is_absolute && prefix.contains(':') => {
            UserDirWay::Redirect(joined(&[prefix.as_bytes(), user, rest]))
        }
        Some(prefix) if is_absolute || suffix.is_empty() => {
            UserDirWay::Folder(joined(&[prefix.as_bytes(), user, suffix.as_bytes()]))
        }
        None if is_absolute => UserDirWay::Folder(joined(&[word.as_bytes(), b"/", user])),
        _ => UserDirWay::Home(suffix.as_bytes().to_vec()),
    }
}

/// The user in `/~user/rest`, and the rest with its slash.
fn user_of(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let tail = path.strip_prefix(b"/~")?;
    let end = tail.iter().position(|byte| *byte == b'/').unwrap_or(tail.len());
    let (user, rest) = tail.split_at(end);
    // The name becomes part of a path: none of its segments may lead upwards. httpd looks for the
    // dots one byte too late (`w[1]` and `w[2]` of translate_userdir), so that `a.` is no name,
    // either; `.` alone is refused here only.
    let is_name = !matches!(user, b"" | b"." | [_, b'.'] | [_, b'.', b'.']);
    is_name.then_some((user, rest))
}

/// Translate hook.
pub(crate) fn translate(request: &mut RequestContext<'_>) -> Result<Option<Place>, Stop> {
    let settings = HOST_SETTINGS.of(&request.host.modules);
    let Some(folders) = &settings.folders else { return Ok(None) };
    let path = request.path.clone();
    let Some((user, rest)) = user_of(&path) else { return Ok(None) };
    if !settings.admits(user) {
        return Ok(None);
    }
    // Which word counts depends on other things than the file that is sent.
    request.mark_personal();
    for (nth, word) in folders.iter().enumerate() {
        let folder = match way(word, user, rest) {
            UserDirWay::Redirect(url) => return Err(redirect(&url)),
            UserDirWay::Folder(folder) => folder,
            UserDirWay::Home(below) => match home(request, user) {
                Some(home) => [&home, &b"/"[..], &below].concat(),
                None => continue,
            },
        };
        let is_last = nth + 1 == folders.len();
        if is_last || file::status_at(file::CURRENT_FOLDER, &folder).is_ok() {
            let own = parents(word.as_bytes());
            let place = place_of(request, &[&folder, rest].concat(), own)?;
            request.tables.notes.set(suexec::USER_NOTE, user);
            let prefix = path[..path.len() - rest.len()].to_vec();
            let context_root = Some(folder);
            request.mapping.context_info =
                ContextInfo { prefix, context_root, ..ContextInfo::default() };
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// httpd sends the decoded path as it is, and nothing at all if that is no value of a field.
fn redirect(url: &[u8]) -> Stop {
    if url.iter().any(|byte| byte.is_ascii_control()) {
        let text = format!("no header field can contain the URL {}", String::from_utf8_lossy(url));
        return Failure::new(Status::INTERNAL_SERVER_ERROR, "userdir", text).at_error().into();
    }
    Failure::redirect(Status::FOUND, url).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_leads_to_a_folder_a_home_or_another_server() {
        let text = |text: &str| text.as_bytes().to_vec();
        for (word, expected) in [
            ("public_html", UserDirWay::Home(text("public_html"))),
            ("/usr/web", UserDirWay::Folder(text("/usr/web/bob"))),
            ("/home/*/www", UserDirWay::Folder(text("/home/bob/www"))),
            ("/home/*", UserDirWay::Folder(text("/home/bob"))),
            ("http://h/users", UserDirWay::Home(text("http://h/users"))),
            ("http://h/*", UserDirWay::Redirect(text("http://h/bob/a"))),
            ("http://h/*/usr", UserDirWay::Redirect(text("http://h/bob/a"))),
        ] {
            assert_eq!(way(word, b"bob", b"/a"), expected, "{word}");
        }
    }

    #[test]
    fn a_user_is_one_segment_that_leads_nowhere_else() {
        let user = |path: &'static str| {
            user_of(path.as_bytes())
                .map(|(user, rest)| [user, b"|", rest].concat().escape_ascii().to_string())
        };
        assert_eq!(user("/~bob/a/b").as_deref(), Some("bob|/a/b"));
        assert_eq!(user("/~bob").as_deref(), Some("bob|"));
        for path in ["/~", "/~/x", "/~./x", "/~../x", "/~x./y", "/a/~bob/"] {
            assert_eq!(user(path), None, "{path}");
        }
    }

    #[test]
    fn names_may_be_enabled_and_disabled() {
        let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let mut settings = HostSettings { disabled: list(&["root"]), ..HostSettings::default() };
        assert!(settings.admits(b"bob") && !settings.admits(b"Root"));
        settings.is_enabled = Some(false);
        settings.enabled = list(&["bob", "root"]);
        assert!(settings.admits(b"bob") && !settings.admits(b"eve") && !settings.admits(b"root"));
    }
}
