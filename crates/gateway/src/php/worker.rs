//! A process that runs scripts for others: it takes requests from a connection, one after the
//! other, and answers each when its script has written something (FastCGI 1.0, as php-fpm does). It
//! has one thread, which waits for whatever it waits for.

use super::interpreter::Engine;
use super::questions::ServerFacts;
use fastcgi::record::{EndRequest, ProtocolStatus, Role};
use fastcgi::responder::{Responder, ServerEvent};
use php::{
    Answer, Asked, Output, ReplyPairs, ScriptHead, ScriptRequest, ScriptRun, Setting, Stacks, Step,
};
use std::fs::File;
use std::io::{Read, Write};
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes that are read of a connection at a time.
const READ_BYTES: usize = 64 * 1024;

/// The names of parameters that are for the process and not for the script. No field of a request
/// makes such a name, and what a `.htaccess` file sets by it is taken away
/// (`pool::forget_parameters`).
pub(super) mod parameter {
    /// The field `Authorization`.
    pub(in super::super) const AUTHORIZATION: &str = "trivet.authorization";
    /// Who the server says the client is.
    pub(in super::super) const USER: &str = "trivet.user";
    /// The status that an error document is for.
    pub(in super::super) const STATUS: &str = "trivet.status";
    /// The source of the script is shown.
    pub(in super::super) const SOURCE: &str = "trivet.source";
    /// php_value and the like, a line each.
    pub(in super::super) const SETTINGS: &str = "trivet.settings";

    /// All of them.
    pub(in super::super) const ALL: [&str; 5] = [AUTHORIZATION, USER, STATUS, SOURCE, SETTINGS];
}

/// Serve a connection to its end. Says whether the process may have another one: after
/// `requests_max` requests it is used up.
pub(super) fn serve(
    engine: &Engine,
    of: &ServerFacts,
    connection: File,
    requests_max: Option<u64>,
) -> bool {
    let mut server = Connection {
        socket: connection,
        responder: Responder::default(),
        input: vec![0; READ_BYTES],
        start: 0,
        end: 0,
        out: Vec::new(),
    };
    let stacks = Rc::new(Stacks::default());
    while let Some(keeps) = server.next_request() {
        let may_go_on = server.answer(engine, of, &stacks);
        let count = engine.count_request();
        if requests_max.is_some_and(|most| count >= most) {
            return false;
        }
        if !may_go_on || !keeps {
            break;
        }
    }
    true
}

/// The server at the other end.
struct Connection {
    socket: File,
    responder: Responder,
    input: Vec<u8>,
    /// What of the input was not looked at yet.
    start: usize,
    end: usize,
    out: Vec<u8>,
}

/// What of a request has come.
enum Came {
    Begin { keeps: bool },
    Params,
    Body(Vec<u8>),
    BodyEnd,
}

impl Connection {
    /// The next thing that comes; `None` when the connection is of no more use.
    fn next(&mut self) -> Option<Came> {
        loop {
            let (used, event) = self.responder.receive(&self.input[self.start..self.end]).ok()?;
            let came = match event {
                Some(ServerEvent::Begin(begin)) if begin.role == Role::RESPONDER => {
                    Some(Came::Begin { keeps: begin.keep_conn })
                }
                Some(ServerEvent::Begin(_) | ServerEvent::Abort) => return None,
                Some(ServerEvent::Params) => Some(Came::Params),
                Some(ServerEvent::Stdin(piece)) => Some(Came::Body(piece.to_vec())),
                Some(ServerEvent::StdinEnd) => Some(Came::BodyEnd),
                Some(ServerEvent::GetValues) => {
                    let known: &[(&[u8], &[u8])] = &[(b"FCGI_MPXS_CONNS", b"0")];
                    let _ = self.responder.values(&mut self.out, known);
                    None
                }
                Some(ServerEvent::Unknown(kind)) => {
                    self.responder.unknown(&mut self.out, kind);
                    None
                }
                None => {
                    self.start += used;
                    self.send()?;
                    self.read()?;
                    continue;
                }
            };
            self.start += used;
            if came.is_some() {
                return came;
            }
        }
    }

    fn read(&mut self) -> Option<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.input.len() {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let length = self.socket.read(&mut self.input[self.end..]).ok()?;
        self.end += length;
        (length > 0).then_some(())
    }

    /// Send what is to be sent.
    fn send(&mut self) -> Option<()> {
        if !self.out.is_empty() {
            self.socket.write_all(&self.out).ok()?;
            self.out.clear();
        }
        Some(())
    }

    /// Wait for a request, to the end of its variables: whether the connection is kept after it.
    fn next_request(&mut self) -> Option<bool> {
        let Came::Begin { keeps } = self.next()? else { return None };
        match self.next()? {
            Came::Params => Some(keeps),
            _ => None,
        }
    }

