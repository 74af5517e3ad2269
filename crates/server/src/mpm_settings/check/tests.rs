//! The sizes and warnings of the three MPMs. The warnings are those of `apache2 -t`, to the byte.

use super::*;

/// Four cores and no want of memory.
const MACHINE: Machine = Machine { cores: 4, total_bytes: 64 << 30, available_bytes: 60 << 30 };

/// A directive and its number.
type Said<'a> = (&'a str, i32);

fn settings(kind: MpmKind, said: &[Said<'_>]) -> MpmSettings {
    let mut settings = MpmSettings { kind, ..MpmSettings::default() };
    for (name, number) in said {
        let field = match *name {
            "StartServers" => &mut settings.start_servers,
            "MinSpareServers" => &mut settings.min_spare_servers,
            "MaxSpareServers" => &mut settings.max_spare_servers,
            "MinSpareThreads" => &mut settings.min_spare_threads,
            "MaxSpareThreads" => &mut settings.max_spare_threads,
            "MaxRequestWorkers" => &mut settings.max_request_workers,
            "ThreadsPerChild" => &mut settings.threads_per_child,
            "ThreadLimit" => &mut settings.thread_limit,
            "ServerLimit" => &mut settings.server_limit,
            other => panic!("{other}"),
        };
        *field = Count::Given(*number);
    }
    settings
}

/// start, processes_max, threads_per_child, total, spare_min, spare_max
type Numbers = (usize, usize, usize, usize, usize, usize);

fn sized(settings: &MpmSettings) -> (Numbers, Vec<u32>) {
    let (sizing, warnings) = settings.sizing(&MACHINE);
    let SizingMode::Fixed(sizes) = sizing else { panic!("{sizing:?}") };
    let Sizes { start, processes_max, threads_per_child, total, spare_min, spare_max, .. } = sizes;
    let ids = warnings.iter().map(|warning| warning.id).collect();
    ((start, processes_max, threads_per_child, total, spare_min, spare_max), ids)
}

#[test]
fn prefork_counts_processes() {
    let rows: &[(&[Said<'_>], Numbers, &[u32])] = &[
        (&[], (5, 256, 1, 256, 5, 10), &[]),
        (&[("MaxRequestWorkers", 3)], (3, 3, 1, 3, 5, 10), &[]),
        (&[("MaxRequestWorkers", 0)], (1, 1, 1, 1, 5, 10), &[182]),
        (&[("ServerLimit", 100)], (5, 100, 1, 100, 5, 10), &[180]),
        (&[("ServerLimit", -4)], (1, 1, 1, 1, 5, 10), &[177, 180]),
        (
            &[("ServerLimit", 200_001), ("MaxRequestWorkers", 300_000)],
            (5, 200_000, 1, 200_000, 5, 10),
            &[175, 180],
        ),
        (
            &[("StartServers", 0), ("MinSpareServers", 0), ("MaxSpareServers", 0)],
            (1, 256, 1, 256, 1, 2),
            &[184, 186],
        ),
        (&[("MinSpareServers", 20)], (5, 256, 1, 256, 20, 21), &[]),
        // Of the other MPMs.
        (&[("ThreadsPerChild", 0), ("ThreadLimit", 0)], (5, 256, 1, 256, 5, 10), &[]),
    ];
    for (said, numbers, ids) in rows {
        let found = sized(&settings(MpmKind::Prefork, said));
        assert_eq!(found, (*numbers, ids.to_vec()), "{said:?}");
    }
}

#[test]
fn worker_and_event_count_threads() {
    // The numbers of httpd's messages are those of worker.
    let rows: &[(&[Said<'_>], Numbers, &[u32])] = &[
        (&[("StartServers", 3)], (3, 16, 25, 400, 75, 250), &[]),
        (
            // What Debian ships.
            &[
                ("StartServers", 2),
                ("MinSpareThreads", 25),
                ("MaxSpareThreads", 75),
                ("ThreadLimit", 64),
                ("ThreadsPerChild", 25),
                ("MaxRequestWorkers", 150),
            ],
            (2, 6, 25, 150, 25, 75),
            &[],
        ),
        (
            &[("ThreadsPerChild", 25), ("MaxRequestWorkers", 410), ("ServerLimit", 2)],
            (2, 2, 25, 50, 75, 250),
            &[316, 318],
        ),
        (&[("ThreadsPerChild", 10)], (3, 16, 10, 160, 75, 250), &[318]),
        (&[("ThreadsPerChild", 100)], (3, 6, 64, 384, 75, 250), &[310, 316]),
        (&[("ThreadsPerChild", 0), ("ThreadLimit", 0)], (3, 16, 1, 16, 75, 250), &[307, 312, 318]),
        (&[("MaxRequestWorkers", 10), ("ThreadsPerChild", 25)], (1, 1, 25, 25, 75, 250), &[314]),
        (
            &[("ServerLimit", 20_001), ("ThreadLimit", 1_000_000)],
            (3, 16, 25, 400, 75, 250),
            &[300, 305],
        ),
        (
            &[("StartServers", -1), ("MinSpareThreads", 0), ("MaxSpareThreads", 5)],
            (1, 16, 25, 400, 1, 27),
            &[320, 322],
        ),
    ];
    // event has the same checks with other numbers.
    let of_event = |id: &u32| id + (497 - 300);
    for (said, numbers, ids) in rows {
        let worker = sized(&settings(MpmKind::Worker, said));
        assert_eq!(worker, (*numbers, ids.to_vec()), "{said:?}");
        let event = sized(&settings(MpmKind::Event, said));
        assert_eq!(event, (*numbers, ids.iter().map(of_event).collect()), "{said:?}");
    }
    let (found, _) = sized(&settings(MpmKind::Worker, &[]));
    assert_eq!(found, (3, 16, 25, 400, 75, 250));
}

#[test]
fn each_set_of_listening_sockets_has_a_child() {
    let each = |kind, said: &[Said<'_>]| MpmSettings {
        listen_cores_buckets_ratio: 1,
        ..settings(kind, said)
    };
    let worker = each(MpmKind::Worker, &[("StartServers", 1), ("MinSpareThreads", 1)]);
    assert_eq!(sized(&worker).0, (4, 16, 25, 400, 79, 250));
    let few = each(MpmKind::Worker, &[("MaxRequestWorkers", 25)]);
    assert_eq!(sized(&few).0, (4, 4, 25, 100, 79, 250));
    let prefork = each(MpmKind::Prefork, &[("MaxRequestWorkers", 2), ("MinSpareServers", 1)]);
    assert_eq!(sized(&prefork).0, (4, 4, 1, 4, 4, 10));
    let ratio = |ratio| MpmSettings { listen_cores_buckets_ratio: ratio, ..worker.clone() };
    let buckets = [0, 1, 3, 8, 9].map(|number| ratio(number).listener_buckets(8));
    assert_eq!(buckets, [1, 8, 2, 1, 1]);
}

#[test]
fn event_is_sized_by_the_machine_if_nothing_is_said() {
    let auto = |said: &[Said<'_>]| settings(MpmKind::Event, said).sizing(&MACHINE);
    let sizing = |processes, total| SizingMode::Steady { processes, total };
    assert_eq!(auto(&[]), (sizing(4, 2048), vec![]));
    let said = [("MaxRequestWorkers", 410), ("ThreadLimit", 10)];
    assert_eq!(auto(&said), (sizing(2, 410), vec![]));
    assert_eq!(auto(&[("MaxRequestWorkers", 3)]).0, sizing(3, 3));
    let (found, warnings) = auto(&[("MaxRequestWorkers", 0)]);
    assert_eq!((found, warnings.len()), (sizing(1, 1), 1));
    assert_eq!(
        warnings[0].line(),
        "AH00511: WARNING: MaxRequestWorkers of 0 not allowed, increasing to 1.\n"
    );
    let alone = MpmSettings { is_alone: true, ..MpmSettings::default() };
    assert_eq!(alone.sizing(&MACHINE).0, sizing(1, 2048));
    assert_eq!(MpmSettings::default().sizing(&Machine { cores: 0, ..MACHINE }).0, sizing(1, 1024));
    let alone = MpmSettings { is_alone: true, ..settings(MpmKind::Worker, &[]) };
    assert_eq!(sized(&alone).0, (1, 1, 25, 25, 75, 250));
}

/// A text at the start, and that at a restart.
type Texts = (&'static str, &'static str);

const TEXTS: &[(MpmKind, &[Said<'static>], &[Texts])] = &[
    (
        MpmKind::Event,
        &[("MaxRequestWorkers", 410), ("ServerLimit", -4), ("StartServers", 0)],
        &[
            (
                "AH00499: WARNING: ServerLimit of -4 not allowed, increasing to 1.\n",
                "AH00500: ServerLimit of -4 not allowed, increasing to 1",
            ),
            (
                "AH00513: WARNING: MaxRequestWorkers of 410 is not an integer multiple of \
                 ThreadsPerChild of 25, decreasing to nearest multiple 400, for a maximum of \
                 16 servers.\n",
                "AH00514: MaxRequestWorkers of 410 is not an integer multiple of \
                 ThreadsPerChild of 25, decreasing to nearest multiple 400",
            ),
            (
                "AH00515: WARNING: MaxRequestWorkers of 400 would require 16 servers and would \
                 exceed ServerLimit of 1, decreasing to 25. To increase, please see the \
                 ServerLimit directive.\n",
                "AH00516: MaxRequestWorkers of 400 would require 16 servers and exceed \
                 ServerLimit of 1, decreasing to 25",
            ),
            (
                "AH00517: WARNING: StartServers of 0 not allowed, increasing to 1.\n",
                "AH00518: StartServers of 0 not allowed, increasing to 1",
            ),
        ],
    ),
    (
        MpmKind::Worker,
        &[("ThreadsPerChild", 70), ("MaxRequestWorkers", 5), ("MinSpareThreads", 0)],
        &[
            (
                "AH00310: WARNING: ThreadsPerChild of 70 exceeds ThreadLimit of 64 threads, \
                 decreasing to 64. To increase, please see the ThreadLimit directive.\n",
                "AH00311: ThreadsPerChild of 70 exceeds ThreadLimit of 64, decreasing to match",
            ),
            (
                "AH00314: WARNING: MaxRequestWorkers of 5 is less than ThreadsPerChild of 64, \
                 increasing to 64. MaxRequestWorkers must be at least as large as the number \
                 of threads in a single server.\n",
                "AH00315: MaxRequestWorkers of 5 is less than ThreadsPerChild of 64, \
                 increasing to match",
            ),
            (
                "AH00322: WARNING: MinSpareThreads of 0 not allowed, increasing to 1 to avoid \
                 almost certain server failure. Please read the documentation.\n",
                "AH00323: MinSpareThreads of 0 not allowed, increasing to 1",
            ),
        ],
    ),
    (
        MpmKind::Prefork,
        &[("ServerLimit", 200_001), ("MaxRequestWorkers", 200_002)],
        &[
            (
                "AH00175: WARNING: ServerLimit of 200001 exceeds compile-time limit of 200000 \
                 servers, decreasing to 200000.\n",
                "AH00176: ServerLimit of 200001 exceeds compile-time limit of 200000, \
                 decreasing to match",
            ),
            (
                "AH00180: WARNING: MaxRequestWorkers of 200002 exceeds ServerLimit value of \
                 200000 servers, decreasing MaxRequestWorkers to 200000. To increase, please \
                 see the ServerLimit directive.\n",
                "AH00181: MaxRequestWorkers of 200002 exceeds ServerLimit value of 200000, \
                 decreasing to match",
            ),
        ],
    ),
];

#[test]
fn warnings_are_httpds() {
    let said = |kind, said: &[Said<'_>]| {
        let (_, warnings) = settings(kind, said).sizing(&MACHINE);
        let line = |one: &SizingWarning| {
            (one.line(), format!("AH{:05}: {}", one.id_again, one.text_again))
        };
        warnings.iter().map(line).collect::<Vec<_>>()
    };
    for (kind, directives, expected) in TEXTS {
        let found = said(*kind, directives);
        let found: Vec<(&str, &str)> = found.iter().map(|row| (&*row.0, &*row.1)).collect();
        assert_eq!(found, *expected, "{kind:?} {directives:?}");
    }
}

/// Whatever is written, the sizes are such as a server can have.
#[test]
fn no_number_is_too_strange() {
    use Count::{Auto, Given, Unsaid};
    const NUMBERS: [Count; 8] = [
        Unsaid,
        Auto,
        Given(i32::MIN),
        Given(0),
        Given(1),
        Given(64),
        Given(100_000),
        Given(i32::MAX),
    ];
    for kind in MpmKind::all() {
        for at in 0..NUMBERS.len().pow(5) {
            let number = |place: u32| NUMBERS[at / NUMBERS.len().pow(place) % NUMBERS.len()];
            let settings = MpmSettings {
                kind,
                start_servers: Given(5),
                max_request_workers: number(0),
                threads_per_child: number(1),
                thread_limit: number(2),
                server_limit: number(3),
                max_spare_threads: number(4),
                min_spare_threads: number(4),
                ..MpmSettings::default()
            };
            let (SizingMode::Fixed(sizes), _) = settings.sizing(&MACHINE) else {
                panic!("{settings:?}")
            };
            let Sizes { start, processes_max, server_limit, total, .. } = sizes;
            assert!((1..=processes_max).contains(&start), "{settings:?}: {sizes:?}");
            assert!(processes_max <= server_limit && server_limit <= 200_000, "{settings:?}");
            assert!(sizes.threads_per_child <= sizes.thread_limit, "{settings:?}");
            assert_eq!(total, processes_max * sizes.threads_per_child, "{settings:?}");
            assert!(sizes.spare_min >= 1 && sizes.spare_max > sizes.spare_min, "{settings:?}");
        }
    }
}
