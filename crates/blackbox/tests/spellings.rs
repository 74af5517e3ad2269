//! No spelling of a URL leads to what its plain URL does not show: apache2 and trivet serve the
//! same maze of folders, links, scripts and rules, and are asked for it in every way to write a
//! path. The answers are the same, but for the reasons below; a common reason that never holds
//! is an error, too.
//!
//! `make test` walks through the same mazes each time, under event. `TRIVET_SEED` begins with
//! another one, under every MPM, and goes on for `TRIVET_MAZES` of them (`make soak`).

use blackbox::Mpm;
use blackbox::dice::number;
use blackbox::maze::grounds::is_of_php;
use blackbox::maze::walk::{Answer, Case, Outcome, Reason, through};

/// What differs on purpose. docs/guide/apache.md tells each of them.
const REASONS: &[Reason] = &[
    Reason { why: "source is never sent", is_common: true, holds: is_source },
    Reason {
        why: "a host that begins with a dot is no name",
        is_common: true,
        holds: has_leading_dot,
    },
    Reason {
        why: "a bad Host is refused, whatever the URL says",
        is_common: true,
        holds: has_bad_host,
    },
    Reason { why: "a URL with a scheme has a host", is_common: true, holds: has_no_host },
    Reason { why: "nobody listens at port 0", is_common: false, holds: has_port_zero },
    Reason {
        why: "an entity tag ends with its quotation mark",
        is_common: true,
        holds: has_cut_tag,
    },
    Reason {
        why: "names that are as near are told in their order",
        is_common: false,
        holds: is_order_of_names,
    },
    Reason {
        why: "a fallback that is not there is looked for once",
        is_common: false,
        holds: is_lost_fallback,
    },
    Reason {
        why: "what is behind a ScriptAlias is run, also as a variant",
        is_common: false,
        holds: is_variant,
    },
    Reason {
        why: "nothing but a file that is there is run",
        is_common: false,
        holds: is_no_script,
    },
    Reason {
        why: "an index file and an error document are requests of their own",
        is_common: false,
        holds: is_own_request,
    },
    Reason { why: "no URL is mapped to `..`", is_common: false, holds: is_above },
    Reason {
        why: "PATH_TRANSLATED of a folder that is closed has no slash",
        is_common: false,
        holds: is_closed_folder,
    },
    Reason { why: "an error document gets no body", is_common: false, holds: is_body_of_another },
    Reason {
        why: "what a folder lists is in this folder",
        is_common: false,
        holds: is_list_of_the_folder_above,
    },
    Reason {
        why: "a listing tells no link that may not be followed",
        is_common: false,
        holds: is_link_that_is_refused,
    },
    Reason {
        why: "what was chosen among variants says so",
        is_common: false,
        holds: is_forgotten_choice,
    },
];

/// Under `<DirectoryMatch>` httpd gives it the settings of its folder, and where the settings are
/// the same it does not ask `Require` again.
fn is_own_request(case: &Case) -> bool {
    let Case { rules, theirs, ours, .. } = case;
    let has = |name: &str| rules.lines().any(|line| line.starts_with(name));
    let is_asked = ["<DirectoryMatch", "Require expr"].iter().any(|it| rules.contains(it));
    let is_index = has("DirectoryIndex") || has("FallbackResource");
    // The next one of the list is another one.
    let is_refused = ours.status == 403 && ours.markers.is_empty();
    let is_another = has("DirectoryIndex") && ours.status == 200 && ours.markers != theirs.markers;
    let is_refused_index = theirs.status == 200 && (is_refused || is_another);
    let is_head = case.request.method == "HEAD" && ours.text.contains("charset=iso-8859-1");
    let is_without_document = ours.status == theirs.status
        && ours.markers.is_empty()
        && (ours.text.contains("Additionally, a") || is_head);
    let is_refused_document = has("ErrorDocument") && rules.contains("Require ");
    is_asked && is_index && is_refused_index || is_refused_document && is_without_document
}

