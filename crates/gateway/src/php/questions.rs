//! What a script may ask the server while it runs: the `apache_` functions of mod_php
//! (php_functions.c of PHP's sources).

use php::{Answer, Asked, ReplyPairs};
use server::Server;
use server::identity;
use server::received_request::ReceivedRequest;
use server::response::Notes;
use server::table::Table;
use std::rc::Rc;
use std::sync::Arc;

/// MODULE_MAGIC_NUMBER_MAJOR of httpd 2.4.
const API_VERSION: &str = "20120211";

/// Whose script asks.
pub(super) struct Asker {
    /// Whose fields it may ask for.
    pub(super) received: Rc<ReceivedRequest>,
    pub(super) server: Arc<Server>,
    /// The number of its host.
    pub(super) host: usize,
}

/// What is answered without the request: all but what a URL leads to.
pub(super) fn answer(asker: &Asker, env: &mut Table, notes: &Notes, asked: Asked) -> Answer {
    let name = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    match asked {
        Asked::Variable(asked) => Answer::text(env.get(&name(&asked)).map(<[u8]>::to_vec)),
        Asked::SetVariable(asked, value) => {
            env.set(&name(&asked), value);
            Answer::text(None)
        }
        Asked::Note(asked) => {
            let asked = name(&asked);
            let notes = notes.borrow();
            let known = notes.iter().rev().find(|row| row.0.eq_ignore_ascii_case(&asked));
            Answer::text(known.map(|row| row.1.clone().into_bytes()))
        }
        Asked::SetNote(asked, value) => {
            notes.borrow_mut().push((name(&asked), String::from_utf8_lossy(&value).into_owned()));
            Answer::text(None)
        }
        Asked::Variables => Answer::pairs(pairs(env)),
        Asked::RequestFields => {
            let fields = server::fields::of_request(&asker.received);
            let pair = |(name, value): message::Field| (name.as_bytes().to_vec(), value);
            Answer::pairs(fields.into_iter().map(pair).collect())
        }
        Asked::ResponseFields(fields) => Answer::pairs(fields),
        Asked::Server => about_server(asker),
        Asked::Modules => Answer::pairs(modules(asker)),
        // The response has begun: the client has what there is already.
        Asked::Finish(_) => Answer::status(200),
        // The request is gone that could be asked.
        Asked::LookUp(_) | Asked::Include(..) => Answer::status(500),
        Asked::Body | Asked::Log(..) => Answer::Go,
    }
}

pub(super) fn pairs(table: &Table) -> ReplyPairs {
    table.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.to_vec())).collect()
}

/// The version, and what phpinfo() shows (PHP_MINFO of mod_php).
fn about_server(asker: &Asker) -> Answer {
    let site = &asker.server.site;
    let version = identity::banner(site.tokens);
    let row = |name: &str, value: String| (name.as_bytes().to_vec(), value.into_bytes());
    let mut rows = vec![
        row("Apache Version", version.to_owned()),
        row("Apache API Version", API_VERSION.to_owned()),
    ];
    if let Some(host) = site.hosts.get(asker.host) {
        if let Some(admin) = &host.server_admin {
            rows.push(row("Server Administrator", admin.clone()));
        }
        rows.push(row("Hostname:Port", host.name_and_port()));
        let (timeout, idle) = (host.timing.timeout_ms / 1000, host.timing.keep_alive_timeout_ms);
        rows.push(row("Timeouts", format!("Connection: {timeout} - Keep-Alive: {}", idle / 1000)));
        let is_virtual = if asker.host == 0 { "No" } else { "Yes" };
        rows.push(row("Virtual Server", is_virtual.to_owned()));
    }
    rows.push(row("Server Root", site.server_root.display().to_string()));
    let names: Vec<Vec<u8>> = modules(asker).into_iter().map(|row| row.0).collect();
    rows.push((b"Loaded Modules".to_vec(), names.join(&b' ')));
    Answer::Reply { status: 200, text: Some(version.as_bytes().to_vec()), pairs: rows }
}

/// The names of the files of modules, without what follows the dot (apache_get_modules).
fn modules(asker: &Asker) -> ReplyPairs {
    let stem = |file: &str| file.split('.').next().unwrap_or_default().as_bytes().to_vec();
    let files = asker.server.module_files();
    files.iter().map(|file| (stem(file), Vec::new())).collect()
}
