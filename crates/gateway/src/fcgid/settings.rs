//! What a configuration says about managed processes: for the whole server, for a host, for a
//! command and for a place; and what follows from all of it for one class of processes.

use server::site::settings::{DirectoryKey, HostKey, ServerKey};
use server::site::store::Merge;
use std::path::PathBuf;
use std::sync::Arc;

/// httpd tries so often to get a process, and sleeps a second each time (fcgid_bridge.c,
/// FCGID_REQUEST_COUNT and FCGID_APPLY_TRY_COUNT), whatever `FcgidConnectTimeout` says.
const PATIENCE_S: i64 = 64;

/// The largest number that a time or a count may have.
const LARGEST: i64 = i32::MAX as i64;

/// The key of what holds for the whole server.
pub(crate) static SERVER_SETTINGS: ServerKey<ServerSettings> = ServerKey::new();

/// What holds for the whole server.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerSettings {
    pub(super) processes_max: Option<i64>,
    pub(super) fixes_path_info: bool,
    /// `FcgidIPCDir`
    pub(super) socket_folder: Option<PathBuf>,
    pub(super) scores: Scores,
}

impl Merge for ServerSettings {}

impl ServerSettings {
    /// `FcgidMaxProcesses`; `None` is for the machine to decide.
    pub(crate) fn processes_max(&self) -> Option<usize> {
        self.processes_max.map(count)
    }

    /// `FcgidFixPathinfo`
    pub(crate) fn fixes_path_info(&self) -> bool {
        self.fixes_path_info
    }

    /// Where sockets may have a name for a moment.
    pub(crate) fn socket_folder(&self) -> Option<&PathBuf> {
        self.socket_folder.as_ref()
    }

    /// What starting and ending processes costs a class.
    pub(crate) fn scores(&self) -> Scores {
        self.scores
    }
}

/// What a class has to pay for starting processes, so that a command that fails is not started
/// again and again: above a limit it has to wait (fcgid_spawn_ctl.c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scores {
    /// `FcgidSpawnScore`
    pub spawn: i64,
    /// `FcgidTerminationScore`
    pub termination: i64,
    /// `FcgidTimeScore`: what each second gives back.
    pub second: i64,
    /// `FcgidSpawnScoreUpLimit`
    pub limit: i64,
}

impl Default for Scores {
    fn default() -> Self {
        Self { spawn: 1, termination: 2, second: 1, limit: 10 }
    }
}

/// Numbers as they are written, of a host or a command.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WrittenNumbers {
    pub(super) busy_s: Option<i64>,
    pub(super) connect_s: Option<i64>,
    pub(super) idle_s: Option<i64>,
    pub(super) io_s: Option<i64>,
    pub(super) life_s: Option<i64>,
    pub(super) processes_max: Option<i64>,
    pub(super) processes_min: Option<i64>,
    pub(super) requests_max: Option<i64>,
}

impl WrittenNumbers {
    /// An inner one over an outer one (merge_fcgid_server_config).
    fn over(&self, outer: &Self) -> Self {
        Self {
            busy_s: self.busy_s.or(outer.busy_s),
            connect_s: self.connect_s.or(outer.connect_s),
            idle_s: self.idle_s.or(outer.idle_s),
            io_s: self.io_s.or(outer.io_s),
            life_s: self.life_s.or(outer.life_s),
            processes_max: self.processes_max.or(outer.processes_max),
            processes_min: self.processes_min.or(outer.processes_min),
            requests_max: self.requests_max.or(outer.requests_max),
        }
    }

    fn terms(&self) -> ClassTerms {
        ClassTerms {
            idle_ms: time(self.idle_s.unwrap_or(300)),
            busy_ms: time(self.busy_s.unwrap_or(300)),
            life_ms: time(self.life_s.unwrap_or(3600)),
            connect_ms: seconds(self.connect_s.unwrap_or(PATIENCE_S)),
            io_ms: seconds(self.io_s.unwrap_or(40)).max(1000),
            processes_max: self.processes_max.map_or(100, count),
            processes_min: self.processes_min.map_or(3, count),
            requests_max: Some(count(self.requests_max.unwrap_or(0))).filter(|max| *max > 0),
        }
    }
}

/// What holds for one class of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassTerms {
    /// How long a process may idle; `None` is for ever.
    pub idle_ms: Option<u64>,
    /// How long a process may take for a request.
    pub busy_ms: Option<u64>,
    /// How old a process may become.
    pub life_ms: Option<u64>,
    /// How long a request waits for a process.
    pub connect_ms: u64,
    /// How long a process may be silent while it has a request.
    pub io_ms: u64,
    /// Processes at most.
    pub processes_max: usize,
    /// So many are not ended for idling or for their age.
    pub processes_min: usize,
    /// Requests that a process serves.
    pub requests_max: Option<usize>,
}

