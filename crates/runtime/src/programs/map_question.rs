//! A question to the program of a map: how a serving process asks the process that keeps the
//! program, and how that answers. Each question brings a socket along for its answer, so that no
//! answer can be taken for that of another question, and nobody has to wait who gives up.

use super::answer_line::{KEY_BYTES_MAX, MapAnswer, VALUE_BYTES_MAX};
use super::client::{ClientSocket, ManagerClient, Packet, ProgramControl, pair};
use crate::sys;
use rustix::net::{RecvFlags, recv};
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;

/// What a packet begins with that has a key: an empty one would look like the end.
const KEY: u8 = b'?';

impl ManagerClient {
    /// Ask what a key stands for. This waits for as long as the caller lets it. Giving up is to
    /// drop it.
    ///
    /// # Errors
    /// When nobody keeps the program any more, or descriptors are used up.
    pub async fn ask(&self, key: &[u8]) -> io::Result<MapAnswer> {
        let (own, theirs) = pair()?;
        self.send_packet(&[&[KEY], key].concat(), &[theirs.as_fd()]).await?;
        drop(theirs);
        let own = sys::watch(own)?;
        poll_fn(|context| poll_answer(&own, context)).await
    }
}

fn poll_answer(own: &AsyncFd<OwnedFd>, context: &mut Context<'_>) -> Poll<io::Result<MapAnswer>> {
    loop {
        let mut ready = ready!(own.poll_read_ready(context))?;
        let mut packet = vec![0; 1 + VALUE_BYTES_MAX];
        match recv(ready.get_inner(), &mut packet[..], RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            Ok((length, _)) => return Poll::Ready(Ok(MapAnswer::decode(&packet[..length]))),
            Err(rustix::io::Errno::AGAIN) => ready.clear_ready(),
            Err(error) => return Poll::Ready(Err(error.into())),
        }
    }
}

/// A key that somebody asks for.
pub struct MapQuestion {
    /// The key; it may be one that no line can hold.
    pub key: Vec<u8>,
    control: ProgramControl,
}

impl MapQuestion {
    /// Answer it. Who does not listen, or is gone, is not told.
    pub fn answer(self, answer: &MapAnswer) {
        self.control.send(&answer.encode());
    }

    /// Whether whoever asked has given up.
    pub fn is_over(&self) -> bool {
        self.control.is_over()
    }
}

/// What the process that keeps a program is asked.
pub enum MapRequest {
    /// What a key stands for.
    Question(MapQuestion),
    /// Something that makes no sense: it was dropped.
    Nonsense,
    /// There is nothing at present.
    Nothing,
    /// Whoever could ask is gone.
    Closed,
}

impl ClientSocket {
    /// The next question.
    pub fn next_question(&self) -> MapRequest {
        let mut bytes = vec![0; 1 + KEY_BYTES_MAX];
        let (length, descriptors) = match self.receive(&mut bytes) {
            Packet::Nothing => return MapRequest::Nothing,
            Packet::Closed => return MapRequest::Closed,
            Packet::Came(length, descriptors) => (length, descriptors),
        };
        let Ok([control]) = <[OwnedFd; 1]>::try_from(descriptors) else {
            return MapRequest::Nonsense;
        };
        match (&bytes[..length], ProgramControl::of(control)) {
            ([KEY, key @ ..], Some(control)) => {
                MapRequest::Question(MapQuestion { key: key.to_vec(), control })
            }
            _ => MapRequest::Nonsense,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::blocking::Blocking;
    use crate::executor::event_fd::readable;
    use crate::executor::thread::Thread;
    use std::time::Duration;

    fn question(socket: &ClientSocket) -> MapQuestion {
        readable(&[socket.as_fd()], Duration::from_secs(10));
        match socket.next_question() {
            MapRequest::Question(question) => question,
            _ => panic!("something else was asked"),
        }
    }

    #[test]
    fn a_question_gets_its_answer_and_no_other() {
        let (client, socket) = ManagerClient::pair().unwrap();
        assert!(matches!(socket.next_question(), MapRequest::Nothing));
        let manager = std::thread::spawn(move || {
            let (one, two) = (question(&socket), question(&socket));
            assert_eq!((&*one.key, &*two.key), (&b"one"[..], &b""[..]));
            two.answer(&MapAnswer::Value(b"second".into()));
            one.answer(&MapAnswer::Value(vec![b'x'; VALUE_BYTES_MAX]));
            drop(question(&socket));
        });
        Thread::new(Blocking::Inline).unwrap().block_on(async {
            let mut one = std::pin::pin!(client.ask(b"one"));
            assert!(poll_fn(|it| Poll::Ready(one.as_mut().poll(it).is_pending())).await);
            assert_eq!(client.ask(b"").await.unwrap(), MapAnswer::Value(b"second".into()));
            assert_eq!(one.await.unwrap(), MapAnswer::Value(vec![b'x'; VALUE_BYTES_MAX]));
            let error = client.ask(b"three").await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
        });
        manager.join().unwrap();
    }

    #[test]
    fn whoever_gives_up_is_noticed_and_nonsense_is_dropped() {
        let (client, socket) = ManagerClient::pair().unwrap();
        Thread::new(Blocking::Inline).unwrap().block_on(async {
            let limit = Duration::from_millis(5);
            assert!(crate::executor::timer::timeout(limit, client.ask(b"a")).await.is_none());
        });
        assert!(question(&socket).is_over());
        client.send_nonsense();
        assert!(matches!(socket.next_question(), MapRequest::Nonsense));
        drop(client);
        assert!(matches!(socket.next_question(), MapRequest::Closed));
    }
}
