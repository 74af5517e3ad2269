//! A request as siege puts it: which fields, in which order, in which letters.

use super::config::Config;
use super::urls::SiegeRequest;
use load::plan::{PlanValues, PlannedBody};

/// What a request is told beside its task.
#[derive(Debug, Default)]
pub(super) struct Extras {
    pub(super) authorization: Option<String>,
    pub(super) proxy_authorization: Option<String>,
    /// The value of Cookie.
    pub(super) cookies: Vec<u8>,
    pub(super) if_modified_since: Option<Vec<u8>>,
    pub(super) if_none_match: Option<Vec<u8>>,
}

/// Appends the bytes. The order is that of http.c `http_get` and `http_post` in siege 4.0.7.
pub(super) fn request(
    task: &SiegeRequest,
    extras: &Extras,
    config: &Config,
    values: &PlanValues,
    out: &mut Vec<u8>,
) {
    out.extend(task.method.as_bytes());
    out.push(b' ');
    if config.proxy_host.is_some() {
        // siege's proxies are told the port whatever it is.
        let url = &task.url;
        let (scheme, host) = (url.scheme.as_str(), url.authority());
        let suffix = format!(":{}", url.port);
        let host = host.strip_suffix(&suffix).unwrap_or(&host);
        out.extend(format!("{scheme}://{host}{suffix}").as_bytes());
    }
    task.target.write(values, out);
    let is_newer = config.http11 && !config.gets && !config.prints;
    out.extend(if is_newer { b" HTTP/1.1\r\n" } else { b" HTTP/1.0\r\n" });
    if !config.headers.iter().any(|line| begins(line, "host:")) {
        field(out, "Host", task.url.authority().as_bytes());
    }
    let mut optional = |name: &str, value: Option<&[u8]>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            field(out, name, value);
        }
    };
    optional("Authorization", extras.authorization.as_deref().map(str::as_bytes));
    optional("Proxy-Authorization", extras.proxy_authorization.as_deref().map(str::as_bytes));
    optional("Cookie", Some(&extras.cookies));
    optional("If-Modified-Since", extras.if_modified_since.as_deref());
    optional("If-None-Match", extras.if_none_match.as_deref());
    if !config.headers.first().is_some_and(|line| begins(line, "accept:")) {
        field(out, "Accept", b"*/*");
    }
    field(out, "Accept-Encoding", config.accept_encoding.as_bytes());
    field(out, "User-Agent", config.user_agent.as_bytes());
    for line in &config.headers {
        out.extend(line.as_bytes());
        out.extend(b"\r\n");
    }
    field(out, "Connection", if config.keep_alive { b"keep-alive" } else { b"close" });
    body(task, config, values, out);
}

/// The end of the head, and the body of a method that has one.
fn body(task: &SiegeRequest, config: &Config, values: &PlanValues, out: &mut Vec<u8>) {
    if matches!(task.method.as_str(), "GET" | "HEAD") {
        out.extend(b"\r\n");
        return;
    }
    let mut bytes = Vec::new();
    match &task.body {
        PlannedBody::None => {}
        PlannedBody::Text(text) => text.write(values, &mut bytes),
        PlannedBody::Bytes(file) => bytes.extend(&file[..]),
    }
    field(out, "Content-Type", config.content_type.as_bytes());
    field(out, "Content-Length", bytes.len().to_string().as_bytes());
    out.extend(b"\r\n");
    out.extend(bytes);
}

fn field(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend(name.as_bytes());
    out.extend(b": ");
    out.extend(value);
    out.extend(b"\r\n");
}

fn begins(line: &str, name: &str) -> bool {
    line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::super::urls;
    use super::*;

    fn text(line: &str, config: Config) -> String {
        let mut config = Config { url: Some(line.to_owned()), ..config };
        config.settle();
        let task = urls::load(&config).unwrap().tasks.remove(0);
        let mut out = Vec::new();
        request(&task, &Extras::default(), &config, &PlanValues::new(0, 0), &mut out);
        String::from_utf8(out).unwrap()
    }

    const AGENT: &str = "User-Agent: Mozilla/5.0 (pc-x86_64-linux-gnu) Siege/4.0.7\r\n";

    #[test]
    fn a_get_has_the_fields_of_siege_in_their_order() {
        let wanted = format!(
            "GET /x HTTP/1.1\r\nHost: a:81\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate\r\n\
             {AGENT}Connection: close\r\n\r\n"
        );
        assert_eq!(text("http://a:81/x", Config::default()), wanted);
    }

    #[test]
    fn a_post_has_type_and_length_behind_connection() {
        let headers = vec!["Host: b".to_owned(), "X: y".to_owned()];
        let config = Config { headers, keep_alive: true, ..Config::default() };
        let wanted = format!(
            "POST /x HTTP/1.1\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate\r\n{AGENT}\
             Host: b\r\nX: y\r\nConnection: keep-alive\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\na=b"
        );
        assert_eq!(text("a/x POST a=b", config), wanted);
    }

    #[test]
    fn a_proxy_is_told_the_whole_url() {
        let config = Config { proxy_host: Some("p".to_owned()), gets: true, ..Config::default() };
        assert!(text("x.example/a", config).starts_with("HEAD http://x.example:80/a HTTP/1.0\r\n"));
    }
}
