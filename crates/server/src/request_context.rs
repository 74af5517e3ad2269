//! A request on its way to a handler, as httpd's request_rec: the one a client sent, the one that
//! an internal redirect made of it, or a look-up on behalf of it.
//!
//! Hooks read and change it phase by phase. What they learn about the client goes through the
//! accessors here, which note that the answer is not the same for everybody.

mod access_sections;
mod client;
mod dependence;
mod effort;
mod explained;
mod lineage;
mod log;
mod open_failure;
mod signature;
mod target;

use access_sections::AccessSections;
pub use client::{Because, Client};
use dependence::Dependence;
pub use effort::BYTES_PER_STEP;
pub use lineage::{Lineage, LookupPurpose};
pub use target::Query;

use crate::access_log::Original;
use crate::answers::Answers;
use crate::authentication::Authentication;
use crate::cached_script::CachedScript;
use crate::context::Context;
use crate::failure::Failure;
use crate::hook::Phases;
use crate::mapping::{ContextInfo, Mapping, PlaceEntry};
use crate::metadata::{Metadata, Naming};
use crate::negotiated::Negotiated;
use crate::part_stack::PartStack;
use crate::received_request::ReceivedRequest;
use crate::request_state::RequestState;
use crate::response::OutputFields;
use crate::site::Site;
use crate::site::host::Host;
use crate::site::settings::Settings;
use crate::table::Tables;
use logging::level::Level;
use message::{Field, Method, Status};
use runtime::file::{Errno, FileType};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// The note of a request whose internal redirects have the same `Vary` (ap_internal_redirect).
pub const KEEPS_VARY: &str = "redirect-keeps-vary";

/// What is one for a request and all that are made on behalf of it.
#[derive(Default)]
pub(crate) struct RequestCommon {
    /// What has been waited for.
    pub(crate) answers: RefCell<Answers>,
    /// What the answer depends on.
    dependence: Dependence,
    /// What `.htaccess` files have said.
    access_sections: AccessSections,
    /// What rules and expressions have cost, in steps.
    effort: Cell<u64>,
    /// Fields of the answer that look-ups have added.
    pub(crate) always: RefCell<Vec<Field>>,
    /// A field that was to be one of the answer, which there is none of therefore.
    pub(crate) bad_field: RefCell<Option<Failure>>,
    /// Names of what is done once, whichever of them comes to it.
    done: RefCell<BTreeSet<String>>,
    /// The body of the request, if it is kept (`r->kept_body`).
    kept_body: RefCell<Option<Rc<[u8]>>>,
    /// A URL that was looked up for `PATH_TRANSLATED` where that could be waited for, and what it
    /// led to.
    pub(crate) foreseen: RefCell<Option<(Vec<u8>, Vec<u8>)>>,
}

/// The request as phases and handlers see it and change it (httpd's `request_rec`). Look-ups on its
/// behalf and what it is redirected to are requests of their own: see [`Self::sub`] and
/// [`Self::adopt`]. It stays on one thread.
pub struct RequestContext<'a> {
    /// What the thread has for all its requests.
    pub context: &'a Context,
    /// The virtual host, which the Host field and the address have chosen; no phase changes it.
    pub host: &'a Host,
    client: Client,
    /// Whether a client sent it, a redirect made it of another request, or it looks something up
    /// for one.
    pub lineage: Lineage,
    method: Option<Method>,
    /// Decoded and normal URL path (`r->uri`).
    pub path: Vec<u8>,
    query: Option<Vec<u8>>,
    /// Where the URL leads.
    pub mapping: Mapping,
    /// What the walk found where the URL leads, until a handler takes it, or why that cannot be
    /// opened.
    pub found: Result<PlaceEntry, Errno>,
    /// The per-directory settings that hold for the request; before the walk those of the host.
    pub settings: Arc<Settings>,
    /// What negotiation chose.
    pub negotiated: Negotiated,
    /// What modules keep for the request, each under keys of its own.
    pub state: RequestState,
    /// What modules tell each other.
    pub tables: Tables,
    /// Who the user is.
    pub authentication: Authentication,
    /// What is said before there is a response.
    pub output: OutputFields,
    /// The status of an answer that has none of its own (`r->status`): that of the failure whose
    /// error document this is, or of a redirection that rules have taken back.
    pub status: Status,
    /// What all look-ups on behalf of a request have together, and the requests that it is
    /// redirected to.
    pub(crate) common: Rc<RequestCommon>,
    /// The parts that are being made with this one, if it is to be part of another response.
    pub(crate) part_of: Option<Rc<PartStack<'a>>>,
    /// What is sent is not what was found: a copy of that at the client is none of the answer
    /// (`r->no_local_copy`).
    pub is_made_anew: bool,
    /// What answers was found out from nothing but host, path and method.
    pub may_be_cached: bool,
    /// What was kept of an earlier request for the same script, if this one was made of it.
    pub cached_script: Option<Rc<CachedScript>>,
}

