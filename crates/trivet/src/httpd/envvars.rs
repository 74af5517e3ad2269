//! `envvars`, the shell script in which Debian sets the variables that its configuration uses.
//! `apache2ctl` lets a shell read it; a server that is started without one reads it here.
//!
//! No shell is run. What is understood is what stands in the stock file: assignments, `export`,
//! `unset`, `: ${NAME:=value}`, `${NAME##prefix}`, and `if [ A = B ]` with `else`. Any other line
//! is passed over, and so is a value that asks for more.

use std::path::Path;

/// More is not read of a file that should be small.
const BYTES_MAX: u64 = 1 << 20;

/// The variables that the file `envvars` in `folder` sets; none if there is no such file.
pub(crate) fn read(folder: &Path) -> Vec<(String, String)> {
    use std::io::Read;
    let Ok(file) = std::fs::File::open(folder.join("envvars")) else { return Vec::new() };
    let mut bytes = Vec::new();
    if file.take(BYTES_MAX).read_to_end(&mut bytes).is_err() {
        return Vec::new();
    }
    let own = ("APACHE_CONFDIR".to_owned(), folder.display().to_string());
    let outside = |name: &str| std::env::var(name).ok();
    interpret(&String::from_utf8_lossy(&bytes), own, &outside)
}

/// The variables that have been set so far, over those of the environment.
struct Shell<'a> {
    outside: &'a dyn Fn(&str) -> Option<String>,
    /// `APACHE_CONFDIR`, which `apache2ctl` sets before.
    own: (String, String),
    /// `None` is unset.
    set: Vec<(String, Option<String>)>,
    /// For each `if` around, whether its present branch counts, and whether `else` would.
    branches: Vec<(bool, bool)>,
}

fn interpret(
    text: &str,
    own: (String, String),
    outside: &dyn Fn(&str) -> Option<String>,
) -> Vec<(String, String)> {
    let mut shell = Shell { outside, own, set: Vec::new(), branches: Vec::new() };
    for line in text.lines() {
        for command in line.split(';') {
            shell.command(command.trim());
        }
    }
    shell.set.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

impl Shell<'_> {
    fn command(&mut self, command: &str) {
        let mut rest = command;
        // A command may follow `then` or `else` on the same line.
        while let Some(after) = self.keyword(rest) {
            rest = after;
        }
        if self.branches.iter().any(|branch| !branch.0) {
            return;
        }
        let (word, operands) = split_word(rest);
        match word {
            "export" => self.assign_all(operands),
            "unset" => operands.split_whitespace().for_each(|name| self.put(name, None)),
            ":" => self.default(operands),
            _ => self.assign_all(rest),
        }
    }

    /// Take a word that structures the text from its beginning; gives what follows.
    fn keyword<'t>(&mut self, command: &'t str) -> Option<&'t str> {
        let (word, rest) = split_word(command);
        match word {
            "then" => return Some(rest),
            "if" => {
                let holds = self.test(rest);
                self.branches.push((holds == Some(true), holds == Some(false)));
            }
            // What neither of two branches is known to be must not be guessed.
            "elif" => {
                if let Some(branch) = self.branches.last_mut() {
                    *branch = (false, false);
                }
            }
            "else" => {
                if let Some(branch) = self.branches.last_mut() {
                    *branch = (branch.1, false);
                }
                return Some(rest);
            }
            "fi" => drop(self.branches.pop()),
            _ => return None,
        }
        Some("")
    }

    /// `A=x B="y z"`; a word without `=` is exported as it is.
    fn assign_all(&mut self, text: &str) {
        for word in words(text) {
            let Some((name, value)) = word.split_once('=').filter(|row| is_name(row.0)) else {
                continue;
            };
            if let Some(value) = self.value(value) {
                self.put(name, Some(value));
            }
        }
    }

    /// `${NAME:=value}`
    fn default(&mut self, text: &str) {
        let inner = text.trim_matches('"').strip_prefix("${").and_then(|it| it.strip_suffix('}'));
        let Some((name, value)) = inner.and_then(|inner| inner.split_once(":=")) else { return };
        if is_name(name)
            && self.get(name).is_empty()
            && let Some(value) = self.value(value)
        {
            self.put(name, Some(value));
        }
    }

    /// `[ A = B ]`, `[ A != B ]`, `[ -z A ]`, `[ -n A ]`; `None` is anything else.
    fn test(&self, text: &str) -> Option<bool> {
        let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
        let words: Vec<String> =
            words(inner).iter().map(|word| self.value(word)).collect::<Option<_>>()?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["-z", text] => Some(text.is_empty()),
            ["-n", text] => Some(!text.is_empty()),
            [a, "=" | "==", b] => Some(a == b),
            [a, "!=", b] => Some(a != b),
            _ => None,
        }
    }

    fn put(&mut self, name: &str, value: Option<String>) {
        self.set.retain(|row| row.0 != name);
        self.set.push((name.to_owned(), value));
    }

    fn get(&self, name: &str) -> String {
        let set = self.set.iter().find(|row| row.0 == name).map(|row| row.1.clone());
        let own = || (self.own.0 == name).then(|| self.own.1.clone());
        set.unwrap_or_else(|| (self.outside)(name).or_else(own)).unwrap_or_default()
    }

    /// A word without its quotes, and with the values of its variables; `None` if it asks a shell
    /// for more.
    fn value(&self, word: &str) -> Option<String> {
        let (mut out, mut rest, mut quoted) = (String::new(), word, false);
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                '"' => quoted = !quoted,
                '\'' if !quoted => {
                    let (literal, after) = rest.split_once('\'')?;
                    out.push_str(literal);
                    rest = after;
                }
                '`' | '\\' => return None,
                '$' => rest = self.variable(rest, &mut out)?,
                c => out.push(c),
            }
        }
        if quoted { None } else { Some(out) }
    }

    /// What follows a `$`; gives what is behind it.
    fn variable<'t>(&self, rest: &'t str, out: &mut String) -> Option<&'t str> {
        let Some(inner) = rest.strip_prefix('{') else {
            let end = rest.find(|c: char| !is_name_char(c)).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            out.push_str(&self.get(Some(name).filter(|name| is_name(name))?));
            return Some(after);
        };
        let (inner, after) = inner.split_once('}')?;
        let end = inner.find(|c: char| !is_name_char(c)).unwrap_or(inner.len());
        let (name, operation) = inner.split_at(end);
        let value = self.get(Some(name).filter(|name| is_name(name))?);
        let is_pattern = |text: &str| text.contains(['*', '?', '[', '$']);
        if operation.is_empty() {
            out.push_str(&value);
        } else if let Some(prefix) = operation.strip_prefix("##").filter(|it| !is_pattern(it)) {
            out.push_str(value.strip_prefix(prefix).unwrap_or(&value));
        } else if let Some(other) = operation.strip_prefix(":-").filter(|it| !is_pattern(it)) {
            out.push_str(if value.is_empty() { other } else { &value });
        } else {
            return None;
        }
        Some(after)
    }
}

