//! What the page is made of: every figure of the text report, a line for everything that is known,
//! and nothing of what others have written as markup.

use super::html;
use super::series::PLOTS;
use crate::report::{
    CapacityRun, CapacitySearch, FirstFailureRecord, HeldLevel, LoadLevel, PerSecond, PerUrl,
    RunRecord, RunSettings, ServerRecord, ServerSecond, Summary, TimeDistribution, rows, text,
};

fn second(n: u32) -> PerSecond {
    let wave = f64::from(n * 7 % 11);
    PerSecond {
        until_s: f64::from(n) - 1.0,
        length_s: 1.0,
        users: n,
        requests: 1000,
        errors: u64::from(n / 6),
        rate: 1000.0 + 10.0 * wave,
        p50_us: 400.0 + wave,
        p90_us: 900.0 + wave,
        p99_us: 4000.0 + 100.0 * wave,
        max_us: 60_000.0,
        generator_cpu_percent: 12.0,
        server: Some(ServerSecond {
            cpu_us_per_request: 40.0 + wave,
            cpu_percent: 60.0,
            run_queue_ms_per_s: 3.0,
            pss_bytes: 20_000_000,
            processes: 4,
            busy: Some(n),
        }),
        ..PerSecond::default()
    }
}

/// A run with a second of warm-up, errors, a server, and hostile words wherever others write.
fn run() -> RunRecord {
    let hostile = "</script><img src=x onerror=\"alert('&')\">";
    let times = TimeDistribution {
        count: 10_000,
        p50: 401.0,
        p90: 905.0,
        p99: 4321.0,
        max: 61_234.0,
        ..TimeDistribution::default()
    };
    let url = |name: &str| PerUrl {
        name: name.to_owned(),
        latency_us: times.clone(),
        ..PerUrl::default()
    };
    let mut record = RunRecord {
        begun_unix_s: 1_795_230_759.0,
        command: vec!["trivet".into(), "bench".into(), hostile.into()],
        figures: RunSettings {
            pace: "pattern 1-10:10".into(),
            threads: 1,
            ..RunSettings::default()
        },
        urls: vec![url(&format!("GET http://a/{hostile}")), url("GET http://a/b")],
        seconds: (1..=10).map(second).collect(),
        histogram_us: vec![(300.0, 4000), (400.0, 5000), (900.0, 900), (4321.0, 99), (61_234.0, 1)],
        warnings: vec![format!("much of it {hostile}")],
        firsts: vec![FirstFailureRecord {
            kind: "timeout".into(),
            at_s: 5.25,
            users: 6,
            text: hostile.into(),
        }],
        ..RunRecord::default()
    };
    record.summary = Summary {
        requests: 10_000,
        answers: 10_000,
        errors: 5,
        rate: 1055.0,
        elapsed_s: 9.0,
        latency_us: times,
        statuses: [(200, 9995), (503, 5)].into(),
        errors_by_kind: [("timeout".to_owned(), 5)].into(),
        server: Some(ServerRecord {
            program: hostile.into(),
            busy_max: Some(10),
            workers: Some(64),
            ..ServerRecord::default()
        }),
        ..Summary::default()
    };
    record
}

fn times(page: &str, what: &str) -> usize {
    page.matches(what).count()
}

#[test]
fn every_known_line_is_drawn_and_marked() {
    let page = html(&run());
    let lines: usize = PLOTS.iter().map(|plot| plot.lines.len()).sum();
    assert_eq!(times(&page, "<output data-line="), lines);
    // The bars of the errors are no line, the curve of the percentiles is one more.
    assert_eq!(times(&page, "<path class=\"line "), lines);
    assert_eq!(times(&page, "<path class=\"bars "), 2);
    assert_eq!(times(&page, "<figure class=\"plot"), PLOTS.len() + 2);
    assert_eq!(times(&page, "<i class=\"mark\""), PLOTS.len());
    assert_eq!(times(&page, "<i class=\"warm\" style"), PLOTS.len());
    // 5.25 s of an axis from -1 to 9.
    assert_eq!(times(&page, "class=\"badge\" style=\"left:62.500%\">1<"), 1, "{page}");
}

#[test]
fn the_page_begins_with_what_the_run_found() {
    let mut record = run();
    let begin = |record: &RunRecord| {
        let page = html(record);
        let found = page.split("<p class=\"found\">").nth(1).unwrap();
        found.split("</p>").next().unwrap().to_owned()
    };
    let found = begin(&record);
    assert!(found.starts_with("1,055 good answers/s for 9.0 s (pattern 1-10:10); p99 4.32 ms; "));
    record.figures.pace = "replay of <img> at 1 x its speed".to_owned();
    assert!(begin(&record).contains("replay of &lt;img&gt; at"), "{}", begin(&record));
    record.summary.latency_us.p99 = 87.0;
    assert!(begin(&record).contains("; p99 87.0 \u{b5}s; 5 of "), "{}", begin(&record));
    assert!(begin(&record).contains("the server used 0.00 cores"), "{}", begin(&record));
}

