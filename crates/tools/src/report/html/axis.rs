//! Axes of plots: from a value to its place, and the values that are written beside the axis.
//! Nothing here knows what is plotted.

/// The steps between round values, of a power of ten.
const ROUND: [f64; 4] = [1.0, 2.0, 5.0, 10.0];

/// Steps of time that people count in, in seconds.
const ROUND_S: [f64; 13] =
    [1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0];

/// Values that differ by more than this factor are told apart on a logarithmic axis only.
const LOG_RATIO: f64 = 20.0;

/// Of so many decades 1, 2 and 5 of each are written beside the axis, of more only 1.
const WRITTEN_DECADES: f64 = 2.5;

/// Up to so many decades, 1, 2 and 5 of each have a line, whether or not they are written.
const DRAWN_DECADES: f64 = 6.0;

/// A linear axis is what people expect: the other must be better by so much.
const MUCH_FURTHER: f64 = 1.5;

/// Loads that differ by less have no use for it.
const LOADS_RATIO: f64 = 4.0;

/// Decades that an axis shows at most.
const DECADES_MAX: f64 = 12.0;

/// A vertical axis, from the lowest to the highest value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    from: f64,
    to: f64,
    /// The step between ticks; `None` on a logarithmic axis.
    step: Option<f64>,
}

impl Axis {
    /// An axis from 0 to a round value that is not below `max`.
    pub(super) fn linear(max: f64) -> Self {
        Self::stepped(max, 0.0)
    }

    /// As [`Axis::linear`], for what is counted: there is nothing between 1 and 2.
    pub(super) fn whole(max: f64) -> Self {
        Self::stepped(max, 1.0)
    }

    fn stepped(max: f64, least: f64) -> Self {
        let max = if max.is_finite() && max > 0.0 { max } else { 1.0 };
        let step = round_step(max, 4.0).max(least);
        Self { from: 0.0, to: (max / step * 0.999).ceil().max(1.0) * step, step: Some(step) }
    }

    /// As [`Axis::linear`], or logarithmic where small values would lie on the ground.
    pub(super) fn suited(least: f64, max: f64) -> Self {
        let is_wide = least > 0.0 && max.is_finite() && max / least > LOG_RATIO;
        if is_wide { Self::log(least, max) } else { Self::linear(max) }
    }

    /// From a round value below `least` to one above `max`; both are more than 0.
    pub(super) fn log(least: f64, max: f64) -> Self {
        let to = round_up(if max.is_finite() { max.clamp(1e-9, 1e18) } else { 1.0 });
        let least = if least.is_finite() { least } else { to };
        let from = 1.0 / round_up(1.0 / least.clamp(to / 10_f64.powf(DECADES_MAX), to));
        Self { from: from.min(to / 2.0), to, step: None }
    }

    pub(super) const fn is_log(&self) -> bool {
        self.step.is_none()
    }

    /// Where a value lies: 0 at the lower end, 1 at the upper one.
    pub(super) fn place(&self, value: f64) -> f64 {
        let place = match self.is_log() {
            true if value <= 0.0 => 0.0,
            true => (value / self.from).ln() / (self.to / self.from).ln(),
            false => (value - self.from) / (self.to - self.from),
        };
        // What is not a number lies on the ground.
        if place.is_nan() { 0.0 } else { place.clamp(0.0, 1.0) }
    }

