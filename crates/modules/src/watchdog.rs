//! watchdog: how often other modules of httpd have their work done beside requests
//! (mod_watchdog). No module here has such work.

use config::args::{self, TimeUnit};
use config::{Args, Call, Directive, Error, Scope};
use server::module::{Hooks, Module};
use server::site::builder::Builder;
use std::time::Duration;

/// The module and its table.
pub(crate) static MODULE: Module =
    Module::new("watchdog_module", "mod_watchdog.c", DIRECTIVES, Hooks::NONE);

/// httpd's AP_WD_TM_SLICE.
const LEAST: Duration = Duration::from_millis(100);

static DIRECTIVES: &[Directive<Builder>] = &[Directive {
    name: "WatchdogInterval",
    args: Args::One,
    scope: Scope::SERVER,
    default: "1",
    help: "Watchdog interval in seconds",
    apply: watchdog_interval,
}];

fn watchdog_interval(_: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let interval = args::duration(call, 0, TimeUnit::Second)
        .map_err(|error| error.reworded("Unparse-able WatchdogInterval setting"))?;
    if interval < LEAST {
        let text = format!("Invalid WatchdogInterval: minimal value {}ms", LEAST.as_millis());
        return Err(Error::argument(0, text));
    }
    Ok(())
}
