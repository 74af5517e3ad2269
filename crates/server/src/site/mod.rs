//! The compiled site: what a configuration means, with every folder and log open. A request sees
//! only this, never a directive.

pub mod builder;
pub mod config_place;
pub mod custom_log;
pub mod dump;
pub mod expression;
pub mod host;
pub(crate) mod language;
pub mod lexical;
pub(crate) mod locate;
pub(crate) mod logs;
pub mod names;
pub mod overrides;
pub mod proxy_protocol;
pub mod resolver;
pub mod room;
pub mod section;
pub(crate) mod seen_file;
pub mod settings;
pub mod startup;
pub mod store;
pub mod timing;
pub mod wildcard;
pub mod world;

use crate::identity::Tokens;
use crate::map_program::MapProgram;
use crate::process_pool::ProcessPool;
use crate::resolve::{Root, Roots};
use crate::site::proxy_protocol::ProxyProtocol;
use builder::{Builder, ServerDraft};
use config::Node;
use custom_log::AccessLog;
use host::{Host, HostChain, HostChoice, HostDraft, Trace};
use language::Language;
use locate::{Gathered, Sections};
use logging::errors::ErrorLog;
use logging::sink::Sink;
use logs::Logs;
use message::Framing;
use runtime::process::{self, User};
use settings::{HostSettings, ServerSettings, Settings};
use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use timing::Timing;

/// Everything that a request may need to know about the server.
pub struct Site {
    pub(crate) listen: Vec<SocketAddr>,
    /// The numbers that MPMs are sized by.
    pub mpm: crate::MpmSettings,
    pub(crate) user: Option<User>,
    pub(crate) error_log: Arc<ErrorLog>,
    /// `ServerTokens`
    pub tokens: Tokens,
    pub(crate) server_field: &'static str,
    /// The main server first.
    pub hosts: Vec<Host>,
    pub(crate) choice: HostChoice,
    /// Whether a script may run anywhere.
    pub(crate) may_run_programs: bool,
    /// Programs of maps that run as long as the server does; modules add theirs when the site is
    /// opened.
    pub map_programs: Vec<MapProgram>,
    /// Pools of processes that modules have added when the site was opened.
    pub process_pools: Vec<ProcessPool>,
    /// The files of the modules that are there, as httpd names them.
    pub module_files: Vec<&'static str>,
    /// Modules that are there; `None` is all.
    pub loaded: Option<Vec<&'static str>>,
    /// Modules that a `LoadModule` names.
    pub named: Vec<String>,
    /// The configuration as it was read, for server-info; empty where nobody can ask for it.
    pub tree: Arc<[Node]>,
    /// `ServerRoot`
    pub server_root: PathBuf,
    /// What `.htaccess` files may be written in.
    pub language: Language,
    /// The folder `/`, for places that are known per request only.
    pub slash: Arc<Root>,
    /// Every log of every host, each once.
    pub(crate) sinks: Vec<Arc<Sink>>,
    /// `BufferedLogs`
    pub(crate) buffers_logs: bool,
    /// `ExtendedStatus`: whether requests are measured for a page that shows them. Without such a
    /// page there is no need.
    pub extended_status: bool,
    /// Whether a log shows where the time of requests goes.
    pub(crate) logs_times: bool,
    /// Whether any log shows the names of files (`%f`).
    pub(crate) logs_filename: bool,
    pub(crate) proxy_protocol: ProxyProtocol,
    /// `SeeRequestTail`
    pub(crate) sees_request_tail: bool,
    /// What modules keep for the whole server.
    pub modules: ServerSettings,
    /// `ResponseSharing`: whether what was found out for one request may be kept for others.
    pub(crate) shares_responses: bool,
    pub(crate) spool: crate::site::room::RoomLimits,
}

