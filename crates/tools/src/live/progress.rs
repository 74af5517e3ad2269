//! How far a run is, and how long it will still take.

use crate::report::units::{count, seconds};
use load::Window;
use load::pattern::LoadKind;
use load::run::LoadJob;

const SECOND_NS: f64 = 1e9;

/// When a run ends, as far as that is known before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Goal {
    /// Requests that count, or pages.
    wanted: Option<u64>,
    /// Seconds that count.
    end_s: Option<f64>,
    is_of_pages: bool,
}

impl Goal {
    pub(crate) fn of(job: &LoadJob) -> Self {
        let (options, pacer) = (&job.options, &job.pacer);
        let times = [options.duration_ns, pacer.duration_ns()].into_iter().flatten();
        let mut goal = Self {
            wanted: options.requests,
            end_s: times.min().map(|ns| ns as f64 / SECOND_NS),
            is_of_pages: options.pages.is_some(),
        };
        if pacer.kind() == LoadKind::Rate {
            goal.follow_schedule(job);
        }
        goal
    }

    /// Requests that come by the clock are as many as there is time for, and have their moments.
    fn follow_schedule(&mut self, job: &LoadJob) {
        let end_ns = self.end_s.map(|s| (s * SECOND_NS) as u64);
        let due = end_ns.map(|end_ns| job.pacer.due_before(end_ns).ceil() as u64);
        self.wanted = [due, self.wanted].into_iter().flatten().min();
        let last_ns = self.wanted.and_then(|wanted| job.pacer.due(wanted.saturating_sub(1)));
        let is_shorter = self.wanted < due || due.is_none();
        if let Some(last_ns) = last_ns.filter(|_| is_shorter) {
            self.end_s = Some(last_ns as f64 / SECOND_NS);
        }
    }

    /// What is said at a moment of the run, which is negative within the warm-up: `1,200 of 5,000
    /// requests, about 12.0 s left`.
    pub(crate) fn text(&self, so_far: &Window, at_s: f64) -> String {
        let what = if self.is_of_pages { "pages" } else { "requests" };
        let done = self.done(so_far);
        let mut text = match self.wanted {
            Some(wanted) => format!("{} of {} {what}", count(done), count(wanted)),
            None => format!("{} {what}", count(done)),
        };
        let by_time = self.end_s.map(|end_s| (end_s - at_s).max(0.0));
        let by_count = self.estimate(done, at_s);
        if let Some(left_s) = by_count.filter(|s| by_time.is_none_or(|by_time| *s < by_time)) {
            text += &format!(", about {} left", seconds(left_s));
        } else if let Some(left_s) = by_time {
            text += &format!(", {} left", seconds(left_s));
        }
        text
    }

    /// Pages, or requests without those that an answer has sent elsewhere.
    fn done(&self, so_far: &Window) -> u64 {
        match (&so_far.pages, self.is_of_pages) {
            (Some(pages), true) => pages.loaded + pages.unasked + pages.failed,
            (None, true) => 0,
            (_, false) => so_far.ended().saturating_sub(so_far.redirected),
        }
    }

    /// How long the rest takes if it goes on as until now.
    fn estimate(&self, done: u64, at_s: f64) -> Option<f64> {
        let left = self.wanted?.saturating_sub(done) as f64;
        (done > 0 && at_s > 0.0).then(|| left * at_s / done as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::Pages;
    use load::pacer::Pacer;
    use load::pattern::LoadPattern;
    use load::plan::{Plan, PlanEntry, RequestDefaults, RequestOrder, RequestSpec, Variables};
    use load::run::{PageOptions, RunOptions};

    fn goal(pattern: LoadPattern, options: RunOptions) -> Goal {
        let spec = RequestSpec { url: "http://a/", ..RequestSpec::default() };
        let entry =
            PlanEntry::new(&spec, &Variables::default(), &RequestDefaults::default()).unwrap();
        let plan = Plan::new(vec![entry], RequestOrder::InTurn).unwrap();
        Goal::of(&LoadJob { plan, pacer: Pacer::new(pattern), which: None, options })
    }

    fn after(answers: u64) -> Window {
        Window { answers, ..Window::default() }
    }

    #[test]
    fn users_have_a_number_or_a_time_before_them() {
        let users = || LoadPattern::constant(LoadKind::Users, 4.0, None).unwrap();
        let with = |requests, seconds: Option<u64>| RunOptions {
            requests,
            duration_ns: seconds.map(|s| s * 1_000_000_000),
            ..RunOptions::default()
        };
        let by_time = goal(users(), with(None, Some(60)));
        assert_eq!(by_time.text(&after(1200), 12.0), "1,200 requests, 48.0 s left");
        assert_eq!(by_time.text(&after(0), -3.0), "0 requests, 63.0 s left");
        assert_eq!(by_time.text(&after(9), 60.1), "9 requests, 0.0 s left");
        let by_count = goal(users(), with(Some(5000), None));
        assert_eq!(by_count.text(&after(0), 0.0), "0 of 5,000 requests");
        let text = by_count.text(&after(1000), 3.0);
        assert_eq!(text, "1,000 of 5,000 requests, about 12.0 s left");
        let both = goal(users(), with(Some(5000), Some(10)));
        assert_eq!(both.text(&after(1000), 3.0), "1,000 of 5,000 requests, 7.0 s left");
        assert_eq!(both.text(&after(4000), 4.0), "4,000 of 5,000 requests, about 1.0 s left");
        let ramp = goal(LoadPattern::parse("1-9:30,10").unwrap(), with(None, None));
        assert_eq!(ramp.text(&after(3), 30.0), "3 requests, 10.0 s left");
    }

    #[test]
    fn a_rate_has_its_requests_and_the_last_moment() {
        let rate = |requests, duration_ns| {
            let pattern = LoadPattern::constant(LoadKind::Rate, 50.0, duration_ns).unwrap();
            goal(pattern, RunOptions { requests, duration_ns, ..RunOptions::default() })
        };
        let text = rate(None, Some(10_000_000_000)).text(&after(200), 4.0);
        assert_eq!(text, "200 of 500 requests, 6.0 s left");
        let text = rate(Some(101), None).text(&after(0), 0.5);
        assert_eq!(text, "0 of 101 requests, 1.5 s left");
        let text = rate(Some(101), Some(10_000_000_000)).text(&after(0), 0.5);
        assert_eq!(text, "0 of 101 requests, 1.5 s left");
        let late = rate(None, Some(10_000_000_000)).text(&after(100), 11.0);
        assert_eq!(late, "100 of 500 requests, 0.0 s left");
    }

    #[test]
    fn pages_are_counted_where_pages_are_loaded() {
        let users = LoadPattern::constant(LoadKind::Users, 4.0, None).unwrap();
        let pages = Some(PageOptions::default());
        let goal = goal(users, RunOptions { requests: Some(40), pages, ..RunOptions::default() });
        let pages = Pages { loaded: 7, unasked: 2, failed: 1, ..Pages::default() };
        let so_far = Window { answers: 900, pages: Some(Box::new(pages)), ..Window::default() };
        assert_eq!(goal.text(&so_far, 2.0), "10 of 40 pages, about 6.0 s left");
        assert_eq!(goal.text(&after(3), 2.0), "0 of 40 pages");
    }
}
