//! What is done while a configuration is read. The expected errors are those that
//! `apache2 -t -f /main.conf` prints, unless a comment says that they are of our own.

mod lost;
mod macros;

use std::collections::BTreeMap;

use config::{
    Expanded, GuardRow, Guards, Included, ModuleName, StartFacts, World, ast, diagnostic, expand,
    parse,
};

const MODULES: &[ModuleName] = &[
    ModuleName { symbol: "so_module", file: "mod_so.c", is_static: true },
    ModuleName { symbol: "macro_module", file: "mod_macro.c", is_static: true },
    ModuleName { symbol: "alias_module", file: "mod_alias.c", is_static: false },
    ModuleName { symbol: "mpm_event_module", file: "event.c", is_static: false },
    ModuleName { symbol: "mpm_prefork_module", file: "prefork.c", is_static: false },
    ModuleName { symbol: "mpm_worker_module", file: "worker.c", is_static: false },
];

/// Files in memory; a folder is what is a prefix of one. Of patterns only a final `*` is known:
/// what they mean is the business of the real world.
#[derive(Default)]
struct Files(BTreeMap<String, String>);

impl World for Files {
    fn environment(&self, name: &str) -> Option<String> {
        (name == "HOME").then(|| "/home/a".into())
    }

    fn files(&mut self, path: &str, optional: bool) -> Result<Vec<String>, String> {
        let start = path.strip_suffix('*').unwrap_or(path);
        let is_meant =
            |name: &&String| if start == path { *name == path } else { name.starts_with(start) };
        let found: Vec<String> = self.0.keys().filter(is_meant).cloned().collect();
        match found.is_empty() && !optional {
            true => {
                Err(format!("Could not open configuration file {path}: No such file or directory"))
            }
            false => Ok(found),
        }
    }

    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        self.0.get(path).map(|text| text.clone().into_bytes()).ok_or_else(|| "gone".into())
    }

    fn exists(&mut self, path: &str) -> bool {
        self.0.contains_key(path) || self.is_folder(path)
    }

    fn is_folder(&mut self, path: &str) -> bool {
        self.0.keys().any(|name| name.starts_with(&format!("{path}/")))
    }

    /// Of expressions only `^` at the start is known, and that `(` is none.
    fn matches(&mut self, pattern: &str, subject: &str) -> Option<bool> {
        match pattern.strip_prefix('^') {
            _ if pattern == "(" => None,
            Some(start) => Some(subject.starts_with(start)),
            None => Some(subject.contains(pattern)),
        }
    }
}

fn expanded(files: &[(&str, &str)]) -> Expanded {
    expanded_for(files, true, None)
}

const GUARDS: &[GuardRow] = &[GuardRow { name: "Require", shuts: |_, _| true, advice: None }];

/// As httpd expands or, with everything there, as `trivet serve` does.
fn expanded_for(files: &[(&str, &str)], is_modular: bool, mpm: Option<&'static str>) -> Expanded {
    let mut world = Files::default();
    for (name, text) in files {
        world.0.insert((*name).into(), (*text).into());
    }
    let start = StartFacts {
        defines: vec![("BARE".into(), None), ("SET".into(), Some("one two".into()))],
        modules: MODULES,
        is_modular,
        has_directive: &|name, _| ["listen", "<directory"].contains(&name.to_lowercase().as_str()),
        guards: Guards { rows: GUARDS, ..Guards::default() },
        server_root: "/etc".into(),
        version: [2, 4, 71],
        bytes_max: 1 << 20,
        htaccess: None,
        missing: &[],
        mpm,
    };
    let main = parse("/main.conf", files[0].1.as_bytes(), 1);
    expand(vec![main], &start, &mut world)
}

fn said(expanded: &Expanded) -> String {
    diagnostic::render("apache2", &expanded.diagnostics)
}

/// What is left of `/main.conf`, which must have no errors and no warnings.
fn left(files: &[(&str, &str)]) -> String {
    let expanded = expanded(files);
    assert_eq!(said(&expanded), "", "{files:?}");
    ast::print(&expanded.nodes[0])
}

/// The first line of what is said.
fn first_line(files: &[(&str, &str)]) -> String {
    said(&expanded(files)).lines().next().unwrap_or_default().into()
}

fn error(text: &str) -> String {
    let line = first_line(&[("", text)]);
    line.strip_prefix("apache2: Syntax error on line ")
        .unwrap_or(&line)
        .replace(" of /main.conf", "")
}

