//! The variables that a script is told: those that were set for the request, and over them those
//! that the server knows itself (RFC 3875 section 4; `ap_add_common_vars` and `ap_add_cgi_vars` of
//! httpd's util_script.c). Nobody can set one of the latter from outside: they come last.

use crate::identity;
use crate::names::NamedEnd;
use crate::phase;
use crate::request_context::RequestContext;
use crate::site::settings::core::EnvironmentRules;
use crate::table::Table;
use message::escape::html_escape;
use std::fmt::Display;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;

/// What a script finds programs in if this process does not know better (DEFAULT_PATH of httpd.h).
const DEFAULT_PATH: &[u8] = b"/bin:/usr/bin:/usr/ucb:/usr/bsd:/usr/local/bin";

/// Variables of this process that scripts may see.
const INHERITED: [(&str, Option<&[u8]>); 2] =
    [("PATH", Some(DEFAULT_PATH)), ("LD_LIBRARY_PATH", None)];

/// About as many as there are, with those of a browser's fields.
const VARIABLES: usize = 48;

/// What httpd says where there is no ServerAdmin (DEFAULT_ADMIN of core.c).
const NO_ADMIN: &str = "[no address given]";

/// All variables for the script that answers `request`.
pub fn environment(request: &RequestContext<'_>, rules: EnvironmentRules) -> Table {
    let mut env = of_tables(request);
    env.reserve(VARIABLES);
    request_fields(request, rules, &mut env);
    inherited(&mut env);
    server(request, &mut env);
    of_client(request, &mut env);
    of_request(request, rules, &mut env);
    script(request, &mut env);
    env
}

/// Those that were set for the request: of each name the last, as scripts are told
/// (ap_add_common_vars, which compresses the table).
pub(super) fn of_tables(request: &RequestContext<'_>) -> Table {
    let mut env = request.tables.env.clone();
    env.keep_last();
    env
}

/// Those of them that depend on the host that is asked for, and not on the request otherwise.
pub(super) fn of_server(request: &RequestContext<'_>) -> Table {
    let mut env = Table::default();
    inherited(&mut env);
    server(request, &mut env);
    env
}

/// Those that depend on the path alone.
pub(super) fn of_script(request: &RequestContext<'_>) -> Table {
    let mut env = Table::default();
    script(request, &mut env);
    env
}

/// `HTTP_*`. Fields of one name are one.
fn request_fields(request: &RequestContext<'_>, rules: EnvironmentRules, env: &mut Table) {
    let view = request.received().view();
    let (mut fields, mut buffer) = (Table::default(), Vec::new());
    for (name, value) in view.fields() {
        let variable = fastcgi::environment::variable(name, rules.passes, &mut buffer);
        let Some(name) = variable.and_then(|name| std::str::from_utf8(name).ok()) else { continue };
        let joined = match fields.get(name) {
            Some(before) => [before, b", ", value].concat(),
            None => value.to_vec(),
        };
        fields.set(name, joined);
    }
    fields.iter().for_each(|(name, value)| env.set(name, value));
}

/// A body of this length follows, however it came: of the chunks that it came in nothing is left.
pub fn tell_body_length(env: &mut Table, length: u64) {
    env.set("CONTENT_LENGTH", length.to_string());
    env.unset("HTTP_TRANSFER_ENCODING");
}

/// Variables of this process that every program may see, or what httpd takes instead.
pub fn inherited_variables() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    INHERITED.iter().filter_map(|(name, default)| {
        let own = std::env::var_os(name).map(OsStringExt::into_vec);
        Some((*name, own.or_else(|| default.map(<[u8]>::to_vec))?))
    })
}

fn inherited(env: &mut Table) {
    for (name, value) in inherited_variables() {
        // What the configuration says comes first (`env2env`).
        if !env.has(name) {
            env.set(name, value);
        }
    }
}