impl<'a> RequestContext<'a> {
    /// The request that a client sent.
    pub(crate) fn new(context: &'a Context, host: &'a Host, received: Rc<ReceivedRequest>) -> Self {
        let method = received.method();
        Self {
            context,
            host,
            lineage: Lineage::default(),
            method,
            path: Vec::new(),
            query: received.query().map(<[u8]>::to_vec),
            client: Client::of(received),
            mapping: Mapping::to_root(host.root.clone()),
            found: Err(Errno::NOENT),
            settings: host.sections.base.clone(),
            negotiated: Negotiated::default(),
            state: RequestState::default(),
            tables: Tables::default(),
            authentication: Authentication::default(),
            output: OutputFields::default(),
            status: Status::OK,
            common: Rc::default(),
            part_of: None,
            is_made_anew: false,
            may_be_cached: false,
            cached_script: None,
        }
    }

    /// The body of the request, if it is kept for parts of its answer (`KeptBodySize`).
    pub fn kept_body(&self) -> Option<Rc<[u8]>> {
        self.common.kept_body.borrow().clone()
    }

    /// Keep the body.
    pub(crate) fn keep_body(&self, body: Vec<u8>) {
        self.common.kept_body.replace(Some(body.into()));
    }

    /// A look-up of another URL path on behalf of this request (ap_sub_req_lookup_uri).
    pub fn sub(&self, path: Vec<u8>, query: Option<Vec<u8>>) -> Self {
        let mut sub = Self::new(self.context, self.host, self.client.received.clone());
        sub.lineage = self.lineage.of_look_up(&self.path);
        sub.method = Some(match self.method {
            Some(Method::Head) => Method::Head,
            _ => Method::Get,
        });
        (sub.path, sub.query) = (path, query);
        sub.tables.env = self.tables.env.clone();
        sub.client.ip = self.client.ip;
        sub.authentication = self.authentication.for_another();
        sub.common.clone_from(&self.common);
        sub.part_of.clone_from(&self.part_of);
        sub
    }

    /// Go on with what a look-up found, as if the client had asked for that
    /// (ap_internal_fast_redirect).
    pub fn adopt(&mut self, mut sub: Self) {
        // What `RequestHeader` did to the fields of a look-up is lost with it: it is still to come.
        sub.client = self.client.clone();
        sub.lineage = std::mem::take(&mut self.lineage);
        (sub.method, sub.status) = (self.method, self.status);
        sub.authentication.inherit(&mut self.authentication);
        sub.negotiated.inherit(&mut self.negotiated);
        // What is known of the URL belongs to the request (its request_config, which stays).
        let handler = sub.mapping.context_info.handler;
        let context_info = std::mem::take(&mut self.mapping.context_info);
        sub.mapping.context_info = ContextInfo { handler, ..context_info };
        // Its own variables come behind those of the look-up, which began with a copy of them.
        sub.tables.env.add_below(&self.tables.env);
        let mut notes = std::mem::take(&mut self.tables.notes);
        sub.tables.notes.iter().for_each(|(name, value)| notes.set(name, value));
        sub.tables.notes = notes;
        sub.output.inherit(&mut self.output);
        *self = sub;
    }

