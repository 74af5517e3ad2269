//! A configuration as httpd's command line means it: a file with lines before and after it,
//! modules that are there only if they are loaded, and the checks of `-t`. Nothing is opened until
//! [`Configured::open`], so that `-t`, `-S` and `-k` look without touching.

mod check;
mod files;
mod summary;
mod told;

use crate::MODULES;
use crate::serve::command_line;
use config::index::FoundRow;
use config::{Diagnostic, DirectiveIndex, Expanded, Included, Severity, StartFacts, World};
use logging::level::Level;
use runtime::hostname::{self, LocalName};
use runtime::process;
use server::STATIC_MODULES;
use server::Server;
use server::identity;
use server::site::builder::Builder;
use server::site::dump::VirtualHosts;
use server::site::world::{self, System};
use server::{MpmKind, MpmSettings};
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

/// What Debian's httpd has compiled in.
const DOCUMENT_ROOT: &str = "/var/www/html";
const ERROR_LOG: &str = "logs/error_log";
const RUNTIME_DIR: &str = "/var/run/apache2";
/// `DEFAULT_PIDLOG` of `-V`.
pub(crate) const PID_FILE: &str = "/run/apache2.pid";

/// What the command line says about the configuration.
#[derive(Clone, Debug)]
pub struct Httpd {
    /// The name that begins messages, as `apache2`.
    pub program: String,
    /// `-d`, absolute.
    pub server_root: PathBuf,
    /// `-f`, absolute.
    pub file: PathBuf,
    /// `-D`, in order.
    pub defines: Vec<String>,
    /// `-C` lines, which come before the file.
    pub before: Vec<String>,
    /// `-c` lines, which come after it.
    pub after: Vec<String>,
    /// `-e`: the least severe messages that are shown; `None` is `warn`.
    pub level: Option<String>,
    /// Whether each `DocumentRoot` has to be there: not with `-T`.
    pub checks_document_root: bool,
    /// Variables beside those of the process: what `envvars` says.
    pub environment: Vec<(String, String)>,
}

impl Httpd {
    /// Whether `-e` may have this value.
    pub fn is_level(word: &str) -> bool {
        Level::parse(word).is_ok()
    }

    fn level(&self) -> Level {
        let named = self.level.as_deref().and_then(|word| Level::parse(word).ok());
        named.unwrap_or(Level::Warn)
    }

    /// Whether `-e` lets warnings through that belong to no host.
    pub fn shows_warnings(&self) -> bool {
        self.level() >= Level::Warn
    }
}

/// Why a configuration cannot be used.
#[derive(Debug)]
pub struct RefusedConfiguration {
    /// Every mistake, for standard error.
    pub text: String,
    /// The MPM that was loaded, if the reading came so far.
    pub mpm: Option<&'static str>,
    /// Files that were included.
    pub included: Vec<Included>,
}

