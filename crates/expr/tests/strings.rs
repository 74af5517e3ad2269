//! Texts with variables in them, as `Header` and others read them.

mod common;

use common::{Request, value};
use expr::facts::FILE_MAX_BYTES;
use expr::{EvalError, Matches, Mode, Restrict, StringExpr};

#[test]
fn texts_hold_variables_functions_and_escapes() {
    let cases = [
        ("foo", "foo"),
        ("", ""),
        ("%{req:SomeHeader}", "SomeValue"),
        ("%", "%"),
        ("}", "}"),
        ("$", "$"),
        ("%x$y{}", "%x$y{}"),
        (r#"\""#, "\""),
        (r"\'", "'"),
        (r#"'it's "so"'"#, r#"'it's "so"'"#),
        (r"\%{req:SomeHeader}", "%{req:SomeHeader}"),
        (r"\\\101\x", r"\Ax"),
        ("%{tolower:IDENT}", "ident"),
        ("%{tolower:%{REQUEST_METHOD}}", "get"),
        ("a %{REQUEST_METHOD}, b %{toupper:c%d$}.", "a GET, b C%D$."),
        ("%{req:none}", ""),
        ("<$1>", "<>"),
        ("a && b == 'c'", "a && b == 'c'"),
        ("%{escape:a b/;\\177\\377%{unescape:%41}}", "a%20b/;%7f%ffA"),
        ("%{ldap:a*(b)\\\\=#\\\"+,<;>\\001\\377}", r"a\2a\28b\29\5c=#\22\2b\2c\3c\3b\3e\01\ff"),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text, &Mode::htaccess()).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn only_a_text_without_anything_is_a_constant() {
    let parse = |text: &str| StringExpr::parse(text, &Mode::default()).unwrap();
    assert_eq!(parse(r"a\n").as_constant(), Some(&b"a\n"[..]));
    assert_eq!(parse("").as_constant(), Some(&b""[..]));
    assert_eq!(parse("%{md5:a}").as_constant(), None);
    assert!(parse("%{md5:a}").is_constant() && !parse("$1").is_constant());
    assert!(parse("%{resp:a}").uses().response && !parse("%{req:a}").uses().response);
}

#[test]
fn groups_come_from_the_caller() {
    let mut matches = Matches::new();
    let regex = pattern::Regex::new("(b)(c)?", pattern::PatternFlags::default()).unwrap();
    matches.set(b"abd", regex.captures(b"abd").unwrap().as_ref());
    let text = StringExpr::parse("<$0|$1|$2|$9>", &Mode::default()).unwrap();
    let request = Request::default();
    assert_eq!(text.eval(&request, &mut matches).unwrap(), &b"<b|b||>"[..]);
}

#[test]
fn what_is_wrong_is_said_in_the_words_of_httpd() {
    let string = "T_STRING or T_REGEX_BACKREF or T_VAR_BEGIN";
    let cases = [
        ("%{", "syntax error, unexpected T_ERROR, expecting T_ID: Unterminated string or variable"),
        (
            "%{X",
            "syntax error, unexpected T_ERROR, expecting T_VAR_END or ':': \
             Unterminated string or variable",
        ),
        ("%{FOO}%{BAR}", "Variable 'BAR' does not exist"),
        ("%{req:a", "Unterminated string or variable"),
        ("a\nb", "Unterminated string or variable"),
        (r"\400", "Escape sequence out of bound"),
        (r"\8", "Bad escape sequence"),
        (r"\0123", "Bad escape sequence"),
        ("%{req:%{}", "syntax error, unexpected T_VAR_END, expecting T_ID"),
        (r"a\", "flex scanner jammed"),
    ];
    for (text, expected) in cases {
        let error = StringExpr::parse(text, &Mode::default()).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text}");
    }
    let error = StringExpr::parse("%{md5:}", &Mode::default()).map(|_| ()).unwrap_err();
    let expected = format!("syntax error, unexpected T_VAR_END, expecting T_ERROR or {string}");
    assert_eq!(error.text(), expected);
    let error = StringExpr::parse(r"a%{md5:$1\8}", &Mode::default()).map(|_| ()).unwrap_err();
    let expected = format!(
        "syntax error, unexpected T_ERROR, expecting {string} or T_VAR_END: Bad escape sequence"
    );
    assert_eq!(error.text(), expected);
}

#[test]
fn files_are_closed_to_those_who_may_see_less() {
    let error = |text: &str, mode: &Mode| {
        StringExpr::parse(text, mode).map(|_| ()).unwrap_err().to_string()
    };
    for mode in [Mode::htaccess(), Mode::page()] {
        assert_ne!(mode.restrict, Restrict::Nothing);
        assert_eq!(error("%{file:/a}", &mode), "file not available in restricted context");
        assert_eq!(error("%{FileSize:/a}", &mode), "filesize not available in restricted context");
    }
    assert_eq!(value("%{file:/site/index.html}", &Mode::default()).as_deref(), Ok("foo\n"));
}

#[test]
fn texts_and_their_pieces_have_limits() {
    let piece = "a".repeat(8191);
    assert_eq!(value(&piece, &Mode::default()).as_deref(), Ok(piece.as_str()));
    let error = StringExpr::parse(format!("{piece}a"), &Mode::default()).map(|_| ()).unwrap_err();
    assert_eq!(error.text(), "String too long");
    let encoded = value("%{base64:%{file:/site/largest}}", &Mode::default());
    assert_eq!(encoded.map(|text| text.len()), Ok(FILE_MAX_BYTES.div_ceil(3) * 4));
    let twice = "%{file:/site/largest}%{file:/site/largest}";
    assert_eq!(value(twice, &Mode::default()), Err(EvalError::TooLong));
}
