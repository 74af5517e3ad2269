//! One plot as HTML with a drawing in SVG. The drawing is stretched to the width that there is;
//! whatever must not be stretched, texts and marks, is HTML that lies above it at a share of the
//! width. So a telephone shows the same as a wide screen, and letters keep their size.

use super::axis::{Axis, TimeAxis};
use super::series::{Bins, LineForm, Plot, PlotLine, Point};
use super::unit::{Unit, escaped};
use crate::report::RunRecord;
use std::fmt::Write as _;

/// The drawing's own measures; lines keep their width whatever becomes of them.
const SIZE: (f64, f64) = (1000.0, 100.0);

/// A bar that would be lower is drawn as high as this, of the height: one error must be seen.
const BAR_MIN: f64 = 0.04;

/// A line and its points.
pub(super) struct Drawn {
    pub(super) line: &'static PlotLine,
    pub(super) points: Vec<Option<Point>>,
}

/// The lines of a plot that have any point.
pub(super) fn drawn(plot: &Plot, bins: &Bins<'_>) -> Vec<Drawn> {
    let lines = plot.lines.iter();
    let all = lines.map(|line| Drawn { line, points: bins.points(line.value) });
    all.filter(|drawn| drawn.points.iter().any(Option::is_some)).collect()
}

/// A plot over time. `first_line` is the number of its first line among those of all plots,
/// `marks` are the moments at which something happened.
pub(super) fn over_time(
    out: &mut String,
    (plot, lines): (&Plot, &[Drawn]),
    (record, bins): (&RunRecord, &Bins<'_>),
    marks: &[f64],
    first_line: usize,
) {
    let time = bins.axis();
    let axis = axis(plot, lines);
    let size = if plot.is_small { " small" } else { "" };
    let _ = write!(out, "<figure class=\"plot{size}\"><figcaption><b>{}</b>", plot.title);
    let caption = if axis.is_log() { "log scale" } else { plot.unit.caption() };
    if !caption.is_empty() {
        let _ = write!(out, "<small>{caption}</small>");
    }
    for (number, Drawn { line, .. }) in lines.iter().enumerate() {
        let whole = (line.whole)(record).map_or("\u{2013}".to_owned(), |it| plot.unit.text(it));
        let (class, name, number) = (line.class, line.name, first_line + number);
        let _ = write!(
            out,
            "<span class=\"key {class}\"><i></i>{name} <output data-line=\"{number}\">{whole}\
             </output></span>"
        );
    }
    out.push_str("</figcaption>");
    let drawing: String =
        lines.iter().map(|drawn| draw(drawn, &axis, &time, bins.are_wide())).collect();
    field(out, &axis, plot.unit, &label(plot, lines, record), &drawing, &over(&time, marks));
    out.push_str("</figure>\n");
}

/// What lies above the drawing: the warm-up, moments, the moment that is pointed at.
fn over(time: &TimeAxis, marks: &[f64]) -> String {
    let mut out = String::new();
    if time.from_s < 0.0 {
        let _ = write!(out, "<i class=\"warm\" style=\"width:{}\"></i>", percent(time.place(0.0)));
    }
    for at_s in marks {
        let _ = write!(out, "<i class=\"mark\" style=\"left:{}\"></i>", percent(time.place(*at_s)));
    }
    out.push_str("<i class=\"cursor\"></i>");
    out
}

/// The text that a screen reader has for the drawing.
fn label(plot: &Plot, lines: &[Drawn], record: &RunRecord) -> String {
    let texts = lines.iter().filter_map(|drawn| {
        let whole = (drawn.line.whole)(record)?;
        Some(format!("{} {}", drawn.line.name, plot.unit.text(whole)))
    });
    format!("{} over time: {}", plot.title, texts.collect::<Vec<_>>().join(", "))
}

/// The axis on which all lines have their place.
fn axis(plot: &Plot, lines: &[Drawn]) -> Axis {
    let points = || lines.iter().flat_map(|drawn| drawn.points.iter().flatten());
    let max = points().map(|point| point.high).fold(0.0, f64::max);
    let least = points().map(|point| point.low).fold(f64::INFINITY, f64::min);
    match plot.unit {
        // Without a point there is no plot.
        _ if plot.is_log => Axis::log(least, max),
        Unit::TimeUs => Axis::suited(least, max),
        Unit::Count => Axis::whole(max),
        _ => Axis::linear(max),
    }
}

/// The part of a plot that has axes: values written at the left, the drawing, and what lies above.
pub(super) fn field(
    out: &mut String,
    axis: &Axis,
    unit: Unit,
    label: &str,
    drawing: &str,
    above: &str,
) {
    out.push_str("<div class=\"field\">");
    let mut grid = String::new();
    for tick in axis.ticks() {
        let down = 1.0 - axis.place(tick);
        let (top, text) = (percent(down), unit.tick(tick));
        let _ = write!(out, "<span class=\"y\" style=\"top:{top}\">{text}</span>");
    }
    for line in axis.lines() {
        let _ = write!(grid, "M0 {:.2}H{}", (1.0 - axis.place(line)) * SIZE.1, SIZE.0);
    }
    let (width, height) = SIZE;
    let label = escaped(label);
    let _ = write!(
        out,
        "<svg viewBox=\"0 0 {width} {height}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{label}\"><path class=\"grid\" d=\"{grid}\"/>{drawing}</svg>{above}</div>"
    );
}

/// Values written below a drawing whose horizontal axis is no time.
pub(super) fn below(out: &mut String, across: &Axis, unit: Unit) {
    out.push_str("<div class=\"x\">");
    for tick in across.ticks() {
        let (left, text) = (percent(across.place(tick)), unit.tick(tick));
        let _ = write!(out, "<span style=\"left:{left}\">{text}</span>");
    }
    out.push_str("</div>");
}

/// The lines of such an axis in the drawing.
pub(super) fn upright(across: &Axis) -> String {
    let lines = across.lines().into_iter().map(|line| {
        let (left, ground) = place(across.place(line), 0.0);
        format!("M{left:.2} 0V{ground}")
    });
    format!("<path class=\"grid\" d=\"{}\"/>", lines.collect::<String>())
}

/// A share as CSS has it.
pub(super) fn percent(share: f64) -> String {
    format!("{:.3}%", share * 100.0)
}

/// A place in the drawing.
pub(super) fn place(across: f64, up: f64) -> (f64, f64) {
    (across * SIZE.0, (1.0 - up) * SIZE.1)
}

/// The path of a line, as `M1 2L3 4`; empty without points.
pub(super) fn polyline(places: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut out = String::new();
    for (number, (x, y)) in places.into_iter().enumerate() {
        let verb = if number == 0 { 'M' } else { 'L' };
        let _ = write!(out, "{verb}{x:.2} {y:.2}");
    }
    out
}

fn draw(drawn: &Drawn, axis: &Axis, time: &TimeAxis, is_wide: bool) -> String {
    let class = drawn.line.class;
    let mut out = String::new();
    if drawn.line.form == LineForm::Bars {
        return match bars(&drawn.points, axis, time).as_str() {
            "" => out,
            path => format!("<path class=\"bars {class}\" d=\"{path}\"/>"),
        };
    }
    let (mut line, mut fill, mut band) = (String::new(), String::new(), String::new());
    for piece in drawn.points.split(Option::is_none).filter(|piece| !piece.is_empty()) {
        let piece: Vec<Point> = piece.iter().flatten().copied().collect();
        let places = |value: fn(&Point) -> f64| places(&piece, drawn.line.form, axis, time, value);
        let means = places(|point| point.mean);
        line += &polyline(means.clone());
        fill += &closed(&means, &[]);
        band += &closed(&places(|point| point.high), &places(|point| point.low));
    }
    if drawn.line.form == LineForm::Area {
        let _ = write!(out, "<path class=\"fill {class}\" d=\"{fill}\"/>");
    }
    if is_wide {
        let _ = write!(out, "<path class=\"band {class}\" d=\"{band}\"/>");
    }
    let _ = write!(out, "<path class=\"line {class}\" d=\"{line}\"/>");
    out
}

/// Where the points of an unbroken piece lie. One alone is as long as its second.
fn places(
    piece: &[Point],
    form: LineForm,
    axis: &Axis,
    time: &TimeAxis,
    value: fn(&Point) -> f64,
) -> Vec<(f64, f64)> {
    let at = |at_s: f64, point: &Point| place(time.place(at_s), axis.place(value(point)));
    let ends = |point: &Point| [at(point.from_s, point), at(point.until_s, point)];
    match (form, piece) {
        (LineForm::Steps, _) | (_, [_]) => piece.iter().flat_map(ends).collect(),
        _ => piece.iter().map(|point| at(point.middle_s(), point)).collect(),
    }
}

/// The area between one line and another, or the ground.
fn closed(upper: &[(f64, f64)], lower: &[(f64, f64)]) -> String {
    let (Some(first), Some(last)) = (upper.first(), upper.last()) else { return String::new() };
    let ground = [(last.0, SIZE.1), (first.0, SIZE.1)];
    let back: Vec<_> = match lower {
        [] => ground.to_vec(),
        lower => lower.iter().rev().copied().collect(),
    };
    polyline(upper.iter().copied().chain(back)) + "Z"
}

fn bars(points: &[Option<Point>], axis: &Axis, time: &TimeAxis) -> String {
    let mut out = String::new();
    for point in points.iter().flatten().filter(|point| point.high > 0.0) {
        let [left, right] = [point.from_s, point.until_s].map(|s| time.place(s) * SIZE.0);
        let (gap, height) = ((right - left) * 0.1, axis.place(point.mean).max(BAR_MIN));
        let (left, right, top) = (left + gap, right - gap, (1.0 - height) * SIZE.1);
        let _ = write!(out, "M{left:.2} {}V{top:.2}H{right:.2}V{}Z", SIZE.1, SIZE.1);
    }
    out
}
