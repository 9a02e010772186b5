//! The parts of a plan that may contain a secret. Add every new field that holds a string here.
//!
//! The crate `secrets` finds and masks secrets.

use crate::{Metric, Parameter, ParameterKind, Secrets, Selector, TestPlan};

impl TestPlan {
    /// The plan's secrets, and the credentials in its URLs and in its descriptions of observers and stubs.
    pub fn all_secrets(&self) -> Secrets {
        let mut secrets = self.secrets.clone();
        for parameter in &self.parameters {
            for text in std::iter::once(&parameter.value).chain(&parameter.default) {
                if parameter.secret {
                    secrets.learn(text);
                }
                secrets.learn_urls(text);
            }
        }
        if let Some(target) = &self.target {
            secrets.learn_urls(target);
        }
        self.observers.iter().chain(&self.stubs).for_each(|description| secrets.learn_description(description));
        secrets
    }

    /// The plan with secrets masked, as every output may show it.
    pub fn hiding(&self, secrets: &Secrets) -> TestPlan {
        let mut shown = self.clone();
        let hide = |text: &mut String| *text = secrets.hide(text).into_owned();
        for parameter in &mut shown.parameters {
            if parameter.secret {
                parameter.value = Parameter::MASK.to_owned();
                parameter.default = parameter.default.as_ref().map(|_| Parameter::MASK.to_owned());
                if let ParameterKind::Choice { options } = &mut parameter.kind {
                    options.iter_mut().for_each(|option| Parameter::MASK.clone_into(option));
                }
            }
            hide(&mut parameter.value);
            parameter.default.iter_mut().chain(&mut parameter.help).for_each(hide);
        }
        hide(&mut shown.name);
        shown.target.iter_mut().for_each(hide);
        shown.recorded.iter_mut().flat_map(|recorded| &mut recorded.command).for_each(hide);
        shown.scenarios.iter_mut().for_each(|scenario| hide(&mut scenario.name));
        for threshold in &mut shown.thresholds {
            hide(&mut threshold.label);
            let Selector { name, scenario, group, tags } = &mut threshold.selector;
            name.iter_mut().chain(scenario).chain(group).for_each(hide);
            *tags = tags.iter().map(|(name, value)| (secrets.hide(name).into_owned(), secrets.hide(value).into_owned())).collect();
            match &mut threshold.metric {
                Metric::FlowTime { stage } => stage.iter_mut().for_each(hide),
                Metric::Signal { name } => hide(name),
                Metric::Own { name, unit, .. } => [name, unit].into_iter().for_each(hide),
                _ => {}
            }
        }
        for metric in &mut shown.metrics {
            [&mut metric.name, &mut metric.unit].into_iter().for_each(hide);
        }
        for flow in &mut shown.flows {
            hide(&mut flow.name);
            flow.stages.iter_mut().for_each(hide);
        }
        shown.stubs.iter_mut().chain(&mut shown.observers).for_each(|description| secrets.hide_in_description(description));
        shown
    }
}
