//! The load that would decide an open question: as a line of script, for a run of a URL as flags, for a k6 script as flags or options of k6.

use loadstone_plan::{IterationSplit, LoadProfile, OpenStage, RunRole, Timing};

use super::load_stages::{self, LoadStage};
use crate::advice_terms::AdviceTerms;
use crate::facts::Facts;

/// The ramp's highest load over that of this run, and that of this run over the ramp's first load.
const RAMP_TOP_FACTOR: f64 = 2.0;
const RAMP_BOTTOM_DIVISOR: f64 = 10.0;
/// Seconds of an advised ramp, of the highest load after it, and of the highest load alone.
const RAMP_S: f64 = 120.0;
const RAMP_TOP_S: f64 = 60.0;
const HELD_S: f64 = 120.0;
/// The shortest advised run that is longer than this one. Minutes.
const LONGER_MINUTES_MIN: f64 = 2.0;
/// Stages that an advised line may have. More are described instead.
const STAGES_MAX: usize = 6;

/// The load of the next run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WantedLoad {
    /// A ramp from low to twice this run's highest load, held at the end.
    Higher,
    /// A ramp from low to this run's highest load.
    FromLow,
    /// This run's load up to its highest level, which is then held for two minutes.
    Held,
    /// The same load, this many times as long: each of its stages is.
    Longer(f64),
}

/// The profile of the scenario that has the highest load.
struct PresentLoad<'a> {
    scenario: &'a str,
    is_open: bool,
    is_poisson: bool,
    /// Arrivals per second, or users.
    top: f64,
    /// Its stages with a level. Empty for a number of iterations.
    stages: Vec<LoadStage>,
    /// Whether it consists of them.
    is_complete: bool,
    iterations: Option<(u64, IterationSplit)>,
}

/// An advised load, before it is rendered.
enum NextLoad {
    Stages(Vec<LoadStage>),
    Iterations {
        count: u64,
        split: IterationSplit,
    },
    /// The stages of the test, with each duration multiplied by this.
    EachLonger(f64),
}

/// With the scenario, where there are several. Empty for a load that no profile of this kind can follow.
pub(crate) fn line(facts: &Facts<'_>, wanted: WantedLoad) -> String {
    let runs = facts.run.plan.load.leaves().into_iter().filter(|run| run.role == RunRole::Load);
    let present = runs.filter_map(|run| {
        let scenario = facts.run.plan.scenarios.get(run.scenario.0 as usize)?;
        PresentLoad::of(&scenario.name, &run.profile)
    });
    let Some(most) = present.max_by(|a, b| a.top.total_cmp(&b.top)) else { return String::new() };
    let next = match most.next(wanted) {
        NextLoad::EachLonger(times) if !matches!(facts.terms(), AdviceTerms::WatchFlags) => {
            return format!(", with each of its stages {} times as long", loadstone_units::number(times));
        }
        next => next,
    };
    match facts.terms() {
        AdviceTerms::Flags => format!(": `{}`", most.flags(&next)),
        AdviceTerms::K6Script { .. } => {
            let scenarios = facts.run.plan.load.leaves().into_iter().filter(|run| run.role == RunRole::Load).count();
            // Flags would replace all scenarios.
            match most.is_open || scenarios > 1 {
                true => format!(": `{}` for the scenario \"{}\"", most.k6_scenario(&next), most.scenario),
                false => format!(": `{}`", most.k6_flags(&next)),
            }
        }
        AdviceTerms::TestFile => {
            let whose = if facts.run.plan.scenarios.len() > 1 { format!(" (\"{}\")", most.scenario) } else { String::new() };
            format!(": `.run({})`{whose}", most.script(&next))
        }
        // Loadstone does not know how to change another tool's load.
        AdviceTerms::WatchFlags => String::new(),
    }
}

