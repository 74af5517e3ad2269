//! The per-directory settings of core, and how inner ones lie over outer ones.

use super::Section;
use crate::resolve::LinkPolicy;
use crate::site::expression::ExpressionText;
use crate::site::names::{HostnameLookups, UseCanonicalName};
use crate::site::overrides::Overrides;
use crate::site::store::either;
use config::Scope;
use fastcgi::environment::PassAuth;
use logging::level::Levels;
use message::range::RangeLimits;
use runtime::programs::ResourceLimits;
use std::sync::Arc;

/// Bits of `Options`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options(pub u8);

impl Options {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const INDEXES: Self = Self(1);
    pub(crate) const FOLLOW: Self = Self(2);
    pub(crate) const OWNER_MATCH: Self = Self(4);
    /// `ExecCGI`
    pub const EXEC_CGI: Self = Self(8);
    /// `IncludesNOEXEC`
    pub const INCLUDES: Self = Self(16);
    /// What `Includes` is besides.
    pub const INCLUDES_EXEC: Self = Self(64);
    pub(crate) const MULTI_VIEWS: Self = Self(32);
    /// `All` is everything but MultiViews and SymLinksIfOwnerMatch (`OPT_ALL` of http_core.h).
    pub(crate) const ALL: Self = Self(1 | 2 | 8 | 16 | 64);

    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The words of `Options`.
pub const OPTION_WORDS: &[(&str, Options)] = &[
    ("All", Options::ALL),
    ("None", Options::NONE),
    ("Indexes", Options::INDEXES),
    ("FollowSymLinks", Options::FOLLOW),
    ("SymLinksIfOwnerMatch", Options::OWNER_MATCH),
    ("ExecCGI", Options::EXEC_CGI),
    ("Includes", Options(16 | 64)),
    ("IncludesNOEXEC", Options::INCLUDES),
    ("MultiViews", Options::MULTI_VIEWS),
];

/// What one section says about `Options`: `(value & keep) | add`.
#[derive(Clone, Copy, Debug)]
pub struct OptionsChange {
    /// Bits that stay as the outer section has them.
    pub keep: u8,
    /// Bits that are set.
    pub add: u8,
}

/// How a place wants some variables (`CGIPassAuth`, `CGIVar`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvironmentRules {
    /// Whether scripts see what a client has authenticated itself with.
    pub(crate) passes: PassAuth,
    /// Whether `REQUEST_URI` is the path after internal redirects.
    pub(crate) has_current_uri: bool,
}

/// Which facts of a file make its entity tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileEtag {
    pub(crate) inode: bool,
    pub(crate) mtime: bool,
    pub(crate) size: bool,
    /// A digest of the content.
    pub(crate) digest: bool,
}

const FILE_ETAG_DEFAULT: FileEtag =
    FileEtag { inode: false, mtime: true, size: true, digest: false };

/// What `FileETag` says: `(value & keep) | add`, as for `Options`.
#[derive(Clone, Copy, Debug)]
pub struct FileEtagChange {
    /// Nothing of the outer section stays.
    pub replaces: bool,
    /// Facts that are added: inode, time, size, digest.
    pub add: [bool; 4],
    /// Facts that are taken out, in the same order.
    pub remove: [bool; 4],
}

/// `ErrorDocument`
#[derive(Clone, Debug)]
pub enum ErrorDocument {
    /// httpd's own page.
    Default,
    /// A text, sent as it is.
    Text(Arc<ExpressionText>),
    /// A path of this server, or another URL.
    Url(Arc<ExpressionText>),
}

/// `AcceptPathInfo`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathInfo {
    /// As the handler likes.
    #[default]
    Default,
    /// It belongs to the request.
    Accept,
    /// It means that there is no such file.
    Reject,
}

/// `ServerSignature`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signature {
    /// There is none.
    #[default]
    Off,
    /// Name, version and host.
    On,
    /// With the address of the administrator.
    Email,
}

