//! Keeps secrets out of everything that is written or shown: values of secret parameters, credentials in URLs and headers.

use std::borrow::Cow;
use std::sync::Arc;

use metrics::{SeriesKey, Signal, SignalNotice, Snapshot};
use plan::{Metric, Parameter, ParameterKind, Secrets, Selector, TestPlan, is_credential};
use serde_json::Value;

use crate::RunInfo;

/// What must not be seen, gathered from a plan.
#[derive(Debug, Clone, Default)]
pub struct Mask {
    secrets: Secrets,
}

impl Mask {
    /// Takes the plan's secrets over, and learns credentials that stand in its URLs and descriptions.
    pub fn of(plan: &TestPlan) -> Self {
        let mut secrets = plan.secrets.clone();
        for parameter in &plan.parameters {
            for text in std::iter::once(&parameter.value).chain(&parameter.default) {
                if parameter.secret {
                    secrets.learn(text);
                }
                secrets.learn_urls(text);
            }
        }
        if let Some(target) = &plan.target {
            secrets.learn_urls(target);
        }
        plan.observers.iter().chain(&plan.stubs).for_each(|description| learn(&mut secrets, description));
        Self { secrets }
    }

    /// Of secrets alone, where there is no plan.
    pub fn of_secrets(secrets: &Secrets) -> Self {
        Self { secrets: secrets.clone() }
    }

    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// The text without secrets and without passwords in URLs.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.secrets.hide(text)
    }

    /// The plan as every output may show it.
    pub fn plan(&self, plan: &TestPlan) -> TestPlan {
        let mut shown = plan.clone();
        let own = |text: &mut String| *text = self.text(text).into_owned();
        for parameter in &mut shown.parameters {
            if parameter.secret {
                parameter.value = Parameter::MASK.to_owned();
                parameter.default = parameter.default.as_ref().map(|_| Parameter::MASK.to_owned());
                if let ParameterKind::Choice { options } = &mut parameter.kind {
                    options.iter_mut().for_each(|option| Parameter::MASK.clone_into(option));
                }
            }
            own(&mut parameter.value);
            parameter.default.iter_mut().chain(&mut parameter.help).for_each(own);
        }
        own(&mut shown.name);
        shown.target.iter_mut().for_each(own);
        shown.scenarios.iter_mut().for_each(|scenario| own(&mut scenario.name));
        for threshold in &mut shown.thresholds {
            own(&mut threshold.label);
            let Selector { name, scenario, group } = &mut threshold.selector;
            name.iter_mut().chain(scenario).chain(group).for_each(own);
            match &mut threshold.metric {
                Metric::FlowTime { stage } => stage.iter_mut().for_each(own),
                Metric::Signal { name } => own(name),
                _ => {}
            }
        }
        for flow in &mut shown.flows {
            own(&mut flow.name);
            flow.stages.iter_mut().for_each(own);
        }
        shown.stubs.iter_mut().chain(&mut shown.observers).for_each(|description| self.value(description));
        shown
    }

    /// Who, when and where, as every output may show it.
    pub fn info(&self, info: RunInfo) -> RunInfo {
        let text = |text: &String| self.text(text).into_owned();
        RunInfo { file: info.file.as_ref().map(text), tags: info.tags.iter().map(text).collect(), ..info }
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(masked) = self.text(text) {
                    *text = masked;
                }
            }
            // A header as a pair: `["Authorization", "Bearer …"]`.
            Value::Array(pair) if matches!(&pair[..], [Value::String(name), Value::String(_)] if is_credential(name)) => {
                pair[1] = Value::String(Parameter::MASK.to_owned());
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                for (name, field) in fields.iter_mut() {
                    match field {
                        Value::String(text) if is_credential(name) => *text = Parameter::MASK.to_owned(),
                        other => self.value(other),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The snapshot as everything but the load itself may see it: names and messages may quote what was sent. Series whose names
    /// differed by secrets alone become one.
    pub fn snapshot<'a>(&self, snapshot: Cow<'a, Snapshot>) -> Cow<'a, Snapshot> {
        if !self.shows_in(&snapshot) {
            return snapshot;
        }
        let mut masked = snapshot.into_owned();
        let (series, errors) = (std::mem::take(&mut masked.series), std::mem::take(&mut masked.errors));
        let set = |text: &mut Arc<str>| self.arc(text).into_iter().for_each(|clean| *text = clean);
        let key = |key: &mut SeriesKey| [&mut key.scenario, &mut key.group, &mut key.name].into_iter().for_each(set);
        masked.slow.iter_mut().for_each(|slow| key(&mut slow.key));
        masked.marks.iter_mut().for_each(|mark| mark.text = self.text(&mark.text).into_owned());
        for flow in &mut masked.flows {
            set(&mut flow.name);
            flow.stages.iter_mut().for_each(|stage| set(&mut stage.name));
        }
        for mut series in series {
            key(&mut series.key);
            masked.merge(Snapshot { series: vec![series], ..empty_at(&masked) });
        }
        for mut error in errors {
            key(&mut error.key);
            set(&mut error.message);
            masked.merge(Snapshot { errors: vec![error], ..empty_at(&masked) });
        }
        Cow::Owned(masked)
    }

    /// What befell an observer, as every output may show it.
    pub fn notice(&self, notice: &SignalNotice) -> SignalNotice {
        let observer = self.arc(&notice.observer).unwrap_or_else(|| Arc::clone(&notice.observer));
        SignalNotice { observer, message: self.text(&notice.message).into_owned(), ..notice.clone() }
    }

    /// A signal by the name that every output may show.
    pub fn signal(&self, signal: &Signal) -> Signal {
        let text = |text: &str| self.text(text).into_owned();
        Signal {
            name: text(&signal.name),
            observer: text(&signal.observer),
            help: text(&signal.help),
            part: text(&signal.part),
            labels: signal.labels.iter().map(|(name, value)| (text(name), text(value))).collect(),
            ..signal.clone()
        }
    }

    fn shows_in(&self, snapshot: &Snapshot) -> bool {
        let keys = snapshot.series.iter().map(|series| &series.key).chain(snapshot.slow.iter().map(|slow| &slow.key));
        let keys = keys.chain(snapshot.errors.iter().map(|error| &error.key));
        let flows = snapshot.flows.iter().flat_map(|flow| std::iter::once(&flow.name).chain(flow.stages.iter().map(|stage| &stage.name)));
        let names = keys.flat_map(|key| [&key.scenario, &key.group, &key.name]).chain(flows);
        let texts = names.chain(snapshot.errors.iter().map(|error| &error.message)).map(|text| &**text);
        let mut texts = texts.chain(snapshot.marks.iter().map(|mark| mark.text.as_str()));
        texts.any(|text| matches!(self.text(text), Cow::Owned(_)))
    }

    fn arc(&self, text: &Arc<str>) -> Option<Arc<str>> {
        match self.text(text) {
            Cow::Borrowed(_) => None,
            Cow::Owned(masked) => Some(masked.into()),
        }
    }
}