impl Site {
    /// Open what the draft names. This runs in the parent, with its privileges. `complete` adds to
    /// the settings of a server what holds there although no line says so.
    ///
    /// # Errors
    /// One sentence that says what cannot be opened and why.
    pub(crate) fn open(
        draft: &Builder,
        language: Language,
        complete: &dyn Fn(&mut Settings),
    ) -> Result<Self, String> {
        // Before anything is opened: how many logs there may be and how many folders stay open is a
        // share of these.
        let descriptors = process::raise_descriptor_limit();
        check_log_count(&draft.hosts, descriptors)?;
        let mut all_roots = draft.roots.clone();
        all_roots.share(descriptors);
        let slash = all_roots.get(Path::new("/"));
        let roots = document_roots(&draft.hosts, &mut all_roots)?;
        all_roots.open();
        let Builder { server, hosts: drafts, .. } = draft;
        let logs = Logs::new(&server.root, server.buffered_logs);
        let of_machine = || runtime::hostname::local_name().text();
        let main_name = drafts.first().and_then(|main| main.server_name.as_ref());
        let main_name = main_name.map_or_else(of_machine, |name| name.name.clone());
        let mut opened = Opened { complete, logs, base: None, main_name };
        let main = drafts.first().ok_or("there is no main server")?;
        let mut hosts = Vec::with_capacity(drafts.len());
        for (index, (host, root)) in drafts.iter().zip(roots).enumerate() {
            hosts.push(Host::open(index, host, main, root, &mut opened)?);
        }
        let ServerDraft { listen, mpm, user, group, loaded, named, tokens, .. } = server.clone();
        let shows_times = |log: &AccessLog| log.format.shows_times();
        let shows_filename = |log: &AccessLog| log.format.shows_filename();
        Ok(Self {
            listen,
            user: find_user(user.as_deref(), group.as_deref())?,
            error_log: hosts[0].error_log.clone(),
            tokens,
            server_field: tokens.server_field(),
            choice: HostChoice::new(&mut hosts),
            sinks: opened.logs.into_sinks(),
            buffers_logs: server.buffered_logs,
            extended_status: false,
            logs_times: hosts.iter().flat_map(|host| host.logs.iter()).any(shows_times),
            logs_filename: hosts.iter().flat_map(|host| host.logs.iter()).any(shows_filename),
            proxy_protocol: server.proxy_protocol.clone(),
            sees_request_tail: server.sees_request_tail,
            shares_responses: server.shares_responses.unwrap_or(true),
            modules: server.modules.clone(),
            spool: server.spool.clone(),
            hosts,
            tree: server.tree.clone(),
            server_root: server.root.clone(),
            may_run_programs: server.may_run_programs,
            map_programs: Vec::new(),
            process_pools: Vec::new(),
            module_files: Vec::new(),
            loaded,
            named,
            language,
            slash,
            mpm,
        })
    }

    /// Whether each process that serves has one thread, so that what is not safe for several may
    /// run in it.
    pub fn has_one_thread(&self) -> bool {
        self.mpm.kind.has_one_thread()
    }

    /// The error log of the main server.
    pub fn error_log(&self) -> &Arc<ErrorLog> {
        &self.error_log
    }

    /// See [`crate::Server::gather_counted`].
    pub(crate) fn gather_counted(&mut self) {
        let mut gathered = Gathered::default();
        for host in &mut self.hosts {
            host.sections.gather(&mut gathered);
        }
    }

    /// The main server.
    pub(crate) fn main(&self) -> &Host {
        &self.hosts[0]
    }

    /// Whether there is a choice of hosts at all.
    pub(crate) fn has_virtual_hosts(&self) -> bool {
        self.hosts.len() > 1
    }

    /// The host for a request (vhost.c, check_hostalias and check_serverpath).
    pub(crate) fn host_of_request(&self, local: SocketAddr, framing: &Framing<'_>) -> usize {
        let Some(chain) = self.choice.chain(local) else { return 0 };
        let named = framing.host.and_then(|host| chain.named(host.name));
        let by_path = || {
            let path = framing.target.path().filter(|_| framing.host.is_none())?;
            let covers = |index: &&usize| {
                self.hosts[**index].server_path.as_deref().is_some_and(|prefix| {
                    let rest = path.strip_prefix(prefix.as_bytes());
                    rest.is_some_and(|rest| {
                        prefix.ends_with('/') || rest.is_empty() || rest[0] == b'/'
                    })
                })
            };
            chain.hosts.iter().find(covers).copied()
        };
        named.or_else(by_path).unwrap_or_else(|| chain.default_host())
    }

