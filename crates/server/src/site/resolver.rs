//! Names of hosts in a configuration, and of the addresses of those that have no name: each is
//! looked up while the configuration is read.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};

/// The addresses that a name has.
///
/// # Errors
/// What httpd logs of the failure, as `(EAI 2)Name or service not known`.
pub fn addresses(name: &str) -> Result<Vec<IpAddr>, String> {
    let found = (name, 0).to_socket_addrs().map_err(|error| reason(&error))?;
    Ok(found.map(|address| address.ip().to_canonical()).collect())
}

/// The name that an address has.
///
/// # Errors
/// What httpd logs of the failure.
pub fn name_of(address: IpAddr) -> Result<String, String> {
    runtime::sys::name_of(address).map_err(|code| {
        let known = FAILURES.iter().find(|row| -i32::from(row.0) == code).unwrap_or(&FAILURES[0]);
        shown(known)
    })
}

/// What a host without a name is called whose address has none either (vhost.c).
pub(crate) const NAMELESS: &str = "bogus_host_without_reverse_dns";

/// Numbers of getaddrinfo(3) and its texts, of which the standard library gives only the latter.
const FAILURES: &[(u8, &str)] = &[
    (2, "Name or service not known"),
    (3, "Temporary failure in name resolution"),
    (4, "Non-recoverable failure in name resolution"),
    (5, "No address associated with hostname"),
    (10, "Memory allocation failure"),
];

fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    // What is no name at all never comes as far as the library, which would not find it either.
    let known = FAILURES.iter().find(|row| text.ends_with(row.1)).unwrap_or(&FAILURES[0]);
    shown(known)
}

fn shown(&(number, text): &(u8, &str)) -> String {
    format!("(EAI {number}){text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_have_the_number_that_httpd_shows() {
        let text = "failed to lookup address information: Temporary failure in name resolution";
        assert_eq!(reason(&io::Error::other(text)), "(EAI 3)Temporary failure in name resolution");
        assert_eq!(addresses("a b").unwrap_err(), "(EAI 2)Name or service not known");
        assert_eq!(addresses("127.1").unwrap(), [IpAddr::from([127, 0, 0, 1])]);
    }
}
