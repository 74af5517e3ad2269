//! From directive rows to a draft of the site. Rows of all modules change this value; nothing is
//! opened here and nothing of it is seen by a request.

use crate::modules::alias;
use crate::site::settings::Settings;
use crate::site::wildcard;
use config::{Build, Call, Error, Scope};
use std::net::SocketAddr;
use std::path::PathBuf;

/// What is being built.
#[derive(Clone, Debug, Default)]
pub(crate) struct Builder {
    /// What concerns the whole server.
    pub(crate) server: ServerDraft,
    /// What concerns the (main) host.
    pub(crate) host: HostDraft,
    /// Sections that are open, the innermost last.
    open: Vec<Section>,
}

/// Settings of the whole server.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerDraft {
    /// `ServerRoot`; empty if nobody has set it, which is the folder that trivet was started in.
    pub(crate) root: PathBuf,
    pub(crate) listen: Vec<SocketAddr>,
    pub(crate) mpm: crate::MpmSettings,
    pub(crate) user: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) error_log: Option<PathBuf>,
    pub(crate) levels: crate::log::level::Levels,
    pub(crate) formats: Vec<(String, String)>,
    pub(crate) logs: Vec<(PathBuf, String)>,
    pub(crate) types_config: Option<PathBuf>,
    pub(crate) tokens: crate::identity::Tokens,
}

/// Settings of a host.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostDraft {
    pub(crate) document_root: Option<PathBuf>,
    pub(crate) server_name: Option<String>,
    pub(crate) aliases: Vec<alias::Draft>,
    pub(crate) timing: Timing,
    pub(crate) limits: http1::HeadLimits,
    pub(crate) trace: bool,
    /// Outside of all sections.
    pub(crate) base: Settings,
    /// `<Directory>`, `<Files>` and `<Location>` in the order of the text.
    pub(crate) sections: Vec<Section>,
}

/// Durations and counts of a connection, in milliseconds where a unit is not named.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// `Timeout`: how long a send or a body read may stand still.
    pub(crate) timeout_ms: u64,
    pub(crate) keep_alive: bool,
    pub(crate) keep_alive_timeout_ms: u64,
    /// 0 is unlimited.
    pub(crate) max_keep_alive_requests: u32,
    /// `RequestReadTimeout header=`.
    pub(crate) header: ReadTimeout,
    /// `RequestReadTimeout body=`.
    pub(crate) body: ReadTimeout,
}

/// One part of `RequestReadTimeout` (mod_reqtimeout).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadTimeout {
    /// First allowance; 0 is no limit.
    pub(crate) first_ms: u64,
    /// Upper bound of the allowance; equal to `first_ms` when it does not grow.
    pub(crate) most_ms: u64,
    /// Bytes that earn one more second; 0 earns nothing.
    pub(crate) min_rate: u64,
}

impl ReadTimeout {
    /// The allowance once `received` bytes are there.
    pub(crate) fn allowance_ms(&self, received: u64) -> u64 {
        if self.first_ms == 0 {
            return u64::MAX / 4; // far enough never to fire, and safe to add to a clock
        }
        let earned_ms = match self.min_rate {
            0 => 0,
            rate => received.saturating_mul(1000) / rate,
        };
        self.first_ms.saturating_add(earned_ms).min(self.most_ms.max(self.first_ms))
    }
}

impl Default for Timing {
    /// httpd's defaults (core.c, mod_reqtimeout.c), but for MaxKeepAliveRequests, whose limit
    /// serves no purpose under event.
    fn default() -> Self {
        Self {
            timeout_ms: 60_000,
            keep_alive: true,
            keep_alive_timeout_ms: 5000,
            max_keep_alive_requests: 100,
            header: ReadTimeout { first_ms: 20_000, most_ms: 40_000, min_rate: 500 },
            // mod_reqtimeout bounds a body only by its rate.
            body: ReadTimeout { first_ms: 20_000, most_ms: u64::MAX / 4, min_rate: 500 },
        }
    }
}

/// Which kind of section, with its argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SectionKind {
    /// `<Directory /path>`: files below it.
    Directory(wildcard::Pattern),
    /// `<Files name>`: files of that name.
    Files(wildcard::Pattern),
    /// `<Location /path>`: URL paths at and below it.
    Location(wildcard::Pattern),
}

/// A section with its own settings.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) kind: SectionKind,
    /// The `<Directory>` around a `<Files>`: both must match.
    pub(crate) within: Option<wildcard::Pattern>,
    pub(crate) settings: Settings,
}

impl Build for Builder {
    fn scope(&self) -> Scope {
        match self.open.last().map(|section| &section.kind) {
            None => Scope::SERVER,
            Some(SectionKind::Directory(_)) => Scope::DIRECTORY,
            Some(SectionKind::Files(_)) => Scope::FILES,
            Some(SectionKind::Location(_)) => Scope::LOCATION,
        }
    }
}

impl Builder {
    /// The path of a log or another file that belongs to the server: below `ServerRoot`, unless
    /// it is absolute (ap_server_root_relative). `-` is standard output.
    pub(crate) fn server_path(&self, path: &str) -> PathBuf {
        if path == "-" { PathBuf::from(path) } else { self.server.root.join(path) }
    }

    /// The settings that a per-directory directive changes now.
    pub(crate) fn settings(&mut self) -> &mut Settings {
        match self.open.last_mut() {
            Some(section) => &mut section.settings,
            None => &mut self.host.base,
        }
    }

    /// The folder of the innermost `<Directory>` with its final slash, empty outside of any.
    pub(crate) fn directory(&self) -> String {
        let directories = self.open.iter().rev().filter_map(|section| match &section.kind {
            SectionKind::Directory(pattern) => {
                let path = String::from_utf8_lossy(pattern.text());
                Some(format!("{}/", path.trim_end_matches('/')))
            }
            _ => None,
        });
        directories.take(1).collect()
    }

    /// Whether a section is open.
    pub(crate) fn is_in_section(&self) -> bool {
        !self.open.is_empty()
    }

    /// A section begins.
    pub(crate) fn enter(&mut self, kind: SectionKind) {
        let within = self.open.last().and_then(|outer| match &outer.kind {
            SectionKind::Directory(pattern) => Some(pattern.clone()),
            _ => None,
        });
        self.open.push(Section { kind, within, settings: Settings::default() });
    }

    /// The innermost section ends.
    pub(crate) fn leave(&mut self, _: &Call<'_>) -> Result<(), Error> {
        self.host.sections.extend(self.open.pop());
        Ok(())
    }
}