    /// The values that are written beside it, from the lowest.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if let Some(step) = self.step {
            let count = (self.to / step).round().clamp(1.0, 12.0) as u32;
            return (0..=count).map(|n| f64::from(n) * step).collect();
        }
        let decades = self.decades();
        let parts = if decades < WRITTEN_DECADES { &ROUND[..3] } else { &ROUND[..1] };
        self.rounds(parts, (decades / 5.0).ceil().max(1.0) as i32)
    }

    /// The values that a line is drawn at: more than can be written where it is logarithmic.
    pub(super) fn lines(&self) -> Vec<f64> {
        match self.is_log() && self.decades() <= DRAWN_DECADES {
            true => self.rounds(&ROUND[..3], 1),
            false => self.ticks(),
        }
    }

    fn decades(&self) -> f64 {
        (self.to / self.from).log10()
    }

    /// Powers of ten within a logarithmic axis, each multiplied by these.
    fn rounds(&self, parts: &[f64], every: i32) -> Vec<f64> {
        let lowest = self.from.log10().floor() as i32;
        let powers = (lowest..=lowest + DECADES_MAX as i32 + 1).filter(|power| power % every == 0);
        let all = powers.flat_map(|power| parts.iter().map(move |part| part * 10_f64.powi(power)));
        all.filter(|tick| (self.from * 0.999..=self.to * 1.001).contains(tick)).collect()
    }

    /// For loads that were tried: linear, or logarithmic if that keeps them further apart.
    pub(super) fn spread(loads: &[f64]) -> Self {
        let most = loads.iter().copied().fold(0.0, f64::max);
        let least = loads.iter().copied().filter(|load| *load > 0.0).fold(most, f64::min);
        let (linear, log) = (Self::linear(most), Self::log(least, most));
        let gap = |axis: &Self| {
            let gaps = loads.windows(2).map(|two| (axis.place(two[1]) - axis.place(two[0])).abs());
            gaps.filter(|gap| *gap > 0.0).fold(1.0, f64::min)
        };
        let is_wide = most > least * LOADS_RATIO;
        if is_wide && gap(&log) > gap(&linear) * MUCH_FURTHER { log } else { linear }
    }
}

/// A round step of which about `count` make `span`.
fn round_step(span: f64, count: f64) -> f64 {
    let raw = span / count;
    let power = 10_f64.powf(raw.log10().floor());
    let step = ROUND.iter().find(|step| **step * power >= raw * 0.999).unwrap_or(&10.0) * power;
    // Spans beyond what a double can divide.
    if step.is_finite() && step > 0.0 { step } else { span }
}

/// The next of 1, 2, 5, 10, 20, ... that is not smaller.
fn round_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    ROUND.iter().map(|step| step * power).find(|round| *round >= value * 0.999_999).unwrap_or(value)
}

/// The horizontal axis of a run: seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimeAxis {
    pub(super) from_s: f64,
    pub(super) to_s: f64,
}

impl TimeAxis {
    /// Where a moment lies: 0 at the left end, 1 at the right one.
    pub(super) fn place(&self, at_s: f64) -> f64 {
        let place = (at_s - self.from_s) / (self.to_s - self.from_s);
        if place.is_nan() { 0.0 } else { place.clamp(0.0, 1.0) }
    }

    /// The moments that are written below it.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let span = self.to_s - self.from_s;
        if !span.is_finite() || span <= 0.0 {
            return vec![self.from_s];
        }
        let fits = |step: &&f64| span / **step <= 8.0;
        let step = match span < 4.0 {
            true => round_step(span, 5.0),
            false => ROUND_S.iter().find(fits).copied().unwrap_or_else(|| round_step(span, 5.0)),
        };
        let first = (self.from_s / step).ceil();
        let count = ((self.to_s / step).floor() - first).clamp(0.0, 16.0) as u32;
        (0..=count).map(|n| (first + f64::from(n)) * step).collect()
    }
}