/// What the dumps of `-S`, `-M` and `-D DUMP_...` show of a configuration.
#[derive(Clone, Debug, Default)]
pub struct DumpFacts {
    /// Symbols of the modules, the static ones first, then in the order of `LoadModule`.
    pub modules: Vec<(&'static str, bool)>,
    /// Files that were included.
    pub included: Vec<Included>,
    /// `-D` and `Define`.
    pub defines: Vec<(String, Option<String>)>,
    /// `ServerRoot`.
    pub server_root: PathBuf,
    /// `DocumentRoot` of the main server.
    pub document_root: PathBuf,
    /// `ErrorLog` of the main server.
    pub error_log: PathBuf,
    /// `DefaultRuntimeDir`.
    pub runtime_dir: PathBuf,
    /// `Mutex`: of a type the folder, the mechanism and the end of the line that shows them.
    pub mutexes: Vec<(String, [String; 3])>,
    /// `PidFile`.
    pub pid_file: PathBuf,
    /// `User` and its number.
    pub user: (String, u32),
    /// `Group` and its number.
    pub group: (String, u32),
    /// The MPM that runs.
    pub mpm: MpmKind,
    /// The virtual hosts, if `DUMP_VHOSTS` asks for them: names may have to be looked up.
    pub virtual_hosts: VirtualHosts,
}

/// A configuration that can be used.
#[derive(Clone)]
pub struct Configured {
    builder: Builder,
    /// The directives of the modules that are loaded.
    index: Arc<DirectiveIndex<Builder>>,
    /// What the dumps of `-S`, `-M` and `-D DUMP_...` show of a configuration.
    pub facts: DumpFacts,
    /// Warnings, for standard error.
    pub text: String,
    /// What has no effect here, in a line behind them; may be empty.
    pub summary: String,
}

impl Configured {
    /// Read the files and check them.
    ///
    /// # Errors
    /// Every mistake.
    pub fn read(httpd: &Httpd) -> Result<Self, RefusedConfiguration> {
        let (expanded, kind) = expanded(httpd)?;
        let index = MODULES.index_of(&expanded.loaded, &expanded.missing);
        let mut builder = Builder::default();
        builder.server.root = expanded.server_root.clone().into();
        let runtime_dir = expanded.runtime_dir.as_deref().unwrap_or(RUNTIME_DIR);
        builder.server.runtime_dir = runtime_dir.into();
        builder.server.loaded = Some(expanded.loaded.clone());
        builder.server.named = expanded.module_files.iter().map(|row| row.0.clone()).collect();
        builder.server.mpm.kind = kind;
        builder.server.checks_document_root = httpd.checks_document_root;
        let mut said = expanded.diagnostics.clone();
        for tree in &expanded.nodes {
            said.extend(config::apply(tree, &index, &mut builder));
        }
        builder.settle(&mut said);
        if expanded.loaded.contains(&"info_module") {
            builder.server.tree = expanded.nodes.concat().into();
        }
        builder.server.missing.clone_from(&expanded.missing);
        builder.server.defines.clone_from(&expanded.defines);
        complete(&mut builder);
        let mpm = (!expanded.mpms.is_empty()).then(|| kind.name());
        if mpm.is_none() {
            let severity = Severity::Notice;
            let text = "no MPM is loaded: event is used".into();
            said.push(Diagnostic { severity, ..Diagnostic::whole(text) });
        }
        let mut checks = check::CheckedFolders::default();
        let checked = check::Checked::of(&expanded.nodes);
        said.extend(check::names(&builder, httpd));
        let mut later = check::by_modules(&builder);
        later.extend(MODULES.advise(&builder, None));
        later.extend(checks.log_folders(&builder, &expanded.nodes, &checked));
        let text = told::loaded_lines(httpd, &expanded) + &all_said(httpd, &builder, &said, &later);
        if said.iter().chain(&later).any(is_error) {
            return Err(RefusedConfiguration { text, mpm, included: expanded.included });
        }
        let summary = match httpd.shows_warnings() {
            true => summary::line(&builder, &expanded, &said),
            false => String::new(),
        };
        let mut facts = facts(expanded, &builder);
        if httpd.defines.iter().any(|name| name == "DUMP_VHOSTS") {
            facts.virtual_hosts = VirtualHosts::of(&builder.hosts[1..], &main_name(&builder));
        }
        Ok(Self { builder, index: index.into(), facts, text, summary })
    }

    /// Read the files as far as `-V` does, which wants to know the MPM and not what directives say.
    ///
    /// # Errors
    /// Every mistake so far.
    pub fn mpm_of(httpd: &Httpd) -> Result<(Option<&'static str>, String), RefusedConfiguration> {
        let (expanded, kind) = expanded(httpd)?;
        let mpm = (!expanded.mpms.is_empty()).then(|| kind.name());
        let mut said = expanded.diagnostics.clone();
        // Nobody has looked who listens.
        config::diagnostic::settle(&mut said, |_| false, false);
        let text = told::loaded_lines(httpd, &expanded) + &told::render(httpd, &said);
        match said.iter().any(is_error) {
            true => Err(RefusedConfiguration { text, mpm, included: Vec::new() }),
            false => Ok((mpm, text)),
        }
    }

    /// The numbers that MPMs are sized by.
    pub fn mpm(&self) -> &MpmSettings {
        &self.builder.server.mpm
    }

    /// What is probably not meant in the `.htaccess` files of document roots and of the folders in
    /// them, for standard error.
    pub fn advice_on_files(&self, httpd: &Httpd) -> String {
        let found = files::of(&self.builder);
        let advise = |file: &files::AccessFile<'_>| {
            let about = (file.folder.as_str(), file.name.as_str(), &file.text[..]);
            MODULES.advise_on_file(&self.builder, &self.index, file.host, about)
        };
        told::render(httpd, &found.iter().flat_map(advise).collect::<Vec<_>>())
    }

