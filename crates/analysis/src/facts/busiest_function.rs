//! The function that uses most of a runtime's CPU time, by samples of its stacks.

use std::collections::BTreeMap;

use loadstone_metrics::Role;
use loadstone_metrics::function_labels::{callers, is_named};

use super::profiles;
use super::search::READINGS_MIN;
use super::signals::{ObservedPart, ObservedSignals};

/// Share of its caller's CPU time from which the innermost function is named with it.
const INNERMOST_SHARE_MIN: f64 = 0.5;

pub(crate) struct BusiestFunction<'a> {
    /// The system's own function nearest to the one that computes, or the one that computes where no caller is the system's own.
    pub(crate) owner: &'a str,
    /// Cores in use by it and the functions that it calls.
    pub(crate) cores: f64,
    /// Cores in use by all functions.
    pub(crate) all: f64,
    /// The innermost function that uses most of the owner's time, where that is another function.
    inner: Option<&'a str>,
    /// The signal of the innermost function.
    pub(crate) series: String,
    /// Significant digits that the number of samples supports.
    pub(crate) digits: usize,
}

impl<'a> BusiestFunction<'a> {
    /// In a stretch, seconds since the run began. `None` where hardly anything was sampled, or no function has a name.
    pub(crate) fn of(signals: &ObservedSignals<'a>, part: ObservedPart<'a>, (from, to): (f64, f64)) -> Option<Self> {
        let functions = signals.read_each(part, Role::FunctionCpu);
        // A function has readings from its first sample on.
        let sampled = functions.iter().map(|readings| readings.count(from, to)).max().filter(|count| *count >= READINGS_MIN)?;
        let mut owners = BTreeMap::<&str, Vec<(&str, f64, String)>>::new();
        for readings in &functions {
            let (Some(function), Some(mean)) = (readings.label("function"), readings.mean(from, to)) else { continue };
            let cores = mean * readings.count(from, to) as f64 / sampled as f64;
            let under = readings.label("under").and_then(|under| callers(under).next());
            owners.entry(under.unwrap_or(function)).or_default().push((function, cores, readings.name()));
        }
        let sum = |list: &[(&str, f64, String)]| list.iter().map(|(_, cores, _)| cores).sum::<f64>();
        let all = owners.values().map(|list| sum(list)).sum::<f64>();
        if all <= 0.0 {
            return None;
        }
        let named = owners.into_iter().filter(|(owner, _)| is_named(owner));
        let (owner, list) = named.max_by(|a, b| sum(&a.1).total_cmp(&sum(&b.1)))?;
        let (inner, cores, series) = list.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let is_inner = *inner != owner && *cores >= INNERMOST_SHARE_MIN * sum(&list);
        let digits = loadstone_units::digits_of(profiles::samples_per_second(signals, part) * sum(&list) * (to - from));
        Some(Self { owner, cores: sum(&list), all, inner: is_inner.then_some(*inner), series: series.clone(), digits })
    }

    /// Advice where no function takes much of the time. Without a full stop.
    pub(crate) fn reading_advice(&self) -> String {
        let share = loadstone_units::share_to((self.cores / self.all).min(1.0), self.digits);
        format!("Read the profile in the report ({} takes {share} of the time, and the rest is spread)", self.place())
    }

    /// As in a sentence: `hash` below `login`.
    pub(crate) fn place(&self) -> String {
        match self.inner {
            Some(inner) => format!("`{inner}` below `{}`", self.owner),
            None => format!("`{}`", self.owner),
        }
    }
}
