//! Certificates as openssl makes them, anew for each test: an authority, and servers and clients
//! that it vouches for.

use std::path::PathBuf;
use std::rc::Rc;

use crate::outside;
use crate::scratch::Scratch;

/// An authority, in a folder of its own.
#[derive(Debug)]
pub struct Authority {
    folder: Rc<Scratch>,
}

/// A key and what is said about it.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The certificate (PEM).
    pub certificate: PathBuf,
    /// Its key (PEM).
    pub key: PathBuf,
    /// Both in one file, as clients take them.
    pub both: PathBuf,
    /// They are there as long as somebody has one of them.
    _folder: Rc<Scratch>,
}

/// How `openssl ca` makes a certificate that has expired.
pub const JANUARY: &str = "-startdate 20200101000000Z -enddate 20200201000000Z";

/// What `openssl ca` has to be told.
const CONFIG: &str = "[ca]
default_ca = own
[own]
database = index
rand_serial = yes
new_certs_dir = .
certificate = ca.pem
private_key = ca.key
default_md = sha256
unique_subject = no
policy = policy
[policy]
commonName = supplied
";

impl Authority {
    /// Makes one that nobody trusts yet.
    pub fn new() -> Self {
        let made = Self { folder: Rc::new(Scratch::new()) };
        let new = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 \
            -addext basicConstraints=critical,CA:TRUE -subj /CN=Authority \
            -keyout ca.key -out ca.pem";
        made.openssl(new);
        made.folder.write("index", "");
        made.folder.write("ca.conf", CONFIG);
        made
    }

    /// Its own certificate, for those who are to trust it.
    pub fn path(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    /// A certificate for these names (`DNS:localhost,IP:127.0.0.1`), valid for some days from now.
    pub fn issue(&self, name: &str, alternatives: &str) -> Certificate {
        self.issue_for(name, alternatives, "-days 20")
    }

    /// One that was valid in January 2020.
    pub fn issue_expired(&self, name: &str, alternatives: &str) -> Certificate {
        self.issue_for(name, alternatives, JANUARY)
    }

    /// One that nobody vouches for but its own key, and that says whether it is an authority
    /// itself. `validity` is as in `openssl ca`: `-days 20`.
    pub fn issue_alone(
        &self,
        name: &str,
        alternatives: &str,
        is_ca: bool,
        validity: &str,
    ) -> Certificate {
        let truth = if is_ca { "TRUE" } else { "FALSE" };
        let extensions = format!("{alternatives}\nbasicConstraints=critical,CA:{truth}");
        self.issue_for(name, &extensions, &format!("-selfsign -keyfile {name}.key {validity}"))
    }

    fn issue_for(&self, name: &str, alternatives: &str, how: &str) -> Certificate {
        let path = |end: &str| self.folder.join(format!("{name}.{end}"));
        self.folder.write(format!("{name}.ext"), format!("subjectAltName={alternatives}\n"));
        self.openssl(&format!(
            "req -newkey rsa:2048 -nodes -subj /CN={name} -keyout {name}.key -out {name}.csr"
        ));
        self.openssl(&format!(
            "ca -batch -notext -config ca.conf -in {name}.csr -out {name}.pem \
             -extfile {name}.ext {how}"
        ));
        let read = |end| std::fs::read_to_string(path(end)).expect("openssl has written it");
        let both = self.folder.write(format!("{name}.both"), read("pem") + &read("key"));
        Certificate {
            certificate: path("pem"),
            key: path("key"),
            both,
            _folder: self.folder.clone(),
        }
    }

    fn openssl(&self, words: &str) {
        let mut command = std::process::Command::new(outside::program("openssl"));
        command.args(words.split_whitespace()).current_dir(self.folder.path());
        let output = outside::run_command(&mut command, 60);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "openssl {words}: {errors}");
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}
