//! PHP-FPM behind the measured servers: each of them has one of its own, so that none is kept from
//! its children by what another one keeps. What is measured is in `scenarios.rs`.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::keeper::Keeper;
use super::programs::{find, is_root};

/// The program and its package.
pub(crate) const FPM: (&str, &str) = ("php-fpm8.2", "php8.2-fpm");

/// The script, and what it answers.
pub(super) const HELLO: (&str, &str) =
    ("hello.php", "<?php header('Content-Length: 12'); echo \"Hello World\\n\";\n");
pub(super) const HELLO_ANSWER: &[u8] = b"Hello World\n";

/// Children of each pool: more than the cores, as administrators have it.
const CHILDREN: u32 = 8;

/// A PHP-FPM that does not listen by then is given up.
const START_TIMEOUT: Duration = Duration::from_secs(15);

/// Starts a PHP-FPM with its files in `home`; gives its pid and its socket.
pub(super) fn start(keeper: &mut Keeper, home: &Path) -> Result<(u32, PathBuf), String> {
    let socket = home.join("fpm.sock");
    let file = home.join("fpm.conf");
    let user = if is_root() { "user = www-data\ngroup = www-data\n" } else { "" };
    let config = format!(
        "[global]\nerror_log = {home}/fpm.log\n[www]\n{user}listen = {socket}\n\
         listen.mode = 0666\nlisten.backlog = 4096\npm = static\npm.max_children = {CHILDREN}\n",
        home = home.display(),
        socket = socket.display(),
    );
    fs::write(&file, config).map_err(|error| format!("{}: {error}", file.display()))?;
    let program = find(FPM.0).ok_or("php-fpm is not installed")?;
    let command = [program.as_path(), Path::new("-F"), Path::new("-y"), &file];
    let command = command.map(|word| word.display().to_string());
    let pid = keeper.spawn(&home.join("fpm-output"), &command)?;
    let deadline = Instant::now() + START_TIMEOUT;
    while UnixStream::connect(&socket).is_err() {
        if deadline < Instant::now() {
            let said = fs::read_to_string(home.join("fpm.log")).unwrap_or_default();
            return Err(format!("php-fpm does not listen\n{said}"));
        }
        sleep(Duration::from_millis(10));
    }
    Ok((pid, socket))
}
