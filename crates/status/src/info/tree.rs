//! The lines of the configuration as HTML (mod_info_module_cmds of mod_info.c).

use config::Node;
use config::ast::Line;
use message::escape::html_escape;

/// Append the lines that `wanted` names, with the sections around them; without it all.
pub(super) fn show(nodes: &[Node], wanted: Option<&dyn Fn(&str) -> bool>, out: &mut Vec<u8>) {
    let mut shown = Shown { wanted, out, file: None, around: Vec::new() };
    shown.nodes(nodes, 0);
}

struct Shown<'s> {
    wanted: Option<&'s dyn Fn(&str) -> bool>,
    out: &'s mut Vec<u8>,
    /// The file that was named last.
    file: Option<&'s str>,
    /// Sections around the line.
    around: Vec<&'s Line>,
}

impl<'s> Shown<'s> {
    /// Lines of one section; `from` of the sections around it have been opened. The result is how
    /// many are now.
    fn nodes(&mut self, nodes: &'s [Node], from: usize) -> usize {
        let level = self.around.len();
        let mut opened = from;
        for node in nodes {
            let line = node.line();
            match node {
                Node::Section(section) if !section.body.is_empty() => {
                    self.around.push(line);
                    let inside = self.nodes(&section.body, opened);
                    self.around.pop();
                    if inside > level {
                        opened = level;
                        self.close(line, level);
                    }
                }
                _ if self.wanted.is_none_or(|wanted| wanted(line.name())) => {
                    for nth in opened..level {
                        self.open(self.around[nth], nth);
                    }
                    opened = level;
                    self.indent(line, level, line.number());
                    self.text(line.name());
                    self.mark(" <i>");
                    self.text(line.args().trim());
                    self.mark("</i></tt></dd>\n");
                }
                _ => {}
            }
        }
        opened
    }

    fn open(&mut self, line: &'s Line, level: usize) {
        self.indent(line, level, line.number());
        self.text(line.name());
        self.mark(" ");
        self.text(line.args().trim());
        self.mark("</tt></dd>\n");
    }

    fn close(&mut self, line: &'s Line, level: usize) {
        self.indent(line, level, 0);
        self.mark("&lt;/");
        self.text(line.name().trim_start_matches('<'));
        self.mark("&gt;</tt></dd>");
    }

    /// The file, if it is another one than before, and the number of the line, as wide as four
    /// digits.
    fn indent(&mut self, line: &'s Line, level: usize, number: u32) {
        let file: &'s str = line.file();
        if self.file != Some(file) {
            self.file = Some(file);
            self.mark("<dd><tt><strong>In file: ");
            self.text(file);
            self.mark("</strong></tt></dd>\n");
        }
        let digits = if number == 0 { String::new() } else { number.to_string() };
        self.mark("<dd><tt>");
        self.mark(&"&nbsp;".repeat(4_usize.saturating_sub(digits.len())));
        self.mark(&digits);
        self.mark(":&nbsp;");
        self.mark(&"&nbsp;&nbsp;".repeat(level));
    }

    fn text(&mut self, text: &str) {
        html_escape(text.as_bytes(), self.out);
    }

    fn mark(&mut self, mark: &str) {
        self.out.extend_from_slice(mark.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(wanted: Option<&dyn Fn(&str) -> bool>) -> String {
        let text = b"A 1\n<S x>\n<T \"y\">\nB 2\n</T>\nA 3\n</S>\n<U>\n</U>\n";
        let tree = config::parse("f", text, 1);
        let mut out = Vec::new();
        show(&tree.nodes, wanted, &mut out);
        let text = String::from_utf8(out).unwrap();
        let text = text.replace("<dd><tt>", "").replace("</tt></dd>", "|").replace('\n', "");
        text.replace("&nbsp;", " ").replace("<strong>", "").replace("</strong>", "")
    }

    #[test]
    fn wanted_lines_have_their_sections_around_them() {
        assert_eq!(
            shown(None),
            "In file: f|   1: A <i>1</i>|   2: &lt;S x&gt;|   3:   &lt;T &quot;y&quot;&gt;|\
             \x20  4:     B <i>2</i>|    :   &lt;/T&gt;|   6:   A <i>3</i>|    : &lt;/S&gt;|\
             \x20  8: &lt;U <i></i>|"
        );
        assert_eq!(
            shown(Some(&|name| name == "A")),
            "In file: f|   1: A <i>1</i>|   2: &lt;S x&gt;|   6:   A <i>3</i>|    : &lt;/S&gt;|"
        );
        assert_eq!(shown(Some(&|_| false)), "");
    }
}
