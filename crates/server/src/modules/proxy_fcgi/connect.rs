//! Connecting to an application: to the first of its addresses at which somebody listens, and with
//! patience while it is restarted.

use super::relay::{Fault, Talk};
use runtime::Backend;
use runtime::backend::Address;
use std::io;
use std::time::Duration;
use upstream::fastcgi::Pool;

/// An application that is restarted is away for a moment: for so long from the beginning of its
/// absence it is waited for, with such pauses, and whoever comes later is told at once.
const ABSENCE_MS: u64 = 1000;
const ABSENCE_REST: Duration = Duration::from_millis(15);

/// Connect to the application, which may be given a moment if it is away; says whether it was.
pub(super) async fn connect(
    addresses: &[Address],
    talk: &Talk,
    pool: &Pool,
) -> Result<(Backend, bool), Fault> {
    let mut was_absent = false;
    loop {
        let (fault, may_return) = match connect_to_any(addresses, talk.connect_ms).await {
            Ok(backend) => return Ok((backend, was_absent)),
            Err(fault) => fault,
        };
        match fault {
            Fault::TimedOut(ms, _) => return Err(Fault::TimedOut(ms, pool.crowd(ms))),
            _ if may_return && talk.is_patient && pool.absent_ms() <= ABSENCE_MS => {
                was_absent = true;
                runtime::timer::sleep(ABSENCE_REST).await;
            }
            fault => return Err(fault),
        }
    }
}

/// Connect to the first of its addresses at which somebody listens. An error comes with whether
/// somebody may listen there soon.
async fn connect_to_any(addresses: &[Address], limit_ms: u64) -> Result<Backend, (Fault, bool)> {
    let mut fault = Fault::Unreachable(io::ErrorKind::NotFound.into());
    let mut may_return = false;
    for address in addresses {
        let limit = Duration::from_millis(limit_ms);
        match runtime::timer::timeout(limit, Backend::connect(address)).await {
            Some(Ok(backend)) => return Ok(backend),
            None => fault = Fault::TimedOut(limit_ms, None),
            Some(Err(error)) => {
                may_return |= matches!(
                    error.kind(),
                    io::ErrorKind::NotFound
                        | io::ErrorKind::ConnectionRefused
                        | io::ErrorKind::ConnectionReset
                );
                fault = Fault::Unreachable(error);
            }
        }
    }
    Err((fault, may_return))
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::Thread;
    use runtime::blocking::Blocking;
    use std::net::TcpListener;

    #[test]
    fn all_addresses_of_a_host_are_tried_before_it_is_given_up() {
        let nobody = || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            Address::Tcp(listener.local_addr().unwrap())
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let somebody = Address::Tcp(listener.local_addr().unwrap());
        Thread::new(Blocking::Inline).unwrap().block_on(async {
            let both = [nobody(), Address::Unix("/nonexistent".into()), somebody];
            assert!(connect_to_any(&both, 5000).await.is_ok());
            let (fault, may_return) = connect_to_any(&both[..2], 5000).await.err().unwrap();
            assert!(matches!(fault, Fault::Unreachable(_)) && may_return, "{fault:?}");
        });
    }
}
