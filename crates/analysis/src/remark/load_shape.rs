//! The load that would decide an open question: as a line of script, for a run of a URL as flags, for a k6 script as flags or options of k6.

use loadstone_plan::{LoadProfile, OpenStage, RunRole, Timing};

use crate::advice_terms::AdviceTerms;
use crate::facts::Facts;

/// The ramp's highest load over that of this run, and that of this run over the ramp's first load.
const RAMP_TOP_FACTOR: f64 = 2.0;
const RAMP_BOTTOM_DIVISOR: f64 = 10.0;

/// The load of the next run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WantedLoad {
    /// A ramp from low to twice this run's highest load, held at the end.
    Higher,
    /// A ramp from low to this run's highest load.
    FromLow,
    /// The highest load of this run, for two minutes.
    Held,
    /// The same load, this many times as long.
    Longer(f64),
}

/// The profile of the scenario that has the highest load.
struct PresentLoad<'a> {
    scenario: &'a str,
    is_open: bool,
    is_poisson: bool,
    /// Arrivals per second, or users.
    top: f64,
    length_s: f64,
}

/// With the scenario, where there are several. Empty for a load that no profile of this kind can follow.
pub(crate) fn line(facts: &Facts<'_>, wanted: WantedLoad) -> String {
    let runs = facts.run.plan.load.leaves().into_iter().filter(|run| run.role == RunRole::Load);
    let present = runs.filter_map(|run| {
        let scenario = facts.run.plan.scenarios.get(run.scenario.0 as usize)?;
        PresentLoad::of(&scenario.name, &run.profile)
    });
    let Some(most) = present.max_by(|a, b| a.top.total_cmp(&b.top)) else { return String::new() };
    match facts.terms() {
        AdviceTerms::Flags => format!(": `{}`", most.flags(wanted)),
        AdviceTerms::K6Script { .. } => {
            let scenarios = facts.run.plan.load.leaves().into_iter().filter(|run| run.role == RunRole::Load).count();
            // Flags would replace all scenarios.
            match most.is_open || scenarios > 1 {
                true => format!(": `{}` for the scenario \"{}\"", most.k6_scenario(wanted), most.scenario),
                false => format!(": `{}`", most.k6_flags(wanted)),
            }
        }
        AdviceTerms::TestFile => {
            let whose = if facts.run.plan.scenarios.len() > 1 { format!(" (\"{}\")", most.scenario) } else { String::new() };
            format!(": `.run({})`{whose}", most.next(wanted))
        }
        // Loadstone does not know how to change another tool's load.
        AdviceTerms::WatchFlags => String::new(),
    }
}

impl<'a> PresentLoad<'a> {
    fn of(scenario: &'a str, profile: &LoadProfile) -> Option<Self> {
        let (is_open, is_poisson, top, length_ns) = match profile {
            LoadProfile::Open { stages } => {
                let rates = stages.iter().filter_map(|stage| match stage {
                    OpenStage::Rate { from, to, timing, .. } => Some((from.max(*to), *timing)),
                    OpenStage::Burst { .. } | OpenStage::Replay(_) => None,
                });
                let (top, timing) = rates.max_by(|a, b| a.0.total_cmp(&b.0))?;
                (true, timing == Timing::Poisson, top, stages.iter().map(OpenStage::duration_ns).sum())
            }
            LoadProfile::Closed { stages } => {
                let top = stages.iter().map(|stage| stage.from.max(stage.to)).max()? as f64;
                (false, false, top, stages.iter().map(|stage| stage.duration_ns).sum())
            }
            // Its time limit is not its length.
            LoadProfile::Iterations { users, .. } => (false, false, *users as f64, 0),
            LoadProfile::Recorded { .. } => return None,
        };
        (top > 0.0).then_some(Self { scenario, is_open, is_poisson, top, length_s: length_ns as f64 / 1e9 })
    }

    /// As a script expression.
    fn next(&self, wanted: WantedLoad) -> String {
        let (what, drawn) = (if self.is_open { "arrivals" } else { "users" }, if self.is_poisson { ".poisson()" } else { "" });
        let held = |level: String, time: &str| format!("{what}({level}){drawn}.for(\"{time}\")");
        match wanted {
            WantedLoad::Higher => {
                let (from, to) = (self.level(self.top / RAMP_BOTTOM_DIVISOR), self.level(RAMP_TOP_FACTOR * self.top));
                format!("{what}.ramp({from}, {to}){drawn}.for(\"2m\").then({})", held(self.level(RAMP_TOP_FACTOR * self.top), "1m"))
            }
            WantedLoad::FromLow => {
                let from = self.level(self.top / RAMP_BOTTOM_DIVISOR);
                format!("{what}.ramp({from}, {}){drawn}.for(\"2m\")", self.same())
            }
            WantedLoad::Held => held(self.same(), "2m"),
            WantedLoad::Longer(times) => held(self.same(), &format!("{:.0}m", self.minutes(times))),
        }
    }

    /// As flags of `loadstone run URL`.
    fn flags(&self, wanted: WantedLoad) -> String {
        let (flag, drawn) = (if self.is_open { "--rate" } else { "--users" }, if self.is_poisson { " --poisson" } else { "" });
        match wanted {
            WantedLoad::Higher => format!("{flag} {} --ramp 2m --for 1m{drawn}", self.level(RAMP_TOP_FACTOR * self.top)),
            WantedLoad::FromLow => format!("{flag} {} --ramp 2m --for 10s{drawn}", self.same()),
            WantedLoad::Held => format!("{flag} {} --for 2m{drawn}", self.same()),
            WantedLoad::Longer(times) => format!("{flag} {} --for {:.0}m{drawn}", self.same(), self.minutes(times)),
        }
    }

