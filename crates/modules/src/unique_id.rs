//! unique_id: a name for each request that no other request has, on any machine of a site, in the
//! variable `UNIQUE_ID` (mod_unique_id).

use logging::id::UniqueId;
use server::failure::Stop;
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::request_context::RequestContext;
use server::thread_state::ThreadKey;
use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};

/// The module; it has no directives.
pub(crate) static MODULE: Module = Module::new(
    "unique_id_module",
    "mod_unique_id.c",
    &[],
    Hooks { read: Some(Hook::Now(read)), ..Hooks::NONE },
)
.if_asked();

/// The key of what gives identifiers on a thread.
static SOURCE: ThreadKey<RefCell<IdSource>> = ThreadKey::new();

/// Post-read-request hook (set_unique_id). A request that was redirected within the server keeps
/// its identifier. It is what the logs call the request as well.
pub(crate) fn read(request: &mut RequestContext<'_>) -> Result<(), Stop> {
    request.mark_personal();
    let unique = &request.received().ids.unique;
    let id = unique.get().unwrap_or_else(|| {
        let time_s = request.received().start_us.div_euclid(1_000_000);
        // httpd numbers the connections of a child; here threads share one, and the port of the
        // client tells them apart as well.
        let connection = u32::from(request.received().other_end().port());
        SOURCE.of(&request.context.modules).borrow_mut().next(time_s, connection)
    });
    unique.set(Some(id));
    request.tables.env.set("UNIQUE_ID", id);
    Ok(())
}

/// Letters of the identifier: base64 that is safe in URLs (RFC 4648 section 5).
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Random bytes that tell one source of identifiers from all others.
const ROOT_BYTES: usize = 10;

/// Bytes before they are written as letters: time, root, counter and connection.
const ID_BYTES: usize = 4 + ROOT_BYTES + 2 + 4;

/// Gives identifiers to the requests of one thread. It is made after the fork: two children with
/// one root could give the same identifier.
#[derive(Clone, Debug)]
pub(crate) struct IdSource {
    root: [u8; ROOT_BYTES],
    counter: u32,
}

impl Default for IdSource {
    fn default() -> Self {
        Self::new()
    }
}

impl IdSource {
    /// A source with a root of its own. The keys of the standard hasher come from the operating
    /// system; identifiers have to differ, they need not be hard to guess.
    pub(crate) fn new() -> Self {
        let random = |salt: u8| RandomState::new().hash_one(salt).to_be_bytes();
        let [start, end] = [random(0), random(1)];
        let mut root = [0; ROOT_BYTES];
        root[..8].copy_from_slice(&start);
        root[8..].copy_from_slice(&end[..2]);
        // A counter that begins anywhere protects against a clock that goes backwards.
        let [_, _, _, _, counter @ ..] = end;
        Self { root, counter: u32::from_be_bytes(counter) }
    }

    /// The identifier of the next request, which came at this time (seconds since 1970) on this
    /// connection.
    pub(crate) fn next(&mut self, time_s: i64, connection: u32) -> UniqueId {
        let bytes = id_bytes(time_s, &self.root, self.counter, connection);
        self.counter = self.counter.wrapping_add(1);
        letters(&bytes)
    }
}

/// The fields one after the other, each in network byte order (mod_unique_id.c `gen_unique_id`).
/// As there, the time has 32 bits, and the counter never shows 65535.
fn id_bytes(time_s: i64, root: &[u8; ROOT_BYTES], counter: u32, connection: u32) -> [u8; ID_BYTES] {
    let mut bytes = [0; ID_BYTES];
    bytes[..4].copy_from_slice(&(time_s as u32).to_be_bytes());
    bytes[4..14].copy_from_slice(root);
    bytes[14..16].copy_from_slice(&((counter % 0xffff) as u16).to_be_bytes());
    bytes[16..].copy_from_slice(&connection.to_be_bytes());
    bytes
}

/// Six bits for each letter, without padding.
fn letters(bytes: &[u8; ID_BYTES]) -> UniqueId {
    let mut text = UniqueId::default();
    for (letters, group) in text.chunks_mut(4).zip(bytes.chunks(3)) {
        let bits = (0..3)
            .fold(0, |bits, at| bits << 8 | u32::from(group.get(at).copied().unwrap_or_default()));
        for (letter, shift) in letters.iter_mut().zip([18, 12, 6, 0]) {
            *letter = LETTERS[(bits >> shift & 63) as usize];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn identifiers_are_27_letters_with_the_time_in_front() {
        // "awBReQdZfrkn_J0YZp0acAAAAAE" is what Apache 2.4.71 gave to a request.
        let root = [0x07, 0x59, 0x7e, 0xb9, 0x27, 0xfc, 0x9d, 0x18, 0x66, 0x9d];
        let bytes = id_bytes(1_795_182_969, &root, 0x1a70, 1);
        assert_eq!(&letters(&bytes), b"awBReQdZfrkn_J0YZp0acAAAAAE");
        assert_eq!(&letters(&[0xff; ID_BYTES]), b"__________________________8");
        assert_eq!(letters(&[0; ID_BYTES]), [b'A'; 27]);
    }

    #[test]
    fn the_counter_wraps_before_its_last_value() {
        let counter = |value| id_bytes(0, &[0; ROOT_BYTES], value, 0)[14..16].to_vec();
        assert_eq!(counter(0xfffe), [0xff, 0xfe]);
        assert_eq!(counter(0xffff), [0, 0]);
        assert_eq!(counter(0x1_0000), [0, 1]);
    }

    #[test]
    fn no_two_are_the_same() {
        let mut sources = [IdSource::new(), IdSource::new(), IdSource::new()];
        let mut seen = HashSet::new();
        for round in 0..3000 {
            assert!(seen.insert(sources[round % 3].next(1_795_182_969, 7)));
        }
    }
}