impl<'a> PresentLoad<'a> {
    fn of(scenario: &'a str, profile: &LoadProfile) -> Option<Self> {
        let (stages, count, is_poisson): (Vec<LoadStage>, usize, bool) = match profile {
            LoadProfile::Open { stages } => {
                let rates = stages.iter().filter_map(|stage| match stage {
                    OpenStage::Rate { from, to, duration_ns, .. } => Some(LoadStage::new(*from, *to, *duration_ns as f64 / 1e9)),
                    OpenStage::Burst { .. } | OpenStage::Replay(_) => None,
                });
                let is_poisson = |stage: &OpenStage| matches!(stage, OpenStage::Rate { timing: Timing::Poisson, .. });
                (rates.collect(), stages.len(), stages.iter().any(is_poisson))
            }
            LoadProfile::Closed { stages } => {
                let users = stages.iter().map(|stage| LoadStage::new(stage.from as f64, stage.to as f64, stage.duration_ns as f64 / 1e9));
                (users.collect(), stages.len(), false)
            }
            LoadProfile::Iterations { .. } => (Vec::new(), 0, false),
            LoadProfile::Recorded { .. } => return None,
        };
        let iterations = match profile {
            LoadProfile::Iterations { users, count, split, .. } => Some((*users, *count, *split)),
            _ => None,
        };
        let top = iterations.map_or_else(|| load_stages::top(&stages), |(users, ..)| users as f64);
        (top > 0.0).then(|| Self {
            scenario,
            is_open: matches!(profile, LoadProfile::Open { .. }),
            is_poisson,
            top,
            is_complete: stages.len() == count,
            stages,
            iterations: iterations.map(|(_, count, split)| (count, split)),
        })
    }

    fn next(&self, wanted: WantedLoad) -> NextLoad {
        let (bottom, same) = (self.level(self.top / RAMP_BOTTOM_DIVISOR), self.same());
        NextLoad::Stages(match wanted {
            WantedLoad::Higher => {
                let top = self.level(RAMP_TOP_FACTOR * self.top);
                vec![LoadStage::new(bottom, top, RAMP_S), LoadStage::new(top, top, RAMP_TOP_S)]
            }
            WantedLoad::FromLow => vec![LoadStage::new(bottom, same, RAMP_S)],
            WantedLoad::Held => {
                let rise = load_stages::rise(&self.stages);
                let rise = if rise.len() < STAGES_MAX { rise } else { load_stages::as_ramp(&rise) };
                rise.into_iter().chain([LoadStage::new(same, same, HELD_S)]).collect()
            }
            WantedLoad::Longer(times) => return self.longer(times),
        })
    }

    fn longer(&self, times: f64) -> NextLoad {
        if let Some((count, split)) = self.iterations {
            return NextLoad::Iterations { count: (times * count as f64).ceil() as u64, split };
        }
        let length_s: f64 = self.stages.iter().map(|stage| stage.seconds).sum();
        let minutes = (times * length_s / 60.0).ceil().max(LONGER_MINUTES_MIN);
        let factor = 60.0 * minutes / length_s;
        let is_short = self.stages.len() <= STAGES_MAX || load_stages::steps(&self.stages).is_some();
        if !(self.is_complete && is_short && factor.is_finite()) {
            return NextLoad::EachLonger(times);
        }
        NextLoad::Stages(self.stages.iter().map(|stage| LoadStage { seconds: factor * stage.seconds, ..*stage }).collect())
    }

    /// As a script expression.
    fn script(&self, next: &NextLoad) -> String {
        let (what, drawn) = (if self.is_open { "arrivals" } else { "users" }, if self.is_poisson { ".poisson()" } else { "" });
        let stages = match next {
            NextLoad::Stages(stages) => stages,
            NextLoad::Iterations { count, split } => {
                let each = if *split == IterationSplit::PerUser { ".perUser()" } else { "" };
                return format!("iterations({count}).users({:.0}){each}", self.top);
            }
            NextLoad::EachLonger(_) => return String::new(),
        };
        if let Some((levels, seconds)) = load_stages::steps(stages) {
            let levels: Vec<String> = levels.into_iter().map(written).collect();
            return format!("{what}.steps([{}]){drawn}.for(\"{}\")", levels.join(", "), load_stages::time(seconds));
        }
        let parts = stages.iter().map(|stage| {
            let levels = match stage.is_level() {
                true => format!("({})", written(stage.to)),
                false => format!(".ramp({}, {})", written(stage.from), written(stage.to)),
            };
            format!("{what}{levels}{drawn}.for(\"{}\")", load_stages::time(stage.seconds))
        });
        let chain = parts.enumerate().map(|(place, part)| if place == 0 { part } else { format!(".then({part})") });
        chain.collect()
    }

