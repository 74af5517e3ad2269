//! `LogLevel`: which messages of which module reach the error log.

/// Severity of a message, the most severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The system is unusable.
    Emerg,
    /// Action must be taken immediately.
    Alert,
    /// Critical conditions.
    Crit,
    /// Something was not done.
    Error,
    /// Something may not be as intended.
    Warn,
    /// Normal but worth knowing, such as a restart.
    Notice,
    /// For the curious.
    Info,
    /// For developers; from here on the source line is logged too.
    Debug,
    /// Tracing, ever finer.
    Trace1,
    /// Finer than `Trace1`.
    Trace2,
    /// Finer than `Trace2`.
    Trace3,
    /// Finer than `Trace3`.
    Trace4,
    /// Finer than `Trace4`.
    Trace5,
    /// Finer than `Trace5`.
    Trace6,
    /// Finer than `Trace6`.
    Trace7,
    /// Finer than `Trace7`.
    Trace8,
}

/// The levels and their names, in order.
const LEVELS: [(Level, &str); 16] = [
    (Level::Emerg, "emerg"),
    (Level::Alert, "alert"),
    (Level::Crit, "crit"),
    (Level::Error, "error"),
    (Level::Warn, "warn"),
    (Level::Notice, "notice"),
    (Level::Info, "info"),
    (Level::Debug, "debug"),
    (Level::Trace1, "trace1"),
    (Level::Trace2, "trace2"),
    (Level::Trace3, "trace3"),
    (Level::Trace4, "trace4"),
    (Level::Trace5, "trace5"),
    (Level::Trace6, "trace6"),
    (Level::Trace7, "trace7"),
    (Level::Trace8, "trace8"),
];

impl Level {
    /// The level called `keyword`, in any case; the error is httpd's text.
    pub fn parse(keyword: &str) -> Result<Self, String> {
        LEVELS
            .iter()
            .find(|(_, name)| keyword.eq_ignore_ascii_case(name))
            .map(|&(level, _)| level)
            .ok_or_else(|| {
                "Log level keyword must be one of emerg/alert/crit/error/warn/notice/info/debug/\
                 trace1/.../trace8"
                    .to_owned()
            })
    }

    /// The name as the error log shows it.
    pub(crate) fn name(self) -> &'static str {
        LEVELS[self as usize].1
    }
}

/// What the `LogLevel` lines of a place say: one level for all modules, and exceptions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// `None` is that of the place around, and `warn` outside of all.
    default: Option<Level>,
    /// By short module name. A configuration names two or three, so that walking the list is
    /// cheaper than hashing.
    modules: Vec<(String, Level)>,
}

impl Levels {
    /// Applies the arguments of a `LogLevel` line: `level` or `module:level`. A level without
    /// a module resets the exceptions made before it (core.c `update_loglevel`). `known` holds
    /// the short names of the modules that exist; on error nothing is changed.
    pub fn set(&mut self, arguments: &[&str], known: &[&str]) -> Result<(), String> {
        if arguments.is_empty() {
            let text = "LogLevel requires level keyword or module loglevel specifier";
            return Err(text.to_owned());
        }
        let mut changed = self.clone();
        for argument in arguments {
            changed.set_one(argument, known)?;
        }
        *self = changed;
        Ok(())
    }

    fn set_one(&mut self, argument: &str, known: &[&str]) -> Result<(), String> {
        let Some((specifier, keyword)) = argument.rsplit_once(':') else {
            self.default = Some(Level::parse(argument)?);
            self.modules.clear();
            return Ok(());
        };
        if keyword.is_empty() {
            return Err(format!(
                "Module specifier '{specifier}' must be followed by a log level keyword"
            ));
        }
        let level =
            Level::parse(keyword).map_err(|text| format!("{specifier}:{keyword}: {text}"))?;
        let module = short_name(specifier);
        if !known.contains(&module) {
            return Err(format!("Cannot find module {specifier}"));
        }
        match self.modules.iter_mut().find(|(name, _)| name == module) {
            Some(entry) => entry.1 = level,
            None => self.modules.push((module.to_owned(), level)),
        }
        Ok(())
    }

    /// The level of one module, by short name (`core`, `ssl`).
    pub(crate) fn of(&self, module: &str) -> Level {
        self.said_of(module).unwrap_or(Level::Warn)
    }