#[test]
fn lines_keep_their_order_around_one_that_does_not_stay() {
    let inner = "A a\nDefine X x\n<S>\nB b\n</S>\nC ${X}\n<IfDefine X>\nD d\n</IfDefine>\nE e\n";
    let text = format!("<Outer>\nZ z\n<Inner>\n{inner}</Inner>\nF f\n</Outer>\n");
    let expected = "<Outer>\n    Z z\n    <Inner>\n        A a\n        <S>\n            B b\n\
                    \x20       </S>\n        C x\n        D d\n        E e\n    </Inner>\n    F f\n\
                    </Outer>\n";
    assert_eq!(left(&[("", &text)]), expected);
    // The same without anything that acts while reading.
    let plain = "<Outer>\n    Z z\n    <Inner>\n        A a\n    </Inner>\n    F f\n</Outer>\n";
    assert_eq!(left(&[("", plain)]), plain);
}

#[test]
fn variables_are_replaced_where_they_are_met() {
    let cases = [
        ("A ${SET}", "A one two\n"),
        ("A x${SET}y", "A xone twoy\n"),
        ("A ${HOME}/b ${HOME}", "A /home/a/b /home/a\n"),
        ("Define X y\nA ${X}", "A y\n"),
        ("Define X y\nDefine X z\nA ${X}", "A z\n"),
        ("Define X \"${SET}\"\nA ${X}", "A one two\n"),
        ("Define HOME b\nA ${HOME}\nUnDefine HOME\nA ${HOME}", "A b\nA /home/a\n"),
        // A value may be a name, and a name alone.
        ("Define X A\n${X} b", "A b\n"),
        ("${SET}", "one two\n"),
        ("<B ${SET}>\n A ${SET}\n</B>", "<B one two>\n    A one two\n</B>\n"),
        ("Define S B\n<${S} c>\n</${S}>", "<B c>\n</B>\n"),
        ("A ${SET", "A ${SET\n"),
        ("A $SET {SET} $", "A $SET {SET} $\n"),
        ("A ${map:key}", "A ${map:key}\n"),
    ];
    for (text, expected) in cases {
        assert_eq!(left(&[("", text)]), expected, "{text}");
    }
}

#[test]
fn an_undefined_variable_stays_and_is_said() {
    for (text, name) in [
        ("A ${NO} b", "${NO}"),
        ("A ${}", "${}"),
        ("A ${BARE}", "${BARE}"),
        ("A ${a b}", "${a b}"),
        ("A ${a${SET}}", "${a${SET}"),
        ("Define X \"\"\nA ${X}", "${X}"),
    ] {
        let expanded = expanded(&[("", text)]);
        let line = text.lines().last().unwrap();
        assert_eq!(ast::print(&expanded.nodes[0]), format!("{line}\n"), "{text}");
        let warning = said(&expanded);
        let expected = format!("AH00111: Config variable {name} is not defined\n");
        assert!(warning.starts_with(&expected), "{text}: {warning}");
    }
    // Where nothing is read nothing is replaced.
    assert_eq!(left(&[("", "<IfDefine NO>\nA ${NO}\n</IfDefine>\n# ${NO}")]), "");
}

const HOLDS: &[&str] = &[
    "<IfDefine BARE>",
    "<IfDefine SET>",
    "<IfDefine !NO>",
    "<IfDefine BARE x>",
    "<IfDefine \"BARE\">",
    "<IfDefine BARE >",
    "<IfDefine ! NO>",
    "<ifdefine BARE>",
    "<IfModule so_module>",
    "<IfModule mod_so.c>",
    "<IfModule \"mod_so.c\">",
    "<IfModule !alias_module>",
    "<IfModule !mod_nope.c>",
    "<IfModule mod_so.c x>",
    "<IfFile a.conf>",
    "<IfFile /etc/a.conf>",
    "<IfFile /etc>",
    "<IfFile !b.conf>",
    "<IfFile \"./x/../a.conf\">",
    "<IfDirective listen>",
    "<IfDirective <Directory>",
    "<IfDirective Include>",
    "<IfDirective !Nope>",
    "<IfSection Directory>",
    "<IfSection IfModule>",
    "<IfSection Macro>",
    "<IfVersion 2.4.71>",
    "<IfVersion = 2.4.71>",
    "<IfVersion == 2.4.71>",
    "<IfVersion >= 2.4>",
    "<IfVersion < 2.5>",
    "<IfVersion !< 2.4>",
    "<IfVersion >= \"2.4\">",
    "<IfVersion >= 02.4>",
    "<IfVersion >= 2.>",
    "<IfVersion > 2>",
    "<IfVersion <= 2.4.71>",
    "<IfVersion ~ ^2.4>",
    "<IfVersion \"~\" 4.71>",
    "<IfVersion !~ ^4>",
    "<IfVersion /^2/>",
    "<IfVersion = /.71/>",
    "<IfVersion == //>",
    "<IfVersion != /^3/>",
];

