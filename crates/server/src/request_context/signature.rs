//! How the server signs its own pages (`ServerSignature`).

use super::RequestContext;
use crate::identity;
use crate::site::settings::core::{Signature, is_absolute_url};
use message::escape::html_escape;

impl RequestContext<'_> {
    /// `<address>Apache/2.4.x (Trivet) Server at name Port 80</address>` (core.c, ap_psignature).
    pub fn signature(&self, prefix: &str) -> Vec<u8> {
        let kind = self.settings.core.signature();
        if kind == Signature::Off {
            return Vec::new();
        }
        let mut text = prefix.as_bytes().to_vec();
        text.extend_from_slice(b"<address>");
        text.extend_from_slice(identity::banner(self.site().tokens).as_bytes());
        text.extend_from_slice(b" Server at ");
        let mut name = Vec::new();
        html_escape(self.server_name().as_bytes(), &mut name);
        match (kind, &self.host.server_admin) {
            (Signature::Email, Some(admin)) => {
                text.extend_from_slice(b"<a href=\"");
                if !is_absolute_url(admin) {
                    text.extend_from_slice(b"mailto:");
                }
                html_escape(admin.as_bytes(), &mut text);
                text.extend_from_slice(b"\">");
                text.extend_from_slice(&name);
                text.extend_from_slice(b"</a>");
            }
            _ => text.extend_from_slice(&name),
        }
        text.extend_from_slice(format!(" Port {}</address>\n", self.server_port()).as_bytes());
        text
    }
}
