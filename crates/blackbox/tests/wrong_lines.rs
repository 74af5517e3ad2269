//! Wrong and odd arguments, and lines in the wrong place: the first thing that `-t` says about
//! each, in httpd's words. Where httpd itself is installed it is asked, too.
// tidy: table
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::httpd::{Answer, Root};
use blackbox::outside::run_command;
use blackbox::releases::httpd;
use blackbox::{Mpm, outside, releases};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Modules that the lines belong to, beside those that are always there.
const MODULES: &[&str] = &[
    "access_compat",
    "alias",
    "allowmethods",
    "authn_core",
    "authn_file",
    "autoindex",
    "brotli",
    "deflate",
    "dir",
    "fcgid",
    "filter",
    "macro",
    "lbmethod_byrequests",
    "mime",
    "proxy",
    "proxy_balancer",
    "proxy_fcgi",
    "remoteip",
    "reqtimeout",
    "rewrite",
    "slotmem_shm",
];

/// A line, or several, and what is said.
const fn row(lines: &'static str, said: &'static str) -> (&'static str, &'static str) {
    (lines, said)
}

#[rustfmt::skip]
const LINES: &[(&str, &str)] = &[
    // mod_proxy
    row("ProxyPass", "ProxyPass|ProxyPassMatch needs a path when not defined in a location"),
    row("ProxyPass /x", "ProxyPass|ProxyPassMatch needs a path when not defined in a location"),
    row("ProxyPass /x y", "ProxyPass URL must be absolute!: y"),
    row("ProxyPass /x fcgi://", "ProxyPass URL must be absolute!: fcgi://"),
    row("ProxyPass /x fcgi://h:x/", "ProxyPass Unable to parse URL: fcgi://h:x/"),
    row("ProxyPass /x fcgi://h:99999/", "Syntax OK"),
    row("ProxyPass /x fcgi://h key", "Invalid ProxyPass|ProxyPassMatch parameter. Parameter must be in the form 'key=value'."),
    row("ProxyPass /x unix:/s|fcgi", "ProxyPass|ProxyPassMatch uses an invalid \"unix:\" URL"),
    row("ProxyPass /x unix:/s|fcgi:", "Syntax OK"),
    row("ProxyPass /x fcgi://h nocanon noquery interpolate", "Syntax OK"),
    row("ProxyPass /x fcgi://h mapping=x", "unknown mapping"),
    row("ProxyPass /x fcgi://h mapping=servlet", "Syntax OK"),
    row("ProxyPass /x fcgi://h loadfactor=0", "ProxyPass LoadFactor must be a number between 1..100"),
    row("ProxyPass /x fcgi://h retry=-1", "ProxyPass Retry must be a positive value"),
    row("ProxyPass /x fcgi://h ttl=0", "ProxyPass TTL must be at least one second"),
    row("ProxyPass /x fcgi://h min=-1", "ProxyPass Min must be a positive number"),
    row("ProxyPass /x fcgi://h max=-1", "ProxyPass Max must be a positive number"),
    row("ProxyPass /x fcgi://h smax=-2", "ProxyPass Smax must be a positive number"),
    row("ProxyPass /x fcgi://h acquire=x", "ProxyPass Acquire timeout has wrong format"),
    row("ProxyPass /x fcgi://h acquire=0", "ProxyPass Acquire must be at least one millisecond"),
    row("ProxyPass /x fcgi://h timeout=0", "ProxyPass Timeout must be at least one second"),
    row("ProxyPass /x fcgi://h iobuffersize=5", "ProxyPass IOBufferSize must be >= 512 bytes, or 0 for system default."),
    row("ProxyPass /x fcgi://h receivebuffersize=5", "ProxyPass ReceiveBufferSize must be >= 512 bytes, or 0 for system default."),
    row("ProxyPass /x fcgi://h keepalive=x", "ProxyPass KeepAlive must be On|Off"),
    row("ProxyPass /x fcgi://h disablereuse=x", "ProxyPass DisableReuse must be On|Off"),
    row("ProxyPass /x fcgi://h enablereuse=x", "ProxyPass EnableReuse must be On|Off"),
    row("ProxyPass /x fcgi://h addressttl=x", "ProxyPass AddressTTL must be -1 or a number of seconds not exceeding (2147483647)"),
    row("ProxyPass /x fcgi://h addressttl=-1 connectiontimeout=100ms ping=2 status=+H-I", "Syntax OK"),
    row("ProxyPass /x fcgi://h route=0123456789012345678901234567890123456789012345678901234567890123", "ProxyPass Route length must be < 64 characters"),
    row("ProxyPass /x fcgi://h redirect=0123456789012345678901234567890123456789012345678901234567890123", "ProxyPass Redirect length must be < 64 characters"),
    row("ProxyPass /x fcgi://h status=x", "ProxyPass Unknown status parameter option"),
    row("ProxyPass /x fcgi://h flushpackets=x", "ProxyPass flushpackets must be on|off|auto"),
    row("ProxyPass /x fcgi://h flushwait=2000", "ProxyPass flushwait must be <= 1000, or 0 for system default of 10 millseconds."),
    row("ProxyPass /x fcgi://h ping=x", "ProxyPass Ping/Pong timeout has wrong format"),
    row("ProxyPass /x fcgi://h ping=0", "ProxyPass Ping/Pong timeout must be at least one millisecond"),
    row("ProxyPass /x fcgi://h lbset=100", "ProxyPass lbset must be between 0 and 99"),
    row("ProxyPass /x fcgi://h connectiontimeout=0", "ProxyPass Connectiontimeout must be at least one millisecond."),
    row("ProxyPass /x fcgi://h connectiontimeout=x", "ProxyPass Connectiontimeout has wrong format"),
    row("ProxyPass /x fcgi://h flusher=01234567890123456", "ProxyPass flusher name length must be < 16 characters"),
    row("ProxyPass /x fcgi://h upgrade=01234567890123456", "ProxyPass upgrade protocol length must be < 16 characters"),
    row("ProxyPass /x fcgi://h responsefieldsize=-1", "ProxyPass ResponseFieldSize must be greater than 0 bytes, or 0 for system default."),
    row("ProxyPass /x fcgi://h secret=01234567890123456789012345678901234567890123456789012345678901234", "ProxyPass Secret length must be < 64 characters"),
    row("ProxyPass /x fcgi://h unknown=1", "ProxyPass unknown Worker parameter"),
    row("ProxyPass /x balancer:// max=1", "ProxyPass Bad syntax for a balancer name (balancer://)"),
    row("ProxyPass /x balancer://g max=1", "ProxyPass unknown Balancer parameter"),
    row("ProxyPass /x balancer://g lbmethod=x", "ProxyPass unknown lbmethod"),
    row("ProxyPass /x balancer://g lbmethod=byrequests stickysession=A|b nofailover=On", "Syntax OK"),
    row("ProxyPass /x balancer://g stickysessionsep=ab", "ProxyPass stickysessionsep must be a single character or Off"),
    row("ProxyPass /x balancer://g nofailover=1", "ProxyPass failover must be On|Off"),
    row("ProxyPass /x balancer://g timeout=0", "ProxyPass timeout must be at least one second"),
    row("ProxyPass /x balancer://g maxattempts=-1", "ProxyPass maximum number of attempts must be a positive number"),
    row("ProxyPass /x balancer://g scolonpathdelim=1", "ProxyPass scolonpathdelim must be On|Off"),
    row("ProxyPass /x balancer://g failonstatus=x", "ProxyPass failonstatus must be one or more HTTP response codes"),
    row("ProxyPass /x balancer://g failontimeout=x", "ProxyPass failontimeout must be On|Off"),
    row("ProxyPass /x balancer://g growth=0", "ProxyPass growth must be between 1 and 100"),
    row("ProxyPass /x balancer://g forcerecovery=x", "ProxyPass forcerecovery must be On|Off"),
    row("ProxyPass /x !", "Syntax OK"),
    row("ProxyPass ~ ^/x$ fcgi://h/", "Syntax OK"),
    row("ProxyPass ~ ( fcgi://h/", "Regular expression could not be compiled."),
    row("ProxyPassMatch ~ /x fcgi://h", "ProxyPassMatch invalid syntax ('~' usage)."),
    row("ProxyPassMatch ( fcgi://h", "Regular expression could not be compiled."),
    row("ProxyPassMatch ^/(.*)$ fcgi://h:90$1/x", "Syntax OK"),
    row("<Location /x>\nProxyPass /y fcgi://h\n</Location>", "ProxyPass|ProxyPassMatch can not have a path when defined in a location."),
    row("<Location /x>\nProxyPass fcgi://h key\n</Location>", "Invalid ProxyPass|ProxyPassMatch parameter. Parameter must be in the form 'key=value'."),
    row("<Location /x>\nProxyPass fcgi://h\n</Location>", "Syntax OK"),
    row("<Location /x>\nProxyPass\n</Location>", "ProxyPass|ProxyPassMatch needs a path when not defined in a location"),
    row("<Directory /tmp>\nProxyPass /x fcgi://h\n</Directory>", "ProxyPass cannot occur within <Directory> section"),
    row("<Files x>\nProxyPass /x fcgi://h\n</Files>", "ProxyPass cannot occur within <Files> section"),
    row("<Location /x>\n<Limit GET>\nProxyPass fcgi://h\n</Limit>\n</Location>", "ProxyPass cannot occur within <Limit> or <LimitExcept> section"),
    row("<Location /x>\nProxyTimeout 5\n</Location>", "ProxyTimeout not allowed in <Location> context"),
    row("<Proxy>\n</Proxy>", "Syntax OK"),
    row("<Proxy *>\nRequire all granted\n</Proxy>", "Syntax OK"),
    row("<Proxy \"fcgi://h/\" max=10 enablereuse=on>\n</Proxy>", "Syntax OK"),
    row("<Proxy \"fcgi://h/*\" max=10>\n</Proxy>", "<Proxy> arguments are not supported for wildchar url."),
    row("<Proxy h max=10>\n</Proxy>", "<Proxy> arguments are not supported for non url."),
    row("<Proxy \"fcgi://h/\" max>\n</Proxy>", "Invalid Proxy parameter. Parameter must be in the form 'key=value'"),
    row("<Proxy \"fcgi://h/\" max=-1>\n</Proxy>", "<Proxy Max must be a positive number max=-1; fcgi://h/"),
    row("<Proxy \"unix:/s|fcgi\" max=1>\n</Proxy>", "<Proxy/ProxyMatch > uses an invalid \"unix:\" URL"),
    row("<Proxy \"balancer://g\" lbmethod=x>\n</Proxy>", "<Proxy unknown lbmethod lbmethod=x; balancer://g"),
    row("<ProxyMatch \"^fcgi\" max=10>\n</ProxyMatch>", "Multiple <ProxyMatch> arguments not (yet) supported."),
    row("<ProxyMatch (>\n</ProxyMatch>", "Regex could not be compiled"),
    row("<Location /x>\n<Proxy *>\n</Proxy>\n</Location>", "<Proxy not allowed in <Location> context"),
    row("<Proxy *>\n<Proxy *>\n</Proxy>\n</Proxy>", "<Proxy not allowed in <Proxy> context"),
    row("<Proxy *>\nServerName x\n</Proxy>", "ServerName not allowed in <Proxy> context"),
    row("<Proxy \"fcgi://h/\">\nProxySet max=5\n</Proxy>", "Syntax OK"),
    row("<Proxy \"fcgi://h/\">\nProxySet max\n</Proxy>", "Invalid ProxySet parameter. Parameter must be in the form 'key=value'"),
    row("<Proxy \"fcgi://h/\">\nProxySet max=x acquire=x\n</Proxy>", "ProxySet: Acquire timeout has wrong format acquire=x; fcgi://h/"),
    row("ProxySet fcgi://h max=5", "ProxySet can not find 'fcgi://h' Worker."),
    row("ProxySet balancer://h lbmethod=byrequests", "ProxySet can not find 'balancer://h' Balancer."),
    row("ProxySet", "ProxySet can not find '' Worker."),
    row("ProxySet unix:/s|fcgi max=1", "ProxySet uses an invalid \"unix:\" URL"),
    row("BalancerMember", "BalancerMember must define balancer name when outside <Proxy > section"),
    row("BalancerMember balancer://g", "BalancerMember must define remote proxy server"),
    row("BalancerMember balancer://g fcgi://h", "Syntax OK"),
    row("BalancerMember balancer://g fcgi://h route=a loadfactor=5", "Syntax OK"),
    row("BalancerMember balancer://g fcgi://h x", "Invalid BalancerMember parameter. Parameter must be in the form 'key=value'"),
    row("BalancerMember balancer://g fcgi://h lbset=-1", "BalancerMember lbset must be between 0 and 99"),
    row("BalancerMember balancer://g unix:/s|fcgi", "BalancerMember uses an invalid \"unix:\" URL"),
    row("BalancerMember balancer:// fcgi://h", "BalancerMember Bad syntax for a balancer name (balancer://)"),
    row("BalancerMember g fcgi://h", "BalancerMember Bad syntax for a balancer name (g)"),
    row("<Proxy balancer://g>\nBalancerMember\n</Proxy>", "BalancerMember must define remote proxy server"),
    row("<Proxy balancer://g>\nBalancerMember fcgi://h x\n</Proxy>", "BalancerMember can not have a balancer name when defined in a location"),
    row("<Proxy balancer://g>\nBalancerMember h\n</Proxy>", "BalancerMember URL must be absolute!: h"),
    row("ProxyRequests x", "ProxyRequests must be On or Off"),
    row("ProxyRequests On", "Syntax OK"),
    row("ProxyRemote * x", "ProxyRemote: Bad syntax for a remote proxy server"),
    row("ProxyRemote * http://", "ProxyRemote: Bad syntax for a remote proxy server"),
    row("ProxyRemote * http://h:x", "ProxyRemote: Bad syntax for a remote proxy server (bad port number)"),
    row("ProxyRemote * http://h:99999", "ProxyRemote: Bad syntax for a remote proxy server (bad port number)"),
    row("ProxyRemote * http://h:80", "Syntax OK"),
    row("ProxyRemoteMatch ( http://h", "Regular expression for ProxyRemoteMatch could not be compiled."),
    row("ProxyRemoteMatch x h", "ProxyRemoteMatch: Bad syntax for a remote proxy server"),
    row("ProxyPassReverse /x", "ProxyPassReverse needs a path when not defined in a location"),
    row("ProxyPassReverse /x interpolate", "ProxyPassReverse needs a path when not defined in a location"),
    row("ProxyPassReverse /x http://h/", "Syntax OK"),
    row("<Location /x>\nProxyPassReverse /x http://h/\n</Location>", "ProxyPassReverse can not have a path when defined in a location"),
    row("<Location /x>\nProxyPassReverse http://h/\n</Location>", "Syntax OK"),
    row("<Directory /x>\nProxyPassReverse http://h/\n</Directory>", "ProxyPassReverse cannot occur within <Directory> section"),
    row("ProxyReceiveBufferSize 5", "ProxyReceiveBufferSize must be >= 512 bytes, or 0 for system default."),
    row("ProxyIOBufferSize 5", "ProxyIOBufferSize must be >= 512 bytes, or 0 for system default."),
    row("ProxyMaxForwards x", "Syntax OK"),
    row("ProxyDomain x", "ProxyDomain: domain name must start with a dot."),
    row("ProxyDomain .x", "Syntax OK"),
    row("ProxyVia x", "ProxyVia must be one of: off | on | full | block"),
    row("ProxyErrorOverride x", "ProxyErrorOverride first parameter must be one of: off | on"),
    row("ProxyErrorOverride 404", "ProxyErrorOverride first parameter must be one of: off | on"),
    row("ProxyErrorOverride On x", "ProxyErrorOverride: status codes to intercept must be numeric"),
    row("ProxyErrorOverride Off 404", "ProxyErrorOverride: status codes must follow a value of 'on'"),
    row("ProxyErrorOverride On 404 200", "ProxyErrorOverride: status codes to intercept must be valid HTTP Status Codes >=400 && <600"),
    row("ProxyErrorOverride On 404 500", "Syntax OK"),
    row("ProxyTimeout 0", "Proxy Timeout must be at least 1 second."),
    row("ProxyTimeout x", "Proxy Timeout must be at least 1 second."),
    row("ProxyBadHeader x", "ProxyBadHeader must be one of: IsError | Ignore | StartBody"),
    row("BalancerGrowth 2000", "BalancerGrowth must be between 0 and 1000"),
    row("BalancerPersist x", "BalancerPersist must be On or Off"),
    row("ProxyStatus x", "ProxyStatus must be one of: off | on | full"),
    row("ProxySourceAddress no.such.invalid", "ProxySourceAddress invalid value"),
    row("ProxyPreserveHost x", "ProxyPreserveHost must be On or Off"),
    row("ProxyBlock", "ProxyBlock requires at least one argument, A list of names, hosts or domains to which the proxy will not connect"),
    row("NoProxy", "NoProxy requires at least one argument, A list of domains, hosts, or subnets to which the proxy will connect directly"),
    row("<VirtualHost *:90>\nProxyPass /x fcgi://h\nProxyTimeout 4\n</VirtualHost>", "Syntax OK"),
    // mod_rewrite
    row("RewriteEngine x", "RewriteEngine must be On or Off"),
    row("RewriteEngine", "RewriteEngine must be On or Off"),
    row("RewriteEngine On Off", "Syntax OK"),
    row("RewriteEngine \"\"", "RewriteEngine must be On or Off"),
    row("RewriteOptions", "RewriteOptions requires at least one argument, List of option strings to set"),
    row("RewriteOptions x", "RewriteOptions: unknown option 'x'"),
    row("RewriteOptions Inherit x", "RewriteOptions: unknown option 'x'"),
    row("RewriteOptions \"Inherit x\"", "RewriteOptions: unknown option 'x'"),
    row("RewriteOptions \"\"", "RewriteOptions requires at least one argument, List of option strings to set"),
    row("RewriteOptions Inherit InheritBefore", "Syntax OK"),
    row("RewriteOptions MaxRedirects=5", "Syntax OK"),
    row("RewriteOptions MaxRedirects", "RewriteOptions: unknown option 'MaxRedirects'"),
    row("RewriteOptions inherit allowanyuri mergebase", "Syntax OK"),
    row("RewriteOptions LongURLOptimization", "RewriteOptions: unknown option 'LongURLOptimization'"),
    row("RewriteBase /x", "RewriteBase: only valid in per-directory config files"),
    row("RewriteBase", "RewriteBase takes one argument, the base URL of the per-directory context"),
    row("RewriteBase /a /b", "RewriteBase takes one argument, the base URL of the per-directory context"),
    row("<Directory /tmp>\nRewriteBase x\n</Directory>", "RewriteBase: argument is not a valid URL"),
    row("<Directory /tmp>\nRewriteBase \"\"\n</Directory>", "RewriteBase takes one argument, the base URL of the per-directory context"),
    row("<Directory /tmp>\nRewriteBase http://x/\n</Directory>", "RewriteBase: argument is not a valid URL"),
    row("<Directory /tmp>\nRewriteBase\n</Directory>", "RewriteBase takes one argument, the base URL of the per-directory context"),
    row("<Directory /tmp>\nRewriteBase /x y\n</Directory>", "RewriteBase takes one argument, the base URL of the per-directory context"),
    row("<Directory /tmp>\nRewriteBase /x\n</Directory>", "Syntax OK"),
    row("RewriteCond", "RewriteCond: bad argument line ''"),
    row("RewriteCond x", "RewriteCond: bad argument line 'x'"),
    row("RewriteCond x y", "Syntax OK"),
    row("RewriteCond x y z", "RewriteCond: bad flag delimiters"),
    row("RewriteCond x y [z]", "RewriteCond: unknown flag 'z'"),
    row("RewriteCond x y [NC", "RewriteCond: bad flag delimiters"),
    row("RewriteCond x y NC]", "RewriteCond: bad flag delimiters"),
    row("RewriteCond x y [NC] z", "Syntax OK"),
    row("RewriteCond x y \"[NC, OR]\"", "Syntax OK"),
    row("RewriteCond x y [NC,,OR]", "RewriteCond: unknown flag ''"),
    row("RewriteCond x y []", "RewriteCond: unknown flag ''"),
    row("RewriteCond x y [,]", "RewriteCond: unknown flag ''"),
    row("RewriteCond x y [NC,foo]", "RewriteCond: unknown flag 'foo'"),
    row("RewriteCond x y [NC=1]", "Syntax OK"),
    row("RewriteCond x \"a b\"", "Syntax OK"),
    row("RewriteCond \"x y", "RewriteCond: bad argument line '\"x y'"),
    row("RewriteCond \"x\" \"y\"z", "RewriteCond: bad flag delimiters"),
    row("RewriteCond 'x y' z", "Syntax OK"),
    row("RewriteCond x -f [NC]", "Syntax OK"),
    row("RewriteCond x !-f [NC]", "Syntax OK"),
    row("RewriteCond x -gt5 [NC]", "Syntax OK"),
    row("RewriteCond x =y [NC]", "Syntax OK"),
    row("RewriteCond x >y [NC]", "Syntax OK"),
    row("RewriteCond x -eqfoo", "Syntax OK"),
    row("RewriteCond x -eq", "Syntax OK"),
    row("RewriteCond x -z", "Syntax OK"),
    row("RewriteCond x !", "Syntax OK"),
    row("RewriteCond x \"\"", "Syntax OK"),
    row("RewriteCond %{ y", "Syntax OK"),
    row("RewriteCond %{FOO} y", "Syntax OK"),
    row("RewriteCond ${m:x} y", "Syntax OK"),
    row("RewriteCond ${m:x|y} z", "Syntax OK"),
    row("RewriteCond ${m} y", "Syntax OK"),
    row("RewriteCond %1 y", "Syntax OK"),
    row("RewriteRule", "RewriteRule: bad argument line ''"),
    row("RewriteRule x", "RewriteRule: bad argument line 'x'"),
    row("RewriteRule x y", "Syntax OK"),
    row("RewriteRule x y z", "RewriteRule: bad flag delimiters"),
    row("RewriteRule x y [z]", "RewriteRule: unknown flag 'z'"),
    row("RewriteRule x y [L", "RewriteRule: bad flag delimiters"),
    row("RewriteRule x y L]", "RewriteRule: bad flag delimiters"),
    row("RewriteRule x y [L] z", "Syntax OK"),
    row("RewriteRule x y \"[L, R]\"", "Syntax OK"),
    row("RewriteRule x y [L, R]", "RewriteRule: bad flag delimiters"),
    row("RewriteRule x y [L,,R]", "RewriteRule: unknown flag ''"),
    row("RewriteRule x y []", "RewriteRule: unknown flag ''"),
    row("RewriteRule x y [,]", "RewriteRule: unknown flag ''"),
    row("RewriteRule x y [ ]", "RewriteRule: bad flag delimiters"),
    row("RewriteRule x y [L,]", "RewriteRule: unknown flag ''"),
    row("RewriteRule ! y", "Syntax OK"),
    row("RewriteRule \"\" y", "Syntax OK"),
    row("RewriteRule x \"\"", "Syntax OK"),
    row("RewriteRule x y [R=9]", "RewriteRule: invalid HTTP response code '9' for flag 'R'"),
    row("RewriteRule x y [R=999]", "RewriteRule: invalid HTTP response code '999' for flag 'R'"),
    row("RewriteRule x y [R=200]", "Syntax OK"),
    row("RewriteRule x y [R=404]", "Syntax OK"),
    row("RewriteRule x - [R=abc]", "Syntax OK"),
    row("RewriteRule x y [R=30x]", "RewriteRule: invalid HTTP response code '30x' for flag 'R'"),
    row("RewriteRule x y [R=]", "Syntax OK"),
    row("RewriteRule x y [R=permanent]", "Syntax OK"),
    row("RewriteRule x y [R=-1]", "Syntax OK"),
    row("RewriteRule x y [F=1]", "Syntax OK"),
    row("RewriteRule x y [S]", "Syntax OK"),
    row("RewriteRule x y [S=x]", "Syntax OK"),
    row("RewriteRule x y [S=-1]", "Syntax OK"),
    row("RewriteRule x y [N=x]", "Syntax OK"),
    row("RewriteRule x y [N=0]", "Syntax OK"),
    row("RewriteRule x y [N=-1]", "Syntax OK"),
    row("RewriteRule x y [E]", "Syntax OK"),
    row("RewriteRule x y [E=]", "Syntax OK"),
    row("RewriteRule x y [E=a]", "Syntax OK"),
    row("RewriteRule x y [CO]", "Syntax OK"),
    row("RewriteRule x y [CO=]", "Syntax OK"),
    row("RewriteRule x y [CO=a]", "Syntax OK"),
    row("RewriteRule x y [T]", "Syntax OK"),
    row("RewriteRule x y [H]", "Syntax OK"),
    row("RewriteRule x y [B=]", "Syntax OK"),
    row("RewriteRule x y [QSX]", "RewriteRule: unknown flag 'QSX'"),
    row("RewriteRule x y [qsa,qsd,qsl]", "Syntax OK"),
    row("RewriteRule x y [PT=1]", "Syntax OK"),
    row("RewriteRule x y [PTX]", "RewriteRule: unknown flag 'PTX'"),
    row("RewriteRule x y [DPI]", "Syntax OK"),
    row("RewriteRule x y [D]", "Syntax OK"),
    row("RewriteRule x y [DX]", "Syntax OK"),
    row("RewriteRule x y [discardpathinfo]", "Syntax OK"),
    row("RewriteRule x y [END=1]", "Syntax OK"),
    row("RewriteRule x y [last]", "Syntax OK"),
    row("RewriteRule x y [lastx]", "RewriteRule: unknown flag 'lastx'"),
    row("RewriteRule x y [forbidden,gone]", "Syntax OK"),
    row("RewriteRule x y [=]", "RewriteRule: unknown flag ''"),
    row("RewriteRule x y [=x]", "RewriteRule: unknown flag ''"),
    row("RewriteRule x y [L=x]", "Syntax OK"),
    row("RewriteRule x y [ L ]", "RewriteRule: bad flag delimiters"),
    row("RewriteRule \"x y", "RewriteRule: bad argument line '\"x y'"),
    row("RewriteRule \"x\" \"y\"z", "RewriteRule: bad flag delimiters"),
    row("RewriteRule x 'y z'", "Syntax OK"),
    row("RewriteRule 'x y' z", "Syntax OK"),
    row("RewriteRule x ${m:$1}", "Syntax OK"),
    row("RewriteRule x ${m", "Syntax OK"),
    row("RewriteRule x %{FOO}", "Syntax OK"),
    row("RewriteRule x %{", "Syntax OK"),
    row("RewriteMap", "RewriteMap takes two or three arguments, a mapname and a filename and options"),
    row("RewriteMap m", "RewriteMap takes two or three arguments, a mapname and a filename and options"),
    row("RewriteMap m txt:", "Syntax OK"),
    row("RewriteMap m txt:/not/there", "RewriteMap: file for map m not found:/not/there"),
    row("RewriteMap m /not/there", "RewriteMap: file for map m not found:/not/there"),
    row("RewriteMap m rnd:/not/there", "RewriteMap: file for map m not found:/not/there"),
    row("RewriteMap m int:", "RewriteMap: internal map not found:"),
    row("RewriteMap m int:foo", "RewriteMap: internal map not found:foo"),
    row("RewriteMap m int:TOLOWER", "RewriteMap: internal map not found:TOLOWER"),
    row("RewriteMap m int:tolower", "Syntax OK"),
    row("RewriteMap m prg:/not/there", "RewriteMap: file for map m not found:/not/there"),
    row("RewriteMap m prg:", "Syntax OK"),
    row("RewriteMap m \"prg:/bin/cat x\" y", "Syntax OK"),
    row("RewriteMap m prg:/bin/cat nobody:nosuch", "Syntax OK"),
    row("RewriteMap m prg:/bin/cat nosuch", "Syntax OK"),
    row("RewriteMap m prg:/bin/cat nobody nogroup", "RewriteMap takes two or three arguments, a mapname and a filename and options"),
    row("RewriteMap m prg:/tmp", "Syntax OK"),
    row("RewriteMap m txt:/tmp", "Syntax OK"),
    row("RewriteMap m dbd:SELECT", "RewriteMap types dbd and fastdbd require mod_dbd!"),
    row("RewriteMap m fastdbd:SELECT", "RewriteMap types dbd and fastdbd require mod_dbd!"),
    row("RewriteMap m dbd:", "RewriteMap types dbd and fastdbd require mod_dbd!"),
    row("RewriteMap m TXT:/etc/passwd", "Syntax OK"),
    row("RewriteMap m txt:/etc/passwd", "Syntax OK"),
    row("RewriteMap \"\" txt:/etc/passwd", "RewriteMap takes two or three arguments, a mapname and a filename and options"),
    row("RewriteMap m txt:/etc/passwd\nRewriteMap m int:tolower", "Syntax OK"),
    row("RewriteLog logs/x", "Invalid command 'RewriteLog', perhaps misspelled or defined by a module not included in the server configuration"),
    row("RewriteLogLevel 3", "Invalid command 'RewriteLogLevel', perhaps misspelled or defined by a module not included in the server configuration"),
    row("RewriteLock logs/x", "Invalid command 'RewriteLock', perhaps misspelled or defined by a module not included in the server configuration"),
    row("<Directory /tmp>\nRewriteMap m int:tolower\n</Directory>", "RewriteMap not allowed in <Directory> context"),
    row("<Directory /tmp>\nRewriteEngine x\n</Directory>", "RewriteEngine must be On or Off"),
    row("<Directory /tmp>\nRewriteRule x y [z]\n</Directory>", "RewriteRule: unknown flag 'z'"),
    row("<Files x>\nRewriteBase /x\nRewriteRule x y\n</Files>", "Syntax OK"),
    row("<Location /x>\nRewriteRule ^ - [F]\nRewriteBase x\n</Location>", "RewriteBase: argument is not a valid URL"),
    row("<If true>\nRewriteEngine On\nRewriteRule x y [L\n</If>", "RewriteRule: bad flag delimiters"),
    row("<Limit GET>\nRewriteEngine On\n</Limit>", "<Limit not allowed here"),
    row("<Directory /tmp>\n<Limit GET>\nRewriteEngine On\nRewriteRule x (\n</Limit>\n</Directory>", "Syntax OK"),
    row("<VirtualHost *:1>\nRewriteEngine On\nRewriteRule x y [z]\n</VirtualHost>", "RewriteRule: unknown flag 'z'"),
    row("<VirtualHost *:1>\nRewriteMap m int:foo\n</VirtualHost>", "RewriteMap: internal map not found:foo"),
    row("<Proxy *>\nRewriteRule x y\n</Proxy>", "Syntax OK"),
    row("rewriterule X Y [l]", "Syntax OK"),
    // core and others
    row("Suexec maybe", "Suexec must be On or Off"),
    row("WatchdogInterval 10ms", "Invalid WatchdogInterval: minimal value 100ms"),
    row("WatchdogInterval x", "Unparse-able WatchdogInterval setting"),
    row("WatchdogInterval 5s", "Syntax OK"),
    row("<Directory /tmp>\nChrootDir /tmp\n</Directory>", "ChrootDir not allowed in <Directory> context"),
    row("ChrootDir /not/there", "ChrootDir must be a valid directory"),
    row("LoadFile /not/there.so", "Cannot load /not/there.so into server: /not/there.so: cannot open shared object file: No such file or directory"),
    row("LoadFile", "LoadFile requires at least one argument, shared object file or library to load into the server at runtime"),
    row("LoadModule other_module plain.so", "Cannot load plain.so into server: plain.so: cannot open shared object file: No such file or directory"),
    row("LoadModule other_module /tmp", "Cannot load /tmp into server: /tmp: cannot read file data: Is a directory"),
    row("RegexDefaultOptions", "Syntax OK"),
    row("FcgidWrapper /not/there", "Wrapper /not/there cannot be accessed: (2)No such file or directory"),
    row("FcgidWrapper /bin/sh sh", "Invalid wrapper file extension"),
    row("FcgidWrapper /bin/sh .a/b", "Invalid wrapper file extension"),
    row("FcgidWrapper /bin/sh .sh real", "Invalid wrapper flag"),
    row("FcgidWrapper \"/bin/sh -x\" .sh Virtual", "Syntax OK"),
    row("FCGIWrapper /bin/sh virtual", "Syntax OK"),
    row("FcgidWrapper", "FcgidWrapper takes one, two or three arguments, The CGI wrapper file an optional URL suffix and an optional flag"),
    row("FcgidIOTimeout 0", "FcgidIOTimeout must be greater than 0"),
    row("FcgidMaxRequestLen 1x", "FcgidMaxRequestLen requires a non-negative integer."),
    row("FcgidCmdOptions", "A command must be specified for FcgidCmdOptions"),
    row("FcgidCmdOptions /not/there MaxProcesses 1", "Command /not/there cannot be accessed: (2)No such file or directory"),
    row("FcgidCmdOptions /bin/sh", "At least one option must be specified for FcgidCmdOptions"),
    row("FcgidCmdOptions /bin/sh MaxProcesses", "MaxProcesses must have an argument"),
    row("FcgidCmdOptions /bin/sh Nothing 1", "Invalid option for FcgidCmdOptions: Nothing"),
    row("FcgidCmdOptions /bin/sh InitialEnv A=B initialenv C maxprocesses 3", "Syntax OK"),
    row("<VirtualHost *:1>\nFcgidMaxProcesses 3\n</VirtualHost>", "FcgidMaxProcesses cannot occur within <VirtualHost> section"),
    row("<VirtualHost *:1>\nIdleTimeout 3\n</VirtualHost>", "Syntax OK"),
    row("<Directory /tmp>\nFcgidIdleTimeout 3\n</Directory>", "FcgidIdleTimeout not allowed in <Directory> context"),
    row("<Directory /tmp>\nPassHeader X\n</Directory>", "PassHeader not allowed in <Directory> context"),
    row("Mutex sem fcgid-pipe", "Syntax OK"),
    row("RegexDefaultOptions +ICASE -DOTALL none DOLLAR_ENDONLY", "Syntax OK"),
    row("RegexDefaultOptions +EXTENDED", "RegexDefaultOptions: option 'EXTENDED' unknown"),
    row("RegexDefaultOptions x", "RegexDefaultOptions: option 'x' unknown"),
    row("Mutex", "Mutex requires at least a mechanism argument (Mutex mechanisms are: 'none', 'default', 'flock:/path/to/file', 'fcntl:/path/to/file', 'file:/path/to/file', 'pthread', 'sysvsem', 'posixsem', 'sem')"),
    row("Mutex x", "Invalid Mutex argument x (Mutex mechanisms are: 'none', 'default', 'flock:/path/to/file', 'fcntl:/path/to/file', 'file:/path/to/file', 'pthread', 'sysvsem', 'posixsem', 'sem')"),
    row("Mutex default x", "Mutex type x is not valid"),
    row("Mutex none", "None is not allowed for mutex type default"),
    row("Mutex file:/not/there", "Invalid Mutex directory in argument file:/not/there"),
    row("Mutex sem watchdog-callback omitpid", "Syntax OK"),
    row("Listen", "Listen requires 1 or 2 arguments."),
    row("Listen 1 2 3", "Listen requires 1 or 2 arguments."),
    row("Listen 127.0.0.1:99999", "Invalid address or port"),
    row("Listen :80", "Invalid address or port"),
    row("Listen x", "Port must be specified"),
    row("ListenBacklog 0", "ListenBacklog must be > 0"),
    row("ListenTCPDeferAccept 0", "ListenTCPDeferAccept must be > 0"),
    row("ListenCoresBucketsRatio x", "ListenCoresBucketsRatio must be > 0"),
    row("SendBufferSize 100", "SendBufferSize must be >= 512 bytes, or 0 for system default."),
    row("SendBufferSize 0", "Syntax OK"),
    row("ReceiveBufferSize -1", "ReceiveBufferSize must be >= 512 bytes, or 0 for system default."),
    row("MaxMemFree -1", "Invalid MaxMemFree value: -1"),
    row("ThreadStackSize 99999999999999999999", "Invalid ThreadStackSize value: 99999999999999999999"),
    row("CoreDumpDirectory /not/there", "CoreDumpDirectory /not/there does not exist"),
    row("CoreDumpDirectory /etc/passwd", "CoreDumpDirectory /etc/passwd is not a directory"),
    row("AsyncRequestWorkerFactor x", "error parsing value"),
    row("AsyncRequestWorkerFactor 0", "AsyncRequestWorkerFactor argument must be a positive number"),
    row("MaxKeepAliveRequests -1", "Syntax OK"),
    row("LimitRequestLine -1", "LimitRequestLine \"-1\" must be a non-negative integer"),
    row("LimitRequestFields -1", "LimitRequestFields \"-1\" must be a non-negative integer (0 = no limit)"),
    row("LimitRequestFieldsize 99999999999999999999", "LimitRequestFieldsize \"99999999999999999999\" must be a non-negative integer"),
    row("LimitRequestLine 3000000", "Syntax OK"),
    row("LimitRequestBody x", "LimitRequestBody requires a non-negative integer."),
    row("LimitRequestBody -1", "LimitRequestBody requires a non-negative integer."),
    row("LimitRequestBody 99999999999999999999", "LimitRequestBody argument is not parsable."),
    row("LimitXMLRequestBody -1", "LimitXMLRequestBody requires a non-negative integer."),
    row("LimitXMLRequestBody 9000000000000000000", "LimitXMLRequestBody must not exceed 3074457345618258601"),
    row("ReadBufferSize x", "parameter must be a number between 0 and (4294967295U)): x"),
    row("FlushMaxThreshold -1", "parameter must be a number between 0 and (4294967295U)): -1"),
    row("FlushMaxPipelined -2", "parameter must be a number between -1 and (2147483647): -2"),
    row("FlushMaxPipelined -1", "Syntax OK"),
    row("CGIVar X y", "Unrecognized CGI variable: \"X\""),
    row("CGIVar REQUEST_URI x", "Valid rules for REQUEST_URI are 'current-uri' and 'original-uri'"),
    row("CGIVar REQUEST_URI Original-URI", "Syntax OK"),
    row("ProtocolsHonorOrder x", "ProtocolsHonorOrder must be 'on' or 'off'"),
    row("ServerTokens x", "ServerTokens takes 1 argument: 'Prod(uctOnly)', 'Major', 'Minor', 'Min(imal)', 'OS', or 'Full'"),
    row("ServerName *.example", "Invalid ServerName \"*.example\" use ServerAlias to set multiple server names."),
    row("ServerName http://x.example:0", "The port number \"http://x.example:0\" is outside the appropriate range (i.e., 1..65535)."),
    row("ServerPath /x", "Syntax OK"),
    row("ServerAlias", "ServerAlias only used in <VirtualHost>"),
    row("<VirtualHost *:8001>\nServerAlias\nDocumentRoot /not/there\nNameVirtualHost *\n</VirtualHost>", "Syntax OK"),
    row("<VirtualHost *:8001>\n<VirtualHost *:8001>\n</VirtualHost>\n</VirtualHost>", "<VirtualHost> cannot occur within <VirtualHost> section"),
    row("<VirtualHost 10>\n</VirtualHost>", "Missing address for VirtualHost"),
    row("<VirtualHost 0>\n</VirtualHost>", "The address or port is invalid"),
    row("<VirtualHost [::1]x>\n</VirtualHost>", "The address or port is invalid"),
    row("MaxRanges 0", "MaxRanges requires 'none', 'default', 'unlimited' or a positive integer"),
    row("Port", "Port takes one argument, Port was replaced with Listen in Apache 2.0"),
    row("Port 80", "Port was replaced with Listen in Apache 2.0"),
    row("Error \"with quotes\"", "with quotes"),
    row("<Directory /tmp>\nAllowOverride Limit=x\n</Directory>", "Syntax OK"),
    row("<Directory /tmp>\nAllowOverrideList\n</Directory>", "Syntax OK"),
    row("<Directory /tmp>\nAllow x \"\"\n</Directory>", "Syntax OK"),
    row("<Directory /tmp>\nDeny x y\n</Directory>", "allow and deny must be followed by 'from'"),
    row("SetHandler %{", "Can't parse expression : syntax error, unexpected T_ERROR, expecting T_ID: Unterminated string or variable"),
    row("MaxRanges 5x", "Syntax OK"),
    row("MaxRangeOverlaps x", "MaxRangeOverlaps requires 'none', 'default', 'unlimited' or a positive integer"),
    row("SetHandler \"expr=%{\"", "Can't parse expression : syntax error, unexpected T_ERROR, expecting T_ID: Unterminated string or variable"),
    row("<If true>\n</If>\n<Else x>\n</Else>", "<Else> does not take an argument"),
    row("<Else>\n</Else>", "<Else> or <ElseIf> section without previous <If> or <ElseIf> section in same scope"),
    row("<If \"true\" x>\n</If>", "Multiple <If> arguments not supported."),
    row("<If \"a b\" c>\n</If>", "Cannot parse condition clause: syntax error, unexpected T_ID, expecting '('"),
    row("<Directory /tmp>\n<Limit GET>\n<Files x>\n</Files>\n</Limit>\n</Directory>", "<Files> cannot occur within <Limit> or <LimitExcept> section"),
    row("<Directory /tmp>\n<Limit GET>\n<If true>\n</If>\n</Limit>\n</Directory>", "<If> cannot occur within <Limit> or <LimitExcept> section"),
    row("<Directory /tmp>\n<Limit GET>\n<Limit PUT>\n</Limit>\n</Limit>\n</Directory>", "<Limit> directive excludes all methods"),
    row("<Directory /tmp>\n<Limit GET>\n<LimitExcept PUT>\n</LimitExcept>\n</Limit>\n</Directory>", "<LimitExcept> directive specifies methods already excluded"),
    row("<Directory /tmp>\n<Limit GET PUT>\n<LimitExcept PUT ODD>\n</LimitExcept>\n</Limit>\n</Directory>", "Syntax OK"),
    row("<Directory /tmp>\n<LimitExcept TRACE>\n</LimitExcept>\n</Directory>", "Syntax OK"),
    row("<Directory /tmp>\n<Limit TRACE>\n</Limit>\n</Directory>", "TRACE cannot be controlled by <Limit>, see TraceEnable"),
    row("<Directory /tmp>\n<RequireAll>\n<Files x>\n</Files>\n</RequireAll>\n</Directory>", "<Files> cannot occur within <Limit> or <LimitExcept> section"),
    row("<Directory /tmp>\n<Limit GET>\nMultiviewsMatch Any\n</Limit>\n</Directory>", "MultiviewsMatch cannot occur within <Limit> or <LimitExcept> section"),
    row("<LocationMatch x>\n<Files x>\n</Files>\n</LocationMatch>", "<Files> cannot occur within <LocationMatch> section"),
    row("<If true>\nAlias /tmp\n</If>", "Alias cannot occur within <If> section"),
    row("<Directory /tmp>\n<Limit GET>\nAlias /a /tmp\n</Limit>\n</Directory>", "Alias cannot occur within <Limit> or <LimitExcept> section"),
    row("<AuthnProviderAlias file one>\nAllowMethods GET\n<Files x>\nAddType a/b .x\n</Files>\n</AuthnProviderAlias>", "Syntax OK"),
    row("<AuthnProviderAlias file one>\nAddType a/b .x\n</AuthnProviderAlias>", "AddType not allowed in <AuthnProviderAlias> context"),
    row("<IfVersion ~ (>\n</IfVersion>", "Unable to compile regular expression"),
    row("<IfVersion = /2>\n</IfVersion>", "Missing delimiting / of regular expression."),
    row("<IfVersion ~= 2>\n</IfVersion>", "unrecognized operator '~='"),
    row("<IfVersion \"\">\n</IfVersion>", "<IfVersion takes one, two or three arguments, a comparison operator, a version (and a delimiter)"),
    row("<IfVersion 1 2 3 4>\n</IfVersion>", "<IfVersion takes one, two or three arguments, a comparison operator, a version (and a delimiter)"),
    row("<IfVersion ~ ^2\\.4>\nError \"it holds\"\n</IfVersion>", "it holds"),
    row("<IfVersion !~ ^2\\.4>\nError \"it holds\"\n</IfVersion>", "Syntax OK"),
    row("RequestReadTimeout", "Syntax OK"),
    row("RequestReadTimeout body", "Invalid RequestReadTimeout parameter. Parameter must be in the form 'key=value'"),
    row("RequestReadTimeout head=5", "RequestReadTimeout: head=5: Unknown RequestReadTimeout parameter"),
    row("RequestReadTimeout header=x", "RequestReadTimeout: header=x: Value 'x' not numerical"),
    row("RequestReadTimeout header=5x", "RequestReadTimeout: header=5x: Cannot parse 'x'"),
    row("RequestReadTimeout header=-5", "RequestReadTimeout: header=-5: Must set MinRate option if using timeout range"),
    row("RequestReadTimeout header=20-10,MinRate=1", "RequestReadTimeout: header=20-10,MinRate=1: Maximum timeout must be larger than initial timeout"),
    row("RequestReadTimeout header=10-20", "RequestReadTimeout: header=10-20: Must set MinRate option if using timeout range"),
    row("RequestReadTimeout header=10,MinRate=0", "RequestReadTimeout: header=10,MinRate=0: Minimum data rate must be larger than 0"),
    row("RequestReadTimeout handshake=x", "RequestReadTimeout: handshake=x: Value 'x' not numerical"),
    row("RemoteIPProxyProtocolExceptions \"\"", "RemoteIPProxyProtocolExceptions requires an argument"),
    row("RemoteIPProxyProtocolExceptions 1.2.3", "Syntax OK"),
    row("RemoteIPProxyProtocolExceptions 1.2.3.4/99 x", "ip address '1.2.3.4' appears to be invalid: The specified network mask is invalid."),
    row("RemoteIPTrustedProxy /x", "RemoteIP: Error parsing IP /x (Invalid argument error) for RemoteIPTrustedProxy"),
    row("RemoteIPTrustedProxy 1.2.3/8", "RemoteIP: Error parsing IP 1.2.3/8 (The specified IP address is invalid. error) for RemoteIPTrustedProxy"),
    row("DirectoryIndex", "Syntax OK"),
    row("DirectoryIndexRedirect x", "DirectoryIndexRedirect ON|OFF|permanent|temp|seeother|3xx"),
    row("DirectoryIndexRedirect 200", "DirectoryIndexRedirect only accepts values between 300 and 399"),
    row("IndexOptions", "Syntax OK"),
    row("IndexOptions FancyIndexing \"\"", "Syntax OK"),
    row("AddType a/b \"\"", "Syntax OK"),
    row("AddIcon /x \"\"", "Syntax OK"),
    row("Redirect /x \"\"", "Redirect to non-URL"),
    row("AddOutputFilterByType DEFLATE \"\"", "AddOutputFilterByType requires at least two arguments"),
    row("AllowMethods x", "AllowMethods not allowed here"),
    row("BrotliCompressionQuality 5000000000", "BrotliCompressionQuality must be between 0 and 11"),
    row("DeflateInflateLimitRequestBody 99999999999999999999", "DeflateInflateLimitRequestBody is not parsable."),
    row("<Macro M $a $ab>\nError\n</Macro>\nUse M 1 2", "The Error directive was used with no message."),
    row("<Macro M>\nError x\n</Macro>\nUndefMacro M\nUse M", "macro 'm' undefined"),
    row("MacroIgnoreEmptyArgs Off\n<Macro M $a>\nError x$a\n</Macro>\nUse M \"\"", "x"),
    row("MacroIgnoreBadNesting", "Syntax OK"),
    row("HttpProtocolOptions x", "HttpProtocolOptions accepts 'Unsafe' or 'Strict' (default), 'RegisteredMethods' or 'LenientMethods' (default), and 'Require1.0' or 'Allow0.9' (default)"),
    row("HttpProtocolOptions Strict unsafe", "HttpProtocolOptions 'Strict' and 'Unsafe' are mutually exclusive"),
    row("HttpProtocolOptions require1.0 Allow0.9", "HttpProtocolOptions 'Allow0.9' and 'Require1.0' are mutually exclusive"),
    row("HttpProtocolOptions LenientMethods\nHttpProtocolOptions Strict RegisteredMethods x", "HttpProtocolOptions 'RegisteredMethods' and 'LenientMethods' are mutually exclusive"),
    row("HttpProtocolOptions Require1.0\n<VirtualHost *:8001>\nHttpProtocolOptions Strict LenientMethods\n</VirtualHost>", "Syntax OK"),
    row("<VirtualHost *:8001>\nHttpProtocolOptions Strict\nHttpProtocolOptions Unsafe\n</VirtualHost>", "HttpProtocolOptions 'Strict' and 'Unsafe' are mutually exclusive"),
    row("<FilesMatch (>\n</FilesMatch>", "Regex could not be compiled"),
    row("<Files ~ (>\n</Files>", "Regex could not be compiled"),
    row("<DirectoryMatch [>\n</DirectoryMatch>", "Regex could not be compiled"),
    row("<Directory ~ \"*\">\n</Directory>", "Regex could not be compiled"),
    row("<LocationMatch (?<a>>\n</LocationMatch>", "Regex could not be compiled"),
    row("<Location ~ (>\n</Location>", "Regex could not be compiled"),
    row("<If \"'a' =~ /(/\">\n</If>", "Cannot parse condition clause: Failed to compile regular expression"),
    row("<Location /x>\nRequire expr 'a' =~ /(/\n</Location>", "Cannot parse expression in require line: Failed to compile regular expression"),
    row("AliasMatch ( /x", "Regular expression could not be compiled."),
    row("RedirectMatch ( http://x", "Regular expression could not be compiled."),
    row("CustomLog logs/x \"%U\" \"expr='a' =~ /(/\"", "Failed to compile regular expression"),
    row("<Directory /tmp>\n<Limit GET>\n<Files>\n</Files>\n</Limit>\n</Directory>", "<Files> cannot occur within <Limit> or <LimitExcept> section"),
    row("<LocationMatch x>\n<FilesMatch>\n</FilesMatch>\n</LocationMatch>", "<FilesMatch> cannot occur within <LocationMatch> section"),
    row("<If>\n</If>", "<If> directive requires additional arguments"),
    row("<VirtualHost *:8001>\n<VirtualHost>\n</VirtualHost>\n</VirtualHost>", "<VirtualHost> cannot occur within <VirtualHost> section"),
    row("<VirtualHost>\n</VirtualHost>", "<VirtualHost> directive requires additional arguments"),
    row("LimitRequestLine x", "Syntax OK"),
    row("MaxKeepAliveRequests 5x", "Syntax OK"),
    row("UndefMacro M", "no macro defined before UndefMacro"),
    row("<Directory /tmp>\nAllowOverride Nonfatal\n</Directory>", "=Override, =Unknown or =All expected after Nonfatal"),
    row("<Directory /tmp>\nAllowOverride Nonfatal=x Options=Indexes,\n</Directory>", "Syntax OK"),
];