    /// As flags of `loadstone run URL`, whose load rises from 0 and is then held.
    fn flags(&self, next: &NextLoad) -> String {
        let NextLoad::Stages(stages) = next else { return String::new() };
        let (flag, drawn) = (if self.is_open { "--rate" } else { "--users" }, if self.is_poisson { " --poisson" } else { "" });
        let seconds =
            |is_level: bool| -> f64 { stages.iter().filter(|stage| stage.is_level() == is_level).map(|stage| stage.seconds).sum() };
        let (rise, held) = (seconds(false), seconds(true));
        let ramp = if rise > 0.0 { format!(" --ramp {}", load_stages::time(rise)) } else { String::new() };
        // A run of a URL needs time at its highest load.
        let held = if held > 0.0 { load_stages::time(held) } else { "10s".to_owned() };
        format!("{flag} {}{ramp} --for {held}{drawn}", written(load_stages::top(stages)))
    }

    /// As flags of a run of a k6 script. For closed load.
    fn k6_flags(&self, next: &NextLoad) -> String {
        let stages = match next {
            NextLoad::Stages(stages) => stages,
            // The flag counts the iterations of all users.
            NextLoad::Iterations { count, split: IterationSplit::Shared } => return format!("--vus {:.0} --iterations {count}", self.top),
            NextLoad::Iterations { count, split: IterationSplit::PerUser } => {
                return format!("--vus {:.0} --iterations {:.0}", self.top, *count as f64 * self.top);
            }
            NextLoad::EachLonger(_) => return String::new(),
        };
        if let [only] = stages.as_slice()
            && only.is_level()
        {
            return format!("--vus {} --duration {}", written(only.to), load_stages::time(only.seconds));
        }
        let first = stages.first().map_or(0.0, |stage| stage.from);
        let stages: String = load_stages::with_jumps(stages)
            .into_iter()
            .map(|(seconds, to)| format!(" --stage {}:{}", load_stages::time(seconds), written(to)))
            .collect();
        format!("--vus {}{stages}", written(first))
    }

    /// As options of a scenario of a k6 script.
    fn k6_scenario(&self, next: &NextLoad) -> String {
        // Rates of k6 are whole numbers.
        let is_slow = self.is_open && self.top < RAMP_BOTTOM_DIVISOR;
        let (unit, factor) = if is_slow { (", timeUnit: \"1m\"", 60.0) } else { ("", 1.0) };
        let whole = |level: f64| format!("{:.0}", (factor * level).ceil());
        let stages = match next {
            NextLoad::Stages(stages) => stages,
            NextLoad::Iterations { count, split } => {
                let executor = if *split == IterationSplit::PerUser { "per-vu-iterations" } else { "shared-iterations" };
                return format!("executor: \"{executor}\", vus: {:.0}, iterations: {count}", self.top);
            }
            NextLoad::EachLonger(_) => return String::new(),
        };
        if let [only] = stages.as_slice()
            && only.is_level()
        {
            let time = load_stages::time(only.seconds);
            return match self.is_open {
                true => format!("executor: \"constant-arrival-rate\", rate: {}{unit}, duration: \"{time}\"", whole(only.to)),
                false => format!("executor: \"constant-vus\", vus: {}, duration: \"{time}\"", whole(only.to)),
            };
        }
        let (executor, start) = if self.is_open { ("ramping-arrival-rate", "startRate") } else { ("ramping-vus", "startVUs") };
        let from = whole(stages.first().map_or(0.0, |stage| stage.from));
        let stages: Vec<String> = load_stages::with_jumps(stages)
            .into_iter()
            .map(|(seconds, to)| format!("{{ duration: \"{}\", target: {} }}", load_stages::time(seconds), whole(to)))
            .collect();
        format!("executor: \"{executor}\", {start}: {from}{unit}, stages: [{}]", stages.join(", "))
    }

