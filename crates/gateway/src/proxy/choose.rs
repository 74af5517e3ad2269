//! Who of a group is next: the order of sets, spares and standbys (proxy_balancer_get_best_worker
//! of proxy_util.c), and in it the ways of the lbmethod_* modules. Only arithmetic.

use super::worker::ProxyWorker;
use std::collections::HashMap;
use std::sync::Arc;

/// By what the next member is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LbMethod {
    /// Requests in proportion to load factors.
    Requests,
    /// Bytes in proportion to load factors.
    Traffic,
    /// The member with the fewest requests in work; among those as by requests.
    Busyness,
}

impl LbMethod {
    /// With the name of each, and the module that it is in httpd.
    pub(crate) const ALL: [(&str, &str, Self); 3] = [
        ("byrequests", "lbmethod_byrequests_module", Self::Requests),
        ("bytraffic", "lbmethod_bytraffic_module", Self::Traffic),
        ("bybusyness", "lbmethod_bybusyness_module", Self::Busyness),
    ];
}

/// What a member has had to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemberShare {
    /// How urgently it is to have more (`lbstatus`).
    pub(crate) urgency: i64,
    /// Requests in work.
    pub(crate) busy: u32,
    /// Bytes both ways.
    pub(crate) bytes: u64,
}

/// A choice in the making.
struct MemberChoice<'c> {
    members: &'c [Arc<ProxyWorker>],
    shares: &'c mut [MemberShare],
    method: LbMethod,
    best: Option<usize>,
    handed_out: i64,
}

impl MemberChoice<'_> {
    /// Look at one that can be asked. As in httpd looking is what raises its urgency.
    fn consider(&mut self, nth: usize) {
        let factor = i64::from(self.members[nth].parameters.load_factor);
        if self.method != LbMethod::Traffic {
            self.shares[nth].urgency += factor;
            self.handed_out += factor;
        }
        let is_better = |best: usize| {
            let (own, other) = (&self.shares[nth], &self.shares[best]);
            let factor_of = |nth: usize| self.members[nth].parameters.load_factor.unsigned_abs();
            match self.method {
                LbMethod::Requests => own.urgency > other.urgency,
                LbMethod::Busyness => {
                    own.busy < other.busy || own.busy == other.busy && own.urgency > other.urgency
                }
                LbMethod::Traffic => {
                    own.bytes / u64::from(factor_of(nth).max(1))
                        < other.bytes / u64::from(factor_of(best).max(1))
                }
            }
        };
        if self.best.is_none_or(is_better) {
            self.best = Some(nth);
        }
    }
}

/// The member that is next, if one can be asked.
pub(crate) fn next(
    members: &[Arc<ProxyWorker>],
    shares: &mut [MemberShare],
    method: LbMethod,
    tried: &[usize],
) -> Option<usize> {
    let mut sets: Vec<u8> = members.iter().map(|member| member.parameters.set).collect();
    sets.sort_unstable();
    sets.dedup();
    let mut choice = MemberChoice { members, shares, method, best: None, handed_out: 0 };
    for set in sets {
        let of_set = |nth: &usize| members[*nth].parameters.set == set;
        among(&mut choice, (0..members.len()).filter(of_set), tried);
        if choice.best.is_some() {
            break;
        }
    }
    // What all were raised by is taken from the one that is chosen (lbmethod_byrequests.c). The sum
    // stays what it was, so that each has its share of requests in the long run; with `Traffic`
    // nothing was handed out, and bytes alone decide.
    let (best, handed_out) = (choice.best?, choice.handed_out);
    shares[best].urgency -= handed_out;
    Some(best)
}

/// The members of one set: spares take the places of those that cannot be asked, standbys come when
/// nobody else is left.
fn among(choice: &mut MemberChoice<'_>, set: impl Iterator<Item = usize>, tried: &[usize]) {
    let (mut spares, mut standbys, mut missing) = (Vec::new(), Vec::new(), 0);
    for nth in set {
        let states = choice.members[nth].parameters.states;
        let may_be_asked = choice.members[nth].is_usable() && !tried.contains(&nth);
        match (states.is_spare, states.is_standby) {
            (true, _) if may_be_asked && !states.is_draining => spares.push(nth),
            (false, true) if may_be_asked && !states.is_draining => standbys.push(nth),
            (true, _) | (_, true) => {}
            _ if may_be_asked && !states.is_draining => choice.consider(nth),
            _ => missing += 1,
        }
    }
    spares.into_iter().take(missing).for_each(|nth| choice.consider(nth));
    if choice.best.is_none() {
        standbys.into_iter().for_each(|nth| choice.consider(nth));
    }
}

/// The member of a route, standbys last; one that cannot be asked may name another
/// (find_route_worker of mod_proxy_balancer.c).
pub(crate) fn routed(members: &[Arc<ProxyWorker>], route: &str, tried: &[usize]) -> Option<usize> {
    RouteSearch { members, tried, in_vain: HashMap::new() }.find(route, 1)
}

/// A search for the member of a route.
struct RouteSearch<'s> {
    members: &'s [Arc<ProxyWorker>],
    tried: &'s [usize],
    /// Routes that led to nobody, and behind how many redirects at least. Those that lead to each
    /// other would be looked at again and again, each time in as many ways as there are members.
    in_vain: HashMap<&'s str, usize>,
}

