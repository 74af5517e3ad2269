//! Questions that wait for their turn: few enough for the descriptors that they hold, none for too
//! long, and none of a process that leaves no room for those of others.

use crate::programs::capacity::{ClientUsage, is_fair};
use runtime::process;
use runtime::programs::{MapAnswer, MapQuestion};
use server::map_program::ANSWER_PATIENCE;
use std::collections::VecDeque;

/// Questions that may wait: a program that needs 10 ms for each gets so far before the last has
/// waited for too long.
const QUESTIONS_MAX: usize = 1024;

/// A question that was not answered yet.
pub(super) struct WaitingQuestion {
    /// The process that asks.
    owner: i32,
    question: MapQuestion,
    /// When it has waited for too long.
    pub(super) until_ms: u64,
    /// The program has ended at it once.
    pub(super) was_asked_again: bool,
}

impl WaitingQuestion {
    pub(super) fn key(&self) -> &[u8] {
        &self.question.key
    }

    pub(super) fn answer(self, answer: &MapAnswer) {
        self.question.answer(answer);
    }
}

/// All that wait, in the order in which they came.
pub(super) struct Questions {
    most: usize,
    queue: VecDeque<WaitingQuestion>,
}

impl Questions {
    pub(super) fn new() -> Self {
        let descriptors = usize::try_from(process::descriptor_limit()).unwrap_or(usize::MAX);
        Self { most: QUESTIONS_MAX.min(descriptors / 4), queue: VecDeque::new() }
    }

    pub(super) fn has_room(&self) -> bool {
        self.queue.len() < self.most
    }

    /// A question of one of `clients` processes has come. It is answered at once that there is no
    /// answer if there is no room for it.
    pub(super) fn admit(&mut self, owner: i32, question: MapQuestion, now_ms: u64, clients: usize) {
        let own = self.queue.iter().filter(|waiting| waiting.owner == owner).count();
        if !is_fair(self.most, ClientUsage { all: self.queue.len(), own }, clients) {
            return question.answer(&MapAnswer::None);
        }
        let patience_ms = u64::try_from(ANSWER_PATIENCE.as_millis()).unwrap_or(u64::MAX);
        let until_ms = now_ms.saturating_add(patience_ms);
        self.queue.push_back(WaitingQuestion { owner, question, until_ms, was_asked_again: false });
    }

    /// The next one whose answer somebody waits for.
    pub(super) fn next(&mut self) -> Option<WaitingQuestion> {
        std::iter::from_fn(|| self.queue.pop_front()).find(|it| !it.question.is_over())
    }

    /// Its turn comes later, but before that of all others.
    pub(super) fn put_back(&mut self, waiting: WaitingQuestion) {
        self.queue.push_front(waiting);
    }

    /// When the first of them has waited for too long.
    pub(super) fn due_ms(&self) -> u64 {
        self.queue.front().map_or(u64::MAX, |waiting| waiting.until_ms)
    }

    /// Answer those that have waited for too long.
    pub(super) fn turn_away_late(&mut self, now_ms: u64) {
        while self.queue.front().is_some_and(|waiting| waiting.until_ms <= now_ms)
            && let Some(waiting) = self.queue.pop_front()
        {
            waiting.answer(&MapAnswer::None);
        }
    }

    pub(super) fn turn_away_all(&mut self) {
        self.queue.drain(..).for_each(|waiting| waiting.answer(&MapAnswer::None));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::Thread;
    use runtime::blocking::Blocking;
    use runtime::programs::{ClientSocket, ManagerClient, MapRequest};
    use std::future::poll_fn;
    use std::pin::Pin;
    use std::task::Poll;

    type Asking<'c> = Pin<Box<dyn Future<Output = std::io::Result<MapAnswer>> + 'c>>;

    /// The question as the manager gets it, and whoever waits for its answer.
    async fn ask<'c>(
        client: &'c ManagerClient,
        socket: &ClientSocket,
        key: &'static [u8],
    ) -> (MapQuestion, Asking<'c>) {
        let mut asking: Asking<'c> = Box::pin(client.ask(key));
        assert!(poll_fn(|it| Poll::Ready(asking.as_mut().poll(it).is_pending())).await);
        let MapRequest::Question(question) = socket.next_question() else { panic!("{key:?}") };
        (question, asking)
    }

    fn with_client(test: impl AsyncFnOnce(&ManagerClient, &ClientSocket)) {
        let (client, socket) = ManagerClient::pair().unwrap();
        Thread::new(Blocking::Inline).unwrap().block_on(test(&client, &socket));
    }

    #[test]
    fn questions_have_their_turn_and_wait_no_longer_than_they_may() {
        with_client(async |client, socket| {
            let mut questions = Questions { most: 8, queue: VecDeque::new() };
            let (one, first) = ask(client, socket, b"one").await;
            let (two, second) = ask(client, socket, b"two").await;
            questions.admit(1, one, 100, 1);
            questions.admit(2, two, 105, 1);
            let patience_ms = ANSWER_PATIENCE.as_millis() as u64;
            assert_eq!(questions.due_ms(), 100 + patience_ms);
            let next = questions.next().unwrap();
            assert_eq!(next.key(), b"one");
            questions.put_back(next);
            assert_eq!(questions.next().unwrap().key(), b"one");
            // It was dropped just now: nobody answers any more.
            assert!(first.await.is_err());
            questions.turn_away_late(104 + patience_ms);
            assert_eq!(questions.due_ms(), 105 + patience_ms);
            questions.turn_away_late(105 + patience_ms);
            assert_eq!(second.await.unwrap(), MapAnswer::None);
            assert_eq!(questions.due_ms(), u64::MAX);
        });
    }

    #[test]
    fn who_has_given_up_is_passed_over() {
        with_client(async |client, socket| {
            let mut questions = Questions { most: 8, queue: VecDeque::new() };
            let (one, first) = ask(client, socket, b"one").await;
            let (two, _second) = ask(client, socket, b"two").await;
            questions.admit(1, one, 0, 1);
            questions.admit(1, two, 0, 1);
            drop(first);
            assert_eq!(questions.next().unwrap().key(), b"two");
            assert!(questions.next().is_none());
        });
    }

    #[test]
    fn one_process_leaves_room_for_others() {
        with_client(async |client, socket| {
            let mut questions = Questions { most: 8, queue: VecDeque::new() };
            let mut refused = Vec::new();
            for owner in [1, 1, 1, 1, 1, 1, 1, 2, 2, 3] {
                let (question, asking) = ask(client, socket, b"key").await;
                let before = questions.queue.len();
                questions.admit(owner, question, 0, 4);
                if questions.queue.len() == before {
                    assert_eq!(asking.await.unwrap(), MapAnswer::None);
                    refused.push(owner);
                }
            }
            assert_eq!(refused, [1, 3]);
            assert!(!questions.has_room());
        });
    }
}
