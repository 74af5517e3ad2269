//! The variables of a script that are the same from one request to the next, encoded. They are
//! made, and put together with those of a request, in `script/template.rs`.

use crate::received_request::ReceivedRequest;
use fastcgi::Params;
use std::net::SocketAddr;

/// The parts that are known before the request, in their order.
pub struct EnvironmentTemplate {
    /// The host that was asked for, with its port, and our end of the connection.
    pub(crate) host: Option<Vec<u8>>,
    pub(crate) port: Option<u16>,
    pub(crate) local: SocketAddr,
    /// The beginning of a request, with what was set for it, and how many bytes that is.
    pub(crate) own: Params,
    pub(crate) own_bytes: usize,
    pub(crate) server: Vec<u8>,
    pub(crate) script: Vec<u8>,
}

impl EnvironmentTemplate {
    /// Whether the template holds for a request for the same script.
    pub(crate) fn is_for(&self, received: &ReceivedRequest) -> bool {
        self.host.as_deref() == received.host_name()
            && self.port == received.host_port()
            && self.local == received.local
    }
}