/// Per-directory settings of core.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `Options`
    pub options: Option<OptionsChange>,
    /// `AllowOverride`: the list is [`Settings::override_list`].
    pub overrides: Option<Overrides>,
    /// `AllowOverrideList`
    pub override_list: Option<Vec<String>>,
    /// `SetHandler`: a name, or the expression of one that has a `%`.
    pub handler: Option<HandlerSetting>,
    /// `FileETag`
    pub file_etag: Vec<FileEtagChange>,
    /// `EnableSendfile`
    pub enable_sendfile: Option<bool>,
    /// `LimitRequestBody`
    pub limit_request_body: Option<u64>,
    /// `MaxRanges`
    pub max_ranges: Option<usize>,
    /// `MaxRangeOverlaps`
    pub max_range_overlaps: Option<usize>,
    /// `MaxRangeReversals`
    pub max_range_reversals: Option<usize>,
    /// `ErrorDocument`, by status.
    pub error_documents: Vec<(u16, ErrorDocument)>,
    /// `AcceptPathInfo`
    pub accept_path_info: Option<PathInfo>,
    /// `AddDefaultCharset`; `Some(None)` is `Off`.
    pub default_charset: Option<Option<String>>,
    /// `ServerSignature`
    pub signature: Option<Signature>,
    /// `UseCanonicalName`
    pub use_canonical_name: Option<UseCanonicalName>,
    /// `HostnameLookups`
    pub hostname_lookups: Option<HostnameLookups>,
    /// `UseCanonicalPhysicalPort`
    pub use_canonical_physical_port: Option<bool>,
    /// `ContentDigest`
    pub content_digest: Option<bool>,
    /// `QualifyRedirectURL`
    pub qualify_redirect_url: Option<bool>,
    /// `RLimitCPU`, `RLimitMEM`, `RLimitNPROC`
    pub limits: ResourceLimits,
    /// `CGIPassAuth`
    pub passes_authorization: Option<bool>,
    /// `CGIVar REQUEST_URI`
    pub has_current_uri: Option<bool>,
    /// `LogLevel`
    pub levels: Option<Levels>,
    /// `<Files>` inside of this section.
    pub files: Vec<Arc<Section>>,
    /// `<If>`, `<ElseIf>` and `<Else>` inside of this section.
    pub ifs: Vec<Arc<Section>>,
}

/// What `SetHandler` names.
#[derive(Clone, Debug)]
pub enum HandlerSetting {
    /// A name.
    Name(String),
    /// An expression that comes to one.
    Computed(Arc<ExpressionText>),
}

/// The name of a handler in lower case, but for one that names a socket (core_override_type).
pub fn lower(name: &str) -> String {
    match name.starts_with("proxy:unix") {
        true => name.to_owned(),
        false => name.to_ascii_lowercase(),
    }
}

/// The settings that decide how the folders of a path are walked: they are merged for every
/// folder on the way, so there are few of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outline {
    options: Option<OptionsChange>,
    overrides: Option<Overrides>,
    override_list: Option<Vec<String>>,
}

impl Outline {
    /// `self` over `outer`.
    pub(crate) fn over(self, outer: &Self) -> Self {
        Self {
            options: options_over(self.options, outer.options),
            overrides: self.overrides.or_else(|| outer.overrides.clone()),
            override_list: self.override_list.or_else(|| outer.override_list.clone()),
        }
    }

    /// Which symbolic links may be followed here.
    pub(crate) fn links(&self) -> LinkPolicy {
        links(options_of(self.options))
    }

    /// What a `.htaccess` file here may say.
    pub(crate) fn overrides(&self) -> Overrides {
        let list = self.override_list.clone().unwrap_or_default();
        Overrides { list, ..self.overrides.clone().unwrap_or_default() }
    }
}

/// What two sections say about `Options`, one inside of the other.
pub fn options_over(
    inner: Option<OptionsChange>,
    outer: Option<OptionsChange>,
) -> Option<OptionsChange> {
    match (inner, outer) {
        (Some(inner), Some(outer)) => Some(OptionsChange {
            keep: inner.keep & outer.keep,
            add: (outer.add & inner.keep) | inner.add,
        }),
        (inner, outer) => inner.or(outer),
    }
}

fn options_of(change: Option<OptionsChange>) -> Options {
    let change = change.unwrap_or(OptionsChange { keep: u8::MAX, add: 0 });
    Options((Options::FOLLOW.0 & change.keep) | change.add)
}

/// SymLinksIfOwnerMatch holds where both are on, as in httpd (request.c, resolve_symlink).
fn links(options: Options) -> LinkPolicy {
    if options.has(Options::OWNER_MATCH) {
        LinkPolicy::OwnerMatch
    } else if options.has(Options::FOLLOW) {
        LinkPolicy::Follow
    } else {
        LinkPolicy::Refuse
    }
}

