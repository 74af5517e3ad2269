//! Checks of what depends on what, from `cargo metadata`.

use super::file::Finding;
use serde_json::Value;
use std::error::Error;
use std::path::Path;
use std::process::Command;

/// Which crates of the workspace each may use. Reading downwards, an arrow never points up.
const ARROWS: &[(&str, &[&str])] = &[
    ("trivet", &["mpm", "modules", "server", "config", "runtime", "tools"]),
    // Tools never see the server: a load generator must not share the faults that it looks for.
    ("tools", &["http1", "load", "runtime", "scoreboard", "tls"]),
    ("load", &["http1", "message", "pattern", "runtime", "tls", "upstream"]),
    ("mpm", &["gateway", "status", "server", "logging", "runtime", "scoreboard"]),
    (
        "modules",
        &[
            "config",
            "content",
            "expr",
            "fastcgi",
            "gateway",
            "logging",
            "message",
            "pattern",
            "rewrite",
            "runtime",
            "scoreboard",
            "server",
            "status",
        ],
    ),
    ("rewrite", &["config", "expr", "logging", "message", "pattern", "runtime", "server"]),
    (
        "gateway",
        &[
            "config",
            "expr",
            "fastcgi",
            "logging",
            "message",
            "pattern",
            "php",
            "runtime",
            "scoreboard",
            "server",
            "upstream",
        ],
    ),
    ("content", &["config", "expr", "logging", "message", "pattern", "runtime", "server"]),
    ("status", &["config", "logging", "message", "runtime", "scoreboard", "server"]),
    (
        "server",
        &[
            "config",
            "expr",
            "fastcgi",
            "http1",
            "logging",
            "message",
            "pattern",
            "runtime",
            "scoreboard",
            "upstream",
        ],
    ),
    ("logging", &["message", "runtime", "scoreboard"]),
    ("upstream", &["http1", "runtime", "scoreboard", "tls"]),
    ("expr", &["message", "pattern"]),
    ("http1", &["message"]),
    ("fastcgi", &["message"]),
    ("tls", &["runtime"]),
    ("runtime", &[]),
    ("scoreboard", &[]),
    ("pattern", &[]),
    // Whoever opens the module file knows its data, and does not link it.
    ("php", &[]),
    ("php-module", &[]),
    ("config", &[]),
    ("message", &[]),
    // These two start the binary and look at it from outside.
    ("blackbox", &[]),
    ("xtask", &[]),
];

/// A crate that is not used, by whom, and why.
struct BannedCrate {
    name: &'static str,
    /// Members that may use it.
    except: &'static [&'static str],
    /// Whether it may not come in through another crate either.
    deep: bool,
    instead: &'static str,
}

const BANNED_CRATES: &[BannedCrate] = &[
    deep("hyper", "HTTP/1 is what this project is about: use http1"),
    deep("axum", "a framework would hide the order of phases: use the phase lists"),
    deep("openssl-sys", "TLS is rustls: memory-safe, and no C library at run time"),
    deep("native-tls", "TLS is rustls: memory-safe, and no C library at run time"),
    deep("rustls-pemfile", "no longer maintained: rustls-pki-types reads PEM"),
    deep("async-std", "no longer maintained: use runtime"),
    deep("atty", "no longer maintained: use std::io::IsTerminal"),
    deep("memmap2", "a file cut short would kill the process: read it or use sendfile"),
    direct("async-trait", &[], "it allocates on each call: use enum dispatch"),
    direct("lazy_static", &[], "std has LazyLock"),
    direct("num_cpus", &[], "std has thread::available_parallelism"),
    direct("once_cell", &[], "std has OnceLock and LazyLock"),
    direct("pcre2-sys", &["pattern"], "only pattern calls C libraries: use its Regex"),
    direct("rustls", &["tls"], "only tls names it, so that what is trusted stands in one place"),
    direct("corosensei", &["php"], "only php switches stacks: a script is the only guest"),
    direct("cc", &["php-module"], "only php-module has C files of ours"),
    direct("tokio", &["runtime"], "only runtime names it, so that it can be replaced"),
];

const fn deep(name: &'static str, instead: &'static str) -> BannedCrate {
    BannedCrate { name, except: &[], deep: true, instead }
}

const fn direct(
    name: &'static str,
    except: &'static [&'static str],
    instead: &'static str,
) -> BannedCrate {
    BannedCrate { name, except, deep: false, instead }
}

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The workspace with all that it is built from.
pub(crate) struct Workspace {
    pub(crate) packages: Vec<Package>,
    /// The text of `Cargo.lock`, to say where a crate stands in it.
    lock: String,
}

/// One crate, of the workspace or not.
pub(crate) struct Package {
    pub(crate) name: String,
    /// Empty when none is stated.
    pub(crate) license: String,
    /// Where it comes from; `None` for a folder of the workspace.
    source: Option<String>,
    dependencies: Vec<String>,
}

impl Workspace {
    /// Asks cargo, first without the network, which a fresh clone may still need.
    pub(crate) fn load(root: &Path) -> Result<Self, Box<dyn Error>> {
        let json = cargo_metadata(root, &["--offline"]).or_else(|_| cargo_metadata(root, &[]))?;
        let lock = std::fs::read_to_string(root.join("Cargo.lock"))?;
        Ok(Self::from_json(&serde_json::from_str(&json)?, lock))
    }

