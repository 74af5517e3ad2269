//! What the acts of a soak share: a visitor of the site, and how answers are judged.

use super::client::{SoakConnection, SoakResponse, Trouble};
use super::random::SoakRandom;
use super::site::{SoakPage, SoakSite};

/// How an act ended.
pub(super) type Done = Result<(), Trouble>;

/// What an act works with.
pub(super) struct SoakVisit<'a> {
    pub(super) site: &'a SoakSite,
    pub(super) random: &'a mut SoakRandom,
    pub(super) port: u16,
    /// Answers that were complete and right.
    pub(super) answers: u64,
}

impl SoakVisit<'_> {
    pub(super) fn open(&self) -> Result<SoakConnection, Trouble> {
        SoakConnection::open(self.port)
    }

    pub(super) fn file(&mut self) -> &SoakPage {
        self.random.pick(&self.site.files)
    }

    /// Sends one request and reads its answer.
    pub(super) fn ask(
        &mut self,
        connection: &mut SoakConnection,
        request: &str,
    ) -> Result<SoakResponse, Trouble> {
        connection.send(request.as_bytes())?;
        let response = connection.read(request.starts_with("HEAD "))?;
        connection.expect_silence()?;
        self.answers += 1;
        Ok(response)
    }
}

pub(super) fn get(path: &str, fields: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n")
}

/// The answer must be this, byte for byte.
pub(super) fn check(request: &str, response: &SoakResponse, status: u16, body: &[u8]) -> Done {
    if response.status == status && response.body == body {
        return Ok(());
    }
    Err(wrong(request, &difference(response, status, body)))
}

pub(super) fn wrong(request: &str, what: &str) -> Trouble {
    let line = request.lines().next().unwrap_or_default();
    Trouble::Wrong(format!("{}: {what}", line.chars().take(80).collect::<String>()))
}

pub(super) fn difference(response: &SoakResponse, status: u16, body: &[u8]) -> String {
    if response.status != status {
        return format!("status {} instead of {status}", response.status);
    }
    let pairs = response.body.iter().zip(body);
    match pairs.clone().position(|(got, expected)| got != expected) {
        Some(at) => format!("byte {at} of {} is wrong", body.len()),
        None => format!("{} bytes instead of {}", response.body.len(), body.len()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Reads what `SoakResponse` has no constructor for: an answer as a server sends it.
    pub(crate) fn response(head: &str, body: &str) -> SoakResponse {
        use std::io::Write;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = SoakConnection::open(listener.local_addr().unwrap().port()).unwrap();
        let text = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        listener.accept().unwrap().0.write_all(text.as_bytes()).unwrap();
        client.read(false).unwrap()
    }

    #[test]
    fn a_difference_says_where() {
        let got = response("200 OK", "abc");
        assert_eq!(difference(&got, 404, b"abc"), "status 200 instead of 404");
        assert_eq!(difference(&got, 200, b"abd"), "byte 2 of 3 is wrong");
        assert_eq!(difference(&got, 200, b"abcd"), "3 bytes instead of 4");
        assert_eq!(check("GET /", &got, 200, b"abc"), Ok(()));
    }
}
