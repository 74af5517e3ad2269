//! What `-t` says about a configuration from its first line to its last: warnings, where they stand
//! among each other, and which of them `-e` and `LogLevel` let through. Where httpd itself is
//! installed it is asked, too.
// tidy: table
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::httpd::{Answer, Root};
use blackbox::outside::{not_run, run_command};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Options, lines, and what is said: `{}` is the file, and of a logged line the time and the
/// process are left out.
const fn row(
    options: &'static str,
    lines: &'static str,
    said: &'static str,
) -> (&'static str, &'static str, &'static str) {
    (options, lines, said)
}

#[rustfmt::skip]
const ROWS: &[(&str, &str, &str)] = &[
    // AllowOverride, AllowOverrideList
    row("", "<Files x>\nAllowOverride None\n</Files>", "[core:warn] AH00114: Useless use of AllowOverride in line 3 of {}.\nSyntax OK"),
    row("", "<Location /x>\nAllowOverride None\n</Location>", "[core:warn] AH00114: Useless use of AllowOverride in line 3 of {}.\nSyntax OK"),
    row("", "<If true>\nAllowOverride None\n</If>", "[core:warn] AH00114: Useless use of AllowOverride in line 3 of {}.\nSyntax OK"),
    row("", "<Directory /tmp>\nAllowOverride None\n</Directory>", "Syntax OK"),
    row("", "<Directory /tmp>\n<Limit GET>\nAllowOverride None\n</Limit>\n</Directory>", "[core:warn] AH00114: Useless use of AllowOverride in line 4 of {}.\nSyntax OK"),
    row("", "<Files x>\nAllowOverride Bla\n</Files>", "[core:warn] AH00114: Useless use of AllowOverride in line 3 of {}.\nAH00526: Syntax error on line 3 of {}:\nIllegal override option Bla"),
    row("", "<If true>\nAllowOverrideList None\n</If>", "[core:warn] AH00115: Useless use of AllowOverrideList at {}:3\nSyntax OK"),
    row("", "<Directory /tmp>\nAllowOverrideList x ServerName AddType <Files <Directory Files require define\n</Directory>", "[core:warn] AH00116: Discarding unrecognized directive `x' in AllowOverrideList at {}:3\n[core:warn] AH02304: Discarding directive `ServerName' not allowed in AllowOverrideList at {}:3\n[core:warn] AH02304: Discarding directive `<Directory' not allowed in AllowOverrideList at {}:3\n[core:warn] AH00116: Discarding unrecognized directive `Files' in AllowOverrideList at {}:3\nSyntax OK"),
    row("", "<Directory /tmp>\nAllowOverrideList y none\n</Directory>", "[core:warn] AH00116: Discarding unrecognized directive `y' in AllowOverrideList at {}:3\nAH00526: Syntax error on line 3 of {}:\n'None' not allowed with other directives in AllowOverrideList"),
    row("", "<Directory /tmp>\nAllowOverrideList SetHandler Use RewriteRule\n</Directory>", "[core:warn] AH00116: Discarding unrecognized directive `RewriteRule' in AllowOverrideList at {}:3\nSyntax OK"),
    // Names that have no address
    row("", "<VirtualHost no.such.invalid>\n</VirtualHost>", "[core:error] (EAI 2)Name or service not known: AH00547: Could not resolve host name no.such.invalid -- ignoring!\nSyntax OK"),
    row("", "Listen no.such.invalid:80", "[core:crit] (EAI 2)Name or service not known: AH00077: alloc_listener: failed to set up sockaddr for no.such.invalid\nAH00526: Syntax error on line 2 of {}:\nListen setup failed"),
    row("", "<VirtualHost 127.77.0.2:80>\n</VirtualHost>\n<VirtualHost 127.77.0.1:80 127.77.0.3>\n</VirtualHost>\n<VirtualHost 127.77.0.4:80 *:80>\n</VirtualHost>", "[core:error] (EAI 2)Name or service not known: AH00549: Failed to resolve server name for 127.77.0.1 (check DNS) -- or specify an explicit ServerName\n[core:error] (EAI 2)Name or service not known: AH00549: Failed to resolve server name for 127.77.0.2 (check DNS) -- or specify an explicit ServerName\nSyntax OK"),
    row("", "<VirtualHost 127.77.0.2:80>\n</VirtualHost>\nLogLevel crit", "Syntax OK"),
    row("", "<VirtualHost \"\" /x>\n</VirtualHost>", "Syntax OK"),
    // Order
    row("", "<VirtualHost *:90>\nDocumentRoot /not/there\n</VirtualHost>\nKeepAlive x\nDocumentRoot /not/there", "AH00112: Warning: DocumentRoot [/not/there] does not exist\nAH00526: Syntax error on line 5 of {}:\nKeepAlive must be On or Off"),
    row("", "DocumentRoot /not/there\nKeepAlive x", "AH00526: Syntax error on line 2 of {}:\nDocumentRoot '/not/there' is not a directory, or is not readable"),
    row("", "DocumentRoot /not/..//not/there/", "AH00526: Syntax error on line 2 of {}:\nDocumentRoot '/not/there/' is not a directory, or is not readable"),
    row("-T", "DocumentRoot /not/there\nKeepAlive x", "AH00526: Syntax error on line 3 of {}:\nKeepAlive must be On or Off"),
    row("", "<Location /x>\nDocumentRoot /not/there\n</Location>", "AH00526: Syntax error on line 3 of {}:\nDocumentRoot not allowed in <Location> context"),
    row("", "KeepAlive x\n<If true>\nAllowOverride None\n</If>\n<VirtualHost *:90>\nDocumentRoot /not/there\n</VirtualHost>", "AH00526: Syntax error on line 2 of {}:\nKeepAlive must be On or Off"),
    row("", "KeepAlive x\nKeepAlive ${NONE}", "[core:warn] AH00111: Config variable ${NONE} is not defined\nAH00526: Syntax error on line 2 of {}:\nKeepAlive must be On or Off"),
    row("", "<If true>\nAllowOverride None\n</If>\n<VirtualHost *:90>\nDocumentRoot /not/there\n</VirtualHost>\nNameVirtualHost *", "[core:warn] AH00114: Useless use of AllowOverride in line 3 of {}.\nAH00112: Warning: DocumentRoot [/not/there] does not exist\nAH00548: NameVirtualHost has no effect and will be removed in the next release {}:8\nSyntax OK"),
    // -e
    row("-e crit", "<If true>\nAllowOverride None\n</If>", "[core:warn] AH00114: Useless use of AllowOverride in line 3 of {}.\nSyntax OK"),
    row("-e crit", "<VirtualHost no.such.invalid>\n</VirtualHost>", "Syntax OK"),
    row("-e emerg", "KeepAlive x", "AH00526: Syntax error on line 2 of {}:\nKeepAlive must be On or Off"),
    row("-e emerg", "<VirtualHost *:90>\nDocumentRoot /not/there\n</VirtualHost>\nNameVirtualHost *", "AH00112: Warning: DocumentRoot [/not/there] does not exist\nAH00548: NameVirtualHost has no effect and will be removed in the next release {}:5\nSyntax OK"),
    row("-e crit", "StartServers 0", "Syntax OK"),
    row("", "StartServers 0", "AH00517: WARNING: StartServers of 0 not allowed, increasing to 1.\nSyntax OK"),
    row("-e crit", "<Macro m>\n</Macro>\nKeepAlive ${NONE}", "AH00526: Syntax error on line 4 of {}:\nKeepAlive must be On or Off"),
    row("-e emerg", "CustomLog /not/there/x y", "(2)No such file or directory: AH02297: Cannot access directory '/not/there/' for log file '/not/there/x' defined at {}:2"),
    row("", "CustomLog /not/there/x y", "(2)No such file or directory: AH02297: Cannot access directory '/not/there/' for log file '/not/there/x' defined at {}:2\nAH00014: Configuration check failed"),
    row("-e info", "LogLevel crit\nMaxRequestsPerChild 10", "[core:info] AH00545: MaxRequestsPerChild is deprecated, use MaxConnectionsPerChild instead.\nSyntax OK"),
    // LogLevel
    row("", "LogLevel crit\n<If true>\nAllowOverride None\n</If>", "Syntax OK"),
    row("", "<If true>\nAllowOverride None\n</If>\nLogLevel crit\n<If true>\nAllowOverride None\n</If>", "[core:warn] AH00114: Useless use of AllowOverride in line 3 of {}.\nSyntax OK"),
    row("", "LogLevel core:crit\n<If true>\nAllowOverride None\n</If>", "Syntax OK"),
    row("", "LogLevel core:crit\nLogLevel warn\n<If true>\nAllowOverride None\n</If>", "[core:warn] AH00114: Useless use of AllowOverride in line 5 of {}.\nSyntax OK"),
    row("", "LogLevel alias:crit\nAlias /a/ /tmp\nAlias /a/b /tmp", "Syntax OK"),
    row("", "LogLevel crit\nErrorDocument 401 http://x/", "[core:notice] AH00113: {}:3 cannot use a full URL in a 401 ErrorDocument directive --- ignoring!\nSyntax OK"),
    row("", "LogLevel crit\n<VirtualHost no.such.invalid>\nDocumentRoot /not/there\n</VirtualHost>", "[core:error] (EAI 2)Name or service not known: AH00547: Could not resolve host name no.such.invalid -- ignoring!\nAH00112: Warning: DocumentRoot [/not/there] does not exist\nSyntax OK"),
    row("", "<VirtualHost *:90>\n<If true>\nAllowOverride None\n</If>\n</VirtualHost>", "Syntax OK"),
    row("", "<VirtualHost *:90>\nLogLevel debug\n<If true>\nAllowOverride None\n</If>\n</VirtualHost>", "[core:warn] AH00114: Useless use of AllowOverride in line 5 of {}.\nSyntax OK"),
    row("", "<Directory /tmp>\nLogLevel crit\n<If true>\nAllowOverride None\n</If>\n</Directory>", "[core:warn] AH00114: Useless use of AllowOverride in line 5 of {}.\nSyntax OK"),
    row("", "<VirtualHost *:90>\nDefaultType x\n</VirtualHost>\nDefaultType x", "[core:warn] AH00117: Ignoring deprecated use of DefaultType in line 5 of {}.\nSyntax OK"),
    // Macros
    row("", "<Macro M>\n<Directory /tmp>\n</Macro>", "[macro:warn] AH02795: bad cumulated nesting (+1) in macro 'm' (defined on line 2 of \"{}\")\nSyntax OK"),
    row("", "MacroIgnoreBadNesting\n<Macro M>\n<Directory /tmp>\n</Macro>", "Syntax OK"),
    row("", "<Macro M /ignorebadnesting /IgnoreEmptyArgs $x>\n<Directory $x>\n</Macro>\nUse M \"\"\n</Directory>", "AH00526: Syntax error on line 1 of macro 'm' (defined on line 2 of \"{}\") used on line 5 of \"{}\":\n<Directory> directive requires additional arguments"),
    row("", "<Macro M>\n<Directory /tmp>\n</Macro>\nUse M", "[macro:warn] AH02795: bad cumulated nesting (+1) in macro 'm' (defined on line 2 of \"{}\")\napache2: Syntax error on line 1 of macro 'm' (defined on line 2 of \"{}\") used on line 5 of \"{}\": macro 'm' (defined on line 2 of \"{}\") used on line 5 of \"{}\":1: <Directory> was not closed."),
    row("", "<Macro M>\n<Directory /tmp>\n</Macro>\nUse M\nOptions x\n</Directory>", "[macro:warn] AH02795: bad cumulated nesting (+1) in macro 'm' (defined on line 2 of \"{}\")\nAH00526: Syntax error on line 6 of {}:\nIllegal option x"),
    row("", "<Macro M>\n<Directory /tmp>\n</Macro>\nUse M\nOptions None\n</Directory>", "[macro:warn] AH02795: bad cumulated nesting (+1) in macro 'm' (defined on line 2 of \"{}\")\nSyntax OK"),
    row("", "<Macro M>\n# one\n\n</Directory>\n</Macro>\nUse M", "[macro:warn] AH02793: bad (negative) nesting on line 4 of macro 'm' (defined on line 2 of \"{}\")\n[macro:warn] AH02795: bad cumulated nesting (-1) in macro 'm' (defined on line 2 of \"{}\")\napache2: Syntax error on line 2 of macro 'm' (defined on line 2 of \"{}\") used on line 7 of \"{}\": </Directory> without matching <Directory> section"),
    row("", "<Macro M>\n<Directory /tmp>\n</Files>\n</Macro>\nUse M", "apache2: Syntax error on line 2 of macro 'm' (defined on line 2 of \"{}\") used on line 6 of \"{}\": Expected </Directory> but saw </Files>"),
    row("", "<Macro M>\n<Directory /tmp>", "apache2: Syntax error on line 2 of {}: macro 'm' (defined on line 2 of \"{}\")\\n\\tcontents error: expected token not found: </Macro>"),
    row("", "<Macro $M> x\nOptions None\n</Macro> y\n<Macro $m ${b}>\nOptions ${b}\n</Macro> # z", "[macro:warn] AH02989: AH02801: non blank chars found after <Macro closing '>' on line 2 of {}:  x\n[macro:warn] AH02803: macro '$m' (defined on line 2 of \"{}\") better prefix a macro name with any of '$%@'\n[macro:warn] AH02989: AH02794: non blank chars found after directive closing on line 4 of {}:  y\n[core:warn] AH00111: Config variable ${b} is not defined\n[macro:warn] AH02802: macro '$m' multiply defined: defined on line 2 of \"{}\", redefined on line 5 of \"{}\"\n[macro:warn] AH02803: macro '$m' (defined on line 5 of \"{}\") better prefix a macro name with any of '$%@'\n[macro:warn] AH02805: macro '$m' (defined on line 5 of \"{}\") argument name '${b}' (#1) clashes with 'Define' syntax '${...}', better use '$(...)'.\nSyntax OK"),
    row("", "<Macro M /x /IgnoreEmptyArgsY $a>\nOptions $a\n</Macro>", "[macro:warn] AH02804: macro 'm' (defined on line 2 of \"{}\"): unknown flag '/x'\n[macro:warn] AH02804: macro 'm' (defined on line 2 of \"{}\"): unknown flag 'Y'\nSyntax OK"),
    row("", "<Macro M @a>\nOptions @a\n</Macro>\nUse M 'x \"y'", "AH00526: Syntax error on line 1 of macro 'm' (defined on line 2 of \"{}\") used on line 5 of \"{}\":\nIllegal option x \"y"),
];