    /// The request for `path`, as it would be sent, that takes the place of this one
    /// (ap_internal_redirect). Variables of this one are `REDIRECT_` variables of that, which has
    /// no notes yet. `logs` tells which of the logs with a condition it is written to.
    pub(crate) fn redirected(
        &self,
        path: &[u8],
        query: Option<Vec<u8>>,
        status: Status,
        logs: impl FnOnce() -> Vec<usize>,
    ) -> Self {
        let mut next = Self::new(self.context, self.host, self.client.received.clone());
        // Logs tell the method of each.
        (next.method, next.status) = (self.exact_method(), status);
        next.path = message::path::without_leading_slashes(path).to_vec();
        next.query = query;
        for (name, value) in self.tables.env.iter() {
            // These two tell of the request before this one only (ap_add_common_vars).
            if !matches!(name, "REDIRECT_URL" | "REDIRECT_QUERY_STRING") {
                next.tables.env.set(&format!("REDIRECT_{name}"), value);
            }
        }
        next.tables.env.set("REDIRECT_STATUS", status.code().to_string());
        let mut url = match self.settings.core.qualify_redirect_url() {
            true => self.base_url(),
            false => Vec::new(),
        };
        url.extend_from_slice(&self.path);
        next.tables.env.set("REDIRECT_URL", url);
        if let Some(query) = self.query() {
            next.tables.env.set("REDIRECT_QUERY_STRING", query);
        }
        next.client.ip = self.client.ip;
        next.authentication = self.authentication.for_another();
        next.output = self.output.redirected();
        next.negotiated = self.negotiated.redirected();
        next.common.clone_from(&self.common);
        if self.tables.notes.has(KEEPS_VARY) {
            next.output.vary.clone_from(&self.output.vary);
            next.tables.notes.set(KEEPS_VARY, "");
        }
        next.part_of.clone_from(&self.part_of);
        next.lineage = self.lineage.redirected(&self.tables.notes, || Original {
            asked: self.asked(Because::NotInAnswer),
            status: status.code(),
            filename: self.logged_filename(),
            handler: None,
            user: self.authentication.user.clone(),
            env: self.tables.env.clone(),
            logs: logs(),
        });
        self.note_place();
        next
    }

    /// Whether something was done for the request that the client sent.
    pub fn is_done(&self, what: &str) -> bool {
        self.common.done.borrow().contains(what)
    }

    /// Note that it was done.
    pub fn note_done(&self, what: &str) {
        self.common.done.borrow_mut().insert(what.to_owned());
    }

    /// Add a field to every response to the client, also if this request only looks something up
    /// and nothing else is left of it (`r->main->err_headers_out`).
    pub fn add_to_answer(&mut self, field: Field) {
        if let Some(failure) = Failure::of_field(&field.0, &field.1) {
            self.common.bad_field.replace(Some(failure));
        } else if self.lineage.purpose == LookupPurpose::Sub {
            self.mark_personal();
            self.common.always.borrow_mut().push(field);
        } else {
            self.output.always.push(field);
        }
    }

