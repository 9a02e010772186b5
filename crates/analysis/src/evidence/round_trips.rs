//! The part of the time of requests that their database round trips take: a number of round trips alone explains no time.

use loadstone_metrics::{LeafSlice, Role, SeriesKind};

use crate::SeriesTally;
use crate::facts::Facts;
use crate::facts::commits::Commits;
use crate::facts::outward_waits::{self, DatabaseCalls};
use crate::facts::repeated_statements::{ComesWith, RepeatedStatement};
use crate::finding::Quantity;
use crate::finding::ranked::RankedFinding;

/// Part of the time of a request without waiting, below which round trips are no cause of slowness. A request counts as slower if it takes 1.5 times as long.
/// Without these round trips it would take a tenth less, and each place that it occupies would serve a tenth more.
const SMALL_SHARE_MAX: f64 = 0.1;
/// Part of the time of all requests below which measured round trips are not what the requests wait for.
pub(crate) const LOADED_SHARE_MAX: f64 = 0.25;
/// Time of a round trip on the path of the system, if that of the observer is shorter. Seconds. The system may use another path, such as a proxy, and 10 ms are
/// more than between the zones of a region.
const UNSEEN_ROUND_TRIP_S: f64 = 0.01;
/// Round trips of a transaction whose statements are not counted: it begins, executes one statement and commits.
const ROUND_TRIPS_PER_TRANSACTION: f64 = 3.0;

/// Part of the mean time of requests that answers must be on their way, to be named.
pub(crate) const ON_THE_WAY_PART_MIN: f64 = 0.5;
/// The database's own time, as a part of the time until its answers arrive, up to which most of that time is spent on the way.
pub(crate) const IN_DATABASE_PART_MAX: f64 = 0.25;

/// The name of the part as a quantity of a finding.
pub(crate) const TIME_SHARE: &str = "time_share";

/// The round trips of an iteration or of a request. Times in seconds.
#[derive(Debug, Clone)]
pub(crate) struct RoundTripTime<'a> {
    /// What takes the time, in the plural.
    what: &'static str,
    /// `iteration of the load`, or the name of the request.
    whole: String,
    number: f64,
    /// The database's own time for all of them.
    in_database_s: f64,
    /// One round trip of the observer.
    round_trip_s: Option<f64>,
    /// The calls to the database, and the time in which they had no answer, by the kernel. Some are not seen.
    awaited: Option<(f64, DatabaseCalls<'a>)>,
    /// The mean time of the whole.
    mean_s: f64,
    /// The time of the whole if each of its requests is as short as the shortest of the run. None of them waited, so it is a lower bound.
    shortest_s: f64,
}

/// Answers that are on their way.
pub(crate) struct OnTheWay<'a> {
    /// Part of the mean time of requests.
    pub(crate) part: f64,
    /// Where the calls go, if that is not known to be the database.
    pub(crate) may_lead_there: Option<&'a str>,
}

impl<'a> RoundTripTime<'a> {
    /// `None`: the database does not report the statement's time, or it belongs to journeys.
    pub(crate) fn of_statement(facts: &Facts<'a>, repeated: &RepeatedStatement<'_>) -> Option<Self> {
        let is_whole = |series: &&SeriesTally| match &repeated.comes_with {
            ComesWith::Iterations => true,
            ComesWith::Request(name) => *series.merged.key.name == **name,
        };
        let requests: Vec<&SeriesTally> = facts.tally.of_kind(SeriesKind::Request).filter(is_whole).collect();
        let count = match &repeated.comes_with {
            ComesWith::Iterations => iterations(facts),
            ComesWith::Request(_) => requests.iter().map(|series| series.merged.count as f64).sum(),
        };
        let in_database_s = repeated.took_s? * repeated.each;
        let round_trip_s = round_trip(facts, repeated.observer, repeated.stretch);
        Self::of(facts, ("they", repeated.whole()), &requests, count, (repeated.each, in_database_s, round_trip_s))
    }

