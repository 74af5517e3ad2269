//! What ab prints before a run, to the letter: its name and its help.

/// The version of ab that is imitated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AbStyle {
    /// The one of httpd 2.4.
    #[default]
    Released,
    /// The one of the development branch: a few lines more.
    Trunk,
}

/// `-V`, and the beginning of every run. Ours is the revision that a build from a bare checkout
/// has, as that of the original says nothing about what it can.
pub(super) fn banner(style: AbStyle, is_html: bool) -> String {
    let zeus = match style {
        AbStyle::Released => "http://www.zeustech.net/",
        AbStyle::Trunk => "http://web.archive.org/web/20000304112933/http://www.zeustech.net/",
    };
    match is_html {
        false => format!(
            "This is ApacheBench, Version 2.3 <$Revision$>\n\
             Copyright 1996 Adam Twiss, Zeus Technology Ltd, {zeus}\n\
             Licensed to The Apache Software Foundation, http://www.apache.org/\n\n"
        ),
        true => format!(
            "<p>\n This is ApacheBench, Version 2.3 <i>&lt;$Revision$&gt;</i><br>\n \
             Copyright 1996 Adam Twiss, Zeus Technology Ltd, {zeus}<br>\n \
             Licensed to The Apache Software Foundation, http://www.apache.org/<br>\n\
             </p>\n<p>\n"
        ),
    }
}

/// `-h`, and what follows a command line that is wrong.
pub(super) fn usage(program: &str, style: AbStyle) -> String {
    let mut out =
        format!("Usage: {program} [options] [http[s]://]hostname[:port]/path\nOptions are:\n");
    for line in OPTIONS.lines() {
        let is_of_trunk = line.ends_with(TRUNK_MARK);
        if style == AbStyle::Trunk || !is_of_trunk {
            out.push_str(line.trim_end_matches(TRUNK_MARK));
            out.push('\n');
        }
    }
    out
}

/// What `--help` says after ab's own help.
pub(super) const OWN_OPTIONS: &str = "\
Options that ab does not have:
    -W workers      Number of threads (0: one for each processor)
    -R rampdelay    Milliseconds in between each new connection when starting up
    --ab-style=trunk
                    Print what ab of httpd's development branch prints (default: 2.4)
    --details       After ab's report p99.9, processor time of this program and of the
                    server, and what makes the figures doubtful; done on a terminal
";

/// Ends a line that only the development branch has.
const TRUNK_MARK: char = '\u{1}';

const OPTIONS: &str = "\
\x20   -n requests     Number of requests to perform
    -c concurrency  Number of multiple requests to make at a time
    -W workers      Number of concurrent worker threads\u{1}
    -t timelimit    Seconds to max. to spend on benchmarking
                    This implies -n 50000
    -s timeout      Seconds to max. wait for each response
                    Default is 30 seconds
    -R rampdelay    Milliseconds in between each new connection when starting up\u{1}
                    Default is no delay\u{1}
    -b windowsize   Size of TCP send/receive buffer, in bytes
    -B address      Address to bind to when making outgoing connections
    -p postfile     File containing data to POST. Remember also to set -T
    -u putfile      File containing data to PUT. Remember also to set -T
    -T content-type Content-type header to use for POST/PUT data, eg.
                    'application/x-www-form-urlencoded'
                    Default is 'text/plain'
    -v verbosity    How much troubleshooting info to print
    -w              Print out results in HTML tables
    -i              Use HEAD instead of GET
    -x attributes   String to insert as table attributes
    -y attributes   String to insert as tr attributes
    -z attributes   String to insert as td or th attributes
    -C attribute    Add cookie, eg. 'Apache=1234'. (repeatable)
    -H attribute    Add Arbitrary header line, eg. 'Accept-Encoding: gzip'
                    Inserted after all normal header lines. (repeatable)
    -A attribute    Add Basic WWW Authentication, the attributes
                    are a colon separated username and password.
    -P attribute    Add Basic Proxy Authentication, the attributes
                    are a colon separated username and password.
    -X proxy:port   Proxyserver and port number to use
    -V              Print version number and exit
    -k              Use HTTP KeepAlive feature
    -d              Do not show percentiles served table.
    -S              Do not show confidence estimators and warnings.
    -q              Do not show progress when doing more than 150 requests
    -Q              Do not show copyright banner\u{1}
    -l              Accept variable document length (use this for dynamic pages)
    -g filename     Output collected data to gnuplot format file.
    -e filename     Output CSV file with percentages served
    -r              Don't exit on socket receive errors.
    -m method       Method name
    -h              Display usage information (this message)
    -I              Disable TLS Server Name Indication (SNI) extension
    -Z ciphersuite  Specify SSL/TLS cipher suite (See openssl ciphers)
    -f protocol     Specify SSL/TLS protocol
                    (SSL2, TLS1, TLS1.1, TLS1.2, TLS1.3 or ALL)
    -E certfile     Specify optional client certificate chain and private key
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_of_the_development_branch_has_three_options_more() {
        let (released, trunk) = (usage("ab", AbStyle::Released), usage("ab", AbStyle::Trunk));
        assert!(released.contains("\n    -n requests     Number of requests to perform\n"));
        assert_eq!(trunk.lines().count(), released.lines().count() + 4);
        assert!(trunk.contains("\n    -W workers      Number of concurrent worker threads\n"));
        assert!(!released.contains('\u{1}') && !trunk.contains('\u{1}'));
    }
}
