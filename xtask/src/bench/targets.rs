//! What trivet has to reach: the kinds of targets, what each of them says, and whether runs meet
//! it. Which scenario has which targets is the table in `scenarios.rs`.

use super::figures::{self, BenchRun};
use super::programs::cores;
use super::spread::Spread;

/// One of a scenario's. The first name is that of the server that has to reach it; where there is
/// none, it is trivet, and where there is one more, it is the server that it is compared with.
#[derive(Debug, PartialEq)]
pub(super) enum BenchTarget {
    /// CPU per request: at most this many times that of the named server.
    Cpu(&'static str, f64),
    /// The same, as an ambition beyond the target.
    CpuAmbition(&'static str, f64),
    /// Requests per second: at least this many times those of the named server.
    Rate(&'static str, f64),
    /// The cost of one server: at most this many times that of another.
    Cost(&'static str, &'static str, f64),
    /// Requests per second of one server: at least this many times those of another.
    Outruns(&'static str, &'static str, f64),
    /// The cost of one server: at most this many microseconds more than that of another.
    Adds(&'static str, &'static str, f64),
    /// What one server costs more than another: at most this many times what the first server of
    /// the second pair costs more than the other one of it.
    AddsPart((&'static str, &'static str), (&'static str, &'static str), f64),
    /// Memory per connection: at most this many bytes.
    Bytes(&'static str, f64),
    /// Requests per second: at least so many.
    AtLeast(&'static str, f64),
    /// Requests per second: so many and no more.
    AtMost(&'static str, f64),
    /// Requests per second: at least so many on each core of the machine.
    OnEachCore(&'static str, f64),
    /// No second of a staircase is below this part of the median of its level.
    Steady(&'static str, f64),
    /// What is left after a staircase, compared with what was there before.
    MemoryBack(&'static str, f64),
    /// What is left of its processes, compared with what may be.
    ProcessesBack(&'static str, f64),
}

use BenchTarget::{
    Adds, AddsPart, AtLeast, AtMost, Bytes, Cost, Cpu, CpuAmbition, MemoryBack, OnEachCore,
    Outruns, ProcessesBack, Rate, Steady,
};

/// The server whose targets name none.
pub(super) const OURS: &str = "trivet";

/// What a target comes to.
struct TargetClaim {
    says: String,
    figure: TargetFigure,
    limit: f64,
    /// Else at least.
    at_most: bool,
}

/// One of the two figures of a run.
#[derive(Debug, Clone, Copy)]
enum TargetFigure {
    Rate,
    Cost,
}

impl BenchTarget {
    /// The servers that it is about: first the one that has to reach it.
    pub(super) fn servers(&self) -> Vec<&'static str> {
        match *self {
            Cpu(peer, _) | CpuAmbition(peer, _) | Rate(peer, _) => vec![OURS, peer],
            Cost(ours, peer, _) | Outruns(ours, peer, _) | Adds(ours, peer, _) => vec![ours, peer],
            AddsPart((ours, without), (peer, peer_without), _) => {
                vec![ours, without, peer, peer_without]
            }
            Bytes(ours, _) | AtLeast(ours, _) | AtMost(ours, _) | OnEachCore(ours, _) => vec![ours],
            Steady(ours, _) | MemoryBack(ours, _) | ProcessesBack(ours, _) => vec![ours],
        }
    }

    /// What the target limits, from the figures of these servers. None where what the peer adds
    /// is lost in the noise, since nothing is a part of that.
    fn measured(&self, figures: &[f64]) -> Option<f64> {
        match *figures {
            [ours, without] if matches!(self, Adds(..)) => Some(ours - without),
            [ours, peer] => Some(ours / peer),
            [ours, without, peer, peer_without] => {
                (peer_without < peer).then(|| (ours - without) / (peer - peer_without))
            }
            [ours] => Some(ours),
            _ => None,
        }
    }

    #[rustfmt::skip] // a table
    fn claim(&self) -> TargetClaim {
        use TargetFigure::{Cost as COST, Rate as RATE};
        let (figure, at_most, limit, says) = match *self {
            Cpu(peer, limit) => (COST, true, limit, format!("CPU at most {limit} × {peer}")),
            CpuAmbition(peer, limit) =>
                (COST, true, limit, format!("ambition: CPU at most {limit} × {peer}")),
            Rate(peer, limit) =>
                (RATE, false, limit, format!("requests/s at least {limit} × {peer}")),
            Cost(ours, peer, limit) =>
                (COST, true, limit, format!("{ours} costs at most {limit} × {peer}")),
            Outruns(ours, peer, limit) =>
                (RATE, false, limit, format!("{ours}: requests/s at least {limit} × {peer}")),
            Adds(ours, without, limit) =>
                (COST, true, limit, format!("{ours} costs at most {limit} µs more than {without}")),
            AddsPart((ours, without), (peer, peer_without), limit) =>
                (COST, true, limit, format!("{ours} adds to {without} at most {limit} × what \
                    {peer} adds to {peer_without}")),
            Bytes(_, limit) => (COST, true, limit, format!("at most {limit} bytes/connection")),
            AtLeast(ours, limit) =>
                (RATE, false, limit, format!("{ours}: at least {limit} requests/s")),
            AtMost(ours, limit) =>
                (RATE, true, limit, format!("{ours}: at most {limit} requests/s")),
            OnEachCore(ours, limit) => {
                let all = limit * cores() as f64;
                (RATE, false, all, format!("{ours}: at least {limit} requests/s on each core"))
            }
            Steady(_, limit) =>
                (RATE, false, limit, format!("no second below {limit} × the median of its level")),
            MemoryBack(_, limit) =>
                (COST, true, limit, format!("memory back to {limit} × within a minute")),
            ProcessesBack(_, limit) =>
                (COST, true, limit, "a process less in each second afterwards".into()),
        };
        TargetClaim { says, figure, limit, at_most }
    }
}

/// What a target says, what was measured, and whether it is met.
pub(super) fn judge(
    runs: &[BenchRun],
    scenario: &str,
    target: &BenchTarget,
) -> (String, Option<f64>, String) {
    let claim = target.claim();
    let median = |server| figure(runs, scenario, server, claim.figure).map(|spread| spread.median);
    let servers = target.servers();
    let medians: Option<Vec<f64>> = servers.iter().map(|server| median(*server)).collect();
    let Some(measured) = medians.and_then(|medians| target.measured(&medians)) else {
        return (claim.says, None, "not measured".into());
    };
    let clean = servers
        .iter()
        .all(|server| figures::of(runs, scenario, server).all(|run| run.fault.is_none()));
    let result = match clean {
        true => verdict(measured, claim.limit, claim.at_most),
        false => "not clean".into(),
    };
    (claim.says, Some(measured), result)
}

/// "met", or by how many percent of the limit it is missed.
fn verdict(measured: f64, limit: f64, at_most: bool) -> String {
    let excess = if at_most { measured / limit - 1.0 } else { 1.0 - measured / limit };
    if excess <= 0.0 {
        return "met".into();
    }
    format!("missed by {:.1} %", excess * 100.0)
}

fn figure(runs: &[BenchRun], scenario: &str, server: &str, figure: TargetFigure) -> Option<Spread> {
    match figure {
        TargetFigure::Rate => figures::rate(runs, scenario, server),
        TargetFigure::Cost => figures::cost(runs, scenario, server),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(server: &'static str, rate: f64, cost: f64) -> BenchRun {
        BenchRun { scenario: "close-25", server, round: 1, rate, cost, ..BenchRun::default() }
    }

    #[test]
    fn targets_are_met_missed_or_not_measured() {
        let runs = [run("trivet", 120.0, 6.0), run("nginx", 100.0, 10.0)];
        let result = |target| judge(&runs, "close-25", &target).2;
        assert_eq!(result(Cpu("nginx", 0.6)), "met");
        assert_eq!(result(Cpu("nginx", 0.5)), "missed by 20.0 %");
        assert_eq!(result(Rate("nginx", 1.5)), "missed by 20.0 %");
        assert_eq!(result(Rate("nginx", 1.2)), "met");
        assert_eq!(result(Bytes("trivet", 5.0)), "missed by 20.0 %");
        assert_eq!(result(Cpu("h2o", 1.0)), "not measured");
    }

    #[test]
    fn targets_between_named_servers_and_plain_numbers() {
        let runs = [run("trivet-worker", 100.0, 1.2), run("apache-worker", 50.0, 2.0)];
        let result = |target| judge(&runs, "close-25", &target).2;
        assert_eq!(result(Outruns("trivet-worker", "apache-worker", 2.0)), "met");
        assert_eq!(result(Outruns("trivet-worker", "apache-worker", 2.5)), "missed by 20.0 %");
        assert_eq!(result(Cost("trivet-worker", "apache-worker", 0.6)), "met");
        assert_eq!(result(AtLeast("trivet-worker", 125.0)), "missed by 20.0 %");
        assert_eq!(result(AtMost("trivet-worker", 80.0)), "missed by 25.0 %");
        assert_eq!(result(MemoryBack("trivet-worker", 1.2)), "met");
        let cores = cores() as f64;
        assert_eq!(result(OnEachCore("trivet-worker", 100.0 / cores)), "met");
        assert_eq!(result(OnEachCore("trivet-worker", 125.0 / cores)), "missed by 20.0 %");
    }

    #[test]
    fn what_a_server_adds_is_a_difference() {
        let runs = [
            run("trivet-rules", 1.0, 5.0),
            run("trivet-plain", 1.0, 2.0),
            run("apache-rules", 1.0, 30.0),
            run("apache-plain", 1.0, 20.0),
        ];
        let result = |target| judge(&runs, "close-25", &target).2;
        let (ours, peer) = (("trivet-rules", "trivet-plain"), ("apache-rules", "apache-plain"));
        assert_eq!(result(Adds(ours.0, ours.1, 3.0)), "met");
        assert_eq!(result(Adds(ours.0, ours.1, 2.5)), "missed by 20.0 %");
        assert_eq!(result(AddsPart(ours, peer, 0.3)), "met");
        assert_eq!(result(AddsPart(ours, peer, 0.25)), "missed by 20.0 %");
        assert_eq!(result(AddsPart(ours, (peer.1, peer.0), 0.3)), "not measured");
        assert_eq!(result(AddsPart(ours, ("h2o", peer.1), 0.3)), "not measured");
    }

    #[test]
    fn a_faulty_run_meets_nothing() {
        let faulty = BenchRun { fault: Some("wrk: errors".into()), ..run("trivet", 1.0, 1.0) };
        let runs = [faulty, run("nginx", 1.0, 10.0)];
        assert_eq!(judge(&runs, "close-25", &Cpu("nginx", 1.0)).2, "not clean");
    }
}
