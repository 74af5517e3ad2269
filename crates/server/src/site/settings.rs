//! Everything that a location or a host can configure: one typed field per module.
//!
//! A section holds a [`Settings`] with only its own values set; [`Settings::merge`] lays an inner
//! one over an outer one in httpd's order. What is read per request is the merged form.

use crate::modules::{
    access_compat, actions, alias, allowmethods, auth_basic, authn_core, authn_file, authz_core,
    authz_groupfile, autoindex, cgi, core, dir, env, expires, fastcgi, fcgid, filter, headers,
    info, logio, mime, negotiation, proxy, proxy_fcgi, remoteip, setenvif, speling, suexec, trivet,
    userdir, vhost_alias,
};
use message::Method;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, LazyLock};

/// The per-directory settings of all modules.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) access_compat: access_compat::Settings,
    pub(crate) actions: Sparse<actions::Settings>,
    pub(crate) alias: Sparse<alias::Settings>,
    pub(crate) allowmethods: allowmethods::Settings,
    pub(crate) auth_basic: Sparse<auth_basic::Settings>,
    pub(crate) authn_core: authn_core::Settings,
    pub(crate) authn_file: authn_file::Settings,
    pub(crate) authz_core: authz_core::Settings,
    pub(crate) authz_groupfile: authz_groupfile::Settings,
    pub(crate) autoindex: Sparse<autoindex::Options>,
    pub(crate) cgi: cgi::Settings,
    pub(crate) core: Sparse<core::Settings>,
    pub(crate) dir: Sparse<dir::Settings>,
    pub(crate) env: env::Settings,
    pub(crate) expires: Sparse<expires::Settings>,
    pub(crate) fcgid: Sparse<fcgid::Settings>,
    pub(crate) filter: Sparse<filter::Settings>,
    pub(crate) headers: Sparse<headers::Settings>,
    pub(crate) logio: logio::Settings,
    pub(crate) mime: Sparse<mime::Settings>,
    pub(crate) proxy: Sparse<proxy::Settings>,
    pub(crate) proxy_fcgi: Sparse<proxy_fcgi::Settings>,
    pub(crate) negotiation: negotiation::Settings,
    pub(crate) setenvif: setenvif::Settings,
    pub(crate) speling: speling::Settings,
    pub(crate) trivet: trivet::Settings,
}

impl Settings {
    /// Whether everybody may see it with this method, without a further look at the request.
    pub(crate) fn is_open_to_all(&self, method: Method) -> bool {
        let may_ask = self.access_compat.is_silent() && self.allowmethods.allows(Some(method));
        // A way of logging in without rules is an error of the configuration.
        may_ask
            && (self.authz_core.is_open_to_all()
                || self.authz_core.is_silent() && self.authn_core.is_silent())
    }

    /// `inner` over `outer`. Names every field, so that a forgotten module does not compile.
    pub(crate) fn merge(outer: &Self, inner: &Self) -> Self {
        let Self {
            access_compat,
            actions,
            proxy,
            proxy_fcgi,
            alias,
            allowmethods,
            auth_basic,
            authn_core,
            authn_file,
            authz_core,
            authz_groupfile,
            autoindex,
            cgi,
            core,
            dir,
            env,
            expires,
            fcgid,
            filter,
            headers,
            logio,
            mime,
            negotiation,
            setenvif,
            speling,
            trivet,
        } = inner;
        Self {
            access_compat: access_compat.over(&outer.access_compat),
            actions: actions.over(&outer.actions, actions::Settings::over),
            proxy: proxy.over_or_same(&outer.proxy, proxy::Settings::over),
            proxy_fcgi: proxy_fcgi.over_or_same(&outer.proxy_fcgi, proxy_fcgi::Settings::over),
            alias: alias.over(&outer.alias, alias::Settings::over),
            allowmethods: allowmethods.over(&outer.allowmethods),
            auth_basic: auth_basic.over(&outer.auth_basic, auth_basic::Settings::over),
            authn_core: authn_core.over(&outer.authn_core),
            authn_file: authn_file.over(&outer.authn_file),
            authz_core: authz_core.over(&outer.authz_core),
            authz_groupfile: authz_groupfile.over(&outer.authz_groupfile),
            autoindex: autoindex.over_or_same(&outer.autoindex, |inner, outer| {
                autoindex::Options::merge(outer, inner)
            }),
            cgi: cgi.over(&outer.cgi),
            core: core.over(&outer.core, core::Settings::over),
            dir: dir.over(&outer.dir, dir::Settings::over),
            env: env.over(&outer.env),
            expires: expires.over(&outer.expires, expires::Settings::over),
            fcgid: fcgid.over_or_same(&outer.fcgid, fcgid::Settings::over),
            filter: filter.over_or_same(&outer.filter, filter::Settings::over),
            headers: headers.over(&outer.headers, headers::Settings::over),
            logio: logio.over(&outer.logio),
            mime: mime
                .over_or_same(&outer.mime, |inner, outer| mime::Settings::merge(outer, inner)),
            negotiation: negotiation.over(&outer.negotiation),
            setenvif: setenvif.over(&outer.setenvif),
            speling: speling.over(&outer.speling),
            trivet: trivet.over(&outer.trivet),
        }
    }
}

