//! Macros, and what grows without end: by macros, by includes and by variables.

use config::ast;

use super::{error, expanded, left};

#[test]
fn macros_are_filled_in() {
    let cases = [
        ("<Macro m>\nA\n</Macro>\nUse m\nUse M", "A\nA\n"),
        ("<Macro m $x>\nA $x$x\n</Macro>\nUse m \"b c\"", "A b cb c\n"),
        // A value is not searched for parameters.
        ("<Macro m $x $y>\nA $x $y\n</Macro>\nUse m $y 2", "A $y 2\n"),
        ("<Macro m $x>\n<$x y>\nB\n</$x>\n</Macro>\nUse m C", "<C y>\n    B\n</C>\n"),
        ("<Macro m $x>\nA ${$x}\n</Macro>\nUse m SET", "A one two\n"),
        ("<Macro m $x>\n<IfDefine $x>\nA\n</IfDefine>\n</Macro>\nUse m BARE\nUse m NO", "A\n"),
        (
            "<Macro m $x>\n<Macro n @y>\nA $x @y\n</Macro>\n</Macro>\nUse m 1\nUse n 2",
            "A 1 \"2\"\n",
        ),
        // A value for `@y` is one word, whatever it holds.
        ("<Macro m @y>\nA @y\n</Macro>\nUse m 'a \"b\\\\c'", "A \"a \\\"b\\\\c\"\n"),
    ];
    for (text, expected) in cases {
        assert_eq!(left(&[("", text)]), expected, "{text}");
    }
    // Odd, but the longest name that fits is meant.
    let all =
        expanded(&[("", "<Macro m $dir $directory>\nA $directory $dir\n</Macro>\nUse m 1 2")]);
    assert_eq!(ast::print(&all.nodes[0]), "A 2 1\n");
    // Lines are counted from the one below `<Macro`.
    let all = expanded(&[("", "<Macro m>\n\n  A\n  <B x>\n\n    C\n  </B>\n  D\n</Macro>\nUse m")]);
    let lines: Vec<u32> = all.nodes[0].iter().map(|node| node.line().number()).collect();
    assert_eq!(lines, [2, 3, 7]);
    let file = "macro 'm' (defined on line 1 of \"/main.conf\") used on line 10 of \"/main.conf\"";
    assert_eq!(&*all.nodes[0][0].line().position().file, file);
}

#[test]
fn macros_that_make_no_sense_are_told() {
    let (m, at) =
        ("<Macro m $x>\nA $x\n</Macro>\n", "macro 'm' (defined on line 1 of \"/main.conf\")");
    for (text, expected) in [
        ("<Macro>\n</Macro>", "1: <Macro macro definition: empty name".to_owned()),
        ("<Macro >\n</Macro>", "1: <Macro macro definition: empty name".into()),
        ("<Macro \"\">\n</Macro>", "1: <Macro macro definition: name not found".into()),
        ("<Macro m\n</Macro>", "1: <Macro> directive missing closing '>'".into()),
        (
            "<Macro m $x $x>\nA $x\n</Macro>",
            format!(
                "1: argument name conflict in {at}: argument '$x': #1 and #2, \
                     change argument names!"
            ),
        ),
        ("<Macro m $x \"\">\nA $x\n</Macro>", format!("1: {at}: empty argument #2 name")),
        (&format!("{m}Use m"), format!("4: {at} used with 0 arguments instead of 1")),
        (&format!("{m}Use m a b"), format!("4: {at} used with 2 arguments instead of 1")),
        (&format!("{m}Use N"), "4: macro 'n' undefined".into()),
        (&format!("{m}UndefMacro N"), "4: cannot remove undefined macro 'n'".into()),
        // One that was removed is remembered so far.
        (&format!("{m}UndefMacro m\nUse m b"), "5: macro 'm' undefined".into()),
        (&format!("{m}MacroIgnoreEmptyArgs Off\nUse m \"\""), String::new()),
        (&format!("MacroIgnoreBadNesting\n{m}"), String::new()),
        (
            "<Macro M $x $xy>\nA $xy\n</Macro>",
            format!(
                "AH02797: {at}: argument name prefix conflict ($x #1 and $xy #2), be careful \
                 about your macro definition!"
            ),
        ),
        (
            "<Macro m $x $y $y $x>\nA\n</Macro>",
            format!(
                "1: argument name conflict in {at}: argument '$x': #1 and #4, change argument \
                 names!"
            ),
        ),
        (&format!("{m}Use"), "4: no macro name specified with Use".into()),
        (&format!("{m}Use \"\""), "4: no macro name specified with Use".into()),
        (
            &format!("{m}UndefMacro m\n<Macro n>\nB\n</Macro>\nUse m b"),
            "8: macro 'm' undefined".into(),
        ),
        (
            &format!("{m}{m}"),
            "AH02802: macro 'm' multiply defined: defined on line 1 of \"/main.conf\", \
             redefined on line 4 of \"/main.conf\""
                .into(),
        ),
        (
            &format!("{m}Use m \"\""),
            format!("AH02798: {at} used on line 4 of \"/main.conf\": empty argument #1"),
        ),
        ("<Macro m $x>\nA\n</Macro>", format!("AH02800: {at}: argument '$x' (#1) never used")),
        ("<Macro m>\n</Macro>", format!("AH02799: {at}: empty contents!")),
        (
            "<Macro m x>\nA x\n</Macro>",
            format!(
                "AH02796: {at} argument name 'x' (#1) without expected prefix, better prefix \
                 argument names with one of '$%@'."
            ),
        ),
    ] {
        assert_eq!(error(text), expected, "{text}");
    }
}

