//! The grammar of patterns, `1-150:60,30,150-1:60`: how the load rises and falls, as blitz had it,
//! and more.
//!
//! A pattern becomes straight pieces, so that its level, its integral and the inverse of that are
//! short formulas. When something is due is asked of the `Pacer`.

use crate::text::{DURATION_NS_MAX, SyntaxFault, TextScanner, scan_duration};

/// What a level counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadKind {
    /// Users at the same time: each waits for its answer (closed loop).
    Users,
    /// Requests per second, whether answers come or not (open loop).
    Rate,
}

/// A straight piece of a pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// When the piece begins, in nanoseconds from the start of the pattern.
    pub start_ns: u64,
    /// How long it is; `None` for ever, which only the last can be.
    pub len_ns: Option<u64>,
    /// The level where it begins.
    pub from: f64,
    /// The level where it ends.
    pub to: f64,
}

impl Segment {
    /// The level so long after its start. It rises or falls all along, without a wiggle.
    pub fn level(&self, offset_ns: u64) -> f64 {
        match self.len_ns {
            Some(len_ns) => {
                self.from + (self.to - self.from) * (offset_ns.min(len_ns) as f64 / len_ns as f64)
            }
            None => self.from,
        }
    }

    /// When the piece ends, in nanoseconds from the start of the pattern.
    pub fn end_ns(&self) -> Option<u64> {
        self.len_ns.map(|len_ns| self.start_ns + len_ns)
    }
}

/// Users, or requests per second, over time.
///
/// ```text
/// pattern  = interval *( "," interval )
/// interval = levels ":" duration *( ":" shape ) [ "*" times ]
///          | duration [ "*" times ]               the last level held so long; not at first
/// levels   = level [ "-" level ]                  from and to; one alone is held
///          | "[" region *( "," region ) "]"       all regions are added up
/// region   = [ name ":" ] level [ "-" level ]
/// level    = number [ "r" ]                       users, or with r requests per second
/// duration = number [ "ms" / "s" / "m" / "h" ]    seconds unless it says
/// shape    = "expo"                               by a like factor, not by a like number
///          | "step=" N                            N even steps, the first at from, the last at to
/// times    = how often the interval comes, one after the other
/// ```
///
/// All levels of a pattern have the `r`, or none. Users are whole numbers, rates may have a point.
/// A level is reached at the end of its interval: `1-150:60` has 75.5 after half a minute. `expo`
/// needs both levels above 0; it is made of a hundred straight pieces, which is within one part
/// in a thousand for levels that differ by a factor of up to 5000. Blanks are allowed around
/// intervals.
///
/// ```
/// use load::pattern::{LoadKind, LoadPattern};
///
/// let pattern = LoadPattern::parse("1-150:60,30,150-1:60").unwrap();
/// assert_eq!(pattern.kind(), LoadKind::Users);
/// assert_eq!(pattern.duration_ns(), Some(150_000_000_000));
/// assert_eq!(pattern.level(30_000_000_000), 75.5);
/// assert_eq!(pattern.level(75_000_000_000), 150.0);
///
/// let fault = LoadPattern::parse("1-150:60,up").unwrap_err();
/// assert_eq!(fault.at, 9);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LoadPattern {
    kind: LoadKind,
    segments: Vec<Segment>,
}

/// Users at most: more than the ports of sixteen addresses.
pub const USERS_MAX: f64 = 1_000_000.0;
/// Requests per second at most: more than the machine can send.
pub const RATE_MAX: f64 = 100_000_000.0;
/// Straight pieces at most: repeats, steps and curves can make many of a short text.
const SEGMENTS_MAX: usize = 20_000;
/// Straight pieces that make a curve.
const CURVE_PIECES: u32 = 100;

impl LoadPattern {
    /// Reads a pattern.
    pub fn parse(text: &str) -> Result<Self, SyntaxFault> {
        let mut reader = PatternParser {
            scanner: TextScanner::new(text),
            kind: None,
            segments: Vec::new(),
            last: None,
        };
        loop {
            reader.interval()?;
            if reader.scanner.is_at_end() {
                break;
            }
            if !reader.scanner.eat(",") {
                return Err(reader.scanner.fault("expected a comma or the end"));
            }
        }
        let pattern =
            Self { kind: reader.kind.unwrap_or(LoadKind::Users), segments: reader.segments };
        if pattern.peak() > 0.0 {
            Ok(pattern)
        } else {
            Err(SyntaxFault::new(text, 0, "the pattern never rises above 0"))
        }
    }

