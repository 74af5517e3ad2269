//! Who the client of a request is. Who that is and what it may see is found out in `admit.rs`.

use crate::site::settings::Settings;
use std::sync::Arc;

/// Who the client is, as far as it was found out. A request that comes from another one, as a
/// look-up or by an internal redirect, knows that as soon as it is clear that it would be asked the
/// same.
#[derive(Clone, Default)]
pub struct Authentication {
    /// `r->user`
    pub user: Option<Vec<u8>>,
    /// `r->ap_auth_type`
    pub auth_type: Option<&'static str>,
    /// For what it was asked last who may see it.
    pub(crate) judged: Option<Judged>,
}

impl Authentication {
    /// For a request that comes from this one: rules that it passes before its folder is known see
    /// no user yet.
    pub(crate) fn for_another(&self) -> Self {
        Self { judged: self.judged.clone(), ..Self::default() }
    }

    /// Whether nobody has asked who the client is.
    pub(crate) fn is_unknown(&self) -> bool {
        self.user.is_none() && self.auth_type.is_none()
    }

    /// What was found out for `outer`, which this look-up is to replace, comes before what was
    /// found out for the look-up.
    pub(crate) fn inherit(&mut self, outer: &mut Self) {
        self.user = outer.user.take().or(self.user.take());
        self.auth_type = outer.auth_type.or(self.auth_type);
    }
}

/// For what it was asked who may see it.
#[derive(Clone)]
pub(crate) struct Judged {
    pub(crate) settings: Arc<Settings>,
    pub(crate) folder: Vec<u8>,
    /// Who the client was found to be.
    pub(crate) user: Option<Vec<u8>>,
    pub(crate) auth_type: Option<&'static str>,
}
