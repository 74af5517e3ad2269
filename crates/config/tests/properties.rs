//! Properties that hold for any input.

mod common;

use config::lexer::{LineWords, quote};
use config::{Line, Node, Scope, apply, ast, diagnostic, fuzz_expand, fuzz_parse, parse};
use proptest::prelude::*;

/// Pieces that mean something to the language, so that random texts reach its corners.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let pieces: &[&[u8]] = &[
        b"\n",
        b"\n",
        b"\r\n",
        b"\\\n",
        b" ",
        b"\t",
        b"\\",
        b"\"",
        b"'",
        b"#",
        b"<",
        b"</",
        b">",
        b"<A>",
        b"</A>",
        b"<B x>",
        b"</B>",
        b"\"<B\"",
        b"\"</B>\"",
        b"A",
        b"b",
        b"\0",
        b"\xf6",
        "é".as_bytes(),
        b"KeepAlive ",
        b"Options +",
        b"<Directory /x>",
        b"</Directory>",
        b"<Files y>",
        b"</Files>",
        b"StartServers ",
        b"99",
        b"CustomLog ",
        b"Foo ",
        b"KeepAliveTimeout ",
        b"5ms",
    ];
    let piece = proptest::sample::select(pieces.to_vec());
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// A line as a person would write it: a name and quoted or bare words.
fn line() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-z%{}:/.$^\\\\]{1,8}",
        any::<String>().prop_map(|any| { quote(&any.replace(['\n', '\0'], " ")) })
    ];
    ("[A-Za-z]{1,8}", proptest::collection::vec(word, 0..4))
        .prop_map(|(name, words)| format!("{name} {}", words.join(" ")))
}

fn tree() -> impl Strategy<Value = String> {
    let directive = line().prop_map(|line| format!("{line} \n"));
    directive.prop_recursive(4, 40, 5, |inner| {
        let body = proptest::collection::vec(inner, 0..5);
        ("[A-Za-z]{1,8}", line(), body).prop_map(|(name, args, body)| {
            format!("<{name} {args}>\n{}</{}>\n", body.concat(), name.to_uppercase())
        })
    })
}

/// Lines that act while they are read, in several files.
fn read_time_text() -> impl Strategy<Value = Vec<u8>> {
    let lines = [
        "%",
        "%",
        "%",
        "A ${V} ${D} ${E",
        "Define V ${V}${V}",
        "Define V \"${V} ${E}\"",
        "UnDefine V",
        "Include 0",
        "Include 1",
        "Include *",
        "IncludeOptional 2",
        "ServerRoot /",
        "${V} x",
        "${N}",
        "<Macro m $a>",
        "<Macro n>",
        "</Macro>",
        "Use m \"$a $a\"",
        "Use m x",
        "Use n",
        "Use $a",
        "<IfDefine V>",
        "<IfDefine !D>",
        "</IfDefine>",
        "<IfModule a_module>",
        "</IfModule>",
        "LoadModule b_module x",
        "<B $a>",
        "</B>",
        "<IfVersion > 2.4>",
        "</IfVersion>",
        "UndefMacro m",
        "<${V} a>",
        "</${V}>",
        "\"<B\"",
        "IfFile x \\",
    ];
    let line = proptest::sample::select(lines.to_vec());
    proptest::collection::vec(line, 0..40).prop_map(|lines| lines.join("\n").into_bytes())
}

/// A tree without its positions.
fn shape(nodes: &[Node]) -> Vec<(String, String, Vec<String>)> {
    let line = |line: &Line| (line.name().to_string(), line.text.to_string());
    let mut shapes = Vec::new();
    for node in nodes {
        let (name, text) = line(node.line());
        let body = match node {
            Node::Directive(_) => Vec::new(),
            Node::Section(section) => {
                shape(&section.body).into_iter().map(|inner| format!("{inner:?}")).collect()
            }
        };
        shapes.push((name, text, body));
    }
    shapes
}

fn survives(text: &[u8]) {
    fuzz_parse(text);
    let tree = parse("x", text, 1);
    let mut toy = common::Toy::new(Scope::SERVER);
    let mut diagnostics = tree.diagnostics;
    diagnostics.extend(apply(&tree.nodes, &common::index(), &mut toy));
    let printed = diagnostic::render("x", &diagnostics);
    let is_shown = |c: char| c == '\n' || !c.is_control();
    assert!(printed.chars().all(is_shown), "{printed:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        survives(&bytes);
    }

    #[test]
    fn any_pieces_are_survived(text in text()) {
        survives(&text);
    }

    #[test]
    fn anything_is_expanded_to_an_end(text in read_time_text()) {
        fuzz_expand(&text);
    }

    #[test]
    fn any_pieces_are_expanded(text in text()) {
        fuzz_expand(&text);
    }

    #[test]
    fn a_printed_tree_is_read_back(text in tree()) {
        let tree = parse("x", text.as_bytes(), 1);
        prop_assert!(tree.diagnostics.is_empty(), "{:?}", tree.diagnostics);
        let again = parse("x", ast::print(&tree.nodes).as_bytes(), 1);
        prop_assert!(again.diagnostics.is_empty(), "{:?}", again.diagnostics);
        prop_assert_eq!(shape(&again.nodes), shape(&tree.nodes));
    }

    #[test]
    fn a_quoted_word_is_read_back(before in "[a-z]{0,3}", word in any::<String>()) {
        let line = format!("{before} {} x", quote(&word));
        let words: Vec<String> = LineWords::new(&line).map(|word| word.text).collect();
        prop_assert_eq!(&words[words.len() - 2], &word);
    }

    #[test]
    fn spans_lie_in_order(line in "[ab \"'\\\\é]{0,20}") {
        let mut end = 0;
        for word in LineWords::new(&line) {
            prop_assert!(end <= word.span.start && word.span.start < word.span.end);
            prop_assert!(line.get(word.span.clone()).is_some());
            end = word.span.end;
        }
    }
}
