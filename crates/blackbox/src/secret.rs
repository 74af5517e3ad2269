//! A site beside which a secret lies, for tests that try to get at it: whatever is asked, no byte
//! of it may be in an answer.

use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::application::{self, Act, end, stdout};
use crate::scratch::Scratch;
use crate::{Mpm, Response, Server, Site, process};

/// What must never be seen.
pub const SECRET: &str = "geheim";

/// A script whose source must never be seen.
pub const SOURCE: &str = "<?php echo 'ran ', __FILE__; // geheim\n";

/// A file that everybody may see.
pub const OPEN: (&str, &str) = ("open.txt", "open");

/// A server over a folder in which `.htaccess` files may say everything, and a folder beside it.
#[derive(Debug)]
pub struct SecretSite {
    /// The server.
    pub server: Server,
    /// What it serves.
    pub site: Scratch,
    /// A folder with a file `secret.txt`, which nothing grants.
    pub outside: Scratch,
}

impl SecretSite {
    /// The served folder has `files`; `lines` stand in the server's configuration. In both `{S}` is
    /// the served folder and `{O}` the other one.
    pub fn start(mpm: Mpm, files: &[(&str, &str)], lines: &str) -> Self {
        let [site, outside, home] = [(); 3].map(|()| Scratch::new());
        outside.write("secret.txt", SECRET);
        let filled = |text: &str| {
            let [site, outside] = [&site, &outside].map(|it| it.path().display().to_string());
            text.replace("{S}", &site).replace("{O}", &outside)
        };
        for (name, content) in files {
            site.write(name, filled(content));
        }
        let user = if process::am_root() { "User www-data\nGroup www-data\n" } else { "" };
        let text = filled(&format!(
            "Listen 127.0.0.1:0\nServerName localhost\n{user}DocumentRoot {{S}}\n\
             <Directory />\nAllowOverride None\nRequire all denied\n</Directory>\n\
             <Directory {{S}}>\nAllowOverride All\nOptions FollowSymLinks\nRequire all granted\n\
             </Directory>\n<Files \".ht*\">\nRequire all denied\n</Files>\n{lines}\n"
        ));
        let config = home.write("httpd.conf", text);
        Self { server: Site::new(mpm).config(config).start(), site, outside }
    }

    /// The answer, in which no byte of a secret is. It is asked for twice: what was prepared for
    /// the next request is asked as well.
    pub fn ask(&self, target: &str) -> Response {
        let mut client = self.server.connect();
        let target = target.replace("{O}", &self.outside.path().display().to_string());
        let [first, second] = [(); 2].map(|()| {
            let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
            let response = client.send(request).response();
            if response.says_close() {
                client = self.server.connect();
            }
            let text = format!("{:?}{}", response.fields, response.text());
            assert!(!text.contains(SECRET) && !text.contains("<?"), "{target}: {text}");
            response
        });
        assert_eq!(first.status, second.status, "{target}, asked again");
        first
    }

    /// Asserts that each of these has one of the statuses, and that nothing else suffers from it.
    pub fn refuses(&self, targets: &[&str], statuses: &[u16]) {
        for target in targets {
            let response = self.ask(target);
            let told = || format!("{target}: {response:?}\n{}", self.server.error_text());
            assert!(statuses.contains(&response.status), "{}", told());
        }
        assert_eq!(self.server.get("/open.txt").text(), "open", "the next request");
    }
}

/// What an application was told to run.
#[derive(Clone, Debug, Default)]
pub struct Ran(Arc<Mutex<Vec<String>>>);

impl Ran {
    /// The files since the last look.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("no holder panics"))
    }
}

/// An application that says which file it was told to run, and of which there is a list: the name
/// of the handler that leads to it, and the list.
pub fn application(folder: &Path) -> (String, Ran) {
    let socket = folder.join("application.sock");
    let ran = Ran::default();
    let list = ran.clone();
    application::listen(&socket, move |asked| {
        let variable = |name: &str| asked.variables.get(name).cloned().unwrap_or_default();
        let file = variable("SCRIPT_FILENAME");
        let file = file.strip_prefix("proxy:fcgi://localhost").unwrap_or(&file).to_owned();
        let names = ["PATH_INFO", "REQUEST_METHOD", "DOCUMENT_ROOT", "HTTP_PROXY"];
        let lines = names.map(|name| format!("{name}={}\n", variable(name))).concat();
        let text = format!("Content-Type: text/plain\r\n\r\nSCRIPT_FILENAME={file}\n{lines}");
        list.0.lock().expect("no holder panics").push(file);
        vec![Act::Send([stdout(text), stdout(""), end()].concat())]
    });
    (format!("proxy:unix:{}|fcgi://localhost", socket.display()), ran)
}