/// The first word, and what follows it.
fn split_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_name(name: &str) -> bool {
    name.chars().all(is_name_char)
        && !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Words that blanks part, their quotes kept; a comment ends them.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in text.chars() {
        match (c, quote) {
            ('#', None) if word.is_empty() => break,
            (c, None) if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                continue;
            }
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            _ => {}
        }
        word.push(c);
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines like those of Debian's file.
    const TEXT: &str = "# a comment\nunset HOME\n\
        if [ \"${APACHE_CONFDIR##/etc/apache2-}\" != \"${APACHE_CONFDIR}\" ] ; then\n\
        \tSUFFIX=\"-${APACHE_CONFDIR##/etc/apache2-}\"\nelse\n\tSUFFIX=\nfi\n\
        export APACHE_RUN_USER=www-data\nexport APACHE_RUN_DIR=/var/run/apache2$SUFFIX\n\
        export APACHE_PID_FILE=${APACHE_RUN_DIR}/apache2.pid # here\n\
        export LANG=C\nexport LANG\n: ${APACHE_LOG_DIR:=/var/log/apache2$SUFFIX}\n\
        . /etc/default/locale\nBAD=`date`\nWORSE=$(date)\nQUOTED='a $b'\n\
        if something; then\nGUESS=1\nelse\nGUESS=2\nfi\n";

    fn read(folder: &str, outside: &[(&str, &str)]) -> Vec<(String, String)> {
        let own = ("APACHE_CONFDIR".to_owned(), folder.to_owned());
        let look =
            |name: &str| outside.iter().find(|row| row.0 == name).map(|row| row.1.to_owned());
        interpret(TEXT, own, &look)
    }

    fn value<'a>(all: &'a [(String, String)], name: &str) -> Option<&'a str> {
        all.iter().find(|row| row.0 == name).map(|row| row.1.as_str())
    }

    #[test]
    fn the_stock_file_is_understood() {
        let all = read("/etc/apache2", &[]);
        assert_eq!(value(&all, "APACHE_RUN_USER"), Some("www-data"));
        assert_eq!(value(&all, "APACHE_PID_FILE"), Some("/var/run/apache2/apache2.pid"));
        assert_eq!(value(&all, "APACHE_LOG_DIR"), Some("/var/log/apache2"));
        assert_eq!(value(&all, "QUOTED"), Some("a $b"));
        for name in ["HOME", "BAD", "WORSE", "GUESS"] {
            assert_eq!(value(&all, name), None, "{name}");
        }
        let second = read("/etc/apache2-two", &[("APACHE_LOG_DIR", "/logs")]);
        assert_eq!(value(&second, "APACHE_RUN_DIR"), Some("/var/run/apache2-two"));
        assert_eq!(value(&second, "APACHE_LOG_DIR"), None, "it is set already");
    }

    #[test]
    fn any_text_is_read_to_an_end() {
        for text in [
            "${",
            "A=${",
            "A=${B",
            "if",
            "fi\nfi",
            "else",
            "A='",
            "A=\"",
            ": ${=}",
            "$=",
            "if [ ]; then",
            "export",
            "A=$",
            "elif",
            "A=\u{e9}${\u{e9}}",
            "if [ a = a ]; then B=1",
        ] {
            let all = interpret(text, (String::new(), String::new()), &|_| None);
            assert!(all.len() <= 1, "{text}: {all:?}");
        }
    }
}