    /// The compiled site.
    pub fn site(&self) -> &'a Site {
        self.context.site()
    }

    /// The hooks of the modules that are there.
    pub(crate) fn phases(&self) -> &'a Phases {
        &self.context.server.phases
    }

    /// The method as scripts and expressions are told it. What an error document or a look-up asks
    /// for is a GET, whatever the client has sent.
    pub(crate) fn method_name(&self) -> Cow<'static, [u8]> {
        match (self.lineage.purpose, self.exact_method()) {
            (LookupPurpose::Sub, Some(Method::Head)) => Cow::Borrowed(b"GET"),
            (LookupPurpose::Sub | LookupPurpose::Redirected, Some(method)) => {
                Cow::Borrowed(method.as_str().as_bytes())
            }
            _ => Cow::Owned(self.received().view().method().to_vec()),
        }
    }

    /// What the URL was mapped to (`r->filename`).
    pub fn filename(&self) -> Vec<u8> {
        let other = self.mapping.rewritten.clone().or_else(|| self.backend_filename());
        other.unwrap_or_else(|| self.mapping.place.path())
    }

    /// The same with the slash that a root itself was asked for with.
    pub fn filename_with_slash(&self) -> Vec<u8> {
        let mut name = self.filename();
        let is_root = self.mapping.place.below.is_empty() && self.mapping.backend.is_none();
        let slash = self.mapping.rewritten_slash.unwrap_or(self.path.ends_with(b"/"));
        if is_root && slash && self.mapping.rewritten.is_none() && !name.ends_with(b"/") {
            name.push(b'/');
        }
        name
    }

    /// What httpd calls the file of a request that goes to a backend.
    fn backend_filename(&self) -> Option<Vec<u8>> {
        self.mapping.backend.as_ref().map(|url| [b"proxy:", &url[..]].concat())
    }

    /// The file path, for messages.
    pub fn display_path(&self) -> String {
        String::from_utf8_lossy(&self.filename()).into_owned()
    }

    /// The file path for logs, empty if the URL was not mapped to one, or if no log shows it.
    pub(crate) fn logged_filename(&self) -> Vec<u8> {
        if !self.site().logs_filename {
            return Vec::new();
        }
        if let Some(filename) = self.backend_filename() {
            return filename;
        }
        if !self.mapping.place.below.is_empty()
            || !Arc::ptr_eq(&self.mapping.place.root, &self.host.root)
        {
            return self.mapping.place.path();
        }
        match self.path.as_slice() {
            b"/" => [self.host.root.path_bytes(), b"/"].concat(),
            b"*" => [self.host.root.path_bytes(), b"/*"].concat(),
            _ => Vec::new(),
        }
    }

    /// The document root of the request (core.c, ap_document_root).
    pub fn document_root(&self) -> Vec<u8> {
        let own = self.mapping.context_info.document_root.clone();
        own.unwrap_or_else(|| self.host.root.path_bytes().to_vec())
    }

    /// The last component of the file path; empty for a folder with its slash.
    pub fn file_name(&self) -> &[u8] {
        // An alias may name the folder itself, and a URL it without its slash.
        let is_root = self.mapping.place.below.is_empty() && !self.path.ends_with(b"/");
        let path =
            if is_root { self.mapping.place.root.path_bytes() } else { &self.mapping.place.below };
        path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
    }

    /// The name whose extensions mean something (`ModMimeUsePathInfo`).
    pub fn mime_name(&self) -> &[u8] {
        let uses_path_info = || {
            let naming = self.phases().naming;
            naming.is_some_and(|naming| (naming.uses_path_info)(&self.settings))
        };
        if !self.mapping.path_info.is_empty() && uses_path_info() {
            return self.mapping.path_info.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        }
        self.file_name()
    }

    /// What the name of a file says where the settings of this request hold.
    pub fn metadata(&self, name: &[u8]) -> Metadata<'_> {
        let naming = self.phases().naming;
        let read = |it: Naming| (it.metadata)(&self.settings, self.site(), name);
        naming.map_or_else(Metadata::default, read)
    }

    /// What is there, whether this process may read it or not.
    pub fn kind(&self) -> Option<FileType> {
        self.mapping.kind()
    }

    /// Whether there is a folder where the request was mapped to.
    pub fn is_folder(&self) -> bool {
        self.kind() == Some(FileType::Directory)
    }

    /// Whether the log takes messages of this level here.
    pub fn logs(&self, module: &str, level: Level) -> bool {
        if self.is_explained() {
            return level <= Level::Debug;
        }
        self.host.error_log.allows(self.settings.core.levels(), module, level)
    }
}
