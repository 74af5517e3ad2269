//! The variables of a script that are the same from one request to the next: encoded once, and
//! then each request adds what is its own. What comes of it is what [`environment`] makes, byte by
//! byte, or nothing.
//!
//! [`environment`]: super::environment

use super::environment::{self, Rules, Told};
use crate::lookup::Lookup;
use crate::table::Table;
use fastcgi::{Exchange, Params};
use std::net::SocketAddr;
use std::sync::Arc;

/// What is sent first, and what it makes of the answer.
pub(crate) type Sent = Arc<(Vec<u8>, Exchange)>;

/// A request with more fields is none of those that are worth it.
const FIELDS_MAX: usize = 40;

/// The parts that are known before the request, in their order.
pub(crate) struct Template {
    /// The host that was asked for, with its port, and our end of the connection.
    host: Option<(Vec<u8>, Option<u16>)>,
    local: SocketAddr,
    /// What was set for the request.
    own: Vec<u8>,
    server: Vec<u8>,
    script: Vec<u8>,
}

impl Template {
    /// Of a request for which `all` are its variables.
    pub(crate) fn of(lookup: &Lookup<'_>, all: &Table) -> Option<Self> {
        // A field that another request has would take its place.
        if lookup.env.iter().any(|(name, _)| may_be_field(name)) {
            return None;
        }
        let framing = lookup.request.framing().ok()?;
        let mut script = environment::of_script(lookup);
        script.set("SCRIPT_FILENAME", all.get("SCRIPT_FILENAME")?);
        Some(Self {
            host: framing.host.map(|host| (host.name.to_vec(), host.port)),
            local: lookup.request.local,
            own: encoded(&lookup.env),
            server: encoded(&environment::of_server(lookup)),
            script: encoded(&script),
        })
    }

    /// Whether it holds for a request for the same script.
    pub(crate) fn is_for(&self, lookup: &Lookup<'_>) -> bool {
        let Ok(framing) = lookup.request.framing() else { return false };
        let host = framing.host.as_ref().map(|host| (host.name, host.port));
        let known = self.host.as_ref().map(|(name, port)| (name.as_slice(), *port));
        host == known && self.local == lookup.request.local
    }

    /// All variables of a request, and the table of them.
    pub(crate) fn request(&self, lookup: &Lookup<'_>, rules: Rules) -> Option<(Sent, Table)> {
        let mut params = Params::new(true);
        params.add_pairs(&self.own).ok()?;
        fields(lookup, rules, &mut params)?;
        params.add_pairs(&self.server).ok()?;
        let mut told = Encoder { params, fits: true };
        environment::of_client(lookup, &mut told);
        environment::of_request(lookup, rules, &mut told);
        let Encoder { mut params, fits: true } = told else { return None };
        params.add_pairs(&self.script).ok()?;
        let pairs = params.in_one_record()?;
        let sent = Arc::new(params.finish());
        Some((sent.clone(), Table::of_sent(sent, pairs, self.own.len())))
    }
}

/// Whether a field of some request may have this variable.
fn may_be_field(name: &str) -> bool {
    let is_prefixed = name.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("HTTP_"));
    let bare = ["CONTENT_TYPE", "CONTENT_LENGTH"];
    is_prefixed || bare.iter().any(|bare| name.eq_ignore_ascii_case(bare))
}

fn encoded(table: &Table) -> Vec<u8> {
    let mut pairs = Vec::new();
    for (name, value) in table.iter() {
        fastcgi::write_pair(&mut pairs, name.as_bytes(), value);
    }
    pairs
}

/// `HTTP_*`, if no two fields have one name.
fn fields(lookup: &Lookup<'_>, rules: Rules, params: &mut Params) -> Option<()> {
    let view = lookup.request.view();
    let mut buffer = Vec::with_capacity(32);
    for (nth, (name, value)) in view.fields().enumerate() {
        let is_known = |field: (&[u8], &[u8])| field.0.eq_ignore_ascii_case(name);
        if nth == FIELDS_MAX || view.fields().take(nth).any(is_known) {
            return None;
        }
        if let Some(name) = fastcgi::environment::variable(name, rules.passes, &mut buffer) {
            params.add(name, value).ok()?;
        }
    }
    Some(())
}

struct Encoder {
    params: Params,
    /// Whether all of them did.
    fits: bool,
}

impl Told for Encoder {
    fn tell(&mut self, name: &'static str, value: &[u8]) {
        self.fits &= self.params.add(name.as_bytes(), value).is_ok();
    }
}
