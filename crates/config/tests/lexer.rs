//! Lines and words, by table. The expectations were taken from httpd's behaviour.

use config::lexer::{Flaw, LINE_BYTES_MAX, LineText, LineWords, Lines, Logical, quote};

fn words(line: &str) -> Vec<String> {
    LineWords::new(line).map(|word| word.text).collect()
}

#[test]
fn splits_words() {
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        (" \t\r\x0b\x0c ", &[]),
        ("a  b\tc", &["a", "b", "c"]),
        ("  a ", &["a"]),
        (r#""a b" c"#, &["a b", "c"]),
        ("'a b' c", &["a b", "c"]),
        (r#""" ''"#, &["", ""]),
        // A quote inside a word is an ordinary character; one after a word begins the next.
        (r#"a"b c"d"#, &[r#"a"b"#, r#"c"d"#]),
        (r#""a"b "c""#, &["a", "b", "c"]),
        // The other quote needs no escape, and has none.
        (r#""it's""#, &["it's"]),
        (r#"'say "x"'"#, &[r#"say "x""#]),
        (r#""say \"x\"""#, &[r#"say "x""#]),
        (r"'it\'s'", &["it's"]),
        (r#""it\'s""#, &[r"it\'s"]),
        // A doubled `\` is one in every word; alone it is kept.
        (r"^a\.b\\c$", &[r"^a\.b\c$"]),
        (r#""^a\.b\\c$""#, &[r"^a\.b\c$"]),
        (r#""a\\" b"#, &[r"a\", "b"]),
        (r"a\ b", &[r"a\", "b"]),
        (r#"\"a b\""#, &[r#"\"a"#, r#"b\""#]),
        // A quote that is not closed ends with the line.
        (r#""a b"#, &["a b"]),
        (r#"a ""#, &["a", ""]),
        (r#""a\""#, &[r#"a""#]),
        (r#""a\"#, &[r"a\"]),
        ("é\u{a0}è 'ü ö'", &["é\u{a0}è", "ü ö"]),
        ("<Directory \"/x y\">", &["<Directory", "/x y", ">"]),
    ];
    for (line, expected) in cases {
        assert_eq!(words(line), *expected, "{line}");
    }
}

#[test]
fn words_know_their_place() {
    let line = r#"  a  "b \" c" d"#;
    let spans: Vec<&str> = LineWords::new(line).map(|word| &line[word.span]).collect();
    assert_eq!(spans, ["a", r#""b \" c""#, "d"]);

    let mut split = LineWords::new(line);
    split.next();
    assert_eq!(split.rest(), r#""b \" c" d"#);
    assert_eq!(&line[split.offset()..], split.rest());
}

#[test]
fn a_quoted_word_is_read_back() {
    for word in ["", "a", "a b", r"\", r"a\\", r#"""#, r#"\""#, "it's \t é"] {
        assert_eq!(words(&quote(word)), [word]);
    }
}

/// A logical line as first number, last number, text.
type Expected<'a> = (u32, u32, &'a str);

fn lines(text: &[u8]) -> Vec<(u32, u32, String)> {
    let text_of = |text| match text {
        Ok(LineText::Utf8(text)) => text.into_owned(),
        Ok(LineText::Latin1(text)) => format!("latin1: {text}"),
        Err(flaw) => format!("{flaw:?}"),
    };
    Lines::new(text, 1)
        .map(|Logical { first_line, line, text }| (first_line, line, text_of(text)))
        .collect()
}

#[test]
fn splits_lines() {
    let cases: &[(&[u8], &[Expected<'_>])] = &[
        (b"", &[]),
        (b"\n\n  \t\r\n", &[]),
        (b"a\n\n b \r\nc", &[(1, 1, "a"), (3, 3, "b"), (4, 4, "c")]),
        // A comment begins a line; anywhere else `#` is an ordinary character.
        (b"# a\n \t# b\nc # d\n", &[(3, 3, "c # d")]),
        (b"a \\\n b \\\r\n c\nd", &[(1, 3, "a  b  c"), (4, 4, "d")]),
        (b"a\\\nb", &[(1, 2, "ab")]),
        (b"# a \\\nb\nc", &[(3, 3, "c")]),
        (b"<A \\\nb>\n</A\\\n>", &[(1, 2, "<A b>"), (3, 4, "</A>")]),
        // What stands before the `\` does not matter, not even another one.
        (b"a\\\\\nb", &[(1, 2, "a\\b")]),
        // Only a line end can be joined: not a blank, a lone carriage return, the end of the text.
        (b"a\\ \nb", &[(1, 1, "a\\"), (2, 2, "b")]),
        (b"a\\\r\r\nb", &[(1, 1, "a\\"), (2, 2, "b")]),
        (b"a\rb", &[(1, 1, "a\rb")]),
        (b"a\\", &[(1, 1, "a\\")]),
        (b"a\\\n", &[(1, 2, "a")]),
        (b"\\\n\\\na", &[(1, 3, "a")]),
        (b"a\\\\\n\nb\nc", &[(1, 3, "ab"), (4, 4, "c")]),
        (b"a\\\\\r\n\r\nb\nc", &[(1, 3, "ab"), (4, 4, "c")]),
        (b"a\\\n# b\nc", &[(1, 2, "a# b"), (3, 3, "c")]),
        (b"a\xf6\nb", &[(1, 1, "latin1: a\u{f6}"), (2, 2, "b")]),
        (b"# \xf6\n", &[]),
        (b"# \0\na\0b\nc", &[(2, 2, "Nul"), (3, 3, "c")]),
    ];
    for (text, expected) in cases {
        let got = lines(text);
        let got: Vec<_> =
            got.iter().map(|(first, last, text)| (*first, *last, &text[..])).collect();
        assert_eq!(got, *expected, "{:?}", String::from_utf8_lossy(text));
    }
}

#[test]
fn refuses_a_line_that_is_too_long() {
    let longest = vec![b'a'; LINE_BYTES_MAX];
    let read: Vec<_> = Lines::new(&longest, 1).map(|logical| logical.text.is_ok()).collect();
    assert_eq!(read, [true]);

    // One byte more, in one line or in two joined ones; the next line is read again.
    let mut long = longest.clone();
    long.extend_from_slice(b"a\nb");
    let mut joined = longest;
    joined.extend_from_slice(b"\\\na\nb");
    for (text, last) in [(long, 1), (joined, 2)] {
        let read: Vec<_> = Lines::new(&text, 1).collect();
        let expected = [
            Logical { first_line: 1, line: last, text: Err(Flaw::TooLong) },
            Logical { first_line: last + 1, line: last + 1, text: Ok(LineText::Utf8("b".into())) },
        ];
        assert!(read == expected, "first line ended at {last}");
    }
}
