//! auth_basic: users who say who they are with every request (mod_auth_basic, RFC 7617).

mod rows;

pub(crate) use rows::MODULE;

use crate::authn_core::{self, AuthnProvider};
use crate::authn_file::{self, AuthnStatus};
use logging::level::Level;
use message::Status;
use server::evaluate;
use server::failure::{Failure, Stop};
use server::hook::Decision;
use server::request_context::RequestContext;
use server::site::expression::ExpressionText;
use server::site::settings::DirectoryKey;
use server::site::store::{Merge, either};
use server::waiting::{self, NowOrLater, Waiting};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    providers: Option<Vec<Arc<AuthnProvider>>>,
    is_authoritative: Option<bool>,
    /// `AuthBasicFake`; `Some(None)` is `off`.
    fake: Option<Option<(ExpressionText, ExpressionText)>>,
    uses_digest: Option<bool>,
}

impl Merge for Settings {
    fn over(&self, outer: &Self) -> Self {
        Self {
            providers: either(self.providers.as_ref(), outer.providers.as_ref()),
            is_authoritative: self.is_authoritative.or(outer.is_authoritative),
            fake: either(self.fake.as_ref(), outer.fake.as_ref()),
            uses_digest: self.uses_digest.or(outer.uses_digest),
        }
    }
}

/// Find out who the client is, and whether that is true (authenticate_basic_user).
pub(crate) fn identify<'l>(request: &'l mut RequestContext<'_>) -> Waiting<'l, Decision> {
    let is_basic = |kind: Vec<u8>| kind.eq_ignore_ascii_case(b"Basic");
    if !authn_core::auth_type(request).is_some_and(is_basic) {
        return NowOrLater::Now(Ok(Decision::Declined));
    }
    let proof = match proof(request) {
        Ok(proof) => proof,
        Err(stop) => return NowOrLater::Now(Err(stop)),
    };
    let request = &*request;
    ask(request, proof).map(|verdict| decide(request, verdict?))
}

/// What a client that names a user shows for it.
enum Proof {
    Password(Vec<u8>),
    /// `AuthBasicUseDigestAlgorithm`: the digest of it, as the file of a realm has it.
    Digest {
        realm: Vec<u8>,
        digest: Vec<u8>,
    },
}

/// That of the request, which from now on has the user that the client claims to be.
fn proof(request: &mut RequestContext<'_>) -> Result<Proof, Stop> {
    let Some(realm) = authn_core::auth_name(request) else {
        let text = format!("need AuthName: {}", uri(request));
        let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "auth_basic", text);
        return Err(failure.id(1615).at_error().recurring("AuthName").into());
    };
    request.authentication.auth_type = Some("Basic");
    let (user, password) = credentials(request)?;
    let proof = match SETTINGS.of(&request.settings).uses_digest {
        Some(true) => {
            let text = [&user[..], b":", &realm, b":", &password].concat();
            Proof::Digest { realm, digest: pattern::password::md5_hex(&text) }
        }
        _ => Proof::Password(password),
    };
    // The log names whoever it claims to be.
    request.authentication.user = Some(user);
    Ok(proof)
}

/// What follows from what the providers say.
fn decide(request: &RequestContext<'_>, verdict: AuthnStatus) -> Result<Decision, Stop> {
    let is_authoritative = SETTINGS.of(&request.settings).is_authoritative.unwrap_or(true);
    let user =
        || String::from_utf8_lossy(request.authentication.user.as_deref().unwrap_or_default());
    match verdict {
        AuthnStatus::Granted => Ok(Decision::Accepted),
        AuthnStatus::UserNotFound | AuthnStatus::Error if !is_authoritative => {
            Ok(Decision::Declined)
        }
        AuthnStatus::Denied => {
            let (user, uri) = (user(), uri(request));
            let text =
                format!("user {user}: authentication failure for \"{uri}\": Password Mismatch");
            Err(unauthorized(request, 1617, text))
        }
        AuthnStatus::UserNotFound => {
            let text = format!("user {} not found: {}", user(), uri(request));
            Err(unauthorized(request, 1618, text))
        }
        // The provider has said why.
        AuthnStatus::Error => {
            Err(Failure::new(Status::INTERNAL_SERVER_ERROR, "auth_basic", "").into())
        }
    }
}

fn uri<'l>(request: &'l RequestContext<'_>) -> std::borrow::Cow<'l, str> {
    String::from_utf8_lossy(&request.path)
}

fn unauthorized(request: &RequestContext<'_>, id: u32, text: String) -> Stop {
    let failure = Failure::new(Status::UNAUTHORIZED, "auth_basic", text).id(id).at_error();
    challenge(request, failure).into()
}

/// Tell the client how to say who it is (ap_note_auth_failure). A document of `ErrorDocument` has
/// to say so, too.
pub(crate) fn challenge(request: &RequestContext<'_>, failure: Failure) -> Failure {
    let Some(auth_type) = authn_core::auth_type(request) else {
        let text = format!("need AuthType to note auth failure: {}", uri(request));
        request.log(Level::Error, "core", Some(571), &text);
        return failure;
    };
    if !auth_type.eq_ignore_ascii_case(b"Basic") {
        return failure;
    }
    let realm = authn_core::auth_name(request).unwrap_or_default();
    let value = [b"Basic realm=\"", realm.as_slice(), b"\""].concat();
    failure.always("WWW-Authenticate", value)
}

