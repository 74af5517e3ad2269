//! Smaller sets, for those that go wrong.

use super::sheet::{Row, Set};

/// The same with a little less, each with one request.
pub(super) fn smaller(set: &Set, row: &Row) -> Vec<Set> {
    let with_row = |set: &Set, row: &str| Set {
        rows: vec![Row::new(row)],
        title: set.title.clone(),
        ..set.clone()
    };
    let mut all: Vec<Set> = shorter_row(&row.text).iter().map(|row| with_row(set, row)).collect();
    for host in less(&set.host) {
        all.push(with_row(&Set { host, ..set.clone() }, &row.text));
    }
    for at in 0..set.files.len() {
        for content in less(&set.files[at].1) {
            let mut files = set.files.clone();
            files[at].1 = content;
            files.retain(|(_, content)| !content.is_empty());
            all.push(with_row(&Set { files, ..set.clone() }, &row.text));
        }
    }
    all
}

fn shorter_row(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    if let Some((before, _)) = text.rsplit_once(" | ") {
        all.push(before.to_owned());
    }
    let (line, rest) =
        text.split_once(" | ").map_or((text, None), |(line, rest)| (line, Some(rest)));
    let with_rest = |line: String| match rest {
        Some(rest) => format!("{line} | {rest}"),
        None => line,
    };
    if let Some((_, target)) = line.split_once(' ') {
        all.push(with_rest(target.to_owned()));
    }
    if let Some((path, _)) = line.split_once('?') {
        all.push(with_rest(path.to_owned()));
    }
    let (path, query) = line
        .split_once('?')
        .map_or((line, String::new()), |(path, query)| (path, format!("?{query}")));
    let parts: Vec<&str> = path.split('/').collect();
    for at in 1..parts.len() {
        let mut parts = parts.clone();
        parts.remove(at);
        if parts.len() > 1 {
            all.push(with_rest(parts.join("/") + &query));
        }
    }
    all
}

/// Texts with one line less, or one flag.
fn less(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let joined = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let mut all = Vec::new();
    for at in 0..lines.len() {
        if lines[at].starts_with("</") {
            continue;
        }
        // A section goes as a whole.
        let is_end = |line: &&str| line.starts_with("</");
        let end = match lines[at].starts_with('<') {
            true => at + lines[at..].iter().position(is_end).unwrap_or(0),
            false => at,
        };
        all.push(joined(&[&lines[..at], &lines[end + 1..]].concat()));
        let flags = lines[at].strip_suffix(']').and_then(|line| line.rsplit_once(" ["));
        if let Some((before, flags)) = flags {
            let flags: Vec<&str> = flags.split(',').collect();
            for gone in 0..flags.len() {
                let mut flags = flags.clone();
                flags.remove(gone);
                let line = match flags.is_empty() {
                    true => before.to_owned(),
                    false => format!("{before} [{}]", flags.join(",")),
                };
                let mut lines = lines.clone();
                lines[at] = &line;
                all.push(joined(&lines));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smaller_sets_lack_a_line_or_a_flag_or_a_part_of_the_request() {
        let set = Set { host: "A 1\n<B>\nC\n</B>\nD x [E,F]\n".into(), ..Set::default() };
        let smaller = smaller(&set, &Row::new("HEAD /a/b?c | D: e"));
        let hosts: Vec<&str> = smaller.iter().map(|set| set.host.as_str()).collect();
        for host in
            ["<B>\nC\n</B>\nD x [E,F]\n", "A 1\nD x [E,F]\n", "A 1\n<B>\nC\n</B>\nD x [F]\n"]
        {
            assert!(hosts.contains(&host), "{hosts:?}");
        }
        let rows: Vec<&str> = smaller.iter().map(|set| set.rows[0].text.as_str()).collect();
        for row in ["HEAD /a/b?c", "/a/b?c | D: e", "HEAD /a/b | D: e", "HEAD /b?c | D: e"] {
            assert!(rows.contains(&row), "{rows:?}");
        }
    }
}