fn root() -> Root {
    let names = ["alias", "macro", "mime"];
    let load = |name| format!("LoadModule {name}_module modules/mod_{name}.so\n");
    let root = Root::new(&names.map(load).concat());
    root.folder.write("mime.types", "");
    root
}

/// An answer, without what changes with time and what only we say.
fn said(answer: &Answer, file: &str) -> Vec<String> {
    let is_ours = |line: &&str| {
        !line.starts_with("  ")
            && !line.starts_with("warning: ")
            && !line.starts_with(file)
            && !line.starts_with(&format!("macro 'm' (defined on line 2 of \"{file}"))
    };
    let plain = |line: &str| {
        let line = line.replace(file, "{}");
        // What is wrong with such a name depends on who is asked.
        let again = "(EAI 3)Temporary failure in name resolution";
        let line = line.replace(again, "(EAI 2)Name or service not known");
        let parts: Vec<&str> = line.splitn(4, "] ").collect();
        match parts.as_slice() {
            [_, module, _, text] if line.starts_with('[') => format!("{module}] {text}"),
            _ => line,
        }
    };
    answer.err.lines().filter(is_ours).map(plain).collect()
}

fn check(root: &Root, call: impl Fn(&[&str]) -> Answer) {
    let file = root.folder.join("lines.conf").display().to_string();
    for (options, text, expected) in ROWS {
        root.folder.write("lines.conf", format!("Include apache2.conf\n{text}\n"));
        let options = options.split_whitespace();
        let words: Vec<&str> = ["-t", "-f", "lines.conf"].into_iter().chain(options).collect();
        let answer = call(&words);
        assert_eq!(said(&answer, &file).join("\n"), *expected, "{words:?} {text}");
        assert_eq!(answer.code, i32::from(!expected.ends_with("Syntax OK")), "{text}");
    }
}

#[test]
fn warnings_are_told_in_the_words_and_the_order_of_httpd() {
    let root = root();
    check(&root, |words| root.call(words));
}

#[test]
fn httpd_itself_warns_of_the_same() {
    let (httpd, modules) =
        (PathBuf::from("/usr/sbin/apache2"), PathBuf::from("/usr/lib/apache2/modules"));
    if !httpd.exists() || !modules.exists() {
        return not_run("httpd_itself_warns_of_the_same", "apache2 is not installed");
    }
    let root = root();
    symlink(&modules, root.folder.join("modules")).unwrap();
    check(&root, |words| {
        let mut command = Command::new(&httpd);
        command.arg0(root.program("apache2")).arg("-d").arg(root.folder.path()).args(words);
        Answer::of(&run_command(&mut command, 30))
    });
}