    /// Reads levels for [`Self::steps`], `1,10,25` or `100r,200r`.
    pub fn parse_steps(text: &str, each_ns: u64) -> Result<Self, SyntaxFault> {
        let mut reader = PatternParser {
            scanner: TextScanner::new(text),
            kind: None,
            segments: Vec::new(),
            last: None,
        };
        let mut levels = Vec::new();
        loop {
            reader.scanner.skip_blanks();
            levels.push(reader.level()?);
            reader.scanner.skip_blanks();
            if reader.scanner.is_at_end() {
                return Self::steps(reader.kind.unwrap_or(LoadKind::Users), &levels, each_ns);
            }
            if !reader.scanner.eat(",") {
                return Err(reader.scanner.fault("expected a comma or the end"));
            }
        }
    }

    /// One level all the time, or for so long.
    pub fn constant(
        kind: LoadKind,
        level: f64,
        duration_ns: Option<u64>,
    ) -> Result<Self, SyntaxFault> {
        check_level(kind, level)?;
        if level <= 0.0 {
            return Err(SyntaxFault::new(&level.to_string(), 0, "expected a level above 0"));
        }
        duration_ns.map_or(Ok(()), check_duration)?;
        let segment = Segment { start_ns: 0, len_ns: duration_ns, from: level, to: level };
        Ok(Self { kind, segments: vec![segment] })
    }

    /// From one user to `users`, one more after each `each_ns`, and then for ever.
    pub fn arriving(users: u32, each_ns: u64) -> Result<Self, SyntaxFault> {
        let kind = LoadKind::Users;
        let constant = Self::constant(kind, f64::from(users), None)?;
        if each_ns == 0 || users < 2 {
            return Ok(constant);
        }
        let len_ns = each_ns.saturating_mul(u64::from(users - 1));
        check_duration(len_ns)?;
        // Levels are rounded: from a half on there is one user, from one and a half on two.
        let (from, to) = (0.5, f64::from(users) - 0.5);
        let ramp = Segment { start_ns: 0, len_ns: Some(len_ns), from, to };
        let rest = Segment { start_ns: len_ns, ..constant.segments[0] };
        Ok(Self { kind, segments: vec![ramp, rest] })
    }

    /// One level after the other, each held for so long.
    pub fn steps(kind: LoadKind, levels: &[f64], each_ns: u64) -> Result<Self, SyntaxFault> {
        check_duration(each_ns)?;
        check_duration(each_ns.saturating_mul(levels.len() as u64))?;
        if levels.len() > SEGMENTS_MAX {
            return Err(SyntaxFault::new("", 0, format!("expected at most {SEGMENTS_MAX} steps")));
        }
        let mut segments = Vec::with_capacity(levels.len());
        for (start_ns, &level) in (0u64..).map(|n| n * each_ns).zip(levels) {
            check_level(kind, level)?;
            segments.push(Segment { start_ns, len_ns: Some(each_ns), from: level, to: level });
        }
        let pattern = Self { kind, segments };
        if pattern.peak() > 0.0 {
            Ok(pattern)
        } else {
            Err(SyntaxFault::new("", 0, "expected a level above 0"))
        }
    }

    /// What the levels count.
    pub const fn kind(&self) -> LoadKind {
        self.kind
    }

    /// The straight pieces, without gaps between them.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The level at a moment; 0 after the end. Where two pieces meet, the second counts.
    pub fn level(&self, t_ns: u64) -> f64 {
        self.segment_at(t_ns).map_or(0.0, |segment| segment.level(t_ns - segment.start_ns))
    }

    /// How long it goes; `None` for ever.
    pub fn duration_ns(&self) -> Option<u64> {
        self.segments.last().and_then(Segment::end_ns)
    }

