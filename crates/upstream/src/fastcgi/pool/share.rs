//! Who may have how many connections to an application, and who keeps them: decisions only, from
//! numbers. Time and sockets are not known here.
//!
//! PHP-FPM has a child for each open connection, whether there is a request on it or not: a
//! connection that is kept for later keeps everybody else from that child. So no more is kept than
//! half of the children, but for one moment after it was used, and nothing while anybody waits.

use runtime::backlog::AcceptQueue;
use scoreboard::PoolSums;

/// How many connections with a request a process may have, when the application has so many
/// children and this process wants so many: its share of what all processes want, but always one,
/// so that it gets on. More would wait in the application's queue and hold up whoever else asks it;
/// in ours they are as well off. But where others wait in that queue, so do we.
///
/// Shares are rounded in the order of the rows, so that together they come to what there is: with
/// one connection too many somebody waits for a child until one is closed. (bench: php-256)
pub(super) fn busy_max(
    children: Option<u32>,
    wanted: u32,
    sums: &PoolSums,
    others: Option<AcceptQueue>,
) -> u32 {
    let Some(children) = children else { return u32::MAX };
    let places = children.saturating_add(others.map_or(0, places_among));
    let before = sums.wanted_before;
    // Rows are read one after the other while others write them: the sum may lack what this process
    // wants by now, and must not be less than it.
    let all = u64::from(sums.wanted.max(before.saturating_add(wanted)).max(1));
    // Half up, in whole numbers: `places * wanted / all`. The share is the difference of two such
    // roundings, of what is wanted up to and before this row; so the errors of the rows cancel, as
    // the end of one is the beginning of the next.
    let places_of = |wanted: u32| (2 * u64::from(places) * u64::from(wanted) + all) / (2 * all);
    let share = places_of(before.saturating_add(wanted)).saturating_sub(places_of(before));
    u32::try_from(share).unwrap_or(u32::MAX).max(1)
}

/// How many of ours may wait in a queue in which others wait: three for each of them, which is
/// three quarters of all. So it comes to nothing when the others are gone, and a queue is never
/// filled by us.
fn places_among(queue: AcceptQueue) -> u32 {
    (queue.waiting.saturating_mul(3) / 4).min(queue.most / 2)
}

/// How many connections all processes may keep together. Where the number of children is not known
/// there were at least `seen` at once, which have answered.
pub(super) fn idle_max(children: Option<u32>, seen: u32) -> u32 {
    children.unwrap_or(seen) / 2
}

/// Whether somebody waits at the application's socket beside those connections of ours that may
/// not have been accepted yet.
pub(super) fn others_wait(queue: Option<AcceptQueue>, sums: &PoolSums) -> Option<AcceptQueue> {
    queue.filter(|queue| queue.waiting > sums.fresh)
}

/// Whether a connection that a request has ended on may stay for a moment beyond that: if no more
/// are open than there are children, as to close one and make another costs more than a request.
/// A child that is the only one is kept from nobody. (bench: php-32, where 5 to 8 of 100 requests
/// made a connection of their own)
pub(super) fn may_linger(children: u32, sums: &PoolSums) -> bool {
    children > 1 && sums.busy.saturating_add(sums.idle) <= children
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(wanted: u32) -> PoolSums {
        PoolSums { wanted, ..PoolSums::default() }
    }

    #[test]
    fn children_are_shared_as_they_are_wanted() {
        let rows = [
            (Some(4), 0, 0, 1),
            (Some(4), 1, 1, 4),
            (Some(4), 128, 256, 2),
            (Some(4), 255, 256, 4),
            (Some(4), 1, 256, 1),
            (Some(5), 128, 256, 3),
            (Some(8), 127, 256, 4),
            (Some(8), 129, 256, 4),
            (Some(1), 3, 100, 1),
            (None, 3, 100, u32::MAX),
        ];
        for (children, wanted, all, expected) in rows {
            let found = busy_max(children, wanted, &sums(all), None);
            assert_eq!(found, expected, "{children:?} {wanted} of {all}");
        }
    }

    #[test]
    fn half_of_the_children_are_for_others() {
        let rows = [(Some(5), 0, 2), (Some(1), 9, 0), (None, 8, 4), (None, 1, 0)];
        for (children, seen, expected) in rows {
            assert_eq!(idle_max(children, seen), expected);
        }
    }

    #[test]
    fn a_connection_lingers_where_there_is_a_child_for_each() {
        let sums = |busy, idle| PoolSums { busy, idle, ..PoolSums::default() };
        let rows = [(8, 5, 3, true), (8, 1, 7, true), (8, 6, 3, false), (2, 1, 1, true)];
        for (children, busy, idle, expected) in rows {
            let found = may_linger(children, &sums(busy, idle));
            assert_eq!(found, expected, "{children}: {busy} and {idle}");
        }
        assert!(!may_linger(1, &sums(1, 0)), "the only child is for everybody");
    }

    #[test]
    fn connections_of_our_own_are_not_others() {
        let fresh = |fresh| PoolSums { fresh, ..PoolSums::default() };
        let waits = |waiting, ours| {
            let queue = AcceptQueue { waiting, most: 128 };
            others_wait(Some(queue), &fresh(ours)).is_some()
        };
        assert!(waits(1, 0));
        assert!(!waits(2, 2));
        assert!(waits(3, 2));
        assert!(others_wait(None, &fresh(0)).is_none(), "nothing is known");
    }

    /// Four children, four others who wait, and 256 of ours: as many of ours come to wait there as
    /// are entitled to it, and none when the others have gone.
    #[test]
    fn where_others_wait_so_do_we() {
        let settle = |others: u32, mut ours: u32, most| {
            for _ in 0..100 {
                let waiting = others + ours.saturating_sub(4);
                let queue = (waiting > 0).then_some(AcceptQueue { waiting, most });
                ours = busy_max(Some(4), 256, &sums(256), queue).min(256);
            }
            ours
        };
        assert!((12..=16).contains(&settle(4, 4, 511)), "{}", settle(4, 4, 511));
        assert!(settle(64, 4, 4096) > 150, "{}", settle(64, 4, 4096));
        assert_eq!(settle(500, 4, 400), 4 + 200, "half of the queue is for the others");
        assert_eq!(settle(0, 200, 511), 4);
    }

    #[test]
    fn all_processes_together_have_as_many_as_there_are_children_and_one_at_least() {
        let wants: [&[u32]; 5] = [&[1], &[7, 300], &[1, 1, 1, 1], &[499, 0, 3], &[20; 39]];
        for (wanted, children) in wants.iter().flat_map(|it| (1..200).map(move |at| (it, at))) {
            let wanted_by_all = wanted.iter().sum();
            let (mut total, mut least, mut before) = (0, 0, 0);
            for wanted in wanted.iter().filter(|wanted| **wanted > 0) {
                let all = PoolSums { wanted_before: before, ..sums(wanted_by_all) };
                let share = busy_max(Some(children), *wanted, &all, None);
                total += share;
                least += u32::from(share == 1);
                before += wanted;
            }
            // Whoever would have none has one.
            assert!((children..=children + least).contains(&total), "{wanted:?} {children}");
        }
    }
}
