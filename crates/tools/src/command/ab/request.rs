//! The bytes of ab's requests: `test` of httpd's support/ab.c.

use super::arguments::AbArguments;
use super::target::AbTarget;

/// The head of the request.
pub(super) fn head(arguments: &AbArguments, target: &AbTarget) -> String {
    let method = arguments.method();
    let is_tunnelled = target.is_tunnelled(arguments.proxy.as_ref());
    let asks_proxy = arguments.proxy.is_some() && !is_tunnelled;
    let what = if asks_proxy { &target.full } else { &target.path };
    let mut out = format!("{method} {what} HTTP/1.0\r\n");
    if arguments.keeps_alive {
        out.push_str("Connection: Keep-Alive\r\n");
    }
    if !arguments.cookies.is_empty() {
        // RFC 6265 section 5.4: one field. ab sends the last cookie only.
        out.push_str(&format!("Cookie: {}\r\n", arguments.cookies.join("; ")));
    }
    match is_tunnelled {
        true => out.push_str(&credentials(arguments, false)),
        false => out.push_str(&arguments.credentials),
    }
    if let Some(body) = &arguments.body {
        let content_type = arguments.content_type.as_deref().unwrap_or("text/plain");
        let length = body.len();
        out.push_str(&format!("Content-length: {length}\r\nContent-type: {content_type}\r\n"));
    }
    for field in &arguments.fields {
        out.push_str(&format!("{field}\r\n"));
    }
    let usual = [
        ("Host", target.authority()),
        ("User-Agent", "ApacheBench/2.3".to_owned()),
        ("Accept", "*/*".to_owned()),
    ];
    for (name, value) in usual.into_iter().filter(|(name, _)| !is_given(arguments, name)) {
        out.push_str(&format!("{name}: {value}\r\n"));
    }
    out.push_str("\r\n");
    out
}

/// The lines of credentials for the server, or for a proxy.
pub(super) fn credentials(arguments: &AbArguments, for_proxy: bool) -> String {
    let lines = arguments.credentials.split_inclusive('\n');
    lines.filter(|line| line.starts_with("Proxy-") == for_proxy).collect()
}

/// The bytes of the request, head and body.
pub(super) fn bytes(arguments: &AbArguments, target: &AbTarget) -> Vec<u8> {
    let mut bytes = head(arguments, target).into_bytes();
    bytes.extend(arguments.body.iter().flatten());
    bytes
}

/// Whether `-H` has a field of this name.
fn is_given(arguments: &AbArguments, name: &str) -> bool {
    arguments.fields.iter().any(|field| {
        let given = field.split_once(':').map_or("", |(given, _)| given);
        given.eq_ignore_ascii_case(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> String {
        let words: Vec<String> = line.split('|').map(str::to_owned).collect();
        let (arguments, target) = AbArguments::read("ab", &words).unwrap();
        head(&arguments, &target.unwrap())
    }

    #[test]
    fn requests_are_those_of_ab() {
        assert_eq!(
            of("http://localhost:81/x"),
            "GET /x HTTP/1.0\r\nHost: localhost:81\r\nUser-Agent: ApacheBench/2.3\r\n\
             Accept: */*\r\n\r\n"
        );
        assert_eq!(
            of("-k|-i|-C|a=1|-C|b=2|-A|me:secret|-H|X-A: 1|-H|host: b|-H|Accept: text/html|a/"),
            "HEAD / HTTP/1.0\r\nConnection: Keep-Alive\r\nCookie: a=1; b=2\r\n\
             Authorization: Basic bWU6c2VjcmV0\r\nX-A: 1\r\nhost: b\r\nAccept: text/html\r\n\
             User-Agent: ApacheBench/2.3\r\n\r\n"
        );
        assert!(
            of("-X|proxy:3128|http://a/b").starts_with("GET http://a/b HTTP/1.0\r\nHost: a\r\n")
        );
        assert!(
            of("-X|p:1|-P|me:x|http://a/b").contains("Proxy-Authorization: Basic bWU6eA==\r\n")
        );
        // Through a tunnel the server is asked, and the proxy's credentials are not its business.
        let tunnelled = of("-X|p:1|-P|me:x|-A|a:b|https://a/b");
        assert!(tunnelled.starts_with("GET /b HTTP/1.0\r\nAuthorization: "), "{tunnelled}");
        assert!(!tunnelled.contains("Proxy-"), "{tunnelled}");
    }
}