/// User and password of the request (get_basic_auth).
fn credentials(request: &mut RequestContext<'_>) -> Result<(Vec<u8>, Vec<u8>), Stop> {
    let Some(value) = request.field("Authorization").map(<[u8]>::to_vec) else {
        // Nothing is wrong with the first request of a client.
        return Err(unauthorized(request, 0, String::new()));
    };
    let end = value.iter().position(|byte| *byte == b' ').unwrap_or(value.len());
    if !value[..end].eq_ignore_ascii_case(b"Basic") {
        let text = format!("client used wrong authentication scheme: {}", uri(request));
        return Err(unauthorized(request, 1614, text));
    }
    let encoded = value[end..].trim_ascii_start();
    let mut decoded = expr::unbase64(encoded);
    // To httpd a NUL ends a text.
    decoded.truncate(decoded.iter().position(|byte| *byte == 0).unwrap_or(decoded.len()));
    match decoded.iter().position(|byte| *byte == b':') {
        Some(at) => Ok((decoded[..at].to_vec(), decoded[at + 1..].to_vec())),
        None => Ok((decoded, Vec::new())),
    }
}

/// Ask one provider after the other until one knows the user.
fn ask<'l>(request: &'l RequestContext<'_>, proof: Proof) -> Waiting<'l, AuthnStatus> {
    let providers = SETTINGS.of(&request.settings).providers.as_ref();
    let default_file = authn_file::SETTINGS.of(&request.settings).user_file();
    if providers.is_none() && !has_file(request) {
        let text = "No Authn provider configured";
        request.log_recurring(Level::Error, "auth_basic", Some(1616), text);
        return NowOrLater::Now(Ok(AuthnStatus::Error));
    }
    let user = request.authentication.user.as_deref().unwrap_or_default();
    let default = providers.is_none().then_some(None);
    let named = providers.into_iter().flat_map(|all| all.iter());
    let files = named.map(|provider| provider.user_file.as_ref()).chain(default);
    let verdict = waiting::first(files, move |file| {
        let file = file.or(default_file).map(|path| path.as_path());
        let verdict = match &proof {
            Proof::Password(password) => {
                authn_file::check_password(request, file, user, password.clone())
            }
            Proof::Digest { realm, digest } => {
                authn_file::check_digest(request, file, user, realm, digest.clone())
            }
        };
        verdict.map(|verdict| {
            Ok(match verdict? {
                AuthnStatus::UserNotFound => ControlFlow::Continue(()),
                known => ControlFlow::Break(known),
            })
        })
    });
    verdict.map(|verdict| Ok(verdict?.unwrap_or(AuthnStatus::UserNotFound)))
}

/// Whether the provider is there that is asked where none is named.
fn has_file(request: &RequestContext<'_>) -> bool {
    request.site().language.has_module(authn_file::MODULE.table.name)
}

/// `AuthBasicFake`: tell whoever runs behind this server who the client is
/// (authenticate_basic_fake).
pub(crate) fn fake(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    let settings = request.settings.clone();
    let Some(Some((user, password))) = &SETTINGS.of(&settings).fake else { return Ok(()) };
    let mut parts = Vec::new();
    let ids = [("user", "username", 2455, 2458), ("password", "password", 2456, 2459)];
    for (text, (what, name, error_id, empty_id)) in [user, password].into_iter().zip(ids) {
        let value = evaluate::text(text, request, None).map_err(|error| {
            let uri = uri(request);
            let text = format!(
                "AuthBasicFake: could not evaluate {what} expression for URI '{uri}': {error}"
            );
            let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "auth_basic", text);
            failure.id(error_id).at_error()
        })?;
        if value.is_empty() {
            let uri = uri(request);
            let text = format!("AuthBasicFake: empty {name} expression for URI '{uri}', ignoring");
            request.log(Level::Info, "auth_basic", Some(empty_id), &text);
            set_authorization(request, None);
            return Ok(());
        }
        parts.push(value);
    }
    let value = [b"Basic ", expr::base64(&parts.join(&b':')).as_slice()].concat();
    let shown = String::from_utf8_lossy(&value);
    let text = format!("AuthBasicFake: \"Authorization: {shown}\"");
    request.log(Level::Info, "auth_basic", Some(2457), &text);
    set_authorization(request, Some(value));
    Ok(())
}

/// Replace the field of the request, or take it out.
fn set_authorization(request: &mut RequestContext<'_>, value: Option<Vec<u8>>) {
    let view = request.received().view();
    let name = |name: &[u8]| String::from_utf8_lossy(name).into_owned().into();
    let others = view.fields().filter(|field| !field.0.eq_ignore_ascii_case(b"Authorization"));
    let mut fields: Vec<message::Field> =
        others.map(|field| (name(field.0), field.1.to_vec())).collect();
    fields.extend(value.map(|value| ("Authorization".into(), value)));
    request.set_fields(&fields);
}