#[test]
fn what_a_macro_opens_its_file_may_close() {
    const OPEN: &str = "<Macro open $x>\n<B $x>\n</Macro>\n";
    const CLOSE: &str = "<Macro close>\n</B>\n</Macro>\n";
    let silent = format!("MacroIgnoreBadNesting\n{OPEN}{CLOSE}");
    for (text, expected) in [
        (format!("{silent}Use open 1\nA\n</B>"), "<B 1>\n    A\n</B>\n"),
        (format!("{silent}<B 1>\nA\nUse CLOSE\nA"), "<B 1>\n    A\n</B>\nA\n"),
        (format!("{silent}Use open 1\nA\nUse close"), "<B 1>\n    A\n</B>\n"),
        (
            format!("{silent}<Macro both>\nUse open 2\n</Macro>\nUse both\nUse close"),
            "<B 2>\n</B>\n",
        ),
        // In a file that is included, too.
        (format!("{silent}Include inc"), "<B 3>\n    C\n</B>\n"),
        // What stands in a macro that nobody uses is no matter.
        (silent.clone(), ""),
        (format!("{silent}UndefMacro open\n<Macro open $x>\nA $x\n</Macro>\nUse open 1"), "A 1\n"),
    ] {
        let files = [("", text.as_str()), ("/etc/inc", "Use open 3\nC\nUse close\n")];
        let all = expanded(&files);
        assert!(all.diagnostics.is_empty(), "{text}: {:?}", all.diagnostics);
        assert_eq!(ast::print(&all.nodes[0]), expected, "{text}");
    }
}

