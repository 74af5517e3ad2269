//! The text of `-h`: httpd's, with the name of the program (usage() of httpd's main.c).

/// The text for a program that was called by this name, its folder included; the lines below the
/// first stand under its options.
pub(crate) fn usage(program: &str) -> String {
    let indent = " ".repeat("Usage: ".len() + program.len());
    format!(
        "Usage: {program} [-D name] [-d directory] [-f file]\n\
         {indent} [-C \"directive\"] [-c \"directive\"]\n\
         {indent} [-k start|restart|graceful|graceful-stop|stop]\n\
         {indent} [-v] [-V] [-h] [-l] [-L] [-t] [-T] [-S] [-X]\n\
         {OPTIONS}"
    )
}

/// One blank stands at the end of the line of `DUMP_MODULES`.
const OPTIONS: &str = concat!(
    "Options:\n",
    "  -D name            : define a name for use in <IfDefine name> directives\n",
    "  -d directory       : specify an alternate initial ServerRoot\n",
    "  -f file            : specify an alternate ServerConfigFile\n",
    "  -C \"directive\"     : process directive before reading config files\n",
    "  -c \"directive\"     : process directive after reading config files\n",
    "  -e level           : show startup errors of level (see LogLevel)\n",
    "  -E file            : log startup errors to file\n",
    "  -v                 : show version number\n",
    "  -V                 : show compile settings\n",
    "  -h                 : list available command line options (this page)\n",
    "  -l                 : list compiled in modules\n",
    "  -L                 : list available configuration directives\n",
    "  -t -D DUMP_VHOSTS  : show parsed vhost settings\n",
    "  -t -D DUMP_RUN_CFG : show parsed run settings\n",
    "  -S                 : a synonym for -t -D DUMP_VHOSTS -D DUMP_RUN_CFG\n",
    "  -t -D DUMP_MODULES : show all loaded modules \n",
    "  -M                 : a synonym for -t -D DUMP_MODULES\n",
    "  -t -D DUMP_INCLUDES: show all included configuration files\n",
    "  -t                 : run syntax check for config files\n",
    "  -T                 : start without DocumentRoot(s) check\n",
    "  -X                 : debug mode (only one worker, do not detach)\n",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_stand_under_the_first() {
        let text = usage("httpd");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 26);
        assert_eq!(lines[0], "Usage: httpd [-D name] [-d directory] [-f file]");
        assert_eq!(lines[3], "             [-v] [-V] [-h] [-l] [-L] [-t] [-T] [-S] [-X]");
    }
}
