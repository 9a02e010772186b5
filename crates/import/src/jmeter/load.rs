//! Thread groups as load.

use super::tree::PlanNode;
use super::values::{Number, Values};
use crate::text::{number, quoted, seconds};

/// The load of a group: profiles that run at the same time, and what surrounds an iteration.
pub(super) struct GroupLoad {
    pub(super) profiles: Vec<String>,
    /// A thread's own loop, if one arrival is one thread.
    pub(super) loops: Option<String>,
    /// The number of threads, as code.
    pub(super) threads: String,
    /// What ends an iteration after a failed sample, as code; empty: nothing.
    pub(super) on_error: String,
}

pub(super) fn is_group(node: &PlanNode) -> bool {
    node.kind().ends_with("ThreadGroup")
}

pub(super) fn load(group: &PlanNode, shaping: &[&PlanNode], values: &mut Values) -> GroupLoad {
    let mut load = match group.kind() {
        "ThreadGroup" | "SetupThreadGroup" | "PostThreadGroup" => threads(group, values),
        "ConcurrencyThreadGroup" => concurrency(group, values),
        "UltimateThreadGroup" => ultimate(group, values),
        other => {
            values.lost(format!("the load of \"{}\" ({other}): set it in the test", group.name()));
            plain(vec!["iterations(1)".to_owned()], Number::Literal(1.0))
        }
    };
    if let [timer] = shaping {
        shaped(group, timer, &mut load, values);
    } else if !shaping.is_empty() {
        values.lost("several timers that shape the throughput: set the load in the test");
    }
    load.on_error = on_error(group, &load, values);
    load
}

fn plain(profiles: Vec<String>, threads: Number) -> GroupLoad {
    GroupLoad { profiles, loops: None, threads: threads.code(), on_error: String::new() }
}

fn threads(group: &PlanNode, values: &mut Values) -> GroupLoad {
    let count = values.number(group.text("ThreadGroup.num_threads"), 1.0);
    let ramp = values.number(group.text("ThreadGroup.ramp_time"), 0.0);
    let controller = group.inner("ThreadGroup.main_controller");
    let loops = controller.as_ref().map_or("1", |controller| controller.text("LoopController.loops")).trim().to_owned();
    // A file without the property has JMeter's initial value, which is true.
    let is_endless = loops == "-1" || controller.as_ref().is_some_and(|controller| !controller.is_false("LoopController.continue_forever"));
    let is_scheduled = group.is_true("ThreadGroup.scheduler");
    let duration = values.number(if is_scheduled { group.text("ThreadGroup.duration") } else { "" }, 0.0);
    let delay = values.number(if is_scheduled { group.text("ThreadGroup.delay") } else { "" }, 0.0);
    let (users, has_ramp) = (count.code(), !ramp.is_zero() && count != Number::Literal(1.0));
    let after = if delay.is_zero() { String::new() } else { format!(".startAfter({})", delay.seconds()) };
    if is_endless {
        let duration = if duration.is_zero() {
            values.lost(format!("\"{}\" runs until somebody stops it: set a duration in the test", group.name()));
            Number::Literal(600.0)
        } else {
            duration
        };
        let profile = match (&ramp, &duration) {
            _ if !has_ramp => format!("users({users}).for({})", duration.seconds()),
            (Number::Literal(ramp), Number::Literal(duration)) if ramp >= duration => {
                let reached = match &count {
                    Number::Literal(count) => number((count * duration / ramp).ceil().max(1.0)),
                    Number::Parameter(name) => format!("Math.ceil({name} * {} / {})", number(*duration), number(*ramp)),
                };
                format!("users.ramp(1, {reached}).for({})", quoted(&seconds(*duration)))
            }
            (Number::Literal(ramp), Number::Literal(duration)) => {
                let rest = quoted(&seconds(duration - ramp));
                format!("users.ramp(1, {users}).for({}).then(users({users}).for({rest}))", quoted(&seconds(*ramp)))
            }
            _ => {
                let rest = format!("`${{{} - {}}}s`", duration.code(), ramp.code());
                format!("users.ramp(1, {users}).for({}).then(users({users}).for({rest}))", ramp.seconds())
            }
        };
        return plain(vec![format!("{profile}{after}")], count);
    }
    let repeats = values.number(&loops, 1.0);
    if !has_ramp {
        let per_user = if count == Number::Literal(1.0) { String::new() } else { format!(".users({users}).perUser()") };
        let limit = if duration.is_zero() { String::new() } else { format!(".for({})", duration.seconds()) };
        return plain(vec![format!("iterations({}){per_user}{limit}{after}", repeats.code())], count);
    }
    // Each thread starts at its instant of the ramp-up, and then repeats: an arrival is a thread.
    if !duration.is_zero() {
        values.lost(format!("\"{}\" ends after its duration even if loops remain: limit it in the test", group.name()));
    }
    let profile = format!("arrivals({users} / {}).for({}){after}", ramp.code(), ramp.seconds());
    let loops = (repeats != Number::Literal(1.0)).then(|| repeats.code());
    GroupLoad { loops, ..plain(vec![profile], count) }
}

