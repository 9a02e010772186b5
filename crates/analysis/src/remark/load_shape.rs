//! The load that would decide an open question, as a line of script or, for a run of a URL, as flags.

use loadstone_plan::{LoadProfile, OpenStage, RunRole, Timing};

use crate::facts::Facts;

/// The ramp's highest load over that of this run, and that of this run over the ramp's first load.
const RAMP_TOP_FACTOR: f64 = 2.0;
const RAMP_BOTTOM_DIVISOR: f64 = 10.0;

/// The load of the next run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WantedLoad {
    /// A ramp from low to twice this run's highest load, held at the end.
    Higher,
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
    // A run without a file is one of a URL.
    if facts.run.info.file.is_none() {
        return format!(": `{}`", most.flags(wanted));
    }
    let whose = if facts.run.plan.scenarios.len() > 1 { format!(" (\"{}\")", most.scenario) } else { String::new() };
    format!(": `.run({})`{whose}", most.next(wanted))
}

impl<'a> PresentLoad<'a> {
    fn of(scenario: &'a str, profile: &LoadProfile) -> Option<Self> {
        let (is_open, is_poisson, top, length_ns) = match profile {
            LoadProfile::Open { stages } => {
                let rates = stages.iter().filter_map(|stage| match stage {
                    OpenStage::Rate { from, to, timing, .. } => Some((from.max(*to), *timing)),
                    OpenStage::Burst { .. } => None,
                });
                let (top, timing) = rates.max_by(|a, b| a.0.total_cmp(&b.0))?;
                (true, timing == Timing::Poisson, top, stages.iter().map(OpenStage::duration_ns).sum())
            }
            LoadProfile::Closed { stages } => {
                let top = stages.iter().map(|stage| stage.from.max(stage.to)).max()? as f64;
                (false, false, top, stages.iter().map(|stage| stage.duration_ns).sum())
            }
            LoadProfile::Iterations { users, duration_max_ns, .. } => (false, false, *users as f64, duration_max_ns.unwrap_or(0)),
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
            WantedLoad::Held => held(self.same(), "2m"),
            WantedLoad::Longer(times) => held(self.same(), &format!("{:.0}m", self.minutes(times))),
        }
    }

    /// As flags of `loadstone run URL`.
    fn flags(&self, wanted: WantedLoad) -> String {
        let (flag, drawn) = (if self.is_open { "--rate" } else { "--users" }, if self.is_poisson { " --poisson" } else { "" });
        match wanted {
            WantedLoad::Higher => format!("{flag} {} --ramp 2m --for 1m{drawn}", self.level(RAMP_TOP_FACTOR * self.top)),
            WantedLoad::Held => format!("{flag} {} --for 2m{drawn}", self.same()),
            WantedLoad::Longer(times) => format!("{flag} {} --for {:.0}m{drawn}", self.same(), self.minutes(times)),
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
    }
}
