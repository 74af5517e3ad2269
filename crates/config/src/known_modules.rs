//! The stock modules of httpd 2.4 that nobody here implements: symbol and source file.
//!
//! `LoadModule` of one is accepted with a warning, and `<IfModule>` says that it is not there, so
//! that guarded directives are skipped. Any other unknown symbol is an error.
// tidy: table

/// Sorted by symbol, as `LoadModule` has it.
pub static MODULES: &[(&str, &str)] = &[
    ("access_compat_module", "mod_access_compat.c"),
    ("actions_module", "mod_actions.c"),
    ("allowmethods_module", "mod_allowmethods.c"),
    ("asis_module", "mod_asis.c"),
    ("auth_basic_module", "mod_auth_basic.c"),
    ("auth_digest_module", "mod_auth_digest.c"),
    ("auth_form_module", "mod_auth_form.c"),
    ("authn_anon_module", "mod_authn_anon.c"),
    ("authn_core_module", "mod_authn_core.c"),
    ("authn_dbd_module", "mod_authn_dbd.c"),
    ("authn_dbm_module", "mod_authn_dbm.c"),
    ("authn_file_module", "mod_authn_file.c"),
    ("authn_socache_module", "mod_authn_socache.c"),
    ("authnz_fcgi_module", "mod_authnz_fcgi.c"),
    ("authnz_ldap_module", "mod_authnz_ldap.c"),
    ("authz_dbd_module", "mod_authz_dbd.c"),
    ("authz_dbm_module", "mod_authz_dbm.c"),
    ("authz_groupfile_module", "mod_authz_groupfile.c"),
    ("authz_owner_module", "mod_authz_owner.c"),
    ("authz_user_module", "mod_authz_user.c"),
    ("brotli_module", "mod_brotli.c"),
    ("buffer_module", "mod_buffer.c"),
    ("cache_disk_module", "mod_cache_disk.c"),
    ("cache_module", "mod_cache.c"),
    ("cache_socache_module", "mod_cache_socache.c"),
    ("cern_meta_module", "mod_cern_meta.c"),
    ("cgi_module", "mod_cgi.c"),
    ("cgid_module", "mod_cgid.c"),
    ("charset_lite_module", "mod_charset_lite.c"),
    ("data_module", "mod_data.c"),
    ("dav_fs_module", "mod_dav_fs.c"),
    ("dav_lock_module", "mod_dav_lock.c"),
    ("dav_module", "mod_dav.c"),
    ("dbd_module", "mod_dbd.c"),
    ("deflate_module", "mod_deflate.c"),
    ("dialup_module", "mod_dialup.c"),
    ("dumpio_module", "mod_dumpio.c"),
    ("echo_module", "mod_echo.c"),
    ("env_module", "mod_env.c"),
    ("expires_module", "mod_expires.c"),
    ("ext_filter_module", "mod_ext_filter.c"),
    ("file_cache_module", "mod_file_cache.c"),
    ("filter_module", "mod_filter.c"),
    ("headers_module", "mod_headers.c"),
    ("heartbeat_module", "mod_heartbeat.c"),
    ("heartmonitor_module", "mod_heartmonitor.c"),
    ("http2_module", "mod_http2.c"),
    ("ident_module", "mod_ident.c"),
    ("imagemap_module", "mod_imagemap.c"),
    ("include_module", "mod_include.c"),
    ("info_module", "mod_info.c"),
    ("lbmethod_bybusyness_module", "mod_lbmethod_bybusyness.c"),
    ("lbmethod_byrequests_module", "mod_lbmethod_byrequests.c"),
    ("lbmethod_bytraffic_module", "mod_lbmethod_bytraffic.c"),
    ("lbmethod_heartbeat_module", "mod_lbmethod_heartbeat.c"),
    ("ldap_module", "mod_ldap.c"),
    ("log_debug_module", "mod_log_debug.c"),
    ("log_forensic_module", "mod_log_forensic.c"),
    ("logio_module", "mod_logio.c"),
    ("lua_module", "mod_lua.c"),
    ("md_module", "mod_md.c"),
    ("mime_magic_module", "mod_mime_magic.c"),
    ("negotiation_module", "mod_negotiation.c"),
    ("php_module", "mod_php.c"),
    ("proxy_ajp_module", "mod_proxy_ajp.c"),
    ("proxy_balancer_module", "mod_proxy_balancer.c"),
    ("proxy_connect_module", "mod_proxy_connect.c"),
    ("proxy_express_module", "mod_proxy_express.c"),
    ("proxy_fcgi_module", "mod_proxy_fcgi.c"),
    ("proxy_fdpass_module", "mod_proxy_fdpass.c"),
    ("proxy_ftp_module", "mod_proxy_ftp.c"),
    ("proxy_hcheck_module", "mod_proxy_hcheck.c"),
    ("proxy_html_module", "mod_proxy_html.c"),
    ("proxy_http2_module", "mod_proxy_http2.c"),
    ("proxy_http_module", "mod_proxy_http.c"),
    ("proxy_module", "mod_proxy.c"),
    ("proxy_scgi_module", "mod_proxy_scgi.c"),
    ("proxy_uwsgi_module", "mod_proxy_uwsgi.c"),
    ("proxy_wstunnel_module", "mod_proxy_wstunnel.c"),
    ("ratelimit_module", "mod_ratelimit.c"),
    ("reflector_module", "mod_reflector.c"),
    ("remoteip_module", "mod_remoteip.c"),
    ("request_module", "mod_request.c"),
    ("rewrite_module", "mod_rewrite.c"),
    ("sed_module", "mod_sed.c"),
    ("session_cookie_module", "mod_session_cookie.c"),
    ("session_crypto_module", "mod_session_crypto.c"),
    ("session_dbd_module", "mod_session_dbd.c"),
    ("session_module", "mod_session.c"),
    ("setenvif_module", "mod_setenvif.c"),
    ("slotmem_plain_module", "mod_slotmem_plain.c"),
    ("slotmem_shm_module", "mod_slotmem_shm.c"),
    ("socache_dbm_module", "mod_socache_dbm.c"),
    ("socache_memcache_module", "mod_socache_memcache.c"),
    ("socache_redis_module", "mod_socache_redis.c"),
    ("socache_shmcb_module", "mod_socache_shmcb.c"),
    ("speling_module", "mod_speling.c"),
    ("ssl_module", "mod_ssl.c"),
    ("substitute_module", "mod_substitute.c"),
    ("suexec_module", "mod_suexec.c"),
    ("unique_id_module", "mod_unique_id.c"),
    ("userdir_module", "mod_userdir.c"),
    ("usertrack_module", "mod_usertrack.c"),
    ("vhost_alias_module", "mod_vhost_alias.c"),
    ("watchdog_module", "mod_watchdog.c"),
    ("xml2enc_module", "mod_xml2enc.c"),
];

/// Whether httpd has a module of this symbol.
pub fn is_known(symbol: &str) -> bool {
    MODULES.binary_search_by(|row| row.0.cmp(symbol)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_has_no_row_twice() {
        assert!(MODULES.windows(2).all(|two| two[0].0 < two[1].0));
        assert!(MODULES.iter().all(|row| row.0.ends_with("_module") && row.1.ends_with(".c")));
        assert!(is_known("rewrite_module") && !is_known("rewrite"));
    }
}
