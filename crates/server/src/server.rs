//! The server as the entry and the MPMs see it: built from configuration, open, and able to log.

use crate::accounting::Accounts;
use crate::defaults::{self, Serve};
use crate::descriptors::Descriptors;
use crate::identity;
use crate::log::level::Level;
use crate::log::message::Message;
use crate::log::program::Program;
use crate::log::recurring::Recurring;
use crate::module_list::Modules;
use crate::modules::MODULES;
use crate::mpm_settings::{MpmKind, MpmMessage, MpmSettings};
use crate::script::room::Usage;
use crate::site::Site;
use crate::site::builder::Builder;
use crate::site::world::{self, System};
use config::index::Found;
use config::{Diagnostic, Index, Node, Severity, Source, Start, Tree};
use runtime::clock;
use runtime::descriptors::DescriptorCount;
use runtime::process::User;
use runtime::programs::ManagerClient;
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use upstream::fastcgi::Pools;

/// A compiled configuration with everything it names opened.
pub struct Server {
    pub(crate) site: Site,
    /// What requests have open, by all threads of this process.
    pub(crate) held: DescriptorCount,
    pub(crate) accounts: Accounts,
    pub(crate) pools: Arc<Pools>,
    pub(crate) spools: Usage,
    pub(crate) recurring: Recurring,
    descriptors: OnceLock<Descriptors>,
    client: Option<Arc<ManagerClient>>,
}

impl Server {
    /// Open what a configuration names.
    ///
    /// # Errors
    /// A text for standard error that says what could not be opened.
    pub(crate) fn open(
        builder: &Builder,
        index: Arc<Index<Builder>>,
        modules: &'static Modules,
    ) -> Result<Self, String> {
        Ok(Self {
            site: Site::open(builder, index, modules)?,
            held: DescriptorCount::default(),
            accounts: Accounts::default(),
            pools: Arc::default(),
            spools: Usage::default(),
            recurring: Recurring::default(),
            descriptors: OnceLock::new(),
            client: None,
        })
    }
}

/// A configuration that cannot be used, or its warnings.
#[derive(Debug, Default)]
pub struct Report {
    /// Everything that was said about the text, ready to print; empty if there was nothing.
    pub text: String,
}

