//! Everything that a location can configure: one typed field per module.
//!
//! A section holds one of these with only its own values set; [`Settings::merge`] lays an inner
//! one over an outer one in httpd's order. What is read per request is the merged form.

use crate::modules::{authz, autoindex, core, dir, mime, trivet};

/// The per-directory settings of all modules.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) authz: authz::Settings,
    pub(crate) autoindex: autoindex::Options,
    pub(crate) core: core::Settings,
    pub(crate) dir: dir::Settings,
    pub(crate) mime: mime::Settings,
    pub(crate) trivet: trivet::Settings,
}

impl Settings {
    /// `inner` over `outer`. Names every field, so that a forgotten module does not compile.
    pub(crate) fn merge(outer: &Self, inner: &Self) -> Self {
        let Self { authz, autoindex, core, dir, mime, trivet } = inner;
        Self {
            authz: authz.over(&outer.authz),
            autoindex: autoindex::Options::merge(&outer.autoindex, autoindex),
            core: core.over(&outer.core),
            dir: dir.over(&outer.dir),
            mime: mime::Settings::merge(&outer.mime, mime),
            trivet: trivet.over(&outer.trivet),
        }
    }

    /// Whether the answer depends on nothing but the path: then it may be prepared once and
    /// given to everybody, which the fast path does.
    pub(crate) fn is_plain(&self) -> bool {
        self.authz.is_open_to_all() && self.core.handler().is_none()
    }
}

/// `inner` if it is set, else `outer`.
pub(crate) fn either<T: Clone>(inner: Option<&T>, outer: Option<&T>) -> Option<T> {
    inner.or(outer).cloned()
}
