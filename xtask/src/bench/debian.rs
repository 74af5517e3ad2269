//! The configuration of an httpd as Debian installs it, with as many sections or virtual hosts as a
//! scenario wants. Trivet and Apache are given the same text.

use std::fmt::Write;

use super::site::BenchSite;

/// The modules that Debian's package enables.
const MODULES: &[&str] = &[
    "mpm_event",
    "access_compat",
    "alias",
    "auth_basic",
    "authn_core",
    "authn_file",
    "authz_core",
    "authz_host",
    "authz_user",
    "autoindex",
    "deflate",
    "dir",
    "env",
    "filter",
    "mime",
    "negotiation",
    "reqtimeout",
    "setenvif",
    "status",
];

/// The text of the file.
pub(super) fn config(site: &BenchSite<'_>) -> String {
    let BenchSite { port, .. } = site;
    let (home, docroot) = (site.home.display(), site.docroot.display());
    let user = if site.root { "User www-data\nGroup www-data\n" } else { "" };
    let mut text = format!(
        "ServerRoot {home}
DefaultRuntimeDir {home}
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {home}/pid
ErrorLog {home}/error.log
KeepAliveTimeout 300
MaxKeepAliveRequests 0
{user}"
    );
    for module in MODULES {
        let file = format!("/usr/lib/apache2/modules/mod_{module}.so");
        let _ = writeln!(text, "LoadModule {module}_module {file}");
    }
    let _ = write!(
        text,
        "TypesConfig /etc/mime.types
DocumentRoot {docroot}
DirectoryIndex index.html
AddOutputFilterByType DEFLATE text/css application/javascript
<Directory />
    Options FollowSymLinks
    AllowOverride None
    Require all denied
</Directory>
<Directory {docroot}>
    Require all granted
</Directory>
"
    );
    (0..site.sections / 2).for_each(|nth| text.push_str(&sections(site, nth)));
    (0..site.hosts).for_each(|nth| text.push_str(&host(site, nth)));
    text
}

/// Two sections that hold for other requests than those that are sent.
fn sections(site: &BenchSite<'_>, nth: u32) -> String {
    let docroot = site.docroot.display();
    format!(
        "<Directory {docroot}/folder{nth}>
    Options Indexes
    Require ip 10.0.0.0/8
</Directory>
<Location /private{nth}>
    Require all denied
</Location>
"
    )
}

/// A virtual host of thirty lines, as the panels of hosters write them.
fn host(site: &BenchSite<'_>, nth: u32) -> String {
    let BenchSite { port, .. } = site;
    let (home, docroot) = (site.home.display(), site.docroot.display());
    format!(
        r#"<VirtualHost *:{port}>
    ServerName host{nth}.example
    ServerAlias www.host{nth}.example alias{nth}.example
    ServerAdmin webmaster@host{nth}.example
    DocumentRoot {docroot}
    ErrorLog {home}/error.log
    CustomLog {home}/access.log "%h %l %u %t \"%r\" %>s %b"
    LogLevel warn
    <Directory {docroot}>
        Options Indexes FollowSymLinks
        AllowOverride None
        Require all granted
        DirectoryIndex index.html index.htm
    </Directory>
    <Location /private>
        Require ip 10.0.0.0/8
    </Location>
    <FilesMatch "\.(bak|old)$">
        Require all denied
    </FilesMatch>
    Alias /static{nth} {docroot}
    Alias /icons {docroot}
    AddType text/x-a{nth} .a{nth}
    AddOutputFilterByType DEFLATE text/html text/plain
    ErrorDocument 404 "Not here"
    KeepAliveTimeout 5
    Timeout 60
    MaxKeepAliveRequests 100
    UseCanonicalName Off
    LimitRequestBody 1000000
    ServerSignature Off
</VirtualHost>
"#
    )
}

#[cfg(test)]
mod tests {
    use super::super::peers::tests::site;
    use super::*;

    #[test]
    fn sections_and_hosts_are_as_many_as_asked_for() {
        let site = BenchSite { sections: 50, hosts: 3, ..site(None, false) };
        let text = config(&site);
        assert_eq!(text.matches("</VirtualHost>").count(), 3);
        assert_eq!(
            text.matches("folder").count() + text.matches("<Location /private1>").count(),
            26
        );
        assert!(host(&site, 0).lines().count() >= 30);
        for part in ["Listen 127.0.0.1:8100", "DocumentRoot /b/www", "User www-data"] {
            assert!(text.contains(part), "no {part}");
        }
    }
}
