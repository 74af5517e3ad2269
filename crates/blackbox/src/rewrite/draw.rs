//! Rules and requests that are made up.

use super::sheet::{Row, Set, Sheet};
use super::vocabulary::{
    COMMON, CONDITIONS, EXTRAS, FIELDS, FLAGS, IN_FILES, IN_HOSTS, INPUTS, MAP, PATTERNS, QUERIES,
    SEGMENTS, SUBSTITUTIONS, WHOLE_CONDITIONS,
};
use crate::dice::Dice;

/// A sheet with so many sets.
pub fn draw(dice: &mut Dice, count: usize) -> Sheet {
    Sheet { main: String::new(), sets: (0..count).map(|_| set(dice)).collect() }
}

fn set(dice: &mut Dice) -> Set {
    let mut set = Set {
        title: "a set that is made up".into(),
        host: COMMON.into(),
        files: vec![("map.txt".into(), MAP.into())],
        ..Set::default()
    };
    let (in_host, in_file) = match dice.below(5) {
        0 | 1 => (true, false),
        2 | 3 => (false, true),
        _ => (true, true),
    };
    if in_host {
        set.host += &lines(dice, "/", IN_HOSTS);
    }
    if in_file {
        set.files.push((".htaccess".into(), lines(dice, "", IN_FILES)));
    }
    if dice.once_in(4) {
        set.files.push(("dir/.htaccess".into(), lines(dice, "", IN_FILES)));
    }
    set.rows = (0..8).map(|_| row(dice)).collect();
    // A script that is an error document gets the body of the request from apache2 alone.
    if set.rules().contains("ErrorDocument") {
        set.rows.iter_mut().for_each(|row| row.text = row.text.replace(" | body=a=b", ""));
    }
    set
}

/// The rules of one place, where a path begins with `slash`.
fn lines(dice: &mut Dice, slash: &str, own: &[&str]) -> String {
    let mut text = "RewriteEngine On\n".to_owned();
    for (of, among) in [(2, own), (3, EXTRAS)] {
        if dice.once_in(of) {
            text += &format!("{}\n", dice.one_of(among));
        }
    }
    for _ in 0..=dice.below(4) {
        let count = dice.below(5).saturating_sub(2);
        let conditions: Vec<String> = (0..count).map(|_| condition(dice)).collect();
        let pattern = dice.one_of(PATTERNS).replace("{P}", slash);
        let substitution = match *dice.one_of(SUBSTITUTIONS) {
            // To apache2 that is a path of the system; here nothing leads above the root.
            "/../$1" if slash == "/" => "/.$1",
            "../a.txt" if slash == "/" => "./a.txt",
            other => other,
        };
        let flags: Vec<&str> = (0..dice.below(4)).map(|_| *dice.one_of(FLAGS)).collect();
        let flags = match flags.is_empty() {
            true => String::new(),
            false => format!(" [{}]", flags.join(",")),
        };
        let rule = format!("RewriteRule \"{pattern}\" {substitution}{flags}");
        let lines = [conditions, vec![rule]].concat();
        lines.iter().for_each(|line| text += &format!("{line}\n"));
        if lines.iter().any(|line| has_no_groups(line)) {
            text = text.replace("%0", "0").replace("%1", "1");
        }
    }
    with_few_look_ups(&text)
}

/// The rules with one look-up where one is made of a URL, whose rules may look up the next. Two at
/// each of ten levels are a thousand in apache2 or more, and more than trivet makes.
fn with_few_look_ups(text: &str) -> String {
    let (ahead, now) = ("%{LA-U:REQUEST_FILENAME}", "%{REQUEST_FILENAME}");
    let Some((before, behind)) = text.split_once(ahead) else { return text.to_owned() };
    let others = [
        (ahead, now),
        ("%{LA-F:REQUEST_FILENAME}", now),
        ("\"-F\"", "\"-f\""),
        ("\"-U\"", "\"-f\""),
        ("N=4", "L"),
    ];
    let few =
        |text: &str| others.iter().fold(text.to_owned(), |it, (from, to)| it.replace(from, to));
    few(before) + ahead + &few(behind)
}

/// Whether it is a condition whose groups are what happens to be in memory: apache2 does not set
/// them for an expression that compares nothing with a pattern, and may crash.
fn has_no_groups(line: &str) -> bool {
    line.starts_with("RewriteCond expr ") && !line.contains("=~")
}

fn condition(dice: &mut Dice) -> String {
    if dice.once_in(8) {
        return format!("RewriteCond {}", dice.one_of(WHOLE_CONDITIONS));
    }
    let flag = ["", "", "", "", " [OR]", " [NC]", " [NV]"][dice.below(7)];
    let (input, pattern) = (dice.one_of(INPUTS), dice.one_of(CONDITIONS));
    // A file has no letters of two cases, which httpd says at the start.
    let flag = if pattern.contains('-') && flag == " [NC]" { "" } else { flag };
    format!("RewriteCond {input} \"{}\"{flag}", pattern.replace('"', ""))
}

fn row(dice: &mut Dice) -> Row {
    let mut text = match dice.below(12) {
        0 => "HEAD ",
        1 => "POST ",
        _ => "",
    }
    .to_owned();
    for _ in 0..=dice.below(3) {
        text += &format!("/{}", dice.one_of(SEGMENTS));
    }
    if dice.once_in(4) {
        text += "/";
    }
    text += *dice.one_of(QUERIES);
    if dice.once_in(4) {
        text += &format!(" | {}", dice.one_of(FIELDS));
    }
    if text.starts_with("POST") {
        text += " | body=a=b";
    }
    Row::new(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_sets_again() {
        let text = |seed| format!("{:?}", draw(&mut Dice::new(seed), 20));
        assert_eq!(text(7), text(7));
        assert_ne!(text(7), text(8));
    }
}
