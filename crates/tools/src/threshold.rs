//! Conditions on the result of a run, for `--fail-if` and `--find-max`:
//! `p99<200ms && errors<0.1%`. What a metric counts is said by whoever has it.

use load::text::{SyntaxFault, TextScanner, nearest};
use std::fmt;

/// Where the metrics of a run come from.
pub trait Metrics {
    /// A metric by its name as [`METRICS`] has it, or a percentile as `p99` or `p99.9`, in its base
    /// unit: times in nanoseconds, sizes in bytes, all else as a number. `None` if this run has
    /// none.
    fn get(&self, name: &str) -> Option<f64>;

    /// The same of the run that this one is compared with, if it is.
    fn before(&self, _name: &str) -> Option<f64> {
        None
    }
}

/// What a metric is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricUnit {
    /// A time, in nanoseconds.
    Time,
    /// A size, in bytes or bytes per second.
    Size,
    /// A number; with `%`, the part of it in all requests.
    Count,
    /// A number that is no part of anything.
    Number,
    /// A share from 0 to 1, written with `%`.
    Share,
}

/// The metrics, beside percentiles `p0` to `p100`.
pub const METRICS: &[(&str, MetricUnit)] = &[
    ("mean", MetricUnit::Time),
    ("min", MetricUnit::Time),
    ("max", MetricUnit::Time),
    ("stdev", MetricUnit::Time),
    ("duration", MetricUnit::Time),
    ("rate", MetricUnit::Number),
    ("requests", MetricUnit::Number),
    ("errors", MetricUnit::Count),
    ("timeouts", MetricUnit::Count),
    ("refused", MetricUnit::Count),
    ("resets", MetricUnit::Count),
    ("late", MetricUnit::Count),
    ("status1xx", MetricUnit::Count),
    ("status2xx", MetricUnit::Count),
    ("status3xx", MetricUnit::Count),
    ("status4xx", MetricUnit::Count),
    ("status5xx", MetricUnit::Count),
    ("unexpected", MetricUnit::Count),
    ("bytes", MetricUnit::Size),
    ("bytes_per_s", MetricUnit::Size),
    ("cpu_us", MetricUnit::Number),
    ("server_cpu", MetricUnit::Share),
    ("client_cpu", MetricUnit::Share),
    ("memory", MetricUnit::Size),
];

/// A condition on metrics.
///
/// ```text
/// condition  = all *( "||" all )
/// all        = single *( "&&" single )
/// single     = "!" single / "(" condition ")" / comparison
/// comparison = metric ( "<" / "<=" / ">" / ">=" / "==" / "!=" ) [ sign ] number [ unit ]
/// sign       = "+" / "-"                  how much more or less than in the run before
/// metric     = a name of METRICS, or a percentile: p50, p99.9
/// unit       = "us" "ms" "s" "m"          times; ms if there is none
///            | "%"                        errors and the like: of all requests; others only
///                                         with a sign: of what the run before has
///            | "k" "M" "G"                numbers: thousands and so on
///            | "B" "KB" "MB" "GB"         sizes, by thousands; "KiB" and so on by 1024
/// ```
///
/// `p99>+10%` is true if the 99th percentile is more than a tenth longer than in the run that this
/// one is compared with, `rate<-5%` if the rate is less than 95 % of that, `p99>+5ms` if it is more
/// than 5 ms longer. What is a share by itself changes by points: `errors>+1%` is true of 3 % after
/// 1 %. Without a sign a comparison speaks of one run alone.
///
/// Case does not count, except that after a time `m` are minutes. A metric that a run does not have
/// fails every comparison, whichever way: a condition that cannot be checked does not hold.
///
/// ```
/// use tools::threshold::{ThresholdCondition, Metrics};
///
/// struct Run;
/// impl Metrics for Run {
///     fn get(&self, name: &str) -> Option<f64> {
///         match name {
///             "p99" => Some(250e6),
///             "errors" => Some(3.0),
///             "requests" => Some(1000.0),
///             _ => None,
///         }
///     }
/// }
///
/// let condition = ThresholdCondition::parse("p99<200ms && errors<0.1%").unwrap();
/// assert!(!condition.holds(&Run));
/// assert_eq!(condition.explain(&Run), "p99 is 250ms, not < 200ms; errors is 0.3%, not < 0.1%");
/// assert!(ThresholdCondition::parse("p99<200ms || rate>1k").is_ok());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ThresholdCondition {
    root: ConditionNode,
}

