//! From directive rows to a draft of the site. Rows of all modules change this value; nothing is
//! opened here and nothing of it is seen by a request. A `.htaccess` file has a builder of its own.

use crate::mpm_settings::help;
use crate::resolve::{Root, Roots};
use crate::site::config_place::ConfigPlace;
use crate::site::expression::Mode;
use crate::site::host::HostDraft;
use crate::site::overrides::Overrides;
use crate::site::section::{IfCondition, Matcher, SectionKind};
use crate::site::settings::{Section, ServerSettings, Settings};
use crate::site::{startup, wildcard};
use config::{Build, Call, Diagnostic, Directive, Error, Node, Scope};
use message::Method;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The draft of a site, or of what a `.htaccess` file says, that the rows of directives change.
#[derive(Clone, Debug)]
pub struct Builder {
    /// What concerns the whole server.
    pub server: ServerDraft,
    /// Folders that requests may be resolved beneath.
    pub roots: Roots,
    /// The main server first, then every `<VirtualHost>`.
    pub hosts: Vec<Box<HostDraft>>,
    /// Sections that are open, the innermost last.
    open: Vec<Section>,
    /// `<VirtualHost>` is open: the last of the hosts.
    in_virtual_host: bool,
    /// `<AuthnProviderAlias>` or `<AuthzProviderAlias>` is open: the last of the sections.
    in_alias: bool,
    /// Containers of rules for access that are open in the innermost section: `<RequireAll>` and
    /// its like.
    containers: usize,
    /// `<Limit>` and `<LimitExcept>` around the line, the innermost last.
    limits: Vec<Limited>,
    /// What a `.htaccess` file may say; `None` in a configuration file.
    overrides: Option<Overrides>,
}

/// The methods that a `<Limit>` or `<LimitExcept>` is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limited {
    /// The methods that are named.
    pub methods: Vec<Method>,
    /// Names of methods that nobody knows.
    pub others: Vec<String>,
    /// `<LimitExcept>`: all but these.
    pub except: bool,
}

impl Limited {
    /// What is left of this inside of `outer` (`cmd->limited &= limited`). As long as it is all
    /// of `outer` it is equal to that.
    pub fn within(&self, outer: &Self) -> Self {
        Self {
            methods: both((&outer.methods, outer.except), (&self.methods, self.except)),
            others: both((&outer.others, outer.except), (&self.others, self.except)),
            except: outer.except && self.except,
        }
    }

    /// Whether there is no method that it is about.
    pub fn is_nothing(&self) -> bool {
        !self.except && self.methods.is_empty() && self.others.is_empty()
    }
}

/// What is in both of two sets, each a list or all but the list; the result is the list of a set
/// of the second kind if both are.
fn both<T: Clone + PartialEq>(outer: (&[T], bool), inner: (&[T], bool)) -> Vec<T> {
    let with = |list: &[T], other: &[T], wanted: bool| -> Vec<T> {
        list.iter().filter(|one| other.contains(one) == wanted).cloned().collect()
    };
    match (outer.1, inner.1) {
        (false, is_except) => with(outer.0, inner.0, !is_except),
        (true, false) => with(inner.0, outer.0, false),
        (true, true) => [outer.0.to_vec(), with(inner.0, outer.0, false)].concat(),
    }
}

/// Settings of the whole server.
#[derive(Clone, Debug, Default)]
pub struct ServerDraft {
    /// `ServerRoot`; empty if nobody has set it, which is the folder that trivet was started in.
    pub root: PathBuf,
    /// `Listen`
    pub listen: Vec<SocketAddr>,
    /// The numbers that MPMs are sized by.
    pub mpm: crate::MpmSettings,
    /// `User`
    pub user: Option<String>,
    /// `Group`
    pub group: Option<String>,
    /// `ServerTokens`
    pub tokens: crate::identity::Tokens,
    /// `BufferedLogs`
    pub buffered_logs: bool,
    /// Whether a script may run anywhere: `ScriptAlias`, `Options ExecCGI`, or a `.htaccess` file
    /// that may say the latter.
    pub may_run_programs: bool,
    /// Modules that are there, in the order of loading; `None` is all of them.
    pub loaded: Option<Vec<&'static str>>,
    /// Modules that a `LoadModule` names, whatever is there without one.
    pub named: Vec<String>,
    /// Modules of httpd that were asked for and are not there.
    pub missing: Vec<&'static str>,
    /// `Mutex`, for `-S` only: of a type the folder, the mechanism and the end of the line that
    /// shows them.
    pub mutexes: Vec<(String, [String; 3])>,
    /// Whether each `DocumentRoot` has to be there.
    pub checks_document_root: bool,
    /// The configuration as it was read, for server-info.
    pub tree: Arc<[Node]>,
    /// `DefaultRuntimeDir`; empty in a `.htaccess` file.
    pub runtime_dir: PathBuf,
    /// Variables, for `.htaccess` files.
    pub defines: Vec<(String, Option<String>)>,
    /// What modules keep for the whole server.
    pub modules: ServerSettings,
    /// `RegexDefaultOptions`, as of the line that is read.
    pub regex: pattern::PatternFlags,
    /// `RemoteIPProxyProtocol`
    pub proxy_protocol: crate::site::proxy_protocol::ProxyProtocol,
    /// `SeeRequestTail`
    pub sees_request_tail: bool,
    /// `ResponseSharing`
    pub shares_responses: Option<bool>,
    /// Request bodies that are kept.
    pub spool: crate::site::room::RoomLimits,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            server: ServerDraft::default(),
            roots: Roots::default(),
            hosts: vec![Box::default()],
            open: Vec::new(),
            in_virtual_host: false,
            in_alias: false,
            containers: 0,
            limits: Vec::new(),
            overrides: None,
        }
    }
}