/// What modules keep per (virtual) host.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostSettings {
    pub(crate) alias: alias::HostSettings,
    pub(crate) fastcgi: fastcgi::HostSettings,
    pub(crate) fcgid: Sparse<fcgid::HostSettings>,
    pub(crate) cgi: cgi::HostSettings,
    pub(crate) info: info::HostSettings,
    pub(crate) proxy: Sparse<proxy::HostSettings>,
    pub(crate) remoteip: Sparse<remoteip::HostSettings>,
    pub(crate) setenvif: setenvif::Settings,
    pub(crate) suexec: suexec::HostSettings,
    pub(crate) userdir: userdir::HostSettings,
    pub(crate) vhost_alias: Sparse<vhost_alias::HostSettings>,
}

impl HostSettings {
    /// Those of a virtual host over those of the main server.
    pub(crate) fn over(&self, main: &Self) -> Self {
        let Self {
            alias,
            cgi,
            fastcgi,
            fcgid,
            info,
            proxy,
            remoteip,
            setenvif,
            suexec,
            userdir,
            vhost_alias,
        } = self;
        Self {
            alias: alias.over(&main.alias),
            cgi: cgi.over(&main.cgi),
            fastcgi: fastcgi.over(&main.fastcgi),
            fcgid: fcgid.over(&main.fcgid, fcgid::HostSettings::over),
            info: info.over(&main.info),
            proxy: proxy.over(&main.proxy, proxy::HostSettings::over),
            remoteip: remoteip.over(&main.remoteip, remoteip::HostSettings::over),
            setenvif: setenvif.over(&main.setenvif),
            suexec: suexec.over(&main.suexec),
            userdir: userdir.over(&main.userdir),
            vhost_alias: vhost_alias.over(&main.vhost_alias, vhost_alias::HostSettings::over),
        }
    }
}

/// The settings of a module that has many of them. Most sections say nothing about most modules,
/// and there may be thousands of sections: such a one costs a pointer, and what is inherited as it
/// is is shared.
#[derive(Clone, Debug)]
pub(crate) struct Sparse<T>(Option<Arc<T>>);

impl<T> Default for Sparse<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Unset> Sparse<T> {
    /// Be there, though nothing is said: what lies over it is then merged with it.
    pub(crate) fn create(&mut self) {
        self.0.get_or_insert_default();
    }

    /// `self` over `outer`. One that says nothing leaves the outer as it is
    /// (ap_merge_per_dir_configs of httpd's config.c).
    fn over(&self, outer: &Self, merge: impl FnOnce(&T, &T) -> T) -> Self {
        match &self.0 {
            Some(inner) => Self(Some(Arc::new(merge(inner, outer)))),
            None => outer.clone(),
        }
    }

    /// The same for a module whose settings over none are what they are: they are shared then.
    fn over_or_same(&self, outer: &Self, merge: impl FnOnce(&T, &T) -> T) -> Self {
        match (&self.0, &outer.0) {
            (Some(_), None) => self.clone(),
            _ => self.over(outer, merge),
        }
    }
}

/// Settings of which nothing is said, for all to read.
pub(crate) trait Unset: Clone + Default + 'static {
    /// The one value.
    fn unset() -> &'static LazyLock<Self>;
}

impl<T: Unset> Deref for Sparse<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or_else(|| T::unset())
    }
}

impl<T: Unset> DerefMut for Sparse<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(self.0.get_or_insert_default())
    }
}

