//! The logs of a site: each file opened once and each program started once, however many hosts
//! write to it.

use super::host::HostDraft;
use crate::site::custom_log::{AccessLog, LogDraft};
use logging::access::{self, Format};
use logging::error_format::ErrorFormats;
use logging::errors::ErrorLog;
use logging::level::Levels;
use logging::sink::Sink;
use logging::target::LogTarget;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files that are open before the limit of descriptors is raised; httpd's parent never raises it,
/// and then refuses to start.
const DESCRIPTORS_USUAL: usize = 256;

/// What is open so far.
pub(super) struct Logs {
    /// `ServerRoot`, where programs run.
    folder: PathBuf,
    is_buffered: bool,
    sinks: BTreeMap<LogTarget, Arc<Sink>>,
    formats: BTreeMap<String, Arc<Format>>,
    /// Those of the main server, for hosts without a word about logs.
    shared: Option<Arc<[AccessLog]>>,
}

impl Logs {
    pub(super) fn new(folder: &Path, is_buffered: bool) -> Self {
        Self {
            folder: folder.to_owned(),
            is_buffered,
            sinks: BTreeMap::new(),
            formats: BTreeMap::new(),
            shared: None,
        }
    }

    /// Every log that is open.
    pub(super) fn into_sinks(self) -> Vec<Arc<Sink>> {
        self.sinks.into_values().collect()
    }

    fn sink(&mut self, target: LogTarget, is_buffered: bool) -> std::io::Result<Arc<Sink>> {
        if let Some(known) = self.sinks.get(&target) {
            return Ok(known.clone());
        }
        if self.sinks.len() == DESCRIPTORS_USUAL {
            runtime::process::raise_descriptor_limit();
        }
        let sink = Arc::new(Sink::open(&target, &self.folder, is_buffered)?);
        self.sinks.insert(target, sink.clone());
        Ok(sink)
    }

    /// The error log of a host.
    pub(super) fn error_log(
        &mut self,
        draft: &HostDraft,
        main: &HostDraft,
        host_name: String,
    ) -> Result<Arc<ErrorLog>, String> {
        let path = draft.error_log.as_deref().or(main.error_log.as_deref());
        let target = LogTarget::error_log(path)?;
        let sink = self.sink(target.clone(), false).map_err(|error| {
            let reason = reason(&error);
            match &target {
                LogTarget::Program(command) => {
                    format!(
                        "{reason}: AH00089: Couldn't start ErrorLog process '{}'.",
                        command.text
                    )
                }
                _ => {
                    let path = path.unwrap_or(Path::new("stderr")).display();
                    format!("{reason}: AH00091: could not open error log file {path}.")
                }
            }
        })?;
        let formats = Arc::new(ErrorFormats::over(&draft.error_formats, &main.error_formats));
        let levels = levels(draft, main);
        let is_configured = path.is_some();
        Ok(Arc::new(ErrorLog { sink, is_configured, levels, formats, host_name }))
    }

    /// The access logs of a host: its own and the global ones of the main server, or all of those
    /// if it has none (mod_log_config.c, multi_log_transaction).
    pub(super) fn access_logs(
        &mut self,
        draft: &HostDraft,
        main: &HostDraft,
        is_main: bool,
    ) -> Result<Arc<[AccessLog]>, String> {
        let has_own = !draft.logs.is_empty();
        // A host may have a default of its own even for logs that it inherits.
        let is_plain = !has_own && draft.default_format.is_none();
        if let Some(known) = self.shared.as_ref().filter(|_| is_plain) {
            return Ok(known.clone());
        }
        let own = draft.logs.iter();
        let inherited = main.logs.iter().filter(|log| !has_own || log.is_global);
        let inherited = inherited.filter(|_| !is_main);
        let own = own.map(|log| (log, draft));
        let inherited = inherited.map(|log| (log, main));
        let default = draft.default_format.as_deref().or(main.default_format.as_deref());
        let open = |(log, owner): (&LogDraft, _)| {
            let text = log.format.as_deref().or(default).unwrap_or(access::COMMON);
            self.open(log, format_text(text, owner, main))
        };
        let logs: Arc<[AccessLog]> = own.chain(inherited).map(open).collect::<Result<_, _>>()?;
        if is_main || is_plain {
            self.shared = Some(logs.clone());
        }
        Ok(logs)
    }

    fn open(&mut self, log: &LogDraft, text: &str) -> Result<AccessLog, String> {
        let target = LogTarget::access_log(&log.path);
        let sink = self.sink(target.clone(), self.is_buffered).map_err(|error| {
            let (reason, path) = (reason(&error), log.path.display());
            match &target {
                LogTarget::Program(command) => {
                    let text = &command.text;
                    format!("{reason}: AH00104: unable to start piped log program '{text}'")
                }
                _ => format!("{reason}: AH00649: could not open transfer log file {path}."),
            }
        })?;
        let format = match self.formats.get(text) {
            Some(known) => known.clone(),
            None => {
                let format = Arc::new(Format::parse(text)?);
                self.formats.insert(text.to_owned(), format.clone());
                format
            }
        };
        Ok(AccessLog { sink, format, condition: log.condition.clone() })
    }
}

/// What `LogLevel` says for a host outside of all sections.
pub(super) fn levels(draft: &HostDraft, main: &HostDraft) -> Levels {
    let (own, main) = (draft.levels.as_ref(), main.levels.as_ref());
    match (own, main) {
        (Some(own), Some(main)) => own.over(main),
        (own, main) => own.or(main).cloned().unwrap_or_default(),
    }
}

/// A format is a text or a nickname; those of the host come first, and of two the later one.
fn format_text<'a>(text: &'a str, owner: &'a HostDraft, main: &'a HostDraft) -> &'a str {
    let named = |host: &'a HostDraft| {
        // Nicknames are keys of a table, which have no case.
        let mut rows = host.formats.iter().rev();
        rows.find(|row| row.0.eq_ignore_ascii_case(text)).map(|row| row.1.as_str())
    };
    named(owner).or_else(|| named(main)).or_else(|| access::builtin_nickname(text)).unwrap_or(text)
}

/// `(13)Permission denied`, as httpd's messages begin when it starts.
fn reason(error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(_) => runtime::os_error::numbered(error),
        None => runtime::os_error::text(error),
    }
}