/// For [`Snapshot::merge`], which takes the earlier start and the later end.
fn empty_at(snapshot: &Snapshot) -> Snapshot {
    Snapshot { start: snapshot.start, end: snapshot.end, ..Snapshot::default() }
}

/// Credentials in a description of an observer or a stub.
fn learn(secrets: &mut Secrets, value: &Value) {
    match value {
        Value::String(text) => secrets.learn_urls(text),
        Value::Array(items) => match &items[..] {
            [Value::String(name), Value::String(text)] if is_credential(name) => secrets.learn_header(name, text),
            items => items.iter().for_each(|item| learn(secrets, item)),
        },
        Value::Object(fields) => fields.iter().for_each(|(name, field)| match field {
            Value::String(text) if is_credential(name) => secrets.learn_header(name, text),
            other => learn(secrets, other),
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_named_like_credentials_are_masked_at_any_depth() {
        let mut value = serde_json::json!({"kind": "prometheus", "headers": {"Authorization": "Bearer abc", "Accept": "text/plain"}, "x": [{"api_key": "k"}], "more": [["X-Token", "t"], ["Host", "h"]]});
        Mask::default().value(&mut value);
        assert_eq!(
            value,
            serde_json::json!({"kind": "prometheus", "headers": {"Authorization": "•••", "Accept": "text/plain"}, "x": [{"api_key": "•••"}], "more": [["X-Token", "•••"], ["Host", "h"]]})
        );
    }
}