impl<'s> RouteSearch<'s> {
    fn find(&mut self, route: &str, depth: usize) -> Option<usize> {
        for is_standby in [false, true] {
            for (nth, member) in self.members.iter().enumerate() {
                let parameters = &member.parameters;
                if parameters.states.is_standby != is_standby
                    || parameters.route.is_empty()
                    || parameters.route != route
                {
                    continue;
                }
                if member.is_usable() && !self.tried.contains(&nth) {
                    return Some(nth);
                }
                if let Some(other) = self.redirected(&parameters.redirect, depth) {
                    return Some(other);
                }
            }
        }
        None
    }

    /// Redirects may go in a circle.
    fn redirected(&mut self, route: &'s str, depth: usize) -> Option<usize> {
        let is_in_vain = self.in_vain.get(route).is_some_and(|least| *least <= depth);
        if route.is_empty() || depth >= self.members.len() || is_in_vain {
            return None;
        }
        let found = self.find(route, depth + 1);
        if found.is_none() {
            self.in_vain.insert(route, depth);
        }
        found
    }
}

/// Sessions count, too: as if the member had been chosen.
pub(crate) fn charge(members: &[Arc<ProxyWorker>], shares: &mut [MemberShare], nth: usize) {
    let mut handed_out = 0;
    for (member, share) in members.iter().zip(shares.iter_mut()) {
        if member.is_usable() {
            share.urgency += i64::from(member.parameters.load_factor);
            handed_out += i64::from(member.parameters.load_factor);
        }
    }
    shares[nth].urgency -= handed_out;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A group of members with such parameters.
    fn group(members: &[&str]) -> Vec<Arc<ProxyWorker>> {
        let member = |(nth, text): (usize, &&str)| {
            let mut worker = ProxyWorker::new(&format!("fcgi://h{nth}"), false, true).unwrap();
            for (key, value) in text.split(' ').filter_map(|pair| pair.split_once('=')) {
                worker.parameters.set(key, value).unwrap();
            }
            Arc::new(worker)
        };
        members.iter().enumerate().map(member).collect()
    }

    /// Who answers the first requests.
    fn order(members: &[&str], method: LbMethod, count: usize) -> Vec<Option<usize>> {
        let members = group(members);
        let mut shares = vec![MemberShare::default(); members.len()];
        (0..count).map(|_| next(&members, &mut shares, method, &[])).collect()
    }

    #[test]
    fn requests_are_shared_out_by_load_factor() {
        let by_requests = |members: &[&str], count| {
            let order = order(members, LbMethod::Requests, count);
            order.into_iter().map(Option::unwrap).collect::<Vec<_>>()
        };
        assert_eq!(by_requests(&["", "", ""], 6), [0, 1, 2, 0, 1, 2]);
        assert_eq!(by_requests(&["", "", "", "loadfactor=2"], 5), [3, 0, 1, 2, 3]);
        let counts = by_requests(&["loadfactor=1", "loadfactor=4"], 100);
        assert_eq!(counts.iter().filter(|nth| **nth == 1).count(), 80);
    }

    #[test]
    fn sets_spares_and_standbys_wait_for_their_turn() {
        for (members, expected) in [
            (&["status=+H", ""][..], Some(1)),
            (&["status=+H", "status=+D"], Some(0)),
            (&["lbset=1", "lbset=0"], Some(1)),
            (&["lbset=1", "lbset=0 status=S"], Some(0)),
            (&["status=R", ""], Some(1)),
            (&["status=R", "status=D"], Some(0)),
            (&["status=R", "status=N"], Some(0)),
            (&["status=N", "status=E"], None),
            (&[], None),
        ] {
            assert_eq!(order(members, LbMethod::Requests, 1), [expected], "{members:?}");
        }
    }

    #[test]
    fn the_least_busy_and_the_least_used_are_next() {
        let members = group(&["", ""]);
        let mut shares = [MemberShare { busy: 2, bytes: 10, ..MemberShare::default() }; 2];
        shares[1] = MemberShare { busy: 1, bytes: 500, ..MemberShare::default() };
        assert_eq!(next(&members, &mut shares, LbMethod::Busyness, &[]), Some(1));
        assert_eq!(next(&members, &mut shares, LbMethod::Busyness, &[1]), Some(0));
        assert_eq!(next(&members, &mut shares, LbMethod::Traffic, &[]), Some(0));
    }

    #[test]
    fn a_session_stays_where_it_is() {
        let members = group(&["route=a", "route=b", "route=c redirect=a status=D"]);
        for (route, expected) in [("a", Some(0)), ("b", Some(1)), ("c", Some(0)), ("d", None)] {
            assert_eq!(routed(&members, route, &[]), expected, "{route}");
        }
        let circle = group(&["route=a redirect=b status=D", "route=b redirect=a status=D"]);
        assert_eq!(routed(&circle, "a", &[]), None);
        // Who stands behind is found where the circle has gone round as often as there are members.
        let members = [
            "route=a redirect=b status=D",
            "route=b redirect=a status=D",
            "route=b",
            "route=a",
            "",
        ];
        assert_eq!(routed(&group(&members[..4]), "a", &[]), Some(2));
        assert_eq!(routed(&group(&members), "a", &[]), Some(3));
    }

    #[test]
    fn members_that_all_lead_to_each_other_are_soon_done_with() {
        let members: Vec<String> = (0..60)
            .map(|nth| format!("route={} redirect={} status=D", nth % 3, (nth + 1) % 3))
            .collect();
        let members: Vec<&str> = members.iter().map(String::as_str).collect();
        assert_eq!(routed(&group(&members), "0", &[]), None);
        let with_last = [&members[..], &["route=2"]].concat();
        assert_eq!(routed(&group(&with_last), "0", &[]), Some(60));
    }
}