    /// The host for a connection to `local`, before there is a request.
    pub(crate) fn host_of_connection(&self, local: SocketAddr) -> usize {
        self.choice.chain(local).map_or(0, HostChain::default_host)
    }
}

/// Every log needs a descriptor in each process, and connections need some as well.
fn check_log_count(hosts: &[Box<HostDraft>], descriptors: u64) -> Result<(), String> {
    let error_logs = hosts.iter().filter_map(|host| host.error_log.as_deref());
    let access_logs = hosts.iter().flat_map(|host| &host.logs).map(|log| log.path.as_path());
    let all = error_logs.chain(access_logs);
    let free = DESCRIPTORS_FREE.min(descriptors / 2);
    let room = usize::try_from(descriptors - free).unwrap_or(usize::MAX);
    if all.clone().count() <= room {
        return Ok(());
    }
    let count = all.collect::<HashSet<&Path>>().len();
    if count <= room {
        return Ok(());
    }
    Err(format!(
        "AH00649: too many log files: the configuration names {count} of them, but a process may \
         have only {descriptors} files open: raise this limit (ulimit -n, or LimitNOFILE in \
         systemd) to at least {}, or let virtual hosts share logs",
        count as u64 + DESCRIPTORS_FREE
    ))
}

/// Descriptors that logs leave for folders, files and connections.
const DESCRIPTORS_FREE: u64 = 256;

/// The folder of each host.
fn document_roots(hosts: &[Box<HostDraft>], roots: &mut Roots) -> Result<Vec<Arc<Root>>, String> {
    let of_main = hosts[0].document_root.as_deref().unwrap_or(Path::new(DOCUMENT_ROOT));
    let own = |host: &HostDraft| {
        roots.get(&lexical::normal(host.document_root.as_deref().unwrap_or(of_main)))
    };
    let found: Vec<Arc<Root>> = hosts.iter().map(AsRef::as_ref).map(own).collect();
    let main = &found[0];
    if hosts[0].document_root.is_some() || hosts.len() == 1 {
        main.open_now().map_err(|error| {
            let reason = match error.kind() {
                std::io::ErrorKind::NotFound => "no such folder",
                std::io::ErrorKind::PermissionDenied => "permission denied",
                std::io::ErrorKind::NotADirectory => "not a folder",
                _ => "cannot be opened",
            };
            let path = main.path().display();
            format!("DocumentRoot '{path}' is not a directory, or is not readable: {reason}")
        })?;
    }
    Ok(found)
}

/// Hosts for whose folder settings are merged before the first request.
const MERGED_HOSTS: usize = 64;

/// httpd's DocumentRoot where none is configured (DOCUMENT_LOCATION of Debian's httpd).
const DOCUMENT_ROOT: &str = "/etc/apache2/htdocs";

/// What is open so far, and settings that hosts share.
struct Opened<'o> {
    complete: &'o dyn Fn(&mut Settings),
    logs: Logs,
    /// The settings of the main server outside of all sections.
    base: Option<Arc<Settings>>,
    /// What the main server is called.
    main_name: String,
}

impl Opened<'_> {
    /// What holds outside of all sections.
    fn base(&mut self, index: usize, draft: &HostDraft, main: &HostDraft) -> Arc<Settings> {
        let complete = self.complete;
        let of_server = |settings: Settings| {
            let mut settings = settings;
            settings.core.levels = Some(logs::levels(draft, main));
            complete(&mut settings);
            Arc::new(settings)
        };
        // The main server comes first, and then `draft` is its own: the levels put in here are its.
        let main = self.base.get_or_insert_with(|| of_server(main.base.clone()));
        match index {
            0 => main.clone(),
            _ => of_server(Settings::merge(main, &draft.base)),
        }
    }
}