#[derive(Clone, Debug, PartialEq)]
enum ConditionNode {
    Any(Vec<Self>),
    All(Vec<Self>),
    Not(Box<Self>),
    Compare(MetricComparison),
}

/// One comparison.
#[derive(Clone, Debug, PartialEq)]
struct MetricComparison {
    metric: String,
    measure: MetricUnit,
    operator: Operator,
    /// The limit in base units, or in percent.
    limit: f64,
    is_share: bool,
    /// Whether the limit is for the difference from the run before.
    is_change: bool,
    /// The limit as it was written.
    written: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

/// Longer ones first, where one begins with another.
const OPERATORS: [(&str, Operator); 7] = [
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
    ("=", Operator::Equal),
];

/// Bytes of a condition at most, and parentheses within each other.
const TEXT_BYTES_MAX: usize = 4096;
const DEPTH_MAX: usize = 50;

impl ThresholdCondition {
    /// Reads a condition.
    pub fn parse(text: &str) -> Result<Self, SyntaxFault> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(SyntaxFault::new(text, 0, format!("longer than {TEXT_BYTES_MAX} bytes")));
        }
        let mut reader = ConditionParser { scanner: TextScanner::new(text), depth: 0 };
        let root = reader.any()?;
        if reader.scanner.is_at_end() {
            return Ok(Self { root });
        }
        Err(reader.scanner.fault("expected &&, || or the end"))
    }

    /// Whether the condition holds for a run.
    pub fn holds(&self, metrics: &dyn Metrics) -> bool {
        self.root.holds(metrics)
    }

    /// Each comparison with what the run has: `p99 is 12.5ms, < 200ms; errors is 3%, not < 1%`.
    pub fn explain(&self, metrics: &dyn Metrics) -> String {
        let mut comparisons = Vec::new();
        self.root.comparisons(&mut comparisons);
        let told: Vec<String> = comparisons.iter().map(|one| one.explain(metrics)).collect();
        told.join("; ")
    }

    /// What the condition says of two runs, as it was written; `None` if it speaks of one alone.
    pub fn change(&self) -> Option<&str> {
        let mut comparisons = Vec::new();
        self.root.comparisons(&mut comparisons);
        let found = comparisons.into_iter().find(|one| one.is_change);
        found.map(|one| one.written.as_str())
    }

    /// The names of all metrics in it that cannot be compared with anything.
    pub fn unknown(&self, metrics: &dyn Metrics) -> Vec<&str> {
        let mut comparisons = Vec::new();
        self.root.comparisons(&mut comparisons);
        let unknown = comparisons.into_iter().filter(|one| one.actual(metrics).is_none());
        unknown.map(|one| one.metric.as_str()).collect()
    }

    /// The longest latency that it speaks of, in nanoseconds; 0 if it speaks of none.
    pub fn longest_latency_ns(&self) -> f64 {
        let mut comparisons = Vec::new();
        self.root.comparisons(&mut comparisons);
        let is_latency = |one: &&&MetricComparison| {
            let is_time = one.measure == MetricUnit::Time && !one.is_change;
            is_time && !matches!(one.metric.as_str(), "duration" | "stdev")
        };
        comparisons.iter().filter(is_latency).map(|one| one.limit).fold(0.0, f64::max)
    }

    /// The names of all metrics in it, in order, for whoever has to measure them.
    pub fn metrics(&self) -> Vec<&str> {
        let mut comparisons = Vec::new();
        self.root.comparisons(&mut comparisons);
        comparisons.iter().map(|one| one.metric.as_str()).collect()
    }
}

