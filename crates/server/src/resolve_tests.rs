//! What a path leads to, link by link, and by all the ways in which it can be looked up.

use super::*;
use std::os::unix::fs::symlink;

struct Tree(std::path::PathBuf);

impl Tree {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("trivet-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(path.join("root/dir")).unwrap();
        std::fs::write(path.join("root/dir/file"), "inside").unwrap();
        std::fs::write(path.join("outside"), "outside").unwrap();
        symlink("dir/file", path.join("root/near")).unwrap();
        symlink("../outside", path.join("root/far")).unwrap();
        symlink("dir", path.join("root/linked")).unwrap();
        symlink("round", path.join("root/round")).unwrap();
        Self(path)
    }

    fn read(&self, path: &str, policy: LinkPolicy) -> Result<String, Errno> {
        let root = runtime::file::open_directory(&self.0.join("root")).unwrap();
        let (file, status) = open(root.as_fd(), path.as_bytes(), &Policies::Uniform(policy))?;
        assert_eq!(status.kind, FileType::File);
        Ok(std::io::read_to_string(file).unwrap())
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn links_are_followed_as_the_policy_says() {
    use LinkPolicy::{Follow, OwnerMatch, Refuse};
    let tree = Tree::new("links");
    for policy in [Follow, OwnerMatch, Refuse] {
        assert_eq!(tree.read("dir/file", policy).unwrap(), "inside");
        assert_eq!(tree.read("round", policy).unwrap_err(), Errno::LOOP);
        assert_eq!(tree.read("missing", policy).unwrap_err(), Errno::NOENT);
        assert_eq!(tree.read("dir/file/more", policy).unwrap_err(), Errno::NOTDIR);
    }
    for policy in [Follow, OwnerMatch] {
        assert_eq!(tree.read("near", policy).unwrap(), "inside");
        assert_eq!(tree.read("linked/file", policy).unwrap(), "inside");
        assert_eq!(tree.read("far", policy).unwrap(), "outside");
    }
    for name in ["near", "linked/file", "far"] {
        assert_eq!(tree.read(name, Refuse).unwrap_err(), Errno::LOOP, "{name}");
    }
}

#[test]
fn a_link_to_another_owner_is_refused_under_owner_match() {
    if !runtime::process::is_root() {
        let text = b"not run: only root can make a file of another owner\n";
        let _ = std::io::Write::write_all(&mut std::io::stderr(), text);
        return;
    }
    let tree = Tree::new("owners");
    std::os::unix::fs::chown(tree.0.join("outside"), Some(65534), Some(65534)).unwrap();
    assert_eq!(tree.read("far", LinkPolicy::OwnerMatch).unwrap_err(), Errno::LOOP);
    assert_eq!(tree.read("far", LinkPolicy::Follow).unwrap(), "outside");
}

#[test]
fn policies_may_differ_per_directory() {
    let tree = Tree::new("mixed");
    symlink("file", tree.0.join("root/dir/again")).unwrap();
    let root = runtime::file::open_directory(&tree.0.join("root")).unwrap();
    let at = |index| if index == 0 { LinkPolicy::Refuse } else { LinkPolicy::Follow };
    let policies = Policies::PerComponent(&at);
    assert!(open(root.as_fd(), b"dir/again", &policies).is_ok());
    assert_eq!(open(root.as_fd(), b"linked/again", &policies).unwrap_err(), Errno::LOOP);
    assert_eq!(open(root.as_fd(), b"dir\0/x", &policies).unwrap_err(), Errno::NOENT);
}

#[test]
fn folders_beyond_the_share_are_opened_but_not_kept() {
    let tree = Tree::new("share");
    let mut roots = Roots::default();
    roots.share(2 * KEPT_SHARE);
    let all: Vec<_> =
        ["root", "root/dir", ".", "missing"].map(|name| roots.get(&tree.0.join(name))).into();
    assert!(Arc::ptr_eq(&all[0], &roots.get(&tree.0.join("root"))));
    roots.open();
    let is_kept = |root: &Arc<Root>| root.lock().is_some();
    assert_eq!(all.iter().map(is_kept).collect::<Vec<_>>(), [true, true, false, false]);
    assert!(all[2].descriptor(1).is_ok() && !is_kept(&all[2]));
    assert_eq!(all[3].descriptor(1).unwrap_err(), Errno::NOENT);
}

/// Numbers that look random, the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % count
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

/// Folders, files and links at random, of two owners if this process may give files away.
fn grow(tree: &Tree, dice: &mut Dice) {
    const FOLDERS: [&str; 4] = ["", "a/", "b/", "a/b/"];
    let root = tree.0.join("root");
    std::fs::create_dir_all(root.join("a/b")).unwrap();
    std::fs::create_dir_all(root.join("b")).unwrap();
    let outside = tree.0.to_str().unwrap().to_owned();
    for number in 0..14 {
        let name = dice.one_of(&["f", "g", "l", "m", "n"]);
        let path = root.join(dice.one_of(&FOLDERS)).join(name);
        if path.symlink_metadata().is_ok() {
            continue;
        }
        if number < 4 {
            std::fs::write(&path, "a file").unwrap();
        } else {
            symlink(target(dice, &outside), &path).unwrap();
        }
        if runtime::process::is_root() && dice.below(3) == 0 {
            std::os::unix::fs::lchown(&path, Some(65534), Some(65534)).unwrap();
        }
    }
}

/// What a link names: also what is not there, itself, what lies outside, and a file as if it were
/// a folder.
fn target(dice: &mut Dice, outside: &str) -> String {
    let mut target = match dice.below(6) {
        0 => format!("{outside}/root/"),
        1 => format!("{outside}/"),
        2 => "../".to_owned(),
        _ => String::new(),
    };
    target += &spelling(dice, &["a", "b", "f", "g", "l", "m", "n", "..", ".", "none", "outside"]);
    if target.is_empty() { ".".to_owned() } else { target }
}

/// A path as somebody may write it.
fn spelling(dice: &mut Dice, names: &[&str]) -> String {
    let mut path = String::new();
    for _ in 0..=dice.below(3) {
        path += dice.one_of(names);
        path += dice.one_of(&["/", "/", "/", "//", "/./"]);
    }
    let end = dice.one_of(&["", "", "", "/", "//", "/."]);
    path.trim_end_matches(['/', '.']).to_owned() + end
}

/// What came of a look-up, so far as two ways can be compared.
type Seen = Result<((u64, u64), FileType), Errno>;

fn seen(status: Result<FileAttributes, Errno>) -> Seen {
    status.map(|status| (status.identity, status.kind))
}

#[test]
fn all_ways_of_looking_a_path_up_agree() {
    use LinkPolicy::{Follow, OwnerMatch, Refuse};
    for seed in 1..=60 {
        let tree = Tree::new(&format!("ways-{seed}"));
        let mut dice = Dice(seed);
        grow(&tree, &mut dice);
        let root = runtime::file::open_directory(&tree.0.join("root")).unwrap();
        for _ in 0..100 {
            let path = spelling(&mut dice, &["a", "b", "f", "g", "l", "m", "n", "none"]);
            let path = path.trim_start_matches('/');
            let what = |policy| format!("seed {seed}, {path:?}, {policy:?}");
            let [refused, owned, followed] = [Refuse, OwnerMatch, Follow].map(|policy| {
                let at = |_| policy;
                let ways = [Policies::Uniform(policy), Policies::PerComponent(&at)];
                let [whole, parts] = ways.each_ref().map(|ways| {
                    let opened = open(root.as_fd(), path.as_bytes(), ways).map(|(_, it)| it);
                    let looked = status_of(root.as_fd(), path.as_bytes(), ways);
                    assert_eq!(seen(opened), seen(looked), "{}", what(policy));
                    seen(looked)
                });
                assert_eq!(whole, parts, "{}", what(policy));
                whole
            });
            let kernel = runtime::file::status_at(&root, path.as_bytes());
            let kernel = if path.is_empty() { status(&root) } else { kernel };
            let (ours, kernel) = (followed, seen(kernel));
            assert_eq!(ours, kernel, "{}", what(Follow));
            assert!(refused.is_err() || refused == owned, "{}", what(OwnerMatch));
            assert!(owned.is_err() || owned == followed, "{}", what(OwnerMatch));
            if path.ends_with(['/', '.']) && !path.is_empty() {
                let is_folder = followed.is_ok_and(|(_, kind)| kind == FileType::Directory);
                assert!(followed.is_err() || is_folder, "{}", what(Follow));
            }
        }
    }
}

#[test]
fn what_is_no_folder_has_no_name_that_ends_as_one() {
    let tree = Tree::new("slash");
    symlink("dir/file/", tree.0.join("root/slashed")).unwrap();
    symlink("linked/", tree.0.join("root/twice")).unwrap();
    let root = runtime::file::open_directory(&tree.0.join("root")).unwrap();
    for policy in [LinkPolicy::Follow, LinkPolicy::OwnerMatch] {
        let at = |_| policy;
        for policies in [Policies::Uniform(policy), Policies::PerComponent(&at)] {
            let names: [&[u8]; 7] = [
                b"dir/file/",
                b"dir/file//",
                b"dir/file/.",
                b"linked/file/",
                b"near/",
                b"slashed",
                b"slashed/",
            ];
            for name in names {
                let found = open(root.as_fd(), name, &policies).map(|(_, status)| status.kind);
                assert_eq!(found, Err(Errno::NOTDIR), "{}", name.escape_ascii());
            }
            for name in [&b"linked/"[..], b"twice/", b"twice", b"dir/.", b"linked//."] {
                let found = open(root.as_fd(), name, &policies).map(|(_, status)| status.kind);
                assert_eq!(found, Ok(FileType::Directory), "{}", name.escape_ascii());
            }
        }
    }
}

#[test]
fn no_name_leads_out_of_the_root_by_itself() {
    let tree = Tree::new("out");
    let root = runtime::file::open_directory(&tree.0.join("root")).unwrap();
    for policy in [LinkPolicy::Follow, LinkPolicy::OwnerMatch, LinkPolicy::Refuse] {
        let at = |_| policy;
        for policies in [Policies::Uniform(policy), Policies::PerComponent(&at)] {
            for name in [&b"/etc/passwd"[..], b"../outside", b"dir/..", b"dir/../../outside", b"/"]
            {
                let found = open(root.as_fd(), name, &policies).map(|(_, status)| status.kind);
                assert_eq!(found, Err(Errno::XDEV), "{}", name.escape_ascii());
            }
        }
    }
}