    /// What httpd says again in the error log when it reads its files a second time and begins to
    /// serve: all but what it says once.
    pub fn repeated(&self) -> String {
        let is_httpds = |line: &&str| {
            (line.starts_with('[') || line.starts_with("AH")) && !line.starts_with("AH00548")
        };
        self.text.split_inclusive('\n').filter(is_httpds).collect()
    }

    /// Open what the configuration names: folders, logs, tables. With `is_alone` one process is
    /// to serve everything (`-X`).
    ///
    /// # Errors
    /// A text for standard error.
    pub fn open(&self, is_alone: bool) -> Result<Server, String> {
        self.check_whole()?;
        let mut server = Server::open(&self.builder, self.index.clone(), &MODULES)?;
        if is_alone {
            server.site.mpm.is_alone = true;
        }
        Ok(server)
    }

    /// Open folders and tables, to explain requests.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_to_explain(&self) -> Result<Server, String> {
        self.check_whole()?;
        Server::open_to_explain(&self.builder, self.index.clone(), &MODULES)
    }

    /// Whether nothing is missing that a server cannot be without.
    fn check_whole(&self) -> Result<(), String> {
        let builder = &self.builder;
        if builder.server.listen.is_empty() {
            let text =
                "no listening sockets available, shutting down\nAH00015: Unable to open logs";
            return Err(text.into());
        }
        if builder.server.user.is_none() && process::is_root() {
            return Err("AH02155: running as root, but the configuration names no user for the \
                        child processes: add User and Group"
                .into());
        }
        Ok(())
    }
}

/// What httpd has compiled in holds for what nobody has said.
fn complete(builder: &mut Builder) {
    let root = builder.server.root.clone();
    builder.hosts[0].error_log.get_or_insert(root.join(ERROR_LOG));
    builder.server.mpm.pid_file.get_or_insert(PID_FILE.into());
    builder.hosts[0].document_root.get_or_insert(DOCUMENT_ROOT.into());
}

/// The system, with variables that come from `envvars`.
struct Surroundings<'a> {
    system: System,
    more: &'a [(String, String)],
}

impl World for Surroundings<'_> {
    fn environment(&self, name: &str) -> Option<String> {
        let more = || self.more.iter().find(|row| row.0 == name).map(|row| row.1.clone());
        self.system.environment(name).or_else(more)
    }

    fn files(&mut self, path: &str, optional: bool) -> Result<Vec<String>, String> {
        self.system.files(path, optional)
    }

    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        self.system.read(path)
    }

    fn exists(&mut self, path: &str) -> bool {
        self.system.exists(path)
    }

    fn is_folder(&mut self, path: &str) -> bool {
        self.system.is_folder(path)
    }

    fn matches(&mut self, pattern: &str, subject: &str) -> Option<bool> {
        self.system.matches(pattern, subject)
    }
}

fn expand(trees: Vec<config::ConfigTree>, httpd: &Httpd, mpm: Option<MpmKind>) -> Expanded {
    let names = MODULES.modular_names();
    // Modules are only ever added: their number says whether the index still holds.
    let index: RefCell<Option<(usize, DirectiveIndex<Builder>)>> = RefCell::default();
    let has_directive = |name: &str, loaded: &[&'static str]| {
        let mut known = index.borrow_mut();
        let current = known.take().filter(|known| known.0 == loaded.len());
        let made = || (loaded.len(), MODULES.index_of(loaded, &[]));
        let (_, index) = known.insert(current.unwrap_or_else(made));
        matches!(index.find(name), FoundRow::Row(_))
    };
    let start = StartFacts {
        defines: httpd.defines.iter().map(|name| (name.clone(), None)).collect(),
        modules: &names,
        is_modular: true,
        has_directive: &has_directive,
        guards: MODULES.guards,
        server_root: httpd.server_root.to_string_lossy().into_owned(),
        version: identity::VERSION,
        bytes_max: config::expand::EXPANDED_BYTES_MAX,
        htaccess: None,
        missing: &[],
        mpm: mpm.map(MpmKind::symbol),
    };
    let mut world = Surroundings { system: System, more: &httpd.environment };
    config::expand(trees, &start, &mut world)
}

