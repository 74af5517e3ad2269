//! Tells the crate when it is compiled, for `Server Built` and `--version`.

use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

fn main() -> io::Result<()> {
    // https://reproducible-builds.org/specs/source-date-epoch/
    let given = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut cargo = io::stdout();
    writeln!(cargo, "cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH")?;
    writeln!(cargo, "cargo::rerun-if-changed=src")?;
    writeln!(cargo, "cargo::rustc-env=TRIVET_BUILT_UNIX_S={}", given.unwrap_or_else(now))
}