impl ConditionNode {
    fn holds(&self, metrics: &dyn Metrics) -> bool {
        match self {
            Self::Any(nodes) => nodes.iter().any(|node| node.holds(metrics)),
            Self::All(nodes) => nodes.iter().all(|node| node.holds(metrics)),
            Self::Not(node) => node.is_known(metrics) && !node.holds(metrics),
            Self::Compare(comparison) => comparison.holds(metrics),
        }
    }

    /// Whether the run has every metric in it: what cannot be checked does not hold, nor does its
    /// opposite.
    fn is_known(&self, metrics: &dyn Metrics) -> bool {
        let mut comparisons = Vec::new();
        self.comparisons(&mut comparisons);
        comparisons.iter().all(|one| one.actual(metrics).is_some())
    }

    fn comparisons<'a>(&'a self, out: &mut Vec<&'a MetricComparison>) {
        match self {
            Self::Any(nodes) | Self::All(nodes) => {
                nodes.iter().for_each(|node| node.comparisons(out));
            }
            Self::Not(node) => node.comparisons(out),
            Self::Compare(comparison) => out.push(comparison),
        }
    }
}

impl MetricComparison {
    /// What is compared with the limit, in its unit.
    fn actual(&self, metrics: &dyn Metrics) -> Option<f64> {
        let now = self.value(&|name| metrics.get(name))?;
        if !self.is_change {
            return Some(now);
        }
        let before = self.value(&|name| metrics.before(name))?;
        Some(match now - before {
            change if self.is_relative() && change != 0.0 => change * 100.0 / before,
            change => change,
        })
    }

    /// Whether the limit is in percent of what was before.
    const fn is_relative(&self) -> bool {
        let is_own = matches!(self.measure, MetricUnit::Count | MetricUnit::Share);
        self.is_change && self.is_share && !is_own
    }

    /// What a run has, in the unit of the limit if that is one.
    fn value(&self, get: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        let value = get(&self.metric)?;
        let value = match (self.is_share, self.measure) {
            (true, MetricUnit::Count) => {
                let requests = get("requests")?;
                // Nothing of nothing is nothing.
                if value == 0.0 { 0.0 } else { value * 100.0 / requests }
            }
            (true, MetricUnit::Share) => value * 100.0,
            _ => value,
        };
        (!value.is_nan()).then_some(value)
    }

    fn holds(&self, metrics: &dyn Metrics) -> bool {
        let Some(actual) = self.actual(metrics) else { return false };
        match self.operator {
            Operator::Less => actual < self.limit,
            Operator::LessOrEqual => actual <= self.limit,
            Operator::Greater => actual > self.limit,
            Operator::GreaterOrEqual => actual >= self.limit,
            Operator::Equal => actual == self.limit,
            Operator::NotEqual => actual != self.limit,
        }
    }

    fn explain(&self, metrics: &dyn Metrics) -> String {
        let Self { metric, operator, written, .. } = self;
        let (Some(actual), Some(now)) =
            (self.actual(metrics), self.value(&|name| metrics.get(name)))
        else {
            return format!("{metric} is not known, so not {operator} {written}");
        };
        let not = if self.holds(metrics) { "" } else { "not " };
        let now = self.shown(now, self.is_relative());
        if !self.is_change {
            return format!("{metric} is {now}, {not}{operator} {written}");
        }
        let before = self.value(&|name| metrics.before(name)).unwrap_or(0.0);
        let before = self.shown(before, self.is_relative());
        let sign = if actual < 0.0 { '-' } else { '+' };
        let change = match self.is_relative() {
            true => format!("{}%", rounded(actual.abs())),
            false => self.shown(actual.abs(), false),
        };
        format!("{metric} is {now} after {before}: {sign}{change}, {not}{operator} {written}")
    }

