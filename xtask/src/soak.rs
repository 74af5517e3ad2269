//! `cargo xtask soak`: the real binary under mixed load for a long time, while its children are
//! killed, it is restarted, files are replaced and logs moved away. Every answer is compared byte
//! for byte; what each fault may cost is known, and anything beyond is a broken invariant.

mod acts;
mod chaos;
mod client;
mod health;
mod ledger;
mod logs;
mod procs;
mod random;
mod ranges;
mod server;
mod site;
mod visit;

use crate::project::root;
use chaos::Chaos;
use health::HealthSample;
use ledger::SoakLedger;
use random::SoakRandom;
use server::SoakServer;
use site::SoakSite;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{Scope, ScopedJoinHandle, scope, sleep};
use std::time::{Duration, Instant, SystemTime};
use visit::SoakVisit;

const USAGE: &str = "\
usage: cargo xtask soak [--seconds N] [--connections N] [--seed N] [--binary FILE]

  --seconds N      how long (600), at least 30
  --connections N  clients at the same time (12)
  --seed N         repeats the random choices of another run
  --binary FILE    this program instead of one built from here
";

/// Between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(5);
/// Load before a look, so that what is made or opened once is there.
const WARM_UP: Duration = Duration::from_secs(5);
/// The part of the time at the end that has load and no faults: children live long enough then
/// for a leak of theirs to show.
const STEADY_SHARE: u64 = 4;

/// What the command line asked for.
#[derive(Debug, PartialEq)]
struct SoakOptions {
    seconds: u64,
    connections: u64,
    seed: u64,
    binary: Option<PathBuf>,
}

/// Runs the chore: 1 for a broken invariant or if it cannot run, 2 for a wrong command line.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let Some(options) = parse(args) else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    match soak(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("soak: {message}");
            ExitCode::FAILURE
        }
    }
}

fn parse(args: &[String]) -> Option<SoakOptions> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let seed = now.map_or(1, |since| since.as_secs());
    let mut options = SoakOptions { seconds: 600, connections: 12, seed, binary: None };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let value = args.next()?;
        match arg.as_str() {
            "--seconds" => options.seconds = value.parse().ok().filter(|n| *n >= 30)?,
            "--connections" => options.connections = value.parse().ok().filter(|n| *n >= 1)?,
            "--seed" => options.seed = value.parse().ok()?,
            "--binary" => options.binary = Some(PathBuf::from(value)),
            _ => return None,
        }
    }
    Some(options)
}

/// One run from the folder it needs to its removal; whether every invariant held.
fn soak(options: &SoakOptions) -> Result<bool, String> {
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => build()?,
    };
    let home = std::env::temp_dir().join(format!("trivet-soak-{}", std::process::id()));
    let ledger = SoakLedger::default();
    let ran = run_in(options, &binary, &home, &ledger);
    if let Err(message) = &ran {
        ledger.find(message.clone());
    }
    let held = summary(&ledger, options);
    if held {
        let _ = fs::remove_dir_all(&home);
    } else {
        println!("soak: logs and files are kept in {}", home.display());
    }
    Ok(held)
}

/// Builds what a user runs.
fn build() -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--locked", "-p", "trivet"])
        .current_dir(root())
        .status()
        .map_err(server::text("run cargo"))?;
    if !built.success() {
        return Err("trivet cannot be built; what cargo says is above".into());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    Ok(root().join(target).join("release/trivet"))
}