/// `0`, `0.2 s`, `90 s`, `2:30`, `1:00:00`.
pub(super) fn moment(at_s: f64, is_long: bool) -> String {
    let sign = if at_s < 0.0 { "\u{2212}" } else { "" };
    let s = at_s.abs();
    let whole = s.round() as u64;
    match s {
        s if s < 1e-9 => "0".to_owned(),
        _ if is_long && whole >= 3600 => {
            format!("{sign}{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
        }
        _ if is_long => format!("{sign}{}:{:02}", whole / 60, whole % 60),
        s => format!("{sign}{} s", trimmed(&format!("{s:.3}"))),
    }
}

/// A figure without the zeros that only say how exact it is: `2 ms` for `2.00 ms`.
pub(super) fn trimmed(figure: &str) -> String {
    let (number, unit) = figure.split_at(figure.find(' ').unwrap_or(figure.len()));
    match number.contains('.') {
        true => format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.')),
        false => figure.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_values() {
        let rows = [(97.0, 100.0), (101.0, 150.0), (3.2, 4.0), (0.0, 1.0), (f64::NAN, 1.0)];
        for (max, to) in rows {
            assert_eq!(Axis::linear(max).to, to, "{max}");
        }
        assert_eq!(Axis::whole(1.0).ticks(), [0.0, 1.0]);
        assert_eq!(Axis::whole(64.0).ticks(), [0.0, 20.0, 40.0, 60.0, 80.0]);
        let axis = Axis::log(130.0, 48_000.0);
        assert!((axis.from - 100.0).abs() < 1e-9 && (axis.to - 50_000.0).abs() < 1e-6, "{axis:?}");
        assert!((axis.place(100.0), axis.place(50_000.0)) == (0.0, 1.0));
    }

    #[test]
    fn ticks_are_few_and_within_the_axis() {
        for power in -9..15 {
            for (least, max) in [(1.0, 1.3), (1.0, 19.0), (1.0, 30.0), (1.3, 4e4), (3.0, 2e11)] {
                let scale = 10_f64.powi(power);
                let axis = Axis::suited(least * scale, max * scale);
                let ticks = axis.ticks();
                assert!((2..=9).contains(&ticks.len()), "{axis:?} {ticks:?}");
                assert!(ticks.is_sorted(), "{ticks:?}");
                assert!(axis.place(max * scale) > 0.3, "{axis:?}");
            }
        }
    }

    #[test]
    fn a_logarithmic_axis_has_1_2_and_5_of_each_decade() {
        let axis = Axis::log(130.0, 48_000.0);
        let near = |is: Vec<f64>, shall: &[f64]| {
            let pairs = is.iter().zip(shall);
            assert!(pairs.clone().all(|(is, shall)| (is / shall - 1.0).abs() < 1e-9), "{is:?}");
            assert_eq!(is.len(), shall.len(), "{is:?}");
        };
        let all = [100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4];
        near(axis.lines(), &all);
        near(axis.ticks(), &[100.0, 1e3, 1e4]);
        near(Axis::log(130.0, 19_000.0).ticks(), &all[..8]);
        near(Axis::log(300.0, 310.0).ticks(), &[200.0, 500.0]);
        assert_eq!(Axis::linear(97.0).lines(), Axis::linear(97.0).ticks());
        assert!(Axis::log(1.0, 1e12).lines().len() < 9);
    }

    #[test]
    fn loads_lie_as_far_apart_as_they_can() {
        assert!(Axis::spread(&[1.0, 10.0, 25.0, 50.0, 100.0]).is_log());
        assert!(Axis::spread(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]).is_log());
        assert!(!Axis::spread(&[10.0, 20.0, 30.0, 40.0, 50.0]).is_log());
        assert!(!Axis::spread(&[1.0, 2.0, 4.0]).is_log());
        assert!(!Axis::spread(&[]).is_log());
        assert!(!Axis::spread(&[0.0, 0.0]).is_log());
    }

    #[test]
    fn what_is_absurd_has_a_place_too() {
        for value in [f64::NAN, f64::INFINITY, -f64::INFINITY, -1.0, 0.0, f64::MAX, 1e-320] {
            for axis in [Axis::linear(value), Axis::suited(value, 1e300), Axis::suited(1.0, value)]
            {
                assert!((0.0..=1.0).contains(&axis.place(value)), "{axis:?} {value}");
                assert!(axis.ticks().len() < 40, "{axis:?} {value}");
            }
            let axis = TimeAxis { from_s: 0.0, to_s: value };
            assert!(axis.ticks().len() < 40 && (0.0..=1.0).contains(&axis.place(value)));
        }
    }

    #[test]
    fn moments_are_written_as_people_say_them() {
        let ticks = TimeAxis { from_s: -5.0, to_s: 60.0 }.ticks();
        assert_eq!(ticks, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
        assert_eq!(TimeAxis { from_s: 0.0, to_s: 0.9 }.ticks().len(), 5);
        let rows = [(0.0, false, "0"), (0.2, false, "0.2 s"), (90.0, false, "90 s")];
        let long = [(150.0, true, "2:30"), (3600.0, true, "1:00:00"), (-5.0, false, "\u{2212}5 s")];
        for (at_s, is_long, text) in rows.into_iter().chain(long) {
            assert_eq!(moment(at_s, is_long), text);
        }
        assert_eq!((trimmed("2.00 ms"), trimmed("1,000")), ("2 ms".into(), "1,000".into()));
    }
}