impl Settings {
    pub(crate) fn over(&self, outer: &Self) -> Self {
        let both = |outer: &[Arc<Section>], inner: &[Arc<Section>]| [outer, inner].concat();
        Self {
            options: options_over(self.options, outer.options),
            overrides: either(self.overrides.as_ref(), outer.overrides.as_ref()),
            override_list: either(self.override_list.as_ref(), outer.override_list.as_ref()),
            handler: either(self.handler.as_ref(), outer.handler.as_ref()),
            file_etag: [&outer.file_etag[..], &self.file_etag].concat(),
            enable_sendfile: self.enable_sendfile.or(outer.enable_sendfile),
            limit_request_body: self.limit_request_body.or(outer.limit_request_body),
            max_ranges: self.max_ranges.or(outer.max_ranges),
            max_range_overlaps: self.max_range_overlaps.or(outer.max_range_overlaps),
            max_range_reversals: self.max_range_reversals.or(outer.max_range_reversals),
            error_documents: documents_over(&self.error_documents, &outer.error_documents),
            accept_path_info: self.accept_path_info.or(outer.accept_path_info),
            default_charset: either(self.default_charset.as_ref(), outer.default_charset.as_ref()),
            signature: self.signature.or(outer.signature),
            use_canonical_name: self.use_canonical_name.or(outer.use_canonical_name),
            hostname_lookups: self.hostname_lookups.or(outer.hostname_lookups),
            use_canonical_physical_port: self
                .use_canonical_physical_port
                .or(outer.use_canonical_physical_port),
            content_digest: self.content_digest.or(outer.content_digest),
            limits: ResourceLimits {
                cpu: self.limits.cpu.or(outer.limits.cpu),
                memory: self.limits.memory.or(outer.limits.memory),
                processes: self.limits.processes.or(outer.limits.processes),
            },
            passes_authorization: self.passes_authorization.or(outer.passes_authorization),
            has_current_uri: self.has_current_uri.or(outer.has_current_uri),
            qualify_redirect_url: self.qualify_redirect_url.or(outer.qualify_redirect_url),
            levels: match (&self.levels, &outer.levels) {
                (Some(inner), Some(outer)) => Some(inner.over(outer)),
                (inner, outer) => either(inner.as_ref(), outer.as_ref()),
            },
            files: both(&outer.files, &self.files),
            ifs: both(&outer.ifs, &self.ifs),
        }
    }

    /// What decides how folders are walked.
    pub(crate) fn outline(&self) -> Outline {
        Outline {
            options: self.options,
            overrides: self.overrides.clone(),
            override_list: self.override_list.clone(),
        }
    }

    fn options(&self) -> Options {
        options_of(self.options)
    }

    /// What `SetHandler` says, if that is a name, and not that of a backend.
    pub(crate) fn handler_said(&self) -> Option<&str> {
        match &self.handler {
            Some(HandlerSetting::Name(name)) if !name.starts_with("proxy:") => Some(name),
            _ => None,
        }
    }

    /// Whether this section has an `Options` line.
    pub(crate) fn says_options(&self) -> bool {
        self.options.is_some()
    }

    /// Whether this section lets `.htaccess` files say something.
    pub(crate) fn may_override(&self) -> bool {
        let list = self.override_list.as_ref().is_some_and(|list| !list.is_empty());
        list || self.overrides.as_ref().is_some_and(|all| all.classes.meets(Scope::HTACCESS))
    }

    /// `Options Indexes`.
    pub fn lists_directories(&self) -> bool {
        self.options().has(Options::INDEXES)
    }

    /// `Options Includes` or `IncludesNOEXEC`.
    pub fn parses_includes(&self) -> bool {
        self.options().has(Options::INCLUDES)
    }

    /// Whether such pages may have programs run, too (`Options Includes`).
    pub fn runs_in_includes(&self) -> bool {
        self.options().has(Options::INCLUDES_EXEC)
    }

    /// `Options MultiViews`.
    pub fn has_multi_views(&self) -> bool {
        self.options().has(Options::MULTI_VIEWS)
    }

    /// `Options ExecCGI`.
    pub fn may_execute(&self) -> bool {
        self.options().has(Options::EXEC_CGI)
    }

    /// What a program may use.
    pub fn limits(&self) -> ResourceLimits {
        self.limits
    }

    /// Whether any symbolic links may be followed.
    pub fn follows_some_links(&self) -> bool {
        self.links() != LinkPolicy::Refuse
    }

