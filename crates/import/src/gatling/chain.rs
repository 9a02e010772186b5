//! What a scenario executes, in order: requests, the resources of a page, pauses.

use super::expressions::{ChainCall, Expression};
use super::request::RequestReader;
use super::simulation::Simulation;
use crate::har::is_asset;
use crate::imported::Note;
use crate::sent::name_of;
use crate::steps::{Action, PlannedRequest, Step};

/// A pause of so many seconds begins another step.
const THINK_S: f64 = 1.0;

/// Walks chains, and makes a step of each stretch between pauses.
pub(super) struct ChainReader<'s, 'i> {
    simulation: &'s mut Simulation<'i>,
    steps: Vec<Step>,
    /// Whether what comes next begins another step.
    is_new: bool,
    depth: usize,
}

impl<'s, 'i> ChainReader<'s, 'i> {
    pub(super) fn new(simulation: &'s mut Simulation<'i>) -> Self {
        Self { simulation, steps: Vec::new(), is_new: true, depth: 0 }
    }

    pub(super) fn finish(self) -> Vec<Step> {
        self.steps
    }

    /// `.exec(…).pause(1).exec(…)`.
    pub(super) fn chain(&mut self, calls: &[ChainCall]) {
        for call in calls {
            let arguments = call.arguments.as_deref().unwrap_or_default();
            match call.name.as_str() {
                "exec" => arguments.iter().for_each(|argument| self.executed(argument, call)),
                "pause" => self.pause(call),
                "group" if matches!(arguments, [Expression::Text(_), ..]) => self.comment(call, "a group whose content is a function"),
                "on" | "exitHereIfFailed" | "exitHere" => {}
                name => self.comment(call, &format!("a recording does not contain `{name}`")),
            }
        }
    }

    fn executed(&mut self, expression: &Expression, within: &ChainCall) {
        let Expression::Chain(calls) = expression else {
            return self.comment(within, "a function of the simulation's language");
        };
        let Some(first) = calls.first() else { return };
        match first.name.as_str() {
            "http" if first.arguments.is_some() => self.request(calls),
            "exec" | "pause" => self.chain(calls),
            _ => match self.simulation.named_value(expression).cloned() {
                Some(Expression::Chain(inner)) if self.depth < 20 => {
                    self.depth += 1;
                    self.executed(&Expression::Chain(inner), within);
                    self.depth -= 1;
                }
                _ => self.comment(first, &format!("a recording does not contain `{}`", first.name)),
            },
        }
    }

    fn pause(&mut self, call: &ChainCall) {
        let length = |expression: &Expression| match expression {
            Expression::Number(seconds) => Some(*seconds),
            Expression::Chain(calls) => calls.last().and_then(duration),
            Expression::Object(entries) => amount(entries),
            _ => None,
        };
        let lengths: Option<Vec<f64>> = call.arguments.as_deref().unwrap_or_default().iter().map(length).collect();
        let seconds = match lengths.as_deref() {
            Some([one]) => *one,
            Some([shortest, longest]) => {
                let text = format!(
                    "a pause of {shortest} to {longest} s became its mean; to keep the range, write `user.pause(\"uniform({shortest}s, {longest}s)\")`"
                );
                self.simulation.notes.push(Note { line: Some(call.line), ..Note::changed(text) });
                f64::midpoint(*shortest, *longest)
            }
            _ => return self.comment(call, "a pause whose length is computed"),
        };
        if !self.simulation.input.choices.pauses {
            return;
        }
        if let Some(last) = self.steps.last_mut() {
            last.pause += seconds;
        }
        self.is_new |= seconds >= THINK_S;
    }

    /// A request, and the resources that its page fetches.
    fn request(&mut self, calls: &[ChainCall]) {
        let mut resources = Vec::new();
        for call in calls.iter().filter(|call| call.name == "resources") {
            resources.extend(call.arguments.iter().flatten());
        }
        self.one(calls);
        for resource in resources {
            match resource {
                Expression::Chain(calls) if calls.first().is_some_and(|call| call.name == "http") => self.one(calls),
                _ => self.comment(&calls[0], "a resource that is not a request"),
            }
        }
    }

    fn one(&mut self, calls: &[ChainCall]) {
        let line = calls[0].line;
        let read = RequestReader { simulation: &mut *self.simulation, line }.read(calls);
        let request = match read {
            Ok(request) => request,
            Err(reason) => return self.comment(&calls[0], &reason),
        };
        let (choices, base) = (self.simulation.input.choices, self.simulation.protocol.base.clone());
        let asset = request.method == "GET" && is_asset("", "", &request.url) && request.extracted.is_empty();
        let elsewhere = request.url.contains("://");
        let reason = match () {
            () if request.method == "OPTIONS" => Some("CORS preflight of the browser"),
            () if asset && !choices.assets => Some("static resource"),
            () if elsewhere && base.is_some() && !choices.all_hosts => Some("request to another host: --all-hosts keeps them"),
            () => None,
        };
        if let Some(reason) = reason {
            return self.simulation.left(reason);
        }
        let step = self.step(&request);
        match (asset && request.status.is_none(), step.actions.last_mut()) {
            (true, Some(Action::Assets(urls))) => urls.push(request.url),
            (true, _) => step.actions.push(Action::Assets(vec![request.url])),
            (false, _) => step.actions.push(Action::Request(Box::new(request))),
        }
    }

    fn step(&mut self, request: &PlannedRequest) -> &mut Step {
        if self.is_new || self.steps.is_empty() {
            self.is_new = false;
            let name = if request.name.is_empty() { name_of(&request.method, &request.url) } else { request.name.clone() };
            self.steps.push(Step { name, is_group: true, actions: Vec::new(), pause: 0.0 });
        }
        let last = self.steps.len() - 1;
        &mut self.steps[last]
    }

    fn comment(&mut self, call: &ChainCall, reason: &str) {
        self.simulation.notes.push(Note { line: Some(call.line), ..Note::lost(format!("`{}`: {reason}", call.name)) });
        let text = format!("Left out (line {}): `{}`, {reason}.", call.line, call.name);
        if self.steps.is_empty() {
            self.steps.push(Step { name: "Begin".into(), is_group: false, actions: Vec::new(), pause: 0.0 });
        }
        if let Some(last) = self.steps.last_mut() {
            last.actions.push(Action::Comment(text));
        }
    }
}

/// `Duration.ofMillis(500)`.
fn duration(call: &ChainCall) -> Option<f64> {
    let [Expression::Number(number)] = call.arguments.as_deref()? else { return None };
    Some(match call.name.as_str() {
        "ofMillis" => number / 1000.0,
        "ofSeconds" => *number,
        "ofMinutes" => number * 60.0,
        _ => return None,
    })
}

/// `{ amount: 500, unit: "milliseconds" }`.
fn amount(entries: &[(String, Expression)]) -> Option<f64> {
    let of = |name: &str| entries.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let (Expression::Number(amount), Expression::Text(unit)) = (of("amount")?, of("unit")?) else { return None };
    Some(match unit.as_str() {
        "milliseconds" => amount / 1000.0,
        "seconds" => *amount,
        "minutes" => amount * 60.0,
        _ => return None,
    })
}