/// A count is neither negative nor absurd.
fn count(number: i64) -> usize {
    usize::try_from(number.clamp(0, LARGEST)).unwrap_or(0)
}

fn seconds(number: i64) -> u64 {
    number.clamp(0, LARGEST).unsigned_abs() * 1000
}

/// A limit that 0 takes away.
fn time(number: i64) -> Option<u64> {
    Some(seconds(number)).filter(|ms| *ms > 0)
}

/// Names and values in order; a name once.
pub(super) type EnvironmentPairs = Vec<(String, String)>;

/// apr_table_set: names differ without regard to case.
pub(super) fn set(variables: &mut EnvironmentPairs, name: &str, value: &str) {
    variables.retain(|row| !row.0.eq_ignore_ascii_case(name));
    variables.push((name.to_owned(), value.to_owned()));
}

/// `FcgidCmdOptions`: takes the place of all that the host says, but for `FcgidBusyTimeout`.
#[derive(Clone, Debug, Default)]
pub(super) struct CmdOptions {
    pub(super) terms: WrittenNumbers,
    pub(super) environment: EnvironmentPairs,
}

/// The key of what is kept per host.
pub(crate) static HOST_SETTINGS: HostKey<HostSettings> = HostKey::new();

/// What a host says about the programs that this server starts, by the `Fcgid` directives.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostSettings {
    pub(super) terms: WrittenNumbers,
    /// `FcgidInitialEnv`
    environment: EnvironmentPairs,
    /// `FcgidPassHeader`
    pub(super) pass_headers: Vec<String>,
    /// `FcgidMaxRequestLen`
    pub(super) request_bytes_max: Option<u64>,
    /// `FcgidMaxRequestInMem`
    pub(super) request_bytes_kept: Option<u64>,
    /// By program.
    options: Vec<(String, Arc<CmdOptions>)>,
}

impl Merge for HostSettings {
    /// Those of a virtual host over those of the main server.
    fn over(&self, main: &Self) -> Self {
        let mut environment = main.environment.clone();
        self.environment.iter().for_each(|row| set(&mut environment, &row.0, &row.1));
        Self {
            terms: self.terms.over(&main.terms),
            environment,
            pass_headers: [&main.pass_headers[..], &self.pass_headers].concat(),
            request_bytes_max: self.request_bytes_max.or(main.request_bytes_max),
            request_bytes_kept: self.request_bytes_kept.or(main.request_bytes_kept),
            options: [&self.options[..], &main.options].concat(),
        }
    }
}

impl HostSettings {
    pub(super) fn set_variable(&mut self, name: &str, value: &str) {
        set(&mut self.environment, name, value);
    }

    pub(super) fn set_options(&mut self, program: String, options: CmdOptions) {
        self.options.retain(|row| row.0 != program);
        self.options.push((program, Arc::new(options)));
    }

    fn options(&self, program: &str) -> Option<&CmdOptions> {
        self.options.iter().find(|row| row.0 == program).map(|row| &*row.1)
    }

    /// What holds for processes of `program` (get_cmd_options).
    pub(crate) fn terms(&self, program: &str) -> ClassTerms {
        match self.options(program) {
            Some(options) => WrittenNumbers { busy_s: self.terms.busy_s, ..options.terms }.terms(),
            None => self.terms.terms(),
        }
    }

    /// The variables that processes of `program` begin with, beside those of every program. PHP
    /// must not fork children of its own, whose number nobody would limit, and must not end by
    /// itself after 500 requests, just when it is given the next one.
    pub(crate) fn environment(&self, program: &str) -> Vec<(String, String)> {
        let own = self.options(program).map_or(&self.environment, |options| &options.environment);
        let name = program.rsplit('/').next().unwrap_or_default();
        if !name.contains("php") {
            return own.clone();
        }
        let requests = self.terms(program).requests_max.unwrap_or(0);
        let mut all = vec![
            ("PHP_FCGI_CHILDREN".to_owned(), "0".to_owned()),
            ("PHP_FCGI_MAX_REQUESTS".to_owned(), requests.to_string()),
        ];
        own.iter().for_each(|row| set(&mut all, &row.0, &row.1));
        all
    }

    /// Fields of a request that processes see under their own names, too.
    pub(crate) fn pass_headers(&self) -> &[String] {
        &self.pass_headers
    }

    /// Bodies up to this are here before a process is asked for, so that a client that sends
    /// slowly keeps none. mod_fcgid waits for all of every body.
    pub(crate) fn request_bytes_kept(&self) -> u64 {
        self.request_bytes_kept.unwrap_or(64 << 10)
    }

    /// `FcgidMaxRequestLen`
    pub(crate) fn request_bytes_max(&self) -> Option<u64> {
        self.request_bytes_max
    }
}

