//! What `auto` comes to on machines of all sizes, and that a number stays what it is.

use super::*;
use crate::mpm_settings::{Sizes, SizingMode};
use Count::{Auto, Given, Unsaid};

fn machine(cores: usize, total_mb: u64, available_mb: u64) -> Machine {
    Machine { cores, total_bytes: total_mb << 20, available_bytes: available_mb << 20 }
}

fn automatic(kind: MpmKind) -> MpmSettings {
    MpmSettings { kind, sizes_itself: true, ..MpmSettings::default() }
}

fn fixed(settings: &MpmSettings, machine: &Machine) -> Sizes {
    let (sizing, warnings) = settings.sizing(machine);
    assert_eq!(warnings, [], "{settings:?}");
    let SizingMode::Fixed(sizes) = sizing else { panic!("{sizing:?}") };
    sizes
}

#[test]
fn processes_are_sized_by_cores_and_memory() {
    for (machine, start, processes_max, spare) in [
        (machine(2, 64, 60), 3, 256, (3, 6)),
        (machine(2, 24_000, 20_000), 5, 2048, (5, 10)),
        (machine(16, 64_000, 60_000), 32, 2048, (32, 64)),
        (machine(512, 1_000_000, 900_000), 64, 2048, (64, 128)),
        (machine(64, 32, 8), 1, 128, (1, 2)),
        (machine(0, 1, 0), 1, 16, (1, 2)),
        (machine(usize::MAX, 1 << 40, 1 << 40), 64, 2048, (64, 128)),
    ] {
        let sizes = fixed(&automatic(MpmKind::Prefork), &machine);
        assert_eq!((sizes.start, sizes.processes_max), (start, processes_max), "{machine:?}");
        assert_eq!((sizes.spare_min, sizes.spare_max), spare, "{machine:?}");
    }
}

#[test]
fn threads_are_sized_by_cores_and_memory() {
    for (machine, threads, start, processes_max, spare) in [
        (machine(2, 64, 60), 25, 1, 20, (25, 75)),
        (machine(2, 24_000, 20_000), 25, 2, 163, (25, 75)),
        (machine(64, 250_000, 240_000), 25, 64, 163, (256, 306)),
        (machine(0, 1, 0), 25, 1, 2, (25, 75)),
    ] {
        for kind in [MpmKind::Worker, MpmKind::Event] {
            let settings = MpmSettings { min_spare_threads: Auto, ..automatic(kind) };
            let settings = match kind {
                // Else it would keep its number of processes.
                MpmKind::Event => MpmSettings { threads_per_child: Given(threads), ..settings },
                _ => settings,
            };
            let sizes = fixed(&settings, &machine);
            let found = (usize::try_from(threads).unwrap(), start);
            assert_eq!((sizes.threads_per_child, sizes.start), found, "{kind:?} {machine:?}");
            assert_eq!((sizes.spare_min, sizes.spare_max), spare, "{kind:?} {machine:?}");
            if kind == MpmKind::Worker {
                assert_eq!(sizes.processes_max, processes_max, "{machine:?}");
            }
        }
    }
}

#[test]
fn event_has_a_process_for_each_core_and_slots_for_cores_and_memory() {
    for (machine, processes, total) in [
        (machine(2, 24_000, 20_000), 2, 1024),
        (machine(2, 64, 60), 2, 1024),
        (machine(2, 16, 1), 2, 256),
        (machine(8, 24_000, 20_000), 8, 4096),
        (machine(256, 1_000_000, 900_000), 256, 16_384),
    ] {
        let (sizing, warnings) = automatic(MpmKind::Event).sizing(&machine);
        assert_eq!(sizing, SizingMode::Steady { processes, total }, "{machine:?}");
        assert_eq!(warnings, []);
    }
    let limited = MpmSettings { server_limit: Given(1), ..automatic(MpmKind::Event) };
    let sizing = SizingMode::Steady { processes: 1, total: 1024 };
    assert_eq!(limited.sizing(&machine(2, 24_000, 20_000)).0, sizing);
}