#[test]
fn sections_that_a_macro_leaves_open_are_told() {
    let place = "(defined on line 1 of \"/main.conf\")";
    let said = |text: &str| {
        let all = expanded(&[("", text)]);
        let line = |it: &config::Diagnostic| it.httpd_text("apache2");
        all.diagnostics.iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(
        said("<Macro m>\n# one\n</A>\n</B>\n</Macro>"),
        [
            format!("AH02793: bad (negative) nesting on line 3 of macro 'm' {place}"),
            format!("AH02793: bad (negative) nesting on line 4 of macro 'm' {place}"),
            format!("AH02795: bad cumulated nesting (-2) in macro 'm' {place}"),
        ]
    );
    assert!(said("<Macro m /IgnoreBadNesting>\n<A>\n</Macro>").is_empty());
    let used = format!("macro 'm' {place} used on line 4 of \"/main.conf\"");
    assert_eq!(
        said("<Macro m>\n<A>\n</Macro>\nUse m"),
        [
            format!("AH02795: bad cumulated nesting (+1) in macro 'm' {place}"),
            format!("apache2: Syntax error on line 1 of {used}: {used}:1: <A> was not closed."),
        ]
    );
    assert_eq!(
        said("<A>\n<Macro m>\n</A>\n"),
        ["apache2: Syntax error on line 2 of /main.conf: macro 'm' (defined on line 2 of \
          \"/main.conf\")\\n\\tcontents error: expected token not found: </Macro>"]
    );
    // They may not use each other for ever, either.
    let bomb = "<Macro m>\n</A>\nUse m\n</Macro>\nUse m";
    assert!(said(bomb).iter().any(|it| it.ends_with("recursive use of macro 'm' is invalid")));
    let more: String = (0..30)
        .map(|at| format!("<Macro m{at}>\n</A>\nUse m{0}\nUse m{0}\n</Macro>\n", at + 1))
        .collect();
    let last = said(&format!("MacroIgnoreBadNesting\n{more}Use m0")).pop().unwrap();
    assert!(last.contains("grow without end") || last.contains("undefined"), "{last}");
}

#[test]
fn recursion_ends_with_an_error() {
    let used = "<Macro a>\nUse b\n</Macro>\n<Macro b>\nUse a\n</Macro>\nUse a";
    let expected = "1 of macro 'b' (defined on line 4 of \"/main.conf\") used on line 1 of \
                    \"macro 'a' \
                    (defined on line 1 of \"/main.conf\") used on line 7 of \"/main.conf\"\": \
                    recursive use of macro 'a' is invalid";
    assert_eq!(error(used), expected);

    let all = expanded(&[("", "Include loop"), ("/etc/loop", "A\nInclude loop\nInclude loop")]);
    let text = all.diagnostics[0].httpd_text("apache2");
    let end = "Exceeded maximum include depth of 128, There appears to be a recursion.";
    assert!(text.ends_with(end), "{text}");
    assert_eq!(text.matches("Syntax error on line").count(), 129);
    // Nothing is read after it, or it would be read 2^128 times.
    assert_eq!((all.diagnostics.len(), all.included.len()), (1, 128));
}

#[test]
fn a_bomb_ends_with_an_error() {
    let nested = |last: &str, line: &dyn Fn(usize) -> String| {
        (0..60)
            .rev()
            .map(|at| if at == 59 { last.to_owned() } else { line(at) })
            .collect::<String>()
    };
    let uses = nested("<Macro m59>\nA\n</Macro>\n", &|at| {
        format!("<Macro m{at}>\nUse m{0}\nUse m{0}\n</Macro>\n", at + 1)
    });
    let wrong = nested("<Macro m59>\nUse nope\n</Macro>\n", &|at| {
        format!("<Macro m{at}>\nUse m{0}\nUse m{0}\n</Macro>\n", at + 1)
    });
    let values = nested("<Macro m59 $x>\nA $x\n</Macro>\n", &|at| {
        format!("<Macro m{at} $x>\nUse m{} \"$x$x\"\n</Macro>\n", at + 1)
    });
    let mut variables = String::from("Define v 0123456789\n");
    variables.push_str(&"Define v \"${v}${v}\"\n".repeat(60));
    for text in [format!("{uses}Use m0"), format!("{values}Use m0 abc"), variables] {
        let all = expanded(&[("", &text)]);
        let last = all.diagnostics.last().unwrap();
        assert!(last.text.contains("grow without end"), "{text}: {}", last.text);
        assert!(ast::print(&all.nodes[0]).len() < 2 << 20);
    }
    let all = expanded(&[("", &format!("{wrong}Use m0"))]);
    assert!(all.diagnostics.len() <= 1000, "{}", all.diagnostics.len());

    // Each file is nested less deep than the parser allows, but not all together.
    let deep = "<B x>\n".repeat(150);
    let ends = "</B>\n".repeat(150);
    let all = expanded(&[
        ("", &format!("{deep}Include d\n{ends}")),
        ("/etc/d", &format!("{deep}{ends}")),
    ]);
    let text = &all.diagnostics[0].text;
    assert_eq!(text, "<B> is nested deeper than 200 sections");
}
