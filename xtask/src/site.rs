//! `cargo xtask site`: writes the generated part of `examples/site` (the gallery's pictures and
//! page, the icon, and some of the downloads). Running it again changes nothing; `--check` only
//! compares. The other pages are written by hand and are not touched.

mod gallery;
mod mark;
mod palette;
mod pattern;
mod picture;

use crate::project::root;
use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Where the site lies in the project.
const SITE: &str = "examples/site";

/// One generated file.
struct GeneratedFile {
    /// Below the site's folder.
    path: String,
    content: Vec<u8>,
}

/// Writes or, with `--check`, compares all generated files.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let check = match args {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => {
            eprintln!("usage: cargo xtask site [--check]");
            return ExitCode::from(2);
        }
    };
    let result = outputs().map_err(io::Error::from);
    match result.and_then(|outputs| bring_up_to_date(&root().join(SITE), &outputs, check)) {
        Ok(stale) if stale.is_empty() => ExitCode::SUCCESS,
        Ok(stale) if check => {
            stale.iter().for_each(|path| eprintln!("{SITE}/{path}: stale, run `cargo xtask site`"));
            ExitCode::FAILURE
        }
        Ok(written) => {
            println!("{SITE}: {} files written", written.len());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{SITE}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the files that differed, and writes them unless it should only check.
fn bring_up_to_date(
    site: &Path,
    outputs: &[GeneratedFile],
    check: bool,
) -> io::Result<Vec<String>> {
    let mut stale = Vec::new();
    for GeneratedFile { path, content } in outputs {
        let target = site.join(path);
        if fs::read(&target).is_ok_and(|present| same(&present, content)) {
            continue;
        }
        if !check {
            fs::create_dir_all(target.parent().unwrap_or(site))?;
            fs::write(&target, content)?;
        }
        stale.push(path.clone());
    }
    Ok(stale)
}

/// Every file that this chore makes.
fn outputs() -> Result<Vec<GeneratedFile>, png::EncodingError> {
    let tiles = gallery::tiles();
    let mut outputs = vec![
        GeneratedFile { path: "gallery.html".into(), content: gallery::page().into_bytes() },
        GeneratedFile { path: "favicon.ico".into(), content: mark::icon()? },
        GeneratedFile {
            path: "downloads/palettes.json".into(),
            content: gallery::palettes_json().into(),
        },
        GeneratedFile {
            path: "downloads/sheet.png".into(),
            content: gallery::sheet(&tiles).to_png()?,
        },
    ];
    for tile in &tiles {
        let content = tile.picture(gallery::TILE_SIDE).to_png()?;
        outputs.push(GeneratedFile { path: tile.path(), content });
    }
    Ok(outputs)
}

/// Whether two files say the same. Pictures are compared pixel by pixel: another version of the
/// compressor may pack the same picture into other bytes, and that is no reason to write it anew.
fn same(present: &[u8], wanted: &[u8]) -> bool {
    present == wanted
        || match (picture::read_all(present), picture::read_all(wanted)) {
            (Some(present), Some(wanted)) => present == wanted,
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_writes_nothing() {
        let folder = std::env::temp_dir().join(format!("trivet-site-{}", std::process::id()));
        let outputs = outputs().unwrap();
        let run = || bring_up_to_date(&folder, &outputs, false).unwrap();
        let (first, second) = (run(), run());
        fs::write(folder.join("gallery/007.png"), "broken").unwrap();
        let third = run();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(first.len(), outputs.len());
        assert_eq!(second, [""; 0]);
        assert_eq!(third, ["gallery/007.png"]);
    }

    #[test]
    fn the_whole_site_stays_under_a_megabyte() {
        fn bytes(folder: &Path) -> u64 {
            let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
            let size = |entry: fs::DirEntry| match entry.metadata().unwrap() {
                meta if meta.is_dir() => bytes(&entry.path()),
                meta => meta.len(),
            };
            entries.map(size).sum()
        }
        let total = bytes(&root().join(SITE));
        assert!(total < 1_000_000, "{total} bytes");
    }
}