    /// All of the database's time counts as that of the transactions: an upper bound. `None`: its active sessions were not observed.
    pub(crate) fn of_commits(facts: &Facts<'a>, commits: &Commits) -> Option<Self> {
        let (part, stretch) = (facts.signals.parts_with(Role::Commits).next()?, (commits.from, commits.to));
        let each = |rate: f64| rate * commits.per_iteration / commits.rate.max(1e-9);
        let active = facts.signals.mean(part, Role::SessionsActive, commits.from, commits.to)?;
        let statements = facts.signals.read_each(part, Role::StatementCalls);
        let statements: f64 = statements.iter().filter_map(|calls| calls.mean(commits.from, commits.to)).sum();
        let number = f64::max(each(statements), ROUND_TRIPS_PER_TRANSACTION * commits.per_iteration);
        let requests: Vec<&SeriesTally> = facts.tally.of_kind(SeriesKind::Request).collect();
        let round_trip_s = round_trip(facts, part.observer, stretch);
        let names = ("they and the database's other work", "iteration of the load".to_owned());
        let found = Self::of(facts, names, &requests, iterations(facts), (number, each(active), round_trip_s))?;
        let awaited = outward_waits::calls_to(&facts.signals, &facts.run.plan.observers, part.observer, stretch);
        Some(Self { awaited: awaited.map(|awaited| (each(awaited.calls), awaited)), ..found })
    }

    fn of(
        facts: &Facts<'_>,
        (what, whole): (&'static str, String),
        requests: &[&SeriesTally],
        count: f64,
        (number, in_database_s, round_trip_s): (f64, f64, Option<f64>),
    ) -> Option<Self> {
        let each = |series: &SeriesTally| series.merged.count as f64 / count.max(1.0);
        let mean = |series: &SeriesTally| series.merged.service.mean().unwrap_or(0.0) / 1e9;
        let mean_s: f64 = requests.iter().map(|series| each(series) * mean(series)).sum();
        let shortest_s: f64 = requests.iter().map(|series| each(series) * series.merged.service.min() as f64 / 1e9).sum();
        // Background work is no part of the time of requests.
        let is_of_requests = facts.run.plan.flows.is_empty() && count > 0.0 && mean_s > 0.0;
        is_of_requests.then_some(Self { what, whole, number, in_database_s, round_trip_s, awaited: None, mean_s, shortest_s })
    }

    /// Part of the mean time. Without a round trip of the observer, a lower bound.
    fn share(&self) -> f64 {
        (self.taken_s() / self.mean_s).min(1.0)
    }

    fn taken_s(&self) -> f64 {
        let assumed = self.in_database_s + self.number * self.round_trip_s.unwrap_or(0.0);
        self.awaited.as_ref().map_or(assumed, |(awaited_s, _)| awaited_s.max(assumed))
    }

    /// The part of the requests' time for which answers of the database are on their way, if that is most of it: the path takes the time, and the database
    /// does not.
    pub(crate) fn on_the_way(&self) -> Option<OnTheWay<'a>> {
        let (awaited_s, calls) = self.awaited.as_ref()?;
        let part = ((awaited_s - self.in_database_s) / self.mean_s).min(1.0);
        (part >= ON_THE_WAY_PART_MIN && self.in_database_s <= IN_DATABASE_PART_MAX * awaited_s)
            .then_some(OnTheWay { part, may_lead_there: calls.may_lead_there })
    }

    /// Whether they take a small part of the time, even of a request that does not wait.
    pub(crate) fn is_small(&self) -> bool {
        let most_s = self.in_database_s + self.number * self.round_trip_s.unwrap_or(0.0).max(UNSEEN_ROUND_TRIP_S);
        most_s < SMALL_SHARE_MAX * self.shortest_s
    }

    /// The same if each round trip takes as long as the observer's.
    pub(crate) fn is_small_as_observed(&self) -> bool {
        self.round_trip_s.is_some() && self.share() < SMALL_SHARE_MAX
    }

    /// Whether the answers were awaited for a small part of the time that requests took, waits included, by the kernel.
    pub(crate) fn is_small_under_load(&self) -> bool {
        self.awaited.is_some() && self.share() < LOADED_SHARE_MAX
    }

