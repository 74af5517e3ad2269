//! Conditions and what they are for one request. The cases are those of httpd's own test, and
//! those where its answer surprised.

mod common;

use common::{Request, all_modules, truth};
use expr::{EvalError, Expr, Matches, Mode};

fn all(cases: &[&str], expected: bool) {
    for case in cases {
        assert_eq!(truth(case, &Mode::default()), Ok(expected), "{case}");
        let negated = format!("!({case})");
        assert_eq!(truth(&negated, &Mode::default()), Ok(!expected), "{negated}");
    }
}

#[test]
fn numbers_are_compared_as_numbers() {
    all(
        &[
            "1 -eq 01",
            "1 -ne  2",
            "1 -lt 02",
            "1 -le  2",
            "1 -le  1",
            "2 -gt  1",
            "2 -ge  1",
            "1 -ge  1",
            "1 -gt -1",
            "1 eq 1",
            "1 ne 2",
            "1 lt 2",
            "1 le 1",
            "2 gt 1",
            "1 ge 1",
            "'1x' -eq 1",
            "'x' -eq 0",
            "'' -eq 0",
            "' \\t1' -eq 1",
            "'+5' -eq 5",
            "'- 5' -eq 0",
            "'99999999999999999999' -eq '9223372036854775807'",
            "'-99999999999999999999' -eq '-9223372036854775808'",
            "'\\013+1' -eq 1",
        ],
        true,
    );
    all(&["1 -eq  2", "1 -ne  1", "1 -lt  1", "1 -gt  1", "2 -le 1", "1 -ge 2"], false);
}

#[test]
fn strings_are_compared_by_their_bytes() {
    all(
        &[
            "'aa' == 'aa'",
            "'aa' =  'aa'",
            "'aa' != 'b'",
            "'aa' <  'b'",
            "'aa' <= 'b'",
            "'aa' <= 'aa'",
            "'b'  >  'aa'",
            "'b'  >= 'aa'",
            "'aa' >= 'aa'",
            "'' < 'a'",
            "'a' < 'aa'",
            "'Z' < 'a'",
            "'a' < '\\377'",
        ],
        true,
    );
    all(
        &[
            "'aa' == 'b'",
            "'aa' =  'b'",
            "'aa' != 'aa'",
            "'aa' <  'aa'",
            "'aa' >  'aa'",
            "'1' == '01'",
        ],
        false,
    );
}

#[test]
fn words_are_joined_by_dots_and_in_strings() {
    all(
        &[
            "'a' . 'b' . 'c' = 'abc'",
            "'a' .'b'. 'c' = 'abc'",
            " 'a' .'b'. 'c'='abc' ",
            "'a1c' = 'a'. 1. 'c'",
            "req('foo') . 'bar' = 'bar'",
            "%{req:foo} . 'bar' = 'bar'",
            "'x'.%{req:foo} . 'bar' = 'xbar'",
            "%{req:User-Agent} . 'bar' != 'bar'",
            "'%{req:User-Agent}' . 'bar' != 'bar'",
            "'%{TIME}' . 'bar' != 'bar'",
            "'x%{REQUEST_METHOD}y' . 'z' . 'x%{HTTPS}y' == 'xGETyzxoffy'",
            "'1%{HTTPS}2' . '3%{HTTPS}4' . '5%{HTTPS}6' == '1off23off45off6'",
            "\"it's\" == 'it\\'s'",
            "'\\101\\n\\t' == 'A\\12\\11'",
            "'a\\0b' == 'a'",
            "'$' . '%' . '}' == '$%}'",
        ],
        true,
    );
}

#[test]
fn lists_are_searched() {
    all(
        &[
            "'a' -in { 'b', 'a' }",
            "'a' in {'a'}",
            "1 in { 2 . '', 1 }",
            "'GET' in { %{REQUEST_METHOD} }",
        ],
        true,
    );
    all(&["'a' -in { 'b', 'c' }"], false);
    assert_eq!(truth("'two' in PeerExtList('1.2.3')", &all_modules()), Ok(true));
    assert_eq!(truth("'two' in PeerExtList('1.2')", &all_modules()), Ok(false));
}

