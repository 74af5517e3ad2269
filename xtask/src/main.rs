//! The project's own chores, run as `cargo xtask NAME`. One file per chore; no chore is needed to
//! build.

mod bench;
mod conformance;
mod docs;
mod fuzz;
mod project;
mod site;
mod soak;
mod tidy;

use std::process::ExitCode;

/// A chore's name, what it does, and the function that does it.
type Chore = (&'static str, &'static str, fn(&[String]) -> ExitCode);

const CHORES: &[Chore] = &[
    ("bench", "measure trivet beside nginx, Apache, lighttpd and h2o", bench::run),
    ("conformance", "run Apache's own test suite against a server", conformance::run),
    ("docs", "write the pages of docs/reference anew", docs::run),
    ("fuzz", "run the fuzz targets for a while", fuzz::run),
    ("site", "write examples/site anew", site::run),
    ("soak", "serve under load while children are killed and files replaced", soak::run),
    ("tidy", "check the rules of STYLE.md that a machine can check", tidy::run),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let chore = args.first().and_then(|name| CHORES.iter().find(|row| row.0 == name));
    let Some((_, _, run)) = chore else {
        eprintln!("usage: cargo xtask CHORE [ARGUMENT...]");
        for (name, what, _) in CHORES {
            eprintln!("  {name:11} {what}");
        }
        return ExitCode::from(2);
    };
    run(&args[1..])
}
