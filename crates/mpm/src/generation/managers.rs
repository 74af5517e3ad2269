//! How the processes of a generation reach its managers.

use runtime::programs::{ClientSocket, ClientSockets, ManagerClient};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a manager does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ManagerRole {
    /// It starts scripts.
    Scripts,
    /// It keeps the program of the map with this number.
    Map(usize),
    /// It keeps the pool of processes with this number.
    Pool(usize),
}

/// The sockets of the serving processes, each with the process's end of it.
pub(crate) type ClientPairs = (Vec<ManagerClient>, Vec<ClientSocket>);

/// What the processes of a generation have in common to reach one of its managers.
pub(crate) struct ManagerSockets {
    /// The connection of this serving process to the manager; unset in any other process.
    pub(crate) client: Arc<ManagerClient>,
    /// Held by the parent: whatever becomes of the manager, what was asked for waits here.
    sockets: Mutex<ClientSockets>,
}

impl ManagerSockets {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { client: Arc::default(), sockets: Mutex::new(ClientSockets::new()?) })
    }

    pub(crate) fn sockets(&self) -> MutexGuard<'_, ClientSockets> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In a child: ask through `own`, and answer no requests.
    fn become_client(&self, own: ManagerClient) {
        self.sockets().close();
        self.client.adopt(own);
    }
}

/// The managers of a generation: first the one for scripts, if it may have to run any, then those
/// of maps.
pub(crate) struct GenerationManagers {
    all: Vec<(ManagerRole, ManagerSockets)>,
}

impl GenerationManagers {
    pub(crate) fn new(runs_scripts: bool, maps: usize, pools: usize) -> io::Result<Self> {
        let scripts = runs_scripts.then_some(ManagerRole::Scripts);
        let roles = scripts.into_iter().chain((0..maps).map(ManagerRole::Map));
        let roles = roles.chain((0..pools).map(ManagerRole::Pool));
        let all = roles.map(|role| Ok((role, ManagerSockets::new()?)));
        Ok(Self { all: all.collect::<io::Result<_>>()? })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// How the manager of a role is reached.
    pub(crate) fn of(&self, role: ManagerRole) -> Option<&ManagerSockets> {
        self.all.iter().find(|row| row.0 == role).map(|row| &row.1)
    }

    /// How each is.
    pub(crate) fn all(&self) -> impl Iterator<Item = (ManagerRole, &ManagerSockets)> {
        self.all.iter().map(|row| (row.0, &row.1))
    }

    /// Ways to ask each of them, for a child that is about to be forked, and their other ends.
    pub(crate) fn client_pairs(&self) -> io::Result<ClientPairs> {
        let pairs: io::Result<Vec<_>> = self.all.iter().map(|_| ManagerClient::pair()).collect();
        Ok(pairs?.into_iter().unzip())
    }

    /// In a child: ask through `own`, and answer no requests.
    pub(crate) fn become_client(&self, own: Vec<ManagerClient>) {
        self.all.iter().zip(own).for_each(|(row, own)| row.1.become_client(own));
    }

    /// In the manager of a role: the sockets of this one, and none of others.
    pub(crate) fn become_manager(&self, role: ManagerRole) -> Option<ClientSockets> {
        for (of, sockets) in &self.all {
            if *of != role {
                sockets.sockets().close();
            }
        }
        self.of(role)?.sockets().inherit().ok()
    }
}