/// httpd goes on with such a path.
fn is_above(case: &Case) -> bool {
    case.target.contains("/dot.") && case.ours.status == 403 && case.ours.markers.is_empty()
}

fn answer_with_one_slash(answer: &Answer) -> String {
    answer.text.replace("/shut/\n", "/shut\n").replace("/shut//", "/shut/")
}

/// httpd leaves a slash behind one.
fn is_closed_folder(case: &Case) -> bool {
    let with_one_slash = answer_with_one_slash(&case.theirs);
    case.ours.text.contains("/shut") && with_one_slash == answer_with_one_slash(&case.ours)
}

/// httpd runs it with the body of the request that failed.
fn is_body_of_another(case: &Case) -> bool {
    let has_document = case.rules.contains("ErrorDocument");
    let without = |answer: &Answer| answer.text.replace("\nbody a=b", "\nbody ");
    let is_script = case.ours.text.contains("\nran ") && case.ours.status >= 400;
    has_document && is_script && without(&case.ours) == without(&case.theirs)
}

/// Where a URL has no slash at its end, httpd looks for what is in the folder as if it was beside
/// it, and so tells names that it would not, and does not tell others.
fn is_list_of_the_folder_above(case: &Case) -> bool {
    case.rules.contains("DirectorySlash Off") && is_the_same_but_for_names(case, &|_| true)
}

/// httpd tells links to files, which it refuses to follow.
fn is_link_that_is_refused(case: &Case) -> bool {
    let is_link = |line: &str| line.contains("<a href=\\\"other\\\">");
    let has_both = case.rules.contains("FollowSymLinks SymLinksIfOwnerMatch");
    has_both && !is_told(&case.ours, &is_link) && is_the_same_but_for_names(case, &is_link)
}

fn is_told(answer: &Answer, is_meant: &dyn Fn(&str) -> bool) -> bool {
    answer.text.lines().any(is_meant)
}