#[test]
fn each_level_and_each_run_of_a_search_is_a_row() {
    let mut record = run();
    record.figures.unit = "users".to_owned();
    let figures = LoadLevel { level: 25.0, counted_s: 1.0, p95_us: 777.0, ..LoadLevel::default() };
    let held = HeldLevel { from_s: 10.0, to_s: 11.5, figures: figures.clone() };
    record.levels = vec![held];
    let page = html(&record);
    assert!(page.contains("<h2>Levels</h2>") && page.contains("<th>25</th><td>10-11.5</td>"));
    assert!(page.contains("<td>777 \u{b5}s</td>") && page.contains("0.5 s of 1.5 s are left out"));
    let why = "p99 is 3s, not < 1s".to_owned();
    let tries = vec![CapacityRun { figures, why, ..CapacityRun::default() }];
    record.capacity =
        Some(CapacitySearch { unit: "pages/s".to_owned(), tries, ..CapacitySearch::default() });
    let page = html(&record);
    assert!(page.contains("<h2>Runs of the search</h2>") && page.contains("<th>pages/s</th>"));
    assert!(page.contains("<th>25.0</th>") && page.contains("fails: p99 is 3s, not &lt; 1s</td>"));
}

#[test]
fn latencies_have_a_logarithmic_axis_however_near_they_are() {
    let mut record = run();
    for second in &mut record.seconds {
        (second.p50_us, second.p90_us, second.p99_us, second.max_us) = (410., 420., 430., 440.);
    }
    let page = html(&record);
    let plot = |title: &str| {
        let begin = page.find(&format!("<b>{title}</b>")).unwrap();
        page[begin..].split("</figure>").next().unwrap().to_owned()
    };
    let latency = plot("Latency");
    assert!(latency.starts_with("<b>Latency</b><small>log scale</small>"), "{latency}");
    // 200 and 500 us are at the ends.
    for tick in ["top:100.000%\">200 \u{b5}s<", "top:0.000%\">500 \u{b5}s<"] {
        assert!(latency.contains(tick), "{tick} in {latency}");
    }
    // From 300 us to 61 ms: 100 us, 200, 500, 1 ms, ... 100 ms have lines, in both plots.
    let percentiles = plot("Percentiles");
    let levels = |plot: &str| plot.split("class=\"grid\" d=\"").nth(1).unwrap().to_owned();
    let lines = levels(&percentiles).split('"').next().unwrap().matches('M').count();
    assert_eq!(lines, 9, "{percentiles}");
    for tick in ["1 ms", "10 ms", "100 ms"] {
        assert!(percentiles.contains(&format!("\">{tick}</span>")), "{tick} in {percentiles}");
        assert!(plot("Latency histogram").contains(&format!("\">{tick}</span>")), "{tick}");
    }
}

#[test]
fn without_a_server_its_plots_are_left_out() {
    let mut record = run();
    record.summary.server = None;
    record.seconds.iter_mut().for_each(|second| second.server = None);
    let page = html(&record);
    assert_eq!(times(&page, "<figure class=\"plot"), 3 + 2);
    assert!(!page.contains("Processor") && !page.contains("Memory"));
}

#[test]
fn the_page_says_the_figures_of_the_text() {
    let record = run();
    let (page, report) = (html(&record), text(&record));
    let summary = &record.summary;
    let counts = rows::counts(summary).into_iter().flat_map(|row| [row.value, row.note]);
    let all = rows::times(summary).into_iter().flat_map(|row| row.1);
    for figure in counts.chain(all).chain([rows::statuses(summary)]) {
        assert!(report.contains(&figure), "{figure} in {report}");
        assert!(page.contains(&figure.replace(" us", " \u{b5}s")), "{figure}");
    }
}

#[test]
fn what_others_wrote_is_no_markup() {
    let page = html(&run());
    assert!(!page.contains("<img"), "{page}");
    assert_eq!(times(&page, "</script"), 2);
    assert_eq!(times(&page, "<script"), 2);
    assert!(!page.contains("http://a/</"), "{page}");
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let page = html(&run());
    for word in ["<link", "src=", "@import", "url(", "fetch(", "<a "] {
        let own = page.replace("img src=x", "");
        assert!(!own.contains(word), "{word}");
    }
}

#[test]
fn runs_without_a_second_or_an_answer_have_a_page() {
    assert!(html(&RunRecord::default()).ends_with("</html>\n"));
    let mut record = run();
    record.histogram_us = Vec::new();
    for second in &mut record.seconds {
        *second = PerSecond {
            until_s: f64::NAN,
            length_s: -1.0,
            rate: f64::INFINITY,
            ..PerSecond::default()
        };
    }
    let page = html(&record);
    let drawn = &page[page.find("<main>").unwrap()..page.find("<script").unwrap()];
    assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
}

#[test]
fn the_data_can_be_read_again() {
    let page = html(&run());
    let begin = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let end = begin + page[begin..].find("</script>").unwrap();
    let data: serde_json::Value = serde_json::from_str(&page[begin..end]).unwrap();
    let starts = data["starts_s"].as_array().unwrap().len();
    assert_eq!(starts, 10);
    for line in data["lines"].as_array().unwrap() {
        assert_eq!(line["values"].as_array().unwrap().len(), starts, "{line}");
    }
    assert_eq!(data["summary"]["requests"], 10_000);
}

#[test]
fn a_run_of_ten_hours_has_a_page_that_can_be_sent() {
    let mut record = run();
    record.seconds = (1..=36_000).map(second).collect();
    let page = html(&record);
    assert!(times(&page, "<path class=\"band ") > 6, "no bands");
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
}
