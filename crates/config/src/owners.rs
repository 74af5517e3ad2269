//! Which stock module of httpd has which directive (`-L` of httpd with every module loaded).
//!
//! A directive whose module is not loaded is an error, as in httpd; one that has no row here but
//! whose module is loaded is a warning. The directives of the three MPMs stand together. Which
//! module has which mutex stands here, too.
// tidy: table

use alloc::format;
use alloc::string::String;

use crate::known::compare;

/// The symbol that stands for whichever MPM runs, and the one that runs unasked.
pub const MPM: &str = "mpm_event_module";

/// Whether a module is an MPM.
pub fn is_mpm(symbol: &str) -> bool {
    symbol.starts_with("mpm_")
}

/// Names that a module has had in the past, with the file that `<IfModule>` knows it by then: PHP's
/// changed with its major version until 8, and configurations ask for each of them.
pub const OLDER_NAMES: &[(&str, &str)] =
    &[("php5_module", "mod_php5.c"), ("php7_module", "mod_php7.c")];

/// Whether this is a name of the past.
pub fn is_older(symbol: &str) -> bool {
    OLDER_NAMES.iter().any(|row| row.0 == symbol)
}

/// The symbol that the module has here: `php_module` for each of its names.
pub fn current(symbol: &str) -> &str {
    if is_older(symbol) { "php_module" } else { symbol }
}

/// The modules that have a directive of this name, whatever its letters' case.
pub fn of(name: &str) -> impl Iterator<Item = &'static str> {
    let has = move |names: &[&str]| names.iter().any(|own| compare(own, name).is_eq());
    OWNERS.iter().filter(move |row| has(row.1)).map(|row| row.0)
}

/// Each directive with the symbol of its module.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    OWNERS.iter().flat_map(|(symbol, names)| names.iter().map(|name| (*symbol, *name)))
}

/// The source file of the module of this symbol: `mod_alias.c` of `alias_module`.
pub fn file(symbol: &str) -> String {
    let special = [
        ("core_module", "core.c"),
        ("http_module", "http_core.c"),
        ("ldap_module", "util_ldap.c"),
        (MPM, "event.c"),
    ];
    match special.iter().find(|row| row.0 == symbol) {
        Some((_, file)) => (*file).into(),
        None => format!("mod_{}.c", symbol.trim_end_matches("_module")),
    }
}

/// Types of mutexes, each after the module that asks for it (ap_mutex_register).
pub static MUTEXES: &[(&str, &str)] = &[
    ("mpm_prefork_module", "mpm-accept"),
    ("mpm_worker_module", "mpm-accept"),
    ("watchdog_module", "watchdog-callback"),
    ("rewrite_module", "rewrite-map"),
    ("ssl_module", "ssl-cache"),
    ("ssl_module", "ssl-stapling"),
    ("ssl_module", "ssl-stapling-refresh"),
    ("proxy_module", "proxy"),
    ("auth_digest_module", "authdigest-client"),
    ("auth_digest_module", "authdigest-opaque"),
    ("authn_socache_module", "authn-socache"),
    ("cache_socache_module", "cache-socache"),
    ("ldap_module", "ldap-cache"),
    ("fcgid_module", "fcgid-pipe"),
    ("fcgid_module", "fcgid-proctbl"),
];