fn concurrency(group: &PlanNode, values: &mut Values) -> GroupLoad {
    let unit = if group.text("Unit").trim() == "S" { 1.0 } else { 60.0 };
    let target = values.number(group.text("TargetLevel"), 1.0);
    let of = |name: &str, values: &mut Values| match values.number(group.text(name), 0.0) {
        Number::Literal(time) => time * unit,
        Number::Parameter(parameter) => {
            values.lost(format!("the parameter `{parameter}` of \"{}\": times are written as numbers", group.name()));
            unit
        }
    };
    let (ramp, hold) = (of("RampUp", values), of("Hold", values));
    let users = target.code();
    let held = format!("users({users}).for({})", quoted(&seconds(hold)));
    let profile = if ramp > 0.0 { format!("users.ramp(1, {users}).for({}).then({held})", quoted(&seconds(ramp))) } else { held };
    plain(vec![profile], target)
}

/// Rows of: threads, delay, start-up, hold, shutdown.
fn ultimate(group: &PlanNode, values: &mut Values) -> GroupLoad {
    let mut profiles = Vec::new();
    let mut total = 0.0;
    for row in group.items("ultimatethreadgroupdata") {
        let numbers: Vec<f64> = row.own_strings().iter().filter_map(|text| text.trim().parse().ok()).collect();
        let [users, delay, start, hold, stop] = numbers[..] else {
            values.lost(format!("a row of \"{}\" with a value that is not a number", group.name()));
            continue;
        };
        total += users;
        let users = number(users);
        let mut stages = Vec::new();
        if start > 0.0 {
            stages.push(format!("users.ramp(0, {users}).for({})", quoted(&seconds(start))));
        }
        if hold > 0.0 {
            stages.push(format!("users({users}).for({})", quoted(&seconds(hold))));
        }
        if stop > 0.0 {
            stages.push(format!("users.ramp({users}, 0).for({})", quoted(&seconds(stop))));
        }
        let mut stages = stages.into_iter();
        let Some(first) = stages.next() else { continue };
        let after = if delay > 0.0 { format!(".startAfter({})", quoted(&seconds(delay))) } else { String::new() };
        profiles.push(format!("{first}{}{after}", stages.map(|stage| format!(".then({stage})")).collect::<String>()));
    }
    if profiles.is_empty() {
        values.lost(format!("the load of \"{}\": set it in the test", group.name()));
        profiles.push("iterations(1)".to_owned());
    }
    plain(profiles, Number::Literal(total))
}

/// A timer that sets the requests per second of all threads: open load, whose iterations have a known number of samplers.
fn shaped(group: &PlanNode, timer: &PlanNode, load: &mut GroupLoad, values: &mut Values) {
    let samplers = group.samplers();
    let is_plain = |node: &PlanNode| {
        matches!(node.kind(), "GenericController" | "TransactionController" | "RecordingController") || !node.kind().ends_with("Controller")
    };
    if samplers == 0 || !all(group, &is_plain) {
        values.lost(format!("the timer \"{}\": the number of requests in an iteration is not constant", timer.name()));
        return;
    }
    let mut stages = Vec::new();
    let per = if samplers == 1 { String::new() } else { format!(" / {samplers}") };
    for row in timer.items("load_profile") {
        let numbers: Vec<f64> = row.own_strings().iter().filter_map(|text| text.trim().parse().ok()).collect();
        let [from, to, length] = numbers[..] else {
            values.lost(format!("a row of \"{}\" with a value that is not a number", timer.name()));
            return;
        };
        let (from, to) = (number(from), number(to));
        let stage = if from == to { format!("arrivals({from}{per})") } else { format!("arrivals.ramp({from}{per}, {to}{per})") };
        stages.push(format!("{stage}.for({})", quoted(&seconds(length))));
    }
    let mut stages = stages.into_iter();
    let Some(first) = stages.next() else {
        values.lost(format!("the timer \"{}\" has no rows", timer.name()));
        return;
    };
    values.notes.push(crate::imported::Note::changed(format!(
        "{}: the timer \"{}\" became open load with at most as many users as the group has threads",
        values.place,
        timer.name()
    )));
    load.profiles =
        vec![format!("{first}{}.maxUsers({})", stages.map(|stage| format!(".then({stage})")).collect::<String>(), load.threads)];
    load.loops = None;
}

fn all(node: &PlanNode, holds: &dyn Fn(&PlanNode) -> bool) -> bool {
    node.children.iter().all(|child| holds(child) && all(child, holds))
}

fn on_error(group: &PlanNode, load: &GroupLoad, values: &mut Values) -> String {
    let action = group.text("ThreadGroup.on_sample_error").trim();
    let is_thread = load.loops.is_some();
    match action {
        "" | "continue" => String::new(),
        "startnextloop" if !is_thread => "user.fail(\"a sample failed\");".to_owned(),
        "stopthread" if is_thread => "user.fail(\"a sample failed\");".to_owned(),
        other => {
            values.lost(format!("\"{}\" reacts to a failed sample with `{other}`", group.name()));
            String::new()
        }
    }
}
