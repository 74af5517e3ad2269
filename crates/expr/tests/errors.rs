//! What httpd says of texts that are no conditions. Each was given to httpd 2.4.71.

mod common;

use common::{all_modules, error};
use expr::Mode;

const CASES: &[(&str, &str)] = &[
    // Syntax: what fits is named when it is little.
    ("", "syntax error, unexpected $end"),
    ("1", "syntax error, unexpected $end"),
    ("foo", "syntax error, unexpected $end, expecting '('"),
    ("'bar' = bar", "syntax error, unexpected $end, expecting '('"),
    ("1 == 2 3", "syntax error, unexpected T_DIGIT, expecting $end"),
    ("true false", "syntax error, unexpected T_FALSE, expecting $end"),
    ("(1 == 2 3)", "syntax error, unexpected T_DIGIT, expecting T_OP_OR or T_OP_AND or ')'"),
    ("md5('x' == 1", "syntax error, unexpected T_OP_STR_EQ, expecting T_OP_CONCAT or ')'"),
    ("'a' in x", "syntax error, unexpected $end, expecting '('"),
    ("'a' in 'b'", "syntax error, unexpected T_STR_BEGIN, expecting T_ID or '{'"),
    ("'a' in {'b' 'c'}", "syntax error, unexpected T_STR_BEGIN, expecting '}' or ','"),
    ("'a' == 'b' or", "syntax error, unexpected $end"),
    ("-T", "syntax error, unexpected $end"),
    ("%{:x:}", "syntax error, unexpected ':', expecting T_ID"),
    (
        "%{req:} == 1",
        "syntax error, unexpected T_VAR_END, \
         expecting T_ERROR or T_STRING or T_REGEX_BACKREF or T_VAR_BEGIN",
    ),
    // What only the next version of httpd can do.
    ("split 'a'", "syntax error, unexpected T_STR_BEGIN, expecting '('"),
    ("join {'a'} == 'a'", "syntax error, unexpected '{', expecting '('"),
    // Regular expressions.
    ("'a' =~ /b", "syntax error, unexpected $end, expecting T_REGEX or T_REGEX_I"),
    ("'a' =~ 'b'", "syntax error, unexpected T_STR_BEGIN, expecting T_REGEX or T_REGEX_I"),
    ("'a' =~ /b/ig", "syntax error, unexpected T_ID, expecting $end"),
    ("'a' =~ m#a#s", "syntax error, unexpected T_ID, expecting $end"),
    ("'a' =~ /b(/", "Failed to compile regular expression"),
    ("%{FOO} =~ /b(/", "Failed to compile regular expression: Variable 'FOO' does not exist"),
    // What the lexer does not know.
    ("$a == 1", "Parse error near '$'"),
    ("true & true", "syntax error, unexpected T_ERROR, expecting $end: Parse error near '&'"),
    ("-n @", "syntax error, unexpected T_ERROR: Parse error near '@'"),
    ("'abc", "Unterminated string or variable"),
    ("'\\8'", "Bad escape sequence"),
    ("'\\400'", "Escape sequence out of bound"),
    (
        "%{a b} == 1",
        "syntax error, unexpected T_ERROR, expecting T_VAR_END or ':': \
         Invalid character in variable name ' '",
    ),
    ("%{", "syntax error, unexpected T_ERROR, expecting T_ID: Unterminated string or variable"),
    // Names. The last complaint counts, and a syntax error does not hide it.
    ("%{FOO} == 1", "Variable 'FOO' does not exist"),
    ("%{FOO} == %{BAR}", "Variable 'BAR' does not exist"),
    ("'%{foo:User-Agent}' != 'bar'", "Function 'foo' does not exist"),
    ("foo('bar') = 'bar'", "Function 'foo' does not exist"),
    ("'a' in foo('x')", "List-returning function 'foo' does not exist"),
    ("-Q 'x'", "Unary operator '-Q' does not exist"),
    ("'a' -foo 'b'", "Binary operator '-foo' does not exist"),
    (
        "-Q 'x' !=",
        "syntax error, unexpected T_OP_STR_NE, expecting $end: Unary operator '-Q' does not exist",
    ),
    ("%{SSL_PROTOCOL} == ''", "Variable 'SSL_PROTOCOL' does not exist"),
    ("'a' in PeerExtList('x')", "List-returning function 'PeerExtList' does not exist"),
    ("hc('body') == ''", "Function 'hc' does not exist"),
    // Networks.
    ("-R 'abc'", "parsing of subnet/netmask failed"),
    ("-R '10/8'", "parsing of subnet/netmask failed"),
    ("-R '10.0.0.0/0'", "parsing of subnet/netmask failed"),
    ("-R '::ffff:1.2.3.4'", "parsing of subnet/netmask failed"),
    ("-R %{REMOTE_ADDR}", "-R requires subnet/netmask as constant argument"),
    ("-R 127", "-R requires subnet/netmask as constant argument"),
    ("'a' -ipmatch 'x'", "parsing of subnet/netmask failed"),
    ("'a' -IPmatch 'x' . 'y'", "-IPmatch requires subnet/netmask as constant argument"),
];

