//! The texts of `-v` and `-V`. Programs read the names of the lines; where httpd tells of a
//! library, the version is that of the httpd whose behaviour is promised.

/// Folder and file of a configuration that nobody has named, as Debian's httpd has them.
pub(crate) const HTTPD_ROOT: &str = "/etc/apache2";
pub(crate) const SERVER_CONFIG_FILE: &str = "apache2.conf";

/// The text of `-v`.
pub(crate) fn short() -> String {
    format!("Server version: {}\nServer built:   {}\n", server::IDENTITY, server::built())
}

/// `-V`; without an MPM when the configuration cannot be read (show_compile_settings() of httpd's
/// main.c).
pub(crate) fn long(mpm: Option<&str>) -> String {
    let bits = usize::BITS;
    let name = mpm.unwrap_or_default();
    let kind = match mpm {
        None => "",
        Some("prefork") => {
            concat!("  threaded:     no\n", "    forked:     yes (variable process count)\n")
        }
        Some(_) => concat!(
            "  threaded:     yes (fixed thread count)\n",
            "    forked:     yes (variable process count)\n"
        ),
    };
    format!(
        "{}\
         Server's Module Magic Number: 20120211:142\n\
         Server loaded:  APR 1.7.2, APR-UTIL 1.6.3, PCRE 10.42 2022-12-11\n\
         Compiled using: APR 1.7.2, APR-UTIL 1.6.3, PCRE 10.42 2022-12-11\n\
         Architecture:   {bits}-bit\n\
         Server MPM:     {name}\n\
         {kind}\
         Server compiled with....\n\
         {SETTINGS}",
        short()
    )
}

const SETTINGS: &str = concat!(
    " -D APR_HAS_SENDFILE\n",
    " -D APR_HAS_MMAP\n",
    " -D APR_HAVE_IPV6 (IPv4-mapped addresses enabled)\n",
    " -D APR_USE_PROC_PTHREAD_SERIALIZE\n",
    " -D APR_USE_PTHREAD_SERIALIZE\n",
    " -D SINGLE_LISTEN_UNSERIALIZED_ACCEPT\n",
    " -D APR_HAS_OTHER_CHILD\n",
    " -D AP_HAVE_RELIABLE_PIPED_LOGS\n",
    " -D DYNAMIC_MODULE_LIMIT=256\n",
    " -D HTTPD_ROOT=\"/etc/apache2\"\n",
    " -D SUEXEC_BIN=\"/usr/lib/apache2/suexec\"\n",
    " -D DEFAULT_PIDLOG=\"/run/apache2.pid\"\n",
    " -D DEFAULT_SCOREBOARD=\"logs/apache_runtime_status\"\n",
    " -D DEFAULT_ERRORLOG=\"logs/error_log\"\n",
    " -D AP_TYPES_CONFIG_FILE=\"mime.types\"\n",
    " -D SERVER_CONFIG_FILE=\"apache2.conf\"\n",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_name_the_folder_and_the_file_that_are_taken() {
        assert!(SETTINGS.contains(&format!("HTTPD_ROOT=\"{HTTPD_ROOT}\"\n")));
        assert!(SETTINGS.contains(&format!("SERVER_CONFIG_FILE=\"{SERVER_CONFIG_FILE}\"\n")));
        assert!(long(None).contains("Server MPM:     \nServer compiled with....\n -D"));
        assert!(long(Some("prefork")).contains("  threaded:     no\n"));
    }
}
