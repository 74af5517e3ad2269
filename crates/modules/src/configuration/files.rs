//! The `.htaccess` files that `-t` looks at: those of document roots and of the folders in them.
//! Others would have to be looked for all over the disk.

#![expect(clippy::disallowed_methods, reason = "names of the configuration, before it serves")]

use server::site::builder::Builder;
use server::site::host::HostDraft;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Document roots that are looked at.
const ROOTS_MAX: usize = 256;

/// Names in each of them.
const NAMES_MAX: usize = 1000;

/// A longer file is left alone.
const FILE_BYTES_MAX: u64 = 256 << 10;

/// A `.htaccess` file.
pub(super) struct AccessFile<'b> {
    pub(super) host: &'b HostDraft,
    /// Absolute, without a final slash.
    pub(super) folder: String,
    /// The whole path.
    pub(super) name: String,
    pub(super) text: Vec<u8>,
}

/// All that there are.
pub(super) fn of(builder: &Builder) -> Vec<AccessFile<'_>> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let own = |host: &'_ HostDraft| host.access_file_names.clone();
    let default = own(&builder.hosts[0]).unwrap_or_else(|| vec![".htaccess".into()]);
    for host in builder.hosts.iter().take(ROOTS_MAX) {
        let Some(root) = host.document_root.as_deref().filter(|it| seen.insert(it.to_path_buf()))
        else {
            continue;
        };
        let names = own(host).unwrap_or_else(|| default.clone());
        for folder in folders(root) {
            let files = names.iter().filter_map(|name| read(host, &folder, name));
            found.extend(files.take(1));
        }
    }
    found
}

/// A document root and the folders in it. Links may lead anywhere, and are left alone.
fn folders(root: &Path) -> Vec<PathBuf> {
    let mut all = vec![root.to_owned()];
    let entries = fs::read_dir(root).into_iter().flatten().take(NAMES_MAX).flatten();
    let is_folder = |it: &fs::DirEntry| it.file_type().is_ok_and(|kind| kind.is_dir());
    all.extend(entries.filter(is_folder).map(|entry| entry.path()));
    all[1..].sort();
    all
}

fn read<'b>(host: &'b HostDraft, folder: &Path, name: &str) -> Option<AccessFile<'b>> {
    let path = folder.join(name);
    let status = fs::metadata(&path).ok()?;
    if !status.is_file() || status.len() > FILE_BYTES_MAX {
        return None;
    }
    let mut text = Vec::new();
    File::open(&path).ok()?.take(FILE_BYTES_MAX).read_to_end(&mut text).ok()?;
    let folder = folder.to_str()?.trim_end_matches('/').to_owned();
    Some(AccessFile { host, folder, name: path.to_str()?.to_owned(), text })
}
