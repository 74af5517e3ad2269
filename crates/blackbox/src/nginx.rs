//! Debian's nginx as a server that is none of ours: what a client says can be looked up in its log.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::client::Client;
use crate::scratch::Scratch;
use crate::wait::{until, wait_for};
use crate::{outside, process};

/// A running nginx.
#[derive(Debug)]
pub struct Nginx {
    child: Child,
    ports: Vec<u16>,
    home: Scratch,
}

impl Nginx {
    /// Starts it with these files and servers. Each server is the inside of a `server` block with
    /// `PORT` for its port; its log is the file `log-N`, where N counts them from 0.
    pub fn start(files: &[(&str, &[u8])], servers: &[String]) -> Self {
        for _ in 0..10 {
            let mut nginx = Self::spawn(files, servers);
            if nginx.is_serving() {
                return nginx;
            }
            let errors = nginx.errors();
            assert!(errors.contains("bind()"), "nginx does not start: {errors}");
        }
        panic!("no ports stay free for nginx");
    }

    fn spawn(files: &[(&str, &[u8])], servers: &[String]) -> Self {
        let home = Scratch::new();
        for (name, content) in files {
            home.write(format!("www/{name}"), content);
        }
        // It cannot be told to take free ports: they are looked for, all of them before the first
        // is given back.
        let sockets: Vec<TcpListener> = servers
            .iter()
            .map(|_| TcpListener::bind("127.0.0.1:0").expect("there is a free port"))
            .collect();
        let port = |socket: &TcpListener| socket.local_addr().expect("it is bound").port();
        let ports: Vec<u16> = sockets.iter().map(port).collect();
        drop(sockets);
        let config = home.write("nginx.conf", config(&home, servers, &ports));
        let errors = fs::File::create(home.join("stderr")).expect("a log can be made");
        let mut command = Command::new(outside::program("nginx"));
        command.arg("-p").arg(home.path()).arg("-c").arg(config);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        let child = process::lead_group(&mut command).spawn().expect("nginx can be started");
        Self { child, ports, home }
    }

    /// Waits until it listens, or has ended.
    fn is_serving(&mut self) -> bool {
        let address = ([127, 0, 0, 1], *self.ports.last().expect("there is a server")).into();
        until("nginx to serve", 20, || {
            if self.child.try_wait().expect("a child can be waited for").is_some() {
                return Some(false);
            }
            Client::try_connect(address).is_ok().then_some(true)
        })
    }

    /// The port of a server.
    pub fn port(&self, server: usize) -> u16 {
        self.ports[server]
    }

    /// The lines of the log of a server, after so many have been written.
    pub fn log(&self, server: usize, lines: usize) -> Vec<String> {
        let path = self.home.join(format!("log-{server}"));
        let read = || fs::read_to_string(&path).unwrap_or_default();
        wait_for("nginx to write its log", 10, || read().lines().count() >= lines);
        read().lines().map(str::to_owned).collect()
    }

    fn errors(&self) -> String {
        let paths = [self.home.join("stderr"), self.home.join("errors")];
        paths.iter().map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
    }
}

/// A line of a log: the connection, the request, the status.
fn config(home: &Scratch, servers: &[String], ports: &[u16]) -> String {
    let mut text = "daemon off; worker_processes 1; pid pid; error_log errors;\n\
        events { worker_connections 1024; }\n\
        http {\n\
        log_format short '$connection $server_protocol $request_method $request_uri $status '\n\
        '$content_length';\n"
        .to_owned();
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        text += &format!("{kind}_temp_path {}/{kind};\n", home.path().display());
    }
    for (number, (server, port)) in servers.iter().zip(ports).enumerate() {
        let own = server.replace("PORT", &format!("127.0.0.1:{port}"));
        text += &format!("server {{ root www; access_log log-{number} short; {own} }}\n");
    }
    text + "}\n"
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).expect("a process id fits");
        if thread::panicking() {
            eprintln!("--- errors of nginx ---\n{}", self.errors());
        }
        process::signal(pid, libc::SIGTERM);
        let _ = self.child.wait();
        process::signal(-pid, libc::SIGKILL);
    }
}