const FAILS: &[&str] = &[
    "<IfDefine NO>",
    "<IfDefine bare>",
    "<IfDefine !BARE>",
    "<IfDefine \"!BARE\">",
    "<IfModule alias_module>",
    "<IfModule SO_module>",
    "<IfModule mod_so>",
    "<IfModule so>",
    "<IfFile b.conf>",
    "<IfFile *.conf>",
    "<IfDirective Nope>",
    "<IfSection Listen>",
    "<IfSection <directory>>",
    "<IfSection \"<Directory\">",
    "<IfVersion 2.4>",
    "<IfVersion = 2.4>",
    "<IfVersion > 2.4.71>",
    "<IfVersion < 2>",
    "<IfVersion ~ ^4>",
    "<IfVersion !~ ^2>",
    "<IfVersion ~ \"^2.4>\">",
    "<IfVersion /^4/>",
    "<IfVersion != /^2/>",
];

#[test]
fn conditions_hold_or_not() {
    let holds = HOLDS.iter().map(|opens| (opens, "A\n"));
    for (opens, expected) in holds.chain(FAILS.iter().map(|opens| (opens, ""))) {
        let name = opens[1..].split(' ').next().unwrap();
        let text = format!("{opens}\nA\n</{name}>");
        assert_eq!(left(&[("", &text), ("/etc/a.conf", "")]), expected, "{opens}");
    }
}

#[test]
fn conditions_that_cannot_be_read_are_errors() {
    let version = "1: Version appears to be invalid. It must have the format \
                   major[.minor[.patch]] where major, minor and patch are numbers.";
    let unclosed = |name: &str| format!("1: <{name}> directive missing closing '>'");
    for (opens, expected) in [
        ("<IfDefine>", "1: <IfDefine> directive requires additional arguments"),
        ("<IfDefine \"\">", "1: <IfDefine> directive requires additional arguments"),
        ("<IfDefine !>", "1: <IfDefine> directive requires additional arguments"),
        ("<IfModule>", "1: <IfModule> directive requires additional arguments"),
        ("<IfFile>", "1: <IfFile> directive requires additional arguments"),
        ("<IfSection>", "1: <IfSection> directive requires additional arguments"),
        ("<IfDefine a", &unclosed("IfDefine")),
        ("<IfVersion >= 2.4 x>", &unclosed("IfVersion")),
        ("<IfVersion>", version),
        ("<IfVersion >=2.4>", version),
        ("<IfVersion = 2.x>", version),
        ("<IfVersion = 2.4.71.3>", version),
        ("<IfVersion >= >", version),
        ("<IfVersion !2.4>", version),
        ("<IfVersion =! 2.4>", "1: unrecognized operator '=!'"),
        ("<IfVersion foo 2.4>", "1: unrecognized operator 'foo'"),
        ("<IfVersion ! 2.4>", "1: unrecognized operator '!'"),
        ("<IfVersion ~>", version),
        ("<IfVersion >= /2/>", version),
        ("<IfVersion !/^2/>", version),
        ("<IfVersion ~= 2.4>", "1: unrecognized operator '~='"),
        ("<IfVersion ~ (>", "1: Unable to compile regular expression"),
        ("<IfVersion /(/>", "1: Unable to compile regular expression"),
        ("<IfVersion />", "1: Missing delimiting / of regular expression."),
        ("<IfVersion = /2>", "1: Missing delimiting / of regular expression."),
    ] {
        let name = opens[1..].trim_end_matches('>').split(' ').next().unwrap();
        assert_eq!(error(&format!("{opens}\nA\n</{name}>")), expected, "{opens}");
    }
}

