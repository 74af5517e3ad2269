//! request: keeps the body of a request for the parts of its answer (mod_request).

use config::directive::row;
use config::{Args, Call, Directive, Error, Scope};
use logging::level::Level;
use message::BodyLength;
use server::failure::{Failure, Stop};
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::request_context::{LookupPurpose, RequestContext};
use server::script::body::ScriptBody;
use server::site::builder::Builder;
use server::site::settings::DirectoryKey;
use server::site::store::Merge;
use server::waiting::{NowOrLater, Waiting};

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "request_module",
    "mod_request.c",
    DIRECTIVES,
    Hooks { fixup: Some(Hook::Waits(keep)), ..Hooks::NONE },
);

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("KeptBodySize", Args::One, Scope::ACCESS_CONF, "0", "Maximum size of request bodies kept aside for use by filters", size),
];

/// The key of the per-directory settings.
static SETTINGS: DirectoryKey<Settings> = DirectoryKey::new();

/// Per-directory settings.
#[derive(Clone, Copy, Debug, Default)]
struct Settings {
    /// `KeptBodySize`, in bytes; 0 keeps none.
    bytes_max: Option<u64>,
}

impl Merge for Settings {
    fn over(&self, outer: &Self) -> Self {
        Self { bytes_max: self.bytes_max.or(outer.bytes_max) }
    }
}

fn size(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let number = call.arg(0).parse::<i64>().ok().and_then(|number| u64::try_from(number).ok());
    let error = "KeptBodySize must be a valid size in bytes, or zero.";
    let bytes_max = number.ok_or_else(|| Error::argument(0, error))?;
    SETTINGS.change(builder.settings()).bytes_max = Some(bytes_max);
    Ok(())
}

/// Fixup hook: whatever answers finds the body kept. httpd does it when the body is read.
fn keep<'l>(request: &'l mut RequestContext<'_>) -> Waiting<'l, ()> {
    let bytes_max = SETTINGS.of(&request.settings).bytes_max.unwrap_or(0);
    let is_part = request.lineage.purpose == LookupPurpose::Sub;
    if bytes_max == 0 || is_part || request.kept_body().is_some() {
        return NowOrLater::Now(Ok(()));
    }
    let kept = kept(request, bytes_max);
    Waiting::only_if(request.body() != BodyLength::None, kept)
}

async fn kept(request: &RequestContext<'_>, bytes_max: u64) -> Result<(), Stop> {
    if let BodyLength::Length(length) = request.body()
        && length > bytes_max
    {
        let text = format!(
            "Requested content-length of {length} is larger than the configured limit of \
             {bytes_max}"
        );
        request.log(Level::Error, "request", Some(1412), &text);
    }
    ScriptBody::keep(request, bytes_max).await.map_err(|refusal| Failure::from(refusal).into())
}
