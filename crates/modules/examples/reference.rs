//! Writes the pages of `docs/reference` into a folder, or with `--check` says which are stale:
//! `cargo xtask docs` runs it.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut folders: Vec<String> = std::env::args().skip(1).collect();
    let count = folders.len();
    folders.retain(|word| word != "--check");
    let check = folders.len() < count;
    let [folder] = folders.as_slice() else {
        return tell("usage: reference [--check] FOLDER", ExitCode::from(2));
    };
    let folder = Path::new(folder);
    let done = match check {
        true => modules::reference::stale(folder),
        false => modules::reference::write(folder),
    };
    match done {
        Ok(pages) if check && !pages.is_empty() => {
            let names = pages.join(" ");
            tell(&format!("docs: stale, run `cargo xtask docs`: {names}"), ExitCode::FAILURE)
        }
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => tell(&format!("docs: {}: {error}", folder.display()), ExitCode::FAILURE),
    }
}

fn tell(text: &str, code: ExitCode) -> ExitCode {
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(io::stderr(), "{text}");
    code
}
