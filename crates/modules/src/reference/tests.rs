//! Tests of the manual: nothing is stale, nothing is missing, and each example is a configuration
//! that the server takes. Nothing of the machine is looked at: files are there because an example
//! names them.

use super::*;
use crate::MODULES;
use config::index::FoundRow;
use config::{Diagnostic, Severity, StartFacts, World};
use server::site::builder::Builder;
use server::site::overrides::Overrides;

#[test]
fn docs_are_fresh() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let stale = stale(&folder).unwrap();
    assert!(stale.is_empty(), "run `cargo xtask docs`: {stale:?}");
}

#[test]
fn a_folder_is_brought_up_to_date() {
    let folder = std::env::temp_dir().join(format!("trivet-manual-{}", std::process::id()));
    let count = pages().len();
    assert_eq!(stale(&folder).unwrap().len(), count);
    assert_eq!(write(&folder).unwrap().len(), count);
    fs::write(folder.join("mod_gone.md"), "").unwrap();
    fs::write(folder.join("core.md"), "").unwrap();
    assert_eq!(write(&folder).unwrap(), ["core.md", "mod_gone.md"]);
    assert_eq!(stale(&folder).unwrap(), [""; 0]);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn places_have_the_words_of_the_manual() {
    let places = |scope| (context(scope), overrides(scope));
    let (context, classes) = places(Scope::OR_FILEINFO);
    assert_eq!(context, "server config, virtual host, directory, .htaccess");
    assert_eq!(classes.unwrap(), "`FileInfo`");
    assert_eq!(places(Scope::SERVER | Scope::DIRECTORY).0, "server config, `<Directory>`");
    assert_eq!(places(Scope::OR_ALL).1.unwrap(), "any class");
    assert_eq!(places(Scope::RSRC_CONF).1, None);
}

#[test]
fn names_are_no_markdown() {
    assert_eq!(literal("a <Files> of *|b_c\n"), "a \\<Files\\> of \\*\\|b\\_c");
}

#[test]
fn names_of_other_directives_are_links() {
    let text =
        linked("`Alias` and `Listen`, [x](../../../docs/guide/x.md) `on`", "Alias", &entries());
    assert_eq!(text, "`Alias` and [`Listen`](core.md#listen), [x](../guide/x.md) `on`");
}

#[test]
fn what_a_terminal_shows_has_no_marks() {
    assert_eq!(
        unmarked("a `b[c]` of [the guide\nto x](../x.md) and `d`"),
        "a b[c] of the guide\nto x and d"
    );
    let text = plain("alias").unwrap();
    assert!(
        text.starts_with("Alias\n\n") && text.contains("\nSyntax: Alias /url-path path\nContext: "),
        "{text}"
    );
    assert_eq!(plain("<ifdefine>"), plain("IfDefine"));
    assert!(plain("nonsense").is_none());
}

/// The longest first sentence that a table of all directives bears.
const SUMMARY_LETTERS_MAX: usize = 160;

#[test]
fn each_directive_is_explained_on_the_page_of_its_module() {
    let mut wrong: Vec<String> = Vec::new();
    let all = entries();
    for entry in &all {
        let name = written(entry.name);
        let Some(prose) = prose(entry.name) else {
            wrong.push(format!("{}: nothing about {name}", entry.page));
            continue;
        };
        let summary = prose.summary();
        let length = summary.chars().count();
        if length > SUMMARY_LETTERS_MAX || !summary.ends_with('.') {
            wrong.push(format!("{name}: no short first sentence: {length} letters: {summary}"));
        }
        let is_vague = [" arg", " ...>"].iter().any(|it| entry.syntax.contains(it))
            || entry.syntax.ends_with(" ...");
        let begins_with_name = |line: &str| line.starts_with(entry.name);
        if is_vague && prose.syntax.is_none() || !prose.syntax.is_none_or(begins_with_name) {
            wrong.push(format!(
                "{name}: the row says {}, the text {:?}",
                entry.syntax, prose.syntax
            ));
        }
    }
    for file in prose::files() {
        if file.about.is_empty() {
            wrong.push(format!("{}: not a word about the module", file.page));
        }
        for entry in &file.entries {
            let is_it =
                |row: &&ManualEntry| row.page == file.page && written(row.name) == entry.name;
            if all.iter().filter(is_it).count() != 1 {
                wrong.push(format!("{}: {} is no directive of it", file.page, entry.name));
            }
        }
        let names: BTreeSet<&str> = file.entries.iter().map(|entry| entry.name).collect();
        if names.len() != file.entries.len() {
            wrong.push(format!("{}: a directive is explained twice", file.page));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn each_example_has_its_directive_and_is_accepted() {
    let mut wrong: Vec<String> = Vec::new();
    for entry in prose::files().iter().flat_map(|file| &file.entries) {
        let opening = entry.name.trim_end_matches('>');
        let mut lines = entry.example.lines().map(|line| line.trim_start());
        if !lines.any(|line| line.split([' ', '>']).next() == Some(opening)) {
            wrong.push(format!("{}: not in its example", entry.name));
        }
        let said = said_of(entry);
        let is_error = |said: &&Diagnostic| said.severity == Severity::Error;
        let is_always_wrong = entry.text.contains("always an error");
        if is_always_wrong != said.iter().any(|said| is_error(&said)) {
            wrong.push(format!("{}: is it always an error? {said:?}", entry.name));
        }
        // What a line says about itself is what its text has to say, too.
        let is_told = entry.text.contains("no effect") || entry.text.contains("warn");
        let is_wrong = |said: &&Diagnostic| said.severity == Severity::Warning && !is_told;
        wrong.extend(said.iter().filter(is_wrong).map(|it| format!("{}: {}", entry.name, it.text)));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn what_is_no_configuration_would_be_found() {
    let said = |example| {
        let entry = Prose { name: "x", syntax: None, text: "", example, is_htaccess: false };
        let found = said_of(&entry).into_iter().map(|it| it.text).collect::<Vec<_>>();
        let entry = Prose { is_htaccess: true, ..entry };
        (found.len(), said_of(&entry).len())
    };
    assert_eq!(said("KeepAlive On\nTimeout x\n"), (1, 2));
    assert_eq!(said("Options +Indexes\n"), (0, 0));
    assert_eq!(said("DirectoryIndx index.html\n<Files x>\n"), (2, 2));
    assert_eq!(said("<If \"%{REQUEST_URI} ~~ 'x'\">\nSetHandler none\n</If>\n"), (1, 1));
}

/// What the server says of an example, which it reads as it reads any configuration, but opens
/// nothing that it names.
fn said_of(entry: &Prose) -> Vec<Diagnostic> {
    let index = MODULES.index();
    let names = MODULES.names();
    let start = StartFacts {
        defines: Vec::new(),
        modules: &names,
        is_modular: false,
        has_directive: &|name, _| matches!(index.find(name), FoundRow::Row(_)),
        guards: MODULES.guards,
        server_root: "/etc/apache2".into(),
        version: server::identity::VERSION,
        bytes_max: config::expand::EXPANDED_BYTES_MAX,
        htaccess: None,
        missing: &[],
        mpm: None,
    };
    let tree = config::parse("example", entry.example.as_bytes(), 1);
    let expanded = config::expand(vec![tree], &start, &mut Named);
    let mut said = expanded.diagnostics;
    let permitted =
        Overrides { classes: Scope::HTACCESS, options: u8::MAX, ..Overrides::default() };
    let mut builder = match entry.is_htaccess {
        true => Builder::for_htaccess("/srv/www", "/srv/www/.htaccess", permitted),
        false => Builder::default(),
    };
    builder.server.root = expanded.server_root.into();
    for nodes in &expanded.nodes {
        said.extend(config::apply(nodes, &index, &mut builder));
    }
    said.extend(MODULES.check(&builder));
    said.retain(|said| !OF_THE_MACHINE.iter().any(|text| said.text.contains(text)));
    said
}

/// What rows say that look for a file, or for the rights of root, while they are read: name, place
/// and number of arguments were right by then.
const OF_THE_MACHINE: &[&str] = &[
    // CoreDumpDirectory
    "does not exist",
    // FcgidWrapper, FcgidCmdOptions
    "cannot be accessed",
    // PassEnv
    "was undefined",
    // RemoteIPTrustedProxyList
    "Could not open file",
    // RequestSpoolDir
    "is not a directory",
    // Suexec, SuexecUserGroup
    "Missing suexec binary",
];

/// A system that has whatever is named: a name with a dot is a file, any other a folder.
struct Named;

impl World for Named {
    fn environment(&self, _: &str) -> Option<String> {
        None
    }

    fn files(&mut self, path: &str, _: bool) -> Result<Vec<String>, String> {
        Ok(vec![path.to_owned()])
    }

    fn read(&mut self, _: &str) -> Result<Vec<u8>, String> {
        Ok(Vec::new())
    }

    fn exists(&mut self, _: &str) -> bool {
        true
    }

    fn is_folder(&mut self, path: &str) -> bool {
        !path.rsplit('/').next().unwrap_or_default().contains('.')
    }

    fn matches(&mut self, pattern: &str, subject: &str) -> Option<bool> {
        let _ = pattern;
        Some(subject.is_empty())
    }
}