    /// Which symbolic links may be followed.
    pub fn links(&self) -> LinkPolicy {
        links(self.options())
    }

    pub(crate) fn file_etag(&self) -> FileEtag {
        let default = FILE_ETAG_DEFAULT;
        let mut facts = [default.inode, default.mtime, default.size, default.digest];
        for change in &self.file_etag {
            for (nth, fact) in facts.iter_mut().enumerate() {
                *fact = (*fact && !change.replaces && !change.remove[nth]) || change.add[nth];
            }
        }
        FileEtag { inode: facts[0], mtime: facts[1], size: facts[2], digest: facts[3] }
    }

    pub(crate) fn uses_sendfile(&self) -> bool {
        self.enable_sendfile.unwrap_or(true)
    }

    /// `LimitRequestBody`
    pub fn limit_request_body(&self) -> u64 {
        self.limit_request_body.unwrap_or(message::limits::LIMIT_REQUEST_BODY)
    }

    pub(crate) fn range_limits(&self) -> RangeLimits {
        let default = RangeLimits::default();
        RangeLimits {
            max_ranges: self.max_ranges.unwrap_or(default.max_ranges),
            max_overlaps: self.max_range_overlaps.unwrap_or(default.max_overlaps),
            max_reversals: self.max_range_reversals.unwrap_or(default.max_reversals),
        }
    }

    /// `ErrorDocument` for a status.
    pub(crate) fn error_document(&self, status: u16) -> Option<&ErrorDocument> {
        let row = self.error_documents.iter().find(|row| row.0 == status);
        row.map(|row| &row.1).filter(|document| !matches!(document, ErrorDocument::Default))
    }

    /// `AcceptPathInfo`
    pub fn accept_path_info(&self) -> PathInfo {
        self.accept_path_info.unwrap_or_default()
    }

    /// `AddDefaultCharset`
    pub(crate) fn default_charset(&self) -> Option<&str> {
        self.default_charset.as_ref()?.as_deref()
    }

    /// A Content-Type as it is sent: `AddDefaultCharset` is for plain text and HTML without a
    /// charset (core.c, ap_make_content_type, which looks for these words anywhere in it).
    pub fn with_charset(&self, content_type: String) -> String {
        let needs_one = ["text/plain", "text/html"].iter().any(|text| content_type.contains(text));
        match self.default_charset() {
            Some(charset) if needs_one && !content_type.contains("charset=") => {
                content_type + "; charset=" + charset
            }
            _ => content_type,
        }
    }

    pub(crate) fn signature(&self) -> Signature {
        self.signature.unwrap_or_default()
    }

    pub(crate) fn use_canonical_name(&self) -> UseCanonicalName {
        self.use_canonical_name.unwrap_or_default()
    }

    pub(crate) fn hostname_lookups(&self) -> HostnameLookups {
        self.hostname_lookups.unwrap_or_default()
    }

    pub(crate) fn use_canonical_physical_port(&self) -> bool {
        self.use_canonical_physical_port.unwrap_or(false)
    }

    /// `ContentDigest`
    pub(crate) fn content_digest(&self) -> bool {
        self.content_digest.unwrap_or(false)
    }

    /// `QualifyRedirectURL`
    /// How scripts see some variables.
    pub fn variables(&self) -> EnvironmentRules {
        EnvironmentRules {
            passes: match self.passes_authorization {
                Some(true) => PassAuth::On,
                _ => PassAuth::Off,
            },
            has_current_uri: self.has_current_uri.unwrap_or(false),
        }
    }

    pub(crate) fn qualify_redirect_url(&self) -> bool {
        self.qualify_redirect_url.unwrap_or(false)
    }

    /// `LogLevel` of this place, if it has one of its own.
    pub fn levels(&self) -> Option<&Levels> {
        self.levels.as_ref()
    }
}

fn documents_over(
    inner: &[(u16, ErrorDocument)],
    outer: &[(u16, ErrorDocument)],
) -> Vec<(u16, ErrorDocument)> {
    let is_new = |row: &&(u16, ErrorDocument)| inner.iter().all(|known| known.0 != row.0);
    inner.iter().chain(outer.iter().filter(is_new)).cloned().collect()
}

/// util.c, ap_is_url: a scheme and a colon.
pub fn is_absolute_url(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else { return false };
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    !scheme.is_empty() && scheme.bytes().all(is_scheme)
}
