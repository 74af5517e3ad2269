//! What `FilterProtocol` says of another server's answers.

use super::*;

#[test]
fn what_another_server_answers_passes_only_what_may_change_it() {
    let both = "FilterProvider f BROTLI_COMPRESS \"true\"\n\
                FilterProvider f DEFLATE \"true\"\nFilterChain f\n";
    let coding = |flags: &str, is_proxied: bool, control: &str| {
        let asked = Asked { accept: Some("gzip, br"), holds: true, is_proxied, ..Asked::default() };
        let answer = page(100).field("Cache-Control", control);
        let response = pass(&format!("{both}FilterProtocol f {flags}\n"), &asked, answer);
        let text = |name| response.get(name).map(|it| String::from_utf8_lossy(it).into_owned());
        (text("Content-Encoding"), text("Warning"))
    };
    let (none, any, strict) = ("private", "max-age=1", "private, No-Transform");
    let warning = Some("214 a.example Transformation applied".to_owned());
    for (flags, control, expected) in [
        ("proxy=no", any, (None, None)),
        ("DEFLATE proxy=no", any, (Some("br".to_owned()), None)),
        ("proxy=transform", none, (Some("gzip".to_owned()), None)),
        ("proxy=transform", strict, (None, None)),
        ("DEFLATE change=yes;proxy=transform", none, (Some("gzip".to_owned()), warning)),
        ("DEFLATE proxy=transform", strict, (Some("br".to_owned()), None)),
    ] {
        assert_eq!(coding(flags, true, control), expected, "{flags} {control}");
        let unproxied = coding(flags, false, control);
        assert_eq!(unproxied, (Some("gzip".to_owned()), None), "{flags} {control}");
    }
}