impl Build for Builder {
    fn scope(&self) -> Scope {
        let last = self.open.last();
        if self.is_in_container() {
            // Only what is about access has a meaning there (`cmd->override = OR_AUTHCFG`).
            return Scope::HTACCESS_AUTHCFG;
        }
        if self.in_alias && last.is_some_and(|open| matches!(open.kind, SectionKind::Directory(_)))
        {
            return Scope::HTACCESS_AUTHCFG.with(Scope::ALIAS);
        }
        let within_if = self.open.iter().any(|open| matches!(open.kind, SectionKind::If(_)));
        if let Some(overrides) = &self.overrides {
            // In `.htaccess` a section changes nothing about what is permitted, but a directive
            // that may stand only in files of the server stays out.
            return overrides.classes;
        }
        match self.open.last().map(|section| &section.kind) {
            None if self.in_virtual_host => Scope::HOST,
            None => Scope::SERVER,
            Some(_) if within_if => Scope::FILES,
            Some(SectionKind::Directory(_)) => Scope::DIRECTORY,
            Some(SectionKind::Files(_) | SectionKind::If(_)) => Scope::FILES,
            Some(SectionKind::Location(_) | SectionKind::Proxy { .. }) => Scope::LOCATION,
        }
    }

    fn permits(&self, name: &str) -> bool {
        self.overrides.as_ref().is_some_and(|overrides| overrides.lists(name))
    }

    fn passes_over(&self) -> Scope {
        self.overrides.as_ref().map_or(Scope::NONE, |overrides| overrides.passes_over)
    }

    fn is_strict(&self) -> bool {
        self.is_htaccess()
    }

    fn help(&self, row: &Directive<Self>) -> &'static str {
        help::under(self.server.mpm.kind, row.name, row.help)
    }

    fn shows(&self, said: &Diagnostic) -> bool {
        // Whoever is not httpd, and who reads a `.htaccess` file, has other ways to be quiet.
        if self.server.loaded.is_none() || self.is_htaccess() {
            return true;
        }
        let nth = if self.in_virtual_host { self.hosts.len() - 1 } else { 0 };
        let levels = self.hosts[nth].levels.as_ref();
        said.id
            .is_none_or(|id| startup::logged(id).is_allowed_by_host(levels, self.in_virtual_host))
    }

    fn passes_unknown(&self) -> bool {
        self.overrides.as_ref().is_some_and(|overrides| overrides.passes_unknown)
    }
}

impl Builder {
    /// A builder for the `.htaccess` file of `folder`, an absolute path without a final slash, of
    /// which `file` is the name.
    pub fn for_htaccess(folder: &str, file: &str, overrides: Overrides) -> Self {
        let kind =
            SectionKind::Directory(Matcher::Wildcard(wildcard::WildcardPattern::literal(folder)));
        let open = vec![Section::new(kind, ConfigPlace::of_file(file))];
        Self { open, overrides: Some(overrides), ..Self::default() }
    }

    /// Leave out what is about virtual hosts at ports that nobody listens to.
    pub fn settle(&self, said: &mut Vec<Diagnostic>) {
        let serves_any = !self.server.listen.is_empty();
        config::diagnostic::settle(said, |port| self.serves(port), serves_any);
    }

    /// Whether a port is listened to.
    pub fn serves(&self, port: u16) -> bool {
        self.server.listen.iter().any(|address| address.port() == port)
    }

    /// The settings that a `.htaccess` file made.
    pub(crate) fn into_section(mut self) -> Option<Section> {
        self.open.pop()
    }

