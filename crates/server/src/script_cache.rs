//! What the look-up of a script came to, remembered per thread for the second in which it was made:
//! a site asks the same few scripts again and again, and the answer to "what is there, and what
//! holds for it?" is the same each time.
//!
//! No check is skipped: what is kept was made by the whole pipeline for a request whose handler was
//! found from host, path and method alone (whoever asks for more marks the request as personal),
//! and it holds for others that ask in the same way while the same `.htaccess` files are there,
//! each of which is looked at for each request.

use crate::authentication::Authentication;
use crate::context::Context;
use crate::environment_template::EnvironmentTemplate;
use crate::handler::Handler;
use crate::mapping::Mapping;
use crate::negotiated::Negotiated;
use crate::received_request::ReceivedRequest;
use crate::request_context::{Because, RequestContext};
use crate::response::OutputFields;
use crate::sharing::KeptPart;
use crate::site::access_file::AccessFile;
use crate::site::host::Host;
use crate::site::settings::Settings;
use crate::table::Tables;
use message::{Framing, Method};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Scripts that are kept by a thread that carries many connections, and by one that carries one, of
/// which there may be hundreds.
const SCRIPTS_MAX: [usize; 2] = [256, 16];

/// Longer paths are asked for once.
const PATH_BYTES_MAX: usize = 512;

/// What was found out before the script ran, as it stands in a [`RequestContext`].
pub struct CachedScript {
    path: Vec<u8>,
    mapping: Mapping,
    pub(crate) settings: Arc<Settings>,
    negotiated: Negotiated,
    tables: Tables,
    output: OutputFields,
    authentication: Authentication,
    /// Where `.htaccess` files were looked for, and what was there.
    access_files: Vec<AccessFile>,
    /// What runs the script.
    pub(crate) answers: Rc<dyn Handler>,
    /// `Some(None)`: its variables are none that a template can have.
    template: RefCell<Option<Option<Rc<EnvironmentTemplate>>>>,
    /// Whether a response passes filters, once somebody has looked.
    has_filters: OnceCell<bool>,
}

impl CachedScript {
    /// What a look-up came to, if it would come to the same for others.
    fn of(request: &RequestContext<'_>, handler: &Rc<dyn Handler>) -> Option<Self> {
        if !KeptPart::Script.may_be_of(request) {
            return None;
        }
        Some(Self {
            path: request.path.clone(),
            mapping: request.mapping.clone(),
            settings: request.settings.clone(),
            negotiated: request.negotiated.clone(),
            tables: request.tables.clone(),
            output: request.output.clone(),
            authentication: request.authentication.clone(),
            access_files: request.access_files(),
            answers: handler.clone(),
            template: RefCell::default(),
            has_filters: OnceCell::new(),
        })
    }

    /// The look-up of a request like it.
    pub(crate) fn request<'a>(
        self: &Rc<Self>,
        context: &'a Context,
        host: &'a Host,
        received: Rc<ReceivedRequest>,
    ) -> RequestContext<'a> {
        let mut request = RequestContext::new(context, host, received);
        request.path.clone_from(&self.path);
        request.mapping = self.mapping.clone();
        request.settings = self.settings.clone();
        request.negotiated.clone_from(&self.negotiated);
        request.tables = self.tables.clone();
        request.output = self.output.clone();
        request.authentication = self.authentication.clone();
        request.cached_script = Some(self.clone());
        request.mark_personal();
        request
    }

    /// What is known of the variables of such a request; `None` if nobody has looked.
    pub fn template(
        &self,
        request: &RequestContext<'_>,
    ) -> Option<Option<Rc<EnvironmentTemplate>>> {
        match &*self.template.borrow() {
            Some(Some(known)) if !known.is_for(request.received()) => None,
            known => known.clone(),
        }
    }

    /// Whether a response passes filters.
    pub fn has_filters(&self, find: impl FnOnce() -> bool) -> bool {
        *self.has_filters.get_or_init(find)
    }

    /// Remember what is known of them.
    pub fn keep_template(&self, template: Option<EnvironmentTemplate>) {
        self.template.replace(Some(template.map(Rc::new)));
    }
}

/// What one thread has kept of scripts.
#[derive(Default)]
pub(crate) struct ScriptCache {
    /// The second that they were made in.
    second: i64,
    /// By method, host and path as it was sent. What was asked for once is not kept yet: most is
    /// not asked for again.
    known: HashMap<Box<[u8]>, Option<Rc<CachedScript>>>,
    key: Vec<u8>,
}

impl ScriptCache {
    /// What is kept for a request.
    pub(crate) fn get(
        &mut self,
        now_s: i64,
        host: &Host,
        key: ScriptKey<'_>,
    ) -> Option<Rc<CachedScript>> {
        if self.second != now_s || self.known.is_empty() {
            return None;
        }
        self.make_key(host, key)?;
        self.known.get(self.key.as_slice())?.clone()
    }

    fn make_key(&mut self, host: &Host, (method, path): ScriptKey<'_>) -> Option<()> {
        if path.len() > PATH_BYTES_MAX {
            return None;
        }
        self.key.clear();
        self.key.extend([method as u8]);
        self.key.extend_from_slice(&host.index.to_le_bytes());
        self.key.extend_from_slice(path);
        Some(())
    }

    /// Remember what a look-up has come to, if it was asked for before.
    pub(crate) fn remember(&mut self, request: &RequestContext<'_>, handler: &Rc<dyn Handler>) {
        let context = request.context;
        let now_s = context.now_s();
        if self.second != now_s {
            self.second = now_s;
            self.known.clear();
        }
        // Unmarked: the path is what it is found by, and the second that in which it holds.
        let received = &request.unmarked(Because::InKey).received;
        let Ok(framing) = received.framing() else { return };
        let asked = KeptPart::Script.asked(&received.view(), &framing);
        let (Some((_, path)), Some(method)) = (asked, request.unmarked_method(Because::InKey))
        else {
            return;
        };
        // What began in another second may have seen what is there no more.
        let is_of_now = received.start_us.div_euclid(1_000_000) == now_s;
        if !is_of_now || self.make_key(request.host, (method, path)).is_none() {
            return;
        }
        let room = SCRIPTS_MAX[usize::from(context.carries_one())];
        let has_room = self.known.len() < room;
        if let Some(known) = self.known.get_mut(self.key.as_slice()) {
            *known = CachedScript::of(request, handler).map(Rc::new);
        } else if has_room {
            self.known.insert(self.key.as_slice().into(), None);
        }
    }
}

/// What answers a request like those that were there before in this second.
pub(crate) fn known(
    context: &Context,
    host: &Host,
    received: &ReceivedRequest,
    framing: &Framing<'_>,
) -> Option<Rc<CachedScript>> {
    let asked = KeptPart::Script.asked(&received.view(), framing)?;
    let cached = context.script_cache.borrow_mut().get(context.now_s(), host, asked)?;
    let is_for = KeptPart::Script.is_for((context, host, &cached.settings), received, framing);
    let is_current = || {
        let now_s = context.now_s();
        cached.access_files.iter().all(|file| file.is_unchanged(now_s))
    };
    (is_for && is_current()).then_some(cached)
}

/// Method and path of a request, as they were sent.
pub(crate) type ScriptKey<'a> = (Method, &'a [u8]);
