//! The manager of a map: a process that keeps the program of one `RewriteMap name prg:` and asks it
//! what serving processes want to know, one question after the other.
//!
//! Serving processes hold no pipe of the program and no lock: one that is killed in the middle of a
//! question disturbs nobody. The program is not trusted, and neither is who asks: an answer is
//! bounded in time and length, and a program that says anything without being asked is started
//! anew, since all its answers would be those of other questions. What the parent does about this
//! process is in `parent::managers`.

mod process;
mod questions;
mod rest;

use crate::Generation;
use crate::generation::managers::ManagerRole;
use crate::programs::{ManagerEnds, become_manager};
use logging::level::Level;
use process::{Heard, MapProcess};
use questions::{Questions, WaitingQuestion};
use rest::Rest;
use runtime::process::Ending;
use runtime::programs::{
    ClientSockets, LinkMessage, ManagerLink, MapAnswer, MapRequest, ProgramReport, VALUE_BYTES_MAX,
    end_group, question_line,
};
use runtime::signals::{Signal, Signals};
use runtime::{Channel, clock, event_fd};
use server::Server;
use server::map_program::{ANSWER_PATIENCE, MapProgram};
use std::os::fd::AsFd;
use std::time::Duration;

/// The name of the process in `ps`.
const NAME: &std::ffi::CStr = c"trivet: map";

/// The name of the module in the log.
const MODULE: &str = "rewrite";

/// Questions that are taken before anything else is looked after.
const QUESTIONS_PER_TURN: usize = 32;

/// How long a program may take to end that was told to (httpd's APR_KILL_AFTER_TIMEOUT).
const PATIENCE_MS: u64 = 3000;

/// The interval between log lines about ends of the program: one that ends after each answer has a
/// line for each request otherwise.
const SILENCE_MS: u64 = 10_000;

/// How soon the rest of a question is written again that the pipe had no room for.
const REWRITE_MS: u64 = 1;

/// The longest sleep while nothing is due.
const TICK: Duration = Duration::from_secs(60);

/// The exit code of a manager whose generation cannot begin without its program.
const FAILED: i32 = 1;

/// Keep the program of this number until nobody needs it; the result is the exit code. `is_first`
/// where the generation begins: then a program that cannot be started is the end.
pub(crate) fn serve(
    generation: &Generation,
    parent: i32,
    ManagerEnds { link, logs }: ManagerEnds,
    (number, is_first): (usize, bool),
) -> i32 {
    let server = &*generation.server;
    let role = ManagerRole::Map(number);
    let begun = become_manager(generation, parent, NAME, role);
    let (Some((sockets, signals)), Some(program)) = (begun, server.map_programs().get(number))
    else {
        return FAILED;
    };
    let manager = MapManager {
        server,
        program,
        link,
        logs,
        sockets,
        signals,
        process: None,
        asked: None,
        questions: Questions::new(),
        rest: Rest::default(),
        ending: Vec::new(),
        is_first,
        has_failed: false,
        serves: true,
        told: Told::default(),
    };
    manager.run()
}

/// A question that the program is at.
struct Asked {
    /// Who waits for the answer; nobody any more if it took too long.
    asker: Option<WaitingQuestion>,
    /// When the program counts as hanging.
    limit_ms: u64,
}

/// A program that was told to end, or has ended, until it is buried.
struct EndingProgram {
    pid: i32,
    kill_ms: u64,
    /// It has ended by itself, which the log hears of.
    by_itself: bool,
}

/// What the log was told of ends.
#[derive(Default)]
struct Told {
    at_ms: Option<u64>,
    left_out: u32,
}

/// Why the program is given up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// It has ended, or answers no more.
    Over,
    /// It was silent for too long.
    Hangs,
    /// Its answer has no end.
    TooLong,
    /// It has said what nobody has asked for.
    Unasked,
}

struct MapManager<'a> {
    server: &'a Server,
    program: &'a MapProgram,
    /// The link to the parent.
    link: ManagerLink,
    logs: Channel,
    sockets: ClientSockets,
    signals: Signals,
    /// The program that runs or starts.
    process: Option<MapProcess>,
    asked: Option<Asked>,
    questions: Questions,
    rest: Rest,
    ending: Vec<EndingProgram>,
    /// The generation begins with this.
    is_first: bool,
    has_failed: bool,
    serves: bool,
    told: Told,
}