#[test]
fn regular_expressions_leave_groups_behind() {
    all(
        &[
            "'abc' =~ /bc/",
            "'abc' =~ /BC/i",
            "'abc' =~ m#b#",
            "'a/b' =~ m'a/b'",
            "'a\\nb' =~ /a.b/",
            "$0 == ''",
            "$1 == ''",
            "$9 == ''",
            "'$0' == ''",
            "'abc' =~ /(bc)/ && $0 == 'bc'",
            "'abc' =~ /(bc)/ && $1 == 'bc'",
            "'abc' =~ /b(.)/ && $1 == 'c'",
            "'abc' =~ /bc/ && $0 == ''",
            "'abc' =~ /(bc)/ && 'xy' =~ /x/ && $0 == 'bc'",
            "'abcdefghijklm' =~ /(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)(l)/ && $2 == 'c'",
            "'abc' =~ /(b)(x)?(c)/ && $2 == '' && $3 == 'c'",
            "'abc' =~ /(b)/ && ('x' =~ /(y)/ || $1 == '')",
            "'abc' =~ /(b)/ && '<$1$0>' == '<bb>'",
        ],
        true,
    );
    all(&["'abc' !~ m!bc!", "'abc' !~ m!BC!i", "'abc' =~ /^b/", "'a\\n' =~ /a$/"], false);
}

#[test]
fn variables_have_the_values_of_the_request() {
    all(
        &[
            "%{TIME_YEAR} = '2026'",
            "%{TIME_MON} = '03'",
            "%{TIME_DAY} = '09'",
            "%{TIME_HOUR} = '07'",
            "%{TIME_MIN} = '05'",
            "%{TIME_SEC} = '59'",
            "%{TIME_WDAY} = '1'",
            "%{TIME} = '20260309070559'",
            "%{LAST_MODIFIED} = '19700101000000'",
            "%{API_VERSION} -gt 20101001",
            "%{REQUEST_METHOD} == 'GET'",
            "'x%{REQUEST_METHOD}' == 'xGET'",
            "'x%{REQUEST_METHOD}y' == 'xGETy'",
            "%{request_scheme} == 'http'",
            "%{HTTPS} == 'off'",
            "%{REQUEST_URI} == '/apache/expr/index.html'",
            "%{QUERY_STRING} == ''",
            "%{req:referer} = 'SomeReferer'",
            "req('Referer') = 'SomeReferer'",
            "http('Referer') = 'SomeReferer'",
            "%{HTTP_REFERER} = 'SomeReferer'",
            "HTTP('User-Agent') = 'SomeAgent'",
            "%{HTTP_USER_AGENT} = 'SomeAgent'",
            "req('SomeHeader') = 'SomeValue'",
            "resp('content-type') = 'text/plain'",
            "req_novary('SomeHeader') = 'SomeValue'",
        ],
        true,
    );
    all(&["req('SomeHeader2') = 'SomeValue'"], false);
}

#[test]
fn functions_change_texts() {
    all(
        &[
            "toupper('abC12d') = 'ABC12D'",
            "tolower('abC12d') = 'abc12d'",
            "escape('?') = '%3f'",
            "unescape('%3f') = '?'",
            "toupper(escape('?')) = '%3F'",
            "tolower(toupper(escape('?'))) = '%3f'",
            "%{toupper:%{escape:?}} = '%3F'",
            "sha1('foo') = '0beec7b5ea3f0fdbc95d0dd47f3c5bc275da8a33'",
            "md5('foo') = 'acbd18db4cc2f85cedef654fccc4a4d8'",
            "base64('foo') = 'Zm9v'",
            "unbase64('Zm9vMg==') = 'foo2'",
            "unbase64('Zm9vMg') = 'foo2'",
            "unbase64('Zm9v!Mg') = 'foo'",
            "unbase64('Zm9vM') = 'foo'",
            "unbase64('AGE=') = ''",
            "env('both') = 'note'",
            "env('env') = 'env'",
            "env('PATH') = '/bin'",
            "reqenv('both') = 'env'",
            "note('both') = 'note'",
            "osenv('both') = 'process'",
            "unescape('%2f%2F%41') = '%2f%2FA'",
            "unescape('%00') = ''",
            "unescape('%4') = ''",
        ],
        true,
    );
}

#[test]
fn tests_ask_about_one_word() {
    all(&["-z ''", "-n '1'", "-T 'on'", "-T 'n'", "-T '00'", "-T ' '", "-T 'offf'"], true);
    all(&["-n ''", "-z '1'", "-T ''", "-T 'OFF'", "-T 'No'", "-T 'false'", "-T 0"], false);
}

#[test]
fn addresses_match_networks() {
    all(
        &[
            "-R '127.0.0.1' || -R '::1'",
            "'127.0.0.1' -ipmatch '127.0.0.0/8'",
            "-R '127'",
            "'127.0.0.1' -ipmatch '127.0.0.0/255.0.0.0'",
            "'::1' -ipmatch '::/64'",
            "'::ffff:127.0.0.1' -ipmatch '127.'",
            "'localhost' -ipmatch '127.0.0.1'",
        ],
        true,
    );
    all(
        &[
            "-R '240.0.0.0'",
            "-R '240.0.0.0/8'",
            "-R 'ff::/8'",
            "'' -ipmatch '0'",
            "'127.0.0.1' -ipmatch '240.0.0.0'",
            "'127.0.0.1' -ipmatch '240.0.0.0/8'",
            "'127.0.0.1' -ipmatch 'ff::/8'",
            "'no name' -ipmatch '127'",
        ],
        false,
    );
}