#[test]
fn arguments_are_counted_as_httpd_does() {
    for (text, expected) in [
        (
            "Define",
            "1: Define takes 1-2 arguments, Define a variable, optionally to a value.  \
                    Same as passing -D to the command line.",
        ),
        ("Define a: b", "1: Variable name must not contain ':'"),
        ("UnDefine a:", "1: Variable name must not contain ':'"),
        (
            "UnDefine",
            "1: UnDefine takes one argument, Undefine the existence of a variable. Undo a Define.",
        ),
        (
            "Include",
            "1: Include takes one argument, Name(s) of the config file(s) to be included; \
                     fails if the wildcard does not match at least one file",
        ),
        (
            "IncludeOptional a b",
            "1: IncludeOptional takes one argument, Name or pattern of the config \
                                 file(s) to be included; ignored if the file does not exist or the \
                                 pattern does not match any files",
        ),
        (
            "ServerRoot",
            "1: ServerRoot takes one argument, Common directory of server-related files \
                        (logs, confs, etc.)",
        ),
        ("ServerRoot /nope", "1: ServerRoot must be a valid directory"),
        (
            "LoadModule a_module",
            "1: LoadModule takes two arguments, a module name and the name of a \
                                 shared object file to load it from",
        ),
        ("UndefMacro", "1: UndefMacro takes one argument, Remove a macro definition."),
        ("UndefMacro a", "1: no macro defined before UndefMacro"),
        ("Use", "1: no macro defined before Use"),
    ] {
        assert_eq!(error(text), expected, "{text}");
    }
}

#[test]
fn modules_are_there_once_they_are_loaded() {
    let text = "<IfModule alias_module>\nA\n</IfModule>\nLoadModule alias_module mod_alias.so\n\
                <IfModule mod_alias.c>\nB\n</IfModule>";
    assert_eq!(left(&[("", text)]), "B\n");
    let static_one = first_line(&[("", "LoadModule so_module x")]);
    assert!(static_one.ends_with("module so_module is built-in and can't be loaded"));
    let twice = "LoadModule alias_module x\nLoadModule alias_module x";
    let expected = "AH01574: module alias_module is already loaded, skipping";
    assert_eq!(first_line(&[("", twice)]), expected);
    let later = "LoadModule rewrite_module x\n<IfModule mod_rewrite.c>\nA\n</IfModule>";
    let all = expanded(&[("", later)]);
    assert!(all.nodes[0].is_empty() && all.loaded == ["so_module", "macro_module"]);
    // From here on in our words.
    assert!(said(&all).starts_with("warning: /main.conf:1: Trivet has no rewrite_module yet"));
    let unknown = said(&expanded(&[("", "LoadModule alias_moduel m.so")]));
    assert!(unknown.contains(
        "line 1 of /main.conf: Cannot load m.so into server: m.so: cannot open shared object \
         file: No such file or directory"
    ));
    let below = said(&expanded(&[("", "LoadFile d/m.so")]));
    assert!(below.contains("Cannot load d/m.so into server: /etc/d/m.so: cannot open"), "{below}");
    let folder = said(&expanded(&[("", "LoadModule other_thing d"), ("/etc/d/x", "")]));
    assert!(folder.contains("Cannot load d into server: d: cannot read file data"), "{folder}");
    let stock = [("", "LoadModule alias_modul /mod_alias.so"), ("/mod_alias.so", "")];
    let stock = said(&expanded(&stock));
    assert!(
        stock.contains("Can't locate API module structure `alias_modul' in file /mod_alias.so")
    );
    let others = [("", "LoadModule jk_module /mod_jk.so"), ("/mod_jk.so", "")];
    let others = said(&expanded(&others));
    assert!(others.contains("Trivet cannot load others: remove the line"), "{others}");
    assert!(!others.contains("did you mean"), "{others}");
    let debian = [
        ("", "Include /mods-enabled/security2.load"),
        ("/mods-enabled/security2.load", "LoadModule security2_module /mod_security2.so"),
        ("/mod_security2.so", ""),
    ];
    let debian = said(&expanded(&debian));
    assert!(debian.contains("Trivet cannot load others: a2dismod security2"), "{debian}");
    assert!(unknown.contains("did you mean alias_module?"), "{unknown}");
}

