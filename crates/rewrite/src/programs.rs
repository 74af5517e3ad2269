//! Which programs of maps run: those of hosts whose engine is on (run_rewritemap_programs of
//! mod_rewrite.c). An engine that is on in folders only is not asked, as in httpd.

use crate::map::Map;
use crate::settings::{HOST_SETTINGS, SETTINGS};
use server::site::Site;

/// Tell the site of each program, once, however many hosts have its map.
pub(crate) fn open(site: &mut Site) -> Result<(), String> {
    let Site { hosts, map_programs, .. } = site;
    for host in hosts.iter().filter(|host| SETTINGS.of(host.settings()).is_on()) {
        for map in HOST_SETTINGS.of(&host.modules).maps.values() {
            if let Map::Program(program) = &**map {
                program.join(map_programs);
            }
        }
    }
    Ok(())
}
