//! What the mapping promises: its size, its bounds, and whom it lets write where.

use super::*;

#[test]
fn nobody_can_change_the_size_of_the_memory() {
    let board = Scoreboard::create(1, 1, 0).unwrap();
    for bytes in [0, 1, board.bytes as u64 - 1, board.bytes as u64 + 1, 1 << 20] {
        assert!(ftruncate(&board._descriptor, bytes).is_err(), "{bytes} bytes");
    }
    assert!(fcntl_add_seals(&board._descriptor, SealFlags::WRITE).is_err());
    assert_eq!(board.process(0).unwrap().connections(), 0);
}

#[test]
fn another_process_sees_what_is_written_and_nothing_else_passes_for_a_board() {
    let board = Scoreboard::create(3, 2, 11).unwrap();
    let opened = Scoreboard::open(board._descriptor.try_clone().unwrap()).unwrap();
    board.worker(1, 1).unwrap().count(10);
    board.note_used(1);
    assert_eq!((opened.processes(), opened.rows_per_process()), (3, 2));
    assert_eq!(opened.worker(1, 1).unwrap().view().requests, 1);
    assert_eq!((opened.started_unix_s(), opened.used()), (11, 2));
    board.header().processes.store(4, Relaxed);
    let same = || board._descriptor.try_clone().unwrap();
    assert!(Scoreboard::open(same()).is_err(), "more processes than there is memory for");
    board.header().processes.store(3, Relaxed);
    board.header().version.store(VERSION + 1, Relaxed);
    assert!(Scoreboard::open(same()).is_err());
    let unsealed = memfd_create(c"other", MemfdFlags::CLOEXEC).unwrap();
    assert!(Scoreboard::open(unsealed).is_err());
    assert!(Scoreboard::open(sealed_memory(1 << 20).unwrap()).is_err());
}

#[test]
fn what_was_shown_once_does_not_go_back() {
    let (first, mut second) =
        (Scoreboard::create(1, 1, 5).unwrap(), Scoreboard::create(1, 1, 7).unwrap());
    second.continue_from(&first);
    assert_eq!((second.started_unix_s(), second.made_unix_s()), (5, 7));
    let totals = |requests| Totals { requests, ..Totals::default() };
    assert_eq!(first.never_less(totals(100)), totals(100));
    assert_eq!(second.never_less(totals(98)), totals(100));
    assert_eq!(second.never_less(totals(101)), totals(101));
    assert_eq!(first.never_less(totals(99)), totals(101));
    assert_eq!(first.never_less(totals(u64::MAX)), totals(u64::MAX));
    assert_eq!(second.never_less(totals(102)), totals(102), "nonsense is left out");
}

#[test]
fn a_child_can_read_the_header_that_it_cannot_write() {
    let board = Scoreboard::create(2, 3, 0).unwrap();
    board.note_used(0);
    board.write_only(1).unwrap();
    assert!(board.history().seconds().is_empty());
    board.worker(1, 2).unwrap().count(10);
    board.process(1).unwrap().set_state(crate::ProcessState::Serving);
    assert_eq!(board.sums(), SlotSums::default(), "nothing is known of place 1");
}