    /// How expressions are read here.
    pub fn mode(&self) -> Mode {
        let mode = if self.is_htaccess() { Mode::htaccess() } else { Mode::default() };
        Mode { regex: self.server.regex, ..mode }
    }

    /// Whether a `.htaccess` file is read.
    pub fn is_htaccess(&self) -> bool {
        self.overrides.is_some()
    }

    /// The bits of `Options` that may be changed here.
    pub fn options_allowed(&self) -> u8 {
        self.overrides.as_ref().map_or(u8::MAX, |overrides| overrides.options)
    }

    /// The path of a log or another file that belongs to the server: below `ServerRoot`, unless
    /// it is absolute (ap_server_root_relative). `-` is standard output.
    pub fn server_path(&self, path: &str) -> PathBuf {
        if path == "-" { PathBuf::from(path) } else { self.server.root.join(path) }
    }

    /// A folder that requests may be resolved beneath; `path` is normal. It is opened with the
    /// site.
    pub fn root(&mut self, path: &Path) -> Arc<Root> {
        self.roots.get(path)
    }

    /// The (virtual) host that a line is about.
    pub fn host(&mut self) -> &mut HostDraft {
        let nth = if self.in_virtual_host { self.hosts.len() - 1 } else { 0 };
        &mut self.hosts[nth]
    }

    /// Whether a `<VirtualHost>` is open.
    pub fn is_in_virtual_host(&self) -> bool {
        self.in_virtual_host
    }

    /// `<VirtualHost>` begins.
    pub fn enter_virtual_host(&mut self, host: Box<HostDraft>) {
        self.hosts.push(host);
        self.in_virtual_host = true;
    }

    /// `</VirtualHost>`
    pub fn leave_virtual_host(&mut self, _: &Call<'_>) -> Result<(), Error> {
        self.in_virtual_host = false;
        Ok(())
    }

    /// The settings that a per-directory directive changes now.
    pub fn settings(&mut self) -> &mut Settings {
        if self.open.is_empty() {
            return &mut self.host().base;
        }
        let last = self.open.len() - 1;
        &mut self.open[last].settings
    }

    /// The settings of the outermost section that is open: of a `.htaccess` file all that it says.
    pub fn open_settings(&self) -> Option<&Settings> {
        self.open.first().map(|section| &section.settings)
    }

    /// The folder of that section.
    pub fn open_folder(&self) -> Option<&str> {
        self.open.first().and_then(Section::plain_folder)
    }

    /// The folder of the innermost `<Directory>` with its final slash, empty outside of any.
    pub fn directory(&self) -> String {
        let directories = self.open.iter().rev().filter_map(|section| match &section.kind {
            SectionKind::Directory(matcher) => {
                Some(format!("{}/", matcher.text().trim_end_matches('/')))
            }
            _ => None,
        });
        directories.take(1).collect()
    }

    /// The argument of the innermost `<Location>`, if one is open, and whether it is a plain or
    /// wildcard path (and not a regular expression).
    pub fn location(&self) -> Option<&Matcher> {
        self.open.iter().rev().find_map(|section| match &section.kind {
            SectionKind::Location(matcher) => Some(matcher),
            _ => None,
        })
    }

    /// Whether a line stands directly in a `<Location>` or `<LocationMatch>`.
    pub fn is_in_location(&self) -> bool {
        self.open.last().is_some_and(|open| matches!(open.kind, SectionKind::Location(_)))
    }

    /// The argument of the innermost section (`cmd->path`), which httpd has for an `<If>`, too.
    pub fn section_argument(&self) -> Option<String> {
        self.open.iter().rev().find_map(|section| match &section.kind {
            SectionKind::If(_) => Some("*If".into()),
            SectionKind::Proxy { name, .. } => Some(name.clone()),
            _ => section.matcher().map(|matcher| matcher.text().to_owned()),
        })
    }

    /// The argument of the `<Proxy>` or `<ProxyMatch>` around a line, and whether it is the latter.
    pub fn proxy_argument(&self) -> Option<(&str, bool)> {
        match &self.open.last()?.kind {
            SectionKind::Proxy { name, is_match, .. } => Some((name, *is_match)),
            _ => None,
        }
    }

    /// Refuses what may not stand in a section for folders or files (ap_check_cmd_context).
    pub fn check_not_in_folder_or_files(&self, call: &Call<'_>) -> Result<(), Error> {
        self.check_not_in_limit(call)?;
        match self.folder_or_files() {
            Some(section) => {
                Err(format!("{} cannot occur within {section}> section", call.name).into())
            }
            None => Ok(()),
        }
    }

