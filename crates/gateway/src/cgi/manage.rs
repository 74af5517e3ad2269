//! What the process that starts scripts has to know of the configuration.

use server::Server;
use server::site::settings::ServerKey;
use server::site::store::Merge;
use server::{Machine, SHARE_PERCENT};

/// What a script is taken to need where nobody says how many may run: an interpreter with some
/// libraries.
const SCRIPT_BYTES: u64 = 16 << 20;

/// Not fewer, however small the machine is, and not more, however large: they share its processors.
const SCRIPTS_LEAST: usize = 8;
const SCRIPTS_MOST: usize = 512;

/// Scripts at once, on this machine.
fn of_memory(machine: &Machine) -> usize {
    let bytes = machine.available_bytes.saturating_mul(SHARE_PERCENT) / 100;
    let count = usize::try_from(bytes / SCRIPT_BYTES).unwrap_or(usize::MAX);
    count.clamp(SCRIPTS_LEAST, SCRIPTS_MOST)
}

/// `CGIMaxProcesses`, or what this machine has memory for.
pub fn scripts_max(server: &Server) -> usize {
    let given = SCRIPTS_MAX.of(&server.site.modules).0;
    given.unwrap_or_else(|| of_memory(&Machine::here()))
}

/// The key of `CGIMaxProcesses`.
pub static SCRIPTS_MAX: ServerKey<ScriptsMax> = ServerKey::new();

/// `CGIMaxProcesses`; `None` is `auto`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScriptsMax(pub Option<usize>);

impl Merge for ScriptsMax {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_bounds_the_number_of_scripts() {
        let of = |megabytes: u64| {
            let available_bytes = megabytes << 20;
            of_memory(&Machine { cores: 2, total_bytes: available_bytes, available_bytes })
        };
        assert_eq!([64, 256, 1024, 64 << 10].map(of), [8, 12, 51, 512]);
    }
}