    fn from_json(json: &Value, lock: String) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let package = |package: &Value| Package {
            name: text(&package["name"]),
            license: text(&package["license"]),
            source: package["source"].as_str().map(str::to_owned),
            dependencies: list(&package["dependencies"]).iter().map(|d| text(&d["name"])).collect(),
        };
        Self { packages: list(&json["packages"]).iter().map(package).collect(), lock }
    }

    fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.source.is_none())
    }

    /// A finding at the place of a crate in the lock file.
    pub(crate) fn finding(&self, name: &str, what: impl std::fmt::Display) -> Finding {
        let entry = format!("name = \"{name}\"");
        let line = (1..).zip(self.lock.lines()).find(|(_, line)| *line == entry);
        Finding {
            path: "Cargo.lock".to_owned(),
            line: line.map_or(1, |(number, _)| number),
            what: format!("`{name}` {what}"),
        }
    }
}

fn cargo_metadata(root: &Path, network: &[&str]) -> Result<String, Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        // Only what is built here: crates for other systems are not even downloaded.
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &host()?])
        .args(network)
        .current_dir(root)
        .output()?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The machine for which rustc builds by default.
fn host() -> Result<String, Box<dyn Error>> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let text = String::from_utf8(Command::new(rustc).arg("-vV").output()?.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc -vV names no host")?.to_owned())
}

pub(crate) fn arrows(workspace: &Workspace) -> Vec<Finding> {
    let members: Vec<&str> = workspace.members().map(|member| member.name.as_str()).collect();
    let mut findings = Vec::new();
    for member in workspace.members() {
        let Some((name, allowed)) = ARROWS.iter().find(|(name, _)| *name == member.name) else {
            findings.push(
                workspace.finding(&member.name, "has no row in the table of arrows; add one"),
            );
            continue;
        };
        let used = member.dependencies.iter().map(String::as_str);
        let wrong = used.filter(|used| members.contains(used) && !allowed.contains(used));
        let what = |used| format!("may not use `{used}`; the arrows are in ARCHITECTURE.md");
        findings.extend(wrong.map(|used| workspace.finding(name, what(used))));
    }
    findings
}

pub(crate) fn sources(workspace: &Workspace) -> Vec<Finding> {
    let sources = workspace.packages.iter().filter_map(|p| Some((p, p.source.as_deref()?)));
    let found = sources.filter(|(_, source)| *source != CRATES_IO);
    let what =
        |source| format!("comes from `{source}`; only crates.io and the workspace are allowed");
    found.map(|(package, source)| workspace.finding(&package.name, what(source))).collect()
}

pub(crate) fn banned_crates(workspace: &Workspace) -> Vec<Finding> {
    BANNED_CRATES.iter().flat_map(|ban| uses(workspace, ban)).collect()
}

fn uses(workspace: &Workspace, ban: &BannedCrate) -> Vec<Finding> {
    let named = |package: &&Package| package.dependencies.iter().any(|name| name == ban.name);
    let allowed = |package: &&Package| ban.except.contains(&package.name.as_str());
    let what = format!("uses `{}`; {}", ban.name, ban.instead);
    let users: Vec<&Package> = if ban.deep {
        // Optional dependencies are named without being built, so the crate itself must be there.
        let built = workspace.packages.iter().any(|package| package.name == ban.name);
        workspace.packages.iter().filter(|_| built).collect()
    } else {
        workspace.members().collect()
    };
    let wrong = users.into_iter().filter(|package| named(package) && !allowed(package));
    wrong.map(|package| workspace.finding(&package.name, &what)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    impl Workspace {
        /// Two members, an honest crate, and two that break rules.
        pub(crate) fn sample() -> Self {
            let uses = |names: &[&str]| -> Value {
                names.iter().map(|name| json!({ "name": name })).collect()
            };
            let package = |name, license, source, names: &[&str]| {
                let dependencies = uses(names);
                json!({ "name": name, "license": license, "source": source,
                    "dependencies": dependencies })
            };
            let lock = ["server", "newcomer", "copyleft", "hyper"];
            let lock: String =
                lock.iter().map(|name| format!("[[package]]\nname = \"{name}\"\n\n")).collect();
            let json = json!({ "packages": [
                package("server", "MIT", Value::Null, &["message", "mpm", "tokio"]),
                package("mpm", "MIT", Value::Null, &["server"]),
                package("runtime", "MIT", Value::Null, &["tokio"]),
                package("newcomer", "MIT", Value::Null, &["copyleft"]),
                package("copyleft", "GPL-3.0", json!("git+https://a.b/c"), &["hyper"]),
                package("hyper", "MIT", json!(CRATES_IO), &["tokio", "openssl-sys"]),
            ]});
            Self::from_json(&json, lock)
        }
    }

    fn found(run: fn(&Workspace) -> Vec<Finding>) -> Vec<String> {
        run(&Workspace::sample()).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn an_arrow_upwards_and_a_crate_without_a_row_are_found() {
        assert_eq!(
            found(arrows),
            [
                "Cargo.lock:2: `server` may not use `mpm`; the arrows are in ARCHITECTURE.md",
                "Cargo.lock:5: `newcomer` has no row in the table of arrows; add one",
            ]
        );
    }

    #[test]
    fn a_foreign_source_is_found() {
        assert_eq!(
            found(sources),
            ["Cargo.lock:8: `copyleft` comes from `git+https://a.b/c`; \
              only crates.io and the workspace are allowed"]
        );
    }

    #[test]
    fn banned_crates_are_found_deep_or_direct() {
        assert_eq!(
            found(banned_crates),
            [
                "Cargo.lock:8: `copyleft` uses `hyper`; \
                 HTTP/1 is what this project is about: use http1",
                "Cargo.lock:2: `server` uses `tokio`; \
                 only runtime names it, so that it can be replaced",
            ]
        );
    }

    #[test]
    fn the_arrows_never_point_up() {
        for (row, (name, allowed)) in ARROWS.iter().enumerate() {
            let below = |other: &&str| ARROWS[row + 1..].iter().any(|(name, _)| name == other);
            assert!(allowed.iter().all(below), "{name}");
        }
    }
}