impl Unset for headers::Settings {
    fn unset() -> &'static LazyLock<Self> {
        static UNSET: LazyLock<headers::Settings> = LazyLock::new(Default::default);
        &UNSET
    }
}

impl Unset for proxy::Settings {
    fn unset() -> &'static LazyLock<Self> {
        static UNSET: LazyLock<proxy::Settings> = LazyLock::new(Default::default);
        &UNSET
    }
}

impl Unset for proxy::HostSettings {
    fn unset() -> &'static LazyLock<Self> {
        static UNSET: LazyLock<proxy::HostSettings> = LazyLock::new(Default::default);
        &UNSET
    }
}

impl Unset for proxy_fcgi::Settings {
    fn unset() -> &'static LazyLock<Self> {
        static UNSET: LazyLock<proxy_fcgi::Settings> = LazyLock::new(Default::default);
        &UNSET
    }
}

impl Unset for actions::Settings {
    fn unset() -> &'static LazyLock<Self> {
        static UNSET: LazyLock<actions::Settings> = LazyLock::new(Default::default);
        &UNSET
    }
}

impl Unset for auth_basic::Settings {
    fn unset() -> &'static LazyLock<Self> {
        static UNSET: LazyLock<auth_basic::Settings> = LazyLock::new(Default::default);
        &UNSET
    }
}

impl Unset for fcgid::Settings {
    fn unset() -> &'static LazyLock<Self> {
        static UNSET: LazyLock<fcgid::Settings> = LazyLock::new(Default::default);
        &UNSET
    }
}

impl Unset for fcgid::HostSettings {
    fn unset() -> &'static LazyLock<Self> {
        static UNSET: LazyLock<fcgid::HostSettings> = LazyLock::new(Default::default);
        &UNSET
    }
}

impl Unset for expires::Settings {
    fn unset() -> &'static LazyLock<Self> {
        static UNSET: LazyLock<expires::Settings> = LazyLock::new(Default::default);
        &UNSET
    }
}

impl Unset for alias::Settings {
    fn unset() -> &'static LazyLock<Self> {
        static UNSET: LazyLock<alias::Settings> = LazyLock::new(Default::default);
        &UNSET
    }
}

impl Unset for dir::Settings {
    fn unset() -> &'static LazyLock<Self> {
        static UNSET: LazyLock<dir::Settings> = LazyLock::new(Default::default);
        &UNSET
    }
}

impl Unset for remoteip::HostSettings {
    fn unset() -> &'static LazyLock<Self> {
        static UNSET: LazyLock<remoteip::HostSettings> = LazyLock::new(Default::default);
        &UNSET
    }
}

impl Unset for vhost_alias::HostSettings {
    fn unset() -> &'static LazyLock<Self> {
        static UNSET: LazyLock<vhost_alias::HostSettings> = LazyLock::new(Default::default);
        &UNSET
    }
}

impl Unset for autoindex::Options {
    fn unset() -> &'static LazyLock<Self> {
        static UNSET: LazyLock<autoindex::Options> = LazyLock::new(Default::default);
        &UNSET
    }
}

impl Unset for core::Settings {
    fn unset() -> &'static LazyLock<Self> {
        static UNSET: LazyLock<core::Settings> = LazyLock::new(Default::default);
        &UNSET
    }
}

impl Unset for filter::Settings {
    fn unset() -> &'static LazyLock<Self> {
        static UNSET: LazyLock<filter::Settings> = LazyLock::new(Default::default);
        &UNSET
    }
}

impl Unset for mime::Settings {
    fn unset() -> &'static LazyLock<Self> {
        static UNSET: LazyLock<mime::Settings> = LazyLock::new(Default::default);
        &UNSET
    }
}

/// `inner` if it is set, else `outer`.
pub(crate) fn either<T: Clone>(inner: Option<&T>, outer: Option<&T>) -> Option<T> {
    inner.or(outer).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_inherited_as_it_is_is_shared_until_it_is_changed() {
        let mut outer = Settings::default();
        outer.core.files.clear();
        let inner = Settings::default();
        let mut merged = Settings::merge(&outer, &inner);
        let same =
            |a: &Settings, b: &Settings| std::ptr::eq(&raw const *a.core, &raw const *b.core);
        assert!(same(&merged, &outer) && merged.mime.0.is_none());
        merged.core.files.clear();
        assert!(!same(&merged, &outer));
    }
}
