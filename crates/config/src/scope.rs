//! Where a directive may stand: httpd's `RSRC_CONF`, `ACCESS_CONF` and `OR_*` as a set of places.
//!
//! A row says in which places it is allowed; the builder says which places it is in now.

use core::ops::BitOr;

/// A set of places in a configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scope(u16);

impl Scope {
    /// The main server: outside of all sections.
    pub const SERVER: Self = Self(1);
    /// Directly inside `<VirtualHost>`.
    pub const HOST: Self = Self(1 << 1);
    /// Inside `<Directory>` or `<DirectoryMatch>`.
    pub const DIRECTORY: Self = Self(1 << 2);
    /// Inside `<Location>` or `<LocationMatch>`.
    pub const LOCATION: Self = Self(1 << 3);
    /// Inside `<Files>`, `<FilesMatch>` or `<If>`.
    pub const FILES: Self = Self(1 << 4);
    /// In a `.htaccess` file under `AllowOverride Options`.
    pub const HTACCESS_OPTIONS: Self = Self(1 << 5);
    /// In a `.htaccess` file under `AllowOverride FileInfo`.
    pub const HTACCESS_FILEINFO: Self = Self(1 << 6);
    /// In a `.htaccess` file under `AllowOverride AuthConfig`.
    pub const HTACCESS_AUTHCFG: Self = Self(1 << 7);
    /// In a `.htaccess` file under `AllowOverride Limit`.
    pub const HTACCESS_LIMIT: Self = Self(1 << 8);
    /// In a `.htaccess` file under `AllowOverride Indexes`.
    pub const HTACCESS_INDEXES: Self = Self(1 << 9);

    /// Inside `<AuthnProviderAlias>` or `<AuthzProviderAlias>`: what httpd calls `ACCESS_CONF`
    /// and not `OR_...` may stand there.
    pub const ALIAS: Self = Self(1 << 10);

    /// Nowhere.
    pub const NONE: Self = Self(0);
    /// Outside of `<Directory>`, `<Location>` and `<Files>`.
    pub const RSRC_CONF: Self = Self::SERVER.with(Self::HOST);
    /// Each kind of section with settings for requests.
    pub const SECTIONS: Self = Self::DIRECTORY.with(Self::LOCATION).with(Self::FILES);
    /// Inside of `<Directory>`, `<Location>` or `<Files>`.
    pub const ACCESS_CONF: Self = Self::SECTIONS.with(Self::ALIAS);
    /// Anywhere in a `*.conf` file.
    pub const ANY_CONF: Self = Self::RSRC_CONF.with(Self::ACCESS_CONF);
    const OVERRIDABLE: Self = Self::RSRC_CONF.with(Self::SECTIONS);
    /// Anywhere, in `.htaccess` under `AllowOverride Options`.
    pub const OR_OPTIONS: Self = Self::OVERRIDABLE.with(Self::HTACCESS_OPTIONS);
    /// Anywhere, in `.htaccess` under `AllowOverride FileInfo`.
    pub const OR_FILEINFO: Self = Self::OVERRIDABLE.with(Self::HTACCESS_FILEINFO);
    /// Anywhere, in `.htaccess` under `AllowOverride Indexes`.
    pub const OR_INDEXES: Self = Self::OVERRIDABLE.with(Self::HTACCESS_INDEXES);
    /// In per-directory sections, in `.htaccess` under `AllowOverride AuthConfig`.
    pub const OR_AUTHCFG: Self = Self::SECTIONS.with(Self::HTACCESS_AUTHCFG);
    /// In per-directory sections, in `.htaccess` under `AllowOverride Limit`.
    pub const OR_LIMIT: Self = Self::SECTIONS.with(Self::HTACCESS_LIMIT);
    /// In `.htaccess` under any `AllowOverride` but `None`.
    pub const HTACCESS: Self = Self::HTACCESS_OPTIONS
        .with(Self::HTACCESS_FILEINFO)
        .with(Self::HTACCESS_AUTHCFG)
        .with(Self::HTACCESS_LIMIT)
        .with(Self::HTACCESS_INDEXES);
    /// Anywhere, in `.htaccess` under any `AllowOverride` but `None`.
    pub const OR_ALL: Self = Self::OVERRIDABLE.with(Self::HTACCESS);

    /// Both sets together; `|` in a constant.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// This set without the places of `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// True if the sets have a place in common.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Scope {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.with(other)
    }
}
