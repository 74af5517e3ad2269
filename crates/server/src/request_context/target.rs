//! What is asked for: by the client, by an internal redirect, or by a look-up.
//!
//! What is shared is found by host and path and given to GET and HEAD alike (the look-ups of
//! scripts have the method in their key). So anybody may read the path; the method may be read as
//! long as nobody tells HEAD from GET; whoever does has the answer assume the method
//! (`assumptions.rs`), and whoever reads a query marks the answer as personal.

use super::{Because, RequestContext};
use crate::access_log::MethodAndTarget;
use message::Method;

/// The query of a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// That of the request: to hand it on says nothing of it.
    Inherited,
    /// None but what the name itself may have.
    None,
}

impl Query {
    /// The query of a look-up on behalf of `request`.
    pub(crate) fn of(self, request: &RequestContext<'_>) -> Option<Vec<u8>> {
        match self {
            Self::Inherited => request.query.clone(),
            Self::None => None,
        }
    }
}

impl RequestContext<'_> {
    /// The method, GET also for HEAD (`r->method_number`); an error document is asked for with GET.
    pub fn method(&self) -> Option<Method> {
        match self.method {
            Some(Method::Head) => Some(Method::Get),
            method => method,
        }
    }

    /// The method, HEAD told from GET.
    pub(crate) fn exact_method(&self) -> Option<Method> {
        match self.client.received.method() {
            Some(method) => self.assumptions().note_method(method),
            None => self.mark_personal(),
        }
        self.method
    }

    /// Ask for the rest with another method.
    pub fn set_method(&mut self, method: Method) {
        self.method = Some(method);
    }

    /// The query, as it was sent (`r->args`).
    pub fn query(&self) -> Option<&[u8]> {
        match self.query.is_some() || self.client.received.query().is_some() {
            true => self.mark_personal(),
            false => self.assumptions().note_no_query(),
        }
        self.query.as_deref()
    }

    /// Ask for the same path with another query.
    pub fn set_query(&mut self, query: Option<Vec<u8>>) {
        self.query = query;
    }

    /// Ask for the query of `other`, for which this is looked up: to hand it on says nothing of it.
    pub fn inherit_query(&mut self, other: &Self) {
        self.query.clone_from(&other.query);
    }

    /// The method as it stands, without a mark.
    pub(crate) fn unmarked_method(&self, _: Because) -> Option<Method> {
        self.method
    }

    /// The query without a mark.
    pub(crate) fn unmarked_query(&self, _: Because) -> Option<&[u8]> {
        self.query.as_deref()
    }

    /// All that is asked for, without a mark; the request is over.
    pub(crate) fn take_asked(&mut self, _: Because) -> MethodAndTarget {
        let (path, query) = (std::mem::take(&mut self.path), self.query.take());
        MethodAndTarget { method: self.method, path, query }
    }

    /// A copy of that.
    pub(crate) fn asked(&self, _: Because) -> MethodAndTarget {
        MethodAndTarget { method: self.method, path: self.path.clone(), query: self.query.clone() }
    }

    /// Ask for this path and query.
    pub(crate) fn ask(&mut self, path: Vec<u8>, query: Option<Vec<u8>>) {
        (self.path, self.query) = (path, query);
    }
}
