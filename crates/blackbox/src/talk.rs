//! One server, asked on one connection as long as that lasts: what one thread remembers is asked
//! for again.

use std::net::SocketAddr;

use crate::client::{Client, Failure};
use crate::{Response, releases};

/// A talk with a server.
#[derive(Debug)]
pub struct Talk {
    server: SocketAddr,
    /// The patch release of httpd, if it is that.
    patch: Option<u32>,
    client: Option<Client>,
}

impl Talk {
    /// With the server at this address, which is httpd of this patch release or trivet.
    pub fn new(server: SocketAddr, patch: Option<u32>) -> Self {
        Self { server, patch, client: None }
    }

    /// The server.
    pub fn server(&self) -> SocketAddr {
        self.server
    }

    /// The answer to a request; that of another httpd is put into the words of today's.
    pub fn ask(&mut self, request: &[u8]) -> Result<Response, Failure> {
        let is_head = request.starts_with(b"HEAD ");
        let mut result = Err(Failure::Closed);
        for _ in 0..2 {
            let client = self.client.get_or_insert_with(|| Client::connect(self.server));
            result = client.send(request).try_response(is_head);
            match &result {
                Ok(response) if !response.says_close() => break,
                Ok(_) => {
                    self.client = None;
                    break;
                }
                // A connection that was kept may end at any time.
                Err(_) => self.client = None,
            }
        }
        match self.patch {
            Some(patch) => result.map(|response| releases::answered_today(response, patch)),
            None => result,
        }
    }
}
