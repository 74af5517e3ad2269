//! One configuration and what was opened for it; a graceful restart makes a new one.

use crate::{Listeners, Plan};
use runtime::net::Queueing;
use scoreboard::Board;
use server::Server;
use std::sync::Arc;

/// All that the children of one generation share.
pub struct Generation {
    /// The compiled site with its open folders and logs.
    pub server: Arc<Server>,
    /// Its sockets.
    pub listeners: Listeners,
    /// How many children of which size.
    pub plan: Plan,
    /// The scoreboard that its children write.
    pub board: Arc<Board>,
    /// 0 for the first.
    pub number: u32,
}

/// Reads the configuration again; an error text leaves the running generation in place.
pub type Loader<'a> = dyn Fn() -> Result<Server, String> + 'a;

impl Generation {
    /// Bind and allocate for `server`.
    ///
    /// # Errors
    /// One sentence for the administrator.
    pub fn new(server: Server, number: u32, before: Option<&Self>) -> Result<Self, String> {
        let none = Listeners::default();
        let kept = before.map_or(&none, |generation| &generation.listeners);
        let queueing = Queueing {
            backlog: server.mpm().listen_backlog,
            defer_accept_s: server.mpm().listen_tcp_defer_accept_s,
        };
        let listeners = Listeners::bind(server.listen(), queueing, kept).map_err(bind_message)?;
        let (plan, warnings) = Plan::new(server.mpm(), runtime::process::cores());
        for (id, text) in &warnings {
            server.warn(*id, text);
        }
        // The counters begin anew, and so does the time that rates are taken over (httpd, too).
        let board = Board::create(plan.processes, plan.slots, runtime::clock::unix_s())
            .map_err(|error| format!("cannot create the scoreboard: {error}"))?;
        board.set_generation(number);
        Ok(Self { server: Arc::new(server), listeners, plan, board: Arc::new(board), number })
    }
}

fn bind_message((address, error): (std::net::SocketAddr, std::io::Error)) -> String {
    let advice = match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            "another program listens there: stop it, or choose another address with --listen"
        }
        std::io::ErrorKind::PermissionDenied => {
            "ports below 1024 need root: choose a higher one with --listen"
        }
        std::io::ErrorKind::AddrNotAvailable => "this machine has no such address",
        _ => "choose another address with --listen",
    };
    // httpd's id and text first, so that existing alerts match (listen.c).
    let reason = error.to_string();
    let reason = reason.split(" (os error").next().unwrap_or_default();
    format!("AH00072: make_sock: could not bind to address {address}: {reason} ({advice})")
}
