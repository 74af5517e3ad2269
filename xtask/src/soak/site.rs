//! What is served and what every answer has to be: the example site, a large file, and one that
//! changes between several versions.

use super::client::{SoakConnection, Trouble};
use super::random::SoakRandom;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The large file: more than the buffers of a connection hold, so that a slow reader stops the
/// server in the middle.
pub(super) const BIG: &str = "/soak/big.bin";
const BIG_BYTES: usize = 6 << 20;
/// The changing file.
pub(super) const CHANGING: &str = "/soak/changing.bin";
/// Sizes of its versions: from one write to many, and two alike, which only bytes tell apart.
const VERSION_BYTES: &[usize] = &[300_000, 1000, 150_000, 150_000, 40_000];

/// Pages that the server makes. They are learned before anything is broken and must then stay.
const MADE: &[(&str, u16)] = &[
    ("/gallery/", 200),
    ("/downloads/", 200),
    ("/legs", 301),
    ("/no-such-file", 404),
    ("/gallery/no-such-picture.png", 404),
    ("/a%00b", 404),
];

/// A path with its answer.
pub(super) struct SoakPage {
    pub(super) path: String,
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// See the module's text.
pub(super) struct SoakSite {
    pub(super) folder: PathBuf,
    /// Every file that does not change, and folders with an index.
    pub(super) files: Vec<SoakPage>,
    pub(super) made: Vec<SoakPage>,
    pub(super) big: Vec<u8>,
    pub(super) versions: Vec<Vec<u8>>,
}

impl SoakSite {
    /// Copies the example site from `source` into `folder` and adds the two files.
    pub(super) fn make(
        source: &Path,
        folder: PathBuf,
        random: &mut SoakRandom,
    ) -> io::Result<Self> {
        let mut files = Vec::new();
        copy(source, &folder, "", &mut files)?;
        fs::create_dir_all(folder.join("soak"))?;
        let big = random.bytes(BIG_BYTES);
        fs::write(folder.join(&BIG[1..]), &big)?;
        let versions: Vec<_> = VERSION_BYTES.iter().map(|count| random.bytes(*count)).collect();
        let site = Self { folder, files, made: Vec::new(), big, versions };
        site.replace(0)?;
        Ok(site)
    }

    /// Puts a version in the place of the one before, as an editor or a deployment does: written
    /// beside it, then renamed over it, so that no reader ever sees a part.
    pub(super) fn replace(&self, version: usize) -> io::Result<()> {
        let beside = self.folder.join("soak/changing.new");
        fs::write(&beside, &self.versions[version])?;
        fs::rename(beside, self.folder.join(&CHANGING[1..]))
    }

    /// Asks once for every page that the server makes.
    pub(super) fn learn(&mut self, port: u16) -> Result<(), String> {
        for (path, status) in MADE {
            let response =
                get_once(port, path).map_err(|trouble| format!("{path}: {trouble:?}"))?;
            if response.0 != *status {
                return Err(format!("{path} is answered with {} instead of {status}", response.0));
            }
            let page = SoakPage { path: (*path).into(), status: *status, body: response.1 };
            self.made.push(page);
        }
        Ok(())
    }
}

fn get_once(port: u16, path: &str) -> Result<(u16, Vec<u8>), Trouble> {
    let mut connection = SoakConnection::open(port)?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    connection.send(request.as_bytes())?;
    let response = connection.read(false)?;
    connection.expect_end()?;
    Ok((response.status, response.body))
}

/// Copies a folder and lists its files as pages; `index.html` is the page of its folder too.
fn copy(source: &Path, target: &Path, url: &str, pages: &mut Vec<SoakPage>) -> io::Result<()> {
    fs::create_dir_all(target)?;
    for entry in fs::read_dir(source)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let (path, copied) = (format!("{url}/{name}"), target.join(&name));
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &copied, &path, pages)?;
            continue;
        }
        let body = fs::read(entry.path())?;
        fs::write(copied, &body)?;
        if name == "index.html" {
            pages.push(SoakPage { path: format!("{url}/"), status: 200, body: body.clone() });
        }
        pages.push(SoakPage { path, status: 200, body });
    }
    // Whatever order the folder lists: a seed then repeats its requests.
    pages.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_site_is_copied_with_its_pages_and_versions() {
        let home = std::env::temp_dir().join(format!("trivet-soak-site-{}", std::process::id()));
        let source = home.join("source");
        fs::create_dir_all(source.join("a")).unwrap();
        fs::write(source.join("a/index.html"), "A").unwrap();
        fs::write(source.join("b.css"), "B").unwrap();
        let site = SoakSite::make(&source, home.join("site"), &mut SoakRandom::new(1)).unwrap();
        let paths: Vec<&str> = site.files.iter().map(|page| page.path.as_str()).collect();
        site.replace(1).unwrap();
        let changed = fs::read(home.join("site/soak/changing.bin")).unwrap();
        fs::remove_dir_all(&home).unwrap();
        assert_eq!(paths, ["/a/", "/a/index.html", "/b.css"]);
        assert_eq!(changed, site.versions[1]);
    }
}
