//! Words of a command line as ab's `apr_getopt` (apr, `misc/unix/getopt.c`) reads them: single
//! letters, their values in the same word or the next one, the end at the first word that is no
//! option. lexopt reads on behind that word, and knows long options.

/// What the letters are: `Some(true)` takes a value, `Some(false)` takes none, `None` is unknown.
pub(super) type OptionLetters = fn(char) -> Option<bool>;

/// A command line that is being read.
pub(super) struct Getopt<'a> {
    program: &'a str,
    words: &'a [String],
    /// The next word.
    index: usize,
    /// What is left of a word of several letters.
    cluster: &'a str,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NextOption<'a> {
    /// An option with its value, or with none.
    Letter(char, &'a str),
    /// No option any more: the words from here on are no options.
    End(usize),
    /// What the reading stumbled over, as it says it; the words from here on are what it takes as
    /// no options, as ab goes on with them.
    Wrong(String, usize),
}

impl<'a> Getopt<'a> {
    /// Reads words; `program` is how errors begin.
    pub(super) const fn new(program: &'a str, words: &'a [String]) -> Self {
        Self { program, words, index: 0, cluster: "" }
    }

    pub(super) fn next(&mut self, letters: OptionLetters) -> NextOption<'a> {
        if self.cluster.is_empty() {
            let word = self.words.get(self.index).map_or("", String::as_str);
            let Some(rest) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
                return NextOption::End(self.index);
            };
            if rest.starts_with('-') {
                return NextOption::End(self.index + 1);
            }
            self.cluster = rest;
        }
        let mut left = self.cluster.chars();
        let letter = left.next().unwrap_or('-');
        self.cluster = left.as_str();
        match letters(letter) {
            None => {
                self.index += usize::from(self.cluster.is_empty());
                NextOption::Wrong(
                    format!("{}: illegal option -- {letter}", self.program),
                    self.index,
                )
            }
            Some(false) => {
                self.index += usize::from(self.cluster.is_empty());
                NextOption::Letter(letter, "")
            }
            Some(true) => self.value_of(letter),
        }
    }

    fn value_of(&mut self, letter: char) -> NextOption<'a> {
        let rest = std::mem::take(&mut self.cluster);
        self.index += 1;
        if !rest.is_empty() {
            return NextOption::Letter(letter, rest);
        }
        let Some(value) = self.words.get(self.index) else {
            let text = format!("{}: option requires an argument -- {letter}", self.program);
            return NextOption::Wrong(text, self.index);
        };
        self.index += 1;
        NextOption::Letter(letter, value)
    }
}

/// The number at the beginning of a text as C's `atoi` finds it: 0 if there is none.
pub(super) fn atoi(text: &str) -> i64 {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let number = digits[..end].parse::<i64>().unwrap_or(if end == 0 { 0 } else { i64::MAX });
    sign * number.min(i64::from(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn letters(letter: char) -> Option<bool> {
        match letter {
            'k' | 'q' => Some(false),
            'n' => Some(true),
            _ => None,
        }
    }

    fn read(line: &str) -> Vec<String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let mut getopt = Getopt::new("ab", &words);
        let mut out = Vec::new();
        loop {
            match getopt.next(letters) {
                NextOption::Letter(letter, value) => out.push(format!("{letter}={value}")),
                NextOption::End(index) => {
                    out.push(format!("end {index}"));
                    return out;
                }
                NextOption::Wrong(text, index) => {
                    out.push(format!("{text} {index}"));
                    return out;
                }
            }
        }
    }

    #[test]
    fn letters_stand_together_and_values_behind_them() {
        assert_eq!(read("-kqn5 -n 6 url -k"), ["k=", "q=", "n=5", "n=6", "end 3"][..].to_vec());
        assert_eq!(read("-k - x"), ["k=", "end 1"]);
        assert_eq!(read("-k -- url"), ["k=", "end 2"]);
    }

    #[test]
    fn what_is_wrong_is_said_as_apr_says_it() {
        assert_eq!(read("-kQ url"), ["k=", "ab: illegal option -- Q 1"]);
        assert_eq!(read("-Qk url"), ["ab: illegal option -- Q 0"]);
        assert_eq!(read("-n"), ["ab: option requires an argument -- n 1"]);
    }

    #[test]
    fn numbers_are_read_as_c_reads_them() {
        let rows =
            [("12", 12), (" +7x", 7), ("-3", -3), ("x", 0), ("", 0), ("99999999999", 2147483647)];
        rows.into_iter().for_each(|(text, number)| assert_eq!(atoi(text), number, "{text}"));
    }
}
