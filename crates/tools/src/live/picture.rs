//! A run on a terminal: rate, percentiles, errors and users over time, on its last lines and as
//! high as there is room.

use crate::report::PerSecond;
use crate::report::units::{count, figure, latency_us, seconds, time_us};
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{MoveUp, RestorePosition, SavePosition};
use ratatui::crossterm::terminal::{self, Clear, ClearType};
use ratatui::layout::{Constraint, Layout, Rect, Size};
use ratatui::style::{Color, Style, Stylize as _};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType, Paragraph};
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
use std::io::{self, Stderr, Write};

/// Lines that the picture takes.
const HEIGHT: u16 = 18;

/// Seconds that it shows: those before are in the report.
const SECONDS_MAX: usize = 120;

/// Smaller than this a terminal shows lines.
const SMALLEST: Size = Size { width: 40, height: 11 };

/// The picture of one run, on the last lines of a terminal. Where the cursor is it does not ask: a
/// terminal that does not answer would be waited for, with the keys of Ctrl-C taken meanwhile.
pub(crate) struct LivePicture<W: Write = Stderr> {
    terminal: Terminal<CrosstermBackend<W>>,
    size: Size,
    pace: String,
}

impl LivePicture {
    /// A picture on the terminal of standard error.
    ///
    /// # Errors
    /// When that does not say how large it is, or is too small.
    pub(super) fn new(pace: &str) -> io::Result<Self> {
        Self::on(io::stderr, terminal_size()?, pace)
    }

    pub(super) fn draw(&mut self, all: &[PerSecond], progress: &str) -> io::Result<()> {
        let size = terminal_size()?;
        if size != self.size {
            self.clear();
            *self = Self::on(io::stderr, size, &self.pace)?;
        }
        self.show(all, progress)
    }
}

impl<W: Write> LivePicture<W> {
    /// A picture on the last lines of a terminal of this size. The lines are made free, and the
    /// place from which they were is kept for the report.
    fn on(out: impl Fn() -> W, size: Size, pace: &str) -> io::Result<Self> {
        if size.width < SMALLEST.width || size.height < SMALLEST.height {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let height = HEIGHT.min(size.height - 1);
        let free = "\n".repeat(height.into());
        write!(out(), "\r{free}{}{SavePosition}", MoveUp(height))?;
        let area = Rect::new(0, size.height - height, size.width, height);
        let options = TerminalOptions { viewport: Viewport::Fixed(area) };
        let terminal = Terminal::with_options(CrosstermBackend::new(out()), options)?;
        Ok(Self { terminal, size, pace: pace.to_owned() })
    }

    fn show(&mut self, all: &[PerSecond], progress: &str) -> io::Result<()> {
        let shown = &all[all.len().saturating_sub(SECONDS_MAX)..];
        let title = [self.pace.as_str(), progress];
        self.terminal.draw(|frame| draw(frame, title, shown)).map(|_| ())
    }

    pub(super) fn clear(&mut self) {
        let below = Clear(ClearType::FromCursorDown);
        // A terminal that has gone needs no clearing.
        let _ = write!(self.terminal.backend_mut(), "{RestorePosition}{below}");
        let _ = self.terminal.show_cursor();
    }
}

fn terminal_size() -> io::Result<Size> {
    terminal::size().map(|(width, height)| Size { width, height })
}

/// The title has what is done, and how far that is.
fn draw(frame: &mut Frame<'_>, [pace, progress]: [&str; 2], seconds: &[PerSecond]) {
    let [title, plots, now] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(6), Constraint::Length(3)])
            .areas(frame.area());
    let [left, right] = Layout::horizontal([Constraint::Percentage(50); 2]).areas(plots);
    let words = [Span::from(pace).bold(), Span::from(format!("   {progress}"))];
    frame.render_widget(Line::from(words.to_vec()), title);
    let points = |value: fn(&PerSecond) -> f64| -> Vec<(f64, f64)> {
        seconds.iter().map(|second| (second.until_s, value(second))).collect()
    };
    let (rate, users) = (points(|second| second.rate), points(|second| second.users.into()));
    plot(frame, left, "requests/s", figure, &[("rate", Color::Cyan, &rate)]);
    let p50 = points(|second| second.p50_us);
    let p99 = points(|second| second.p99_us);
    let lines = [("p99", Color::Yellow, &p99[..]), ("p50", Color::Cyan, &p50[..])];
    plot(frame, right, "latency", time_us, &lines);
    frame.render_widget(summary(seconds, users.last().map_or(0.0, |point| point.1)), now);
}

/// Name, colour and points of what is plotted.
type Curve<'a> = (&'a str, Color, &'a [(f64, f64)]);

