//! What the parser makes of well-formed and of broken nesting.

use config::ast::print;
use config::parse::DEPTH_MAX;
use config::{COMMAND_LINE, ConfigTree, Node, SourceText, diagnostic, parse, parse_sources};

fn texts(tree: &ConfigTree) -> Vec<&str> {
    tree.diagnostics.iter().map(|diagnostic| &diagnostic.text[..]).collect()
}

fn section(node: &Node) -> &config::SectionNode {
    match node {
        Node::Section(section) => section,
        Node::Directive(line) => panic!("{line:?} is no section"),
    }
}

#[test]
fn builds_a_tree_with_positions() {
    let text = "KeepAlive \"On\"\n<Directory \\\n /x>\n  # c\n  <Files \"y\">\n  A b\n  </FILES>\n\
                </directory>\n";
    let tree = parse("/x.conf", text.as_bytes(), 10);
    assert_eq!(texts(&tree), [""; 0]);
    let [Node::Directive(line), directory] = &tree.nodes[..] else { panic!("{tree:?}") };
    assert_eq!((line.name(), line.args()), ("KeepAlive", "\"On\""));
    assert_eq!((line.position().line, line.position().first_line), (10, 10));

    let directory = section(directory);
    assert_eq!((directory.line.name(), directory.line.args()), ("<Directory", "/x>"));
    assert_eq!((directory.line.position().line, directory.line.position().first_line), (12, 11));
    assert_eq!(&*directory.line.position().file, "/x.conf");
    let files = section(&directory.body[0]);
    assert_eq!(files.line.position().line, 14);
    assert_eq!(files.body[0].line().name(), "A");
}

#[test]
fn names_of_sections() {
    let cases = [
        ("<A>", "<A", ""),
        ("<A >", "<A", ">"),
        ("<A> b>", "<A", "b>"),
        ("<A>>", "<A>", ""),
        ("\"<A\" b>", "<A", "b>"),
        ("<>", "<", ""),
        ("<", "<", ""),
        ("A> b", "A", "b"),
        ("A/> b", "A/>", "b"),
    ];
    for (text, name, args) in cases {
        let tree = parse("x", text.as_bytes(), 1);
        let line = tree.nodes[0].line();
        assert_eq!((line.name(), line.args()), (name, args), "{text}");
    }
}

#[test]
fn prints_what_it_read() {
    let text = "A \"b c\"\n<D /x>\n<E> \n</e>\n  F \\\n g\n</D>\nH \\";
    let printed = "A \"b c\"\n<D /x>\n    <E>\n    </E>\n    F  g\n</D>\nH \\ \n";
    assert_eq!(print(&parse("x", text.as_bytes(), 1).nodes), printed);
    assert_eq!(print(&parse("x", printed.as_bytes(), 1).nodes), printed);
}

#[test]
fn goes_on_after_an_error() {
    let cases: &[(&str, &[&str], &str)] = &[
        // The section that was meant is closed, so that what follows stands where it should.
        (
            "<A>\n<B>\n</A>\nC\n",
            &["Expected </B> but saw </A>"],
            "<A>\n    <B>\n    </B>\n</A>\nC\n",
        ),
        ("<A>\n</X>\nB\n</A>\n", &["Expected </A> but saw </X>"], "<A>\n    B\n</A>\n"),
        ("</A>\nB\n", &["</A> without matching <A> section"], "B\n"),
        ("<A>\n</A\nB\n", &["</A> directive missing closing '>'"], "<A>\n</A>\nB\n"),
        (
            "<A>\n<B>\n</B></A>\nC\n",
            &["Expected </B> but saw </B></A>"],
            "<A>\n    <B>\n    </B>\n</A>\nC\n",
        ),
        (
            "<A>\n<B>\n",
            &["x:2: <B> was not closed.\nx:1: <A> was not closed."],
            "<A>\n    <B>\n    </B>\n</A>\n",
        ),
    ];
    for (text, errors, printed) in cases {
        let tree = parse("x", text.as_bytes(), 1);
        assert_eq!(texts(&tree), *errors, "{text}");
        assert_eq!(print(&tree.nodes), *printed, "{text}");
    }
}

#[test]
fn sections_span_the_lines_of_a_command_line() {
    let source = |first_line, text| SourceText { name: COMMAND_LINE, text, first_line };
    let sources = [source(1, &b"<A \\"[..]), source(2, b"x>"), source(3, b"B"), source(4, b"</A>")];
    let tree = parse_sources(&sources);
    assert_eq!(texts(&tree), [""; 0]);
    // As in httpd, a `\` that ends an option does not join the next one.
    assert_eq!(print(&tree.nodes), "<A \\ \n    x>\n    B\n</A>\n");

    let tree = parse_sources(&[source(1, b"<Directory /x>"), source(2, b"</Foo>")]);
    let printed = diagnostic::render("apache2", &tree.diagnostics[..1]);
    let expected =
        "apache2: Syntax error in -C/-c directive: Expected </Directory> but saw </Foo>\n";
    assert!(printed.starts_with(expected), "{printed}");
    assert_eq!(tree.diagnostics[1].text, "-c/-C directives:1: <Directory> was not closed.");
}

#[test]
fn refuses_absurd_nesting() {
    let nested = |depth: usize| {
        let text = "<A>\n".repeat(depth) + "B\n" + &"</A>\n".repeat(depth) + "C\n";
        parse("x", text.as_bytes(), 1)
    };
    assert_eq!(texts(&nested(DEPTH_MAX)), [""; 0]);

    let tree = nested(100_000);
    assert_eq!(texts(&tree), ["<A> is nested deeper than 200 sections"]);
    assert_eq!(tree.diagnostics[0].position.as_ref().unwrap().line, 201);
    assert_eq!(tree.nodes.len(), 2, "what follows the nest is read");
}

#[test]
fn says_that_a_line_is_too_long() {
    let mut text = b"# ok\n#".to_vec();
    text.resize(17 * 1024 * 1024, b'x');
    let tree = parse("/big.conf", &text, 1);
    let printed = diagnostic::render("apache2", &tree.diagnostics);
    assert_eq!(printed, "apache2: Error reading /big.conf at line 2: Line too long\n");
}