impl MapManager<'_> {
    /// See to everything until the end; the result is the exit code.
    fn run(mut self) -> i32 {
        while self.serves || !self.ending.is_empty() {
            let now_ms = clock::monotonic_ms();
            if self.process.is_none() && self.serves && self.rest.is_over(now_ms) {
                self.start(now_ms);
            }
            if self.has_failed {
                return FAILED;
            }
            self.wait();
            self.obey();
            self.listen();
            self.take_questions();
            self.see_whether_it_runs();
            self.hear();
            self.see_who_has_ended();
            self.look_at_the_clock(clock::monotonic_ms());
            self.ask_next();
        }
        0
    }

    /// Sleep until there is something to do.
    fn wait(&self) {
        let limit = self.due_ms().saturating_sub(clock::monotonic_ms());
        let mut watched = vec![self.signals.as_fd()];
        if self.serves {
            watched.push(self.link.as_fd());
            if self.questions.has_room() {
                watched.push(self.sockets.as_fd());
            }
        }
        watched.extend(self.process.iter().flat_map(MapProcess::watched));
        event_fd::readable(&watched, Duration::from_millis(limit).min(TICK));
    }

    fn due_ms(&self) -> u64 {
        let asker = |asked: &Asked| asked.asker.as_ref().map_or(u64::MAX, |it| it.until_ms);
        let asked = self.asked.as_ref().map_or(u64::MAX, |it| it.limit_ms.min(asker(it)));
        let kill = self.ending.iter().map(|it| it.kill_ms).min().unwrap_or(u64::MAX);
        let process = match &self.process {
            None if self.serves => self.rest.again_ms(),
            None => u64::MAX,
            Some(process) if process.has_more_to_write() => clock::monotonic_ms() + REWRITE_MS,
            Some(process) => process.complaints.due_ms(),
        };
        asked.min(kill).min(process).min(self.questions.due_ms())
    }

    /// The terminal sends its signals to all processes of the group: the parent decides.
    fn obey(&mut self) {
        while let Some(signal) = self.signals.pending() {
            match signal {
                Signal::Term => self.stop(),
                Signal::Usr2 => self.server.follow_logs(&self.logs.receive()),
                _ => {}
            }
        }
    }

    /// Nobody asks any more, or the server stops.
    fn stop(&mut self) {
        self.serves = false;
        self.questions.turn_away_all();
        if let Some(asker) = self.asked.take().and_then(|asked| asked.asker) {
            asker.answer(&MapAnswer::None);
        }
        if let Some(process) = self.process.take() {
            self.end(process, false);
        }
    }

    /// What the parent says.
    fn listen(&mut self) {
        while self.serves {
            match self.link.next() {
                LinkMessage::ClientSocket(pid, socket) => {
                    // Without it the process waits in vain: the parent is asked for it again.
                    if self.sockets.add(pid, socket).is_err() {
                        self.link.has_lost(pid);
                    }
                }
                LinkMessage::Lost(pid) => self.link.has_lost(pid),
                // The first answer says that the program runs.
                LinkMessage::Question if self.is_first => {}
                LinkMessage::Question => self.link.answer(),
                LinkMessage::Nothing => return,
                LinkMessage::Over => self.stop(),
            }
        }
    }

    /// Take one question of each process that has any, and so on.
    fn take_questions(&mut self) {
        let mut taken = 0;
        while self.serves && taken < QUESTIONS_PER_TURN && self.questions.has_room() {
            let ready = self.sockets.ready();
            if ready.is_empty() {
                return;
            }
            taken += ready.len();
            ready.into_iter().for_each(|owner| self.take_question(owner));
        }
    }

    fn take_question(&mut self, owner: i32) {
        let Some(socket) = self.sockets.get(owner) else { return };
        match socket.next_question() {
            MapRequest::Nonsense | MapRequest::Nothing => {}
            MapRequest::Closed => self.sockets.remove(owner),
            MapRequest::Question(question) => {
                let now_ms = clock::monotonic_ms();
                let nobody = self.process.is_none() && self.rest.is_long(now_ms);
                let clients = self.sockets.count();
                if nobody || question_line(&question.key).is_none() {
                    question.answer(&MapAnswer::None);
                } else {
                    self.questions.admit(owner, question, now_ms, clients);
                }
            }
        }
    }

    fn start(&mut self, now_ms: u64) {
        match MapProcess::start(self.program) {
            Ok(process) => self.process = Some(process),
            Err(error) => self.cannot_start(error.raw_os_error().unwrap_or_default(), now_ms),
        }
    }

    fn cannot_start(&mut self, errno: i32, now_ms: u64) {
        let text = format!("mod_rewrite: could not start RewriteMap program {}", self.path());
        self.server.log_errno(errno, MODULE, Some(654), &text);
        self.rest.began(now_ms);
        self.rest.ended(false, now_ms);
        self.questions.turn_away_all();
        self.has_failed = self.is_first;
    }

    /// Whether the start has succeeded, once that is known.
    fn see_whether_it_runs(&mut self) {
        let Some(process) = &mut self.process else { return };
        let now_ms = clock::monotonic_ms();
        match process.launched() {
            None => {}
            Some(None) => {
                self.rest.began(now_ms);
                if std::mem::take(&mut self.is_first) {
                    // The parent waits for this.
                    self.link.answer();
                }
            }
            Some(Some(report)) => {
                if let Some(process) = self.process.take() {
                    self.end(process, false);
                }
                let errno = match report {
                    ProgramReport::Failed { errno, .. } => errno,
                    // There is no such user.
                    _ => process::NO_SUCH_USER,
                };
                self.cannot_start(errno, now_ms);
            }
        }
    }

    /// What the program says.
    fn hear(&mut self) {
        let server = self.server;
        let Some(process) = self.process.as_mut().filter(|process| process.runs()) else { return };
        process.complaints.log(&|line| tell(server, line));
        process.write();
        let heard = process.hear();
        let says_more = process.says_more();
        let is_answer = matches!(heard, Heard::Answer(_) | Heard::Over(Some(_)));
        process.has_answered |= is_answer && self.asked.is_some();
        match (heard, self.asked.take()) {
            (Heard::Nothing, None) if says_more => self.lose(Loss::Unasked),
            (Heard::Nothing, asked) => self.asked = asked,
            (Heard::Answer(answer), Some(asked)) => {
                if let Some(asker) = asked.asker {
                    asker.answer(&answer);
                }
                if says_more {
                    self.lose(Loss::Unasked);
                }
            }
            (Heard::Over(Some(answer)), Some(Asked { asker: Some(asker), .. })) => {
                asker.answer(&answer);
                self.lose(Loss::Over);
            }
            (Heard::Answer(_), None) => self.lose(Loss::Unasked),
            (heard, asked) => {
                self.asked = asked;
                let is_long = matches!(heard, Heard::TooLong);
                self.lose(if is_long { Loss::TooLong } else { Loss::Over });
            }
        }
    }

    /// Give the program up: the next one is started. Whoever waits for the answer of one that has
    /// just ended has it asked once more, since the end may have been that of the answer before.
    fn lose(&mut self, loss: Loss) {
        let Some(process) = self.process.take() else { return };
        let now_ms = clock::monotonic_ms();
        let (pid, path) = (process.pid, self.path());
        self.rest.ended(process.has_answered, now_ms);
        self.end(process, loss == Loss::Over);
        if let Some(mut asker) = self.asked.take().and_then(|asked| asked.asker) {
            match loss {
                Loss::Over if !asker.was_asked_again => {
                    asker.was_asked_again = true;
                    self.questions.put_back(asker);
                }
                _ => asker.answer(&MapAnswer::None),
            }
        }
        if self.rest.is_long(now_ms) {
            self.questions.turn_away_all();
        }
        let what = match loss {
            // The log hears of it when it is known how.
            Loss::Over => return,
            Loss::Hangs => {
                let seconds = ANSWER_PATIENCE.as_secs();
                format!("has not answered for {seconds} s")
            }
            Loss::TooLong => format!("has an answer of more than {VALUE_BYTES_MAX} bytes"),
            Loss::Unasked => "has said something without being asked".to_owned(),
        };
        let text = format!(
            "the RewriteMap program {path} {what}: it is ended and started again: pid {pid}"
        );
        self.server.log(Level::Error, MODULE, None, None, text.as_bytes());
    }

    /// Tell a program to end, whose pipes are closed by this. It is killed after a while.
    fn end(&mut self, mut process: MapProcess, by_itself: bool) {
        let server = self.server;
        process.complaints.log_last(&|line| tell(server, line));
        end_group(process.pid, false);
        let kill_ms = clock::monotonic_ms() + PATIENCE_MS;
        self.ending.push(EndingProgram { pid: process.pid, kill_ms, by_itself });
    }

    fn see_who_has_ended(&mut self) {
        while let Some(pid) = runtime::process::ended() {
            if self.process.as_ref().is_some_and(|process| process.pid == pid) {
                self.see_whether_it_runs();
                // What it has said before counts.
                self.hear();
                self.lose(Loss::Over);
            }
            let index = self.ending.iter().position(|it| it.pid == pid);
            let by_itself = index.map(|index| self.ending.swap_remove(index).by_itself);
            if by_itself.is_some() {
                // What it has started goes with it.
                end_group(pid, true);
            }
            let ending = runtime::process::wait_for(pid);
            if let (Some(true), Some(ending)) = (by_itself, ending) {
                self.tell_of_end(pid, ending);
            }
        }
    }

    /// The program has ended by itself.
    fn tell_of_end(&mut self, pid: i32, ending: Ending) {
        let now_ms = clock::monotonic_ms();
        if self.told.at_ms.is_some_and(|at_ms| now_ms < at_ms + SILENCE_MS) {
            self.told.left_out += 1;
            return;
        }
        let others = match std::mem::take(&mut self.told.left_out) {
            0 => String::new(),
            count => format!(", and {count} times before"),
        };
        self.told.at_ms = Some(now_ms);
        let path = self.path();
        let text = format!(
            "the RewriteMap program {path} has ended, and is started again: pid {pid} \
             {ending}{others}"
        );
        self.server.log(Level::Error, MODULE, None, None, text.as_bytes());
    }

    fn look_at_the_clock(&mut self, now_ms: u64) {
        self.questions.turn_away_late(now_ms);
        if let Some(asked) = &mut self.asked {
            let is_late = |asker: &mut WaitingQuestion| asker.until_ms <= now_ms;
            if let Some(asker) = asked.asker.take_if(is_late) {
                asker.answer(&MapAnswer::None);
            }
            if asked.limit_ms <= now_ms {
                self.lose(Loss::Hangs);
            }
        }
        for program in self.ending.iter_mut().filter(|it| it.kill_ms <= now_ms) {
            end_group(program.pid, true);
            program.kill_ms = now_ms + PATIENCE_MS;
        }
        let server = self.server;
        if let Some(process) = &mut self.process {
            process.complaints.tell_what_was_left_out(now_ms, &|line| tell(server, line));
        }
    }

    /// Ask the next question, if the program is free.
    fn ask_next(&mut self) {
        if self.asked.is_some() || !self.process.as_ref().is_some_and(MapProcess::runs) {
            return;
        }
        let Some(asker) = self.questions.next() else { return };
        // Whatever it has said by now is no answer to this.
        self.hear();
        let line = question_line(asker.key());
        let (Some(process), Some(line)) = (&mut self.process, line) else {
            return self.questions.put_back(asker);
        };
        process.ask(line);
        let patience_ms = u64::try_from(ANSWER_PATIENCE.as_millis()).unwrap_or(u64::MAX);
        let limit_ms = clock::monotonic_ms() + patience_ms;
        self.asked = Some(Asked { asker: Some(asker), limit_ms });
    }

    fn path(&self) -> String {
        self.program.program.to_string_lossy().into_owned()
    }
}

/// What the program says on its standard error. To httpd that is the error log itself.
fn tell(server: &Server, line: &[u8]) {
    server.log(Level::Error, MODULE, None, None, line);
}
