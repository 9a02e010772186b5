//! CPU profiles of the observed runtimes as shown: a flame graph and its table.

use std::collections::BTreeMap;

use crate::facts::Facts;
use crate::facts::profiles::{FunctionProfile, FunctionTime};
use crate::{ProfiledStack, RuntimeProfile};
use loadstone_metrics::function_labels::callers;

/// Maximum number of stacks shown for a runtime, those with the most time. The rest is one entry.
const STACKS_MAX: usize = 200;
const REST: &str = "(other)";

pub(crate) fn of(facts: &Facts<'_>) -> Vec<RuntimeProfile> {
    facts.profiles.iter().map(row).filter(|profile| !profile.stacks.is_empty()).collect()
}

fn row(profile: &FunctionProfile<'_>) -> RuntimeProfile {
    let is_compared = profile.compared.is_some();
    let mut times = BTreeMap::<Vec<&str>, (f64, (f64, f64))>::new();
    let mut most: Vec<&FunctionTime<'_>> = profile.functions.iter().filter(|one| one.whole > 0.0).collect();
    let largest = |one: &FunctionTime<'_>| one.whole.max(one.each.0).max(one.each.1);
    most.sort_by(|a, b| largest(b).total_cmp(&largest(a)));
    for (place, one) in most.into_iter().enumerate() {
        let sum = times.entry(if place < STACKS_MAX { stack(one) } else { vec![REST] }).or_default();
        *sum = (sum.0 + one.whole, (sum.1.0 + one.each.0, sum.1.1 + one.each.1));
    }
    let stacks = times.into_iter().map(|(stack, (seconds, (free, held)))| ProfiledStack {
        stack: stack.into_iter().map(str::to_owned).collect(),
        seconds,
        free_seconds: is_compared.then_some(free),
        held_seconds: is_compared.then_some(held),
    });
    RuntimeProfile {
        observer: profile.observer.to_owned(),
        stacks: stacks.collect(),
        samples_each: profile.samples_per_second * profile.requests,
        free_samples_each: profile.compared.as_ref().map(|both| profile.samples_per_second * both.requests.0),
        held_samples_each: profile.compared.as_ref().map(|both| profile.samples_per_second * both.requests.1),
    }
}

/// Outermost first.
fn stack<'a>(one: &FunctionTime<'a>) -> Vec<&'a str> {
    let mut frames: Vec<&str> = std::iter::once(one.function).chain(callers(one.under)).collect();
    frames.reverse();
    frames
}