    /// The `<Directory>`, or else `<Files>` or `<If>` that is open, as it is called.
    pub fn folder_or_files(&self) -> Option<&'static str> {
        let has = |is_it: fn(&SectionKind) -> bool| self.open.iter().any(|open| is_it(&open.kind));
        if has(|kind| matches!(kind, SectionKind::Directory(_))) {
            return Some("<Directory");
        }
        if has(|kind| matches!(kind, SectionKind::Files(_))) {
            return Some("<Files");
        }
        has(|kind| matches!(kind, SectionKind::If(_))).then_some("<If")
    }

    /// Whether settings about `.htaccess` files are of no use here, as they come too late or are
    /// about no folder (ap_check_cmd_context with NOT_IN_LOCATION and NOT_IN_FILES).
    pub fn is_out_of_folders(&self) -> bool {
        let is_folder = |open: &Section| matches!(open.kind, SectionKind::Directory(_));
        !self.open.iter().all(is_folder) || self.is_limited()
    }

    /// Whether a section with settings of its own is open.
    pub fn is_in_section(&self) -> bool {
        !self.open.is_empty()
    }

    /// A section begins.
    pub fn enter(&mut self, kind: SectionKind, call: &Call<'_>) {
        self.open.push(Section::new(kind, ConfigPlace::from(&call.position())));
    }

    /// The innermost section ends. What stands inside of another one belongs to its settings.
    pub fn leave(&mut self, _: &Call<'_>) -> Result<(), Error> {
        let Some(section) = self.open.pop() else { return Ok(()) };
        let section = Arc::new(section);
        match &section.kind {
            SectionKind::Directory(_) => self.host().directories.push(section),
            SectionKind::Location(_) => self.host().locations.push(section),
            SectionKind::Proxy { .. } => self.host().backends.push(section),
            SectionKind::Files(_) => self.settings().core.files.push(section),
            SectionKind::If(_) => self.settings().core.ifs.push(section),
        }
        Ok(())
    }

    /// The last `<If>` or `<ElseIf>` of the settings that are open, for an `<Else>` to follow.
    pub fn last_condition(&mut self) -> Option<&IfCondition> {
        match &self.settings().core.ifs.last()?.kind {
            SectionKind::If(condition) => Some(condition),
            _ => None,
        }
    }

    /// The settings of a provider's alias begin: those of a section that covers nothing.
    pub fn enter_alias(&mut self) {
        let nowhere = wildcard::WildcardPattern::literal("/");
        let kind = SectionKind::Directory(Matcher::Wildcard(nowhere));
        self.open.push(Section::new(kind, ConfigPlace::default()));
        self.in_alias = true;
    }

    /// The settings that [`Self::enter_alias`] has begun end, with what was said in them.
    pub fn leave_alias(&mut self) -> Option<Settings> {
        self.in_alias = false;
        self.open.pop().map(|section| section.settings)
    }

    /// Whether a module is there.
    pub fn has_module(&self, symbol: &str) -> bool {
        self.server.loaded.as_ref().is_none_or(|loaded| loaded.contains(&symbol))
    }

    /// `<Limit>` or `<LimitExcept>` begins.
    pub fn enter_limit(&mut self, limited: Limited) {
        self.limits.push(limited);
    }

    /// `</Limit>`
    pub fn leave_limit(&mut self, _: &Call<'_>) -> Result<(), Error> {
        self.limits.pop();
        Ok(())
    }

    /// Refuses what may not stand inside of `<Limit>`, though the scope is the same there
    /// (ap_check_cmd_context).
    pub fn check_not_in_limit(&self, call: &Call<'_>) -> Result<(), Error> {
        if !self.is_limited() {
            return Ok(());
        }
        let end = if call.name.starts_with('<') { ">" } else { "" };
        let name = call.name;
        Err(format!("{name}{end} cannot occur within <Limit> or <LimitExcept> section").into())
    }

    /// Whether a line is about some methods only; `<RequireAll>` and its like are limits to httpd,
    /// too.
    fn is_limited(&self) -> bool {
        !self.limits.is_empty() || self.is_in_container()
    }

    /// A container of rules for access begins.
    pub fn enter_container(&mut self) {
        self.containers += 1;
    }

    /// The innermost container ends.
    pub fn leave_container(&mut self) {
        self.containers = self.containers.saturating_sub(1);
    }

    /// Whether a line stands in a container: no section can begin there.
    fn is_in_container(&self) -> bool {
        self.containers > 0 && !self.open.is_empty()
    }

    /// The methods that a line is about; `None` is all.
    pub fn limited(&self) -> Option<&Limited> {
        self.limits.last()
    }
}