fn run_in(
    options: &SoakOptions,
    binary: &Path,
    home: &Path,
    ledger: &SoakLedger,
) -> Result<(), String> {
    let mut random = SoakRandom::new(options.seed);
    let source = root().join("examples/site");
    let site = SoakSite::make(&source, home.join("site"), &mut random);
    let mut site = site.map_err(server::text("make the site"))?;
    let server = SoakServer::start(binary, home)?;
    site.learn(server.port)?;
    println!(
        "soak: parent {}, port {}, {} connections, {} s, seed {}",
        server.pid(),
        server.port,
        options.connections,
        options.seconds,
        options.seed
    );
    let run = SoakRun { options, server: &server, site: &site, ledger, start: Instant::now() };
    run.phases()?;
    for fault in server.stop() {
        ledger.find(fault);
    }
    let (lines, faults) = logs::check(&home.join("logs"))?;
    faults.into_iter().for_each(|fault| ledger.find(fault));
    println!("soak: {lines} lines in the access logs");
    Ok(())
}

/// What all phases of a run share.
struct SoakRun<'a> {
    options: &'a SoakOptions,
    server: &'a SoakServer,
    site: &'a SoakSite,
    ledger: &'a SoakLedger,
    start: Instant,
}

impl SoakRun<'_> {
    /// Warm up, look; load with faults, then without, look; load without faults, look again.
    fn phases(&self) -> Result<(), String> {
        let total = Duration::from_secs(self.options.seconds);
        let steady = total / u32::try_from(STEADY_SHARE).unwrap_or(1);
        self.phase("warm-up", WARM_UP, false)?;
        // Once restarted before the first look, as it will be before the others; and under load
        // again, as children keep files open that were asked for.
        self.ledger.restarting();
        server::signal("USR1", self.server.pid());
        self.phase("warm-up", WARM_UP, false)?;
        let base = self.rest("at first")?;
        let faults = total.saturating_sub(steady + 3 * WARM_UP);
        let samples = self.phase("faults", faults, true)?;
        println!("soak: slopes with faults: {}", health::slopes(&samples));
        self.phase("recovery", WARM_UP, false)?;
        let recovered = self.rest("recovered")?;
        self.compare("after the faults", &base, &recovered);
        let samples = self.phase("steady", steady, false)?;
        println!("soak: slopes without: {}", health::slopes(&samples));
        let end = self.rest("at the end")?;
        self.compare("without faults", &recovered, &end);
        if end.children != recovered.children {
            self.ledger.find("a child was replaced although none was killed".into());
        }
        Ok(())
    }

    fn rest(&self, when: &str) -> Result<HealthSample, String> {
        let sample = health::at_rest(self.server, self.start)?;
        println!("soak: {when}: {sample}");
        Ok(sample)
    }

    fn compare(&self, when: &str, base: &HealthSample, now: &HealthSample) {
        for fault in now.growth_since(base) {
            self.ledger.find(format!("{when}: {fault}"));
        }
    }

    /// Load for a time, with faults or without. All threads have ended when it returns.
    fn phase(&self, name: &str, time: Duration, faults: bool) -> Result<Vec<HealthSample>, String> {
        let stop = AtomicBool::new(false);
        let number = AtomicU64::new(0);
        scope(|threads| {
            let clients = self.options.connections;
            let mut all: Vec<_> =
                (0..clients).map(|_| self.client(threads, &stop, &number)).collect();
            if faults {
                all.push(threads.spawn(|| self.chaos().run(&stop)));
            }
            let samples = self.watch(name, time);
            stop.store(true, Relaxed);
            let panicked = all.into_iter().filter_map(|thread| thread.join().err()).count();
            if panicked > 0 {
                self.ledger.find(format!("{panicked} threads of the soak itself panicked"));
            }
            samples
        })
    }

    fn client<'s>(
        &'s self,
        threads: &'s Scope<'s, '_>,
        stop: &'s AtomicBool,
        number: &'s AtomicU64,
    ) -> ScopedJoinHandle<'s, ()> {
        threads.spawn(move || {
            let own = number.fetch_add(1, Relaxed) + 1;
            let mut random = SoakRandom::new(self.options.seed ^ (own << 40));
            while !stop.load(Relaxed) {
                self.act(&mut random);
            }
        })
    }

    /// One connection from its opening to its end.
    fn act(&self, random: &mut SoakRandom) {
        let act = acts::choose(random);
        let mut visit = SoakVisit { site: self.site, random, port: self.server.port, answers: 0 };
        let opened = Instant::now();
        let done = (act.run)(&mut visit);
        self.ledger.answers.fetch_add(visit.answers, Relaxed);
        if let Err(trouble) = done {
            self.ledger.judge(act.name, (opened, Instant::now()), &trouble);
        }
        sleep(Duration::from_millis(random.within(0, 10) as u64));
    }

    fn chaos(&self) -> Chaos<'_> {
        let random = SoakRandom::new(self.options.seed ^ 0x5eed);
        Chaos { server: self.server, site: self.site, ledger: self.ledger, random }
    }

    /// Looks after the parent and prints a line now and then until the time is over.
    fn watch(&self, name: &str, time: Duration) -> Result<Vec<HealthSample>, String> {
        let end = Instant::now() + time;
        let mut samples: Vec<HealthSample> = Vec::new();
        let mut next_line = Instant::now() + PROGRESS;
        while Instant::now() < end {
            sleep(Duration::from_secs(1).min(end.saturating_duration_since(Instant::now())));
            if let Some(status) = self.server.ended() {
                return Err(format!("the parent has ended ({status})"));
            }
            let sample = HealthSample::take(self.server, self.start);
            if let Some(before) = samples.last() {
                for pid in health::lasting_zombies(before, &sample) {
                    self.ledger.find(format!("child {pid} is dead for a second and not reaped"));
                }
            }
            if Instant::now() >= next_line {
                next_line += PROGRESS;
                println!("soak: {:4.0} s {name}: {} | {sample}", sample.at_s, self.counts());
            }
            samples.push(sample);
        }
        Ok(samples)
    }

    fn counts(&self) -> String {
        counts(self.ledger)
    }
}

