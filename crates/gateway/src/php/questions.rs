//! What a script may ask the server while it runs: the `apache_` functions of mod_php
//! (php_functions.c of PHP's sources).

use super::settings::NAME;
use crate::proxy_fcgi::log::syslog_level;
use logging::errors::ErrorLog;
use logging::message::Message;
use php::{Answer, Asked, ReplyPairs};
use server::Server;
use server::identity;
use server::received_request::ReceivedRequest;
use server::response::Notes;
use server::site::Site;
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
        Asked::Server => ServerFacts::of(&asker.server.site, asker.host).about(),
        Asked::Modules => Answer::pairs(ServerFacts::of(&asker.server.site, asker.host).modules()),
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

/// What the server says of itself: to scripts, and on the page of phpinfo().
#[derive(Clone, Debug)]
pub(super) struct ServerFacts {
    /// Where lines go that belong to no request any more.
    error_log: Arc<ErrorLog>,
    version: &'static str,
    /// Rows of the page (PHP_MINFO of mod_php).
    rows: Vec<(&'static str, String)>,
    modules: Vec<&'static str>,
}

impl ServerFacts {
    /// As the host with this number has it.
    pub(super) fn of(site: &Site, host: usize) -> Self {
        let version = identity::banner(site.tokens);
        let mut rows = vec![
            ("Apache Version", version.to_owned()),
            ("Apache API Version", API_VERSION.to_owned()),
        ];
        if let Some(of) = site.hosts.get(host) {
            rows.extend(of.server_admin.clone().map(|admin| ("Server Administrator", admin)));
            rows.push(("Hostname:Port", of.name_and_port()));
            let (timeout, idle) = (of.timing.timeout_ms, of.timing.keep_alive_timeout_ms);
            let text = format!("Connection: {} - Keep-Alive: {}", timeout / 1000, idle / 1000);
            rows.push(("Timeouts", text));
            rows.push(("Virtual Server", if host == 0 { "No" } else { "Yes" }.to_owned()));
        }
        rows.push(("Server Root", site.server_root.display().to_string()));
        // Without what follows the dot (apache_get_modules).
        let stem = |file: &&'static str| file.split('.').next().unwrap_or_default();
        let modules: Vec<_> = site.module_files.iter().map(stem).collect();
        rows.push(("Loaded Modules", modules.join(" ")));
        let error_log = site.error_log().clone();
        Self { error_log, version, rows, modules }
    }

    /// A line of a script whose request is over, with its level of syslog(3).
    pub(super) fn log(&self, level: i32, text: &[u8]) {
        let message = Message::new(NAME, syslog_level(level), None, text);
        self.error_log.write(None, &message);
    }

    pub(super) fn about(&self) -> Answer {
        let row =
            |(name, value): &(&str, String)| (name.as_bytes().to_vec(), value.clone().into_bytes());
        let (text, pairs) = (self.version.as_bytes().to_vec(), self.rows.iter().map(row).collect());
        Answer::Reply { status: 200, text: Some(text), pairs }
    }

    pub(super) fn modules(&self) -> ReplyPairs {
        self.modules.iter().map(|name| (name.as_bytes().to_vec(), Vec::new())).collect()
    }
}