    /// Run the script. Says whether another request may come.
    fn answer(&mut self, engine: &Engine, of: &ServerFacts, stacks: &Rc<Stacks>) -> bool {
        let Some(script) = script(&self.responder) else { return false };
        if !engine.is_on() && !script.has_setting("engine") {
            return self.refuse();
        }
        let Some(Ok(mut run)) =
            engine.interpreter().map(|started| ScriptRun::new(&started, stacks, script))
        else {
            return false;
        };
        let mut script = RunningScript { is_gone: false, is_body_over: false, is_finished: false };
        let mut answer = Answer::Go;
        while let Some(step) = run.resume(answer) {
            answer = script.take(self, of, step);
        }
        if !script.is_finished && !script.is_gone {
            script.end(self);
        }
        // What is left of the body stands before the next request.
        !script.is_gone && (script.is_body_over || self.skip_body())
    }

    /// php.ini turns PHP off, and no line of the configuration turns it on.
    fn refuse(&mut self) -> bool {
        let text = b"<3>PHP is turned off in php.ini (engine): the source of scripts is not sent";
        self.responder.stderr(&mut self.out, text);
        let head = b"Status: 403 Forbidden\r\nContent-Type: text/plain\r\n\r\nPHP is turned off.\n";
        self.responder.stdout(&mut self.out, head);
        let mut script = RunningScript { is_gone: false, is_body_over: false, is_finished: false };
        script.end(self);
        !script.is_gone && self.skip_body()
    }

    fn skip_body(&mut self) -> bool {
        loop {
            match self.next() {
                Some(Came::BodyEnd) => return true,
                Some(Came::Body(_)) => {}
                _ => return false,
            }
        }
    }
}

/// How far a script has come.
struct RunningScript {
    /// Nobody takes what it writes.
    is_gone: bool,
    is_body_over: bool,
    /// The answer is complete, whatever it does.
    is_finished: bool,
}

impl RunningScript {
    fn take(&mut self, server: &mut Connection, of: &ServerFacts, step: Step) -> Answer {
        match step {
            Step::Wrote(output) => {
                self.write(server, output);
                self.send(server);
                if self.is_gone { Answer::Gone } else { Answer::Go }
            }
            Step::Ended { output, .. } => {
                self.write(server, output);
                Answer::Go
            }
            Step::Asks(asked) => self.reply(server, of, asked),
        }
    }

    fn reply(&mut self, server: &mut Connection, of: &ServerFacts, asked: Asked) -> Answer {
        let variables = |server: &Connection| -> ReplyPairs {
            let all = server.responder.params().flatten();
            all.filter(|pair| is_variable(pair.0))
                .map(|(name, value)| (name.to_vec(), value.to_vec()))
                .collect()
        };
        match asked {
            Asked::Body => Answer::Body(self.body(server)),
            Asked::Log(level, text) => {
                let line = [format!("<{level}>").as_bytes(), &text].concat();
                // Sent at once: a script that crashes shall not take its last words with it.
                match self.is_finished {
                    false => {
                        server.responder.stderr(&mut server.out, &line);
                        self.send(server);
                    }
                    true => of.log(level, &text),
                }
                Answer::Go
            }
            Asked::Variable(name) => {
                let all = variables(server);
                let known = all.into_iter().find(|row| row.0.eq_ignore_ascii_case(&name));
                Answer::text(known.map(|row| row.1))
            }
            Asked::Variables => Answer::pairs(variables(server)),
            Asked::RequestFields => {
                let mut all = fields(&variables(server));
                let own = server.responder.params().flatten();
                let field = own.filter(|pair| pair.0 == parameter::AUTHORIZATION.as_bytes());
                all.extend(field.map(|pair| (b"Authorization".to_vec(), pair.1.to_vec())));
                Answer::pairs(all)
            }
            Asked::ResponseFields(fields) => Answer::pairs(fields),
            Asked::Finish(output) => {
                self.write(server, output);
                self.end(server);
                Answer::status(if self.is_gone { 500 } else { 200 })
            }
            Asked::Note(_) | Asked::SetNote(..) | Asked::SetVariable(..) => Answer::text(None),
            Asked::Server => of.about(),
            Asked::Modules => Answer::pairs(of.modules()),
            // The server is not asked in the middle of a script.
            Asked::LookUp(_) | Asked::Include(..) => Answer::status(500),
        }
    }

    fn body(&mut self, server: &mut Connection) -> Vec<u8> {
        if self.is_body_over {
            return Vec::new();
        }
        match server.next() {
            Some(Came::Body(piece)) => piece,
            Some(Came::BodyEnd) => {
                self.is_body_over = true;
                Vec::new()
            }
            Some(Came::Begin { .. } | Came::Params) | None => {
                self.is_gone = true;
                self.is_body_over = true;
                Vec::new()
            }
        }
    }

