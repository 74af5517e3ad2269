//! What programs may use that requests have run: `RLimitCPU`, `RLimitMEM`, `RLimitNPROC`.

use super::Done;
use config::{Call, args};
use runtime::programs::ResourceLimit;
use server::site::builder::Builder;

pub(super) fn cpu(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.settings().core.limits.cpu = Some(limit(call));
    Ok(())
}

pub(super) fn memory(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.settings().core.limits.memory = Some(limit(call));
    Ok(())
}

pub(super) fn processes(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.settings().core.limits.processes = Some(limit(call));
    Ok(())
}

/// The soft limit, and the hard one, which else is that of the server (core.c, `unixd_set_rlimit`).
/// `max` is as much as there may be.
fn limit(call: &Call<'_>) -> ResourceLimit {
    let number = |word: &str| match word.eq_ignore_ascii_case("max") {
        true => u64::MAX,
        false => u64::try_from(args::leading(word)).unwrap_or(u64::MAX),
    };
    let hard = call.args.get(1).map_or(u64::MAX, |word| number(word));
    ResourceLimit { soft: number(call.arg(0)), hard }
}