/// The lines before the file, of it and after it, without all that acts while they are read.
fn expanded(httpd: &Httpd) -> Result<(Expanded, MpmKind), RefusedConfiguration> {
    let file = httpd.file.to_string_lossy();
    let text = world::read_file(&file).map_err(|error| {
        let reason = world::cannot_open(&file, &error);
        RefusedConfiguration {
            text: format!("{}: {reason}\n", httpd.program),
            mpm: None,
            included: Vec::new(),
        }
    })?;
    Ok(expand_for_mpm(httpd, || {
        let before = command_line(&httpd.before);
        let tree = config::parse_file(&file, text.clone());
        [before, tree, command_line(&httpd.after)].into()
    }))
}

/// Expand for the MPM that runs: the one that was loaded last.
fn expand_for_mpm(
    httpd: &Httpd,
    trees: impl Fn() -> Vec<config::ConfigTree>,
) -> (Expanded, MpmKind) {
    let expanded = expand(trees(), httpd, None);
    let last = expanded.mpms.last().and_then(|symbol| MpmKind::of_symbol(symbol));
    let kind = last.unwrap_or_default();
    match expanded.mpms.len() {
        1 => (expanded, kind),
        0 if !expanded.asks_for_mpm => (expanded, kind),
        // Conditions before it was loaded have to be asked again.
        _ => (expand(trees(), httpd, Some(kind)), kind),
    }
}

fn is_error(said: &Diagnostic) -> bool {
    said.severity == Severity::Error
}

/// Names are looked up once the lines are right, and before the whole is looked at.
fn all_said(httpd: &Httpd, builder: &Builder, said: &[Diagnostic], later: &[Diagnostic]) -> String {
    if said.iter().any(is_error) {
        return told::render(httpd, &[said, later].concat());
    }
    let names = missing_name(builder, httpd) + &told::unnamed_hosts(builder);
    told::render(httpd, said) + &names + &told::render(httpd, later)
}

/// What httpd says when nobody has named the main server.
fn missing_name(builder: &Builder, httpd: &Httpd) -> String {
    if builder.hosts[0].server_name.is_some() || httpd.level() < Level::Alert {
        return String::new();
    }
    let name = hostname::local_name();
    let mut text = String::new();
    if let LocalName::Unknown(node) = &name {
        text = format!("AH00557: {}: apr_sockaddr_info_get() failed for {node}\n", httpd.program);
    }
    if !matches!(name, LocalName::Full(_)) {
        text.push_str(&format!(
            "AH00558: {}: Could not reliably determine the server's fully qualified domain name, \
             using {}. Set the 'ServerName' directive globally to suppress this message\n",
            httpd.program,
            name.text()
        ));
    }
    text
}

/// The name of the main server, which hosts for any address have as well.
fn main_name(builder: &Builder) -> String {
    let named = builder.hosts[0].server_name.as_ref().map(|name| name.name.clone());
    named.unwrap_or_else(|| hostname::local_name().text())
}

fn facts(expanded: Expanded, builder: &Builder) -> DumpFacts {
    let is_static = |symbol: &str| STATIC_MODULES.iter().any(|row| row.0 == symbol);
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "#-1".into());
    let root = &builder.server.root;
    let user = name(&builder.server.user);
    let group = name(&builder.server.group);
    DumpFacts {
        modules: expanded.loaded.iter().map(|symbol| (*symbol, is_static(symbol))).collect(),
        included: expanded.included,
        defines: expanded.defines,
        server_root: root.clone(),
        document_root: root.join(builder.hosts[0].document_root.clone().unwrap_or_default()),
        error_log: builder.hosts[0].error_log.clone().unwrap_or_default(),
        runtime_dir: expanded.runtime_dir.map_or_else(|| RUNTIME_DIR.into(), PathBuf::from),
        mutexes: builder.server.mutexes.clone(),
        pid_file: builder.server.mpm.pid_file.clone().unwrap_or_default(),
        user: (user.clone(), check::id_of(&user, check::user_id).unwrap_or(u32::MAX)),
        group: (group.clone(), check::id_of(&group, process::group_by_name).unwrap_or(u32::MAX)),
        mpm: builder.server.mpm.kind,
        virtual_hosts: VirtualHosts::default(),
    }
}
