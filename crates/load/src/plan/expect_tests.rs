//! Tests of `expect`: conditions and what is taken, by table.

use super::*;
use http1::OwnedAnswerHead;

fn head() -> OwnedAnswerHead {
    let mut head = OwnedAnswerHead::default();
    head.set(200, [(&b"Content-Type"[..], &b"text/html; charset=utf-8"[..]), (b"X", b"1")]);
    head
}

fn seen<'a>(head: &'a OwnedAnswerHead, body: &'a str) -> AnswerView<'a> {
    let body_bytes = body.len() as u64;
    AnswerView { status: 200, head: head.view(), body: body.as_bytes(), body_bytes }
}

#[test]
fn conditions_hold_or_say_which_does_not() {
    let head = head();
    let seen = seen(&head, "<h1>Welcome \"Ann\"</h1>");
    for (text, broken) in [
        ("200", None),
        ("2xx,404", None),
        ("status==200", None),
        ("status==2xx,404 && bytes==22", None),
        ("status!=5xx", None),
        ("body~\"Welcome\"", None),
        ("body~Welcome", None),
        ("body ~ \"^<h1>.*</h1>$\"", None),
        ("body~\"Welcome \\\"Ann\\\"\"", None),
        ("body!~\"[Ee]rror\"", None),
        ("header(content-type)~\"^text/html\" && bytes>10 && bytes<=22", None),
        ("header(X)==1&&header(X)!=2", None),
        ("header(Y)!~\"a\"", None),
        ("status==200 && body~\"Goodbye\"", Some("body~\"Goodbye\"")),
        ("body!~\"Welcome\" && status==200", Some("body!~\"Welcome\"")),
        ("bytes>22", Some("bytes>22")),
        ("bytes<22", Some("bytes<22")),
        ("bytes>=23", Some("bytes>=23")),
        ("header(Y)~\"\"", Some("header(Y)~\"\"")),
        ("body==Welcome", Some("body==Welcome")),
        ("status==201 && body~Welcome", Some("status==201")),
    ] {
        assert_eq!(Expect::parse(text).unwrap().broken(&seen), broken, "{text}");
    }
}

#[test]
fn what_takes_too_long_to_find_out_is_not_as_it_should_be() {
    let (head, body) = (head(), "ab".repeat(500_000) + "Error");
    for text in ["body~\"^(a|b)*Error\"", "body!~\"^(a|b)*Error\""] {
        assert_eq!(Expect::parse(text).unwrap().broken(&seen(&head, &body)), Some(text));
    }
}

#[test]
fn statuses_are_judged_by_themselves() {
    let of = |text: &str, status| Expect::parse(text).unwrap().allows(status);
    assert_eq!([of("200,3xx", 304), of("200,3xx", 404)], [Some(true), Some(false)]);
    assert_eq!(of("body~x", 500), None);
    assert_eq!(
        [of("status!=404 && body~x", 404), of("status!=404", 200)],
        [Some(false), Some(true)]
    );
    assert!(!Expect::parse("status==200").unwrap().looks_inside());
    assert!(Expect::parse("status==200 && bytes>1").unwrap().looks_inside());
}

#[test]
fn what_is_no_condition_is_told_with_its_place() {
    for (text, at, what) in [
        ("20", 0, "expected a status"),
        ("status=200", 6, "expected == or !="),
        ("status==2000", 8, "expected a status"),
        ("stat==200", 0, "expected status, bytes, body or header(NAME)"),
        ("body>3", 4, "expected one of ~ !~ == !="),
        ("bytes~3", 5, "expected one of == != < <= > >="),
        ("bytes>many", 6, "expected a number of bytes"),
        ("body~\"a", 5, "the quotation mark is never closed"),
        ("body~\"(\"", 5, "missing closing parenthesis"),
        ("body~", 5, "expected a text"),
        ("header()~a", 7, "the name of a field"),
        ("body~a or body~b", 7, "expected &&"),
        ("body~a && ", 10, "expected status, bytes, body or header(NAME)"),
    ] {
        let fault = Expect::parse(text).unwrap_err();
        assert!(fault.what.contains(what), "{text}: {fault}");
        assert_eq!(fault.at, at, "{text}: {fault}");
    }
}

#[test]
fn a_value_is_what_the_first_group_matches() {
    let body = "<input name=\"token\" value=\"a+b/c=\"> <a href='/next'>";
    let head = head();
    let take = |text: &str| Take::parse(text).unwrap().from(&seen(&head, body));
    let token = take("TOKEN=body~\"name=\\\"token\\\" value=\\\"([^\\\"]*)\\\"\"");
    assert_eq!(token.unwrap(), b"a+b/c=");
    assert_eq!(take("N = body~\"/n[a-z]+\"").unwrap(), b"/next");
    assert_eq!(take("X=header(x)~\".+\"").unwrap(), b"1");
    assert_eq!(take("X=body~\"none\"").unwrap_err(), "the answer has no value for X");
    assert_eq!(take("X=header(none)~\".\"").unwrap_err(), "the answer has no value for X");
    let broken = Take::parse("X=body~\".+\"").unwrap().from(&seen(&head, "a\r\nSet: b"));
    assert_eq!(broken.unwrap_err(), "the value taken for X cannot be sent");
    for text in
        ["", "=body~a", "1=body~a", "X", "X=status~a", "X=body==a", "X=body~a b", "X=body~("]
    {
        assert!(Take::parse(text).is_err(), "{text}");
    }
}