impl Server {
    /// Build what `trivet serve` serves. The report holds warnings.
    ///
    /// # Errors
    /// A text for standard error that names every mistake, or what could not be opened.
    pub fn serve(serve: &Serve) -> Result<(Self, Report), String> {
        let text = defaults::text(serve)?;
        let mut builder = Builder::default();
        builder.server.mpm.sizes_itself = true;
        let index = MODULES.index();
        let own = config::parse(defaults::SOURCE_NAME, text.as_bytes(), 1);
        let mut said = config::apply(&own.nodes, &index, &mut builder);
        let (expanded, kind) = expand_for_mpm(serve, &index)?;
        builder.server.mpm.kind = kind;
        said.extend(expanded.diagnostics);
        builder.server.root = expanded.server_root.unwrap_or_default();
        builder.server.missing = expanded.missing;
        builder.server.defines = expanded.defines;
        // Under `--config` there is no default to be replaced.
        if serve.listen.is_empty() && expanded.nodes.iter().any(defaults::is_listen) {
            builder.server.listen.clear();
        }
        said.extend(config::apply(&expanded.nodes, &index, &mut builder));
        builder.server.tree = expanded.nodes.into();
        said.extend(MODULES.check(&builder));
        builder.settle(&mut said);
        let report = Report { text: render(&said) };
        if said.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
            return Err(report.text);
        }
        defaults::complete(serve, &mut builder.server)?;
        Ok((Self::open(&builder, index.into(), &MODULES)?, report))
    }

    /// Addresses to listen on.
    pub fn listen(&self) -> &[SocketAddr] {
        &self.site.listen
    }

    /// The numbers that MPMs are sized by.
    pub fn mpm(&self) -> &MpmSettings {
        &self.site.mpm
    }

    /// Whom children become; `None` to stay who they are.
    pub fn user(&self) -> Option<&User> {
        self.site.user.as_ref()
    }

    /// The folder that is served, for the banner.
    pub fn document_root(&self) -> &std::path::Path {
        self.site.main().root.path()
    }

    /// Whether this process can open things in the folder.
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn check_root(&self) -> std::io::Result<()> {
        let root = self.site.main().root.descriptor(runtime::clock::unix_s())?;
        let links = crate::resolve::Policies::Uniform(crate::resolve::LinkPolicy::Refuse);
        crate::resolve::status_of(std::os::fd::AsFd::as_fd(&root), b".", &links)?;
        Ok(())
    }

    /// Whether a request may have a program run. Where none may, no serving process is given a way
    /// to have one run either, whoever has taken it over.
    pub fn may_run_programs(&self) -> bool {
        self.site.may_run_programs && self.site.phases.run_programs
    }

    /// The way to the process that starts programs.
    pub fn give_script_manager(&mut self, client: Arc<ManagerClient>) {
        self.client = Some(client);
    }

    /// The same for a handler that has to run one.
    pub(crate) fn client(&self) -> Option<&ManagerClient> {
        self.client.as_deref()
    }

    /// The programs that read logs, for the parent to look after.
    fn programs(&self) -> impl Iterator<Item = &Program> {
        self.site.sinks.iter().filter_map(|sink| sink.program())
    }

    /// The processes of the programs that read logs.
    pub fn log_programs(&self) -> Vec<i32> {
        self.programs().map(Program::pid).filter(|pid| *pid != 0).collect()
    }

    /// A process has ended that is no child: says whether it was one of these programs. While the
    /// server stops that is no accident.
    pub fn log_program_ended(&self, pid: i32, is_stopping: bool) -> bool {
        let Some(program) = self.programs().find(|program| program.pid() == pid) else {
            return false;
        };
        program.ended();
        if is_stopping {
            return true;
        }
        let text = format!("piped log program '{}' failed unexpectedly", program.text());
        self.log(Level::Error, "core", Some(106), None, text.as_bytes());
        true
    }

    /// Start those again that have ended, as far as they are due.
    pub fn restart_log_programs(&self) {
        for program in self.programs() {
            if let Some(Err(error)) = program.restart() {
                let text = format!(
                    "piped_log_maintenance: unable to respawn '{}': {error}",
                    program.text()
                );
                self.log(Level::Error, "core", Some(107), None, text.as_bytes());
            }
        }
    }

    /// A child has begun: it does not look after programs.
    pub fn leave_log_programs(&self) {
        self.programs().for_each(Program::leave_to_parent);
    }

    /// Whether lines of logs are collected before they are written.
    pub fn buffers_logs(&self) -> bool {
        self.site.buffers_logs
    }

    /// Write what was collected. A child does so now and then, and before it ends.
    pub fn flush_logs(&self) {
        for sink in &self.site.sinks {
            if let Err(error) = sink.flush()
                && sink.complaint_is_due()
            {
                let text = format!("Error writing to {}: {error}", sink.name());
                self.log(Level::Warn, "log_config", Some(646), None, text.as_bytes());
            }
        }
    }

    /// Log what was left out of messages that recur: what is due, or at the end of a child all.
    pub fn settle_logs(&self, is_end: bool) {
        for said in self.recurring.settle(clock::monotonic_ms(), is_end) {
            let Some(host) = self.site.hosts.get(said.host) else { continue };
            let message = Message::new(said.module, said.level, said.id, said.text.as_bytes());
            host.error_log.write(None, &Message { os_error: said.os_error, ..message });
        }
    }

    /// What this process may have open: found out when the first of its threads begins to serve.
    pub(crate) fn descriptors(&self) -> Descriptors {
        let (later, logs) = (self.site.slash.kept_later(), self.site.sinks.len());
        *self.descriptors.get_or_init(|| Descriptors::of_process(later as u64, logs as u64))
    }

    /// Log what the MPM that runs says at an occasion.
    pub fn tell(&self, occasion: MpmMessage<'_>) {
        let kind = self.mpm().kind;
        let (level, text) = (occasion.level(), occasion.text(kind));
        let message = Message::new(kind.module(), level, kind.id(occasion), text.as_bytes());
        self.site.error_log.write(None, &Message { os_error: occasion.os_error(), ..message });
    }

    /// Open the logs again. The result is for the children, which may not open what root may: the
    /// number of each log, and its file.
    pub fn reopen_logs(&self) -> Vec<(usize, File)> {
        let mut files = Vec::new();
        for (number, sink) in self.site.sinks.iter().enumerate() {
            match sink.reopen() {
                Ok(file) => files.extend(file.map(|file| (number, file))),
                Err(error) => {
                    let text = format!(
                        "cannot reopen the log {}: {error}; the old file stays in use",
                        sink.name()
                    );
                    self.log(Level::Error, "core", None, None, text.as_bytes());
                }
            }
        }
        files
    }

    /// Write to the logs that the parent has opened again.
    pub fn follow_logs(&self, files: &[(usize, File)]) {
        for (number, file) in files {
            let followed = self.site.sinks.get(*number).map(|sink| sink.follow(file));
            if let Some(Err(error)) = followed {
                let text = format!("cannot switch to a reopened log: {error}");
                self.log(Level::Error, "core", None, None, text.as_bytes());
            }
        }
    }

    /// Log a notice of the parent for which httpd has no number.
    pub fn say(&self, text: &str) {
        self.log(Level::Notice, self.mpm().kind.module(), None, None, text.as_bytes());
    }

    /// Log a warning of the parent for which httpd has no number.
    pub fn advise(&self, text: &str) {
        self.log(Level::Warn, self.mpm().kind.module(), None, None, text.as_bytes());
    }

    /// Log what modules have to say when the server begins to serve.
    pub fn note_modules(&self) {
        self.site.phases.begin.iter().for_each(|begin| begin(self));
        for (id, text) in self.site.proxy_protocol.notices() {
            self.log(Level::Notice, "remoteip", Some(id), None, text.as_bytes());
        }
    }

    /// Log what was said about the configuration, which stands there as it was said already.
    pub fn repeat(&self, lines: &str) {
        let sink = &self.site.error_log.sink;
        for line in lines.split_inclusive('\n').filter(|_| sink.syslog().is_none()) {
            // What cannot be written is lost: it has been said elsewhere.
            let _ = sink.write(line.as_bytes());
        }
    }

    /// Log how the server was called, as httpd's core does.
    pub fn note_command_line(&self, line: &str) {
        let text = format!("Command line: '{line}'");
        self.log(Level::Notice, "core", Some(94), None, text.as_bytes());
    }

    /// Log a notice of the parent.
    pub fn note(&self, id: u32, text: &str) {
        self.log(Level::Notice, self.mpm().kind.module(), Some(id), None, text.as_bytes());
    }

    /// Log a warning of the parent.
    pub fn warn(&self, id: u32, text: &str) {
        self.log(Level::Warn, self.mpm().kind.module(), Some(id), None, text.as_bytes());
    }

    /// Log an error of the parent or of a child's start.
    pub fn complain(&self, id: u32, text: &str) {
        self.log(Level::Error, self.mpm().kind.module(), Some(id), None, text.as_bytes());
    }

    pub(crate) fn log(
        &self,
        level: Level,
        module: &str,
        id: Option<u32>,
        client: Option<SocketAddr>,
        text: &[u8],
    ) {
        let message = Message::new(module, level, id, text).about(client);
        self.site.error_log.write(None, &message);
    }
}