    /// The highest level.
    pub fn peak(&self) -> f64 {
        self.segments.iter().map(|segment| segment.from.max(segment.to)).fold(0.0, f64::max)
    }

    /// The index of the piece that a moment belongs to.
    pub(crate) fn index_at(&self, t_ns: u64) -> Option<usize> {
        let index =
            self.segments.partition_point(|segment| segment.start_ns <= t_ns).checked_sub(1)?;
        let is_within = self.segments[index].end_ns().is_none_or(|end_ns| t_ns < end_ns);
        is_within.then_some(index)
    }

    fn segment_at(&self, t_ns: u64) -> Option<&Segment> {
        self.index_at(t_ns).map(|index| &self.segments[index])
    }
}

fn check_level(kind: LoadKind, level: f64) -> Result<(), SyntaxFault> {
    let (max, whole) = match kind {
        LoadKind::Users => (USERS_MAX, level.fract() == 0.0),
        LoadKind::Rate => (RATE_MAX, true),
    };
    let what = match kind {
        _ if !(0.0..=max).contains(&level) => format!("expected a level from 0 to {max}"),
        LoadKind::Users if !whole => "expected a whole number of users".to_owned(),
        _ => return Ok(()),
    };
    Err(SyntaxFault::new(&level.to_string(), 0, what))
}

fn check_duration(duration_ns: u64) -> Result<(), SyntaxFault> {
    if (1..=DURATION_NS_MAX).contains(&duration_ns) {
        return Ok(());
    }
    let text = format!("{} s", duration_ns as f64 / 1e9);
    Err(SyntaxFault::new(&text, 0, "expected a duration above 0 and of at most a year"))
}

/// Reads one interval after the other.
struct PatternParser<'a> {
    scanner: TextScanner<'a>,
    kind: Option<LoadKind>,
    segments: Vec<Segment>,
    /// Where the interval before ended.
    last: Option<f64>,
}

/// An interval as written.
struct Interval {
    from: f64,
    to: f64,
    len_ns: u64,
    is_expo: bool,
    steps: Option<u32>,
}

