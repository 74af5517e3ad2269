//! The variables of a script that are the same from one request to the next: encoded once, and
//! then each request adds what is its own. What comes of it is what [`environment`] makes, byte by
//! byte, or nothing.
//!
//! [`environment`]: super::environment

use super::environment::{self, Told};
use crate::environment_template::EnvironmentTemplate;
use crate::request_context::RequestContext;
use crate::site::settings::core::EnvironmentRules;
use crate::table::Table;
use fastcgi::{Params, RequestOpening};
use std::cell::RefCell;
use std::sync::Arc;

/// A request with more fields is none of those that are worth it.
const FIELDS_MAX: usize = 40;

/// What the variables of a request take beyond its head and what is known: their names.
const ROOM_BYTES: usize = 256;

thread_local! {
    /// The name of a variable while it is made.
    static NAME: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The variables of a request for a script that is known, encoded with the rest of the opening, and
/// the table of them; `None` where `all` of them have to be made one by one.
pub fn shared(
    request: &RequestContext<'_>,
    has_body: bool,
    all: impl FnOnce() -> Option<Table>,
) -> Option<(Arc<RequestOpening>, Table)> {
    let cached = request.cached_script.as_deref()?;
    let rules = request.settings.core.variables();
    match cached.template(request) {
        Some(template) => template?.request(request, rules, has_body),
        None => {
            let all = all()?;
            let template = EnvironmentTemplate::of(request, &all);
            let made = template.as_ref().and_then(|it| it.request(request, rules, has_body))?;
            // Compared with the long way once. Where the two differ none is kept, and none is
            // tried again.
            cached.keep_template(template.filter(|_| made.1 == all));
            Some(made).filter(|made| made.1 == all)
        }
    }
}

impl EnvironmentTemplate {
    /// Of a request for which `all` are its variables.
    pub fn of(request: &RequestContext<'_>, all: &Table) -> Option<Self> {
        // A field that another request has would take its place.
        let rules = request.settings.core.variables();
        if request.tables.env.iter().any(|(name, _)| may_be_field(name, rules)) {
            return None;
        }
        let own = encoded(&environment::of_tables(request));
        let mut params = Params::new(true);
        params.add_pairs(&own).ok()?;
        let mut script = environment::of_script(request);
        script.set("SCRIPT_FILENAME", all.get("SCRIPT_FILENAME")?);
        Some(Self {
            host: request.received().host_name().map(<[u8]>::to_vec),
            port: request.received().host_port(),
            local: request.received().local,
            own_bytes: own.len(),
            own: params,
            server: encoded(&environment::of_server(request)),
            script: encoded(&script),
        })
    }

    /// All variables of a request, and the table of them.
    pub fn request(
        &self,
        request: &RequestContext<'_>,
        rules: EnvironmentRules,
        has_body: bool,
    ) -> Option<(Arc<RequestOpening>, Table)> {
        let known = self.own_bytes + self.server.len() + self.script.len();
        let room = known + request.received().head_bytes() + ROOM_BYTES;
        let mut params = Params::from_template(&self.own, Vec::with_capacity(room));
        // Here and below in the order of `environment`, which a program can see.
        fields(request, rules, &mut params)?;
        params.add_pairs(&self.server).ok()?;
        let mut told = Encoder { params, fits: true };
        environment::of_client(request, &mut told);
        environment::of_request(request, rules, &mut told);
        let Encoder { mut params, fits: true } = told else { return None };
        params.add_pairs(&self.script).ok()?;
        let pairs = params.in_one_record()?;
        let sent = Arc::new(params.opening(has_body));
        Some((sent.clone(), Table::of_sent(sent, pairs, self.own_bytes)))
    }
}

/// Whether a field of some request may have this variable. `Authorization`, for which WordPress has
/// a rule, is none that scripts are told by themselves.
fn may_be_field(name: &str, rules: EnvironmentRules) -> bool {
    let is_prefixed = name.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("HTTP_"));
    let bare = ["CONTENT_TYPE", "CONTENT_LENGTH"];
    let is_told = || {
        fastcgi::environment::variable(b"Authorization", rules.passes, &mut Vec::new()).is_some()
    };
    match name.eq_ignore_ascii_case("HTTP_AUTHORIZATION") {
        true => is_told(),
        false => is_prefixed || bare.iter().any(|bare| name.eq_ignore_ascii_case(bare)),
    }
}

fn encoded(table: &Table) -> Vec<u8> {
    let mut pairs = Vec::new();
    for (name, value) in table.iter() {
        fastcgi::write_pair(&mut pairs, name.as_bytes(), value);
    }
    pairs
}

/// `HTTP_*`, if no two fields have one name.
fn fields(
    request: &RequestContext<'_>,
    rules: EnvironmentRules,
    params: &mut Params,
) -> Option<()> {
    NAME.with_borrow_mut(|buffer| fields_by(request, rules, params, buffer))
}

fn fields_by(
    request: &RequestContext<'_>,
    rules: EnvironmentRules,
    params: &mut Params,
    buffer: &mut Vec<u8>,
) -> Option<()> {
    let view = request.received().view();
    for (nth, (name, value)) in view.fields().enumerate() {
        let is_known = |field: (&[u8], &[u8])| field.0.eq_ignore_ascii_case(name);
        if nth == FIELDS_MAX || view.fields().take(nth).any(is_known) {
            return None;
        }
        if let Some(name) = fastcgi::environment::variable(name, rules.passes, buffer) {
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