impl Host {
    fn open(
        index: usize,
        draft: &HostDraft,
        main: &HostDraft,
        root: Arc<Root>,
        opened: &mut Opened<'_>,
    ) -> Result<Self, String> {
        let is_main = index == 0;
        let log_name = log_name(draft, &opened.main_name);
        let own = |all: fn(&HostDraft) -> &Vec<Arc<settings::Section>>| {
            let of_host = if is_main { [].iter() } else { all(draft).iter() };
            all(main).iter().chain(of_host).cloned()
        };
        let mut sections = Sections::new(
            opened.base(index, draft, main),
            u32::try_from(index).unwrap_or(u32::MAX),
            own(|host| &host.directories),
            own(|host| &host.locations),
            own(|host| &host.backends),
        );
        // Where there are many hosts most of them are asked for rarely.
        if index < MERGED_HOSTS {
            sections.merge_beforehand(root.path().as_os_str().as_encoded_bytes());
        }
        let default = http1::HeadLimits::default();
        let limit =
            |own: Option<usize>, main: Option<usize>, default| own.or(main).unwrap_or(default);
        let names = draft.access_file_names.as_ref().or(main.access_file_names.as_ref());
        Ok(Self {
            index,
            place: draft.place.clone(),
            name: draft.server_name.clone(),
            aliases: draft.aliases.clone(),
            server_path: draft.server_path.clone(),
            server_admin: draft.server_admin.clone().or_else(|| main.server_admin.clone()),
            strict_host_check: draft.strict_host_check.or(main.strict_host_check).unwrap_or(false),
            encoded_slashes: draft
                .encoded_slashes
                .or(main.encoded_slashes)
                .unwrap_or(message::path::EncodedSlashes::Off),
            addresses: draft.addresses.clone(),
            root,
            timing: Timing::new(&draft.timing, &main.timing),
            limits: http1::HeadLimits {
                request_line_bytes: limit(
                    draft.request_line_bytes,
                    main.request_line_bytes,
                    default.request_line_bytes,
                ),
                field_bytes: limit(draft.field_bytes, main.field_bytes, default.field_bytes),
                fields: limit(draft.fields, main.fields, default.fields),
            },
            trace: draft.trace.or(main.trace).unwrap_or(Trace::On),
            merge_slashes: draft.merge_slashes.or(main.merge_slashes).unwrap_or(true),
            access_file_names: names
                .map_or_else(|| [".htaccess".to_owned()].into(), |names| names.as_slice().into()),
            // httpd's AP_DEFAULT_MAX_INTERNAL_REDIRECTS and AP_DEFAULT_MAX_SUBREQ_DEPTH.
            internal_limits: draft.internal_limits.or(main.internal_limits).unwrap_or((10, 10)),
            error_log: opened.logs.error_log(draft, main, log_name.clone())?,
            logs: opened.logs.access_logs(draft, main, is_main)?,
            log_name,
            modules: match is_main {
                true => draft.modules.clone(),
                false => HostSettings::over(&draft.modules, &main.modules),
            },
            sections,
            owns_name: false,
        })
    }
}

/// The name of a virtual host in logs, `%v`: one without a name is called as its address, or as
/// the main server if that is any (vhost.c, ap_fini_vhost_config).
fn log_name(draft: &HostDraft, main: &str) -> String {
    if let Some(named) = &draft.server_name {
        return named.name.clone();
    }
    match draft.unnamed_ip() {
        Some(ip) => resolver::name_of(ip).unwrap_or_else(|_| resolver::NAMELESS.to_owned()),
        None => main.to_owned(),
    }
}

/// Whom children become. A number is written `#33`. Not root: nobody else, as in httpd.
pub fn find_user(user: Option<&str>, group: Option<&str>) -> Result<Option<User>, String> {
    let Some(name) = user.filter(|_| process::is_root()) else { return Ok(None) };
    let numeric = |text: &str| text.strip_prefix('#').and_then(|number| number.parse().ok());
    let mut found = match numeric(name) {
        Some(uid) => process::user_by_id(uid).unwrap_or(User {
            name: name.to_owned(),
            uid,
            gid: uid,
            groups: Vec::new(),
            home: PathBuf::new(),
        }),
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
    found.groups = process::groups_of(&found.name, found.gid)
        .map_err(|error| format!("AH02160: getgrouplist: the groups of {name}: {error}"))?;
    Ok(Some(found))
}
