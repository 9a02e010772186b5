//! Sessions of several requests and a pause, each on its own connection: a limit of sessions, and a rate limit that delays, in virtual time.

use loadstone_analysis::Finding;
use loadstone_metrics::{Outcome, SeriesKind};
use loadstone_plan::{ClosedStage, LoadProfile};
use loadstone_run_directory::Run;

use crate::concluded::{findings, shown};
use crate::draws::Draws;
use crate::synthetic::{self, SECOND, Slice, plan};

const SECONDS: u32 = 60;
const USERS: u32 = 24;

/// What delays the log-in.
#[derive(Debug, Clone, Copy)]
enum Limit {
    /// So many places, each held from the log-in to the end of the session.
    Sessions(usize),
    /// So many log-ins per second, at an even pace.
    Rate(f64),
}

/// Users who begin one after another. Each iteration connects, logs in, pauses, fetches, and pauses again after its session. A pause takes 0.05 s, and up to
/// `spread` seconds more.
fn run_with(limit: Limit, keeps_connections: bool, spread: f64) -> Run {
    let mut draws = Draws::new(3);
    let mut users: Vec<f64> = (0..USERS).map(|user| f64::from(user) * f64::from(SECONDS - 5) / f64::from(USERS)).collect();
    let (mut free, mut next_pass) = (vec![0.0_f64; 24], 0.0_f64);
    let mut seconds: Vec<Slice> = (0..SECONDS)
        .map(|second| {
            let active = u64::from((second * USERS / (SECONDS - 5) + 1).min(USERS));
            Slice::new(second).leaf(|leaf| (leaf.users_asked, leaf.users_active) = (active, active))
        })
        .collect();
    let mut pause = || 0.05 + spread * draws.uniform();
    loop {
        let (user, began) = users.iter().copied().enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        if began >= f64::from(SECONDS - 1) {
            break;
        }
        let place = match limit {
            Limit::Sessions(number) => (0..number).min_by(|a, b| free[*a].total_cmp(&free[*b])).unwrap(),
            Limit::Rate(_) => 0,
        };
        let passes = match limit {
            Limit::Sessions(_) => f64::max(began, free[place]),
            Limit::Rate(rate) => {
                let at = f64::max(began, next_pass);
                next_pass = at + 1.0 / rate;
                at
            }
        };
        let logged_in = passes + 0.02;
        let fetched = logged_in + pause() + 0.003;
        if let Limit::Sessions(_) = limit {
            free[place] = fetched;
        }
        users[user] = fetched + pause();
        for (kind, name, from, to) in [
            (SeriesKind::Request, "Connect", began, began + 0.0002),
            (SeriesKind::Request, "Log in", began, logged_in),
            (SeriesKind::Request, "Fetch", fetched - 0.003, fetched),
            (SeriesKind::Iteration, "Buy", began, users[user]),
        ] {
            if let Some(slice) = seconds.get_mut(to as usize) {
                slice.record(kind, name, 0, ((to - from) * 1e9) as u64, Outcome::Passed);
            }
        }
        let opened = u64::from(!keeps_connections);
        let second = &mut seconds[began as usize];
        let taken = std::mem::replace(second, Slice::new(0));
        *second = taken.generator(|generator| generator.connections_opened += opened);
    }
    let stage = ClosedStage { from: 1, to: u64::from(USERS), duration_ns: u64::from(SECONDS) * SECOND };
    let slices = seconds.into_iter().map(|slice| slice.leaf(|leaf| leaf.ended = 1).done()).collect();
    synthetic::run_of(plan(LoadProfile::Closed { stages: vec![stage] }), slices)
}

fn run(limit: Limit, keeps_connections: bool) -> Run {
    run_with(limit, keeps_connections, 0.2)
}

fn limit_of(run: &Run) -> (Finding, String) {
    let found = findings(run);
    let text = shown(&found);
    (found.into_iter().find(|finding| finding.rule == "rate-limit").unwrap_or_else(|| panic!("{text}")), text)
}

/// 3 places that are held for 0.176 s on average let 17 sessions per second through. An iteration takes 0.32 s, with the pause after the session.
#[test]
fn places_that_a_session_holds_are_not_called_a_rate_limit_alone() {
    let (found, text) = limit_of(&run(Limit::Sessions(3), false));
    assert!(found.claim.contains("The throughput of \"Log in\" stops at 1"), "{text}");
    assert!(found.claim.contains("a rate limit that delays, or places that each session holds to its end (at most 6 at a time)"), "{text}");
    assert!(found.evidence.iter().any(|evidence| evidence.text.contains("did not wait: sessions")), "{text}");
    assert!(found.next.contains("for a limit of sessions: processes, workers or connections"), "{}", found.next);
}

/// Pauses that hardly vary let sessions pass as evenly as a limiter might.
#[test]
fn sessions_of_similar_length_pass_at_an_even_pace_and_may_hold_places() {
    let (found, text) = limit_of(&run_with(Limit::Sessions(2), false, 0.1));
    assert!(
        found.claim.contains("at an even pace") && found.claim.contains("or places that each session holds to its end (at most"),
        "{text}"
    );
}

/// A limiter lets them through at an even pace.
#[test]
fn a_rate_limit_that_delays_sessions_remains_one() {
    for run in [run(Limit::Rate(17.0), false), run(Limit::Rate(17.0), true)] {
        let (found, text) = limit_of(&run);
        assert!(found.claim.contains("a rate limit that delays") && !found.claim.contains("session"), "{text}");
    }
}
