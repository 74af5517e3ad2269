//! The order of requests with weights: one turn in which each comes as often as its weight says,
//! spread as evenly as can be.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One turn, and how far apart users begin in it.
#[derive(Clone, Debug)]
pub(super) struct Mix {
    turn: Vec<u32>,
    stride: u64,
}

/// Places of a turn, about: 4 MB. Weights of a greater sum are rounded to this.
const PLACES_MAX: u64 = 1 << 20;

impl Mix {
    /// A turn of these weights. `None` if all are 0.
    pub(super) fn new(weights: impl Iterator<Item = u32> + Clone) -> Option<Self> {
        let divisor = weights.clone().map(u64::from).fold(0, gcd);
        let total: u64 = weights.clone().map(u64::from).sum::<u64>().checked_div(divisor)?;
        let places = |weight: u32| match u64::from(weight) / divisor {
            0 => 0,
            places if total <= PLACES_MAX => places,
            places => ((places as f64 / total as f64 * PLACES_MAX as f64) as u64).max(1),
        };
        let turn = turn(&weights.map(places).collect::<Vec<u64>>());
        let stride = stride(turn.len() as u64);
        Some(Self { turn, stride })
    }

    /// What comes at a step of a user. Users begin evenly spread over the turn, however many there
    /// are.
    pub(super) fn at(&self, user: u32, step: u64) -> usize {
        let len = self.turn.len() as u64;
        let start = u64::from(user) % len * self.stride % len;
        self.turn[((start + step % len) % len) as usize] as usize
    }
}

/// Turn number n of a request with w of W places must be within places floor(n W / w) and
/// ceil((n + 1) W / w). Taking the most urgent one that may come, of two the one that waits longer,
/// keeps all of these promises; so over any first part each is less than one turn off (Tijdeman's
/// chairman assignment).
fn turn(places: &[u64]) -> Vec<u32> {
    let total: u64 = places.iter().sum();
    // 2^40 at most: there are a million of each at most.
    let window = |index: u32, visit: u64| {
        let places = places[index as usize];
        (visit * total / places, ((visit + 1) * total).div_ceil(places))
    };
    let mut early: BinaryHeap<Reverse<(u64, u32, u64)>> = (0u32..)
        .zip(places)
        .filter(|(_, places)| **places > 0)
        .map(|(index, _)| Reverse((0, index, 0)))
        .collect();
    let mut due = BinaryHeap::new();
    let mut turn = Vec::new();
    for place in 0..total {
        while let Some(&Reverse((first, index, visit))) = early.peek() {
            if first > place {
                break;
            }
            early.pop();
            due.push(Reverse((window(index, visit).1, first, index, visit)));
        }
        let Some(Reverse((_, _, index, visit))) = due.pop() else { break };
        turn.push(index);
        if visit + 1 < places[index as usize] {
            early.push(Reverse((window(index, visit + 1).0, index, visit + 1)));
        }
    }
    turn
}

/// The first number from the golden section of `len` on that has no divisor in common with it: its
/// multiples reach every place, and are apart from each other at any time.
fn stride(len: u64) -> u64 {
    let wanted = (len as f64 * 0.618_033_988_749_895) as u64;
    (wanted.max(1)..).find(|stride| gcd(*stride, len) == 1).unwrap_or(1)
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_turn_is_as_short_and_as_even_as_can_be() {
        let turn = |weights: &[u32]| Mix::new(weights.iter().copied()).map(|mix| mix.turn);
        assert_eq!(turn(&[5, 5]).unwrap(), [0, 1]);
        assert_eq!(turn(&[0, 20, 10]).unwrap(), [1, 2, 1]);
        assert_eq!(turn(&[6, 2]).unwrap(), [0, 0, 1, 0]);
        assert_eq!(turn(&[7]).unwrap(), [0]);
        assert_eq!(turn(&[0, 0]), None);
        assert_eq!(turn(&[]), None);
    }

    #[test]
    fn great_sums_of_weights_are_rounded() {
        let mix = Mix::new([1_000_000, 999_999, 1].into_iter()).unwrap();
        let counts = |which: u32| mix.turn.iter().filter(|index| **index == which).count();
        assert_eq!((counts(0), counts(1), counts(2)), (524_288, 524_287, 1));
    }

    proptest! {
        #[test]
        fn the_first_part_of_a_turn_is_less_than_one_off(
            weights in proptest::collection::vec(0u32..50, 1..12),
        ) {
            let Some(mix) = Mix::new(weights.iter().copied()) else { return Ok(()) };
            let total: u32 = weights.iter().sum();
            let mut counts = vec![0.0; weights.len()];
            for (place, index) in (1u32..).zip(&mix.turn) {
                counts[*index as usize] += 1.0;
                for (count, weight) in counts.iter().zip(&weights) {
                    let wanted = f64::from(place) * f64::from(*weight) / f64::from(total);
                    let off: f64 = count - wanted;
                    prop_assert!(off.abs() < 1.0, "{} at {} of {:?}", off, place, mix.turn);
                }
            }
        }

        #[test]
        fn every_length_has_a_stride(len in 1u64..100_000_000) {
            prop_assert_eq!(gcd(stride(len), len), 1);
        }
    }
}