#[test]
fn wildcards_match_texts_and_paths() {
    all(
        &[
            "'foo' -strmatch '*o'",
            "'fo/o' -strmatch 'f*'",
            "'foo' -strcmatch 'F*'",
            "'a/b' -fnmatch 'a/*'",
            "'abab' -strmatch 'a*ab'",
            "'a' -strmatch '[a-c]'",
            "'d' -strmatch '[!a-c]'",
            "']' -strmatch '[]]'",
            "'[a' -strmatch '[a'",
            "'*' -strmatch '\\\\*'",
            "'B' -strcmatch '[a-c]'",
            "'' -strmatch '*'",
            "'a/b/c' -fnmatch '*/?/[c]'",
            "'-' -strmatch '[a\\\\-c]'",
        ],
        true,
    );
    all(
        &[
            "'foo' -strmatch 'F*'",
            "'foo' -strmatch 'g*'",
            "'foo' -strcmatch 'g*'",
            "'a/b' -fnmatch 'a*'",
            "'a/b' -fnmatch 'a?b'",
            "'a/b' -fnmatch 'a[/]b'",
            "'a' -strmatch '?a'",
            "'b' -strmatch '\\\\*'",
        ],
        false,
    );
}

#[test]
fn files_are_asked_about() {
    all(
        &[
            "filesize('/site/index.html') = 4",
            "filesize('/site/none') = 0",
            "filesize('/site') = 0",
            "file('/site/index.html') = 'foo\\n'",
            "file('/site/nul') = 'a'",
            "-e '/site/index.html'",
            "-f '/site/index.html'",
            "-s '/site/index.html'",
            "-e '/site/zero'",
            "-f '/site/zero'",
            "-d '/site'",
            "-e '/site'",
            "-x '/site'",
            "-L '/site/link'",
            "-h '/site/link'",
            "-F '/site/index.html'",
            "-U '/apache/'",
            "-A '/apache/'",
            "-x '/site/link'",
        ],
        true,
    );
    all(
        &[
            "-d '/site/index.html'",
            "-s '/site/zero'",
            "-f '/site'",
            "-s '/site'",
            "-d '/site/none'",
            "-e '/site/none'",
            "-f '/site/none'",
            "-s '/site/none'",
            "-F '/site/none'",
            "-U '/apache/expr/none'",
            "-L '/site'",
            "-x '/site/zero'",
            "-e '/site/link'",
        ],
        false,
    );
}

/// Every expression of up to three constants, against the same computed here.
#[test]
fn and_binds_tighter_than_or_and_not_tighter_still() {
    let constants = [("true", true), ("false", false), ("!true", false), ("not !true", true)];
    for (first, a) in constants {
        for (second, b) in constants {
            for (third, c) in constants {
                let cases = [
                    (format!("{first} && {second} || {third}"), (a && b) || c),
                    (format!("{first} || {second} and {third}"), a || (b && c)),
                    (format!("{first} or {second} || {third}"), a || b || c),
                    (format!("{first} && {second} && {third}"), a && b && c),
                    (format!("({first} || {second}) && {third}"), (a || b) && c),
                    (format!("!({first} && {second}) || {third}"), !(a && b) || c),
                ];
                for (text, expected) in cases {
                    assert_eq!(truth(&text, &Mode::default()), Ok(expected), "{text}");
                }
            }
        }
    }
}

