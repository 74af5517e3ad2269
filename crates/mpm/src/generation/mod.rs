//! One configuration and what was opened for it; a graceful restart makes a new one.

pub(crate) mod first_size;
pub(crate) mod heap_filler;
pub(crate) mod layout;
pub(crate) mod listen;
pub(crate) mod managers;

use heap_filler::HeapFiller;
use layout::ProcessLayout;
use listen::Listeners;
use managers::{GenerationManagers, ManagerRole};
use runtime::folder_watch::FolderWatch;
use runtime::memory::Gauge;
use runtime::net::Queueing;
use runtime::os_error;
use scoreboard::Scoreboard;
use server::{Machine, MpmKind, Server};
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::{fmt, io};

/// All that the children of one generation share.
pub struct Generation {
    /// The compiled site with its open folders and logs.
    pub server: Arc<Server>,
    /// Its sockets.
    pub listeners: Listeners,
    /// How many children of which size.
    pub layout: ProcessLayout,
    /// The scoreboard that its children write.
    pub board: Arc<Scoreboard>,
    /// The number of the generation, 0 for the first.
    pub number: u32,
    /// The ways to its managers.
    pub(crate) managers: GenerationManagers,
    /// Where changes of folders that its children look into are reported.
    pub(crate) folder_watch: Option<Arc<FolderWatch>>,
    /// Fills the holes of the parent's heap as long as children may be forked.
    _filler: Option<HeapFiller>,
    last_filler: OnceLock<HeapFiller>,
}

/// How much of the server a restart makes anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// Read the configuration again.
    Configuration,
    /// Open what the present configuration names again, the logs above all.
    Logs,
}

/// Makes the server of the next generation; an error text leaves the running one in place.
pub type Loader<'a> = dyn Fn(Reload) -> Result<Server, String> + 'a;

impl Generation {
    /// Bind and allocate for `server`; sockets of `kept` are taken over. The first generation has
    /// the number 0.
    ///
    /// # Errors
    /// One sentence for the administrator.
    pub fn new(mut server: Server, number: u32, kept: &Listeners) -> Result<Self, StartFailure> {
        let settings = server.mpm();
        let queueing = Queueing {
            backlog: settings.listen_backlog,
            defer_accept_s: settings.listen_tcp_defer_accept_s,
            send_buffer_bytes: settings.send_buffer_bytes,
            receive_buffer_bytes: settings.receive_buffer_bytes,
            shares_address: false,
        };
        let (layout, warnings) = ProcessLayout::new(settings, &Machine::here());
        let listeners = Listeners::bind(server.listen(), queueing, layout.buckets, kept)
            .map_err(|(address, error)| StartFailure::Bind(address, error))?;
        let layout = ProcessLayout { buckets: listeners.buckets(), ..layout };
        // The first ones stand on standard error.
        for warning in warnings.iter().filter(|_| number > 0) {
            server.warn(warning.id_again, &warning.text_again);
        }
        if number == 0 {
            for address in listeners.unwanted() {
                server.advise(&format!(
                    "the service manager passed a socket that listens on {address}, which no \
                     Listen directive names: connections to it are not answered"
                ));
            }
        }
        // The counters begin anew, and so does the time that rates are taken over (httpd, too).
        let board = Scoreboard::create(layout.rows(), layout.slots, runtime::clock::unix_s())
            .map_err(|error| format!("cannot create the scoreboard: {error}"))?;
        board.set_generation(number);
        first_size::show(&mut Gauge::default(), &layout, &board);
        let maps = server.map_programs().len();
        let pools = server.process_pools().len();
        let managers = GenerationManagers::new(server.may_run_programs(), maps, pools)
            .map_err(|error| format!("cannot create a socket pair: {error}"))?;
        if let Some(scripts) = managers.of(ManagerRole::Scripts) {
            server.give_script_manager(scripts.client.clone());
        }
        let client = |number| Some(managers.of(ManagerRole::Map(number))?.client.clone());
        server.give_map_managers((0..maps).filter_map(client).collect());
        server.start_modules()?;
        // Without it each file is looked at for each request.
        let folder_watch = FolderWatch::new().ok().map(Arc::new);
        if let Some(watch) = &folder_watch {
            server.give_folder_watch(watch.clone());
        }
        // Only where there are many children it gains more than it costs.
        let filler = (layout.kind == MpmKind::Prefork).then(|| {
            let filler = HeapFiller::take();
            runtime::thread::prepare_fork();
            server.gather_counted();
            // Later a child has let go of much that this process holds, and counts for itself.
            if number == 0 {
                server.count_descriptors();
            }
            filler
        });
        let (server, board) = (Arc::new(server), Arc::new(board));
        let last_filler = OnceLock::new();
        Ok(Self {
            server,
            listeners,
            layout,
            board,
            number,
            managers,
            folder_watch,
            _filler: filler,
            last_filler,
        })
    }

    /// Leave no holes in the heap, just before the first of many children is forked.
    pub(crate) fn fill_heap(&self) {
        if self.layout.kind == MpmKind::Prefork {
            self.last_filler.get_or_init(HeapFiller::take);
        }
    }

    /// Read what the kernel has reported of folders, and count the changes; whether there was any
    /// report.
    pub(crate) fn count_changes(&self) -> bool {
        let Some(watch) = self.folder_watch.as_ref().filter(|watch| watch.has_reports()) else {
            return false;
        };
        let changes = self.board.folder_changes();
        changes.begin();
        changes.end(watch.read());
        true
    }
}

/// Why the server cannot start.
#[derive(Debug)]
pub enum StartFailure {
    /// An address cannot be listened at.
    Bind(SocketAddr, io::Error),
    /// Anything else, in a sentence.
    Other(String),
}

impl From<String> for StartFailure {
    fn from(text: String) -> Self {
        Self::Other(text)
    }
}

impl fmt::Display for StartFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, error) = match self {
            Self::Bind(address, error) => (address, error),
            Self::Other(text) => return f.write_str(text),
        };
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "another program listens there: stop it, or choose another address with --listen"
            }
            io::ErrorKind::PermissionDenied => {
                "ports below 1024 need root: choose a higher one with --listen"
            }
            io::ErrorKind::AddrNotAvailable => "this machine has no such address",
            _ => "choose another address with --listen",
        };
        // httpd's id and text first, so that existing alerts match (listen.c).
        let reason = os_error::text(error);
        write!(f, "AH00072: make_sock: could not bind to address {address}: {reason} ({advice})")
    }
}

impl StartFailure {
    /// The same as httpd writes it when it starts: the error of the system comes first.
    pub fn httpd_text(&self) -> String {
        let Self::Bind(address, error) = self else { return self.to_string() };
        let reason = os_error::numbered(error);
        format!(
            "{reason}: AH00072: make_sock: could not bind to address {address}\n\
             no listening sockets available, shutting down\nAH00015: Unable to open logs"
        )
    }
}