    fn write(&mut self, server: &mut Connection, output: Output) {
        if self.is_finished || self.is_gone {
            return;
        }
        let Output { head, mut body } = output;
        if let Some(head) = head {
            let mut text = head_text(&head);
            text.append(&mut body);
            body = text;
        }
        server.responder.stdout(&mut server.out, &body);
    }

    fn send(&mut self, server: &mut Connection) {
        self.is_gone |= server.send().is_none();
    }

    fn end(&mut self, server: &mut Connection) {
        let end = EndRequest { app_status: 0, protocol_status: ProtocolStatus::REQUEST_COMPLETE };
        server.responder.end_stdout(&mut server.out);
        server.responder.end_request(&mut server.out, end);
        self.is_finished = true;
        self.send(server);
    }
}

/// The head of an answer as CGI has it (RFC 3875 section 6). The status always stands there, so
/// that `Location` means what it means to mod_php.
fn head_text(head: &ScriptHead) -> Vec<u8> {
    let text = head.status_text().map(<[u8]>::to_vec);
    let status = text.unwrap_or_else(|| head.status.to_string().into_bytes());
    let mut text = [b"Status: ", &status[..], b"\r\n"].concat();
    let content_type = (b"Content-Type".to_vec(), head.content_type.clone());
    for (name, value) in head.fields.iter().chain([&content_type]) {
        text.extend_from_slice(name);
        text.extend_from_slice(b": ");
        text.extend_from_slice(value);
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(b"\r\n");
    text
}

fn is_variable(name: &[u8]) -> bool {
    !name.starts_with(b"trivet.")
}

/// The fields of the request, as far as variables tell them.
fn fields(variables: &ReplyPairs) -> ReplyPairs {
    let field = |(name, value): &(Vec<u8>, Vec<u8>)| {
        let name = match &name[..] {
            b"CONTENT_TYPE" | b"CONTENT_LENGTH" => name.as_slice(),
            name => name.strip_prefix(b"HTTP_")?,
        };
        let words = name.split(|byte| *byte == b'_').map(|word| {
            let mut word = word.to_ascii_lowercase();
            if let Some(first) = word.first_mut() {
                first.make_ascii_uppercase();
            }
            word
        });
        Some((words.collect::<Vec<_>>().join(&b'-'), value.clone()))
    };
    variables.iter().filter_map(field).collect()
}

/// The request of the script.
fn script(responder: &Responder) -> Option<ScriptRequest> {
    let all: Vec<(&[u8], &[u8])> = responder.params().collect::<Result<_, _>>().ok()?;
    let get = |name: &str| all.iter().find(|row| row.0 == name.as_bytes()).map(|row| row.1);
    let path = [get("SCRIPT_NAME").unwrap_or_default(), get("PATH_INFO").unwrap_or_default()];
    let method = get("REQUEST_METHOD").unwrap_or(b"GET");
    let mut script = ScriptRequest::new(method, &path.concat(), get("SCRIPT_FILENAME")?);
    script.query(get("QUERY_STRING"));
    let authorization = get(parameter::AUTHORIZATION);
    script.fields(get("CONTENT_TYPE"), get("HTTP_COOKIE"), authorization);
    script.user(get(parameter::USER));
    let number = |value: &[u8]| std::str::from_utf8(value).ok()?.parse().ok();
    script.content_length = get("CONTENT_LENGTH").and_then(number).unwrap_or(0);
    script.protocol = if get("SERVER_PROTOCOL") == Some(b"HTTP/1.0") { 1000 } else { 1001 };
    let status = get(parameter::STATUS).and_then(number).and_then(|it| u16::try_from(it).ok());
    script.status = status.unwrap_or(200);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    script.time_s = now.as_millis() as f64 / 1000.0;
    script.is_source = get(parameter::SOURCE).is_some();
    for (name, value) in all.iter().filter(|row| is_variable(row.0)) {
        script.variable(name, value);
    }
    settings(get(parameter::SETTINGS).unwrap_or_default())
        .for_each(|setting| script.setting(&setting));
    Some(script)
}

/// The lines of `pool::tell_settings`.
fn settings(lines: &[u8]) -> impl Iterator<Item = Setting> {
    let setting = |line: &[u8]| {
        let line = std::str::from_utf8(line).ok()?;
        let (kind, line) = line.split_at_checked(1)?;
        let (name, value) = line.split_once('=')?;
        Some(Setting {
            name: name.to_owned(),
            value: value.to_owned(),
            is_admin: kind == "a",
            is_of_htaccess: kind == "h",
        })
    };
    lines.split(|byte| *byte == b'\n').filter_map(setting).collect::<Vec<_>>().into_iter()
}