/// Whether two listings have the same lines, but for those of names that are meant.
fn is_the_same_but_for_names(case: &Case, is_meant: &dyn Fn(&str) -> bool) -> bool {
    let is_list = |answer: &Answer| answer.status == 200 && answer.text.contains("<title>Index of");
    let is_name = |line: &str| line.contains("<a href=") && !line.contains("Parent Directory");
    let others = |answer: &Answer| {
        let lines = answer.text.lines().filter(|line| !(is_name(line) && is_meant(line)));
        lines.map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    [&case.ours, &case.theirs].into_iter().all(is_list)
        && others(&case.ours) == others(&case.theirs)
}

/// httpd forgets that there was a choice.
fn is_forgotten_choice(case: &Case) -> bool {
    let Case { rules, theirs, ours, .. } = case;
    let may_be = ["ModMimeUsePathInfo On", "MultiViews"].iter().all(|it| rules.contains(it));
    may_be && ours.status == 404 && ours.without(&["Vary"]) == theirs.without(&["Vary"])
}

/// httpd looks for it until it has looked ten times.
fn is_lost_fallback(case: &Case) -> bool {
    let has_fallback = case.rules.contains("FallbackResource");
    let is_without = matches!(case.ours.status, 200 | 300 | 301 | 403..=405 | 501);
    has_fallback && case.theirs.status == 500 && is_without
}

/// httpd sends the content of a variant.
fn is_variant(case: &Case) -> bool {
    let is_alias = ["/cgi/", "/sm/"].iter().any(|way| case.request.plain.starts_with(way));
    let is_negotiated = case.theirs.text.contains("\nTCN: ");
    let is_answered = is_negotiated && case.theirs.status == 200;
    let may_be = case.rules.contains("MultiViews") && case.ours.status == 500;
    is_alias && (is_answered || may_be) && case.ours.markers.is_empty()
}

/// httpd asks PHP-FPM, which says so.
fn is_no_script(case: &Case) -> bool {
    let says_so = case.theirs.text.contains("X-Powered-By: PHP") && case.theirs.status == 404;
    let is_options = case.request.method == "OPTIONS" && case.ours.status == 200;
    says_so && (is_options || matches!(case.ours.status, 404 | 405 | 501))
}

/// 503 for scripts that nothing runs, and 403 for copies of them.
fn is_source(case: &Case) -> bool {
    let Case { request, target, theirs, ours, .. } = case;
    let is_refused = matches!(ours.status, 403 | 503) && ours.markers.is_empty();
    let sends_source = theirs.markers.iter().any(|marker| is_of_php(marker));
    let is_named = request.plain.contains(".php") || target.contains(".php");
    let has_no_body = matches!(request.method, "HEAD" | "OPTIONS");
    let may_lead_there = is_named || (has_no_body && request.plain.contains("php"));
    is_refused && theirs.status == 200 && (sends_source || may_lead_there)
}

fn has_leading_dot(case: &Case) -> bool {
    case.request.host.starts_with('.') && case.ours.status == 400
}

fn has_bad_host(case: &Case) -> bool {
    let is_bad = case.request.host.contains("..");
    is_bad && case.target.contains("://") && case.ours.status == 400
}

fn has_no_host(case: &Case) -> bool {
    let target = case.target.to_ascii_lowercase();
    let has_scheme = target.starts_with("http:") && !target.starts_with("http://");
    (has_scheme || target.starts_with("http:///")) && case.ours.status == 400
}

fn has_port_zero(case: &Case) -> bool {
    case.target.contains("://") && case.target.contains(":0/") && case.ours.status == 400
}

/// httpd's tag for an error document that follows a search for variants.
fn has_cut_tag(case: &Case) -> bool {
    let is_cut = |line: &str| line.starts_with("ETag:") && !line.ends_with('"');
    case.theirs.text.lines().any(is_cut)
        && case.theirs.without(&["ETag"]) == case.ours.without(&["ETag"])
}

/// Pages of mod_speling, which has the order of the folder.
fn is_order_of_names(case: &Case) -> bool {
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(ToOwned::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    case.ours.status == 300 && sorted(&case.theirs.text) == sorted(&case.ours.text)
}

/// Requests to a maze.
const REQUESTS: usize = 1500;

/// The mazes to be walked through, and under which MPM.
fn mazes() -> Vec<(u64, Mpm)> {
    match number("TRIVET_SEED") {
        None => vec![(1, Mpm::Event), (2, Mpm::Event)],
        Some(seed) => {
            let count = number("TRIVET_MAZES").unwrap_or(6);
            let mpms = Mpm::ALL.iter().rev().copied().cycle();
            (seed..seed + count).zip(mpms).collect()
        }
    }
}

#[test]
fn every_spelling_of_a_path_is_answered_as_apache_answers_it() {
    let test = "every_spelling_of_a_path_is_answered_as_apache_answers_it";
    let mut all = Outcome::default();
    for (seed, mpm) in mazes() {
        let Some(outcome) = through(test, mpm, seed, REQUESTS, REASONS) else { return };
        for (why, times) in outcome.reasons {
            *all.reasons.entry(why).or_default() += times;
        }
        all.requests += outcome.requests;
        all.findings.extend(outcome.findings);
        println!(
            "maze {seed} ({mpm:?}): {} requests, {} findings",
            all.requests,
            all.findings.len()
        );
    }
    println!("{:#?}", all.reasons);
    assert!(all.findings.is_empty(), "{}", all.findings.concat());
    let is_fixed = number("TRIVET_SEED").is_none(); // other mazes may have no case of a reason
    let idle = REASONS
        .iter()
        .filter(|reason| reason.is_common && is_fixed)
        .map(|reason| reason.why)
        .filter(|why| !all.reasons.contains_key(why));
    assert_eq!(idle.collect::<Vec<_>>(), Vec::<&str>::new(), "no longer differ");
}