/// Sorted by symbol.
#[rustfmt::skip]
static OWNERS: &[(&str, &[&str])] = &[
    ("access_compat_module", &[
        "allow", "deny", "order", "Satisfy"
    ]),
    ("actions_module", &[
        "Action", "Script"
    ]),
    ("alias_module", &[
        "Alias", "AliasMatch", "AliasPreservePath", "Redirect", "RedirectMatch",
        "RedirectPermanent", "RedirectRelative", "RedirectTemp", "ScriptAlias",
        "ScriptAliasMatch"
    ]),
    ("allowmethods_module", &[
        "AllowMethods"
    ]),
    ("auth_basic_module", &[
        "AuthBasicAuthoritative", "AuthBasicFake", "AuthBasicProvider",
        "AuthBasicUseDigestAlgorithm"
    ]),
    ("auth_digest_module", &[
        "AuthDigestAlgorithm", "AuthDigestDomain", "AuthDigestNcCheck",
        "AuthDigestNonceLifetime", "AuthDigestProvider", "AuthDigestQop", "AuthDigestShmemSize"
    ]),
    ("auth_form_module", &[
        "AuthFormAuthoritative", "AuthFormBody", "AuthFormDisableNoStore",
        "AuthFormFakeBasicAuth", "AuthFormLocation", "AuthFormLoginRequiredLocation",
        "AuthFormLoginSuccessLocation", "AuthFormLogoutLocation", "AuthFormMethod",
        "AuthFormMimetype", "AuthFormPassword", "AuthFormProvider", "AuthFormSitePassphrase",
        "AuthFormSize", "AuthFormUsername"
    ]),
    ("authn_anon_module", &[
        "Anonymous", "Anonymous_LogEmail", "Anonymous_MustGiveEmail", "Anonymous_NoUserId",
        "Anonymous_VerifyEmail"
    ]),
    ("authn_core_module", &[
        "<AuthnProviderAlias", "AuthName", "AuthType"
    ]),
    ("authn_dbd_module", &[
        "AuthDBDUserPWQuery", "AuthDBDUserRealmQuery"
    ]),
    ("authn_dbm_module", &[
        "AuthDBMType", "AuthDBMUserFile"
    ]),
    ("authn_file_module", &[
        "AuthUserFile"
    ]),
    ("authn_socache_module", &[
        "AuthnCacheContext", "AuthnCacheEnable", "AuthnCacheProvideFor", "AuthnCacheSOCache",
        "AuthnCacheTimeout"
    ]),
    ("authnz_fcgi_module", &[
        "AuthnzFcgiCheckAuthnProvider", "AuthnzFcgiDefineProvider"
    ]),
    ("authnz_ldap_module", &[
        "AuthLDAPAuthorizePrefix", "AuthLDAPBindAuthoritative", "AuthLDAPBindDN",
        "AuthLDAPBindPassword", "AuthLDAPCharsetConfig", "AuthLDAPCompareAsUser",
        "AuthLDAPCompareDNOnServer", "AuthLDAPDereferenceAliases", "AuthLDAPGroupAttribute",
        "AuthLDAPGroupAttributeIsDN", "AuthLDAPInitialBindAsUser", "AuthLDAPInitialBindPattern",
        "AuthLDAPMaxSubGroupDepth", "AuthLDAPRemoteUserAttribute", "AuthLDAPRemoteUserIsDN",
        "AuthLDAPSearchAsUser", "AuthLDAPSubGroupAttribute", "AuthLDAPSubGroupClass",
        "AuthLDAPURL"
    ]),
    ("authz_core_module", &[
        "<AuthzProviderAlias", "<RequireAll", "<RequireAny", "<RequireNone", "AuthMerging",
        "AuthzSendForbiddenOnFailure", "Require"
    ]),
    ("authz_dbd_module", &[
        "AuthzDBDLoginToReferer", "AuthzDBDQuery", "AuthzDBDRedirectQuery"
    ]),
    ("authz_dbm_module", &[
        "AuthDBMGroupFile", "AuthzDBMType"
    ]),
    ("authz_groupfile_module", &[
        "AuthGroupFile"
    ]),
    ("autoindex_module", &[
        "AddAlt", "AddAltByEncoding", "AddAltByType", "AddDescription", "AddIcon",
        "AddIconByEncoding", "AddIconByType", "DefaultIcon", "FancyIndexing", "HeaderName",
        "IndexHeadInsert", "IndexIgnore", "IndexIgnoreReset", "IndexOptions",
        "IndexOrderDefault", "IndexStyleSheet", "ReadmeName"
    ]),
    ("brotli_module", &[
        "BrotliAlterETag", "BrotliCompressionMaxInputBlock", "BrotliCompressionQuality",
        "BrotliCompressionWindow", "BrotliFilterNote"
    ]),
    ("buffer_module", &[
        "BufferSize"
    ]),
    ("cache_disk_module", &[
        "CacheDirLength", "CacheDirLevels", "CacheMaxFileSize", "CacheMinFileSize",
        "CacheReadSize", "CacheReadTime", "CacheRoot"
    ]),
    ("cache_module", &[
        "CacheDefaultExpire", "CacheDetailHeader", "CacheDisable", "CacheEnable", "CacheHeader",
        "CacheIgnoreCacheControl", "CacheIgnoreHeaders", "CacheIgnoreNoLastMod",
        "CacheIgnoreQueryString", "CacheIgnoreURLSessionIdentifiers", "CacheKeyBaseURL",
        "CacheLastModifiedFactor", "CacheLock", "CacheLockMaxAge", "CacheLockPath",
        "CacheMaxExpire", "CacheMinExpire", "CacheQuickHandler", "CacheStaleOnError",
        "CacheStoreExpired", "CacheStoreNoStore", "CacheStorePrivate"
    ]),
    ("cache_socache_module", &[
        "CacheSocache", "CacheSocacheMaxSize", "CacheSocacheMaxTime", "CacheSocacheMinTime",
        "CacheSocacheReadSize", "CacheSocacheReadTime"
    ]),
    ("cern_meta_module", &[
        "MetaDir", "MetaFiles", "MetaSuffix"
    ]),
    ("cgi_module", &[
        "CGIScriptTimeout", "ScriptLog", "ScriptLogBuffer", "ScriptLogLength"
    ]),
    ("cgid_module", &[
        "CGIDScriptTimeout", "ScriptLog", "ScriptLogBuffer", "ScriptLogLength", "ScriptSock"
    ]),
    ("charset_lite_module", &[
        "CharsetDefault", "CharsetOptions", "CharsetSourceEnc"
    ]),
    ("core_module", &[
        "<Directory", "<DirectoryMatch", "<Else", "<ElseIf", "<Files", "<FilesMatch", "<If",
        "<IfDefine", "<IfDirective", "<IfFile", "<IfModule", "<IfSection", "<Limit",
        "<LimitExcept", "<Location", "<LocationMatch", "<VirtualHost", "AcceptFilter",
        "AcceptPathInfo", "AccessFileName", "AddDefaultCharset", "AllowEncodedSlashes",
        "AllowOverride", "AllowOverrideList", "CGIPassAuth", "CGIVar", "ContentDigest",
        "CoreDumpDirectory", "DefaultRuntimeDir", "DefaultType", "Define", "DocumentRoot",
        "EnableMMAP", "EnableSendfile", "Error", "ErrorDocument", "ErrorLog", "ErrorLogFormat",
        "ExtendedStatus", "FileETag", "FlushMaxPipelined", "FlushMaxThreshold", "ForceType",
        "HostnameLookups", "HttpProtocolOptions", "Include", "IncludeOptional",
        "LimitInternalRecursion", "LimitRequestBody", "LimitRequestFields",
        "LimitRequestFieldsize", "LimitRequestLine", "LimitXMLRequestBody", "LogLevel",
        "MaxConnectionsPerChild", "MaxMemFree", "MaxRangeOverlaps", "MaxRangeReversals",
        "MaxRanges", "MaxRequestsPerChild", "MergeSlashes", "MergeTrailers", "Mutex",
        "NameVirtualHost", "Options", "PidFile", "Port", "Protocol", "Protocols",
        "ProtocolsHonorOrder", "QualifyRedirectURL", "ReadBufferSize", "RegexDefaultOptions",
        "RegisterHttpMethod", "RLimitCPU", "RLimitMEM", "RLimitNPROC", "ScoreBoardFile",
        "SeeRequestTail", "ServerAdmin", "ServerAlias", "ServerName", "ServerPath",
        "ServerRoot", "ServerSignature", "ServerTokens", "SetHandler", "SetInputFilter",
        "SetOutputFilter", "StrictHostCheck", "ThreadStackSize", "Timeout", "TraceEnable",
        "UnDefine", "UseCanonicalName", "UseCanonicalPhysicalPort"
    ]),
    ("dav_fs_module", &[
        "DAVLockDB"
    ]),
    ("dav_lock_module", &[
        "DAVGenericLockDB"
    ]),
    ("dav_module", &[
        "DAV", "DAVBasePath", "DAVDepthInfinity", "DAVLockDiscovery", "DAVMinTimeout"
    ]),
    ("dbd_module", &[
        "DBDExptime", "DBDInitSQL", "DBDKeep", "DBDMax", "DBDMin", "DBDParams", "DBDPersist",
        "DBDPrepareSQL", "DBDriver"
    ]),
    ("deflate_module", &[
        "DeflateAlterEtag", "DeflateBufferSize", "DeflateCompressionLevel", "DeflateFilterNote",
        "DeflateInflateLimitRequestBody", "DeflateInflateRatioBurst",
        "DeflateInflateRatioLimit", "DeflateMemLevel", "DeflateWindowSize"
    ]),
    ("dialup_module", &[
    ]),
    ("dir_module", &[
        "DirectoryCheckHandler", "DirectoryIndex", "DirectoryIndexRedirect", "DirectorySlash",
        "FallbackResource"
    ]),
    ("dumpio_module", &[
        "DumpIOInput", "DumpIOOutput"
    ]),
    ("echo_module", &[
        "ProtocolEcho"
    ]),
    ("env_module", &[
        "PassEnv", "SetEnv", "UnsetEnv"
    ]),
    ("expires_module", &[
        "ExpiresActive", "ExpiresByType", "ExpiresDefault"
    ]),
    ("ext_filter_module", &[
        "ExtFilterDefine", "ExtFilterOptions"
    ]),
    ("file_cache_module", &[
        "cachefile", "mmapfile"
    ]),
    ("filter_module", &[
        "AddOutputFilterByType", "FilterChain", "FilterDeclare", "FilterProtocol",
        "FilterProvider", "FilterTrace"
    ]),
    ("headers_module", &[
        "Header", "RequestHeader"
    ]),
    ("heartbeat_module", &[
        "HeartbeatAddress"
    ]),
    ("heartmonitor_module", &[
        "HeartbeatListen", "HeartbeatMaxServers", "HeartbeatStorage"
    ]),
    ("http2_module", &[
        "H2CopyFiles", "H2Direct", "H2EarlyHint", "H2EarlyHints", "H2MaxDataFrameLen",
        "H2MaxHeaderBlockLen", "H2MaxSessionStreams", "H2MaxStreamErrors",
        "H2MaxWorkerIdleSeconds", "H2MaxWorkers", "H2MinWorkers", "H2ModernTLSOnly",
        "H2OutputBuffering", "H2Padding", "H2ProxyRequests", "H2Push", "H2PushDiarySize",
        "H2PushPriority", "H2PushResource", "H2SerializeHeaders", "H2SessionExtraFiles",
        "H2StreamMaxMemSize", "H2StreamTimeout", "H2TLSCoolDownSecs", "H2TLSWarmUpSize",
        "H2Upgrade", "H2WebSockets", "H2WindowSize"
    ]),
    ("http_module", &[
        "KeepAlive", "KeepAliveTimeout", "MaxKeepAliveRequests"
    ]),
    ("ident_module", &[
        "IdentityCheck", "IdentityCheckTimeout"
    ]),
    ("imagemap_module", &[
        "ImapBase", "ImapDefault", "ImapMenu"
    ]),
    ("include_module", &[
        "SSIEndTag", "SSIErrorMsg", "SSIEtag", "SSILastModified", "SSILegacyExprParser",
        "SSIStartTag", "SSITimeFormat", "SSIUndefinedEcho", "XBitHack"
    ]),
    ("info_module", &[
        "AddModuleInfo"
    ]),
    ("lbmethod_heartbeat_module", &[
        "HeartbeatStorage"
    ]),
    ("ldap_module", &[
        "LDAPCacheEntries", "LDAPCacheTTL", "LDAPConnectionPoolTTL", "LDAPConnectionTimeout",
        "LDAPLibraryDebug", "LDAPOpCacheEntries", "LDAPOpCacheTTL", "LDAPReferralHopLimit",
        "LDAPReferrals", "LDAPRetries", "LDAPRetryDelay", "LDAPSharedCacheFile",
        "LDAPSharedCacheSize", "LDAPTimeout", "LDAPTrustedClientCert", "LDAPTrustedGlobalCert",
        "LDAPTrustedMode", "LDAPVerifyServerCert"
    ]),
    ("log_config_module", &[
        "BufferedLogs", "CustomLog", "GlobalLog", "LogFormat", "TransferLog"
    ]),
    ("log_debug_module", &[
        "LogMessage"
    ]),
    ("log_forensic_module", &[
        "ForensicLog"
    ]),
    ("logio_module", &[
        "LogIOTrackTTFB"
    ]),
    ("lua_module", &[
        "<LuaHookAccessChecker", "<LuaHookAuthChecker", "<LuaHookCheckUserID", "<LuaHookFixups",
        "<LuaHookMapToStorage", "<LuaHookPreTranslateName", "<LuaHookTranslateName",
        "<LuaHookTypeChecker", "<LuaQuickHandler", "Lua_____ByteCodeHack", "LuaAuthzProvider",
        "LuaCodeCache", "LuaHookAccessChecker", "LuaHookAuthChecker", "LuaHookCheckUserID",
        "LuaHookFixups", "LuaHookInsertFilter", "LuaHookLog", "LuaHookMapToStorage",
        "LuaHookPreTranslateName", "LuaHookTranslateName", "LuaHookTypeChecker", "LuaInherit",
        "LuaInputFilter", "LuaMapHandler", "LuaOutputFilter", "LuaPackageCPath",
        "LuaPackagePath", "LuaQuickHandler", "LuaRoot", "LuaScope"
    ]),
    ("macro_module", &[
        "<Macro", "MacroIgnoreBadNesting", "MacroIgnoreEmptyArgs", "UndefMacro", "Use"
    ]),
    ("md_module", &[
        "<MDomain", "<MDomainSet", "MDActivationDelay", "MDBaseServer", "MDCACertificateFile",
        "MDCAChallenges", "MDCertificateAgreement", "MDCertificateAuthority",
        "MDCertificateCheck", "MDCertificateFile", "MDCertificateKeyFile",
        "MDCertificateProtocol", "MDCertificateStatus", "MDChallengeDns01",
        "MDChallengeDns01Version", "MDCheckInterval", "MDContactEmail", "MDDriveMode",
        "MDExternalAccountBinding", "MDHttpProxy", "MDHttpProxyCACertificateFile",
        "MDInitialDelay", "MDMatchNames", "MDMember", "MDMembers", "MDMessageCmd",
        "MDMustStaple", "MDNotifyCmd", "MDomain", "MDPortMap", "MDPrivateKeys", "MDProfile",
        "MDProfileMandatory", "MDRenewMode", "MDRenewViaARI", "MDRenewWindow", "MDRequireHttps",
        "MDRetryDelay", "MDRetryFailover", "MDServerStatus", "MDStapleOthers", "MDStapling",
        "MDStaplingKeepResponse", "MDStaplingRenewWindow", "MDStoreDir", "MDStoreLocks",
        "MDWarnWindow"
    ]),
    ("mime_magic_module", &[
        "MimeMagicFile"
    ]),
    ("mime_module", &[
        "AddCharset", "AddEncoding", "AddHandler", "AddInputFilter", "AddLanguage",
        "AddOutputFilter", "AddType", "DefaultLanguage", "ModMimeUsePathInfo",
        "MultiviewsMatch", "RemoveCharset", "RemoveEncoding", "RemoveHandler",
        "RemoveInputFilter", "RemoveLanguage", "RemoveOutputFilter", "RemoveType", "TypesConfig"
    ]),
    ("mpm_event_module", &[
        "AsyncRequestWorkerFactor", "GracefulShutdownTimeout", "Listen", "ListenBacklog",
        "ListenCoresBucketsRatio", "ListenTCPDeferAccept", "MaxClients", "MaxRequestWorkers",
        "MaxSpareServers", "MaxSpareThreads", "MinSpareServers", "MinSpareThreads",
        "ReceiveBufferSize", "SendBufferSize", "ServerLimit", "StartServers", "ThreadLimit",
        "ThreadsPerChild"
    ]),
    ("negotiation_module", &[
        "CacheNegotiatedDocs", "ForceLanguagePriority", "LanguagePriority"
    ]),
    ("php_module", &[
        "php_admin_flag", "php_admin_value", "php_flag", "php_value", "PHPINIDir"
    ]),
    ("proxy_connect_module", &[
        "AllowCONNECT"
    ]),
    ("proxy_express_module", &[
        "ProxyExpressDBMFile", "ProxyExpressDBMType", "ProxyExpressEnable"
    ]),
    ("proxy_fcgi_module", &[
        "ProxyFCGIBackendType", "ProxyFCGISetEnvIf"
    ]),
    ("proxy_ftp_module", &[
        "ProxyFtpDirCharset", "ProxyFtpEscapeWildcards", "ProxyFtpListOnWildcard"
    ]),
    ("proxy_hcheck_module", &[
        "ProxyHCExpr", "ProxyHCTemplate", "ProxyHCTPsize"
    ]),
    ("proxy_html_module", &[
        "ProxyHTMLBufSize", "ProxyHTMLCharsetOut", "ProxyHTMLDoctype", "ProxyHTMLEnable",
        "ProxyHTMLEvents", "ProxyHTMLExtended", "ProxyHTMLFixups", "ProxyHTMLInterp",
        "ProxyHTMLLinks", "ProxyHTMLMeta", "ProxyHTMLStripComments", "ProxyHTMLURLMap"
    ]),
    ("proxy_module", &[
        "<Proxy", "<ProxyMatch", "BalancerGrowth", "BalancerInherit", "BalancerMember",
        "BalancerPersist", "NoProxy", "Proxy100Continue", "ProxyAddHeaders", "ProxyBadHeader",
        "ProxyBlock", "ProxyDomain", "ProxyErrorOverride", "ProxyIOBufferSize",
        "ProxyMaxForwards", "ProxyPass", "ProxyPassInherit", "ProxyPassInterpolateEnv",
        "ProxyPassMatch", "ProxyPassReverse", "ProxyPassReverseCookieDomain",
        "ProxyPassReverseCookiePath", "ProxyPreserveHost", "ProxyReceiveBufferSize",
        "ProxyRemote", "ProxyRemoteMatch", "ProxyRequests", "ProxySet", "ProxySourceAddress",
        "ProxyStatus", "ProxyTimeout", "ProxyVia"
    ]),
    ("proxy_scgi_module", &[
        "ProxySCGIInternalRedirect", "ProxySCGISendfile"
    ]),
    ("proxy_wstunnel_module", &[
        "ProxyWebsocketFallbackToProxyHttp"
    ]),
    ("reflector_module", &[
        "ReflectorHeader"
    ]),
    ("remoteip_module", &[
        "RemoteIPHeader", "RemoteIPInternalProxy", "RemoteIPInternalProxyList",
        "RemoteIPProxiesHeader", "RemoteIPProxyProtocol", "RemoteIPProxyProtocolExceptions",
        "RemoteIPTrustedProxy", "RemoteIPTrustedProxyList"
    ]),
    ("reqtimeout_module", &[
        "RequestReadTimeout"
    ]),
    ("request_module", &[
        "KeptBodySize"
    ]),
    ("rewrite_module", &[
        "RewriteBase", "RewriteCond", "RewriteEngine", "RewriteMap", "RewriteOptions",
        "RewriteRule"
    ]),
    ("sed_module", &[
        "InputSed", "OutputSed"
    ]),
    ("session_cookie_module", &[
        "SessionCookieName", "SessionCookieName2", "SessionCookieRemove"
    ]),
    ("session_crypto_module", &[
        "SessionCryptoCipher", "SessionCryptoDriver", "SessionCryptoPassphrase",
        "SessionCryptoPassphraseFile"
    ]),
    ("session_dbd_module", &[
        "SessionDBDCookieName", "SessionDBDCookieName2", "SessionDBDCookieRemove",
        "SessionDBDDeleteLabel", "SessionDBDInsertLabel", "SessionDBDPerUser",
        "SessionDBDSelectLabel", "SessionDBDUpdateLabel"
    ]),
    ("session_module", &[
        "Session", "SessionEnv", "SessionExclude", "SessionExpiryUpdateInterval",
        "SessionHeader", "SessionInclude", "SessionMaxAge"
    ]),
    ("setenvif_module", &[
        "BrowserMatch", "BrowserMatchNoCase", "SetEnvIf", "SetEnvIfExpr", "SetEnvIfNoCase"
    ]),
    ("so_module", &[
        "LoadFile", "LoadModule"
    ]),
    ("socache_memcache_module", &[
        "MemcacheConnTTL"
    ]),
    ("socache_redis_module", &[
        "RedisConnPoolTTL", "RedisTimeout"
    ]),
    ("speling_module", &[
        "CheckBasenameMatch", "CheckCaseOnly", "CheckSpelling"
    ]),
    ("ssl_module", &[
        "SSLCACertificateFile", "SSLCACertificatePath", "SSLCADNRequestFile",
        "SSLCADNRequestPath", "SSLCARevocationCheck", "SSLCARevocationFile",
        "SSLCARevocationPath", "SSLCertificateChainFile", "SSLCertificateFile",
        "SSLCertificateKeyFile", "SSLCipherSuite", "SSLCompression", "SSLCryptoDevice",
        "SSLEngine", "SSLFIPS", "SSLHonorCipherOrder", "SSLInsecureRenegotiation", "SSLLog",
        "SSLLogLevel", "SSLOCSPDefaultResponder", "SSLOCSPEnable", "SSLOCSPNoVerify",
        "SSLOCSPOverrideResponder", "SSLOCSPProxyURL", "SSLOCSPResponderCertificateFile",
        "SSLOCSPResponderTimeout", "SSLOCSPResponseMaxAge", "SSLOCSPResponseTimeSkew",
        "SSLOCSPUseRequestNonce", "SSLOpenSSLConfCmd", "SSLOptions", "SSLPassPhraseDialog",
        "SSLProtocol", "SSLProxyCACertificateFile", "SSLProxyCACertificatePath",
        "SSLProxyCARevocationCheck", "SSLProxyCARevocationFile", "SSLProxyCARevocationPath",
        "SSLProxyCheckPeerCN", "SSLProxyCheckPeerExpire", "SSLProxyCheckPeerName",
        "SSLProxyCipherSuite", "SSLProxyEngine", "SSLProxyMachineCertificateChainFile",
        "SSLProxyMachineCertificateFile", "SSLProxyMachineCertificatePath", "SSLProxyProtocol",
        "SSLProxyVerify", "SSLProxyVerifyDepth", "SSLRandomSeed", "SSLRenegBufferSize",
        "SSLRequire", "SSLRequireSSL", "SSLSessionCache", "SSLSessionCacheTimeout",
        "SSLSessionTicketKeyFile", "SSLSessionTickets", "SSLSRPUnknownUserSeed",
        "SSLSRPVerifierFile", "SSLStaplingCache", "SSLStaplingErrorCacheTimeout",
        "SSLStaplingFakeTryLater", "SSLStaplingForceURL", "SSLStaplingResponderTimeout",
        "SSLStaplingResponseMaxAge", "SSLStaplingResponseTimeSkew",
        "SSLStaplingReturnResponderErrors", "SSLStaplingStandardCacheTimeout",
        "SSLStrictSNIVHostCheck", "SSLUserName", "SSLUseStapling", "SSLVerifyClient",
        "SSLVerifyDepth", "SSLVHostSNIPolicy"
    ]),
    ("substitute_module", &[
        "Substitute", "SubstituteInheritBefore", "SubstituteMaxLineLength"
    ]),
    ("suexec_module", &[
        "SuexecUserGroup"
    ]),
    ("unixd_module", &[
        "ChrootDir", "Group", "Suexec", "User"
    ]),
    ("userdir_module", &[
        "UserDir"
    ]),
    ("usertrack_module", &[
        "CookieDomain", "CookieExpires", "CookieHttpOnly", "CookieName", "CookieSameSite",
        "CookieSecure", "CookieStyle", "CookieTracking"
    ]),
    ("version_module", &[
        "<IfVersion"
    ]),
    ("vhost_alias_module", &[
        "VirtualDocumentRoot", "VirtualDocumentRootIP", "VirtualScriptAlias",
        "VirtualScriptAliasIP"
    ]),
    ("watchdog_module", &[
        "WatchdogInterval"
    ]),
    ("xml2enc_module", &[
        "xml2EncAlias", "xml2EncDefault", "xml2StartParse"
    ]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{known, known_modules};

    #[test]
    fn every_known_directive_has_an_owner_and_every_owner_is_a_module() {
        for name in known::NAMES {
            assert!(of(name).next().is_some(), "{name} belongs to no module");
        }
        for (symbol, names) in OWNERS {
            assert!(names.iter().all(|name| known::spelled(name) == *name), "{symbol}");
        }
        assert!(OWNERS.windows(2).all(|two| two[0].0 < two[1].0));
    }

    #[test]
    fn a_directive_may_belong_to_several() {
        assert_eq!(of("rewriteengine").collect::<alloc::vec::Vec<_>>(), ["rewrite_module"]);
        assert!(of("Satisfy").count() == 1 && of("NoSuchThing").next().is_none());
        assert!(known_modules::is_known("rewrite_module"));
    }
}