    /// A value of this metric; `is_plain` says that it is no share although the limit is.
    fn shown(&self, value: f64, is_plain: bool) -> String {
        match self.measure {
            _ if self.is_share && !is_plain => format!("{}%", rounded(value)),
            MetricUnit::Time => shown_scaled(value, &[(1e9, "s"), (1e6, "ms"), (1e3, "us")], "ns"),
            MetricUnit::Size => shown_scaled(value, &[(1e9, "GB"), (1e6, "MB"), (1e3, "KB")], "B"),
            _ => rounded(value),
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = OPERATORS.iter().find(|(_, operator)| operator == self);
        f.write_str(found.map_or("", |(text, _)| text))
    }
}

/// In the greatest unit in which it is at least 1.
fn shown_scaled(value: f64, units: &[(f64, &str)], base: &str) -> String {
    match units.iter().find(|(scale, _)| value >= *scale) {
        Some((scale, unit)) => format!("{}{unit}", rounded(value / scale)),
        None => format!("{}{base}", rounded(value)),
    }
}

/// Four digits behind the point at most, and none that are nothing.
fn rounded(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

struct ConditionParser<'a> {
    scanner: TextScanner<'a>,
    depth: usize,
}

impl ConditionParser<'_> {
    fn any(&mut self) -> Result<ConditionNode, SyntaxFault> {
        self.joined("||", Self::all, ConditionNode::Any)
    }

    fn all(&mut self) -> Result<ConditionNode, SyntaxFault> {
        self.joined("&&", Self::single, ConditionNode::All)
    }

    /// One or more of `part` with `between` between them.
    fn joined(
        &mut self,
        between: &str,
        part: fn(&mut Self) -> Result<ConditionNode, SyntaxFault>,
        join: fn(Vec<ConditionNode>) -> ConditionNode,
    ) -> Result<ConditionNode, SyntaxFault> {
        let mut parts = vec![part(self)?];
        while self.scanner.eat(between) {
            parts.push(part(self)?);
        }
        match parts.pop() {
            Some(only) if parts.is_empty() => Ok(only),
            last => {
                parts.extend(last);
                Ok(join(parts))
            }
        }
    }

    fn single(&mut self) -> Result<ConditionNode, SyntaxFault> {
        self.scanner.skip_blanks();
        let is_not = self.scanner.eat("!");
        if !is_not && !self.scanner.eat("(") {
            let comparison = self.comparison()?;
            self.scanner.skip_blanks();
            return Ok(ConditionNode::Compare(comparison));
        }
        // `!` counts as well: each calls this again, and a long row of them would end the stack.
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.scanner.fault(format!("at most {DEPTH_MAX} parentheses")));
        }
        let node = if is_not { ConditionNode::Not(Box::new(self.single()?)) } else { self.any()? };
        if !is_not && !self.scanner.eat(")") {
            return Err(self.scanner.fault("expected &&, || or )"));
        }
        self.depth -= 1;
        self.scanner.skip_blanks();
        Ok(node)
    }

    fn comparison(&mut self) -> Result<MetricComparison, SyntaxFault> {
        let start = self.scanner.clone();
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let metric = self.scanner.take_while(is_letter).to_ascii_lowercase();
        let measure = measure_of(&metric).map_err(|what| start.fault(what))?;
        self.scanner.skip_blanks();
        let found = OPERATORS.iter().find(|(text, _)| self.scanner.rest().starts_with(text));
        let Some(&(text, operator)) = found else {
            return Err(self.scanner.fault("expected a comparison: < <= > >= == !="));
        };
        self.scanner.at += text.len();
        self.scanner.skip_blanks();
        let begin = self.scanner.at;
        let sign = match (self.scanner.eat("+"), self.scanner.eat("-")) {
            (true, false) => Some(1.0),
            (false, true) => Some(-1.0),
            (false, false) => None,
            (true, true) => return Err(self.scanner.fault("expected either + or -")),
        };
        let number = self.scanner.number("a number")? * sign.unwrap_or(1.0);
        let unit_at = self.scanner.clone();
        let unit = self.scanner.take_while(|c| c.is_ascii_alphabetic() || c == '%');
        let is_change = sign.is_some();
        let scale = scale_of(measure, unit, is_change).map_err(|what| unit_at.fault(what))?;
        let written = self.scanner.text[begin..self.scanner.at].to_owned();
        let is_share = unit == "%";
        let limit = number * scale;
        Ok(MetricComparison { metric, measure, operator, limit, is_share, is_change, written })
    }
}

