//! The compiled site: what a configuration means, with every folder and log open. A request sees
//! only this, never a directive.

pub(crate) mod builder;
pub(crate) mod lexical;
pub(crate) mod locate;
pub(crate) mod settings;
pub(crate) mod wildcard;
pub(crate) mod world;

use crate::log::sink::{ErrorLog, Sink};
use crate::modules::alias::Alias;
use crate::modules::log_config::{self, Format};
use crate::modules::mime::Types;
use crate::resolve::Root;
use builder::{Builder, HostDraft, ServerDraft, Timing};
use locate::Sections;
use runtime::process::{self, User};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

/// Everything that a request may need to know about the server.
pub(crate) struct Site {
    pub(crate) listen: Vec<SocketAddr>,
    pub(crate) mpm: crate::MpmSettings,
    pub(crate) user: Option<User>,
    pub(crate) error_log: ErrorLog,
    pub(crate) logs: Vec<AccessLog>,
    pub(crate) types: Types,
    pub(crate) server_field: &'static str,
    pub(crate) host: Host,
}

/// A `CustomLog`.
pub(crate) struct AccessLog {
    pub(crate) sink: Sink,
    pub(crate) format: Format,
}

/// One (virtual) host.
pub(crate) struct Host {
    pub(crate) name: Option<String>,
    pub(crate) root: Arc<Root>,
    pub(crate) aliases: Vec<Alias>,
    pub(crate) timing: Timing,
    pub(crate) limits: http1::HeadLimits,
    pub(crate) trace: bool,
    pub(crate) sections: Sections,
}

impl Site {
    /// Open what the draft names. This runs in the parent, with its privileges.
    ///
    /// # Errors
    /// One sentence that says what cannot be opened and why.
    pub(crate) fn open(draft: Builder) -> Result<Self, String> {
        let ServerDraft { listen, mpm, user, group, error_log, levels, formats, logs, .. } =
            draft.server;
        let error_log = ErrorLog::open(error_log.as_deref(), levels).map_err(|error| {
            let path = error_log.as_deref().unwrap_or(Path::new("stderr"));
            format!("AH02291: Cannot open error log '{}': {error}", path.display())
        })?;
        let logs = logs
            .iter()
            .map(|(path, format)| open_log(path, format, &formats))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            listen,
            mpm,
            user: find_user(user.as_deref(), group.as_deref())?,
            error_log,
            logs,
            types: read_types(draft.server.types_config.as_deref())?,
            server_field: draft.server.tokens.server_field(),
            host: Host::open(draft.host)?,
        })
    }
}

impl Host {
    fn open(draft: HostDraft) -> Result<Self, String> {
        let path = draft.document_root.ok_or("no DocumentRoot is configured")?;
        let path = lexical::normal(&path);
        let root = Root::open(&path).map_err(|error| {
            let reason = match error.kind() {
                std::io::ErrorKind::NotFound => "no such folder",
                std::io::ErrorKind::PermissionDenied => "permission denied",
                std::io::ErrorKind::NotADirectory => "not a folder",
                _ => "cannot be opened",
            };
            format!(
                "DocumentRoot '{}' is not a directory, or is not readable: {reason}",
                path.display()
            )
        })?;
        Ok(Self {
            name: draft.server_name,
            root: Arc::new(root),
            aliases: draft.aliases.iter().map(Alias::open).collect::<Result<_, _>>()?,
            timing: draft.timing,
            limits: draft.limits,
            trace: draft.trace,
            sections: Sections::new(draft.base, draft.sections),
        })
    }
}

/// Open a log; its format is a text or the nickname of a `LogFormat` (mod_log_config.c).
fn open_log(path: &Path, format: &str, formats: &[(String, String)]) -> Result<AccessLog, String> {
    let named = formats.iter().rev().find(|row| row.0 == format).map(|row| row.1.as_str());
    let text = named.or_else(|| log_config::builtin_nickname(format)).unwrap_or(format);
    let sink = Sink::open(path).map_err(|error| {
        format!("AH00649: could not open transfer log file {}: {error}", path.display())
    })?;
    Ok(AccessLog { sink, format: Format::parse(text)? })
}

fn read_types(path: Option<&Path>) -> Result<Types, String> {
    let Some(path) = path else { return Ok(Types::embedded()) };
    let text = std::fs::read(path).map_err(|error| {
        format!("AH01597: could not open mime types config file {}: {error}", path.display())
    })?;
    Ok(Types::parse(&String::from_utf8_lossy(&text)))
}

/// Whom children become. A number is written `#33`. Not root: nobody else, as in httpd.
fn find_user(user: Option<&str>, group: Option<&str>) -> Result<Option<User>, String> {
    let Some(name) = user.filter(|_| process::is_root()) else { return Ok(None) };
    let numeric = |text: &str| text.strip_prefix('#').and_then(|number| number.parse().ok());
    let mut found = match numeric(name) {
        Some(uid) => {
            process::user_by_id(uid).unwrap_or(User { name: name.to_owned(), uid, gid: uid })
        }
        None => process::user_by_name(name).ok_or(format!("AH00543: bad user name {name}"))?,
    };
    if found.uid == 0 {
        // httpd refuses this, too, unless it was built with BIG_SECURITY_HOLE.
        return Err(format!("User {name}: child processes must not run as root"));
    }
    if let Some(group) = group {
        found.gid = numeric(group)
            .or_else(|| process::group_by_name(group))
            .ok_or(format!("AH00544: bad group name {group}"))?;
    }
    Ok(Some(found))
}