/// A configuration without what a line of the table would have to be told apart from.
fn root() -> Root {
    let load = |name: &&str| format!("LoadModule {name}_module modules/mod_{name}.so\n");
    Root::new(&MODULES.iter().map(load).collect::<String>())
}

/// The first error of an answer, without the place and the name of the program.
fn first_error(answer: &Answer) -> &str {
    let is_remark = |line: &&str| {
        ["AH00526: ", "AH00112: ", "AH00548: ", "[", "warning: ", "  "]
            .iter()
            .any(|it| line.starts_with(it))
    };
    let line = answer.err.lines().find(|line| !is_remark(line)).unwrap_or_default();
    match line.strip_prefix("apache2: Syntax error on line ") {
        Some(rest) => rest.split_once(": ").map_or(rest, |(_, text)| text),
        None => line,
    }
}

fn check(root: &Root, call: impl Fn(&[&str]) -> Answer, is_left_out: impl Fn(&str) -> bool) {
    for (text, expected) in LINES.iter().filter(|(text, _)| !is_left_out(text)) {
        root.folder.write("lines.conf", format!("Include apache2.conf\n{text}\n"));
        let answer = call(&["-t", "-f", "lines.conf"]);
        let code = i32::from(*expected != "Syntax OK");
        assert_eq!((answer.code, first_error(&answer)), (code, *expected), "{text}");
    }
}