    /// The load of this run, to a hundredth of an arrival per second.
    fn same(&self) -> f64 {
        if self.is_open { self.top.max(0.01) } else { self.level(self.top) }
    }

    /// A whole number, or hundredths below one arrival per second.
    fn level(&self, level: f64) -> f64 {
        if self.is_open && level < 1.0 { level.max(0.01) } else { level.ceil().max(1.0) }
    }
}

/// A level, to a hundredth.
fn written(level: f64) -> String {
    let written = format!("{level:.2}");
    written.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(is_open: bool, stages: &[(f64, f64, f64)]) -> PresentLoad<'static> {
        let stages: Vec<LoadStage> = stages.iter().map(|(from, to, seconds)| LoadStage::new(*from, *to, *seconds)).collect();
        let top = load_stages::top(&stages);
        PresentLoad { scenario: "default", is_open, is_poisson: false, top, stages, is_complete: true, iterations: None }
    }

    fn constant(is_open: bool, level: f64) -> PresentLoad<'static> {
        load(is_open, &[(level, level, 30.0)])
    }

    #[test]
    fn a_url_is_advised_in_flags() {
        let (open, closed) = (constant(true, 100.0), constant(false, 12.0));
        let flags = |load: &PresentLoad<'_>, wanted| load.flags(&load.next(wanted));
        assert_eq!(flags(&open, WantedLoad::Higher), "--rate 200 --ramp 2m --for 1m");
        assert_eq!(flags(&open, WantedLoad::Longer(10.0)), "--rate 100 --for 5m");
        assert_eq!(flags(&closed, WantedLoad::Held), "--users 12 --for 2m");
        assert_eq!(flags(&closed, WantedLoad::FromLow), "--users 12 --ramp 2m --for 10s");
        // `--users 12 --ramp 20s --for 10s`
        let ramp = load(false, &[(0.0, 12.0, 20.0), (12.0, 12.0, 10.0)]);
        assert_eq!(flags(&ramp, WantedLoad::Longer(10.0)), "--users 12 --ramp 3m20s --for 1m40s");
        assert_eq!(flags(&ramp, WantedLoad::Held), "--users 12 --ramp 20s --for 2m");
    }

    #[test]
    fn a_k6_script_is_advised_in_its_own_flags_and_options() {
        let (closed, open, slow) = (constant(false, 12.0), constant(true, 100.0), constant(true, 0.5));
        let flags = |wanted| closed.k6_flags(&closed.next(wanted));
        let scenario = |load: &PresentLoad<'_>, wanted| load.k6_scenario(&load.next(wanted));
        assert_eq!(flags(WantedLoad::Higher), "--vus 2 --stage 2m:24 --stage 1m:24");
        assert_eq!(flags(WantedLoad::Longer(10.0)), "--vus 12 --duration 5m");
        assert_eq!(scenario(&closed, WantedLoad::Held), "executor: \"constant-vus\", vus: 12, duration: \"2m\"");
        assert_eq!(
            scenario(&open, WantedLoad::Higher),
            "executor: \"ramping-arrival-rate\", startRate: 10, stages: [{ duration: \"2m\", target: 200 }, { duration: \"1m\", target: 200 }]"
        );
        assert_eq!(scenario(&slow, WantedLoad::Held), "executor: \"constant-arrival-rate\", rate: 30, timeUnit: \"1m\", duration: \"2m\"");
        let ramp = load(false, &[(1.0, 5.0, 20.0), (8.0, 8.0, 10.0)]);
        assert_eq!(ramp.k6_flags(&ramp.next(WantedLoad::Longer(10.0))), "--vus 1 --stage 3m20s:5 --stage 0s:8 --stage 1m40s:8");
        assert_eq!(
            scenario(&ramp, WantedLoad::Longer(10.0)),
            "executor: \"ramping-vus\", startVUs: 1, stages: [{ duration: \"3m20s\", target: 5 }, { duration: \"0s\", target: 8 }, \
             { duration: \"1m40s\", target: 8 }]"
        );
        let counted = PresentLoad { iterations: Some((100, IterationSplit::Shared)), stages: Vec::new(), ..constant(false, 4.0) };
        assert_eq!(counted.k6_flags(&counted.next(WantedLoad::Longer(5.0))), "--vus 4 --iterations 500");
        assert_eq!(scenario(&counted, WantedLoad::Longer(5.0)), "executor: \"shared-iterations\", vus: 4, iterations: 500");
    }

    #[test]
    fn the_advised_load_has_the_shape_of_the_present_one() {
        let script = |load: &PresentLoad<'_>, wanted| load.script(&load.next(wanted));
        let longer = WantedLoad::Longer(5.0);
        for (stages, wanted, expected) in [
            // A constant load.
            (&[(5.0, 5.0, 30.0)][..], longer, "users(5).for(\"3m\")"),
            (&[(5.0, 5.0, 30.0)], WantedLoad::Held, "users(5).for(\"2m\")"),
            (&[(12.0, 12.0, 30.0)], WantedLoad::FromLow, "users.ramp(2, 12).for(\"2m\")"),
            // A ramp.
            (&[(1.0, 5.0, 30.0)], longer, "users.ramp(1, 5).for(\"3m\")"),
            (&[(1.0, 5.0, 30.0)], WantedLoad::Held, "users.ramp(1, 5).for(\"30s\").then(users(5).for(\"2m\"))"),
            (&[(0.0, 9.0, 20.0), (9.0, 9.0, 10.0)], longer, "users.ramp(0, 9).for(\"2m\").then(users(9).for(\"1m\"))"),
            (&[(0.0, 9.0, 20.0), (9.0, 9.0, 10.0)], WantedLoad::Held, "users.ramp(0, 9).for(\"20s\").then(users(9).for(\"2m\"))"),
            // Steps.
            (&[(1.0, 1.0, 10.0), (2.0, 2.0, 10.0), (4.0, 4.0, 10.0)], longer, "users.steps([1, 2, 4]).for(\"3m\")"),
            // A spike.
            (
                &[(1.0, 1.0, 20.0), (1.0, 9.0, 5.0), (9.0, 9.0, 10.0), (9.0, 1.0, 5.0)],
                longer,
                "users(1).for(\"2m\").then(users.ramp(1, 9).for(\"30s\")).then(users(9).for(\"1m\")).then(users.ramp(9, 1).for(\"30s\"))",
            ),
            (
                &[(1.0, 1.0, 20.0), (1.0, 9.0, 5.0), (9.0, 9.0, 10.0), (9.0, 1.0, 5.0)],
                WantedLoad::Held,
                "users(1).for(\"20s\").then(users.ramp(1, 9).for(\"5s\")).then(users(9).for(\"2m\"))",
            ),
        ] {
            assert_eq!(script(&load(false, stages), wanted), expected, "{stages:?} {wanted:?}");
        }
        let drawn = PresentLoad { is_poisson: true, ..load(true, &[(0.5, 1.25, 60.0)]) };
        assert_eq!(script(&drawn, longer), "arrivals.ramp(0.5, 1.25).poisson().for(\"5m\")");
        let counted = PresentLoad { iterations: Some((100, IterationSplit::PerUser)), stages: Vec::new(), ..constant(false, 4.0) };
        assert_eq!(script(&counted, longer), "iterations(500).users(4).perUser()");
        // What has no short line is not replaced by another shape.
        let waves: Vec<(f64, f64, f64)> = (0..9).map(|n| (f64::from(n % 2), f64::from(n % 3), 10.0)).collect();
        assert!(matches!(load(false, &waves).next(longer), NextLoad::EachLonger(_)));
        let burst = PresentLoad { is_complete: false, ..constant(true, 4.0) };
        assert!(matches!(burst.next(longer), NextLoad::EachLonger(_)));
    }
}
