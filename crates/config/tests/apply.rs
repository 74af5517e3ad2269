//! What the functions of rows are given, and what the readers of arguments make of it.

mod common;

use common::Toy;
use config::{
    COMMAND_LINE, Diagnostic, GuardRow, Guards, Scope, Severity, SourceText, apply, args,
    diagnostic, parse, parse_sources,
};

fn run(text: &str) -> (Toy, Vec<Diagnostic>) {
    let tree = parse("x.conf", text.as_bytes(), 1);
    assert!(tree.diagnostics.is_empty(), "{text}: {:?}", tree.diagnostics);
    let mut toy = Toy::new(Scope::SERVER);
    let diagnostics = apply(&tree.nodes, &common::index(), &mut toy);
    (toy, diagnostics)
}

/// Each line alone: what it does, or `Err` with the text of what was said instead.
fn check(cases: &[(&str, Result<&str, &str>)]) {
    for (text, expected) in cases {
        let (toy, diagnostics) = run(text);
        let said = diagnostics.first().map(|diagnostic| &diagnostic.text[..]);
        match expected {
            Ok(applied) => assert_eq!((&toy.applied[..], said), (&[applied.to_string()][..], None)),
            Err(text) => assert_eq!(said, Some(*text)),
        }
    }
}

/// What is said about a line when only modules of these symbols are loaded.
fn said_with(loaded: &[&str], text: &str) -> (Severity, String, Option<String>) {
    let index = common::index().with_loaded(&[&common::TOY], |symbol| loaded.contains(&symbol));
    let tree = parse("x.conf", text.as_bytes(), 1);
    let said = apply(&tree.nodes, &index, &mut Toy::new(Scope::SERVER));
    let first = said.into_iter().next().expect("something is said");
    (first.severity, first.text, first.suggestion)
}

#[test]
fn what_is_not_loaded_is_unknown() {
    let invalid = |name: &str| {
        format!(
            "Invalid command '{name}', perhaps misspelled or defined by a module not included in \
             the server configuration"
        )
    };
    // A row of a module that is not loaded, and a directive of httpd that has no row.
    for (line, name, hint) in [
        ("ToyNone", "ToyNone", "to load toy_module"),
        ("rewriteengine On", "rewriteengine", "to load rewrite_module"),
    ] {
        let expected = (Severity::Error, invalid(name), Some(hint.to_owned()));
        assert_eq!(said_with(&[], line), expected);
    }
    let (severity, text, _) = said_with(&["rewrite_module"], "RewriteEngine On");
    assert_eq!(severity, Severity::Warning, "{text}");
    let (_, text, near) = said_with(&["toy_module"], "RewriteEngin On");
    assert_eq!((text, near), (invalid("RewriteEngin"), None), "what is not there is no advice");
    // httpd has this one in a module of another name than the row's.
    let (_, text, _) = said_with(&["http_module"], "KeepAlive x");
    assert_eq!(text, "KeepAlive must be On or Off");
}

