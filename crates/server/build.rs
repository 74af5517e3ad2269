//! Tells the crate when it is compiled, for `Server Built` and `--version`.

use std::time::{SystemTime, UNIX_EPOCH};

fn main() {
    // https://reproducible-builds.org/specs/source-date-epoch/
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    println!("cargo::rerun-if-changed=src");
    let given = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    println!("cargo::rustc-env=TRIVET_BUILT_UNIX_S={}", given.unwrap_or_else(now));
}
