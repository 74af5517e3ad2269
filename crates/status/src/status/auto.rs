//! `?auto`: one key a line, in the order of mod_status (status_handler of mod_status.c).

use super::cpu::load_averages;
use super::figures::{ChildFigures, StatusFigures};
use super::names::ServerNames;
use super::number::{general, ratio};
use super::spelled::{in_words, long_time};
use scoreboard::Totals;
use server::{IDENTITY, built};
use std::fmt::{Display, Write as _};

/// The list.
pub(super) fn text(figures: &StatusFigures, names: &ServerNames<'_>, is_extended: bool) -> String {
    let mut out = format!("{}\n", names.server);
    server(&mut out, figures);
    if is_extended {
        traffic(&mut out, figures);
    }
    workers(&mut out, figures);
    line(&mut out, "Scoreboard", figures.scoreboard());
    out
}

fn line(out: &mut String, key: &str, value: impl Display) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{key}: {value}");
}

fn server(out: &mut String, figures: &StatusFigures) {
    line(out, "ServerVersion", IDENTITY);
    line(out, "ServerMPM", figures.mpm.name());
    line(out, "Server Built", built());
    line(out, "CurrentTime", long_time(figures.now_s));
    line(out, "RestartTime", long_time(figures.started_s));
    // httpd counts readings of the configuration from 1, and generations of children from 0.
    line(out, "ParentServerConfigGeneration", figures.generation + 1);
    line(out, "ParentServerMPMGeneration", figures.generation);
    line(out, "ServerUptimeSeconds", figures.uptime_s());
    // `in_words` begins each unit with a blank, as show_time does: no blank behind the colon.
    let _ = writeln!(out, "ServerUptime:{}", in_words(figures.uptime_s()));
    for (key, load) in ["Load1", "Load5", "Load15"].iter().zip(load_averages()) {
        line(out, key, load);
    }
}

fn traffic(out: &mut String, figures: &StatusFigures) {
    let Totals { requests, bytes, .. } = figures.totals;
    let busy_ms = figures.busy_ms();
    let uptime_s = figures.uptime_s();
    line(out, "Total Accesses", requests);
    line(out, "Total kBytes", bytes / 1024);
    line(out, "Total Duration", busy_ms);
    let keys = ["CPUUser", "CPUSystem", "CPUChildrenUser", "CPUChildrenSystem"];
    for (key, seconds) in keys.iter().zip(figures.cpu.seconds()) {
        line(out, key, general(seconds));
    }
    if let Some(load) = figures.cpu_load() {
        line(out, "CPULoad", general(load));
    }
    line(out, "Uptime", uptime_s);
    if uptime_s > 0 {
        line(out, "ReqPerSec", general(ratio(requests, uptime_s)));
        line(out, "BytesPerSec", general(ratio(figures.whole_bytes(), uptime_s)));
    }
    if requests > 0 {
        line(out, "BytesPerReq", general(ratio(figures.whole_bytes(), requests)));
        line(out, "DurationPerReq", general(ratio(busy_ms, requests)));
    }
}

fn workers(out: &mut String, figures: &StatusFigures) {
    line(out, "BusyWorkers", figures.slots(ChildFigures::busy));
    line(out, "GracefulWorkers", figures.graceful());
    line(out, "IdleWorkers", figures.slots(ChildFigures::idle));
    if figures.is_async() {
        connections(out, figures);
    }
}

fn connections(out: &mut String, figures: &StatusFigures) {
    let connections =
        figures.connections(|child| child.process.connections) + figures.older.connections;
    line(out, "Processes", figures.processes());
    line(out, "Stopping", figures.stopping());
    line(out, "ConnsTotal", connections);
    line(out, "ConnsAsyncWaitIO", 0); // a handler that waits keeps its slot, and is busy
    line(out, "ConnsAsyncWriting", figures.connections(|child| child.process.writing));
    line(out, "ConnsAsyncKeepAlive", figures.connections(ChildFigures::keep_alive));
    line(out, "ConnsAsyncClosing", figures.connections(|child| child.process.lingering));
}