/// Where variables of a request go to: a table, or straight into the parameters of FastCGI.
pub(crate) trait Told {
    /// What `name` is, whatever it was.
    fn tell(&mut self, name: &'static str, value: &[u8]);
}

impl Told for Table {
    fn tell(&mut self, name: &'static str, value: &[u8]) {
        self.put(name, value);
    }
}

fn server(request: &RequestContext<'_>, env: &mut Table) {
    let mut name = Vec::new();
    html_escape(request.url_host().as_bytes(), &mut name);
    env.put("SERVER_SIGNATURE", request.signature(""));
    env.put("SERVER_SOFTWARE", identity::banner(request.site().tokens));
    env.put("SERVER_NAME", name);
    env.put("SERVER_ADDR", request.received().local_ip().to_string());
    env.put("SERVER_PORT", request.server_port().to_string());
    let root = request.document_root();
    env.put("DOCUMENT_ROOT", root.as_slice());
    env.put("REQUEST_SCHEME", request.scheme());
    env.put("CONTEXT_PREFIX", request.mapping.context_info.prefix.as_slice());
    let context_root = request.mapping.context_info.context_root.as_deref();
    env.put("CONTEXT_DOCUMENT_ROOT", context_root.unwrap_or(&root));
    let admin = request.host.server_admin.as_deref();
    env.put("SERVER_ADMIN", admin.unwrap_or(NO_ADMIN));
}

/// Those that depend on who asks.
pub(super) fn of_client(request: &RequestContext<'_>, env: &mut impl Told) {
    let client = request.client();
    if let Some(name) = request.received().names.get(NamedEnd::Client(client)) {
        env.tell("REMOTE_HOST", name.as_bytes());
    }
    tell_shown(env, "REMOTE_ADDR", client);
    tell_shown(env, "REMOTE_PORT", request.received().client.port());
    let before = request.lineage.original.as_ref().and_then(|original| original.user.as_deref());
    match (&request.authentication.user, before) {
        (Some(user), _) => env.tell("REMOTE_USER", user),
        (None, Some(user)) => env.tell("REDIRECT_REMOTE_USER", user),
        (None, None) => {}
    }
    if let Some(kind) = request.authentication.auth_type {
        env.tell("AUTH_TYPE", kind.as_bytes());
    }
}

/// Tell an address or a number as it is shown, without memory of its own: the longest address has
/// 45 characters.
fn tell_shown(env: &mut impl Told, name: &'static str, value: impl Display) {
    let mut shown = [0; 48];
    let mut rest = &mut shown[..];
    let result = write!(rest, "{value}");
    debug_assert!(result.is_ok(), "{name} does not fit");
    let left = rest.len();
    env.tell(name, &shown[..shown.len() - left]);
}

/// Those that depend on what is asked.
pub(super) fn of_request(
    request: &RequestContext<'_>,
    rules: EnvironmentRules,
    env: &mut impl Told,
) {
    let view = request.received().view();
    env.tell("GATEWAY_INTERFACE", b"CGI/1.1");
    env.tell("SERVER_PROTOCOL", view.protocol());
    env.tell("REQUEST_METHOD", &request.method_name());
    env.tell("QUERY_STRING", request.query().unwrap_or_default());
    let uri = match rules.has_current_uri {
        true => request.path.as_slice(),
        false => target(view.request_line()),
    };
    env.tell("REQUEST_URI", uri);
}

/// What stands between the first and the next blank of a request line.
fn target(request_line: &[u8]) -> &[u8] {
    let mut words = request_line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.nth(1).unwrap_or_default()
}

fn script(request: &RequestContext<'_>, env: &mut Table) {
    env.put("SCRIPT_FILENAME", request.mapping.place.path());
    let info = request.mapping.path_info.as_slice();
    // The two may differ in slashes, of which several are as good as one.
    let start = match info.is_empty() {
        true => request.path.len(),
        false => common_end(&request.path, info),
    };
    env.put("SCRIPT_NAME", &request.path[..start]);
    env.unset("PATH_INFO");
    env.unset("PATH_TRANSLATED");
    if info.is_empty() {
        return;
    }
    env.put("PATH_INFO", info);
    if let Some(translated) = phase::path_translated(request).filter(|path| !path.is_empty()) {
        env.put("PATH_TRANSLATED", translated);
    }
}

/// Where the end of `path` begins that is `info`; of one that is not, where the segment ends in
/// which they differ (`ap_find_path_info`).
fn common_end(path: &[u8], info: &[u8]) -> usize {
    let (mut at, mut left) = (path.len(), info.len());
    while at > 0 && left > 0 && path[at - 1] == info[left - 1] {
        (at, left) = (at - 1, left - 1);
        if info[left] == b'/' {
            while at > 0 && path[at - 1] == b'/' {
                at -= 1;
            }
        }
    }
    // As in httpd the search goes on from the last byte that was looked at.
    let last = at.saturating_sub(1);
    path[last..].iter().position(|byte| *byte == b'/').map_or(path.len(), |slash| last + slash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_script_is_what_is_left_of_the_path() {
        for (path, info, name) in [
            ("/a.php/x/y", "/x/y", "/a.php"),
            ("/a.php", "", "/a.php"),
            ("/a.php//x", "/x", "/a.php"),
            ("/a.php/x//y", "/x/y", "/a.php"),
            ("/a.php/", "/", "/a.php"),
            ("/x", "/y/x", ""),
            ("/b", "/c", "/b"),
            ("/a b/c d", "/a%20b/c%20d", "/a b/c d"),
            ("/a b/c", "/a%20b/c", "/a b"),
            ("", "/c", ""),
        ] {
            let start = common_end(path.as_bytes(), info.as_bytes());
            assert_eq!(&path[..start], name, "{path} {info}");
        }
    }

    #[test]
    fn the_target_is_the_second_word() {
        for (line, expected) in [
            ("GET /a?b HTTP/1.1", "/a?b"),
            ("GET  /a  HTTP/1.1", "/a"),
            ("GET http://a/b HTTP/1.1", "http://a/b"),
            ("GET", ""),
            ("", ""),
        ] {
            assert_eq!(target(line.as_bytes()), expected.as_bytes(), "{line}");
        }
    }
}