fn counts(ledger: &SoakLedger) -> String {
    let load = |count: &AtomicU64| count.load(Relaxed);
    format!(
        "{} answers, {} lost, {} again, {} wrong | {} kills, {} restarts, {} files, {} logs",
        load(&ledger.answers),
        load(&ledger.lost),
        load(&ledger.again),
        ledger.finding_count(),
        ledger.kill_count(),
        ledger.restart_count(),
        load(&ledger.replaced),
        load(&ledger.moved_logs)
    )
}

/// Prints how it ended; whether every invariant held.
fn summary(ledger: &SoakLedger, options: &SoakOptions) -> bool {
    let most_lost = ledger.kill_count() as u64 * options.connections;
    let lost = ledger.lost.load(Relaxed);
    if lost > most_lost {
        let what = format!("{lost} connections lost; the kills explain {most_lost} at most");
        ledger.find(what);
    }
    println!("soak: {}", counts(ledger));
    let count = ledger.finding_count();
    if count == 0 {
        println!("soak: every invariant held (seed {})", options.seed);
        return true;
    }
    println!("soak: FAILED, {count} broken invariants (seed {}):", options.seed);
    ledger.findings().iter().for_each(|finding| println!("  {finding}"));
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Option<SoakOptions> {
        parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_command_line_is_read() {
        let all = "--seconds 30 --connections 3 --seed 9 --binary a/b";
        let binary = Some(PathBuf::from("a/b"));
        let options = SoakOptions { seconds: 30, connections: 3, seed: 9, binary };
        assert_eq!(parsed(all), Some(options));
        assert_eq!(parsed("--seed 1").map(|options| options.seconds), Some(600));
        for wrong in ["--seconds 29", "--seconds", "--connections 0", "--fast", "30"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn more_lost_connections_than_kills_explain_fail_the_run() {
        let options = SoakOptions { seconds: 30, connections: 2, seed: 1, binary: None };
        let ledger = SoakLedger::default();
        ledger.killing();
        ledger.lost.store(2, Relaxed);
        assert!(summary(&ledger, &options));
        ledger.lost.store(3, Relaxed);
        assert!(!summary(&ledger, &options));
    }
}