#[test]
fn errors_are_in_the_words_of_httpd() {
    for (text, expected) in CASES {
        assert_eq!(error(text, &Mode::default()), *expected, "{text}");
    }
}

/// httpd's scanner has no rule for these, and ends its process.
#[test]
fn what_ends_httpd_is_an_error_here() {
    assert_eq!(error("%{req:x'y} == 1", &Mode::default()), "flex scanner jammed");
    assert_eq!(error("%{req:\"", &Mode::default()), "flex scanner jammed");
    assert_eq!(error("'a\\", &Mode::default()), "flex scanner jammed");
}

#[test]
fn pages_may_not_ask_about_files() {
    for letter in ["d", "e", "f", "s", "L", "h", "x"] {
        let text = format!("-{letter} '/a'");
        let expected = format!("-{letter} not available in restricted context");
        assert_eq!(error(&text, &Mode::page()), expected);
        assert!(expr::Expr::parse(&text, &Mode::htaccess()).is_ok(), "{text}");
    }
    assert!(expr::Expr::parse("-U '/a' && -F '/b'", &Mode::page()).is_ok());
    let expected = "file not available in restricted context";
    assert_eq!(error("file('/a') == ''", &Mode::htaccess()), expected);
}

#[test]
fn names_of_modules_have_their_case() {
    for text in ["%{ssl_PROTOCOL} == ''", "ssl('a') == ''", "'a' in peerextlist('a')"] {
        assert!(error(text, &all_modules()).ends_with("does not exist"), "{text}");
    }
}

#[test]
fn depth_and_length_have_limits() {
    let deep = format!("{}true{}", "(".repeat(101), ")".repeat(101));
    assert_eq!(error(&deep, &Mode::default()), "memory exhausted");
    let functions = format!("{}'a'{} == ''", "md5(".repeat(9000), ")".repeat(9000));
    assert_eq!(error(&functions, &Mode::default()), "memory exhausted");
    let variables = format!("'{}", "%{md5:".repeat(9000));
    assert_eq!(error(&variables, &Mode::default()), "memory exhausted");
    // Strings with groups nest without a parenthesis; both at once may not exhaust the stack.
    let level = format!("{}md5(", "'a$1' . ".repeat(100));
    let both = format!("{}'a'{} == ''", level.repeat(100), ")".repeat(100));
    assert!(expr::Expr::parse(&both, &Mode::default()).is_ok());
    let regex = format!("'a' =~ /{}/", "a".repeat(8192));
    let expected = "syntax error, unexpected T_ERROR, expecting T_REGEX or T_REGEX_I";
    assert_eq!(error(&regex, &Mode::default()), format!("{expected}: Regexp too long"));
    let text = format!("'{}' == ''", "a".repeat(8192));
    assert_eq!(error(&text, &Mode::default()), "String too long");
}