#[test]
fn wrong_lines_are_told_in_the_words_of_httpd() {
    let root = root();
    check(&root, |words| root.call(words), |_| false);
}

/// Lines without mod_macro, and what is said.
const WITHOUT_MACRO: &[&str] =
    &["Use x", "<Macro x>\nOptions x\n</Macro>", "UndefMacro x", "MacroIgnoreEmptyArgs"];

/// Numbers of arguments under prefork, which has help texts of its own.
#[rustfmt::skip]
const UNDER_PREFORK: &[(&str, &str)] = &[
    row("MaxRequestWorkers", "MaxRequestWorkers takes one argument, Maximum number of children alive at the same time"),
    row("ServerLimit 1 2", "ServerLimit takes one argument, Maximum value of MaxRequestWorkers for this run of Apache"),
    row("StartServers", "StartServers takes one argument, Number of child processes launched at server startup"),
    row("MinSpareServers", "MinSpareServers takes one argument, Minimum number of idle children, to handle request spikes"),
    row("MaxClients", "MaxClients takes one argument, Deprecated name of MaxRequestWorkers"),
    row("<Directory /tmp>\nServerLimit\n</Directory>", "ServerLimit not allowed in <Directory> context"),
];

fn check_other_servers(call: impl Fn(&Root, &[&str]) -> Answer) {
    let check = |root: &Root, text: &str, expected: &str| {
        root.folder.write("lines.conf", format!("Include apache2.conf\n{text}\n"));
        let answer = call(root, &["-t", "-f", "lines.conf"]);
        assert_eq!((answer.code, first_error(&answer)), (1, expected), "{text}");
    };
    let root = Root::new("");
    for lines in WITHOUT_MACRO {
        let name = lines.split([' ', '\n']).next().unwrap_or_default();
        let expected = format!(
            "Invalid command '{name}', perhaps misspelled or defined by a module not included in \
             the server configuration"
        );
        check(&root, lines, &expected);
    }
    let root = Root::under(Mpm::Prefork, "");
    UNDER_PREFORK.iter().for_each(|(lines, expected)| check(&root, lines, expected));
}

