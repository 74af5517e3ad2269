//! The server as the entry and the MPMs see it: built from configuration, open, and able to log.

use crate::accounting::Accounts;
use crate::descriptors::Descriptors;
use crate::hook::Phases;
use crate::map_program::MapProgram;
use crate::module_list::Modules;
use crate::mpm_settings::{MpmMessage, MpmSettings};
use crate::process_pool::ProcessPool;
use crate::site::Site;
use crate::site::builder::Builder;
use crate::site::language::Language;
use crate::site::settings::Settings;
use crate::spool_room::RoomUsage;
use config::DirectiveIndex;
use logging::level::Level;
use logging::message::Message;
use logging::program::LogProgram;
use logging::recurring::Recurring;
use runtime::clock;
use runtime::descriptors::DescriptorCount;
use runtime::folder_watch::FolderWatch;
use runtime::process::User;
use runtime::programs::ManagerClient;
use std::fs::File;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use upstream::fastcgi::Pools;

/// A compiled configuration with everything it names opened.
pub struct Server {
    /// The compiled site.
    pub site: Site,
    /// All modules there could be.
    pub all_modules: &'static Modules,
    /// The hooks of those that are there.
    pub(crate) phases: Phases,
    /// What requests have open, by all threads of this process.
    pub held: DescriptorCount,
    pub(crate) accounts: Accounts,
    pub(crate) pools: Arc<Pools>,
    pub(crate) spools: RoomUsage,
    pub(crate) recurring: Recurring,
    descriptors: OnceLock<Descriptors>,
    client: Option<Arc<ManagerClient>>,
    map_managers: Vec<Arc<ManagerClient>>,
    /// Where changes of folders are reported, if the kernel does that.
    pub(crate) folder_watch: Option<Arc<FolderWatch>>,
}

impl Server {
    /// Open what a configuration names. `index` has the rows of `modules` that it was read with.
    ///
    /// # Errors
    /// A text for standard error that says what could not be opened.
    pub fn open(
        builder: &Builder,
        index: Arc<DirectiveIndex<Builder>>,
        modules: &'static Modules,
    ) -> Result<Self, String> {
        let language = Language::new(index, &builder.server, modules.names(), modules.guards);
        let complete = |settings: &mut Settings| modules.complete(settings);
        let mut site = Site::open(builder, language, &complete)?;
        site.module_files = modules.loaded_files(site.loaded.as_deref(), site.mpm.kind);
        modules.open(&mut site)?;
        let phases = modules.phases(site.loaded.as_deref());
        Ok(Self {
            site,
            all_modules: modules,
            phases,
            held: DescriptorCount::default(),
            accounts: Accounts::default(),
            pools: Arc::default(),
            spools: RoomUsage::default(),
            recurring: Recurring::default(),
            descriptors: OnceLock::new(),
            client: None,
            map_managers: Vec::new(),
            folder_watch: None,
        })
    }
}

impl Server {
    /// The same for whoever has requests explained: no log is opened, and no program for one is
    /// started.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_to_explain(
        builder: &Builder,
        index: Arc<DirectiveIndex<Builder>>,
        modules: &'static Modules,
    ) -> Result<Self, String> {
        let mut builder = builder.clone();
        for host in &mut builder.hosts {
            host.error_log = Some("/dev/null".into());
            host.logs.clear();
        }
        let mut server = Self::open(&builder, index, modules)?;
        server.site.logs_filename = true;
        Ok(server)
    }
}

impl Server {
    /// Put side by side what is counted when a connection or a request begins, before there is one.
    /// A forked process gets a page of its own for each that it counts on.
    pub fn gather_counted(&mut self) {
        // What was there before goes last: its memory would be used again.
        let held = std::mem::take(&mut self.held);
        let pools = std::mem::take(&mut self.pools);
        self.site.gather_counted();
        drop((held, pools));
    }

    /// Start what modules have for all children, before the first is forked.
    ///
    /// # Errors
    /// A sentence that says what cannot be started and why.
    pub fn start_modules(&self) -> Result<(), String> {
        self.phases.start.iter().try_for_each(|start| start(self))
    }

    /// Find out what a process may have open that has what this one has, so that children need not.
    /// A parent that has had children holds their channels and other generations open, too.
    pub fn count_descriptors(&self) {
        self.descriptors();
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
        self.site.may_run_programs && self.phases.run_programs
    }

    /// The way to the process that starts programs.
    pub fn give_script_manager(&mut self, client: Arc<ManagerClient>) {
        self.client = Some(client);
    }

    /// Where the kernel reports changes of folders. Children say of which.
    pub fn give_folder_watch(&mut self, watch: Arc<FolderWatch>) {
        self.folder_watch = Some(watch);
    }

    /// The way to the process that starts programs, for a handler that has to run one; `None` where
    /// no request may.
    pub fn client(&self) -> Option<&ManagerClient> {
        self.client.as_deref()
    }

    /// The programs of maps that have to run as long as the server does.
    pub fn map_programs(&self) -> &[MapProgram] {
        &self.site.map_programs
    }

    /// The pools of processes that answer requests for modules.
    pub fn process_pools(&self) -> &[ProcessPool] {
        &self.site.process_pools
    }

    /// The ways to the processes that keep them, in the same order.
    pub fn give_map_managers(&mut self, clients: Vec<Arc<ManagerClient>>) {
        self.map_managers = clients;
    }

    /// The way to one of them.
    pub(crate) fn map_manager(&self, number: usize) -> Option<&ManagerClient> {
        self.map_managers.get(number).map(|client| &**client)
    }

    /// The programs that read logs, for the parent to look after.
    fn programs(&self) -> impl Iterator<Item = &LogProgram> {
        self.site.sinks.iter().filter_map(|sink| sink.program())
    }

    /// The processes of the programs that read logs.
    pub fn log_programs(&self) -> Vec<i32> {
        self.programs().map(LogProgram::pid).filter(|pid| *pid != 0).collect()
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
        self.programs().for_each(LogProgram::leave_to_parent);
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

    /// What this process may have open: found out once, before it begins to serve.
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
        self.phases.begin.iter().for_each(|begin| begin(self));
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

    /// The same with what the system said, a number of errno(3).
    pub fn log_errno(&self, errno: i32, module: &str, id: Option<u32>, text: &str) {
        let message = Message::new(module, Level::Error, id, text.as_bytes());
        let os_error = Some(errno).filter(|errno| *errno != 0);
        self.site.error_log.write(None, &Message { os_error, ..message });
    }

    /// Write a message to the error log of the main server.
    pub fn log(
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