/// What a metric is measured in, or what is wrong with its name.
fn measure_of(name: &str) -> Result<MetricUnit, String> {
    if let Some((_, measure)) = METRICS.iter().find(|(known, _)| *known == name) {
        return Ok(*measure);
    }
    let percentile = name.strip_prefix('p').filter(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit())
            && rest.ends_with(|c: char| c.is_ascii_digit())
            && rest.len() <= 10
    });
    if let Some(percentile) = percentile {
        let is_good = percentile.parse().is_ok_and(|part: f64| (0.0..=100.0).contains(&part));
        return if is_good { Ok(MetricUnit::Time) } else { Err("expected p0 to p100".to_owned()) };
    }
    let names: Vec<&str> = METRICS.iter().map(|row| row.0).chain(["p50", "p90", "p99"]).collect();
    Err(match nearest(name, &names).filter(|_| !name.is_empty()) {
        Some(near) => format!("no such metric; did you mean {near}?"),
        None => format!("expected a metric: p99, {}", names[..names.len() - 3].join(", ")),
    })
}

/// Base units in one of this unit. A limit in percent stays in percent: a hundredth is no double,
/// and 7 of 1000 are to be 0.7%.
fn scale_of(measure: MetricUnit, unit: &str, is_change: bool) -> Result<f64, &'static str> {
    let lower = unit.to_ascii_lowercase();
    match (measure, lower.as_str()) {
        (_, "%") if is_change => Ok(1.0),
        (MetricUnit::Time, "%") => Err("expected a unit of time: us, ms, s or m; or +10%"),
        (MetricUnit::Size, "%") => Err("expected a unit of size: B, KB, MB, GB; or +10%"),
        (MetricUnit::Number, "%") => Err("expected k, M or no unit; or +10%"),
        (MetricUnit::Time, "us") => Ok(1e3),
        (MetricUnit::Time, "ms" | "") => Ok(1e6),
        (MetricUnit::Time, "s") => Ok(1e9),
        (MetricUnit::Time, "m") => Ok(60e9),
        (MetricUnit::Time, _) => Err("expected a unit of time: us, ms, s or m"),
        (MetricUnit::Count | MetricUnit::Share, "%") => Ok(1.0),
        (MetricUnit::Share, "") => Ok(1.0),
        (MetricUnit::Share, _) => Err("expected %"),
        (MetricUnit::Size, "b" | "") => Ok(1.0),
        (MetricUnit::Size, "k" | "kb") => Ok(1e3),
        (MetricUnit::Size, "m" | "mb") => Ok(1e6),
        (MetricUnit::Size, "g" | "gb") => Ok(1e9),
        (MetricUnit::Size, "kib") => Ok(1024.0),
        (MetricUnit::Size, "mib") => Ok(1024.0 * 1024.0),
        (MetricUnit::Size, "gib") => Ok(1024.0 * 1024.0 * 1024.0),
        (MetricUnit::Size, _) => Err("expected a unit of size: B, KB, MB, GB, KiB, MiB or GiB"),
        (MetricUnit::Count | MetricUnit::Number, "") => Ok(1.0),
        (MetricUnit::Count | MetricUnit::Number, "k") => Ok(1e3),
        (MetricUnit::Count | MetricUnit::Number, "m") => Ok(1e6),
        (MetricUnit::Count | MetricUnit::Number, "g") => Ok(1e9),
        (MetricUnit::Count, _) => Err("expected %, k, M or no unit"),
        (MetricUnit::Number, _) => Err("expected k, M or no unit"),
    }
}

#[cfg(test)]
#[path = "threshold_tests.rs"]
mod tests;
