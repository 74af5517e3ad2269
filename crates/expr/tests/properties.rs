//! Whatever is written, compiling and evaluating it ends, and the same way each time.

mod common;

use common::Request;
use expr::{Expr, Matches, Mode, StringExpr, Subnet, fuzz_expr};
use proptest::prelude::*;

/// Pieces that mean something, so that random texts reach the corners of the language.
const PIECES: &[&str] = &[
    "true",
    "false",
    "!",
    " && ",
    " || ",
    " and ",
    "or ",
    "(",
    ")",
    "'",
    "\"",
    "%{",
    "}",
    ":",
    "$1",
    "%{TIME}",
    "%{HTTP_HOST}",
    "%{req:",
    "md5(",
    "'a'",
    " . ",
    "1",
    "-2",
    " == ",
    " lt ",
    " -eq ",
    " =~ ",
    "/(a)/",
    "m#.*#i",
    " in ",
    "{",
    ",",
    "-n ",
    "-R ",
    " -ipmatch ",
    "'10.0.0.0/8'",
    " -strmatch ",
    "'[a-b]*?'",
    "\\",
    "\\101",
    "\n",
    "é",
    "file('/a')",
    "-U ",
    "@",
];

fn text() -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(PIECES);
    proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_comes_to_an_end(choice: u8, text in text()) {
        fuzz_expr(&[&[choice], text.as_bytes()].concat());
    }

    #[test]
    fn any_bytes_come_to_an_end(bytes: Vec<u8>) {
        fuzz_expr(&bytes);
    }

    #[test]
    fn a_condition_has_one_value(text in text()) {
        if let Ok(expr) = Expr::parse(&text, &Mode::default()) {
            let request = Request::default();
            let value = || expr.eval(&request, &mut Matches::new());
            prop_assert_eq!(value(), value());
        }
    }

    /// Without a sign that means something, a text is itself.
    #[test]
    fn a_plain_text_is_itself(text in "[^\\\\%$\n\0]{0,200}") {
        let expr = StringExpr::parse(&text, &Mode::default()).unwrap();
        prop_assert_eq!(expr.as_constant(), Some(text.as_bytes()));
    }

    #[test]
    fn base64_comes_back(text in "[a-zA-Z0-9 ./-]{1,60}") {
        let expr = StringExpr::parse(format!("%{{unbase64:%{{base64:{text}}}}}"), &Mode::default());
        let (expr, request) = (expr.unwrap(), Request::default());
        prop_assert_eq!(expr.eval(&request, &mut Matches::new()).unwrap(), text.as_bytes());
    }

    /// A pattern with stars against the same as a regular expression.
    #[test]
    fn stars_match_as_a_regular_expression(pattern in "[ab*?]{0,8}", text in "[abc]{0,10}") {
        let regex = format!("^{}$", pattern.replace('*', ".*").replace('?', "."));
        let parse = |text: String| Expr::parse(text, &Mode::default()).unwrap();
        let glob = parse(format!("'{text}' -strmatch '{pattern}'"));
        let regex = parse(format!("'{text}' =~ /{regex}/"));
        let request = Request::default();
        let value = |expr: Expr| expr.eval(&request, &mut Matches::new()).unwrap();
        prop_assert_eq!(value(glob), value(regex));
    }

    #[test]
    fn a_network_holds_what_shares_its_first_bits(address: u32, bits in 1u32..=32, other: u32) {
        let [address, other] = [address, other].map(std::net::Ipv4Addr::from);
        let subnet = Subnet::parse(format!("{address}/{bits}").as_bytes()).unwrap();
        let differ = u32::from(address) ^ u32::from(other);
        prop_assert!(subnet.contains(address.into()));
        prop_assert_eq!(subnet.contains(other.into()), differ.leading_zeros() >= bits);
    }
}