/// What the lines of the administrator say, without all that acts while they are read.
struct Lines {
    nodes: Vec<Node>,
    diagnostics: Vec<Diagnostic>,
    /// `ServerRoot`, if there is one; under `--config` there always is.
    server_root: Option<PathBuf>,
    /// MPMs that were asked for, in order.
    mpms: Vec<&'static str>,
    /// Modules of httpd that were asked for and are not there.
    missing: Vec<&'static str>,
    /// Variables, for `.htaccess` files.
    defines: Vec<(String, Option<String>)>,
}

/// Read the lines for the MPM that runs: that of `--mpm`, else the last of `LoadModule`.
fn expand_for_mpm(serve: &Serve, index: &Index<Builder>) -> Result<(Lines, MpmKind), String> {
    let assumed = serve.mpm.unwrap_or_default();
    let expanded = expand(serve, index, serve.mpm)?;
    let last = expanded.mpms.last().and_then(|symbol| MpmKind::of_symbol(symbol));
    match last {
        // Conditions before the last `LoadModule` have to be asked again.
        Some(kind) if serve.mpm.is_none() && (kind != assumed || expanded.mpms.len() > 1) => {
            Ok((expand(serve, index, Some(kind))?, kind))
        }
        _ => Ok((expanded, assumed)),
    }
}

/// Read the lines and what they include.
fn expand(serve: &Serve, index: &Index<Builder>, mpm: Option<MpmKind>) -> Result<Lines, String> {
    let folder = match &serve.file {
        Some(file) => file.parent().map(Path::to_owned).unwrap_or_default(),
        None => std::env::current_dir()
            .map_err(|error| format!("cannot find the current directory: {error}"))?,
    };
    let modules = MODULES.names();
    let start = Start {
        defines: Vec::new(),
        modules: &modules,
        is_modular: false,
        has_directive: &|name, _| matches!(index.find(name), Found::Row(_)),
        guards: MODULES.guards,
        server_root: folder.to_string_lossy().into_owned(),
        version: identity::VERSION,
        bytes_max: config::expand::EXPANDED_BYTES_MAX,
        htaccess: None,
        missing: &[],
        mpm: mpm.map(MpmKind::symbol),
    };
    let mut trees = Vec::new();
    if let Some(file) = &serve.file {
        let name = file.to_string_lossy();
        let text = world::read_file(&name).map_err(|error| world::cannot_open(&name, &error))?;
        trees.push(config::parse_file(&name, text));
    }
    trees.push(command_line(&serve.directives));
    let expanded = config::expand(trees, &start, &mut System);
    let is_set = serve.file.is_some() || expanded.server_root != start.server_root;
    Ok(Lines {
        nodes: expanded.nodes.into_iter().flatten().collect(),
        diagnostics: expanded.diagnostics,
        server_root: is_set.then(|| expanded.server_root.into()),
        mpms: expanded.mpms,
        missing: expanded.missing,
        defines: expanded.defines,
    })
}

/// The `-c` lines. httpd numbers the options of its command line as lines of one file.
pub(crate) fn command_line(directives: &[String]) -> Tree {
    let sources: Vec<Source<'_>> = directives
        .iter()
        .zip(1..)
        .map(|(line, number)| Source {
            name: config::COMMAND_LINE,
            text: line.as_bytes(),
            first_line: number,
        })
        .collect();
    config::parse_sources(&sources)
}

fn render(said: &[Diagnostic]) -> String {
    if said.is_empty() { String::new() } else { config::diagnostic::render("trivet", said) }
}