    /// As flags of a run of a k6 script. For closed load.
    fn k6_flags(&self, wanted: WantedLoad) -> String {
        match wanted {
            WantedLoad::Higher => {
                let (from, to) = (self.level(self.top / RAMP_BOTTOM_DIVISOR), self.level(RAMP_TOP_FACTOR * self.top));
                format!("--vus {from} --stage 2m:{to} --stage 1m:{to}")
            }
            WantedLoad::FromLow => {
                let (from, to) = (self.level(self.top / RAMP_BOTTOM_DIVISOR), self.same());
                format!("--vus {from} --stage 2m:{to}")
            }
            WantedLoad::Held => format!("--vus {} --duration 2m", self.same()),
            WantedLoad::Longer(times) => format!("--vus {} --duration {:.0}m", self.same(), self.minutes(times)),
        }
    }

    /// As options of a scenario of a k6 script.
    fn k6_scenario(&self, wanted: WantedLoad) -> String {
        // Rates of k6 are whole numbers.
        let is_slow = self.is_open && self.top < RAMP_BOTTOM_DIVISOR;
        let (unit, factor) = if is_slow { (", timeUnit: \"1m\"", 60.0) } else { ("", 1.0) };
        let whole = |level: f64| format!("{:.0}", (factor * level).ceil().max(1.0));
        let held = |time: &str| match self.is_open {
            true => format!("executor: \"constant-arrival-rate\", rate: {}{unit}, duration: \"{time}\"", whole(self.top)),
            false => format!("executor: \"constant-vus\", vus: {}, duration: \"{time}\"", whole(self.top)),
        };
        let ramp = |top: f64, times: &[&str]| {
            let (executor, start) = if self.is_open { ("ramping-arrival-rate", "startRate") } else { ("ramping-vus", "startVUs") };
            let (from, to) = (whole(self.top / RAMP_BOTTOM_DIVISOR), whole(top));
            let stages: Vec<_> = times.iter().map(|time| format!("{{ duration: \"{time}\", target: {to} }}")).collect();
            format!("executor: \"{executor}\", {start}: {from}{unit}, stages: [{}]", stages.join(", "))
        };
        match wanted {
            WantedLoad::Higher => ramp(RAMP_TOP_FACTOR * self.top, &["2m", "1m"]),
            WantedLoad::FromLow => ramp(self.top, &["2m"]),
            WantedLoad::Held => held("2m"),
            WantedLoad::Longer(times) => held(&format!("{:.0}m", self.minutes(times))),
        }
    }

    /// This run's length so many times, in minutes.
    fn minutes(&self, times: f64) -> f64 {
        (times * self.length_s / 60.0).ceil().max(2.0)
    }

    /// The load of this run, to a hundredth of an arrival per second.
    fn same(&self) -> String {
        if !self.is_open {
            return self.level(self.top);
        }
        let written = format!("{:.2}", self.top.max(0.01));
        written.trim_end_matches('0').trim_end_matches('.').to_owned()
    }

    /// A whole number, or hundredths below one arrival per second.
    fn level(&self, level: f64) -> String {
        if self.is_open && level < 1.0 { format!("{:.2}", level.max(0.01)) } else { format!("{:.0}", level.ceil().max(1.0)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_advised_in_flags() {
        let open = PresentLoad { scenario: "GET /", is_open: true, is_poisson: false, top: 100.0, length_s: 30.0 };
        assert_eq!(open.flags(WantedLoad::Higher), "--rate 200 --ramp 2m --for 1m");
        assert_eq!(open.flags(WantedLoad::Longer(10.0)), "--rate 100 --for 5m");
        let closed = PresentLoad { is_open: false, top: 12.0, ..open };
        assert_eq!(closed.flags(WantedLoad::Held), "--users 12 --for 2m");
        assert_eq!(closed.flags(WantedLoad::FromLow), "--users 12 --ramp 2m --for 10s");
        assert_eq!(closed.next(WantedLoad::FromLow), "users.ramp(2, 12).for(\"2m\")");
    }

    #[test]
    fn a_k6_script_is_advised_in_its_own_flags_and_options() {
        let closed = PresentLoad { scenario: "default", is_open: false, is_poisson: false, top: 12.0, length_s: 30.0 };
        assert_eq!(closed.k6_flags(WantedLoad::Higher), "--vus 2 --stage 2m:24 --stage 1m:24");
        assert_eq!(closed.k6_flags(WantedLoad::Longer(10.0)), "--vus 12 --duration 5m");
        assert_eq!(closed.k6_scenario(WantedLoad::Held), "executor: \"constant-vus\", vus: 12, duration: \"2m\"");
        let open = PresentLoad { is_open: true, top: 100.0, ..closed };
        assert_eq!(
            open.k6_scenario(WantedLoad::Higher),
            "executor: \"ramping-arrival-rate\", startRate: 10, stages: [{ duration: \"2m\", target: 200 }, { duration: \"1m\", target: 200 }]"
        );
        let slow = PresentLoad { top: 0.5, ..open };
        assert_eq!(slow.k6_scenario(WantedLoad::Held), "executor: \"constant-arrival-rate\", rate: 30, timeUnit: \"1m\", duration: \"2m\"");
    }
}