fn plot(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    unit: fn(f64) -> String,
    lines: &[Curve<'_>],
) {
    let all = || lines.iter().flat_map(|line| line.2);
    // Neither axis may be of no length, as before anything was answered or in the first second.
    let top = all().map(|point| point.1).fold(1.0_f64, f64::max) * 1.05;
    let begin = all().map(|point| point.0).fold(f64::INFINITY, f64::min);
    let end = all().map(|point| point.0).fold(begin + 1.0, f64::max);
    let sets = lines.iter().map(|(name, color, points)| {
        Dataset::default()
            .name((*name).to_owned())
            .marker(Marker::Braille)
            .graph_type(GraphType::Line)
            .style(Style::new().fg(*color))
            .data(points)
    });
    let grey = Style::new().fg(Color::DarkGray);
    let chart = Chart::new(sets.collect())
        .block(Block::bordered().title(title.to_owned()).border_style(grey))
        .x_axis(
            Axis::default().style(grey).bounds([begin, end]).labels([seconds(begin), seconds(end)]),
        )
        .y_axis(Axis::default().style(grey).bounds([0.0, top]).labels(["0".to_owned(), unit(top)]));
    frame.render_widget(chart, area);
}

fn summary(all: &[PerSecond], users: f64) -> Paragraph<'static> {
    let Some(last) = all.last() else { return Paragraph::default() };
    let errors: u64 = all.iter().map(|second| second.errors).sum();
    let mut now = vec![
        Span::from(format!(
            "{:>9}  {} users  ",
            seconds(last.until_s.max(0.0)),
            count(users as u64)
        )),
        Span::from(format!("{}/s", figure(last.rate))).cyan().bold(),
        Span::from(format!(
            "  p50 {}  p90 {}  p99 {}  max {}",
            latency_us(last.p50_us),
            latency_us(last.p90_us),
            latency_us(last.p99_us),
            latency_us(last.max_us)
        )),
    ];
    if last.until_s <= 0.0 {
        now.push(Span::from("  warming up").dark_gray());
    }
    let errors = match errors {
        0 => Span::from("no errors"),
        errors => Span::from(format!("{} errors", count(errors))).red().bold(),
    };
    let mut below = vec![Span::from(" ".repeat(11)), errors];
    if let Some(server) = &last.server {
        let busy = server.busy.map_or(String::new(), |busy| format!(", {busy} workers busy"));
        below.push(Span::from(format!(
            "  server: {} us of CPU per request, {} % of a processor{busy}",
            figure(server.cpu_us_per_request),
            figure(server.cpu_percent)
        )));
    }
    let hint = Line::from("Ctrl-C stops the run and prints the results so far").dark_gray();
    Paragraph::new(vec![Line::from(now), Line::from(below), hint])
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::backend::TestBackend;
    use std::cell::RefCell;
    use std::rc::Rc;

    #[test]
    fn the_picture_shows_rate_latency_and_errors() {
        let second = |at: u32| PerSecond {
            until_s: f64::from(at),
            length_s: 1.0,
            users: at,
            rate: 1000.0 * f64::from(at),
            p50_us: 100.0,
            p99_us: 2000.0,
            errors: u64::from(at == 3),
            ..PerSecond::default()
        };
        let all: Vec<PerSecond> = (1..=5).map(second).collect();
        let mut terminal = Terminal::new(TestBackend::new(100, HEIGHT)).unwrap();
        terminal.draw(|frame| draw(frame, ["5 users", "9 of 20 requests"], &all)).unwrap();
        let text = terminal.backend().to_string();
        for part in [
            "5 users   9 of 20 requests",
            "requests/s",
            "latency",
            "5,000/s",
            "p99 2.00 ms",
            "1 errors",
        ] {
            assert!(text.contains(part), "no {part} in\n{text}");
        }
        terminal.draw(|frame| draw(frame, ["nothing yet", ""], &[])).unwrap();
    }

    /// What is written to a terminal.
    #[derive(Clone, Default)]
    struct Tape(Rc<RefCell<Vec<u8>>>);

    impl Write for Tape {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_terminal_is_asked_nothing_and_left_as_it_was() {
        let tape = Tape::default();
        let size = Size { width: 80, height: 24 };
        let mut picture = LivePicture::on(|| tape.clone(), size, "5 users").unwrap();
        picture.show(&[PerSecond::default()], "9 requests").unwrap();
        picture.clear();
        let text = String::from_utf8_lossy(&tape.0.borrow()).into_owned();
        assert!(!text.contains("\u{1b}[6n"), "asks where the cursor is: {text:?}");
        assert!(text.starts_with(&format!("\r{}\u{1b}[18A\u{1b}7", "\n".repeat(18))), "{text:?}");
        assert!(text.contains("5 users"), "{text:?}");
        assert!(text.ends_with("\u{1b}8\u{1b}[J\u{1b}[?25h"), "{text:?}");
        let tiny = Size { width: 80, height: 0 };
        assert!(LivePicture::on(|| tape.clone(), tiny, "").is_err());
    }
}