/// A program that runs scripts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrapper {
    /// The command line as it is written, which is what classes are told apart by.
    pub(crate) line: String,
    /// The program and its arguments.
    pub(crate) words: Vec<String>,
    /// There need not be a file.
    pub(crate) is_virtual: bool,
}

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings: wrappers by suffix; `None` is for all others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    wrappers: Vec<(Option<String>, Arc<Wrapper>)>,
}

impl Merge for Settings {
    const HOLDS_ALONE: bool = true;

    /// Each suffix on its own (merge_fcgid_dir_config).
    fn over(&self, outer: &Self) -> Self {
        Self { wrappers: [&self.wrappers[..], &outer.wrappers].concat() }
    }
}

impl Settings {
    pub(super) fn set_wrapper(&mut self, suffix: Option<&str>, wrapper: Arc<Wrapper>) {
        self.wrappers.retain(|row| row.0.as_deref() != suffix);
        self.wrappers.push((suffix.map(str::to_owned), wrapper));
    }

    /// The wrapper for a file (get_wrapper_info): httpd looks for the last dot of the whole path.
    pub(crate) fn wrapper(&self, path: &[u8]) -> Option<&Arc<Wrapper>> {
        let dot = path.iter().rposition(|byte| *byte == b'.');
        let suffix = dot.and_then(|dot| std::str::from_utf8(&path[dot..]).ok());
        let of = |suffix: Option<&str>| {
            self.wrappers.iter().find(|row| row.0.as_deref() == suffix).map(|row| &row.1)
        };
        suffix.and_then(|suffix| of(Some(suffix))).or_else(|| of(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapper(line: &str) -> Arc<Wrapper> {
        Arc::new(Wrapper { line: line.into(), words: vec![line.into()], is_virtual: false })
    }

    #[test]
    fn a_suffix_beats_the_wrapper_of_all_others() {
        let (mut outer, mut inner) = (Settings::default(), Settings::default());
        outer.set_wrapper(Some(".php"), wrapper("outer"));
        outer.set_wrapper(None, wrapper("all"));
        inner.set_wrapper(Some(".php"), wrapper("first"));
        inner.set_wrapper(Some(".php"), wrapper("last"));
        let merged = inner.over(&outer);
        for (path, expected) in [
            ("/a/x.php", "last"),
            ("/a/x.PHP", "all"),
            ("/a/x", "all"),
            ("/a.php/x", "all"),
            ("/a/x.php.bak", "all"),
        ] {
            let found = merged.wrapper(path.as_bytes()).map(|wrapper| wrapper.line.as_str());
            assert_eq!(found, Some(expected), "{path}");
        }
        assert_eq!(inner.wrapper(b"/a/x"), None);
    }

    #[test]
    fn terms_are_httpds_and_options_of_a_command_take_their_place() {
        let mut host = HostSettings::default();
        let defaults = ClassTerms {
            idle_ms: Some(300_000),
            busy_ms: Some(300_000),
            life_ms: Some(3_600_000),
            connect_ms: 64_000,
            io_ms: 40_000,
            processes_max: 100,
            processes_min: 3,
            requests_max: None,
        };
        assert_eq!(host.terms("/x"), defaults);
        host.terms.idle_s = Some(0);
        host.terms.busy_s = Some(7);
        host.terms.requests_max = Some(-1);
        host.terms.processes_max = Some(i64::MAX);
        let said = ClassTerms {
            idle_ms: None,
            busy_ms: Some(7000),
            processes_max: i32::MAX as usize,
            ..defaults
        };
        assert_eq!(host.terms("/x"), said);
        let terms = WrittenNumbers { requests_max: Some(5), ..WrittenNumbers::default() };
        host.set_options("/x".into(), CmdOptions { terms, environment: Vec::new() });
        let own = ClassTerms { busy_ms: Some(7000), requests_max: Some(5), ..defaults };
        assert_eq!(host.terms("/x"), own);
        assert_eq!(HostSettings::default().over(&host).terms("/x"), own);
    }

    #[test]
    fn php_is_told_not_to_manage_itself_unless_the_configuration_wants_it() {
        let mut host = HostSettings::default();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        host.set_variable("A", "1");
        assert_eq!(host.environment("/usr/bin/app"), [pair("A", "1")]);
        let php = |requests: &str| {
            vec![
                pair("PHP_FCGI_CHILDREN", "0"),
                pair("PHP_FCGI_MAX_REQUESTS", requests),
                pair("A", "1"),
            ]
        };
        assert_eq!(host.environment("/usr/bin/php-cgi8.2"), php("0"));
        host.terms.requests_max = Some(9);
        assert_eq!(host.environment("/usr/bin/php-cgi8.2"), php("9"));
        host.set_variable("PHP_FCGI_CHILDREN", "4");
        let all = host.environment("/usr/bin/php-cgi");
        assert_eq!(all.last(), Some(&pair("PHP_FCGI_CHILDREN", "4")));
        assert_eq!(all.len(), 3);
    }
}
