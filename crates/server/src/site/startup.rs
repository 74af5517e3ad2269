//! How httpd logs what it says about a configuration before there is a log: by which module, how
//! grave it is, and what has to allow it. What is said is decided elsewhere.

use logging::level::{Level, Levels};

/// What decides whether a message is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// Nothing: it stands there as it is, without the time (APLOG_STARTUP without a level).
    Always,
    /// `-e` (log_error_core of httpd's log.c without a server).
    ByOption,
    /// `LogLevel`, as the line that the message is about finds it (`cmd->server`).
    ByHost,
}

/// How httpd logs the message about a configuration that has a certain `AH` number: see [`logged`].
pub struct Logged {
    id: &'static str,
    /// The module that says it.
    pub module: &'static str,
    /// How important it is.
    pub level: Level,
    /// Where `LogLevel` counts for it.
    pub allowed: Allowed,
}

const fn row(id: &'static str, module: &'static str, level: Level, allowed: Allowed) -> Logged {
    Logged { id, module, level, allowed }
}

#[rustfmt::skip]
const LOGGED: &[Logged] = &[
    row("AH00077", "core", Level::Crit, Allowed::ByOption),
    row("AH00112", "core", Level::Warn, Allowed::Always),
    row("AH00113", "core", Level::Notice, Allowed::ByHost),
    row("AH00114", "core", Level::Warn, Allowed::ByHost),
    row("AH00115", "core", Level::Warn, Allowed::ByHost),
    row("AH00116", "core", Level::Warn, Allowed::ByHost),
    row("AH00117", "core", Level::Warn, Allowed::ByHost),
    row("AH00188", "mpm_prefork", Level::Info, Allowed::ByOption),
    row("AH00324", "mpm_worker", Level::Info, Allowed::ByOption),
    row("AH00521", "mpm_event", Level::Info, Allowed::ByOption),
    row("AH00545", "core", Level::Info, Allowed::ByOption),
    row("AH00547", "core", Level::Error, Allowed::ByOption),
    row("AH00548", "core", Level::Notice, Allowed::Always),
    row("AH00549", "core", Level::Error, Allowed::ByHost),
    row("AH00664", "rewrite", Level::Warn, Allowed::ByHost),
    row("AH00665", "rewrite", Level::Warn, Allowed::ByHost),
    row("AH00671", "alias", Level::Warn, Allowed::ByHost),
    row("AH01506", "env", Level::Warn, Allowed::ByHost),
    row("AH01574", "so", Level::Warn, Allowed::ByOption),
    row("AH01575", "so", Level::Debug, Allowed::ByOption),
    row("AH02304", "core", Level::Warn, Allowed::ByHost),
    row("AH02793", "macro", Level::Warn, Allowed::ByOption),
    row("AH02795", "macro", Level::Warn, Allowed::ByOption),
    row("AH02796", "macro", Level::Warn, Allowed::ByOption),
    row("AH02797", "macro", Level::Warn, Allowed::ByOption),
    row("AH02798", "macro", Level::Warn, Allowed::ByOption),
    row("AH02799", "macro", Level::Warn, Allowed::ByOption),
    row("AH02800", "macro", Level::Warn, Allowed::ByOption),
    row("AH02802", "macro", Level::Warn, Allowed::ByOption),
    row("AH02803", "macro", Level::Warn, Allowed::ByOption),
    row("AH02804", "macro", Level::Warn, Allowed::ByOption),
    row("AH02805", "macro", Level::Warn, Allowed::ByOption),
    row("AH02989", "macro", Level::Warn, Allowed::ByOption),
    row("AH03491", "remoteip", Level::Notice, Allowed::ByOption),
    row("AH10032", "env", Level::Warn, Allowed::ByHost),
    row("AH10142", "authz_core", Level::Warn, Allowed::ByHost),
];

/// The message with a number. All that are not listed are warnings of core.
pub fn logged(id: &str) -> Logged {
    const OTHER: Logged = row("", "core", Level::Warn, Allowed::ByOption);
    LOGGED.iter().find(|row| row.id == id).map_or(OTHER, |row| Logged { ..*row })
}

impl Logged {
    /// Whether `-e` allows it, as far as that decides.
    pub fn is_allowed_by_option(&self, level: Level) -> bool {
        // Notices are logged whatever the level is.
        self.allowed != Allowed::ByOption || self.level == Level::Notice || self.level <= level
    }

    /// Whether the `LogLevel` lines so far allow it, as far as they decide. A virtual host learns
    /// of those outside of it only when all are read: until then it has no level of its own
    /// (init_server_config and ap_fixup_virtual_hosts of httpd's config.c).
    pub fn is_allowed_by_host(&self, levels: Option<&Levels>, in_virtual_host: bool) -> bool {
        if self.allowed != Allowed::ByHost || self.level == Level::Notice {
            return true;
        }
        let own = levels.and_then(|levels| levels.said_of(self.module));
        let least = if in_virtual_host { None } else { Some(Level::Warn) };
        own.or(least).is_some_and(|most| self.level <= most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_host_says_nothing_until_it_has_a_level() {
        let mut levels = Levels::default();
        let useless = logged("AH00114");
        assert!(useless.is_allowed_by_host(None, false));
        assert!(!useless.is_allowed_by_host(None, true));
        levels.set(&["alias:debug"], &["alias", "core"]).unwrap();
        assert!(!useless.is_allowed_by_host(Some(&levels), true));
        levels.set(&["core:warn"], &["alias", "core"]).unwrap();
        assert!(useless.is_allowed_by_host(Some(&levels), true));
        levels.set(&["crit"], &["alias", "core"]).unwrap();
        assert!(!useless.is_allowed_by_host(Some(&levels), false));
        assert!(logged("AH00113").is_allowed_by_host(Some(&levels), true));
    }

    #[test]
    fn the_option_decides_about_what_belongs_to_no_host() {
        assert!(!logged("AH02799").is_allowed_by_option(Level::Crit));
        assert!(logged("AH00671").is_allowed_by_option(Level::Crit));
        assert!(logged("AH00112").is_allowed_by_option(Level::Emerg));
        assert!(logged("AH03491").is_allowed_by_option(Level::Emerg));
    }
}