impl PatternParser<'_> {
    fn interval(&mut self) -> Result<(), SyntaxFault> {
        self.scanner.skip_blanks();
        let start = self.scanner.clone();
        let interval = match self.hold()? {
            Some(interval) => interval,
            None => self.ramp()?,
        };
        let times = if self.scanner.eat("*") { self.count("how often", 1)? } else { 1 };
        self.scanner.skip_blanks();
        self.last = Some(interval.to);
        for _ in 0..times {
            self.add(&interval).map_err(|what| start.fault(what))?;
        }
        Ok(())
    }

    /// A duration alone, which no `-` or `:` follows.
    fn hold(&mut self) -> Result<Option<Interval>, SyntaxFault> {
        let rest = self.scanner.rest();
        let end = rest.find(',').unwrap_or(rest.len());
        if rest[..end].contains(['-', ':', '[']) {
            return Ok(None);
        }
        let Some(level) = self.last else {
            return Err(self.scanner.fault("expected levels and a duration, such as 1-150:60"));
        };
        let len_ns = scan_duration(&mut self.scanner)?;
        Ok(Some(Interval { from: level, to: level, len_ns, is_expo: false, steps: None }))
    }

    fn ramp(&mut self) -> Result<Interval, SyntaxFault> {
        let start = self.scanner.clone();
        let (from, to) = if self.scanner.eat("[") { self.regions()? } else { self.levels()? };
        if from.max(to) > self.level_max() {
            return Err(start.fault(format!("expected at most {}", self.level_max())));
        }
        if !self.scanner.eat(":") {
            return Err(self.scanner.fault("expected a colon and a duration"));
        }
        let len_ns = scan_duration(&mut self.scanner)?;
        let mut interval = Interval { from, to, len_ns, is_expo: false, steps: None };
        while self.scanner.eat(":") {
            self.shape(&mut interval)?;
        }
        Ok(interval)
    }

    fn shape(&mut self, interval: &mut Interval) -> Result<(), SyntaxFault> {
        let start = self.scanner.clone();
        if self.scanner.eat("expo") {
            if interval.from <= 0.0 || interval.to <= 0.0 {
                return Err(start.fault("expo needs both levels above 0"));
            }
            interval.is_expo = true;
        } else if self.scanner.eat("step=") {
            interval.steps = Some(self.count("the number of steps", 2)?);
        } else {
            return Err(start.fault("expected expo or step=N"));
        }
        Ok(())
    }

    /// `name:1-100,name:1-50]`, added up.
    fn regions(&mut self) -> Result<(f64, f64), SyntaxFault> {
        let mut sum = (0.0, 0.0);
        loop {
            self.scanner.skip_blanks();
            let start = self.scanner.clone();
            let name = self.scanner.take_while(|c| c.is_alphanumeric() || "_-. ".contains(c));
            if !self.scanner.eat(":") || name.is_empty() {
                self.scanner = start;
            }
            self.scanner.skip_blanks();
            let (from, to) = self.levels()?;
            sum = (sum.0 + from, sum.1 + to);
            self.scanner.skip_blanks();
            if self.scanner.eat("]") {
                return Ok(sum);
            }
            if !self.scanner.eat(",") {
                return Err(self.scanner.fault("expected a comma or ]"));
            }
        }
    }

    fn levels(&mut self) -> Result<(f64, f64), SyntaxFault> {
        let from = self.level()?;
        let to = if self.scanner.eat("-") { self.level()? } else { from };
        Ok((from, to))
    }

    fn level(&mut self) -> Result<f64, SyntaxFault> {
        let start = self.scanner.clone();
        let level = self.scanner.number("a level")?;
        let kind = if self.scanner.eat("r") { LoadKind::Rate } else { LoadKind::Users };
        if *self.kind.get_or_insert(kind) != kind {
            return Err(start.fault("either all levels have an r or none"));
        }
        check_level(kind, level).map_err(|fault| start.fault(fault.what))?;
        Ok(level)
    }

    const fn level_max(&self) -> f64 {
        if let Some(LoadKind::Rate) = self.kind { RATE_MAX } else { USERS_MAX }
    }

    fn count(&mut self, what: &str, least: u32) -> Result<u32, SyntaxFault> {
        let start = self.scanner.clone();
        let digits = self.scanner.take_while(|c| c.is_ascii_digit());
        let most = SEGMENTS_MAX as u32;
        let count = digits.parse().ok().filter(|count| (least..=most).contains(count));
        count.ok_or_else(|| start.fault(format!("expected {what} from {least} to {most}")))
    }

    /// Adds the straight pieces of an interval.
    fn add(&mut self, interval: &Interval) -> Result<(), String> {
        let Interval { from, to, len_ns, .. } = *interval;
        let pieces = match interval.steps {
            Some(steps) => steps,
            None if interval.is_expo => CURVE_PIECES,
            None => 1,
        };
        // A piece cannot be shorter than a nanosecond.
        let pieces = pieces.min(u32::try_from(len_ns).unwrap_or(u32::MAX));
        let start_ns = self.segments.last().and_then(Segment::end_ns).unwrap_or(0);
        if self.segments.len() + pieces as usize > SEGMENTS_MAX {
            return Err(format!("this gives the pattern more than {SEGMENTS_MAX} pieces"));
        }
        if start_ns + len_ns > DURATION_NS_MAX {
            return Err("this makes the pattern longer than a year".to_owned());
        }
        let edge =
            |piece: u32| (u128::from(len_ns) * u128::from(piece) / u128::from(pieces)) as u64;
        let level = |piece: u32, of: u32| match (piece, of) {
            (0, _) => from,
            (piece, of) if piece == of => to,
            (piece, of) if interval.is_expo => {
                from * (to / from).powf(f64::from(piece) / f64::from(of))
            }
            (piece, of) => from + (to - from) * (f64::from(piece) / f64::from(of)),
        };
        for piece in 0..pieces {
            let (from, to) = match interval.steps {
                Some(_) => (level(piece, pieces - 1), level(piece, pieces - 1)),
                None => (level(piece, pieces), level(piece + 1, pieces)),
            };
            let (begin, end) = (edge(piece), edge(piece + 1));
            let segment =
                Segment { start_ns: start_ns + begin, len_ns: Some(end - begin), from, to };
            self.segments.push(segment);
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