#[test]
fn a_number_is_that_number_and_the_rest_follows() {
    let machine = machine(2, 24_000, 20_000);
    let worker = MpmSettings {
        threads_per_child: Given(10),
        max_request_workers: Given(40),
        ..automatic(MpmKind::Worker)
    };
    let sizes = fixed(&worker, &machine);
    assert_eq!((sizes.threads_per_child, sizes.processes_max, sizes.total), (10, 4, 40));
    assert!(!worker.limits_itself());
    // Threads of which the total is a multiple.
    for (total, threads, processes) in [(410, 10, 41), (400, 25, 16), (7, 7, 1), (26, 13, 2)] {
        let settings = MpmSettings { threads_per_child: Auto, ..worker.clone() };
        let settings = MpmSettings { max_request_workers: Given(total), ..settings };
        let sizes = fixed(&settings, &machine);
        assert_eq!((sizes.threads_per_child, sizes.processes_max), (threads, processes), "{total}");
    }
    let prefork = MpmSettings {
        server_limit: Given(4),
        start_servers: Given(4),
        max_spare_servers: Given(3),
        ..automatic(MpmKind::Prefork)
    };
    let sizes = fixed(&prefork, &machine);
    assert_eq!((sizes.start, sizes.processes_max), (4, 4));
    assert_eq!((sizes.spare_min, sizes.spare_max), (2, 3));
    assert!(prefork.limits_itself());
    let many = MpmSettings { max_request_workers: Given(5000), ..automatic(MpmKind::Prefork) };
    assert_eq!(fixed(&many, &machine).processes_max, 5000);
}

#[test]
fn a_configuration_of_httpd_keeps_its_defaults_where_nothing_is_said() {
    let machine = machine(2, 24_000, 20_000);
    let of_httpd = |kind, max_request_workers| MpmSettings {
        kind,
        max_request_workers,
        ..MpmSettings::default()
    };
    for kind in [MpmKind::Prefork, MpmKind::Worker] {
        assert!(!of_httpd(kind, Unsaid).limits_itself());
    }
    let sizes = fixed(&of_httpd(MpmKind::Worker, Unsaid), &machine);
    assert_eq!((sizes.start, sizes.processes_max, sizes.threads_per_child), (3, 16, 25));
    // `auto` is bounded by memory alone; what is unsaid stays httpd's.
    let asked = of_httpd(MpmKind::Worker, Auto);
    let sizes = fixed(&asked, &machine);
    assert_eq!((sizes.start, sizes.processes_max, sizes.threads_per_child), (3, 163, 25));
    assert_eq!((sizes.spare_min, sizes.spare_max, asked.limits_itself()), (75, 250, true));
    let asked = MpmSettings { server_limit: Given(8), ..asked };
    assert_eq!(fixed(&asked, &machine).processes_max, 8);
    let sizes = fixed(&of_httpd(MpmKind::Prefork, Auto), &machine);
    assert_eq!((sizes.start, sizes.processes_max, sizes.spare_max), (5, 2048, 10));
    // Event of which nothing is said has always been sized by the machine.
    assert!(of_httpd(MpmKind::Event, Unsaid).is_steady());
    let limited = MpmSettings { server_limit: Given(4), ..of_httpd(MpmKind::Event, Unsaid) };
    assert!(!limited.is_steady() && !limited.limits_itself());
}

#[test]
fn alone_there_is_one_process_and_nothing_to_revise() {
    for kind in MpmKind::all() {
        let settings = MpmSettings { is_alone: true, ..automatic(kind) };
        assert!(!settings.limits_itself());
        assert_eq!(settings.sizing(&machine(4, 24_000, 20_000)).0.processes_max(), 1, "{kind:?}");
    }
}
