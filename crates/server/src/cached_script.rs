//! What a thread keeps of the scripts that it has looked up. What may be kept, and for whom it
//! holds, is decided in `script_cache.rs`.

use crate::authentication::Authentication;
use crate::environment_template::EnvironmentTemplate;
use crate::handler::Handler;
use crate::mapping::Mapping;
use crate::negotiated::Negotiated;
use crate::proviso::Proviso;
use crate::request_context::{Lineage, RequestContext};
use crate::response::OutputFields;
use crate::site::host::Host;
use crate::site::settings::Settings;
use crate::table::Tables;
use message::Method;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Longer paths are asked for once.
const PATH_BYTES_MAX: usize = 512;

/// What was found out before the script ran, as it stands in a [`RequestContext`].
pub struct CachedScript {
    pub(crate) path: Vec<u8>,
    pub(crate) mapping: Mapping,
    pub(crate) settings: Arc<Settings>,
    pub(crate) negotiated: Negotiated,
    pub(crate) tables: Tables,
    pub(crate) output: OutputFields,
    pub(crate) authentication: Authentication,
    pub(crate) lineage: Lineage,
    /// What has to be true of other requests for the same script.
    pub(crate) proviso: Proviso,
    /// What runs the script.
    pub(crate) answers: Rc<dyn Handler>,
    /// `Some(None)`: its variables are none that a template can have.
    pub(crate) template: RefCell<Option<Option<Rc<EnvironmentTemplate>>>>,
    /// Whether a response passes filters, once somebody has looked.
    pub(crate) has_filters: OnceCell<bool>,
}

impl CachedScript {
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

    /// What is kept from now on was made in this second.
    pub(crate) fn begin(&mut self, now_s: i64) {
        if self.second != now_s {
            self.second = now_s;
            self.known.clear();
        }
    }

    /// Keep what a look-up has come to, if it was asked for before. Of paths that were not, so many
    /// are noted that there are `most` in all.
    pub(crate) fn keep(
        &mut self,
        most: usize,
        host: &Host,
        key: ScriptKey<'_>,
        script: impl FnOnce() -> Option<CachedScript>,
    ) {
        if self.make_key(host, key).is_none() {
            return;
        }
        let has_room = self.known.len() < most;
        if let Some(known) = self.known.get_mut(self.key.as_slice()) {
            *known = script().map(Rc::new);
        } else if has_room {
            self.known.insert(self.key.as_slice().into(), None);
        }
    }
}

/// Method and path of a request, as they were sent.
pub(crate) type ScriptKey<'a> = (Method, &'a [u8]);