    /// The level that the lines give a module, by short name; `None` if they say nothing about it.
    pub fn said_of(&self, module: &str) -> Option<Level> {
        let exception = self.modules.iter().find(|(name, _)| name == module);
        exception.map(|row| row.1).or(self.default)
    }

    /// These inside of `outer`: a level for all modules forgets what was said further out
    /// (config.c, ap_merge_log_config).
    pub fn over(&self, outer: &Self) -> Self {
        if self.default.is_some() {
            return self.clone();
        }
        let is_own = |name: &str| self.modules.iter().any(|row| row.0 == name);
        let more = outer.modules.iter().filter(|row| !is_own(&row.0));
        let modules = self.modules.iter().chain(more).cloned().collect();
        Self { default: outer.default, modules }
    }
}

/// `ssl` of `ssl`, `ssl_module` and `mod_ssl.c`, the three ways to name a module.
fn short_name(specifier: &str) -> &str {
    let source = specifier.strip_prefix("mod_").and_then(|name| name.strip_suffix(".c"));
    source.or_else(|| specifier.strip_suffix("_module")).unwrap_or(specifier)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[&str] = &["core", "ssl", "mpm_event"];

    fn levels(arguments: &[&str]) -> Result<Levels, String> {
        let mut levels = Levels::default();
        levels.set(arguments, KNOWN).map(|()| levels)
    }

    #[test]
    fn names_are_in_order_and_parse_in_any_case() {
        for (at, (level, name)) in LEVELS.into_iter().enumerate() {
            assert_eq!((level as usize, level.name()), (at, name));
            assert_eq!(Level::parse(name), Ok(level));
            assert_eq!(Level::parse(&name.to_uppercase()), Ok(level));
        }
    }

    #[test]
    fn modules_have_exceptions() {
        let levels =
            levels(&["error", "core:debug", "mod_ssl.c:trace3", "mpm_event_module:crit"]).unwrap();
        for (module, expected) in [
            ("core", Level::Debug),
            ("ssl", Level::Trace3),
            ("mpm_event", Level::Crit),
            ("alias", Level::Error),
        ] {
            assert_eq!(levels.of(module), expected, "{module}");
        }
    }

    #[test]
    fn a_level_for_all_forgets_exceptions() {
        assert_eq!(levels(&["core:debug", "info"]).unwrap(), levels(&["info"]).unwrap());
    }

    #[test]
    fn the_last_level_of_a_module_counts() {
        assert_eq!(levels(&["core:debug", "core:info"]).unwrap().of("core"), Level::Info);
    }

    #[test]
    fn inner_levels_inherit_what_they_do_not_name() {
        let outer = levels(&["info", "core:debug", "ssl:trace1"]).unwrap();
        let inner = levels(&["ssl:crit"]).unwrap().over(&outer);
        assert_eq!(inner.of("core"), Level::Debug);
        assert_eq!(inner.of("ssl"), Level::Crit);
        assert_eq!(inner.of("alias"), Level::Info);
        let whole = levels(&["error", "mpm_event:info"]).unwrap().over(&outer);
        assert_eq!((whole.of("core"), whole.of("mpm_event")), (Level::Error, Level::Info));
        assert_eq!(Levels::default().over(&outer), outer);
        assert_eq!(Levels::default().of("core"), Level::Warn);
    }

    #[test]
    fn errors_have_httpds_words_and_change_nothing() {
        let keywords = "Log level keyword must be one of emerg/alert/crit/error/warn/notice/\
                        info/debug/trace1/.../trace8";
        for (arguments, expected) in [
            (&["loud"][..], keywords.to_owned()),
            (&["core:loud"], format!("core:loud: {keywords}")),
            (&["core:"], "Module specifier 'core' must be followed by a log level keyword".into()),
            (&["nosuch:info"], "Cannot find module nosuch".into()),
            (&["mod_core:info"], "Cannot find module mod_core".into()),
            (&["core.c:info"], "Cannot find module core.c".into()),
            (&[], "LogLevel requires level keyword or module loglevel specifier".into()),
        ] {
            assert_eq!(levels(arguments).unwrap_err(), expected);
        }
        let mut levels = Levels::default();
        assert!(levels.set(&["debug", "core:loud"], KNOWN).is_err());
        assert_eq!(levels, Levels::default());
    }
}