#[test]
fn lines_are_judged_by_the_modules_that_are_there() {
    check_other_servers(|root, words| root.call(words));
}

#[test]
fn httpd_itself_judges_by_the_modules_that_are_there() {
    let name = "httpd_itself_judges_by_the_modules_that_are_there";
    let Some(httpd) = httpd(name) else { return };
    check_other_servers(|root, words| ask(&httpd, root, words));
}

const MODULES_OF_HTTPD: &str = "/usr/lib/apache2/modules";

fn ask(httpd: &Path, root: &Root, words: &[&str]) -> Answer {
    let modules = root.folder.join("modules");
    if !modules.exists() {
        symlink(MODULES_OF_HTTPD, modules).unwrap();
    }
    let mut command = Command::new(httpd);
    command.arg0(root.program("apache2")).arg("-d").arg(root.folder.path()).args(words);
    Answer::of(&run_command(&mut command, 30))
}

#[test]
fn httpd_itself_says_the_same_of_wrong_lines() {
    let name = "httpd_itself_says_the_same_of_wrong_lines";
    let Some(httpd) = httpd(name) else { return };
    let root = root();
    let patch = releases::httpd_patch();
    let is_left_out = |line: &str| {
        let is_otherwise = releases::is_answered_otherwise(patch, "wrong_lines", line);
        if is_otherwise {
            outside::not_run(name, &format!("{line}: apache2 2.4.{patch} answers otherwise"));
        }
        is_otherwise
    };
    check(&root, |words| ask(&httpd, &root, words), is_left_out);
}