#[test]
fn conditions_hold_for_the_mpm_that_runs() {
    const ASK: &str = "<IfModule event.c>\nE\n</IfModule>\n<IfModule mpm_worker_module>\nW\n\
                       </IfModule>\n<IfModule !prefork.c>\nnotP\n</IfModule>\n\
                       <IfModule mod_mpm_event.c>\nnever\n</IfModule>\n";
    let load = |name: &str| format!("LoadModule mpm_{name}_module x\n");
    let two = format!("{}{}", load("event"), load("worker"));
    let worker = Some("mpm_worker_module");
    for (lines, is_modular, mpm, expected) in [
        ("", true, None, "notP"),
        ("", false, None, "E notP"),
        ("", false, worker, "W notP"),
        (&*load("event"), true, None, "E notP"),
        (&load("prefork"), false, None, ""),
        (&load("prefork"), false, worker, "W notP"),
        (&two, true, None, "W notP"),
        (&two, true, Some("mpm_event_module"), "E notP"),
    ] {
        let text = format!("{lines}{ASK}");
        let all = expanded_for(&[("", &text)], is_modular, mpm);
        let names: Vec<&str> = all.nodes[0].iter().map(|node| node.line().name()).collect();
        assert_eq!(names.join(" "), expected, "{lines} {is_modular} {mpm:?}");
    }
    let all = expanded(&[("", &two)]);
    let expected = "More than one MPM is loaded: the last, mpm_worker_module, is used";
    assert!(said(&all).contains(expected), "{}", said(&all));
    assert_eq!(all.mpms, ["mpm_event_module", "mpm_worker_module"]);
    assert_eq!(all.loaded, ["so_module", "macro_module", "mpm_worker_module"]);
    let asks = |text: &str| expanded(&[("", text)]).asks_for_mpm;
    assert!(asks("<IfModule !event.c>\n</IfModule>") && asks(ASK));
    assert!(!asks(&two) && !asks("<IfModule mod_so.c>\n</IfModule>"));
    let chosen = expanded_for(&[("", &two)], false, Some("mpm_event_module"));
    assert_eq!(said(&chosen), "");
}

#[test]
fn files_are_included_in_order_with_their_positions() {
    let files = [
        ("", "A\nInclude d/*\nServerRoot /srv\n<B x>\n  IncludeOptional none\n  Include c\n</B>"),
        ("/etc/d/1", "\nOne\n"),
        ("/etc/d/2", "Include /etc/e\nTwo"),
        ("/etc/e", "E"),
        ("/srv/c", "C"),
    ];
    assert_eq!(left(&files), "A\nOne\nE\nTwo\n<B x>\n    C\n</B>\n");
    let all = expanded(&files);
    let one = all.nodes[0][1].line();
    assert_eq!((&**one.file(), one.number()), ("/etc/d/1", 2));
    let included = |path: &str, depth, line| Included { path: path.into(), depth, line };
    assert_eq!(
        all.included,
        [
            included("/etc/d/1", 1, 2),
            included("/etc/d/2", 1, 2),
            included("/etc/e", 2, 1),
            included("/srv/c", 1, 6)
        ]
    );
    assert_eq!(all.server_root, "/srv");
}

#[test]
fn errors_name_the_way_to_them_and_come_in_order() {
    let none = "Could not open configuration file /etc/nope: No such file or directory";
    let bad = ("/etc/bad", "\n\nA\n</Files>");
    let open = ("/etc/open", "<Directory /x>\nA");
    let m = "<Macro m>\nInclude bad\n</Macro>\n";
    let files = "</Files> without matching <Files> section";
    for (main, expected) in [
        ("Include nope", format!("1 of /main.conf: {none}")),
        ("A\nInclude bad", format!("2 of /main.conf: Syntax error on line 4 of /etc/bad: {files}")),
        ("<IfDefine SET>\nInclude nope\n</IfDefine>", format!("2 of /main.conf: {none}")),
        (
            "<Directory /x>\nInclude nope\n</Files>\n</Directory>",
            format!("2 of /main.conf: {none}"),
        ),
        ("<Directory /x>\nInclude nope", format!("2 of /main.conf: {none}")),
        (
            "<Directory /x>\n</Files>\nInclude nope\n</Directory>",
            "2 of /main.conf: Expected </Directory> but saw </Files>".into(),
        ),
        (
            "Include open",
            "1 of /main.conf: Syntax error on line 1 of /etc/open: /etc/open:1: \
             <Directory> was not closed."
                .into(),
        ),
        (
            &format!("{m}\nInclude use"),
            format!(
                "5 of /main.conf: Syntax error on line 1 of macro 'm' (defined on line 1 of \
                 \"/main.conf\") used on line 1 of \"/etc/use\": Syntax error on line 4 of \
                 /etc/bad: {files}"
            ),
        ),
    ] {
        let line = first_line(&[("", main), bad, open, ("/etc/use", "Use m")]);
        assert_eq!(line, format!("apache2: Syntax error on line {expected}"), "{main}");
    }
}
