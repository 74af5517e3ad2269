//! Connecting to an application: to the first of its addresses at which somebody listens, and with
//! patience while it is restarted.

use super::Pool;
use runtime::BackendConnection;
use runtime::backend::Address;
use std::io;
use std::time::Duration;

/// An application that is restarted is away for a moment: for so long from the beginning of its
/// absence it is waited for, with such pauses, and whoever comes later is told at once.
const ABSENCE_MS: u64 = 1000;
const ABSENCE_REST: Duration = Duration::from_millis(15);

/// How long to wait until a full listen queue is tried again, at first and at most.
const QUEUE_REST: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(20)];

/// Where an application listens, and how long it is waited for if it does not accept.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'a> {
    /// Its addresses, which are tried in this order.
    pub addresses: &'a [Address],
    /// How long connecting to one address may take, in milliseconds.
    pub limit_ms: u64,
    /// Whether one that is away is given a moment to return.
    pub awaits_return: bool,
}

/// A new connection to an application.
pub struct Connected {
    /// The connection.
    pub backend: BackendConnection,
    /// Whether nobody listened at first.
    pub was_absent: bool,
}

/// Why there is no connection to an application.
#[derive(Debug)]
pub enum ConnectError {
    /// Nobody listens at any of its addresses; the words of the system about the last of them.
    Unreachable(io::Error),
    /// It did not accept for so many milliseconds; and what it does meanwhile, if that is known.
    TimedOut(u64, Option<String>),
}

/// Connect to the first of an application's addresses at which somebody listens.
///
/// # Errors
/// What was wrong with the last address, when all have been tried.
pub async fn connect(to: &Destination<'_>, pool: &Pool) -> Result<Connected, ConnectError> {
    let mut was_absent = false;
    loop {
        let (error, may_return) = match connect_to_any(to.addresses, to.limit_ms).await {
            Ok(backend) => return Ok(Connected { backend, was_absent }),
            Err(error) => error,
        };
        match error {
            ConnectError::TimedOut(ms, _) => {
                return Err(ConnectError::TimedOut(ms, pool.crowd(ms)));
            }
            // The pool remembers since when it has been away: whoever comes later waits less.
            _ if may_return && to.awaits_return && pool.absent_ms() <= ABSENCE_MS => {
                was_absent = true;
                runtime::timer::sleep(ABSENCE_REST).await;
            }
            error => return Err(error),
        }
    }
}

/// Connect to the first address at which somebody listens. An error comes with whether somebody may
/// listen there soon.
async fn connect_to_any(
    addresses: &[Address],
    limit_ms: u64,
) -> Result<BackendConnection, (ConnectError, bool)> {
    let mut last = ConnectError::Unreachable(io::ErrorKind::NotFound.into());
    let mut may_return = false;
    for address in addresses {
        let limit = Duration::from_millis(limit_ms);
        match runtime::timer::timeout(limit, connect_when_accepted(address)).await {
            Some(Ok(backend)) => return Ok(backend),
            None => last = ConnectError::TimedOut(limit_ms, None),
            Some(Err(error)) => {
                may_return |= matches!(
                    error.kind(),
                    io::ErrorKind::NotFound
                        | io::ErrorKind::ConnectionRefused
                        | io::ErrorKind::ConnectionReset
                );
                last = ConnectError::Unreachable(error);
            }
        }
    }
    Err((last, may_return))
}

/// Connect as soon as there is room in the listen queue.
async fn connect_when_accepted(address: &Address) -> io::Result<BackendConnection> {
    let mut rest = QUEUE_REST[0];
    loop {
        match BackendConnection::connect(address).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                runtime::timer::sleep(rest).await;
                rest = (rest * 2).min(QUEUE_REST[1]);
            }
            connected => return connected,
        }
    }
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
            let (error, may_return) = connect_to_any(&both[..2], 5000).await.err().unwrap();
            assert!(matches!(error, ConnectError::Unreachable(_)) && may_return, "{error:?}");
        });
    }
}
