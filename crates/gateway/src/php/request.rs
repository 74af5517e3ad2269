//! What a script is told of its request (php_apache_request_ctor).

use super::settings::SETTINGS;
use message::BodyLength;
use php::ScriptRequest;
use server::fields::joined;
use server::request_context::RequestContext;

/// The request as PHP is told it. Its variables are those of the request.
pub(super) fn of(request: &mut RequestContext<'_>, is_source: bool) -> ScriptRequest {
    let received = request.received().clone();
    let file = request.mapping.place.path();
    let method = request.tables.env.get("REQUEST_METHOD").unwrap_or(b"GET");
    let mut script = ScriptRequest::new(method, &request.path, &file);
    script.query(request.query());
    let view = received.view();
    let field = |name: &[u8]| joined(&view, name);
    let authorization = field(b"Authorization");
    let authorization = authorization.as_deref();
    let (content_type, cookies) = (field(b"Content-Type"), field(b"Cookie"));
    script.fields(content_type.as_deref(), cookies.as_deref(), authorization);
    script.user(request.authentication.user.as_deref());
    script.content_length = match request.body() {
        BodyLength::Length(length) => length,
        BodyLength::None | BodyLength::Unknown => 0,
    };
    script.protocol = if received.view().protocol() == b"HTTP/1.0" { 1000 } else { 1001 };
    script.status = request.status.code();
    script.time_s = request.start_us() as f64 / 1e6;
    script.is_source = is_source;
    for (name, value) in request.tables.env.iter() {
        script.variable(name.as_bytes(), value);
    }
    for setting in SETTINGS.of(&request.settings).iter() {
        script.setting(setting);
    }
    tell_user(request);
    script
}

/// PHP knows who the client says it is, and so does the log, once the script was told the rest.
pub(super) fn tell_user(request: &mut RequestContext<'_>) {
    if let Some(user) = request.received().field(b"Authorization").and_then(basic_user) {
        request.authentication.user = Some(user);
    }
}

/// The name in a field `Authorization: Basic`, as PHP reads it (php_handle_auth_data).
fn basic_user(field: &[u8]) -> Option<Vec<u8>> {
    let (scheme, rest) = field.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"Basic ") {
        return None;
    }
    let text = expr::unbase64(rest.trim_ascii());
    let colon = text.iter().position(|byte| *byte == b':')?;
    Some(text[..colon].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_stands_before_the_colon() {
        let user = |field: &str| basic_user(field.as_bytes());
        assert_eq!(user("Basic dXNlcjpzZWNyZXQ=").as_deref(), Some(&b"user"[..]));
        assert_eq!(user("basic dXNlcjpzZWNyZXQ=").as_deref(), Some(&b"user"[..]));
        assert_eq!(user("Basic dXNlcg=="), None);
        assert_eq!(user("Bearer dXNlcjpzZWNyZXQ="), None);
        assert_eq!(user(""), None);
    }
}