#[test]
fn what_goes_wrong_is_an_error_and_neither_true_nor_false() {
    let open = EvalError::CannotOpen("/none".to_owned());
    let cases = [
        ("file('/none') == ''", open),
        ("file('/site/large') == ''", EvalError::TooLarge("/site/large".to_owned())),
        ("file('/site') == ''", EvalError::CannotRead("/site".to_owned())),
        (
            "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!' !~ /^(a|aa)+$/",
            EvalError::MatchLimit,
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(truth(text, &Mode::default()), Err(expected), "{text}");
    }
    assert_eq!(truth("true || file('/none') == ''", &Mode::default()), Ok(true));
}

/// httpd follows words 19 levels deep below a condition, and any number of parentheses.
#[test]
fn recursion_ends_where_it_ends_in_httpd() {
    let nested =
        |depth: usize| format!("{}'A'{} == 'a'", "tolower(".repeat(depth), ")".repeat(depth));
    assert_eq!(truth(&nested(18), &Mode::default()), Ok(true));
    assert_eq!(truth(&nested(19), &Mode::default()), Err(EvalError::Recursion));
    let grouped = |depth: usize| format!("{}true{}", "(".repeat(depth), " && true)".repeat(depth));
    assert_eq!(truth(&grouped(19), &Mode::default()), Ok(true));
    assert_eq!(truth(&grouped(20), &Mode::default()), Err(EvalError::Recursion));
    let plain = format!("{}true{}", "(".repeat(90), ")".repeat(90));
    assert_eq!(truth(&plain, &Mode::default()), Ok(true));
    let long = format!("true{}", " && true".repeat(5000));
    assert_eq!(truth(&long, &Mode::default()), Ok(true));
}

#[test]
fn ssl_require_compares_lengths_first() {
    let mode = Mode { ssl_compat: true, ..all_modules() };
    for case in ["'10' > '9'", "10 gt 9", "'b' < 'aa'", "%{SSL_PROTOCOL} == SSL('SSL_PROTOCOL')"] {
        assert_eq!(truth(case, &mode), Ok(true), "{case}");
    }
    assert_eq!(truth("'01' eq '1'", &mode), Ok(false));
    assert_eq!(truth("'a' < '\\377'", &mode), Ok(false), "bytes are signed");
}

#[test]
fn modules_add_names() {
    let health_check = ["hc('body') =~ /up/", "%{HC_BODY} = 'up'", "%{hc_other} = ''"];
    for case in health_check {
        assert_eq!(truth(case, &all_modules()), Ok(true), "{case}");
    }
    for case in ["v('both') = 'page'", "env('both') = 'page'", "reqenv('both') = 'page'"] {
        assert_eq!(truth(case, &Mode::page()), Ok(true), "{case}");
    }
}

/// The order is httpd's own: it evaluates the right side first, and long strings from their end.
#[test]
fn fields_of_the_request_are_told_for_vary() {
    let cases = [
        ("req('A') == %{HTTP_ACCEPT}", "Accept, A"),
        ("req('Host') == %{HTTP_HOST}", ""),
        ("req_novary('A') == ''", ""),
        ("req('A') == 'x' && req('B') == ''", "A"),
        ("'%{req:A}%{req:B}' == ''", "A, B"),
        ("'%{req:A}%{req:B}%{req:C}' == ''", "C, B, A"),
        ("req('A') . req('B') . req('C') == ''", "A, B, C"),
        ("'%{req:A}%{req:B}' . req('C') == ''", "C, B, A"),
        ("req('C') . '%{req:A}%{req:B}' == ''", "C, A, B"),
        ("'x' in { req('A'), req('B') }", "B, A"),
    ];
    for (text, expected) in cases {
        let request = Request::default();
        let expr = Expr::parse(text, &Mode::default()).unwrap();
        expr.eval(&request, &mut Matches::new()).unwrap();
        assert_eq!(*request.vary.borrow(), expected, "{text}");
    }
}

#[test]
fn groups_live_as_long_as_the_caller_keeps_them() {
    let mut matches = Matches::new();
    let request = Request::default();
    let parse = |text: &str| Expr::parse(text, &Mode::default()).unwrap();
    assert!(parse("'abc' =~ /a(.)/").eval(&request, &mut matches).unwrap());
    assert!(parse("$1 == 'b'").eval(&request, &mut matches).unwrap());
    assert_eq!(
        (matches.get(0), matches.get(1), matches.get(99)),
        (&b"ab"[..], &b"b"[..], &b""[..])
    );
    assert!(!parse("'abc' =~ /x(.)/").eval(&request, &mut matches).unwrap());
    assert!(matches.is_empty());
}

#[test]
fn a_constant_asks_about_nothing() {
    let uses = |text: &str| Expr::parse(text, &Mode::default()).unwrap().uses();
    for text in ["true", "1 -eq 2 || md5('a') == 'b'", "'%{API_VERSION}' gt 1", "-T 'x'"] {
        assert!(Expr::parse(text, &Mode::default()).unwrap().is_constant(), "{text}");
    }
    assert!(uses("%{REMOTE_USER} == 'a'").user && uses("%{REMOTE_USER} == 'a'").request);
    assert!(uses("resp('a') == ''").response && uses("%{REQUEST_STATUS} eq 404").response);
    assert!(uses("-f 'a'").files && uses("file('a') == ''").files && uses("-F 'a'").subrequests);
    assert!(uses("%{TIME} == ''").time && uses("$1 == ''").matches && uses("-R '10'").request);
}