    fn phrase(&self) -> String {
        let seconds = loadstone_units::seconds;
        let (about, path) = match (&self.awaited, self.round_trip_s) {
            (Some((awaited_s, _)), _) if *awaited_s >= self.taken_s() => (
                "about",
                format!(", and {} until the answers of {:.0} round trips arrive", seconds(awaited_s - self.in_database_s), self.number),
            ),
            (_, Some(each_s)) => {
                ("about", format!(", and {:.0} round trips of {}, as long as the observer's", self.number, seconds(each_s)))
            }
            (_, None) => ("at least", String::new()),
        };
        format!(
            "{} take {about} {} of the {} of each {} ({}): {} in the database{path}",
            self.what,
            seconds(self.taken_s()),
            seconds(self.mean_s),
            self.whole,
            loadstone_units::share(self.share()),
            seconds(self.in_database_s)
        )
    }

    /// Adds the part to a finding, as a number and as evidence.
    pub(crate) fn add_to(&self, found: RankedFinding, stretch: (f64, f64)) -> RankedFinding {
        let awaited = self.awaited.iter().map(|(_, calls)| calls.series.clone());
        let series = std::iter::once("response/p50".to_owned()).chain(awaited).collect();
        found.with(Quantity::share(TIME_SHARE, self.share())).rests_on(self.phrase(), series, stretch)
    }
}

/// Iterations that ended.
fn iterations(facts: &Facts<'_>) -> f64 {
    let ended = |leaf: &LeafSlice| leaf.ended;
    facts.run.slices.iter().flat_map(|slice| &slice.leaves).map(ended).sum::<u64>() as f64
}

fn round_trip(facts: &Facts<'_>, observer: &str, (from, to): (f64, f64)) -> Option<f64> {
    let part = facts.signals.parts_with(Role::RoundTrip).find(|part| part.observer == observer)?;
    facts.signals.mean(part, Role::RoundTrip, from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of requests that take four seconds each. Times in seconds.
    fn round_trips(number: f64, in_database_s: f64) -> RoundTripTime<'static> {
        let whole = "iteration of the load".to_owned();
        RoundTripTime {
            what: "they",
            whole,
            number,
            in_database_s,
            round_trip_s: Some(0.0002),
            awaited: None,
            mean_s: 5.0,
            shortest_s: 4.0,
        }
    }

    #[test]
    fn answers_are_on_the_way_if_the_database_does_not_work_on_them() {
        let of = |awaited_s: f64, in_database_s: f64| {
            let time = round_trips(100.0, in_database_s);
            let calls = DatabaseCalls { calls: 3.0, series: "app/awaited".to_owned(), may_lead_there: None };
            RoundTripTime { awaited: Some((awaited_s, calls)), ..time }
        };
        let part = of(3.0, 0.2).on_the_way().map_or(0.0, |found| found.part);
        assert!((part - 2.8 / 5.0).abs() < 1e-12, "{part}");
        let text = of(3.0, 0.2).phrase();
        assert!(text.starts_with("they take about 3.00 s of the 5.00 s"), "{text}");
        assert!(text.ends_with("200 ms in the database, and 2.80 s until the answers of 100 round trips arrive"), "{text}");
        // A small part of the time, or the database's own.
        for time in [of(2.0, 0.1), of(3.6, 1.0), round_trips(100.0, 0.2)] {
            assert!(time.on_the_way().is_none(), "{time:?}");
        }
    }

    #[test]
    fn round_trips_are_few_only_if_they_are_on_any_path() {
        // 40 ms in the database, and at most 200 ms on the way.
        assert!(round_trips(20.0, 0.04).is_small());
        // 3.2 of the four seconds in the database.
        assert!(!round_trips(80.0, 3.2).is_small());
        // Little by the observer's path, and the system's may be longer.
        assert!(!round_trips(80.0, 0.16).is_small());
    }

    #[test]
    fn the_share_is_that_of_the_mean_time() {
        let time = round_trips(10.0, 0.0186);
        assert!((time.share() - 0.00412).abs() < 1e-12, "{}", time.share());
        let text = time.phrase();
        assert!(
            text.starts_with("they take about 20.6 ms of the ") && text.contains("18.6 ms in the database, and 10 round trips of 200 µs"),
            "{text}"
        );
    }
}