#[test]
fn arguments() {
    check(&[
        ("keepalive ON", Ok("KeepAlive true")),
        ("KeepAlive 'off' what follows is ignored", Ok("KeepAlive false")),
        ("ErrorDocument 404 \"a b\"", Ok(r#"ErrorDocument ["404", "a b"]"#)),
        ("LimitInternalRecursion 1", Ok(r#"LimitInternalRecursion ["1"]"#)),
        ("LimitInternalRecursion 1 \"\"", Ok(r#"LimitInternalRecursion ["1"]"#)),
        ("LimitInternalRecursion 1 2", Ok(r#"LimitInternalRecursion ["1", "2"]"#)),
        ("CustomLog a b", Ok(r#"CustomLog ["a", "b"]"#)),
        ("CustomLog a b c", Ok(r#"CustomLog ["a", "b", "c"]"#)),
        ("Protocols a b", Ok(r#"Protocols ["a", "b"]"#)),
        ("Protocols a \"\" b", Ok(r#"Protocols ["a"]"#)),
        ("AddIcon a b c d", Ok(r#"AddIcon ["a", "b", "c", "d"]"#)),
        ("AddIcon a \"\" c", Ok(r#"AddIcon ["a"]"#)),
        ("ToyNone", Ok("ToyNone []")),
        ("ToyThree a b c", Ok(r#"ToyThree ["a", "b", "c"]"#)),
        ("ToyOneOrThree a", Ok(r#"ToyOneOrThree ["a"]"#)),
        ("ToyOneOrThree a b c", Ok(r#"ToyOneOrThree ["a", "b", "c"]"#)),
        ("ToyOneTwoOrThree a b", Ok(r#"ToyOneTwoOrThree ["a", "b"]"#)),
    ]);
}

#[test]
fn durations() {
    let wrong = Err("KeepAliveTimeout has wrong format");
    check(&[
        ("KeepAliveTimeout 5", Ok("KeepAliveTimeout 5s")),
        ("KeepAliveTimeout 0", Ok("KeepAliveTimeout 0ns")),
        ("KeepAliveTimeout 500ms", Ok("KeepAliveTimeout 500ms")),
        ("KeepAliveTimeout 5s", Ok("KeepAliveTimeout 5s")),
        ("KeepAliveTimeout 2min", Ok("KeepAliveTimeout 120s")),
        ("KeepAliveTimeout 2mi", Ok("KeepAliveTimeout 120s")),
        ("KeepAliveTimeout 1hour", Ok("KeepAliveTimeout 3600s")),
        ("KeepAliveTimeout +5", Ok("KeepAliveTimeout 5s")),
        ("KeepAliveTimeout \" 5\"", Ok("KeepAliveTimeout 5s")),
        ("KeepAliveTimeout 5m", wrong),
        ("KeepAliveTimeout 5d", wrong),
        ("KeepAliveTimeout 5MS", wrong),
        ("KeepAliveTimeout 5S", wrong),
        ("KeepAliveTimeout 1.5", wrong),
        ("KeepAliveTimeout -5", wrong),
        ("KeepAliveTimeout abc", wrong),
        ("KeepAliveTimeout 99999999999h", wrong),
        ("KeepAliveTimeout 99999999999999999999", wrong),
    ]);
}

#[test]
fn numbers() {
    check(&[
        ("MaxKeepAliveRequests 1", Ok("MaxKeepAliveRequests 1")),
        ("MaxKeepAliveRequests 100", Ok("MaxKeepAliveRequests 100")),
        ("MaxKeepAliveRequests 0", Err("MaxKeepAliveRequests must be from 1 to 100")),
        ("MaxKeepAliveRequests -3", Err("MaxKeepAliveRequests must be from 1 to 100")),
        ("MaxKeepAliveRequests 1e2", Err("MaxKeepAliveRequests must be a number")),
        ("MaxKeepAliveRequests -", Err("MaxKeepAliveRequests must be a number")),
        ("LimitRequestBody 1000", Ok("LimitRequestBody 1000")),
        ("LimitRequestBody 10K", Ok("LimitRequestBody 10240")),
        ("LimitRequestBody 2m", Ok("LimitRequestBody 2097152")),
        ("LimitRequestBody 1G", Ok("LimitRequestBody 1073741824")),
        ("LimitRequestBody K", Err("LimitRequestBody must be a number of bytes")),
        ("LimitRequestBody -1", Err("LimitRequestBody must be a number of bytes")),
        ("LimitRequestBody 10é", Err("LimitRequestBody must be a number of bytes")),
        ("LimitRequestBody 99999999999G", Err("LimitRequestBody must be a number of bytes")),
    ]);
}

#[test]
fn a_number_is_read_as_far_as_it_goes() {
    for (word, expected) in [
        ("5", 5),
        ("-4", -4),
        (" +7", 7),
        ("12abc", 12),
        ("", 0),
        ("-", 0),
        ("x", 0),
        ("\u{e9}1", 0),
        ("99999999999", 99_999_999_999),
        ("99999999999999999999", i64::MAX),
        ("-99999999999999999999", i64::MIN),
    ] {
        assert_eq!(args::leading(word), expected, "{word}");
    }
    // As atoi(3) of the C library on 64 bits.
    assert_eq!(["4294967297", "99999999999999999999"].map(args::leading_int), [1, -1]);
}

#[test]
fn clamps_with_a_warning() {
    let cases = [
        ("0", "1", "StartServers of 0 not allowed, increasing to 1"),
        ("-5", "1", "StartServers of -5 not allowed, increasing to 1"),
        ("101", "100", "StartServers of 101 not allowed, decreasing to 100"),
        (
            "99999999999999999999",
            "100",
            "StartServers of 99999999999999999999 not allowed, decreasing to 100",
        ),
    ];
    for (given, taken, said) in cases {
        let (toy, diagnostics) = run(&format!("StartServers {given}"));
        assert_eq!(toy.applied, [format!("StartServers {taken}")]);
        assert_eq!(diagnostics[0].text, said);
        assert_eq!(diagnostics[0].severity, config::Severity::Warning);
    }
    assert_eq!(run("StartServers 100").1, []);
}

#[test]
fn words_of_a_list() {
    check(&[
        ("ServerSignature EMail", Ok("ServerSignature 2")),
        ("Options none", Ok("Options [(Set, 0)]")),
        ("Options Indexes FollowSymlinks", Ok("Options [(Set, 1), (Set, 2)]")),
        ("Options +Indexes -FollowSymLinks", Ok("Options [(Add, 1), (Remove, 2)]")),
        ("Options", Ok("Options []")),
        (
            "Options Indexes -FollowSymLinks",
            Err("Either all Options must start with + or -, or no Option may."),
        ),
        ("Options é", Err("Illegal option é")),
        ("Options \"\"", Err("Illegal option ")),
    ]);
}

#[test]
fn sections_are_entered_and_left() {
    let (toy, diagnostics) = run(
        "<VirtualHost a:80 \"b c\">\n<directory /x >\nOptions None\n</directory>\nKeepAlive On\n\
         </VirtualHost>\nStartServers 2\n<Directory /y>\nAllowOverride  a \"b\"\n</Directory>\n",
    );
    assert_eq!(diagnostics, []);
    let expected = [
        r#"<VirtualHost ["a:80", "b c"]"#,
        r#"<Directory ["/x"]"#,
        "Options [(Set, 0)]",
        "/Directory",
        "KeepAlive true",
        "/VirtualHost",
        "StartServers 2",
        r#"<Directory ["/y"]"#,
        r#"AllowOverride "a \"b\"""#,
        "/Directory",
    ];
    assert_eq!(toy.applied, expected);
}

#[test]
fn what_stands_in_a_refused_section_is_skipped() {
    let (toy, diagnostics) =
        run("<RequireAll>\nFoo\nOptions None\n</RequireAll>\n<Proxy *>\nFoo\n</Proxy>\nToyNone\n");
    assert_eq!(toy.applied, ["ToyNone []"]);
    assert_eq!(diagnostics.len(), 2, "{diagnostics:?}");
}

/// What is said where `Require` and `Deny` must not be lost.
fn guarded(text: &str) -> Vec<Diagnostic> {
    const fn row(name: &'static str) -> GuardRow {
        GuardRow { name, shuts: |_, _| true, advice: None }
    }
    let guards = Guards {
        rows: &const { [row("Require"), row("Deny")] },
        line_advice: "say it otherwise",
        section_advice: "use another section",
    };
    let tree = parse("x.conf", text.as_bytes(), 1);
    apply(&tree.nodes, &common::index().guarded(guards), &mut Toy::new(Scope::SERVER))
}

#[test]
fn what_keeps_something_shut_is_not_skipped() {
    for text in [
        "<FilesMatch x>\nRequire all denied\n</FilesMatch>",
        "<filesmatch x>\nOptions None\nREQUIRE all denied\n</filesmatch>",
        "<LimitExcept GET>\n<RequireAll>\ndeny from all\n</RequireAll>\n</LimitExcept>",
        "<If \"true\">\n<Directory /x>\nDeny from all\n</Directory>\n</If>",
        "<Directory /x>\n<Limit GET>\nDeny from all\n</Limit>\n</Directory>",
        "Deny from all",
        "<Location /x>\norder deny,allow\ndeny from all\n</Location>",
    ] {
        let said = guarded(text);
        let errors: Vec<_> = said.iter().filter(|it| it.severity == Severity::Error).collect();
        assert_eq!(errors.len(), 1, "{text}: {said:?}");
        assert!(errors[0].text.contains("would be open without it: "), "{said:?}");
    }
    for text in ["<FilesMatch x>\nOptions None\n</FilesMatch>", "Order deny,allow", "Redirect a b"]
    {
        let said = guarded(text);
        assert_eq!(said.len(), 1, "{text}: {said:?}");
        assert_eq!(said[0].severity, Severity::Warning, "{text}");
    }
}

#[test]
fn the_error_names_section_guard_and_what_to_do() {
    let said = guarded("<FilesMatch \"x\">\nRequire all denied\n</FilesMatch>");
    assert_eq!(
        said[0].text,
        "<FilesMatch> is not supported yet, and what the Require in it protects would be open \
         without it: use another section"
    );
    let said = guarded("deny from all");
    assert_eq!(
        said[0].text,
        "Deny is not supported yet, and what it protects would be open without it: say it \
         otherwise"
    );
}

#[test]
fn what_is_said_of_several_lines_is_said_once_with_the_place_of_each() {
    let text = "Redirect a b\nOptions None\nRedirect a b\nRedirect c d\nRedirect e f\n\n\
                Redirect g h\n";
    let said = guarded(text);
    assert_eq!(said.iter().filter(|it| it.severity == Severity::Warning).count(), 5, "{said:?}");
    let warnings: Vec<_> = said.into_iter().filter(|it| it.severity == Severity::Warning).collect();
    assert_eq!(
        diagnostic::render("trivet", &warnings),
        "warning: x.conf:1: Redirect is not supported yet: the line has no effect\n  \
         1 | Redirect a b\n    | ^^^^^^^^\n  also lines 3-5, 7 of x.conf\n"
    );
}

#[test]
fn hosts_that_nobody_serves_lose_nothing() {
    let text = "<VirtualHost *:443>\nDeny from all\n</VirtualHost>";
    for (port, errors) in [(443, 1), (80, 0)] {
        let mut said = guarded(text);
        diagnostic::settle(&mut said, |served| served == port, true);
        let is_error = |it: &&Diagnostic| it.severity == Severity::Error;
        assert_eq!(said.iter().filter(is_error).count(), errors, "{said:?}");
    }
    for (addresses, is_served) in [
        ("*:80 1.2.3.4:443", true),
        ("[::1]:443", true),
        ("\"*:443\"", true),
        ("*", true),
        ("[::1]", true),
        ("name:*", true),
        ("_default_:8443", false),
        ("", false),
    ] {
        let mut said = guarded(text);
        said.iter_mut().for_each(|it| it.host = it.host.take().map(|_| addresses.to_owned()));
        diagnostic::settle(&mut said, |served| served == 443, true);
        let has_error = said.iter().any(|it| it.severity == Severity::Error);
        assert_eq!(has_error, is_served, "{addresses}: {said:?}");
    }
}

/// What is printed about options of the command line.
fn printed(options: &[&str]) -> String {
    let numbered = options.iter().zip(1..);
    let sources: Vec<SourceText<'_>> = numbered
        .map(|(option, number)| SourceText {
            name: COMMAND_LINE,
            text: option.as_bytes(),
            first_line: number,
        })
        .collect();
    let tree = parse_sources(&sources);
    let mut said = tree.diagnostics;
    said.extend(apply(&tree.nodes, &common::index(), &mut Toy::new(Scope::SERVER)));
    diagnostic::render("trivet", &said)
}

#[test]
fn messages_tell_which_option_of_the_command_line_is_meant() {
    let lines = ["ToyNone", "KeepAlvie On", "LoadModule a b\nKeepAlive x", "<FilesMatch>"];
    assert_eq!(
        printed(&[&lines[..], &["</FilesMatch>", "KeepAlive y"]].concat()),
        "warning: -c number 3: LoadModule is not supported yet: the line has no effect
  3 | LoadModule a b
    | ^^^^^^^^^^
warning: -c number 4: <FilesMatch> is not supported yet: the whole section has no effect
  4 | <FilesMatch>
    | ^^^^^^^^^^^
AH00526: Syntax error on line 2 of -c/-C directives:
Invalid command 'KeepAlvie', perhaps misspelled or defined by a module not included in the \
server configuration
  2 | KeepAlvie On
    | ^^^^^^^^^ did you mean KeepAlive?
-c number 3: KeepAlive must be On or Off
  3 | KeepAlive x
    | ^^^^^^^^^
-c number 6: KeepAlive must be On or Off
  6 | KeepAlive y
    | ^^^^^^^^^
"
    );
}
