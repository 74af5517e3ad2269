//! The command line as the error log shows it. What its options mean is not known here.

/// The command line of this process.
pub(crate) fn logged() -> String {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    apart(words.collect()).join(" ")
}

/// A command line as httpd logs it: each option and each value alone, and without `-k start` and
/// its like (ap_mpm_rewrite_args). One that does not begin with options is none of httpd's.
fn apart(words: Vec<String>) -> Vec<String> {
    const WITH_VALUE: &str = "CcDdEefk";
    if words.get(1).is_some_and(|word| !word.starts_with('-') || word.starts_with("--")) {
        return words;
    }
    let mut words = words.into_iter();
    let mut apart: Vec<String> = words.next().into_iter().collect();
    while let Some(cluster) = words.next() {
        let mut letters = cluster.trim_start_matches('-').chars();
        while let Some(letter) = letters.next() {
            let own = letters.as_str();
            let value = match own {
                _ if !WITH_VALUE.contains(letter) => {
                    apart.push(format!("-{letter}"));
                    continue;
                }
                "" => words.next(),
                own => Some(own.to_owned()),
            };
            if letter != 'k' {
                apart.push(format!("-{letter}"));
                apart.extend(value);
            }
            break;
        }
    }
    apart
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_command_line_is_logged_option_by_option() {
        for (typed, logged) in [
            ("apache2", "apache2"),
            ("apache2 -k start", "apache2"),
            ("apache2 -DFOREGROUND -k graceful -XTd /srv", "apache2 -D FOREGROUND -X -T -d /srv"),
            ("apache2 -d /srv -kstart -fx.conf", "apache2 -d /srv -f x.conf"),
            ("trivet serve -c KeepAlive /srv", "trivet serve -c KeepAlive /srv"),
        ] {
            let words = typed.split(' ').map(str::to_owned).collect();
            assert_eq!(super::apart(words).join(" "), logged);
        }
    }
}
