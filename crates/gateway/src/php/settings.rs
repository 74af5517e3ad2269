//! php_value, php_flag and their php_admin_ forms: what a place says of php.ini, and how one place
//! lies over another (apache_config.c of PHP's sources).

use php::Setting;
use server::site::settings::{DirectoryKey, ServerKey};
use server::site::store::Merge;
use std::path::PathBuf;
use std::sync::Arc;

/// The name of the module in the log.
pub(super) const NAME: &str = "php";

/// The key of php_value and the like.
pub(super) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// What a section or a `.htaccess` file says.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    lines: Vec<Arc<Setting>>,
}

impl Settings {
    /// A later line takes the place of an earlier one.
    pub(super) fn set(&mut self, setting: Setting) {
        match self.lines.iter_mut().find(|known| known.name == setting.name) {
            Some(known) => *known = Arc::new(setting),
            None => self.lines.push(Arc::new(setting)),
        }
    }

    /// All of them, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.lines.iter().map(|line| &**line)
    }

    /// Whether PHP runs here, if anything says so (`engine`).
    pub(super) fn is_engine_on(&self) -> Option<bool> {
        self.iter().find(|line| line.name == "engine").map(|line| is_on(&line.value))
    }

    /// Whether pages that their owner may execute are scripts (`xbithack`).
    pub(super) fn runs_executable_pages(&self) -> bool {
        self.iter().any(|line| line.name == "xbithack" && is_on(&line.value))
    }

    /// Whether responses tell when the script was changed (`last_modified`).
    pub(super) fn tells_last_modified(&self) -> Option<bool> {
        self.iter().find(|line| line.name == "last_modified").map(|line| is_on(&line.value))
    }
}

impl Merge for Settings {
    const HOLDS_ALONE: bool = true;

    /// An inner line counts unless an outer one is the administrator's and it is not
    /// (should_overwrite_per_dir_entry).
    fn over(&self, outer: &Self) -> Self {
        let mut merged = outer.clone();
        for line in &self.lines {
            match merged.lines.iter_mut().find(|known| known.name == line.name) {
                Some(known) if known.is_admin && !line.is_admin => {}
                Some(known) => *known = line.clone(),
                None => merged.lines.push(line.clone()),
            }
        }
        merged
    }
}

/// What PHP takes for a switch that is on (zend_ini_parse_bool).
fn is_on(value: &str) -> bool {
    let words = ["true", "yes", "on"];
    let number = || {
        let digits = value.trim_start().trim_start_matches(['+', '-']);
        let end = digits.find(|it: char| !it.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].bytes().any(|digit| digit != b'0')
    };
    words.iter().any(|word| value.eq_ignore_ascii_case(word)) || number()
}

/// The key of what is said about the interpreter.
pub(super) static ENGINE_SETTINGS: ServerKey<EngineSettings> = ServerKey::new();

/// What the configuration says about the interpreter and its processes.
#[derive(Clone, Debug, Default)]
pub(super) struct EngineSettings {
    /// `PHPModuleFile`, if PHP is to run without a `LoadModule`.
    pub(super) file: Option<ModuleFile>,
    /// `PHPINIDir`
    pub(super) ini_folder: Option<PathBuf>,
    /// `PHPProcesses`: whether scripts run in processes of their own under any MPM.
    pub(super) processes: Option<bool>,
    /// `PHPStartServers`, `PHPMinSpareServers`, `PHPMaxSpareServers`, `PHPMaxRequestWorkers`.
    pub(super) start: Option<usize>,
    pub(super) spare_min: Option<usize>,
    pub(super) spare_max: Option<usize>,
    pub(super) most: Option<usize>,
    /// `PHPMaxRequestsPerChild`
    pub(super) requests_max: Option<u64>,
}

impl Merge for EngineSettings {}

/// Which module file is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ModuleFile {
    /// One that is looked for.
    Found,
    /// This one.
    Named(PathBuf),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, value: &str, is_admin: bool) -> Setting {
        Setting { name: name.into(), value: value.into(), is_admin, is_of_htaccess: false }
    }

    fn settings(lines: &[(&str, &str, bool)]) -> Settings {
        let mut settings = Settings::default();
        lines.iter().for_each(|row| settings.set(line(row.0, row.1, row.2)));
        settings
    }

    #[test]
    fn an_administrators_line_stays_unless_another_one_lies_over_it() {
        let outer = settings(&[("a", "outer", false), ("b", "outer", true), ("c", "outer", true)]);
        let inner = settings(&[("a", "inner", true), ("b", "inner", false), ("c", "inner", true)]);
        let merged = inner.over(&outer);
        let shown: Vec<_> = merged.iter().map(|line| (&*line.name, &*line.value)).collect();
        assert_eq!(shown, [("a", "inner"), ("b", "outer"), ("c", "inner")]);
    }

    #[test]
    fn switches_are_read_as_php_reads_them() {
        for (value, expected) in [
            ("On", true),
            ("yes", true),
            ("TRUE", true),
            ("1", true),
            ("2x", true),
            ("-1", true),
            ("", false),
            ("0", false),
            ("off", false),
            ("x1", false),
        ] {
            assert_eq!(is_on(value), expected, "{value}");
        }
    }
}
